"""The studies of the catalogue by their own files; and files of four gates with a fault, told in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Protocol

import pytest

from experiments.experiment import Point, load_experiment
from experiments.runs import RunTask, execute
from experiments.statistics import mean_interval, paired_difference
from scenarios import load_scenario, scenario_names
from scenarios.measures import MEASURES
from simulator import Run

ONE_IN_A_THOUSAND = 0.999


class Said(Protocol):
    code: int
    out: str
    err: str


Command = Callable[..., Said]


def points_of(experiment: str) -> tuple[str, str, list[Point]]:
    """The scenario of an experiment, its policy, and its points."""
    study = load_experiment(experiment)
    return study.file.scenario, study.file.policies[0], list(study.points())


def run_at(experiment: str, point: Point, replication: int, more: dict[str, object] | None = None) -> Run:
    scenario, policy, _ = points_of(experiment)
    setting = load_scenario(scenario, {**point.of_scenario, **(more or {})}).setting()
    return execute(RunTask(setting, policy, 20_261_114, replication, point.of_policy))


def response_of(run: Run, name: str) -> float:
    found = MEASURES[name].take(run) if name in MEASURES else run.summary[name]
    assert isinstance(found, int | float)
    return found


# --------------------------------------------------------------------------- accretion (004)

TURNS = 600
"""Of one run: each is one step under every instruction that stands."""


def compliance(law: str, replications: int) -> dict[int, list[float]]:
    """Actual compliance a world, by the number of instructions."""
    _, _, points = points_of("accretion")
    return {
        int(point.labels["instructions"]): [
            response_of(run_at("accretion", point, one, {"run.horizon": TURNS}), "actual_compliance")
            for one in range(replications)
        ]
        for point in points
        if str(point.labels["law"]).startswith(law)
    }


def logistic(number: int) -> float:
    """The newest is obeyed; each of the others gives way as the logistic of all that stand says."""
    shadowed = 1 / (1 + 2.718281828459045 ** -(number - 6.5))
    return (1 + (number - 1) * (1 - shadowed)) / number


def power(number: int) -> float:
    return 0.92**number


def largest_fall(curve: list[float]) -> int:
    """The number of instructions from which on to the next compliance falls most."""
    falls = [before - after for before, after in pairwise(curve)]
    return 1 + falls.index(max(falls))


@pytest.mark.theory
@pytest.mark.parametrize(("law", "expected"), [("logistic", logistic), ("p^n", power)])
def test_compliance_is_that_of_its_law(law: str, expected: Callable[[int], float]) -> None:
    found = compliance(law, 2)
    assert sorted(found) == list(range(1, 11))
    for number, worlds in found.items():
        # a step obeys or not: four standard errors of a share, however the instructions of a step agree
        share = expected(number)
        error = (share * (1 - share) / (TURNS * len(worlds))) ** 0.5
        assert abs(mean(worlds) - share) <= 4 * error, number


@pytest.mark.theory
def test_the_logistic_law_has_its_knee_between_five_and_seven() -> None:
    """Field record 004: after about five to seven rewrites later instructions shadow earlier ones."""
    found = compliance("logistic", 3)
    assert largest_fall([logistic(number) for number in range(1, 11)]) == 6
    assert largest_fall([mean(found[number]) for number in range(1, 11)]) in (5, 6, 7)
    for one in range(3):
        assert largest_fall([found[number][one] for number in range(1, 11)]) in (5, 6, 7)


@pytest.mark.theory
def test_the_power_law_has_none() -> None:
    """Its largest fall is the first: seen at the low end of the measured range, where few worlds tell it."""
    _, _, points = points_of("accretion")
    few = [point for point in points if str(point.labels["law"]).startswith("p^n")][:3]
    low = {"laws.binding.power": 0.83, "run.horizon": TURNS}
    worlds = [
        [response_of(run_at("accretion", point, one, low), "actual_compliance") for point in few]
        for one in range(24)
    ]
    bends = mean_interval([first - 2 * second + third for first, second, third in worlds], ONE_IN_A_THOUSAND)
    assert 0 < bends.low <= 0.83 - 2 * 0.83**2 + 0.83**3 <= bends.high
    for base in (0.83, 0.92, 0.95):
        assert largest_fall([base**number for number in range(1, 11)]) == 1


# --------------------------------------------------------------------------- the 4 x 4 table

FAILURE = {
    "conservation": "commits_without_gain",
    "evidence": "constraints_lost",
    "coherence": "dangled_at_commit",
    "binding": "stale_obedience",
}
"""What each gate is for."""


@pytest.fixture(scope="module")
def table() -> dict[tuple[str, str], list[float]]:
    """Each failure in fifteen worlds, by the gate that is off."""
    _, _, points = points_of("gate-off")
    found: dict[tuple[str, str], list[float]] = {}
    for point in points:
        for replication in range(15):
            run = run_at("gate-off", point, replication)
            for failure in FAILURE.values():
                key = str(point.labels["gate off"]), failure
                found.setdefault(key, []).append(response_of(run, failure))
    return found


@pytest.mark.documented
@pytest.mark.parametrize("gate", FAILURE)
def test_a_gate_off_brings_its_own_failure_back(table: dict[tuple[str, str], list[float]], gate: str) -> None:
    failure = FAILURE[gate]
    assert set(table["none", failure]) == {0}
    assert paired_difference(table[gate, failure], table["none", failure], ONE_IN_A_THOUSAND).low > 0


@pytest.mark.documented
def test_the_ablation_holds_the_same_switches(table: dict[tuple[str, str], list[float]]) -> None:
    """The point of 2^4 with one gate off is that level of the table."""
    _, _, points = points_of("gate-ablation")
    assert len(points) == 16
    for gate, failure in FAILURE.items():
        (point,) = [
            point for point in points if [name for name, on in point.labels.items() if not on] == [gate]
        ]
        assert response_of(run_at("gate-ablation", point, 0), failure) == table[gate, failure][0]


# --------------------------------------------------------------------------- every scenario, every policy

SMALL_SET = ("naive", "guarded", "guarded-tombstones-charged", "red-flag-only")


@pytest.mark.cli
@pytest.mark.parametrize("scenario", scenario_names())
def test_every_scenario_runs_under_every_policy_of_a_small_set(command: Command, scenario: str) -> None:
    horizon = min(25, load_scenario(scenario).file.run.horizon)
    policies = [word for policy in SMALL_SET for word in ("--policy", policy)]
    said = command("run", scenario, *policies, "--set", f"run.horizon={horizon}", "--json")
    assert (said.code, said.err) == (0, "")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row["policy"] for row in rows] == list(SMALL_SET)
    assert all(row["outcome"] in {"horizon", "complete", "overflow", "halted"} for row in rows)
    for row in rows:
        assert 1 <= row["summary"]["turns"] <= horizon


# --------------------------------------------------------------------------- words that are wrong

SCRIPT = """\
summary = "a script"
source = "made for a test"

