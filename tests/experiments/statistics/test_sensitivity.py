"""Sensitivity against functions whose indices are known in closed form, and scipy's estimators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.designs import morris, saltelli
from experiments.statistics import elementary_effects, mean_interval, sobol_indices

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

A, B = 7.0, 0.1


def ishigami(points: np.ndarray) -> np.ndarray:
    """Ishigami and Homma (1990), over [-pi, pi] in each factor."""
    x = np.pi * (2 * points - 1)
    return np.sin(x[:, 0]) + A * np.sin(x[:, 1]) ** 2 + B * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices() -> tuple[list[float], list[float]]:
    """First-order and total indices in closed form."""
    alone = [(1 + B * np.pi**4 / 5) ** 2 / 2, A**2 / 8, 0.0]
    both = 8 * B**2 * np.pi**8 / 225
    variance = sum(alone) + both
    whole = [alone[0] + both, alone[1], alone[2] + both]
    return [part / variance for part in alone], [part / variance for part in whole]


# --------------------------------------------------------------------------- Sobol


@pytest.mark.theory
def test_the_closed_form_is_the_published_one() -> None:
    first, total = ishigami_indices()
    assert first == pytest.approx([0.3139, 0.4424, 0.0], abs=5e-5)
    assert total == pytest.approx([0.5576, 0.4424, 0.2437], abs=5e-5)


@pytest.mark.theory
def test_the_indices_of_ishigami() -> None:
    """Over 24 scramblings the mean estimate holds the truth, within an interval and a bias of 1 / points."""
    points = 4_096
    found = [
        sobol_indices(ishigami(saltelli(points, 3, seed)), 3, seed=seed, resamples=1) for seed in range(24)
    ]
    for factor, truths in enumerate(zip(*ishigami_indices(), strict=True)):
        for order, truth in enumerate(truths):
            estimates = [one[factor][order].estimate for one in found]
            interval = mean_interval(estimates, 1 - FALSE_ALARM / 6)
            assert interval.low - 1 / points <= truth <= interval.high + 1 / points
            assert interval.half_width < 0.05


@pytest.mark.theory
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_bootstrap_intervals_hold_the_indices(confidence: float) -> None:
    """Of independent points they cover about as often as they say; a Sobol sequence only errs less.

    So they are as wide as the normal law says by the spread of the estimates, which 150 of them tell to 6%.
    """
    trials, points = 150, 256
    random = np.random.default_rng(3)
    found = []
    for trial in range(trials):
        a, b = random.random((2, points, 3))
        blocks = [a, b]
        for factor in range(3):
            mixed = a.copy()
            mixed[:, factor] = b[:, factor]
            blocks.append(mixed)
        responses = ishigami(np.concatenate(blocks))
        whole = sobol_indices(responses, 3, seed=trial, resamples=199, confidence=confidence)
        found.append(whole[1].total)
    hits = sum(one.low <= ishigami_indices()[1][1] <= one.high for one in found)
    assert hits >= stats.binom.ppf(FALSE_ALARM, trials, confidence - 0.02)
    assert hits <= stats.binom.isf(FALSE_ALARM, trials, min(confidence + 0.02, 1))
    spread = np.std([one.estimate for one in found], ddof=1)
    width = np.mean([one.half_width for one in found])
    assert width == pytest.approx(stats.norm.ppf((1 + confidence) / 2) * spread, rel=0.25)


@pytest.mark.property
@given(st.integers(1, 4), st.integers(0, 1_000))
def test_estimates_are_those_of_scipy(k: int, seed: int) -> None:
    points = 16
    blocks = np.random.default_rng(seed).normal(size=(k + 2, points)) + 5.0
    found = sobol_indices(blocks.ravel(), k, seed=1, resamples=2)
    if k > 1:  # with one factor scipy's result has no axis
        oracle = stats.sobol_indices(
            func={"f_A": blocks[:1], "f_B": blocks[1:2], "f_AB": blocks[2:, None, :]}, n=points
        )
        assert [one.first.estimate for one in found] == pytest.approx(oracle.first_order)
        assert [one.total.estimate for one in found] == pytest.approx(oracle.total_order)
    for one in found:
        assert one.first.low <= one.first.estimate <= one.first.high
        assert one.total.low <= one.total.estimate <= one.total.high


@pytest.mark.unit
def test_a_level_response_hangs_on_nothing() -> None:
    for one in sobol_indices([0.1] * 16, 2, seed=1):
        assert one.first[:3] == one.total[:3] == (0.0, 0.0, 0.0)


@pytest.mark.unit
def test_the_answer_is_a_function_of_responses_and_seed() -> None:
    responses = ishigami(saltelli(32, 3, 1))
    assert sobol_indices(responses, 3, seed=1) == sobol_indices(responses, 3, seed=1)
    assert sobol_indices(responses, 3, seed=1) != sobol_indices(responses, 3, seed=2)


# --------------------------------------------------------------------------- Morris


@pytest.mark.theory
def test_a_linear_response_has_its_slopes_and_no_spread() -> None:
    design = morris(8, 4, 4, seed=2)
    slopes = np.array([3.0, -2.0, 0.0, 0.5])
    for slope, found in zip(slopes, elementary_effects(design, design @ slopes + 7.0), strict=True):
        assert found.mu[:3] == pytest.approx((slope, slope, slope))
        assert found.mu_star.estimate == pytest.approx(abs(slope))
        assert found.sigma == pytest.approx(0.0, abs=1e-12)
        assert found.mu.n == 8


@pytest.mark.theory
def test_a_product_has_the_moments_of_the_other_factor() -> None:
    """The effect of x1 in x1 * (2 x2 - 1) is 2 x2 - 1 on the levels 0, 1/3, 2/3, 1: mean 0, size 2/3."""
    trajectories = 2_000
    design = morris(trajectories, 2, 4, seed=4)
    responses = design[:, 0] * (2 * design[:, 1] - 1)
    found = elementary_effects(design, responses, 1 - FALSE_ALARM)[0]
    assert found.mu.low <= 0 <= found.mu.high
    assert found.mu_star.low <= 2 / 3 <= found.mu_star.high
    values = 2 * np.arange(4) / 3 - 1
    fourth, second = np.mean(values**4), np.mean(values**2)
    error = math.sqrt((fourth - second**2) / trajectories)
    assert abs(found.sigma**2 - second) <= error * stats.norm.isf(FALSE_ALARM / 2) + 1 / trajectories


@pytest.mark.theory
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_intervals_of_effects_are_students_over_trajectories(confidence: float) -> None:
    """Each trajectory has one effect of x1 in x1 * (2 x2 - 1): 2 x2 - 1 where it moves x1."""
    design = morris(12, 2, 4, seed=4)
    found = elementary_effects(design, design[:, 0] * (2 * design[:, 1] - 1), confidence)[0]
    effects = []
    for steps in design.reshape(12, 3, 2):
        before = steps[0] if steps[0][0] != steps[1][0] else steps[1]
        effects.append(2 * before[1] - 1)
    for interval, values in ((found.mu, effects), (found.mu_star, np.abs(effects))):
        student = stats.t.interval(confidence, 11, np.mean(values), stats.sem(values))
        assert interval[1:3] == pytest.approx(student)
        assert interval.confidence == confidence


@pytest.mark.unit
def test_one_trajectory_tells_nothing_of_the_spread() -> None:
    design = morris(1, 2, 4, seed=1)
    found = elementary_effects(design, design[:, 0])
    assert found[0].mu[:3] == pytest.approx((1.0, -math.inf, math.inf))
    assert found[0].sigma == math.inf


@pytest.mark.unit
def test_what_cannot_be_read_off_is_refused() -> None:
    design = morris(2, 2, 4, seed=1)
    whole = np.arange(6.0)
    torn = np.where(whole == 3, math.nan, whole)
    for refused, words in (
        (lambda: sobol_indices([1.0, math.nan, 2.0], 1, seed=1), "1 of 3 values are NaN"),
        (lambda: sobol_indices([1.0] * 7, 2, seed=1), "7 responses are not 2"),
        (lambda: sobol_indices([1.0] * 4, 0, seed=1), "for 0 factors"),
        (lambda: sobol_indices([1.0] * 3, 1, seed=1, confidence=1.0), "confidence"),
        (lambda: elementary_effects(design, torn), "1 of 6 values are NaN"),
        (lambda: elementary_effects(design, whole[:5]), "got 5 for 6"),
        (lambda: elementary_effects(design[:5], whole[:5]), "k \\+ 1 points"),
        (lambda: elementary_effects(np.zeros((3, 2)), whole[:3]), "moves one factor"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()
