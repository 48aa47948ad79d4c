"""Admission: moving averages by hand, and a hope that knows nothing of the context's length."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.admission import Admission, AdmissionTerms
from simulator.contracts import Lesson
from simulator.spans import Kind
from simulator.view import Gauge


def lesson(summarised: int, summaries: int, items: int = 1, outcome: str = "committed") -> Lesson:
    return Lesson(
        outcome=outcome, stage="settle", items=items, summarised=summarised, summaries=summaries, tokens=0
    )


def hope(admission: Admission, gauge: Gauge, *, need: int | None = None, evicts_dead: bool = False) -> int:
    return admission.freeable(gauge, kinds=(Kind.TOOL_RESULT,), need=need, evicts_dead=evicts_dead)


@pytest.mark.unit
def test_before_any_lesson_it_hopes_for_the_believed_ratio_of_all(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(), 0.3)
    shown = gauge(900, dead_tokens=50, results=400)
    assert hope(admission, shown) == 280
    assert hope(admission, shown, evicts_dead=True) == 50 + 245  # what is dead is not offered twice


@pytest.mark.unit
def test_the_averages_move_as_by_hand(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(weight=0.5), 0.3)
    shown = gauge(results=10_000)
    steps = [
        # ratio 0.3 -> 0.3 + 0.5 x (0.7 - 0.3) = 0.5; size 1,000: hope 500
        (lesson(1_000, 700), 500),
        # ratio 0.5 -> 0.5 + 0.5 x (1.0 - 0.5) = 0.75; size 1,000 -> 800: hope 200
        (lesson(600, 600), 200),
        # two items weigh 1 - 0.5 x 0.5 = 0.75: ratio 0.75 -> 0.75 - 0.75 x 0.35 = 0.4875; size 800 -> 1,100
        (lesson(1_200, 480, items=2), round((1 - 0.4875) * 1_100)),
    ]
    for learned, hoped in steps:
        admission.learn(learned, whole=True)
        assert hope(admission, shown) == hoped


@pytest.mark.unit
def test_two_items_weigh_as_much_as_one_after_the_other(gauge: Callable[..., Gauge]) -> None:
    together, apart = (Admission(AdmissionTerms(weight=0.3), 0.3) for _ in range(2))
    together.learn(lesson(200, 160, items=2), whole=True)
    apart.learn(lesson(200, 160), whole=True)
    apart.learn(lesson(200, 160), whole=True)
    shown = gauge(results=200)
    assert hope(together, shown) == hope(apart, shown)


@pytest.mark.unit
def test_refused_attempts_teach_too(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(weight=1.0), 0.3)
    admission.learn(lesson(1_000, 970, outcome="refused"), whole=True)
    assert hope(admission, gauge(results=5_000)) == 30


@pytest.mark.unit
def test_what_was_never_summarised_teaches_nothing(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(), 0.3)
    admission.learn(lesson(0, 0, items=0), whole=True)
    assert hope(admission, gauge(results=100)) == 70


@pytest.mark.unit
def test_without_moving_average_it_hopes_for_ever(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(moving_average=False), 0.3)
    for _ in range(9):
        admission.learn(lesson(1_000, 1_000), whole=True)
    assert hope(admission, gauge(results=100)) == 70


@pytest.mark.unit
def test_a_plan_that_met_its_need_says_nothing_of_what_a_plan_can_hold(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(weight=1.0), 0.3)
    shown = gauge(results=5_000)
    admission.learn(lesson(1_000, 500), whole=True)
    assert hope(admission, shown) == 500
    admission.learn(lesson(200, 100), whole=False)
    assert hope(admission, shown) == 2_500


@pytest.mark.unit
@pytest.mark.parametrize(("offered", "hoped"), [(3_000, 20), (3_001, 2_101)])
def test_a_lesson_lapses_when_enough_has_come_in_that_it_says_nothing_of(
    offered: int, hoped: int, gauge: Callable[..., Gauge]
) -> None:
    admission = Admission(AdmissionTerms(weight=1.0, lapse=2.0), 0.3)
    hope(admission, gauge(results=1_000))  # what it could know then
    admission.learn(lesson(1_000, 980), whole=True)
    assert hope(admission, gauge(results=offered)) == hoped


@pytest.mark.unit
def test_without_a_lapse_a_lesson_holds_for_ever(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(weight=1.0, lapse=None), 0.3)
    admission.learn(lesson(1_000, 980), whole=True)
    assert hope(admission, gauge(results=10**9)) == 20


@pytest.mark.unit
def test_a_plan_ends_where_the_believed_ratio_meets_the_need(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(weight=1.0), 0.3)
    shown = gauge(dead_tokens=50, results=5_000)
    assert hope(admission, shown, need=70) == 70
    assert hope(admission, shown, need=120, evicts_dead=True) == 50 + 70
    assert hope(admission, shown, need=30, evicts_dead=True) == 50
    admission.learn(lesson(100, 90), whole=False)
    assert hope(admission, shown, need=70) == 10  # 100 tokens are chosen, and a tenth of them goes


@pytest.mark.unit
def test_it_hopes_for_no_more_than_there_is(gauge: Callable[..., Gauge]) -> None:
    admission = Admission(AdmissionTerms(weight=1.0), 0.3)
    admission.learn(lesson(1_000, 500), whole=True)
    assert hope(admission, gauge(results=40)) == 20


@pytest.mark.property
@given(
    st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 6_000), st.integers(1, 9)), max_size=5),
    st.integers(0, 10**9),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_the_hope_is_independent_of_the_contexts_length(
    lessons: list[tuple[int, int, int]], tokens: int, dead: int, summarisable: int
) -> None:
    admission = Admission(AdmissionTerms(), 0.3)
    for summarised, summaries, items in lessons:
        admission.learn(lesson(summarised, summaries, items), whole=True)
    short = Gauge(None, 1, 0, 1_000, 0, 0, dead, {Kind.TOOL_RESULT: summarisable})  # type: ignore[arg-type]
    hopes = {
        hope(admission, short._replace(tokens=tokens, window=window), evicts_dead=True)
        for window in (1, 10**9)
    }
    assert hopes == {hope(admission, short, evicts_dead=True)}


@pytest.mark.property
@given(
    st.floats(0.01, 1), st.lists(st.tuples(st.integers(1, 900), st.integers(1, 9)), min_size=1, max_size=8)
)
def test_a_ratio_that_is_always_seen_is_the_one_believed_in_the_end(
    weight: float, lessons: list[tuple[int, int]]
) -> None:
    admission = Admission(AdmissionTerms(weight=weight), 0.5)
    for hundreds, items in lessons:
        admission.learn(lesson(200 * hundreds, 100 * hundreds, items), whole=True)
    assert admission._ratio == pytest.approx(0.5)
