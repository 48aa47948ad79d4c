"""Where the simulated boundary of the spiral lies, and how far an analytic line is from it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Sides(NamedTuple):
    """The levels of one column, by what the simulation is there."""

    calm: list[float]
    spiral: list[float]


def boundary(points: pd.DataFrame, factors: Sequence[str], line: Sequence[float]) -> pd.DataFrame:
    """Return one row a level of the first factor: where along the second the spiral begins.

    The spiral lies above its boundary; or below it, where at least one column is so and none the other way.

    Parameters
    ----------
    points : pandas.DataFrame
        A row a point, with the two factors and `regime`.
    factors : sequence of str, length 2
    line : sequence of float, length 2
        Intercept and slope of the analytic boundary.

    Returns
    -------
    pandas.DataFrame
        The first factor, `last_calm` and `first_spiral` (levels of the second on both sides of the boundary;
        missing where all or none of them spiral, so that it lies outside of the levels), `analytic`, and
        `steps`: how far the line lies outside of these two, in grid steps of where it lies, each of its own
        width (beyond the levels, of the width of the last one). It is infinite where calm and spiral levels
        alternate, and where the line lies off a single level.
    """
    import pandas as pd

    across, along = factors
    columns: dict[float, Sides] = {}
    for x in sorted(points[across].unique().tolist()):
        column = points[points[across] == x]
        spirals, values = column["regime"] == "spiral", column[along].astype(float)
        columns[x] = Sides(values[~spirals].tolist(), values[spirals].tolist())
    upward = [_parts(one.calm, one.spiral) for one in columns.values()]
    downward = [_parts(one.spiral, one.calm) for one in columns.values()]
    lies_below = any(downward) and not any(upward)
    rows = []
    for x, (calm, spiral) in columns.items():
        below, above = (spiral, calm) if lies_below else (calm, spiral)
        low, high = max(below, default=-math.inf), min(above, default=math.inf)
        analytic = line[0] + line[1] * x
        nearest = min(max(analytic, low), high)
        levels = sorted([*calm, *spiral])
        rows.append(
            {
                across: x,
                "last_calm": (low if below is calm else high) if calm else None,
                "first_spiral": (low if below is spiral else high) if spiral else None,
                "analytic": analytic,
                "steps": _steps(levels, nearest, analytic) if low < high else math.inf,
            }
        )
    return pd.DataFrame(rows)


def _parts(below: Sequence[float], above: Sequence[float]) -> bool:
    """Say whether there are levels on both sides of a boundary, and each side by itself."""
    return bool(below) and bool(above) and max(below) < min(above)


def _steps(levels: Sequence[float], first: float, second: float) -> float:
    """Return how many steps of ascending levels lie between two values; infinite where there is no step."""
    if first == second:
        return 0.0
    return abs(_at(levels, second) - _at(levels, first)) if len(levels) > 1 else math.inf


def _at(levels: Sequence[float], value: float) -> float:
    """Return where a value lies among at least two levels, counted in steps from the first of them."""
    place = min(max(bisect_right(levels, value) - 1, 0), len(levels) - 2)
    return place + (value - levels[place]) / (levels[place + 1] - levels[place])
