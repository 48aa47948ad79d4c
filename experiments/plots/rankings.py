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

from experiments.plots.forests import BETTER
from experiments.plots.marks import (
    LABEL_SIZE,
    LINE_INCHES,
    NAME_SIZE,
    draw_estimate,
    fitted,
    handle,
    legend_with_room,
    name_rows,
    note_left_out,
    spread_equal,
    with_numbers,
)
from experiments.plots.style import (
    INK,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
    text_inches,
    wrapped,
)
from experiments.plots.tables import axis_label, policies_of, require_columns, tick_words
from simulator.errors import InputError

COLUMNS = ("policy", "scenario", "mean", "low", "high", "best", "bound")
NAME_INCHES, WHOLE_NAME_INCHES, NAMES_SHARE = 1.35, 2.05, 0.42
"""Least and most room for the names of policies, the most holding some 30 letters, or a share of a panel."""

PLOT_INCHES, LEAST_PLOT_INCHES = 1.5, 0.95
"""Width of a panel beside its names, and where there are more panels than a page holds then."""

TICK_INCHES, EDGE_INCHES = 0.42, 0.12
"""Least room for the number at a tick, and what is empty beside a panel."""

PAGE_INCHES = 9.5
"""Height that a page has for a picture."""

MOST_RANKED, FEWEST_RANKED = 15, 3
"""Policies that a panel shows, from the best down, where a page has room, and where it has none."""

HEAD_INCHES, LEGEND_INCHES = 0.7, 0.4
"""What a panel needs beside its rows, and a figure beside its panels."""

NOT_COMPARED = "x"
"""Marker of a policy of which the selection does not know whether it may be the best."""


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
    out, and a cross is one that was not compared. A bound is not ranked: it is a line with the band of its
    interval. A panel shows at most `MOST_RANKED` policies, the best ones, and fewer where the panels would
    not fit a page; how many more there are is said under it.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a policy and a scenario: ``policy``, ``scenario``; ``mean``, ``low`` and ``high`` in the
        response's unit; ``best`` (true or false, missing where nothing was compared) and ``bound`` (true or
        false).
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
    if "rank" in known:  # whom a race put out early may have the better mean, of fewer worlds
        ranked = ranked.sort_values("rank", kind="stable", na_position="last")
    is_bound = ranked["bound"].astype(bool)
    most = int(max([1, *ranked.loc[~is_bound, "scenario"].value_counts()]))
    longest = max(text_inches(str(name), NAME_SIZE) for name in ranked["policy"])
    columns, rows = _columns_and_rows(len(scenarios), most, longest, width)
    lines = math.ceil(len(scenarios) / columns)
    styles = policy_styles(policies_of(table))
    figure = new_figure(width, LEGEND_INCHES + lines * (HEAD_INCHES + LINE_INCHES * rows))
    panels = figure.subplots(lines, columns, squeeze=False)
    room = width / columns
    names_room = min(max(longest, NAME_INCHES), max(WHOLE_NAME_INCHES, NAMES_SHARE * room))
    names_room = min(names_room, room - LEAST_PLOT_INCHES)
    for scenario, axes in zip(scenarios, panels.flat, strict=False):
        own = ranked["scenario"] == scenario
        _draw_bounds(axes, ranked[own & is_bound], styles)
        rivals = ranked[own & ~is_bound]
        _draw_ranks(axes, rivals.head(rows), styles, names_room)
        spread_equal(axes, "x")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=max(2, int((room - names_room) / TICK_INCHES))))
        axes.set_ylim(rows - 0.4, -0.6)  # rows are as high in each panel
        beneath = room - names_room - EDGE_INCHES
        axes.set_title(fitted(str(scenario), beneath, LABEL_SIZE, weight="bold"))
        words = wrapped(_label(axis_label(response, labels), better), beneath, NAME_SIZE)
        if (more := len(rivals) - rows) > 0:
            words += "\n" + wrapped(f"{more} more in the table", beneath, NAME_SIZE)
        axes.set_xlabel(words, fontsize=NAME_SIZE)
    for spare in list(panels.flat)[len(scenarios) :]:
        spare.remove()
    mark = PolicyStyle(INK, "-", "o")
    unknown = ranked.loc[~is_bound, "best"].isna()
    legend_with_room(
        figure,
        [
            handle("may be the best", mark),
            handle("is not the best", mark, filled=False),
            *([handle("not compared", mark, marker=NOT_COMPARED)] if unknown.any() else []),
            *(
                handle(f"bound: {name}", styles[name], dashes=styles[name].dashes, marker="")
                for name in bounds
            ),
        ],
    )
    cells = table["policy"].astype(str) + " in " + table["scenario"].astype(str)
    note_left_out(figure, table.assign(cell=cells), ["mean"], "cell")
    return figure


def _columns_and_rows(scenarios: int, policies: int, longest: float, width: float) -> tuple[int, int]:
    """Return how many panels stand side by side, and how many policies each shows, on one page.

    The longest name takes so many inches.
    """
    names = min(max(longest, NAME_INCHES), WHOLE_NAME_INCHES)
    for beside in (PLOT_INCHES, LEAST_PLOT_INCHES):
        columns = min(scenarios, max(1, int(width / (names + beside))))
        panel = (PAGE_INCHES - LEGEND_INCHES) / math.ceil(scenarios / columns)
        rows = int((panel - HEAD_INCHES) / LINE_INCHES)
        if rows >= min(policies, MOST_RANKED):
            break
    return columns, min(policies, MOST_RANKED, max(rows, FEWEST_RANKED))


def _label(response: str, better: Literal["lower", "higher"]) -> str:
    """Return the words for the axis, with an arrow to its good side.

    >>> _label("Usd", "higher")
    'Usd, better →'
    """
    side, arrow = BETTER[better]
    return f"{arrow}, {response}" if side == "left" else f"{response}, {arrow}"


def _draw_ranks(axes: Axes, rows: pd.DataFrame, styles: Mapping[str, PolicyStyle], inches: float) -> None:
    for place, row in enumerate(rows.to_dict("records")):
        unknown = bool(pd.isna(row["best"]))
        style = styles[str(row["policy"])]._replace(marker=NOT_COMPARED if unknown else "o")
        ends = (row["low"], row["high"])
        draw_estimate(axes, (row["mean"], place), style, x_ends=ends, filled=unknown or bool(row["best"]))
    name_rows(axes, [str(name) for name in rows["policy"]], inches, lines=1)
    axes.margins(x=0.08)
    axes.xaxis.set_major_formatter(tick_words)


def _draw_bounds(axes: Axes, rows: pd.DataFrame, styles: Mapping[str, PolicyStyle]) -> None:
    for row in rows.to_dict("records"):
        style = styles[str(row["policy"])]
        axes.axvline(row["mean"], color=style.colour, linestyle=style.dashes, linewidth=1.2, zorder=1.5)
        axes.axvspan(row["low"], row["high"], color=style.colour, alpha=0.12, linewidth=0, zorder=1)
