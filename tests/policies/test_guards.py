"""Guards: what counts as a strike, what clears strikes, and when the supervisor is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.guards import STRIKES, GuardTerms, Strikes
from simulator.contracts import Lesson
from simulator.ledger import COMMITTED, Outcome


def lesson(outcome: str) -> Lesson:
    return Lesson(outcome=outcome, stage="", items=0, summarised=0, summaries=0, tokens=0)


def calls(terms: GuardTerms, attempts: list[tuple[str, bool]]) -> list[bool]:
    strikes = Strikes(terms)
    return [strikes.count(lesson(outcome), recovered=recovered) for outcome, recovered in attempts]


@pytest.mark.unit
@pytest.mark.parametrize("outcome", sorted(STRIKES))
def test_two_strikes_in_a_row_call_the_supervisor_and_are_cleared(outcome: str) -> None:
    assert calls(GuardTerms(2), [(outcome, False)] * 5) == [False, True, False, True, False]


@pytest.mark.unit
def test_a_commit_between_two_refusals_clears_the_first() -> None:
    attempts = [("refused", False), ("committed", False), ("refused", False), ("refused", False)]
    assert calls(GuardTerms(2, "commit"), attempts) == [False, False, False, True]


@pytest.mark.unit
def test_with_recovery_only_a_commit_below_the_trigger_clears() -> None:
    attempts = [("refused", False), ("committed", False), ("refused", False)]
    assert calls(GuardTerms(2, "recovery"), attempts) == [False, False, True]
    attempts[1] = ("committed", True)
    assert calls(GuardTerms(2, "recovery"), attempts) == [False, False, False]


@pytest.mark.unit
def test_a_refusal_that_happens_below_the_trigger_is_no_recovery() -> None:
    assert calls(GuardTerms(2, "recovery"), [("refused", True)] * 2) == [False, True]


@pytest.mark.unit
def test_without_a_number_nobody_is_ever_called() -> None:
    assert not any(calls(GuardTerms(None), [("refused", False)] * 50))


@pytest.mark.unit
def test_a_conflict_is_neither_a_strike_nor_a_commit() -> None:
    attempts = [("refused", False), ("conflicted", False), ("refused", False)]
    assert calls(GuardTerms(2), attempts) == [False, False, True]


@pytest.mark.unit
@pytest.mark.parametrize("escalate_after", [None, 2])
def test_a_gate_may_call_whatever_the_strikes_and_clears_them(escalate_after: int | None) -> None:
    strikes = Strikes(GuardTerms(escalate_after))
    refused = Lesson("refused", "gate", 0, 0, 0, 0)
    said = [strikes.count(refused, recovered=False, called=called) for called in (False, True, False, False)]
    assert said == [False, True, False, escalate_after == 2]


@pytest.mark.unit
def test_the_outcomes_are_those_of_the_ledger() -> None:
    assert {*STRIKES, *COMMITTED, "conflicted"} == {outcome.value for outcome in Outcome}


@pytest.mark.property
@given(
    st.integers(1, 5),
    st.sampled_from(["commit", "recovery"]),
    st.lists(st.tuples(st.sampled_from([outcome.value for outcome in Outcome]), st.booleans()), max_size=40),
)
def test_a_call_needs_as_many_strikes_since_the_last_call(
    escalate_after: int, reset: str, attempts: list[tuple[str, bool]]
) -> None:
    since = 0
    for (outcome, _), called in zip(
        attempts,
        calls(GuardTerms(escalate_after, reset), attempts),
        strict=True,  # type: ignore[arg-type]
    ):
        since += outcome in STRIKES
        assert not called or since >= escalate_after
        since = 0 if called else since


@pytest.mark.property
@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from([outcome.value for outcome in Outcome]), st.booleans()), max_size=40),
)
def test_a_guard_that_asks_for_recovery_calls_no_less_often(
    escalate_after: int, attempts: list[tuple[str, bool]]
) -> None:
    easy = calls(GuardTerms(escalate_after, "commit"), attempts)
    strict = calls(GuardTerms(escalate_after, "recovery"), attempts)
    assert sum(strict) >= sum(easy)
