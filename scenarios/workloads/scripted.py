"""The scripted workload: rows that say which span comes at which turn, to the token.

Rows lean on one another by their numbers, counted from 0 in file order; `steps` say what the work of
a turn stands on. What is wrong with such a reference is found in `links`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.workloads.links import comes_by, require_sound
from simulator.contracts import Step, Turn
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
    """One row of a script: a span at turn `at`, or at each turn up to `until`. Turn 0 is before the first.

    Other rows are named by their number; of a row that comes at several turns its first span is meant.

    Attributes
    ----------
    cites : rows that it leans on.
    constraint : it states a constraint of its own; where it comes again, it states the same again.
    unclassified : nobody has said whether it states a constraint.
    restates : the row whose constraint it states again, or None.
    corrects : the row whose claim its constraint corrects, or None.
    doubt : share of its tokens that are caveats and contradictions.
    rederive : tokens that it takes to recover what it holds.
    standing : a client puts it back from disk after a rewrite.
    """

    at: int
    kind: Kind
    tokens: int
    until: int
    subgoal: int | None = None
    pair: int | None = None
    needed: bool = False
    compressible: bool = True
    cites: tuple[int, ...] = ()
    constraint: bool = False
    unclassified: bool = False
    restates: int | None = None
    corrects: int | None = None
    doubt: float = 0.0
    rederive: int = 0
    standing: bool = False

    @property
    def constrains(self) -> bool:
        """Whether it states a constraint of its own."""
        return self.constraint or self.corrects is not None

    @property
    def follows_request(self) -> bool:
        """Whether it comes with the answer."""
        return self.kind in REPLIES

    def span(self, identity: int, born: int, number: int) -> Span:
        """Return the span that the row, the script's `number`-th, brings at one turn."""
        stated = number if self.constrains else self.restates
        again = None if stated == identity else stated
        return Span(
            id=identity,
            kind=self.kind,
            tokens=self.tokens,
            born=born,
            provenance=PROVENANCE.get(self.kind, Provenance.TOOL),
            subgoal=self.subgoal,
            pair=self.pair,
            cites=self.cites,
            needed=self.needed,
            compressible=self.compressible,
            constraint=None if self.unclassified else stated is not None,
            rederive=self.rederive,
            doubt=round(self.doubt * self.tokens),
            carries=() if again is None else (again,),
            binds=() if stated is None else (stated,),
            restates=again,
            standing=self.standing,
        )


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """What the work of turn `at` stands on: rows by number, and topics of instructions by name."""

    at: int
    governed: tuple[int, ...] = ()
    touches: tuple[int, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptedWorkload:
    """Rows in file order; `closes` names the turn at which each subgoal is complete.

    Raises
    ------
    InputError
        A reference of a row or a step cannot hold.
    """

    rows: tuple[Row, ...]
    closes: tuple[tuple[int, int], ...] = ()
    turns_seconds: float = 0.0
    steps: tuple[ScriptStep, ...] = ()

    def __post_init__(self) -> None:
        require_sound(self.rows, self.steps)

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield the rows of turn 0."""
        for identity, row in enumerate(self.rows):
            if row.at == 0:
                yield row.span(identity, 0, identity)

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield turns without end: the horizon closes the run."""
        steps = {step.at: self._step(step) for step in self.steps}
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
                (reply if row.kind in REPLIES else arrivals).append(row.span(identity, turn, number))
            yield Turn(
                arrivals=tuple(arrivals),
                reply=tuple(reply),
                seconds=self.turns_seconds,
                user_turn=any(span.kind is Kind.USER for span in arrivals),
                closes=tuple(subgoal for at, subgoal in self.closes if at == turn),
                step=steps.get(turn),
            )

    def _step(self, step: ScriptStep) -> Step | None:
        """Return the step with the claims that it uses although they have been corrected by then."""
        claims = tuple(
            (row.corrects, number)
            for number, row in enumerate(self.rows)
            if row.corrects is not None and row.corrects in step.touches and comes_by(row, step.at)
        )
        made = Step(step.governed, step.touches, claims, step.topics)
        return made if any(made) else None
