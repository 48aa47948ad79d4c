"""A table between two rules, drawn by hand: names of rows and columns, and cells of a few lines.

In: words. Out: one figure whose parts all have their place in inches, so that nothing overlaps whatever the
words are: they are wrapped, and where a word is wider than its column the size goes down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.plots.style import INK, MUTED, TWO_COLUMNS, new_figure, pieces_of, text_inches, wrapped

CELL_SIZE, HEAD_SIZE, LEAST_SIZE = 7.5, 7.0, 4.5
"""Points."""

LINE_INCHES, ROOM_INCHES = 0.14, 0.12
"""Height of a line of words, and what stands empty around the lines of a cell."""

SIDE_INCHES, MARK_INCHES, EDGE_INCHES = 0.06, 0.14, 0.04
"""Empty beside the words of a column; for a mark at the right of a cell; from the edge to the rows' names."""

WIDEST_NAME = 0.4
"""Share of the width that the names of the rows take at most."""


class Mark(NamedTuple):
    """A sign at the right of a cell, in its colour."""

    sign: str
    colour: str


class Cell(NamedTuple):
    """The words of one cell, the muted lines under them, and what sets it off: a ground, a mark."""

    words: str
    under: tuple[str, ...] = ()
    ground: str | None = None
    mark: Mark | None = None
    bold: bool = False
    muted: bool = False


class Head(NamedTuple):
    """The name of a column, and what stands muted under it."""

    name: str
    under: str = ""


