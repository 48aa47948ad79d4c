"""Tombstones: three placements, what each of them costs, and that nothing ever rewrites one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import simpy

from policies.gates import ConservationGate
from simulator.contracts import (
    CheckPoint,
    MeasurementPlan,
    Placement,
    Policy,
    Proposal,
    Terms,
    TombstoneTerms,
    Turn,
    Verdict,
)
from simulator.errors import RunFailed
from simulator.laws import Laws, MeasurementLaw
from simulator.ledger import Account, Tombstone
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.rewrite import Ending, transaction
from simulator.setting import Setting
from simulator.simulation import simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams
from simulator.supervisor import SupervisorSpec
from simulator.view import Gauge, View
from simulator.workspace import Workspace

Make = Callable[..., Policy]
RECORD = 12
PLACEMENTS = list(Placement)
INSIDE = [Placement.INSIDE_CHARGED, Placement.INSIDE_FREE]
SPANS = tuple(Span(one, Kind.TOOL_RESULT, 100) for one in range(1, 5))
DROPS_TWO = RewritePlan((Evict(2), Evict(3)), 200, (2, 3))


def terms_of(placement: Placement | None, **said: object) -> Terms:
    record = None if placement is None else TombstoneTerms(placement, RECORD)
    return Terms(deliberates=False, tombstones=record, **said)  # type: ignore[arg-type]


def workspace(policy: Policy, *, charged_to: str = "window", share: float = 0.0) -> Workspace:
    laws = Laws(measurement=MeasurementLaw(share))
    setting = Setting("tombstones", 10_000, None, laws=laws, charged_to=charged_to)  # type: ignore[arg-type]
    work = Workspace(simpy.Environment(), setting, policy, Streams(1, "tombstones"))
    work.turn = 6
    for span in SPANS:
        work.context.append(span)
    work.ledger.post(Account.INITIAL, work.context.tokens)
    return work


def attempted(work: Workspace) -> Ending:
    tokens = work.context.tokens
    gauge = Gauge(CheckPoint.AFTER_RESULT, work.turn, tokens, work.window, 0, 1, 0, work.context.by_kind)
    ending = work.env.run(until=work.env.process(transaction(work, gauge)))
    work.ledger.audit(work.context.recount())
    return ending  # type: ignore[return-value]


def records(work: Workspace) -> list[Span]:
    return [span for span in work.context if span.kind is Kind.TOMBSTONE]


# --------------------------------------------------------------------------- what each placement costs


@pytest.mark.theory
@pytest.mark.parametrize(
    ("placement", "charged", "free"),
    [
        (Placement.OUTSIDE, 0, 0),
        (Placement.INSIDE_CHARGED, 2 * RECORD, 0),
        (Placement.INSIDE_FREE, 0, 2 * RECORD),
    ],
)
def test_where_a_tombstone_stands_is_where_it_is_paid(
    scripted: Make, placement: Placement, charged: int, free: int
) -> None:
    policy = scripted(terms=terms_of(placement), propose_by=DROPS_TWO)
    work = workspace(policy)
    attempted(work)
    (entry,), (proposal,) = work.ledger.entries, policy.proposals
    assert (entry.freed, entry.rewrite_cost, entry.tombstones, entry.net) == (
        200,
        charged,
        free,
        200 - charged,
    )
    assert entry.tokens_after == 400 - 200 + charged + free
    assert entry.believed_net == 200 - charged
    assert (proposal.rewrite_cost, proposal.unattributed) == (charged, 0)
    assert work.ledger.accounts[Account.REWRITE] == charged
    assert work.ledger.accounts[Account.TOMBSTONES] == free
    assert [span.tokens for span in records(work)] == ([charged + free] if charged + free else [])
    assert work.ledger.tombstones == [Tombstone(2, 6, "after_result"), Tombstone(3, 6, "after_result")]


@pytest.mark.theory
@pytest.mark.parametrize(("placement", "passes"), list(zip(PLACEMENTS, (True, False, True), strict=True)))
def test_the_conservation_gate_counts_what_is_charged_and_nothing_else(
    scripted: Make, placement: Placement, passes: bool
) -> None:
    small = Span(9, Kind.TOOL_RESULT, RECORD)  # as large as its own tombstone: a net of 0 where it is charged
    policy = scripted(
        terms=terms_of(placement),
        propose_by=RewritePlan((Evict(9),), RECORD, (9,)),
        judge_by=ConservationGate().judge,
    )
    work = workspace(policy)
    work.context.append(small)
    work.ledger.post(Account.ARRIVED, RECORD)
    assert (attempted(work).outcome == "committed") is passes
    assert (9 not in work.context) is passes


@pytest.mark.unit
@pytest.mark.parametrize("placement", INSIDE)
def test_the_gate_is_told_what_measuring_the_tombstones_too_will_cost(
    scripted: Make, placement: Placement
) -> None:
    policy = scripted(terms=terms_of(placement, measurement=MeasurementPlan.FULL), propose_by=DROPS_TWO)
    work = workspace(policy, share=0.5)
    attempted(work)
    (entry,), (proposal,) = work.ledger.entries, policy.proposals
    assert entry.measurement_cost == proposal.measurement_cost == (200 + 2 * RECORD) // 2


@pytest.mark.unit
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_separate_quota_keeps_tombstones_out_of_the_window(scripted: Make, placement: Placement) -> None:
    work = workspace(scripted(terms=terms_of(placement), propose_by=DROPS_TWO), charged_to="separate")
    attempted(work)
    assert work.context.tokens == 200
    assert records(work) == []
    assert len(work.ledger.tombstones) == 2
    # what would stand inside is paid from the quota; what stands outside costs nothing anywhere
    assert work.quota_tokens == (2 * RECORD if placement in INSIDE else 0)
    (entry,) = work.ledger.entries
    assert (entry.rewrite_cost, entry.tombstones, entry.net) == (0, 0, 200)


# --------------------------------------------------------------------------- who leaves none


@pytest.mark.unit
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("where", ["admit_by", "judge_by"])
def test_a_refused_attempt_leaves_none(scripted: Make, placement: Placement, where: str) -> None:
    refuses = {where: Verdict(False, "no")}
    work = workspace(scripted(terms=terms_of(placement), propose_by=DROPS_TWO, **refuses))
    before = work.context.snapshot()
    assert attempted(work).outcome == "refused"
    assert work.context.snapshot() == before
    assert work.ledger.tombstones == []
    (entry,) = work.ledger.entries
    assert (entry.rewrite_cost, entry.tombstones, entry.believed_net) == (0, 0, 0)


@pytest.mark.unit
def test_a_policy_that_declares_none_leaves_none(scripted: Make) -> None:
    work = workspace(scripted(terms=terms_of(None), propose_by=DROPS_TWO))
    assert attempted(work).outcome == "committed"
    assert (work.ledger.tombstones, records(work), work.context.tokens) == ([], [], 200)


@pytest.mark.unit
@pytest.mark.parametrize("operation", [Summarise(2), Fold((1, 2)), Evict(1), Mask(1, 0)])
def test_a_tombstone_is_for_what_the_plan_evicts_or_masks(scripted: Make, operation: Operation) -> None:
    work = workspace(
        scripted(terms=terms_of(Placement.OUTSIDE), propose_by=RewritePlan((operation,), 1, (2,)))
    )
    with pytest.raises(RunFailed, match="tombstone for span 2"):
        attempted(work)


@pytest.mark.unit
@pytest.mark.parametrize("tokens", [0, 5])
def test_what_is_masked_may_have_a_tombstone(scripted: Make, tokens: int) -> None:
    plan = RewritePlan((Mask(2, tokens),), 1, (2,))
    work = workspace(scripted(terms=terms_of(Placement.INSIDE_CHARGED), propose_by=plan))
    attempted(work)
    assert work.ledger.tombstones == [Tombstone(2, 6, "after_result")]
    assert work.context.tokens == 300 + tokens + RECORD


# --------------------------------------------------------------------------- what nothing touches


@pytest.mark.unit
@pytest.mark.parametrize("placement", INSIDE)
@pytest.mark.parametrize("operation", [Evict, lambda one: Mask(one, 0), Summarise, lambda one: Fold((one,))])
def test_no_plan_may_touch_a_tombstone(
    scripted: Make, placement: Placement, operation: Callable[[int], Operation]
) -> None:
    policy = scripted(terms=terms_of(placement), propose_by=DROPS_TWO)
    work = workspace(policy)
    attempted(work)
    (record,) = records(work)
    assert record.id in work.context.protected
    policy.propose_by = RewritePlan((operation(record.id),), 1)
    with pytest.raises(RunFailed, match="tombstone cannot be rewritten"):
        attempted(work)
    (item,) = (item for item in policy.views[-1].items if item.id == record.id)
    assert item.marked


@pytest.mark.unit
@pytest.mark.parametrize("placement", INSIDE)
@pytest.mark.parametrize("act", ["oldest", "spare"])
def test_neither_supervisor_nor_retirement_removes_one(
    listed: type, scripted: Make, placement: Placement, act: str
) -> None:
    policy = scripted(
        terms=terms_of(placement, retires=True, never_summarised=True),
        check_by=lambda gauge: gauge.turn <= 3,
        propose_by=lambda view: DROPS_TWO if view.gauge.turn == 1 else RewritePlan(),
        learn_by=True,
    )
    supervisor = SupervisorSpec(evict_tokens=10**6, act=act)  # type: ignore[arg-type]
    setting = Setting("swept", 10_000, listed((Turn(),) * 5, SPANS), supervisor=supervisor)
    run = simulate(setting, policy)
    assert run.summary["out_of_band_tokens"] == 200
    assert run.summary["tombstone_tokens"] == run.summary["final_occupancy_pct"] * 100 == 2 * RECORD
    assert run.summary["tombstones"] == 2


@pytest.mark.unit
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_tombstones_pile_up_inside_and_nowhere_else(
    listed: type, constant: Callable, scripted: Make, placement: Placement
) -> None:
    def drops_results(view: View) -> RewritePlan:
        ids = tuple(item.id for item in view.items if item.kind is Kind.TOOL_RESULT)
        return RewritePlan(tuple(map(Evict, ids)), 1, ids)

    policy = scripted(terms=terms_of(placement), propose_by=drops_results)
    run = simulate(Setting("piled", 10_000, listed(constant(20, 100))), policy)
    inside = RECORD if placement in INSIDE else 0
    assert [row.tokens for row in run.turn_rows] == [inside * turn for turn in range(1, 21)]
    assert (run.summary["tombstones"], run.summary["tombstone_tokens"]) == (20, 20 * inside)
    charged = placement is Placement.INSIDE_CHARGED
    assert run.summary["net_tokens"] == 20 * (100 - (RECORD if charged else 0))


@pytest.mark.unit
def test_a_proposal_without_tombstones_costs_as_before(scripted: Make) -> None:
    policy = scripted(
        terms=terms_of(Placement.INSIDE_CHARGED), propose_by=RewritePlan((Evict(2), Evict(3)), 200)
    )
    attempted(workspace(policy))
    assert policy.proposals == [
        Proposal(
            200, 0, 0, slack=9_600, believed_saving=200, believed_freed=200, before=400, content_after=200
        )
    ]
