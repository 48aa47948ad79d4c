"""Staging: a plan is checked against the context, and what it asks for is made outside the window.

In come a plan and the true spans; out come replacements with exact sizes. Nothing is changed here:
that is the commit's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from simulator.context import Context, Replacement
from simulator.errors import RunFailed
from simulator.laws import Answer
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.spans import FIXED, Kind, Provenance, Span
from simulator.workspace import WHOLE, Reading, Workspace


def checked_sources(context: Context, plan: RewritePlan, *, unseen: Collection[int] = ()) -> list[Span]:
    """Return the spans that a plan removes. Raises RunFailed where it is not a plan for this context.

    A policy may be anybody's class: its plan is checked for what its types promise.
    """
    if not isinstance(plan.believed_saving, int):
        raise RunFailed("propose", f"believed_saving is {plan.believed_saving!r}, expected whole tokens")
    if not isinstance(plan.operations, tuple):
        raise RunFailed("propose", f"operations are a {type(plan.operations).__name__}, expected a tuple")
    seen: set[int] = set()
    sources = []
    for operation in plan.operations:
        if not isinstance(operation, Evict | Mask | Summarise | Fold):
            raise RunFailed("propose", f"{type(operation).__name__} is not an operation")
        if not isinstance(operation.sources, tuple) or not operation.sources:  # type: ignore[redundant-expr]
            raise RunFailed("propose", f"{operation} has no tuple of sources")
        if isinstance(operation, Mask) and not (isinstance(operation.tokens, int) and operation.tokens >= 0):  # type: ignore[redundant-expr]
            raise RunFailed("propose", f"a placeholder of {operation.tokens!r} tokens, expected 0 or more")
        for identity in operation.sources:
            if not isinstance(identity, int) or identity not in context or identity in unseen:  # type: ignore[redundant-expr]
                raise RunFailed("propose", f"span {identity!r} is not in the view")
            if identity in seen:
                raise RunFailed("propose", f"span {identity} stands in two operations")
            span = context[identity]
            if span.kind in FIXED:
                raise RunFailed("propose", f"the fixed {span.kind} cannot be rewritten")
            seen.add(identity)
            sources.append(span)
    _require_tombstones(plan)
    return sources


def _require_tombstones(plan: RewritePlan) -> None:
    """Raise RunFailed unless the tombstones of a plan name spans that it drops, each once."""
    if not isinstance(plan.tombstones, tuple):
        raise RunFailed("propose", f"tombstones are a {type(plan.tombstones).__name__}, expected a tuple")
    dropped = [operation.id for operation in plan.operations if isinstance(operation, Evict | Mask)]
    left = set(dropped)
    for identity in plan.tombstones:
        if identity not in dropped:
            raise RunFailed("propose", f"a tombstone for span {identity!r}, which the plan does not drop")
        if identity not in left:
            raise RunFailed("propose", f"two tombstones for span {identity}")
        left.discard(identity)


def stage(work: Workspace, operation: Operation, reading: Reading = WHOLE) -> Replacement:
    """Return what takes the place of one operation's sources, sizes exact, outside the window."""
    spans = [work.context[identity] for identity in operation.sources]
    asks = isinstance(operation, Summarise | Fold)
    if isinstance(operation, Evict) or (asks and reading.answer is Answer.NOTHING):
        return Replacement(operation.sources, None)
    first = spans[0]
    if isinstance(operation, Mask):
        placeholder = first._replace(
            id=work.new_id(),
            kind=Kind.PLACEHOLDER,
            tokens=operation.tokens,
            provenance=Provenance.DERIVED,
            constraint=False,
            rederive=0,
            doubt=0,
            replaces=(),
            carries=(),
            binds=(),
            restates=None,
            standing=False,
        )
        return Replacement(operation.sources, placeholder)
    law = work.setting.laws.summary
    shown = {span.id: span.tokens for span in spans}
    if reading.shown is not None:
        shown = {identity: reading.shown.get(identity, 0) for identity in shown}
    left = sum(
        law.share(span.passes, normal=_ratio_draw(work, span), compressible=span.compressible)
        * shown[span.id]
        for span in spans
    )
    own = all(span.provenance is Provenance.POLICY for span in spans)
    read = sum(shown.values())
    doubtful = sum(span.doubt * shown[span.id] / span.tokens for span in spans if span.tokens)
    tokens = law.tokens(left, work.terms.summary_cap)
    told = 1.0
    if reading.is_empty:
        tokens = work.terms.request.stub_tokens
    elif reading.answer is Answer.TRUNCATED:
        told = work.setting.laws.answer.truncated_part
        tokens = round(told * tokens)
    elif reading.answer is Answer.INFLATED:
        tokens = round(work.setting.laws.answer.inflated_ratio * read)
    carries, binds = _survivors(work, spans, {one: told * tokens for one, tokens in shown.items()})
    summary = Span(
        id=work.new_id(),
        kind=Kind.SUMMARY,
        tokens=tokens,
        born=min(span.born for span in spans),
        provenance=Provenance.POLICY if own else Provenance.DERIVED,
        subgoal=first.subgoal,
        cites=tuple(dict.fromkeys(antecedent for span in spans for antecedent in span.cites)),
        needed=any(span.needed for span in spans),
        content_class="prose",
        passes=1 + max(span.passes for span in spans),
        origin=first.id if first.origin is None else first.origin,
        compressible=all(span.compressible for span in spans),
        replaces=tuple(
            dict.fromkeys(
                identity
                for span in spans
                for identity in ((span.id, *span.replaces) if span.id >= 0 else span.replaces)
            )
        ),
        rederive=max(span.rederive for span in spans),  # what survived is not to be seen in it
        doubt=work.setting.laws.evidence.doubt(doubtful, max(1, read), tokens),
        carries=carries,
        binds=binds,
    )
    return Replacement(operation.sources, summary, isinstance(operation, Fold) and operation.last)


