"""Intervals against theory: every tolerance comes from a binomial or chi-square law, at `FALSE_ALARM`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.statistics import (
    Moments,
    bootstrap_interval,
    mean_interval,
    quantile_interval,
    share_interval,
)

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

numbers = st.floats(-1e6, 1e6)
samples = st.lists(numbers, min_size=1, max_size=60)


def band_of_hits(trials: int, coverage: float) -> tuple[float, float]:
    """Between which counts `trials` right intervals hit the truth, at `FALSE_ALARM`."""
    low, high = stats.binom.interval(1 - FALSE_ALARM, trials, coverage)
    return float(low), float(high)


# --------------------------------------------------------------------------- means


@pytest.mark.theory
@pytest.mark.parametrize(("n", "confidence"), [(2, 0.95), (10, 0.95), (30, 0.8)])
def test_mean_interval_covers_as_often_as_it_says(n: int, confidence: float) -> None:
    trials = 4_000
    draws = np.random.default_rng(1).normal(3.0, 2.0, (trials, n))
    hits = sum(found.low <= 3.0 <= found.high for found in (mean_interval(row, confidence) for row in draws))
    low, high = band_of_hits(trials, confidence)
    assert low <= hits <= high


@pytest.mark.theory
def test_mean_interval_agrees_with_the_textbook() -> None:
    values = [4.1, 5.6, 3.9, 4.4, 6.0]
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert mean_interval(values)[1:3] == pytest.approx((low, high))


@pytest.mark.unit
def test_one_value_bounds_nothing() -> None:
    assert mean_interval([4.0])[:4] == (4.0, -math.inf, math.inf, 1)


@pytest.mark.unit
def test_missing_values_are_refused_or_dropped_aloud() -> None:
    with pytest.raises(ValueError, match="1 of 3 values"):
        mean_interval([1.0, math.nan, 3.0])
    assert mean_interval([1.0, math.nan, 3.0], drop_missing=True)[:1] == (2.0,)
    assert mean_interval([1.0, math.nan, 3.0], drop_missing=True).n == 2
    for unusable in ([], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match=r"none|NaN or infinite"):
            mean_interval(unusable, drop_missing=True)


@pytest.mark.unit
def test_what_is_out_of_range_is_refused() -> None:
    for refused in (
        lambda: mean_interval([1.0, 2.0], 1.0),
        lambda: mean_interval([[1.0], [2.0]]),
        lambda: share_interval(3, 2),
        lambda: share_interval(0, 0),
        lambda: quantile_interval([1.0], 0.0),
        lambda: Moments().interval(),
        lambda: Moments([math.nan]),
    ):
        with pytest.raises(ValueError):
            refused()


# --------------------------------------------------------------------------- shares


@pytest.mark.theory
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(successes: int, n: int, low: float, high: float) -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    found = share_interval(successes, n)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.property
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_the_inverted_score_test(counts: tuple[int, int]) -> None:
    """Both bounds p solve |share - p| = z * sqrt(p (1 - p) / n), and swapping outcomes mirrors them."""
    successes, n = counts
    found, mirrored = share_interval(successes, n), share_interval(n - successes, n)
    z = stats.norm.ppf(0.975)
    for bound in (found.low, found.high):
        assert (found.estimate - bound) ** 2 == pytest.approx(z**2 * bound * (1 - bound) / n, abs=1e-12)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert (1 - found.high, 1 - found.low) == pytest.approx(mirrored[1:3], abs=1e-12)


@pytest.mark.theory
@pytest.mark.parametrize("n", [20, 100])
def test_wilson_covers_as_often_as_it_says_on_average_over_shares(n: int) -> None:
    """Newcombe (1998) found 0.952 over many sizes; of one share it swings with the lattice of counts."""
    shares = (np.arange(2_000) + 0.5) / 2_000
    found = [share_interval(successes, n) for successes in range(n + 1)]
    held = np.array([(one.low <= shares) & (shares <= one.high) for one in found])
    chances = stats.binom.pmf(np.arange(n + 1)[:, None], n, shares)
    assert (held * chances).sum(axis=0).mean() == pytest.approx(0.952, abs=0.003)


# --------------------------------------------------------------------------- quantiles


@pytest.mark.theory
@pytest.mark.parametrize(("n", "q"), [(20, 0.5), (100, 0.05), (100, 0.95), (60, 0.1)])
def test_quantile_interval_has_the_coverage_of_its_ranks(n: int, q: float) -> None:
    """Ranks are read off 1..n; their exact coverage is binomial, and one rank less would be too little."""
    found = quantile_interval(range(1, n + 1), q)
    first, last = max(found.low, 0), min(found.high, n + 1)
    assert stats.binom.cdf(last - 1, n, q) - stats.binom.cdf(first - 1, n, q) >= 0.95
    assert stats.binom.cdf(first, n, q) > 0.025
    assert stats.binom.sf(last - 2, n, q) > 0.025


@pytest.mark.theory
def test_quantile_interval_covers_at_least_as_often_as_it_says() -> None:
    trials, truth = 3_000, float(stats.lognorm.ppf(0.9, 1.0))
    draws = np.random.default_rng(2).lognormal(0.0, 1.0, (trials, 80))
    hits = sum(found.low <= truth <= found.high for found in (quantile_interval(row, 0.9) for row in draws))
    assert hits >= band_of_hits(trials, 0.95)[0]


@pytest.mark.unit
def test_too_few_values_leave_a_quantile_unbounded() -> None:
    """The smallest n that bounds the median on both sides at 95% is 6: 2 * 0.5^6 <= 0.05 < 2 * 0.5^5."""
    assert quantile_interval(range(5), 0.5)[1:3] == (-math.inf, math.inf)
    assert quantile_interval(range(6), 0.5)[1:3] == (0.0, 5.0)


@pytest.mark.property
@given(samples, st.floats(0.01, 0.99), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_a_quantile_lies_in_its_interval(values: list[float], q: float, confidence: float) -> None:
    found = quantile_interval(values, q, confidence)
    assert found.low <= found.estimate <= found.high


# --------------------------------------------------------------------------- bootstrap


@pytest.mark.theory
@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_bootstrap_interval_covers_the_mean(law: str) -> None:
    """BCa is second-order right: with 50 values it may miss its 95% by a point and a half."""
    trials, n = 600, 50
    random = np.random.default_rng(9)
    draws = random.normal(1.0, 2.0, (trials, n)) if law == "normal" else random.exponential(1.0, (trials, n))
    found = [bootstrap_interval(row, seed=place, resamples=599) for place, row in enumerate(draws)]
    hits = sum(one.low <= 1.0 <= one.high for one in found)
    assert stats.binom.ppf(FALSE_ALARM, trials, 0.935) <= hits <= stats.binom.isf(FALSE_ALARM, trials, 0.965)


@pytest.mark.theory
def test_bootstrap_of_a_large_sample_is_students() -> None:
    """Bounds of 1,000 normal values differ by the noise of a tail quantile of 9,999 resamples."""
    values = np.random.default_rng(10).normal(0.0, 1.0, 1_000)
    student, found = mean_interval(values), bootstrap_interval(values, seed=1)
    error = stats.sem(values)
    density = stats.norm.pdf(stats.norm.ppf(0.025))
    noise = stats.norm.isf(FALSE_ALARM / 4) * math.sqrt(0.025 * 0.975 / 9_999) / density
    skew = 1 / math.sqrt(values.size)  # Efron's correction of a bound, in standard errors, is of this order
    assert found.low == pytest.approx(student.low, abs=(noise + skew) * error)
    assert found.high == pytest.approx(student.high, abs=(noise + skew) * error)


SPATIAL = [
    48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41,
]  # fmt: skip
"""Test A of 26 children: Efron and Tibshirani, An Introduction to the Bootstrap (1993), table 14.1."""


@pytest.mark.theory
def test_bias_is_corrected_as_published() -> None:
    """Their table 14.2, 90% intervals of the variance: by BCa 115.8 to 259.6, by percentiles 100.8 to 233.9.

    Theirs are of 2,000 resamples, with which the ends have standard deviations of 1.9 and 3.5.
    """
    found = bootstrap_interval(SPATIAL, np.var, seed=1, confidence=0.9)
    assert found.estimate == pytest.approx(171.5, abs=0.05)
    assert found.low == pytest.approx(115.8, abs=4 * 1.9)
    assert found.high == pytest.approx(259.6, abs=4 * 3.5)


@pytest.mark.unit
def test_bootstrap_of_degenerate_samples() -> None:
    assert bootstrap_interval([4.0], seed=1)[:4] == (4.0, -math.inf, math.inf, 1)
    assert bootstrap_interval([4.0, 4.0, 4.0], seed=1)[:4] == (4.0, 4.0, 4.0, 3)
    largest = bootstrap_interval([1.0, 2.0, 3.0, 9.0], np.max, seed=1)
    assert largest.low <= largest.estimate == largest.high == 9.0
    with pytest.raises(ValueError, match="1 of 2 values"):
        bootstrap_interval([1.0, math.nan], seed=1)
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_interval([1.0, 2.0], seed=1, confidence=0.0)


@pytest.mark.unit
def test_bootstrap_is_a_function_of_values_and_seed() -> None:
    values = [1.0, 5.0, 2.0, 8.0, 3.0, 4.0, 9.5]

    def spread(sample: np.ndarray) -> float:
        return float(np.quantile(sample, 0.75) - np.quantile(sample, 0.25))

    once = bootstrap_interval(values, spread, seed=1, resamples=299)
    assert once == bootstrap_interval(values, spread, seed=1, resamples=299)
    assert once[1:3] != bootstrap_interval(values, spread, seed=2, resamples=299)[1:3]


# --------------------------------------------------------------------------- streams


@pytest.mark.property
@given(samples)
def test_moments_agree_with_numpy(values: list[float]) -> None:
    seen = Moments(values)
    assert seen.count == len(values)
    assert seen.mean == pytest.approx(np.mean(values), abs=1e-6)
    expected = np.var(values, ddof=1) if len(values) > 1 else math.inf
    assert seen.variance == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert seen.interval()[:3] == pytest.approx(mean_interval(values)[:3], rel=1e-6, abs=1e-4)


@pytest.mark.property
@given(*[st.lists(numbers, max_size=30)] * 3)
def test_merging_is_associative_and_is_one_stream(a: list[float], b: list[float], c: list[float]) -> None:
    left = Moments(a).merge(Moments(b)).merge(Moments(c))
    right = Moments(a).merge(Moments(b).merge(Moments(c)))
    whole = Moments([*a, *b, *c])
    for other in (right, whole):
        assert left.count == other.count
        assert left.mean == pytest.approx(other.mean, abs=1e-6)
        assert left.squares == pytest.approx(other.squares, rel=1e-6, abs=1e-4)


@pytest.mark.theory
def test_moments_survive_a_large_offset() -> None:
    """Sum of squares minus square of sum would lose every digit here."""
    assert Moments([1e9 + step for step in (4.0, 7.0, 13.0, 16.0)]).variance == pytest.approx(30.0)
