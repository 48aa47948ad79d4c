"""`Provider`: what a model request takes, in seconds and in dollars by class of token.

A request reads its input (the cached prefix fast and cheap, the rest not) and writes its output.
The cache holds the prompt of the last request as far as nothing before its end has changed, and
expires. Capacity is unbounded: latency is a plain timeout, there is no queue.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import cast

from simulator.bounds import require_above_zero, require_at_least
from simulator.contracts import parameter as _parameter
from simulator.errors import InputError


def _number(default: float, symbol: str, unit: str, source: str) -> float:
    return cast(float, _parameter(default, symbol, unit, source))


class Purpose(StrEnum):
    """Who asks."""

    AGENT = "agent"
    RATIONALE = "rationale"
    REPLACEMENT = "replacement"


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """Speed, prices and prompt cache of the model. Prices are dollars for a million tokens."""

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

    def __post_init__(self) -> None:
        speeds = ("prefill_tokens_per_second", "decode_tokens_per_second")
        require_above_zero(self, speeds, "provider")
        others = [field.name for field in fields(self) if field.name not in speeds]
        require_at_least(0, self, others, "provider")
        if self.failure_share > 1:
            raise InputError(
                f"failure_share is {self.failure_share}", where="provider", expected="between 0 and 1"
            )


class TokenClass(StrEnum):
    """What a token costs depends on how it is billed."""

    INPUT = "input"
    CACHE_READ = "cache_read"
    CACHE_WRITE = "cache_write"
    OUTPUT = "output"


class Provider:
    """The model behind one agent.

    Attributes
    ----------
    tokens : billed tokens by class and purpose.
    seconds : seconds by purpose.
    """

    __slots__ = ("_cached", "_last_use", "_spec", "seconds", "tokens")

    def __init__(self, spec: ProviderSpec) -> None:
        self._spec = spec
        self._cached = 0
        self._last_use = 0.0
        self.tokens = {kind: dict.fromkeys(Purpose, 0) for kind in TokenClass}
        self.seconds: dict[Purpose, float] = dict.fromkeys(Purpose, 0.0)

    @property
    def usd(self) -> dict[tuple[Purpose, TokenClass], float]:
        """Dollars by purpose and class of token."""
        spec = self._spec
        prices = {
            TokenClass.INPUT: spec.input_usd,
            TokenClass.CACHE_READ: spec.cache_read_usd,
            TokenClass.CACHE_WRITE: spec.cache_write_usd,
            TokenClass.OUTPUT: spec.output_usd,
        }
        return {
            (purpose, kind): self.tokens[kind][purpose] * price / PRICED_TOKENS
            for kind, price in prices.items()
            for purpose in Purpose
        }

    def billed(self, kind: TokenClass) -> int:
        """Return the tokens of one class, for all purposes."""
        return sum(self.tokens[kind].values())

    def keep_prefix(self, tokens: int) -> None:
        """Note that the prompt has changed behind its first `tokens` tokens."""
        self._cached = min(self._cached, tokens)

    def continue_prompt(self, now: float, tokens: int, output: int, purpose: Purpose) -> float:
        """Send the live prompt of `tokens` tokens, get `output` tokens back, return the seconds."""
        cached = self._cached if now - self._last_use <= self._spec.cache_seconds else 0
        cached = min(cached, tokens)
        self._cached, self._last_use = tokens, now
        self.tokens[TokenClass.CACHE_READ][purpose] += cached
        self.tokens[TokenClass.CACHE_WRITE][purpose] += tokens - cached
        return self._answer(tokens - cached, output, purpose)

    def fresh_prompt(self, tokens: int, output: int, purpose: Purpose) -> float:
        """Send a prompt that shares no prefix with the live one, return the seconds."""
        self.tokens[TokenClass.INPUT][purpose] += tokens
        return self._answer(tokens, output, purpose)

    def _answer(self, fresh: int, output: int, purpose: Purpose) -> float:
        """Return the seconds of reading what is not cached and of writing the answer."""
        spec = self._spec
        self.tokens[TokenClass.OUTPUT][purpose] += output
        seconds = (
            spec.overhead_seconds
            + fresh / spec.prefill_tokens_per_second
            + output / spec.decode_tokens_per_second
        )
        self.seconds[purpose] += seconds
        return seconds


PRICED_TOKENS = 1_000_000
"""Prices are dollars for so many tokens."""
