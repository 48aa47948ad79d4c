"""The rewrite transaction, from the check that fired to the settled entry.

check -> admit -> deliberate -> propose -> replace -> gate -> commit -> measure -> settle: one
generator over plain functions, one a phase. A phase returns None to go on or an `Ending`; seconds
that it spends are waited for before the next phase begins. Until *commit* nothing of the context
changes but what the policy itself emits: a refusal leaves the rest as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import simpy

from simulator.asking import ask_for_summary, pay_for_summary
from simulator.calling import ask, ask_verdict
from simulator.cognition import OWN_RECORDS
from simulator.context import Context
from simulator.contracts import Component, Lesson, MeasurementPlan, Proposal
from simulator.errors import RunFailed
from simulator.laws import Answer
from simulator.ledger import ARRIVING, Account, Outcome, RewriteEntry
from simulator.plan import RewritePlan
from simulator.prices import REWRITING, Purpose
from simulator.spans import Kind, Provenance, Span
from simulator.staging import checked_sources, stage
from simulator.traces import (
    coherence_cost,
    dangled,
    leave_tombstones,
    lose_what_came,
    reinject,
    restorable,
    restore,
    size_tombstones,
    to_reinject,
)
from simulator.view import Gauge, believed, look
from simulator.workspace import Attempt, Reading, Workspace


class Ending(NamedTuple):
    """How an attempt ended, where, and why."""

    outcome: Outcome
    stage: str
    reason: str = ""


Phase = Callable[[Workspace, Attempt], Ending | None]


def transaction(work: Workspace, gauge: Gauge) -> Generator[simpy.Event, object, Ending]:
    """Run one attempt from *admit* to *settle*; *check* has fired with this gauge."""
    work.attempts += 1
    attempt = Attempt(work, gauge)
    ending = Ending(Outcome.COMMITTED, "settle")
    for phase in PHASES:
        ended = phase(work, attempt)
        seconds = attempt.seconds.get(phase.__name__, 0.0)
        if seconds:
            yield work.env.timeout(seconds)
        if ended is not None:
            ending = ended
            break
    return settle(work, attempt, ending)


def admit(work: Workspace, attempt: Attempt) -> Ending | None:
    """Ask for the cheapest bound, before anything is emitted."""
    if work.setting.runtime.append_only:
        return Ending(Outcome.REFUSED, "admit", "the log is append-only")
    attempt.admitted = verdict = ask_verdict(work, "admit", work.policy.admit, attempt.gauge)
    if not verdict.accepted:
        return Ending(Outcome.REFUSED, "admit", verdict.reason)
    if work.terms.deliberates and work.context.tokens > work.window and not work.terms.endless_window:
        return Ending(
            Outcome.INFEASIBLE, "admit", f"the request of {work.context.tokens} tokens exceeds {work.window}"
        )
    return None


def deliberate(work: Workspace, attempt: Attempt) -> Ending | None:
    """Let the planner write its rationale into the context, before anything is applied."""
    if not work.terms.deliberates:
        return None
    occupancy = work.context.tokens / work.window
    tokens, attempt.quality = work.cognition.rationale(occupancy, work.terms.rationale_cap)
    if tokens:
        attempt.seconds["deliberate"] = work.provider.continue_prompt(
            work.env.now, work.context.tokens, tokens, Purpose.RATIONALE
        )
        emit(work, attempt, Component.RATIONALE, Kind.RATIONALE, tokens)
    return None


def propose(work: Workspace, attempt: Attempt) -> Ending | None:
    """Let the policy choose spans; its estimate is recorded as belief."""
    law = work.setting.laws.quality
    judgement: list[float] | None = None
    if law.error_gain and attempt.quality < 1:
        normals = work.streams.normal(f"judgement {attempt.number}").first(len(work.context))
        judgement = [law.estimate_factor(attempt.quality, normal) for normal in normals]
    view = look(
        work.context,
        attempt.gauge,
        work.counter.sizes,
        unseen=attempt.own_ids,
        judgement=judgement,
        last_uses=work.last_uses,
    )
    if work.terms.background is not None:
        attempt.seen = {item.id for item in view.items}
    plan = ask(work, "propose", work.policy.propose, view)
    if not isinstance(plan, RewritePlan):
        raise RunFailed("propose", f"policy returned {type(plan).__name__}, expected a RewritePlan")
    attempt.plan = plan
    attempt.sources = checked_sources(work.context, plan, unseen=attempt.own_ids)
    if plan.refusal:
        return Ending(Outcome.REFUSED, "propose", plan.refusal)
    return None


def replace(work: Workspace, attempt: Attempt) -> Ending | None:
    """Ask for the replacements and stage them outside the window."""
    read = attempt.summarised()
    failure = ask_for_summary(work, attempt, read) if read else None
    if failure is not None:
        if work.terms.request.on_failure != "drop":
            return Ending(failure.outcome, "replace", failure.reason)
        attempt.reading = Reading(answer=Answer.NOTHING)
    attempt.staged = [stage(work, operation, attempt.reading) for operation in attempt.plan.operations]
    if read and failure is None:
        pay_for_summary(work, attempt)
    return None


def gate(work: Workspace, attempt: Attempt) -> Ending | None:
    """Show the policy's gates the exact figures; they accept or refuse."""
    context, terms = work.context, work.terms
    gone = [span.id for span in attempt.sources if span.id not in context]
    if gone:
        return Ending(Outcome.CONFLICTED, "gate", f"spans {gone[:5]} left the context meanwhile")
    background = terms.background
    if (
        background is not None
        and not background.overwrites
        and any(identity not in context for identity in attempt.seen)
    ):
        return Ending(Outcome.CONFLICTED, "gate", "what it saw was changed meanwhile")
    freed = attempt.staged_saving()
    size_tombstones(work, attempt)
    left = attempt.tombstones_charged + attempt.tombstones_free + restorable(work, attempt)
    left += sum(span.tokens for span in to_reinject(work, attempt))
    attempt.measurement_bound = _measurement(work, context.tokens - freed + left)
    attempt.prospective_net = (
        freed - attempt.emitted[Component.RATIONALE] - attempt.tombstones_charged - attempt.measurement_bound
    )
    touched = [
        span.id for span in attempt.sources if span.id in context.immutable or span.id in context.protected
    ]
    meanwhile = _arrived(work, attempt) - _out_of_band(work, attempt) - _retired(work, attempt)
    in_window = context.tokens - attempt.before - meanwhile
    believed_freed = _believed_freed(work, attempt)
    proposal = Proposal(
        freed=freed,
        rewrite_cost=attempt.claimed[Component.RATIONALE] + attempt.tombstones_charged,
        measurement_cost=_charged_bound(work, attempt),
        unattributed=in_window - sum(attempt.emitted.values()),
        touched_own_substrate=bool(touched),
        slack=work.believed_window - work.setting.output_reserve - work.believed_tokens(),
        believed_saving=attempt.plan.believed_saving,
        believed_freed=believed_freed,
        before=work.believed_tokens(),
        content_after=work.counter.content() - believed_freed,
        put_back=left - attempt.tombstones_charged,
    )
    attempt.judged = verdict = ask_verdict(work, "judge", work.policy.judge, proposal)
    if not verdict.accepted:
        return Ending(Outcome.REFUSED, "gate", verdict.reason)
    if touched:
        return Ending(Outcome.REFUSED, "gate", f"the marks of spans {touched[:5]} hold without a gate")
    return None