def _survivors(
    work: Workspace, spans: list[Span], told: Mapping[int, float]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return whose evidence a summary still carries, and which constraints have force through it.

    The losses of one attempt come together: they share its draws, one for the text and one for its force.
    Of a span that was read or told in part, evidence survives with that part's share.
    """
    law = work.setting.laws.evidence
    carried: dict[int, int] = {}
    for span in spans:
        if told[span.id] < span.tokens and not _is_read(work, span, told[span.id]):
            continue
        if span.id >= 0 or span.kind is Kind.INSTRUCTION:
            carried[span.id] = span.passes
        for identity in span.carries:
            carried.setdefault(identity, span.passes)
    if law.retention < 1 or law.force < 1:
        shared = work.streams.normal("loss of a rewrite")[work.attempts]
        shared_force = work.streams.normal("loss of force of a rewrite")[work.attempts]
        carried = {
            identity: passes
            for identity, passes in carried.items()
            if law.survives(shared, work.streams.normal(f"loss of item at pass {passes}")[_place(identity)])
        }
    binds = dict.fromkeys(
        constraint
        for span in spans
        for constraint in span.binds
        if constraint in carried
        and (
            law.force >= 1
            or law.survives(
                shared_force,
                work.streams.normal(f"loss of force at pass {span.passes}")[_place(constraint)],
                forceful=True,
            )
        )
    )
    return tuple(carried), tuple(binds)


def _is_read(work: Workspace, span: Span, tokens: float) -> bool:
    """Whether what a span holds stands in the part of it that was read."""
    draw = work.streams.uniform(f"read at attempt {work.attempts}")[_place(span.id)]
    return draw < tokens / span.tokens


def _place(identity: int) -> int:
    """Return the place in a stream that belongs to an id: ids of the world even, made ones odd."""
    return 2 * identity if identity >= 0 else -2 * identity - 1


def _ratio_draw(work: Workspace, span: Span) -> float:
    """Return the normal draw of a summary's ratio, keyed by what the item descends from."""
    if not work.setting.laws.summary.ratio_spread:
        return 0.0
    origin = span.id if span.origin is None else span.origin
    whose = "item" if origin >= 0 else "record"
    return work.streams.normal(f"ratio of {whose} at pass {span.passes}")[abs(origin)]
