"""Where a start-up ends: the picture of Welch with the cut of MSER-5.

In: one row a policy and turn with the mean over replications and its moving average. Out: one figure with a
panel a policy (Welch 1983; White 1997). What lies before the cut is left out of a steady-state estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.plots.marks import LABEL_SIZE, fitted, write_note
from experiments.plots.style import (
    GAIN,
    INK,
    OTHER,
    PALE,
    TWO_COLUMNS,
    legend_above,
    new_figure,
    styled,
    text_inches,
    wrapped,
)
from experiments.plots.tables import (
    axis_label,
    number_words,
    policies_of,
    require_columns,
    tick_words,
    with_runs,
)
from simulator.errors import InputError

PANEL_INCHES, PANEL_ROW_INCHES = 3.0, 1.62
"""Least width of a panel beside others, and height of a row of them."""

MOST_PANELS = 12
"""Panels that a page holds."""

DASHED = (0, (4, 2))
TOO_SHORT = "too short to tell"


@styled
def welch_picture(
    table: pd.DataFrame,
    cut: float | Mapping[str, int | None] | None = None,
    *,
    response: str = "response",
    unit: str = "turn",
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the mean of a response over replications, turn by turn, its moving average and the cut.

    Each policy has a panel with its name; a page holds `MOST_PANELS`, and how many more there are is
    written beneath.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a turn: ``turn``, ``mean`` (over replications) and ``smoothed`` (its moving average, missing
        where the window does not fit), both in the response's unit; ``policy`` where there are several.
    cut : float or mapping of str to float, optional
        The first turn that is kept, of all or by policy; no line if not given, or None. Policies of which
        the table has no rows are named beneath.
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
    >>> welch_picture(table, 2, response="usd").axes[0].get_xlabel()
    'Turn'
    """
    require_columns(table, ("turn", "mean", "smoothed"), "warm-up")
    if table["mean"].isna().all():
        raise InputError("nothing to draw: every 'mean' is missing", where="table 'warm-up'")
    rows = with_runs(table, (), "warm-up").sort_values("turn", kind="stable")
    names = policies_of(rows)
    shown = names[:MOST_PANELS]
    across = min(len(shown), max(1, int(width / PANEL_INCHES)))
    lines = math.ceil(len(shown) / across)
    figure = new_figure(width, 2.6 if len(shown) == 1 else 0.5 + PANEL_ROW_INCHES * lines)
    panels = figure.subplots(lines, across, sharey=True, squeeze=False)
    for place, axes in enumerate(panels.flat):
        if place >= len(shown):
            axes.remove()
            continue
        name = shown[place]
        first_kept = cut.get(name) if isinstance(cut, Mapping) else cut
        _draw_panel(axes, rows[rows["policy"].astype(str) == name], first_kept)
        if name:
            told = f": {TOO_SHORT}" if first_kept is None else f": from {unit} {number_words(first_kept)}"
            room = 0.8 * width / across - text_inches(told, LABEL_SIZE, weight="bold")
            axes.set_title(f"{fitted(name, room, LABEL_SIZE, lines=1, weight='bold')}{told}")
        if place + across >= len(shown):
            axes.set_xlabel(unit.capitalize())
        if place % across == 0:
            axes.set_ylabel(
                wrapped(f"{axis_label(response, labels)}, mean over replications", 1.4, LABEL_SIZE)
            )
    handles: list[Artist] = [
        Line2D([], [], color=OTHER, linewidth=0.8, label=f"mean of a {unit}"),
        Line2D([], [], color=GAIN, linewidth=1.8, label="moving average"),
    ]
    cuts = list(cut.values()) if isinstance(cut, Mapping) else [cut]
    if any(one is not None for one in cuts):
        only = (
            f"from {unit} {number_words(float(cuts[0] or 0))} on"
            if len(cuts) == 1
            else "from the dashed line on"
        )
        handles.append(
            Line2D([], [], color=INK, linewidth=0.9, linestyle=DASHED, label=f"MSER-5: kept {only}")
        )
    legend_above(figure, handles)
    if isinstance(cut, Mapping) and (short := [name for name in cut if name not in names]):
        write_note(figure, f"Runs {TOO_SHORT} a warm-up: {', '.join(short)}")
    if len(names) > len(shown):
        write_note(figure, f"{len(names) - len(shown)} more policies are not shown.")
    return figure


def _draw_panel(axes: Axes, rows: pd.DataFrame, cut: float | None) -> None:
    turn, mean, smoothed = (rows[name].to_numpy(dtype=float) for name in ("turn", "mean", "smoothed"))
    axes.plot(turn, mean, color=OTHER, linewidth=0.8)
    axes.plot(turn, smoothed, color=GAIN, linewidth=1.8)
    first = min(turn.min(), turn.max() - 1)
    if cut is not None:
        axes.axvspan(first, cut, facecolor=PALE, edgecolor="none", zorder=0.5)
        axes.axvline(cut, color=INK, linewidth=0.9, linestyle=DASHED)
    axes.set_xlim(first, turn.max())
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
