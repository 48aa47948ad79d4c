"""The tables of a scenario file that say what a model does when asked, and who looks after it.

Laws, provider, supervisor and premises: each table mirrors one parameter class of the simulator, adds
the bounds that a file is held to, and builds it. What happens to the agent stands in `scenario`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simulator.laws import Laws, MeasurementLaw, QualityLaw, RationaleLaw, SummaryLaw
from simulator.provider import ProviderSpec
from simulator.schema import Amount, Positive, Share, Table, Tokens
from simulator.supervisor import SupervisorSpec
from simulator.world import PremiseSpec


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


class LawsTable(Table):
    """The laws of the model; a table left out switches its law off."""

    rationale: RationaleTable = RationaleTable()
    quality: QualityTable = QualityTable()
    summary: SummaryTable = SummaryTable()
    measurement: Annotated[ShareMeasurement | ConstantMeasurement, Field(discriminator="law")] = (
        ShareMeasurement(law="share")
    )

    def built(self) -> Laws:
        """Return the laws."""
        return Laws(
            RationaleLaw(**self.rationale.model_dump()),
            QualityLaw(**self.quality.model_dump()),
            SummaryLaw(**self.summary.model_dump()),
            self.measurement.built(),
        )


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

    def built(self) -> ProviderSpec:
        """Return the specification."""
        return ProviderSpec(**self.model_dump())


class SupervisorTable(Table):
    """Parameters of `SupervisorSpec`."""

    capacity: Annotated[int, Field(ge=0, le=10**4)] = 1
    service_seconds: Amount = 0.0
    constant: bool = True
    evict_tokens: Tokens = 0

    def built(self) -> SupervisorSpec:
        """Return the specification."""
        return SupervisorSpec(**self.model_dump())


class PremiseTable(Table):
    """One premise: scripted times, or renewals."""

    name: Annotated[str, Field(min_length=1)]
    at: tuple[Amount, ...] = ()
    mean_interval: Positive | None = None
    constant: bool = False

    @model_validator(mode="after")
    def _one_clockwork(self) -> PremiseTable:
        if self.at and self.mean_interval is not None:
            raise ValueError("needs one of at and mean_interval, not both")
        return self

    def built(self) -> PremiseSpec:
        """Return the specification."""
        return PremiseSpec(self.name, self.at, self.mean_interval, self.constant)
