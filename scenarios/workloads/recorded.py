"""The recorded shape of a session: what each turn brought, a row a span, without a word of its text.

Comes in: the turns of a replayed log. Goes out: rows, and from rows the same turns, bit for bit; so a
real session can be shipped as sizes and structure. What a row cannot hold is refused, never dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from simulator.contracts import Turn
from simulator.errors import InputError
from simulator.spans import Kind, Provenance, Span

RowPart = Literal["arrival", "reply", "event", "nothing"]
"""What a row is of its turn; `nothing` stands for a turn that brought none of the others."""


class ShapeRow(NamedTuple):
    """One row of a shape.

    Attributes
    ----------
    turn : number of the turn, from 1.
    part : what the row is of its turn.
    id, kind, tokens, pair, cites, needed, content_class, provenance, subgoal : of a span, as in `Span`.
    user_turn, seconds, closes : of the turn, as in `Turn`; on its first row.
    event, detail : an event of the turn.
    """

    turn: int
    part: RowPart
    id: int | None = None
    kind: Kind | None = None
    tokens: int | None = None
    pair: int | None = None
    cites: tuple[int, ...] = ()
    needed: bool = False
    content_class: str | None = None
    provenance: Provenance | None = None
    user_turn: bool = False
    seconds: float = 0.0
    closes: tuple[int, ...] = ()
    subgoal: int | None = None
    event: str | None = None
    detail: str | None = None

    @property
    def of_turn(self) -> tuple[bool, float, tuple[int, ...]]:
        """What it says of the whole turn."""
        return self.user_turn, self.seconds, self.closes


def rows_of(turns: Sequence[Turn]) -> list[ShapeRow]:
    """Return the rows of a session's turns.

    Raises
    ------
    InputError
        The turns hold what a row has no column for.
    """
    rows = [row for number, turn in enumerate(turns, 1) for row in _rows_of_turn(number, turn)]
    events = [event for turn in turns for event in turn.events]
    fit_in_cells = all(kind and (kind + detail).isprintable() for kind, detail in events)
    if not fit_in_cells or turns_of(rows) != tuple(turns):
        raise InputError(
            "the turns hold what a recorded shape has no column for", expected="the turns of a replayed log"
        )
    return rows


def turns_of(rows: Sequence[ShapeRow]) -> tuple[Turn, ...]:
    """Return the turns that the rows make.

    Raises
    ------
    InputError
        Turns out of order, an identity that comes twice, a citation of what there is not or not yet.
    """
    _require_sound(rows)
    return tuple(_turn(list(of_one)) for _, of_one in groupby(rows, key=lambda row: row.turn))


def _rows_of_turn(number: int, turn: Turn) -> Iterator[ShapeRow]:
    """Yield the rows of one turn, what is said of the turn on the first."""
    rows = [
        *(_row(number, "arrival", span) for span in turn.arrivals),
        *(_row(number, "reply", span) for span in turn.reply),
        *(ShapeRow(number, "event", event=kind, detail=detail) for kind, detail in turn.events),
    ] or [ShapeRow(number, "nothing")]
    yield rows[0]._replace(user_turn=turn.user_turn, seconds=turn.seconds, closes=turn.closes)
    yield from rows[1:]


def _row(number: int, part: RowPart, span: Span) -> ShapeRow:
    return ShapeRow(
        number,
        part,
        span.id,
        span.kind,
        span.tokens,
        span.pair,
        span.cites,
        span.needed,
        span.content_class,
        span.provenance,
        subgoal=span.subgoal,
    )


def _turn(rows: list[ShapeRow]) -> Turn:
    user_turn, seconds, closes = rows[0].of_turn
    return Turn(
        arrivals=tuple(_spans(rows, "arrival")),
        reply=tuple(_spans(rows, "reply")),
        seconds=seconds,
        user_turn=user_turn,
        closes=closes,
        events=tuple((row.event or "", row.detail or "") for row in rows if row.part == "event"),
    )


def _spans(rows: Iterable[ShapeRow], part: RowPart) -> Iterator[Span]:
    for row in rows:
        if row.part != part:
            continue
        assert row.id is not None and row.kind is not None and row.tokens is not None
        assert row.content_class is not None and row.provenance is not None
        yield Span(
            id=row.id,
            kind=row.kind,
            tokens=row.tokens,
            born=row.turn,
            provenance=row.provenance,
            subgoal=row.subgoal,
            pair=row.pair,
            cites=row.cites,
            needed=row.needed,
            content_class=row.content_class,
        )


def _require_sound(rows: Sequence[ShapeRow]) -> None:
    """Raise InputError for the first row that does not fit the rows before it."""
    rows_by_id: dict[int, int] = {}
    everyone = {row.id for row in rows if row.id is not None}
    last = 0
    for number, row in enumerate(rows, 1):
        where = f"row {number}"
        if row.turn not in (last, last + 1) or not row.turn:
            expected = f"turn {last} or {last + 1}" if last else "turn 1"
            raise InputError(f"is of turn {row.turn}", where=where, expected=expected)
        if row.turn == last and row.of_turn != (False, 0.0, ()):
            raise InputError(
                "says user_turn, seconds or closes",
                where=where,
                expected=f"these on the first row of turn {last} alone",
            )
        last = row.turn
        for cited in row.cites:
            if cited not in rows_by_id:
                there = "comes later" if cited in everyone and cited != row.id else "there is not"
                raise InputError(
                    f"cites {cited}, which {there}", where=where, expected="ids of rows before it"
                )
        if row.id is None:
            continue
        first = rows_by_id.setdefault(row.id, number)
        if first != number:
            raise InputError(f"has the id {row.id} of row {first}", where=where, expected="another id a row")
