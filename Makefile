# One environment and what to do with it; `make` alone lists it.
# Another interpreter: make demo PYTHON=python3.12. Real texts to measure on: make bench DATA=folder

PYTHON ?= python3
VENV ?= .venv
PEERS ?= .bench-venv
# Python compiles what it imports; all that these packages hold takes it most of a minute. Where it may not keep
# what it compiled, pip does all of it once, or each process would compile again what it imports.
PIP = $(VENV)/bin/python -m pip install --quiet $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile) \
      --constraint constraints.txt
# Slow tests that work in their own process, and those that have others, whose time the clock tells.
MODELS = data or shipped or training or large
PROCESSES = browser or processes
SLOW = $(MODELS) or $(PROCESSES)
READ_VERSION = import sys; print("%d.%d.%d" % sys.version_info[:3])
IN_RANGE = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

.DEFAULT_GOAL := help
.PHONY: help demo test test-rest test-models test-processes test-all lint check bench bench-gpu answers openapi docs docs-pictures docs-tables fuzz

help:
	@echo "make demo     index the sample story and answer five questions about it"
	@echo "make test     run the quick tests, in about seven minutes"
	@echo "make test-all run every test: with data sets (STORYQA_DATA), browser, processes and training, too"
	@echo "make check    lint, types and quick tests: what has to pass before a change goes in"
	@echo "make bench    measure speed beside other tools"
	@echo "make bench-gpu  measure what a card does with the encoder, where there is one"
	@echo "make answers  measure the answers of the shipped models on the data sets in DATA, some hour and a half"
	@echo "make openapi  store the OpenAPI anew, unless that breaks clients"
	@echo "make docs     build the documentation as a site, in build/site, and the manual page in build/man"
	@echo "make docs-pictures  take the pictures of the page anew, in chromium"
	@echo "make docs-tables  write the README's tables of readers and retrievers anew"
	@echo "make fuzz     try thousands of hostile inputs on every parser and every call, an hour or so"

demo: $(VENV)/.installed
	@$(VENV)/bin/storyqa demo

# One thread per process: several that each take all cores wait for one another.
test: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses 2 --dist loadfile -m "not ($(SLOW))"

# What `make test` leaves out.
test-rest: test-models test-processes

test-models: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses 2 --dist loadfile -m "($(MODELS)) and not ($(PROCESSES))"

# These wait for others nearly a third of the time; by number of tests the slowest file, of four kills, came last.
# What indexes uploads gives way to all else: with the tests as nice as that can be, none waits for one of another file.
test-processes: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 nice -n 19 $(VENV)/bin/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -m "$(PROCESSES)"

test-all: test test-rest

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

check: lint test

bench: $(VENV)/.installed-dev $(PEERS)/.installed $(PEERS)/optimum/.installed
	STORYQA_SIZE=small $(VENV)/bin/python -m benchmarks.speed --peers $(PEERS)/bin/python \
	  --optimum $(PEERS)/optimum/bin/python $(if $(DATA),--data $(DATA))
	STORYQA_SIZE=small $(VENV)/bin/python -m benchmarks.profile $(if $(DATA),--data $(DATA))

bench-gpu: $(VENV)/.installed-dev
	STORYQA_SIZE=small $(VENV)/bin/python -m benchmarks.gpu $(if $(DATA),--data $(DATA))

answers: $(VENV)/.installed-dev
	$(VENV)/bin/python -m benchmarks.answers $(if $(DATA),--data $(DATA))

openapi: $(VENV)/.installed-dev
	$(VENV)/bin/python tests/openapi_copy.py

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build
	PYTHONPATH=. $(VENV)/bin/python deploy/man_page.py build/man/man1

docs-pictures: $(VENV)/.installed-dev
	$(VENV)/bin/python tests/page_pictures.py

docs-tables: $(VENV)/.installed-dev
	$(VENV)/bin/python tests/readme_tables.py

fuzz: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --hypothesis-profile fuzz tests/test_fuzz_parsers.py
	$(VENV)/bin/python -m benchmarks.parse_times
	$(VENV)/bin/python -m benchmarks.fuzz --examples 200

# The stamps make a second run start at once; they age when a dependency or a pin changes.
# torch goes first: a machine that already has a wheel of it for its own hardware then uses that one.
$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c '$(IN_RANGE)' || { \
	  echo "storyqa needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) -c '$(READ_VERSION)' || echo missing)." \
	       "Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing torch and the other packages into $(VENV): a few minutes, once"
	@$(PIP) torch
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing what the tests need into $(VENV)"
	@$(PIP) --editable ".[eval,train,cloze,otel,redis,s3,mcp,docs,dev]"
	@touch $@

# The tools measured against, in environments of their own: their dependencies are not ours.
$(PEERS)/.installed: benchmarks/peers.txt
$(PEERS)/optimum/.installed: benchmarks/peers_optimum.txt
$(PEERS)/.installed $(PEERS)/optimum/.installed:
	$(PYTHON) -m venv $(@D)
	@echo "Installing the tools to measure against into $(@D)"
	@$(@D)/bin/python -m pip install --quiet $$(grep '^torch==' $<)
	@$(@D)/bin/python -m pip install --quiet --requirement $<
	@touch $@
