"""Ranking and selection: right as often as it says, where the best is hardest to find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.statistics import Race, compare_with_best, kim_nelson, mean_interval, paired_t_p_value

FALSE_ALARM = 1e-6  # how often a test of this file fails though the code is right

NAMES = "abcd"
INDIFFERENCE = 1.0
SPREADS = np.array([1.0, 2.0, 3.0, 1.5])


def slippage(trials: int, n: int, seed: int, *, lead: float = INDIFFERENCE) -> np.ndarray:
    """Worlds in which `a` leads all others by the same small lead, shape (trials, n, 4).

    The columns share their worlds (correlations of 0.2 to 0.7), and differ in variance.
    """
    random = np.random.default_rng(seed)
    shared = 1.5 * random.normal(size=(trials, n, 1))
    means = np.array([lead, 0.0, 0.0, 0.0])
    return means + shared + SPREADS * random.normal(size=(trials, n, 4))


def columns(table: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(NAMES, table.T, strict=True))


def fewest(trials: int, confidence: float) -> float:
    """The fewest hits of `trials` right answers at the stated confidence."""
    return float(stats.binom.ppf(FALSE_ALARM, trials, confidence))


# --------------------------------------------------------------------------- one stage


@pytest.mark.theory
def test_the_subset_holds_the_best_as_often_as_it_says() -> None:
    trials, confidence = 3_000, 0.9
    tables = slippage(trials, 6, 1, lead=0.05)
    hits = sum("a" in compare_with_best(columns(table), confidence).subset for table in tables)
    assert hits >= fewest(trials, confidence)


@pytest.mark.theory
def test_two_policies_leave_the_subset_as_often_as_student_says() -> None:
    """With k = 2 and equal means, Bonferroni loses nothing: each falls out in exactly alpha of all runs."""
    trials, confidence = 3_000, 0.9
    tables = slippage(trials, 6, 2, lead=0.0)[:, :, :2]
    hits = sum("a" in compare_with_best({"a": t[:, 0], "b": t[:, 1]}, confidence).subset for t in tables)
    low, high = stats.binom.interval(1 - FALSE_ALARM, trials, confidence)
    assert low <= hits <= high


@pytest.mark.theory
def test_all_leads_hold_together_as_often_as_they_say() -> None:
    trials, confidence = 2_000, 0.9
    truth = {"a": 0.3, "b": -0.3, "c": -0.3, "d": -0.3}
    hits = wrong = 0
    for table in slippage(trials, 10, 3, lead=0.3):
        found = compare_with_best(columns(table), confidence)
        hits += all(one.low <= truth[name] <= one.high for name, one in found.leads.items())
        wrong += found.decided and found.leader != "a"
        assert all(one.low <= one.estimate <= one.high for one in found.leads.values())
        assert found.leader in found.subset
    assert fewest(trials, confidence) <= hits
    assert wrong <= trials - fewest(trials, confidence)


@pytest.mark.theory
def test_two_columns_give_students_one_sided_bounds_cut_at_zero() -> None:
    a, b = np.array([5.0, 7.0, 6.0, 9.0]), np.array([4.0, 6.5, 6.2, 8.0])
    one_sided = mean_interval(a - b, 0.9)
    found = compare_with_best({"a": a, "b": b}, 0.95)
    assert found.leads["a"].estimate == pytest.approx(one_sided.estimate)
    assert found.leads["a"].high == pytest.approx(one_sided.high)
    assert found.leads["a"].low == pytest.approx(min(0.0, one_sided.low))
    assert found.leads["b"][:3] == pytest.approx(
        (-one_sided.estimate, -one_sided.high, -min(0, one_sided.low))
    )


@pytest.mark.property
@given(st.lists(st.tuples(*[st.integers(-50, 50)] * 3), min_size=2, max_size=12))
def test_small_is_good_is_large_is_good_with_the_sign_turned(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows, dtype=float)
    there = compare_with_best(dict(zip("xyz", table.T, strict=True)))
    back = compare_with_best(dict(zip("xyz", -table.T, strict=True)), larger_is_better=False)
    assert there == back


@pytest.mark.unit
def test_a_verdict_says_no_more_than_the_data() -> None:
    level = [1.0, 2.0, 4.0, 3.0]
    noise = [0.5, -0.5, 0.5, -0.5]
    near = [value + 0.1 + step for value, step in zip(level, noise, strict=True)]
    far = [value + 9.0 + step for value, step in zip(level, noise, strict=True)]
    assert compare_with_best({"low": level, "far": far}).statement == "far is the best, with 95% confidence"
    open_verdict = compare_with_best({"low": level, "near": near})
    assert open_verdict.statement == "the best is one of low, near, with 95% confidence"
    assert not open_verdict.decided
    tolerant = compare_with_best({"low": level, "near": near}, indifference=2.0)
    assert tolerant.statement == "near is the best or within 2 of it, with 95% confidence"
    assert tolerant.decided
    alike = compare_with_best({"low": level, "same": level})
    assert alike.statement == "low is the best or within 0 of it, with 95% confidence"
    single = compare_with_best({"low": [1.0], "far": [9.0]}, 0.9)
    assert single.statement == "the best is one of low, far, with 90% confidence"
    assert single.leads["far"][:3] == (8.0, -math.inf, math.inf)


# --------------------------------------------------------------------------- race


@pytest.mark.theory
def test_the_race_selects_the_best_as_often_as_it_says() -> None:
    trials, confidence = 1_500, 0.9
    right = 0
    for table in slippage(trials, 1_200, 4):
        found = kim_nelson(columns(table), first=10, indifference=INDIFFERENCE, confidence=confidence)
        assert len(found.remaining) == 1
        right += found.remaining == ("a",)
    assert right >= fewest(trials, confidence)


@pytest.mark.theory
def test_common_random_numbers_shorten_the_race() -> None:
    """The reach of a pair is proportional to the variance of its difference."""
    random = np.random.default_rng(5)
    shared, own = random.normal(size=(2, 60, 2))
    alone = {"a": shared[:, 0] + own[:, 0], "b": shared[:, 1] + own[:, 1]}
    paired = {"a": shared[:, 0] + own[:, 0], "b": shared[:, 0] + own[:, 1]}
    lasts = [kim_nelson(seen, first=20, indifference=0.1).at_most for seen in (alone, paired)]
    eta = (0.1 ** (-2 / 19) - 1) / 2
    for last, seen in zip(lasts, (alone, paired), strict=True):
        variance = np.var(seen["a"][:20] - seen["b"][:20], ddof=1)
        assert last == math.floor(2 * eta * 19 * variance / 0.1**2) + 1
    assert lasts[1] < lasts[0]


@pytest.mark.unit
def test_the_published_constant() -> None:
    """Kim and Nelson (2001): k = 2, n0 = 10, alpha = 0.05 and c = 1 give eta = (0.1^(-2/9) - 1) / 2."""
    seen = {"a": [0.0, 2.0] * 5, "b": [0.0] * 10}
    eta = (0.1 ** (-2 / 9) - 1) / 2
    reach = 18 * eta * (10 / 9) / 0.25**2
    found = kim_nelson(seen, first=10, indifference=0.25)
    assert found.at_most == math.floor(reach) + 1
    slack = 0.25 / 20 * (reach - 10)
    assert found.remaining == (("a",) if slack < 1.0 else ("a", "b"))


@pytest.mark.unit
def test_the_race_is_a_function_of_the_data_and_forgets_who_fell_out() -> None:
    table = slippage(1, 400, 6, lead=2.0)[0]
    whole = kim_nelson(columns(table), first=10, indifference=INDIFFERENCE)
    assert whole.remaining == ("a",)
    stages = [kim_nelson(columns(table[:n]), first=10, indifference=INDIFFERENCE) for n in range(1, 401)]
    assert stages[8] == Race(tuple(NAMES), 0, None)
    counts = [len(stage.remaining) for stage in stages]
    assert counts == sorted(counts, reverse=True)
    assert stages[whole.replications - 1] == stages[-1] == whole
    cut = {}
    for name in NAMES:  # a column ends where its policy fell out
        last = max(stage.replications for stage in stages if name in stage.remaining)
        cut[name] = columns(table)[name][: max(10, last + 1)]
    assert kim_nelson(cut, first=10, indifference=INDIFFERENCE) == whole
    mirrored = {name: -column for name, column in columns(table).items()}
    assert kim_nelson(mirrored, first=10, indifference=INDIFFERENCE, larger_is_better=False) == whole


@pytest.mark.theory
@pytest.mark.parametrize(("worlds", "told"), [(2, False), (4, False), (5, True), (9, True)])
def test_a_lead_without_spread_is_told_when_the_sign_test_tells_it(worlds: int, told: bool) -> None:
    """One-sided, n leads of one sign have the chance 2^-n under equality: at most 0.05 from 5 on."""
    found = compare_with_best({"a": [1.0] * worlds, "b": [0.0] * worlds})
    assert found.subset == (("a",) if told else ("a", "b"))
    race = kim_nelson({"a": [1.0] * worlds, "b": [0.0] * worlds}, first=2, indifference=0.5)
    assert (race.remaining, race.at_most) == (("a",) if told else ("a", "b"), 5)
    assert race.replications == min(worlds, 5)


@pytest.mark.unit
@pytest.mark.parametrize("lead", [0.1, 1.0, 0.1 + 0.2 - 0.3])
def test_rounding_is_no_spread_and_no_lead(lead: float) -> None:
    """In binary 10.1 - 10 is not 1.1 - 1: by tenths the verdict is that by ones, and 5e-17 is no lead."""
    few, many = (np.array([1.0, 10.0, 100.0, 3.0, 7.0, 0.3] * n)[: 3 * n] for n in (1, 4))
    for column, told in ((few, False), (many, lead > 1e-9)):
        found = compare_with_best({"a": column + lead, "b": column})
        assert (found.subset == ("a",)) == told
        race = kim_nelson({"a": column + lead, "b": column}, first=2, indifference=1e-3)
        assert race.replications == min(5, len(column))
        assert (paired_t_p_value(column + lead, column) <= 0.05) == told


@pytest.mark.theory
def test_the_best_of_yes_and_no_is_kept_as_often_as_stated() -> None:
    """Five policies, one of them the best by a little, and few worlds: Student's widths lose it too often."""
    trials, confidence = 1_500, 0.95
    random = np.random.default_rng(11)
    shares = [0.9, 0.85, 0.85, 0.85, 0.85]
    for worlds in (2, 6, 15):
        tables = (random.random((trials, worlds, 5)) < shares).astype(float)
        columns = [dict(zip("abcde", table.T, strict=True)) for table in tables]
        kept = sum("a" in compare_with_best(one, confidence, of_shares=True).subset for one in columns)
        assert kept >= fewest(trials, confidence)
    certain = {"a": [1.0] * 40, "b": [0.0] * 40}
    assert compare_with_best(certain, of_shares=True).subset == ("a",)
    with pytest.raises(ValueError, match=r"lies in \[-1, 1\]"):
        compare_with_best({"a": [1.0, 3.0], "b": [0.0, 1.0]}, of_shares=True)


