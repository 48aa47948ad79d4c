"""Which signatures hold under which setting of the switches, as a table.

In: one row a setting and signature, with its value and verdict. Out: one figure that is a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    pieces_of,
    styled,
    text_inches,
    wrapped,
)
from experiments.plots.tables import (
    DASH,
    fixed_words,
    needed_decimals,
    require_columns,
    shown_decimals,
)
from simulator.errors import InputError

PASS_COLOUR, MISS_COLOUR = "#e6f0f8", "#fbe3d2"
PASS_MARK, MISS_MARK = "\N{CHECK MARK}", "\N{BALLOT X}"
TABLE_SIZE, HEAD_SIZE, LEAST_SIZE = 7.5, 7.0, 5.0
TABLE_ROW_INCHES, HEAD_LINE_INCHES = 0.27, 0.14
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
    first = min(max(text_inches(name, TABLE_SIZE) for name in [*settings, corner]) + 0.16, 0.4 * width)
    labels = [wrapped(name, first - 0.1, TABLE_SIZE) for name in settings]
    row = TABLE_ROW_INCHES + HEAD_LINE_INCHES * max(label.count("\n") for label in labels)
    column = (width - first - 0.1) / len(signatures)
    heads = _heads([_documented(table[table[signature].astype(str) == name]) for name in signatures], column)
    names = _heads(signatures, column)
    head = HEAD_LINE_INCHES * (names.lines + heads.lines) + 0.14
    body = row * len(settings)

    figure = new_figure(width, head + body + 0.1)
    figure.set_layout_engine("none")  # each part has its place in inches
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.05, width - 0.05)
    axes.set_ylim(body + 0.05, -head - 0.05)
    axes.plot([0, width - 0.1], [0, 0], color=INK, lw=0.9)
    axes.plot([0, width - 0.1], [body, body], color=INK, lw=0.9)
    axes.text(
        0.04, -0.07, wrapped(corner, first - 0.1, HEAD_SIZE), va="baseline", fontsize=HEAD_SIZE, color=MUTED
    )
    for place, (name, documented) in enumerate(zip(names.texts, heads.texts, strict=True)):
        centre = first + (place + 0.5) * column
        style: dict[str, Any] = {"ha": "center", "va": "baseline", "linespacing": 1.1}
        axes.text(
            centre,
            -0.07 - HEAD_LINE_INCHES * heads.lines,
            name,
            fontsize=names.size,
            weight="bold",
            **style,
        )
        axes.text(centre, -0.07, documented, fontsize=heads.size, color=MUTED, **style)
    for place, label in enumerate(labels):
        axes.text(0.04, (place + 0.5) * row, label, va="center", fontsize=TABLE_SIZE, linespacing=1.1)
    for setting_name, signature_name, words, verdict in zip(
        table[setting].astype(str),
        table[signature].astype(str),
        _cell_words(table, setting, signature, value),
        table[passed],
        strict=True,
    ):
        left = first + signatures.index(signature_name) * column
        top = settings.index(setting_name) * row
        _draw_cell(axes, left, top, (column, row), words, None if pd.isna(verdict) else bool(verdict))
    return figure


class _Heads(NamedTuple):
    """Texts over the columns, in lines, at the size at which the longest of their words fits."""

    texts: list[str]
    size: float
    lines: int


def _heads(texts: Sequence[str], inches: float) -> _Heads:
    """Return texts as they fit over columns of this width."""
    room = inches - 0.06
    widest = max(
        (
            text_inches(piece.rstrip(), HEAD_SIZE, weight="bold")
            for text in texts
            for piece in pieces_of(text)
        ),
        default=0.0,
    )
    size = min(HEAD_SIZE, max(LEAST_SIZE, HEAD_SIZE * room / widest)) if widest else HEAD_SIZE
    lines = [wrapped(text, room, size, weight="bold") for text in texts]
    return _Heads(lines, size, max((text.count("\n") + 1 for text in lines if text), default=0))


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


def _draw_cell(
    axes: Axes, left: float, top: float, size: tuple[float, float], words: str, verdict: bool | None
) -> None:
    inches, height = size
    middle = top + height / 2
    if verdict is not None:
        axes.add_patch(
            Rectangle(
                (left + 0.02, top + 0.02),
                inches - 0.04,
                height - 0.04,
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
