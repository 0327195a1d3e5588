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
.PHONY: help arm demo test nightly browser versions interop libraries everywhere docs lint bench paper wheel lock size clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

demo: $(INSTALLED)  ## train a digit classifier, show its accuracy and how to see its curves
	@$(BIN)/python -m penstock.cli.demo $(ARGS)

test: $(INSTALLED)  ## the test suite, without the nightly tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --timeout 300 $(ARGS)

nightly: $(INSTALLED)  ## the tests that take too long for every change: more kills, 20,000 broken files, more random calls, 6,000 random programs
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --timeout 1200 -m nightly $(ARGS)

# With a chromium or chrome of the machine, else with the one that playwright fetches.
SCREENSHOTS ?= build/screenshots
browser: $(INSTALLED) $(VENV)/.browser  ## our pages, and what TensorBoard shows of our files, in a headless browser; screenshots go to build/screenshots
	PENSTOCK_SCREENSHOTS=$(SCREENSHOTS) $(BIN)/python -m pytest -m browser --timeout 900 $(ARGS)

$(VENV)/.browser: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || test -n "$(PENSTOCK_BROWSER)" || \
	    $(BIN)/python -m playwright install chromium
	@touch $@

versions:  ## the test suite on each of Python 3.10 to 3.13 that is there, each in an environment of its own
	@for version in 3.10 3.11 3.12 3.13; do \
	    if python$$version -c '' >/dev/null 2>&1; then $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	    else echo "python$$version is not here"; fi; done

arm: $(INSTALLED)  ## Penstock on AArch64, under qemu, in an environment of its own: the tests of the compiler and of sessions
	@$(BIN)/python tools/arm.py $(ARGS)

libraries: $(INSTALLED)  ## Keras 2.2.5 and tf_slim 1.1.0 of PyPI on Penstock; ARGS=--all takes all libraries that are listed in tools/libraries.py
	@$(BIN)/python tools/libraries.py $(ARGS)

everywhere: $(INSTALLED)  ## what runs on which device, target and language, as far as this machine has parts for it; ARGS=--list only says what is missing
	@$(BIN)/python tools/everywhere.py $(ARGS)

# MkDocs has an environment of its own: nothing else needs it.
DOCS := .venv-docs
docs: $(INSTALLED) $(DOCS)/.installed  ## the documentation site, in build/site: guides, and the API reference from docstrings
	@$(BIN)/python tools/docs.py
	@$(DOCS)/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

$(DOCS)/.installed:
	@$(NEED_PYTHON)
	@$(PYTHON) -m venv $(DOCS) && $(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check 'mkdocs==1.6.1'
	@touch $@

lint: $(INSTALLED)  ## style (ruff) and types (mypy)
	$(BIN)/ruff check
	$(BIN)/mypy

# Pipelines, estimators and clusters follow, unless only some cases, or those of a device, are asked for.
SOME_CASES = $(strip $(foreach option,--quick --cases --device,$(findstring $(option),$(ARGS))))
bench: $(INSTALLED) $(VENV)/.plot  ## the benchmarks, beside TensorFlow, PyTorch and JAX; ARGS=--quick takes five minutes
	$(BIN)/python benchmarks/run.py $(ARGS)
	$(if $(SOME_CASES),,$(BIN)/python benchmarks/input.py --rounds 2)
	$(if $(SOME_CASES),,$(BIN)/python benchmarks/estimator.py)
	$(if $(SOME_CASES),,$(BIN)/python benchmarks/cluster.py --rounds 1 --seconds 2 --plot build/cluster.png)

paper: $(INSTALLED) $(VENV)/.plot  ## the evaluation of the OSDI paper, measured and simulated, as docs/paper.md; ARGS=--recorded uses kept measurements
	$(BIN)/python benchmarks/paper.py $(ARGS)

$(VENV)/.plot: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

# TensorFlow 1.15 where there is a Python 3.7 for it, and TensorFlow 2, through compat.v1. PENSTOCK_TF_PYTHON names another one, which is used instead.
INTEROP1 := .venv-interop1
INTEROP2 := .venv-interop2
PEERS := $(or $(PENSTOCK_TF_PYTHON),$(abspath $(INTEROP1))/bin/python $(abspath $(INTEROP2))/bin/python)
interop: $(INSTALLED) $(if $(PENSTOCK_TF_PYTHON),,$(INTEROP1)/.installed $(INTEROP2)/.installed)  ## exchange files with real TensorFlow 1 and 2, both ways
	@for peer in $(PEERS); do if test -x $$peer; then \
	    $$peer -c 'import sys, tensorflow as tf; print("TensorFlow", tf.__version__, "on Python", sys.version.split()[0])' 2>/dev/null && \
	    PENSTOCK_TF_PYTHON=$$peer $(BIN)/python -m pytest tests/interop --timeout 600 $(ARGS) || exit 1; fi; done

$(INTEROP1)/.installed:
	@mkdir -p $(INTEROP1)
	@if python3.7 -c '' 2>/dev/null; then echo "Installing TensorFlow 1.15 into $(INTEROP1) ..." && python3.7 -m venv $(INTEROP1) && \
	    $(INTEROP1)/bin/python -m pip install --quiet --disable-pip-version-check 'tensorflow==1.15.5' 'protobuf<3.21' 'numpy<1.19'; \
	else echo "python3.7 is not here, and TensorFlow 1.15 needs it"; fi
	@touch $@

$(INTEROP2)/.installed:
	@echo "Installing TensorFlow 2 into $(INTEROP2) ..."
	@$(NEED_PYTHON)
	@$(PYTHON) -m venv $(INTEROP2) && $(INTEROP2)/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu
	@touch $@

wheel: $(INSTALLED)  ## the wheel and its bill of materials (CycloneDX), in dist: the same bytes whenever they are built
	@$(BIN)/python tools/build_wheel.py $(ARGS)

# Universal: one file for Python 3.10 and later, on all platforms that have wheels.
lock: $(INSTALLED)  ## renew requirements-dev.lock: the newest versions that pyproject.toml allows, with the hashes of their files
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/python -m uv pip compile --quiet --no-config --universal --python-version 3.10 --extra dev --generate-hashes --upgrade \
	    --no-emit-index-url --custom-compile-command "make lock" --output-file requirements-dev.lock pyproject.toml

size:  ## lines per folder and file
	@$(NEED_PYTHON)
	@$(PYTHON) tools/size.py $(ARGS)

clean:  ## remove .venv, caches and build output
	rm -rf $(VENV) $(INTEROP1) $(INTEROP2) $(DOCS) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# From the lock file: exact versions, known hashes. LOCKED=1, as in CI, takes nothing else where that does not fit.
$(INSTALLED): pyproject.toml requirements-dev.lock
	@test -x $(BIN)/python || { $(NEED_PYTHON) && $(PYTHON) -m venv $(VENV); }
	@echo "Installing into $(VENV) ..."
	@$(BIN)/python tools/install.py $(if $(filter 1,$(LOCKED)),--locked)
	@touch $@
