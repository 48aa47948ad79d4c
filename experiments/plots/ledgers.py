"""The ledger of one rewrite, as a waterfall from the tokens before to the tokens after.

In: rows of the `rewrites` table, one a policy. Out: one figure. It stands on the second conservation
identity (design, section 4) and refuses a row that does not close.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.plots.marks import fitted, write_note
from experiments.plots.style import (
    COST,
    GAIN,
    INK,
    MUTED,
    ONE_COLUMN,
    OTHER,
    TWO_COLUMNS,
    new_figure,
    styled,
    text_inches,
    wrapped,
)
from experiments.plots.tables import signed, tick_words
from simulator.errors import InputError


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
HEAD_INCHES, ROW_INCHES = 1.12, 0.27
STACKED_HEAD_INCHES, STACKED_ROW_INCHES = 0.7, 0.19
"""Heights of what a ledger needs beside its rows and of a row, alone and over others."""

BAR_HEIGHT = 0.62
LABEL_INCHES, NUMBER_INCHES, TICK_INCHES = 0.9, 1.1, 0.45
"""About the widths of the entries' names, of the two columns of numbers and of a tick's words."""

PANEL_INCHES = 2.0
"""Least width of a ledger beside others: its bars and its numbers."""

MOST_LEDGERS = 12
"""Ledgers that a page holds."""

TITLE_SIZE = 7.5
"""Points."""

LEAST_SPAN = 0.01
"""The least share of the window that the axis of a ledger spans."""


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

    A page holds `MOST_LEDGERS`; how many more there are is written beneath.

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
    drawn = dict(list(rows.items())[:MOST_LEDGERS])
    shown = [
        change for change in CHANGES if change[-1] or any(_tokens(row, change[0]) for row in drawn.values())
    ]
    ledgers = {name: _entries(row, shown, name) for name, row in drawn.items()}
    across = min(len(ledgers), max(1, int((width - LABEL_INCHES) / PANEL_INCHES)))
    lines = math.ceil(len(ledgers) / across)
    across = math.ceil(len(ledgers) / lines)  # as many lines, their panels as wide as can be
    head, row = (HEAD_INCHES, ROW_INCHES) if lines == 1 else (STACKED_HEAD_INCHES, STACKED_ROW_INCHES)
    figure = new_figure(width, lines * (head + row * (len(shown) + 2)))
    room = (width - LABEL_INCHES) / across - NUMBER_INCHES
    low, high = _ledger_range(list(ledgers.values()), window)
    panels = figure.subplots(lines, across, sharex=True, sharey=True, squeeze=False)
    for place, axes in enumerate(panels.flat):
        if place >= len(ledgers):
            axes.remove()
            continue
        name, entries = list(ledgers.items())[place]
        _draw_ledger(axes, entries, window)
        axes.set_title(_title(name, drawn[name], room + NUMBER_INCHES - 0.1), fontsize=TITLE_SIZE, pad=14)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=max(1, int(room / TICK_INCHES)), integer=True))
        if place + across >= len(ledgers):  # nothing stands under it
            axes.tick_params(labelbottom=True)
            label = f"Tokens (dashed: window, {window:,})" if low <= window <= high else "Tokens"
            axes.set_xlabel(wrapped(label, room + 0.4, 8))
    first: Axes = panels[0, 0]
    words = [entry.words for entry in next(iter(ledgers.values()))]
    first.set_yticks(range(len(words)), words)
    first.set_ylim(len(words) - 0.4, -0.6)
    first.set_xlim(low, high)
    if len(rows) > len(drawn):
        write_note(figure, f"{len(rows) - len(drawn)} more policies are not shown.")
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
                [place + (BAR_HEIGHT / 2 if entry.tokens else -BAR_HEIGHT / 2), place + 1 - BAR_HEIGHT / 2],
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
    axes.xaxis.set_major_formatter(tick_words)


def _ledger_range(ledgers: list[list[Entry]], window: int) -> tuple[float, float]:
    """Return the ends of the axis; the window is shown where it is not far away."""
    ends = [end for entries in ledgers for entry in entries for end in (entry.start, _end(entry))]
    low, high = min(ends), max(ends)
    span = max(high - low, LEAST_SPAN * window)
    if high < window <= high + 1.2 * span:
        high = window
    margin = 0.06 * max(high - low, span) + (span - min(high - low, span)) / 2
    return low - margin, high + margin


def _end(entry: Entry) -> int:
    return entry.start if entry.level else entry.start + entry.tokens


def _title(name: str, row: pd.Series, inches: float) -> str:
    """Return the policy, how its rewrite ended, and its net, each in lines of at most `inches`."""
    outcome = str(row["outcome"]).replace("_", " ")
    net = f"net {signed(_tokens(row, 'net'))}"
    believed = row.get("believed_net")
    if believed is not None and not pd.isna(believed):
        net += f", believed {signed(float(believed))}"
    if name and text_inches(f"{name}: {outcome}", TITLE_SIZE, weight="bold") > inches:
        name, outcome = fitted(name, inches, TITLE_SIZE, lines=1, weight="bold"), f"\n{outcome}"
    head = f"{name}: {outcome}".replace(": \n", "\n") if name else outcome
    return f"{head}\n{wrapped(net, inches, TITLE_SIZE, weight='bold')}"
