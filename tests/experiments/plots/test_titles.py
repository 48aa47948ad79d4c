"""Titles over figures: they cover nothing and move nothing, whatever the words are."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from experiments import plots
from experiments.plots.titles import entitled

pytestmark = pytest.mark.unit

WORDS = {
    "short": ("Cost ($) by policy", "constant-arrivals; 20 runs"),
    "long": ("a very long headline " * 20, "and a detail that has no end; " * 40),
    "hostile": ('a_b$c<d>&"$e', "'quoted' $x^2$ " * 9 + "x" * 300),
    "bare": ("Cost", ""),
}


def heat() -> Figure:
    table = pd.DataFrame({"cap": [1, 2, 1, 2], "knee": [1, 1, 2, 2], "net": [1.0, 2.0, 3.0, -4.0]})
    return plots.heat_table(table, "cap", "knee", "net")


def refusals() -> Figure:
    names = [f"policy {number}" for number in range(9)]
    ends = {"low": 0.0, "high": 0.2, "net": 5.0, "net_low": 1.0, "net_high": 9.0}
    return plots.rejection_against_net(pd.DataFrame({"policy": names, "share_refused": 0.1, **ends}))


def means() -> Figure:
    rows = {"setting": ["a", "b"], "response": "usd", "mean": [1.0, 2.0], "low": 0.5, "high": 2.5}
    return plots.means_table(pd.DataFrame(rows), corner="policy")


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("draw", [heat, refusals, means])
def test_a_title_stands_above_all_else_within_the_page(draw: object, words: str) -> None:
    assert callable(draw)
    figure = entitled(draw(), *WORDS[words])
    figure.draw_without_rendering()
    title = [text for text in figure.texts if text.get_text()]
    boxes = [text.get_window_extent() for text in title]
    others = [text for text in figure.findobj(Text) if text not in title and text.get_text().strip()]

    assert len(title) == 2 - (words == "bare")
    assert not any(text.get_parse_math() for text in title)
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in boxes)
    lowest = min(box.y0 for box in boxes)
    drawn = [text for text in others if isinstance(text, Text) and text.get_visible()]
    assert max(text.get_window_extent().y1 for text in drawn) <= lowest
    if len(boxes) > 1:
        assert boxes[1].y1 <= boxes[0].y0 + 1


@pytest.mark.parametrize("draw", [heat, refusals, means])
def test_a_title_moves_nothing(draw: object) -> None:
    assert callable(draw)

    def places(figure: Figure) -> list[tuple[float, ...]]:
        figure.draw_without_rendering()
        axes = [found.get_window_extent().extents for found in figure.axes]
        return [
            tuple(box) for box in [*axes, *(legend.get_window_extent().extents for legend in figure.legends)]
        ]

    for before, after in zip(places(draw()), places(entitled(draw(), *WORDS["long"])), strict=True):
        assert after == pytest.approx(before, abs=1.0)  # pixels from the lower left corner
