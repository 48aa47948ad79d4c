"""The schema of a scenario file, and how it becomes a `Setting`.

The scenario owns what happens to the agent and what a model does when asked; what is asked for is
the policy's. A figure of a documented case stands here, with its source beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios.expectation import Expectation
from scenarios.prices import priced
from scenarios.recorded_tables import RecordedTable
from scenarios.surroundings import (
    FleetTable,
    InstructionsTable,
    PremiseTable,
    RuntimeTable,
    SupervisorTable,
    TagsTable,
    TopicTable,
)
from scenarios.tables import LawsTable, ProviderTable
from scenarios.workload_tables import ReferenceTable, ScriptedTable, SyntheticTable
from simulator.catalogue import names, overridden, read_entry, validated
from simulator.errors import InputError, nearest_name
from simulator.schema import Table, Tokens
from simulator.setting import Setting
from simulator.world import WorldSpec

CATALOGUE = Path(__file__).parent / "catalogue"

Figure = Literal["occupancy", "nets", "ledgers", "cost", "switches", "confidence", "compliance"]
"""Pictures that `reproduce` can draw of a scenario."""


class WindowTable(Table):
    """The model's window, tokens."""

    tokens: Annotated[int, Field(ge=1, le=10**9)]
    output_reserve: Tokens = 0
    head: Tokens = 0
    switches: tuple[
        tuple[Annotated[int, Field(ge=1, le=10**6)], Annotated[int, Field(ge=1, le=10**9)]], ...
    ] = ()


class RunTable(Table):
    """How long, how often, from which root seed, and for which policies."""

    horizon: Annotated[int, Field(ge=1, le=10**6)] = 200
    replications: Annotated[int, Field(ge=1, le=10**5)] = 1
    seed: Annotated[int, Field(ge=0)] = 20261113
    policies: tuple[str, ...] = ()


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
    workload: Annotated[
        ScriptedTable | SyntheticTable | ReferenceTable | RecordedTable, Field(discriminator="kind")
    ]
    laws: LawsTable = LawsTable()
    prices: str | None = None
    provider: ProviderTable = ProviderTable()
    supervisor: SupervisorTable = SupervisorTable()
    fleet: FleetTable = FleetTable()
    runtime: RuntimeTable = RuntimeTable()
    tags: TagsTable = TagsTable()
    premise: tuple[PremiseTable, ...] = ()
    premises_clock: Literal["turns", "seconds"] = "turns"
    topic: tuple[TopicTable, ...] = ()
    instructions: InstructionsTable = InstructionsTable()
    expect: tuple[Expectation, ...] = ()
    box: tuple[str, ...] = ()
    box_half_width: Annotated[float, Field(gt=0, lt=1)] = 0.2

    @model_validator(mode="after")
    def _names_once(self) -> ScenarioFile:
        for kind, entries in (("premise", self.premise), ("topic", self.topic)):
            given = [entry.name for entry in entries]
            for place, name in enumerate(given):
                if name in given[:place]:
                    where = f"{kind}.{place}.name"
                    raise _fault(f"{kind} {name!r} stands twice", where, "each once")
        return self

    @model_validator(mode="after")
    def _names_defined(self) -> ScenarioFile:
        premises = [premise.name for premise in self.premise]
        for place, topic in enumerate(self.topic):
            for name in topic.premises:
                _require_defined("premise", name, premises, f"topic.{place}.premises")
        if self.instructions.phase is not None:
            _require_defined("premise", self.instructions.phase, premises, "instructions.phase")
        topics = [topic.name for topic in self.topic]
        for at, name in self.workload.named_topics():
            _require_defined("topic", name, topics, f"workload.{at}")
        return self


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
            workload=file.workload.workload(self.path),
            laws=file.laws.built(),
            provider=file.provider.built(),
            supervisor=file.supervisor.built(),
            world=WorldSpec(
                tuple(premise.built() for premise in file.premise),
                file.premises_clock,
                window.switches,
            ),
            instructions=file.instructions.built(file.topic),
            tags=file.tags.built(),
            fleet=file.fleet.built(),
            runtime=file.runtime.built(),
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
        "scenario",
        reference,
        CATALOGUE,
        not_inherited=("summary", "source", "expect", "box", "switched"),
        told_apart=("workload",),
    )
    data = dict(entry.data)
    if entry.base is not None:
        data.setdefault("draws", entry.base)
    data = overridden(data, overrides or {})
    where = f"{entry.path} with overrides" if overrides else str(entry.path)
    data = priced(data, where, entry.path.parent)
    return Scenario(entry.name, entry.path, validated(ScenarioFile, data, where))


def _require_defined(kind: str, name: str, valid: Sequence[str], where: str) -> None:
    """Raise ValueError where no table of the file defines what is named."""
    if name not in valid:
        expected = f"one of {', '.join(valid)}" if valid else f"a [[{kind}]] that defines it"
        raise _fault(f"unknown {kind} {name!r}", where, expected, nearest_name(name, valid))


def _fault(what: str, where: str, expected: str, nearest: str = "") -> ValueError:
    """Return a fault of the file for its schema to report, in the words of an `InputError`."""
    return ValueError(str(InputError(what, where=where, expected=expected, nearest=nearest)))
