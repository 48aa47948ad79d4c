"""Estimates with their uncertainty: what a column of replications says about the law behind it.

In come plain numbers, one a replication; out come intervals (`Interval`) or streaming moments
(`Moments`). Student's t for means, Wilson (1927) for shares, order statistics for quantiles (David and
Nagaraja, Order Statistics, section 7.1), Welford (1962) with the merge of Chan, Golub and LeVeque (1979)
for streams. A number that is missing is refused, or dropped where the caller says so: never passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95


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
            If the stream is empty.
        """
        if not self.count:
            raise ValueError("an interval needs at least one value, got none")
        half_width = math.inf
        if self.count > 1:
            half_width = _student_quantile(confidence, self.count - 1) * math.sqrt(self.variance / self.count)
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
    _check_share(confidence, "confidence")
    sample = _sample(values, drop_missing=drop_missing)
    moments = Moments()
    moments.count, moments.mean = sample.size, float(sample.mean())
    moments.squares = float(np.square(sample - moments.mean).sum())
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
    _check_share(confidence, "confidence")
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

    _check_share(q, "q")
    _check_share(confidence, "confidence")
    ordered = np.sort(_sample(values, drop_missing=drop_missing))
    n = ordered.size
    tail = (1 - confidence) / 2
    below = bdtr(np.arange(n + 1.0), n, q)
    rank_low = int(np.searchsorted(below, tail))  # ranks count from 1; rank 0 and rank n + 1 are no value
    rank_high = int(np.searchsorted(below, 1 - tail)) + 1
    low = float(ordered[rank_low - 1]) if rank_low >= 1 else -math.inf
    high = float(ordered[rank_high - 1]) if rank_high <= n else math.inf
    estimate = float(np.quantile(ordered, q))  # interpolates, so a narrow interval of few values may miss it
    return Interval(estimate, min(low, estimate), max(high, estimate), n, confidence)


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
    left, right = _sample(a), _sample(b)
    if left.shape != right.shape:
        raise ValueError(f"pairs need two sides of one length, got {left.size} and {right.size}")
    return mean_interval(left - right, confidence)


def family_false_alarm_rate(n_expectations: int, level: float) -> float:
    """Return how often at least one of several true expectations fails by chance.

    This is `1 - (1 - level)^n`, for independent expectations; whatever their dependence it is at most
    `n * level`.

    Parameters
    ----------
    n_expectations : int
        How many are tested together, at least 0.
    level : float
        How often one of them fails though it is true, in [0, 1).

    Raises
    ------
    ValueError
        If either is out of range.

    Examples
    --------
    >>> round(family_false_alarm_rate(14, 0.05), 3)
    0.512
    """
    if n_expectations < 0 or not 0 <= level < 1:
        raise ValueError(f"a family needs n >= 0 and a level in [0, 1), got {n_expectations} and {level}")
    return -math.expm1(n_expectations * math.log1p(-level))


def _student_quantile(confidence: float, degrees: int) -> float:
    from scipy.special import stdtrit  # equals scipy.stats.t.ppf at half the cost of the import

    _check_share(confidence, "confidence")
    return float(stdtrit(degrees, (1 + confidence) / 2))


def _sample(values: ArrayLike, *, drop_missing: bool = False) -> NDArray[np.float64]:
    """Return the values as one flat array of finite numbers, or say why that cannot be."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(f"a sample has one axis, got the shape {sample.shape}")
    if drop_missing:
        sample = sample[~np.isnan(sample)]
    if not sample.size:
        raise ValueError("an interval needs at least one value, got none")
    unusable = int(np.count_nonzero(~np.isfinite(sample)))
    if unusable:
        raise ValueError(f"{unusable} of {sample.size} values are NaN or infinite")
    return sample


def _check_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} lies in (0, 1), got {value!r}")
