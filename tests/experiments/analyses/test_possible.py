"""Intervals that pictures show: none reaches what cannot be, and they are those of the table of means."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from experiments.analyses.ranking import ranking
from experiments.analyses.sensitivity import swings
from experiments.analyses.tradeoffs import refusals, tradeoff
from experiments.experiment import Experiment, PlotTable
from experiments.results import means_of

pytestmark = pytest.mark.unit

Build, RunsOf = Callable[..., Experiment], Callable[..., pd.DataFrame]


def test_no_swing_of_a_share_leaves_0_to_1(build: Build, runs_of: RunsOf) -> None:
    """The upper level overflows in every world, the lower in none: the base is a half, the ends 0 and 1."""
    factor = {"name": "a", "path": "laws.a", "values": [0, 1]}
    experiment = build(("p",), factor=[factor], responses=["overflowed"])
    runs = runs_of(experiment, lambda at, _world: float(str(at["a"])))
    (row,) = swings(runs, experiment, PlotTable(kind="tornado", response="overflowed")).to_dict("records")

    assert (row["low_value"], row["base"], row["high_value"]) == (0.0, 0.5, 1.0)
    assert (row["low_value_low"], row["high_value_high"]) == (0.0, 1.0)
    assert row["low_value_high"] > 0 and row["high_value_low"] < 1


@pytest.mark.parametrize("intervals", ["t", "bootstrap"])
def test_pictures_of_means_have_the_intervals_of_their_table(
    intervals: str, build: Build, runs_of: RunsOf
) -> None:
    """Attempts of one run share its world, so the share refused is a mean over runs, as any other."""
    names = ["share_refused", "net_per_attempt_tokens"]
    experiment = build(("p", "q"), responses=names, intervals=intervals)
    runs = runs_of(
        experiment,
        lambda at, world: [0.0, 0.0, 0.0, 0.1, 0.9][world] * (at["policy"] == "p"),
        net_per_attempt_tokens=lambda _at, world: float(world**3),
    )
    runs["failed_stage"] = None
    means = means_of(runs, experiment)
    share, net = (means[means["response"] == name].reset_index(drop=True) for name in names)

    found = refusals(runs, experiment)
    assert found[["share_refused", "low", "high"]].to_numpy().tolist() == ends(share)
    assert found[["net", "net_low", "net_high"]].to_numpy().tolist() == ends(net)
    assert found["low"].ge(0).all()
    both = tradeoff(runs, experiment, PlotTable(kind="pareto", x=names[0], y=names[1]))
    assert both[[names[1], f"{names[1]}_low", f"{names[1]}_high"]].to_numpy().tolist() == ends(net)
    ranked = ranking(runs, experiment, PlotTable(kind="ranking", response=names[1])).sort_values("policy")
    assert ranked[["mean", "low", "high"]].to_numpy().tolist() == ends(net)


def ends(table: pd.DataFrame) -> list[list[float]]:
    rows: list[list[float]] = table[["mean", "low", "high"]].to_numpy().tolist()
    return rows
