"""Every law of the model as a pure function with a frozen parameter class.

Numbers in, numbers out; no state, no draw. Each parameter carries its symbol, unit, neutral
default and source, from which `docs/model.md` is made. The figures of a documented case stand in
its scenario file, never here: the defaults switch a law off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import cast

from simulator.contracts import parameter as _parameter


def _number(default: float, symbol: str, unit: str, source: str) -> float:
    return cast(float, _parameter(default, symbol, unit, source))


def _count(default: int | None, symbol: str, unit: str, source: str) -> int:
    return cast(int, _parameter(default, symbol, unit, source))


@dataclass(frozen=True, slots=True)
class RationaleLaw:
    """How much a planner writes about a rewrite before it is applied.

    `base * (1 + pressure_gain * pressure) * (1 + quality_gain * (1 - quality))` with
    `pressure = max(0, occupancy - knee) / (1 - knee)`.
    """

    base: float = _number(0, "b_r", "tokens", "field record 000: 700 tokens before each rewrite")
    pressure_gain: float = _number(0, "g_p", "1", "field record 000: most rationale near full")
    quality_gain: float = _number(0, "g_q", "1", "field record 000: worse decisions, longer rationales")
    knee: float = _number(0.9, "k", "share of the window", "assumption: pressure starts at the trigger")

    def tokens(self, occupancy: float, quality: float) -> int:
        """Return the tokens of a rationale that no cap truncates.

        >>> RationaleLaw(base=700, pressure_gain=0.25, quality_gain=0.25, knee=0.9).tokens(0.98, 1.0)
        840
        """
        pressure = max(0.0, occupancy - self.knee) / (1 - self.knee) if self.knee < 1 else 0.0
        grown = self.base * (1 + self.pressure_gain * pressure) * (1 + self.quality_gain * (1 - quality))
        return round(grown)


@dataclass(frozen=True, slots=True)
class QualityLaw:
    """How good the policy's decisions are: what it has eaten of its own records, and brevity.

    Quality is `record_factor` to the power of the own records ever summarised; a record that is
    retired whole does not lower it. A rationale cut short by a cap lowers the quality of that one
    decision by `cap_cost` times the share that was cut.
    """

    record_factor: float = _number(1, "f_q", "1", "field record 000: eating own records degrades decisions")
    cap_cost: float = _number(0, "c_c", "1", "assumption: brevity is not free")
    error_gain: float = _number(0, "g_e", "1", "field record 000: degraded decisions; spread of estimates")

    def lasting(self, records_summarised: int) -> float:
        """Return the decision quality after that many own records were summarised.

        >>> QualityLaw(record_factor=0.5).lasting(2)
        0.25
        """
        return float(self.record_factor**records_summarised)

    def of_one_decision(self, lasting: float, wanted: int, written: int) -> float:
        """Return the quality of a decision whose rationale was cut from `wanted` to `written`.

        >>> QualityLaw(cap_cost=0.2).of_one_decision(1.0, 700, 350)
        0.9
        """
        cut = 1 - written / wanted if wanted > written else 0.0
        return lasting * (1 - self.cap_cost * cut)

    def estimate_factor(self, quality: float, normal: float) -> float:
        """Return believed over intended saving: lognormal, spread growing as quality falls."""
        spread = self.error_gain * (1 - quality)
        return math.exp(spread * normal) if spread else 1.0


@dataclass(frozen=True, slots=True)
class SummaryLaw:
    """How large a summary comes out: `clip(ratio * source, floor, cap)`.

    A further pass raises the ratio by `ratio_per_pass` toward 1. An item that does not compress has
    `incompressible_ratio` instead, and shows it only in its summary.
    """

    ratio: float = _number(1, "rho", "1", "measured: what remains after compaction, 0.26-0.40 (traces)")
    ratio_spread: float = _number(0, "s_rho", "1", "assumption: normal spread of the ratio")
    ratio_per_pass: float = _number(0, "d_rho", "1 a pass", "assumption: a summary compresses less again")
    floor: int = _count(0, "n_min", "tokens", "assumption: no summary is shorter")
    cap: int | None = _count(None, "n_max", "tokens", "output limit of the summariser")
    incompressible_ratio: float = _number(1, "rho_i", "1", "assumption: dense text stays as long as it is")

    def share(self, passes: int, *, normal: float = 0.0, compressible: bool = True) -> float:
        """Return what is left of a source that was summarised `passes` times before, 0 to 1.

        >>> SummaryLaw(ratio=0.3, ratio_per_pass=0.45).share(1)
        0.75
        """
        if not compressible:
            return self.incompressible_ratio
        ratio = self.ratio + self.ratio_per_pass * passes + self.ratio_spread * normal
        return min(max(ratio, 0.0), 1.0)

    def tokens(self, left: float, cap: int | None = None) -> int:
        """Return the size of a summary that keeps `left` tokens of its sources, within the limits.

        `cap` is what the policy asks for; the smaller of both caps holds. A floor may lift a
        summary above its source.

        >>> SummaryLaw(floor=96).tokens(71.4)
        96
        """
        limits = [limit for limit in (self.cap, cap) if limit is not None]
        return max(self.floor, min([round(left), *limits]))


@dataclass(frozen=True, slots=True)
class MeasurementLaw:
    """What confirming the new count writes into the window, and how long it takes.

    A full recount writes `round(share * (before + rationale - freed))` tokens, or the constant
    `full_tokens` where that is set; a confirmation by deltas writes `delta_tokens`.
    """

    share: float = _number(0, "m", "share of the new count", "field record 000: 1,100 tokens near 22,000")
    full_tokens: int | None = _count(None, "M", "tokens", "field record 000: 1,100 tokens a recount")
    delta_tokens: int = _count(0, "m_d", "tokens", "assumption: one line confirms a running count")
    seconds_per_token: float = _number(0, "t_m", "s/token", "tokenizers read 1-50 MB/s (traces, section 4)")

    def full(self, count: int) -> int:
        """Return the trace of a full recount of `count` tokens.

        >>> MeasurementLaw(share=0.05).full(22000)
        1100
        """
        return self.full_tokens if self.full_tokens is not None else round(self.share * count)


@dataclass(frozen=True, slots=True)
class Laws:
    """All laws of one scenario."""

    rationale: RationaleLaw = field(default_factory=RationaleLaw)
    quality: QualityLaw = field(default_factory=QualityLaw)
    summary: SummaryLaw = field(default_factory=SummaryLaw)
    measurement: MeasurementLaw = field(default_factory=MeasurementLaw)
