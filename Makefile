# Needs python3 (3.11 or later, with its venv module) and make. Everything else is installed into .venv.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run test test-slow check lint types imports contents bench fmt wheel clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "  %-16s %s\n", $$1, $$2 }'

run: $(RUNTIME) ## talk to the sample bot in this terminal (ARGS="--database my.db")
	@$(BIN)/python run_bot.py $(ARGS)

test: $(DEV) ## run the tests, except the slow ones (ARGS="tests/guide -x")
	$(BIN)/python -m pytest $(ARGS)

test-slow: $(DEV) ## run only the tests marked slow
	$(BIN)/python -m pytest -m slow -o faulthandler_timeout=0 $(ARGS)

check: $(DEV) ## check format, lint, types, import direction and the wheel
	@$(MAKE) --no-print-directory --keep-going lint types imports contents

lint: $(DEV) ## check format and lint
	@failed=0; for command in "format --check" check; do \
	  echo "$(BIN)/ruff $$command ."; $(BIN)/ruff $$command . || failed=1; \
	done; exit $$failed

types: $(DEV) ## check the types of every file, strictly
	$(BIN)/python -m tools.check_types

imports: $(DEV) ## check which folder imports which, and the other house rules
	$(BIN)/python -m tools.check_house

contents: $(DEV) ## check that the wheel holds every module and nothing else
	$(BIN)/python -m tools.check_wheel

bench: $(DEV) ## measure (ARGS are passed through)
	$(BIN)/python -m benchmarks $(ARGS)

fmt: $(DEV) ## format, and mend what lint can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# setuptools would pack what earlier builds left in build/lib.
wheel: $(DEV) ## build a wheel into dist/
	rm -rf build/lib build/bdist.*
	$(BIN)/python -m build --wheel

clean: ## remove everything that was made here, .venv included
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment made by uv comes without pip, hence the last line.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Bellringer needs Python 3.11 or later, and $(PYTHON) is older or missing: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) can't make a virtual environment: its venv module (ensurepip) is missing." >&2; \
	  echo "Install it (on Debian and Ubuntu: apt install python3-venv) and try again." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): $(BIN)/python pyproject.toml setup.cfg
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	$(BIN)/python -m pip install -qq --editable .
	@touch $@

# Dependency groups need pip 25.1.
$(DEV): $(RUNTIME)
	$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -qq --group dev
	@touch $@
