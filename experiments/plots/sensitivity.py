"""Which factor moves a response most: swings, shares of the variance, elementary effects.

In: one row a factor, as `experiments.statistics` gives it. Out: one figure: a tornado (one factor at a
time), Sobol' indices (Saltelli et al., Global Sensitivity Analysis, 2008, chapter 4), or the plane of
Morris (1991) with the modified mean of Campolongo et al. (2007).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.plots.marks import (
    LABEL_SIZE,
    NOTE_SIZE,
    ROW_INCHES,
    draw_estimate,
    fitted,
    handle,
    name_rows,
    note_left_out,
    with_numbers,
)
from experiments.plots.point_names import name_points
from experiments.plots.style import (
    COST,
    GAIN,
    INK,
    MUTED,
    TWO_COLUMNS,
    PolicyStyle,
    legend_above,
    new_figure,
    styled,
    text_inches,
)
from experiments.plots.tables import axis_label, require_columns, tick_words
from simulator.errors import InputError

SWING_COLUMNS = ("factor", "low_value", "high_value", "base", "low_label", "high_label")
INDEX_COLUMNS = ("factor", "first", "first_low", "first_high", "total", "total_low", "total_high")
LANE = 0.36
"""Half of a bar's height, in rows."""

LOW_HATCH = "////"
LEVEL_INCHES = 0.9
"""For the words of a level at the end of its bar."""

FREE_SHARE = 1.25
"""Of the largest value, how far an axis reaches: names stand beside the points."""

FIRST, TOTAL = PolicyStyle(GAIN, "-", "o"), PolicyStyle(COST, "-", "s")


@styled
def tornado(
    table: pd.DataFrame,
    response: str,
    *,
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw how far each factor alone swings a response from its base value, the widest swing highest.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a factor: ``factor``; ``low_value``, ``high_value`` and ``base`` (the response at the low
        level, at the high level and at the base, in its unit; one base for all), the first two each with
        ``_low`` and ``_high`` where its interval is known; ``low_label`` and ``high_label`` (the words for
        the two levels).
    response : str
        Its name, for the axis.
    labels : mapping of str to str, optional
        The words for a response or a factor; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, has more than one base, or no factor has both values.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": ["cap"], "low_value": [1.0], "high_value": [4.0], "base": [2.0],
    ...     "low_label": ["80"], "high_label": ["320"]})
    >>> [float(bar.get_width()) for bar in tornado(table, "usd").axes[0].patches]
    [-1.0, 2.0]
    """
    require_columns(table, SWING_COLUMNS, "swings")
    rows = with_numbers(table, ["low_value", "high_value", "base"], "swings")
    if rows["base"].nunique() > 1:
        raise InputError(
            f"the factors swing around {rows['base'].nunique()} values of 'base'",
            where="table 'swings'",
            expected="one base for all factors",
        )
    swing = (rows["high_value"] - rows["low_value"]).abs()
    rows = rows.loc[swing.sort_values(ascending=False, kind="stable").index]
    figure = new_figure(width, 0.9 + ROW_INCHES * len(rows))
    axes = figure.add_subplot()
    base = float(rows["base"].iloc[0])
    axes.axvline(base, color=INK, linewidth=0.9, zorder=3)
    for place, row in enumerate(rows.to_dict("records")):
        changes = {"low": row["low_value"] - base, "high": row["high_value"] - base}
        one_side = changes["low"] * changes["high"] > 0
        for level, change in changes.items():
            height = LANE if one_side else 2 * LANE
            aside = 0.0 if not one_side else (-LANE / 2 if level == "low" else LANE / 2)
            _draw_swing(axes, (base, place + aside), change, height, level)
            ends = [float(row.get(f"{level}_value_{end}", np.nan)) for end in ("low", "high")]
            tips = _draw_spread(axes, (base + change, place + aside), ends)
            _name_swing(axes, tips, place + aside, change, height, level, str(row[f"{level}_label"]))
    name_rows(axes, [axis_label(str(name), labels) for name in rows["factor"]], 0.3 * width)
    words = [*rows["low_label"].astype(str), *rows["high_label"].astype(str)]
    room = min(LEVEL_INCHES, max(text_inches(word, NOTE_SIZE) for word in words)) + 0.08
    axes.margins(x=room / (0.6 * width - 2 * room))  # the names take at most the rest of the width
    axes.xaxis.set_major_formatter(tick_words)
    axes.set_xlabel(axis_label(response, labels))
    legend_above(
        figure,
        [
            Patch(facecolor="white", edgecolor=COST, hatch=LOW_HATCH, label="factor at its low level"),
            Patch(facecolor=GAIN, edgecolor=GAIN, label="factor at its high level"),
        ],
    )
    note_left_out(figure, table, ["low_value", "high_value", "base"], "factor")
    return figure


@styled
def sensitivity_bars(
    table: pd.DataFrame,
    response: str = "response",
    *,
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the first-order and the total index of each factor with intervals, the largest total highest.

    The distance between the two is what a factor does together with others.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a factor: ``factor``; ``first``, ``first_low``, ``first_high``, ``total``, ``total_low`` and
        ``total_high`` (shares of the response's variance; estimates may leave [0, 1]).
    response : str
        Its name, for the axis.
    labels : mapping of str to str, optional
        The words for a response or a factor; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or no factor has both indices.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": ["cap"], "first": [0.3], "first_low": [0.2], "first_high": [0.4],
    ...     "total": [0.5], "total_low": [0.4], "total_high": [0.6]})
    >>> [float(bar.get_width()) for bar in sensitivity_bars(table).axes[0].patches]
    [0.3, 0.5]
    """
    require_columns(table, INDEX_COLUMNS, "indices")
    rows = with_numbers(table, ["first", "total"], "indices").sort_values(
        "total", ascending=False, kind="stable"
    )
    figure = new_figure(width, 0.9 + ROW_INCHES * len(rows))
    axes = figure.add_subplot()
    axes.axvline(0.0, color=INK, linewidth=0.9, zorder=1.5)
    for place, row in enumerate(rows.to_dict("records")):
        for index, style, aside in (("first", FIRST, -LANE / 2), ("total", TOTAL, LANE / 2)):
            axes.barh(place + aside, row[index], LANE, color=style.colour, alpha=0.25)
            ends = (row[f"{index}_low"], row[f"{index}_high"])
            draw_estimate(axes, (row[index], place + aside), style, x_ends=ends)
    name_rows(axes, [axis_label(str(name), labels) for name in rows["factor"]], 0.3 * width)
    axes.set_xlim(min(-0.02, axes.get_xlim()[0]), max(1.02, axes.get_xlim()[1]))
    axes.xaxis.set_major_formatter(tick_words)
    share = f"Share of the variance of {axis_label(response, labels)}, 95% interval"
    axes.set_xlabel(fitted(share, 0.6 * width, LABEL_SIZE))
    legend_above(figure, [handle("alone (first order)", FIRST), handle("with all others (total)", TOTAL)])
    note_left_out(figure, table, ["first", "total"], "factor")
    return figure


