"""Runs made again are those of the sweep, and what they do to their process is done elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.again import made_again, whole_run
from experiments.experiment import load_experiment
from experiments.plan import Plan
from experiments.reading import read_runs, read_table
from experiments.sweeping import sweep
from experiments.workers import Failure

ENDS = """
import os
from simulator import Policy, RewritePlan


class Ends(Policy):
    name = "ends"

    def check(self, gauge):
        os._exit(3)

    def propose(self, view):
        return RewritePlan()
"""


def where(plan: Plan, run: int) -> tuple[int, int]:
    return os.getpid(), run


@pytest.mark.unit
def test_runs_made_again_are_those_of_the_sweep(small_experiment: Path, tmp_path: Path) -> None:
    text = small_experiment.read_text().replace("replications = 15", 'replications = 2\nkeep = ["turns"]')
    small_experiment.write_text(text)
    experiment = load_experiment(str(small_experiment))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    runs, turns = read_runs(tmp_path / "out"), read_table(tmp_path / "out", "turns")
    again = dict(made_again(whole_run, Plan(experiment), [5, 2]))
    assert sorted(again) == [2, 5]
    for number, run in again.items():
        assert not isinstance(run, Failure)
        assert run.outcome == runs.loc[number, "outcome"]
        assert run.turns["tokens"].tolist() == turns.loc[turns["run"] == number, "tokens"].tolist()


@pytest.mark.unit
def test_they_are_made_in_a_process_of_their_own_unless_asked(small_experiment: Path) -> None:
    plan = Plan(load_experiment(str(small_experiment)))
    there, here = (dict(made_again(where, plan, [7, 9], workers=workers)) for workers in (1, 0))
    assert {pid for pid, _ in here.values()} == {os.getpid()}  # type: ignore[misc]
    assert os.getpid() not in {pid for pid, _ in there.values()}  # type: ignore[misc]
    assert {number: found[1] for number, found in there.items()} == {7: 7, 9: 9}  # type: ignore[index]


@pytest.mark.crash
def test_a_run_that_ends_its_process_is_a_failure(
    small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_policy.py").write_text(ENDS)
    monkeypatch.syspath_prepend(tmp_path)
    policies = '["ending_policy:Ends", "naive-never-summarised"]'
    text = small_experiment.read_text().replace('kind = "phase"', 'kind = "table"')
    small_experiment.write_text(text.replace('["naive-never-summarised"]', policies))
    found = dict(made_again(whole_run, Plan(load_experiment(str(small_experiment))), [0, 15]))
    assert isinstance(found[0], Failure)
    assert found[0].stage == "worker"
    assert not isinstance(found[15], Failure)
