# `make demo` and `make test` need Python 3.11 or newer (with venv and pip) and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
# The CPU build is enough for the tests. Pass another requirement (make test TORCH=...) where this one installs the CUDA build.
TORCH ?= torch==2.13.0
MAPGAUGE_FUZZ_CASES ?= 1000000
MAPGAUGE_FUZZ_FILES ?= 5000
MAPGAUGE_FUZZ_COMMANDS ?= 5000
MAPGAUGE_FUZZ_MOVES ?= 300000
MAPGAUGE_SOAK_SECONDS ?= 3600

.PHONY: demo test test-bare test-oldest pytest docs lint types public-types fuzz soak coverage mutants bench bench-io bench-evaluate bench-command bench-cluster bench-tracks bench-truth bench-lanes bench-network bench-confidence bench-history bench-slices bench-splits bench-global bench-causes bench-report bench-page bench-error-map bench-view bench-cold bench-public bench-all bench-against clean

demo: .venv/installed
	$(BIN)/mapgauge demo --output demo

# Tests start hundreds of processes. Each would compile every module again where bytecode is not written.
test: export PYTHONDONTWRITEBYTECODE =
# mypy takes half a minute of one processor when it runs for the first time, so it runs beside the tests.
test: lint .venv/tested
	@$(MAKE) --no-print-directory --jobs 2 types pytest

# The tests of a file share what it prepares, so one process runs them. Files are begun in the order of their names: by
# default, xdist begins with those that have the most tests, and the longest files, which have few tests, come last.
pytest: .venv/tested
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q

# Installs mapgauge without extras, as the first line of the README does, and runs the commands of the pages: a minute.
test-bare:
	rm -rf .venv-bare
	$(PYTHON) -m venv .venv-bare
	.venv-bare/bin/python -m pip install --quiet --disable-pip-version-check .
	.venv-bare/bin/python -m tools.bare .venv-bare/bin/mapgauge

# Runs the tests with the lowest versions of all extras, without pandas. Python must be 3.11, for which all have wheels.
# Rerun needs a newer pyarrow, and torch takes gigabytes. Old packages warn about newer ones that they use.
test-oldest:
	rm -rf .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-oldest/bin/python .ci/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --constraint .venv-oldest/constraints.txt --group pytest --editable \
	  '.[dask,geo,links,mlflow,parquet,plot,polars,shapely,tensorboard,tracks,truth,wandb,zstd]'
	.venv-oldest/bin/python -m pip list
	.venv-oldest/bin/python -c 'import sys, importlib.util; sys.exit(importlib.util.find_spec("pandas") is not None)'
	.venv-oldest/bin/python -m pytest -W default -n auto -q

lint: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/tested
	$(BIN)/mypy

# Fails if fewer than 98 % of the names have a type that type checkers of users know. pyright needs Node.js.
public-types: .venv/tested
	$(BIN)/python -m pip install --quiet --group public-types
	$(BIN)/python -m tools.public_types

docs: .venv/docs
	$(BIN)/python -m sphinx -E -W --keep-going -q -d .venv/doctrees -b html docs site
	$(BIN)/python -m tools.check_site docs site
	@echo "Open this in a browser: site/index.html"

fuzz: .venv/tested
	MAPGAUGE_FUZZ_CASES=$(MAPGAUGE_FUZZ_CASES) MAPGAUGE_FUZZ_FILES=$(MAPGAUGE_FUZZ_FILES) \
	  MAPGAUGE_FUZZ_COMMANDS=$(MAPGAUGE_FUZZ_COMMANDS) MAPGAUGE_FUZZ_MOVES=$(MAPGAUGE_FUZZ_MOVES) \
	  MAPGAUGE_SOAK_SECONDS=300 $(BIN)/python -m pytest tests -m fuzz -n 2 -q
	MAPGAUGE_EXAMPLES=2000 $(BIN)/python -m pytest tests/kernels tests/properties -n 2 -q

# An hour of random commands with faults. It prints a seed; SEED=... repeats the sequence.
soak: .venv/tested
	$(BIN)/python -m tests.fuzz.soak --seconds $(MAPGAUGE_SOAK_SECONDS) $(if $(SEED),--seed $(SEED))

# Lists the error paths that no test runs.
coverage: .venv/tested
	$(BIN)/python -m pip install --quiet --group coverage
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q tests
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m tools.error_paths .coverage

# Changes a module in small ways, and lists the changes that no test notices: make mutants MODULE=metrics/pld.py
mutants: .venv/tested
	$(BIN)/python -m tools.mutants $(MODULE) $(FUNCTION)

# All but the first calls are measured, and those of small work would compile nothing.
bench bench-io bench-evaluate bench-command bench-cluster bench-tracks bench-lanes bench-confidence bench-history bench-slices bench-splits bench-global bench-causes bench-report bench-page bench-error-map bench-view bench-truth bench-network bench-public: export MAPGAUGE_INTERPRET = 0

bench: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_kernels

bench-io: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_io

bench-evaluate: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_evaluate

bench-command: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_command

bench-cluster: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_cluster

bench-tracks: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_tracks

bench-lanes: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_lanes
	.venv-bench/bin/python -m benchmarks.bench_lane_graph_pld
	.venv-bench/bin/python -m benchmarks.bench_graphs

bench-confidence: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_confidence

bench-history: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_history

bench-slices: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_slices

bench-splits: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_splits

bench-causes: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_causes

bench-cold: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_cold

bench-public: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_public

bench-report: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_report

bench-page: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_page

bench-error-map: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_error_map

bench-view: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_view

bench-truth: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_truth

bench-global: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_global_map

bench-network: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_network_pld

# All tables of docs/benchmarks.md in one run, half an hour: make bench-all > bench.txt
# Then "python -m tools.benchmark_page bench.txt" writes them into the pages.
bench-all: .venv-bench/installed
	@.venv-bench/bin/python -m benchmarks.all

# Compares this tree with an earlier commit, job by job: make bench-against BEFORE=COMMIT
bench-against: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.bench_against $(BEFORE)

clean:
	rm -rf .coverage* demo site .venv .venv-bare .venv-bench .venv-oldest .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Dependency groups need pip 25.1.
.venv/bin/python .venv-bench/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "mapgauge needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(@D)/..
	$@ -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	touch $@

.venv/tested: .venv/installed
	$(BIN)/python -m pip install --quiet --group test
	$(BIN)/python -m pip install --quiet '$(TORCH)' --group torch && $(BIN)/python -m pip install --quiet --no-deps mmengine \
	  || echo "torch could not be installed: the tests of mapgauge.torch and mapgauge.mmengine will be skipped"
	$(BIN)/python -m pip install --quiet --group loggers \
	  || echo "wandb, TensorBoard or MLflow could not be installed: the tests of mapgauge.loggers will be skipped"
	$(BIN)/python -m pip install --quiet --group rerun \
	  || echo "rerun-sdk could not be installed: the tests of recordings will be skipped"
	touch $@

.venv/docs: .venv/installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

.venv-bench/installed: .venv-bench/bin/python pyproject.toml
	.venv-bench/bin/python -m pip install --quiet --editable . --group bench
	touch $@
