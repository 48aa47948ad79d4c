"""Two things to keep small at once: which points nothing beats on both.

In: one row a point with two estimates and their intervals. Out: one figure with the Pareto front as a
staircase: what lies above and right of it is beaten on both axes by a point of the front.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.plots.marks import (
    LABEL_SIZE,
    UNKNOWN,
    draw_estimate,
    fitted,
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
"""Points of a panel above which none has its intervals or its name: a table says which is which."""

CROWDED_SIZE = 9.0
PANEL_INCHES, ROW_INCHES = 3.4, 2.9
"""Least width of a panel beside others, and height of a row of them."""


@styled
def pareto_front(
    table: pd.DataFrame,
    x: str,
    y: str,
    labels: Mapping[str, str] | None = None,
    by: str = "policy",
    *,
    panel: str | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw points on two responses that are both to be small, and the front that nothing beats.

    Points on the front are filled and named, the others hollow; of many points these alone have their
    intervals. The front is that of the estimates: an interval that crosses it says that chance may have put
    the point on its side.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a point: columns `by`, `x`, `y` and the ends of their intervals: `x` and `y` followed by
        ``_low`` and ``_high``. Where it has ``front`` (true or false), that says which points are on it;
        where it has ``bound``, those points are named and are not on it.
    x, y : str
        Columns of the two estimates.
    labels : mapping of str to str, optional
        The words for an axis, by column; made from the column's name if not given.
    by : str
        Column with the point's name.
    panel : str, optional
        Column by which the points are told apart into panels, each with a front of its own.
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
    columns = (by, x, f"{x}_low", f"{x}_high", y, f"{y}_low", f"{y}_high")
    require_columns(table, columns if panel is None else (*columns, panel), "points")
    known = with_numbers(table, (x, y), "points")
    names = policies_of(known, by)
    few = len(names) <= MOST_STYLES
    styles = policy_styles(names) if few else dict.fromkeys(names, POINT_STYLE)
    groups = [known] if panel is None else [own for _, own in known.groupby(panel, sort=False)]
    across = 1 if len(groups) == 1 else max(1, int(width / PANEL_INCHES))
    rows = math.ceil(len(groups) / across)
    figure = new_figure(width, 3.6 if len(groups) == 1 else 0.5 + ROW_INCHES * rows)
    grid = figure.subplots(rows, across, squeeze=False)
    drawn = [
        (axes, own, _draw_panel(axes, own, (x, y), styles, by, labels))
        for axes, own in zip(grid.flat, groups, strict=False)
    ]
    for spare in list(grid.flat)[len(groups) :]:
        spare.remove()
    edge = PolicyStyle(INK, "-", "o")
    handles = [handle(name, styles[name]) for name in names] if few else []
    handles.append(handle("Pareto front", edge, dashes=(0, (4, 2))))
    if not all(points["front"].all() for _, _, points in drawn):
        handles.append(handle("hollow: not on the front", edge, filled=False))
    for axes, own, _ in drawn:
        if panel is not None:
            axes.set_title(fitted(str(own[panel].iloc[0]), 0.7 * width / across, LABEL_SIZE, weight="bold"))
    legend_with_room(figure, handles)
    note_left_out(figure, *_left_out(table, (x, y), by, panel))
    for axes, _, points in drawn:  # only now it is known how large the panels are
        if len(points) <= MOST_NAMED:
            named = _names(points, x, y, by)
            places = [(float(a), float(b)) for a, b in zip(points[x], points[y], strict=True)]
            name_points(axes, [*named, *(at for at in places if at not in named)], list(named.values()))
    return figure


def _names(points: pd.DataFrame, x: str, y: str, by: str) -> dict[tuple[float, float], str]:
    """Return the places that have a name, those on the front first, then bounds; equal points have one."""
    found: dict[tuple[float, float], list[str]] = {}
    for row in points[points["front"] | points["bound"]].to_dict("records"):
        name = f"bound: {row[by]}" if row["bound"] else str(row[by])
        found.setdefault((float(row[x]), float(row[y])), []).append(name)
    return {
        place: names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} alike"
        for place, names in found.items()
    }


def _left_out(
    table: pd.DataFrame, responses: tuple[str, str], by: str, panel: str | None
) -> tuple[pd.DataFrame, tuple[str, str], str]:
    """Return what `note_left_out` is told: names of points, or how many there are in each panel."""
    if panel is None:
        return table, responses, by
    lacking = table[list(responses)].isna().any(axis=1)
    counts = lacking.groupby(table[panel]).transform("sum")
    return table.assign(cell=counts.astype(str) + " in " + table[panel].astype(str)), responses, "cell"


def _draw_panel(
    axes: Axes,
    known: pd.DataFrame,
    responses: tuple[str, str],
    styles: Mapping[str, PolicyStyle],
    by: str,
    labels: Mapping[str, str] | None,
) -> pd.DataFrame:
    """Draw the points of one panel and their front; return them, those on the front first."""
    x, y = responses
    front = known["front"].astype(bool) if "front" in known else on_front(known[x], known[y])
    bound = known["bound"].astype(bool) if "bound" in known else False
    points = known.assign(front=front, bound=bound).sort_values(
        ["front", "bound", x, y], ascending=[False, False, True, True], kind="stable"
    )
    crowded = len(points) > MOST_NAMED
    many = len(points) > MOST_STYLES
    for row in () if crowded else points.to_dict("records"):
        sure = row["front"] or not many
        draw_estimate(
            axes,
            (row[x], row[y]),
            styles[str(row[by])],
            x_ends=(row[f"{x}_low"], row[f"{x}_high"]) if sure else UNKNOWN,
            y_ends=(row[f"{y}_low"], row[f"{y}_high"]) if sure else UNKNOWN,
            filled=row["front"],
        )
    if crowded:
        colours = [INK if front else "none" for front in points["front"]]
        axes.scatter(
            points[x], points[y], s=CROWDED_SIZE, facecolors=colours, edgecolors=OTHER, linewidths=0.6
        )
    axes.margins(0.08)
    _draw_stairs(axes, points.loc[points["front"], [x, y]])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(wrapped(axis_label(y, labels), 2.4, LABEL_SIZE))
    return points


def _draw_stairs(axes: Axes, front: pd.DataFrame) -> None:
    """Draw a front as a staircase, from above its first point to right of its last one."""
    if front.empty:
        return
    xs, ys = (front[name].tolist() for name in front)
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    axes.step(
        [xs[0], *xs, right],
        [top, *ys, ys[-1]],
        where="post",
        color=INK,
        linewidth=0.9,
        linestyle=(0, (4, 2)),
        zorder=2,
    )
    axes.set_xlim(axes.get_xlim()[0], right)
    axes.set_ylim(axes.get_ylim()[0], top)
