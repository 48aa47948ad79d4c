"""Runs made again: those of the sweep to the last row, refused where they would be others, and warm-up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.analyses.histories import History, first_point, histories, turns_of, warm_up, where_from
from experiments.experiment import Experiment, ExperimentFile, load_experiment
from experiments.plan import Coordinates
from experiments.reading import read_table
from experiments.report.captions import caption_of
from experiments.results import Results
from experiments.sweeping import sweep
from policies.loader import CATALOGUE as POLICIES
from scenarios.scenario import CATALOGUE as SCENARIOS
from simulator import InputError


@pytest.fixture
def results(small_experiment: Path, tmp_path: Path) -> Results:
    """A sweep that keeps its tables, of a scenario and a policy whose files can be changed."""
    (tmp_path / "world.toml").write_text((SCENARIOS / "constant-arrivals.toml").read_text())
    (tmp_path / "naive.toml").write_text((POLICIES / "naive.toml").read_text())
    (tmp_path / "mine.toml").write_text((POLICIES / "naive-never-summarised.toml").read_text())
    text = small_experiment.read_text().replace("replications = 15", "replications = 3")
    text = text.replace('"naive-never-summarised"', f'"{tmp_path / "mine.toml"}"')
    text = text.replace('"constant-arrivals"', f'"{tmp_path / "world.toml"}"')
    text = text.replace("responses =", 'keep = ["turns", "rewrites"]\nresponses =')
    text = text.replace("[40, 110]", "[110, 40]")
    small_experiment.write_text(text)
    experiment = load_experiment(str(small_experiment))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    return Results(tmp_path / "out", experiment)


@pytest.mark.unit
@pytest.mark.parametrize("point", [0, 3])
def test_what_is_made_again_is_what_the_sweep_kept(results: Results, point: int) -> None:
    found = histories(results, worlds=2, point=point)
    assert [one.at for one in found] == [Coordinates(0, point, 0, world) for world in (0, 1)]
    first = point * 3
    for name in ("turns", "rewrites"):
        kept = read_table(results.folder, name)
        for world, one in enumerate(found):
            own = kept[kept["run"] == first + world].drop(columns="run").reset_index(drop=True)
            assert len(own) > 0 or (name, point) == ("rewrites", 3)  # forty turns see no rewrite
            again = getattr(one.run, name)
            pd.testing.assert_frame_equal(own, again, check_dtype=False, check_exact=True)
    worlds = [one.at.replication for one in found for _ in one.run.turn_rows]
    assert turns_of(found)["replication"].tolist() == worlds
    runs = results.runs.set_index("run")
    assert [one.run.outcome for one in found] == runs.loc[[first, first + 1], "outcome"].tolist()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("file", "before", "after", "what"),
    [
        ("naive.toml", "0.905", "0.904", "a policy"),
        ("world.toml", "tokens = 24_000", "tokens = 24_001", "a scenario"),
    ],
)
def test_what_has_changed_since_is_refused(
    results: Results, tmp_path: Path, file: str, before: str, after: str, what: str
) -> None:
    own = tmp_path / file
    assert before in own.read_text()
    own.write_text(own.read_text().replace(before, after))
    with pytest.raises(InputError, match=f"{what} has changed since the sweep ran"):
        histories(results)


@pytest.mark.unit
def test_a_picture_that_has_changed_is_no_other_sweep(results: Results, small_experiment: Path) -> None:
    text = small_experiment.read_text()
    small_experiment.write_text(text.replace('kind = "phase"', 'kind = "table"'))
    assert histories(Results(results.folder, load_experiment(str(small_experiment))), worlds=1)


@pytest.mark.unit
def test_where_every_run_fails_there_is_no_history(zoo: str, small_experiment: Path, tmp_path: Path) -> None:
    text = small_experiment.read_text().replace("naive-never-summarised", f"{zoo}:RaisesInCheck")
    small_experiment.write_text(text.replace("replications = 15", "replications = 1"))
    experiment = load_experiment(str(small_experiment))
    assert sweep(experiment, tmp_path / "out", workers=0, show="none") == 4
    with pytest.raises(InputError, match="no run has finished"):
        histories(Results(tmp_path / "out", experiment))


def fail(results: Results, *runs: int) -> None:
    """Let some runs be read as failed."""
    results.runs.loc[results.runs["run"].isin(runs), "failed_stage"] = "propose"


@pytest.mark.unit
def test_where_the_first_point_failed_the_next_is_shown_and_the_caption_tells_of_it(results: Results) -> None:
    """Of point 1 the first world failed as well: two are left, and one where one is asked for."""
    fail(results, 0, 1, 2, 3)
    plot = results.experiment.file.plot.model_copy(update={"kind": "occupancy"})
    found = histories(results)
    assert [one.at for one in found] == [Coordinates(0, 1, 0, world) for world in (1, 2)]
    assert first_point(results) == 1
    assert "its first point with a finished run, 2 worlds a policy" in caption_of(results, plot)
    (one,) = histories(results, worlds=1)
    assert one.at == Coordinates(0, 1, 0, 1)
    ledger = plot.model_copy(update={"kind": "ledger"})
    assert "1 world a policy" in caption_of(results, ledger)


@pytest.mark.unit
def test_what_was_never_made_has_not_failed() -> None:
    """After a race: a has worlds 0 to 3, of which its second failed; b has two; c was skipped."""
    file = ExperimentFile(scenarios=["s"], policies=["a", "b", "c"], responses=["usd"], replications=9)
    experiment = Experiment("made", Path("made.toml"), file, ("s",), ("a", "b", "c"))
    made = [("a", world) for world in range(4)] + [("b", world) for world in range(2)] + [("c", 0)]
    rows = pd.DataFrame(made, columns=["policy", "replication"]).assign(scenario="s", point=0)
    rows["failed_stage"] = [None, "run", None, None, None, None, "skipped"]
    results = Results(Path("made"), experiment)
    results.__dict__["runs"] = rows
    run: Any = None
    places = {"a": (0, 2, 3), "b": (0, 1)}
    found = [History(Coordinates(0, 0, 0, at), name, run) for name, own in places.items() for at in own]
    words = "up to 4 of 9 worlds a policy, without 1 run that failed"
    assert where_from(results, found) == f"Runs made again: {words}."


# ------------------------------------------------------------------------------------ warm-up


def history(occupancies: list[float], policy: str = "p") -> History:
    rows = [SimpleNamespace(occupancy_pct=value, agent=0) for value in occupancies]
    run: Any = SimpleNamespace(turn_rows=rows)
    return History(Coordinates(0, 0, 0, 0), policy, run)


@pytest.mark.theory
def test_a_step_is_cut_where_it_is() -> None:
    """Forty turns empty, then level but for noise that cancels in the mean of two: 41 is the first kept."""
    noise = np.random.default_rng(2).normal(0, 5, 160)
    runs = [history([0.0] * 40 + (60 + sign * noise).tolist()) for sign in (1, -1)]
    table, cut = warm_up(runs, 5)
    assert cut == {"p": 41}
    assert table["turn"].tolist() == list(range(1, 201))
    assert table["mean"].tolist() == pytest.approx([0.0] * 40 + [60.0] * 160)
    smoothed = table["smoothed"].to_numpy()
    assert smoothed[:30] == pytest.approx(0)
    assert smoothed[60:190] == pytest.approx(60)
    assert smoothed[39] == pytest.approx(60 * 5 / 11)  # five turns on each side, five of the eleven are level


@pytest.mark.theory
@pytest.mark.parametrize("turns", [100, 104])
def test_a_run_that_never_levels_has_no_cut(turns: int) -> None:
    """Of a straight line any later start is better, so the rule stops at half, its limit."""
    assert warm_up([history([float(turn) for turn in range(turns)])], 5)[1] == {"p": None}
    step = [0.0] * 45 + [60.0, 61.0] * ((turns - 45) // 2 + 1)  # a batch before the limit can be told
    assert warm_up([history(step[:turns])], 5)[1] == {"p": 46}


@pytest.mark.unit
def test_runs_are_cut_to_the_shortest_of_their_policy() -> None:
    runs = [history([10.0] * 60), history([30.0] * 80)]
    runs += [history([99.0] * 55, "other"), history([1.0], "short")]
    table, cuts = warm_up(runs, 5)
    assert cuts == {"p": 1, "other": 1, "short": None}
    assert table.groupby("policy").size().to_dict() == {"p": 60, "other": 55}
    assert table.groupby("policy")["mean"].unique().to_dict() == {"p": [20.0], "other": [99.0]}


@pytest.mark.unit
def test_too_short_for_a_warm_up() -> None:
    with pytest.raises(InputError, match=r"the shortest run lasts 49 turns.*expected 50 turns or more"):
        warm_up([history([1.0] * 49)], 5)
