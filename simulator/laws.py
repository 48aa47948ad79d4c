"""Every law of the model as a pure function with a frozen parameter class.

Numbers in, numbers out; no state, no draw. Each parameter carries its symbol, unit, neutral
default and source, from which `docs/model.md` is made. The figures of a documented case stand in
its scenario file, never here: the defaults switch a law off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

from simulator.contracts import parameter as _parameter
from simulator.errors import InputError


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


FARTHEST = 20.0
"""Logarithm of the factor beyond which no estimate goes astray."""


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
        return math.exp(max(-FARTHEST, min(FARTHEST, spread * normal))) if spread else 1.0


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


class Answer(StrEnum):
    """What a model gives back when it is asked for a summary."""

    WHOLE = "whole"
    TRUNCATED = "truncated"
    INFLATED = "inflated"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class AnswerLaw:
    """How often a model's answer is no sound summary: empty, cut short, or longer than its source."""

    empty_share: float = _number(
        0, "p_e", "share of answers", "field report S06: an empty answer is a success"
    )
    truncated_share: float = _number(0, "p_t", "share of answers", "field report S13: length-stopped answers")
    truncated_part: float = _number(0.5, "tau", "1", "assumption: the part that a cut answer has told")
    inflated_share: float = _number(
        0, "p_l", "share of answers", "field reports S21 and S24: larger summaries"
    )
    inflated_ratio: float = _number(1, "rho_l", "1", "field reports S21, S24: over its source")

    def __post_init__(self) -> None:
        shares = self.empty_share + self.truncated_share + self.inflated_share
        if shares > 1:
            raise InputError(
                f"the shares of answers add up to {shares:g}", where="laws.answer", expected="at most 1"
            )

    @property
    def may_err(self) -> bool:
        """Whether an answer can be anything but whole."""
        return self.empty_share + self.truncated_share + self.inflated_share > 0

    def answer(self, uniform: float) -> Answer:
        """Return the kind of one answer.

        >>> AnswerLaw(empty_share=0.1, truncated_share=0.2).answer(0.15)
        <Answer.TRUNCATED: 'truncated'>
        """
        for share, kind in (
            (self.empty_share, Answer.NOTHING),
            (self.truncated_share, Answer.TRUNCATED),
            (self.inflated_share, Answer.INFLATED),
        ):
            if uniform < share:
                return kind
            uniform -= share
        return Answer.WHOLE


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
class EvidenceLaw:
    """What a summary keeps of the evidence and the force of its sources, and how sure it sounds.

    Each item survives a pass with probability `retention`, and what survives as text keeps its force
    with probability `force`. Losses of one rewrite come together: item i is lost where
    `sqrt(shock) * Z + sqrt(1 - shock) * e_i` exceeds the normal quantile of the retention, `Z` drawn
    once a rewrite and `e_i` once an item and pass (one-factor Gaussian copula).
    """

    retention: float = _number(1, "q_e", "1 a pass", "one compaction loses 60% of facts (arXiv 2603.17781)")
    force: float = _number(1, "q_f", "1 a pass", "Lost in Compaction: keywords survive 59-93%, recall 0-18%")
    shock: float = _number(0, "r_e", "1", "assumption: losses of one rewrite come all at once")
    caveats: float = _number(1, "q_d", "share of doubt", "field record 002: a rewrite drops caveats")

    def survives(self, shared: float, own: float, *, forceful: bool = False) -> bool:
        """Whether an item survives a pass, given the rewrite's normal draw and the item's own.

        >>> EvidenceLaw(retention=0.5).survives(0.0, 0.1)
        False
        """
        kept = self.force if forceful else self.retention
        if kept >= 1:
            return True
        mixed = math.sqrt(self.shock) * shared + math.sqrt(1 - self.shock) * own
        return 0.5 * math.erfc(-mixed / math.sqrt(2)) < kept

    def doubt(self, doubtful: float, read: int, written: int) -> int:
        """Return the tokens in doubt of a summary of `written` tokens, from `doubtful` of `read` tokens.

        >>> EvidenceLaw(caveats=0.5).doubt(30, 300, 100)
        5
        """
        return round(self.caveats * written * doubtful / read) if read else 0


@dataclass(frozen=True, slots=True)
class CoherenceLaw:
    """What a step pays that leans on something no longer there.

    With probability `drop_share` the reference is silently dropped and stays broken. Else the step
    is tried again in vain (`retry_tokens`), and what is missing is reconstructed, together the
    `rederive` tokens of the missing span. The coherence cost of a context counts each live reference
    that holds as one check, and each broken one as `broken_weight`.
    """

    retry_tokens: int = _count(0, "n_r", "tokens", "field record 003: 340 tokens on a redundant retry")
    drop_share: float = _number(0, "p_s", "1", "field record 003: or silently drop the reference")
    broken_weight: float = _number(2, "w_b", "checks", "assumption: deriving again is dearer than checking")

    def recovery(self, rederive: int) -> tuple[int, int]:
        """Return the tokens of the retry and of the reconstruction.

        >>> CoherenceLaw(retry_tokens=340).recovery(950)
        (340, 610)
        """
        retry = min(self.retry_tokens, rederive)
        return retry, rederive - retry

    def cost(self, holding: int, broken: int) -> float:
        """Return the coherence cost in checks.

        >>> CoherenceLaw(broken_weight=3).cost(4, 2)
        10.0
        """
        return holding + float(self.broken_weight * broken)


