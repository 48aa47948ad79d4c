"""Where a long run has forgotten how it began: for fleets, whose steady state is asked for.

In comes one response in the order of time; out comes how much of its start to leave out, or a smoothed
average to look at. MSER-5: White, Cobb and Spratt (Winter Simulation Conference 2000); Welch's picture:
Welch (1983), as in Law, Simulation Modeling and Analysis, 5th edition, section 9.5.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.statistics.samples import require_finite, sample

BATCH = 5
"""Observations averaged before the rule looks, which is the 5 of MSER-5."""

LEAST_BATCHES = 10
"""Half of them may be cut off, and a variance of fewer than five is mostly chance."""

WIDEST_WINDOW_SHARE = 4
"""The window is at most this part of a series (Law): a quarter."""


def mser(values: ArrayLike, batch: int = BATCH) -> int:
    """Return how many observations to leave out at the start, by the marginal standard error rule.

    The cut is where the squared standard error of the mean of what is left is smallest. At most half of
    the run is left out; a cut at that limit says that the run is too short to tell.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        In the order of time, at least 10 batches; what does not fill the last batch is not looked at.
    batch : int
        Observations a batch, at least 1.

    Returns
    -------
    int
        A multiple of `batch`, in observations.

    Raises
    ------
    ValueError
        If the series is too short, a value is NaN or infinite, or `batch` is below 1.

    Examples
    --------
    >>> mser([9.0] * 20 + [1.0, -1.0] * 40)
    20
    """
    if batch < 1:
        raise ValueError(f"a batch has at least 1 observation, got {batch}")
    series = sample(values)
    batches = series.size // batch
    if batches < LEAST_BATCHES:
        raise ValueError(f"the rule needs {LEAST_BATCHES * batch} observations or more, got {series.size}")
    means = series[: batches * batch].reshape(batches, batch).mean(axis=1)
    cuts = range(batches // 2 + 1)
    errors = [float(means[cut:].var()) / (batches - cut) for cut in cuts]
    return batch * int(np.argmin(errors))


def welch_average(replications: ArrayLike, window: int) -> NDArray[np.float64]:
    """Return the average over replications, smoothed over time: the warm-up ends where it is level.

    Entry i averages the 2 window + 1 observations around i; the first ones, as many as fit on both sides.

    Parameters
    ----------
    replications : array_like of float, shape (n, m)
        A row a replication, in the order of time.
    window : int
        In observations, from 0 to a quarter of m.

    Returns
    -------
    numpy.ndarray of float, shape (m - window,)

    Raises
    ------
    ValueError
        If there are not two axes, a value is NaN or infinite, or `window` is out of range.

    Examples
    --------
    >>> welch_average([[0.0, 0.0, 6.0, 0.0, 0.0]], window=1).tolist()
    [0.0, 2.0, 2.0, 2.0]
    """
    table = np.asarray(replications, dtype=np.float64)
    if table.ndim != 2 or not table.size:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"replications are rows of one table, got the shape {table.shape}")
    require_finite(table)
    length = table.shape[1]
    if not 0 <= window <= length // WIDEST_WINDOW_SHARE:
        raise ValueError(f"a window lies in [0, {length // WIDEST_WINDOW_SHARE}], got {window}")
    sums = np.concatenate([[0.0], np.cumsum(table.mean(axis=0))])
    place = np.arange(length - window)
    reach = np.minimum(place, window)
    return np.asarray((sums[place + reach + 1] - sums[place - reach]) / (2 * reach + 1), dtype=np.float64)
