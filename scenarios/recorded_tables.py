"""The table of a scenario file that names a recorded shape, and the CSV that holds one.

Comes in: a file of rows beside the scenario, or one of those that ship. Goes out: the workload of that
session. Every cell is checked as it is read; how rows hang together is checked in `workloads.recorded`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios.cells import numbered_rows
from scenarios.workloads.recorded import RowPart, ShapeRow, rows_of, turns_of
from scenarios.workloads.replay import ReplayWorkload
from simulator.catalogue import validated
from simulator.contracts import Turn
from simulator.errors import InputError, nearest_name
from simulator.schema import Amount, Table, Tokens
from simulator.spans import Kind, Provenance

RECORDED = Path(__file__).parent / "recorded"
"""Where the shapes lie that ship."""

SEPARATOR = ";"
"""Between the numbers of one cell."""

_OF_A_SPAN = ("id", "kind", "tokens", "content_class", "provenance")
"""What a row of a span must say."""

_MAY_BE_SAID: dict[str, frozenset[str]] = {
    "event": frozenset({"event", "detail"}),
    "nothing": frozenset(),
}
"""Cells that a row of no span may fill, beside those of its turn."""

_OF_A_TURN = frozenset({"turn", "part", "user_turn", "seconds", "closes"})
_LISTS = frozenset({"cites", "closes"})
_WORDS = frozenset({"part", "kind", "content_class", "provenance", "event", "detail"})


class RecordedRow(Table):
    """One row of a recorded shape; see `ShapeRow` for each key."""

    turn: Annotated[int, Field(ge=1, le=10**6)]
    part: RowPart
    id: Annotated[int, Field(ge=0)] | None = None
    kind: Literal[Kind.USER, Kind.ASSISTANT, Kind.THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT] | None = None
    tokens: Tokens | None = None
    pair: Annotated[int, Field(ge=0)] | None = None
    cites: tuple[Annotated[int, Field(ge=0)], ...] = ()
    needed: bool = False
    content_class: Literal["text", "prose", "code", "json", "cjk", "image"] | None = None
    provenance: Literal[Provenance.RUNTIME, Provenance.USER, Provenance.TOOL, Provenance.SELF] | None = None
    user_turn: bool = False
    seconds: Amount = 0.0
    closes: tuple[Annotated[int, Field(ge=0)], ...] = ()
    subgoal: Annotated[int, Field(ge=0)] | None = None
    event: Annotated[str, Field(min_length=1)] | None = None
    detail: str | None = None

    @model_validator(mode="after")
    def _says_what_its_part_needs(self) -> RecordedRow:
        said = self.model_fields_set
        if self.part in _MAY_BE_SAID:
            foreign = sorted(said - _OF_A_TURN - _MAY_BE_SAID[self.part])
            needed: Sequence[str] = ("event",) if self.part == "event" else ()
        else:
            foreign = sorted(said & {"event", "detail"})
            needed = _OF_A_SPAN
        if foreign:
            raise ValueError(f"a row of part {self.part} has no {foreign[0]}")
        for key in needed:
            if key not in said:
                raise ValueError(f"a row of part {self.part} needs {key}")
        return self

    def row(self) -> ShapeRow:
        """Return the row as the turns are made from it."""
        return ShapeRow(**dict(self))


class RecordedTable(Table):
    """A workload that is a recorded session: a CSV beside the scenario, or one that ships."""

    kind: Literal["recorded"]
    file: Annotated[str, Field(pattern=r"\.csv$")]

    def named_topics(self) -> Iterator[tuple[str, str]]:
        """Yield nothing: no step comes under a topic."""
        return iter(())

    def workload(self, path: Path) -> ReplayWorkload:
        """Return the workload of the scenario at `path`. Raises InputError."""
        beside, shipped = path.parent / self.file, RECORDED / self.file
        if beside.exists():
            return ReplayWorkload(read_shape(beside))
        if shipped.exists():
            return ReplayWorkload(read_shape(shipped))
        near = [file.name for folder in (path.parent, RECORDED) for file in folder.glob("*.csv")]
        raise InputError(
            f"no such file {self.file!r}",
            where=f"{path}: workload.file",
            expected=f"a CSV beside the scenario, or one of {', '.join(sorted(_shipped()))}",
            nearest=nearest_name(self.file, near),
        )


def shape_text(turns: Sequence[Turn]) -> str:
    """Return the CSV of a session's turns: `read_shape` makes the same turns of it.

    Raises
    ------
    InputError
        The turns hold what a shape has no column for.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(ShapeRow._fields)
    writer.writerows(map(_cells, rows_of(turns)))
    return text.getvalue()


def read_shape(path: Path) -> tuple[Turn, ...]:
    """Return the turns of a recorded shape.

    Raises
    ------
    InputError
        Naming file, row and key, where the file cannot be used.
    """
    rows = list(_rows(path))
    if not rows:
        raise InputError("holds no turn", where=str(path), expected="a header and a row a span")
    try:
        return turns_of(rows)
    except InputError as fault:
        where = f"{path}: {fault.where}"
        raise InputError(fault.what, where=where, expected=fault.expected, nearest=fault.nearest) from None


def _rows(path: Path) -> Iterator[ShapeRow]:
    for number, line in numbered_rows(path, "a CSV of a recorded session", ShapeRow._fields):
        cells = {key: _value(key, cell) for key, cell in line.items() if cell}
        yield validated(RecordedRow, cells, f"{path}: row {number}").row()


def _cells(row: ShapeRow) -> list[str]:
    """Return a row as cells: nothing where a value is the default, which reads back as it."""
    defaults = ShapeRow._field_defaults
    return [
        "" if key in defaults and value == defaults[key] else _cell(value)
        for key, value in row._asdict().items()
    ]


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return SEPARATOR.join(map(str, value))
    return "true" if value is True else str(value)


def _value(key: str, cell: str) -> object:
    """Return what a cell holds; what does not read as its key wants is left for the schema to refuse."""
    if key in _WORDS:
        return cell
    return [_number(part) for part in cell.split(SEPARATOR)] if key in _LISTS else _number(cell)


def _number(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text


def _shipped() -> list[str]:
    return [file.name for file in RECORDED.glob("*.csv")]