def commit(work: Workspace, attempt: Attempt) -> Ending | None:
    """Swap the staged replacements in, all at once."""
    context = work.context
    broken = context.pairs.broken
    if attempt.staged:
        kept = context.prefix_before(span.id for span in attempt.sources)
        lost = work.provider.keep_prefix(kept, work.env.now)
        attempt.rebuild_tokens = lost - _gone_of(context, attempt, kept, kept + lost) if lost else 0
        work.counter.forget(_believed_freed(work, attempt))
        attempt.freed = context.apply(attempt.staged)
    work.ledger.post(Account.FREED, attempt.freed)
    if work.terms.background is not None and work.terms.background.overwrites:
        lose_what_came(work, attempt)
    attempt.broken_pairs = len(context.pairs.broken - broken)
    work.bindings.rewrite({span.id for span in attempt.sources}, work.versions, attempt.number)
    attempt.reinjected = restore(work, attempt) + reinject(work, attempt)
    if context.cites_anything:
        attempt.dangled = dangled(work.context, attempt)
    leave_tombstones(work, attempt)
    work.cognition.lose(_told(attempt))
    work.requests_since_rewrite = 0
    return None


def measure(work: Workspace, attempt: Attempt) -> Ending | None:
    """Confirm the new count; the trace of it enters the context."""
    count = work.context.tokens
    tokens = _measurement(work, count)
    if tokens > attempt.measurement_bound:
        raise RunFailed("measure", f"measured {tokens} tokens, the gate was told {attempt.measurement_bound}")
    if _is_full(work):
        attempt.spend("measure", work.setting.laws.measurement.seconds_per_token * count)
        work.commits_since_full = work.ambiguous_spans = 0
        work.counter.measure()
    else:
        work.commits_since_full += 1
        if not work.counter.sizes.exact:
            work.ambiguous_spans += len(attempt.staged)
    attempt.measured_error = work.believed_tokens() - count
    emit(work, attempt, Component.MEASUREMENT, Kind.TRACE, tokens)
    return None


