# The habits, one command each. PYTHON is the interpreter of the environment that holds the dev extra.
PYTHON ?= .venv/bin/python
LINT_IMPORTS ?= $(dir $(PYTHON))lint-imports
REWRITELAB ?= $(dir $(PYTHON))rewritelab
UV ?= uv

# The studies whose pictures stand in docs/findings.md, and those of which only tables do.
FINDINGS = gate-off gate-ablation tag-recall-constraint tombstone-placement escalation-storm reference-density \
	coherence-cost accretion guard-tuning epoch-and-cap false-floor policy-zoo
FINDINGS_TABLES = tag-recall-closed tag-recall-needed gridlock decay-factors policy-variants conserving

.PHONY: help format format-check lint types layers test docs tables validation findings bench lock

help:          ## this list
	@grep -E '^[a-z-]+: +##' Makefile

format:        ## write the format, and the fixes that are safe
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

format-check:  ## fail where `format` would change something
	$(PYTHON) -m ruff format --check .

lint:          ## the rules of pyproject.toml
	$(PYTHON) -m ruff check .

types:         ## strict types over the four packages and the launcher
	$(PYTHON) -m mypy

layers:        ## simulator <- (policies | scenarios) <- experiments
	$(LINT_IMPORTS)

test:          ## all tests, on all cores
	$(PYTHON) -m pytest -n auto

docs:          ## the code blocks of README and docs, and the examples in docstrings
	$(PYTHON) -m pytest tests/test_docs.py

tables:        ## the tables in docs/*.md that are made from the code
	$(PYTHON) docs/make_tables.py

validation:    ## the tables of docs/validation.md, from runs of what is held to published figures
	$(PYTHON) docs/make_validation.py

findings:      ## the sweeps of docs/findings.md into results/, and its pictures
	for study in $(FINDINGS); do \
		$(REWRITELAB) sweep $$study --fresh && cp results/$$study/$$study.png docs/images/ || exit 1; \
	done
	$(PYTHON) docs/shrink_image.py docs/images/policy-zoo.png
	for study in $(FINDINGS_TABLES); do $(REWRITELAB) sweep $$study --fresh || exit 1; done

bench:         ## ratios, never absolute times
	$(PYTHON) benchmarks/run.py

# The headers are left out so that no address of an index gets into the repository.
lock:          ## the hashed lock of the dev environment, for every supported Python and platform
	$(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-header --upgrade --quiet \
		--extra dev --output-file requirements-dev.lock pyproject.toml
