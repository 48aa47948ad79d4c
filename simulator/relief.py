"""What a supervisor removes from a context, out of band: the oldest content, or what nothing leans on."""

from __future__ import annotations

from simulator.ledger import Account
from simulator.spans import FIXED, Kind, Span
from simulator.workspace import Workspace

EVICTABLE = frozenset(Kind) - FIXED - {Kind.USER}
"""What a supervisor may remove."""


def relieve(work: Workspace, tokens: int) -> int:
    """Remove the oldest evictable content up to that many tokens; return what was removed."""
    spares = work.setting.supervisor.act == "spare"
    going: list[int] = []
    left = tokens
    for span in work.context:
        if left <= 0:
            break
        marked = span.id in work.context.protected or span.id in work.context.immutable
        if span.kind in EVICTABLE and not marked and not (spares and is_leant_on(work, span)):
            going.append(span.id)
            left -= span.tokens
    if not going:
        return 0
    work.provider.keep_prefix(work.context.prefix_before(going))
    removed = work.context.remove(going)
    work.ledger.post(Account.OUT_OF_BAND, removed)
    return removed


def is_leant_on(work: Workspace, span: Span) -> bool:
    """Whether something would be lost with a span, as the external log and its tags have it."""
    context = work.context
    if span.kind is Kind.INSTRUCTION or span.binds or span.needed:
        return True
    return any(context.leaning(identity) for identity in (span.id, *span.carries))
