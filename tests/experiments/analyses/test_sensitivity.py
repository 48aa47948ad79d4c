"""Sensitivity of made responses: additive ones have their indices, slopes and swings in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

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
    with pytest.raises(InputError, match="1 of 4 points have no y"):
        sensitivity(runs[runs["point"] != 2], experiment, PLOT)


@pytest.mark.unit
def test_means_of_points(build: Build, runs_of: Rows) -> None:
    experiment = build(("p",), factor=(Factor(name="x", path="x", values=(1, 2, 3)),), replications=4)
    runs = runs_of(experiment, lambda at, world: None if at["x"] == 2 or world == 3 else at["x"] * 10 + world)
    found = point_means(runs, experiment, PLOT)
    assert found[[0, 2]].tolist() == [11, 31]
    assert np.isnan(found[1])


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
def test_a_swing_without_a_response_is_unknown(build: Build, runs_of: Rows) -> None:
    experiment = build(("p",), factor=(Factor(name="x", path="x", values=(1, 2)),))
    runs = runs_of(experiment, lambda at, _: None if at["x"] == 1 else 8.0)
    (row,) = swings(runs, experiment, PLOT).to_dict("records")
    assert np.isnan(row["low_value"])
    assert (row["base"], row["high_value"]) == (8, 8)
