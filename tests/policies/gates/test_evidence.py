"""The evidence gate: constraints by identity, tombstones, the target, and the red flag."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.gates import EvidenceGate, LossySelfRewriteError
from policies.gates.evidence import Evidence, preserve, trust
from simulator.contracts import CheckPoint, Proposal, Verdict
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.questions import Vitals
from simulator.spans import Kind, Provenance
from simulator.view import Gauge, Item, View

BUDGET = 4_000
"""Tokens of the working memory in field record 002."""

PROPOSAL = Proposal(1_000, 0, 0, before=3_900)
GAUGE = Gauge(CheckPoint.BEFORE_REQUEST, 9, 0, BUDGET, 0, 0, 0, {})


def judged(view: View, *operations: Operation, target: int = BUDGET, tombstones: bool = True) -> Verdict:
    """Return what a fresh gate says of a plan, which leaves a tombstone of each evicted span or of none."""
    dropped = tuple(one.id for one in operations if isinstance(one, Evict)) if tombstones else ()
    gate = EvidenceGate()
    gate.weigh(view, RewritePlan(operations, 0, dropped), target)
    return gate.judge(PROPOSAL)


def stating(item: Callable[..., Item], identity: int, *constraints: int, **said: object) -> Item:
    return item(identity, kind=Kind.USER, constraint=True, states=constraints or (identity,), **said)


# --------------------------------------------------------------------------- the figures of the record


@pytest.mark.unit
@pytest.mark.parametrize(("pinned", "accepted"), [(3_999, True), (4_000, True), (4_001, False)])
def test_constraints_that_alone_exceed_the_budget_are_refused_loudly(pinned: int, accepted: bool) -> None:
    verdict = preserve(Evidence(5, (), (), pinned, BUDGET))
    assert verdict.accepted is accepted
    if not accepted:
        assert "4001 tokens" in verdict.reason
        assert "target 4000" in verdict.reason
        with pytest.raises(LossySelfRewriteError):
            verdict.require()


@pytest.mark.unit
def test_reasons_come_in_order_lost_then_unrecorded_then_the_target() -> None:
    wrong = Evidence(3, (7,), (8,), 5_000, BUDGET)
    assert preserve(wrong).reason == "constraints fall from 3 to 2: lost 7"
    assert preserve(wrong._replace(lost=())).reason == "dropped without a tombstone: 8"
    assert preserve(wrong._replace(lost=(), unrecorded=())).reason.startswith("constraints alone take 5000")
    assert preserve(wrong._replace(lost=(), unrecorded=(), pinned=0)).accepted


@pytest.mark.unit
def test_a_long_list_of_ids_is_cut() -> None:
    assert preserve(Evidence(20, tuple(range(11)), (), 0, 1)).reason.endswith("6, 7 and 3 more")


# --------------------------------------------------------------------------- plans


@pytest.mark.unit
@pytest.mark.parametrize("operation", [Evict(1), Mask(1, 12), Summarise(1), Fold((1, 2))])
def test_whatever_is_done_to_its_only_statement_loses_a_constraint(
    operation: Operation, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([stating(item, 1), item(2), item(3)])
    verdict = judged(shown, operation)
    assert verdict.reason == "constraints fall from 1 to 0: lost 1"
    assert verdict.refusal is LossySelfRewriteError
    assert judged(shown, Evict(3)).accepted


@pytest.mark.unit
def test_identity_is_held_and_not_the_count(item: Callable[..., Item], view: Callable[..., View]) -> None:
    # the count of the record would let a third constraint stand in for the first
    shown = view([stating(item, 1), stating(item, 2), stating(item, 3, 2)])
    assert judged(shown, Evict(3)).accepted
    assert judged(shown, Evict(2)).accepted
    assert judged(shown, Evict(1)).figures["lost"] == 1
    assert judged(shown, Evict(2), Evict(3)).reason == "constraints fall from 2 to 1: lost 2"


@pytest.mark.unit
def test_of_restatements_the_oldest_is_spared(item: Callable[..., Item], view: Callable[..., View]) -> None:
    shown = view(
        [
            stating(item, 8, 1, born=5),
            stating(item, 1, born=1),
            item(2),
            stating(item, -3, 1, born=1),
            stating(item, 9, 1, 9, born=6),
        ]
    )
    assert EvidenceGate().spares(shown) == {1, 9}
    assert judged(shown, Evict(8), Evict(-3)).accepted


@pytest.mark.unit
def test_what_nobody_has_classified_counts_as_a_constraint(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, constraint=None, states=(1,)), item(2, constraint=None), item(3)])
    assert EvidenceGate().spares(shown) == {1, 2}
    assert not judged(shown, Summarise(1)).accepted
    assert not judged(shown, Summarise(2)).accepted


@pytest.mark.unit
def test_what_is_dropped_leaves_a_tombstone_or_is_not_dropped(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1), item(2)])
    assert judged(shown, Evict(1)).accepted
    assert judged(shown, Evict(1), tombstones=False).reason == "dropped without a tombstone: 1"
    assert judged(shown, Summarise(2), tombstones=False).accepted


@pytest.mark.unit
def test_a_placeholder_of_no_tokens_is_a_drop_and_needs_a_tombstone(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1), item(2)])
    assert judged(shown, Mask(1, 0), tombstones=False).reason == "dropped without a tombstone: 1"
    assert judged(shown, Mask(1, 1), tombstones=False).accepted
    gate = EvidenceGate()
    for recorded, accepted in (((), False), ((1,), False), ((2, 1), True)):
        gate.weigh(shown, RewritePlan((Mask(1, 0), Evict(2)), 0, recorded), BUDGET)
        assert gate.judge(PROPOSAL).accepted is accepted


@pytest.mark.unit
def test_each_constraint_counts_against_the_target_once(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([stating(item, 1, tokens=600), stating(item, 2, 1, tokens=500, born=2), item(3, 900)])
    assert judged(shown, target=600).accepted
    assert "take 600 tokens, target 599" in judged(shown, target=599).reason


@pytest.mark.unit
def test_a_run_that_is_begun_knows_nothing_of_the_last(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    gate = EvidenceGate()
    assert gate.judge(PROPOSAL).accepted
    gate.weigh(view([stating(item, 1)]), RewritePlan((Summarise(1),)), BUDGET)
    assert not gate.judge(PROPOSAL).accepted
    gate.begin()
    assert gate.judge(PROPOSAL).accepted


# --------------------------------------------------------------------------- the red flag

FLAG = Vitals(2_600, 3_900, 0.97, 0.90, None)


@pytest.mark.unit
def test_smaller_and_surer_without_a_ledger_halts() -> None:
    verdict = trust(FLAG)
    assert not verdict.accepted
    assert verdict.refusal is LossySelfRewriteError
    assert "from 3900 to 2600" in verdict.reason
    assert "from 0.900 to 0.970" in verdict.reason


@pytest.mark.unit
@pytest.mark.parametrize("ledger", [0, 1, 7])
def test_a_ledger_is_consulted_even_an_empty_one(ledger: int) -> None:
    verdict = trust(FLAG._replace(ledger=ledger))
    assert verdict.accepted
    assert f"{ledger} tombstones consulted" in verdict.reason


@pytest.mark.unit
@pytest.mark.parametrize(
    "calm",
    [{"tokens": 3_900}, {"tokens": 4_000}, {"confidence": 0.90}, {"confidence": 0.5}],
)
def test_both_must_move_for_a_red_flag(calm: dict[str, float]) -> None:
    assert trust(FLAG._replace(**calm)).accepted  # type: ignore[arg-type]


@pytest.mark.unit
def test_the_red_flag_is_a_switch() -> None:
    assert not EvidenceGate().resume(FLAG).accepted
    assert EvidenceGate(red_flag=False).resume(FLAG).accepted


# --------------------------------------------------------------------------- for all working sets

ITEMS = st.lists(
    st.builds(
        Item,
        id=st.just(0),
        kind=st.sampled_from([Kind.USER, Kind.TOOL_RESULT, Kind.SUMMARY]),
        tokens=st.integers(1, 900),
        born=st.integers(0, 5),
        provenance=st.just(Provenance.USER),
        subgoal=st.none(),
        pair=st.none(),
        cites=st.just(()),
        needed=st.just(False),
        closed=st.just(False),
        dead=st.booleans(),
        content_class=st.just("text"),
        passes=st.just(0),
        marked=st.just(False),
        constraint=st.sampled_from([True, True, False, None]),
        states=st.lists(st.integers(0, 4), max_size=3, unique=True).map(tuple),
    ),
    max_size=8,
).map(
    lambda items: tuple(
        item._replace(id=place - 3, states=() if item.constraint is False else item.states or (place - 3,))
        for place, item in enumerate(items)
    )
)
OPERATIONS = st.sampled_from(
    [Evict, Summarise, lambda identity: Mask(identity, 5), lambda identity: Mask(identity, 0)]
)


def statements(items: tuple[Item, ...]) -> set[int]:
    return {one for item in items for one in item.states}


@st.composite
def plans(draw: st.DrawFn) -> tuple[View, RewritePlan]:
    items = draw(ITEMS)
    chosen = draw(st.sets(st.sampled_from([item.id for item in items]))) if items else set()
    operations = tuple(draw(OPERATIONS)(identity) for identity in sorted(chosen))
    dropped = tuple(
        one.id for one in operations if isinstance(one, Evict) or (isinstance(one, Mask) and one.tokens == 0)
    )
    return View(items, GAUGE), RewritePlan(operations, 0, dropped)


@pytest.mark.property
@given(plans())
def test_no_plan_that_loses_an_identity_is_accepted_and_no_other_is_refused(
    case: tuple[View, RewritePlan],
) -> None:
    view, plan = case
    gate = EvidenceGate()
    gate.weigh(view, plan, 10**9)
    touched = set(plan.sources())
    left = statements(tuple(item for item in view.items if item.id not in touched))
    assert gate.judge(PROPOSAL).accepted is (left == statements(view.items))


@pytest.mark.property
@given(plans())
def test_a_plan_that_leaves_the_spared_alone_is_never_refused(case: tuple[View, RewritePlan]) -> None:
    view, plan = case
    gate = EvidenceGate()
    spared = set(gate.spares(view))
    heeding = tuple(one for one in plan.operations if not spared.intersection(one.sources))
    gate.weigh(view, plan._replace(operations=heeding), 10**9)
    assert gate.judge(PROPOSAL).accepted
    held = tuple(item for item in view.items if item.id in spared)
    assert statements(held) == statements(view.items)
    assert len(held) <= len(statements(view.items))


@pytest.mark.property
@given(plans(), st.integers(0, 10**9))
def test_the_order_of_items_changes_nothing(case: tuple[View, RewritePlan], seed: int) -> None:
    view, plan = case
    shuffled = list(view.items)
    random.Random(seed).shuffle(shuffled)
    one, two = EvidenceGate(), EvidenceGate()
    one.weigh(view, plan, 500)
    two.weigh(view._replace(items=tuple(shuffled)), plan, 500)
    assert one.judge(PROPOSAL) == two.judge(PROPOSAL)
    assert one.spares(view) == two.spares(view._replace(items=tuple(shuffled)))


@pytest.mark.property
@given(
    st.builds(
        Evidence,
        st.integers(0, 9),
        st.lists(st.integers(), max_size=3).map(tuple),
        st.lists(st.integers(), max_size=3).map(tuple),
        st.integers(0, 5_000),
        st.integers(0, 5_000),
    )
)
def test_it_accepts_exactly_what_loses_nothing_records_all_and_fits(evidence: Evidence) -> None:
    verdict = preserve(evidence)
    clean = not evidence.lost and not evidence.unrecorded
    assert verdict.accepted is (clean and evidence.pinned <= evidence.target)
    assert verdict.reason
    assert not verdict.escalate
