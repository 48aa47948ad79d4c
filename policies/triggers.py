"""Triggers: when a policy starts an attempt. Gauge in, yes or no out."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simulator.contracts import CheckPoint
from simulator.view import Gauge

SLIP = 1e-6
"""What a product of a share and a window may be off: 0.57 of 100 tokens is 57, not 56.99999999999999."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Fire at a share of the window, and only after some regrowth since the last attempt.

    Attributes
    ----------
    fraction : believed share of the window at which to fire.
    low_watermark : share of the window that a rewrite aims at; None aims at nothing.
    regrow : share of the window that must have come in since the last attempt (hysteresis); 0 fires
        at every check above the threshold.
    check_points : when to look.
    """

    fraction: float
    low_watermark: float | None = None
    regrow: float = 0.0
    check_points: frozenset[CheckPoint] = frozenset({CheckPoint.BEFORE_REQUEST})

    def fires(self, gauge: Gauge, level_after_last: int | None) -> bool:
        """Whether to start an attempt, given the believed count after the last one."""
        if gauge.tokens < threshold(self.fraction, gauge.window):
            return False
        if level_after_last is None or not self.regrow:
            return True
        return gauge.tokens - level_after_last >= threshold(self.regrow, gauge.window)

    def target(self, gauge: Gauge) -> int | None:
        """Return the tokens that a rewrite aims at, or None."""
        return None if self.low_watermark is None else math.floor(self.low_watermark * gauge.window + SLIP)


def threshold(fraction: float, window: int) -> int:
    """Return the smallest whole count at or above that share of the window.

    >>> threshold(0.91, 24_000)
    21840
    """
    return math.ceil(fraction * window - SLIP)
