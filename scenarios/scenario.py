"""The schema of a scenario file, and how it becomes a `Setting`.

The scenario owns what happens to the agent and what a model does when asked; what is asked for is
the policy's. A figure of a documented case stands here, with its source beside it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from scenarios.expectation import Expectation
from scenarios.workloads.scripted import Row, ScriptedWorkload
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.catalogue import names, overridden, read_entry, read_text, validated
from simulator.contracts import InputError, Workload
from simulator.laws import Laws, MeasurementLaw, QualityLaw, RationaleLaw, SummaryLaw
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.spans import Kind
from simulator.supervisor import SupervisorSpec
from simulator.world import PremiseSpec, WorldSpec

CATALOGUE = Path(__file__).parent / "catalogue"

Figure = Literal["occupancy", "nets", "ledgers", "cost", "switches"]
"""Pictures that `reproduce` can draw of a scenario."""

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Amount = Annotated[float, Field(ge=0)]
Tokens = Annotated[int, Field(ge=0, le=10**9)]
Turns = Annotated[int, Field(ge=0, le=10**6)]

MOST_SCRIPT_ROWS = 50
"""Rows that may stand in the scenario file; longer scripts are a CSV beside it."""


class Table(BaseModel):
    """A table of a scenario file: no unknown key, no infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class WindowTable(Table):
    """The model's window, tokens."""

    tokens: Annotated[int, Field(ge=1, le=10**9)]
    output_reserve: Tokens = 0
    head: Tokens = 0
    switches: list[Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)]] = []


class RunTable(Table):
    """How long, how often, from which root seed, and for which policies."""

    horizon: Annotated[int, Field(ge=1, le=10**6)] = 200
    replications: Annotated[int, Field(ge=1, le=10**5)] = 1
    seed: Annotated[int, Field(ge=0)] = 20261113
    policies: list[str] = []


class ScriptRow(Table):
    """One row of a script: what comes at which turn."""

    at: Turns
    kind: Literal[Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_RESULT]
    tokens: Annotated[int, Field(ge=1, le=10**9)]
    until: Turns | None = None
    subgoal: Tokens | None = None
    pair: Tokens | None = None
    needed: bool = False
    compressible: bool = True

    @model_validator(mode="after")
    def _forward(self) -> ScriptRow:
        if self.until is not None and (self.until < self.at or self.at == 0):
            raise ValueError(f"until {self.until} needs at between 1 and it")
        return self

    def row(self) -> Row:
        """Return the row as the workload takes it."""
        until = self.at if self.until is None else self.until
        return Row(
            self.at, self.kind, self.tokens, until, self.subgoal, self.pair, self.needed, self.compressible
        )


class ScriptedTable(Table):
    """A workload of rows, in the file or in a CSV beside it."""

    kind: Literal["scripted"]
    rows: Annotated[list[ScriptRow], Field(max_length=MOST_SCRIPT_ROWS)] = []
    csv: str | None = None
    closes: list[Annotated[list[Turns], Field(min_length=2, max_length=2)]] = []
    turn_seconds: Amount = 0.0

    def workload(self, folder: Path) -> Workload:
        """Return the workload; the CSV is looked for in `folder`."""
        rows = [row.row() for row in self.rows]
        if self.csv is not None:
            rows += [row.row() for row in _csv_rows(folder / self.csv)]
        closes = tuple((turn, subgoal) for turn, subgoal in self.closes)
        return ScriptedWorkload(tuple(rows), closes, self.turn_seconds)


class SyntheticTable(Table):
    """A workload of random turns; see `SyntheticWorkload` for each key."""

    kind: Literal["synthetic"]
    results_per_turn: Annotated[int, Field(ge=0, le=1000)] = 1
    result_mean: Positive = 175.0
    result_sigma: Annotated[float, Field(ge=0, le=5)] = 0.8
    result_cut: Annotated[int, Field(ge=1)] | None = None
    reply_low: Tokens = 0
    reply_high: Tokens = 0
    subgoal_low: Turns = 0
    subgoal_high: Turns = 0
    cited_share: Share = 0.0
    citation_lag: Amount = 15.0
    incompressible_share: Share = 0.0
    turn_seconds: Amount = 0.0
    turns: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> SyntheticTable:
        for low, high in ((self.reply_low, self.reply_high), (self.subgoal_low, self.subgoal_high)):
            if low > high:
                raise ValueError(f"low {low} is above high {high}")
        return self

    def workload(self, folder: Path) -> Workload:
        """Return the workload."""
        values = self.model_dump(exclude={"kind", "turns"})
        return SyntheticWorkload(**values, turns_limit=self.turns)


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

    ratio: Share = 0.3
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


