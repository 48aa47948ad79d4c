"""Two things to keep small at once: which points nothing beats on both.

In: one row a point with two estimates and their intervals. Out: one figure with the Pareto front as a
staircase: what lies above and right of it is beaten on both axes by a point of the front.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.plots.marks import (
    LABEL_SIZE,
    UNKNOWN,
    draw_estimate,
    fitted,
    handle,
    left_out,
    legend_with_room,
    note_left_out,
    spread_equal,
    with_numbers,
)
from experiments.plots.point_names import key_beneath, name_points, number_words
from experiments.plots.style import (
    INK,
    MOST_STYLES,
    MUTED,
    OTHER,
    POINT_STYLE,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
    wrapped,
)
from experiments.plots.tables import axis_label, policies_of, require_columns, tick_words
from experiments.statistics import on_front

FRONT_STYLE, BOUND_STYLE = PolicyStyle(INK, "-", "o"), PolicyStyle(MUTED, "-", "D")
"""Of points on the front, and of bounds, where they are too many to have a style each."""

MOST_NUMBERED = 40
"""Points of a panel above which those off the front have neither intervals nor numbers: a table has them."""

MOST_KEYED = 60
"""Names of a figure above which its key has those of the front, and of bounds, alone."""

CROWDED_SIZE = 9.0
PANEL_INCHES, ROW_INCHES, LEAST_ROW_INCHES = 2.3, 1.95, 1.6
"""Least width of a panel beside others, and most and least height of a row of them."""

ROWS_INCHES = 8.0
"""What a page has for all rows, over the key."""


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

    Points on the front are filled, the others hollow; of many points those on it alone have their
    intervals. A number beside a point is that of its name, in the legend or, of many, in a key beneath, which
    has those off the front in grey; where points crowd, some have no room for theirs. The
    front is that of the estimates: an interval that crosses it says that chance may have put the point on
    its side.

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
    groups = [known] if panel is None else [own for _, own in known.groupby(panel, sort=False)]
    across = 1 if len(groups) == 1 else max(1, int(width / PANEL_INCHES))
    rows = math.ceil(len(groups) / across)
    height = min(ROW_INCHES, max(LEAST_ROW_INCHES, ROWS_INCHES / rows))
    figure = new_figure(width, 3.6 if len(groups) == 1 else 0.5 + height * rows)
    grid = figure.subplots(rows, across, squeeze=False)
    styles = policy_styles(names) if few else {}
    drawn = [
        (axes, own, _draw_panel(axes, own, (x, y), styles, by, labels))
        for axes, own in zip(grid.flat, groups, strict=False)
    ]
    for spare in list(grid.flat)[len(groups) :]:
        spare.remove()
    for axes, own, _ in drawn:
        if panel is not None:
            axes.set_title(fitted(str(own[panel].iloc[0]), 0.7 * width / across, LABEL_SIZE, weight="bold"))
    points = pd.concat([found for _, _, found in drawn])
    numbers, strong = _numbers(points, by)
    _write_names(figure, points, numbers, strong, styles)
    lost = _left_out(table, (x, y), by, panel)
    if few:
        note_left_out(figure, *lost)
    else:
        weak = [f"{number} {name}" for name, number in numbers.items() if name not in strong]
        if len(numbers) > MOST_KEYED:
            weak = [f"{len(weak)} more, off the front, in the table"]
        named = [f"{numbers[name]} {words}" for name, words in strong.items()]
        key_beneath(figure, named, weak, left_out(*lost))
    for axes, _, own in drawn:  # only now it is known how large the panels are
        _write_numbers(axes, own, (x, y), numbers, by)
    return figure


def _numbers(points: pd.DataFrame, by: str) -> tuple[dict[str, int], dict[str, str]]:
    """Return the number of each name, and the words for those of a front and of bounds, which come first."""
    names = points[by].astype(str)
    on_one, bounds = (list(dict.fromkeys(names[points[which]])) for which in ("front", "bound"))
    strong = {name: name for name in on_one} | {name: f"{name} (bound)" for name in bounds}
    numbers = {name: place for place, name in enumerate(dict.fromkeys([*strong, *names]), 1)}
    return numbers, strong


def _write_names(
    figure: Figure,
    points: pd.DataFrame,
    numbers: Mapping[str, int],
    strong: Mapping[str, str],
    styles: Mapping[str, PolicyStyle],
) -> None:
    """Write the legend: the names, where each has a style, and what marks and lines mean."""
    handles = [
        handle(f"{number} {strong.get(name, name)}", styles[name])
        for name, number in numbers.items()
        if name in styles
    ]
    handles.append(handle("Pareto front", FRONT_STYLE, dashes=(0, (4, 2))))
    if not points["front"].all():
        handles.append(handle("hollow: not on the front", FRONT_STYLE, filled=False))
    if points["bound"].any() and not styles:
        handles.append(handle("bound", BOUND_STYLE, filled=False))
    legend_with_room(figure, handles)


def _write_numbers(
    axes: Axes, points: pd.DataFrame, responses: tuple[str, str], numbers: Mapping[str, int], by: str
) -> None:
    """Write the numbers beside the points of a panel; those of equal points stand together."""
    x, y = responses
    found: dict[tuple[float, float], list[int]] = {}
    strong = set()
    for row in points.to_dict("records"):
        place = (float(row[x]), float(row[y]))
        found.setdefault(place, []).append(numbers[str(row[by])])
        if row["front"] or row["bound"]:
            strong.add(place)
    places = sorted(found, key=lambda place: place not in strong)
    if len(strong) > MOST_NUMBERED:
        return
    words = [number_words(found[place]) for place in places]
    crowded = len(points) > MOST_NUMBERED
    spare = () if crowded else words[len(strong) :]
    lines = [_corners(line) for line in axes.lines]
    name_points(axes, places, words[: len(strong)], spare, lines, must=False)


def _corners(line: Line2D) -> list[tuple[float, float]]:
    """Return the corners of an interval or of a staircase; none of a mark or where an end is not known."""
    ends = np.asarray(line.get_xydata(), dtype=float)
    if len(ends) == 1 or not np.isfinite(ends).all():
        return []
    found = [(float(x), float(y)) for x, y in ends]
    if line.get_drawstyle() == "steps-post":
        found = [at for (x, y), (then, _) in itertools.pairwise(found) for at in ((x, y), (then, y))]
    return found


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
    crowded = len(points) > MOST_NUMBERED
    many = len(points) > MOST_STYLES
    for row in () if crowded else points[::-1].to_dict("records"):  # those on the front lie on top
        sure = row["front"] or not many
        plain = FRONT_STYLE if row["front"] else BOUND_STYLE if row["bound"] else POINT_STYLE
        draw_estimate(
            axes,
            (row[x], row[y]),
            styles.get(str(row[by]), plain),
            x_ends=(row[f"{x}_low"], row[f"{x}_high"]) if sure else UNKNOWN,
            y_ends=(row[f"{y}_low"], row[f"{y}_high"]) if sure else UNKNOWN,
            filled=row["front"],
        )
    if crowded:
        colours = [INK if front else "none" for front in points["front"]]
        axes.scatter(
            points[x], points[y], s=CROWDED_SIZE, facecolors=colours, edgecolors=OTHER, linewidths=0.6
        )
    axes.margins(0.1)
    spread_equal(axes, "x")
    spread_equal(axes, "y")
    _draw_stairs(axes, points.loc[points["front"], [x, y]])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(wrapped(axis_label(y, labels), 1.5, LABEL_SIZE))
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
