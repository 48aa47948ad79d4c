"""Ledgers of many policies stand in rows of a page, and what it does not hold is counted."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments import plots
from experiments.plots.ledgers import MOST_LEDGERS

pytestmark = pytest.mark.unit

ROW = {
    "tokens_before": 21_840,
    "tokens_after": 22_540,
    "freed": 1_100,
    "rewrite_cost": 700,
    "measurement_cost": 1_100,
    "net": -700,
    "believed_net": 1_100,
    "outcome": "committed_without_effect",
} | dict.fromkeys(("tombstones", "reinjected", "arrivals_during", "out_of_band_during"), 0)


@pytest.mark.parametrize(("count", "across"), [(1, 1), (3, 3), (4, 2), (12, 3)])
def test_at_most_three_ledgers_stand_in_a_row_and_rows_are_alike(count: int, across: int) -> None:
    figure = plots.ledgers_side_by_side({f"policy {place}": pd.Series(ROW) for place in range(count)}, 24_000)
    assert len(figure.axes) == count
    lefts = {round(axes.get_position().x0, 3) for axes in figure.axes}
    assert len(lefts) == across
    for place, axes in enumerate(figure.axes):
        assert axes.get_title(loc="left").startswith(f"policy {place}")
        assert bool(axes.get_xlabel()) == (place + across >= count)  # nothing stands beneath


def test_what_a_page_does_not_hold_is_counted(said: Callable[[Figure], list[str]]) -> None:
    rows = {f"policy {place}": pd.Series(ROW) for place in range(MOST_LEDGERS + 5)}
    figure = plots.ledgers_side_by_side(rows, 24_000)
    assert len(figure.axes) == MOST_LEDGERS
    assert "5 more policies are not shown." in said(figure)
