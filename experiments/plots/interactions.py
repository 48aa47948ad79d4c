"""How two factors change a response together: lines that are not parallel are an interaction.

In: one row a pair of levels of two factors, as `experiments.analyses.interactions` gives it. Out: one
figure, a triangle of panels for all pairs of factors; of two factors it is one panel.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import NAME_SIZE, handle
from experiments.plots.style import (
    SPARE_STYLES,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
    wrapped,
)
from experiments.plots.tables import axis_label, require_columns, tick_words
from simulator.errors import InputError

COLUMNS = ("factor", "level", "other", "other_level", "mean", "low", "high")
MOST_FACTORS = 5
ASIDE = 0.05
"""Between the lines of one level, so that their intervals do not cover one another; in levels."""

PANEL_INCHES = 1.45

Levels = dict[object, str]
"""The levels of a factor in their order, and their words."""


@styled
def interaction_grid(
    table: pd.DataFrame,
    response: str,
    *,
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the interactions of all pairs of factors: a column a factor along the axis, a row one of lines.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a pair of levels: ``factor`` and ``other`` (names of the factors), ``level`` and
        ``other_level``; ``mean``, ``low`` and ``high`` in the response's unit. A pair of factors stands in
        one order only.
    response : str
        Its name, for the axes.
    labels : mapping of str to str, optional
        The words for a factor or the response; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, has no estimate, or has too many factors.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": "cap", "level": [1, 2] * 2, "other": "gate",
    ...     "other_level": ["on"] * 2 + ["off"] * 2, "mean": [1.0, 2.0, 3.0, 6.0], "low": 0.0, "high": 9.0})
    >>> [line.get_ydata().tolist() for line in interaction_grid(table, "usd").axes[0].lines]
    [[1.0, 2.0], [3.0, 6.0]]
    """
    require_columns(table, COLUMNS, "interactions")
    if table["mean"].isna().all():
        raise InputError("nothing to draw: every 'mean' is missing", where="table 'interactions'")
    levels = _levels_by_factor(table)
    factors = list(levels)
    if len(factors) > MOST_FACTORS:
        raise InputError(
            f"cannot draw the pairs of {len(factors)} factors: {', '.join(map(repr, factors))}",
            where="interactions",
            expected=f"at most {MOST_FACTORS} factors",
        )
    side = len(factors) - 1
    figure = new_figure(width, 0.4 + PANEL_INCHES * side)
    panels = figure.subplots(side, side + 1, sharex="col", sharey=True, squeeze=False)
    room = width / (side + 1) - 0.15
    for (row, b), (column, a) in itertools.product(enumerate(factors[1:]), enumerate(factors[:-1])):
        axes = panels[row, column]
        if column > row:
            continue
        own = table[(table["factor"] == a) & (table["other"] == b)]
        _draw_pair(axes, own, levels[a], _level_styles(b, levels[b]))
        _name_levels(axes, levels[a], room)
        if row == side - 1:
            axes.set_xlabel(wrapped(axis_label(a, labels), room, NAME_SIZE))
    for row, b in enumerate(factors[1:]):
        for spare in panels[row, row + 1 :]:
            spare.set_axis_off()
        panels[row, 0].set_ylabel(wrapped(axis_label(response, labels), PANEL_INCHES - 0.2, NAME_SIZE))
        panels[row, row + 1].legend(
            handles=_handles(_level_styles(b, levels[b])),
            title=wrapped(axis_label(b, labels), room, NAME_SIZE),
            title_fontsize=NAME_SIZE,
            alignment="left",
            loc="center left",
            borderaxespad=0,
        )
    return figure


def _levels_by_factor(table: pd.DataFrame) -> dict[str, Levels]:
    """Return each factor with its levels, those along the axes first: numbers by size, words as they come."""
    found: dict[str, Levels] = {}
    for side, of_side in (("factor", "level"), ("other", "other_level")):
        for factor, own in table.groupby(side, sort=False):
            levels = list(dict.fromkeys(own[of_side]))
            numbers = all(isinstance(one, int | float | np.number) and not _is_switch(one) for one in levels)
            ordered = sorted(levels, key=float) if numbers else levels
            words = {one: tick_words(float(one)) if numbers else str(one) for one in ordered}
            found.setdefault(str(factor), words)
    return found


def _is_switch(level: object) -> bool:
    return isinstance(level, bool | np.bool_)


def _level_styles(factor: str, levels: Levels) -> dict[object, tuple[str, PolicyStyle]]:
    """Return the words and the style of each level of a factor; policies keep theirs."""
    styles = policy_styles(levels.values()) if factor == "policy" else {}
    return {
        level: (words, styles.get(words, spare))
        for (level, words), spare in zip(levels.items(), itertools.cycle(SPARE_STYLES), strict=False)
    }


def _draw_pair(
    axes: Axes, rows: pd.DataFrame, along: Levels, styles: Mapping[object, tuple[str, PolicyStyle]]
) -> None:
    places = {level: place for place, level in enumerate(along)}
    for position, (level, (_, style)) in enumerate(styles.items()):
        own = rows[(rows["other_level"] == level) & rows["mean"].notna()]
        own = own.assign(at=own["level"].map(places)).sort_values("at")
        at = own["at"] + ASIDE * (position - (len(styles) - 1) / 2)
        axes.vlines(at, own["low"], own["high"], colors=style.colour, linewidth=1.1)
        axes.plot(at, own["mean"], color=style.colour, linestyle=style.dashes, marker=style.marker)
    axes.yaxis.set_major_formatter(tick_words)


def _name_levels(axes: Axes, levels: Levels, inches: float) -> None:
    room = 0.85 * inches / len(levels)
    axes.set_xticks(range(len(levels)), [wrapped(words, room, NAME_SIZE) for words in levels.values()])
    axes.set_xlim(-0.4, len(levels) - 0.6)
    axes.grid(visible=False, axis="x")


def _handles(styles: Mapping[object, tuple[str, PolicyStyle]]) -> list[Line2D]:
    return [handle(words, style, dashes=style.dashes) for words, style in styles.values()]
