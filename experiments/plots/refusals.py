"""What a gate costs and what it is worth: refusals against the net of what passes.

In: one row a policy. Out: one figure. The two are kept apart, for a gate that refuses much may be right
to do so, and one that refuses nothing may let losses pass.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.plots.marks import (
    LEGEND_NAME_INCHES,
    NOTE_SIZE,
    UNKNOWN,
    draw_estimate,
    handle,
    legend_with_room,
    note_left_out,
    with_numbers,
)
from experiments.plots.place_names import cut_by_parts
from experiments.plots.point_names import name_points
from experiments.plots.style import (
    INK,
    LEGEND_SIZE,
    MOST_STYLES,
    MUTED,
    POINT_STYLE,
    TWO_COLUMNS,
    new_figure,
    policy_styles,
    styled,
)
from experiments.plots.tables import policies_of, require_columns, tick_words

COLUMNS = ("policy", "share_refused", "low", "high", "net", "net_low", "net_high")
BOTH = ("share_refused", "net")
NET_LABEL = "Net of a committed rewrite (tokens)"

MOST_CROSSES = 40
"""Policies above which none has its interval."""

HALF = 0.5
"""Share of attempts from which on a policy counts as one that refuses much."""

QUADRANTS = {
    (0.0, 1.0): "commits most, and gains",
    (1.0, 1.0): "refuses most, and gains",
    (0.0, 0.0): "commits most, and loses",
    (1.0, 0.0): "refuses most, and loses",
}
"""The words in each corner of the axes."""


@styled
def rejection_against_net(
    table: pd.DataFrame, *, net_label: str = NET_LABEL, width: float = TWO_COLUMNS
) -> Figure:
    """Draw the share of attempts that were refused against the net of what passes, by policy.

    Of more policies than can be told apart all are drawn alike; those with the most and the least of either
    have their names, and of very many none has its interval.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a policy: ``policy``; ``share_refused`` with ``low`` and ``high``; ``net`` with
        ``net_low`` and ``net_high`` (tokens a committed rewrite; missing where nothing was committed).
    net_label : str
        What the net is of, with its unit.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or no policy has both values.

    Examples
    --------
    >>> table = pd.DataFrame({"policy": ["guarded"], "share_refused": [0.1], "low": [0.0], "high": [0.2],
    ...     "net": [400.0], "net_low": [350.0], "net_high": [450.0]})
    >>> rejection_against_net(table).axes[0].get_ylabel()
    'Net of a committed rewrite (tokens)'
    """
    require_columns(table, COLUMNS, "refusals")
    rows = with_numbers(table, BOTH, "refusals")
    names = policies_of(rows)
    few = len(names) <= MOST_STYLES
    styles = policy_styles(names) if few else dict.fromkeys(names, POINT_STYLE)
    figure = new_figure(width, 3.4)
    axes = figure.add_subplot()
    sparse = len(rows) <= MOST_CROSSES
    for row in rows.to_dict("records"):
        draw_estimate(
            axes,
            (row["share_refused"], row["net"]),
            styles[str(row["policy"])],
            x_ends=(row["low"], row["high"]) if sparse else UNKNOWN,
            y_ends=(row["net_low"], row["net_high"]) if sparse else UNKNOWN,
            filled=few,
        )
    _name_quadrants(axes)
    axes.set_xlabel("Attempts refused (share, mean over runs)")
    axes.set_ylabel(net_label)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick_words)
    if few:
        shown = {name: cut_by_parts(name, LEGEND_NAME_INCHES, LEGEND_SIZE) for name in names}
        legend_with_room(figure, [handle(shown[name], styles[name]) for name in names])
    else:
        words = f"{len(names):,} policies and places{'' if sparse else ', without intervals'}"
        legend_with_room(figure, [handle(words, POINT_STYLE, filled=False)])
    note_left_out(figure, table, BOTH, "policy")
    if not few:  # only now it is known how large the axes are
        _name_extremes(axes, rows)
    return figure


def _name_extremes(axes: Axes, rows: pd.DataFrame) -> None:
    """Name the policies with the most and the least refusals and net, each once."""
    ends = [index for name in BOTH for index in (rows[name].idxmax(), rows[name].idxmin())]
    order = [*dict.fromkeys(ends), *rows.index.difference(ends)]
    ordered = rows.loc[order]
    places = [(float(x), float(y)) for x, y in zip(ordered["share_refused"], ordered["net"], strict=True)]
    names = ordered["policy"].head(len(set(ends))).astype(str)
    name_points(axes, places, [cut_by_parts(name, LEGEND_NAME_INCHES, NOTE_SIZE) for name in names])


def _name_quadrants(axes: Axes) -> None:
    low, high = axes.get_ylim()
    low, high = min(low, -0.15 * high), max(high, -0.15 * low)  # both sides of 0 are in sight
    room = 0.1 * (high - low)  # for the words
    axes.set_ylim(low - room, high + room)
    axes.set_xlim(-0.03, 1.03)
    axes.axhline(0.0, color=INK, linewidth=0.9, zorder=1.5)
    axes.axvline(HALF, color=MUTED, linewidth=0.6, linestyle=(0, (2, 2)), zorder=1.5)
    for (right, up), words in QUADRANTS.items():
        axes.annotate(
            words,
            (right, up),
            xycoords="axes fraction",
            xytext=(-3 if right else 3, -2 if up else 2),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top" if up else "bottom",
            fontsize=NOTE_SIZE,
            color=MUTED,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            zorder=2,  # over the grid, under the marks
        )
