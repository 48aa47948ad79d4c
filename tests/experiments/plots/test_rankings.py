"""Rankings: a page holds them, and they say which way is better and what they leave out."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import pytest

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