[window]
tokens = 4_000

[run]
horizon = 6
policies = ["naive"]

[[premise]]
name = "schema"
at = [3]

[[premise]]
name = "phase"
at = [4]

[instructions]
phase = "phase"

[[topic]]
name = "payload"
premises = ["schema"]

[tags.needed]
recall = 0.9
precision = 0.8

[fleet]
agents = 1

[workload]
kind = "scripted"
rows = [
  { at = 1, kind = "user", tokens = 60, name = "limit", constraint = true },
  { at = 1, kind = "tool_result", tokens = 400, name = "source", cites = ["limit"] },
  { at = 2, kind = "assistant", tokens = 40, name = "claim", cites = ["source"] },
  { at = 3, kind = "user", tokens = 50, corrects = "claim" },
]
steps = [{ at = 4, governed = ["limit"], touches = ["source"], topics = ["payload"] }]

[[expect]]
policy = "naive"
summary = "outcome"
equals = "horizon"
kind = "implied"
source = "made for a test"
"""

POLICY = """\
summary = "four gates"
source = "made for a test"

[trigger]
fraction = 0.9

[gates]
order = ["evidence", "coherence", "binding", "conservation"]

[tombstones]
placement = "outside"

[instructions]
fingerprint = "outside"
consolidates = true
"""


def assert_refused(said: Said, *words: str) -> None:
    """One line on stderr that says all of these words; nothing on stdout, and exit 2."""
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("rewritelab: ")
    assert said.err.count("\n") == 1
    assert len(said.err) < 700
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err


def edited(path: Path, text: str, before: str, after: str) -> Path:
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))
    return path


@pytest.mark.cli
def test_the_files_are_sound_before_they_are_spoilt(command: Command, tmp_path: Path) -> None:
    script, policy = tmp_path / "script.toml", tmp_path / "mine.toml"
    script.write_text(SCRIPT)
    policy.write_text(POLICY)
    assert command("run", script, "--policy", policy, "--json").code == 0


@pytest.mark.cli
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        # references
        ('cites = ["limit"]', 'cites = ["claim"]', ("row 1", "1 -> 2 -> 1", "without a cycle")),
        ('cites = ["limit"]', 'cites = ["source"]', ("row 1", "itself", "an earlier row")),
        ('cites = ["limit"]', "cites = [9]", ("row 1", "cites row 9", "from 0 to 3")),
        ('cites = ["limit"]', "cites = [-1]", ("row 1", "cites row -1", "from 0 to 3")),
        ('cites = ["limit"]', 'cites = ["limt"]', ("row 1", "'limt'", "did you mean 'limit'?")),
        ('cites = ["limit"]', 'cites = ["limit", 0]', ("row 1", "twice", "each row once")),
        ('touches = ["source"]', 'touches = ["sourc"]', ("step 0", "did you mean 'source'?")),
        ('governed = ["limit"]', 'governed = ["source"]', ("step 0", "states no constraint", "0, 3")),
        ("400, name", "400, subgoal = -1, name", ("workload", "rows.1.subgoal", "got -1")),
        ('{ at = 1, kind = "tool', '{ at = 5, kind = "tool', ("row 2", "cites row 1, which comes later")),
        ('corrects = "claim"', 'corrects = "clam"', ("row 3", "did you mean 'claim'?")),
        # tokens
        ("tokens = 400", "tokens = -400", ("workload", "rows.1.tokens", "got -400")),
        ("tokens = 400, ", "", ("workload", "rows.1.tokens", "Field required")),
        ("tokens = 400", "tokens = 0", ("rows.1.tokens", "got 0")),
        ("tokens = 400", "tokens = 40.5", ("rows.1.tokens", "got 40.5")),
        # names
        ('name = "source"', 'name = "limit"', ("row 1", "named 'limit' as row 0 is", "one row a name")),
        ('name = "phase"', 'name = "schema"', ("premise 'schema' stands twice", "each once")),
        ('premises = ["schema"]', 'premises = ["shema"]', ("topic.0.premises", "did you mean 'schema'?")),
        ('phase = "phase"', 'phase = "fase"', ("instructions.phase", "unknown premise 'fase'", "'phase'?")),
        ('topics = ["payload"]', 'topics = ["paylod"]', ("steps.0.topics", "did you mean 'payload'?")),
        # qualities and fleets
        ("recall = 0.9", "recall = 1.1", ("tags.needed.recall", "got 1.1")),
        ("precision = 0.8", "precision = 0.4", ("tags.needed.precision", "0.5", "got 0.4")),
        ("recall = 0.9", "recal = 0.9", ("tags.needed.recal", "did you mean 'recall'?")),
        ("agents = 1", "agents = 0", ("fleet.agents", "greater than or equal to 1", "got 0")),
    ],
)
def test_scripts_with_a_fault(
    command: Command, tmp_path: Path, before: str, after: str, told: tuple[str, ...]
) -> None:
    path = edited(tmp_path / "script.toml", SCRIPT, before, after)
    output = tmp_path / "out"
    assert_refused(command("reproduce", path, "--output", output), "script.toml", *told)
    assert_refused(
        command("run", path, "--policy", "naive", "--save", output, "--json"), "script.toml", *told
    )
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.cli
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"coherence", ', '"evidence", ', ("gates.order", "gate 'evidence' stands twice", "each once")),
        ('"coherence", ', '"coherance", ', ("gates.order", "coherance")),
        ('"evidence", ', "", ("tombstones.placement", "without the evidence gate", "'none'")),
        ('"binding", ', "", ("instructions.fingerprint", "without the binding gate", "'none'")),
        ('fingerprint = "outside"', "", ("instructions.fingerprint", "'none'", "all is stale", "'outside'")),
        ('placement = "outside"', 'placement = "inside"', ("tombstones.placement", "inside-charged")),
        ('fingerprint = "outside"', 'fingerprint = "beside"', ("instructions.fingerprint", "'inside'")),
        ("[tombstones]", "[tombstones]\ntokens = 0", ("tombstones.tokens", "got 0")),
        ("[tombstones]", "[gates.binding]\ncap = 0\n[tombstones]", ("gates.binding.cap", "'none'")),
        ("[tombstones]", "[gates.coherence]\nthreshold = -1\n[tombstones]", ("threshold", "got -1")),
        ("[tombstones]", "[gates.bindin]\ncap = 3\n[tombstones]", ("gates.bindin", "'binding'?")),
    ],
)
def test_policies_with_a_fault(
    command: Command, tmp_path: Path, before: str, after: str, told: tuple[str, ...]
) -> None:
    path = edited(tmp_path / "mine.toml", POLICY, before, after)
    asked = ("run", "all-four", "--policy", path, "--save", tmp_path / "out", "--json")
    assert_refused(command(*asked), "mine.toml", *told)
    assert_refused(command("check-policy", path), "mine.toml", *told)
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.cli
@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ("workload.topics=['dry run frist']", ("workload.topics", "did you mean 'dry run first'?")),
        ("workload.topic_share=1.5", ("workload", "topic_share", "got 1.5")),
        ("workload.constraint_mean=-3", ("constraint_mean", "got -3")),
        ("laws.evidence.retention=2", ("laws.evidence.retention", "got 2")),
        ("laws.coherence.drop_share=nan", ("laws.coherence.drop_share",)),
        ("laws.binding.midpoint=0", ("laws.binding.midpoint", "got 0")),
        ("instructions.phase='tsk phase'", ("instructions.phase", "did you mean 'task phase'?")),
        ("guarded.gates.order=['binding', 'binding']", ("gates.order", "stands twice")),
        ("guarded.tombstones.placement='somewhere'", ("tombstones.placement",)),
        ("supervisor.act='spared'", ("supervisor.act", "'spare'")),
    ],
)
def test_values_with_a_fault(command: Command, tmp_path: Path, sets: str, told: tuple[str, ...]) -> None:
    asked = ("run", "all-four", "--policy", "guarded", "--set", sets, "--save", tmp_path / "out")
    assert_refused(command(*asked), *told)
    assert list(tmp_path.iterdir()) == []
