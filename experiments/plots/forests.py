"""Policies held to a baseline in the same worlds: paired differences as a forest.

In: one row a policy with its mean difference and interval, as `experiments.statistics` gives it. Out:
one figure; where a difference is told from 0 the mark is filled, and what pairing gained stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import (
    LABEL_SIZE,
    NAME_SIZE,
    NOTE_SIZE,
    ROW_INCHES,
    draw_estimate,
    fitted,
    handle,
    name_rows,
    note_left_out,
    with_numbers,
)
from experiments.plots.place_names import cut_by_parts
from experiments.plots.style import (
    GAIN,
    INK,
    MUTED,
    POINTS_PER_INCH,
    TWO_COLUMNS,
    PolicyStyle,
    legend_above,
    new_figure,
    policy_styles,
    styled,
)
from experiments.plots.tables import DASH, axis_label, number_words, require_columns, tick_words
from experiments.statistics import excludes_zero
from experiments.statistics.multiple import SURE

COLUMNS = ("policy", "mean", "low", "high", "n", "variance_reduction")
COLUMN_INCHES = 0.62
ROWS_FILLED = 1.7
"""Of the two lines that a name has, what its words fill where they break."""

JOINT_WIDTH = 0.5
"""Of the line of an interval that holds together with all others; points."""

LEAST_P = 0.001
BETTER = {
    "lower": ("left", "\N{LEFTWARDS ARROW} better"),
    "higher": ("right", "better \N{RIGHTWARDS ARROW}"),
}


@styled
def difference_forest(
    table: pd.DataFrame,
    baseline: str,
    response: str = "response",
    *,
    better: Literal["lower", "higher"] = "lower",
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the paired differences of policies to a baseline on one response, the best policy highest.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a policy: ``policy``; ``mean``, ``low`` and ``high`` of policy - baseline, in the response's
        unit; ``n`` (pairs); ``variance_reduction`` (the variance of independent runs over that of pairs);
        ``adjusted_p`` where several comparisons were corrected for; ``joint_low`` and ``joint_high`` where
        there are intervals that hold together, drawn thin.
    baseline : str
        The policy that the others are held to.
    response : str
        Its name, for the axis.
    better : {"lower", "higher"}
        Which side of 0 is the good one.
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
        If the table has no rows, lacks a column, or has no estimate.

    Examples
    --------
    >>> table = pd.DataFrame({"policy": ["guarded"], "mean": [-3.0], "low": [-4.0], "high": [-2.0],
    ...     "n": [20], "variance_reduction": [2.5]})
    >>> difference_forest(table, "naive", "usd").axes[0].get_title(loc="left")
    '← better'
    """
    require_columns(table, COLUMNS, "differences")
    rows = with_numbers(table, ["mean"], "differences")
    rows = rows.sort_values("mean", ascending=better == "lower", kind="stable")
    adjusted, joint = "adjusted_p" in rows, {"joint_low", "joint_high"} <= set(rows)
    names = [str(name) for name in rows["policy"]]
    styles = policy_styles(names)
    figure = new_figure(width, 1.0 + ROW_INCHES * len(rows))
    axes = figure.add_subplot()
    axes.axvline(0.0, color=INK, linewidth=0.9, zorder=1.5)
    for place, row in enumerate(rows.to_dict("records")):
        style = styles[str(row["policy"])]._replace(marker="o")
        ends = (row["low"], row["high"])
        told = row["adjusted_p"] <= SURE if adjusted else excludes_zero(*ends)
        if joint:
            _draw_joint(axes, place, (row["joint_low"], row["joint_high"]), style)
        draw_estimate(axes, (row["mean"], place), style, x_ends=ends, filled=told)
    room = 0.28 * width
    name_rows(axes, [cut_by_parts(name, ROWS_FILLED * room, NAME_SIZE) for name in names], room)
    _write_columns(axes, rows)
    axes.margins(x=0.08)
    axes.xaxis.set_major_formatter(tick_words)
    what = f"{axis_label(response, labels)}: mean difference to {baseline!r} in the same world"
    axes.set_xlabel(fitted(f"{what}, 95% interval", 0.45 * width, LABEL_SIZE, lines=3))
    side, arrow = BETTER[better]
    axes.set_title(arrow, loc="left" if side == "left" else "right", color=GAIN)
    mark = PolicyStyle(INK, "-", "o")
    handles = [
        handle(f"filled: told from 0 ({'adjusted p' if adjusted else 'interval'})", mark),
        handle("hollow: not told from 0", mark, filled=False),
    ]
    if joint:
        words = "95% interval; thin: of all rows together"
        handles.append(Line2D([], [], color=INK, linewidth=JOINT_WIDTH, marker="|", label=words))
    legend_above(figure, handles)
    note_left_out(figure, table, ["mean"], "policy")
    return figure


def _draw_joint(axes: Axes, place: float, ends: tuple[float, float], style: PolicyStyle) -> None:
    axes.plot(ends, (place, place), color=style.colour, linewidth=JOINT_WIDTH, zorder=2)


def _write_columns(axes: Axes, rows: pd.DataFrame) -> None:
    """Write what stands behind each estimate at the right of the axes, one column after the other."""
    columns = {
        "pairs": [tick_words(float(count)) for count in rows["n"]],
        "variance\n÷": [_ratio_words(float(ratio)) for ratio in rows["variance_reduction"]],
    }
    if "adjusted_p" in rows:
        columns["adjusted\np"] = [_p_words(float(p)) for p in rows["adjusted_p"]]
    for column, (head, cells) in enumerate(columns.items()):
        offset = POINTS_PER_INCH * COLUMN_INCHES * (column + 1)
        for place, words in [(-0.6, head), *enumerate(cells)]:
            axes.annotate(
                words,
                (1.0, place),
                xycoords=axes.get_yaxis_transform(),
                xytext=(offset, 3 if words is head else 0),
                textcoords="offset points",
                ha="right",
                va="bottom" if words is head else "center",
                fontsize=NOTE_SIZE,
                color=MUTED if words is head else INK,
            )


def _ratio_words(ratio: float) -> str:
    """Return how many times the variance fell.

    >>> _ratio_words(4.25), _ratio_words(1234.5)
    ('4.25', '1,234')
    """
    if math.isinf(ratio):
        return "\N{INFINITY}"
    return DASH if math.isnan(ratio) else number_words(ratio)


def _p_words(p: float) -> str:
    """Return a p value with three decimals.

    >>> _p_words(0.0123), _p_words(1e-9)
    ('0.012', '<0.001')
    """
    if math.isnan(p):
        return DASH
    return f"<{LEAST_P}" if p < LEAST_P else f"{p:.3f}"
