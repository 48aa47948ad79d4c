"""Occupancy turn by turn: the spiral and the oscillation.

In: the `turns` table of one run or of many. Out: one figure with a line and a band a policy, where
runs that ended early are marked and counted, so that a line of survivors cannot pass for all runs.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from experiments.plots.marks import LEGEND_NAME_INCHES, fitted, legend_with_room
from experiments.plots.style import (
    INK,
    LEGEND_SIZE,
    MUTED,
    PALE,
    TWO_COLUMNS,
    PolicyStyle,
    new_figure,
    policy_styles,
    styled,
)
from experiments.plots.tables import DASH, number_words, policies_of, with_runs

LOW_QUANTILE, HIGH_QUANTILE = 0.05, 0.95
MEDIAN_WORDS = "median of runs"
BAND_WORDS = f"{MEDIAN_WORDS}, and their {LOW_QUANTILE:.0%}{DASH}{HIGH_QUANTILE:.0%} band"
MOST_BANDS = 6
"""Policies above which none has its band: they would hide one another."""
SHOWN_BELOW_PEAK = 20.0
"""Points of occupancy that are shown at least, if no floor is given, under the lowest peak of a policy."""

NEAR_ZERO = 25.0
"""A floor under which the axis begins at 0."""

MARKERS_A_LINE = 9
FEW_CROSSES = 10
UNEVENTFUL_ENDS = frozenset({"horizon", "complete"})
FULL_ENDS = frozenset({"overflow", "dead"})
"""Ends after which a run counts as at the limit."""


@styled
def occupancy_by_turn(
    turns: pd.DataFrame,
    *,
    window: int,
    limit_pct: float = 100.0,
    documented: tuple[float, float] | None = None,
    horizon: int | None = None,
    floor_pct: float | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the occupancy at the end of each turn: per policy the median and the 5-95% band of its runs.

    Of more than `MOST_BANDS` policies the medians alone are drawn.
    A run that ends early has a cross at its end, and a lower panel shows the share of runs still
    going. Among several runs one that overflowed counts as at the limit from then on, so that the
    quantiles are those of all runs and not of the survivors; the line ends with the last run.

    Parameters
    ----------
    turns : pandas.DataFrame
        Columns ``turn`` and ``occupancy_pct`` (%); ``policy`` and ``replication`` where there are
        several runs; ``outcome`` (how the run ended, the same on each row of a run) where it is known:
        a run that ended in ``horizon`` or ``complete`` is then not marked, and only ``overflow`` and
        ``dead`` count as at the limit. Where it is not known, every early end does.
    window : int
        Size of the window, tokens; for the axis label.
    limit_pct : float
        Occupancy at which a request no longer fits, %.
    documented : (float, float), optional
        The band that a field record states, %.
    horizon : int, optional
        The last turn that a run could reach; the largest turn of the table if not given.
    floor_pct : float, optional
        Lower end of the axis, %. If not given it lies under all that a run reaches from the first turn on
        at which its occupancy falls: what is cut is the way up to the first rewrite.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows or lacks a column.

    Examples
    --------
    >>> table = pd.DataFrame({"turn": [1, 2, 3], "occupancy_pct": [86.0, 90.0, 88.0]})
    >>> occupancy_by_turn(table, window=24_000).axes[0].get_xlabel()
    'Turn'
    """
    runs = with_runs(turns, ("turn", "occupancy_pct"), "turns")
    last_turn = int(runs["turn"].max()) if horizon is None else horizon
    ends = _ends(runs, last_turn)
    several = bool((ends.groupby("policy").size() > 1).any())
    counted = several and bool(ends["early"].any())

    figure = new_figure(width, 3.5 if counted else 2.8)
    axes, count_axes = _panels(figure, counted)
    names = policies_of(runs)
    banded = several and len(names) <= MOST_BANDS
    styles = policy_styles(names)
    handles: list[Artist] = []
    for position, name in enumerate(names):
        own_ends = ends[ends["policy"] == name]
        _draw_policy(
            axes, runs[runs["policy"] == name], own_ends, styles[name], position, limit_pct, banded=banded
        )
        if count_axes is not None:
            _draw_share(count_axes, own_ends, last_turn, styles[name])
        if name:
            handles.append(_handle(name, own_ends, styles[name]))

    if several:
        handles.append(_middle_handle(banded))
    if documented is not None:
        low, high = documented
        axes.axhspan(low, high, facecolor=PALE, edgecolor="none", zorder=0.5)
        axes.hlines([low, high], 0, 1, transform=axes.get_yaxis_transform(), colors=MUTED, lw=0.6, zorder=0.6)
        label = f"documented {number_words(low)}{DASH}{number_words(high)}%"
        handles.append(Patch(facecolor=PALE, edgecolor=MUTED, linewidth=0.6, label=label))
    if ends["early"].any():
        handles.append(
            Line2D([], [], color=MUTED, marker="x", linestyle="none", markersize=5, label=_end_label(ends))
        )
    _limits(axes, runs, limit_pct, floor_pct, documented)
    axes.set_xlim(min(int(runs["turn"].min()), last_turn - 1), last_turn)
    axes.margins(x=0)
    (axes if count_axes is None else count_axes).set_xlabel("Turn")
    axes.set_ylabel(f"Occupancy (% of {window:,} tokens)")
    if handles:
        legend_with_room(figure, handles)
    return figure


