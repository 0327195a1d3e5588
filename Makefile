# One command each. Everything is set up on first use, in .venv; only Python (3.10 or newer), git and make are needed.
#   make test ARGS="-k relu"      passes arguments on to pytest
#   make demo PYTHON=python3.12   picks the Python that .venv is made from

VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JOBS ?= 2

# A name on the PATH may be a launcher for a version that is not there, so each candidate is run.
IS_RECENT := -c 'import sys; sys.exit(sys.version_info < (3, 10))'
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10 python; do \
    if $$python $(IS_RECENT) >/dev/null 2>&1; then echo $$python; break; fi; done)
NEED_PYTHON = { test -n "$(PYTHON)" && $(PYTHON) $(IS_RECENT) >/dev/null 2>&1; } || { \
    echo "Penstock needs Python 3.10 or newer, and '$(or $(PYTHON),python3)' is not. Say which: make PYTHON=/path/to/python3.12" >&2; \
    exit 1; }

.DEFAULT_GOAL := help
.PHONY: help demo test versions lint bench size clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

demo: $(INSTALLED)  ## train a digit classifier, show its accuracy and how to see its curves
	@$(BIN)/python -m penstock.cli.demo $(ARGS)

test: $(INSTALLED)  ## the test suite, without the nightly tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --timeout 300 $(ARGS)

versions:  ## the test suite on each of Python 3.10 to 3.13 that is there, each in an environment of its own
	@for version in 3.10 3.11 3.12 3.13; do \
	    if python$$version -c '' >/dev/null 2>&1; then $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	    else echo "python$$version is not here"; fi; done

lint: $(INSTALLED)  ## style (ruff) and types (mypy)
	$(BIN)/ruff check
	$(BIN)/mypy

bench: $(INSTALLED)  ## the benchmarks, beside TensorFlow, PyTorch and JAX; ARGS="--cases mlp,lstm --rounds 3" takes less time
	$(BIN)/python benchmarks/run.py $(ARGS)

# TensorFlow 1.15 where there is a Python 3.7 for it, else TensorFlow 2, through compat.v1. PENSTOCK_TF_PYTHON names one that is there already.
INTEROP := .venv-interop
PEER := $(or $(PENSTOCK_TF_PYTHON),$(CURDIR)/$(INTEROP)/bin/python)
interop: $(INSTALLED) $(if $(PENSTOCK_TF_PYTHON),,$(INTEROP)/.installed)  ## exchange checkpoints and models with real TensorFlow, both ways
	PENSTOCK_TF_PYTHON=$(PEER) $(BIN)/python -m pytest tests/interop --timeout 600 $(ARGS)

$(INTEROP)/.installed:
	@echo "Installing TensorFlow into $(INTEROP) ..."
	@if python3.7 -c '' 2>/dev/null; then python3.7 -m venv $(INTEROP) && \
	    $(INTEROP)/bin/pip install --quiet 'tensorflow==1.15.5' 'protobuf<3.21' 'numpy<1.19'; \
	else $(PYTHON) -m venv $(INTEROP) && $(INTEROP)/bin/pip install --quiet tensorflow-cpu; fi
	@touch $@

size:  ## lines per folder and file
	@$(NEED_PYTHON)
	@$(PYTHON) tools/size.py $(ARGS)

clean:  ## remove .venv, caches and build output
	rm -rf $(VENV) $(INTEROP) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(INSTALLED): pyproject.toml
	@test -x $(BIN)/python || { $(NEED_PYTHON) && $(PYTHON) -m venv $(VENV); }
	@echo "Installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
