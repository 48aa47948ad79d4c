"""The lognormal law of sizes in a synthetic world."""

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
