"""Two responses against each other: means with Student's interval, cut to what is possible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.analyses.tradeoffs import refusals, tradeoff
from experiments.experiment import Experiment, PlotTable

Build = Callable[..., Experiment]
Rows = Callable[..., pd.DataFrame]

COST = [1.0, 4.0, 2.5, 2.0]


@pytest.mark.theory
def test_means_and_intervals_are_students(build: Build, runs_of: Rows) -> None:
    experiment = build(("a", "b"), responses=["usd", "net_tokens"], replications=4)
    runs = runs_of(
        experiment,
        lambda at, world: COST[world] * (2 if at["policy"] == "b" else 1),
        net_tokens=lambda at, world: -COST[world] if at["policy"] == "a" else None,
    )
    table = tradeoff(runs, experiment, PlotTable(kind="pareto", x="usd", y="net_tokens"))
    a, b = table.to_dict("records")
    low, high = stats.t.interval(0.95, 3, loc=np.mean(COST), scale=stats.sem(COST))
    assert (a["usd"], a["usd_low"], a["usd_high"]) == pytest.approx((np.mean(COST), low, high))
    assert (a["net_tokens_low"], a["net_tokens_high"]) == pytest.approx((-high, -low))
    assert b["usd"] == pytest.approx(2 * np.mean(COST))
    assert pd.isna(b["net_tokens"])
    assert (a["place"], a["policy"], b["policy"]) == ("s", "a", "b")


@pytest.mark.unit
def test_an_interval_ends_where_the_possible_ends(build: Build, runs_of: Rows) -> None:
    """Of 0 and 10 Student's interval reaches far below 0, where no cost is."""
    experiment = build(("a",), responses=["usd", "net_tokens"], replications=2)
    runs = runs_of(experiment, lambda _, world: 10.0 * world, net_tokens=lambda _, world: 10.0 * world)
    (row,) = tradeoff(runs, experiment, PlotTable(kind="pareto", x="usd", y="net_tokens")).to_dict("records")
    assert row["usd_low"] == 0
    assert row["net_tokens_low"] == pytest.approx(5 - stats.t.ppf(0.975, 1) * 5)


@pytest.mark.unit
def test_refusals_are_shares_against_net(build: Build, runs_of: Rows) -> None:
    experiment = build(("a",), responses=["share_refused", "net_per_attempt_tokens"], replications=3)
    runs = runs_of(experiment, lambda *_: 0.25, net_per_attempt_tokens=lambda *_: -40.0)
    (row,) = refusals(runs, experiment).to_dict("records")
    assert {name: row[name] for name in ("share_refused", "low", "high", "net", "net_low", "net_high")} == {
        "share_refused": 0.25,
        "low": 0.25,
        "high": 0.25,
        "net": -40,
        "net_low": -40,
        "net_high": -40,
    }