def _middle_handle(banded: bool) -> Artist:
    """Return the entry of the legend for the lines, and for their bands where there are any."""
    if banded:
        return Patch(facecolor=MUTED, alpha=0.3, linewidth=0, label=BAND_WORDS)
    return Line2D([], [], color=MUTED, label=MEDIAN_WORDS)


def _ends(runs: pd.DataFrame, last_turn: int) -> pd.DataFrame:
    """Return one row a run: where it ended, and whether that was early."""
    ordered = runs.sort_values("turn", kind="stable")
    ends = ordered.groupby(["policy", "replication"], sort=False).tail(1).copy()
    ends["early"] = ends["turn"] < last_turn
    ends["full"] = ends["early"]
    if "outcome" in ends:
        ends["early"] &= ~ends["outcome"].isin(UNEVENTFUL_ENDS)
        ends["full"] &= ends["outcome"].isin(FULL_ENDS)
    return ends


def _quantiles(
    runs: pd.DataFrame, ends: pd.DataFrame, limit_pct: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the turns, and low quantile, median and high quantile of the occupancies at each."""
    groups = runs.groupby("turn")["occupancy_pct"]
    full = np.sort(ends.loc[ends["full"], "turn"].to_numpy()) if len(ends) > 1 else np.array([])
    turn = np.array(list(groups.groups), dtype=np.int64)
    over = np.searchsorted(full, turn)
    levels = [
        np.quantile(
            np.concatenate([values.to_numpy(dtype=float), np.full(count, limit_pct)]),
            (LOW_QUANTILE, 0.5, HIGH_QUANTILE),
        )
        for (_, values), count in zip(groups, over, strict=True)
    ]
    return turn, np.array(levels)


def _panels(figure: Figure, counted: bool) -> tuple[Axes, Axes | None]:
    if not counted:
        return figure.add_subplot(), None
    grid = figure.add_gridspec(2, 1, height_ratios=[4.2, 1])
    axes = figure.add_subplot(grid[0])
    count_axes = figure.add_subplot(grid[1], sharex=axes)
    axes.tick_params(labelbottom=False)
    count_axes.set_ylim(-6, 106)
    count_axes.set_yticks([0, 50, 100])
    count_axes.set_ylabel("Runs still\ngoing (%)")
    return axes, count_axes


def _draw_policy(
    axes: Axes,
    runs: pd.DataFrame,
    ends: pd.DataFrame,
    style: PolicyStyle,
    position: int,
    limit_pct: float,
    *,
    banded: bool,
) -> None:
    turn, levels = _quantiles(runs, ends, limit_pct)
    step = max(1, len(turn) // MARKERS_A_LINE)
    axes.plot(
        turn,
        levels[:, 1],
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=3.2,
        markevery=(position * step // 3 % step, step),
        zorder=3,
    )
    if banded and len(ends) > 1:
        axes.fill_between(
            turn, levels[:, 0], levels[:, 2], color=style.colour, alpha=0.18, linewidth=0, zorder=1.5
        )
    early = ends[ends["early"]]
    if not early.empty:
        axes.plot(
            early["turn"],
            early["occupancy_pct"],
            linestyle="none",
            marker="x",
            color=style.colour,
            markersize=6 if len(ends) == 1 else 3.5,
            alpha=1.0 if len(early) <= FEW_CROSSES else 0.55,
            zorder=4,
        )


def _draw_share(axes: Axes, ends: pd.DataFrame, last_turn: int, style: PolicyStyle) -> None:
    """Draw the share of runs that are not over before each turn."""
    early = np.sort(ends.loc[ends["early"], "turn"].to_numpy())
    turn = np.concatenate([[0], early, [last_turn]])
    left = 100.0 * (1.0 - np.concatenate([[0], np.arange(1, len(early) + 1), [len(early)]]) / len(ends))
    axes.step(turn, left, where="post", color=style.colour, linestyle=style.dashes, lw=1.2)


def _handle(name: str, ends: pd.DataFrame, style: PolicyStyle) -> Line2D:
    label = fitted(name, LEGEND_NAME_INCHES, LEGEND_SIZE, lines=1)
    if len(ends) == 1 and bool(ends["early"].iloc[0]):
        label += f" (ends at turn {int(ends['turn'].iloc[0])})"
    return Line2D(
        [],
        [],
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=3.2,
        label=label,
    )


def _end_label(ends: pd.DataFrame) -> str:
    early = ends[ends["early"]]
    if "outcome" in early and early["outcome"].nunique() == 1:
        return f"run ends: {early['outcome'].iloc[0]}"
    return "run ends early"


def _lowest_once_fallen(runs: pd.DataFrame) -> float:
    """Return the lowest occupancy of runs from the first turn on at which each falls; infinite without."""
    ordered = runs.sort_values(["policy", "replication", "turn"], kind="stable")
    occupancy = ordered["occupancy_pct"].astype(float)
    of_run = [ordered["policy"], ordered["replication"]]
    falls = occupancy.groupby(of_run).diff() < 0
    return float(occupancy[falls.groupby(of_run).cummax()].min()) if falls.any() else math.inf


def _limits(
    axes: Axes,
    runs: pd.DataFrame,
    limit_pct: float,
    floor_pct: float | None,
    documented: tuple[float, float] | None,
) -> None:
    lowest, highest = float(runs["occupancy_pct"].min()), float(runs["occupancy_pct"].max())
    if floor_pct is None:
        peak = min(limit_pct, float(runs.groupby("policy")["occupancy_pct"].max().min()))
        shown = max(lowest - 1.0, min(peak - SHOWN_BELOW_PEAK, _lowest_once_fallen(runs) - 1.0))
        floor_pct = 5.0 * math.floor(min(shown, documented[0] if documented else shown) / 5.0)
        floor_pct = floor_pct if floor_pct >= NEAR_ZERO else 0.0
    top = max(limit_pct, highest)
    room = 0.08 * (top - floor_pct)  # for the words over the line of the limit
    axes.set_ylim(floor_pct, top + room)
    axes.axhline(limit_pct, color=INK, linewidth=0.9, zorder=2.5)
    axes.annotate(
        f"limit {number_words(limit_pct)}%",
        xy=(0, limit_pct),
        xycoords=axes.get_yaxis_transform(),
        xytext=(3, 2.5),
        textcoords="offset points",
        fontsize=7,
        color=INK,
    )
