"""Survival against the textbook's leukaemia trial, closed forms of the geometric law, and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.statistics import Lifetimes, kaplan_meier, mean_interval, restricted_mean

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

# Weeks of remission (Freireich and others, Blood 21, 1963), as in Klein and Moeschberger, section 1.2.
MERCAPTOPURINE = Lifetimes(
    [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], [True] * 9 + [False] * 12
)
PLACEBO = Lifetimes([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], [True] * 21)

lives = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40)


def geometric(trials: int, n: int, rate: float, horizon: int, seed: int) -> list[Lifetimes]:
    """Runs that end at each turn with the same probability and are watched up to the horizon."""
    draws = np.random.default_rng(seed).geometric(rate, (trials, n))
    return [Lifetimes(np.minimum(row, horizon), row <= horizon) for row in draws]


# --------------------------------------------------------------------------- the curve


@pytest.mark.theory
def test_the_leukaemia_trial_as_published() -> None:
    """Klein and Moeschberger, table 4.1A: survival and its standard error at the nine relapses."""
    curve = kaplan_meier(MERCAPTOPURINE)
    relapse = curve.ends > 0
    assert curve.times[relapse].tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.at_risk[relapse].tolist() == [21, 17, 15, 12, 11, 7, 6]
    assert curve.ends[relapse].tolist() == [3, 1, 1, 1, 1, 1, 1]
    published = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert curve.survival[relapse] == pytest.approx(published, abs=5e-4)
    errors = np.array([0.076, 0.087, 0.096, 0.107, 0.114, 0.128, 0.135])
    z = stats.norm.ppf(0.975)
    survival = curve.survival[relapse]
    for bound, side in ((curve.low, -1), (curve.high, 1)):
        distance = np.log(-np.log(bound[relapse])) - np.log(-np.log(survival))
        assert distance * survival * np.log(survival) * side == pytest.approx(z * errors, abs=z * 6e-4)


@pytest.mark.property
@given(lives)
def test_the_curve_and_band_are_those_of_scipy(runs: list[tuple[int, bool]]) -> None:
    durations, ended = (np.array(side) for side in zip(*runs, strict=True))
    curve = kaplan_meier(Lifetimes(durations, ended))
    oracle = stats.ecdf(stats.CensoredData.right_censored(durations, ~ended)).sf
    assert curve.times == pytest.approx(oracle.quantiles)
    assert curve.survival == pytest.approx(oracle.probabilities)
    inside = (curve.survival > 0) & (curve.survival < 1)
    if inside.all():
        band = oracle.confidence_interval(method="log-log")
        assert curve.low == pytest.approx(band.low.probabilities)
        assert curve.high == pytest.approx(band.high.probabilities)
    assert (curve.low >= 0).all()
    assert (curve.low <= curve.survival).all()
    assert (curve.survival <= curve.high).all()
    assert (curve.high <= 1).all()


@pytest.mark.theory
@pytest.mark.parametrize("turn", [3, 10, 20])
def test_the_band_covers_the_geometric_law(turn: int) -> None:
    """Greenwood's band is asymptotic: 60 runs are given one point of coverage."""
    trials, rate = 2_000, 0.08
    truth = (1 - rate) ** turn
    hits = 0
    for runs in geometric(trials, 60, rate, 20, seed=turn):
        curve = kaplan_meier(runs)
        place = np.searchsorted(curve.times, turn, side="right") - 1
        low, high = (1.0, 1.0) if place < 0 else (curve.low[place], curve.high[place])
        hits += low <= truth <= high
    assert stats.binom.ppf(FALSE_ALARM, trials, 0.94) <= hits <= stats.binom.isf(FALSE_ALARM, trials, 0.97)


