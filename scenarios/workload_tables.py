"""The tables of a scenario file that say what happens to the agent: a script, or a ground of references.

Each table is checked as it is read and builds one workload. Here the names that a script gives to
its rows become their numbers, and the rows of a CSV beside the scenario join those in it. Random turns
have a module of their own, `synthetic_tables`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios.cells import numbered_rows
from scenarios.surroundings import Name
from scenarios.synthetic_tables import SyntheticTable
from scenarios.workloads.references import ReferenceGround
from scenarios.workloads.scripted import Row, ScriptedWorkload, ScriptStep
from simulator.catalogue import validated
from simulator.contracts import Workload
from simulator.errors import InputError, nearest_name
from simulator.schema import Amount, Share, Table, Tokens, Turns
from simulator.spans import Kind

__all__ = ["ReferenceTable", "ScriptedTable", "SyntheticTable"]

MOST_SCRIPT_ROWS = 50
"""Rows that may stand in the scenario file; longer scripts are a CSV beside it."""

RowName = Annotated[str, Field(pattern=r"^[A-Za-z][\w.-]*$")]
"""What a row is called: a word that does not read as a number."""

Reference = int | str
"""A row, by its number from 0 in file order or by its name."""

ROW_NUMBER = re.compile(r"-?\d{1,9}")
"""A reference in a CSV that is a number; any other is a name."""


class RowNames:
    """The names of a script's rows.

    Raises
    ------
    InputError
        Two rows have one name.
    """

    def __init__(self, rows: Iterable[ScriptRow]) -> None:
        self._numbers: dict[str, int] = {}
        for number, row in enumerate(rows):
            if row.name is None:
                continue
            first = self._numbers.setdefault(row.name, number)
            if first != number:
                raise InputError(
                    f"is named {row.name!r} as row {first} is",
                    where=f"row {number}",
                    expected="one row a name",
                )

    def number(self, reference: Reference, where: str) -> int:
        """Return the number of the row that is meant. Raises InputError for an unknown name."""
        if isinstance(reference, int):
            return reference
        if reference in self._numbers:
            return self._numbers[reference]
        known = ", ".join(self._numbers)
        raise InputError(
            f"no row is named {reference!r}",
            where=where,
            expected=f"one of {known}" if known else "a row with that name",
            nearest=nearest_name(reference, self._numbers),
        )


class ScriptRow(Table):
    """One row of a script: what comes at which turn, and what it leans on; see `Row` for each key."""

    at: Turns
    kind: Literal[Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_RESULT]
    tokens: Annotated[int, Field(ge=1, le=10**9)]
    until: Turns | None = None
    subgoal: Tokens | None = None
    pair: Tokens | None = None
    needed: bool = False
    compressible: bool = True
    name: RowName | None = None
    cites: tuple[Reference, ...] = ()
    constraint: bool = False
    unclassified: bool = False
    restates: Reference | None = None
    corrects: Reference | None = None
    doubt: Share = 0.0
    rederive: Tokens = 0
    standing: bool = False

    @model_validator(mode="after")
    def _forward(self) -> ScriptRow:
        if self.until is not None and (self.until < self.at or self.at == 0):
            raise ValueError(f"until {self.until} needs at between 1 and it")
        return self

    def row(self, number: int, names: RowNames) -> Row:
        """Return the row, the script's `number`-th, as the workload takes it."""
        where = f"row {number}"
        return Row(
            self.at,
            self.kind,
            self.tokens,
            self.at if self.until is None else self.until,
            self.subgoal,
            self.pair,
            self.needed,
            self.compressible,
            tuple(names.number(cited, where) for cited in self.cites),
            self.constraint,
            self.unclassified,
            None if self.restates is None else names.number(self.restates, where),
            None if self.corrects is None else names.number(self.corrects, where),
            self.doubt,
            self.rederive,
            self.standing,
        )


class StepRow(Table):
    """What the work of one turn of a script stands on."""

    at: Annotated[int, Field(ge=1, le=10**6)]
    governed: tuple[Reference, ...] = ()
    touches: tuple[Reference, ...] = ()
    topics: tuple[Name, ...] = ()

    def step(self, place: int, names: RowNames) -> ScriptStep:
        """Return the step, the script's `place`-th, as the workload takes it."""
        where = f"step {place}"
        return ScriptStep(
            self.at,
            tuple(names.number(row, where) for row in self.governed),
            tuple(names.number(row, where) for row in self.touches),
            self.topics,
        )


class ScriptedTable(Table):
    """A workload of rows, in the file or in a CSV beside it, and the steps that stand on them."""

    kind: Literal["scripted"]
    rows: Annotated[tuple[ScriptRow, ...], Field(max_length=MOST_SCRIPT_ROWS)] = ()
    csv: str | None = None
    closes: tuple[tuple[Turns, Turns], ...] = ()
    steps: tuple[StepRow, ...] = ()
    turn_seconds: Amount = 0.0

    def named_topics(self) -> Iterator[tuple[str, str]]:
        """Yield each topic that a step comes under, with its place in the table."""
        for place, step in enumerate(self.steps):
            yield from ((f"steps.{place}.topics", topic) for topic in step.topics)

    def workload(self, path: Path) -> Workload:
        """Return the workload of the scenario at `path`; the CSV is looked for beside it."""
        rows = self.rows
        if self.csv is not None:
            rows += tuple(_csv_rows(path.parent / self.csv))
        try:
            names = RowNames(rows)
            return ScriptedWorkload(
                tuple(row.row(number, names) for number, row in enumerate(rows)),
                self.closes,
                self.turn_seconds,
                tuple(step.step(place, names) for place, step in enumerate(self.steps)),
            )
        except InputError as fault:
            where = f"{path}: workload: {fault.where}"
            raise InputError(
                fault.what, where=where, expected=fault.expected, nearest=fault.nearest
            ) from None


class ReferenceTable(Table):
    """A ground of references; see `ReferenceGround` for each key."""

    kind: Literal["references"]
    items: Annotated[int, Field(ge=1, le=10**4)] = 100
    tokens: Annotated[int, Field(ge=1, le=10**6)] = 300
    density: Share = 0.3
    leaning: Literal["plan", "web"] = "plan"
    rederive: Tokens = 950
    touched_share: Share = 1.0

    def named_topics(self) -> Iterator[tuple[str, str]]:
        """Yield nothing: no step comes under a topic."""
        return iter(())

    def workload(self, path: Path) -> Workload:
        """Return the workload."""
        return ReferenceGround(**self.model_dump(exclude={"kind"}))


def _csv_rows(path: Path) -> list[ScriptRow]:
    """Return the rows of a script that stands beside its scenario."""
    rows = []
    for number, line in numbered_rows(path, "a CSV script", tuple(ScriptRow.model_fields)):
        cells = {key: _csv_cell(key, value) for key, value in line.items() if value}
        rows.append(validated(ScriptRow, cells, f"{path}: row {number}"))
    return rows


def _csv_cell(key: str, text: str) -> object:
    """Return what a cell holds: references, with spaces between where there may be several, or a value."""
    if key == "cites":
        return [_csv_reference(part) for part in text.split()]
    if key in ("restates", "corrects"):
        return _csv_reference(text)
    return text if key == "name" else _csv_value(text)


def _csv_reference(text: str) -> Reference:
    return int(text) if ROW_NUMBER.fullmatch(text) else text


def _csv_value(text: str) -> object:
    """Return a cell as a number or a truth value where it reads as one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text
