"""The tables of a scenario file that say what a model does when asked: its laws, and its provider.

Each table mirrors one parameter class of the simulator, adds the bounds that a file is held to, and
builds it. Who and what surrounds the agent stands in `surroundings`, what happens to it in
`workload_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, model_validator

from simulator.errors import InputError
from simulator.laws import (
    AnswerLaw,
    BindingLaw,
    CoherenceLaw,
    EvidenceLaw,
    Laws,
    MeasurementLaw,
    QualityLaw,
    RationaleLaw,
    SummaryLaw,
)
from simulator.prices import PriceTier, require_ascending
from simulator.provider import ProviderSpec
from simulator.schema import Amount, Positive, Share, Table, Tokens


class RationaleTable(Table):
    """Parameters of `RationaleLaw`."""

    base: Amount = 0.0
    pressure_gain: Amount = 0.0
    quality_gain: Amount = 0.0
    knee: Share = 0.9


class QualityTable(Table):
    """Parameters of `QualityLaw`."""

    record_factor: Share = 1.0
    cap_cost: Share = 0.0
    error_gain: Amount = 0.0


class SummaryTable(Table):
    """Parameters of `SummaryLaw`."""

    ratio: Share = 1.0
    ratio_spread: Amount = 0.0
    ratio_per_pass: Amount = 0.0
    floor: Tokens = 0
    cap: Annotated[int, Field(ge=1)] | None = None
    incompressible_ratio: Amount = 1.0


class ShareMeasurement(Table):
    """A full recount writes a share of the new count."""

    law: Literal["share"]
    share: Share = 0.0
    delta_tokens: Tokens = 0
    seconds_per_token: Amount = 0.0

    def built(self) -> MeasurementLaw:
        """Return the law."""
        return MeasurementLaw(self.share, None, self.delta_tokens, self.seconds_per_token)


class ConstantMeasurement(Table):
    """A full recount writes a constant."""

    law: Literal["constant"]
    full_tokens: Tokens
    delta_tokens: Tokens = 0
    seconds_per_token: Amount = 0.0

    def built(self) -> MeasurementLaw:
        """Return the law."""
        return MeasurementLaw(0.0, self.full_tokens, self.delta_tokens, self.seconds_per_token)


class EvidenceTable(Table):
    """Parameters of `EvidenceLaw`."""

    retention: Share = 1.0
    force: Share = 1.0
    shock: Share = 0.0
    caveats: Share = 1.0


class CoherenceTable(Table):
    """Parameters of `CoherenceLaw`."""

    retry_tokens: Tokens = 0
    drop_share: Share = 0.0
    broken_weight: Amount = 2.0


class BindingTable(Table):
    """Parameters of `BindingLaw`; without a midpoint nothing is shadowed by number."""

    tokens: Tokens = 0
    obey: Share = 1.0
    quote: Share = 1.0
    kept_at_change: Share = 1.0
    decay: Amount = 0.0
    urgency: Amount = 1.0
    narrative: Amount = 1.0
    same_turn: Amount = 1.0
    urgent_share: Share = 0.0
    narrative_share: Share = 0.0
    rederived_gain: Amount = 1.0
    midpoint: Positive | None = None
    steepness: Amount = 1.0
    power: Share = 1.0
    salience_gain: Share = 0.0
    failure_share: Share = 0.0
    rederive_tokens: Tokens = 0
    forge_share: Share = 0.0

    def built(self) -> BindingLaw:
        """Return the law."""
        midpoint = math.inf if self.midpoint is None else self.midpoint
        return BindingLaw(**self.model_dump(exclude={"midpoint"}), midpoint=midpoint)


class AnswerTable(Table):
    """Parameters of `AnswerLaw`."""

    empty_share: Share = 0.0
    truncated_share: Share = 0.0
    truncated_part: Share = 0.5
    inflated_share: Share = 0.0
    inflated_ratio: Positive = 1.0

    @model_validator(mode="after")
    def _shares_of_one(self) -> AnswerTable:
        if self.empty_share + self.truncated_share + self.inflated_share > 1:
            raise ValueError("empty_share, truncated_share and inflated_share are more than 1 together")
        return self


class LawsTable(Table):
    """The laws of the model; a table left out switches its law off."""

    rationale: RationaleTable = RationaleTable()
    quality: QualityTable = QualityTable()
    summary: SummaryTable = SummaryTable()
    measurement: Annotated[ShareMeasurement | ConstantMeasurement, Field(discriminator="law")] = (
        ShareMeasurement(law="share")
    )
    evidence: EvidenceTable = EvidenceTable()
    coherence: CoherenceTable = CoherenceTable()
    binding: BindingTable = BindingTable()
    answer: AnswerTable = AnswerTable()

    def built(self) -> Laws:
        """Return the laws."""
        return Laws(
            RationaleLaw(**self.rationale.model_dump()),
            QualityLaw(**self.quality.model_dump()),
            SummaryLaw(**self.summary.model_dump()),
            self.measurement.built(),
            EvidenceLaw(**self.evidence.model_dump()),
            CoherenceLaw(**self.coherence.model_dump()),
            self.binding.built(),
            AnswerLaw(**self.answer.model_dump()),
        )


class Limited(Table):
    """What holds for requests whose input, cached part included, is no longer than `up_to`."""

    up_to: Annotated[int, Field(ge=1, le=10**9)]


Tiers = TypeVar("Tiers", bound=Sequence[Limited])


def in_order(tiers: Tiers) -> Tiers:
    """Return the tiers of a file. Raises ValueError, for its schema to report, where they do not ascend."""
    try:
        require_ascending([tier.up_to for tier in tiers])
    except InputError as fault:
        raise ValueError(str(fault)) from None
    return tiers


class TierTable(Limited):
    """Parameters of `PriceTier`."""

    input_usd: Amount
    cache_read_usd: Amount
    cache_write_usd: Amount
    output_usd: Amount


class ProviderTable(Table):
    """Parameters of `ProviderSpec`."""

    overhead_seconds: Amount = 1.5
    prefill_tokens_per_second: Positive = 10_000.0
    decode_tokens_per_second: Positive = 63.0
    input_usd: Amount = 3.0
    cache_read_usd: Amount = 0.3
    cache_write_usd: Amount = 3.75
    output_usd: Amount = 15.0
    cache_seconds: Amount = 300.0
    failure_share: Share = 0.0
    cache_minimum_tokens: Tokens = 0
    cache_block_tokens: Annotated[int, Field(ge=1, le=10**9)] = 1
    tiers: Annotated[tuple[TierTable, ...], AfterValidator(in_order)] = ()

    def built(self) -> ProviderSpec:
        """Return the specification."""
        tiers = tuple(PriceTier(**tier.model_dump()) for tier in self.tiers)
        return ProviderSpec(**self.model_dump(exclude={"tiers"}), tiers=tiers)
