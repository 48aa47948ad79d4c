"""Warm-up against series whose transient is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from experiments.statistics import mean_interval, mser, welch_average

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

LEVEL = 10.0
MEMORY = 0.9


def autoregressive(replications: int, length: int, start: float, seed: int) -> np.ndarray:
    """AR(1) around `LEVEL` with unit noise, whose mean at step i is `LEVEL + start * MEMORY^(i + 1)`."""
    noise = np.random.default_rng(seed).normal(size=(replications, length))
    before = np.full((replications, 1), MEMORY * start)
    return LEVEL + lfilter([1.0], [1.0, -MEMORY], noise, axis=1, zi=before)[0]


@pytest.mark.theory
@pytest.mark.parametrize("settled", [25, 50])
def test_a_step_is_cut_where_it_ends(settled: int) -> None:
    series = [100.0] * settled + [1.0, -1.0] * 60
    assert mser(series) == settled
    assert mser(series, batch=1) == settled


@pytest.mark.theory
def test_the_rule_by_hand() -> None:
    """Batches of one: 4, then 1 and 3 in turn; the squared errors of the first cuts are worked out."""
    series = [4.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 2.0]
    cut_0 = sum((value - 2.2) ** 2 for value in series) / 100
    cut_1 = (8 * 1.0 + 0.0) / 81
    assert cut_1 < cut_0
    assert mser(series, batch=1) == 1


@pytest.mark.theory
def test_the_cut_takes_the_bias_out_of_the_mean() -> None:
    """A start 100 above the level biases the mean of 400 by 100 * 9 / 400 = 2.25; a tenth may be left."""
    runs = autoregressive(100, 400, start=100.0, seed=1)
    cuts = [mser(run) for run in runs]
    assert all(MEMORY**cut * 400 / (400 - cut) < 0.1 for cut in cuts)
    assert all(cut % 5 == 0 and cut <= 200 for cut in cuts)
    confidence = 1 - FALSE_ALARM
    whole = mean_interval(runs.mean(axis=1), confidence)
    kept = mean_interval([run[cut:].mean() for run, cut in zip(runs, cuts, strict=True)], confidence)
    assert whole.low > LEVEL
    assert kept.low <= LEVEL <= kept.high


@pytest.mark.theory
def test_a_run_that_never_settles_is_cut_at_half() -> None:
    """On a straight line the squared error after a cut is proportional to what is left."""
    assert mser(np.arange(200.0)) == 100
    assert mser(np.arange(203.0)) == 100


@pytest.mark.unit
def test_a_level_series_keeps_all() -> None:
    assert mser([7.0] * 50) == 0


@pytest.mark.theory
def test_a_smoothed_trend_is_the_trend() -> None:
    """A symmetric window over a straight line gives the line, at the ends too."""
    trend = 3.0 + 0.5 * np.arange(40)
    runs = trend + np.array([[1.0], [-1.0]])
    for window in (0, 1, 10):
        assert welch_average(runs, window) == pytest.approx(trend[: 40 - window])


@pytest.mark.theory
def test_the_picture_follows_the_known_transient() -> None:
    """Averages stay within the normal bound of the smoothed mean, whose variance is at most the raw one."""
    replications, length, window = 200, 120, 5
    found = welch_average(autoregressive(replications, length, 50.0, 2), window)
    truth = welch_average([LEVEL + 50.0 * MEMORY ** (np.arange(length) + 1)], window)
    deviation = 1 / math.sqrt((1 - MEMORY**2) * replications)
    assert np.abs(found - truth).max() <= deviation * stats.norm.isf(FALSE_ALARM / (2 * found.size))
    assert found.size == length - window


@pytest.mark.unit
def test_what_is_too_short_is_refused() -> None:
    for refused, words in (
        (lambda: mser([1.0] * 49), "50 observations or more, got 49"),
        (lambda: mser([1.0] * 49 + [math.nan]), "NaN"),
        (lambda: mser([1.0] * 50, batch=0), "at least 1"),
        (lambda: welch_average([[1.0] * 8], 3), r"\[0, 2\]"),
        (lambda: welch_average([[1.0] * 8], -1), r"\[0, 2\]"),
        (lambda: welch_average([1.0] * 8, 1), "rows of one table"),
        (lambda: welch_average([[math.nan] * 8], 1), "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()
