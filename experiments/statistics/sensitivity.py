"""Which factors a response hangs on, over their whole ranges: Sobol indices and elementary effects.

In come the responses at the points of a design of `experiments.designs`, in its order; out come shares of
variance with bootstrap intervals (estimators of Saltelli and others, Computer Physics Communications 181,
2010, table 2, rows b and f) or the effects of Morris (Technometrics 33, 1991). A response that is missing
is refused: the estimators pair points, and one that is lost takes others with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.statistics.intervals import CONFIDENCE, Interval, mean_interval
from experiments.statistics.samples import require_share, sample

RESAMPLES = 999


class SobolIndex(NamedTuple):
    """The shares of a response's variance that hang on one factor.

    Parameters
    ----------
    first : Interval
        What fixing the factor alone would take away, on average; estimates near 0 may fall below it.
    total : Interval
        What is left if all but the factor are fixed: `first` and all its interactions.
    """

    first: Interval
    total: Interval


class ElementaryEffect(NamedTuple):
    """What moving one factor does to a response, per unit of its range, at points all over the space.

    Parameters
    ----------
    mu : Interval
        Mean effect, by Student; effects of both signs cancel.
    mu_star : Interval
        Mean size of the effect, by Student (Campolongo, Cariboni and Saltelli 2007).
    sigma : float
        Standard deviation of the effect: 0 where the response is linear in the factor and nothing
        interacts with it; infinite of one trajectory, which tells nothing of it.
    """

    mu: Interval
    mu_star: Interval
    sigma: float


def sobol_indices(
    responses: ArrayLike,
    k: int,
    *,
    seed: int,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> tuple[SobolIndex, ...]:
    """Return the first-order and total Sobol index of each factor, with percentile bootstrap intervals.

    Parameters
    ----------
    responses : array_like of float, shape (points * (k + 2),)
        At the points of `experiments.designs.saltelli`, in its order: A, B, AB_1 to AB_k.
    k : int
        How many factors, at least 1.
    seed : int
        Of the resampling; the result is a function of the responses and this.
    confidence : float
        Of each interval, in (0, 1).
    resamples : int
        How often the points are drawn again, with replacement.

    Returns
    -------
    tuple of SobolIndex, length k
        All 0 where the response does not vary.

    Raises
    ------
    ValueError
        If the responses do not fill the blocks, one is NaN or infinite, or a parameter is out of range.

    Examples
    --------
    >>> from experiments.designs import saltelli
    >>> found = sobol_indices(3 * saltelli(64, 2, seed=1)[:, 0], 2, seed=1)
    >>> round(found[0].total.estimate, 1), found[1].total.estimate
    (1.0, 0.0)
    """
    require_share(confidence, "confidence")
    found = sample(responses)
    if k < 1 or found.size % (k + 2):
        raise ValueError(f"{found.size} responses are not {k} + 2 blocks of one size, for {k} factors")
    blocks = found.reshape(k + 2, -1)
    points = blocks.shape[1]
    random = np.random.default_rng(seed)
    again = np.array([_indices(blocks[:, random.integers(points, size=points)]) for _ in range(resamples)])
    tail = (1 - confidence) / 2
    low, high = np.quantile(again, [tail, 1 - tail], axis=0)
    estimates = _indices(blocks)
    low, high = np.minimum(low, estimates), np.maximum(high, estimates)

    first, total = (
        [Interval(at, least, most, points, confidence) for at, least, most in zip(*order, strict=True)]
        for order in np.stack([estimates, low, high], axis=1).tolist()
    )
    return tuple(SobolIndex(*both) for both in zip(first, total, strict=True))


def elementary_effects(
    design: ArrayLike, responses: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[ElementaryEffect, ...]:
    """Return the elementary effects of each factor.

    Parameters
    ----------
    design : array_like of float, shape (trajectories * (k + 1), k)
        The points of `experiments.designs.morris`, in the unit cube.
    responses : array_like of float, shape (trajectories * (k + 1),)
        At these points.
    confidence : float
        Of each interval, in (0, 1).

    Returns
    -------
    tuple of ElementaryEffect, length k

    Raises
    ------
    ValueError
        If the design does not move one factor at a time, the responses are not one a point, one is NaN or
        infinite, or `confidence` is outside (0, 1).

    Examples
    --------
    >>> from experiments.designs import morris
    >>> points = morris(4, 2, levels=4, seed=1)
    >>> [round(effect.mu.estimate, 6) for effect in elementary_effects(points, points @ [3.0, -2.0])]
    [3.0, -2.0]
    """
    points = np.asarray(design, dtype=np.float64)
    if points.ndim != 2 or not points.size or len(points) % (points.shape[1] + 1):  # noqa: PLR2004 - a table
        raise ValueError(f"trajectories of k factors have k + 1 points each, got the shape {points.shape}")
    k = points.shape[1]
    found = sample(responses)
    if found.size != len(points):
        raise ValueError(f"a response a point, got {found.size} for {len(points)} points")
    steps = np.diff(points.reshape(-1, k + 1, k), axis=1)
    moved = steps != 0
    if not ((moved.sum(axis=1) == 1).all() and (moved.sum(axis=2) == 1).all()):
        raise ValueError("each step of a trajectory moves one factor, and each factor moves once")
    slopes = np.diff(found.reshape(-1, k + 1), axis=1) / steps.sum(axis=2)
    effects = np.take_along_axis(slopes, moved.argmax(axis=1), axis=1)
    return tuple(
        ElementaryEffect(
            mean_interval(effects[:, factor], confidence),
            mean_interval(np.abs(effects[:, factor]), confidence),
            float(effects[:, factor].std(ddof=1)) if len(effects) > 1 else math.inf,
        )
        for factor in range(k)
    )


def _indices(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first-order and the total indices, shape (2, k); 0 where nothing varies."""
    a, b, mixed = blocks[0], blocks[1], blocks[2:]
    both = np.concatenate([a, b])
    variance = both.var()
    if not np.ptp(both) or not variance:
        return np.zeros((2, len(mixed)))
    first = ((b - both.mean()) * (mixed - a)).mean(axis=1)
    total = ((a - mixed) ** 2).mean(axis=1) / 2
    return np.asarray(np.stack([first, total]) / variance, dtype=np.float64)
