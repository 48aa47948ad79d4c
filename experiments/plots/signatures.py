"""Which signatures hold under which setting of the switches, as a table.

In: one row a setting and signature, with its value and verdict. Out: one figure that is a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.plots.style import (
    INK,
    MUTED,
    TWO_COLUMNS,
    new_figure,
    styled,
    text_inches,
    wrapped,
)
from experiments.plots.tables import (
    require_columns,
    words_alike,
)
from simulator.contracts import InputError

PASS_COLOUR, MISS_COLOUR = "#e6f0f8", "#fbe3d2"
PASS_MARK, MISS_MARK = "\N{CHECK MARK}", "\N{BALLOT X}"
TABLE_SIZE, HEAD_SIZE = 7.5, 7.0
TABLE_ROW_INCHES, HEAD_LINE_INCHES = 0.27, 0.14


@styled
def signature_table(
    table: pd.DataFrame,
    *,
    setting: str = "setting",
    signature: str = "signature",
    value: str = "value",
    passed: str = "passed",
    width: float = TWO_COLUMNS,
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
    first = min(max(text_inches(name, TABLE_SIZE) for name in settings) + 0.16, 0.4 * width)
    column = (width - first - 0.1) / len(signatures)
    heads = [_head(table[table[signature].astype(str) == name], name, column) for name in signatures]
    head = HEAD_LINE_INCHES * max(text.count("\n") + 1 for text, _ in heads) + HEAD_LINE_INCHES + 0.14
    body = TABLE_ROW_INCHES * len(settings)

    figure = new_figure(width, head + body + 0.1)
    figure.set_layout_engine("none")  # each part has its place in inches
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.05, width - 0.05)
    axes.set_ylim(body + 0.05, -head - 0.05)
    axes.plot([0, width - 0.1], [0, 0], color=INK, lw=0.9)
    axes.plot([0, width - 0.1], [body, body], color=INK, lw=0.9)
    for place, (text, documented) in enumerate(heads):
        centre = first + (place + 0.5) * column
        below = HEAD_LINE_INCHES if documented else 0.0
        axes.text(
            centre,
            -0.1 - below,
            text,
            ha="center",
            va="baseline",
            fontsize=HEAD_SIZE,
            weight="bold",
            linespacing=1.1,
        )
        axes.text(centre, -0.1, documented, ha="center", va="baseline", fontsize=6.5, color=MUTED)
    for place, name in enumerate(settings):
        axes.text(0.04, (place + 0.5) * TABLE_ROW_INCHES, name, va="center", fontsize=TABLE_SIZE)
    shown_words = table.groupby(signature, sort=False)[value].transform(_cell_words)
    for setting_name, signature_name, words, verdict in zip(
        table[setting].astype(str), table[signature].astype(str), shown_words, table[passed], strict=True
    ):
        left = first + signatures.index(signature_name) * column
        top = settings.index(setting_name) * TABLE_ROW_INCHES
        _draw_cell(axes, left, top, column, words, None if pd.isna(verdict) else bool(verdict))
    return figure


def _cell_words(values: pd.Series[Any]) -> pd.Series[str]:
    """Return the words for one signature's values, the numbers among them with as many decimals each."""
    plain = [np.nan if pd.isna(value) else value for value in values]
    words = iter(words_alike([float(value) for value in plain if isinstance(value, (int, float, np.number))]))
    shown = [next(words) if isinstance(value, (int, float, np.number)) else str(value) for value in plain]
    return pd.Series(shown, index=values.index, dtype=object)


def _head(rows: pd.DataFrame, name: str, inches: float) -> tuple[str, str]:
    """Return the signature's name in lines, and what is documented about it."""
    documented = ""
    if "documented" in rows.columns:
        stated = rows["documented"].dropna()
        documented = str(stated.iloc[0]) if len(stated) else ""
    return wrapped(name, 0.85 * inches, HEAD_SIZE), documented


def _draw_cell(axes: Axes, left: float, top: float, inches: float, words: str, verdict: bool | None) -> None:
    middle = top + TABLE_ROW_INCHES / 2
    if verdict is not None:
        axes.add_patch(
            Rectangle(
                (left + 0.02, top + 0.02),
                inches - 0.04,
                TABLE_ROW_INCHES - 0.04,
                facecolor=PASS_COLOUR if verdict else MISS_COLOUR,
                edgecolor="none",
            )
        )
        axes.text(
            left + inches - 0.08,
            middle,
            PASS_MARK if verdict else MISS_MARK,
            ha="right",
            va="center",
            fontsize=TABLE_SIZE,
            color="#0a4f7d" if verdict else "#a33c00",
            weight="bold",
        )
    axes.text(
        left + (inches - (0.0 if verdict is None else 0.14)) / 2,
        middle,
        words,
        ha="center",
        va="center",
        fontsize=TABLE_SIZE,
        color=INK if verdict is not None else MUTED,
    )
