"""What a factor does to a response, world by world: differences to a baseline, and factorial effects.

In come the runs of a sweep; out come tables of means with 95% intervals over replications. The
points of one replication share their world, so a contrast is taken inside each world and only then
averaged: what the world does alike at all points falls out. Contrasts are those of the two-level
factorial design (Box, Hunter and Hunter, Statistics for Experimenters, 2nd edition, chapter 5).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.designs.factorial import fractional
from experiments.experiment import Experiment, PlotTable
from experiments.factors import Factor, Value
from experiments.results import interval_columns
from experiments.statistics import (
    Interval,
    mean_interval,
    paired_difference,
    paired_share_difference,
    share_contrast,
)
from experiments.statistics.pairs import ROUNDING
from scenarios.measures import is_yes_or_no

if TYPE_CHECKING:
    import pandas as pd

TIMES = " x "
"""Between the factors of an interaction."""


def differences(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return each level's paired differences to the plot's baseline, for all responses of a sweep.

    Columns are `level`, `response`, `mean`, `low`, `high` (of level - baseline in the same world), `n`
    (pairs behind them), `failed` (pairs left out because a run of theirs failed) and `missing` (pairs
    left out because a run has no such response, or is still to come). Intervals are Student's; of a response
    that is 0 or 1 they are Bonett and Price's.
    """
    import pandas as pd

    (factor,) = experiment.file.factor
    assert plot.baseline is not None
    baseline = factor.labels.index(plot.baseline)
    failed = _by_world(runs, experiment, runs["failure"].notna()) == 1
    rows = []
    for place, level in enumerate(factor.labels):
        if place == baseline:
            continue
        lost = failed[:, place] | failed[:, baseline]
        for response in experiment.file.responses:
            difference = paired_share_difference if is_yes_or_no(response) else _difference
            grid = _by_world(runs, experiment, runs[response])
            pairs = grid[:, [place, baseline]]
            whole = ~np.isnan(pairs).any(axis=1)
            found = difference(*pairs[whole].T) if whole.any() else None
            rows.append(
                {
                    "level": level,
                    "response": response,
                    **interval_columns(found),
                    "failed": int(lost.sum()),
                    "missing": int((~whole & ~lost).sum()),
                }
            )
    return pd.DataFrame(rows)


def effects(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return the main effects and all interactions of a sweep's factors, for all its responses.

    The effect of A is the mean response where A is at its second level minus that where it is at its
    first. The interaction A x B is half of: the effect of A where B is at its second level, minus the
    effect of A where B is at its first; so for higher ones, A x B x C being half the change of A x B
    that C makes. All are thus contrasts of the 2^k points divided by 2^(k-1), and have the unit of the
    response. A world counts for a response where all of its points have one.

    Columns are `response`, `effect` (names of its factors), `order` (how many they are), `mean`, `low`,
    `high` and `n` (worlds behind them); main effects first, factors in the order of the file. Of a fraction
    there are main effects alone, and `effect` names after ` = ` what it cannot tell from each. Intervals are
    Student's; of a response that is 0 or 1 they are `share_contrast`'s.
    """
    import pandas as pd

    if experiment.file.design.kind == "fractional":
        return _main_effects(runs, experiment)
    places = range(len(experiment.file.factor))
    points = 2 ** len(places)
    rows = []
    for response in experiment.file.responses:
        grid = _by_world(runs, experiment, runs[response])
        whole = ~np.isnan(grid.reshape(-1, points)).any(axis=1)
        contrasts = factorial_contrasts(grid[whole]).reshape(-1, points)
        for order in range(1, len(places) + 1):
            for chosen in itertools.combinations(places, order):
                own = contrasts[:, sum(points >> (place + 1) for place in chosen)]  # the last axis is fastest
                rows.append(
                    {
                        "response": response,
                        "effect": TIMES.join(experiment.factors[place] for place in chosen),
                        "order": order,
                        **interval_columns(contrast_interval(own, response) if own.size else None),
                    }
                )
    return pd.DataFrame(rows)


def factorial_contrasts(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all effects of a two-level factorial, world by world.

    Parameters
    ----------
    grid : numpy.ndarray of float, shape (n, 2, ..., 2)
        The responses of n worlds at the 2^k points of k factors, an axis a factor.

    Returns
    -------
    numpy.ndarray of float, shape (n, 2, ..., 2)
        At index 1 of some axes and 0 of the others: the effect of those factors, as `effects` defines
        it. At index 0 of all: twice the mean of the world.

    Examples
    --------
    >>> factorial_contrasts(np.array([[[1.0, 2.0], [4.0, 9.0]]]))[0].tolist()
    [[8.0, 3.0], [5.0, 2.0]]
    """
    found = grid
    for axis in range(1, grid.ndim):
        first, second = np.take(found, 0, axis), np.take(found, 1, axis)
        found = np.stack([second + first, second - first], axis)
    found = found / 2 ** (grid.ndim - 2)
    points = tuple(range(1, grid.ndim))
    largest = np.abs(grid).max(axis=points, keepdims=True, initial=0.0)
    return _without_rounding(found, largest)


def _without_rounding(contrasts: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return contrasts, those that are the rounding of sums of such responses being 0."""
    return np.where(np.abs(contrasts) <= ROUNDING * largest, 0.0, contrasts)


def contrast_interval(contrasts: NDArray[np.float64], response: str) -> Interval:
    """Return the interval of the mean of contrasts of a response, one a world, at least one."""
    return share_contrast(contrasts) if is_yes_or_no(response) else mean_interval(contrasts)


def _difference(level: NDArray[np.float64], baseline: NDArray[np.float64]) -> Interval:
    """Return the paired difference, where what differs by rounding alone does not differ."""
    same = np.isclose(level, baseline, rtol=ROUNDING, atol=0.0)
    return paired_difference(np.where(same, baseline, level), baseline)


def _main_effects(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return the main effects of a fraction, each with what it is confounded with."""
    import pandas as pd

    names = experiment.factors
    made = fractional(names, experiment.file.design.generators)
    rows = []
    for response in experiment.file.responses:
        wide = runs.pivot(index="replication", columns="point", values=response)
        worlds = wide.reindex(columns=range(experiment.size)).dropna().to_numpy(dtype=float)
        for place, name in enumerate(names):
            second = made.runs[:, place] == 1
            own = worlds[:, second].mean(axis=1) - worlds[:, ~second].mean(axis=1)
            own = _without_rounding(own, np.abs(worlds).max(axis=1, initial=0.0))
            aliases = [TIMES.join(alias) for alias in made.aliases[name,]]
            rows.append(
                {
                    "response": response,
                    "effect": " = ".join([name, *aliases]),
                    "order": 1,
                    **interval_columns(contrast_interval(own, response) if own.size else None),
                }
            )
    return pd.DataFrame(rows)


def _by_world(runs: pd.DataFrame, experiment: Experiment, values: pd.Series) -> NDArray[np.float64]:
    """Return one value a run as an array: an axis of replications, then one of levels a factor."""
    factors = experiment.file.factor
    shape = (experiment.file.cap, *(len(factor.labels) for factor in factors))
    levels = [_places(runs[factor.name].tolist(), factor) for factor in factors]
    grid = np.full(math.prod(shape), np.nan)
    grid[np.ravel_multi_index((runs["replication"].to_numpy(dtype=int), *levels), shape)] = values
    return grid.reshape(shape)


def _places(values: Sequence[Value], factor: Factor) -> NDArray[np.int64]:
    places = {label: place for place, label in enumerate(factor.labels)}
    return np.array([places[value] for value in values], dtype=np.int64)
