"""What changes a response, with its interval: differences to a baseline as a table, effects as a forest.

In: one row an estimate, as `experiments.analyses.contrasts` gives it. Out: one figure. Where a difference is
told from 0 the mark says so by its shape, the colour only repeats it or says which way is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import noted
from experiments.plots.ruled_table import CELL_SIZE, Cell, Head, ruled_table
from experiments.plots.style import (
    COST,
    GAIN,
    INK,
    MUTED,
    TWO_COLUMNS,
    legend_above,
    new_figure,
    styled,
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
from experiments.statistics.multiple import SURE
from simulator.errors import InputError

ABOVE_MARK, BELOW_MARK = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"
ABOVE_COLOUR, BELOW_COLOUR = "#fbe3d2", "#e6f0f8"
GOOD_COLOUR, BAD_COLOUR = BELOW_COLOUR, ABOVE_COLOUR
FOREST_ROW_INCHES = 0.2
HIGHEST_ORDER = 2
"""Of the effects in a forest."""
COLUMNS = ("response", "mean", "low", "high", "n")
Better = Literal["lower", "higher"]


@styled
def difference_table(
    table: pd.DataFrame,
    *,
    baseline: str,
    replications: int,
    labels: Mapping[str, str] | None = None,
    corner: str = "",
    better: Better | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw paired differences to a baseline as a table of levels and responses.

    A cell has the mean difference and its interval; a triangle points up where the difference is told from
    0 and above it, and down where it is below: by its interval, or by the adjusted p where there is one. The
    first line says how many replications there are, the last ones what
    the triangles mean and how many pairs failed runs left out.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: ``level`` (a row of the figure), ``response`` (a column), ``mean``, ``low`` and
        ``high`` (in the response's unit), ``n`` (pairs), ``failed`` and ``missing`` (pairs left out);
        ``adjusted_p`` where several comparisons were corrected for.
    baseline : str
        The level that the others are held to.
    replications : int
        Of each level.
    labels : mapping of str to str, optional
        The words for a response; made from its name if not given.
    corner : str
        What the levels are, above their column.
    better : {"lower", "higher"}, optional
        Which way is good for all responses; colours then say better or worse, and not above or below.
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
    return ruled_table(
        levels,
        [Head(axis_label(name, labels)) for name in responses],
        {
            (levels.index(str(row["level"])), responses.index(str(row["response"]))): _cell(
                row, replications, better
            )
            for row in table.to_dict("records")
        },
        corner=corner,
        above=f"{_counted(replications, 'replication')}; differences to {baseline!r} in the same world: "
        f"mean, and its 95% interval",
        below=_notes(table, better),
        width=width,
    )


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
    a higher order are not drawn; how many they are is said beneath.

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
    on_response = table[table["response"] == response]
    own = on_response[on_response["order"] <= HIGHEST_ORDER]
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
    if higher := len(on_response) - len(own):
        stand = "stands" if higher == 1 else "stand"
        words = f"{_counted(higher, 'interaction')} of three factors and more {stand} in the table."
        return noted(figure, words)
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


def _cell(row: Mapping[Any, Any], replications: int, better: Better | None) -> Cell:
    """Return one cell, its numbers with as many decimals as the neediest has."""
    pairs = _counted(int(row["n"]), "pair") if row["n"] < replications else ""
    if pd.isna(row["mean"]):
        return Cell(DASH, (pairs,))
    numbers = [float(row[name]) for name in ("mean", "low", "high")]
    finite = [abs(number) for number in numbers if math.isfinite(number)]
    decimals = min(shown_decimals(max(finite)), max(needed_decimals(number) for number in finite))
    mean, low, high = (fixed_words(number, decimals) if math.isfinite(number) else DASH for number in numbers)
    plus = "+" if row["mean"] > 0 else ""
    under = (f"{low} to {high}" if math.isfinite(row["low"]) else "", pairs)
    if not _is_told(row):
        return Cell(f"{plus}{mean}", under)
    above = row["mean"] > 0
    mark = ABOVE_MARK if above else BELOW_MARK
    ground = ABOVE_COLOUR if above else BELOW_COLOUR
    if better is not None:
        ground = GOOD_COLOUR if above == (better == "higher") else BAD_COLOUR
    return Cell(f"{plus}{mean} {mark}", under, ground=ground, bold=True)


def _is_told(row: Mapping[Any, Any]) -> bool:
    """Say whether a difference is told from 0: by its p value adjusted for all of them, or its interval."""
    if "adjusted_p" in row:
        return bool(row["adjusted_p"] <= SURE)
    return excludes_zero(row["low"], row["high"])


def _notes(table: pd.DataFrame, better: Better | None) -> list[str]:
    """Return what stands under the table."""
    both = f"{ABOVE_MARK} {BELOW_MARK}"
    if "adjusted_p" in table:
        notes = [f"{both} above or below 0: p at most {SURE:g}, adjusted for all cells (Holm)"]
    else:
        notes = [
            f"{both} the interval lies above or below 0: chance alone does that to 1 cell in 20 where there "
            f"is no difference"
        ]
    if better is not None:
        notes.append(f"{better} is better: a blue ground is better than the baseline, an orange one worse")
    failed = int(table.groupby("level", sort=False)["failed"].max().sum())
    left_out = [f"{_counted(failed, 'pair')} because a run failed"] if failed else []
    if (table["missing"] > 0).any():
        left_out.append("pairs of which a run has no value")
    if left_out:
        notes.append(f"Left out: {' and '.join(left_out)}")
    return notes


def _counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> _counted(1, "pair"), _counted(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
