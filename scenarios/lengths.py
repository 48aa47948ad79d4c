"""Run lengths from a CSV beside a scenario: how many turns each replication has.

A path and a column in; whole numbers of turns out, one a row. What a published study measured of
each of its tasks is an input of a scenario that holds a policy to that study.
"""

from __future__ import annotations

from pathlib import Path

from scenarios.cells import numbered_rows
from simulator.errors import InputError, nearest_name

MOST_TURNS = 10**6
"""Turns that a run may have."""


def read_lengths(path: Path, column: str) -> tuple[int, ...]:
    """Return the numbers of one column of a CSV with a header.

    Parameters
    ----------
    path : Path
        The CSV.
    column : str
        Name of the column that holds turns.

    Raises
    ------
    InputError
        There is no such file or column, no row, or a cell that is no number of turns.
    """
    lengths = []
    for number, line in numbered_rows(path, "a CSV of run lengths", ()):
        if column not in line:
            raise InputError(
                f"no column is named {column!r}",
                where=str(path),
                expected=f"one of {', '.join(line)}",
                nearest=nearest_name(column, line),
            )
        lengths.append(_turns(line[column], f"{path}: row {number}: {column}"))
    if not lengths:
        raise InputError("has no row", where=str(path), expected="a header, and one a replication")
    return tuple(lengths)


def _turns(cell: str | None, where: str) -> int:
    """Return a cell as a number of turns."""
    text = (cell or "").strip()
    turns = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_TURNS)) else 0
    if not 1 <= turns <= MOST_TURNS:
        raise InputError(f"{text!r} is no number of turns", where=where, expected=f"1 to {MOST_TURNS:,}")
    return turns
