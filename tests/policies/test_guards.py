"""Guards: what counts as a strike, what clears strikes, and when the supervisor is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.guards import FUTILE, STRIKES, Guard, GuardState, GuardTerms
from simulator.contracts import CheckPoint, Lesson
from simulator.ledger import COMMITTED, Outcome
from simulator.view import Gauge


def lesson(outcome: str) -> Lesson:
    return Lesson(outcome=outcome, stage="", items=0, summarised=0, summaries=0, tokens=0)


def calls(terms: GuardTerms, attempts: list[tuple[str, bool]]) -> list[bool]:
    strikes = Guard(terms)
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
    strikes = Guard(GuardTerms(escalate_after))
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


# --------------------------------------------------------------------------- the automaton


def at(turn: int, time_s: float = 0.0) -> Gauge:
    return Gauge(CheckPoint.BEFORE_REQUEST, turn, 900, 1_000, 0, 1, 0, {}, time_s=time_s)


def attempt(guard: Guard, turn: int, outcome: str = "refused", freed: int = 500, time_s: float = 0.0) -> bool:
    """Let one attempt through and settle it; return whether it was let through."""
    if not guard.lets(at(turn, time_s)):
        return False
    guard.count(lesson(outcome)._replace(freed=freed, before=1_000), recovered=False)
    return True


@pytest.mark.unit
def test_enough_strikes_latch_for_good() -> None:
    guard = Guard(GuardTerms(latch_after=3))
    assert [attempt(guard, turn) for turn in range(1, 7)] == [True, True, True, False, False, False]
    assert guard.state is GuardState.LATCHED


@pytest.mark.unit
def test_a_commit_between_them_clears_strikes_unless_nothing_does() -> None:
    story = ["refused", "committed", "refused", "committed", "refused"]
    for reset, state in (("commit", GuardState.OPEN), ("never", GuardState.LATCHED)):
        guard = Guard(GuardTerms(latch_after=2, reset=reset))  # type: ignore[arg-type]
        for turn, outcome in enumerate(story, 1):
            attempt(guard, turn, outcome)
        assert guard.state is state


@pytest.mark.unit
def test_enough_strikes_halt_and_say_so() -> None:
    guard = Guard(GuardTerms(halt_after=2))
    attempt(guard, 1)
    assert not guard.halts
    attempt(guard, 2)
    assert guard.halts


@pytest.mark.unit
@pytest.mark.parametrize(
    ("unit", "seconds", "let"),
    [("turns", 0.0, [True, False, False, True]), ("seconds", 2.0, [True, False, True, False])],
)
def test_a_strike_cools_down_by_its_own_clock(unit: str, seconds: float, let: list[bool]) -> None:
    guard = Guard(GuardTerms(cooldown=3, cooldown_unit=unit))  # type: ignore[arg-type]
    assert [attempt(guard, turn, time_s=seconds * turn) for turn in (1, 2, 3, 4)] == let
    assert guard.state is GuardState.COOLING


@pytest.mark.unit
def test_a_commit_does_not_cool_down() -> None:
    guard = Guard(GuardTerms(cooldown=3))
    assert all(attempt(guard, turn, "committed") for turn in range(1, 9))
    assert guard.state is GuardState.OPEN


@pytest.mark.unit
def test_the_rate_limit_counts_attempts_in_a_window_of_turns() -> None:
    guard = Guard(GuardTerms(most=2, per=5))
    let = [attempt(guard, turn, "committed") for turn in range(1, 13)]
    assert let == [True, True, False, False, False, True, True, False, False, False, True, True]


@pytest.mark.unit
@pytest.mark.parametrize(("freed", "strikes"), [(99, 1), (100, 0)])
def test_a_commit_that_frees_too_small_a_share_is_futile_where_that_is_looked_for(
    freed: int, strikes: int
) -> None:
    looked_for = Guard(GuardTerms(strike_on=STRIKES | {FUTILE}, futile_share=0.1))
    attempt(looked_for, 1, "committed", freed)
    assert looked_for.strikes == strikes
    not_looked_for = Guard(GuardTerms(futile_share=0.1))
    attempt(not_looked_for, 1, "committed", freed)
    assert not_looked_for.strikes == 0


@pytest.mark.unit
@pytest.mark.parametrize(
    ("turns", "halts"),
    [((1, 4, 7, 10), True), ((1, 4, 7), False), ((1, 5, 8, 11), False), ((1, 5, 8, 11, 14), True)],
)
def test_a_window_that_is_full_again_within_three_turns_three_times_running_halts(
    turns: tuple[int, ...], halts: bool
) -> None:
    guard = Guard(GuardTerms(strike_on=frozenset({FUTILE}), thrash_turns=3, halt_after=3))
    for turn in turns:
        attempt(guard, turn, "committed")
    assert guard.halts is halts


@pytest.mark.property
@given(
    st.builds(
        GuardTerms,
        latch_after=st.none() | st.integers(1, 5),
        cooldown=st.integers(0, 5).map(float),
        most=st.none() | st.integers(1, 3),
        per=st.integers(1, 6),
    ),
    st.lists(st.sampled_from([outcome.value for outcome in Outcome]), max_size=40),
)
def test_what_a_guard_promises_holds_whatever_happens(terms: GuardTerms, outcomes: list[str]) -> None:
    guard = Guard(terms)
    let = [attempt(guard, turn, outcome) for turn, outcome in enumerate(outcomes, 1)]
    if terms.most is not None:
        windows = (let[place : place + terms.per] for place in range(len(let)))
        assert all(sum(window) <= terms.most for window in windows)
    struck = None
    strikes = 0
    for turn, (outcome, started) in enumerate(zip(outcomes, let, strict=True)):
        if started and struck is not None:
            assert turn - struck >= terms.cooldown
        if started and outcome in STRIKES:
            struck, strikes = turn, strikes + 1
        elif started and outcome in COMMITTED:
            strikes = 0
        if terms.latch_after is not None and strikes >= terms.latch_after:
            assert not any(let[turn + 1 :])
            break
