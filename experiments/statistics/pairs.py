"""Two policies in the same worlds: the difference, pair by pair, and what the pairing was worth.

In come two columns whose entries i come from replication i under common random numbers; out come
Student's interval of the mean difference, the correlation of the columns, and by how much fewer
replications the pairing needs (Law, Simulation Modeling and Analysis, 5th edition, section 11.2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.statistics.intervals import CONFIDENCE, Interval, mean_interval
from experiments.statistics.samples import sample


class PairedDifference(NamedTuple):
    """The mean of `a - b` in the same worlds, and what common random numbers gained.

    Parameters
    ----------
    interval : Interval
        Of the mean difference, in the unit of the data.
    correlation : float or None
        Of the two columns; None where one of them does not vary.
    variance_reduction : float or None
        Variance of the difference of independent columns over that of the paired ones, which is the
        ratio of the replications needed for one half-width. Below 1 the pairing did harm; infinite where
        the difference does not vary; None where neither column varies.
    """

    interval: Interval
    correlation: float | None
    variance_reduction: float | None


def paired(a: ArrayLike, b: ArrayLike, confidence: float = CONFIDENCE) -> PairedDifference:
    """Return the paired difference of two columns with its correlation and variance reduction.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        Responses of two policies; entry i of both comes from replication i.
    confidence : float
        In (0, 1).

    Raises
    ------
    ValueError
        If the shapes differ, or as `mean_interval`.

    Examples
    --------
    >>> paired([5.0, 6.0, 9.0], [4.0, 5.0, 8.0])[1:]
    (1.0, inf)
    """
    left, right = pair(a, b)
    interval = mean_interval(left - right, confidence)
    if left.size == 1:
        return PairedDifference(interval, None, None)
    variances = variance(left), variance(right)
    left_over = variance(left - right)
    correlation = None
    if all(variances):
        covariance = float(((left - left.mean()) * (right - right.mean())).sum()) / (left.size - 1)
        correlation = covariance / math.sqrt(variances[0] * variances[1])
        correlation = min(1.0, max(-1.0, correlation))  # rounding
    reduction = None
    if any(variances):
        reduction = sum(variances) / left_over if left_over else math.inf
    return PairedDifference(interval, correlation, reduction)


def variance(column: NDArray[np.float64]) -> float:
    """Return the unbiased variance of at least two values, exactly 0 where all are alike."""
    return float(column.var(ddof=1)) if np.ptp(column) else 0.0


def pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both sides as samples of one length, or raise `ValueError`."""
    left, right = sample(a), sample(b)
    if left.shape != right.shape:
        raise ValueError(f"pairs need two sides of one length, got {left.size} and {right.size}")
    return left, right


def paired_difference(a: ArrayLike, b: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return Student's interval of the mean of `a - b`, pair by pair.

    Under common random numbers the two sides of a pair met the same world; their correlation rho narrows
    the interval by sqrt(1 - rho) against independent worlds, where both sides vary alike.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        Responses of two policies; entry i of both comes from replication i.
    confidence : float
        In (0, 1).

    Raises
    ------
    ValueError
        If the shapes differ, or as `mean_interval`.

    Examples
    --------
    >>> paired_difference([5.0, 6.0, 9.0], [4.0, 5.0, 8.0])[:3]
    (1.0, 1.0, 1.0)
    """
    left, right = pair(a, b)
    return mean_interval(left - right, confidence)
