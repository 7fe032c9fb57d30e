# `make reproduce` does the main job, `make test` runs the tests; both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

OLDEST := .venv-oldest

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK ?= --constraint requirements-dev.lock  # LOCK= takes the newest versions instead

# Python keeps what it compiles of itself, whatever the environment says: many processes are started
export PYTHONDONTWRITEBYTECODE =

.PHONY: setup test test-ray test-oldest lint lock bench reproduce docs tutorials release clean

setup: $(READY)

# all that users need; Python compiles what is imported
$(INSTALLED): pyproject.toml requirements-dev.lock
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) $(LOCK) --no-compile --editable '.[all]'
	@touch $@

# and what developers do; the pip that comes with Python 3.11 knows no groups
$(READY): $(INSTALLED)
	@echo "setting up the tools for tests (once)"
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) $(LOCK) --no-compile --group dev
	@touch $@

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-ray: $(READY)
	$(PIP) --editable '.[ray]'
	$(BIN)/python -m pytest tests/experiments/test_ray.py

# the oldest versions that pyproject.toml allows; PYTHON=python3.13 tries them with another Python
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(OLDEST)/constraints.txt --editable '.[all]' --group dev
	$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/expectant bench

reproduce: $(INSTALLED)
	$(BIN)/expectant reproduce

# the site, in build/docs; after it is set up no network is needed
docs: $(READY)
	$(PIP) $(LOCK) --group docs
	$(BIN)/python docs/site/gather_pages.py build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going build/site build/docs
	@echo "open build/docs/index.html"

# the notebooks of docs/tutorials again, with what they print and draw now
tutorials: $(READY)
	$(BIN)/python docs/site/tutorials.py

# the versions that .venv has now, for everybody; after LOCK= with a new one
lock: $(READY)
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools \
		> requirements-dev.lock

# what goes to a package index, in dist/; EXPECTANT_REPOSITORY makes the README's links absolute
release: $(READY)
	rm -rf dist
	$(PIP) $(LOCK) --group release
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/distributions.py dist

clean:
	rm -rf $(VENV) $(OLDEST) results dist build
