"""The Pareto front: which points no other point beats on two responses that are both to be small."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def on_front(xs: ArrayLike, ys: ArrayLike) -> NDArray[np.bool_]:
    """Say which points no other point beats: as small on both axes, and smaller on one.

    Of equal points all are on the front; a point with a missing coordinate is not.

    Parameters
    ----------
    xs, ys : array_like of float, shape (n,)
        Both to be small.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)

    Raises
    ------
    ValueError
        If the two are not of one length.

    Examples
    --------
    >>> on_front([1, 2, 3, 2], [5, 4, 4, 9]).tolist()
    [True, True, False, False]
    """
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"points need two coordinates of one length, got shapes {x.shape} and {y.shape}")
    found: NDArray[np.bool_] = np.isfinite(x) & np.isfinite(y)
    levels, place = np.unique(x[found], return_inverse=True)
    least = np.full(len(levels), np.inf)
    np.minimum.at(least, place, y[found])
    before = np.concatenate([[np.inf], np.minimum.accumulate(least)])[:-1]
    found[found] = (y[found] == least[place]) & (y[found] < before[place])
    return found