@dataclass(frozen=True, slots=True)
class BindingLaw:
    """Whether an instruction is quoted, and whether it is obeyed: two things, moved by different causes.

    A self-written instruction has authority `kept_at_change ** (p * changes) * exp(-decay * p * age)`:
    `changes` counts versions of the premises it names that came since it was last derived, `age`
    turns since then, and `p` is the product of the factors of urgency, narrative wording and
    writing in the turn of the failure, divided by `1 + rederived_gain` for each derivation. One from
    outside keeps authority 1. Newer, narrower instructions shadow an older, broader one of their
    topic: logistic in the number of all active ones, or, under the alternative law, each of n is
    obeyed with `power ** n`.
    """

    tokens: int = _count(0, "n_i", "tokens", "assumption: an instruction is a line or two")
    obey: float = _number(1, "o_b", "1", "field record 004: the agent complies until a premise changes")
    quote: float = _number(1, "p_q", "1", "field record 004: quoted verbatim in the turn of the violation")
    kept_at_change: float = _number(1, "a_c", "1 a change", "field record 004: demoted from law to lore")
    decay: float = _number(0, "d_b", "1 a turn", "Multi-IF: x0.90 a turn; drift within 8 rounds (2402.10962)")
    urgency: float = _number(1, "f_u", "1", "field record 004: urgency amplifies the decay")
    narrative: float = _number(1, "f_n", "1", "field record 004: narrative wording amplifies the decay")
    same_turn: float = _number(1, "f_s", "1", "field record 004: writing in the failure's turn amplifies it")
    urgent_share: float = _number(0, "s_u", "share of failures", "assumption")
    narrative_share: float = _number(0, "s_n", "share of instructions", "assumption")
    rederived_gain: float = _number(
        1, "g_d", "1 a derivation", "field record 004: validated against two epochs"
    )
    midpoint: float = _number(math.inf, "n_h", "instructions", "field record 004: shadowing after about 5-7")
    steepness: float = _number(1, "k_h", "1 an instruction", "assumption; ManyIFEval (2509.21051): logistic")
    power: float = _number(1, "p_n", "1", "Curse of Instructions: p 0.83-0.95 (OpenReview R6q67CDBCH)")
    salience_gain: float = _number(0, "g_s", "1", "field record 004: repetition and emphasis move salience")
    failure_share: float = _number(0, "p_x", "1", "assumption: an uninstructed step fails this often")
    rederive_tokens: int = _count(0, "n_d", "tokens", "assumption: checking an instruction again")
    forge_share: float = _number(0, "p_g", "1", "field record 004: a fingerprint that the agent can forge")

    def pace(self, *, urgent: bool, narrative: bool, same_turn: bool, derivations: int) -> float:
        """Return the factor p by which authority decays faster or slower.

        >>> BindingLaw(urgency=2).pace(urgent=True, narrative=False, same_turn=False, derivations=1)
        1.0
        """
        factor = 1.0
        for factor_of, holds in (
            (self.urgency, urgent),
            (self.narrative, narrative),
            (self.same_turn, same_turn),
        ):
            factor *= factor_of if holds else 1.0
        return factor / (1 + self.rederived_gain * derivations)

    def authority(self, pace: float, changes: int, age: int) -> float:
        """Return the share of its force that a self-written instruction still has.

        >>> BindingLaw(kept_at_change=0.1).authority(1.0, 1, 5)
        0.1
        """
        if not changes and not self.decay:
            return 1.0
        return float(self.kept_at_change ** (pace * changes)) * math.exp(-self.decay * pace * age)

    def shadowed(self, active: int) -> float:
        """Return the probability that an older, broader instruction gives way, `active` being in force.

        >>> round(BindingLaw(midpoint=6.5).shadowed(7), 3)
        0.622
        """
        if self.midpoint == math.inf:
            return 0.0
        return 0.5 * (1 + math.tanh(self.steepness * (active - self.midpoint) / 2))

    def quoted(self, *, raised: bool) -> float:
        """Return the probability that an instruction in the window is quoted; `raised` by a placebo.

        >>> BindingLaw(quote=0.9, salience_gain=0.5).quoted(raised=True)
        0.95
        """
        return self.quote + (1 - self.quote) * self.salience_gain if raised else self.quote


@dataclass(frozen=True, slots=True)
class Laws:
    """All laws of one scenario."""

    rationale: RationaleLaw = field(default_factory=RationaleLaw)
    quality: QualityLaw = field(default_factory=QualityLaw)
    summary: SummaryLaw = field(default_factory=SummaryLaw)
    measurement: MeasurementLaw = field(default_factory=MeasurementLaw)
    evidence: EvidenceLaw = field(default_factory=EvidenceLaw)
    coherence: CoherenceLaw = field(default_factory=CoherenceLaw)
    binding: BindingLaw = field(default_factory=BindingLaw)
    answer: AnswerLaw = field(default_factory=AnswerLaw)
