"""Sweeps: regimes, responses with intervals, two-factor tables, and the table of switches.

In: one row a point of a design, as the statistics give it. Out: figures. Nothing is estimated here
but the mean, or the most frequent regime, of rows that share a point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from experiments.plots.style import (
    INK,
    MUTED,
    ONE_COLUMN,
    PALE,
    TWO_COLUMNS,
    Dashes,
    legend_above,
    new_figure,
    policy_styles,
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
    words_alike,
)
from simulator.contracts import InputError, nearest_name

Curve = Callable[[NDArray[np.float64]], ArrayLike] | tuple[ArrayLike, ArrayLike]

# ------------------------------------------------------------------- regimes


class RegimeStyle(NamedTuple):
    """How one regime is drawn: colours that differ in lightness, and a hatch for grey paper."""

    colour: str
    hatch: str
    marker: str


REGIMES = {
    "spiral": RegimeStyle("#e08a5b", "////", "X"),
    "insufficient": RegimeStyle("#f6e3a1", "....", "s"),
    "stable": RegimeStyle("#dcecf7", "", "o"),
}
"""From worst to best; a tie between rows of one point goes to the worse."""

GRID_SHARE = 0.5
"""Points that fill less of their grid than this are drawn as points, not as cells."""


@styled
def phase_diagram(
    points: pd.DataFrame,
    x: str,
    y: str,
    regime: str = "regime",
    analytic: Curve | None = None,
    *,
    analytic_label: str = "freed = rewrite + measurement",
    labels: Mapping[str, str] | None = None,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw which regime holds where: spiral, insufficient, stable; with the analytic boundary over it.

    A grid is drawn as cells, other designs as points. Rows that share a point count once, as their most
    frequent regime.

    Parameters
    ----------
    points : pandas.DataFrame
        A row a design point.
    x, y : str
        Columns of the two factors.
    regime : str
        Column of the regime: ``spiral``, ``insufficient`` or ``stable``.
    analytic : callable or (xs, ys), optional
        The boundary as y for an array of x, or as two arrays.
    analytic_label : str
        What the boundary states.
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
        If the table has no rows, lacks a column, or names another regime.
    """
    require_columns(points, (x, y, regime), "points")
    for name in points[regime].unique():
        if name not in REGIMES:
            raise InputError(
                f"no regime {name!r}",
                where=f"column {regime!r}",
                expected=" | ".join(REGIMES),
                nearest=nearest_name(str(name), REGIMES),
            )
    worst_first = {name: rank for rank, name in enumerate(REGIMES)}
    cells = points.groupby([x, y])[regime].agg(
        lambda names: min(names.mode(), key=lambda name: worst_first[str(name)])
    )
    at_x = cells.index.get_level_values(0).to_numpy(dtype=float)
    at_y = cells.index.get_level_values(1).to_numpy(dtype=float)
    names = cells.to_numpy()
    x_edges, y_edges = _edges(np.unique(at_x)), _edges(np.unique(at_y))
    filled = len(cells) / ((len(x_edges) - 1) * (len(y_edges) - 1))

    figure = new_figure(width, 0.86 * width if width <= ONE_COLUMN else 0.6 * width)
    axes = figure.add_subplot()
    axes.grid(visible=False)
    handles: list[Artist] = []
    for name, style in REGIMES.items():
        mask = names == name
        if not mask.any():
            continue
        if filled >= GRID_SHARE:
            axes.add_collection(_cells(at_x[mask], at_y[mask], x_edges, y_edges, style), autolim=False)
            handles.append(
                Patch(facecolor=style.colour, edgecolor=MUTED, hatch=style.hatch, linewidth=0.4, label=name)
            )
        else:
            (drawn,) = axes.plot(
                at_x[mask],
                at_y[mask],
                linestyle="none",
                marker=style.marker,
                markerfacecolor=style.colour,
                markeredgecolor=INK,
                markeredgewidth=0.5,
                markersize=5,
                label=name,
            )
            handles.append(drawn)
    axes.set_xlim(x_edges[0], x_edges[-1])
    axes.set_ylim(y_edges[0], y_edges[-1])
    axes.xaxis.set_major_formatter(tick_words)
    axes.yaxis.set_major_formatter(tick_words)
    if analytic is not None:
        handles.append(_draw_analytic(axes, analytic, x_edges, analytic_label))
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(axis_label(y, labels))
    legend_above(figure, handles)
    return figure


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges of the cells around sorted values: halfway, and as far again outside."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middles = (values[1:] + values[:-1]) / 2.0
    return np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])


def _cells(
    at_x: NDArray[np.float64],
    at_y: NDArray[np.float64],
    x_edges: NDArray[np.float64],
    y_edges: NDArray[np.float64],
    style: RegimeStyle,
) -> PatchCollection:
    columns = np.searchsorted(x_edges, at_x) - 1
    rows = np.searchsorted(y_edges, at_y) - 1
    cells = [
        Rectangle(
            (x_edges[column], y_edges[row]),
            x_edges[column + 1] - x_edges[column],
            y_edges[row + 1] - y_edges[row],
        )
        for column, row in zip(columns, rows, strict=True)
    ]
    drawn = PatchCollection(cells, facecolor=style.colour, edgecolor="white", linewidth=0.4)
    drawn.set_hatch(style.hatch)
    drawn.set_hatchcolor(MUTED)
    return drawn


