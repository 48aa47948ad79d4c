"""Fronts: each number beside a point is that of its policy, and axes of equal values have a range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from experiments import plots
from experiments.plots.fronts import MOST_KEYED
from experiments.plots.style import INK, MUTED

pytestmark = pytest.mark.unit


def table(names: list[str], usd: list[float], wrong: list[float]) -> pd.DataFrame:
    ends = {f"{name}_{end}": np.nan for name in ("usd", "wrong") for end in ("low", "high")}
    return pd.DataFrame({"policy": names, "usd": usd, "wrong": wrong}).assign(**ends)


def staircase(count: int, behind: int = 0) -> pd.DataFrame:
    """So many policies on a front, and as many beaten ones behind it as asked for."""
    names = [f"never-break-me-{place}" for place in range(count)] + [
        f"beaten-{place}" for place in range(behind)
    ]
    usd = [*range(count), *(count + 1 + place for place in range(behind))]
    wrong = [*range(count, 0, -1), *(count + 1 + place for place in range(behind))]
    return table(names, [float(one) for one in usd], [float(one) for one in wrong])


def key_of(figure: Figure) -> dict[str, tuple[str, str]]:
    """Return the names by their numbers, each with its colour."""
    found = [text for legend in figure.legends for text in legend.get_texts() if text.get_text()[0].isdigit()]
    return {
        text.get_text().split(" ", 1)[0]: (text.get_text().split(" ", 1)[1], str(text.get_color()))
        for text in found
    }


@pytest.mark.parametrize("count", [6, 20])
def test_a_number_is_that_of_the_policy_at_its_point(count: int) -> None:
    points = staircase(count, 4)
    figure = plots.pareto_front(points, "usd", "wrong")
    key = key_of(figure)
    at = {(row["usd"], row["wrong"]): row["policy"] for row in points.to_dict("records")}
    notes = [text for text in figure.axes[0].texts if isinstance(text, Annotation)]
    assert len(key) == count + 4
    assert len(notes) > count // 2
    for note in notes:
        name, _ = key[note.get_text()]
        assert name == at[note.xy]
        assert (note.get_color() == INK) == name.startswith("never-break-me")


def test_those_on_a_front_come_first_and_those_off_it_are_grey() -> None:
    key = key_of(plots.pareto_front(staircase(17, 5), "usd", "wrong"))
    assert [name.split("-")[0] for name, _ in key.values()] == ["never"] * 17 + ["beaten"] * 5
    assert [colour for _, colour in key.values()] == [INK] * 17 + [MUTED] * 5


def test_a_key_that_would_be_too_long_counts_those_off_the_front() -> None:
    figure = plots.pareto_front(staircase(5, MOST_KEYED), "usd", "wrong")
    words = [text.get_text() for text in figure.legends[1].get_texts()]
    assert len(words) == 6
    assert words[-1] == f"{MOST_KEYED} more, off the front, in the table"


def test_a_bound_is_said_to_be_one() -> None:
    points = table(["a", "b"], [1.0, 2.0], [2.0, 1.0]).assign(front=[True, False], bound=[False, True])
    assert [name for name, _ in key_of(plots.pareto_front(points, "usd", "wrong")).values()] == [
        "a",
        "b (bound)",
    ]


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, -0.1, 1.0), (30.0, 27.0, 33.0), (-2.0, -2.2, -1.8)])
def test_equal_values_have_a_range_of_their_size(value: float, low: float, high: float) -> None:
    axes = plots.pareto_front(table(["a", "b"], [1.0, 2.0], [value, value]), "usd", "wrong").axes[0]
    assert axes.get_ylim() == pytest.approx((low, high))
    assert axes.get_xlim() != pytest.approx((0.9, 1.1))


def test_panels_of_one_figure_have_one_numbering(readable: Callable[[Figure], None]) -> None:
    points = staircase(4)
    reverse = points.assign(usd=points["usd"].to_numpy()[::-1], wrong=points["wrong"].to_numpy()[::-1])
    both = pd.concat([points.assign(ground="one"), reverse.assign(ground="other")])
    figure = plots.pareto_front(both, "usd", "wrong", panel="ground")
    readable(figure)
    first, second = (
        {text.get_text(): text.xy[0] for text in axes.texts if isinstance(text, Annotation)}
        for axes in figure.axes
    )
    assert first == {"1": 0.0, "2": 1.0, "3": 2.0, "4": 3.0}
    assert second == {"1": 3.0, "2": 2.0, "3": 1.0, "4": 0.0}


def test_a_key_has_the_levels_of_a_point_whole() -> None:
    names = [
        f"trigger 0.5584{10 + one}, low watermark 0.4143{84 - one}, rationale cap 102" for one in range(30)
    ]
    costs = [float(one) for one in range(30)]
    figure = plots.pareto_front(table(names, costs, costs[::-1]), "usd", "wrong")
    assert [name for name, _ in key_of(figure).values()] == names
