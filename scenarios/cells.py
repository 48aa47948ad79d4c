"""The cells of a CSV beside a scenario: its header is checked once, its rows as they come.

Path and known columns in; numbered rows out, each a mapping of column to text. What a cell means is the
business of whoever reads it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from simulator.catalogue import read_text
from simulator.errors import InputError, nearest_name


def numbered_rows(path: Path, what: str, known: Collection[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV with their numbers from 1.

    Parameters
    ----------
    path : Path
        The CSV, with a header.
    what : str
        What it is, for messages.
    known : collection of str
        Columns that it may have; none for any.

    Raises
    ------
    InputError
        It cannot be read, its header names a column twice or an unknown one, or a row is too long.
    """
    text = read_text(path, what).removeprefix("\ufeff")
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    number = 0
    try:
        _require_header(reader.fieldnames or (), known, str(path))
        for number, line in enumerate(reader, 1):
            if None in line:
                raise InputError("has more cells than the header", where=f"{path}: row {number}")
            yield number, {column: cell or "" for column, cell in line.items()}
    except csv.Error as fault:
        raise InputError(f"not CSV: {fault}", where=f"{path}: row {number + 1}") from None


def _require_header(columns: Sequence[str], known: Collection[str], where: str) -> None:
    for place, column in enumerate(columns):
        if column in columns[:place]:
            what = f"column {column!r} stands twice"
            raise InputError(what, where=f"{where}: header", expected="each once")
        if known and column not in known:
            raise InputError(
                f"unknown column {column!r}",
                where=f"{where}: header",
                expected=f"of {', '.join(known)}",
                nearest=nearest_name(column, known),
            )
