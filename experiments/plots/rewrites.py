"""Rewrites one by one: what was believed beside what was true, the ledger of one, the cost of each.

In: the `rewrites` table of one run or of many, or one of its rows. Out: figures. The ledger stands on
the second conservation identity (design, section 4) and refuses a row that does not close.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.plots.style import (
    COST,
    GAIN,
    INK,
    MUTED,
    ONE_COLUMN,
    OTHER,
    TWO_COLUMNS,
    Dashes,
    PolicyStyle,
    legend_above,
    new_figure,
    policy_styles,
    styled,
    text_inches,
)
from experiments.plots.tables import mean_by, policies_of, signed, tick_words, with_runs
from simulator.contracts import InputError

COMMITTED = frozenset({"committed", "committed_without_effect"})
LEAST_RUNS = 5
"""A mean over replications needs this many, or all there are; fewer are survivors, not runs."""

PANEL_INCHES = 2.1
MARKERS_A_LINE = 12


class NetLine(NamedTuple):
    """How a net is drawn: the true one heavy, the believed one light and hollow on top of it."""

    colour: str
    dashes: Dashes
    weight: float
    size: float
    face: str


BELIEVED = NetLine(MUTED, (0, (3, 1.5)), 1.0, 4.4, "white")
TRUE_WEIGHT, TRUE_SIZE = 1.8, 3.6


# ------------------------------------------------------------------- believed beside true


@styled
def believed_and_true_net(
    rewrites: pd.DataFrame, *, least_runs: int = LEAST_RUNS, width: float = TWO_COLUMNS
) -> Figure:
    """Draw the net that the policy believes beside the true one, by attempt, a panel a policy.

    Lines are means over the runs whose attempt of that number was committed, with 95% intervals;
    attempts that were not committed are crosses at their mean true net.

    Parameters
    ----------
    rewrites : pandas.DataFrame
        Columns ``turn``, ``net``, ``believed_net`` (tokens) and ``outcome``; ``policy`` and
        ``replication`` where there are several runs.
    least_runs : int
        An attempt number that fewer runs reached is left out (or fewer than all runs, if there are
        not so many).
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
    runs = with_runs(rewrites, ("turn", "net", "believed_net", "outcome"), "rewrites")
    runs = runs.sort_values("turn", kind="stable")
    runs = runs.assign(attempt=runs.groupby(["policy", "replication"]).cumcount() + 1)
    names = policies_of(runs)
    styles = policy_styles(names)
    columns = min(len(names), max(1, int(width / PANEL_INCHES)))
    rows = math.ceil(len(names) / columns)
    figure = new_figure(width, 0.5 + 2.1 * rows)
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
    refused = False
    for name, axes in zip(names, panels.flat, strict=False):
        own = runs[runs["policy"] == name]
        refused |= _draw_nets(axes, own, styles[name], min(least_runs, own["replication"].nunique()))
        axes.set_title(name)
    for spare in list(panels.flat)[len(names) :]:
        spare.remove()
    for axes in panels[:, 0]:
        axes.set_ylabel("Net of a rewrite (tokens)")
    for column in range(columns):
        lowest = (len(names) - 1 - column) // columns
        panels[lowest, column].set_xlabel("Attempt number")

    handles: list[Artist] = [
        Line2D([], [], color=INK, marker="o", linewidth=TRUE_WEIGHT, label="true (outside)"),
        Line2D(
            [],
            [],
            color=BELIEVED.colour,
            linestyle=BELIEVED.dashes,
            linewidth=BELIEVED.weight,
            marker="o",
            markerfacecolor=BELIEVED.face,
            label="believed (inside)",
        ),
    ]
    if refused:
        handles.append(Line2D([], [], color=INK, marker="x", linestyle="none", label="not committed (true)"))
    legend_above(figure, handles)
    return figure


