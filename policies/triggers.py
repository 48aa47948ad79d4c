"""Triggers: when a policy starts an attempt. Gauge in, yes or no out.

Several limits may be set, on what real systems count (policy zoo section 1); any one fires, or all
of them together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator.contracts import CheckPoint
from simulator.view import Gauge

OVERFLOW = CheckPoint.OVERFLOW

SLIP = 1e-6
"""What a product of a share and a window may be off: 0.57 of 100 tokens is 57, not 56.99999999999999."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Fire at a limit, and only after some regrowth since the last attempt. What is None has no say.

    At the check point `overflow` it fires whatever its limits: the provider has refused the request.

    Attributes
    ----------
    fraction : believed share of the window at which to fire.
    low_watermark : share of the window that a rewrite aims at; None aims at nothing.
    regrow : share of the window that must have come in since the last attempt (hysteresis); 0 fires
        at every check above the threshold.
    check_points : when to look.
    tokens : believed count at which to fire.
    reserve : fire when fewer than so many tokens of the window are left.
    messages : spans in the window at which to fire, the fixed head not among them.
    turns : model requests since the last committed rewrite at which to fire.
    first_turns : the same before the first commit; None waits for `turns`.
    together : all limits that are set must be met, not any one of them.
    latches : once it has fired, it fires at every check: what it counts never shrinks.
    target_tokens : believed count that a rewrite aims at, in the place of a share.
    output_most : the output reserve of the runtime, but no more than so many tokens of it, is taken off
        the limits by `fraction` and by `reserve`; 0 takes nothing off.
    """

    fraction: float | None = None
    low_watermark: float | None = None
    regrow: float = 0.0
    check_points: frozenset[CheckPoint] = frozenset({CheckPoint.BEFORE_REQUEST})
    tokens: int | None = None
    reserve: int | None = None
    messages: int | None = None
    turns: int | None = None
    first_turns: int | None = None
    together: bool = False
    target_tokens: int | None = None
    latches: bool = False
    output_most: int = 0
    _others: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Note whether the share of the window is all there is to ask: so it is for most, every turn."""
        others = (
            self.tokens,
            self.reserve,
            self.messages,
            self.turns,
            self.first_turns,
            self.output_most or None,
        )
        object.__setattr__(self, "_others", any(limit is not None for limit in others))

    def fires(self, gauge: Gauge, level_after_last: int | None, *, first: bool = False) -> bool:
        """Whether to start an attempt.

        Parameters
        ----------
        gauge : Gauge
        level_after_last : int or None
            Believed count after the last attempt.
        first : bool
            Nothing was committed yet.
        """
        if self._others:
            met = self._is_met(gauge, first=first)
        else:
            met = self.fraction is not None and gauge.tokens >= threshold(self.fraction, gauge.window)
        if not met or gauge.point is OVERFLOW:
            return gauge.point is OVERFLOW
        if level_after_last is None or not self.regrow:
            return True
        return gauge.tokens - level_after_last >= threshold(self.regrow, gauge.window)

    def is_over(self, tokens: int, window: int, output_reserve: int = 0) -> bool:
        """Whether a believed count of so many tokens meets a limit of size; no other limit has a say."""
        return any(self._sizes(tokens, window, output_reserve))

    def target(self, gauge: Gauge) -> int | None:
        """Return the tokens that a rewrite aims at, or None."""
        if self.low_watermark is None:
            return self.target_tokens
        return share_of(self.low_watermark, gauge.window)

    def _is_met(self, gauge: Gauge, *, first: bool) -> bool:
        sizes = self._sizes(gauge.tokens, gauge.window, gauge.output_reserve)
        counts = self._counts(gauge, first=first)
        if self.together:
            met = [*sizes, *counts]
            return bool(met) and all(met)
        return any(sizes) or any(counts)

    def _sizes(self, tokens: int, window: int, output_reserve: int) -> Iterator[bool]:
        held = min(output_reserve, self.output_most)
        if self.fraction is not None:
            yield tokens >= threshold(self.fraction, window) - held
        if self.tokens is not None:
            yield tokens >= self.tokens
        if self.reserve is not None:
            yield tokens > window - held - self.reserve

    def _counts(self, gauge: Gauge, *, first: bool) -> Iterator[bool]:
        if self.messages is not None:
            yield gauge.messages >= self.messages
        turns = self.first_turns if first and self.first_turns is not None else self.turns
        if turns is not None:
            yield gauge.requests_since_rewrite >= turns


def threshold(fraction: float, window: int) -> int:
    """Return the smallest whole count at or above that share of the window.

    >>> threshold(0.91, 24_000)
    21840
    """
    return math.ceil(fraction * window - SLIP)


def share_of(share: float, tokens: int) -> int:
    """Return the largest whole count within that share of so many tokens.

    >>> share_of(0.57, 100)
    57
    """
    return math.floor(share * tokens + SLIP)
