"""The rewrite transaction, from the check that fired to the settled entry.

check -> admit -> deliberate -> propose -> replace -> gate -> commit -> measure -> settle: one
generator over plain functions, one a phase. A phase returns None to go on or an `Ending`; seconds
that it spends are waited for before the next phase begins. Until *commit* nothing of the context
changes but what the policy itself emits: a refusal leaves the rest as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from traceback import walk_tb
from typing import NamedTuple, TypeVar

import simpy

from simulator.cognition import OWN_RECORDS
from simulator.contracts import Component, Lesson, MeasurementPlan, Proposal, Verdict
from simulator.errors import RunFailed, told
from simulator.ledger import Account, Outcome, RewriteEntry
from simulator.plan import RewritePlan
from simulator.provider import Purpose
from simulator.spans import Kind, Provenance, Span
from simulator.staging import checked_sources, stage
from simulator.traces import coherence_cost, dangled, leave_tombstones, restorable, restore, size_tombstones
from simulator.view import Gauge, believed, look
from simulator.workspace import Attempt, Workspace

Question = TypeVar("Question")
Answer = TypeVar("Answer")


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
        work.terms.counter_ratio,
        unseen=attempt.own_ids,
        judgement=judgement,
    )
    plan = ask(work, "propose", work.policy.propose, view)
    if not isinstance(plan, RewritePlan):
        raise RunFailed("propose", f"policy returned {type(plan).__name__}, expected a RewritePlan")
    attempt.plan = plan
    attempt.sources = checked_sources(work.context, plan, unseen=attempt.own_ids)
    return None


def replace(work: Workspace, attempt: Attempt) -> Ending | None:
    """Ask for the replacements and stage them outside the window."""
    read = attempt.summarised()
    if read:
        reading = sum(span.tokens for span in read)
        if reading > work.window and not work.terms.endless_window:
            return Ending(
                Outcome.INFEASIBLE, "replace", f"{reading} tokens to summarise exceed {work.window}"
            )
        failures = work.streams.uniform(f"replacement failure {attempt.number}")
        for attempt_of_request in range(work.terms.retries + 1):
            failed = failures[attempt_of_request] < work.setting.provider.failure_share
            if failed:
                _spend(attempt, "replace", work.provider.fresh_prompt(reading, 0, Purpose.REPLACEMENT))
            else:
                break
        if failed:
            return Ending(
                Outcome.FAILED, "replace", f"no replacement after {work.terms.retries + 1} requests"
            )
    attempt.staged = [stage(work, operation) for operation in attempt.plan.operations]
    if read:
        writing = attempt.summaries_tokens()
        _spend(attempt, "replace", work.provider.fresh_prompt(reading, writing, Purpose.REPLACEMENT))
    return None


def gate(work: Workspace, attempt: Attempt) -> Ending | None:
    """Show the policy's gates the exact figures; they accept or refuse."""
    context, terms = work.context, work.terms
    gone = [span.id for span in attempt.sources if span.id not in context]
    if gone:
        return Ending(Outcome.CONFLICTED, "gate", f"spans {gone[:5]} left the context meanwhile")
    freed = attempt.staged_saving()
    size_tombstones(work, attempt)
    left = attempt.tombstones_charged + attempt.tombstones_free + restorable(work, attempt)
    attempt.measurement_bound = _measurement(work, context.tokens - freed + left)
    touched = [
        span.id for span in attempt.sources if span.id in context.immutable or span.id in context.protected
    ]
    in_window = context.tokens - attempt.before - _arrived(work, attempt) + _out_of_band(work, attempt)
    proposal = Proposal(
        freed=freed,
        rewrite_cost=attempt.claimed[Component.RATIONALE] + attempt.tombstones_charged,
        measurement_cost=_charged_bound(work, attempt),
        unattributed=in_window - sum(attempt.emitted.values()),
        touched_own_substrate=bool(touched),
        slack=work.window - work.setting.output_reserve - work.believed_tokens(),
        believed_saving=attempt.plan.believed_saving,
        believed_freed=believed(freed, terms.counter_ratio),
        before=work.believed_tokens(),
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
    if attempt.staged:
        work.provider.keep_prefix(context.prefix_before(span.id for span in attempt.sources))
        attempt.freed = context.apply(attempt.staged)
    work.ledger.post(Account.FREED, attempt.freed)
    work.bindings.rewrite({span.id for span in attempt.sources}, work.versions, attempt.number)
    attempt.reinjected = restore(work, attempt)
    if context.cites_anything:
        attempt.dangled = dangled(work.context, attempt)
    leave_tombstones(work, attempt)
    work.cognition.lose(attempt.summarised())
    work.requests_since_rewrite = 0
    return None


def measure(work: Workspace, attempt: Attempt) -> Ending | None:
    """Confirm the new count; the trace of it enters the context."""
    count = work.context.tokens
    tokens = _measurement(work, count)
    if tokens > attempt.measurement_bound:
        raise RunFailed("measure", f"measured {tokens} tokens, the gate was told {attempt.measurement_bound}")
    if _is_full(work):
        _spend(attempt, "measure", work.setting.laws.measurement.seconds_per_token * count)
        work.commits_since_full = work.ambiguous_spans = 0
        work.counted = count
    else:
        work.commits_since_full += 1
        if work.terms.counter_ratio != 1:
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
    read = attempt.summarised()
    summaries = attempt.summaries_tokens()
    own = [
        span for span in attempt.sources if span.kind in OWN_RECORDS or span.provenance is Provenance.POLICY
    ]
    believed_saving = attempt.plan.believed_saving if committed else 0
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
            agent=work.agent,
        )
    )
    lesson = Lesson(
        ending.outcome.value,
        ending.stage,
        len(read) if attempt.staged else 0,
        sum(span.tokens for span in read) if attempt.staged else 0,
        summaries,
        work.believed_tokens(),
    )
    calls = ask(work, "learn", work.policy.learn, lesson)
    if not isinstance(calls, bool):
        raise RunFailed("learn", f"policy returned {type(calls).__name__}, expected True or False")
    work.calls_supervisor = calls
    if work.watch is not None:
        work.watch.rewrite_settled(work, attempt, work.ledger.entries[-1])
    return ending


