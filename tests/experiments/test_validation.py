"""The page of validation is what the catalogue and its runs say, and names tests that there are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from scenarios import load_scenario, scenario_names

pytestmark = pytest.mark.documented

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGE = REPOSITORY / "docs" / "validation.md"
SHORT = ("log-", "report-")
"""Beginnings of the names of scenarios that take no time, and are run again here."""


def load() -> ModuleType:
    path = REPOSITORY / "docs" / "make_validation.py"
    spec = importlib.util.spec_from_file_location("make_validation", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VALIDATION = load()
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in VALIDATION.committed()["measurements"].splitlines()[2:]
]


def test_every_published_figure_of_the_catalogue_stands_in_the_page() -> None:
    expected = [
        [
            row.kind,
            f"`{scenario.name}`",
            f"`{row.policy}`",
            row.response.removeprefix("summary."),
            row.documented.removeprefix(VALIDATION.MISSED),
        ]
        for kind in ("external", "implied")
        for scenario in VALIDATION.documenting()
        for row in scenario.file.expect
        if row.kind == kind
    ]
    assert [row[:5] for row in ROWS] == expected, "run `python docs/make_validation.py`"


def test_no_external_figure_of_the_catalogue_is_left_out() -> None:
    everywhere = [row for name in scenario_names() for row in load_scenario(name).file.expect]
    counted = sum(row.kind == "external" for row in everywhere)
    assert counted == sum(row[0] == "external" for row in ROWS) > 0


def test_what_is_short_gives_the_same_numbers_again() -> None:
    scenarios = [one for one in VALIDATION.documenting() if one.name.startswith(SHORT)]
    again = [VALIDATION.row_of(finding) for finding in VALIDATION.measured(scenarios)]
    assert again
    assert [row for row in ROWS if row[1].strip("`").startswith(SHORT)] == again


def test_every_miss_is_explained() -> None:
    missed = [row for row in ROWS if row[6] != "holds"]
    told = VALIDATION.committed()["misses"].splitlines()
    assert len(missed) == len([line for line in told if line.startswith("- ")])
    for line in told:
        if line.startswith("- "):
            assert line.partition("simulated ")[2].partition(". ")[2].strip(), line


def test_the_differential_tests_are_named_with_their_versions() -> None:
    tables = VALIDATION.committed()
    assert tables["differential"] == VALIDATION.differential(restated=False)
    assert tables["restated"] == VALIDATION.differential(restated=True)


def test_no_module_that_states_a_rule_passes_for_one_that_runs_the_library() -> None:
    for path in VALIDATION.DIFFERENTIAL.glob("test_*.py"):
        runs_it = "\npytest.importorskip(" in path.read_text(encoding="utf-8")
        assert runs_it or path.stem in VALIDATION.RESTATED, path.name


def test_the_tests_that_the_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text())
    assert len(named) >= 5
    for path, test in named:
        text = (REPOSITORY / path).read_text()
        assert not test or f"def {test}(" in text
