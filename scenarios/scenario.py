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

from pydantic import Field, model_validator

from scenarios.expectation import Expectation
from scenarios.tables import LawsTable, PremiseTable, ProviderTable, SupervisorTable
from scenarios.workloads.scripted import Row, ScriptedWorkload
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.catalogue import names, overridden, read_entry, read_text, validated
from simulator.contracts import Workload
from simulator.errors import InputError
from simulator.schema import Amount, Positive, Share, Table, Tokens, Turns
from simulator.setting import Setting
from simulator.spans import Kind
from simulator.world import WorldSpec

CATALOGUE = Path(__file__).parent / "catalogue"

Figure = Literal["occupancy", "nets", "ledgers", "cost", "switches"]
"""Pictures that `reproduce` can draw of a scenario."""

MOST_SCRIPT_ROWS = 50
"""Rows that may stand in the scenario file; longer scripts are a CSV beside it."""


class WindowTable(Table):
    """The model's window, tokens."""

    tokens: Annotated[int, Field(ge=1, le=10**9)]
    output_reserve: Tokens = 0
    head: Tokens = 0
    switches: tuple[tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], ...] = ()


class RunTable(Table):
    """How long, how often, from which root seed, and for which policies."""

    horizon: Annotated[int, Field(ge=1, le=10**6)] = 200
    replications: Annotated[int, Field(ge=1, le=10**5)] = 1
    seed: Annotated[int, Field(ge=0)] = 20261113
    policies: tuple[str, ...] = ()


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
    rows: Annotated[tuple[ScriptRow, ...], Field(max_length=MOST_SCRIPT_ROWS)] = ()
    csv: str | None = None
    closes: tuple[tuple[Turns, Turns], ...] = ()
    turn_seconds: Amount = 0.0

    def workload(self, folder: Path) -> Workload:
        """Return the workload; the CSV is looked for in `folder`."""
        rows = [row.row() for row in self.rows]
        if self.csv is not None:
            rows += [row.row() for row in _csv_rows(folder / self.csv)]
        return ScriptedWorkload(tuple(rows), self.closes, self.turn_seconds)


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


class ScenarioFile(Table):
    """One scenario."""

    summary: str = ""
    source: str = ""
    figures: tuple[Figure, ...] = ("occupancy",)
    documented_band: tuple[float, float] | None = None
    switched: str | None = None
    draws: str | None = None
    charged_to: Literal["window", "separate"] = "window"
    window: WindowTable
    run: RunTable = RunTable()
    workload: Annotated[ScriptedTable | SyntheticTable, Field(discriminator="kind")]
    laws: LawsTable = LawsTable()
    provider: ProviderTable = ProviderTable()
    supervisor: SupervisorTable = SupervisorTable()
    premise: tuple[PremiseTable, ...] = ()
    premises_clock: Literal["turns", "seconds"] = "turns"
    expect: tuple[Expectation, ...] = ()
    box: tuple[str, ...] = ()
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
            provider=file.provider.built(),
            supervisor=file.supervisor.built(),
            world=WorldSpec(
                tuple(premise.built() for premise in file.premise),
                file.premises_clock,
                window.switches,
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
