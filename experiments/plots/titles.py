"""A title over a finished figure, that makes it higher and moves nothing in it.

In: a figure, a headline and a line of detail. Out: the same figure with both above everything else.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.plots.marks import fitted
from experiments.plots.style import INK, MUTED, POINTS_PER_INCH

HEAD_SIZE, DETAIL_SIZE = 9.0, 7.0
"""Points."""

LINE_HEIGHT = 1.25
"""Of a line of words, in its size."""

MOST_HEAD_LINES, MOST_DETAIL_LINES = 2, 3
EDGE_INCHES, GAP_INCHES = 0.06, 0.05
"""Empty around the title, and between it and the figure."""


def entitled(figure: Figure, headline: str, detail: str = "") -> Figure:
    """Write a title over a figure whose parts have their places, and return the figure, higher by the title.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        As a function of this package returns it.
    headline : str
        What is shown, with its unit; cut in the middle where two lines do not hold it.
    detail : str
        Where, of how many runs, and what the intervals are; three lines at most.
    """
    width, height = figure.get_size_inches()
    room = width - 2 * EDGE_INCHES
    words = fitted(headline, room, HEAD_SIZE, lines=MOST_HEAD_LINES, weight="bold")
    parts = [(HEAD_SIZE, "bold", INK, words)]
    if detail:
        words = fitted(detail, room, DETAIL_SIZE, lines=MOST_DETAIL_LINES)
        parts.append((DETAIL_SIZE, "normal", MUTED, words))
    inches = [LINE_HEIGHT * part[0] / POINTS_PER_INCH * (part[-1].count("\n") + 1) for part in parts]
    higher = height + sum(inches) + EDGE_INCHES + GAP_INCHES
    _raise(figure, float(height / higher))
    figure.set_figheight(higher)
    top = higher - EDGE_INCHES
    for (size, weight, colour, words), own in zip(parts, inches, strict=True):
        figure.text(
            EDGE_INCHES / width,
            top / higher,
            words,
            ha="left",
            va="top",
            fontsize=size,
            weight=weight,
            color=colour,
            linespacing=1.1,
            parse_math=False,
        )
        top -= own
    return figure


def _raise(figure: Figure, share: float) -> None:
    """Put all parts of a figure into this share of its height, from below."""
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((box.x0, box.y0 * share, box.width, box.height * share))
    for legend in figure.legends:
        box = legend.get_bbox_to_anchor().transformed(figure.transFigure.inverted())
        anchor = (box.x0, box.y0 * share, box.width, box.height * share)
        legend.set_bbox_to_anchor(anchor, transform=figure.transFigure)
    for words in figure.texts:
        words.set_y(words.get_position()[1] * share)
