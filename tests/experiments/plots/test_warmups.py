"""Pictures of Welch: each policy has a panel with its own cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments import plots
from experiments.plots.warmups import MOST_PANELS

pytestmark = pytest.mark.unit


def table(*names: str) -> pd.DataFrame:
    turn = np.arange(1, 101)
    frames = [{"policy": name, "turn": turn, "mean": turn + place} for place, name in enumerate(names)]
    joined = pd.concat([pd.DataFrame(frame) for frame in frames])
    return joined.assign(smoothed=joined["mean"])


def test_each_policy_has_its_line_and_its_cut(said: Callable[[Figure], list[str]]) -> None:
    cuts = {"naive": 41, "guarded": None, "other": 11, "brief": None}
    figure = plots.welch_picture(table("naive", "guarded", "other"), cuts, response="usd")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["naive: from turn 41", "guarded: too short to tell", "other: from turn 11"]
    for place, (axes, cut) in enumerate(zip(figure.axes, cuts.values(), strict=False)):
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.arange(1, 101) + place)
        assert [line.get_xdata()[0] for line in axes.lines[2:]] == ([] if cut is None else [cut])  # type: ignore[index]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert "Runs too short to tell a warm-up: brief" in said(figure)


def test_what_a_page_does_not_hold_is_counted(said: Callable[[Figure], list[str]]) -> None:
    figure = plots.welch_picture(table(*(f"policy {place}" for place in range(MOST_PANELS + 2))))
    assert len(figure.axes) == MOST_PANELS
    assert "2 more policies are not shown." in said(figure)
