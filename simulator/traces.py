"""What a commit leaves behind: records of what was dropped, broken references, and what is put back.

In come the workspace and the attempt; out come spans beside the plan's own, postings and counts for
the entry. Called by the transaction alone.
"""

from __future__ import annotations

from simulator.context import Context
from simulator.contracts import Placement
from simulator.ledger import Account, Tombstone
from simulator.spans import Kind, Provenance, Span
from simulator.workspace import Attempt, Workspace


def size_tombstones(work: Workspace, attempt: Attempt) -> None:
    """Note what the tombstones of the plan will write into the window."""
    terms = work.terms.tombstones
    if terms is None or work.setting.charged_to == "separate":
        return
    tokens = len(attempt.plan.tombstones) * terms.tokens
    if terms.placement is Placement.INSIDE_CHARGED:
        attempt.tombstones_charged = tokens
    elif terms.placement is Placement.INSIDE_FREE:
        attempt.tombstones_free = tokens


def leave_tombstones(work: Workspace, attempt: Attempt) -> None:
    """Record what was dropped; where the record lives inside, it can never be rewritten."""
    terms = work.terms.tombstones
    if terms is None:
        return
    reason = attempt.gauge.point.value
    work.ledger.tombstones += [Tombstone(one, work.turn, reason) for one in attempt.plan.tombstones]
    if work.setting.charged_to == "separate" and terms.placement is not Placement.OUTSIDE:
        work.quota_tokens += len(attempt.plan.tombstones) * terms.tokens
    tokens = attempt.tombstones_charged + attempt.tombstones_free
    if not tokens:
        return
    record = Span(work.new_id(), Kind.TOMBSTONE, tokens, work.turn, Provenance.POLICY, content_class="prose")
    work.context.append(record)
    work.context.protected.add(record.id)
    account = Account.REWRITE if attempt.tombstones_charged else Account.TOMBSTONES
    work.ledger.post(account, tokens)


def restorable(work: Workspace, attempt: Attempt) -> int:
    """Return the most tokens that a check from outside may put back: of all constraints that are touched."""
    if not work.setting.runtime.restores:
        return 0
    touched = {constraint for span in attempt.sources for constraint in span.binds}
    return sum(work.cognition.stated[constraint] for constraint in touched)


def restore(work: Workspace, attempt: Attempt) -> int:
    """Put back each constraint that the commit has robbed of its force, where somebody outside checks it."""
    if not work.setting.runtime.restores:
        return 0
    before = work.context.tokens
    touched = dict.fromkeys(constraint for span in attempt.sources for constraint in span.binds)
    for constraint in touched:
        if not work.context.binds(constraint):
            work.context.append(
                Span(
                    work.new_id(),
                    Kind.USER,
                    work.cognition.stated[constraint],
                    work.turn,
                    Provenance.RUNTIME,
                    constraint=True,
                    restates=constraint,
                    carries=(constraint,),
                    binds=(constraint,),
                )
            )
    reinjected = work.context.tokens - before
    work.ledger.post(Account.REINJECTED, reinjected)
    return reinjected


PATH_TOKENS = 20
"""What stands for a file that is too long to be read again: its path (policy zoo 4)."""


def to_reinject(work: Workspace, attempt: Attempt) -> list[Span]:
    """Return the spans that the policy's client puts back after the commit, as they will stand."""
    terms = work.terms.reinjection
    if not attempt.staged or not (terms.fixed_tokens or terms.results or terms.standing_tokens != 0):
        return []
    back: list[Span] = []
    if terms.fixed_tokens:
        back.append(work.made(Kind.USER, terms.fixed_tokens, Provenance.RUNTIME))
    newest = sorted(attempt.sources, key=lambda span: (span.born, abs(span.id)), reverse=True)
    results = [span for span in newest if span.kind is Kind.TOOL_RESULT and not span.standing]
    for span in results[: terms.results]:
        whole = terms.result_tokens is None or span.tokens <= terms.result_tokens
        back.append(_again(work, span, span.tokens if whole else PATH_TOKENS))
    left = terms.standing_tokens
    for span in newest:
        if not span.standing:
            continue
        cut = terms.standing_item_tokens
        tokens = span.tokens if cut is None else min(span.tokens, cut)
        if left is not None:
            if tokens > left:
                break
            left -= tokens
        back.append(_again(work, span, tokens))
    return back


def _again(work: Workspace, span: Span, tokens: int) -> Span:
    """Return a span that is read again, whole or in part; what is cut has lost what it held."""
    whole = tokens == span.tokens
    return span._replace(
        id=work.new_id(),
        tokens=tokens,
        born=work.turn,
        provenance=Provenance.RUNTIME,
        pair=None,
        cites=(),
        doubt=min(span.doubt, tokens),
        carries=(span.id, *span.carries) if whole else (),
        binds=span.binds if whole else (),
        restates=span.id if span.restates is None else span.restates,
    )


def reinject(work: Workspace, attempt: Attempt) -> int:
    """Put back what the policy's client reads from disk again; return its tokens."""
    tokens = 0
    for span in to_reinject(work, attempt):
        work.context.append(span)
        tokens += span.tokens
    work.ledger.post(Account.REINJECTED, tokens)
    return tokens


def lose_what_came(work: Workspace, attempt: Attempt) -> None:
    """Remove what came in while a rewrite ran beside the turns, which now writes over it."""
    own = {*attempt.own_ids, *(one.span.id for one in attempt.staged if one.span)}
    late = [span.id for span in work.context if span.id not in attempt.seen and span.id not in own]
    if not late:
        return
    work.provider.keep_prefix(work.context.prefix_before(late))
    attempt.lost = work.context.remove(late)
    work.ledger.post(Account.LOST, attempt.lost)


def dangled(context: Context, attempt: Attempt) -> int:
    """Return the live references that the commit of an attempt has broken."""
    gone = {identity for span in attempt.sources for identity in (span.id, *span.carries)}
    return sum(context.leaning(identity) for identity in gone if not context.holds(identity))


def coherence_cost(work: Workspace) -> float:
    """Return what it takes to check the live references, the broken ones at their weight."""
    if not work.context.cites_anything:
        return 0.0
    return work.setting.laws.coherence.cost(*work.context.references())
