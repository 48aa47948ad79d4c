"""Estimates with their uncertainty: what a column of replications says about the law behind it.

In come plain numbers, one a replication; out come intervals (`Interval`) or streaming moments
(`Moments`). Student's t for means, Wilson (1927) for shares, order statistics for quantiles (David and
Nagaraja, Order Statistics, section 7.1), the bootstrap for what has no formula (Efron 1987), Welford
(1962) with the merge of Chan, Golub and LeVeque (1979) for streams.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from experiments.statistics.samples import require_share, sample

CONFIDENCE = 0.95
"""Share of intervals that hold the truth, where nothing else is asked for."""

RESAMPLES = 9_999
"""One less than a round number, so that the tail quantiles fall on resamples (Davison and Hinkley 1997)."""

VALUES_A_BATCH = 1_000_000
"""So many resampled values are held at once: 8 MB."""


class Interval(NamedTuple):
    """An estimate between two bounds, which are infinite where the data cannot bound it.

    Parameters
    ----------
    estimate : float
        The point estimate, in the unit of the data.
    low, high : float
        The bounds; `low <= estimate <= high`, never NaN.
    n : int
        How many values stand behind it.
    confidence : float
        The share of such intervals that hold the truth, in (0, 1).
    """

    estimate: float
    low: float
    high: float
    n: int
    confidence: float

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds, in the unit of the data."""
        return (self.high - self.low) / 2

    def lies_within(self, low: float, high: float) -> bool:
        """Say whether the whole interval lies inside the closed band from `low` to `high`."""
        return low <= self.low and self.high <= high


def excludes_zero(low: float, high: float) -> bool:
    """Say whether an interval lies on one side of 0; one without bounds does not."""
    return bool(low > 0 or high < 0)


class Moments:
    """Count, mean and variance of a stream, in constant memory.

    Two streams that were measured apart can be merged, in any grouping, up to rounding.

    >>> seen = Moments([1.0, 2.0, 3.0])
    >>> seen.count, seen.mean, seen.variance
    (3, 2.0, 1.0)
    """

    __slots__ = ("count", "mean", "squares")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0
        """Sum of the squared deviations from the mean."""
        for value in values:
            self.add(value)

    def add(self, value: float) -> None:
        """Take in one value.

        Raises
        ------
        ValueError
            If `value` is NaN or infinite; the moments are then as they were.
        """
        if not math.isfinite(value):
            raise ValueError(f"a moment needs finite values, got {value!r}")
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both streams together; neither of the two is changed."""
        both = Moments()
        both.count = self.count + other.count
        if both.count:
            step = other.mean - self.mean
            both.mean = self.mean + step * other.count / both.count
            both.squares = self.squares + other.squares + step * step * self.count * other.count / both.count
        return both

    @property
    def variance(self) -> float:
        """Unbiased variance, in squared units; infinite below two values, which tell nothing of it."""
        return self.squares / (self.count - 1) if self.count > 1 else math.inf

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return Student's interval of the mean, assuming independent and roughly normal values.

        Raises
        ------
        ValueError
            If the stream is empty or `confidence` is outside (0, 1).
        """
        if not self.count:
            raise ValueError("an interval needs at least one value, got none")
        require_share(confidence, "confidence")
        half_width = math.inf
        if self.count > 1:
            half_width = student_quantile((1 + confidence) / 2, self.count - 1) * math.sqrt(
                self.variance / self.count
            )
        return Interval(self.mean, self.mean - half_width, self.mean + half_width, self.count, confidence)

    def __repr__(self) -> str:
        return f"Moments(count={self.count}, mean={self.mean}, variance={self.variance})"


def mean_interval(
    values: ArrayLike, confidence: float = CONFIDENCE, *, drop_missing: bool = False
) -> Interval:
    """Return Student's interval of the mean of independent replications.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        One value a replication; roughly normal, or many.
    confidence : float
        In (0, 1).
    drop_missing : bool
        Leave NaN out; `n` says how many are left. Otherwise NaN is refused.

    Raises
    ------
    ValueError
        If no value is left, one is NaN or infinite, or `confidence` is outside (0, 1).

    Examples
    --------
    >>> mean_interval([7.0]).low
    -inf
    """
    require_share(confidence, "confidence")
    kept = sample(values, drop_missing=drop_missing)
    moments = Moments()
    moments.count, moments.mean = kept.size, float(kept.mean())
    moments.squares = float(np.square(kept - moments.mean).sum())
    return moments.interval(confidence)


