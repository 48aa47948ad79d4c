"""Where in the space of a design the agent spirals, gains too little, or is stable.

In: one row a design point with its regime. Out: one figure, with the analytic boundary over it.
Nothing is estimated here but the most frequent regime of rows that share a point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from experiments.plots.style import (
    INK,
    MUTED,
    ONE_COLUMN,
    legend_above,
    new_figure,
    styled,
)
from experiments.plots.tables import (
    axis_label,
    require_columns,
    tick_words,
)
from simulator.errors import InputError, nearest_name

Curve = Callable[[NDArray[np.float64]], ArrayLike] | tuple[ArrayLike, ArrayLike]


class RegimeStyle(NamedTuple):
    """How one regime is drawn: colours that differ in lightness, and a hatch for grey paper."""

    colour: str
    hatch: str
    marker: str


REGIMES = {
    "spiral": RegimeStyle("#e08a5b", "////", "X"),
    "insufficient": RegimeStyle("#f0d67c", "....", "s"),
    "stable": RegimeStyle("#dcecf7", "", "o"),
}
"""From worst to best; a tie between rows of one point goes to the worse."""

GRID_SHARE = 0.5
"""Points that fill less of their grid than this are drawn as points, not as cells."""


@styled
def phase_diagram(
    points: pd.DataFrame,
    x: str,
    y: str,
    regime: str = "regime",
    analytic: Curve | None = None,
    *,
    analytic_label: str = "freed = rewrite + measurement",
    labels: Mapping[str, str] | None = None,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw which regime holds where: spiral, insufficient, stable; with the analytic boundary over it.

    A grid is drawn as cells, other designs as points. Rows that share a point count once, as their most
    frequent regime.

    Parameters
    ----------
    points : pandas.DataFrame
        A row a design point.
    x, y : str
        Columns of the two factors.
    regime : str
        Column of the regime: ``spiral``, ``insufficient`` or ``stable``.
    analytic : callable or (xs, ys), optional
        The boundary as y for an array of x, or as two arrays.
    analytic_label : str
        What the boundary states.
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
        If the table has no rows, lacks a column, or names another regime.
    """
    require_columns(points, (x, y, regime), "points")
    for name in points[regime].unique():
        if name not in REGIMES:
            raise InputError(
                f"no regime {name!r}",
                where=f"column {regime!r}",
                expected=" | ".join(REGIMES),
                nearest=nearest_name(str(name), REGIMES),
            )
    worst_first = {name: rank for rank, name in enumerate(REGIMES)}
    cells = points.groupby([x, y])[regime].agg(
        lambda names: min(names.mode(), key=lambda name: worst_first[str(name)])
    )
    at_x = cells.index.get_level_values(0).to_numpy(dtype=float)
    at_y = cells.index.get_level_values(1).to_numpy(dtype=float)
    names = cells.to_numpy()
    x_edges, y_edges = _edges(np.unique(at_x)), _edges(np.unique(at_y))
    filled = len(cells) / ((len(x_edges) - 1) * (len(y_edges) - 1))

    figure = new_figure(width, 0.86 * width if width <= ONE_COLUMN else 0.6 * width)
    axes = figure.add_subplot()
    axes.grid(visible=False)
    handles: list[Artist] = []
    for name, style in REGIMES.items():
        mask = names == name
        if not mask.any():
            continue
        if filled >= GRID_SHARE:
            axes.add_collection(_cells(at_x[mask], at_y[mask], x_edges, y_edges, style), autolim=False)
            handles.append(
                Patch(facecolor=style.colour, edgecolor=MUTED, hatch=style.hatch, linewidth=0.4, label=name)
            )
        else:
            (drawn,) = axes.plot(
                at_x[mask],
                at_y[mask],
                linestyle="none",
                marker=style.marker,
                markerfacecolor=style.colour,
                markeredgecolor=INK,
                markeredgewidth=0.5,
                markersize=5,
                label=name,
            )
            handles.append(drawn)
    axes.set_xlim(x_edges[0], x_edges[-1])
    axes.set_ylim(y_edges[0], y_edges[-1])
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    if analytic is not None:
        handles.append(_draw_analytic(axes, analytic, x_edges, analytic_label))
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(axis_label(y, labels))
    legend_above(figure, handles)
    return figure


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges of the cells around sorted values: halfway, and as far again outside."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middles = (values[1:] + values[:-1]) / 2.0
    return np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])


def _cells(
    at_x: NDArray[np.float64],
    at_y: NDArray[np.float64],
    x_edges: NDArray[np.float64],
    y_edges: NDArray[np.float64],
    style: RegimeStyle,
) -> PatchCollection:
    columns = np.searchsorted(x_edges, at_x) - 1
    rows = np.searchsorted(y_edges, at_y) - 1
    cells = [
        Rectangle(
            (x_edges[column], y_edges[row]),
            x_edges[column + 1] - x_edges[column],
            y_edges[row + 1] - y_edges[row],
        )
        for column, row in zip(columns, rows, strict=True)
    ]
    drawn = PatchCollection(cells, facecolor=style.colour, edgecolor="white", linewidth=0.4)
    drawn.set_hatch(style.hatch)
    drawn.set_hatchcolor(MUTED)
    return drawn


def _draw_analytic(axes: Axes, analytic: Curve, x_edges: NDArray[np.float64], label: str) -> Line2D:
    if callable(analytic):
        xs: ArrayLike = np.linspace(x_edges[0], x_edges[-1], 200)
        ys = analytic(np.asarray(xs, dtype=float))
    else:
        xs, ys = analytic
    (line,) = axes.plot(
        np.asarray(xs, dtype=float),
        np.asarray(ys, dtype=float),
        color="black",
        lw=1.6,
        zorder=1.9,
        label=label,
    )
    line.set_path_effects([withStroke(linewidth=3.4, foreground="white")])
    return Line2D([], [], color="black", lw=1.6, label=label)
