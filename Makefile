# Everything runs in .venv, which is made anew when pyproject.toml changes; other simulators in .peers. Needs Python 3.11 or newer
# and make.

PYTHON ?= python3
EXTRAS ?= dev,browser,docs,plot,sym,report,dist,opt,parquet,lab,caliper
JOBS ?= 2
ARGS ?=
SEED ?=

BIN := .venv/bin
STAMP := .venv/.installed

# Each process of the tests has a core of its own: more threads of BLAS would only wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Tests and demo start hundreds of processes, each of which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv demo validate docs test test-all test-random lint types benchmark peers lowest release-check clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1: \2/p' Makefile
	@echo 'Variables: PYTHON=$(PYTHON) EXTRAS=$(EXTRAS) JOBS=$(JOBS) SEED (of test-random) ARGS (passed to pytest)'

venv: $(STAMP)  ## make .venv with the package, installed in place

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "simcodesign needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)" >&2; \
		echo "Name another interpreter, for example: make venv PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: sudo apt-get install python3-venv" >&2; \
		exit 1; }
	@echo 'Making .venv: a few minutes the first time ...'
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

demo: venv  ## compare measured, forecast and simulated times in half a minute; the page is demo-output/demo.html
	@$(BIN)/python -m simcodesign demo --folder demo-output

validate: venv  ## compare the system with every published number; the page is demo-output/report.html
	@mkdir -p demo-output
	@$(BIN)/python -m simcodesign validate -j $(JOBS) --write demo-output/report.html

test: venv  ## run the ordinary tests, always the same: some of the combinations, a few examples of each property
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-all: venv  ## run all tests: combinations of all kinds, more examples, every kill
	@SIMCODESIGN_TESTS=all $(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'not benchmark' $(ARGS)

test-random: venv  ## run the tests of properties on random examples; SEED=N repeats a run
	@seed=$(SEED); seed=$${seed:-$$($(BIN)/python -c 'import secrets; print(secrets.randbelow(10**9))')}; \
	echo "Random examples, seed $$seed: repeat with 'make test-random SEED=$$seed'"; \
	SIMCODESIGN_RANDOM_TESTS=1 SIMCODESIGN_TESTS=all $(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
		-m 'hypothesis and not benchmark' --hypothesis-seed=$$seed $(ARGS)

docs: venv  ## build the site, whose commands and pictures are run; it is build/site/index.html
	@$(ONE_THREAD) $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -j $(JOBS) -d build/doctrees docs build/site

lint: venv  ## check the style (ruff)
	@$(BIN)/ruff check .

types: venv  ## check the types (mypy)
	@$(BIN)/mypy

benchmark: venv  ## measure the speed
	@$(BIN)/python -m pytest -m benchmark -s $(ARGS)

peers: .peers/.installed  ## run SimGrid and Ciw anew and compare them with what is recorded of them; some 10 minutes
	@.peers/bin/python -m tests.peers .peers $(ARGS)

.peers/.installed: pyproject.toml
	@$(PYTHON) -m venv --clear .peers
	@.peers/bin/python -m pip install --quiet --disable-pip-version-check --editable . 'ciw>=3'
	@touch $@

lowest: .lowest/.installed  ## run commands and tests with the oldest dependencies that pyproject.toml allows; needs uv
	@cd .lowest && rm -rf sweeps && $(ONE_THREAD) bin/python ../tests/processes/main_commands.py > commands.txt
	@$(ONE_THREAD) .lowest/bin/python -m pytest tests/core tests/cli/test_golden.py $(ARGS)

.lowest/.installed: pyproject.toml
	@uv venv --quiet --clear --python $(PYTHON) .lowest
	@uv pip install --quiet --python .lowest/bin/python --resolution lowest-direct --editable '.[dev,fast,plot,report,sym,opt,parquet,dist]'
	@touch $@

release-check:  ## check all that a release needs (ARGS=--dry-run before there is a tag); needs git and uv; nothing is uploaded
	@$(PYTHON) -m tests.release $(ARGS)

clean:  ## remove .venv and everything that was generated
	rm -rf .venv .peers .lowest build dist docs/drawn docs/_pictures docs/_lessons docs/reference/commands docs/reference/python .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks demo-output
	find simcodesign tests validation -name __pycache__ -type d -prune -exec rm -rf {} +
