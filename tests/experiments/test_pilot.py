"""Forecasts: counts that are exact, times judged against the sweep itself, and nothing that is written."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from experiments import pilot, runner
from experiments.experiment import Experiment, load_experiment
from experiments.pilot import Forecast, forecast
from experiments.sweeping import sweep
from simulator import InputError


def edited(path: Path, *edits: tuple[str, str]) -> Experiment:
    text = path.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    return load_experiment(str(path))


@pytest.mark.unit
def test_counts_are_those_of_the_sweep(small_experiment: Path, tmp_path: Path) -> None:
    experiment = edited(small_experiment, ("replications = 15", "replications = 4"))
    out = tmp_path / "out"
    found = forecast(experiment, out, workers=2)
    assert (found.runs, found.least, found.done, found.pilot, found.workers) == (16, 16, 0, 16, 2)
    assert not out.exists()
    sweep(experiment, out, workers=0, only=["replication=0", "replication=1"], show="none")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    some = forecast(experiment, out, workers=0, only=["rationale=100"])
    assert (some.runs, some.least, some.done, some.pilot) == (8, 8, 4, 8)
    assert some.low == some.seconds_a_run == some.high  # all have been timed
    assert some.seconds == some.at_most >= 4 * some.seconds_a_run  # and a start
    again = forecast(experiment, out, workers=0, fresh=True, only=["rationale=100"])
    assert (again.runs, again.done) == (8, 0)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.unit
def test_nothing_is_left_to_do(small_experiment: Path, tmp_path: Path) -> None:
    experiment = edited(small_experiment, ("replications = 15", "replications = 1"))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    found = forecast(experiment, tmp_path / "out")
    assert (found.runs, found.done, found.seconds, found.at_most) == (4, 4, 0, 0)


@pytest.mark.unit
def test_sequential_replications_have_a_least_and_a_most(small_experiment: Path, tmp_path: Path) -> None:
    rule = '{ response = "overflowed", half_width = 0.1, first = 4, cap = 30 }'
    experiment = edited(small_experiment, ("replications = 15", f"replications = {rule}"))
    found = forecast(experiment, tmp_path / "out", workers=0)
    assert (found.runs, found.least) == (4 * 30, 4 * 4)
    assert found.at_most - found.seconds == pytest.approx(26 * 4 * found.seconds_a_run)


@pytest.mark.unit
def test_one_run_and_failing_runs_have_a_forecast_too(
    zoo: str, small_experiment: Path, tmp_path: Path
) -> None:
    policies = f'["{zoo}:RaisesInCheck"]'
    experiment = edited(small_experiment, ('["naive-never-summarised"]', policies))
    found = forecast(experiment, tmp_path / "out", only=["point=0", "replication=0"])
    assert (found.runs, found.pilot) == (1, 1)
    assert found.seconds_a_run > 0


HOSTILE = """
import os
from simulator import Policy, RewritePlan


class Ends(Policy):
    name = "ends"

    def check(self, gauge):
        os._exit(3)

    def propose(self, view):
        return RewritePlan()


class Holds(Ends):
    name = "holds"

    def check(self, gauge):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
"""


@pytest.mark.crash
@pytest.mark.parametrize("kind", ["Ends", "Holds"])
def test_a_policy_that_ends_or_holds_its_process_has_a_forecast_too(
    small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """One that holds it costs all of its time, every time."""
    (tmp_path / "hostile_pilots.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(runner, "STALL_SECONDS", 0.2)
    experiment = edited(
        small_experiment,
        ("replications = 15", "replications = 1\ntime_limit_seconds = 1.5"),
        ('["naive-never-summarised"]', f'["hostile_pilots:{kind}"]'),
    )
    found = forecast(experiment, tmp_path / "out", workers=1)
    assert found.runs == 4
    if kind == "Holds":
        assert (found.pilot, found.seconds_a_run) == (1, 1.5)
    else:
        assert found.pilot == 4
        assert found.seconds > 0


@pytest.mark.unit
def test_a_pilot_ends_after_a_while_and_tells_a_range(
    small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilot, "PILOT_SECONDS", 0.2)
    experiment = edited(small_experiment, ("replications = 15", "replications = 2_000"))
    found = forecast(experiment, tmp_path / "out", workers=0)
    assert found.runs == 8_000
    assert 2 <= found.pilot < 4_000
    assert found.low < found.seconds_a_run < found.high
    assert found.soonest < found.seconds < found.latest


@pytest.mark.theory
def test_the_range_holds_the_mean_of_all_runs_as_often_as_it_says() -> None:
    """Drawn without replacement: 95%, with a false alarm once in ten thousand, of runs of two kinds."""
    population = np.concatenate([np.full(600, 1.0), np.full(400, 5.0)])
    chance, tries = np.random.default_rng(8), 2_000
    held = 0
    for _ in range(tries):
        _, low, high = pilot._mean(chance.permutation(population)[:300].tolist(), 1_000)
        held += low <= population.mean() <= high
    assert abs(held / tries - 0.95) < 3.9 * np.sqrt(0.95 * 0.05 / tries)


@pytest.mark.unit
def test_faults_are_those_of_a_sweep(small_experiment: Path, tmp_path: Path) -> None:
    experiment = edited(small_experiment, ("replications = 15", "replications = 1"))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    other = edited(small_experiment, ("[100, 600]", "[100, 700]"))
    with pytest.raises(InputError, match="the runs of another sweep"):
        forecast(other, tmp_path / "out")
    with pytest.raises(InputError, match="no run has point=0 and rationale=700"):
        forecast(other, tmp_path / "new", only=["point=0", "rationale=700"])
    broken = edited(small_experiment, ('"run.horizon"', '"run.horizn"'))
    with pytest.raises(InputError, match="did you mean 'horizon'"):
        forecast(broken, tmp_path / "new")


@pytest.mark.unit
def test_the_time_is_right_within_a_factor_of_two(small_experiment: Path, tmp_path: Path) -> None:
    """Judged in one process by the wall clock of the sweep that follows at once.

    Work of others on the machine may fall on one side of a pair alone: one good pair of three is enough.
    """
    experiment = edited(small_experiment, ("replications = 15", "replications = 40"))
    ratios = []
    for attempt in range(3):
        out = tmp_path / str(attempt)
        found = forecast(experiment, out, workers=0)
        began = time.perf_counter()
        sweep(experiment, out, workers=0, show="none")
        ratios.append(found.seconds / (time.perf_counter() - began))
        if 0.5 <= ratios[-1] <= 2:
            return
    pytest.fail(f"forecast over truth: {ratios}")


@pytest.mark.unit
def test_more_workers_take_less(small_experiment: Path, tmp_path: Path) -> None:
    found = forecast(load_experiment(str(small_experiment)), tmp_path / "out", workers=4)
    assert isinstance(found, Forecast)
    one = found.seconds - 60 * found.seconds_a_run / 4  # of it the start, which nothing shares
    assert 0 < one < 30
