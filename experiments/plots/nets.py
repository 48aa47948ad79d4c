"""The net of each rewrite: what the policy believes beside what is true.

In: the `rewrites` table of one run or of many. Out: one figure with a panel a policy. The distance
between its two lines is what the agent cannot see from inside.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.plots.style import (
    INK,
    MUTED,
    TWO_COLUMNS,
    Dashes,
    PolicyStyle,
    legend_above,
    new_figure,
    policy_styles,
    styled,
)
from experiments.plots.tables import mean_by, policies_of, tick_words, with_runs

COMMITTED = frozenset({"committed", "committed_without_effect"})
LEAST_RUNS = 5
"""A mean over replications needs this many, or all there are; fewer are survivors, not runs."""

PANEL_INCHES = 2.1
MARKERS_A_LINE = 12


class NetLine(NamedTuple):
    """How a net is drawn: the true one heavy, the believed one light and hollow on top of it."""

    colour: str
    dashes: Dashes
    weight: float
    size: float
    face: str


BELIEVED = NetLine(MUTED, (0, (3, 1.5)), 1.0, 4.4, "white")
TRUE_WEIGHT, TRUE_SIZE = 1.8, 3.6


@styled
def believed_and_true_net(
    rewrites: pd.DataFrame, *, least_runs: int = LEAST_RUNS, width: float = TWO_COLUMNS
) -> Figure:
    """Draw the net that the policy believes beside the true one, by attempt, a panel a policy.

    Lines are means over the runs whose attempt of that number was committed, with 95% intervals;
    attempts that were not committed are crosses at their mean true net.

    Parameters
    ----------
    rewrites : pandas.DataFrame
        Columns ``turn``, ``net``, ``believed_net`` (tokens) and ``outcome``; ``policy`` and
        ``replication`` where there are several runs.
    least_runs : int
        An attempt number that fewer runs reached is left out (or fewer than all runs, if there are
        not so many).
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows or lacks a column.
    """
    runs = with_runs(rewrites, ("turn", "net", "believed_net", "outcome"), "rewrites")
    runs = runs.sort_values("turn", kind="stable")
    runs = runs.assign(attempt=runs.groupby(["policy", "replication"]).cumcount() + 1)
    names = policies_of(runs)
    styles = policy_styles(names)
    columns = min(len(names), max(1, int(width / PANEL_INCHES)))
    rows = math.ceil(len(names) / columns)
    figure = new_figure(width, 0.5 + 2.1 * rows)
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
    refused = False
    for name, axes in zip(names, panels.flat, strict=False):
        own = runs[runs["policy"] == name]
        refused |= _draw_nets(axes, own, styles[name], min(least_runs, own["replication"].nunique()))
        axes.set_title(name)
    for spare in list(panels.flat)[len(names) :]:
        spare.remove()
    for axes in panels[:, 0]:
        axes.set_ylabel("Net of a rewrite (tokens)")
    for column in range(columns):
        lowest = (len(names) - 1 - column) // columns
        panels[lowest, column].set_xlabel("Attempt number")

    handles: list[Artist] = [
        Line2D([], [], color=INK, marker="o", linewidth=TRUE_WEIGHT, label="true (outside)"),
        Line2D(
            [],
            [],
            color=BELIEVED.colour,
            linestyle=BELIEVED.dashes,
            linewidth=BELIEVED.weight,
            marker="o",
            markerfacecolor=BELIEVED.face,
            label="believed (inside)",
        ),
    ]
    if refused:
        handles.append(Line2D([], [], color=INK, marker="x", linestyle="none", label="not committed (true)"))
    legend_above(figure, handles)
    return figure


def _draw_nets(axes: Axes, runs: pd.DataFrame, style: PolicyStyle, least_runs: int) -> bool:
    """Draw one policy; return whether there were attempts that were not committed."""
    committed = runs["outcome"].isin(COMMITTED)
    axes.axhline(0.0, color=INK, linewidth=0.8, zorder=1)
    true = NetLine(style.colour, style.dashes, TRUE_WEIGHT, TRUE_SIZE, style.colour)
    for value, line in (("net", true), ("believed_net", BELIEVED)):
        means = mean_by(runs[committed], "attempt", value)
        means = means[means["count"] >= least_runs]
        step = max(1, len(means) // MARKERS_A_LINE)
        # The believed markers stand between the true ones: a policy that is right keeps both in sight.
        start = step // 2 if line is BELIEVED else 0
        axes.plot(
            means.index,
            means["mean"],
            color=line.colour,
            linestyle=line.dashes,
            linewidth=line.weight,
            marker=style.marker,
            markersize=line.size,
            markerfacecolor=line.face,
            markevery=(start, step),
            zorder=3,
        )
        if means["low"].notna().any():
            axes.fill_between(
                means.index, means["low"], means["high"], color=line.colour, alpha=0.2, linewidth=0, zorder=2
            )
    others = mean_by(runs[~committed], "attempt", "net")
    axes.plot(
        others.index,
        others["mean"],
        linestyle="none",
        marker="x",
        color=style.colour,
        markersize=3.5,
        zorder=4,
    )
    axes.set_xlim(0.4, float(runs["attempt"].max()) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_formatter(tick_words)
    return not others.empty
