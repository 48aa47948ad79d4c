"""Where a spiral begins along a column, by hand, and how many grid steps a line lies outside of that."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from experiments.analyses.boundary import boundary

LEVELS = (0, 50, 100, 150)


def column(x: int, *spirals: bool) -> list[dict[str, object]]:
    regimes = ["spiral" if spiral else "stable" for spiral in spirals]
    return [{"x": x, "y": y, "regime": regime} for y, regime in zip(LEVELS, regimes, strict=True)]


def steps(line: tuple[float, float], *spirals: bool) -> float:
    """Return the steps of the only column, which stands at x = 10."""
    found = boundary(pd.DataFrame(column(10, *spirals)), ["x", "y"], line)
    return float(found["steps"].item())


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "spirals", "outside"),
    [
        ((130, -1), (False, False, False, True), 0.0),  # 120 lies between 100 and 150
        ((160, -1), (False, False, False, True), 0.0),  # and so does 150 itself
        ((185, -1), (False, False, False, True), 0.5),  # 175 is half a step above the first spiral
        ((60, -1), (False, False, False, True), 1.0),  # 50 is a step below the last calm level
        ((60, -1), (True, True, True, True), 1.0),  # all spiral, the line a step above the first of them
        ((-60, -1), (True, True, True, True), 0.0),
        ((260, -1), (False, False, False, False), 0.0),
        ((135, -1), (False, False, False, False), 0.5),
        ((130, -1), (False, True, False, True), math.inf),  # calm above a spiral: no boundary
        ((60, -1), (True, True, False, False), 0.0),  # the spiral lies below: 50 is its last level
        ((185, -1), (True, True, False, False), 1.5),  # 175 is a step and a half above the first calm one
        ((160, -1), (True, False, True, True), math.inf),
    ],
)
def test_steps_outside(line: tuple[float, float], spirals: tuple[bool, ...], outside: float) -> None:
    assert steps(line, *spirals) == pytest.approx(outside)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("analytic", "outside"),
    [(100, 0.0), (550, 0.0), (55, 0.5), (1, 2.0), (0.5, 2.5), (-1, 4.0), (1900, 1.0)],
)
def test_a_step_is_as_wide_as_where_the_line_lies(analytic: float, outside: float) -> None:
    """Levels 0, 1, 10, 100, 1000, of which the last one spirals: the boundary lies between 100 and 1000."""
    regimes = ["stable"] * 4 + ["spiral"]
    points = pd.DataFrame({"x": 3, "y": [0, 1, 10, 100, 1000], "regime": regimes})
    found = boundary(points, ["x", "y"], (analytic, 0))
    assert found["steps"].item() == pytest.approx(outside)
    assert found[["last_calm", "first_spiral"]].to_numpy().tolist() == [[100, 1000]]


@pytest.mark.unit
def test_one_level_has_no_steps_to_count() -> None:
    points = pd.DataFrame({"x": 3, "y": [50], "regime": ["spiral"]})
    assert boundary(points, ["x", "y"], (40, 0))["steps"].item() == 0
    assert boundary(points, ["x", "y"], (60, 0))["steps"].item() == math.inf


@pytest.mark.unit
def test_a_spiral_below_its_boundary() -> None:
    """Where a column says so and none the other way, a column that is all spiral ends above it."""
    mixed, full = column(10, True, True, False, False), column(20, True, True, True, True)
    found = boundary(pd.DataFrame(mixed + full), ["x", "y"], (0, 8))  # 80 and 160
    assert found["first_spiral"].tolist() == [50, 150]
    assert found["last_calm"].fillna(-1).tolist() == [100, -1]
    assert found["steps"].tolist() == [0, 0]
    both = boundary(pd.DataFrame(mixed + column(20, False, True, True, True)), ["x", "y"], (0, 8))
    assert both["steps"].tolist() == pytest.approx([math.inf, 2.2])


@pytest.mark.unit
def test_columns_in_order() -> None:
    points = pd.DataFrame(column(20, True, True, True, True) + column(10, False, True, True, True))
    found = boundary(points.sample(frac=1, random_state=1), ["x", "y"], (30, -1))
    assert found["x"].tolist() == [10, 20]
    assert found["analytic"].tolist() == [20, 10]
    assert found["first_spiral"].tolist() == [50, 0]
    assert found["last_calm"].fillna(-1).tolist() == [0, -1]
    assert found["steps"].tolist() == [0, 0.2]
