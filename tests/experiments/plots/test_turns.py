"""Occupancy: what a run reaches after its first rewrite is in sight, and the band says what it is."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from experiments import plots
from experiments.plots.turns import MOST_BANDS

pytestmark = pytest.mark.unit


def runs(occupancies: dict[str, list[float]], worlds: int = 1) -> pd.DataFrame:
    rows = [
        {"policy": policy, "replication": world, "turn": turn, "occupancy_pct": value + world}
        for policy, values in occupancies.items()
        for world in range(worlds)
        for turn, value in enumerate(values, 1)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("values", "floor"),
    [
        (
            [40.0, 60.0, 90.0, 88.0, 90.0, 88.0],
            70,
        ),  # twenty points under the peak, though the runs keep above
        ([40.0, 60.0, 90.0, 52.0, 70.0, 90.0], 50),  # what a deep rewrite leaves
        ([40.0, 60.0, 90.0, 12.0, 70.0, 90.0], 0),  # near 0 the axis begins there
        ([5.0, 60.0, 90.0], 70),  # a run that never falls
    ],
)
def test_the_axis_begins_under_all_that_follows_the_first_fall(values: list[float], floor: float) -> None:
    axes = plots.occupancy_by_turn(runs({"deep": values}), window=24_000).axes[0]
    assert axes.get_ylim()[0] == floor


def test_the_deepest_policy_says_where_the_axis_begins() -> None:
    table = runs({"naive": [50.0, 90.0, 89.0, 91.0], "conserving": [30.0, 50.0, 41.0, 55.0]})
    assert plots.occupancy_by_turn(table, window=24_000).axes[0].get_ylim()[0] <= 41


def test_a_band_says_its_quantiles_and_one_run_has_none(said: Callable[[Figure], list[str]]) -> None:
    words = "median of runs, and their 5%\N{EN DASH}95% band"
    assert words in said(plots.occupancy_by_turn(runs({"naive": [1.0, 2.0]}, 3), window=24_000))
    assert words not in said(plots.occupancy_by_turn(runs({"naive": [1.0, 2.0]}), window=24_000))


def test_many_policies_have_medians_alone(said: Callable[[Figure], list[str]]) -> None:
    table = runs({f"policy {place}": [50.0, 60.0 + place] for place in range(MOST_BANDS + 1)}, 3)
    figure = plots.occupancy_by_turn(table, window=24_000)
    assert not figure.axes[0].findobj(PolyCollection)
    assert "median of runs" in said(figure)
