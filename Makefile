# Everything a person needs: `make demo` and `make test` work on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL ?= $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-long torture check bench calibration docs clean

demo: $(VENV)/installed
	$(BIN)/sounding demo demo

test: $(VENV)/developed
	$(BIN)/python -m pytest -n auto -m "not long"

test-long: $(VENV)/developed
	$(BIN)/python -m pytest -n auto

# kill -9 while people judge: 1,000 rounds on each database; CRASHES=100 for fewer.
CRASHES ?= 1000
torture: $(VENV)/developed
	SOUNDING_CRASHES=$(CRASHES) $(BIN)/python -m pytest -n 2 -rP tests/judge/test_crash.py tests/judge/test_crash_server.py tests/judge/test_torn.py

check: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.docs_examples --python build/examples
	$(BIN)/mypy src tests benchmarks build/examples  # strict, as for a user of the package

bench: $(VENV)/benched
	$(BIN)/python -m benchmarks.run $(BENCH)
	$(BIN)/python -m benchmarks.scale $(SCALE)

# How often the chances of `holds` are right, in cells that benchmarks/README.md describes (needs SOUNDING_DATA).
# and how often minimal test collections are. CELLS=0.3: fewer draws.
CELLS ?= 1
calibration: $(VENV)/developed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.calibration --scale $(CELLS)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.sessions --scale $(CELLS)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.leftout --scale $(CELLS)

docs: $(VENV)/developed
	$(BIN)/python -m sounding.explain.layers docs/how-it-works.md
	$(BIN)/python -m sounding.explain.schemas docs/schemas
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("sounding needs Python 3.11 or newer; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[charts]'
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/developed: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	$(BIN)/python -m compileall -q src
	touch $@ $(VENV)/installed

$(VENV)/benched: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[bench]'
	$(BIN)/python -m compileall -q src
	touch $@
