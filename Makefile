# `make` lists the targets. Each target first installs what it needs into $(VENV).
#
#   PYTHON    the Python (3.11 or newer) that creates the environment     make install PYTHON=python3.12
#   VENV      where the environment lives                                 make test VENV=/tmp/venv
#   VARIANT   the variant to train, any name from `ohhell rules`          make train VARIANT=kachuful
#   PLAYERS   number of players, if not the variant's usual number        make train PLAYERS=5
#   ARGS      further arguments for pytest, train or bench                make test ARGS="-k hook -x"
#   WORKERS   processes that run the tests; 0 runs them in one            make test WORKERS=0 ARGS="--pdb"

PYTHON ?= python3
VENV ?= .venv
VARIANT ?= oh_hell
PLAYERS ?=
ARGS ?=
WORKERS ?= 2

LOWEST_VENV ?= .venv-lowest
RLLIB_VENV ?= .venv-rllib
MARL_VENV ?= .venv-marl
BIN := $(VENV)/bin
# The tests of a file stay together, because they share their setup.
SHARED := -n $(WORKERS) --dist loadfile

# The stamps carry the version, so that a new version is installed again with the right metadata.
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' ohhell_env/__init__.py)
INSTALLED := $(VENV)/.installed-$(VERSION)
TRAIN_INSTALLED := $(VENV)/.installed-train-$(VERSION)
BENCH_INSTALLED := $(VENV)/.installed-bench-$(VERSION)
LOWEST_INSTALLED := $(LOWEST_VENV)/.installed-$(VERSION)
RLLIB_INSTALLED := $(RLLIB_VENV)/.installed-$(VERSION)
MARL_INSTALLED := $(MARL_VENV)/.installed-$(VERSION)

# One thread for each process: small networks and arrays are slower with two, and figures should not
# depend on the machine's load.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# No stamp means that the first installation was interrupted, so the environment is created again.
# With a stamp (pyproject.toml or constraints.txt has changed), it is updated in place.
define create_venv
	@ls $(1)/.installed-* >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(1)
endef

.PHONY: help
help:  ## list these targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: $(INSTALLED)  ## create .venv with everything that training and tests need
	@echo "Ready: $(BIN)/python"

$(INSTALLED): pyproject.toml constraints.txt
	$(call create_venv,$(VENV))
	@echo "Installing into $(VENV) (takes a few minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[train,play,plots,pictures,dev,docs]"
	@rm -f $(VENV)/.installed-* && touch $@ $(TRAIN_INSTALLED)

# Training and the plots of its report need only two extras, so linters, documentation and browsers are left out.
$(TRAIN_INSTALLED): pyproject.toml constraints.txt
	$(call create_venv,$(VENV))
	@echo "Installing the needs of training into $(VENV) (takes a few minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[train,plots]"
	@rm -f $(VENV)/.installed-* && touch $@

$(BENCH_INSTALLED): $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[train,play,plots,pictures,dev,docs,bench,ray]"
	@touch $@

.PHONY: train
train: $(TRAIN_INSTALLED)  ## train by self-play, then play a tournament against the baselines (VARIANT=, PLAYERS=)
	@$(BIN)/ohhell quick --variant $(VARIANT) $(if $(PLAYERS),--players $(PLAYERS)) $(ARGS)

.PHONY: test
test: $(INSTALLED)  ## run the tests except the slow ones (under 5 minutes on 2 cores)
	@$(BIN)/python -m pytest $(SHARED) $(ARGS)

.PHONY: test-all
test-all: $(BENCH_INSTALLED) test-interpreted test-bounds  ## run all tests, the engine's also interpreted and bounds-checked
	@$(BIN)/python -m pytest $(SHARED) -m "slow or not slow" $(ARGS)

.PHONY: test-interpreted
test-interpreted: $(INSTALLED)  ## run the engine's tests with numba off
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/engine -m "not compiled_only and not slow" $(ARGS)

# A separate cache, because numba's cache key does not include this setting.
.PHONY: test-bounds
test-bounds: $(INSTALLED)  ## run the engine's tests with numba's bounds checks on
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/.numba_cache_bounds" $(BIN)/python -m pytest tests/engine $(ARGS)

$(LOWEST_INSTALLED): pyproject.toml constraints-lowest.txt
	$(call create_venv,$(LOWEST_VENV))
	@echo "Installing into $(LOWEST_VENV) ..."
	@$(LOWEST_VENV)/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable ".[train,play,plots,pictures,dev,docs]"
	@rm -f $(LOWEST_VENV)/.installed-* && touch $@

.PHONY: test-lowest
test-lowest: $(LOWEST_INSTALLED)  ## run the tests with the oldest supported versions
	@NUMBA_CACHE_DIR="$(CURDIR)/.numba_cache_lowest" $(LOWEST_VENV)/bin/python -m pytest $(SHARED) $(ARGS)

$(RLLIB_INSTALLED): pyproject.toml constraints-rllib.txt
	$(call create_venv,$(RLLIB_VENV))
	@echo "Installing into $(RLLIB_VENV) ..."
	@$(RLLIB_VENV)/bin/python -m pip install --quiet --constraint constraints-rllib.txt --editable . "ray[rllib]" torch open-spiel packaging pytest
	@rm -f $(RLLIB_VENV)/.installed-* && touch $@

$(MARL_INSTALLED): pyproject.toml constraints-marl.txt
	$(call create_venv,$(MARL_VENV))
	@echo "Installing into $(MARL_VENV) ..."
	@$(MARL_VENV)/bin/python -m pip install --quiet --constraint constraints-marl.txt --editable ".[pictures]" torchrl tianshou "minari[create]" moviepy torch packaging pytest
	@rm -f $(MARL_VENV)/.installed-* && touch $@

.PHONY: test-adapters
test-adapters: $(RLLIB_INSTALLED) $(MARL_INSTALLED)  ## run the tests with OpenSpiel, RLlib, TorchRL, Tianshou and Minari, in separate environments
	@NUMBA_CACHE_DIR="$(CURDIR)/.numba_cache_rllib" $(RLLIB_VENV)/bin/python -m pytest tests/adapters $(ARGS)
	@NUMBA_CACHE_DIR="$(CURDIR)/.numba_cache_marl" $(MARL_VENV)/bin/python -m pytest tests/adapters/test_recipes.py $(ARGS)

.PHONY: lint
lint: $(INSTALLED)  ## check style, spelling and prose
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell
	@$(BIN)/python -m docs.prose

.PHONY: format
format: $(INSTALLED)  ## format the code and apply automatic fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: type
type: $(INSTALLED)  ## check the types
	@$(BIN)/basedpyright --pythonpath $(BIN)/python

.PHONY: docs
docs: $(INSTALLED)  ## build the documentation into site/; warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

.PHONY: docs-serve
docs-serve: $(INSTALLED)  ## serve the documentation at http://127.0.0.1:8000 and reload changes
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

.PHONY: notebooks
notebooks: $(INSTALLED)  ## run the notebooks and save their outputs (a few minutes)
	@$(BIN)/python notebooks/run.py

.PHONY: check
check: lint type docs test  ## run everything that CI runs: lint, type, docs, test

.PHONY: bench
bench: $(BENCH_INSTALLED)  ## measure the speed, also of OpenSpiel and PettingZoo's classic games
	@$(BIN)/python -m benchmarks.environment $(ARGS)
	@$(BIN)/python -m benchmarks.training

.PHONY: clean
clean:  ## remove caches and build products, but keep runs/ and the environment
	rm -rf build dist site .pytest_cache .ruff_cache .hypothesis .numba_cache* htmlcov .coverage
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
