"""Expectations: what a row may say, what it takes from a run, and how it is put in words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from scenarios.expectation import Expectation
from simulator import Run
from simulator.recorder import EventRow, TurnRow

pytestmark = pytest.mark.unit


def expected(**said: Any) -> Expectation:
    return Expectation(**{"policy": "p", "kind": "implied", "source": "a test", **said})


def run_with(occupancies: list[float], outcome: str = "horizon") -> Run:
    rows = [
        TurnRow(turn, 1, float(turn), 10 * turn, occupancy, 0, 0, 0, 0, 1.0, 0, 1.0, 0)
        for turn, occupancy in enumerate(occupancies, 1)
    ]
    return Run(
        outcome, {"net_tokens": -5, "confidence": None}, {}, rows, [], [EventRow(1, 0.0, "kind", "", 0)]
    )


COLUMN: dict[str, Any] = {"table": "turns", "column": "occupancy_pct", "at_least": 0}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"at_least": 0}, "needs exactly one of column"),
        ({"measure": "share_refused", "summary": "turns", "at_least": 0}, "needs exactly one of column"),
        (
            {"measure": "share_refusd", "at_least": 0},
            "unknown measure 'share_refusd', did you mean 'share_refused'",
        ),
        (
            {"summary": "net_token", "at_least": 0},
            "unknown key of the summary 'net_token', did you mean 'net_tokens'",
        ),
        ({"column": "net", "pick": "first", "at_least": 0}, "column needs a table"),
        ({**COLUMN, "column": "ocupancy_pct", "pick": 0}, "unknown column 'ocupancy_pct', did you mean"),
        (COLUMN, "column needs one of pick and reduce"),
        ({**COLUMN, "pick": "first", "reduce": "max"}, "column needs one of pick and reduce"),
        ({**COLUMN, "pick": "third"}, "pick"),
        ({**COLUMN, "reduce": "median"}, "reduce"),
        ({**COLUMN, "pick": "all", "over": "mean"}, "pick all gives the rows"),
        ({**COLUMN, "pick": "all", "minus": "q"}, "pick all gives the rows"),
        ({"summary": "turns", "pick": "first", "at_least": 0}, "table, pick and reduce need a column"),
        ({"summary": "turns"}, "needs exactly one band"),
        ({"summary": "turns", "at_least": 0, "at_most": 1}, "needs exactly one band"),
        ({"summary": "turns", "between": (2, 1)}, "is empty"),
        ({"summary": "turns", "between": (2,)}, "between"),
        ({"summary": "turns", "equals": 1, "within": -1}, "within"),
        ({"summary": "turns", "at_least": 1, "within": 1}, "within needs equals with a number"),
        ({"summary": "turns", "at_least": float("nan")}, "at_least"),
        ({"summary": "turns", "at_least": 0, "over": "share"}, "over share needs share_at_least"),
        ({"summary": "turns", "at_least": 0, "share_at_least": 0.5}, "nothing else takes it"),
        ({"summary": "turns", "at_least": 0, "over": "share", "share_at_least": 1.5}, "share_at_least"),
        (
            {"summary": "outcome", "equals": "overflow", "over": "mean"},
            "a word can only be judged over every",
        ),
        ({"summary": "outcome", "equals": "overflow", "minus": "q"}, "a word can only be judged over every"),
        ({"summary": "turns", "at_least": 0, "replications": ()}, "replications"),
        ({"summary": "turns", "at_least": 0, "replications": (-1,)}, "replications"),
        ({"summary": "turns", "at_least": 0, "kind": "guessed"}, "kind"),
        ({"summary": "turns", "at_least": 0, "equal": 5}, "equal"),
    ],
)
def test_faults(said: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        expected(**said)


@pytest.mark.parametrize("lacking", ["policy", "kind", "source"])
def test_what_every_row_says(lacking: str) -> None:
    said = {"policy": "p", "kind": "implied", "source": "a test", "summary": "turns", "at_least": 0}
    with pytest.raises(ValidationError, match=lacking):
        Expectation.model_validate({key: value for key, value in said.items() if key != lacking})


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ({"pick": "first"}, [50.0]),
        ({"pick": "last"}, [90.0]),
        ({"pick": 1}, [70.0]),
        ({"pick": -2}, [70.0]),
        ({"pick": 3}, [None]),
        ({"pick": "all"}, [50.0, 70.0, 90.0]),
        ({"reduce": "mean"}, [70.0]),
        ({"reduce": "min"}, [50.0]),
        ({"reduce": "max"}, [90.0]),
        ({"reduce": "sum"}, [210.0]),
        ({"reduce": "count"}, [3.0]),
    ],
)
def test_values_of_a_column(said: dict[str, Any], values: list[float | None]) -> None:
    assert expected(**COLUMN, **said).values(run_with([50.0, 70.0, 90.0])) == values


def test_values_of_nothing() -> None:
    empty = run_with([])
    for said in ({"pick": "first"}, {"pick": "all"}, {"reduce": "max"}):
        assert expected(**COLUMN, **said).values(empty) == [None]
    assert expected(**COLUMN, reduce="count").values(empty) == [0.0]


def test_values_of_the_summary_and_of_a_measure() -> None:
    run = run_with([1.0], outcome="overflow")
    assert expected(summary="net_tokens", at_least=0).values(run) == [-5]
    assert expected(summary="confidence", at_least=0).values(run) == [None]
    assert expected(summary="outcome", equals="overflow").values(run) == ["overflow"]
    assert expected(measure="overflowed", at_least=0).values(run) == [1.0]


@pytest.mark.parametrize(
    ("said", "response", "documented"),
    [
        ({"summary": "turns", "equals": 94, "within": 0.5}, "summary.turns", "94 +/- 0.5"),
        ({"summary": "turns", "equals": "horizon", "must_fail": True}, "summary.turns", "not horizon"),
        ({"summary": "turns", "between": (1, 2.5), "over": "mean"}, "summary.turns", "1 to 2.5 (mean)"),
        (
            {"summary": "turns", "at_least": 3, "over": "share", "share_at_least": 0.9},
            "summary.turns",
            ">= 3 in >= 90% of runs",
        ),
        ({**COLUMN, "pick": 2, "at_least": None, "at_most": 4}, "turns.occupancy_pct row 2", "<= 4"),
        ({**COLUMN, "reduce": "max", "minus": "q"}, "turns.occupancy_pct max minus q", ">= 0"),
        (
            {"measure": "share_refused", "at_most": 1, "replications": (0, 4)},
            "share_refused in runs 0, 4",
            "<= 1",
        ),
    ],
)
def test_words(said: dict[str, Any], response: str, documented: str) -> None:
    row = expected(**said)
    assert (row.response, row.documented) == (response, documented)


def test_bands_hold_both_of_their_ends() -> None:
    assert expected(summary="turns", between=(1, 2)).holds(1)
    assert expected(summary="turns", between=(1, 2)).holds(2)
    assert not expected(summary="turns", between=(1, 2)).holds(2.0000001)
    assert not expected(summary="turns", at_least=0).holds(None)
    assert expected(summary="turns", equals=0.3).holds(0.1 + 0.2)
    assert not expected(summary="turns", equals=0.3).holds(0.3001)
    assert not expected(summary="turns", equals=1).holds("1")