@styled
def morris_plane(
    table: pd.DataFrame,
    *,
    response: str = "response",
    labels: Mapping[str, str] | None = None,
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw the strength of each factor's elementary effects against their spread.

    Factors far to the right matter; those over the line, where the spread exceeds the mean, act through
    others or along a curve.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a factor: ``factor``, ``mu_star`` (mean of absolute effects) and ``sigma`` (their standard
        deviation), in the response's unit a full range of the factor; ``mu_star_low`` and
        ``mu_star_high`` where its interval is known.
    response : str
        Its name, for the axes.
    labels : mapping of str to str, optional
        The words for a response or a factor; made from its name if not given.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or no factor has both values.

    Examples
    --------
    >>> table = pd.DataFrame({"factor": ["cap_tokens"], "mu_star": [40.0], "sigma": [8.0]})
    >>> [words.get_text() for words in morris_plane(table).axes[0].texts]
    ['Cap (tokens)']
    """
    require_columns(table, ("factor", "mu_star", "sigma"), "elementary effects")
    rows = with_numbers(table, ["mu_star", "sigma"], "elementary effects")
    rows = rows.sort_values("mu_star", ascending=False, kind="stable")
    figure = new_figure(width, 3.0)
    axes = figure.add_subplot()
    ends = rows.reindex(columns=["mu_star_low", "mu_star_high"]).to_numpy(dtype=float)
    for place, (low, high) in zip(rows[["mu_star", "sigma"]].to_numpy(dtype=float), ends, strict=True):
        draw_estimate(axes, (place[0], place[1]), FIRST, x_ends=(low, high))
    most = np.nanmax([*rows["mu_star"], *ends[:, 1]])
    right, top = (FREE_SHARE * float(largest) or 1.0 for largest in (most, rows["sigma"].max()))
    end = min(right, top)
    axes.plot([0, end], [0, end], color=MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick_words)
    axes.set_xlabel(f"Mean of absolute effects\n{axis_label(response, labels)}")
    axes.set_ylabel("Standard deviation of effects")
    legend_above(
        figure, [handle("standard deviation = mean", PolicyStyle(MUTED, "-", ""), dashes=(0, (4, 2)))]
    )
    note_left_out(figure, table, ["mu_star", "sigma"], "factor")
    places = list(rows[["mu_star", "sigma"]].itertuples(index=False, name=None))
    name_points(axes, places, [axis_label(str(name), labels) for name in rows["factor"]])
    return figure


def _draw_swing(axes: Axes, start: tuple[float, float], change: float, height: float, level: str) -> None:
    base, place = start
    low = level == "low"
    axes.barh(
        place,
        change,
        height,
        left=base,
        facecolor="white" if low else GAIN,
        edgecolor=COST if low else GAIN,
        hatch=LOW_HATCH if low else None,
        zorder=2,
    )


def _draw_spread(axes: Axes, end: tuple[float, float], ends: list[float]) -> tuple[float, float]:
    """Draw the interval of a bar's end, where both of its own ends are known.

    Returns how far bar and interval reach to the left and right.
    """
    value, place = end
    if not np.isfinite(ends).all():
        return value, value
    axes.plot(ends, [place] * 2, color=INK, linewidth=1.1, marker="|", markersize=5, zorder=2.5)
    return min(value, *ends), max(value, *ends)


def _name_swing(
    axes: Axes, tips: tuple[float, float], place: float, change: float, height: float, level: str, words: str
) -> None:
    """Write the words of a level beyond its bar; where nothing changes the low level stands left."""
    right = change > 0 or (change == 0 and level == "high")
    axes.annotate(
        fitted(words, LEVEL_INCHES, NOTE_SIZE, lines=1),
        (tips[right], place),
        xytext=(3 if right else -3, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=NOTE_SIZE if height > LANE else NOTE_SIZE - 1,
    )
