"""The links of a script: which row leans on which, and all that can be wrong with that.

Comes in: the rows and steps of a script, which name rows by number. Goes out: nothing, or one line
that says which reference cannot hold and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from simulator.errors import InputError

if TYPE_CHECKING:
    from scenarios.workloads.scripted import Row, ScriptStep

GOVERNED = "is governed by"
"""How messages say that a step must respect a constraint."""


def require_sound(rows: Sequence[Row], steps: Sequence[ScriptStep]) -> None:
    """Raise InputError for the first reference that cannot hold."""
    for number, row in enumerate(rows):
        _require_one_statement(number, row)
        for verb, target in _links(row):
            _require_row(f"row {number}", verb, target, rows)
            if target == number:
                raise InputError(f"{verb} itself", where=f"row {number}", expected="an earlier row")
    _require_no_cycle(rows)
    for number, row in enumerate(rows):
        for verb, target in _links(row):
            if _moment(target, rows[target]) > _moment(number, row):
                raise InputError(
                    f"{verb} row {target}, which comes later",
                    where=f"row {number}",
                    expected="an earlier row",
                )
        if row.restates is not None:
            _require_constraint(f"row {number}", "restates", row.restates, rows)
    for place, step in enumerate(steps):
        _require_sound_step(place, step, rows)
        if any(other.at == step.at for other in steps[:place]):
            raise InputError("has two steps", where=f"turn {step.at}", expected="one step a turn")


def comes_by(row: Row, turn: int) -> bool:
    """Whether the row's first span stands in the window when the work of a turn begins."""
    return row.at < turn or (row.at == turn and not row.follows_request)


def _links(row: Row) -> Iterator[tuple[str, int]]:
    """Yield each reference of a row with its verb."""
    for target in row.cites:
        yield "cites", target
    if row.restates is not None:
        yield "restates", row.restates
    if row.corrects is not None:
        yield "corrects", row.corrects


def _moment(number: int, row: Row) -> tuple[int, bool, int]:
    """Return what orders the first spans of rows as they come."""
    return row.at, row.follows_request and row.at > 0, number


def _require_one_statement(number: int, row: Row) -> None:
    if row.restates is not None and row.constrains:
        own = "constraint" if row.constraint else "corrects"
        raise InputError(
            f"has both {own} and restates",
            where=f"row {number}",
            expected="a constraint of its own, or one stated again",
        )
    if len(set(row.cites)) < len(row.cites):
        raise InputError("cites a row twice", where=f"row {number}", expected="each row once")


def _require_row(where: str, verb: str, target: int, rows: Sequence[Row]) -> None:
    if not 0 <= target < len(rows):
        raise InputError(
            f"{verb} row {target}, which there is not",
            where=where,
            expected=f"a row from 0 to {len(rows) - 1}" if rows else "rows",
        )


def _require_constraint(where: str, verb: str, target: int, rows: Sequence[Row]) -> None:
    if rows[target].constrains:
        return
    stating = [str(number) for number, row in enumerate(rows) if row.constrains]
    raise InputError(
        f"{verb} row {target}, which states no constraint of its own",
        where=where,
        expected=f"one of the rows {', '.join(stating)}" if stating else "a row with constraint = true",
    )


def _require_no_cycle(rows: Sequence[Row]) -> None:
    graph = {number: {target for _, target in _links(row)} for number, row in enumerate(rows)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as fault:
        # it lists what is leant on before what leans on it
        cycle = [str(number) for number in reversed(fault.args[1])]
        raise InputError(
            f"leans on itself by way of rows {' -> '.join(cycle)}",
            where=f"row {cycle[0]}",
            expected="references without a cycle",
        ) from None


def _require_sound_step(place: int, step: ScriptStep, rows: Sequence[Row]) -> None:
    where = f"step {place}"
    for verb, targets in ((GOVERNED, step.governed), ("touches", step.touches)):
        for target in targets:
            _require_row(where, verb, target, rows)
            if verb == GOVERNED:
                _require_constraint(where, verb, target, rows)
            if not comes_by(rows[target], step.at):
                raise InputError(
                    f"of turn {step.at} {verb} row {target}, which comes later",
                    where=where,
                    expected="a row that has come by then",
                )
        if len(set(targets)) < len(targets):
            raise InputError(f"{verb} a row twice", where=where, expected="each row once")
