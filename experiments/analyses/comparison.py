"""Policies against a baseline: paired differences, what the pairing gained, and p values of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.analyses.worlds import by_place, policies_in, worlds
from experiments.experiment import Experiment, PlotTable
from experiments.results import interval_columns
from experiments.statistics import (
    CONFIDENCE,
    bonferroni_confidence,
    holm,
    mcnemar_p_value,
    paired,
    paired_difference,
    paired_share_difference,
    paired_t_p_value,
)
from scenarios.measures import is_yes_or_no

if TYPE_CHECKING:
    import pandas as pd


def comparison(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a place and policy: its paired difference to the baseline on one response.

    Columns are `place`, `policy`, `mean`, `low`, `high` (95% interval of policy - baseline in the same
    worlds), `joint_low`, `joint_high` (wider: 95% that those of all rows hold together, by Bonferroni), `n`
    (pairs), `missing` (worlds in which one of the two has no response), `variance_reduction` (of pairing
    against independent worlds), `p` and `adjusted_p` (Holm, over all rows). Intervals and p are Student's; of
    a response that is 0 or 1 they are Bonett and Price's and McNemar's.
    """
    import pandas as pd

    assert plot.response is not None
    of_shares = is_yes_or_no(plot.response)
    rows: list[dict[str, object]] = []
    sides: dict[int, Pair] = {}
    for place, group in by_place(runs, experiment):
        wide = worlds(group, plot.response, experiment.policies)
        baseline = wide[str(plot.baseline)]
        for policy in policies_in(group, experiment):
            if policy == plot.baseline:
                continue
            pairs = wide[policy].notna() & baseline.notna()
            if pairs.any():
                sides[len(rows)] = wide.loc[pairs, policy].to_numpy(), baseline[pairs].to_numpy()
            counts = {"n": int(pairs.sum()), "missing": int((~pairs).sum())}
            rows.append({"place": place, "policy": policy, **counts})
    for row, pair in sides.items():
        rows[row] |= _compared(pair, len(sides), of_shares=of_shares)
    numbers = ["mean", "low", "high", "joint_low", "joint_high", "n", "missing", "variance_reduction", "p"]
    table = pd.DataFrame(rows, columns=["place", "policy", *numbers])
    estimates = [name for name in numbers if name not in ("n", "missing")]
    table[estimates] = table[estimates].astype(float)  # what is missing is NaN, not None
    tested = table["p"].notna()
    table["adjusted_p"] = np.nan
    if tested.any():
        table.loc[tested, "adjusted_p"] = holm(table.loc[tested, "p"].to_numpy(dtype=float))
    return table


Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Responses of a policy and of the baseline in the same worlds."""


def _compared(pair: Pair, comparisons: int, *, of_shares: bool) -> dict[str, object]:
    """Return what one of so many comparisons says of its pairs."""
    differ = paired_share_difference if of_shares else paired_difference
    joint = differ(*pair, bonferroni_confidence(CONFIDENCE, comparisons))
    return {
        **interval_columns(differ(*pair)),
        "joint_low": joint.low,
        "joint_high": joint.high,
        "variance_reduction": paired(*pair).variance_reduction,
        "p": mcnemar_p_value(*pair) if of_shares else paired_t_p_value(*pair),
    }
