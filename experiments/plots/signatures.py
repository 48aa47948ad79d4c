"""Which signatures hold under which setting of the switches, as a table.

In: one row a setting and signature, with its value and verdict. Out: one figure that is a table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.plots.ruled_table import Cell, Head, Mark, ruled_table
from experiments.plots.style import TWO_COLUMNS, styled
from experiments.plots.tables import DASH, fixed_words, needed_decimals, require_columns, shown_decimals
from simulator.errors import InputError

PASS_COLOUR, MISS_COLOUR = "#e6f0f8", "#fbe3d2"
PASS, MISS = Mark("\N{CHECK MARK}", "#0a4f7d"), Mark("\N{BALLOT X}", "#a33c00")
NUMBERS = (int, float, np.number)


@styled
def signature_table(
    table: pd.DataFrame,
    *,
    setting: str = "setting",
    signature: str = "signature",
    value: str = "value",
    passed: str = "passed",
    width: float = TWO_COLUMNS,
    corner: str = "",
) -> Figure:
    """Draw which signatures hold under which setting of the switches, as a table.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: the setting (a row of the figure), the signature (a column), its value (a number
        or words) and whether it passed (true, false, or missing: not judged). A column ``documented``
        is shown under the signature's name. Rows and columns keep the order of the table.
    setting, signature, value, passed : str
        Names of these columns.
    width : float
        Inches.
    corner : str
        What the settings are, above their column.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or gives a cell twice.
    """
    require_columns(table, (setting, signature, value, passed), "table")
    twice = table[table.duplicated([setting, signature])]
    if not twice.empty:
        raise InputError(
            f"{twice[signature].iloc[0]!r} is given twice for {twice[setting].iloc[0]!r}",
            where="table of signatures",
            expected="one row a setting and signature",
        )
    settings = [str(name) for name in table[setting].unique()]
    signatures = [str(name) for name in table[signature].unique()]
    heads = [Head(name, _documented(table[table[signature].astype(str) == name])) for name in signatures]
    cells = {
        (settings.index(row), signatures.index(column)): _cell(words, None if pd.isna(verdict) else verdict)
        for row, column, words, verdict in zip(
            table[setting].astype(str),
            table[signature].astype(str),
            _cell_words(table, setting, signature, value),
            table[passed],
            strict=True,
        )
    }
    return ruled_table(settings, heads, cells, corner=corner, width=width)


def _cell(words: str, verdict: object) -> Cell:
    """Return a cell with its verdict, if there is one."""
    if verdict is None:
        return Cell(words, muted=True)
    return (
        Cell(words, ground=PASS_COLOUR, mark=PASS) if verdict else Cell(words, ground=MISS_COLOUR, mark=MISS)
    )


def _documented(rows: pd.DataFrame) -> str:
    """Return what is documented about a signature, or nothing."""
    stated = rows["documented"].dropna() if "documented" in rows.columns else rows[:0]
    return str(stated.iloc[0]) if len(stated) else ""


def _cell_words(table: pd.DataFrame, setting: str, signature: str, value: str) -> list[str]:
    """Return the words of each cell: numbers with three digits, but whole where its row or column is."""
    numbers = table[value].map(lambda cell: float(cell) if isinstance(cell, NUMBERS) else np.nan)
    needed = numbers.map(needed_decimals)
    most = [needed.groupby(table[key]).transform("max") for key in (setting, signature)]
    return [
        fixed_words(number, min(shown_decimals(number), by_column) if by_row else 0)
        if np.isfinite(number)
        else (DASH if pd.isna(cell) else str(cell))
        for cell, number, by_row, by_column in zip(table[value], numbers, *most, strict=True)
    ]
