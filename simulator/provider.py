"""`Provider`: what a model request takes, in seconds and in dollars by class of token.

A request reads its input (the cached prefix fast and cheap, the rest not) and writes its output.
The cache holds the prompt of the last request as far as nothing before its end has changed, and
expires. Capacity is unbounded: latency is a plain timeout, there is no queue.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import cast

from simulator.bounds import require_above_zero, require_at_least
from simulator.contracts import Parameter
from simulator.contracts import parameter as _parameter
from simulator.declarations import Prices
from simulator.errors import InputError
from simulator.prices import PRICED_TOKENS, Bill, PriceTier, Purpose, TokenClass, require_ascending

__all__ = ["PRICED_TOKENS", "PriceTier", "Provider", "ProviderSpec", "Purpose", "TokenClass"]


def _number(default: float, symbol: str, unit: str, source: str) -> float:
    return cast(float, _parameter(default, symbol, unit, source))


def _count(default: int, symbol: str, unit: str, source: str) -> int:
    return cast(int, _parameter(default, symbol, unit, source))


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """Speed, prices and prompt cache of the model. Prices are dollars for a million tokens.

    Where there are tiers, the prices beside them hold for requests longer than the last one's limit.
    A cache that lives no time at all is none: what is read is billed as input, what is kept is nothing.
    """

    overhead_seconds: float = _number(1.5, "t_0", "s", "time to first token, 0.5-2.7 s (papers, section 10)")
    prefill_tokens_per_second: float = _number(
        10_000, "v_p", "tokens/s", "186,800 tokens compacted in 25 s (papers, section 4)"
    )
    decode_tokens_per_second: float = _number(63, "v_d", "tokens/s", "API decode speed (papers, section 10)")
    input_usd: float = _number(3.0, "p_i", "$/M tokens", "uncached input, list price of a mid-size model")
    cache_read_usd: float = _number(0.3, "p_r", "$/M tokens", "0.1 of input (papers, section 8)")
    cache_write_usd: float = _number(3.75, "p_w", "$/M tokens", "1.25 of input (papers, section 8)")
    output_usd: float = _number(15.0, "p_o", "$/M tokens", "output, list price of a mid-size model")
    cache_seconds: float = _number(
        300.0, "T_c", "s", "expiry after 5 min, renewed by each hit (papers, section 8)"
    )
    failure_share: float = _number(
        0.0, "p_f", "share of replacement requests", "field reports S13: they do fail"
    )
    cache_minimum_tokens: int = _count(
        0, "m_c", "tokens", "shortest prefix that is cached, 512-4,096 by model (papers, section 8)"
    )
    cache_block_tokens: int = _count(
        1, "b_c", "tokens", "a hit is a whole number of blocks; 1 is exact, 128 at one vendor"
    )
    tiers: tuple[PriceTier, ...] = field(
        default=(),
        metadata={
            "parameter": Parameter(
                "p(L)", "$/M tokens", "prices by length of the prompt (papers, section 1c)"
            )
        },
    )

    def __post_init__(self) -> None:
        speeds = ("prefill_tokens_per_second", "decode_tokens_per_second")
        require_above_zero(self, speeds, "provider")
        others = [one.name for one in fields(self) if one.name not in {*speeds, "tiers"}]
        require_at_least(0, self, others, "provider")
        require_at_least(1, self, ("cache_block_tokens",), "provider")
        require_ascending([tier.up_to for tier in self.tiers], "provider.tiers")
        if self.failure_share > 1:
            raise InputError(
                f"failure_share is {self.failure_share}", where="provider", expected="between 0 and 1"
            )

    def price_lists(self) -> tuple[dict[TokenClass, float], ...]:
        """Return dollars for a million tokens by class: up to each tier's limit, then above the last."""
        return tuple(
            {kind: getattr(listed, f"{kind}_usd") for kind in TokenClass} for listed in (*self.tiers, self)
        )

    def prices_at(self, prompt: int) -> Prices:
        """Return dollars for one token of a request that reads `prompt` tokens, and the cache's life.

        Where there is no cache all that is read is input, and what is read again costs the same.

        >>> ProviderSpec(input_usd=3.0).prices_at(50_000).input
        3e-06
        """
        listed = self.price_lists()[bisect_left([tier.up_to for tier in self.tiers], prompt)]
        rates = {kind.value: listed[kind] / PRICED_TOKENS for kind in TokenClass}
        if not self.cache_seconds:
            rates |= {"cache_read": rates["input"], "cache_write": rates["input"]}
        return Prices(**rates, cache_seconds=self.cache_seconds)

    @property
    def prices(self) -> Prices:
        """Dollars for one token of a short request, and the cache's life: what a vendor's page says first."""
        return self.prices_at(0)