def ruled_table(
    rows: Sequence[str],
    heads: Sequence[Head],
    cells: Mapping[tuple[int, int], Cell],
    *,
    corner: str = "",
    above: str = "",
    below: Sequence[str] = (),
    width: float = TWO_COLUMNS,
) -> Figure:
    """Draw a table, to be called by a function that is `styled`.

    Parameters
    ----------
    rows : sequence of str
    heads : sequence of Head
    cells : mapping of (int, int) to Cell
        By row and column; a place without one stays empty.
    corner : str
        What the rows are, above their names.
    above : str
        A paragraph over everything else.
    below : sequence of str
        Paragraphs under the table.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    first = min(max(text_inches(name, CELL_SIZE) for name in [*rows, corner]) + 0.16, WIDEST_NAME * width)
    column = (width - first - 0.1) / len(heads)
    marked = MARK_INCHES if any(cell.mark for cell in cells.values()) else 0.0
    room = column - SIDE_INCHES - marked
    size = _fitting([piece for cell in cells.values() for piece in _unbroken(cell)], room, CELL_SIZE)
    lines = {place: _lines(cell, room, size) for place, cell in cells.items()}
    names = [wrapped(name, first - 0.1, CELL_SIZE) for name in rows]
    most = max([1, *map(len, lines.values()), *(name.count("\n") + 1 for name in names)])
    row = LINE_INCHES * most + ROOM_INCHES
    titles, title_size = _heads([head.name for head in heads], column - SIDE_INCHES)
    notes, note_size = _heads([head.under for head in heads], column - SIDE_INCHES)
    note_lines = max((text.count("\n") + 1 for text in notes if text), default=0)
    top = _paragraph(above, width)
    bottom = [line for words in below for line in _paragraph(words, width)]
    corner_words = wrapped(corner, first - 0.1, HEAD_SIZE)
    head_lines = max([corner_words.count("\n") + 1, *(note_lines + text.count("\n") + 1 for text in titles)])
    body = row * len(rows)
    head = LINE_INCHES * (head_lines + len(top)) + (0.2 if top else 0.06)
    foot = LINE_INCHES * len(bottom) + 0.1

    figure = new_figure(width, head + body + foot + 0.1)
    figure.set_layout_engine("none")  # each part has its place in inches
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.05, width - 0.05)
    axes.set_ylim(body + foot + 0.05, -head - 0.05)
    for rule in (0, body):
        axes.plot([0, width - 0.1], [rule, rule], color=INK, lw=0.9)
    for place, line in enumerate(top):
        axes.text(EDGE_INCHES, LINE_INCHES * (place + 0.8) - head, line, va="baseline", fontsize=CELL_SIZE)
    for place, line in enumerate(bottom):
        under = body + LINE_INCHES * (place + 1) + EDGE_INCHES
        axes.text(EDGE_INCHES, under, line, va="baseline", fontsize=HEAD_SIZE, color=MUTED)
    axes.text(
        EDGE_INCHES, -0.07, corner_words, va="baseline", fontsize=HEAD_SIZE, color=MUTED, linespacing=1.1
    )
    for place, (title, note) in enumerate(zip(titles, notes, strict=True)):
        centre = first + (place + 0.5) * column
        _write_head(axes, centre, -0.07 - LINE_INCHES * note_lines, title, title_size)
        _write_head(axes, centre, -0.07, note, note_size, muted=True)
    for place, name in enumerate(names):
        axes.text(EDGE_INCHES, (place + 0.5) * row, name, va="center", fontsize=CELL_SIZE, linespacing=1.1)
    for (at, place), cell in cells.items():
        corner_of = (first + place * column, at * row)
        _draw_cell(axes, corner_of, (column, row), cell, lines[at, place], size)
    return figure


def _unbroken(cell: Cell) -> list[str]:
    """Return the words of a cell that must fit into a line."""
    return [*pieces_of(cell.words), *(piece for line in cell.under for piece in pieces_of(line))]


class _Line(NamedTuple):
    words: str
    is_under: bool


def _lines(cell: Cell, inches: float, size: float) -> list[_Line]:
    """Return the lines of a cell, wrapped."""
    own = wrapped(cell.words, inches, size, weight="bold" if cell.bold else "normal").split("\n")
    under = [line for words in cell.under if words for line in wrapped(words, inches, size).split("\n")]
    return [*(_Line(line, False) for line in own), *(_Line(line, True) for line in under)]


def _paragraph(words: str, width: float) -> list[str]:
    return wrapped(words, width - 0.2, CELL_SIZE).split("\n") if words else []


def _heads(texts: Sequence[str], inches: float) -> tuple[list[str], float]:
    """Return texts as they fit over columns of this width, and their size."""
    size = _fitting([piece for text in texts if text for piece in pieces_of(text)], inches, HEAD_SIZE)
    return [wrapped(text, inches, size, weight="bold") for text in texts], size


def _fitting(words: Sequence[str], inches: float, size: float) -> float:
    """Return the size at which the longest of these fits into a column, as far as it can be read."""
    widest = max((text_inches(word.rstrip(), size, weight="bold") for word in words), default=0.0)
    return min(size, max(LEAST_SIZE, size * inches / widest)) if widest else size


def _write_head(axes: Axes, x: float, y: float, words: str, size: float, *, muted: bool = False) -> None:
    axes.text(
        x,
        y,
        words,
        ha="center",
        va="baseline",
        fontsize=size,
        weight="normal" if muted else "bold",
        color=MUTED if muted else INK,
        linespacing=1.1,
    )


def _draw_cell(
    axes: Axes,
    corner: tuple[float, float],
    extent: tuple[float, float],
    cell: Cell,
    lines: Sequence[_Line],
    size: float,
) -> None:
    (left, top), (inches, height) = corner, extent
    if cell.ground is not None:
        ground = (left + 0.02, top + 0.02), inches - 0.04, height - 0.04
        axes.add_patch(Rectangle(*ground, facecolor=cell.ground, edgecolor="none"))
    if cell.mark is not None:
        axes.text(
            left + inches - 0.08,
            top + height / 2,
            cell.mark.sign,
            ha="right",
            va="center",
            fontsize=CELL_SIZE,
            color=cell.mark.colour,
            weight="bold",
        )
    middle = left + (inches - (MARK_INCHES if cell.mark else 0.0)) / 2
    first = top + (height - LINE_INCHES * (len(lines) - 1)) / 2
    for place, line in enumerate(lines):
        axes.text(
            middle,
            first + LINE_INCHES * place,
            line.words,
            ha="center",
            va="center",
            fontsize=size,
            weight="bold" if cell.bold and not line.is_under else "normal",
            color=MUTED if cell.muted or line.is_under else INK,
        )
