"""Sensitivity of made responses: additive ones have their indices, slopes and swings in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.analyses.sensitivity import point_means, sensitivity, swings
from experiments.experiment import Experiment, PlotTable
from experiments.factors import Design, Factor
from simulator import InputError

Build = Callable[..., Experiment]
Rows = Callable[..., pd.DataFrame]

PLOT = PlotTable(kind="sensitivity", response="y")
FACTORS = (
    Factor(name="linear", path="a", low=10, high=30),
    Factor(name="log", path="b", low=0.01, high=100, scale="log"),
    Factor(name="whole", path="c", low=1, high=4, whole=True),
    Factor(name="switch", path="d", values=("off", "on")),
    Factor(name="idle", path="e", low=0, high=1),
)


def additive(at: dict[str, object], world: int) -> float:
    """Terms of variance 20^2 / 12, 6^2 x 4^2 / 12, 3^2 x 15 / 12 and 5^2 / 4; the world adds alike."""
    return (
        float(at["linear"])
        + 6 * math.log10(float(at["log"]))
        + 3 * float(at["whole"])
        + 5 * (at["switch"] == "on")
        + 100.0 * world
    )


VARIANCES = np.array([20**2 / 12, 6**2 * 4**2 / 12, 3**2 * 15 / 12, 5**2 / 4, 0.0])


@pytest.mark.theory
def test_sobol_indices_of_an_additive_response_are_shares_of_variance(build: Build, runs_of: Rows) -> None:
    """Without interactions first and total index are one; a Sobol sequence of 1024 errs below a hundredth."""
    design = Design(kind="saltelli", points=1024)
    experiment = build(("p",), factor=FACTORS, design=design, replications=1)
    table = sensitivity(runs_of(experiment, additive), experiment, PLOT)
    shares = VARIANCES / VARIANCES.sum()
    assert table["factor"].tolist() == [factor.name for factor in FACTORS]
    assert table["first"].to_numpy() == pytest.approx(shares, abs=0.01)
    assert table["total"].to_numpy() == pytest.approx(shares, abs=0.01)
    for name in ("first", "total"):
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()
    assert table.loc[4, ["total", "total_low", "total_high"]].tolist() == [0, 0, 0]


@pytest.mark.theory
def test_elementary_effects_of_a_linear_response_are_its_ranges(build: Build, runs_of: Rows) -> None:
    """Over a whole range each factor moves the response by the same, whatever the others are."""
    factors = (
        Factor(name="up", path="a", low=10, high=30),
        Factor(name="down", path="b", low=-1, high=1),
        Factor(name="idle", path="c", low=0, high=1),
    )
    experiment = build(("p",), factor=factors, design=Design(kind="morris", trajectories=8), replications=2)
    runs = runs_of(experiment, lambda at, world: at["up"] - 7 * at["down"] + 40 * world)
    table = sensitivity(runs, experiment, PLOT)
    assert table["mu"].to_numpy() == pytest.approx([20, -14, 0], abs=1e-3)  # levels have six digits
    assert table["mu_star"].to_numpy() == pytest.approx([20, 14, 0], abs=1e-3)
    assert table["sigma"].to_numpy() == pytest.approx([0, 0, 0], abs=1e-3)


@pytest.mark.unit
def test_all_points_are_needed(build: Build, runs_of: Rows) -> None:
    experiment = build(
        ("p",), factor=FACTORS[:1], design=Design(kind="morris", trajectories=2), replications=2
    )
    runs = runs_of(experiment, lambda at, world: None if (at["point"], world) == (2, 0) else 1.0)
    assert set(sensitivity(runs, experiment, PLOT)["mu"]) == {0.0}  # a run is missing, no point is
    for analysis in (sensitivity, swings):
        with pytest.raises(
            InputError, match="no world has y at all of 4 points, and 1 have it in none"
        ) as found:
            analysis(runs[runs["point"] != 2], experiment, PLOT)
        assert "\n" not in str(found.value)


@pytest.mark.theory
@pytest.mark.parametrize("missing", [(0, 1), (1, 0)])
def test_a_world_that_a_point_lacks_moves_no_effect(
    build: Build, runs_of: Rows, missing: tuple[int, int]
) -> None:
    """The world adds 100 alike; were it counted at some points only, it would pass for an effect."""
    design = Design(kind="morris", trajectories=2)
    experiment = build(("p",), factor=FACTORS[:1], design=design, replications=2)
    runs = runs_of(
        experiment,
        lambda at, world: None if (at["point"], world) == missing else float(at["linear"]) + 100 * world,
    )
    (row,) = sensitivity(runs, experiment, PLOT).to_dict("records")
    assert (row["mu"], row["sigma"]) == pytest.approx((20, 0), abs=1e-3)
    (swing,) = swings(runs, experiment, PLOT).to_dict("records")
    levels = np.unique([experiment.labels(point)["linear"] for point in range(experiment.size)])
    assert swing["high_value"] - swing["low_value"] == pytest.approx(np.ptp(levels))


@pytest.mark.unit
def test_means_of_points(build: Build, runs_of: Rows) -> None:
    experiment = build(("p",), factor=(Factor(name="x", path="x", values=(1, 2, 3)),), replications=4)
    holes = {(2, 0), (1, 3)}
    runs = runs_of(
        experiment, lambda at, world: None if (at["x"], world) in holes else at["x"] * 10 + world**2
    )
    assert point_means(runs, experiment, PLOT).tolist() == [12.5, 22.5, 32.5]  # worlds 1 and 2
    without = runs[~((runs["x"] == 2) & (runs["replication"] == 1))]  # still to come
    assert point_means(without, experiment, PLOT).tolist() == [14, 24, 34]


# ------------------------------------------------------------------------------------ swings


@pytest.mark.theory
def test_swings_of_a_grid_are_the_mean_responses_at_both_ends(build: Build, runs_of: Rows) -> None:
    """Of y = 2 x + z^2 over x in 1, 5, 6 and z in 0, 3: the means of x are 4, those of z^2 4.5."""
    factors = (Factor(name="x", path="x", values=(1, 5, 6)), Factor(name="z", path="z", values=(0, 3)))
    experiment = build(("p",), factor=factors)
    runs = runs_of(experiment, lambda at, world: 2 * at["x"] + at["z"] ** 2 + 0.0 * world)
    x, z = swings(runs, experiment, PLOT).to_dict("records")
    assert (x["low_value"], x["base"], x["high_value"]) == pytest.approx((2 + 4.5, 8 + 4.5, 12 + 4.5))
    assert (z["low_value"], z["base"], z["high_value"]) == pytest.approx((8, 12.5, 8 + 9))
    assert (x["low_label"], x["high_label"], z["high_label"]) == ("1", "6", "3")


@pytest.mark.theory
def test_the_ends_of_a_range_are_its_outer_fifths(build: Build, runs_of: Rows) -> None:
    """A hypercube has a point in each slice, so the fifths have means of 0.1 and 0.9 to within a slice."""
    factor = Factor(name="x", path="x", low=0, high=1)
    experiment = build(("p",), factor=(factor,), design=Design(kind="latin-hypercube", points=100))
    (row,) = swings(runs_of(experiment, lambda at, _: at["x"]), experiment, PLOT).to_dict("records")
    assert row["low_value"] == pytest.approx(0.1, abs=0.01)
    assert row["base"] == pytest.approx(0.5, abs=0.01)
    assert row["high_value"] == pytest.approx(0.9, abs=0.01)
    assert (row["low_label"], row["high_label"]) == ("low fifth", "high fifth")


@pytest.mark.unit
def test_a_swing_without_a_world_is_refused(build: Build, runs_of: Rows) -> None:
    """Each point has worlds, and no two have the same: nothing can be told apart from the worlds."""
    experiment = build(("p",), factor=(Factor(name="x", path="x", values=(1, 2)),), replications=2)
    runs = runs_of(experiment, lambda at, world: None if at["x"] == world + 1 else 8.0)
    with pytest.raises(InputError, match="no world has y at all of 2 points, and 0 have it in none"):
        swings(runs, experiment, PLOT)


@pytest.mark.theory
def test_the_interval_of_a_swing_is_over_worlds_and_not_over_points(build: Build, runs_of: Rows) -> None:
    """Of y = b x + 100 world, b by world, the height of a world cancels and the spread of b is left."""
    slopes = np.array([1.0, 2.0, 4.0, 5.0, 3.5])
    experiment = build(("p",), factor=(Factor(name="x", path="x", values=(0, 10)),), replications=5)
    runs = runs_of(experiment, lambda at, world: slopes[world] * at["x"] + 100.0 * world)
    (row,) = swings(runs, experiment, PLOT).to_dict("records")
    for end, contrasts in (("low", -5 * slopes), ("high", 5 * slopes)):
        interval = stats.ttest_1samp(contrasts, 0).confidence_interval(0.95)
        assert row[f"{end}_value"] == pytest.approx(row["base"] + contrasts.mean())
        assert row[f"{end}_value_low"] == pytest.approx(row["base"] + interval.low)
        assert row[f"{end}_value_high"] == pytest.approx(row["base"] + interval.high)
    assert row["n"] == 5
