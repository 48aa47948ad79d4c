"""How long runs last, where some had not ended when the horizon came: turns to overflow.

In come durations and whether each end was seen or only the horizon; out come the survival curve with its
band (Kaplan and Meier 1958; Greenwood's variance on the log-log scale, which stays in [0, 1]), and the
mean up to a horizon. Formulas: Klein and Moeschberger, Survival Analysis, 2nd edition, sections 4.2 to 4.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.statistics.intervals import CONFIDENCE, Interval, student_quantile
from experiments.statistics.samples import require_share, sample


class Lifetimes:
    """Durations, some of them censored on the right, and their counts by time.

    Parameters
    ----------
    durations : array_like of float, shape (n,)
        How long each run lasted, at least 0 (turns, say).
    ended : array_like of bool, shape (n,)
        Whether the end was seen; otherwise the run was still going when it was last seen.

    Attributes
    ----------
    times : numpy.ndarray of float, shape (m,)
        The distinct durations, ascending.
    at_risk, ends : numpy.ndarray of int, shape (m,)
        How many runs were still going just before each time, and how many ended at it.

    Raises
    ------
    ValueError
        If the shapes differ, nothing is left, or a duration is below 0, NaN or infinite.

    Examples
    --------
    >>> lives = Lifetimes([3, 5, 5, 8], [True, True, False, False])
    >>> lives.at_risk.tolist(), lives.ends.tolist()
    ([4, 3, 1], [1, 1, 0])
    """

    def __init__(self, durations: ArrayLike, ended: ArrayLike) -> None:
        self.durations = sample(durations)
        self.ended = np.asarray(ended, dtype=bool)
        if self.durations.shape != self.ended.shape:
            raise ValueError(
                f"every duration ended or did not, got {self.durations.size} and {self.ended.size} of them"
            )
        if self.durations.min() < 0:
            raise ValueError(f"a duration is at least 0, got {self.durations.min()}")
        self.times, place, leaving = np.unique(self.durations, return_inverse=True, return_counts=True)
        self.at_risk = leaving[::-1].cumsum()[::-1]
        self.ends = np.bincount(place, weights=self.ended, minlength=self.times.size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """The share of runs that last longer than a time: a step function, 1 before the first of `times`.

    Parameters
    ----------
    times : numpy.ndarray of float, shape (m,)
        The distinct durations, ended or not, ascending.
    survival, low, high : numpy.ndarray of float, shape (m,)
        The share that lasts longer than each time, in [0, 1], and its bounds, time by time.
    at_risk, ends : numpy.ndarray of int, shape (m,)
        How many runs were still going just before each time, and how many ended at it.
    confidence : float
        How often the bounds at a time hold the truth at that time.
    """

    times: NDArray[np.float64]
    survival: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    at_risk: NDArray[np.int64]
    ends: NDArray[np.int64]
    confidence: float


def kaplan_meier(lives: Lifetimes, confidence: float = CONFIDENCE) -> SurvivalCurve:
    """Return the survival curve with its band.

    Where no run has ended yet, or all have, Greenwood's variance says nothing. The lower bound of a
    survival of 1 is then the exact binomial one of as many runs as were still seen; the upper bound of a
    survival of 0 is the last one before it, or the exact one where all end at once.

    Parameters
    ----------
    lives : Lifetimes
        The runs of one policy, independent of each other.
    confidence : float
        In (0, 1).

    Raises
    ------
    ValueError
        If `confidence` is outside (0, 1).

    Examples
    --------
    >>> kaplan_meier(Lifetimes([3, 5, 5, 8], [True, True, False, False])).survival.tolist()
    [0.75, 0.5, 0.5]
    """
    require_share(confidence, "confidence")
    survival = np.cumprod(1 - lives.ends / lives.at_risk)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = z * np.sqrt(np.cumsum(_greenwood(lives))) / np.abs(np.log(survival))
        low, high = survival ** np.exp(reach), survival ** np.exp(-reach)
    exact = ((1 - confidence) / 2) ** (1 / lives.at_risk)
    low = np.where(survival == 1, exact, low)
    high = np.where(survival == 1, 1.0, high)
    gone = survival == 0
    low[gone] = 0.0
    high[gone] = high[~gone][-1] if not gone.all() else 1 - exact[0]
    return SurvivalCurve(lives.times, survival, low, high, lives.at_risk, lives.ends, confidence)


def restricted_mean(lives: Lifetimes, horizon: float, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of the duration or the horizon, whichever is shorter: the area under the curve.

    Its variance is Greenwood's times n / (n - 1), with Student's quantile: where the horizon alone
    censors, this is exactly Student's interval of the mean of min(duration, horizon).

    Parameters
    ----------
    lives : Lifetimes
        The runs of one policy, independent of each other.
    horizon : float
        Above 0, in the unit of the durations; not beyond the last duration, unless all have ended by then.
    confidence : float
        In (0, 1).

    Raises
    ------
    ValueError
        If `horizon` or `confidence` is out of range.

    Examples
    --------
    >>> restricted_mean(Lifetimes([3, 5, 8, 8], [True, True, False, False]), horizon=8).estimate
    6.0
    """
    require_share(confidence, "confidence")
    curve = kaplan_meier(lives, confidence)
    if not 0 < horizon < math.inf or (horizon > curve.times[-1] and curve.survival[-1] > 0):
        raise ValueError(f"the mean is known up to {curve.times[-1]}, not up to {horizon}")
    edges = np.minimum(np.concatenate([[0.0], curve.times, [horizon]]), horizon)
    areas = np.concatenate([[1.0], curve.survival]) * np.diff(edges)
    mean = float(areas.sum())
    n = lives.durations.size
    if n == 1:
        return Interval(mean, -math.inf, math.inf, n, confidence)
    still_to_come = areas[::-1].cumsum()[::-1][1:]
    matters = still_to_come > 0  # where the last run ends, Greenwood's term is infinite and its weight 0
    variance = float((still_to_come[matters] ** 2 * _greenwood(lives)[matters]).sum()) * n / (n - 1)
    half_width = student_quantile((1 + confidence) / 2, n - 1) * math.sqrt(variance)
    return Interval(mean, mean - half_width, mean + half_width, n, confidence)


def _greenwood(lives: Lifetimes) -> NDArray[np.float64]:
    """Return the summands of Greenwood's variance; infinite where the last runs end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(lives.ends / (lives.at_risk * (lives.at_risk - lives.ends)), dtype=np.float64)