PHASES: tuple[Phase, ...] = (admit, deliberate, propose, replace, gate, commit, measure)


def settle(work: Workspace, attempt: Attempt, ending: Ending) -> Ending:
    """Close the attempt: audit its identities, record believed beside true net, teach the policy."""
    emitted, context = attempt.emitted, work.context
    committed = ending.outcome is Outcome.COMMITTED
    tombstones = attempt.tombstones_charged if committed else 0
    cost, measured = emitted[Component.RATIONALE] + tombstones, emitted[Component.MEASUREMENT]
    net = attempt.freed - cost - measured
    if committed and net <= 0:
        ending = Ending(Outcome.WITHOUT_EFFECT, ending.stage, ending.reason)
    summarised = _told(attempt) if attempt.staged else []
    summaries = attempt.summaries_tokens()
    own = [
        span for span in attempt.sources if span.kind in OWN_RECORDS or span.provenance is Provenance.POLICY
    ]
    believed_saving = attempt.plan.believed_saving if committed else 0
    requests = attempt.requests
    spent = work.provider.spent(REWRITING) - attempt.spent_before
    spent += work.provider.rebuild_usd(attempt.rebuild_tokens, context.tokens)
    work.ledger.settle(
        RewriteEntry(
            turn=work.turn,
            time_s=attempt.started,
            trigger=attempt.gauge.point.value,
            tokens_before=attempt.before,
            tokens_after=context.tokens,
            occupancy_before_pct=100 * attempt.before / work.window,
            occupancy_after_pct=100 * context.tokens / work.window,
            estimated_saving=attempt.plan.believed_saving,
            freed=attempt.freed,
            rewrite_cost=cost,
            measurement_cost=measured,
            arrivals_during=_arrived(work, attempt),
            tombstones=attempt.tombstones_free if committed else 0,
            reinjected=attempt.reinjected,
            out_of_band_during=_out_of_band(work, attempt),
            net=net,
            believed_net=believed_saving - sum(attempt.claimed.values()) - tombstones,
            rewrite_seconds=work.env.now - attempt.started,
            outcome=ending.outcome.value,
            stage=ending.stage,
            reason=ending.reason or ("" if attempt.judged is None else attempt.judged.reason),
            window=work.window,
            selected=len(attempt.sources),
            selected_tokens=sum(span.tokens for span in attempt.sources),
            own_selected=len(own),
            own_selected_tokens=sum(span.tokens for span in own),
            summaries_tokens=summaries,
            measured_error=attempt.measured_error,
            decision_quality=attempt.quality,
            deliberate_seconds=attempt.seconds.get("deliberate", 0.0),
            replace_seconds=attempt.seconds.get("replace", 0.0),
            measure_seconds=attempt.seconds.get("measure", 0.0),
            dangled=attempt.dangled,
            coherence_cost=coherence_cost(work),
            constraints_held=work.context.bound,
            confidence_before=attempt.confidence_before,
            confidence_after=work.confidence,
            usd=spent,
            requests=requests,
            rebuild_tokens=attempt.rebuild_tokens,
            unread_tokens=attempt.unread_tokens,
            prospective_net=attempt.prospective_net if ending.outcome is Outcome.REFUSED else None,
            broken_pairs=attempt.broken_pairs,
            lost=attempt.lost,
            retired_during=_retired(work, attempt),
            agent=work.agent,
        )
    )
    lesson = Lesson(
        ending.outcome.value,
        ending.stage,
        len(summarised),
        sum(span.tokens for span in summarised),
        summaries,
        work.believed_tokens(),
        attempt.freed,
        net,
        attempt.before,
        spent,
        requests,
    )
    calls = ask(work, "learn", work.policy.learn, lesson)
    if not isinstance(calls, bool):
        raise RunFailed("learn", f"policy returned {type(calls).__name__}, expected True or False")
    work.calls_supervisor = calls
    if work.watch is not None:
        work.watch.rewrite_settled(work, attempt, work.ledger.entries[-1])
    return ending


