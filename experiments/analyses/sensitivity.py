"""What a response hangs on: Sobol indices, elementary effects, and the swing that each factor makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Experiment, PlotTable
from experiments.factors import Factor, Value, matrix_of
from experiments.statistics import Interval, elementary_effects, sobol_indices
from simulator import InputError

if TYPE_CHECKING:
    import pandas as pd

ENDS = 0.2
"""Share of the points, at each end of a range, whose mean stands for that end."""


def sensitivity(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a factor: of a `saltelli` design its Sobol indices, of a `morris` design its effects.

    The response at a point is its mean over replications. Columns are `factor` and `first`, `total` or `mu`,
    `mu_star`, `sigma`, each but the last with `_low` and `_high`.

    Raises
    ------
    InputError
        A point has no response yet, or every run of it failed: the indices need all of them.
    """
    import pandas as pd

    design, factors = experiment.file.design, experiment.file.factor
    means = point_means(runs, experiment, plot)
    if np.isnan(means).any():
        raise InputError(
            f"{int(np.isnan(means).sum())} of {means.size} points have no {plot.response}",
            where=str(experiment.path),
            expected="a sweep that has run, with a response at every point",
        )
    if design.kind == "saltelli":
        shares = sobol_indices(means, len(factors), seed=design.seed)
        rows = [{**_columns("first", one.first), **_columns("total", one.total)} for one in shares]
    else:
        matrix = matrix_of(design, factors)
        assert matrix is not None
        rows = [
            {**_columns("mu", one.mu), **_columns("mu_star", one.mu_star), "sigma": one.sigma}
            for one in elementary_effects(matrix, means)
        ]
    names = [{"factor": factor.name} for factor in factors]
    return pd.DataFrame([name | row for name, row in zip(names, rows, strict=True)])


def swings(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a factor: the mean response at its two ends, over all levels of the others.

    Columns are `factor`, `low_value`, `high_value`, `base` (the mean over all points), `low_label` and
    `high_label`. The ends of levels are the first and the last; of a range, the lowest and the highest
    fifth of the points.
    """
    import pandas as pd

    means = point_means(runs, experiment, plot)
    labels = [experiment.labels(point) for point in range(experiment.size)]
    rows = []
    for factor in experiment.file.factor:
        levels = [point[factor.name] for point in labels]
        low, high = _ends(factor, levels)
        rows.append(
            {
                "factor": factor.name,
                "low_value": _mean(means[low]),
                "high_value": _mean(means[high]),
                "base": _mean(means),
                "low_label": "low fifth" if factor.is_range else str(factor.labels[0]),
                "high_label": "high fifth" if factor.is_range else str(factor.labels[-1]),
            }
        )
    return pd.DataFrame(rows)


def point_means(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> NDArray[np.float64]:
    """Return the mean response of each point over replications; NaN where there is none."""
    means = np.full(experiment.size, np.nan)
    found = runs.groupby("point")[str(plot.response)].mean()
    means[found.index.to_numpy(dtype=int)] = found.to_numpy(dtype=float)
    return means


def _ends(factor: Factor, levels: Sequence[Value]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if not factor.is_range:
        first, last = factor.labels[0], factor.labels[-1]
        return np.array([one == first for one in levels]), np.array([one == last for one in levels])
    values = np.array(levels, dtype=float)
    low, high = np.quantile(values, [ENDS, 1 - ENDS])
    return values <= low, values >= high


def _mean(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
