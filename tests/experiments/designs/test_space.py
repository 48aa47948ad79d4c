"""Designs that fill a space, pairs of points for sensitivity, and the way to the ranges of factors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.designs import label_index, latin_hypercube, linear, log, morris, saltelli, sobol, whole

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

units = st.floats(0, 1)
bounds = st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=2, unique=True).map(sorted)


def four_levels(trajectories: int, k: int, seed: int) -> np.ndarray:
    return morris(trajectories, k, 4, seed)


# --------------------------------------------------------------------------- space-filling


@pytest.mark.theory
@pytest.mark.parametrize(("design", "points"), [(latin_hypercube, 13), (latin_hypercube, 64), (sobol, 64)])
def test_each_slice_of_each_factor_has_one_point(design: Callable[..., np.ndarray], points: int) -> None:
    found = design(points, 5, 7)
    assert found.shape == (points, 5)
    assert found.min() >= 0
    assert found.max() < 1
    for column in (found * points).astype(int).T:
        assert sorted(column) == list(range(points))


@pytest.mark.theory
def test_sobol_points_balance_in_two_factors_where_a_hypercube_does_not() -> None:
    """The first two factors are a (0, 6, 2)-net in base 2: each of 8 x 8 boxes holds one of 64 points."""
    for seed in range(5):
        boxes = (sobol(64, 2, seed) * 8).astype(int)
        assert len(np.unique(boxes, axis=0)) == 64
        assert len(np.unique((latin_hypercube(64, 2, seed) * 8).astype(int), axis=0)) < 64


@pytest.mark.theory
@pytest.mark.parametrize("design", [latin_hypercube, sobol])
def test_a_point_alone_is_uniform_over_seeds(design: Callable[..., np.ndarray]) -> None:
    firsts = [design(4, 2, seed)[0, 1] for seed in range(400)]
    assert stats.kstest(firsts, "uniform").pvalue > FALSE_ALARM


@pytest.mark.unit
@pytest.mark.parametrize("design", [latin_hypercube, sobol, saltelli, four_levels])
def test_a_design_is_its_seed(design: Callable[..., np.ndarray]) -> None:
    assert design(8, 3, 1).tobytes() == design(8, 3, 1).tobytes()
    assert design(8, 3, 1).tobytes() != design(8, 3, 2).tobytes()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: sobol(100, 3, 1), "power of two, got 100; the next is 128"),
        (lambda: saltelli(3, 3, 1), "the next is 4"),
        (lambda: sobol(0, 3, 1), "at least one point"),
        (lambda: latin_hypercube(5, 0, 1), "at least one point and one factor"),
        (lambda: morris(0, 3, 4, 1), "at least one point"),
        (lambda: morris(5, 3, 5, 1), "even number of levels"),
        (lambda: morris(5, 3, 0, 1), "even number of levels"),
        (lambda: linear(1.1, 0, 1), "unit value"),
        (lambda: linear(math.nan, 0, 1), "unit value"),
        (lambda: linear(0.5, 1, 1), "range"),
        (lambda: linear(0.5, 0, math.inf), "range"),
        (lambda: log(0.5, 0, 1), "above 0"),
        (lambda: whole(0.5, 3, 2), "range"),
        (lambda: label_index(0.5, 0), "at least one label"),
    ],
)
def test_what_is_no_design_is_refused_in_words(made: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        made()


# --------------------------------------------------------------------------- sensitivity


@pytest.mark.unit
def test_saltelli_blocks_stand_in_the_stated_order() -> None:
    points, k = 16, 3
    a, b, *mixed = saltelli(points, k, 5).reshape(k + 2, points, k)
    assert not (a == b).any()
    for factor, block in enumerate(mixed):
        own = np.arange(k) == factor
        assert (block[:, own] == b[:, own]).all()
        assert (block[:, ~own] == a[:, ~own]).all()


@pytest.mark.theory
@pytest.mark.parametrize("levels", [2, 4, 6])
def test_a_trajectory_moves_each_factor_once_by_delta_on_the_grid(levels: int) -> None:
    k = 5
    found = morris(40, k, levels, 3)
    delta = levels / (2 * (levels - 1))
    steps = np.diff(found.reshape(40, k + 1, k), axis=1)
    assert ((np.abs(steps) > 1e-12).sum(axis=2) == 1).all()
    assert ((np.abs(steps) > 1e-12).sum(axis=1) == 1).all()
    assert np.abs(steps[np.abs(steps) > 1e-12]) == pytest.approx(delta)
    assert found * (levels - 1) == pytest.approx(np.round(found * (levels - 1)))
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.theory
def test_starts_orders_and_directions_are_equally_likely() -> None:
    trajectories, k, levels = 6_000, 3, 4
    found = morris(trajectories, k, levels, 11).reshape(trajectories, k + 1, k)
    for point in (0, k):  # every level is as likely at the first point and at the last
        for factor in range(k):
            counts = np.bincount(
                np.rint(found[:, point, factor] * (levels - 1)).astype(int), minlength=levels
            )
            assert stats.chisquare(counts).pvalue > FALSE_ALARM
    moves = (np.diff(found, axis=1) != 0).argmax(axis=2)
    orders = np.unique(moves, axis=0, return_counts=True)[1]
    assert orders.size == math.factorial(k)
    assert stats.chisquare(orders).pvalue > FALSE_ALARM


# --------------------------------------------------------------------------- scaling


@pytest.mark.property
@given(units, bounds)
def test_values_keep_to_the_range_and_to_its_law(unit: float, pair: list[float]) -> None:
    low, high = pair
    assert low <= linear(unit, low, high) <= high
    assert low <= log(unit, low, high) <= high
    assert linear(unit, low, high) - low == pytest.approx(unit * (high - low), abs=1e-9 * high)
    assert math.log(log(unit, low, high) / low) == pytest.approx(unit * math.log(high / low), abs=1e-9)


@pytest.mark.property
@given(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 20))
def test_whole_numbers_share_the_unit_equally(low: int, width: int, each: int) -> None:
    """The middles of n * each slices fall on each of n numbers exactly `each` times."""
    n = width + 1
    found = [whole((place + 0.5) / (n * each), low, low + width) for place in range(n * each)]
    assert found == [low + place // each for place in range(n * each)]


@pytest.mark.unit
def test_the_upper_end_counts_to_the_last() -> None:
    assert (linear(1.0, 0.1, 0.7), log(1.0, 0.1, 0.7), whole(1.0, 2, 5), label_index(1.0, 3)) == (
        0.7,
        0.7,
        5,
        2,
    )
