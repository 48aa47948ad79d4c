"""What changes a response, with its interval: differences to a baseline as a table, effects as a forest.

In: one row an estimate, as `experiments.effects` gives it. Out: one figure. Where an interval leaves out
0 the mark says so by its shape, the colour only repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from experiments.plots.style import (
    COST,
    GAIN,
    INK,
    MUTED,
    TWO_COLUMNS,
    legend_above,
    new_figure,
    pieces_of,
    styled,
    text_inches,
    wrapped,
)
from experiments.plots.tables import (
    DASH,
    axis_label,
    fixed_words,
    needed_decimals,
    require_columns,
    shown_decimals,
    tick_words,
)
from experiments.statistics import excludes_zero
from simulator.errors import InputError

ABOVE_MARK, BELOW_MARK = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"
ABOVE_COLOUR, BELOW_COLOUR = "#fbe3d2", "#e6f0f8"
CELL_SIZE, HEAD_SIZE, LEAST_SIZE = 7.5, 7.0, 4.5
LINE_INCHES, ROOM_INCHES = 0.14, 0.12
"""Height of a line of words in a table, and what stands empty around the lines of a cell."""
FOREST_ROW_INCHES = 0.2
HIGHEST_ORDER = 2
"""Of the effects in a forest."""
COLUMNS = ("response", "mean", "low", "high", "n")


class _Cell(NamedTuple):
    """The words of one cell: the estimate, its interval, and its pairs where they are not all."""

    mean: str
    interval: str
    pairs: str
    colour: str | None


@styled
def difference_table(
    table: pd.DataFrame,
    *,
    baseline: str,
    replications: int,
    labels: Mapping[str, str] | None = None,
    corner: str = "",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw paired differences to a baseline as a table of levels and responses.

    A cell has the mean difference and its interval; a triangle points up where the interval lies above 0
    and down where it lies below. The first line says how many replications there are, the last ones what
    the triangles mean and how many pairs failed runs left out.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: ``level`` (a row of the figure), ``response`` (a column), ``mean``, ``low`` and
        ``high`` (in the response's unit), ``n`` (pairs), ``failed`` and ``missing`` (pairs left out).
    baseline : str
        The level that the others are held to.
    replications : int
        Of each level.
    labels : mapping of str to str, optional
        The words for a response; made from its name if not given.
    corner : str
        What the levels are, above their column.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows or no estimate, lacks a column, or gives a cell twice.
    """
    require_columns(table, ("level", *COLUMNS, "failed", "missing"), "differences")
    _require_estimates(table, ["level", "response"])
    levels = [str(level) for level in table["level"].unique()]
    responses = [str(name) for name in table["response"].unique()]
    first = min(max(text_inches(name, CELL_SIZE) for name in [*levels, corner]) + 0.16, 0.3 * width)
    column = (width - first - 0.1) / len(responses)
    cells = [_cell(row, replications) for row in table.to_dict("records")]
    size = _fitting(
        [words for cell in cells for words in (f"{cell.mean} {ABOVE_MARK}", *cell.interval.split())],
        column,
        CELL_SIZE,
    )
    intervals = [wrapped(cell.interval, column - 0.06, size) for cell in cells]
    names = [wrapped(level, first - 0.1, CELL_SIZE) for level in levels]
    lines = 1 + max(words.count("\n") + 1 for words in intervals) + any(cell.pairs for cell in cells)
    row = LINE_INCHES * max(lines, *(name.count("\n") + 1 for name in names)) + ROOM_INCHES
    head_words = [axis_label(name, labels) for name in responses]
    head_size = _fitting([piece for words in head_words for piece in pieces_of(words)], column, HEAD_SIZE)
    heads = [wrapped(words, column - 0.06, head_size, weight="bold") for words in head_words]
    top = [
        *_paragraph(
            f"{_counted(replications, 'replication')}; differences to {baseline!r} in the same world: mean, "
            f"and its 95% interval",
            width,
        )
    ]
    notes = _notes(table, width)
    body = row * len(levels)
    head = LINE_INCHES * (max(words.count("\n") + 1 for words in heads) + len(top)) + 0.2
    foot = LINE_INCHES * len(notes) + 0.1

    figure = new_figure(width, head + body + foot + 0.1)
    figure.set_layout_engine("none")  # each part has its place in inches
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.05, width - 0.05)
    axes.set_ylim(body + foot + 0.05, -head - 0.05)
    axes.plot([0, width - 0.1], [0, 0], color=INK, lw=0.9)
    axes.plot([0, width - 0.1], [body, body], color=INK, lw=0.9)
    for place, line in enumerate(top):
        axes.text(0.04, LINE_INCHES * (place + 0.8) - head, line, va="baseline", fontsize=CELL_SIZE)
    for place, line in enumerate(notes):
        under = body + LINE_INCHES * (place + 1) + 0.04
        axes.text(0.04, under, line, va="baseline", fontsize=HEAD_SIZE, color=MUTED)
    axes.text(
        0.04, -0.07, wrapped(corner, first - 0.1, HEAD_SIZE), va="baseline", fontsize=HEAD_SIZE, color=MUTED
    )
    for place, words in enumerate(heads):
        centre = first + (place + 0.5) * column
        axes.text(
            centre,
            -0.07,
            words,
            ha="center",
            va="baseline",
            fontsize=head_size,
            weight="bold",
            linespacing=1.1,
        )
    for place, name in enumerate(names):
        axes.text(0.04, (place + 0.5) * row, name, va="center", fontsize=CELL_SIZE, linespacing=1.1)
    for level, response, cell, interval in zip(
        table["level"].astype(str), table["response"].astype(str), cells, intervals, strict=True
    ):
        corner_of = (first + responses.index(response) * column, levels.index(level) * row)
        _draw_cell(axes, corner_of, (column, row), cell._replace(interval=interval), size)
    return figure