@pytest.mark.theory
def test_a_policy_that_never_overflowed_is_bounded_by_the_rule_of_three() -> None:
    """No end in n runs: survival is at least (alpha / 2)^(1 / n), the exact binomial bound."""
    curve = kaplan_meier(Lifetimes([50] * 30, [False] * 30))
    exact = stats.binomtest(30, 30).proportion_ci(0.95, method="exact")
    assert (curve.survival[0], curve.low[0], curve.high[0]) == pytest.approx((1.0, exact.low, exact.high))
    gone = kaplan_meier(Lifetimes([7] * 30, [True] * 30))
    exact = stats.binomtest(0, 30).proportion_ci(0.95, method="exact")
    assert (gone.survival[0], gone.low[0], gone.high[0]) == pytest.approx((0.0, exact.low, exact.high))
    last = kaplan_meier(Lifetimes([3, 5, 8], [True] * 3))
    assert (last.survival[-1], last.low[-1], last.high[-1]) == (0.0, 0.0, last.high[-2])


@pytest.mark.unit
def test_an_end_at_the_last_look_counts_before_a_censoring_at_it() -> None:
    lives = Lifetimes([5, 5, 2], [True, False, False])
    assert (lives.times.tolist(), lives.at_risk.tolist(), lives.ends.tolist()) == ([2, 5], [3, 2], [0, 1])
    assert kaplan_meier(lives).survival.tolist() == [1.0, 0.5]


# --------------------------------------------------------------------------- the mean


@pytest.mark.theory
def test_where_the_horizon_alone_censors_it_is_students_interval() -> None:
    for runs in geometric(20, 15, 0.05, 20, seed=1):
        assert restricted_mean(runs, 20)[:3] == pytest.approx(mean_interval(runs.durations)[:3])
        at_12 = mean_interval(np.minimum(runs.durations, 12))
        assert restricted_mean(runs, 12)[:3] == pytest.approx(at_12[:3])


@pytest.mark.theory
def test_the_mean_covers_the_geometric_law_under_random_censoring() -> None:
    """The mean of min(T, h) is (1 - (1 - p)^h) / p; runs are lost at random on the way."""
    trials, n, rate, horizon = 2_000, 50, 0.1, 15
    random = np.random.default_rng(8)
    truth = (1 - (1 - rate) ** horizon) / rate
    hits = known = 0
    for _ in range(trials):
        ends, lost = random.geometric(rate, n), random.geometric(0.03, n)
        runs = Lifetimes(np.minimum(ends, lost), ends <= lost)
        if runs.times[-1] < horizon and kaplan_meier(runs).survival[-1] > 0:
            continue
        found = restricted_mean(runs, horizon)
        known += 1
        hits += found.low <= truth <= found.high
    assert known > 0.95 * trials
    assert stats.binom.ppf(FALSE_ALARM, known, 0.94) <= hits <= stats.binom.isf(FALSE_ALARM, known, 0.96)


@pytest.mark.unit
def test_the_mean_by_hand() -> None:
    """Survival is 1 up to 2, 2/3 up to 4, 1/3 up to 6."""
    runs = Lifetimes([2, 4, 6], [True, True, False])
    assert restricted_mean(runs, 6).estimate == pytest.approx(2 + 2 * 2 / 3 + 2 / 3)
    assert restricted_mean(runs, 3).estimate == pytest.approx(2 + 2 / 3)
    assert restricted_mean(runs, 1)[:3] == (1.0, 1.0, 1.0)
    assert restricted_mean(Lifetimes([2, 4], [True, True]), 9).estimate == pytest.approx(3.0)
    assert restricted_mean(Lifetimes([4], [False]), 4)[:3] == (4.0, -math.inf, math.inf)


@pytest.mark.unit
def test_what_is_no_lifetime_is_refused() -> None:
    runs = Lifetimes([2, 4], [True, False])
    for refused, words in (
        (lambda: Lifetimes([1, 2], [True]), "got 2 and 1"),
        (lambda: Lifetimes([], []), "at least one"),
        (lambda: Lifetimes([-1], [True]), "at least 0"),
        (lambda: Lifetimes([math.nan], [True]), "NaN"),
        (lambda: kaplan_meier(runs, 1.0), "confidence"),
        (lambda: restricted_mean(runs, 5), "up to 4.0, not up to 5"),
        (lambda: restricted_mean(runs, 0), "not up to 0"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()
