"""`Recorder`: what happened, row by row; tables are made only when somebody asks.

Turns, rewrites and events become three pandas tables. The wall clock never enters them, so equal
inputs give equal tables, bit for bit.
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


class EventRow(NamedTuple):
    """One event that is neither a turn nor a rewrite."""

    turn: int
    time_s: float
    kind: str
    detail: str
    tokens: int


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