def _draw_nets(axes: Axes, runs: pd.DataFrame, style: PolicyStyle, least_runs: int) -> bool:
    """Draw one policy; return whether there were attempts that were not committed."""
    committed = runs["outcome"].isin(COMMITTED)
    axes.axhline(0.0, color=INK, linewidth=0.8, zorder=1)
    true = NetLine(style.colour, style.dashes, TRUE_WEIGHT, TRUE_SIZE, style.colour)
    for value, line in (("net", true), ("believed_net", BELIEVED)):
        means = mean_by(runs[committed], "attempt", value)
        means = means[means["count"] >= least_runs]
        step = max(1, len(means) // MARKERS_A_LINE)
        # The believed markers stand between the true ones: a policy that is right keeps both in sight.
        start = step // 2 if line is BELIEVED else 0
        axes.plot(
            means.index,
            means["mean"],
            color=line.colour,
            linestyle=line.dashes,
            linewidth=line.weight,
            marker=style.marker,
            markersize=line.size,
            markerfacecolor=line.face,
            markevery=(start, step),
            zorder=3,
        )
        if means["low"].notna().any():
            axes.fill_between(
                means.index, means["low"], means["high"], color=line.colour, alpha=0.2, linewidth=0, zorder=2
            )
    others = mean_by(runs[~committed], "attempt", "net")
    axes.plot(
        others.index,
        others["mean"],
        linestyle="none",
        marker="x",
        color=style.colour,
        markersize=3.5,
        zorder=4,
    )
    axes.set_xlim(0.4, float(runs["attempt"].max()) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_formatter(tick_words)
    return not others.empty


# ------------------------------------------------------------------- the ledger of one rewrite


class Entry(NamedTuple):
    """One line of the ledger: a level of the window, or a change of it."""

    words: str
    tokens: int
    colour: str
    hatch: str
    start: int
    level: bool


CHANGES = (
    # column, sign, words, colour, hatch, shown when it is zero
    ("freed", -1, "Freed", GAIN, "", True),
    ("rewrite_cost", 1, "Rewrite cost", COST, "////", True),
    ("measurement_cost", 1, "Measurement", COST, "....", True),
    ("tombstones", 1, "Tombstones", COST, "xxxx", False),
    ("reinjected", 1, "Reinjected", OTHER, "\\\\\\\\", False),
    ("arrivals_during", 1, "Arrived during", OTHER, "", False),
    ("out_of_band_during", -1, "Out of band", OTHER, "----", False),
)
ROW_INCHES = 0.27
BAR_HEIGHT = 0.62


@styled
def ledger_of_one_rewrite(
    rewrite_row: pd.Series, window: int, *, name: str = "", width: float = ONE_COLUMN
) -> Figure:
    """Draw one rewrite as a waterfall from the tokens before it to the tokens after it.

    Parameters
    ----------
    rewrite_row : pandas.Series
        One row of the `rewrites` table.
    window : int
        Size of the window, tokens.
    name : str
        The policy, for the title.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If a column is missing, or the row does not close: after is not before plus the changes.
    """
    return _ledgers({name: rewrite_row}, window, width)


@styled
def ledgers_side_by_side(rows: Mapping[str, pd.Series], window: int, *, width: float = TWO_COLUMNS) -> Figure:
    """Draw one rewrite of each policy as a waterfall, on the same axes, side by side.

    Parameters
    ----------
    rows : mapping of str to pandas.Series
        A row of the `rewrites` table a policy.
    window : int
        Size of the window, tokens.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If there is no row, a column is missing, or a row does not close.
    """
    if not rows:
        raise InputError("nothing to draw: no rewrite was given", where="ledgers_side_by_side")
    return _ledgers(rows, window, width)


def _ledgers(rows: Mapping[str, pd.Series], window: int, width: float) -> Figure:
    shown = [
        change for change in CHANGES if change[-1] or any(_tokens(row, change[0]) for row in rows.values())
    ]
    ledgers = {name: _entries(row, shown, name) for name, row in rows.items()}
    figure = new_figure(width, 1.05 + ROW_INCHES * (len(shown) + 2))
    low, high = _ledger_range(list(ledgers.values()), window)
    panels = figure.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, entries) in zip(panels, ledgers.items(), strict=True):
        _draw_ledger(axes, entries, window)
        axes.set_title(_title(name, rows[name]), fontsize=7.5, pad=8)
        axes.set_xlabel(f"Tokens (dashed: window, {window:,})" if low <= window <= high else "Tokens")
    first: Axes = panels[0]
    words = [entry.words for entry in next(iter(ledgers.values()))]
    first.set_yticks(range(len(words)), words)
    first.set_ylim(len(words) - 0.4, -0.6)
    first.set_xlim(low, high)
    return figure


def _tokens(row: pd.Series, column: str) -> int:
    if column not in row.index:
        raise InputError(f"no column {column!r}", where="a row of table 'rewrites'")
    value = row[column]
    return 0 if pd.isna(value) else int(value)


def _entries(row: pd.Series, shown: list[tuple[str, int, str, str, str, bool]], name: str) -> list[Entry]:
    before, after = _tokens(row, "tokens_before"), _tokens(row, "tokens_after")
    entries = [Entry("Before", before, INK, "", before, True)]
    tokens = before
    for column, sign, words, colour, hatch, _ in shown:
        change = sign * _tokens(row, column)
        entries.append(Entry(words, change, colour, hatch, tokens, False))
        tokens += change
    if tokens != after:
        raise InputError(
            f"the ledger of a rewrite does not close: {before:,} and its changes give {tokens:,}",
            where=f"table 'rewrites', policy {name!r}",
            expected=f"tokens_after, {after:,}",
        )
    return [*entries, Entry("After", after, INK, "", after, True)]


def _draw_ledger(axes: Axes, entries: list[Entry], window: int) -> None:
    numbers = [f"{entry.tokens:,}" if entry.level else signed(entry.tokens) for entry in entries]
    number_points = 72 * max(text_inches(number, 7.5) for number in numbers) + 8
    share_points = number_points + 72 * text_inches(signed(-11.1, 1) + "%", 7.5) + 8
    for place, (entry, number) in enumerate(zip(entries, numbers, strict=True)):
        end = _end(entry)
        if entry.level:
            axes.plot([end, end], [place - 0.38, place + 0.38], color=INK, lw=3, solid_capstyle="butt")
        else:
            axes.barh(
                place,
                entry.tokens,
                left=entry.start,
                height=BAR_HEIGHT,
                facecolor=entry.colour,
                edgecolor="white" if entry.tokens else "none",
                hatch=entry.hatch,
                linewidth=0,
                zorder=2.5,
            )
        if place + 1 < len(entries):
            axes.plot(
                [end, end],
                [place + BAR_HEIGHT / 2, place + 1 - BAR_HEIGHT / 2],
                color=MUTED,
                lw=0.7,
                zorder=2,
            )
        share = 100.0 * entry.tokens / window
        share_words = f"{share:.1f}%" if entry.level else f"{signed(share, 1)}%"
        for words, points in ((number, number_points), (share_words, share_points)):
            axes.annotate(
                words,
                xy=(1, place),
                xycoords=axes.get_yaxis_transform(),
                xytext=(points, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=7.5,
                weight="bold" if entry.level else "normal",
                color=INK if entry.tokens else OTHER,
                annotation_clip=False,
            )
    for words, points in (("tokens", number_points), ("of window", share_points)):
        axes.annotate(
            words,
            xy=(1, 1),
            xycoords="axes fraction",
            xytext=(points, 2),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=6.5,
            color=MUTED,
            annotation_clip=False,
        )
    axes.axvline(window, color=INK, lw=0.9, linestyle=(0, (2, 1.5)), zorder=2)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.xaxis.set_major_formatter(tick_words)


def _ledger_range(ledgers: list[list[Entry]], window: int) -> tuple[float, float]:
    """Return the ends of the axis; the window is shown where it is not far away."""
    ends = [end for entries in ledgers for entry in entries for end in (entry.start, _end(entry))]
    low, high = min(ends), max(ends)
    span = max(high - low, 1)
    if high < window <= high + 1.2 * span:
        high = window
    margin = 0.06 * max(high - low, 1)
    return low - margin, high + margin


def _end(entry: Entry) -> int:
    return entry.start if entry.level else entry.start + entry.tokens


def _title(name: str, row: pd.Series) -> str:
    outcome = str(row["outcome"]).replace("_", " ")
    net = f"net {signed(_tokens(row, 'net'))}"
    believed = row.get("believed_net")
    if believed is not None and not pd.isna(believed):
        net += f", believed {signed(float(believed))}"
    return f"{name}: {outcome}\n{net}" if name else f"{outcome}\n{net}"


# ------------------------------------------------------------------- cost against occupancy


@styled
def cost_against_occupancy(
    attempts: pd.DataFrame,
    *,
    window: int | None = None,
    bins: int = 8,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw what an attempt costs against the occupancy it starts from, a policy a line.

    Points are attempts; lines are means a bin of occupancy with 95% intervals. Attempts of one run
    depend on each other, so with several runs the interval is over the runs' means.

    Parameters
    ----------
    attempts : pandas.DataFrame
        Columns ``rewrite_cost`` and ``measurement_cost`` (tokens), and either ``occupancy_before_pct``
        or ``tokens_before`` with a `window`.
    window : int, optional
        Size of the window, tokens.
    bins : int
        About how many bins over the range of occupancies.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or the occupancy before cannot be known.
    """
    runs = with_runs(attempts, ("rewrite_cost", "measurement_cost"), "rewrites")
    runs = runs.assign(
        cost=runs["rewrite_cost"] + runs["measurement_cost"], before=_occupancy_before(runs, window)
    )
    low, high = float(runs["before"].min()), float(runs["before"].max())
    edges = MaxNLocator(nbins=bins, steps=[1, 2, 2.5, 5, 10]).tick_values(low, max(high, low + 0.1))
    runs = runs.assign(bin=np.clip(np.searchsorted(edges, runs["before"], side="right"), 1, len(edges) - 1))

    names = policies_of(runs)
    styles = policy_styles(names)
    figure = new_figure(width, 2.7)
    axes = figure.add_subplot()
    handles: list[Artist] = []
    for name in names:
        own, style = runs[runs["policy"] == name], styles[name]
        axes.plot(
            own["before"],
            own["cost"],
            linestyle="none",
            marker=".",
            markersize=3,
            markeredgewidth=0,
            color=style.colour,
            alpha=0.3,
            rasterized=True,
            zorder=2,
        )
        if own["replication"].nunique() > 1:
            of_runs = own.groupby(["bin", "replication"])["cost"].mean().reset_index()
            means = mean_by(of_runs, "bin", "cost")
        else:
            means = mean_by(own, "bin", "cost")
        axes.errorbar(
            own.groupby("bin")["before"].mean(),
            means["mean"],
            yerr=[means["mean"] - means["low"], means["high"] - means["mean"]],
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.5,
            elinewidth=0.9,
            zorder=3,
        )
        if name:
            handles.append(
                Line2D([], [], color=style.colour, linestyle=style.dashes, marker=style.marker, label=name)
            )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Occupancy before (% of window)")
    axes.set_ylabel("Cost of an attempt (tokens)")
    axes.yaxis.set_major_formatter(tick_words)
    if handles:
        legend_above(figure, handles)
    return figure


def _occupancy_before(attempts: pd.DataFrame, window: int | None) -> pd.Series[float]:
    if "occupancy_before_pct" in attempts.columns:
        return attempts["occupancy_before_pct"].astype(float)
    if "tokens_before" not in attempts.columns or window is None:
        raise InputError(
            "the occupancy before an attempt is not known",
            where="table 'rewrites'",
            expected="a column occupancy_before_pct, or tokens_before and the window",
        )
    return 100.0 * attempts["tokens_before"].astype(float) / window
