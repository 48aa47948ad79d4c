"""Designs whose points are paired so that a response's sensitivity to each factor can be read off.

In come counts and a seed; out come points in the unit cube in a stated order, which
`experiments.statistics` takes for granted. Blocks: Saltelli and others (Computer Physics Communications
181, 2010). Trajectories: Morris (Technometrics 33, 1991).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.designs.space_filling import require_counts, sobol


def saltelli(points: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return the blocks A, B, AB_1 to AB_k, one after the other, for `sobol_indices`.

    A and B are the two halves of one Sobol sequence of 2 k factors; AB_i is A with column i of B.

    Parameters
    ----------
    points, k : int
        Points a block, a power of two, and factors, at least 1.
    seed : int
        Of the sequence's scrambling.

    Returns
    -------
    numpy.ndarray of float, shape (points * (k + 2), k)
        In [0, 1).

    Raises
    ------
    ValueError
        As `sobol`.

    Examples
    --------
    >>> a, b, mixed = saltelli(2, 1, seed=1).reshape(3, 2, 1)
    >>> bool((mixed == b).all())
    True
    """
    halves = sobol(points, 2 * k, seed)
    a, b = halves[:, :k], halves[:, k:]
    mixed = np.repeat(a[None], k, axis=0)
    factors = np.arange(k)
    mixed[factors, :, factors] = b.T
    return np.concatenate([a, b, mixed.reshape(-1, k)])


def morris(trajectories: int, k: int, levels: int, seed: int) -> NDArray[np.float64]:
    """Return trajectories of k + 1 points, each step moving one factor by delta, for `elementary_effects`.

    Factors stand at multiples of 1 / (levels - 1), and delta = levels / (2 (levels - 1)), so that every
    level is as likely as any other. Order and direction of the steps are drawn for each trajectory.

    Parameters
    ----------
    trajectories, k : int
        How many trajectories and factors, each at least 1.
    levels : int
        Of each factor; even, at least 2; Morris used 4.
    seed : int
        Of starts, orders and directions.

    Returns
    -------
    numpy.ndarray of float, shape (trajectories * (k + 1), k)
        In [0, 1], both ends included.

    Raises
    ------
    ValueError
        If a count is below 1 or `levels` is odd or below 2.

    Examples
    --------
    >>> morris(1, 1, levels=2, seed=1).ravel().tolist() in ([0.0, 1.0], [1.0, 0.0])
    True
    """
    require_counts(trajectories, k)
    if levels < 2 or levels % 2:  # noqa: PLR2004 - even
        raise ValueError(f"Morris's design needs an even number of levels, at least 2, got {levels}")
    random = np.random.default_rng(seed)
    half = levels // 2
    lower = random.integers(half, size=(trajectories, 1, k))
    upward = random.integers(2, size=(trajectories, 1, k)).astype(bool)
    turn = random.permuted(np.tile(np.arange(1, k + 1), (trajectories, 1)), axis=1)[:, None, :]
    moved = np.arange(k + 1)[None, :, None] >= turn
    places = lower + half * (moved == upward)
    return np.asarray(places / (levels - 1), dtype=np.float64).reshape(-1, k)
