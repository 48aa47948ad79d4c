"""Two things to keep small at once: which points nothing beats on both.

In: one row a point with two estimates and their intervals. Out: one figure with the Pareto front as a
staircase: what lies above and right of it is beaten on both axes by a point of the front.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from experiments.plots.marks import (
    LABEL_SIZE,
    draw_estimate,
    handle,
    legend_with_room,
    note_left_out,
    with_numbers,
)
from experiments.plots.point_names import name_points
from experiments.plots.style import (
    INK,
    MUTED,
    NAMED_STYLES,
    OTHER,
    SPARE_STYLES,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
    wrapped,
)
from experiments.plots.tables import axis_label, policies_of, require_columns, tick_words
from experiments.statistics import on_front

MOST_STYLES = len(NAMED_STYLES) + len(SPARE_STYLES)
POINT_STYLE = PolicyStyle(MUTED, "-", "o")
"""Of points that are too many to have a style each."""

MOST_NAMED = 40
"""Points above which none has its intervals or its name: a table says which is which."""

CROWDED_SIZE = 9.0


@styled
def pareto_front(
    table: pd.DataFrame,
    x: str,
    y: str,
    labels: Mapping[str, str] | None = None,
    by: str = "policy",
    *,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw points on two responses that are both to be small, and the front that nothing beats.

    Points on the front are filled and named, the others hollow. The front is that of the estimates: an
    interval that crosses it says that chance may have put the point on its side.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a point: columns `by`, `x`, `y` and the ends of their intervals: `x` and `y` followed by
        ``_low`` and ``_high``.
    x, y : str
        Columns of the two estimates.
    labels : mapping of str to str, optional
        The words for an axis, by column; made from the column's name if not given.
    by : str
        Column with the point's name.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or no row has both estimates.

    Examples
    --------
    >>> ends = {"usd_low": 1.0, "usd_high": 4.0, "net_low": 0.0, "net_high": 9.0}
    >>> table = pd.DataFrame({"policy": ["naive", "guarded"], "usd": [2.0, 3.0], "net": [8.0, 1.0], **ends})
    >>> pareto_front(table, "usd", "net").axes[0].get_xlabel()
    'Usd'
    """
    require_columns(table, (by, x, f"{x}_low", f"{x}_high", y, f"{y}_low", f"{y}_high"), "points")
    known = with_numbers(table, (x, y), "points")
    points = known.assign(front=on_front(known[x], known[y])).sort_values(
        ["front", x, y], ascending=[False, True, True], kind="stable"
    )
    names = policies_of(known, by)
    few = len(names) <= MOST_STYLES
    styles = policy_styles(names) if few else dict.fromkeys(names, POINT_STYLE)
    figure = new_figure(width, 3.6)
    axes = figure.add_subplot()
    crowded = len(points) > MOST_NAMED
    for row in () if crowded else points.to_dict("records"):
        draw_estimate(
            axes,
            (row[x], row[y]),
            styles[str(row[by])],
            x_ends=(row[f"{x}_low"], row[f"{x}_high"]),
            y_ends=(row[f"{y}_low"], row[f"{y}_high"]),
            filled=row["front"],
        )
    if crowded:
        colours = [INK if front else "none" for front in points["front"]]
        axes.scatter(
            points[x], points[y], s=CROWDED_SIZE, facecolors=colours, edgecolors=OTHER, linewidths=0.6
        )
    axes.margins(0.08)
    front = points[points["front"]]
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    axes.step(
        [front[x].iloc[0], *front[x], right],
        [top, *front[y], front[y].iloc[-1]],
        where="post",
        color=INK,
        linewidth=0.9,
        linestyle=(0, (4, 2)),
        zorder=2,
    )
    axes.set_xlim(axes.get_xlim()[0], right)
    axes.set_ylim(axes.get_ylim()[0], top)
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(wrapped(axis_label(y, labels), 2.4, LABEL_SIZE))
    edge = PolicyStyle(INK, "-", "o")
    handles = [handle(name, styles[name]) for name in names] if few else []
    handles.append(handle("Pareto front", edge, dashes=(0, (4, 2))))
    if not points["front"].all():
        handles.append(handle("hollow: beaten by another point", edge, filled=False))
    legend_with_room(figure, handles)
    note_left_out(figure, table, (x, y), by)
    if not crowded:
        places = list(points[[x, y]].itertuples(index=False, name=None))
        name_points(axes, places, [str(name) for name in front[by]])
    return figure
