"""A response over one factor, with intervals.

In: one row a level of the factor (and a policy), as the statistics give it. Out: one figure.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import LABEL_SIZE, legend_with_room
from experiments.plots.style import (
    ONE_COLUMN,
    Dashes,
    new_figure,
    policy_styles,
    styled,
    wrapped,
)
from experiments.plots.tables import (
    axis_label,
    policies_of,
    require_columns,
    tick_words,
)

LABEL_ROOM_INCHES = 2.0
"""For the words along the upright axis, which is a little higher."""


@styled
def response_with_intervals(
    table: pd.DataFrame,
    factor: str,
    response: str,
    low: str = "low",
    high: str = "high",
    by: str = "policy",
    *,
    labels: Mapping[str, str] | None = None,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw a response over one factor: lines with bands, or marks with bars where the factor is in words.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a level of the factor (and a policy).
    factor, response : str
        Columns of the factor and of the estimate.
    low, high : str
        Columns of the ends of the interval, in the response's unit.
    by : str
        Column that tells the lines apart; one line if the table does not have it.
    labels : mapping of str to str, optional
        The words for an axis, by column; made from the column's name if not given.
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
    require_columns(table, (factor, response, low, high), "table")
    grouped = table if by in table.columns else table.assign(**{by: ""})
    names = policies_of(grouped, by)
    styles = policy_styles(names)
    in_words = not pd.api.types.is_numeric_dtype(table[factor]) or pd.api.types.is_bool_dtype(table[factor])
    levels = [str(level) for level in table[factor].unique()]
    figure = new_figure(width, 2.7)
    axes = figure.add_subplot()
    handles: list[Artist] = []
    for position, name in enumerate(names):
        own, style = grouped[grouped[by].astype(str) == name], styles[name]
        value, least, most = (own[column].to_numpy(dtype=float) for column in (response, low, high))
        if in_words:
            aside = 0.5 * (position - (len(names) - 1) / 2) / max(len(names), 2)
            at = np.array([levels.index(str(level)) for level in own[factor]]) + aside
            axes.errorbar(
                at,
                value,
                yerr=[value - least, most - value],
                linestyle="none",
                color=style.colour,
                marker=style.marker,
                elinewidth=1.1,
                capsize=3,
            )
        else:
            order = np.argsort(own[factor].to_numpy(dtype=float), kind="stable")
            at = own[factor].to_numpy(dtype=float)[order]
            axes.fill_between(at, least[order], most[order], color=style.colour, alpha=0.18, linewidth=0)
            axes.plot(at, value[order], color=style.colour, linestyle=style.dashes, marker=style.marker)
        if name:
            dashes: Dashes = "none" if in_words else style.dashes
            handles.append(
                Line2D([], [], color=style.colour, linestyle=dashes, marker=style.marker, label=name)
            )
    if in_words:
        room = 0.75 * (width - 0.8) / len(levels)
        axes.set_xticks(range(len(levels)), [wrapped(level, room, 7.5) for level in levels])
        axes.set_xlim(-0.5, len(levels) - 0.5)
        axes.grid(visible=False, axis="x")
    else:
        axes.margins(x=0.03)
        axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    axes.set_xlabel(axis_label(factor, labels))
    axes.set_ylabel(wrapped(axis_label(response, labels), LABEL_ROOM_INCHES, LABEL_SIZE))
    if handles:
        legend_with_room(figure, handles)
    return figure
