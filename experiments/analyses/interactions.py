"""How two factors change a response together: its mean at each pair of their levels.

In come the runs of a sweep; out comes a row a pair of levels of two factors. Runs of one replication share
their world, so the sample is the worlds' means over all points with these levels, one a replication.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Experiment, PlotTable
from experiments.results import interval_columns, interval_in
from experiments.statistics import Interval, share_contrast
from scenarios.measures import is_yes_or_no

if TYPE_CHECKING:
    import pandas as pd


def interactions(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return the mean response at each pair of levels of each two factors.

    A world counts for a pair of levels where each of their points has the response, so that no level
    differs by the worlds that it has.

    Columns are `factor` and `other` (the factors, in the order of the file), `level`, `other_level`,
    `mean`, `low`, `high` (95%, over worlds) and `n` (worlds). Intervals are those of the table of means,
    Wilson's of a response that is 0 or 1. Where its worlds have several points each, whose mean is a share
    and no trial, they are `share_contrast`'s, of how far that share is from its complement.
    """
    import pandas as pd

    response = str(plot.response)
    wide = runs.pivot(index="replication", columns="point", values=response).astype(float)
    grid = wide.reindex(columns=range(experiment.size)).to_numpy()
    levels = [experiment.labels(point) for point in range(experiment.size)]
    rows = []
    for first, second in itertools.combinations(experiment.file.factor, 2):
        for one, other in itertools.product(first.labels, second.labels):
            at = [labels[first.name] == one and labels[second.name] == other for labels in levels]
            cells = grid[:, at]
            worlds = cells[~np.isnan(cells).any(axis=1)].mean(axis=1)
            of_shares = is_yes_or_no(response) and cells.shape[1] > 1
            found = _mean_share(worlds) if of_shares else interval_in(experiment, response, worlds.tolist())
            rows.append(
                {
                    "factor": first.name,
                    "level": one,
                    "other": second.name,
                    "other_level": other,
                    **interval_columns(found),
                }
            )
    return pd.DataFrame(rows)


def _mean_share(shares: NDArray[np.float64]) -> Interval | None:
    """Return the interval of a mean of shares, within [0, 1]; None where there is none."""
    if not shares.size:
        return None
    found = share_contrast(2 * shares - 1)
    estimate, low, high = ((end + 1) / 2 for end in (found.estimate, found.low, found.high))
    return found._replace(estimate=estimate, low=low, high=high)
