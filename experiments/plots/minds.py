"""What an agent believes of itself beside what is so: confidence and constraints, quotes and obedience.

In: the `turns` or the `obedience` table of many runs. Out: one figure; where the two sides part is
the failure of field record 002, or of 004.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.plots.marks import handle, legend_with_room
from experiments.plots.style import (
    INK,
    ONE_COLUMN,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
)
from experiments.plots.tables import mean_by, policies_of, with_runs

MOST_CHANGES = 3
"""Changes of premises from which on they are counted together."""


@styled
def confidence_and_constraints(turns: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Draw confidence over constraints held, turn by turn: means over runs with 95% intervals.

    Parameters
    ----------
    turns : pandas.DataFrame
        Columns ``turn``, ``confidence`` (share), ``constraints_held`` (count); ``policy`` and
        ``replication`` where there are several runs.
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
    runs = with_runs(turns, ("turn", "confidence", "constraints_held"), "turns")
    names = policies_of(runs)
    styles = policy_styles(names)
    figure = new_figure(width, 3.6)
    upper = figure.add_subplot(2, 1, 1)
    lower = figure.add_subplot(2, 1, 2, sharex=upper)
    for name in names:
        own = runs[runs["policy"] == name]
        _line(upper, mean_by(own, "turn", "confidence"), styles[name], most=1.0)
        _line(lower, mean_by(own, "turn", "constraints_held"), styles[name])
    upper.tick_params(labelbottom=False)
    upper.set_ylabel("Confidence\n(believed, share)")
    lower.set_ylabel("Constraints with\nforce (true, count)")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("Turn")
    legend_with_room(
        figure, [handle(name, styles[name], dashes=styles[name].dashes, marker="") for name in names if name]
    )
    return figure


@styled
def compliance_by_epoch(obedience: pd.DataFrame, *, width: float = ONE_COLUMN) -> Figure:
    """Draw quoted and obeyed shares by changes of premises since an own instruction was last derived.

    Steps of one run depend on each other, so an interval is over the runs' shares, 95%.

    Parameters
    ----------
    obedience : pandas.DataFrame
        Columns ``changes`` (count), ``quoted``, ``obeyed``, ``outside``; ``policy`` and
        ``replication`` where there are several runs.
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
    steps = with_runs(obedience, ("changes", "quoted", "obeyed", "outside"), "obedience")
    own = steps[~steps["outside"].astype(bool)].copy()
    own["changes"] = own["changes"].clip(upper=MOST_CHANGES)
    names = policies_of(own)
    styles = policy_styles(names)
    figure = new_figure(width, 2.9)
    axes = figure.add_subplot()
    for name in names:
        shares = (
            own[own["policy"] == name]
            .groupby(["replication", "changes"], as_index=False)[["quoted", "obeyed"]]
            .mean()
        )
        for what, fill in (("quoted", "none"), ("obeyed", styles[name].colour)):
            told = mean_by(shares, "changes", what)
            axes.errorbar(
                told.index,
                told["mean"],
                yerr=[told["mean"] - told["low"], told["high"] - told["mean"]],
                color=styles[name].colour,
                linestyle=styles[name].dashes if what == "obeyed" else "none",
                marker=styles[name].marker,
                markerfacecolor=fill,
                capsize=3,
            )
    axes.set_ylim(-0.03, 1.03)
    axes.set_xticks(range(MOST_CHANGES + 1), [*map(str, range(MOST_CHANGES)), f"{MOST_CHANGES} or more"])
    axes.set_xlabel("Changes of premises since it was last derived")
    axes.set_ylabel("Share of steps")
    mark = PolicyStyle(INK, "-", "o")
    kinds = [handle("filled: obeyed", mark), handle("hollow: quoted", mark, filled=False)]
    own_handles = [handle(name, styles[name], dashes=styles[name].dashes) for name in names if name]
    legend_with_room(figure, [*own_handles, *kinds])
    return figure


def _line(axes: Axes, told: pd.DataFrame, style: PolicyStyle, most: float | None = None) -> None:
    low, high = told["low"].clip(lower=0), told["high"].clip(upper=most)
    axes.fill_between(told.index, low, high, color=style.colour, alpha=0.18, linewidth=0)
    axes.plot(told.index, told["mean"], color=style.colour, linestyle=style.dashes)
    axes.margins(x=0.01)
