"""What the policy counts in its window beside what is there, turn by turn.

In: the `turns` table of one run or of many. Out: one figure: a trigger acts on the believed count, so
what the counter misses is what the trigger does not see.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from experiments.plots.marks import handle, legend_with_room
from experiments.plots.style import INK, TWO_COLUMNS, PolicyStyle, new_figure, policy_styles, styled
from experiments.plots.tables import mean_by, policies_of, tick_words, with_runs
from simulator.errors import InputError

NOTHING_COUNTED = -100.0
"""The least error that a count can have, %."""


@styled
def believed_against_true(turns: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Draw the share by which the believed count misses the true one, by turn: means with 95% intervals.

    Parameters
    ----------
    turns : pandas.DataFrame
        Columns ``turn``, ``tokens`` and ``believed_tokens`` (tokens in the window at the turn's end);
        ``policy`` and ``replication`` where there are several runs.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or knows no believed count.

    Examples
    --------
    >>> table = pd.DataFrame({"turn": [1, 2], "tokens": [100, 200], "believed_tokens": [90, 150]})
    >>> believed_against_true(table).axes[0].lines[-1].get_ydata().tolist()
    [-10.0, -25.0]
    """
    runs = with_runs(turns, ("turn", "tokens", "believed_tokens"), "turns")
    true = runs["tokens"].astype(float).where(runs["tokens"] > 0)
    runs = runs.assign(missed=100.0 * (runs["believed_tokens"].astype(float) - true) / true)
    if runs["missed"].isna().all():
        raise InputError("nothing to draw: every 'believed_tokens' is missing", where="table 'turns'")
    names = policies_of(runs)
    styles = policy_styles(names)
    figure = new_figure(width, 2.7)
    axes = figure.add_subplot()
    axes.axhline(0.0, color=INK, linewidth=0.9, zorder=1.5)
    for name in names:
        means = mean_by(runs[runs["policy"].astype(str) == name], "turn", "missed")
        means["low"] = means["low"].clip(lower=NOTHING_COUNTED)
        style = styles[name]
        axes.fill_between(
            means.index, means["low"], means["high"], color=style.colour, alpha=0.18, linewidth=0
        )
        axes.plot(means.index, means["mean"], color=style.colour, linestyle=style.dashes)
    axes.margins(x=0.01)
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    axes.set_xlabel("Turn")
    axes.set_ylabel("Error of the believed count (%)")
    handles = [handle(name, styles[name], dashes=styles[name].dashes, marker="") for name in names if name]
    legend_with_room(figure, [*handles, handle("true", PolicyStyle(INK, "-", ""), dashes="-")])
    return figure