def share_interval(successes: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a share, which is never empty and never leaves [0, 1].

    Parameters
    ----------
    successes, n : int
        So many of `n` independent trials, `0 <= successes <= n`, `n >= 1`.
    confidence : float
        In (0, 1).

    Raises
    ------
    ValueError
        If the counts or the confidence are out of range.

    Examples
    --------
    >>> [round(bound, 4) for bound in share_interval(15, 148)[1:3]]
    [0.0624, 0.1605]
    """
    require_share(confidence, "confidence")
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"a share needs 0 <= successes <= n and n >= 1, got {successes} of {n}")
    share = successes / n
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    shrink = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half_width = z / shrink * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half_width  # exact at the ends, where rounding would show
    high = 1.0 if successes == n else centre + half_width
    return Interval(share, low, high, n, confidence)


def quantile_interval(
    values: ArrayLike, q: float, confidence: float = CONFIDENCE, *, drop_missing: bool = False
) -> Interval:
    """Return the interval of a quantile between two order statistics, whatever the distribution.

    The number of values below the true quantile is binomial (n, q), so the bounds are the values at its
    two tail quantiles. Coverage is at least `confidence`; with too few values a bound is infinite.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Independent values of one distribution.
    q : float
        The quantile, in (0, 1).
    confidence : float
        In (0, 1).
    drop_missing : bool
        Leave NaN out instead of refusing it.

    Raises
    ------
    ValueError
        If no value is left, one is NaN or infinite, or `q` or `confidence` is outside (0, 1).

    Examples
    --------
    >>> quantile_interval(range(1, 101), 0.5)[1:3]
    (40.0, 61.0)
    """
    from scipy.special import bdtr

    require_share(q, "q")
    require_share(confidence, "confidence")
    ordered = np.sort(sample(values, drop_missing=drop_missing))
    n = ordered.size
    tail = (1 - confidence) / 2
    below = bdtr(np.arange(n + 1.0), n, q)
    rank_low = int(np.searchsorted(below, tail))  # ranks count from 1; rank 0 and rank n + 1 are no value
    rank_high = int(np.searchsorted(below, 1 - tail)) + 1
    low = float(ordered[rank_low - 1]) if rank_low >= 1 else -math.inf
    high = float(ordered[rank_high - 1]) if rank_high <= n else math.inf
    estimate = float(np.quantile(ordered, q))  # interpolates, so a narrow interval of few values may miss it
    return Interval(estimate, min(low, estimate), max(high, estimate), n, confidence)


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[..., float] = np.mean,
    *,
    seed: int,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval of any statistic.

    Where the correction is not defined, because (nearly) all resamples lie on one side of the estimate as
    with a maximum, the plain percentile interval stands in. One value bounds nothing; a statistic that no
    resample moves has an interval of width 0.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Independent replications. Below about 20 such intervals cover less often than they say.
    statistic : callable
        From a sample to a number; called with `axis` where it has such a parameter.
    seed : int
        The interval is a function of the values, the statistic and this.
    confidence : float
        In (0, 1).
    resamples : int
        How many samples are drawn with replacement.

    Raises
    ------
    ValueError
        If `confidence` is outside (0, 1), or as `mean_interval`.

    Examples
    --------
    >>> found = bootstrap_interval([3.0, 5.0, 4.0, 9.0, 6.0], np.median, seed=1)
    >>> found.low <= found.estimate == 5.0 <= found.high
    True
    """
    from scipy.stats import bootstrap

    require_share(confidence, "confidence")
    kept = sample(values)
    estimate = float(statistic(kept))
    if kept.size == 1:
        return Interval(estimate, -math.inf, math.inf, 1, confidence)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of degenerate resamples, which are dealt with below
        found = bootstrap(
            (kept,),
            statistic,
            n_resamples=resamples,
            batch=max(1, VALUES_A_BATCH // kept.size),
            confidence_level=confidence,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = (float(bound) for bound in found.confidence_interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        tail = (1 - confidence) / 2
        low, high = (float(bound) for bound in np.quantile(found.bootstrap_distribution, [tail, 1 - tail]))
    return Interval(estimate, min(low, estimate), max(high, estimate), kept.size, confidence)


def student_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t: 1.812 at 0.95 with 10 degrees of freedom."""
    from scipy.special import stdtrit  # equals scipy.stats.t.ppf at half the cost of the import

    return float(stdtrit(degrees, probability))