def _draw_analytic(axes: Axes, analytic: Curve, x_edges: NDArray[np.float64], label: str) -> Line2D:
    if callable(analytic):
        xs: ArrayLike = np.linspace(x_edges[0], x_edges[-1], 200)
        ys = analytic(np.asarray(xs, dtype=float))
    else:
        xs, ys = analytic
    (line,) = axes.plot(
        np.asarray(xs, dtype=float),
        np.asarray(ys, dtype=float),
        color="black",
        lw=1.6,
        zorder=1.9,
        label=label,
    )
    line.set_path_effects([withStroke(linewidth=3.4, foreground="white")])
    return Line2D([], [], color="black", lw=1.6, label=label)


# ------------------------------------------------------------------- one factor


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
    axes.set_ylabel(axis_label(response, labels))
    if handles:
        legend_above(figure, handles)
    return figure


# ------------------------------------------------------------------- two factors

WORDS_UP_TO = 12
"""Cells a side up to which each cell says its value."""


@styled
def heat_table(
    points: pd.DataFrame,
    x: str,
    y: str,
    value: str,
    *,
    labels: Mapping[str, str] | None = None,
    width: float = ONE_COLUMN,
) -> Figure:
    """Draw one response over two factors as a table of coloured cells.

    Cells are equally large, whatever the steps of the factors. Values on both sides of zero get two
    hues that meet at zero. Rows that share a cell count as their mean; a cell without rows is hatched.

    Parameters
    ----------
    points : pandas.DataFrame
        A row a design point.
    x, y, value : str
        Columns of the two factors and of the response.
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
    require_columns(points, (x, y, value), "points")
    grid = points.pivot_table(index=y, columns=x, values=value, aggfunc="mean", dropna=False)
    values = grid.to_numpy(dtype=float)
    rows, columns = values.shape
    figure = new_figure(width, min(max(1.1 + 0.27 * rows, 2.0), 1.1 * width))
    axes = figure.add_subplot()
    axes.grid(visible=False)
    axes.set_facecolor(PALE)
    axes.patch.set(hatch="xxxx", edgecolor="#bdbdbd")
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    norm: Normalize
    if least < 0 < most:
        far = max(-least, most)
        norm = TwoSlopeNorm(0.0, -far, far)
        colours = matplotlib.colormaps["PuOr"]
    else:
        norm = Normalize(least, most if most > least else least + 1.0)
        colours = matplotlib.colormaps["cividis"]
    mesh = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        np.ma.masked_invalid(values),
        norm=norm,
        cmap=colours,
        edgecolors="white",
        linewidth=0.6,
    )
    if max(rows, columns) <= WORDS_UP_TO:
        words = words_alike(values[np.isfinite(values)].tolist())
        room = 0.85 * (width - 1.4) / columns
        size = float(np.clip(7.0 * room / max(text_inches(word, 7.0) for word in words), 4.5, 7.0))
        for row, column, word in zip(*np.nonzero(np.isfinite(values)), words, strict=True):
            number = float(values[row, column])
            axes.text(
                float(column),
                float(row),
                word,
                ha="center",
                va="center",
                fontsize=size,
                color=_readable_on(colours(norm(number))),
            )
    axes.set_xticks(range(columns), [_level_words(level) for level in grid.columns])
    axes.set_yticks(range(rows), [_level_words(level) for level in grid.index])
    if columns > WORDS_UP_TO:
        axes.set_xticks(axes.get_xticks()[:: -(-columns // 8)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(axis_label(x, labels))
    axes.set_ylabel(axis_label(y, labels))
    bar = figure.colorbar(mesh, ax=axes, fraction=0.06, pad=0.02, format=tick_words)
    bar.set_label(axis_label(value, labels))
    bar.outline.set_visible(False)
    return figure


def _level_words(level: object) -> str:
    return number_words(float(level)) if isinstance(level, (int, float, np.number)) else str(level)


SCREEN_GAMMA, LUMINANCE_WEIGHTS = 2.2, (0.2126, 0.7152, 0.0722)
EQUAL_CONTRAST = 0.2
"""The luminance on which ink and white can be read equally well."""


def _readable_on(colour: Sequence[float]) -> str:
    """Return ink or white, whichever has more contrast with the colour (WCAG, with a plain gamma)."""
    luminance = sum(
        weight * part**SCREEN_GAMMA for weight, part in zip(LUMINANCE_WEIGHTS, colour[:3], strict=True)
    )
    return INK if luminance > EQUAL_CONTRAST else "white"


# ------------------------------------------------------------------- switches and signatures

PASS_COLOUR, MISS_COLOUR = "#e6f0f8", "#fbe3d2"
PASS_MARK, MISS_MARK = "\N{CHECK MARK}", "\N{BALLOT X}"
TABLE_SIZE, HEAD_SIZE = 7.5, 7.0
TABLE_ROW_INCHES, HEAD_LINE_INCHES = 0.27, 0.14


@styled
def signature_table(
    table: pd.DataFrame,
    *,
    setting: str = "setting",
    signature: str = "signature",
    value: str = "value",
    passed: str = "passed",
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw which signatures hold under which setting of the switches, as a table.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: the setting (a row of the figure), the signature (a column), its value (a number
        or words) and whether it passed (true, false, or missing: not judged). A column ``documented``
        is shown under the signature's name. Rows and columns keep the order of the table.
    setting, signature, value, passed : str
        Names of these columns.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the table has no rows, lacks a column, or gives a cell twice.
    """
    require_columns(table, (setting, signature, value, passed), "table")
    twice = table[table.duplicated([setting, signature])]
    if not twice.empty:
        raise InputError(
            f"{twice[signature].iloc[0]!r} is given twice for {twice[setting].iloc[0]!r}",
            where="table of signatures",
            expected="one row a setting and signature",
        )
    settings = [str(name) for name in table[setting].unique()]
    signatures = [str(name) for name in table[signature].unique()]
    first = min(max(text_inches(name, TABLE_SIZE) for name in settings) + 0.16, 0.4 * width)
    column = (width - first - 0.1) / len(signatures)
    heads = [_head(table[table[signature].astype(str) == name], name, column) for name in signatures]
    head = HEAD_LINE_INCHES * max(text.count("\n") + 1 for text, _ in heads) + HEAD_LINE_INCHES + 0.14
    body = TABLE_ROW_INCHES * len(settings)

    figure = new_figure(width, head + body + 0.1)
    figure.set_layout_engine("none")  # each part has its place in inches
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.05, width - 0.05)
    axes.set_ylim(body + 0.05, -head - 0.05)
    axes.plot([0, width - 0.1], [0, 0], color=INK, lw=0.9)
    axes.plot([0, width - 0.1], [body, body], color=INK, lw=0.9)
    for place, (text, documented) in enumerate(heads):
        centre = first + (place + 0.5) * column
        below = HEAD_LINE_INCHES if documented else 0.0
        axes.text(
            centre,
            -0.1 - below,
            text,
            ha="center",
            va="baseline",
            fontsize=HEAD_SIZE,
            weight="bold",
            linespacing=1.1,
        )
        axes.text(centre, -0.1, documented, ha="center", va="baseline", fontsize=6.5, color=MUTED)
    for place, name in enumerate(settings):
        axes.text(0.04, (place + 0.5) * TABLE_ROW_INCHES, name, va="center", fontsize=TABLE_SIZE)
    shown_words = table.groupby(signature, sort=False)[value].transform(_cell_words)
    for setting_name, signature_name, words, verdict in zip(
        table[setting].astype(str), table[signature].astype(str), shown_words, table[passed], strict=True
    ):
        left = first + signatures.index(signature_name) * column
        top = settings.index(setting_name) * TABLE_ROW_INCHES
        _draw_cell(axes, left, top, column, words, None if pd.isna(verdict) else bool(verdict))
    return figure


