"""A response over two factors, as a table of coloured cells.

In: one row a design point. Out: one figure. Nothing is estimated here but the mean of rows that share
a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure

from experiments.plots.style import (
    INK,
    ONE_COLUMN,
    PALE,
    new_figure,
    styled,
    text_inches,
)
from experiments.plots.tables import (
    axis_label,
    number_words,
    require_columns,
    tick_words,
    words_alike,
)
from simulator.errors import InputError

WORDS_UP_TO = 12
"""Cells a side up to which each cell says its value."""


@styled
def heat_table(
    points: pd.DataFrame,
    x: str,
    y: str,
    value: str,
    *,
    labels: Mapping[str, str] | None = None,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw one response over two factors as a table of coloured cells.

    Cells are equally large, whatever the steps of the factors. Values on both sides of zero get two
    hues that meet at zero. Rows that share a cell count as their mean; a cell without rows is hatched.

    Parameters
    ----------
    points : pandas.DataFrame
        A row a design point.
    x, y, value : str
        Columns of the two factors and of the response.
    labels : mapping of str to str, optional
        The words for an axis, by column; made from the column's name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows or no value, or lacks a column.
    """
    require_columns(points, (x, y, value), "points")
    if points[value].isna().all():
        raise InputError(f"nothing to draw: every {value!r} is missing", where="table 'points'")
    grid = points.pivot_table(index=y, columns=x, values=value, aggfunc="mean", dropna=False)
    values = grid.to_numpy(dtype=float)
    rows, columns = values.shape
    figure = new_figure(width, min(max(1.1 + 0.27 * rows, 2.0), 1.1 * width))
    axes = figure.add_subplot()
    axes.grid(visible=False)
    axes.set_facecolor(PALE)
    axes.patch.set(hatch="xxxx", edgecolor="#bdbdbd")
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    norm: Normalize
    if least < 0 < most:
        far = max(-least, most)
        norm = TwoSlopeNorm(0.0, -far, far)
        colours = matplotlib.colormaps["PuOr"]
    else:
        norm = Normalize(least, most if most > least else least + 1.0)
        colours = matplotlib.colormaps["cividis"]
    mesh = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        np.ma.masked_invalid(values),
        norm=norm,
        cmap=colours,
        edgecolors="white",
        linewidth=0.6,
    )
    if max(rows, columns) <= WORDS_UP_TO:
        words = words_alike(values[np.isfinite(values)].tolist())
        room = 0.85 * (width - 1.4) / columns
        size = float(np.clip(7.0 * room / max(text_inches(word, 7.0) for word in words), 4.5, 7.0))
        for row, column, word in zip(*np.nonzero(np.isfinite(values)), words, strict=True):
            number = float(values[row, column])
            axes.text(
                float(column),
                float(row),
                word,
                ha="center",
                va="center",
                fontsize=size,
                color=_readable_on(colours(norm(number))),
            )
    axes.set_xticks(range(columns), [_level_words(level) for level in grid.columns])
    axes.set_yticks(range(rows), [_level_words(level) for level in grid.index])
    for axis, count, most in ((axes.xaxis, columns, WORDS_UP_TO), (axes.yaxis, rows, 2 * WORDS_UP_TO)):
        for place, label in enumerate(axis.get_ticklabels()):
            label.set_visible(place % max(1, -(-count // most)) == 0)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(axis_label(y, labels))
    bar = figure.colorbar(mesh, ax=axes, fraction=0.06, pad=0.02, format=tick_words)
    bar.set_label(axis_label(value, labels))
    bar.outline.set_visible(False)
    return figure


def _level_words(level: object) -> str:
    return number_words(float(level)) if isinstance(level, (int, float, np.number)) else str(level)


SCREEN_GAMMA, LUMINANCE_WEIGHTS = 2.2, (0.2126, 0.7152, 0.0722)
EQUAL_CONTRAST = 0.2
"""The luminance on which ink and white can be read equally well."""


def _readable_on(colour: Sequence[float]) -> str:
    """Return ink or white, whichever has more contrast with the colour (WCAG, with a plain gamma)."""
    luminance = sum(
        weight * part**SCREEN_GAMMA for weight, part in zip(LUMINANCE_WEIGHTS, colour[:3], strict=True)
    )
    return INK if luminance > EQUAL_CONTRAST else "white"
