"""Run lengths from a CSV beside a scenario: how many turns each replication has.

A path and a column in; whole numbers of turns out, one a row. What a published study measured of
each of its tasks is an input of a scenario that holds a policy to that study.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from simulator.catalogue import read_text
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
    text = read_text(path, "a CSV of run lengths").removeprefix("\ufeff")
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    lengths = []
    try:
        columns = reader.fieldnames or ()
        if column not in columns:
            raise InputError(
                f"no column is named {column!r}",
                where=str(path),
                expected=f"one of {', '.join(columns)}" if columns else "a header",
                nearest=nearest_name(column, columns),
            )
        for number, line in enumerate(reader, 1):
            lengths.append(_turns(line[column], f"{path}: row {number}: {column}"))
    except csv.Error as fault:
        raise InputError(f"not CSV: {fault}", where=f"{path}: row {len(lengths) + 1}") from None
    if not lengths:
        raise InputError("has no row", where=str(path), expected="one a replication")
    return tuple(lengths)


def _turns(cell: str | None, where: str) -> int:
    """Return a cell as a number of turns."""
    text = (cell or "").strip()
    turns = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_TURNS)) else 0
    if not 1 <= turns <= MOST_TURNS:
        raise InputError(f"{text!r} is no number of turns", where=where, expected=f"1 to {MOST_TURNS:,}")
    return turns
