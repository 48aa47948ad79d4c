"""All responses of a sweep, setting by setting, as a table of means with their intervals.

In: one row a setting and response, as `experiments.results` gives it. Out: one figure that is a table.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.plots.ruled_table import Cell, Head, ruled_table
from experiments.plots.style import TWO_COLUMNS, styled
from experiments.plots.tables import (
    DASH,
    axis_label,
    fixed_words,
    needed_decimals,
    require_columns,
    shown_decimals,
)
from simulator.errors import InputError

COLUMNS = ("setting", "response", "mean", "low", "high")
MORE_DECIMALS = 2
"""That a column may have beyond those of its largest mean."""

ROUNDING = 1e-9
"""Relative width of an interval below which it is the rounding of sums."""


@styled
def means_table(
    table: pd.DataFrame,
    *,
    labels: Mapping[str, tuple[str, str]] | None = None,
    corner: str = "",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw means with their intervals as a table of settings and responses.

    A column has as many decimals in each of its cells; where all runs are alike the mean stands alone.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: ``setting`` (a row of the figure), ``response`` (a column), ``mean``, ``low`` and
        ``high`` (in the response's unit; missing where no run has it).
    labels : mapping of str to (str, str), optional
        The words for a response, and its unit, which stands under them; made from its name if not given.
    corner : str
        What the settings are, above their column.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or gives a cell twice.

    Examples
    --------
    >>> table = pd.DataFrame({"setting": ["a", "b"], "response": "usd", "mean": [90.0, 90.5],
    ...     "low": [90.0, 90.0], "high": [90.0, 91.0]})
    >>> [words.get_text() for words in means_table(table).axes[0].texts][-3:]
    ['90.00', '90.50', '90.00 to 91.00']
    """
    require_columns(table, COLUMNS, "means")
    twice = table[table.duplicated(["setting", "response"])]
    if not twice.empty:
        raise InputError(
            f"{twice['response'].iloc[0]!r} is given twice for {twice['setting'].iloc[0]!r}",
            where="table of means",
            expected="one row a setting and response",
        )
    settings = [str(name) for name in table["setting"].unique()]
    cells: dict[tuple[int, int], Cell] = {}
    heads = []
    for column, (name, own) in enumerate(table.groupby("response", sort=False)):
        heads.append(Head(*(labels or {}).get(str(name), (axis_label(str(name)), ""))))
        decimals = _decimals(own)
        for row in own.to_dict("records"):
            cells[settings.index(str(row["setting"])), column] = _cell(row, decimals)
    return ruled_table(settings, heads, cells, corner=corner, width=width)


def _decimals(column: pd.DataFrame) -> int:
    """Return the decimals of a column: two digits of each half-width, as far as the largest mean leaves room.

    A mean whose interval has no width, or none that is known, needs the decimals that tell its three digits.
    """
    needed, largest = [0], 0.0
    for mean, low, high in column[["mean", "low", "high"]].to_numpy(dtype=float).tolist():
        if math.isnan(mean):
            continue
        largest = max(largest, abs(mean))
        bare = _is_bare(low, high)
        needed.append(needed_decimals(mean) if bare else max(0, shown_decimals((high - low) / 2) - 1))
    return min(shown_decimals(largest) + MORE_DECIMALS, max(needed))


def _is_bare(low: float, high: float) -> bool:
    """Say whether a mean stands alone: its interval is not known, or has no width but that of rounding."""
    return not math.isfinite(low + high) or math.isclose(low, high, rel_tol=ROUNDING)


def _cell(row: Mapping[Hashable, Any], decimals: int) -> Cell:
    if pd.isna(row["mean"]):
        return Cell(DASH)
    mean, low, high = (float(row[key]) for key in ("mean", "low", "high"))
    words = fixed_words(mean, decimals)
    if _is_bare(low, high):
        return Cell(words)
    return Cell(words, (f"{fixed_words(low, decimals)} to {fixed_words(high, decimals)}",))
