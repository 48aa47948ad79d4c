"""What an attempt costs, against the occupancy that it starts from.

In: the `rewrites` table of one run or of many. Out: one figure with a line a policy: whether the cost
rises with the pressure is what makes a spiral.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.plots.marks import handle, legend_with_room
from experiments.plots.style import (
    ONE_COLUMN,
    new_figure,
    policy_styles,
    styled,
)
from experiments.plots.tables import mean_by, policies_of, tick_words, with_runs
from simulator.errors import InputError


@styled
def cost_against_occupancy(
    attempts: pd.DataFrame,
    *,
    window: int | None = None,
    bins: int = 8,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw what an attempt costs against the occupancy it starts from, a policy a line.

    Points are attempts; lines are means a bin of occupancy with 95% intervals. Attempts of one run
    depend on each other, so with several runs the interval is over the runs' means.

    Parameters
    ----------
    attempts : pandas.DataFrame
        Columns ``rewrite_cost`` and ``measurement_cost`` (tokens), and either ``occupancy_before_pct``
        or ``tokens_before`` with a `window`.
    window : int, optional
        Size of the window, tokens.
    bins : int
        About how many bins over the range of occupancies.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or the occupancy before cannot be known.
    """
    runs = with_runs(attempts, ("rewrite_cost", "measurement_cost"), "rewrites")
    runs = runs.assign(
        cost=runs["rewrite_cost"] + runs["measurement_cost"], before=_occupancy_before(runs, window)
    )
    low, high = float(runs["before"].min()), float(runs["before"].max())
    edges = MaxNLocator(nbins=bins, steps=[1, 2, 2.5, 5, 10]).tick_values(low, max(high, low + 0.1))
    runs = runs.assign(bin=np.clip(np.searchsorted(edges, runs["before"], side="right"), 1, len(edges) - 1))

    names = policies_of(runs)
    styles = policy_styles(names)
    figure = new_figure(width, 2.7)
    axes = figure.add_subplot()
    handles: list[Artist] = []
    for name in names:
        own, style = runs[runs["policy"] == name], styles[name]
        axes.plot(
            own["before"],
            own["cost"],
            linestyle="none",
            marker=".",
            markersize=3,
            markeredgewidth=0,
            color=style.colour,
            alpha=0.3,
            rasterized=True,
            zorder=2,
        )
        if own["replication"].nunique() > 1:
            of_runs = own.groupby(["bin", "replication"])["cost"].mean().reset_index()
            means = mean_by(of_runs, "bin", "cost")
        else:
            means = mean_by(own, "bin", "cost")
        axes.errorbar(
            own.groupby("bin")["before"].mean(),
            means["mean"],
            yerr=[means["mean"] - means["low"], means["high"] - means["mean"]],
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.5,
            elinewidth=0.9,
            zorder=3,
        )
        if name:
            handles.append(handle(name, style, dashes=style.dashes))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Occupancy before (% of window)")
    axes.set_ylabel("Cost of an attempt (tokens)")
    axes.yaxis.set_major_formatter(tick_words)
    if handles:
        legend_with_room(figure, handles)
    return figure


def _occupancy_before(attempts: pd.DataFrame, window: int | None) -> pd.Series[float]:
    if "occupancy_before_pct" in attempts.columns:
        return attempts["occupancy_before_pct"].astype(float)
    if "tokens_before" not in attempts.columns or window is None:
        raise InputError(
            "the occupancy before an attempt is not known",
            where="table 'rewrites'",
            expected="a column occupancy_before_pct, or tokens_before and the window",
        )
    return 100.0 * attempts["tokens_before"].astype(float) / window
