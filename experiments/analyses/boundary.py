"""Where the simulated boundary of the spiral lies, and how far an analytic line is from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def boundary(points: pd.DataFrame, factors: Sequence[str], line: Sequence[float]) -> pd.DataFrame:
    """Return one row a level of the first factor: where along the second the spiral begins.

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
        The first factor, `last_calm` and `first_spiral` (levels of the second between which the spiral
        begins; missing where all or none of them spiral), `analytic`, and `steps`: how many grid steps the
        line lies outside of these two, infinite where the spiral is no half of the column.
    """
    import pandas as pd

    across, along = factors
    rows = []
    ordered = points.sort_values(along)
    for x in sorted(points[across].unique().tolist()):
        column = ordered[ordered[across] == x]
        levels = column[along].astype(float).tolist()
        spirals = (column["regime"] == "spiral").tolist()
        calm = [level for level, spiral in zip(levels, spirals, strict=True) if not spiral]
        wild = [level for level, spiral in zip(levels, spirals, strict=True) if spiral]
        last, first = (max(calm, default=-math.inf), min(wild, default=math.inf))
        step = min((above - below for below, above in pairwise(levels)), default=math.inf)
        analytic = line[0] + line[1] * x
        outside = max(last - analytic, analytic - first, 0.0)
        rows.append(
            {
                across: x,
                "last_calm": last if calm else None,
                "first_spiral": first if wild else None,
                "analytic": analytic,
                "steps": outside / step if last < first else math.inf,
            }
        )
    return pd.DataFrame(rows)