def _cell_words(values: pd.Series[Any]) -> pd.Series[str]:
    """Return the words for one signature's values, the numbers among them with as many decimals each."""
    numbers = [value for value in values if isinstance(value, (int, float, np.number))]
    words = iter(words_alike([float(value) for value in numbers]))
    shown = [next(words) if isinstance(value, (int, float, np.number)) else str(value) for value in values]
    return pd.Series(shown, index=values.index, dtype=object)


def _head(rows: pd.DataFrame, name: str, inches: float) -> tuple[str, str]:
    """Return the signature's name in lines, and what is documented about it."""
    documented = ""
    if "documented" in rows.columns:
        stated = rows["documented"].dropna()
        documented = str(stated.iloc[0]) if len(stated) else ""
    return wrapped(name, 0.85 * inches, HEAD_SIZE), documented


def _draw_cell(axes: Axes, left: float, top: float, inches: float, words: str, verdict: bool | None) -> None:
    middle = top + TABLE_ROW_INCHES / 2
    if verdict is not None:
        axes.add_patch(
            Rectangle(
                (left + 0.02, top + 0.02),
                inches - 0.04,
                TABLE_ROW_INCHES - 0.04,
                facecolor=PASS_COLOUR if verdict else MISS_COLOUR,
                edgecolor="none",
            )
        )
        axes.text(
            left + inches - 0.08,
            middle,
            PASS_MARK if verdict else MISS_MARK,
            ha="right",
            va="center",
            fontsize=TABLE_SIZE,
            color="#0a4f7d" if verdict else "#a33c00",
            weight="bold",
        )
    axes.text(
        left + (inches - (0.0 if verdict is None else 0.14)) / 2,
        middle,
        words,
        ha="center",
        va="center",
        fontsize=TABLE_SIZE,
        color=INK if verdict is not None else MUTED,
    )