# --------------------------------------------------------------------------- steps of the phases


def ask(work: Workspace, method: str, call: Callable[[Question], Answer], question: Question) -> Answer:
    """Call a method of the policy; while it runs, an error is the policy's, but for the watchdog's."""
    work.asking = method
    try:
        answer = call(question)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        if isinstance(fault, RunFailed) and _is_ours(fault):
            raise
        raise RunFailed(method, f"policy raised {told(fault)}") from fault
    work.asking = ""
    return answer


OURS = ("simulator", "policies")
"""Packages whose failures name their own stage: the checker's witness is a policy too."""


def _is_ours(failure: RunFailed) -> bool:
    """Return whether a failure is the watchdog's, which has a class of its own, or was raised by our code."""
    frame = [frame for frame, _ in walk_tb(failure.__traceback__)][-1]
    return type(failure) is not RunFailed or frame.f_globals.get("__name__", "").split(".")[0] in OURS


VERDICT_FIELDS = (("accepted", bool), ("reason", str), ("figures", Mapping), ("escalate", bool))
"""What a verdict is checked for: a policy may be anybody's class."""


def ask_verdict(
    work: Workspace, method: str, call: Callable[[Question], Verdict], question: Question
) -> Verdict:
    """Ask for a verdict. Raises RunFailed where the policy answers something else."""
    verdict = ask(work, method, call, question)
    if not isinstance(verdict, Verdict):
        raise RunFailed(method, f"policy returned {type(verdict).__name__}, expected a Verdict")
    for name, kind in VERDICT_FIELDS:
        if not isinstance(getattr(verdict, name), kind):
            raise RunFailed(method, f"policy returned a Verdict whose {name} is {getattr(verdict, name)!r}")
    return verdict


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


def _arrived(work: Workspace, attempt: Attempt) -> int:
    return work.ledger.accounts[Account.ARRIVED] - attempt.arrived_before


def _out_of_band(work: Workspace, attempt: Attempt) -> int:
    return work.ledger.accounts[Account.OUT_OF_BAND] - attempt.out_of_band_before


def _spend(attempt: Attempt, phase: str, seconds: float) -> None:
    attempt.seconds[phase] = attempt.seconds.get(phase, 0.0) + seconds
