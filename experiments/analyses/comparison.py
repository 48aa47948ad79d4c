"""Policies against a baseline: paired differences, what the pairing gained, and p values of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.analyses.worlds import by_place, policies_in, worlds
from experiments.experiment import Experiment, PlotTable
from experiments.results import interval_columns
from experiments.statistics import holm, mcnemar_p_value, paired, paired_share_difference, paired_t_p_value
from scenarios.measures import is_yes_or_no

if TYPE_CHECKING:
    import pandas as pd


def comparison(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a place and policy: its paired difference to the baseline on one response.

    Columns are `place`, `policy`, `mean`, `low`, `high` (95% interval of policy - baseline in the same
    worlds), `n` (pairs), `missing` (worlds in which one of the two has no response), `variance_reduction`
    (of pairing against independent worlds), `p` and `adjusted_p` (Holm, over all rows). Interval and p are
    Student's; of a response that is 0 or 1 they are Agresti and Min's and McNemar's.
    """
    import pandas as pd

    assert plot.response is not None
    of_shares = is_yes_or_no(plot.response)
    rows = []
    for place, group in by_place(runs, experiment):
        wide = worlds(group, plot.response, experiment.policies)
        baseline = wide[str(plot.baseline)]
        for policy in policies_in(group, experiment):
            if policy == plot.baseline:
                continue
            pairs = wide[policy].notna() & baseline.notna()
            row: dict[str, object] = {"place": place, "policy": policy, "n": int(pairs.sum())}
            row["missing"] = int((~pairs).sum())
            if pairs.any():
                own, other = wide.loc[pairs, policy].to_numpy(), baseline[pairs].to_numpy()
                found = paired(own, other)
                row |= interval_columns(paired_share_difference(own, other) if of_shares else found.interval)
                row["variance_reduction"] = found.variance_reduction
                row["p"] = mcnemar_p_value(own, other) if of_shares else paired_t_p_value(own, other)
            rows.append(row)
    numbers = ["mean", "low", "high", "n", "missing", "variance_reduction", "p"]
    table = pd.DataFrame(rows, columns=["place", "policy", *numbers])
    estimates = [name for name in numbers if name not in ("n", "missing")]
    table[estimates] = table[estimates].astype(float)  # what is missing is NaN, not None
    tested = table["p"].notna()
    table["adjusted_p"] = np.nan
    if tested.any():
        table.loc[tested, "adjusted_p"] = holm(table.loc[tested, "p"].to_numpy(dtype=float))
    return table