class Provider:
    """The model behind one agent.

    Attributes
    ----------
    seconds : seconds by purpose.
    rejections : requests that were refused, by purpose.
    """

    __slots__ = (
        "_bills",
        "_cached",
        "_least",
        "_limits",
        "_own",
        "_spec",
        "_used",
        "rejections",
        "seconds",
    )

    def __init__(self, spec: ProviderSpec) -> None:
        self._spec = spec
        self._cached = 0
        self._used = 0.0
        self._least = spec.cache_minimum_tokens if spec.cache_seconds else math.inf
        self._limits = tuple(tier.up_to for tier in spec.tiers)
        self._own = tuple(Bill(prices) for prices in spec.price_lists())
        self._bills = {1.0: self._own}
        self.seconds: dict[Purpose, float] = dict.fromkeys(Purpose, 0.0)
        self.rejections = dict.fromkeys(Purpose, 0)

    @property
    def tokens(self) -> dict[TokenClass, dict[Purpose, int]]:
        """Billed tokens by class and purpose, whatever they cost."""
        return {
            kind: {
                purpose: sum(bill.tokens(kind)[purpose] for bill in self._all_bills()) for purpose in Purpose
            }
            for kind in TokenClass
        }

    @property
    def usd(self) -> dict[tuple[Purpose, TokenClass], float]:
        """Dollars by purpose and class of token."""
        return {
            (purpose, kind): sum(bill.usd(kind, purpose) for bill in self._all_bills())
            for kind in TokenClass
            for purpose in Purpose
        }

    def billed(self, kind: TokenClass) -> int:
        """Return the tokens of one class, for all purposes."""
        return sum(sum(bill.tokens(kind).values()) for bill in self._all_bills())

    def spent(self, purposes: Iterable[Purpose]) -> float:
        """Return the dollars of these purposes."""
        wanted, bills = tuple(purposes), self._all_bills()
        return sum(bill.usd(kind, one) for bill in bills for kind in TokenClass for one in wanted)

    def rebuild_usd(self, tokens: int, prompt: int) -> float:
        """Return what it costs that `tokens` of a request of `prompt` tokens are written, not read."""
        prices = self._own[bisect_left(self._limits, prompt)].prices
        dearer = prices[TokenClass.CACHE_WRITE] - prices[TokenClass.CACHE_READ]
        return tokens * dearer / PRICED_TOKENS

    def keep_prefix(self, tokens: int, now: float | None = None) -> int:
        """Note that the prompt has changed behind its first `tokens` tokens; return what this has cost.

        Parameters
        ----------
        tokens : int
            Tokens from the start that are still the same.
        now : float, optional
            Seconds; a cache that has expired by then had nothing left to lose.

        Returns
        -------
        int
            Tokens that could have been read from the cache and are now to be paid for anew.
        """
        before = self._cached
        self._cached = min(before, tokens)
        if now is not None and now - self._used > self._spec.cache_seconds:
            return 0
        return self._readable(before) - self._readable(self._cached)

    def continue_prompt(self, now: float, tokens: int, output: int, purpose: Purpose) -> float:
        """Send the live prompt of `tokens` tokens, get `output` tokens back, return the seconds."""
        bill = self._own[bisect_left(self._limits, tokens)]
        return self._answer(bill, self._read(bill, now, tokens, purpose), output, purpose)

    def shared_prompt(self, now: float, tokens: int, extra: int, output: int, purpose: Purpose) -> float:
        """Send the live prompt with something behind it, get `output` tokens back, return the seconds.

        The live prompt is read from the cache as far as it is there, and stands there afterwards; what
        is put behind it is plain input and is kept by no cache.

        Parameters
        ----------
        now : float
            Seconds.
        tokens, extra : int
            The live prompt, and what is put behind it.
        output : int
            Tokens of the answer.
        purpose : Purpose
            Who asks.
        """
        bill = self._own[bisect_left(self._limits, tokens + extra)]
        fresh = self._read(bill, now, tokens, purpose)
        bill.input[purpose] += extra
        return self._answer(bill, fresh + extra, output, purpose)

    def fresh_prompt(self, tokens: int, output: int, purpose: Purpose, price: float = 1.0) -> float:
        """Send a prompt that shares no prefix with the live one, return the seconds.

        `price` is what the model that answers costs, as a share of the agent's own.
        """
        bills = self._bills.get(price) or self._at(price)
        bill = bills[bisect_left(self._limits, tokens)]
        bill.input[purpose] += tokens
        return self._answer(bill, tokens, output, purpose)

    def rejected(self, purpose: Purpose) -> float:
        """Send a request that is refused, for its length for instance; return the seconds. It is free."""
        self.rejections[purpose] += 1
        self.seconds[purpose] += self._spec.overhead_seconds
        return self._spec.overhead_seconds

    def stay_warm(self, now: float, *, ping_seconds: float, longest_seconds: float) -> int:
        """Bill the pings that kept the cache warm since its last use; return how many there were.

        One is sent every `ping_seconds`, the last no later than `longest_seconds` after that use, nor
        than `now`. Each reads the cached prefix and renews it; where the cache lives shorter than
        that, each writes it anew. Pings delay nobody. A gap of T costs T / ping reads and saves a
        write less a read: it pays up to T = (write - read) / read x ping (papers, section 8).
        """
        cached = self._readable(self._cached)
        pings = math.floor(min(now - self._used, longest_seconds) / ping_seconds) if cached else 0
        if pings <= 0:
            return 0
        bill = self._own[bisect_left(self._limits, cached)]
        kept = bill.cache_read if ping_seconds <= self._spec.cache_seconds else bill.cache_write
        kept[Purpose.KEEP_WARM] += pings * cached
        self.seconds[Purpose.KEEP_WARM] += pings * self._spec.overhead_seconds
        self._used += pings * ping_seconds
        return pings

    def _read(self, bill: Bill, now: float, tokens: int, purpose: Purpose) -> int:
        """Bill the live prompt, keep it in the cache, and return the tokens that were not there."""
        if tokens < self._least:
            self._cached, self._used = 0, now
            bill.input[purpose] += tokens
            return tokens
        cached = self._cached if now - self._used <= self._spec.cache_seconds else 0
        cached = self._readable(min(cached, tokens))
        self._cached, self._used = tokens, now
        bill.cache_read[purpose] += cached
        bill.cache_write[purpose] += tokens - cached
        return tokens - cached

    def _readable(self, cached: int) -> int:
        """Return how much of a cached prefix a request can read: whole blocks, and no short ones."""
        return 0 if cached < self._least else cached - cached % self._spec.cache_block_tokens

    def _answer(self, bill: Bill, fresh: int, output: int, purpose: Purpose) -> float:
        """Return the seconds of reading what is not cached and of writing the answer."""
        spec = self._spec
        bill.output[purpose] += output
        seconds = (
            spec.overhead_seconds
            + fresh / spec.prefill_tokens_per_second
            + output / spec.decode_tokens_per_second
        )
        self.seconds[purpose] += seconds
        return seconds

    def _at(self, price: float) -> tuple[Bill, ...]:
        """Open the bills of a model of other prices, a bill a tier."""
        lists = self._spec.price_lists()
        bills = tuple(Bill({kind: price * usd for kind, usd in prices.items()}) for prices in lists)
        self._bills[price] = bills
        return bills

    def _all_bills(self) -> tuple[Bill, ...]:
        return tuple(chain.from_iterable(self._bills.values()))