# --------------------------------------------------------------------------- steps of the phases


def emit(work: Workspace, attempt: Attempt, component: Component, kind: Kind, tokens: int) -> None:
    """Put what the policy writes into the window, charged to the rewrite or counted as the system's."""
    if not tokens:
        return
    if work.setting.charged_to == "separate":
        work.quota_tokens += tokens
        return
    span = Span(work.new_id(), kind, tokens, work.turn, Provenance.POLICY, content_class="prose")
    work.context.append(span)
    attempt.own_ids.append(span.id)
    if work.terms.immutable_this_turn:
        work.context.immutable.add(span.id)
    if work.terms.never_summarised:
        work.context.protected.add(span.id)
        if work.terms.retires:  # what is not marked cannot be told from content
            work.artifacts.append(span.id)
    account = Account.MEASUREMENT if component is Component.MEASUREMENT else Account.REWRITE
    work.ledger.post(account, tokens)
    attempt.emitted[component] += tokens
    if component in work.terms.charges:
        attempt.claimed[component] += tokens


def _is_full(work: Workspace) -> bool:
    terms = work.terms
    if terms.measurement is MeasurementPlan.CHECKPOINT:
        return (
            work.commits_since_full + 1 >= terms.checkpoint_every
            or work.ambiguous_spans > terms.ambiguity_limit
        )
    return terms.measurement is MeasurementPlan.FULL


def _measurement(work: Workspace, count: int) -> int:
    law = work.setting.laws.measurement
    if work.terms.measurement is MeasurementPlan.NONE:
        return 0
    return law.full(count) if _is_full(work) else law.delta_tokens


def _charged_bound(work: Workspace, attempt: Attempt) -> int:
    """Return what the measurement to come may write into the window and is charged to the rewrite."""
    charged = Component.MEASUREMENT in work.terms.charges and work.setting.charged_to == "window"
    return attempt.measurement_bound if charged else 0


def _told(attempt: Attempt) -> list[Span]:
    """Return the sources that stand in a summary now; what is gone without one was never told."""
    return [] if attempt.reading.answer is Answer.NOTHING else attempt.summarised()


def _gone_of(context: Context, attempt: Attempt, first: int, end: int) -> int:
    """Return the tokens that go of those from `first` to `end`: what is gone is not paid for again."""
    sources = {span.id for span in attempt.sources}
    gone = place = 0
    for span in context:
        if span.id in sources and place < end:
            gone += min(place + span.tokens, end) - max(place, first)
        place += span.tokens
    return gone


def _arrived(work: Workspace, attempt: Attempt) -> int:
    """Return what has come in since the check that the attempt has not written itself."""
    return sum(work.ledger.accounts[account] - attempt.accounts[account] for account in ARRIVING)


def _out_of_band(work: Workspace, attempt: Attempt) -> int:
    return work.ledger.accounts[Account.OUT_OF_BAND] - attempt.accounts[Account.OUT_OF_BAND]


def _retired(work: Workspace, attempt: Attempt) -> int:
    return work.ledger.accounts[Account.RETIRED] - attempt.accounts[Account.RETIRED]


def _believed_freed(work: Workspace, attempt: Attempt) -> int:
    """Return what the staged operations free by the policy's own estimate."""
    sizes = work.counter.sizes
    if work.context.by_class is None:
        return believed(attempt.staged_saving(), work.terms.counter.ratio)
    inserted = sum(sizes.of(replacement.span) for replacement in attempt.staged if replacement.span)
    return sum(map(sizes.of, attempt.sources)) - inserted
