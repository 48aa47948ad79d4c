"""Reproduction: every documented figure holds, whatever the workers, and in fresh worlds where it must."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from experiments.judge import Finding
from experiments.reproduction import (
    box_shares,
    documented_scenarios,
    perturbed,
    policies_of,
    reproduce,
    tasks_of,
)
from experiments.runner import run_tasks
from experiments.runs import execute
from scenarios import Scenario, load_scenario
from scenarios.tables import ConstantMeasurement
from scenarios.workloads.scripted import ScriptedWorkload
from simulator import InputError, Run

CATALOGUE = documented_scenarios([])


def is_deterministic(scenario: Scenario) -> bool:
    """Whether nothing in a scenario is drawn: a script, summaries without spread, no failures."""
    file = scenario.file
    return (
        isinstance(scenario.setting().workload, ScriptedWorkload)
        and file.laws.summary.ratio_spread == 0
        and file.provider.failure_share == 0
        and all(premise.mean_interval is None for premise in file.premise)
    )


# ------------------------------------------------------------------------------------ the catalogue


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return reproduce(CATALOGUE, show="none")


@pytest.mark.documented
@pytest.mark.slow
def test_the_whole_catalogue_holds(findings: list[Finding]) -> None:
    missed = [
        f"{one.scenario}, {one.policy}: {one.response} is {one.simulated}, not {one.documented} {one.note}"
        for one in findings
        if not one.passed
    ]
    assert not missed, "\n".join(missed)
    assert len(findings) == sum(len(scenario.file.expect) for scenario in CATALOGUE)


@pytest.mark.documented
def test_what_is_not_random_holds_under_another_seed() -> None:
    chosen = [scenario for scenario in CATALOGUE if is_deterministic(scenario)]
    assert {"rewrite-budget-exact", "size-cap-is-not-enough"} <= {scenario.name for scenario in chosen}
    fresh = reproduce(chosen, workers=0, seed=987_654_321, show="none")
    usual = reproduce(chosen, workers=0, show="none")
    assert all(finding.passed for finding in fresh)
    assert fresh == usual


@pytest.mark.documented
def test_documented_scenarios() -> None:
    names = [scenario.name for scenario in CATALOGUE]
    assert names == sorted(names)
    assert "constant-arrivals" not in names
    with pytest.raises(InputError, match="stands twice"):
        documented_scenarios(["false-floor", "false-floor"])
    with pytest.raises(InputError, match="nothing to expect"):
        documented_scenarios(["constant-arrivals"])


# ------------------------------------------------------------------------------------ the same whatever


@pytest.mark.unit
def test_shown_policies_come_first_and_none_twice(small_scenario: Path) -> None:
    assert policies_of(load_scenario(str(small_scenario))) == ["naive", "guarded"]


@pytest.mark.unit
def test_workers_change_nothing(small_scenario: Path) -> None:
    scenario = load_scenario(str(small_scenario))
    assert reproduce([scenario], workers=0, show="none") == reproduce([scenario], workers=2, show="none")
    tasks = tasks_of(scenario, ["naive", "guarded"], seed=None, replications=4)
    one, two = (run_tasks(execute, tasks, workers=workers) for workers in (1, 2))
    assert all(isinstance(run, Run) for run in one)
    assert one == two  # every row of every table, bit for bit


@pytest.mark.unit
def test_another_seed_is_another_world(small_scenario: Path) -> None:
    scenario = load_scenario(str(small_scenario))
    usual, fresh = (reproduce([scenario], workers=0, seed=seed, show="none") for seed in (None, 7))
    assert usual[0].simulated != fresh[0].simulated


@pytest.mark.unit
def test_pictures_are_written(small_scenario: Path, tmp_path: Path) -> None:
    text = small_scenario.read_text()
    kinds = ["occupancy", "nets", "ledgers", "cost", "switches"]
    named = ", ".join(f'"{kind}"' for kind in kinds)
    small_scenario.write_text('switched = "guarded"\n' + text.replace('"occupancy"', named))
    reproduce([load_scenario(str(small_scenario))], workers=0, output=tmp_path / "out", show="none")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        f"small.{kind}.png" for kind in kinds
    )
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (tmp_path / "out").iterdir())


# ------------------------------------------------------------------------------------ the box


@pytest.mark.unit
def test_perturbed_multiplies_and_keeps_whole_numbers_whole() -> None:
    scenario = load_scenario("rewrite-budget-spiral")
    moved = perturbed(
        scenario, {"laws.rationale.base": 1.1, "laws.summary.ratio": 0.9, "workload.reply_high": 1.13}
    ).file
    assert moved.laws.rationale.base == pytest.approx(770)
    assert moved.laws.summary.ratio == pytest.approx(0.27)
    assert moved.workload.model_dump()["reply_high"] == 68  # 60 x 1.13 = 67.8
    assert moved.window == scenario.file.window
    exact = perturbed(load_scenario("rewrite-budget-exact"), {"laws.measurement.full_tokens": 0.9}).file
    assert isinstance(exact.laws.measurement, ConstantMeasurement)
    assert exact.laws.measurement.full_tokens == 990


@pytest.mark.unit
@pytest.mark.parametrize(
    "path", ["laws.rationale.bas", "laws.rationale", "summary", "nowhere.at.all", "supervisor.constant"]
)
def test_perturbed_names_the_key(path: str) -> None:
    with pytest.raises(InputError, match=f"box: {path}: is not a number"):
        perturbed(load_scenario("rewrite-budget-spiral"), {path: 1.1})


@pytest.mark.unit
def test_perturbed_out_of_range_names_the_key() -> None:
    with pytest.raises(InputError, match=r"laws\.summary\.ratio"):
        perturbed(load_scenario("rewrite-budget-spiral"), {"laws.summary.ratio": 9.0})


@pytest.mark.unit
def test_box_shares(small_scenario: Path) -> None:
    small_scenario.write_text(
        'box = ["laws.rationale.base", "workload.result_mean"]\n' + small_scenario.read_text()
    )
    scenario = load_scenario(str(small_scenario))
    shares = box_shares(scenario, points=3, replications=2, seed=5, workers=0, show="none")
    assert [finding.response for finding in shares] == [
        "net_per_attempt_tokens",
        "summary.rewrites_committed",
        "all signatures together",
    ]
    each = [finding.holds_in_box for finding in shares]
    assert all(share in (0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1) for share in each)
    assert each[2] <= min(each[0], each[1])
    assert shares == box_shares(scenario, points=3, replications=2, seed=5, workers=2, show="none")


@pytest.mark.unit
def test_a_box_of_nothing() -> None:
    with pytest.raises(InputError, match=r"size-cap-is-not-enough\.toml: box: names no parameters"):
        box_shares(load_scenario("size-cap-is-not-enough"), points=1, replications=1, seed=1, show="none")


@pytest.mark.documented
def test_every_box_can_be_moved() -> None:
    for scenario in CATALOGUE:
        for factor in (1 - scenario.file.box_half_width, 1 + scenario.file.box_half_width):
            perturbed(scenario, dict.fromkeys(scenario.file.box, factor)).setting()


@pytest.mark.documented
def test_every_expectation_says_where_it_comes_from() -> None:
    for scenario in CATALOGUE:
        rows = tomllib.loads(scenario.path.read_text())["expect"]
        assert all(row["source"].strip() for row in rows)
