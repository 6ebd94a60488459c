# `make` alone lists what can be made. Needed on the machine: make, git and Python 3.11, 3.12 or 3.13.
#
# Extra arguments reach the tool by ARGS:  make test-unit ARGS="-k partition -x"

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Importing Airflow takes twice as long without .pyc files.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null \
	&& echo "$$python" && break; done)
ARGS ?=
KEEP ?=

BIN := .venv/bin
AIRFLOW3 := constraints/airflow-3.3.txt
AIRFLOW2 := constraints/airflow-2.11.txt

# Each environment has a file that says it is complete, older than what it was made from when it is not.
READY := .venv/.ready
READY_AIRFLOW2 := .venv-airflow2/.ready

INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode

# ---------------------------------------------------------------------------------------------------------- environments

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Create .venv with Airflow 3.3 and all that the tests need
	@echo ".venv is ready: .venv/bin/airflow-idempotent, .venv/bin/airflow, .venv/bin/pytest"

$(READY): pyproject.toml $(AIRFLOW3)
	@test -n "$(PYTHON)" || { echo "make setup: no Python 3.11, 3.12 or 3.13 found. Name one: make setup PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Creating .venv with Airflow 3.3 (1 to 3 minutes the first time)"
	test -x $(BIN)/uv || { "$(PYTHON)" -m venv --clear .venv && $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(AIRFLOW3) uv; }
	$(INSTALL) --python $(BIN)/python --constraint $(AIRFLOW3) --editable '.[demo,lint,test]'
	@touch $@

# More tools in the same environment: .venv/.ready-docs, .venv/.ready-bench
$(READY)-%: $(READY)
	$(INSTALL) --python $(BIN)/python --constraint $(AIRFLOW3) --editable '.[$*]'
	@touch $@

# Airflow 2.11 ends at Python 3.12. uv looks for one on the machine.
$(READY_AIRFLOW2): $(READY) $(AIRFLOW2)
	@echo "Creating .venv-airflow2 with Airflow 2.11"
	$(BIN)/uv venv --quiet --clear --python '>=3.11,<3.13' .venv-airflow2
	$(INSTALL) --python .venv-airflow2/bin/python --constraint $(AIRFLOW2) --editable '.[test]'
	@touch $@

.PHONY: constraints
constraints: $(READY) ## Bring constraints/ up to date with the newest releases
	$(call compile,3.3,--all-extras)
	$(call compile,2.11,--extra test)

# One file for all Pythons: where they need different versions, a line carries a marker.
compile = echo 'apache-airflow==$(1).*' | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 $(2) \
	--no-emit-index-url --no-annotate --no-header --output-file constraints/airflow-$(1).txt pyproject.toml -

# ---------------------------------------------------------------------------------------------------------------- running

.PHONY: demo
demo: $(READY) ## Two weeks of real flights through a real Airflow; KEEP=1 leaves it up to look around
	KEEP="$(KEEP)" $(BIN)/python demo/run.py $(ARGS)

.PHONY: demo-stop
demo-stop: ## Stop what `make demo KEEP=1` left up
	@test ! -x $(BIN)/python || $(BIN)/python demo/run.py stop

.PHONY: bench
bench: $(READY)-bench ## Measure a load against hand-tuned SQL in psql
	$(BIN)/python benchmarks/run.py $(ARGS)

.PHONY: bench-strategies
bench-strategies: $(READY)-bench ## Measure every write strategy; ARGS="--only cdc scd2"
	$(BIN)/python benchmarks/strategies.py $(ARGS)

.PHONY: bench-growth
bench-growth: $(READY)-bench ## Measure the same batch into 2 and into 20 million rows
	$(BIN)/python benchmarks/growth.py $(ARGS)

.PHONY: bench-backfill
bench-backfill: $(READY)-bench ## Measure 30 days loaded again, one and two at a time
	$(BIN)/python benchmarks/backfill.py $(ARGS)

.PHONY: bench-status
bench-status: $(READY)-bench ## Measure `status` on a ledger of 200 tables of 3,650 partitions
	$(BIN)/python benchmarks/status.py $(ARGS)

.PHONY: bench-checks
bench-checks: $(READY)-bench ## Measure twenty checks of 5 million rows against one query by hand
	$(BIN)/python benchmarks/checks.py $(ARGS)

.PHONY: bench-swap
bench-swap: $(READY)-bench ## Measure how long readers wait for a swap; ARGS="--only lookups view"
	$(BIN)/python benchmarks/swap.py $(ARGS)

# --------------------------------------------------------------------------------------------------------------- checking

.PHONY: test
test: $(READY) ## Everything, on Airflow 3.3: two workers, then what needs an Airflow to itself
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m 'not airflow and not demo' $(ARGS)
	$(BIN)/python -m pytest -m 'airflow or demo' $(ARGS)

.PHONY: test-unit
test-unit: $(READY) ## What needs neither a database nor Airflow; seconds
	$(BIN)/python -m pytest -m 'not postgres and not airflow and not demo' $(ARGS)

.PHONY: test-airflow2
test-airflow2: $(READY_AIRFLOW2) ## Operators, DAG factory and command line, on Airflow 2.11
	.venv-airflow2/bin/python -m pytest -m 'airflow or cli' $(ARGS)

.PHONY: laws
laws: $(READY) ## The four laws on 2,000 histories of each strategy, those of swaps on 400; half an hour
	AIRFLOW_IDEMPOTENT_LAW_EXAMPLES=2000 $(BIN)/python -m pytest tests/laws/test_strategies.py tests/laws/test_swap.py --hypothesis-profile=thorough \
		--numprocesses 2 --dist worksteal --timeout=0 $(ARGS)

.PHONY: late-data
late-data: $(READY) ## 10,000 seeded schedules of late data: no row lost, none there twice; minutes
	AIRFLOW_IDEMPOTENT_LATE_SCHEDULES=10000 $(BIN)/python -m pytest tests/laws/test_late_data.py tests/laws/test_watermark.py \
		--hypothesis-profile=thorough --numprocesses 2 --dist worksteal --timeout=0 $(ARGS)

.PHONY: lint
lint: $(READY) ## Style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(READY) ## Mend what lint can mend itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: docs
docs: $(READY)-docs ## Build the documentation into site/; a dead link is an error
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet --strict

.PHONY: clean
clean: demo-stop ## Remove all that make has made, the environments too
	rm -rf .venv .venv-airflow2 .bench .demo site dist .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
