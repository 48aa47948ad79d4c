"""What a commit leaves behind: the records of what was dropped, and references that no longer hold.

In come the workspace and the attempt; out come tombstones, in the ledger and perhaps in the window,
and counts for the entry. Called by the transaction alone.
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
    if terms is None or not attempt.plan.tombstones or work.setting.charged_to == "separate":
        return
    tokens = len(attempt.plan.tombstones) * terms.tokens
    if terms.placement is Placement.INSIDE_CHARGED:
        attempt.tombstones_charged = tokens
    elif terms.placement is Placement.INSIDE_FREE:
        attempt.tombstones_free = tokens


def leave_tombstones(work: Workspace, attempt: Attempt) -> None:
    """Record what was dropped; where the record lives inside, it can never be rewritten."""
    if work.terms.tombstones is None:
        return
    reason = attempt.gauge.point.value
    work.ledger.tombstones += [Tombstone(one, work.turn, reason) for one in attempt.plan.tombstones]
    tokens = attempt.tombstones_charged + attempt.tombstones_free
    if not tokens:
        return
    record = Span(work.new_id(), Kind.TOMBSTONE, tokens, work.turn, Provenance.POLICY, content_class="prose")
    work.context.append(record)
    work.context.protected.add(record.id)
    account = Account.REWRITE if attempt.tombstones_charged else Account.TOMBSTONES
    work.ledger.post(account, tokens)


def dangled(context: Context, attempt: Attempt) -> int:
    """Return the live references that the commit of an attempt has broken."""
    gone = {identity for span in attempt.sources for identity in (span.id, *span.carries)}
    return sum(context.leaning(identity) for identity in gone if not context.holds(identity))


def coherence_cost(work: Workspace) -> float:
    """Return what it takes to check the live references, the broken ones at their weight."""
    if not work.context.cites_anything:
        return 0.0
    return work.setting.laws.coherence.cost(*work.context.references())
