"""Which policy wins where: policies ranked in each scenario, those that may be the best filled.

In: one row a policy and a scenario, with its interval and whether the selection kept it. Out: one figure
with a panel a scenario. Bounds (a policy that no real one can beat, or should lose to) are lines across.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.plots.marks import (
    NAME_SIZE,
    ROW_INCHES,
    draw_estimate,
    fitted,
    handle,
    legend_with_room,
    name_rows,
    note_left_out,
    with_numbers,
)
from experiments.plots.style import (
    INK,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
    wrapped,
)
from experiments.plots.tables import axis_label, policies_of, require_columns, tick_words
from simulator.errors import InputError

COLUMNS = ("policy", "scenario", "mean", "low", "high", "best", "bound")
PANEL_INCHES = 3.0
MOST_RANKED = 15
"""Policies that a panel shows, from the best down; how many more there are is said under it."""
HEAD_INCHES = 0.55
"""What a panel needs beside its rows."""


@styled
def ranking_chart(
    table: pd.DataFrame,
    response: str = "response",
    *,
    better: Literal["lower", "higher"] = "lower",
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the policies of each scenario from the best mean down, with 95% intervals.

    A filled mark is a policy that could be the best at the confidence of the selection; the hollow ones are
    out. A bound is not ranked: it is a line with the band of its interval. A panel shows at most
    `MOST_RANKED` policies, the best ones.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a policy and a scenario: ``policy``, ``scenario``; ``mean``, ``low`` and ``high`` in the
        response's unit; ``best`` and ``bound`` (true or false).
    response : str
        Its name, for the axes.
    better : {"lower", "higher"}
        Which means come first.
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
        If the table has no rows, lacks a column, has no estimate, or gives a policy twice in a scenario.

    Examples
    --------
    >>> table = pd.DataFrame({"policy": ["naive", "guarded"], "scenario": "spiral", "mean": [9.0, 4.0],
    ...     "low": [8.0, 3.0], "high": [10.0, 5.0], "best": [False, True], "bound": False})
    >>> [words.get_text() for words in ranking_chart(table, "usd").axes[0].get_yticklabels()]
    ['guarded', 'naive']
    """
    require_columns(table, COLUMNS, "ranking")
    twice = table[table.duplicated(["policy", "scenario"])]
    if not twice.empty:
        raise InputError(
            f"{str(twice['policy'].iloc[0])!r} is given twice in {str(twice['scenario'].iloc[0])!r}",
            where="table 'ranking'",
            expected="one row a policy and scenario",
        )
    known = with_numbers(table, ["mean"], "ranking")
    scenarios = list(known["scenario"].unique())
    bounds = policies_of(known[known["bound"].astype(bool)])
    ranked = known.sort_values("mean", ascending=better == "lower", kind="stable")
    is_bound = ranked["bound"].astype(bool)
    columns = min(len(scenarios), max(1, int(width / PANEL_INCHES)))
    lines = math.ceil(len(scenarios) / columns)
    rows = min(MOST_RANKED, int(max([1, *ranked.loc[~is_bound, "scenario"].value_counts()])))
    styles = policy_styles(policies_of(table))
    figure = new_figure(width, 0.4 + lines * (HEAD_INCHES + ROW_INCHES * rows))
    panels = figure.subplots(lines, columns, squeeze=False)
    room = width / columns
    for scenario, axes in zip(scenarios, panels.flat, strict=False):
        own = ranked["scenario"] == scenario
        _draw_bounds(axes, ranked[own & is_bound], styles)
        rivals = ranked[own & ~is_bound]
        _draw_ranks(axes, rivals.head(MOST_RANKED), styles, 0.42 * room)
        axes.set_ylim(rows - 0.4, -0.6)  # rows are as high in each panel
        axes.set_title(fitted(str(scenario), 0.55 * room, NAME_SIZE, weight="bold"))
        more = len(rivals) - MOST_RANKED
        words = axis_label(response, labels) + (f"; {more} more in the table" if more > 0 else "")
        axes.set_xlabel(wrapped(words, 0.55 * room, NAME_SIZE))
    for spare in list(panels.flat)[len(scenarios) :]:
        spare.remove()
    mark = PolicyStyle(INK, "-", "o")
    legend_with_room(
        figure,
        [
            handle("may be the best", mark),
            handle("is not the best", mark, filled=False),
            *(
                handle(f"bound: {name}", styles[name], dashes=styles[name].dashes, marker="")
                for name in bounds
            ),
        ],
    )
    cells = table["policy"].astype(str) + " in " + table["scenario"].astype(str)
    note_left_out(figure, table.assign(cell=cells), ["mean"], "cell")
    return figure


def _draw_ranks(axes: Axes, rows: pd.DataFrame, styles: Mapping[str, PolicyStyle], inches: float) -> None:
    for place, row in enumerate(rows.to_dict("records")):
        style = styles[str(row["policy"])]._replace(marker="o")
        ends = (row["low"], row["high"])
        draw_estimate(axes, (row["mean"], place), style, x_ends=ends, filled=bool(row["best"]))
    name_rows(axes, [str(name) for name in rows["policy"]], inches)
    axes.margins(x=0.08)
    axes.xaxis.set_major_formatter(tick_words)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))


def _draw_bounds(axes: Axes, rows: pd.DataFrame, styles: Mapping[str, PolicyStyle]) -> None:
    for row in rows.to_dict("records"):
        style = styles[str(row["policy"])]
        axes.axvline(row["mean"], color=style.colour, linestyle=style.dashes, linewidth=1.2, zorder=1.5)
        axes.axvspan(row["low"], row["high"], color=style.colour, alpha=0.12, linewidth=0, zorder=1)
