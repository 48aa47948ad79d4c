"""Judgement: which runs hold which expectation, with what range, and how often chance misleads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from experiments.judge import LEVEL, Finding, judge
from experiments.runner import Failure
from scenarios.expectation import Expectation
from simulator import Run

FAILED = Failure("propose", "LookupError", "no propose")


def run_of(value: object) -> Run:
    """A run that shows nothing but one response."""
    outcome = value if isinstance(value, str) else "horizon"
    return Run(outcome, {"net_tokens": value}, {}, [], [], [])


def expected(**said: Any) -> Expectation:
    plain: dict[str, Any] = {"policy": "mine", "summary": "net_tokens", "kind": "implied", "source": "a test"}
    return Expectation(**{**plain, **said})


def judged(values: Sequence[object], *, by_estimate: bool = False, **said: Any) -> Finding:
    runs = [value if isinstance(value, Failure) else run_of(value) for value in values]
    return judge("world", expected(**said), {"mine": runs}, by_estimate=by_estimate)


# ------------------------------------------------------------------------------------ over every run


@pytest.mark.unit
@pytest.mark.parametrize(
    ("band", "values", "passed"),
    [
        ({"between": (1, 3)}, [1, 2, 3], True),  # both ends are inside
        ({"between": (1, 3)}, [1, 2, 3.001], False),
        ({"at_least": 1}, [1, 7], True),
        ({"at_least": 1}, [0.999, 7], False),
        ({"at_most": 1}, [1, -7], True),
        ({"at_most": 1}, [1.001], False),
        ({"equals": 94, "within": 0.5}, [93.5, 94.5], True),
        ({"equals": 94, "within": 0.5}, [94.51], False),
        ({"equals": 0.3}, [0.1 + 0.2], True),
        ({"equals": 5}, [5, None], False),
        ({"equals": 5, "must_fail": True}, [5, 6], True),
        ({"equals": 5, "must_fail": True}, [5, 5], False),
        ({"equals": 5, "must_fail": True}, [5, None], False),  # what is not there misses no figure
    ],
)
def test_every_run_is_held_against_the_band(band: dict[str, Any], values: list[object], passed: bool) -> None:
    finding = judged(values, **band)
    numbers = [value for value in values if isinstance(value, int | float)]
    assert finding.passed is passed
    assert not finding.random
    assert (finding.low, finding.high, finding.n) == (min(numbers), max(numbers), len(numbers))
    assert finding.simulated == pytest.approx(sum(numbers) / len(numbers))


@pytest.mark.unit
def test_words() -> None:
    assert judged(["overflow"] * 3, summary="outcome", equals="overflow").simulated == "overflow"
    mixed = judged(["overflow", "horizon"], summary="outcome", equals="overflow")
    assert (mixed.passed, mixed.simulated, mixed.low) == (False, "horizon or overflow", None)
    assert judged(["overflow", "horizon"], summary="outcome", equals="overflow", must_fail=True).passed
    assert not judged([5.0], equals="overflow").passed


@pytest.mark.unit
def test_what_was_expected_is_told_again() -> None:
    finding = judged([1.0], at_least=0, note="a remark", holds_in_box=0.5)
    assert (finding.scenario, finding.policy, finding.response) == ("world", "mine", "summary.net_tokens")
    assert (finding.documented, finding.kind, finding.source) == (">= 0", "implied", "a test")
    assert (finding.note, finding.holds_in_box) == ("a remark", 0.5)


# ------------------------------------------------------------------------------------ estimates


@pytest.mark.unit
def test_the_interval_of_a_mean_must_lie_inside() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    half = 2.7764451 * math.sqrt(2.5 / 5)  # Student's t of 4 degrees of freedom
    inside = judged(values, over="mean", between=(3 - half - 1e-6, 3 + half + 1e-6))
    assert (inside.passed, inside.random, inside.simulated, inside.n) == (True, True, 3.0, 5)
    assert (inside.low, inside.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert not judged(values, over="mean", between=(3 - half + 1e-6, 9)).passed
    assert not judged(values, over="mean", between=(-9, 3 + half - 1e-6)).passed
    assert judged(values, over="mean", between=(2.9, 3.1), by_estimate=True).passed
    assert not judged(values, over="mean", between=(3.1, 9), by_estimate=True).passed


@pytest.mark.unit
def test_a_mean_that_must_miss_lies_outside_with_its_interval() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert judged(values, over="mean", at_least=6, must_fail=True).passed
    assert judged(values, over="mean", at_most=0.9, must_fail=True).passed
    assert not judged(values, over="mean", at_least=4, must_fail=True).passed  # it may be as large
    assert judged(values, over="mean", at_least=4, must_fail=True, by_estimate=True).passed


@pytest.mark.unit
def test_one_run_bounds_no_mean() -> None:
    finding = judged([3.0], over="mean", between=(0, 9))
    assert (finding.passed, finding.low, finding.high) == (False, -math.inf, math.inf)


@pytest.mark.unit
def test_shares() -> None:
    values = [1.0] * 45 + [0.0] * 5
    z = 1.959964
    centre = (0.9 + z * z / 100) / (1 + z * z / 50)
    half = z / (1 + z * z / 50) * math.sqrt(0.09 / 50 + z * z / 10_000)  # Wilson
    finding = judged(values, over="share", at_least=1, share_at_least=centre - half - 1e-6)
    assert (finding.passed, finding.simulated, finding.n) == (True, 0.9, 50)
    assert finding.low == pytest.approx(centre - half, abs=1e-6)
    assert not judged(values, over="share", at_least=1, share_at_least=centre - half + 1e-6).passed
    assert judged(values, over="share", at_least=1, share_at_least=0.99, must_fail=True).passed


@pytest.mark.unit
def test_a_run_without_the_response_is_in_no_band() -> None:
    finding = judged([1.0, 1.0, None, None], over="share", at_least=0, share_at_least=0.1)
    assert (finding.simulated, finding.n) == (0.5, 4)
    assert finding.note == "2 of 4 runs have no such response"
    mean = judged([1.0, 3.0, None], over="mean", at_least=-1e6)
    assert (mean.simulated, mean.n, mean.note) == (2.0, 2, "1 of 3 runs have no such response")


@pytest.mark.unit
@pytest.mark.parametrize("over", ["every", "mean", "q05", "q95"])
@pytest.mark.parametrize("must_fail", [False, True])
def test_where_no_run_has_the_response_it_is_missed(over: str, must_fail: bool) -> None:
    finding = judged([None, None], over=over, at_least=-1e9, must_fail=must_fail)
    assert (finding.passed, finding.simulated, finding.n) == (False, None, 0)
    assert finding.note == "2 of 2 runs have no such response"


@pytest.mark.unit
def test_quantiles() -> None:
    values = list(map(float, range(1, 201)))
    high = judged(values, over="q95", between=(150, 201))
    assert high.passed
    assert high.low is not None
    assert high.high is not None
    assert high.low < 190 < high.high
    assert not judged(values, over="q95", at_most=190).passed
    assert judged(values, over="q05", at_most=30).passed
    assert not judged(values[:10], over="q05", at_least=-1e9).passed  # ten values cannot bound it below


# ---------------------------------------------------------------------------- pairs, subsets, failures


@pytest.mark.unit
def test_minus_is_paired_by_world() -> None:
    noise = [100.0, -300.0, 55.0, 7.0]
    outcomes = {
        "mine": [run_of(value + 2 + 0.1 * place) for place, value in enumerate(noise)],
        "other": [run_of(value) for value in noise],
    }
    finding = judge("world", expected(minus="other", over="mean", at_least=1.5), outcomes)
    assert finding.passed
    assert finding.simulated == pytest.approx(2.15)
    assert finding.response == "summary.net_tokens minus other"
    outcomes["other"][2] = run_of(None)
    assert judge("world", expected(minus="other", over="mean", at_least=1.5), outcomes).n == 3


@pytest.mark.unit
def test_replications_pick_runs() -> None:
    assert judged([1, 9, 1, 9], replications=(0, 2), equals=1).passed
    assert not judged([1, 9, 1, 9], replications=(0, 1), equals=1).passed
    finding = judged([1, 9], replications=(5,), equals=1)
    assert (finding.passed, finding.note) == (False, "there is no run 5 among 2")
    assert finding.response.endswith(" in runs 5")


@pytest.mark.unit
@pytest.mark.parametrize(
    "said", [{}, {"must_fail": True}, {"over": "mean"}, {"over": "mean", "must_fail": True}]
)
def test_a_failed_run_misses_with_its_reason(said: dict[str, Any]) -> None:
    finding = judged([1, FAILED, 1], equals=1, **said)
    assert (finding.passed, finding.simulated, finding.n) == (False, None, 0)
    assert finding.note == "run 1 failed at propose: no propose"
    both: dict[str, list[Run | Failure]] = {"mine": [run_of(1)], "other": [FAILED]}
    finding = judge("world", expected(minus="other", equals=1, **said), both)
    assert (finding.passed, finding.note) == (False, "run 0 of other failed at propose: no propose")


@pytest.mark.unit
def test_a_failed_run_that_is_not_asked_for_does_no_harm() -> None:
    assert judged([1, FAILED], replications=(0,), equals=1).passed


# ---------------------------------------------------------------------------- how often chance misleads

TRIALS = 1500
SLACK = 4.0
"""Standard errors of the binomial between stated and seen rate: a false alarm in some 30,000 tests."""


def assert_rate(passed: int, rate: float) -> None:
    assert abs(passed / TRIALS - rate) < SLACK * math.sqrt(rate * (1 - rate) / TRIALS)


@pytest.mark.theory
def test_at_the_edge_of_a_one_sided_band_a_mean_passes_by_half_the_stated_chance() -> None:
    random = np.random.default_rng(1)
    samples = random.normal(10, 3, (TRIALS, 20))
    assert_rate(
        sum(judged(sample.tolist(), over="mean", at_least=10).passed for sample in samples), (1 - LEVEL) / 2
    )


@pytest.mark.theory
def test_at_the_edge_a_mean_that_must_miss_passes_by_half_the_stated_chance() -> None:
    samples = np.random.default_rng(2).normal(10, 3, (TRIALS, 20))
    judgements = (judged(sample.tolist(), over="mean", at_least=10, must_fail=True) for sample in samples)
    assert_rate(sum(finding.passed for finding in judgements), (1 - LEVEL) / 2)


@pytest.mark.theory
def test_the_interval_of_a_finding_covers_the_mean_as_often_as_stated() -> None:
    samples = np.random.default_rng(3).normal(10, 3, (TRIALS, 8))
    covered = 0
    for sample in samples:
        finding = judged(sample.tolist(), over="mean", at_least=0)
        assert finding.low is not None
        assert finding.high is not None
        covered += finding.low <= 10 <= finding.high
    assert_rate(covered, LEVEL)


@pytest.mark.theory
def test_at_the_edge_a_share_passes_as_often_as_the_binomial_says() -> None:
    """The Wilson bound is passed from some count of successes on: the exact chance of that many."""
    n, truth = 60, 0.8
    least = next(
        k
        for k in range(n + 1)
        if judged([1.0] * k + [0.0] * (n - k), over="share", at_least=1, share_at_least=truth).passed
    )
    exact = sum(math.comb(n, k) * truth**k * (1 - truth) ** (n - k) for k in range(least, n + 1))
    assert exact < 0.05
    hits = np.random.default_rng(4).random((TRIALS, n)) < truth
    passed = sum(
        judged(row.astype(float).tolist(), over="share", at_least=1, share_at_least=truth).passed
        for row in hits
    )
    assert_rate(passed, exact)
