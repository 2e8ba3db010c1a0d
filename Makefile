# `make demo` and `make test` need Python 3.11 or newer and make; the rest is set up in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := $(VENV)/.peers
DOCS := $(VENV)/.docs
# Tests start many processes: none should compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-everywhere campaign soundness lint types bench docs clean

demo: $(READY)
	$(BIN)/teachirl reproduce --quick --out out
	@echo
	@echo 'Next, a problem of your own: an expert, a learner that lacks features, a price list of sensors.'
	@echo '    $(BIN)/teachirl init problem.toml      writes one to start from'
	@echo '    $(BIN)/teachirl check problem.toml     tells what is wrong with it, and what the expert does'
	@echo '    $(BIN)/teachirl teach problem.toml     says what to buy, and what is then guaranteed'

test: $(READY)
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadgroup

test-everywhere: $(READY)
	$(BIN)/python tests/everywhere.py

# Their workers take all processors: threads of BLAS would wait for each other.
MINUTES ?= 25
campaign: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/campaign --minutes $(MINUTES)

soundness: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/soundness.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# No case is begun after so many minutes. With what the last of each takes, and what has no such
# limit (worlds, commands, studio), all of it stays below 35 on two idle cores. Models of your own,
# a folder of *.umb files, count among the others with `make bench UMB=DIR`.
SCORES := out/bench
bench: $(PEERS)
	mkdir -p $(SCORES)
	$(BIN)/python benchmarks/planning.py --seconds-limit 20 --minutes 5 --csv $(SCORES)/planning.csv
	$(BIN)/python benchmarks/models.py --seconds-limit 20 --minutes 5 $(if $(UMB),--folder $(UMB)) --csv $(SCORES)/models.csv
	$(BIN)/python benchmarks/worlds.py
	$(BIN)/python benchmarks/risk.py --minutes 1
	$(BIN)/python benchmarks/worst_case.py --seconds-limit 30 --minutes 4 --csv $(SCORES)/worst_case.csv
	$(BIN)/python benchmarks/learners.py --minutes 3
	$(BIN)/python benchmarks/teachers.py --minutes 3 --csv $(SCORES)/teachers.csv
	$(BIN)/python benchmarks/commands.py --csv $(SCORES)/commands.csv
	$(BIN)/python benchmarks/studio.py
	$(BIN)/python benchmarks/studio.py --load
	$(BIN)/python benchmarks/summary.py $(SCORES)

# Broken links fail; what is built asks for no font and no script from elsewhere.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo 'Built: out/site/index.html'

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[peers]'
	touch $@

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .venv-* out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
