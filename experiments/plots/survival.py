"""How long runs last: Kaplan-Meier curves by policy.

In: one row a policy and a time at which a run ended or was lost from sight, as
`experiments.statistics` gives it. Out: one figure of steps with bands, and beneath them the runs at
risk (Kaplan and Meier 1958): a curve without its numbers hides how few runs its end rests on.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.plots.marks import NOTE_SIZE, fitted, handle, legend_with_room, with_numbers, write_note
from experiments.plots.style import INK, MUTED, TWO_COLUMNS, PolicyStyle, new_figure, policy_styles, styled
from experiments.plots.tables import policies_of, require_columns, tick_words

MARKERS_A_CURVE = 6
"""About so many, which tell curves apart in grey."""

RISK_ROW_INCHES, CURVES_INCHES = 0.15, 2.1
COLUMNS = ("policy", "time", "survival", "low", "high", "at_risk", "censored")


@styled
def survival_curves(
    table: pd.DataFrame, unit: str = "turns", *, event: str = "overflow", width: float = TWO_COLUMNS
) -> Figure:
    """Draw the share of runs that the event has not met yet, by policy, with 95% bands.

    A tick on a curve is a time at which runs were censored: still going, but seen no longer. The
    numbers beneath are the runs that could still meet the event just before that time.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``policy``, ``time`` (in `unit`), ``survival``, ``low`` and ``high`` (shares, from that
        time on), ``at_risk`` (runs, just before that time) and ``censored`` (runs, at that time).
    unit : str
        Of the times.
    event : str
        What ends a run, for the note beneath.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or knows no survival.

    Examples
    --------
    >>> table = pd.DataFrame({"policy": "naive", "time": [40.0, 60.0], "survival": [0.5, 0.5],
    ...     "low": 0.0, "high": 0.9, "at_risk": [2, 1], "censored": [0, 1]})
    >>> survival_curves(table).axes[0].get_xlabel()
    'Time (turns)'
    """
    require_columns(table, COLUMNS, "survival")
    known = with_numbers(table, ["time", "survival"], "survival")
    names = policies_of(known)
    known = known.sort_values("time", kind="stable")
    styles = policy_styles(names)
    beneath = RISK_ROW_INCHES * (len(names) + 1)
    figure = new_figure(width, CURVES_INCHES + beneath + 0.6)
    grid = figure.add_gridspec(2, 1, height_ratios=[CURVES_INCHES, beneath])
    axes = figure.add_subplot(grid[0])
    risk_axes = figure.add_subplot(grid[1], sharex=axes)
    for place, name in enumerate(names):
        _draw_curve(axes, known[known["policy"].astype(str) == name], styles[name], place)
    last = float(known["time"].max()) or 1.0
    axes.set_xlim(0, last)
    axes.set_ylim(-0.03, 1.05)
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], integer=True).tick_values(0, last)
    axes.set_xticks([tick for tick in ticks if 0 <= tick <= last])
    axes.xaxis.set_major_formatter(tick_words)
    axes.set_xlabel(f"Time ({unit})")
    axes.set_ylabel("Runs still going (share)")
    _write_risks(risk_axes, known, names, 0.28 * width)
    handles = [handle(name, styles[name], dashes=styles[name].dashes) for name in names]
    if (known["censored"] > 0).any():
        handles.append(handle("still going when last seen (censored)", PolicyStyle(INK, "-", "|")))
    legend_with_room(figure, handles)
    write_note(figure, f"What ends a run: {event}. Bands: 95%.")
    return figure


def _draw_curve(axes: Axes, rows: pd.DataFrame, style: PolicyStyle, place: int) -> None:
    start = pd.DataFrame({"time": [0.0], "survival": [1.0], "low": [1.0], "high": [1.0]})
    steps = pd.concat([start, rows[list(start.columns)].astype(float)])
    at = steps["time"].to_numpy()
    apart = max(1, len(at) // MARKERS_A_CURVE)
    axes.step(
        at,
        steps["survival"],
        where="post",
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=3.2,
        markevery=(place % apart, apart),
        zorder=3,
    )
    axes.fill_between(
        at, steps["low"], steps["high"], step="post", color=style.colour, alpha=0.15, linewidth=0
    )
    lost = rows[rows["censored"] > 0]
    if lost.empty:
        return  # a line without points that is not clipped takes the whole page
    axes.plot(
        lost["time"],
        lost["survival"],
        linestyle="none",
        marker="|",
        markersize=6,
        color=style.colour,
        clip_on=False,
        zorder=4,
    )


def _write_risks(axes: Axes, table: pd.DataFrame, names: list[str], inches: float) -> None:
    for place, name in enumerate(names):
        rows = table[table["policy"].astype(str) == name]
        later = np.searchsorted(rows["time"].to_numpy(dtype=float), axes.get_xticks())
        counts = [*rows["at_risk"].to_numpy(dtype=float), 0.0]
        for tick, row in zip(axes.get_xticks(), later, strict=True):
            words = tick_words(counts[row]) if np.isfinite(counts[row]) else ""
            axes.text(tick, place, words, ha="center", va="center", fontsize=NOTE_SIZE)
    axes.set_yticks(range(len(names)), [fitted(name, inches, NOTE_SIZE, lines=1) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.tick_params(axis="y", length=0, pad=18)
    axes.set_title("Runs at risk", fontsize=NOTE_SIZE, color=MUTED)
