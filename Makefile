# `make reproduce` does the main job, `make test` runs the tests; both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

OLDEST := .venv-oldest

.PHONY: setup test test-ray test-oldest lint bench reproduce clean

setup: $(READY)

$(READY): pyproject.toml
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

test: $(READY)
	$(BIN)/python -m pytest -n 2

test-ray: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ray]'
	$(BIN)/python -m pytest tests/lab/sweeps/test_ray.py

# the oldest versions that pyproject.toml allows; PYTHON=python3.13 tries them with another Python
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(OLDEST)/constraints.txt --editable '.[dev]'
	$(OLDEST)/bin/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/expectant bench

reproduce: $(READY)
	$(BIN)/expectant reproduce

clean:
	rm -rf $(VENV) $(OLDEST) results