@pytest.mark.unit
def test_policies_that_are_alike_end_the_race_when_the_sign_test_would() -> None:
    few, enough = ({name: np.arange(n, dtype=float) for name in "xy"} for n in (3, 5))
    assert kim_nelson(few, first=3, indifference=0.1) == Race(("x", "y"), 3, 5)
    assert kim_nelson(enough, first=3, indifference=0.1) == Race(("x",), 5, 5)


@pytest.mark.unit
def test_what_cannot_be_compared_is_refused() -> None:
    two = {"a": [1.0, 2.0], "b": [2.0, 2.5]}
    for refused, words in (
        (lambda: compare_with_best({"a": [1.0, 2.0]}), "at least two"),
        (lambda: compare_with_best({"a": [1.0, 2.0], "b": [1.0]}), "one length"),
        (lambda: compare_with_best(two, 0.5), "confidence in the best of 2"),
        (lambda: compare_with_best(two, indifference=-1.0), "at least 0"),
        (lambda: compare_with_best(two, indifference=math.nan), "at least 0"),
        (lambda: kim_nelson(two, first=1, indifference=1.0), "at least 2 replications"),
        (lambda: kim_nelson(two, first=2, indifference=0.0), "above 0"),
        (lambda: kim_nelson(two, first=2, indifference=1.0, confidence=1.0), "confidence in the best"),
        (lambda: kim_nelson({"a": [1.0]}, first=2, indifference=1.0), "at least two"),
        (lambda: kim_nelson({"a": [1.0, math.nan], "b": [1.0, 2.0]}, first=2, indifference=1.0), "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()
