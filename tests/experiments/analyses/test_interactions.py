"""Two factors at a time: means over worlds, and intervals that are possible and those of the means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pytest

from experiments.analyses.interactions import interactions
from experiments.experiment import Experiment, PlotTable
from experiments.results import means_of

pytestmark = pytest.mark.unit

Build, RunsOf = Callable[..., Experiment], Callable[..., pd.DataFrame]
T_975 = 2.7764451051977987
"""Student's, four degrees of freedom: five worlds."""


def factor(name: str) -> dict[str, object]:
    return {"name": name, "path": f"laws.{name}", "values": [0, 1]}


def level(place: Mapping[str, object], name: str) -> float:
    return float(str(place[name]))


def row_at(table: pd.DataFrame, first: str, second: str, one: int, other: int) -> pd.Series:
    own = table[(table["factor"] == first) & (table["other"] == second)]
    (found,) = [row for _, row in own.iterrows() if (row["level"], row["other_level"]) == (one, other)]
    return found


def test_each_pair_has_the_means_over_all_other_factors(build: Build, runs_of: RunsOf) -> None:
    """y = 10 a + 5 a b + c + world: the sample is the worlds, 0 to 4, whose deviation is sqrt 2.5."""
    experiment = build(("p",), factor=[factor("a"), factor("b"), factor("c")])
    runs = runs_of(
        experiment,
        lambda at, world: 10 * level(at, "a") + 5 * level(at, "a") * level(at, "b") + level(at, "c") + world,
    )
    table = interactions(runs, experiment, PlotTable(kind="interactions", response="y"))

    assert len(table) == 3 * 4
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row = row_at(table, "a", "b", a, b)
        assert row["mean"] == pytest.approx(10 * a + 5 * a * b + 0.5 + 2)
        assert row["high"] - row["mean"] == pytest.approx(T_975 * np.sqrt(2.5 / 5))
        assert row["n"] == 5
    assert row_at(table, "b", "c", 1, 1)["mean"] == pytest.approx(5 + 2.5 + 1 + 2)


def test_what_is_0_or_1_has_the_interval_of_the_means_and_none_is_impossible(
    build: Build, runs_of: RunsOf
) -> None:
    two = build(("p",), factor=[factor("a"), factor("b")], responses=["overflowed"])
    runs = runs_of(two, lambda at, world: float(level(at, "a") * level(at, "b") > 0 or world == 0))
    runs["failed_stage"] = None
    table = interactions(runs, two, PlotTable(kind="interactions", response="overflowed"))
    means = means_of(runs, two)
    pd.testing.assert_frame_equal(table[["mean", "low", "high"]], means[["mean", "low", "high"]])

    three = build(("p",), factor=[factor("a"), factor("b"), factor("c")], responses=["overflowed"])
    for value in (0.0, 1.0):
        runs = runs_of(three, lambda _at, _world, value=value: value)
        found = interactions(runs, three, PlotTable(kind="interactions", response="overflowed"))
        assert (found["mean"] == value).all()
        assert found["low"].ge(0).all() and found["high"].le(1).all()
        assert (found["high"] - found["low"]).gt(0.05).all()  # five runs alike prove nothing of the next one


def test_a_world_that_lacks_a_point_counts_at_none_of_its_pairs_of_levels(
    build: Build, runs_of: RunsOf
) -> None:
    experiment = build(("p",), factor=[factor("a"), factor("b"), factor("c")])
    runs = runs_of(
        experiment,
        lambda at, world: None if (at["point"], world) == (0, 4) else level(at, "c"),
    )
    table = interactions(runs, experiment, PlotTable(kind="interactions", response="y"))

    assert row_at(table, "a", "b", 0, 0)[["n", "mean"]].tolist() == [4, 0.5]  # not 4.5 runs at c = 1
    assert row_at(table, "a", "b", 1, 1)["n"] == 5


def test_pairs_of_levels_that_no_world_has_are_rows_without_a_mean(build: Build, runs_of: RunsOf) -> None:
    experiment = build(("p",), factor=[factor("a"), factor("b")])
    runs = runs_of(experiment, lambda at, _world: None if at["point"] == 3 else 1.0)
    table = interactions(runs, experiment, PlotTable(kind="interactions", response="y"))

    gone = row_at(table, "a", "b", 1, 1)
    assert gone["n"] == 0 and pd.isna(gone["mean"])