@styled
def effect_forest(
    table: pd.DataFrame,
    response: str,
    *,
    replications: int,
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the effects on one response with their intervals: main effects first, then interactions of two.

    Main effects are circles and interactions squares, filled where the interval leaves out 0. Effects of
    a higher order are not drawn.

    Parameters
    ----------
    table : pandas.DataFrame
        A row an effect: ``response``, ``effect`` (its name), ``order`` (1 for main effects), ``mean``,
        ``low``, ``high`` (in the response's unit) and ``n`` (worlds).
    response : str
        The response that is drawn.
    replications : int
        Worlds that the design has.
    labels : mapping of str to str, optional
        The words for a response; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows or no estimate of the response, lacks a column, or gives an effect twice.
    """
    require_columns(table, (*COLUMNS, "effect", "order"), "effects")
    own = table[(table["response"] == response) & (table["order"] <= HIGHEST_ORDER)]
    require_columns(own, ("effect",), f"effects on {response}")
    _require_estimates(own, ["effect"])
    own = own.sort_values("order", kind="stable")
    worlds = int(own["n"].max())
    figure = new_figure(width, 1.0 + FOREST_ROW_INCHES * len(own))
    axes = figure.add_subplot()
    axes.grid(visible=False, axis="y")
    axes.axvline(0.0, color=INK, linewidth=0.9, zorder=1.5)
    mains = int((own["order"] == 1).sum())
    if 0 < mains < len(own):
        axes.axhline(mains - 0.5, color=MUTED, linewidth=0.6, linestyle=(0, (2, 2)))
    for place, row in enumerate(own.to_dict("records")):
        _draw_effect(axes, place, row)
    room = 0.4 * width
    axes.set_yticks(range(len(own)), [wrapped(str(name), room, CELL_SIZE) for name in own["effect"]])
    axes.set_ylim(len(own) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(tick_words)
    axes.set_xlabel(
        wrapped(f"Effect on {axis_label(response, labels)}, mean and 95% interval", 0.55 * width, 8)
    )
    counted = _counted(replications, "replication")
    if worlds < replications:
        counted = f"{worlds:,} of {counted}: in the others a run failed or has no value"
    axes.set_title(wrapped(counted, 0.55 * width, 8, weight="bold"))
    handles = [_handle("o", GAIN, GAIN, "main effect"), _handle("s", COST, COST, "interaction")]
    shown = handles if mains < len(own) else handles[:1]
    legend_above(figure, [*shown, _handle("o", MUTED, "white", "hollow: the interval holds 0")])
    return figure


def _require_estimates(table: pd.DataFrame, key: list[str]) -> None:
    """Raise InputError where nothing can be drawn, or a place would be drawn twice."""
    if table["mean"].isna().all():
        raise InputError("nothing to draw: every 'mean' is missing", where="table of contrasts")
    twice = table[table.duplicated(key)]
    if not twice.empty:
        raise InputError(
            f"{' of '.join(repr(str(twice[name].iloc[0])) for name in reversed(key))} is given twice",
            where="table of contrasts",
            expected=f"one row a {' and '.join(key)}",
        )


def _cell(row: Mapping[Any, Any], replications: int) -> _Cell:
    """Return the words of one cell, its numbers with as many decimals as the neediest has."""
    pairs = _counted(int(row["n"]), "pair") if row["n"] < replications else ""
    if pd.isna(row["mean"]):
        return _Cell(DASH, "", pairs, None)
    numbers = [float(row[name]) for name in ("mean", "low", "high")]
    finite = [abs(number) for number in numbers if math.isfinite(number)]
    decimals = min(shown_decimals(max(finite)), max(needed_decimals(number) for number in finite))
    mean, low, high = (fixed_words(number, decimals) if math.isfinite(number) else DASH for number in numbers)
    plus = "+" if row["mean"] > 0 else ""
    interval = f"{low} to {high}" if math.isfinite(row["low"]) else ""
    if not excludes_zero(row["low"], row["high"]):
        return _Cell(f"{plus}{mean}", interval, pairs, None)
    mark, colour = (ABOVE_MARK, ABOVE_COLOUR) if row["low"] > 0 else (BELOW_MARK, BELOW_COLOUR)
    return _Cell(f"{plus}{mean} {mark}", interval, pairs, colour)


def _notes(table: pd.DataFrame, width: float) -> list[str]:
    """Return what stands under the table, in lines."""
    notes = _paragraph(
        f"{ABOVE_MARK} {BELOW_MARK} the interval lies above or below 0: chance alone does that to 1 cell in "
        f"20 where there is no difference",
        width,
    )
    failed = int(table.groupby("level", sort=False)["failed"].max().sum())
    left_out = [f"{_counted(failed, 'pair')} because a run failed"] if failed else []
    if (table["missing"] > 0).any():
        left_out.append("pairs of which a run has no value")
    if left_out:
        notes += _paragraph(f"Left out: {' and '.join(left_out)}", width)
    return notes


def _paragraph(words: str, width: float) -> list[str]:
    return wrapped(words, width - 0.2, CELL_SIZE).split("\n")


def _fitting(words: list[str], inches: float, size: float) -> float:
    """Return the size at which the longest of these fits into a column, as far as it can be read."""
    widest = max((text_inches(word.rstrip(), size, weight="bold") for word in words), default=0.0)
    return min(size, max(LEAST_SIZE, size * (inches - 0.06) / widest)) if widest else size


def _counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> _counted(1, "pair"), _counted(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _draw_cell(
    axes: Axes, corner: tuple[float, float], size: tuple[float, float], cell: _Cell, points: float
) -> None:
    (left, top), (inches, height) = corner, size
    if cell.colour is not None:
        axes.add_patch(
            Rectangle(
                (left + 0.02, top + 0.02),
                inches - 0.04,
                height - 0.04,
                facecolor=cell.colour,
                edgecolor="none",
            )
        )
    under = [line for line in (*cell.interval.split("\n"), cell.pairs) if line]
    first = top + height / 2 - LINE_INCHES * len(under) / 2
    for place, line in enumerate([cell.mean, *under]):
        axes.text(
            left + inches / 2,
            first + LINE_INCHES * place,
            line,
            ha="center",
            va="center",
            fontsize=points,
            weight="bold" if place == 0 and cell.colour is not None else "normal",
            color=INK if place == 0 else MUTED,
        )


def _draw_effect(axes: Axes, place: int, row: Mapping[Any, Any]) -> None:
    if pd.isna(row["mean"]):
        axes.annotate(
            "no value", (0.0, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7
        )
        return
    low, high = row["low"], row["high"]
    colour, marker = (GAIN, "o") if row["order"] == 1 else (COST, "s")
    if np.isfinite([low, high]).all():
        axes.errorbar(
            row["mean"],
            place,
            xerr=[[row["mean"] - low], [high - row["mean"]]],
            linestyle="none",
            color=colour,
            elinewidth=1.1,
            capsize=3,
        )
    axes.plot(
        row["mean"],
        place,
        marker=marker,
        color=colour,
        markerfacecolor=colour if excludes_zero(low, high) else "white",
        linestyle="none",
        markersize=5,
        zorder=3,
    )


def _handle(marker: str, colour: str, face: str, words: str) -> Line2D:
    return Line2D(
        [],
        [],
        color=colour,
        marker=marker,
        markerfacecolor=face,
        linestyle="none",
        markersize=5,
        label=words,
    )