class SupervisorTable(Table):
    """Parameters of `SupervisorSpec`."""

    capacity: Annotated[int, Field(ge=0, le=10**4)] = 1
    service_seconds: Amount = 0.0
    constant: bool = True
    evict_tokens: Tokens = 0


class PremiseTable(Table):
    """One premise: scripted times, or renewals."""

    name: Annotated[str, Field(min_length=1)]
    at: list[Amount] = []
    mean_interval: Positive | None = None
    constant: bool = False

    @model_validator(mode="after")
    def _one_clockwork(self) -> PremiseTable:
        if self.at and self.mean_interval is not None:
            raise ValueError("needs one of at and mean_interval, not both")
        return self


class ScenarioFile(Table):
    """One scenario."""

    summary: str = ""
    source: str = ""
    figures: list[Figure] = ["occupancy"]
    documented_band: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    switched: str | None = None
    draws: str | None = None
    charged_to: Literal["window", "separate"] = "window"
    window: WindowTable
    run: RunTable = RunTable()
    workload: Annotated[ScriptedTable | SyntheticTable, Field(discriminator="kind")]
    laws: LawsTable = LawsTable()
    provider: ProviderTable = ProviderTable()
    supervisor: SupervisorTable = SupervisorTable()
    premise: list[PremiseTable] = []
    premises_clock: Literal["turns", "seconds"] = "turns"
    expect: list[Expectation] = []
    box: list[str] = []
    box_half_width: Annotated[float, Field(gt=0, lt=1)] = 0.2


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario, read and checked.

    Attributes
    ----------
    name : as in the catalogue.
    path : where its file lies; None for a replay.
    file : the checked contents.
    """

    name: str
    path: Path
    file: ScenarioFile

    def setting(self) -> Setting:
        """Return the frozen input of `simulate`."""
        file = self.file
        window = file.window
        return Setting(
            name=self.name,
            draws=file.draws or self.name,
            window=window.tokens,
            output_reserve=window.output_reserve,
            head=window.head,
            horizon=file.run.horizon,
            workload=file.workload.workload(self.path.parent),
            laws=file.laws.built(),
            provider=ProviderSpec(**file.provider.model_dump()),
            supervisor=SupervisorSpec(**file.supervisor.model_dump()),
            world=WorldSpec(
                tuple(
                    PremiseSpec(premise.name, tuple(premise.at), premise.mean_interval, premise.constant)
                    for premise in file.premise
                ),
                file.premises_clock,
                tuple((turn, tokens) for turn, tokens in window.switches),
            ),
            charged_to=file.charged_to,
        )


def scenario_names() -> list[str]:
    """Return the names in the catalogue, sorted."""
    return names(CATALOGUE)


def load_scenario(reference: str, overrides: Mapping[str, object] | None = None) -> Scenario:
    """Return a scenario by name or path.

    Parameters
    ----------
    reference : str
        A name of the catalogue, or the path of a TOML file.
    overrides : mapping, optional
        Values by dotted path, laid over the file's data.

    Raises
    ------
    InputError
        There is no such scenario, or something in it is wrong.

    >>> load_scenario("rewrite-budget-exact").setting().window
    24000
    """
    entry = read_entry(
        "scenario", reference, CATALOGUE, not_inherited=("summary", "source", "expect", "box", "switched")
    )
    data = dict(entry.data)
    if entry.base is not None:
        data.setdefault("draws", entry.base)
    data = overridden(data, overrides or {})
    where = f"{entry.path} with overrides" if overrides else str(entry.path)
    return Scenario(entry.name, entry.path, validated(ScenarioFile, data, where))


def _csv_rows(path: Path) -> list[ScriptRow]:
    """Return the rows of a script that stands beside its scenario."""
    text = read_text(path, "a CSV script").removeprefix("\ufeff")
    rows = []
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for number, line in enumerate(reader, 1):
            where = f"{path}: row {number}"
            if None in line:
                raise InputError("has more cells than the header", where=where)
            cells = {key: _csv_value(value) for key, value in line.items() if value}
            rows.append(validated(ScriptRow, cells, where))
    except csv.Error as fault:
        raise InputError(f"not CSV: {fault}", where=f"{path}: row {len(rows) + 1}") from None
    return rows


def _csv_value(text: str) -> object:
    """Return a cell as a number or a truth value where it reads as one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text
