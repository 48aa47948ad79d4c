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
from simulator.contracts import InputError
from simulator.contracts import parameter as _parameter


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


class Provider:
    """The model behind one agent.

    Attributes
    ----------
    usd : dollars by purpose.
    seconds : seconds by purpose.
    read_tokens, written_tokens : input tokens served from and put into the cache.
    """

    __slots__ = ("_cached", "_last_use", "_spec", "read_tokens", "seconds", "usd", "written_tokens")

    def __init__(self, spec: ProviderSpec) -> None:
        self._spec = spec
        self._cached = 0
        self._last_use = 0.0
        self.usd: dict[Purpose, float] = dict.fromkeys(Purpose, 0.0)
        self.seconds: dict[Purpose, float] = dict.fromkeys(Purpose, 0.0)
        self.read_tokens = 0
        self.written_tokens = 0

    def keep_prefix(self, tokens: int) -> None:
        """Note that the prompt has changed behind its first `tokens` tokens."""
        self._cached = min(self._cached, tokens)

    def continue_prompt(self, now: float, tokens: int, output: int, purpose: Purpose) -> float:
        """Send the live prompt of `tokens` tokens, get `output` tokens back, return the seconds."""
        spec = self._spec
        cached = self._cached if now - self._last_use <= spec.cache_seconds else 0
        cached = min(cached, tokens)
        fresh = tokens - cached
        usd = cached * spec.cache_read_usd + fresh * spec.cache_write_usd + output * spec.output_usd
        self.read_tokens += cached
        self.written_tokens += fresh
        self._cached, self._last_use = tokens, now
        return self._charge(fresh, output, usd / 1e6, purpose)

    def fresh_prompt(self, tokens: int, output: int, purpose: Purpose) -> float:
        """Send a prompt that shares no prefix with the live one, return the seconds."""
        usd = tokens * self._spec.input_usd + output * self._spec.output_usd
        return self._charge(tokens, output, usd / 1e6, purpose)

    def _charge(self, fresh: int, output: int, usd: float, purpose: Purpose) -> float:
        spec = self._spec
        seconds = (
            spec.overhead_seconds
            + fresh / spec.prefill_tokens_per_second
            + output / spec.decode_tokens_per_second
        )
        self.usd[purpose] += usd
        self.seconds[purpose] += seconds
        return seconds
