"""What every picture must be: its words in sight, on the page, and none upon another."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

HOSTILE = 'a_b$c<d>&"$e'
NAMES = (
    *("naive", "guarded", "amortised-naive", "a-policy-of-more-words-than-a-column-of-a-page-has-room-for"),
    *("never-rewrite", HOSTILE, "hysteresis-only", "strands-sliding-window", "mine", "_private", "x" * 90),
    "conserving-patient",
)
"""Twelve policies; the first ones are known, some are long."""


def words_of(figure: Figure) -> list[Text]:
    """Return the words of a figure that are in sight."""
    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-6 * (high - low)
        shown = axis.get_major_ticks() if axis.axes.axison else []
        shown = [tick for tick in shown if low - slack <= tick.get_loc() <= high + slack]
        gone = [tick for tick in axis.majorTicks if tick not in shown]
        hidden |= {label for tick in gone for label in (tick.label1, tick.label2)}
    found = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [text for text in found if text.get_visible() and text not in hidden and text.get_text().strip()]


@pytest.fixture(scope="session")
def names() -> tuple[str, ...]:
    """Return twelve policies."""
    return NAMES


@pytest.fixture(scope="session")
def said() -> Callable[[Figure], list[str]]:
    """Return what gives the words of a figure, without the ends of their lines."""
    return lambda figure: [text.get_text().replace("\n", " ") for text in words_of(figure)]


@pytest.fixture(scope="session")
def readable() -> Callable[[Figure], None]:
    """Return what asserts that no words of a figure overlap, leave its page, or are read as mathematics."""

    def check(figure: Figure) -> None:
        FigureCanvasAgg(figure).draw()
        words = words_of(figure)
        assert not any(text.get_parse_math() for text in words)
        boxes = [(text.get_text(), Text.get_window_extent(text)) for text in words]  # without an arrow
        page = figure.bbox.padded(-2.0)
        assert [
            text
            for text, box in boxes
            if not (page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1)
        ] == []
        assert [
            (one, other)
            for (one, box), (other, beside) in itertools.combinations(boxes, 2)
            if box.padded(-1.5).overlaps(beside.padded(-1.5))
        ] == []

    return check
