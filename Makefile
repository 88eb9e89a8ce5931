# `make demo` shows the main job and `make test` checks the project. Both set up .venv from the
# lock file and need only python3 with pip. `make docs` builds the documentation. The other
# targets are for contributors.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PEERS := .venv-peers
OLDEST := .venv-oldest
DOCS := .venv-docs

.PHONY: demo test test-slow docs test-peers test-oldest check style adversary tolerances \
	fuzz coverage killed bench bench-quick kept lock clean

demo: $(READY)
	$(BIN)/embaudit demo

# mypy runs at the same time as the tests, and its output is printed after theirs.
# pytest starts two processes of one core each, so audits in them start no further threads.
test: $(READY) style
	@command -v chromium >/dev/null || \
	  echo "Tests in a browser are skipped, because chromium is not installed"
	@log=$$(mktemp); $(BIN)/mypy >$$log 2>&1 & types=$$!; \
	OPENBLAS_NUM_THREADS=1 EMBAUDIT_WORKERS=1 $(BIN)/pytest -n 2; tests=$$?; \
	wait $$types; types=$$?; cat $$log; rm -f $$log; test $$tests -eq 0 && test $$types -eq 0

# Laws, the truth table and screens must give the same results on every processor.
EVERYWHERE := tests/truth tests/gauges tests/ranges tests/canonical tests/linalg \
	tests/cli/test_first_screens.py

# Slow tests run whole notebooks and pages of the documentation, gates with many audits, pages
# in a browser, damaged and large files, runs that are killed or interrupted, and many workers.
# On x86, the tests of EVERYWHERE run again with the matrix products of two older processors.
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

# Execute the notebooks and build the pages. Warnings and broken references are errors.
docs: $(DOCS)/.ready
	OPENBLAS_NUM_THREADS=1 $(DOCS)/bin/sphinx-build -W --keep-going --quiet --builder html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

$(DOCS)/.ready: requirements-docs.lock pyproject.toml
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-docs.lock
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Train models with other libraries, read them, and compare the scores with those that each
# library computes itself. The results become a table in docs/reading.md.
test-peers: $(PEERS)/.ready
	OPENBLAS_NUM_THREADS=1 $(PEERS)/bin/pytest -rs tests/peers

$(PEERS)/.ready: requirements-peers.lock pyproject.toml
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-peers.lock
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Update the stored screens of the tests and the generated parts of the documentation.
# Read the difference before you commit it.
kept: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m syrupy_snapshot --snapshot-update
	$(BIN)/python docs/generate.py

# For 500 random models, search for an equivalent model that moves a cosine which the audit
# calls pinned.
adversary: $(READY)
	EMBAUDIT_ADVERSARY=500 EMBAUDIT_ADVERSARY_MODELS=500 $(BIN)/pytest -q -m "" \
		tests/truth/test_adversary_on_audits.py tests/truth/test_adversary_on_proven.py \
		tests/truth/test_adversary_on_storage.py tests/truth/test_adversary_on_two_spaces.py \
		tests/auditing/test_stored_rows.py

# Run all benchmarks, each paired with a peer or a bare matrix product. The medians and a
# description of the machine are written to benchmarks/measured.md.
bench: $(READY)
	$(BIN)/python benchmarks/run.py

# Run the same scripts at small sizes, in less than three minutes.
bench-quick: $(READY)
	$(BIN)/python benchmarks/run.py --quick

# Measure the coverage of the confidence intervals of movements in 2,000 samples of pairs
# (`make test`: 300).
coverage: $(READY)
	EMBAUDIT_COVERAGE=2000 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q tests/linalg/test_pair_changes.py

# Audit 2,000 random models, some of them collapsed, and count false alarms (`make test`: 200).
tolerances: $(READY)
	EMBAUDIT_TOLERANCES=2000 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q tests/truth/test_false_alarms.py

# Read 60,000 damaged files of all formats (`make test-slow`: 800).
fuzz: $(READY)
	EMBAUDIT_FUZZ=60000 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m 'slow or not slow' tests/fuzz/test_fuzz.py

# Kill 200 runs, or fill their disk, at random moments while they write
# (`make test-slow`: a few).
killed: $(READY)
	EMBAUDIT_KILLED=200 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m slow tests/fuzz/test_killed_runs.py
	EMBAUDIT_INTERRUPTED=10 $(BIN)/pytest -q -m slow tests/fuzz/test_interrupted_audits.py

# Test with the oldest version of each dependency that pyproject.toml allows. Deprecation
# warnings are ignored, because newer test tools warn about the old versions.
test-oldest: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv venv --quiet --clear --python 3.11 $(OLDEST)
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --group test -r pyproject.toml
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --no-deps --editable .
	OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 -W ignore::DeprecationWarning

# Update the lock files within the bounds of pyproject.toml, for all supported platforms and
# versions of Python.
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	for group in test docs peers; do \
	  lock=requirements$$(test $$group = test || echo -$$group).lock; \
	  $(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
	    --python-version 3.11 --group $$group pyproject.toml --output-file $$lock || exit 1; done

clean:
	rm -rf .venv $(DOCS) $(PEERS) $(OLDEST) docs/_build docs/gallery docs/generated \
	  .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
