# The front door. Every target sets up what it needs in a folder of its own (.venv, .venv-bench) and works as the only
# command after a fresh clone. PYTHON=python3.12 picks another interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
DATA ?= examples/data/faithful.csv
REPORT ?= report.html
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
SUBJECT ?=
TESTS ?= $(wildcard $(SUBJECT:%=tests/%) $(SUBJECT:%=src/unveil/%))
$(if $(SUBJECT),$(if $(TESTS),,$(error SUBJECT=$(SUBJECT) is no folder of tests; there are $(notdir $(wildcard tests/[a-z]*[^y])))))

# Bytecode is kept even where the environment says otherwise: every process of the tests would compile all packages anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help report test quick processors lint bench trust tables soak clean browser bytecode

help:
	@echo "make report   a report on the bundled data in $(REPORT) (DATA=your.csv REPORT=your.html for your own)"
	@echo "make test     every check: lint, types, layers, tests"
	@echo "make quick    a smoke of all tests, or those of one subject: make quick SUBJECT=chains"
	@echo "make processors  the tests as on other processors (SUBJECT=..., TESTS=... for some of them)"
	@echo "make lint     lint, formatting, types and layers alone"
	@echo "make bench    unveil and its peers side by side, written to benchmarks/RESULTS.md"
	@echo "make trust    verdicts on planted failures, healthy fits, noise and groups: the tables of docs/trust.md"
	@echo "make tables   reports on tables as people have them, held to what a careful analyst would say (ONLY=NAME)"
	@echo "make soak     memory on data larger than it should take, mutated model files, and fits that are killed"
	@echo "make clean    remove what the others made"

# Stamps: a target's environment is made again when pyproject.toml changes. Packages are compiled as they are imported
# (--no-compile): pip would take half of the set-up for modules that nobody imports.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP) --editable .
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP) --editable ".[test]"
	@touch $(VENV)/run.stamp $@

$(BENCH_VENV)/bench.stamp: pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python $(PIP) --editable . --requirement benchmarks/requirements.txt
	@touch $@

report: $(VENV)/run.stamp
	$(BIN)/unveil report $(DATA) -o $(REPORT)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The browser is fetched while packages are installed; bytecode is made while types are checked, which takes one core.
test:
	@$(MAKE) --no-print-directory --jobs=3 browser bytecode lint
	$(BIN)/pytest -n 2 --dist worksteal

# Without a subject, the first test of every file (tests/quick.py).
quick: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(or $(TESTS),-p tests.quick tests)

processors: $(VENV)/test.stamp
	$(BIN)/python -m tools.processors -q -n 2 --dist worksteal $(TESTS)

# Of all that tests import, so that the two processes that run them need not both make it. What is wrong with a test is
# for them to say.
bytecode: $(VENV)/test.stamp
	@$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 || true

# The page is also looked at in a browser. As root it is installed when missing; otherwise that test reports itself as
# skipped and says what to install.
browser:
	@if ! command -v chromium >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "installing chromium for the browser tests"; \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 \
	    || echo "chromium could not be installed; the browser tests will be skipped"; \
	fi

bench: $(BENCH_VENV)/bench.stamp
	$(BENCH_VENV)/bin/python -m benchmarks

# A third of it is in `make test`. Peers stand there with the answers that they gave when they were last asked, which
# takes hours: `python -m benchmarks.trust peers` asks them again, mclust too where R has it, and says so where not.
trust: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.trust

# A third of it is in `make test`. ONLY=NAME runs one; `python -m benchmarks.tables held-out` draws others.
tables: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.tables $(ONLY:%=--only %)

soak: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.soak_files --bounds --files 2000
	$(BIN)/python -m benchmarks.soak_files
	$(BIN)/python -m benchmarks.soak_checkpoints

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(REPORT) .processors .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
