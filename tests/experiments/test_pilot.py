"""Forecasts: counts that are exact, times judged against the sweep itself, and nothing that is written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from experiments.experiment import Experiment, load_experiment
from experiments.pilot import PILOT_RUNS, Forecast, forecast
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
    assert (found.runs, found.least, found.done, found.pilot, found.workers) == (16, 16, 0, PILOT_RUNS, 2)
    assert not out.exists()
    sweep(experiment, out, workers=1, only=["replication=0", "replication=1"], show="none")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    some = forecast(experiment, out, workers=1, only=["rationale=100"])
    assert (some.runs, some.least, some.done, some.pilot) == (8, 8, 4, 8)
    assert some.seconds == some.at_most == pytest.approx(4 * some.seconds_a_run)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.unit
def test_nothing_is_left_to_do(small_experiment: Path, tmp_path: Path) -> None:
    experiment = edited(small_experiment, ("replications = 15", "replications = 1"))
    sweep(experiment, tmp_path / "out", workers=1, show="none")
    found = forecast(experiment, tmp_path / "out")
    assert (found.runs, found.done, found.seconds, found.at_most) == (4, 4, 0, 0)


@pytest.mark.unit
def test_sequential_replications_have_a_least_and_a_most(small_experiment: Path, tmp_path: Path) -> None:
    rule = '{ response = "overflowed", half_width = 0.1, first = 4, cap = 30 }'
    experiment = edited(small_experiment, ("replications = 15", f"replications = {rule}"))
    found = forecast(experiment, tmp_path / "out", workers=1)
    assert (found.runs, found.least) == (4 * 30, 4 * 4)
    assert found.at_most == pytest.approx(found.seconds * 30 / 4)


@pytest.mark.unit
def test_one_run_and_failing_runs_have_a_forecast_too(
    zoo: str, small_experiment: Path, tmp_path: Path
) -> None:
    policies = f'["{zoo}:RaisesInCheck"]'
    experiment = edited(small_experiment, ('["naive-never-summarised"]', policies))
    found = forecast(experiment, tmp_path / "out", only=["point=0", "replication=0"])
    assert (found.runs, found.pilot, found.low) == (1, 1, 0)
    assert found.seconds_a_run > 0


@pytest.mark.unit
def test_faults_are_those_of_a_sweep(small_experiment: Path, tmp_path: Path) -> None:
    experiment = edited(small_experiment, ("replications = 15", "replications = 1"))
    sweep(experiment, tmp_path / "out", workers=1, show="none")
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
        found = forecast(experiment, out, workers=1)
        began = time.perf_counter()
        sweep(experiment, out, workers=1, show="none")
        ratios.append(found.seconds / (time.perf_counter() - began))
        if 0.5 <= ratios[-1] <= 2:
            return
    pytest.fail(f"forecast over truth: {ratios}")


@pytest.mark.unit
def test_more_workers_take_less(small_experiment: Path, tmp_path: Path) -> None:
    found = forecast(load_experiment(str(small_experiment)), tmp_path, workers=4)
    assert isinstance(found, Forecast)
    assert found.seconds == pytest.approx(60 * found.seconds_a_run / 4)
    assert found.low <= found.seconds_a_run <= found.high
