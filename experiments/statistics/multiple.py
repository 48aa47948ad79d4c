"""Tests of pairs, and many comparisons at once.

In come columns under common random numbers, or the p values of several comparisons; out come p values,
adjusted ones (Holm 1979), and the confidence of intervals that hold together (Bonferroni). Both are valid
whatever the dependence between the comparisons, which common random numbers make strong.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.statistics.pairs import discordant, pair, variance, without_rounding
from experiments.statistics.samples import require_share

SURE = 0.05
"""Adjusted p value up to which a difference is told from 0."""


def paired_t_p_value(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sided p value of Student's paired test that two means are equal.

    Where the differences are all alike, Student's ratio has no spread to stand on. If they are 0, p is 1; if
    not, it is that of the exact sign test of n differences of one sign, 2^(1 - n): so 1 for a single pair.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        Entry i of both comes from replication i.

    Raises
    ------
    ValueError
        If the shapes differ, no pair is left, or a value is NaN or infinite.

    Examples
    --------
    >>> round(paired_t_p_value([1.0, 2.0, 6.0], [0.0, 0.0, 0.0]), 4)
    0.1885
    """
    from scipy.special import stdtr

    left, right = pair(a, b)
    differences = without_rounding(left - right, left, right)
    if not np.ptp(differences):
        return 1.0 if differences[0] == 0 else 2.0 ** (1 - differences.size)
    spread = variance(differences)
    ratio = differences.mean() / math.sqrt(spread / differences.size)
    return float(2 * stdtr(differences.size - 1, -abs(ratio)))


def mcnemar_p_value(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sided p value of McNemar's exact test that two shares of paired trials are equal.

    Of the pairs that differ, either side should be the 1 in half: a binomial test (McNemar, Psychometrika 12,
    1947). It is 1 where none differs.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        Each 0 or 1; entry i of both comes from replication i.

    Raises
    ------
    ValueError
        If a value is not 0 or 1, the shapes differ, or no pair is left.

    Examples
    --------
    >>> mcnemar_p_value([1, 1, 1, 0], [0, 0, 0, 0])
    0.25
    """
    from scipy.stats import binomtest

    more, fewer = discordant(a, b)
    return float(binomtest(more, more + fewer).pvalue) if more + fewer else 1.0


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p values, in the order given.

    Rejecting where the adjusted value is at most alpha keeps the chance of any false rejection at most
    alpha, whatever the dependence (Holm, Scandinavian Journal of Statistics 6, 1979).

    Parameters
    ----------
    p_values : array_like of float, shape (m,)
        Each in [0, 1].

    Returns
    -------
    numpy.ndarray of float, shape (m,)

    Raises
    ------
    ValueError
        If there is not one axis or a value is outside [0, 1].

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ValueError(f"p values stand on one axis and lie in [0, 1], got {given.tolist()}")
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(given.size, 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def bonferroni_confidence(confidence: float, comparisons: int) -> float:
    """Return the confidence that each of several intervals needs so that all hold together.

    Parameters
    ----------
    confidence : float
        Of all together, in (0, 1).
    comparisons : int
        How many they are, at least 1.

    Raises
    ------
    ValueError
        If either is out of range.

    Examples
    --------
    >>> round(bonferroni_confidence(0.95, 10), 6)
    0.995
    """
    require_share(confidence, "confidence")
    if comparisons < 1:
        raise ValueError(f"a family has at least one comparison, got {comparisons}")
    return 1 - (1 - confidence) / comparisons


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
