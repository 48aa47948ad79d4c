"""Where a start-up ends: the picture of Welch with the cut of MSER-5.

In: one row a turn with the mean over replications and its moving average. Out: one figure (Welch 1983;
White 1997). What lies before the cut is left out of a steady-state estimate.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import LABEL_SIZE
from experiments.plots.style import (
    GAIN,
    INK,
    OTHER,
    PALE,
    TWO_COLUMNS,
    legend_above,
    new_figure,
    styled,
    wrapped,
)
from experiments.plots.tables import axis_label, number_words, require_columns, tick_words
from simulator.errors import InputError


@styled
def welch_picture(
    table: pd.DataFrame,
    cut: float | None = None,
    *,
    response: str = "response",
    unit: str = "turn",
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the mean of a response over replications, turn by turn, its moving average and the cut.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a turn: ``turn``, ``mean`` (over replications) and ``smoothed`` (its moving average, missing
        where the window does not fit), both in the response's unit.
    cut : float, optional
        The first turn that is kept; no line if not given.
    response : str
        Its name, for the axis.
    unit : str
        Of the time axis, one of it.
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
        If the table has no rows, lacks a column, or has no mean.

    Examples
    --------
    >>> table = pd.DataFrame({"turn": [1, 2, 3], "mean": [5.0, 3.0, 3.0], "smoothed": [None, 3.7, None]})
    >>> welch_picture(table, 2, response="usd").axes[0].get_ylabel()
    'Usd, mean over replications'
    """
    require_columns(table, ("turn", "mean", "smoothed"), "warm-up")
    if table["mean"].isna().all():
        raise InputError("nothing to draw: every 'mean' is missing", where="table 'warm-up'")
    rows = table.sort_values("turn", kind="stable")
    turn = rows["turn"].to_numpy(dtype=float)
    figure = new_figure(width, 2.6)
    axes = figure.add_subplot()
    mean, smoothed = (rows[name].to_numpy(dtype=float) for name in ("mean", "smoothed"))
    handles: list[Artist] = [
        *axes.plot(turn, mean, color=OTHER, linewidth=0.8, label="mean of a turn"),
        *axes.plot(turn, smoothed, color=GAIN, linewidth=1.8, label="moving average"),
    ]
    first = min(turn.min(), turn.max() - 1)
    if cut is not None:
        axes.axvspan(first, cut, facecolor=PALE, edgecolor="none", zorder=0.5)
        axes.axvline(cut, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        label = f"MSER-5: kept from {unit} {number_words(cut)} on"
        handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (4, 2)), label=label))
    axes.set_xlim(first, turn.max())
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    axes.set_xlabel(unit.capitalize())
    axes.set_ylabel(wrapped(f"{axis_label(response, labels)}, mean over replications", 2.0, LABEL_SIZE))
    legend_above(figure, handles)
    return figure
