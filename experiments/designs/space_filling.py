"""Designs that fill a space of many factors evenly with few points.

In come a count of points, a count of factors and a seed; out come points in the unit cube, the same
bytes for the same seed. Latin hypercube: McKay, Beckman and Conover (1979). Sobol: Sobol' (1967) with
the scrambling of Owen (1995), both from scipy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def latin_hypercube(points: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return points of which each factor has exactly one in each of `points` equal slices.

    Parameters
    ----------
    points, k : int
        How many points and factors, each at least 1.
    seed : int
        Of the slices and the places in them.

    Returns
    -------
    numpy.ndarray of float, shape (points, k)
        In [0, 1).

    Raises
    ------
    ValueError
        If a count is below 1.

    Examples
    --------
    >>> sorted((latin_hypercube(4, 2, seed=1)[:, 0] * 4).astype(int).tolist())
    [0, 1, 2, 3]
    """
    from scipy.stats.qmc import LatinHypercube

    require_counts(points, k)
    return LatinHypercube(d=k, rng=np.random.default_rng(seed)).random(points)


def sobol(points: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return a scrambled Sobol sequence, which is balanced at powers of two only.

    Parameters
    ----------
    points, k : int
        How many points, a power of two, and how many factors, at least 1.
    seed : int
        Of the scrambling; each point alone is uniform over seeds.

    Returns
    -------
    numpy.ndarray of float, shape (points, k)
        In [0, 1).

    Raises
    ------
    ValueError
        If a count is below 1 or `points` is no power of two.

    Examples
    --------
    >>> sorted((sobol(4, 2, seed=1)[:, 0] * 4).astype(int).tolist())
    [0, 1, 2, 3]
    """
    from scipy.stats.qmc import Sobol

    require_counts(points, k)
    if points & (points - 1):
        following = 1 << points.bit_length()
        raise ValueError(f"Sobol points are a power of two, got {points}; the next is {following}")
    return Sobol(d=k, rng=np.random.default_rng(seed)).random(points)


def require_counts(points: int, k: int) -> None:
    """Raise `ValueError` unless there is at least one point and one factor."""
    if points < 1 or k < 1:
        raise ValueError(f"a design has at least one point and one factor, got {points} and {k}")
