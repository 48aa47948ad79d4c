"""Steps: what a missing constraint, a missing correction and a missing antecedent cost, to the token."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from scipy import stats

from policies.gates import CoherenceGate
from simulator.contracts import Policy, Step, Turn
from simulator.laws import CoherenceLaw, EvidenceLaw, Laws, SummaryLaw
from simulator.plan import Evict, Fold, Operation, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Provenance, Span
from simulator.view import View

Make = Callable[..., Policy]
FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right
RETRY, REDERIVE = 340, 950  # field record 003: a retry of 340 tokens, then 610 to reconstruct
CONSTRAINT = Span(1, Kind.USER, 40, provenance=Provenance.USER, constraint=True, binds=(1,))
OBSERVATION = Span(1, Kind.TOOL_RESULT, 300, rederive=REDERIVE)


def plan_of(*operations: Operation) -> RewritePlan:
    return RewritePlan(operations, 1)


@pytest.fixture
def lived(listed: type, scripted: Make) -> Callable[..., Run]:
    """Live through turns that begin with a rewrite in turn 2."""

    def made(
        before: tuple[Span, ...], turns: tuple[Turn, ...], *operations: Operation, **laws: object
    ) -> Run:
        policy = scripted(check_by=lambda gauge: gauge.turn == 2, propose_by=plan_of(*operations))
        setting = Setting("steps", 10**6, listed((Turn(), *turns), before), laws=Laws(**laws))  # type: ignore[arg-type]
        return simulate(setting, policy)

    return made


def noted(run: Run, kind: str) -> list[tuple[int, str, int]]:
    return [(row.turn, row.detail, row.tokens) for row in run.event_rows if row.kind == kind]


# --------------------------------------------------------------------------- constraints and claims


@pytest.mark.unit
@pytest.mark.parametrize(
    ("retention", "force", "violations"), [(1, 1, 0), (1, 0, 2), (0, 1, 2)], ids=["kept", "text", "lost"]
)
def test_a_governed_step_without_force_is_a_violation_text_kept_or_not(
    lived: Callable, retention: float, force: float, violations: int
) -> None:
    governed = Turn(step=Step(governed=(1,)))
    evidence = EvidenceLaw(retention, force)
    run = lived((CONSTRAINT,), (governed, Turn(), governed), Summarise(1), evidence=evidence)
    assert run.summary["constraint_violations"] == violations
    assert noted(run, "violation") == [(2, "constraint 1", 0), (4, "constraint 1", 0)][:violations]
    assert run.summary["constraints_total"] == 1
    assert run.summary["constraints_held"] == (0 if violations else 1)
    # the agent sees nothing of it: not one token, not one second
    quiet = lived((CONSTRAINT,), (Turn(),) * 3, Summarise(1), evidence=evidence)
    assert [row[:7] for row in run.turn_rows] == [row[:7] for row in quiet.turn_rows]


@pytest.mark.unit
def test_a_constraint_holds_in_the_turn_that_states_it_and_not_before(lived: Callable) -> None:
    governed = Step(governed=(1,))
    run = lived((), (Turn(step=governed), Turn((CONSTRAINT,), step=governed)))
    assert noted(run, "violation") == [(2, "constraint 1", 0)]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("operations", "false"),
    [
        ((), 0),
        ((Evict(2),), 1),  # the claim stands, its correction is gone
        ((Evict(1),), 0),
        ((Evict(1), Evict(2)), 0),
        ((Summarise(2),), 1),
        ((Fold((1, 2)),), 1),  # the text of both is kept, the correction has no force
    ],
)
def test_a_claim_is_false_where_it_outlives_its_correction(
    lived: Callable, operations: tuple[Operation, ...], false: int
) -> None:
    correction = Span(2, Kind.USER, 40, constraint=True, binds=(2,))
    run = lived(
        (Span(1, Kind.TOOL_RESULT, 90), correction),
        (Turn(step=Step(claims=((1, 2),))),),
        *operations,
        evidence=EvidenceLaw(force=0),
    )
    assert run.summary["false_claims"] == false
    assert noted(run, "false claim") == [(2, "span 1", 0)][:false]


# --------------------------------------------------------------------------- missing antecedents


def citing(identity: int, *antecedents: int, subgoal: int | None = None) -> Turn:
    return Turn((), (Span(identity, Kind.ASSISTANT, 10, cites=antecedents, subgoal=subgoal),))


@pytest.mark.theory
@pytest.mark.parametrize("by", ["citation", "touch"])
def test_a_missing_antecedent_costs_retry_and_reconstruction_once(lived: Callable, by: str) -> None:
    touched = citing(5, 1) if by == "citation" else Turn(step=Step(touches=(1,)))
    again = citing(6, 1) if by == "citation" else touched
    coherence = CoherenceLaw(retry_tokens=RETRY)
    run = lived((OBSERVATION,), (touched, again), Evict(1), coherence=coherence)
    assert run.summary["rederivation_tokens"] == 340 + 610
    assert noted(run, "rederived") == [(2, "span 1", REDERIVE)]
    written = 10 if by == "citation" else 0
    assert [row.tokens for row in run.turn_rows] == [300, 340 + 610 + written, 340 + 610 + 2 * written]
    assert run.summary["dangling_references"] == 0
    assert run.summary["dropped_references"] == 0
    # a commit breaks what leans on it already, which is nothing here
    assert run.summary["dangled_at_commit"] == 0


@pytest.mark.unit
def test_one_step_pays_once_for_all_that_lean_on_the_same(lived: Callable) -> None:
    both = Turn((), (Span(5, Kind.ASSISTANT, 10, cites=(1,)), Span(6, Kind.ASSISTANT, 10, cites=(1,))))
    run = lived((OBSERVATION,), (both._replace(step=Step(touches=(1,))),), Evict(1))
    assert run.summary["rederivation_tokens"] == REDERIVE


@pytest.mark.unit
def test_what_is_recovered_can_be_lost_and_recovered_again(listed: type, scripted: Make) -> None:
    def evicts_what_was_recovered(view: object) -> RewritePlan:
        return plan_of(*(Evict(item.id) for item in view.items if item.rederive))  # type: ignore[attr-defined]

    turns = (Turn(), citing(5, 1), citing(6, 1), citing(7, 1))
    policy = scripted(check_by=lambda gauge: gauge.turn > 1, propose_by=evicts_what_was_recovered)
    laws = Laws(coherence=CoherenceLaw(RETRY))
    run = simulate(Setting("again", 10**6, listed(turns, (OBSERVATION,)), laws=laws), policy)
    assert noted(run, "rederived") == [(turn, "span 1", REDERIVE) for turn in (2, 3, 4)]
    assert [entry.freed for entry in run.rewrite_rows] == [300, 610, 610]
    # the replies of turns 2 and 3 lean on it when it goes the second and the third time
    assert [entry.dangled for entry in run.rewrite_rows] == [0, 1, 2]


@pytest.mark.unit
def test_the_coherence_gate_sees_what_leans_on_recovered_evidence(listed: type, scripted: Make) -> None:
    def evicts_what_was_recovered(view: View) -> RewritePlan:
        plan = plan_of(*(Evict(item.id) for item in view.items if item.rederive))
        gate.weigh(view, plan, target=0)
        return plan

    gate = CoherenceGate()
    turns = (Turn(), citing(5, 1), citing(6, 1), citing(7))
    policy = scripted(
        check_by=lambda gauge: gauge.turn in {2, 4},
        propose_by=evicts_what_was_recovered,
        judge_by=gate.judge,
    )
    run = simulate(Setting("seen", 10**6, listed(turns, (OBSERVATION,))), policy)
    first, second = run.rewrite_rows
    assert first.outcome == "committed"  # nothing leant on the observation yet
    assert second.outcome == "refused"
    assert "penalty=1900 dangling=2" in second.reason
    assert run.summary["dangled_at_commit"] == 0


@pytest.mark.unit
def test_a_summary_of_recovered_evidence_stands_for_what_was_recovered(listed: type, scripted: Make) -> None:
    turns = (Turn(), citing(5, 1), citing(6, 1), Turn())
    policy = scripted(
        check_by=lambda gauge: gauge.turn in {2, 3, 4},
        propose_by=lambda view: plan_of(
            *((Evict if item.id > 0 else Summarise)(item.id) for item in view.items if item.rederive)
        ),
    )
    run = simulate(Setting("again", 10**6, listed(turns, (OBSERVATION,))), policy)
    assert run.summary["rederivation_tokens"] == REDERIVE
    (summary,) = (item for item in policy.views[-1].items if item.kind is Kind.SUMMARY)
    assert (summary.replaces, summary.rederive) == ((1,), REDERIVE)
    assert run.summary["dangling_references"] == 0


@pytest.mark.unit
def test_recovery_takes_the_time_of_its_retry_and_belongs_to_the_work_at_hand(
    listed: type, scripted: Make
) -> None:
    provider = ProviderSpec(
        overhead_seconds=1.0, prefill_tokens_per_second=math.inf, decode_tokens_per_second=10
    )
    seen: list[object] = []
    policy = scripted(
        check_by=lambda gauge: gauge.turn > 1,
        propose_by=lambda view: seen.append(view) or plan_of(*(Evict(1),) if view.gauge.turn == 2 else ()),
    )
    laws = Laws(coherence=CoherenceLaw(RETRY))
    workload = listed((Turn(), citing(5, 1, subgoal=4), Turn()), (OBSERVATION,))
    run = simulate(Setting("time", 10**6, workload, laws=laws, provider=provider), policy)
    # requests of turns 1 and 2, a reply of 10 tokens, then the retry of 340 tokens as a request
    assert [row.time_s for row in run.turn_rows] == [1.0, 1 + 1 + 1 + (1 + 34), 1 + 1 + 1 + (1 + 34) + 1]
    retry, recovered, reply = seen[-1].items  # type: ignore[attr-defined]
    assert [(one.tokens, one.subgoal, one.born) for one in (retry, recovered, reply)] == [
        (340, 4, 2),
        (610, 4, 2),
        (10, 4, 0),
    ]
    assert (recovered.rederive, recovered.kind) == (REDERIVE, Kind.TOOL_RESULT)
    # it is to be seen whose evidence it brings back; the retry brings nothing
    assert (recovered.replaces, retry.replaces, retry.rederive) == ((1,), (), 0)


@pytest.mark.unit
@pytest.mark.parametrize(("rederive", "spans"), [(950, [340, 610]), (340, [340]), (200, [200]), (0, [])])
def test_what_is_cheap_to_recover_is_all_retry(
    listed: type, scripted: Make, rederive: int, spans: list[int]
) -> None:
    cheap = OBSERVATION._replace(rederive=rederive)
    policy = scripted(check_by=lambda gauge: gauge.turn == 2, propose_by=plan_of(Evict(1)))
    laws = Laws(coherence=CoherenceLaw(RETRY))
    run = simulate(Setting("cheap", 10**6, listed((Turn(), citing(5, 1)), (cheap,)), laws=laws), policy)
    assert run.turn_rows[-1].tokens == sum(spans) + 10
    assert run.summary["rederivation_tokens"] == rederive
    # where nobody knows what it would take, it stays broken
    assert run.summary["dangling_references"] == (0 if rederive else 1)


@pytest.mark.unit
def test_a_summary_carries_what_is_leant_on_at_its_retention(lived: Callable) -> None:
    for retention, paid in ((1, 0), (0, REDERIVE)):
        run = lived(
            (OBSERVATION,),
            (citing(5, 1),),
            Summarise(1),
            evidence=EvidenceLaw(retention),
            summary=SummaryLaw(ratio=0.5),
        )
        assert run.summary["rederivation_tokens"] == paid


@pytest.mark.unit
def test_finished_work_leans_on_nothing(lived: Callable) -> None:
    turns = (Turn(closes=(4,)),)
    run = lived((OBSERVATION, Span(2, Kind.ASSISTANT, 10, subgoal=4, cites=(1,))), turns, Evict(1))
    assert run.summary["dangling_references"] == 0
    assert run.rewrite_rows[0].dangled == 0
    run = lived((OBSERVATION, Span(2, Kind.ASSISTANT, 10, subgoal=4, cites=(1,))), (Turn(),), Evict(1))
    assert run.summary["dangling_references"] == 1
    assert run.rewrite_rows[0].dangled == 1


# --------------------------------------------------------------------------- one reply, written at once


@pytest.mark.unit
def test_the_parts_of_one_reply_are_no_missing_antecedents_of_each_other(lived: Callable) -> None:
    call = Span(5, Kind.TOOL_CALL, 10, rederive=70)
    says = Span(6, Kind.ASSISTANT, 10, cites=(5, 1))
    run = lived((OBSERVATION,), (Turn((), (call, says)),), coherence=CoherenceLaw(drop_share=1))
    assert run.summary["dropped_references"] == 0
    assert run.summary["dangling_references"] == 0
    # what was there before and is gone is missing all the same
    run = lived((OBSERVATION,), (Turn((), (call, says)),), Evict(1), coherence=CoherenceLaw(drop_share=1))
    assert noted(run, "dropped reference") == [(2, "span 1", 0)]
    assert (run.summary["dangling_references"], run.summary["rederivation_tokens"]) == (1, 0)


@pytest.mark.unit
def test_the_reply_of_an_earlier_turn_can_be_missing(lived: Callable) -> None:
    call = Span(5, Kind.TOOL_CALL, 10, rederive=70)
    run = lived((call,), (citing(6, 5),), Evict(5))
    assert run.summary["rederivation_tokens"] == 70


# --------------------------------------------------------------------------- dropped in silence


def dropped(run: Run) -> set[str]:
    return {row.detail for row in run.event_rows if row.kind == "dropped reference"}


@pytest.fixture
def touching(listed: type, scripted: Make) -> Callable[..., Run]:
    """Lose all items at once, then touch them one a turn in this order."""

    def made(order: list[int], drop_share: float, size: int = 100) -> Run:
        items = tuple(Span(one, Kind.TOOL_RESULT, size, rederive=9) for one in sorted(set(order)))
        turns = (Turn(), *(Turn(step=Step(touches=(one,))) for one in order))
        lost = plan_of(*(Evict(one) for one in sorted(set(order))))
        policy = scripted(check_by=lambda gauge: gauge.turn == 2, propose_by=lost)
        laws = Laws(coherence=CoherenceLaw(drop_share=drop_share))
        return simulate(
            Setting("drops", 10**6, listed(turns, items), horizon=len(order) + 1, laws=laws), policy, 3
        )

    return made


@pytest.mark.theory
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_references_are_dropped_at_their_rate(touching: Callable, share: float) -> None:
    items = 3_000
    run = touching(list(range(items)), share)
    number = run.summary["dropped_references"]
    low, high = stats.binomtest(number, items).proportion_ci(1 - FALSE_ALARM, "exact")
    assert low <= share <= high
    assert run.summary["rederivation_tokens"] == 9 * (items - number)


@pytest.mark.theory
@pytest.mark.parametrize(("share", "number"), [(0.0, 0), (1.0, 50)])
def test_at_the_ends_all_or_none_are_dropped(touching: Callable, share: float, number: int) -> None:
    assert len(dropped(touching(list(range(50)), share))) == number


@pytest.mark.property
def test_which_references_are_dropped_hangs_on_the_antecedent_alone(touching: Callable) -> None:
    some = touching(list(range(60)), 0.4)
    assert dropped(touching(list(range(60))[::-1], 0.4)) == dropped(some)
    assert dropped(touching(list(range(0, 60, 2)), 0.4)) == {
        detail for detail in dropped(some) if int(detail.split()[1]) % 2 == 0
    }
    # what was dropped once is dropped again: nobody remembers that it was ever there
    twice = touching([*range(60), *range(60)], 0.4)
    assert twice.summary["dropped_references"] == 2 * len(dropped(some))
