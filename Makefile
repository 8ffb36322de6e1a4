# Everything runs in a virtual environment of its own; nothing but Python 3.11 or later
# and make is needed. torch is pinned by constraints.txt.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DATASETS ?= $(wildcard ../shared/data/*)

.PHONY: demo test check format bench soak clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "hebbgraph needs Python 3.11 or later; run make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test-installed: pyproject.toml constraints.txt $(VENV)/.installed
	$(PIP) --editable ".[files,bench]" --group test
	@touch $@

$(VENV)/.check-installed: pyproject.toml constraints.txt $(VENV)/.test-installed
	$(PIP) --group check
	@touch $@

demo: $(VENV)/.installed  ## Index the example corpus and ask it questions.
	$(BIN)/python examples/demo.py

test: $(VENV)/.test-installed  ## Run the default suite.
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.check-installed  ## Format, lint and type-check, changing nothing.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.check-installed  ## Format and mend what ruff can mend.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test-installed  ## Measure on evaluation sets: make bench DATASETS="dir dir".
	$(BIN)/hebbgraph bench $(DATASETS)

soak: $(VENV)/.test-installed  ## The long tests.
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis demo.hebb
