"""One attempt, driven by hand: what a refusal leaves, what the marks hold, what the gate is shown."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from policies.gates import ConservationGate
from simulator.contracts import (
    Bound,
    CheckPoint,
    Component,
    CounterTerms,
    MeasurementPlan,
    Policy,
    Proposal,
    Terms,
    Verdict,
)
from simulator.errors import RunFailed
from simulator.laws import Laws, MeasurementLaw, QualityLaw, RationaleLaw, SummaryLaw
from simulator.ledger import COMMITTED, Account
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.provider import ProviderSpec, Purpose, TokenClass
from simulator.rewrite import Ending, gate, transaction
from simulator.setting import Setting
from simulator.spans import Kind, Provenance, Span
from simulator.staging import FIXED
from simulator.streams import Streams
from simulator.view import Gauge
from simulator.workspace import Attempt, Workspace

RATIONALE, TRACE, RESERVE = 30, 7, 40
LAWS = Laws(
    rationale=RationaleLaw(base=RATIONALE),
    summary=SummaryLaw(ratio=0.5),
    measurement=MeasurementLaw(full_tokens=TRACE),
    quality=QualityLaw(record_factor=0.5),
)
NO = Verdict(False, "no")
SPANS = (
    Span(0, Kind.HEAD, 500),
    Span(1, Kind.USER, 100, cites=()),
    Span(2, Kind.TOOL_RESULT, 400, subgoal=1),
    Span(3, Kind.TOOL_RESULT, 200, subgoal=1, cites=(2,)),
    Span(4, Kind.ASSISTANT, 60, subgoal=2, cites=(2, 3), needed=True),
)

Make = Callable[..., Policy]
Beside = Callable[[Workspace], Generator[simpy.Event, object, object]]
WAYS = ("admit", "gate", "marks", "small window", "long source", "no answer")


def workspace(
    policy: Policy,
    spans: tuple[Span, ...] = SPANS,
    *,
    window: int = 10_000,
    failure_share: float = 0.0,
    workload: object = None,
) -> Workspace:
    setting = Setting(
        "one attempt",
        window,
        workload,
        output_reserve=RESERVE,
        laws=LAWS,
        provider=ProviderSpec(failure_share=failure_share),  # type: ignore[arg-type]
    )
    work = Workspace(simpy.Environment(), setting, policy, Streams(1, "one attempt"))
    work.turn = 1
    for span in spans:
        work.context.append(span)
    work.ledger.post(Account.INITIAL, work.context.tokens)
    return work


def gauge_of(work: Workspace) -> Gauge:
    tokens = work.context.tokens
    return Gauge(
        CheckPoint.BEFORE_REQUEST, work.turn, tokens, work.window, 0, 1, work.context.dead_tokens, tokens
    )


def attempted(
    work: Workspace, *beside: Callable[[Workspace], Generator[simpy.Event, object, object]]
) -> Ending:
    """Run one attempt to its end, with other processes beside it."""
    for process in beside:
        work.env.process(process(work))
    ending = work.env.run(until=work.env.process(transaction(work, gauge_of(work))))
    work.ledger.audit(work.context.recount())
    return ending  # type: ignore[return-value]


def plan_of(*operations: Operation, believed_saving: int = 100) -> RewritePlan:
    return RewritePlan(operations, believed_saving)


# --------------------------------------------------------------------------- what a plan does


@pytest.mark.unit
def test_a_commit_frees_what_the_arithmetic_says(scripted: Make) -> None:
    policy = scripted(
        terms=Terms(), propose_by=plan_of(Evict(1), Mask(4, 12), Fold((2, 3)), believed_saving=700)
    )
    work = workspace(policy)
    before = work.context.tokens
    assert attempted(work).outcome == "committed"

    (entry,) = work.ledger.entries
    assert entry.freed == 100 + (60 - 12) + (600 - 300)
    assert (entry.rewrite_cost, entry.measurement_cost) == (RATIONALE, TRACE)
    assert entry.net == 448 - RATIONALE - TRACE
    assert work.context.tokens == entry.tokens_after == before - entry.net
    assert entry.believed_net == 700 - RATIONALE - TRACE
    assert (entry.selected, entry.selected_tokens, entry.summaries_tokens) == (4, 760, 300)
    head, summary, placeholder, rationale, trace = work.context
    assert [span.kind for span in (head, summary, placeholder, rationale, trace)] == [
        Kind.HEAD,
        Kind.SUMMARY,
        Kind.PLACEHOLDER,
        Kind.RATIONALE,
        Kind.TRACE,
    ]
    assert (summary.tokens, summary.cites, summary.passes, summary.origin) == (300, (2,), 1, 2)
    assert (placeholder.cites, placeholder.needed, placeholder.subgoal) == ((2, 3), True, 2)
    assert all(span.id < 0 for span in (summary, placeholder, rationale, trace))


@pytest.mark.unit
def test_the_gate_is_shown_exact_figures_and_the_policy_learns_them(scripted: Make) -> None:
    policy = scripted(terms=Terms(), propose_by=plan_of(Summarise(2), believed_saving=399))
    attempted(workspace(policy))
    (proposal,), (lesson,), (view,) = policy.proposals, policy.lessons, policy.views
    assert proposal == Proposal(
        freed=200,
        rewrite_cost=RATIONALE,
        measurement_cost=TRACE,
        unattributed=0,
        touched_own_substrate=False,
        slack=10_000 - RESERVE - 1260 - RATIONALE,
        believed_saving=399,
        believed_freed=200,
        before=1260 + RATIONALE,
        content_after=1260 + RATIONALE - 200 - 500,  # the head not in it
    )
    assert (lesson.outcome, lesson.summarised, lesson.summaries) == ("committed", 400, 200)
    assert lesson.tokens == 1260 - 200 + RATIONALE + TRACE
    assert [item.id for item in view.items] == [0, 1, 2, 3, 4]  # its own rationale is not among them


@pytest.mark.unit
@pytest.mark.parametrize("charged", [frozenset(), frozenset({Component.RATIONALE})])
def test_what_is_not_charged_is_spent_all_the_same(scripted: Make, charged: frozenset[Component]) -> None:
    policy = scripted(terms=Terms(charges=charged), propose_by=plan_of(Evict(1)))
    work = workspace(policy)
    attempted(work)
    (entry,), (proposal,) = work.ledger.entries, policy.proposals
    claimed = RATIONALE if Component.RATIONALE in charged else 0
    assert proposal.rewrite_cost + proposal.measurement_cost == claimed
    assert proposal.unattributed == 0
    assert entry.net == 100 - RATIONALE - TRACE
    assert entry.believed_net == 100 - claimed


@pytest.mark.unit
@pytest.mark.parametrize(("evicted", "outcome"), [(38, "committed"), (37, "committed_without_effect")])
def test_a_net_of_zero_is_churn(scripted: Make, evicted: int, outcome: str) -> None:
    policy = scripted(terms=Terms(), propose_by=plan_of(Evict(1)))
    work = workspace(policy, (Span(1, Kind.TOOL_RESULT, evicted),))
    assert evicted - RATIONALE - TRACE in (0, 1)
    assert attempted(work).outcome == outcome


@pytest.mark.unit
def test_a_summary_carries_what_its_sources_were(scripted: Make) -> None:
    sources = (
        Span(5, Kind.TOOL_RESULT, 100, 8, subgoal=3, cites=(2,), passes=0, compressible=False),
        Span(6, Kind.SUMMARY, 100, 4, subgoal=4, cites=(2, 1), needed=True, passes=2, origin=1),
    )
    for ids, expected in (
        ((5, 6), {"subgoal": 3, "origin": 5, "cites": (2, 1)}),
        ((6, 5), {"subgoal": 4, "origin": 1, "cites": (2, 1)}),
    ):
        work = workspace(scripted(propose_by=plan_of(Fold(ids))), (*SPANS, *sources))
        attempted(work)
        summary = list(work.context)[len(SPANS)]
        assert (summary.kind, summary.provenance) == (Kind.SUMMARY, Provenance.DERIVED)
        assert (summary.born, summary.passes, summary.needed, summary.compressible) == (4, 3, True, False)
        assert {name: getattr(summary, name) for name in expected} == expected


@pytest.mark.unit
def test_a_summary_of_own_records_alone_is_an_own_record(scripted: Make) -> None:
    records = tuple(Span(one, Kind.RATIONALE, 50, provenance=Provenance.POLICY) for one in (8, 9))
    for ids, provenance in (((8, 9), Provenance.POLICY), ((4, 9), Provenance.DERIVED)):
        work = workspace(scripted(propose_by=plan_of(Fold(ids))), (*SPANS, *records))
        attempted(work)
        (summary,) = (span for span in work.context if span.kind is Kind.SUMMARY)
        assert summary.provenance == provenance


@pytest.mark.unit
@pytest.mark.parametrize(("sources", "kept"), [((2,), 600), ((4, 3), 1000), ((1, 4), 500)])
def test_the_cache_keeps_what_stands_before_the_first_source(
    scripted: Make, sources: tuple[int, ...], kept: int
) -> None:
    work = workspace(scripted(propose_by=plan_of(*map(Evict, sources))))
    work.provider.continue_prompt(0.0, work.context.tokens, 0, Purpose.AGENT)
    attempted(work)
    work.provider.continue_prompt(work.env.now, work.context.tokens, 0, Purpose.AGENT)
    assert work.provider.billed(TokenClass.CACHE_READ) == kept


# --------------------------------------------------------------------------- what a refusal leaves


@st.composite
def worlds(draw: st.DrawFn) -> tuple[tuple[Span, ...], tuple[Operation, ...], set[int], set[int]]:
    """Return spans, a plan that is valid for them, closed subgoals and marked spans."""
    number = draw(st.integers(1, 12))
    spans = tuple(
        Span(
            identity,
            draw(st.sampled_from(sorted(set(Kind) - FIXED))),
            draw(st.integers(0, 300)),
            subgoal=draw(st.none() | st.integers(0, 2)),
            cites=tuple(draw(st.sets(st.integers(0, number), max_size=2))),
            needed=draw(st.booleans()),
            doubt=draw(st.integers(0, 30)),
            carries=tuple(draw(st.sets(st.integers(0, number + 3), max_size=2))),
            binds=tuple(draw(st.sets(st.integers(0, 4), max_size=2))),
        )
        for identity in range(number)
    )
    left = draw(st.permutations(range(number)))
    operations: list[Operation] = []
    while left and draw(st.booleans()):
        kind = draw(st.sampled_from([Evict, Mask, Summarise, Fold]))
        if kind is Fold:
            size = draw(st.integers(1, len(left)))
            operations.append(Fold(tuple(left[:size])))
            left = left[size:]
        else:
            operations.append(Mask(left[0], draw(st.integers(0, 20))) if kind is Mask else kind(left[0]))
            left = left[1:]
    closed = draw(st.sets(st.integers(0, 2)))
    marked = draw(st.sets(st.integers(0, number - 1), max_size=2))
    return spans, tuple(operations), closed, marked


def must_be_as_it_was(work: Workspace, before: object, rationale: int) -> None:
    """Hold the context against its earlier snapshot: equal, once the rationale at its end is taken away."""
    emitted = [span for span in work.context if span.kind is Kind.RATIONALE and span.id < 0]
    assert [span.tokens for span in emitted] == ([rationale] if rationale else [])
    assert list(work.context)[len(work.context) - len(emitted) :] == emitted
    work.context.remove([span.id for span in emitted])
    assert work.context.snapshot() == before


@pytest.mark.property
@given(
    world=worlds(),
    how=st.sampled_from(WAYS),
)
def test_what_does_not_commit_leaves_all_but_its_rationale(scripted: Make, world: tuple, how: str) -> None:
    spans, operations, closed, marked = world
    policy = scripted(terms=Terms(never_summarised=True, retries=2), propose_by=plan_of(*operations))
    work = workspace(policy, spans, failure_share=1.0 if how == "no answer" else 0.0)
    read = sum(
        work.context[identity].tokens
        for operation in operations
        if isinstance(operation, Summarise | Fold)
        for identity in operation.sources
    )
    for subgoal in closed:
        work.context.close(subgoal)
    work.context.protected |= marked
    expected = ("committed", "settle", RATIONALE)
    if how == "admit":
        policy.admit_by, expected = NO, ("refused", "admit", 0)
    elif how == "gate":
        policy.judge_by, expected = NO, ("refused", "gate", RATIONALE)
    elif how == "small window" and work.context.tokens > 1:
        work.window, expected = work.context.tokens - 1, ("infeasible", "admit", 0)
    elif how == "no answer" and any(isinstance(operation, Summarise | Fold) for operation in operations):
        expected = ("failed", "replace", RATIONALE)
    elif how == "long source" and read > 1:  # a planner would not fit either: take it away
        policy.terms = work.terms = Terms(deliberates=False)
        work.window, expected = read - 1, ("infeasible", "replace", 0)
    elif marked & {source for operation in operations for source in operation.sources}:
        expected = ("refused", "gate", RATIONALE)
    before, state = work.context.snapshot(), (work.context.version, work.cognition.decision_quality)
    ending = attempted(work)
    if expected[0] == "committed":  # this world has nothing that could stop it
        assert ending.outcome in COMMITTED
        return
    assert (ending.outcome, ending.stage) == expected[:2]
    assert ending.reason
    assert (work.context.version, work.cognition.decision_quality) == state
    (entry,) = work.ledger.entries
    assert (entry.freed, entry.rewrite_cost, entry.measurement_cost) == (0, expected[2], 0)
    must_be_as_it_was(work, before, expected[2])


@pytest.mark.unit
def test_a_conflict_leaves_all_but_what_was_taken_meanwhile(scripted: Make) -> None:
    policy = scripted(terms=Terms(), propose_by=plan_of(Summarise(2), Evict(3)))
    work = workspace(policy)

    def take(work: Workspace) -> Generator[simpy.Event, object, None]:
        while not policy.views:
            yield work.env.timeout(0.01)
        work.ledger.post(Account.OUT_OF_BAND, work.context.remove([2]))

    ending = attempted(work, take)
    assert (ending.outcome, ending.stage) == ("conflicted", "gate")
    (entry,) = work.ledger.entries
    assert (entry.freed, entry.out_of_band_during, entry.rewrite_cost) == (0, 400, RATIONALE)
    twin = workspace(policy).context
    twin.remove([2])
    must_be_as_it_was(work, twin.snapshot(), RATIONALE)


@pytest.mark.unit
def test_a_refused_attempt_teaches_and_may_call(scripted: Make) -> None:
    policy = scripted(terms=Terms(), admit_by=NO, learn_by=True)
    work = workspace(policy)
    attempted(work)
    assert work.calls_supervisor
    assert policy.lessons[0].stage == "admit"
    assert policy.lessons[0].tokens == work.context.tokens


# --------------------------------------------------------------------------- unattributed tokens


class Conserving(ConservationGate):
    """The conservation gate, with every proposal let in and kept."""

    def admit(self, bound: Bound) -> Verdict:
        return Verdict(True, "")


@pytest.mark.unit
@pytest.mark.parametrize("leaked", [1, -40])
def test_tokens_that_nobody_claims_are_refused(scripted: Make, leaked: int) -> None:
    policy = scripted(propose_by=plan_of(Evict(1)), judge_by=Conserving().judge)
    work = workspace(policy)
    attempt = Attempt(work, gauge_of(work))
    attempt.plan = policy.propose(None)
    attempt.sources = [work.context[1]]
    if leaked > 0:
        work.context.append(Span(99, Kind.ASSISTANT, leaked))
    else:
        work.context.apply([])
        work.context.remove([4])
        work.context.append(SPANS[4]._replace(tokens=60 + leaked))
    verdict = gate(work, attempt)
    assert verdict is not None
    assert (verdict.outcome, verdict.stage) == ("refused", "gate")
    assert f"{leaked} tokens are attributed to no component" in verdict.reason
    assert policy.proposals[0].unattributed == leaked


@pytest.mark.unit
def test_a_leak_during_an_attempt_ends_the_run(scripted: Make) -> None:
    policy = scripted(terms=Terms(), propose_by=plan_of(Summarise(2)), judge_by=Conserving().judge)
    work = workspace(policy)

    def leak(work: Workspace) -> Generator[simpy.Event, object, None]:
        yield work.env.timeout(0.01)
        work.context.append(Span(99, Kind.ASSISTANT, 5))

    with pytest.raises(RunFailed, match="settle"):
        attempted(work, leak)
    assert policy.proposals[0].unattributed == 5


@pytest.mark.unit
def test_what_arrives_in_its_own_account_is_not_unattributed(scripted: Make) -> None:
    policy = scripted(terms=Terms(), propose_by=plan_of(Summarise(2)), judge_by=Conserving().judge)
    work = workspace(policy)

    def arrive(work: Workspace) -> Generator[simpy.Event, object, None]:
        yield work.env.timeout(0.01)
        work.context.append(Span(99, Kind.USER, 5))
        work.ledger.post(Account.ARRIVED, 5)

    assert attempted(work, arrive).outcome == "committed"
    assert policy.proposals[0].unattributed == 0
    assert work.ledger.entries[0].arrivals_during == 5


# --------------------------------------------------------------------------- the two marks


def eats_rationales(view: object) -> RewritePlan:
    """Evict every rationale in sight."""
    own = [item.id for item in view.items if item.kind is Kind.RATIONALE]  # type: ignore[attr-defined]
    return RewritePlan(tuple(Evict(identity) for identity in own), 0)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("marks", "same_turn", "next_turn"),
    [
        ({}, True, True),
        ({"immutable_this_turn": True}, False, True),
        ({"never_summarised": True}, False, False),
        ({"immutable_this_turn": True, "never_summarised": True}, False, False),
    ],
)
@pytest.mark.parametrize("gated", [False, True])
def test_how_long_a_mark_holds(
    scripted: Make, marks: dict[str, bool], same_turn: bool, next_turn: bool, gated: bool
) -> None:
    work = None
    for later, allowed in ((False, same_turn), (True, next_turn)):
        policy = scripted(terms=Terms(measurement=MeasurementPlan.NONE, **marks), propose_by=eats_rationales)
        if gated:
            policy.judge_by = lambda proposal: ConservationGate().judge(
                proposal._replace(freed=10_000)
            )  # only the substrate may refuse
        work = workspace(policy)
        assert attempted(work).outcome == "committed_without_effect"
        if later:
            work.context.end_turn()
            work.turn += 1
        ending = attempted(work)
        if allowed:
            assert ending.outcome == "committed_without_effect"
            assert work.ledger.entries[1].own_selected == 1
            assert work.ledger.entries[1].freed == RATIONALE
        else:
            assert (ending.outcome, ending.stage) == ("refused", "gate")
            assert [item.marked for item in policy.views[1].items] == [False] * len(SPANS) + [True]
        assert policy.proposals[1].touched_own_substrate is not allowed


@pytest.mark.unit
@pytest.mark.parametrize("operation", [Evict(9), Mask(9, 1), Summarise(9), Fold((1, 9))])
def test_no_operation_passes_a_mark(scripted: Make, operation: Operation) -> None:
    policy = scripted(propose_by=plan_of(operation))
    work = workspace(policy, (*SPANS, Span(9, Kind.RATIONALE, 50, provenance=Provenance.POLICY)))
    work.context.protected.add(9)
    assert attempted(work).outcome == "refused"


# --------------------------------------------------------------------------- what it costs elsewhere


@pytest.mark.unit
def test_own_records_lower_quality_only_when_a_model_has_read_them_in_a_commit(scripted: Make) -> None:
    record = Span(9, Kind.RATIONALE, 50, provenance=Provenance.POLICY)
    for operation, accepted, quality in (
        (Summarise(9), True, 0.5),
        (Fold((1, 9)), True, 0.5),
        (Evict(9), True, 1.0),
        (Summarise(9), False, 1.0),
        (Summarise(2), True, 1.0),
    ):
        policy = scripted(propose_by=plan_of(operation), judge_by=Verdict(accepted, "said"))
        work = workspace(policy, (*SPANS, record))
        attempted(work)
        assert work.cognition.decision_quality == quality


@pytest.mark.unit
@pytest.mark.parametrize("retries", [0, 3])
def test_each_failed_request_is_paid_for(scripted: Make, retries: int) -> None:
    policy = scripted(terms=Terms(deliberates=False, retries=retries), propose_by=plan_of(Summarise(2)))
    work = workspace(policy, failure_share=1.0)
    assert attempted(work).outcome == "failed"
    spec = ProviderSpec()
    one = spec.overhead_seconds + 400 / spec.prefill_tokens_per_second
    assert work.env.now == pytest.approx((retries + 1) * one)
    assert sum(work.provider.usd.values()) == pytest.approx((retries + 1) * 400 * spec.input_usd / 1e6)


@pytest.mark.unit
def test_a_checkpoint_is_full_every_kth_time_or_on_ambiguity(scripted: Make) -> None:
    def trace_sizes(**terms: object) -> list[int]:
        policy = scripted(
            terms=Terms(deliberates=False, measurement=MeasurementPlan.CHECKPOINT, **terms),
            propose_by=lambda view: RewritePlan((Evict(view.items[1].id),), 0),
        )
        work = workspace(policy, tuple(Span(one, Kind.TOOL_RESULT, 50) for one in range(20)))
        for _ in range(9):
            attempted(work)
        return [entry.measurement_cost for entry in work.ledger.entries]

    assert trace_sizes(checkpoint_every=3) == [0, 0, TRACE] * 3
    # an exact counter is never in doubt; another is after more than two spans
    assert trace_sizes(checkpoint_every=100, ambiguity_limit=2) == [0] * 9
    doubtful = trace_sizes(checkpoint_every=100, ambiguity_limit=2, counter=CounterTerms(ratio=0.7))
    assert doubtful == [0, 0, 0, TRACE] * 2 + [0]


# --------------------------------------------------------------------------- nonsense


@pytest.mark.unit
@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("evict everything", "str"),
        (None, "NoneType"),
        (RewritePlan((Evict(77),)), "77"),
        (RewritePlan((Evict(0),)), "head"),
        (RewritePlan((Evict(1), Summarise(1))), "two operations"),
        (RewritePlan((Fold((1, 1)),)), "two operations"),
        (RewritePlan((Fold(()),)), "source"),
        (RewritePlan((Fold([1, 2]),)), "source"),  # type: ignore[arg-type]
        (RewritePlan((Fold(3),)), "source"),  # type: ignore[arg-type]
        (RewritePlan(("evict",)), "str"),  # type: ignore[arg-type]
        (RewritePlan(None), "NoneType"),  # type: ignore[arg-type]
        (RewritePlan((Evict([1]),)), "1"),  # type: ignore[arg-type]
        (RewritePlan((Mask(1, -5),)), "-5"),
        (RewritePlan((Mask(1, 0.5),)), "0.5"),  # type: ignore[arg-type]
        (RewritePlan((Evict(1),), 0.5), "0.5"),  # type: ignore[arg-type]
    ],
)
def test_a_plan_that_is_none_names_what_is_wrong(scripted: Make, plan: object, says: str) -> None:
    with pytest.raises(RunFailed, match=says) as failure:
        attempted(workspace(scripted(propose_by=plan)))
    assert failure.value.stage == "propose"
