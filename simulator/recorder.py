"""`Recorder`: what happened, row by row; tables are made only when somebody asks.

Turns, rewrites, events and steps under instructions become pandas tables. The wall clock never
enters them, so equal inputs give equal tables, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class TurnRow(NamedTuple):
    """The state at the end of one turn. Tokens, seconds, percent of the window."""

    turn: int
    user_turn: int
    time_s: float
    tokens: int
    occupancy_pct: float
    believed_tokens: int
    arrived_tokens: int
    retired: int
    out_of_band: int
    decision_quality: float
    epoch: int
    confidence: float
    constraints_held: int
    agent: int = 0


class EventRow(NamedTuple):
    """One event that is neither a turn nor a rewrite."""

    turn: int
    time_s: float
    kind: str
    detail: str
    tokens: int
    agent: int = 0


class ObedienceRow(NamedTuple):
    """One step that came under one instruction: what the agent says of it, and what it did.

    Attributes
    ----------
    instruction : number in the order of writing; -1 was received from outside (`outside`).
    changes : versions of its premises that came since it was last derived; above 0 it is stale.
    age : turns since it was last derived.
    active : instructions in force at the step.
    quoted, obeyed : reported as kept; truly kept.
    revoked : the agent no longer holds itself to it, and has logged no such decision.
    stopped : the step was stopped until the instruction was derived anew.
    auditable : its binding can be checked from outside: received, or tagged with its premises.
    agent : number of the agent in its fleet, from 0.
    """

    turn: int
    topic: str
    instruction: int
    outside: bool
    changes: int
    age: int
    derivations: int
    active: int
    quoted: bool
    obeyed: bool
    revoked: bool
    stopped: bool
    auditable: bool
    agent: int = 0


class Recorder:
    """The rows of one run."""

    __slots__ = ("events", "turns")

    def __init__(self) -> None:
        self.turns: list[TurnRow] = []
        self.events: list[EventRow] = []


def table(rows: Sequence[NamedTuple], row_type: type[NamedTuple]) -> pd.DataFrame:
    """Return rows as a table that has its columns even where there are no rows."""
    import pandas as pd

    return pd.DataFrame.from_records(rows, columns=list(row_type._fields))
