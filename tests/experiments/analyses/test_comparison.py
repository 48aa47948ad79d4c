"""Policies against a baseline: scipy's paired test row by row, Holm by hand, and pairs that are missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.analyses.comparison import comparison
from experiments.experiment import Experiment, PlotTable

Build = Callable[..., Experiment]
Rows = Callable[..., pd.DataFrame]

PLOT = PlotTable(kind="comparison", response="y", baseline="naive")
POLICIES = ("naive", "one", "two", "three")
WORLDS = 12


@pytest.fixture
def table(build: Build, runs_of: Rows) -> pd.DataFrame:
    """Four policies in twelve worlds whose common noise is ten times their own."""
    random = np.random.default_rng(7)
    common = random.normal(0, 10, WORLDS)
    does = dict(zip(POLICIES, (0, 0.4, 2, 0), strict=True))
    own = {policy: random.normal(does[policy], 1, WORLDS) for policy in POLICIES}
    experiment = build(POLICIES, replications=WORLDS)
    runs = runs_of(experiment, lambda at, world: common[world] + own[str(at["policy"])][world])
    found = comparison(runs, experiment, PLOT)
    found.attrs = {"wide": runs.pivot(index="replication", columns="policy", values="y")}
    return found


@pytest.mark.theory
def test_each_row_is_students_paired_test(table: pd.DataFrame) -> None:
    wide = table.attrs["wide"]
    assert table["policy"].tolist() == ["one", "two", "three"]
    for row in table.to_dict("records"):
        test = stats.ttest_rel(wide[row["policy"]], wide["naive"])
        interval = test.confidence_interval(0.95)
        assert row["p"] == pytest.approx(test.pvalue, rel=1e-9)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert row["mean"] == pytest.approx((wide[row["policy"]] - wide["naive"]).mean(), rel=1e-9)
        assert (row["n"], row["missing"]) == (WORLDS, 0)
        apart = wide[row["policy"]].var() + wide["naive"].var()
        together = (wide[row["policy"]] - wide["naive"]).var()
        assert row["variance_reduction"] == pytest.approx(apart / together, rel=1e-9)
        assert row["variance_reduction"] > 10  # the worlds are the same, and fall out


@pytest.mark.theory
def test_p_values_are_holms_over_all_rows(table: pd.DataFrame) -> None:
    """Smallest times 3, next times 2, last times 1, never falling, at most 1."""
    ordered = table.sort_values("p")["p"].tolist()
    first = min(1.0, 3 * ordered[0])
    second = max(first, min(1.0, 2 * ordered[1]))
    third = max(second, ordered[2])
    assert table.sort_values("p")["adjusted_p"].tolist() == pytest.approx([first, second, third], rel=1e-12)


@pytest.mark.theory
def test_all_intervals_hold_together_and_no_equality_is_rejected_too_often(
    build: Build, runs_of: Rows
) -> None:
    """Three policies that equal the baseline in shared worlds: 1 sweep in 20 at most tells one apart."""
    trials, n = 300, 8
    experiment = build(POLICIES, replications=n)
    random = np.random.default_rng(6)
    missed = rejected = 0
    for common in random.normal(size=(trials, n, 1)) * 3:
        seen = common + random.normal(size=(n, 4)) * [1, 2, 1, 4]
        by_policy = dict(zip(POLICIES, seen.T, strict=True))
        runs = runs_of(experiment, lambda at, world, own=by_policy: own[at["policy"]][world])
        found = comparison(runs, experiment, PLOT)
        assert (found["joint_low"] < found["low"]).all()
        assert (found["joint_high"] > found["high"]).all()
        missed += bool(((found["joint_low"] > 0) | (found["joint_high"] < 0)).any())
        rejected += bool((found["adjusted_p"] <= 0.05).any())
    most = stats.binom.isf(1e-6, trials, 0.05)
    assert 0 < missed <= rejected <= most  # Holm rejects all that Bonferroni does


@pytest.mark.unit
def test_holm_goes_over_places_too(build: Build, runs_of: Rows) -> None:
    experiment = build(("naive", "one"), scenarios=("calm", "wild"), replications=4)
    ends = {"calm": [1.0, 2.0, 1.0, 2.0], "wild": [0.0, 1.0, -1.0, 0.5]}
    runs = runs_of(
        experiment, lambda at, world: ends[str(at["scenario"])][world] if at["policy"] == "one" else 0.0
    )
    found = comparison(runs, experiment, PLOT).set_index("place")
    for place, values in ends.items():
        assert found.loc[place, "p"] == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert found.loc["calm", "adjusted_p"] == pytest.approx(2 * found.loc["calm", "p"])
    assert found.loc["wild", "adjusted_p"] == pytest.approx(found.loc["wild", "p"])


@pytest.mark.unit
def test_a_pair_counts_where_both_have_a_response(build: Build, runs_of: Rows) -> None:
    experiment = build(("naive", "one", "mute"), replications=4)
    holes = {("naive", 0), ("one", 1), *(("mute", world) for world in range(4))}

    def value(at: dict[str, object], world: int) -> float | None:
        return None if (at["policy"], world) in holes else 10.0 * world + (at["policy"] == "one")

    one, mute = comparison(runs_of(experiment, value), experiment, PLOT).to_dict("records")
    assert (one["n"], one["missing"], one["mean"], one["low"], one["high"]) == (2, 2, 1, 1, 1)
    assert (one["p"], one["adjusted_p"]) == (0.5, 0.5)  # two of one sign: as often as not by chance
    assert (mute["n"], mute["missing"]) == (0, 4)
    unknown = ("mean", "low", "high", "variance_reduction", "p", "adjusted_p")
    assert all(np.isnan(mute[name]) for name in unknown)


@pytest.mark.theory
def test_yes_or_no_is_compared_as_shares(build: Build, runs_of: Rows) -> None:
    """Of 20 pairs 9 differ one way and 2 the other; Student's p is not McNemar's."""
    experiment = build(("naive", "one"), responses=["overflowed"], replications=20)
    ends = {"one": [1.0] * 9 + [0.0] * 2 + [1.0] * 9, "naive": [0.0] * 9 + [1.0] * 2 + [1.0] * 9}
    runs = runs_of(experiment, lambda at, world: ends[str(at["policy"])][world])
    plot = PLOT.model_copy(update={"response": "overflowed"})
    (row,) = comparison(runs, experiment, plot).to_dict("records")
    assert row["p"] == pytest.approx(stats.binomtest(9, 11).pvalue)
    assert row["adjusted_p"] == row["p"]
    assert row["mean"] == pytest.approx(7 / 20)
    low, high = stats.t.interval(0.95, 19, 7 / 22, np.sqrt((13 / 22 - (7 / 22) ** 2) / 22))
    assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert (row["n"], row["missing"]) == (20, 0)


@pytest.mark.unit
def test_one_pair_says_nothing(build: Build, runs_of: Rows) -> None:
    experiment = build(("naive", "one"), replications=1)
    (row,) = comparison(runs_of(experiment, lambda *_: 1.0), experiment, PLOT).to_dict("records")
    assert (row["n"], row["low"], row["high"], row["p"]) == (1, -np.inf, np.inf, 1)
    assert np.isnan(row["variance_reduction"])


@pytest.mark.unit
def test_no_runs_no_rows(build: Build, runs_of: Rows) -> None:
    experiment = build(("naive", "one"))
    assert comparison(runs_of(experiment, lambda *_: 1.0).head(0), experiment, PLOT).empty
