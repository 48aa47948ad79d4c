"""The laws of sizes in a synthetic world: lognormal, and Pareto for a heavy tail."""

from __future__ import annotations

import math


def lognormal_tokens(mean: float, sigma: float, normal: float) -> int:
    """Return a size in whole tokens, at least 1, from a standard normal draw.

    Parameters
    ----------
    mean : float
        Mean of the law, tokens.
    sigma : float
        Spread of its logarithm; 0 is a constant size.
    normal : float
        The draw.

    >>> lognormal_tokens(175, 0.0, 1.3)
    175
    """
    return max(1, round(mean * math.exp(sigma * normal - sigma * sigma / 2)))


def pareto_tokens(mean: float, index: float, uniform: float) -> int:
    """Return a size in whole tokens, at least 1, of a Pareto law.

    Its smallest size is `mean * (index - 1) / index`, and a share `y ** -index` of sizes is more than y
    times as large.

    Parameters
    ----------
    mean : float
        Mean of the law, tokens.
    index : float
        Index of its tail, above 1; up to 2 its variance is infinite.
    uniform : float
        The draw, from [0, 1).

    >>> pareto_tokens(1_000, 2.0, 0.0), pareto_tokens(1_000, 2.0, 0.99)
    (500, 5000)
    """
    smallest = mean * (index - 1) / index
    return max(1, round(smallest * math.pow(1 - uniform, -1 / index)))
