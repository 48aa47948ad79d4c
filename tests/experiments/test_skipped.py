"""Runs that are not begun because their policy needs what the world lacks: told, and no failures."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.answers import answers
from experiments.experiment import load_experiment
from experiments.reading import read_runs, read_table
from experiments.report.assembly import page_of
from experiments.results import results_of
from experiments.runner import run_tasks
from experiments.runs import RunTask, execute
from experiments.sweeping import sweep
from experiments.workers import Failure
from scenarios import load_scenario

NEEDY = '''
from simulator import Terms
from simulator.declarations import Need
from simulator.plan import RewritePlan


class Chatty:
    """Rewrites at user turns alone: a world without users has nothing for it."""

    name = "chatty"
    terms = Terms(needs=frozenset({Need.USER_TURNS}))

    def begin(self, brief): ...
    def check(self, gauge): return False
    def admit(self, bound): ...
    def propose(self, view): return RewritePlan((), 0)
    def judge(self, proposal): ...
    def learn(self, lesson): return False
    def resume(self, vitals): ...
    def amend(self, amendment): ...
    def rely(self, reliance): ...
'''

EXPERIMENT = """\
summary = "one that lives, one that is skipped"
source = "made for a test"
scenario = "constant-arrivals"
policies = ["never-rewrite", "needy:Chatty", "naive"]
replications = 3
responses = ["turns", "usd", "overflowed"]
set = { "run.horizon" = 20 }

[plot]
kind = "ranking"
response = "turns"

[[plots]]
kind = "comparison"
response = "turns"
baseline = "naive"

[[plots]]
kind = "pareto"
x = "usd"
y = "overflowed"
"""


@pytest.fixture
def needy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "needy.py").write_text(NEEDY)
    monkeypatch.syspath_prepend(tmp_path)
    yield "needy:Chatty"
    sys.modules.pop("needy", None)


@pytest.fixture
def swept(needy: str, tmp_path: Path) -> Path:
    path = tmp_path / "skips.toml"
    path.write_text(EXPERIMENT)
    assert sweep(load_experiment(str(path)), tmp_path / "out", workers=0, show="none") == 0
    return tmp_path / "out"


@pytest.mark.unit
def test_a_skipped_run_is_a_row_and_no_failure(swept: Path) -> None:
    runs = read_runs(swept)
    skipped = runs[runs["policy"] == "needy:Chatty"]
    assert skipped[["outcome", "failed_stage", "failure"]].drop_duplicates().values.tolist() == [
        ["skipped", "skipped", "needs user_turns"]
    ]
    assert len(skipped) == 3
    assert skipped["turns"].isna().all()
    assert read_table(swept, "failures").empty


@pytest.mark.unit
def test_a_resume_leaves_skipped_runs_alone(swept: Path) -> None:
    experiment = load_experiment(str(swept.parent / "skips.toml"))
    before = (swept / "runs.parquet").stat().st_mtime_ns
    assert sweep(experiment, swept, workers=0, retry_failed=True, show="none") == 0
    assert (swept / "runs.parquet").stat().st_mtime_ns == before


@pytest.mark.unit
def test_means_and_analyses_say_nothing_of_them_and_answers_say_why(swept: Path) -> None:
    results = results_of(swept)
    assert set(results.means["policy"]) == {"never-rewrite", "naive"}
    assert not results.means["failed"].any()
    said = answers(results)
    assert "9 runs, none failed, 3 skipped" in said
    assert "skipped: needs user_turns: needy:Chatty in constant-arrivals" in said
    page = page_of(results, worlds=0)
    (table,) = [table for table in page.tables if table.title == "skipped runs"]
    assert table.rows == (("needy:Chatty", "constant-arrivals", "needs user_turns", "3"),)
    assert page.failures is None
    shown = [table for table in page.tables if table is not _titled(page.tables, "skipped runs")]
    assert not any("needy:Chatty" in row for table in shown for row in table.rows)


def _titled(tables: tuple[object, ...], title: str) -> object:
    return next(table for table in tables if getattr(table, "title", "") == title)


@pytest.mark.unit
def test_run_tells_it_in_a_line_and_leaves_with_0(needy: str, command: Callable[..., object]) -> None:
    said = command("run", "constant-arrivals", "--policy", needy, "--policy", "naive")
    assert said.code == 0
    assert f"{needy} skipped: needs user_turns\n" in said.out
    told = command("run", "constant-arrivals", "--policy", needy, "--json")
    row = json.loads(told.out)
    assert told.code == 0
    assert (row["outcome"], row["stage"], row["reason"]) == ("skipped", "skipped", "needs user_turns")
    assert row["summary"] is None


@pytest.mark.unit
def test_explain_tells_it_in_a_line_and_leaves_with_0(needy: str, command: Callable[..., object]) -> None:
    said = command("explain", "constant-arrivals", "--policy", needy)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"constant-arrivals under {needy}, seed 0: skipped: needs user_turns\n"
    row = json.loads(command("explain", "constant-arrivals", "--policy", needy, "--json").out)
    assert (row["outcome"], row["reason"]) == ("skipped", "needs user_turns")


@pytest.mark.unit
def test_a_trace_of_it_is_not_written(needy: str, command: Callable[..., object], tmp_path: Path) -> None:
    said = command("run", "constant-arrivals", "--policy", needy, "--trace", tmp_path / "run.json")
    assert said.code == 0
    assert not (tmp_path / "run.json").exists()


@pytest.mark.unit
def test_an_expectation_on_a_skipped_run_is_missed(
    needy: str, small_scenario: Path, command: Callable[..., object], tmp_path: Path
) -> None:
    text = small_scenario.read_text()
    text = text[: text.index("[[expect]]")].replace('figures = ["occupancy"]', "figures = []")
    expectation = f'[[expect]]\npolicy = "{needy}"\nsummary = "turns"\nat_least = 1\n'
    small_scenario.write_text(text + expectation + 'kind = "implied"\nsource = "made for a test"\n')
    said = command("reproduce", small_scenario, "--workers", "0", "--output", tmp_path / "out")
    assert said.code == 1
    assert "run 0 skipped: needs user_turns" in said.out


@pytest.mark.unit
def test_a_worker_process_tells_it_too(needy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    setting = load_scenario("constant-arrivals").setting()
    tasks = [RunTask(setting, needy, 1, place) for place in range(2)]
    for result in run_tasks(execute, tasks, workers=2):
        assert isinstance(result, Failure)
        assert result.is_skipped
        assert str(result) == "skipped: needs user_turns"
