"""Pairs and families against closed forms, published examples and scipy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.statistics import (
    Interval,
    bonferroni_confidence,
    excludes_zero,
    family_false_alarm_rate,
    holm,
    mcnemar_p_value,
    paired,
    paired_difference,
    paired_share_difference,
    paired_t_p_value,
    share_contrast,
)

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

SLEEP_A = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]  # Student, Biometrika 6 (1908): hours gained
SLEEP_B = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

numbers = st.floats(-1e6, 1e6)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


# --------------------------------------------------------------------------- pairs


@pytest.mark.theory
def test_students_own_example() -> None:
    """The difference is 1.58 with t = 4.06 on 9 degrees of freedom, p = 0.0028."""
    found = paired(SLEEP_B, SLEEP_A)
    assert found.interval.estimate == pytest.approx(1.58)
    assert paired_t_p_value(SLEEP_B, SLEEP_A) == pytest.approx(0.00283, abs=5e-6)
    assert paired_t_p_value(SLEEP_B, SLEEP_A) == pytest.approx(stats.ttest_rel(SLEEP_A, SLEEP_B).pvalue)
    assert found.correlation == pytest.approx(stats.pearsonr(SLEEP_A, SLEEP_B).statistic)


@pytest.mark.theory
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.9])
def test_variance_reduction_is_its_closed_form(correlation: float) -> None:
    """With unit variances it is 1 / (1 - rho); sample and truth differ by chi-square ratios at most."""
    n = 4_000
    a, b = np.random.default_rng(4).multivariate_normal([0, 5], [[1, correlation], [correlation, 1]], n).T
    found = paired(a, b)
    low, high = np.array(stats.chi2.interval(1 - FALSE_ALARM / 3, n - 1)) / (n - 1)
    assert found.variance_reduction is not None
    assert low / high <= found.variance_reduction * (1 - correlation) <= high / low
    assert found.correlation is not None
    distance = abs(math.atanh(found.correlation) - math.atanh(correlation))
    assert distance * math.sqrt(n - 3) <= stats.norm.isf(FALSE_ALARM / 6)


@pytest.mark.unit
def test_what_is_not_defined_is_none_or_infinite() -> None:
    assert paired([1.0], [2.0])[1:] == (None, None)
    assert paired([0.1, 0.1, 0.1], [0.3, 0.3, 0.3])[1:] == (None, None)
    assert paired([0.1, 0.1, 0.1], [1.0, 2.0, 4.0])[1:] == (None, 1.0)
    assert paired([1.0, 2.0, 4.0], [2.0, 3.0, 5.0]).variance_reduction == math.inf
    assert paired([1.0, 2.0, 4.0], [-1.0, -2.0, -4.0])[1:] == pytest.approx((-1.0, 0.5))
    with pytest.raises(ValueError, match="one length, got 1 and 2"):
        paired([1.0], [1.0, 2.0])


@pytest.mark.unit
def test_p_values_without_a_variance() -> None:
    assert paired_t_p_value([3.0], [1.0]) == 1.0
    assert paired_t_p_value([0.3, 0.3, 0.3], [0.1, 0.1, 0.1]) == stats.binomtest(3, 3).pvalue == 1 / 4
    assert paired_t_p_value([0.1] * 9, [0.3] * 9) == stats.binomtest(0, 9).pvalue == 1 / 256
    assert paired_t_p_value([0.3, 0.7], [0.3, 0.7]) == 1.0


@pytest.mark.theory
def test_p_values_of_equal_means_are_uniform() -> None:
    draws = np.random.default_rng(5).normal(size=(2_000, 2, 5))
    found = [paired_t_p_value(a, b) for a, b in draws]
    assert stats.kstest(found, "uniform").pvalue > FALSE_ALARM


@pytest.mark.theory
def test_paired_interval_covers_as_often_as_it_says() -> None:
    trials, n = 3_000, 10
    random = np.random.default_rng(12)
    shared = random.normal(size=(trials, 1, n))
    a, b = np.moveaxis(shared + random.normal(size=(trials, 2, n)), 1, 0)
    hits = 0
    for left, right in zip(a + 2.0, b, strict=True):
        found = paired_difference(left, right)
        hits += found.low <= 2.0 <= found.high
    low, high = stats.binom.interval(1 - FALSE_ALARM, trials, 0.95)
    assert low <= hits <= high


@pytest.mark.theory
def test_common_random_numbers_narrow_by_the_closed_form() -> None:
    """Unit variances, correlation 3/4: the variance of a difference is 2 (1 - 3/4), not 2."""
    n, correlation = 2_000, 0.75
    shared, own_a, own_b = np.random.default_rng(3).normal(size=(3, n))
    a = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own_a
    b = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own_b
    independent = stats.t.ppf(0.975, n - 1) * math.sqrt(2 / n)
    ratio = paired_difference(a, b).half_width / independent
    low, high = np.sqrt(np.array(stats.chi2.interval(1 - FALSE_ALARM, n - 1)) / (n - 1))
    assert low <= ratio / math.sqrt(1 - correlation) <= high


@pytest.mark.property
@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=40))
def test_a_swapped_pair_swaps_the_sign(pairs: list[tuple[float, float]]) -> None:
    a, b = zip(*pairs, strict=True)
    there, back = paired_difference(a, b), paired_difference(b, a)
    assert (there.estimate, there.low, there.high) == pytest.approx((-back.estimate, -back.high, -back.low))


# --------------------------------------------------------------------------- pairs of yes and no

PRIME_MINISTER = (794, 150, 86, 570)  # approved both times, only first, only second, never


def columns_of(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that a 2 x 2 table counts."""
    cells = [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither
    a, b = np.array(cells, dtype=float).T
    return a, b


@pytest.mark.theory
def test_approval_of_the_prime_minister() -> None:
    """Agresti, Categorical Data Analysis, 2nd edition, table 10.1: 0.04, Wald's 95% interval 0.02 to 0.06.

    A pair more that differs each way moves neither in two digits at 1600 pairs.
    """
    found = paired_share_difference(*columns_of(*PRIME_MINISTER))
    assert [round(bound, 2) for bound in found[:3]] == [0.04, 0.02, 0.06]
    assert found.n == 1600
    assert mcnemar_p_value(*columns_of(*PRIME_MINISTER)) == pytest.approx(3.7e-5, rel=0.05)


@pytest.mark.theory
def test_the_interval_is_walds_of_the_table_with_a_pair_more_that_differs_each_way() -> None:
    """Wald's variance is the multinomial's of that larger table; the quantile is Student's."""
    both, first, second, neither = 3, 9, 2, 6
    table = np.array([both, first + 1, second + 1, neither]) / 22
    signs = np.array([0, 1, -1, 0])
    centre = table @ signs
    error = math.sqrt((table @ signs**2 - centre**2) / 22)
    found = paired_share_difference(*columns_of(both, first, second, neither), 0.9)
    assert found[1:3] == pytest.approx(stats.t.interval(0.9, 19, centre, error))
    assert found.estimate == pytest.approx(7 / 20)
    a, b = columns_of(both, first, second, neither)
    assert paired_share_difference(b, a, 0.9)[:3] == pytest.approx([-7 / 20, -found.high, -found.low])
    assert share_contrast([1] * 9 + [-1] * 2 + [0] * 9, 0.9) == found


def chance_of(n: int, first: float, second: float, event: Callable[[Interval], bool]) -> float:
    """Return how often an interval is such, summed over all tables of n pairs: no draw, no noise."""
    chance = 0.0
    for left, right in itertools.product(range(n + 1), repeat=2):
        if left + right <= n and event(
            paired_share_difference(*columns_of(0, left, right, n - left - right))
        ):
            cells = [left, right, n - left - right]
            chance += float(stats.multinomial.pmf(cells, n, [first, second, 1 - first - second]))
    return chance


@pytest.mark.theory
@pytest.mark.parametrize("n", [5, 10, 20, 40])
@pytest.mark.parametrize("differ", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_differences_of_shares_cover(n: int, differ: float, share: float) -> None:
    """`differ` of the pairs differ, and in `share` of these the first side is the 1: up to all of them."""
    first, second = differ * share, differ * (1 - share)
    assert chance_of(n, first, second, lambda one: one.low <= first - second <= one.high) >= 0.93


@pytest.mark.theory
@pytest.mark.parametrize("n", [2, 5, 10, 20])
@pytest.mark.parametrize("differ", [0.1, 0.4, 0.7, 0.95])
def test_no_difference_of_shares_is_told_too_often(n: int, differ: float) -> None:
    assert chance_of(n, differ / 2, differ / 2, lambda one: excludes_zero(one.low, one.high)) <= 0.05


@pytest.mark.theory
def test_effects_of_shares_cover_where_hardly_anything_happens() -> None:
    """A 2 x 2 design with one point at 0.05 and the others at 0: Student's covers in 42% at 10 worlds."""
    trials, worlds, truth = 2_000, 10, -0.025
    points = np.random.default_rng(8).random((trials, worlds)) < 0.05
    held = sum(
        one.low <= truth <= one.high for one in (share_contrast(-row.astype(float) / 2) for row in points)
    )
    assert held >= stats.binom.ppf(FALSE_ALARM, trials, 0.95)


@pytest.mark.theory
def test_mcnemars_test_is_a_fair_coin_over_the_pairs_that_differ() -> None:
    """Of 7 that differ at most 1 goes the other way: 2 (1 + 7) / 2^7."""
    assert mcnemar_p_value(*columns_of(30, 6, 1, 2)) == pytest.approx(2 * (1 + 7) / 2**7)
    assert mcnemar_p_value(*columns_of(0, 1, 6, 0)) == pytest.approx(2 * (1 + 7) / 2**7)
    assert mcnemar_p_value(*columns_of(3, 0, 0, 4)) == 1
    assert mcnemar_p_value(*columns_of(0, 4, 4, 0)) == 1


@pytest.mark.unit
def test_pairs_of_shares_at_the_ends() -> None:
    alike = paired_share_difference([1, 0, 1], [1, 0, 1])
    assert alike.estimate == 0
    assert alike.low == -alike.high < 0  # three that are alike do not say that all are
    apart = paired_share_difference([1] * 5, [0] * 5, 0.5)
    assert (apart.estimate, apart.high) == (1, 1)
    assert paired_share_difference([1], [0])[:3] == (1, -1, 1)  # one pair says nothing
    with pytest.raises(ValueError, match=r"lies in \[-1, 1\]"):
        share_contrast([0.5, 1.5])
    for refused in (paired_share_difference, mcnemar_p_value):
        with pytest.raises(ValueError, match="0 or 1"):
            refused([0.5], [1])
        with pytest.raises(ValueError, match="one length"):
            refused([1, 0], [1])
    with pytest.raises(ValueError, match="confidence"):
        paired_share_difference([1], [0], 1.0)


# --------------------------------------------------------------------------- families


@pytest.mark.theory
def test_holm_as_worked_by_hand() -> None:
    """Steps of 4, 3, 2, 1 times the ordered values 0.005, 0.01, 0.03, 0.04, never falling."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]).size == 0
    for refused in ([-0.1], [1.1], [math.nan], [[0.5]]):
        with pytest.raises(ValueError, match="p values"):
            holm(refused)


@pytest.mark.property
@given(p_values, st.floats(0.001, 0.999))
def test_holm_rejects_what_its_steps_reject(given_values: list[float], alpha: float) -> None:
    """Step down through the ordered values until one exceeds alpha / (values left)."""
    adjusted = holm(given_values)
    rejected = 0
    for place, value in enumerate(sorted(given_values)):
        if value * (len(given_values) - place) > alpha:
            break
        rejected += 1
    assert np.count_nonzero(adjusted <= alpha) == rejected
    assert (adjusted >= given_values).all()
    assert (adjusted <= np.minimum(1, np.array(given_values) * len(given_values))).all()


@pytest.mark.unit
def test_bonferroni_splits_what_may_go_wrong() -> None:
    assert bonferroni_confidence(0.95, 1) == pytest.approx(0.95)
    assert bonferroni_confidence(0.9, 4) == pytest.approx(0.975)
    for confidence, comparisons in [(1.0, 2), (0.95, 0)]:
        with pytest.raises(ValueError):
            bonferroni_confidence(confidence, comparisons)
    with pytest.raises(ValueError, match="a family needs"):
        family_false_alarm_rate(-1, 0.05)


@pytest.mark.theory
def test_a_family_rate_between_one_alarm_and_the_union_bound() -> None:
    assert family_false_alarm_rate(0, 0.05) == 0
    assert family_false_alarm_rate(1, 0.05) == pytest.approx(0.05)
    assert family_false_alarm_rate(2, 0.05) == pytest.approx(0.0975)
    assert 1e-9 < family_false_alarm_rate(40, 1e-9) <= 40e-9
