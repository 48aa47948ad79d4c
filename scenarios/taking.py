"""How measures take their numbers: what they have in common, whichever record they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

from simulator.ledger import COMMITTED, RewriteEntry
from simulator.simulation import Run

Number = float | None
"""What a measure takes from a run: one number, or None where the run does not exercise it."""


def of_one_agent(take: Callable[[Run], Number]) -> Callable[[Run], Number]:
    """Make a measure that follows one history: of a fleet, which has several, it is None."""

    @wraps(take)
    def taken(run: Run) -> Number:
        return None if any(row.agent for row in run.turn_rows) else take(run)

    return taken


def committed(run: Run) -> list[RewriteEntry]:
    """Return the attempts that changed the context."""
    return [entry for entry in run.rewrite_rows if entry.outcome in COMMITTED]


def mean(values: Sequence[float]) -> Number:
    """Return the mean, None of nothing."""
    return sum(values) / len(values) if values else None


def per_hundred_turns(key: str) -> Callable[[Run], Number]:
    """Return a measure: a count of the summary for each hundred turns that were lived through."""

    def rate(run: Run) -> Number:
        count = run.summary[key]
        return 100 * count / len(run.turn_rows) if isinstance(count, int) and run.turn_rows else None

    return rate
