"""The studies of the catalogue by their own files; and files of four gates with a fault, told in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Protocol

import pytest

from experiments.experiment import Point, experiment_names, load_experiment
from experiments.factors import Value
from experiments.runs import RunTask, execute
from experiments.statistics import Interval, mean_interval, paired_difference
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
    return execute(RunTask(setting, policy, 20_261_114, replication, point.of_policies[policy]))


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


# --------------------------------------------------------------------------- how a guard is set


def in_worlds(experiment: str, labels: dict[str, Value], policy: str, worlds: int) -> list[Run]:
    """Runs of one policy at one point, each in a world that the study has not met."""
    study = load_experiment(experiment)
    point = study.point_at(labels)
    setting = load_scenario(study.scenarios[0], point.of_scenario).setting()
    own = point.of_policies[policy]
    return [execute(RunTask(setting, policy, 20_261_114, one, own)) for one in range(worlds)]


def differences(runs: list[Run], baseline: list[Run], response: str) -> list[float]:
    """One setting minus another, world by world."""
    pairs = zip(runs, baseline, strict=True)
    return [response_of(own, response) - response_of(other, response) for own, other in pairs]


def gain(runs: list[Run], baseline: list[Run], response: str) -> Interval:
    """The mean of the differences, at the stated false-alarm rate."""
    return mean_interval(differences(runs, baseline, response), ONE_IN_A_THOUSAND)


@pytest.mark.documented
def test_a_longer_rationale_saves_money_and_costs_calls() -> None:
    """guard-tuning: the cap moves both, each the other way, and calls further than the low watermark does."""
    middle: dict[str, Value] = {"trigger": 0.89, "low watermark": 0.80, "rationale cap": 340}

    def moved(factor: str, value: Value) -> list[Run]:
        return in_worlds("guard-tuning", middle | {factor: value}, "guarded", 12)

    long, short = moved("rationale cap", 640), moved("rationale cap", 40)
    assert gain(long, short, "escalations").low > 0
    assert gain(long, short, "usd").high < 0
    by_cap = differences(long, short, "escalations")
    by_watermark = differences(moved("low watermark", 0.85), moved("low watermark", 0.75), "escalations")
    for sign in (1, -1):
        further = [cap - sign * watermark for cap, watermark in zip(by_cap, by_watermark, strict=True)]
        assert mean_interval(further, ONE_IN_A_THOUSAND).low > 0


# --------------------------------------------------------------------------- epochs, caps, and a floor


@pytest.mark.documented
def test_a_cap_gives_way_to_change_and_derivation_does_not() -> None:
    """epoch-and-cap: a faster world takes compliance from a cap alone, not from one that derives anew."""

    def at(length: float, gate: str) -> list[Run]:
        return in_worlds("epoch-and-cap", {"turn length": length, "binding gate": gate}, "guarded", 16)

    slow, fast = at(0.25, "cap 4"), at(8.0, "cap 4")
    derived_slow, derived_fast = at(0.25, "derives, cap 4"), at(8.0, "derives, cap 4")
    assert gain(fast, slow, "actual_compliance").high < 0
    assert gain(derived_fast, derived_slow, "actual_compliance").high > 0
    assert gain(derived_fast, fast, "actual_compliance").low > 0
    assert gain(fast, slow, "stale_obedience").low > 0
    assert {response_of(run, "stale_obedience") for run in (*derived_slow, *derived_fast)} == {0}


@pytest.mark.documented
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_admission_is_paid_in_turns_until_nothing_can_be_freed(share: float) -> None:
    """false-floor: it saves money at each share; it lives longer only where all is incompressible."""
    admits, tries = (
        in_worlds("false-floor", {"incompressible": share}, policy, 16)
        for policy in ("guarded", "guarded-without-admission")
    )
    assert gain(admits, tries, "usd").high < 0
    turns = differences(admits, tries, "turns")
    if share == 1.0:
        assert min(turns) >= 0
        assert sum(turns) > 0
    else:
        assert mean_interval(turns, ONE_IN_A_THOUSAND).high < 0


# --------------------------------------------------------------------------- every policy on every record


@pytest.fixture(scope="module")
def variants() -> dict[tuple[str, str], list[Run]]:
    """Six worlds of each scenario of `policy-variants`, under two of its policies and a bound."""
    study = load_experiment("policy-variants")
    found = {}
    for scenario in study.scenarios:
        setting = load_scenario(scenario).setting()
        for policy in ("guarded", "truncate-oldest", "static-instructions"):
            runs = [execute(RunTask(setting, policy, 20_261_114, one, {})) for one in range(6)]
            found[scenario, policy] = runs
    return found


@pytest.mark.documented
def test_truncating_lives_as_long_as_guarded_and_loses_what_it_truncates(
    variants: dict[tuple[str, str], list[Run]],
) -> None:
    for scenario in load_experiment("policy-variants").scenarios:
        truncated, guarded = variants[scenario, "truncate-oldest"], variants[scenario, "guarded"]
        assert min(differences(truncated, guarded, "turns")) >= 0
        if scenario in ("lossy-boundary", "all-four"):
            assert gain(truncated, guarded, "wrong").low > 0


@pytest.mark.documented
def test_with_a_window_without_end_and_no_instructions_of_its_own_nothing_goes_wrong(
    variants: dict[tuple[str, str], list[Run]],
) -> None:
    """What makes it a bound: it is no rival, and no rival can live longer or with less wrong."""
    study = load_experiment("policy-variants")
    assert "static-instructions" in study.file.bounds
    for scenario in study.scenarios:
        runs = variants[scenario, "static-instructions"]
        assert {response_of(run, "wrong") for run in runs} == {0}
        assert {run.summary["turns"] for run in runs} == {load_scenario(scenario).file.run.horizon}


@pytest.mark.unit
@pytest.mark.parametrize("name", experiment_names())
def test_every_study_asks_a_question(name: str) -> None:
    file = load_experiment(name).file
    assert file.question.endswith("?")
    assert file.source
    assert file.question != file.summary


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
    assert all(row["outcome"] in {"horizon", "complete", "overflow", "dead", "halted"} for row in rows)
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
