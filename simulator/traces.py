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


def dangled(context: Context, attempt: Attempt) -> int:
    """Return the live references that the commit of an attempt has broken."""
    gone = {identity for span in attempt.sources for identity in (span.id, *span.carries)}
    return sum(context.leaning(identity) for identity in gone if not context.holds(identity))


def coherence_cost(work: Workspace) -> float:
    """Return what it takes to check the live references, the broken ones at their weight."""
    if not work.context.cites_anything:
        return 0.0
    return work.setting.laws.coherence.cost(*work.context.references())
