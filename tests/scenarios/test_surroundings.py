"""Tables of laws, tags, fleets, premises and topics: what they build, and each unknown or double name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios import load_scenario
from scenarios.tables import BindingTable, CoherenceTable, EvidenceTable, LawsTable
from simulator import InputError
from simulator.instructions import InstructionSpec, Topic
from simulator.laws import BindingLaw, CoherenceLaw, EvidenceLaw, Laws
from simulator.setting import FleetSpec
from simulator.tagging import TagQuality, TagSpec

pytestmark = pytest.mark.unit

PLAIN = """\
[window]
tokens = 1_000

[workload]
kind = "synthetic"
"""
NAMED = """
topics = ["schema", "tools"]
topic_share = 0.5

[[premise]]
name = "schema-version"
at = [30]

[[premise]]
name = "task-phase"
mean_interval = 12

[[topic]]
name = "schema"
premises = ["schema-version"]

[[topic]]
name = "tools"
premises = ["schema-version", "task-phase"]
given = true

[instructions]
phase = "task-phase"
validator = true
"""

Writer = Callable[[str], Path]


def fault_of(path: Path) -> str:
    """The line that a file is refused with as soon as it is read; it names the file."""
    with pytest.raises(InputError) as caught:
        load_scenario(str(path))
    line = str(caught.value)
    assert line.startswith(str(path))
    assert "\n" not in line
    return line


# ------------------------------------------------------------------------------------ laws


def test_laws_left_out_are_the_laws_of_the_model() -> None:
    assert LawsTable().built() == Laws()


@pytest.mark.parametrize(
    ("table", "law"),
    [(EvidenceTable, EvidenceLaw), (CoherenceTable, CoherenceLaw), (BindingTable, BindingLaw)],
)
def test_a_table_has_each_parameter_of_its_law(table: type[EvidenceTable], law: type[EvidenceLaw]) -> None:
    assert list(table.model_fields) == [field.name for field in dataclasses.fields(law)]


def test_laws_of_a_file(written: Writer) -> None:
    tables = (
        "\n[laws.evidence]\nretention = 0.4\nshock = 0.5\n[laws.coherence]\nretry_tokens = 340\n"
        "[laws.binding]\nmidpoint = 6.5\nkept_at_change = 0.1\n"
    )
    laws = load_scenario(str(written(PLAIN + tables))).setting().laws
    assert laws.evidence == EvidenceLaw(retention=0.4, shock=0.5)
    assert laws.coherence.recovery(950) == (340, 610)  # field record 003
    assert laws.binding == BindingLaw(midpoint=6.5, kept_at_change=0.1)
    assert load_scenario(str(written(PLAIN))).setting().laws.binding.midpoint == math.inf


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("evidence", "retention = 1.1"),
        ("evidence", "force = -0.1"),
        ("evidence", "shock = 2"),
        ("evidence", "caveats = 1.5"),
        ("coherence", "retry_tokens = -1"),
        ("coherence", "drop_share = 1.5"),
        ("coherence", "broken_weight = -1"),
        ("binding", "obey = 1.5"),
        ("binding", "kept_at_change = -1"),
        ("binding", "decay = -0.1"),
        ("binding", "urgency = -1"),
        ("binding", "narrative = inf"),
        ("binding", "same_turn = nan"),
        ("binding", "midpoint = 0"),
        ("binding", "power = 1.2"),
        ("binding", "tokens = 1.5"),
        ("binding", "forge_share = 7"),
    ],
)
def test_faults_of_laws(written: Writer, table: str, line: str) -> None:
    key = line.split(" = ", maxsplit=1)[0]
    assert f"laws.{table}.{key}" in fault_of(written(f"{PLAIN}\n[laws.{table}]\n{line}\n"))


# ------------------------------------------------------------------------------------ tags and fleets


def test_tags_and_fleets_of_a_file(written: Writer) -> None:
    tags = "\n[tags.constraint]\nrecall = 0.5\n[tags.needed]\nprecision = 0.8\n"
    tables = f"{tags}[fleet]\nagents = 8\nblocks = true\n"
    setting = load_scenario(str(written(PLAIN + tables))).setting()
    assert setting.tags == TagSpec(TagQuality(recall=0.5), TagQuality(), TagQuality(precision=0.8))
    assert setting.fleet == FleetSpec(8, blocks=True)
    plain = load_scenario(str(written(PLAIN))).setting()
    assert (plain.tags, plain.fleet, plain.supervisor.act) == (TagSpec(), FleetSpec(), "oldest")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("[tags.constraint]\nrecall = 1.1", "tags.constraint.recall"),
        (
            "[tags.closed]\nprecision = 0.49",
            "tags.closed.precision: Input should be greater than or equal to 0.5",
        ),
        ("[tags.needd]\nrecall = 1", "tags.needd: unknown key"),
        ("[fleet]\nagents = 0", "fleet.agents"),
        ("[fleet]\nblocks = 1", "fleet.blocks"),
        ('[supervisor]\nact = "spar"', "supervisor.act: unknown value 'spar'; expected one of oldest, spare"),
    ],
)
def test_faults_of_tags_and_fleets(written: Writer, lines: str, told: str) -> None:
    assert told in fault_of(written(f"{PLAIN}\n{lines}\n"))


# ------------------------------------------------------------------------------------ premises and topics


def test_instructions_of_a_file(written: Writer) -> None:
    setting = load_scenario(str(written(PLAIN + NAMED))).setting()
    assert setting.instructions == InstructionSpec(
        (Topic("schema", ("schema-version",)), Topic("tools", ("schema-version", "task-phase"), given=True)),
        phase="task-phase",
        validator=True,
    )
    assert load_scenario(str(written(PLAIN))).setting().instructions == InstructionSpec()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            '"schema-version"]',
            '"schema-versoin"]',
            "topic.0.premises: unknown premise 'schema-versoin'; expected one of schema-version, task-phase; "
            "did you mean 'schema-version'?",
        ),
        (
            'phase = "task-phase"',
            'phase = "task-fase"',
            "instructions.phase: unknown premise 'task-fase'; expected one of schema-version, task-phase; "
            "did you mean 'task-phase'?",
        ),
        (
            'name = "tools"',
            'name = "schema"',
            "topic.1.name: topic 'schema' stands twice; expected each once",
        ),
        (
            'name = "task-phase"',
            'name = "schema-version"',
            "premise.1.name: premise 'schema-version' stands twice",
        ),
        (
            '"schema", "tools"]',
            '"shema", "tools"]',
            "workload.topics: unknown topic 'shema'; expected one of schema",
        ),
        ('"schema", "tools"]', '"shema", "tools"]', "did you mean 'schema'?"),
        ('"schema", "tools"]', '"schema", "schema"]', "topic 'schema' stands twice"),
        ('["schema", "tools"]', "[]", "topic_share 0.5 needs topics"),
        ('name = "tools"', 'name = ""', "topic.1.name"),
        ("given = true", "givn = true", "topic.1.givn: unknown key"),
        ("validator = true", "validator = 1", "instructions.validator"),
    ],
)
def test_faults_of_names(written: Writer, before: str, after: str, told: str) -> None:
    assert before in NAMED
    assert told in fault_of(written(PLAIN + NAMED.replace(before, after, 1)))


def test_a_name_where_nothing_is_defined(written: Writer) -> None:
    told = fault_of(written(f'{PLAIN}\n[instructions]\nphase = "task-phase"\n'))
    assert told.endswith("unknown premise 'task-phase'; expected a [[premise]] that defines it")


@pytest.mark.parametrize(
    "line",
    [
        "constraint_share = 1.1",
        "constraint_turns = 0",
        "constraint_mean = 0",
        "constraint_sigma = -1",
        "constraint_doubt = 2",
        "governed_share = -0.1",
        "doubt_share = 1.5",
        "doubt_part = -1",
        "lean_share = 3",
        "touched_share = 1.1",
        "touch_lag = -1",
        "rederive = -1",
        "topic_share = 1.01",
    ],
)
def test_faults_of_random_workloads(written: Writer, line: str) -> None:
    assert f"workload.{line.split(' = ', maxsplit=1)[0]}" in fault_of(written(PLAIN + line + "\n"))
