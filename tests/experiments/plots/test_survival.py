"""Survival: the picture says what ends a run, in words that do not stand over its axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments import plots
from experiments.analyses.survival import ENDED, EVENT, MOST_CURVES

pytestmark = pytest.mark.unit


def lives(count: int) -> pd.DataFrame:
    time = np.arange(10.0, 100.0, 10.0)
    share = np.linspace(0.9, 0.1, len(time))
    one = pd.DataFrame({"time": time, "survival": share, "low": share / 2, "high": share, "at_risk": 10})
    return pd.concat([one.assign(policy=f"policy {place}, head 3,000", censored=1) for place in range(count)])


@pytest.mark.parametrize("count", [1, MOST_CURVES])
def test_the_words_of_the_axis_are_no_longer_than_it(count: int, said: Callable[[Figure], list[str]]) -> None:
    figure = plots.survival_curves(lives(count), event=EVENT)
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    assert axes.yaxis.label.get_window_extent().height < axes.get_window_extent().height
    assert any(f"What ends a run: {EVENT}." in words for words in said(figure))


def test_all_that_ends_a_run_is_named() -> None:
    stems = {"overflow": "overflow", "dead": "death", "halted": "halt"}
    assert set(stems) == ENDED
    assert all(word in EVENT for word in stems.values())
