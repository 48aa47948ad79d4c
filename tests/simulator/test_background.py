"""Rewrites beside the turns: what goes on, what conflicts, what is lost, and that tokens are conserved."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from simulator.contracts import (
    BackgroundTerms,
    CheckPoint,
    Component,
    MeasurementPlan,
    Policy,
    RequestTerms,
    Terms,
    Turn,
    Verdict,
)
from simulator.errors import RunFailed
from simulator.laws import Laws, RationaleLaw, SummaryLaw
from simulator.ledger import RewriteEntry
from simulator.plan import Evict, Fold, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import FleetSpec, RuntimeSpec, Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Provenance, Span
from simulator.supervisor import SupervisorSpec
from simulator.workspace import Attempt, Workspace

Make = Callable[..., Policy]
END = CheckPoint.TURN_END
SLOW = ProviderSpec(overhead_seconds=1.0, prefill_tokens_per_second=math.inf, decode_tokens_per_second=10)
"""A request takes a second and a tenth of one for each token that it writes."""


class Looking:
    """Keeps what stands in the context when an attempt settles, and the workspace."""

    def __init__(self) -> None:
        self.stood: list[set[int]] = []
        self.seen: list[set[int]] = []
        self.work: Workspace | None = None

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        self.work = work

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
        self.stood.append({span.id for span in work.context})
        self.seen.append(set(attempt.seen))


def lived(
    scripted: Make,
    listed: type,
    *,
    turns: tuple[Turn, ...],
    background: BackgroundTerms | None,
    at: int = 2,
    plan: object = RewritePlan((Fold((2, 4)),)),
    watch: Looking | None = None,
    terms: dict[str, object] | None = None,
    setting: dict[str, object] | None = None,
    **answers: object,
) -> Run:
    """Return a run whose summary takes 11 seconds from the end of one turn on; a turn takes one second."""
    declared: dict[str, object] = {
        "check_points": frozenset({END}),
        "deliberates": False,
        "measurement": MeasurementPlan.NONE,
        "background": background,
    }
    policy = scripted(
        terms=Terms(**declared | (terms or {})),  # type: ignore[arg-type]
        **{"check_by": lambda gauge: gauge.turn == at, "propose_by": plan} | answers,
    )
    made = Setting(
        "beside",
        10**6,
        listed(turns),
        provider=SLOW,
        laws=Laws(RationaleLaw(base=20), summary=SummaryLaw(ratio=0.5)),
        **setting or {},  # type: ignore[arg-type]
    )
    return simulate(made, policy, watch=watch)


# --------------------------------------------------------------------------- beside the turns


@pytest.mark.unit
@pytest.mark.parametrize("turns", [30, 8])
def test_turns_go_on_while_a_summary_is_written(
    scripted: Make, listed: type, constant: Callable, turns: int
) -> None:
    workload = constant(turns, 100)
    blocked = lived(scripted, listed, turns=workload, background=None)
    beside = lived(scripted, listed, turns=workload, background=BackgroundTerms())
    (waited,), (entry,) = blocked.rewrite_rows, beside.rewrite_rows
    assert (waited.freed, entry.freed) == (100, 100)
    assert entry.rewrite_seconds == waited.rewrite_seconds == 11.0  # 100 tokens written
    assert [row.time_s for row in blocked.turn_rows] == [1, 13, *range(14, turns + 12)]
    assert [row.time_s for row in beside.turn_rows] == list(range(1, turns + 1))
    # 11 seconds bring a result each, the last together with the summary: before it, or the run is over
    assert (waited.arrivals_during, entry.arrivals_during) == (0, 100 * min(11, turns - 2))
    assert entry.tokens_after == 200 + entry.arrivals_during - 100
    assert beside.outcome == "complete"


@pytest.mark.unit
def test_a_run_waits_for_the_rewrite_that_runs_at_its_end(
    scripted: Make, listed: type, constant: Callable
) -> None:
    watch = Looking()
    run = lived(scripted, listed, turns=constant(3, 100), background=BackgroundTerms(), watch=watch)
    assert watch.work is not None
    assert run.rewrite_rows[0].outcome == "committed"
    assert watch.work.env.now == 13.0
    assert watch.work.context.tokens == run.rewrite_rows[0].tokens_after == 200


@pytest.mark.unit
def test_there_is_one_rewrite_at_a_time(scripted: Make, listed: type, constant: Callable) -> None:
    watch = Looking()
    run = lived(
        scripted,
        listed,
        turns=constant(40, 100),
        background=BackgroundTerms(),
        check_by=True,
        plan=lambda view: RewritePlan((Summarise(view.items[-1].id),)),
        watch=watch,
    )
    spans = [(entry.time_s, entry.time_s + entry.rewrite_seconds) for entry in run.rewrite_rows]
    assert len(spans) > 3
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.unit
@pytest.mark.parametrize("point", list(CheckPoint))
def test_it_begins_with_what_stood_at_its_check(scripted: Make, listed: type, point: CheckPoint) -> None:
    spans = [Span(place, Kind.TOOL_RESULT, 100) for place in range(6)]
    turns = tuple(Turn((spans[2 * turn],), (spans[2 * turn + 1],), user_turn=True) for turn in range(3))
    policy = scripted(
        terms=Terms(frozenset({point}), deliberates=False, background=BackgroundTerms()),
        check_by=lambda gauge: gauge.turn == 2,
    )
    run = simulate(
        Setting("check", 10**6 if point is not CheckPoint.OVERFLOW else 250, listed(turns)), policy
    )
    for entry in run.rewrite_rows:
        (gauge,) = (gauge for gauge in policy.gauges if gauge.turn == 2)
        assert (entry.tokens_before, len(policy.views[0].items)) == (gauge.tokens, gauge.messages)
    assert run.rewrite_rows


@pytest.mark.unit
def test_it_is_the_same_run_each_time(scripted: Make, listed: type, constant: Callable) -> None:
    runs = [
        lived(
            scripted,
            listed,
            turns=constant(30, 100, reply=20),
            background=BackgroundTerms(),
            check_by=True,
            plan=lambda view: RewritePlan((Summarise(view.items[0].id),)),
        )
        for _ in range(2)
    ]
    assert len(runs[0].rewrite_rows) > 2
    assert runs[0].turn_rows == runs[1].turn_rows
    assert runs[0].rewrite_rows == runs[1].rewrite_rows


# --------------------------------------------------------------------------- compare and swap


@pytest.mark.unit
@pytest.mark.parametrize("overwrites", [False, True])
@pytest.mark.parametrize("removed", ["nothing", "what it did not touch", "what it folds"])
def test_what_it_saw_must_still_stand(
    scripted: Make, listed: type, constant: Callable, removed: str, overwrites: bool
) -> None:
    """The supervisor, called at the end of a pass, takes the oldest while the next pass is under way."""
    plans = {"nothing": (4, 6), "what it did not touch": (4, 6), "what it folds": (2, 6)}

    def plan(view: object) -> RewritePlan:
        return RewritePlan() if policy_learned["once"] else RewritePlan((Fold(plans[removed]),))

    policy_learned = {"once": removed != "nothing"}

    def learn(lesson: object) -> bool:
        calls, policy_learned["once"] = policy_learned["once"], False
        return calls

    watch = Looking()
    run = lived(
        scripted,
        listed,
        turns=constant(30, 100),
        background=BackgroundTerms(overwrites=overwrites),
        plan=plan,
        watch=watch,
        check_by=lambda gauge: gauge.turn in (4, 6),
        learn_by=learn,
        setting={"supervisor": SupervisorSpec(service_seconds=4.5, evict_tokens=100)},
    )
    last = run.rewrite_rows[-1]
    taken = 0 if removed == "nothing" else 100
    assert run.summary["out_of_band_tokens"] == last.out_of_band_during == taken
    kept = removed == "nothing" or (overwrites and removed != "what it folds")
    assert last.outcome == ("committed" if kept else "conflicted")
    if not kept:
        assert (last.stage, last.freed, last.lost) == ("gate", 0, 0)
        assert last.usd > 0  # it was paid for all the same


@pytest.mark.unit
def test_a_rationale_that_retires_meanwhile_was_not_what_it_saw(
    scripted: Make, listed: type, constant: Callable
) -> None:
    for retires, retired in ((True, 20), (False, 0)):
        run = lived(
            scripted,
            listed,
            turns=constant(30, 100),
            background=BackgroundTerms(),
            terms={"deliberates": True, "never_summarised": True, "retires": retires},
        )
        (entry,) = run.rewrite_rows
        assert (entry.outcome, entry.rewrite_cost, entry.retired_during) == ("committed", 20, retired)
        assert entry.net == 100 - 20
        assert run.summary["retired_tokens"] == retired


# --------------------------------------------------------------------------- overwriting


@pytest.mark.unit
def test_who_overwrites_loses_exactly_what_came_in(scripted: Make, listed: type, constant: Callable) -> None:
    for overwrites in (False, True):
        watch = Looking()
        run = lived(
            scripted,
            listed,
            turns=constant(30, 100, reply=10),
            background=BackgroundTerms(overwrites=overwrites),
            watch=watch,
        )
        (entry,) = run.rewrite_rows
        assert entry.arrivals_during > 0
        assert entry.lost == (entry.arrivals_during if overwrites else 0)
        assert run.summary["lost_tokens"] == entry.lost
        if overwrites:  # every id is one that it saw and left, or the summary
            summary = watch.stood[0] - watch.seen[0]
            assert len(summary) == 1
            assert min(summary) < 0
            assert watch.stood[0] == (watch.seen[0] - {2, 4}) | summary
            assert entry.tokens_after == entry.tokens_before - entry.freed
        brought = sum(row.arrived_tokens for row in run.turn_rows)
        assert run.turn_rows[-1].tokens == brought - entry.freed - entry.lost


@pytest.mark.unit
def test_own_rationale_is_not_among_what_is_lost(scripted: Make, listed: type, constant: Callable) -> None:
    run = lived(
        scripted,
        listed,
        turns=constant(30, 100),
        background=BackgroundTerms(overwrites=True),
        terms={"deliberates": True, "charges": frozenset(Component)},
    )
    (entry,) = run.rewrite_rows
    # three results came while it wrote its reasons, and it saw them; eleven with the summary, unseen
    assert (entry.rewrite_cost, entry.arrivals_during, entry.lost) == (20, 1_400, 1_100)
    assert entry.tokens_after == entry.tokens_before - entry.freed + 20 + 300


@pytest.mark.unit
@pytest.mark.parametrize(("overwrites", "outcome"), [(False, "complete"), (True, "dead")])
def test_a_tool_result_that_is_written_over_leaves_its_call_alone(
    scripted: Make, listed: type, overwrites: bool, outcome: str
) -> None:
    turns = tuple(
        Turn(
            (Span(2 * turn, Kind.TOOL_RESULT, 100, turn, pair=turn - 1),) if turn > 1 else (),
            (Span(2 * turn + 1, Kind.TOOL_CALL, 0, turn, Provenance.SELF, pair=turn),),
        )
        for turn in range(1, 31)
    )
    run = lived(
        scripted,
        listed,
        turns=turns,
        background=BackgroundTerms(overwrites=overwrites),
        at=4,
        plan=RewritePlan((Summarise(4), Summarise(6))),
        setting={"runtime": RuntimeSpec(requires_pairs=True)},
    )
    (entry,) = run.rewrite_rows
    assert run.outcome == outcome
    assert entry.broken_pairs == int(overwrites)  # of the call of turn 4, whose result came meanwhile
    if overwrites:
        assert [event.kind for event in run.event_rows] == ["rejected"]
        assert run.turn_rows[-1].time_s == pytest.approx(entry.time_s + entry.rewrite_seconds, abs=1.0)


# --------------------------------------------------------------------------- how the run ends


@pytest.mark.unit
@pytest.mark.parametrize(
    ("window", "turns", "outcome"), [(10**6, 30, "halted"), (10**6, 3, "complete"), (350, 30, "overflow")]
)
def test_a_rewrite_that_fails_after_the_end_does_not_change_it(
    scripted: Make, listed: type, constant: Callable, window: int, turns: int, outcome: str
) -> None:

    policy = scripted(
        terms=Terms(
            frozenset({END}),
            deliberates=False,
            background=BackgroundTerms(),
            retries=4,
            request=RequestTerms(on_failure="raise"),
        ),
        check_by=lambda gauge: gauge.turn == 2,
        propose_by=RewritePlan((Evict(2), Summarise(4))),
    )
    spec = ProviderSpec(
        overhead_seconds=1.0,
        prefill_tokens_per_second=math.inf,
        decode_tokens_per_second=math.inf,
        failure_share=1.0,
    )
    run = simulate(Setting("raises", window, listed(constant(turns, 100)), provider=spec), policy)
    (entry,) = run.rewrite_rows
    assert (entry.outcome, entry.requests, entry.rewrite_seconds) == ("failed", 5, 5.0)
    assert run.outcome == outcome
    assert [event.kind for event in run.event_rows] == ["halted"] * (outcome == "halted")


@pytest.mark.unit
@pytest.mark.parametrize("agents", [1, 3])
def test_a_fault_beside_the_turns_is_told_as_it_is(
    scripted: Make, listed: type, constant: Callable, agents: int
) -> None:
    def broken(question: object) -> Verdict:
        raise LookupError("nothing there")

    for stage, answers in (("propose", {"propose_by": broken}), ("judge", {"judge_by": broken})):
        policy = scripted(
            terms=Terms(frozenset({END}), background=BackgroundTerms()),
            **{"propose_by": RewritePlan((Summarise(2),))} | answers,
        )
        with pytest.raises(RunFailed, match="LookupError: nothing there") as failure:
            simulate(Setting("faults", 10**6, listed(constant(9, 100)), fleet=FleetSpec(agents)), policy)
        assert failure.value.stage == stage


@pytest.mark.unit
def test_what_a_watch_raises_beside_the_turns_ends_the_run_as_it_is(
    scripted: Make, listed: type, constant: Callable
) -> None:
    class Stopped(Exception):
        def __init__(self, turn: int, why: str) -> None:
            super().__init__(f"{why} in turn {turn}")

    class Stopping(Looking):
        def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
            raise Stopped(work.turn, "enough")

    with pytest.raises(Stopped, match="enough in turn"):
        lived(scripted, listed, turns=constant(30, 100), background=BackgroundTerms(), watch=Stopping())


@pytest.mark.unit
def test_two_agents_that_fail_at_one_instant_are_told_as_they_are(
    scripted: Make, listed: type, constant: Callable
) -> None:
    def broken(question: object) -> Verdict:
        raise LookupError("nothing there")

    policy = scripted(terms=Terms(frozenset({END})), propose_by=broken)
    with pytest.raises(RunFailed, match="policy raised LookupError: nothing there"):
        simulate(Setting("faults", 10**6, listed(constant(9, 100)), fleet=FleetSpec(2)), policy)
