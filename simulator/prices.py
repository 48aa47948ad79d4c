"""What a token costs: classes of tokens, price tiers by length of the prompt, and the bill.

Tokens come in, by class and by who asked; dollars go out. Nothing is priced until the bill is read, so
that sums are of whole tokens and exact. Price lists: scenarios/prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from simulator.bounds import require_at_least
from simulator.errors import InputError


class Purpose(StrEnum):
    """Who asks."""

    AGENT = "agent"
    RATIONALE = "rationale"
    REPLACEMENT = "replacement"
    KEEP_WARM = "keep_warm"


REWRITING = (Purpose.RATIONALE, Purpose.REPLACEMENT)
"""What a rewrite asks a model for."""


class TokenClass(StrEnum):
    """What a token costs depends on how it is billed."""

    INPUT = "input"
    CACHE_READ = "cache_read"
    CACHE_WRITE = "cache_write"
    OUTPUT = "output"


PRICED_TOKENS = 1_000_000
"""Prices are dollars for so many tokens."""


@dataclass(frozen=True, slots=True)
class PriceTier:
    """What a request costs whose input is short enough. Prices are dollars for a million tokens.

    Attributes
    ----------
    up_to : tokens of the longest input of the tier, its cached part included.
    input_usd, cache_read_usd, cache_write_usd, output_usd : prices of all tokens of such a request.
    """

    up_to: int
    input_usd: float
    cache_read_usd: float
    cache_write_usd: float
    output_usd: float

    def __post_init__(self) -> None:
        require_at_least(1, self, ("up_to",), "provider.tiers")
        require_at_least(0, self, [f"{kind}_usd" for kind in TokenClass], "provider.tiers")


def require_ascending(limits: Sequence[int], where: str = "") -> None:
    """Raise InputError where a tier ends no later than the one before it.

    >>> require_ascending([32_000, 128_000])
    """
    for before, limit in pairwise(limits):
        if limit <= before:
            raise InputError(
                f"a tier up to {limit} stands after one up to {before}",
                where=where,
                expected="ascending limits",
            )


class Bill:
    """Tokens that are paid for by one list of prices, by class and purpose.

    Attributes
    ----------
    prices : dollars for a million tokens, by class.
    input, cache_read, cache_write, output : tokens by purpose.
    """

    __slots__ = ("cache_read", "cache_write", "input", "output", "prices")

    def __init__(self, prices: Mapping[TokenClass, float]) -> None:
        self.prices = prices
        self.input = dict.fromkeys(Purpose, 0)
        self.cache_read = dict.fromkeys(Purpose, 0)
        self.cache_write = dict.fromkeys(Purpose, 0)
        self.output = dict.fromkeys(Purpose, 0)

    def tokens(self, kind: TokenClass) -> dict[Purpose, int]:
        """Return the tokens of one class, by purpose."""
        tokens: dict[Purpose, int] = getattr(self, kind)
        return tokens

    def usd(self, kind: TokenClass, purpose: Purpose) -> float:
        """Return the dollars of one class and purpose."""
        return self.tokens(kind)[purpose] * self.prices[kind] / PRICED_TOKENS
