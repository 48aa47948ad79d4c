"""The small gates of real systems: a least to reclaim, a target for the result, a predicted saving."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.gates import PredictionGate, ReclaimGate, ResultTargetGate
from simulator.contracts import Proposal
from simulator.plan import Evict, Fold, Mask, RewritePlan
from simulator.spans import Kind
from simulator.view import Item, View

pytestmark = pytest.mark.unit


@pytest.fixture
def shown(item: Callable[..., Item], view: Callable[..., View]) -> View:
    """A head, a summary of 80 and ten results of 100 tokens each: 1,200 in all."""
    head, summary = item(0, 120, Kind.HEAD), item(1, 80, Kind.SUMMARY)
    return view([head, summary, *(item(place) for place in range(2, 12))])


@pytest.mark.parametrize(
    ("gate", "accepted"),
    [
        (ReclaimGate(), True),
        (ReclaimGate(tokens=264), True),  # three masks of 12 save 88 each
        (ReclaimGate(tokens=265), False),
        (ReclaimGate(tokens=300, counts="selected"), True),
        (ReclaimGate(tokens=301, counts="selected"), False),
        (ReclaimGate(share=0.22), True),  # of 1,200 that stand: 264
        (ReclaimGate(share=0.221), False),
        (ReclaimGate(share_of_messages=0.27), True),  # three of eleven
        (ReclaimGate(share_of_messages=0.28), False),
        (ReclaimGate(tokens=1, share_of_messages=0.5), False),
    ],
)
def test_a_plan_that_takes_less_than_the_least_is_refused_before_it_is_paid_for(
    gate: ReclaimGate, accepted: bool, shown: View
) -> None:
    plan = RewritePlan(tuple(Mask(place, 12) for place in (2, 3, 4)), 3 * 88)
    verdict = gate.weigh(shown, plan, 0)
    assert verdict.accepted is accepted
    assert verdict.reason
    assert gate.judge(Proposal(0, 0, 0)).accepted  # it has had its say


@pytest.mark.parametrize(("freed", "accepted"), [(101, True), (100, False), (0, False)])
def test_a_result_that_is_not_under_its_share_of_the_window_is_refused(
    freed: int, accepted: bool, shown: View
) -> None:
    gate = ResultTargetGate(0.9)
    assert gate.weigh(shown, RewritePlan((Evict(2),), 100), 0).accepted
    verdict = gate.judge(Proposal(freed, 0, 0, believed_freed=freed, before=1_000))
    assert verdict.accepted is accepted
    assert verdict.figures == {"after": 1_000 - freed, "limit": 900}


def test_a_result_target_forgets_the_window_of_the_last_run(shown: View) -> None:
    gate = ResultTargetGate(0.5)
    gate.weigh(shown, RewritePlan((Evict(2),), 100), 0)
    gate.begin()
    assert gate.judge(Proposal(0, 0, 0, before=10**6)).accepted


@pytest.mark.parametrize(
    ("ids", "accepted"),
    [((2,), True), ((1,), False), ((1, 2), True)],  # 100 and 180 are more than the summary's 80; 80 is not
)
def test_what_goes_must_be_more_than_the_last_summary_holds(
    ids: tuple[int, ...], accepted: bool, shown: View
) -> None:
    verdict = PredictionGate().weigh(shown, RewritePlan((Fold(ids),), 10), 0)
    assert verdict.accepted is accepted
    assert verdict.figures["last_summary"] == 80


def test_without_a_summary_to_go_by_the_first_time_passes(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    assert PredictionGate().weigh(view([item(1, 1)]), RewritePlan((Evict(1),), 1), 0).accepted


def test_the_newest_summary_is_the_evidence(item: Callable[..., Item], view: Callable[..., View]) -> None:
    items = [item(1, 500, Kind.SUMMARY), item(2, 50, Kind.SUMMARY), item(3, 60)]
    assert PredictionGate().weigh(view(items), RewritePlan((Evict(3),), 60), 0).accepted
    assert not PredictionGate().weigh(view(items[::-1]), RewritePlan((Evict(3),), 60), 0).accepted
