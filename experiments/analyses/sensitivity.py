"""What a response hangs on: Sobol indices, elementary effects, and the swing that each factor makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.analyses.contrasts import contrast_interval
from experiments.experiment import Experiment, PlotTable
from experiments.factors import Factor, Value, matrix_of
from experiments.results import limits
from experiments.statistics import Interval, elementary_effects, sobol_indices
from simulator import InputError

if TYPE_CHECKING:
    import pandas as pd

ENDS = 0.2
"""Share of the points, at each end of a range, whose mean stands for that end."""


def sensitivity(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a factor: of a `saltelli` design its Sobol indices, of a `morris` design its effects.

    The response at a point is its mean over the worlds of `point_means`. Columns are `factor` and `first`,
    `total` or `mu`, `mu_star`, `sigma`, each but the last with `_low` and `_high`. These intervals are over
    the points of the design, in these worlds: they do not tell how far other worlds would move the means.

    Raises
    ------
    InputError
        As `point_means`.
    """
    import pandas as pd

    design, factors = experiment.file.design, experiment.file.factor
    means = point_means(runs, experiment, plot)
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

    A point counts with its mean over the worlds of `point_means`.

    Columns are `factor`, `base` (the mean over all points), `n` (worlds), `low_label`, `high_label`, and
    `low_value` and `high_value`, each with `_low` and `_high`: the base plus the 95% interval, over the
    worlds, of how far that end lies from it, as of any contrast, cut to what is possible; one world gives
    no interval. The ends of levels are the first and the last; of a range, the lowest and the highest fifth
    of the points.

    Raises
    ------
    InputError
        As `point_means`.
    """
    import pandas as pd

    seen = whole_worlds(runs, experiment, plot)
    least, most = limits(str(plot.response), experiment.horizon)
    bases = seen.mean(axis=1)
    base = float(bases.mean())
    labels = [experiment.labels(point) for point in range(experiment.size)]
    rows = []
    for factor in experiment.file.factor:
        row: dict[str, object] = {"factor": factor.name, "base": base, "n": len(seen)}
        for end, points in _ends(factor, [point[factor.name] for point in labels]).items():
            found = contrast_interval(seen[:, points].mean(axis=1) - bases, str(plot.response))
            known = len(seen) > 1
            at_base = found._replace(
                estimate=base + found.estimate,
                low=max(base + found.low, least) if known else math.nan,
                high=min(base + found.high, most) if known else math.nan,
            )
            row |= _columns(f"{end}_value", at_base)
        row["low_label"] = "low fifth" if factor.is_range else str(factor.labels[0])
        row["high_label"] = "high fifth" if factor.is_range else str(factor.labels[-1])
        rows.append(row)
    return pd.DataFrame(rows)


def point_means(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> NDArray[np.float64]:
    """Return the mean response of each point over the worlds of `whole_worlds`, which raises alike."""
    means: NDArray[np.float64] = whole_worlds(runs, experiment, plot).mean(axis=0)
    return means


def whole_worlds(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> NDArray[np.float64]:
    """Return the responses of the worlds in which every point has one, shape (worlds, points).

    So all points meet the same random numbers, and no point differs by the worlds it has.

    Raises
    ------
    InputError
        There is no such world.
    """
    wide = runs.pivot(index="replication", columns="point", values=str(plot.response)).astype(float)
    wide = wide.reindex(columns=range(experiment.size))
    whole = wide.dropna()
    if whole.empty:
        never = int(wide.isna().all().sum())
        raise InputError(
            f"no world has {plot.response} at all of {experiment.size} points, and {never} have it in none",
            where=str(experiment.path),
            expected="a sweep that has run, and a world with a response at every point",
        )
    return whole.to_numpy(dtype=float)


def _ends(factor: Factor, levels: Sequence[Value]) -> dict[str, NDArray[np.bool_]]:
    """Return which points stand for the low end of a factor, and which for the high one."""
    if not factor.is_range:
        ends = {"low": factor.labels[0], "high": factor.labels[-1]}
        return {end: np.array([one == level for one in levels]) for end, level in ends.items()}
    values = np.array(levels, dtype=float)
    low, high = np.quantile(values, [ENDS, 1 - ENDS])
    return {"low": values <= low, "high": values >= high}


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
