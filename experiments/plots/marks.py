"""What several figures draw alike: an estimate with its interval, names of rows, what was left out.

In: axes, places in data units, names as files give them. Out: marks on the axes. A name stands for
itself: it is cut where it is too long, and no sign in it is read as mathematics or markup.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from experiments.plots.style import (
    LEGEND_SIZE,
    MUTED,
    Dashes,
    PolicyStyle,
    house_layout,
    lay_out,
    legend_above,
    styled,
    text_inches,
    wrapped,
)
from simulator.errors import InputError

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
LABEL_SIZE, NAME_SIZE, NOTE_SIZE = 8.0, 7.5, 7.0
"""Points, for the words of an axis, a row and a note; the first two are those of the style file."""

NOTE_LINE_INCHES = 0.12
"""Height of a line of a note."""

ROW_INCHES, LINE_INCHES = 0.29, 0.18
"""Heights of a row whose name may take two lines, and of one whose name takes one."""

LINE_SPACING = 0.95
"""Of the lines of a row's name, so that they stand nearer to one another than to the next row's."""

LEGEND_NAME_INCHES, LEGEND_ROW_INCHES = 2.7, 0.2
FEW_NAMES = 4
"""So many names a legend holds in the room that each figure has for it."""

NO_SPREAD = 1e-9
"""Share of their size by which values differ that an axis takes for equal."""

UNKNOWN = (math.nan, math.nan)
"""The ends of an interval that is not there."""


def fitted(name: str, inches: float, size: float, *, lines: int = 2, weight: str = "normal") -> str:
    r"""Return `name` in at most so many lines of at most `inches`, cut in the middle where it must be.

    >>> fitted("gate-only", 2.0, 8), fitted("a" * 40, 0.7, 8, lines=1)
    ('gate-only', 'aaaaaa…aa')
    """
    whole = " ".join(name.split())

    def shown(kept: int) -> str:
        tail = kept // 3
        cut = whole if kept == len(whole) else whole[: kept - tail] + ELLIPSIS + whole[len(whole) - tail :]
        return wrapped(cut, inches, size, weight=weight)

    def fits(kept: int) -> bool:
        found = shown(kept).split("\n")
        return len(found) <= lines and all(text_inches(line, size, weight=weight) <= inches for line in found)

    lengths = range(len(whole), 0, -1)  # the whole name first, then ever fewer of its letters
    place = 0 if fits(len(whole)) else bisect.bisect_left(lengths, True, key=fits)
    return shown(lengths[place]) if place < len(lengths) else ELLIPSIS


def name_rows(axes: Axes, names: Sequence[str], inches: float, *, lines: int = 2) -> None:
    """Write the names of the rows 0, 1, ... at the left, the first one highest."""
    words = [fitted(name, inches, NAME_SIZE, lines=lines) for name in names]
    axes.set_yticks(range(len(names)), words, linespacing=LINE_SPACING)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def draw_estimate(
    axes: Axes,
    place: tuple[float, float],
    style: PolicyStyle,
    *,
    x_ends: tuple[float, float] = UNKNOWN,
    y_ends: tuple[float, float] = UNKNOWN,
    filled: bool = True,
) -> None:
    """Draw a mark with its intervals along x and y, each only where both of its ends are finite."""
    x, y = place
    x_ends, y_ends = (ends if np.isfinite(ends).all() else UNKNOWN for ends in (x_ends, y_ends))
    for xs, ys, cap in ((x_ends, (y, y), "|"), ((x, x), y_ends, "_")):
        axes.plot(xs, ys, color=style.colour, linewidth=1.1, marker=cap, markersize=5, zorder=2.5)
    axes.plot(
        x,
        y,
        linestyle="none",
        color=style.colour,
        marker=style.marker,
        markerfacecolor=style.colour if filled else "white",
        markersize=5,
        zorder=3,
    )


def spread_equal(axes: Axes, axis: Literal["x", "y"]) -> None:
    """Give an axis on which all values are equal a range: from 0 to 1 if they are 0, else a tenth around."""
    low, high = axes.dataLim.intervalx if axis == "x" else axes.dataLim.intervaly
    if high - low <= NO_SPREAD * abs(high):
        around = 0.1 * abs(high)
        axes.set(**{f"{axis}lim": (-0.1, 1.0) if high == 0 else (high - around, high + around)})


def handle(
    name: str, style: PolicyStyle, *, dashes: Dashes = "none", marker: str | None = None, filled: bool = True
) -> Line2D:
    """Return the entry of a legend for a name and its style, as a mark unless dashes are given."""
    return Line2D(
        [],
        [],
        color=style.colour,
        linestyle=dashes,
        marker=style.marker if marker is None else marker,
        markerfacecolor=style.colour if filled else "white",
        label=fitted(name, LEGEND_NAME_INCHES, LEGEND_SIZE, lines=1),
    )


def legend_with_room(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend above the axes, as `legend_above` does, and make a figure of many names higher by it."""
    legend_above(figure, handles)
    if len(handles) > FEW_NAMES:
        make_room(figure, figure.legends[-1], LEGEND_ROW_INCHES)


def make_room(figure: Figure, legend: Legend, has: float = 0.0) -> None:
    """Make a figure higher by a legend, for which it has so many inches."""
    lay_out(figure)  # only now it is known how many rows the legend has
    extra = legend.get_window_extent().height / figure.dpi - has
    figure.set_figheight(figure.get_figheight() + extra)


def with_numbers(table: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """Return the rows that have all these numbers. Raises `InputError` if there is none."""
    rows: pd.DataFrame = table.loc[_have_numbers(table, columns)]
    if rows.empty:
        raise InputError(
            f"nothing to draw: no row has a number for {' and '.join(map(repr, columns))}",
            where=f"table {name!r}",
        )
    return rows


def write_note(figure: Figure, words: str) -> None:
    """Write words under everything else, and beneath an earlier note, in a figure not yet laid out."""
    width = figure.get_figwidth()
    note = wrapped(words, width - 0.2, NOTE_SIZE)
    if figure.get_supxlabel():
        note = f"{figure.get_supxlabel()}\n{note}"
    figure.supxlabel(note, x=0.1 / width, ha="left", fontsize=NOTE_SIZE, color=MUTED)


@styled
def noted(figure: Figure, words: str) -> Figure:
    """Return a finished figure with words under everything else, higher by their lines."""
    figure.set_layout_engine(house_layout())
    before = figure.get_supxlabel()
    write_note(figure, words)
    lines = figure.get_supxlabel().count("\n") - before.count("\n") + (not before)
    figure.set_figheight(figure.get_figheight() + lines * NOTE_LINE_INCHES)
    return figure


def note_left_out(
    figure: Figure, table: pd.DataFrame, columns: Sequence[str], by: str, reason: str = "Without a value"
) -> None:
    """Write under everything else the names of the rows that `with_numbers` leaves out."""
    if words := left_out(table, columns, by, reason):
        write_note(figure, words)


def left_out(table: pd.DataFrame, columns: Sequence[str], by: str, reason: str = "Without a value") -> str:
    """Return the names of the rows that `with_numbers` leaves out, in words; empty if there is none."""
    names = [str(name) for name in table.loc[~_have_numbers(table, columns), by].unique()]
    return f"{reason}: {', '.join(names)}" if names else ""


def _have_numbers(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.bool_]:
    numbers = table[list(columns)].to_numpy(dtype=float)
    return np.array(np.isfinite(numbers).all(axis=1))
