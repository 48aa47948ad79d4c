"""The scripted workload: rows that say which span comes at which turn, to the token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.contracts import Turn
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams

REPLIES = frozenset({Kind.ASSISTANT, Kind.TOOL_CALL})
"""Kinds that come with the answer, after the request."""

PROVENANCE = {
    Kind.USER: Provenance.USER,
    Kind.ASSISTANT: Provenance.SELF,
    Kind.TOOL_CALL: Provenance.SELF,
    Kind.TOOL_RESULT: Provenance.TOOL,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a script: a span at turn `at`, or at each turn up to `until`. Turn 0 is before the first."""

    at: int
    kind: Kind
    tokens: int
    until: int
    subgoal: int | None = None
    pair: int | None = None
    needed: bool = False
    compressible: bool = True

    def span(self, identity: int, born: int) -> Span:
        """Return the span that the row brings at one turn."""
        return Span(
            id=identity,
            kind=self.kind,
            tokens=self.tokens,
            born=born,
            provenance=PROVENANCE.get(self.kind, Provenance.TOOL),
            subgoal=self.subgoal,
            pair=self.pair,
            needed=self.needed,
            compressible=self.compressible,
        )


@dataclass(frozen=True, slots=True)
class ScriptedWorkload:
    """Rows in file order; `closes` names the turn at which each subgoal is complete."""

    rows: tuple[Row, ...]
    closes: tuple[tuple[int, int], ...] = ()
    turns_seconds: float = 0.0

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield the rows of turn 0."""
        for identity, row in enumerate(self.rows):
            if row.at == 0:
                yield row.span(identity, 0)

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield turns without end: the horizon closes the run."""
        made = len(self.rows)
        turn = 0
        while True:
            turn += 1
            arrivals: list[Span] = []
            reply: list[Span] = []
            for number, row in enumerate(self.rows):
                if not row.at <= turn <= row.until or not row.at:
                    continue
                if turn == row.at:
                    identity = number
                else:
                    identity = made
                    made += 1
                (reply if row.kind in REPLIES else arrivals).append(row.span(identity, turn))
            yield Turn(
                arrivals=tuple(arrivals),
                reply=tuple(reply),
                seconds=self.turns_seconds,
                user_turn=any(span.kind is Kind.USER for span in arrivals),
                closes=tuple(subgoal for at, subgoal in self.closes if at == turn),
            )
