"""From the unit interval to the range of a factor.

In comes a unit value, as designs have them; out comes a value between the factor's bounds, or a place in
its list of labels. 1 itself, which Morris's design contains, counts to the upper end.
"""

from __future__ import annotations

import math


def linear(unit: float, low: float, high: float) -> float:
    """Return the value at that share of the way from `low` to `high`.

    Parameters
    ----------
    unit : float
        In [0, 1].
    low, high : float
        Finite, `low < high`.

    Raises
    ------
    ValueError
        If `unit` is outside [0, 1] or the bounds are no range.

    Examples
    --------
    >>> linear(0.25, 2.0, 4.0)
    2.5
    """
    _require_unit(unit)
    _require_range(low, high)
    return min(max(low * (1 - unit) + high * unit, low), high)  # rounding may step over a bound


def log(unit: float, low: float, high: float) -> float:
    """Return the value whose logarithm is that share of the way: each factor of ten gets the same share.

    Parameters
    ----------
    unit : float
        In [0, 1].
    low, high : float
        Finite, `0 < low < high`.

    Raises
    ------
    ValueError
        If `unit` is outside [0, 1] or the bounds are no range above 0.

    Examples
    --------
    >>> round(log(0.5, 1.0, 100.0), 9)
    10.0
    """
    if not low > 0:
        raise ValueError(f"a logarithmic range begins above 0, got {low}")
    _require_range(low, high)
    return min(max(math.exp(linear(unit, math.log(low), math.log(high))), low), high)


def whole(unit: float, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`, both included, each for an equal share of the unit.

    Parameters
    ----------
    unit : float
        In [0, 1].
    low, high : int
        `low < high`.

    Raises
    ------
    ValueError
        If `unit` is outside [0, 1] or the bounds are no range.

    Examples
    --------
    >>> [whole(unit, 1, 3) for unit in (0.0, 0.3, 0.34, 0.99)]
    [1, 1, 2, 3]
    """
    _require_range(low, high)
    return low + label_index(unit, high - low + 1)


def label_index(unit: float, n: int) -> int:
    """Return a place from 0 to n - 1 in a list of n labels, each for an equal share of the unit.

    Parameters
    ----------
    unit : float
        In [0, 1].
    n : int
        At least 1.

    Raises
    ------
    ValueError
        If `unit` is outside [0, 1] or `n` is below 1.

    Examples
    --------
    >>> [label_index(unit, 2) for unit in (0.0, 0.49, 0.5, 1.0)]
    [0, 0, 1, 1]
    """
    _require_unit(unit)
    if n < 1:
        raise ValueError(f"a list has at least one label, got {n}")
    return min(math.floor(unit * n), n - 1)


def _require_unit(unit: float) -> None:
    if not 0 <= unit <= 1:
        raise ValueError(f"a unit value lies in [0, 1], got {unit}")


def _require_range(low: float, high: float) -> None:
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"a range runs from low to high, both finite, got {low} to {high}")
