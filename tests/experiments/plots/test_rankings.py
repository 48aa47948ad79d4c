"""Rankings: a page holds them, and they say which way is better and what they leave out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments import plots

pytestmark = pytest.mark.unit

PAGE_INCHES = 10.0


def ranks(policies: int, grounds: int) -> pd.DataFrame:
    rows = [
        {"policy": f"a-policy-of-many-{place}", "scenario": f"ground {ground}", "mean": float(place)}
        for ground in range(grounds)
        for place in range(policies)
    ]
    table = pd.DataFrame(rows)
    return table.assign(low=table["mean"] - 0.4, high=table["mean"] + 0.4, best=False, bound=False)


@pytest.mark.parametrize(("policies", "grounds"), [(2, 1), (36, 1), (36, 4), (36, 13), (6, 15)])
def test_a_page_holds_a_ranking_and_each_panel_counts_what_it_leaves_out(policies: int, grounds: int) -> None:
    figure = plots.ranking_chart(ranks(policies, grounds), "usd")
    assert figure.get_figheight() <= PAGE_INCHES
    for axes in figure.axes:
        shown = [label.get_text() for label in axes.get_yticklabels()]
        assert len(shown) >= min(policies, 3)
        words = axes.get_xlabel().replace("\n", " ")
        more = policies - len(shown)
        assert words.endswith(f"{more} more in the table") if more else "more in" not in words


@pytest.mark.parametrize(("better", "words"), [("lower", "← better, Usd"), ("higher", "Usd, better →")])
def test_an_arrow_shows_the_better_side(better: Literal["lower", "higher"], words: str) -> None:
    axes = plots.ranking_chart(ranks(3, 1), "usd", better=better).axes[0]
    assert axes.get_xlabel() == words


@pytest.mark.parametrize("value", [0.0, 4.0, -250.0])
def test_equal_values_have_a_range_that_holds_them_and_whose_ticks_are_apart(
    value: float, readable: Callable[[Figure], None]
) -> None:
    table = ranks(4, 2).assign(mean=value, low=value, high=value)
    figure = plots.ranking_chart(table, "share_refused")
    readable(figure)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low < value < high
        assert high - low >= 0.1 * (abs(value) or 1.0)


def test_what_was_not_compared_has_a_mark_of_its_own_and_a_word_where_there_is_one(
    said: Callable[[Figure], list[str]],
) -> None:
    known = ranks(3, 1).assign(best=[True, False, False])
    part = known.assign(best=[True, False, None])
    figure = plots.ranking_chart(part, "usd")
    shown = [line for line in figure.axes[0].lines if len(np.atleast_1d(line.get_xdata())) == 1]

    assert [line.get_marker() for line in shown] == ["o", "o", "x"]
    assert [line.get_markerfacecolor() == "white" for line in shown[:2]] == [False, True]
    assert "not compared" in said(figure)
    assert "not compared" not in said(plots.ranking_chart(known, "usd"))


@pytest.mark.parametrize("grounds", [1, 2, 6])
def test_a_name_of_thirty_letters_stands_whole(grounds: int) -> None:
    name = "guarded-without-coherence-cost"
    figure = plots.ranking_chart(ranks(8, grounds).replace("a-policy-of-many-3", name), "usd")
    assert figure.get_figheight() <= PAGE_INCHES
    for axes in figure.axes:
        assert name in [label.get_text() for label in axes.get_yticklabels()]
