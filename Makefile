# Two commands: `make demo` shows the main job, `make test` checks the project. Each sets up its own .venv
# from the lock file with nothing but python3 and pip. `make docs` builds the documentation; others are for contributors.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PEERS := .venv-peers
OLDEST := .venv-oldest
DOCS := .venv-docs

.PHONY: demo test test-slow docs test-peers test-oldest check style adversary tolerances fuzz coverage killed bench bench-quick kept lock clean

demo: $(READY)
	$(BIN)/embaudit demo

# Types are checked while the tests run; what they say is printed below the tests.
# Each of two processes of tests uses one core, so audits in them start no threads.
test: $(READY) style
	@command -v chromium >/dev/null || echo "Tests in a browser are left out; for them: apt-get install chromium"
	@log=$$(mktemp); $(BIN)/mypy >$$log 2>&1 & types=$$!; \
	OPENBLAS_NUM_THREADS=1 EMBAUDIT_WORKERS=1 $(BIN)/pytest -n 2; tests=$$?; \
	wait $$types; types=$$?; cat $$log; rm -f $$log; test $$tests -eq 0 && test $$types -eq 0

# Laws, the truth table, oracles and screens: results must not depend on the processor.
EVERYWHERE := tests/truth tests/gauges tests/ranges tests/canonical tests/linalg tests/cli/test_first_screens.py

# What takes long by its nature: whole notebooks and pages of the documentation, gates with many audits, pages in a
# browser, damaged files, runs that are killed or interrupted, many workers, files that are large. On x86, also the products of other processors.
test-slow: $(READY)
	OPENBLAS_NUM_THREADS=1 EMBAUDIT_WORKERS=1 $(BIN)/pytest -n 2 -m slow
	@if test "$$(uname -m)" = x86_64; then for core in Haswell Prescott; do \
	  echo "With the matrix products of $$core:"; \
	  OPENBLAS_CORETYPE=$$core OPENBLAS_NUM_THREADS=1 EMBAUDIT_WORKERS=1 $(BIN)/pytest -n 2 -q $(EVERYWHERE) || exit 1; \
	done; fi

check: $(READY) style
	$(BIN)/mypy

style: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/codespell

$(READY): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Execute the notebooks and build the pages; every warning, and every reference that leads nowhere, is an error.
docs: $(DOCS)/.ready
	OPENBLAS_NUM_THREADS=1 $(DOCS)/bin/sphinx-build -W --keep-going --quiet --builder html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

$(DOCS)/.ready: requirements-docs.lock pyproject.toml
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-docs.lock
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Train models with other libraries, hold what is read of them against their own scores, and table it in docs/reading.md.
test-peers: $(PEERS)/.ready
	OPENBLAS_NUM_THREADS=1 $(PEERS)/bin/pytest -rs tests/peers

$(PEERS)/.ready: requirements-peers.lock pyproject.toml
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-peers.lock
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Store the screens of the tests anew, and the parts of pages that come from the code;
# read the difference before it is committed.
kept: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m syrupy_snapshot --snapshot-update
	$(BIN)/python docs/generate.py

# Search 500 random models for an equivalent one that moves what an audit calls pinned.
adversary: $(READY)
	EMBAUDIT_ADVERSARY=500 EMBAUDIT_ADVERSARY_MODELS=500 $(BIN)/pytest -q -m "" \
		tests/truth/test_adversary_on_audits.py tests/truth/test_adversary_on_proven.py \
		tests/truth/test_adversary_on_storage.py tests/truth/test_adversary_on_two_spaces.py \
		tests/auditing/test_stored_rows.py

# Measure against peers and bare matrix products in one run, with medians; kept with the machine in benchmarks/measured.md.
bench: $(READY)
	$(BIN)/python benchmarks/run.py

# The same scripts at small sizes, in less than three minutes.
bench-quick: $(READY)
	$(BIN)/python benchmarks/run.py --quick

# Draw pairs 2,000 times and count how often the intervals of movements hold what they promise; `make test` draws 300 times.
coverage: $(READY)
	EMBAUDIT_COVERAGE=2000 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q tests/linalg/test_pair_changes.py

# Check the predictions of 2,000 random models, collapsed ones among them, and audit each; `make test` tries 200.
tolerances: $(READY)
	EMBAUDIT_TOLERANCES=2000 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q tests/truth/test_false_alarms.py

# Damage one file of each format in 60,000 ways; `make test-slow` tries 800 of them.
fuzz: $(READY)
	EMBAUDIT_FUZZ=60000 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m 'slow or not slow' tests/fuzz/test_fuzz.py

# Kill 200 runs, or take their room away, at random moments while they write; `make test-slow` does a few.
killed: $(READY)
	EMBAUDIT_KILLED=200 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m slow tests/fuzz/test_killed_runs.py
	EMBAUDIT_INTERRUPTED=10 $(BIN)/pytest -q -m slow tests/fuzz/test_interrupted_audits.py

# Test with the oldest of each dependency that pyproject.toml allows; what is newer than these warns of them.
test-oldest: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv venv --quiet --clear --python 3.11 $(OLDEST)
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --group test -r pyproject.toml
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --no-deps --editable .
	OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 -W ignore::DeprecationWarning

# Resolve anew within the bounds of pyproject.toml, for every platform and Python the project supports.
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	for group in test docs peers; do \
	  lock=requirements$$(test $$group = test || echo -$$group).lock; \
	  $(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
	    --python-version 3.11 --group $$group pyproject.toml --output-file $$lock || exit 1; done

clean:
	rm -rf .venv $(DOCS) $(PEERS) $(OLDEST) docs/_build docs/gallery docs/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
