"""How two factors change a response together: lines that are not parallel are an interaction.

In: one row a run with its factors and its response. Out: one figure for one pair of factors, or a
triangle of panels for all pairs. Runs of one replication share their world, so an interval is over the
replications' means, 95%.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import LABEL_SIZE, NAME_SIZE, handle, legend_with_room
from experiments.plots.style import (
    ONE_COLUMN,
    SPARE_STYLES,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
    wrapped,
)
from experiments.plots.tables import axis_label, mean_by, require_columns, tick_words
from simulator.errors import InputError

LEAST_FACTORS, MOST_FACTORS = 2, 5
ASIDE = 0.05
"""Between the lines of one level, so that their intervals do not cover one another; in levels."""

PANEL_INCHES = 1.45


@styled
def interaction_plot(
    table: pd.DataFrame,
    a: str,
    b: str,
    response: str,
    *,
    labels: Mapping[str, str] | None = None,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw the mean response by the levels of one factor, a line a level of another.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a run: columns `a`, `b`, `response`, and ``replication`` where worlds are shared.
    a, b : str
        The factor along the axis, and the one that tells the lines apart.
    response : str
    labels : mapping of str to str, optional
        The words for a column; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or no run has the response.

    Examples
    --------
    >>> runs = pd.DataFrame({"cap": [1, 2] * 2, "gate": ["on"] * 2 + ["off"] * 2, "usd": [1.0, 2.0, 3.0, 6]})
    >>> [line.get_ydata().tolist() for line in interaction_plot(runs, "cap", "gate", "usd").axes[0].lines]
    [[1.0, 2.0], [3.0, 6.0]]
    """
    runs = _known(table, (a, b), response)
    figure = new_figure(width, 2.7)
    axes = figure.add_subplot()
    styles = _level_styles(runs, b)
    _draw_pair(axes, runs, (a, b), response, styles)
    _name_levels(axes, _levels(runs, a), width - 0.8)
    axes.set_xlabel(axis_label(a, labels))
    axes.set_ylabel(wrapped(axis_label(response, labels), 2.0, LABEL_SIZE))
    legend_with_room(figure, _handles(styles, axis_label(b, labels)))
    return figure


@styled
def interaction_grid(
    table: pd.DataFrame,
    factors: Sequence[str],
    response: str,
    *,
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the interactions of all pairs of factors: a column a factor along the axis, a row one of lines.

    Parameters
    ----------
    table : pandas.DataFrame
        As `interaction_plot` takes it, with a column a factor.
    factors : sequence of str
        Two to five.
    response : str
    labels : mapping of str to str, optional
        The words for a column; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, no run has the response, or there are too few or too many
        factors.

    Examples
    --------
    >>> runs = pd.DataFrame({"cap": [1, 2] * 2, "gate": ["on"] * 2 + ["off"] * 2, "usd": [1.0, 2.0, 3.0, 6]})
    >>> interaction_grid(runs, ["cap", "gate"], "usd").axes[0].get_xlabel()
    'Cap'
    """
    if not LEAST_FACTORS <= len(set(factors)) == len(factors) <= MOST_FACTORS:
        raise InputError(
            f"cannot draw the pairs of {len(factors)} factors: {', '.join(map(repr, factors))}",
            where="interactions",
            expected=f"{LEAST_FACTORS} to {MOST_FACTORS} factors, each once",
        )
    runs = _known(table, factors, response)
    side = len(factors) - 1
    figure = new_figure(width, 0.4 + PANEL_INCHES * side)
    panels = figure.subplots(side, side + 1, sharex="col", sharey=True, squeeze=False)
    room = width / (side + 1) - 0.15
    for (row, b), (column, a) in itertools.product(enumerate(factors[1:]), enumerate(factors[:-1])):
        axes = panels[row, column]
        if column > row:
            continue
        _draw_pair(axes, runs, (a, b), response, _level_styles(runs, b))
        _name_levels(axes, _levels(runs, a), room)
        if row == side - 1:
            axes.set_xlabel(wrapped(axis_label(a, labels), room, NAME_SIZE))
    for row, b in enumerate(factors[1:]):
        for spare in panels[row, row + 1 :]:
            spare.set_axis_off()
        panels[row, 0].set_ylabel(wrapped(axis_label(response, labels), PANEL_INCHES - 0.2, NAME_SIZE))
        panels[row, row + 1].legend(
            handles=_handles(_level_styles(runs, b)),
            title=wrapped(axis_label(b, labels), room, NAME_SIZE),
            title_fontsize=NAME_SIZE,
            alignment="left",
            loc="center left",
            borderaxespad=0,
        )
    return figure


def _known(table: pd.DataFrame, factors: Sequence[str], response: str) -> pd.DataFrame:
    require_columns(table, (*factors, response), "runs")
    runs = table.dropna(subset=[*factors, response])
    if runs.empty:
        raise InputError(f"nothing to draw: every {response!r} is missing", where="table 'runs'")
    return runs


def _levels(runs: pd.DataFrame, factor: str) -> dict[object, str]:
    """Return the levels of a factor and their words: numbers by size, words as they appear."""
    values = runs[factor]
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return {level: tick_words(float(level)) for level in sorted(values.unique())}
    return {level: str(level) for level in values.unique()}


def _level_styles(runs: pd.DataFrame, factor: str) -> dict[object, tuple[str, PolicyStyle]]:
    """Return the words and the style of each level of a factor; policies keep theirs."""
    levels = _levels(runs, factor)
    styles = policy_styles(levels.values()) if factor == "policy" else {}
    return {
        level: (words, styles.get(words, spare))
        for (level, words), spare in zip(levels.items(), itertools.cycle(SPARE_STYLES), strict=False)
    }


def _draw_pair(
    axes: Axes,
    runs: pd.DataFrame,
    pair: tuple[str, str],
    response: str,
    styles: Mapping[object, tuple[str, PolicyStyle]],
) -> None:
    a, b = pair
    worlds = runs
    if "replication" in runs:
        worlds = runs.groupby([a, b, "replication"])[response].mean().reset_index()
    places = {level: place for place, level in enumerate(_levels(runs, a))}
    for position, (level, (_, style)) in enumerate(styles.items()):
        means = mean_by(worlds[worlds[b] == level], a, response)
        means = means.reindex(list(places)).dropna(subset=["mean"])
        aside = ASIDE * (position - (len(styles) - 1) / 2)
        at = [places[found] + aside for found in means.index]
        axes.vlines(at, means["low"], means["high"], colors=style.colour, linewidth=1.1)
        axes.plot(at, means["mean"], color=style.colour, linestyle=style.dashes, marker=style.marker)
    axes.yaxis.set_major_formatter(tick_words)


def _name_levels(axes: Axes, levels: Mapping[object, str], inches: float) -> None:
    room = 0.85 * inches / len(levels)
    axes.set_xticks(range(len(levels)), [wrapped(words, room, NAME_SIZE) for words in levels.values()])
    axes.set_xlim(-0.4, len(levels) - 0.6)
    axes.grid(visible=False, axis="x")


def _handles(styles: Mapping[object, tuple[str, PolicyStyle]], factor: str = "") -> list[Line2D]:
    return [
        handle(f"{factor}: {words}" if factor else words, style, dashes=style.dashes)
        for words, style in styles.values()
    ]
