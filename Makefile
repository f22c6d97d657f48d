# Every target builds .venv and installs what it needs by itself; nothing has to be set up first.
PYTHON  ?= python3
MARKERS ?= not slow
QUICK   := not (slow or browser or cluster or contract or database or docs or picture or process \
  or property or solver)
WORKERS ?= auto
ARGS    ?=
# tests/sharing.py says which tests stay together, and which begin.
SHARED   = -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Tests start hundreds of processes; each would compile the package again if nothing were kept.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip install -q --no-compile --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint kernels bench docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.stamp-run ## find a rule in real data and prove it the best
	@$(BIN)/opdt demo $(ARGS)

test: $(VENV)/.stamp-test ## run the tests; MARKERS="slow or not slow" runs all, ARGS="-k word" some
	@$(BIN)/pytest -m "$(MARKERS)" $(SHARED) $(ARGS)

quick: $(VENV)/.stamp-test ## run what one runs while coding: nothing that starts a program, solves, draws or tries random cases
	@$(BIN)/pytest -q -m "$(QUICK)" $(SHARED) $(ARGS)

lint: $(VENV)/.stamp-test ## check style, formatting, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms \
	  .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml

kernels: $(VENV)/.stamp-kernels ## compile what the tests of the search run; they would do it themselves
	@$(BIN)/pytest -q tests/engines/search/test_compilation.py tests/engines/search/test_anytime.py \
	  tests/engines/search/test_scan.py tests/analysis/test_alternatives.py tests/scale/test_search.py \
	  tests/engines/search/test_subsets.py tests/engines/search/test_large.py \
	  -k "one_signature or node_limit or test_scan or set_knows or deep and not very or in_pieces or than_a_byte"

bench: $(VENV)/.stamp-test ## measure the search engine; ARGS goes to the benchmark
	@$(BIN)/python benchmarks/search.py $(ARGS)

docs: $(VENV)/.stamp-docs ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## remove builds and caches, keep .venv
	@rm -rf build dist site .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# A stamp is as old as the last install, so a changed pyproject.toml installs again.
$(VENV)/.stamp-run: pyproject.toml | $(BIN)/python
	@echo "installing opdt into $(VENV) (once)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.stamp-test: pyproject.toml | $(BIN)/python
	@echo "installing opdt and its test tools into $(VENV) (once)"
	@$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-kernels: pyproject.toml | $(BIN)/python
	@echo "installing opdt and pytest into $(VENV) (once)"
	@$(PIP) -e . pytest hypothesis
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-docs: pyproject.toml | $(BIN)/python
	@echo "installing opdt and its documentation tools into $(VENV) (once)"
	@$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-all: pyproject.toml | $(BIN)/python
	@echo "installing opdt, its test and its documentation tools into $(VENV) (once)"
	@$(PIP) -e '.[test,docs]'
	@touch $@ $(VENV)/.stamp-run $(VENV)/.stamp-test $(VENV)/.stamp-docs

# A half-made environment would look finished to make, hence the removal.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "opdt needs Python 3.11 or newer, and '$(PYTHON)' is not;" \
	    "name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
