"""Sweeps: the same bytes whatever happens, runs that nobody moves, failures as rows, kept tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from experiments import runner
from experiments.experiment import Experiment, load_experiment
from experiments.plan import Coordinates, Plan
from experiments.reading import read_runs, read_table
from experiments.results import regimes, results_of
from experiments.sweeping import experiment_of, require_size, sweep
from policies import load_policy
from policies.loader import CATALOGUE as POLICIES
from scenarios import load_scenario
from simulator import InputError, simulate

FilesOf = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def experiment(small_experiment: Path) -> Experiment:
    return load_experiment(str(small_experiment))


def edited(path: Path, *edits: tuple[str, str]) -> Experiment:
    """Load the experiment of a file after all of its edits, which are seen together."""
    text = path.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    return load_experiment(str(path))


FEW, TABLE = ("replications = 15", "replications = 3"), ('kind = "phase"', 'kind = "table"')


def tables(folder: Path, files_of: FilesOf) -> dict[str, bytes]:
    """The tables of a sweep but for wall-clock times."""
    found = {name: held for name, held in files_of(folder).items() if name.endswith(".parquet")}
    assert found.pop("times.parquet")
    return found


# ------------------------------------------------------------------------------------ the same bytes


@pytest.mark.unit
def test_resume_and_workers_give_the_same_bytes(
    small_experiment: Path, tmp_path: Path, files_of: FilesOf
) -> None:
    experiment = edited(small_experiment, ("replications = 15", "replications = 5"))
    one, two, parts = tmp_path / "one", tmp_path / "two", tmp_path / "parts"
    assert sweep(experiment, one, workers=0, show="none") == 0
    assert sweep(experiment, two, workers=2, show="none") == 0
    whole = tables(one, files_of)
    assert sorted(whole) == ["failures.parquet", "runs.parquet"]
    assert tables(two, files_of) == whole
    for words in (["horizon=110", "replication=3"], ["rationale=600"], []):
        assert sweep(experiment, parts, workers=0, only=words, show="none") == 0
    assert tables(parts, files_of) == whole
    touched = (one / "runs.parquet").stat().st_mtime_ns
    assert sweep(experiment, one, workers=0, show="none") == 0  # nothing is missing, nothing is written
    assert (one / "runs.parquet").stat().st_mtime_ns == touched


@pytest.mark.unit
def test_a_hurt_table_is_told_and_made_afresh(
    small_experiment: Path, tmp_path: Path, files_of: FilesOf
) -> None:
    experiment = edited(small_experiment, FEW)
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    whole = tables(tmp_path / "out", files_of)
    (tmp_path / "out" / "runs.parquet").write_bytes(b"PAR1 hurt")
    with pytest.raises(InputError, match=r"runs\.parquet: cannot be read .* --fresh"):
        sweep(experiment, tmp_path / "out", workers=0, show="none")
    assert sweep(experiment, tmp_path / "out", workers=0, fresh=True, show="none") == 0
    assert tables(tmp_path / "out", files_of) == whole


@pytest.mark.unit
def test_rows(experiment: Experiment, tmp_path: Path) -> None:
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    runs = read_runs(tmp_path / "out")
    assert list(runs["run"]) == list(range(60))
    assert runs["failure"].isna().all()
    assert set(runs["outcome"]) == {"horizon", "overflow"}
    means = results_of(tmp_path / "out", experiment).means
    columns = ["rationale", "horizon", "policy", "response", "mean", "low", "high", "n", "failed"]
    assert list(means.columns) == columns
    assert len(means) == 4 * 3
    assert experiment_of(tmp_path / "out").file == experiment.file
    plan = Plan(experiment)
    for run in (0, 17, 59):
        row = runs.iloc[run]
        assert {name: row[name] for name in plan.labels(plan.coordinates(run))} == plan.labels(
            plan.coordinates(run)
        )


# ------------------------------------------------------------------------------------ nobody moves a run

RATIO = '[[factor]]\nname = "ratio"\npath = "laws.summary.ratio"\nvalues = [0.3, 0.4]\n'
ADDED = {
    "a policy": [('["naive-never-summarised"]', '["guarded", "naive-never-summarised"]')],
    "a level": [("[100, 600]", "[50, 100, 300, 600]")],
    "a factor": [("[plot]", f"{RATIO}[plot]")],
    "replications": [("replications = 3", "replications = 5")],
    "a scenario": [('scenario = "constant-arrivals"', 'scenarios = ["tombstones", "constant-arrivals"]')],
    "a response": [('"overflowed"]', '"overflowed", "usd"]')],
}


@pytest.mark.unit
@pytest.mark.parametrize("added", ADDED)
def test_what_is_added_moves_nobody_elses_numbers(small_experiment: Path, tmp_path: Path, added: str) -> None:
    """Rows of common coordinates are equal, bit for bit."""
    before = edited(small_experiment, FEW, TABLE)
    sweep(before, tmp_path / "before", workers=0, show="none")
    after = edited(small_experiment, *ADDED[added])
    sweep(after, tmp_path / "after", workers=0, show="none")
    old, new = read_runs(tmp_path / "before"), read_runs(tmp_path / "after")
    assert len(new) > len(old) or added == "a response"
    if added == "a factor":
        new = new[new["ratio"] == load_scenario("constant-arrivals").setting().laws.summary.ratio]
    place = ["scenario", "rationale", "horizon", "policy", "replication"]
    columns = ["outcome", *before.file.responses]
    common = new.set_index(place)[columns].loc[pd.MultiIndex.from_frame(old[place])]
    pd.testing.assert_frame_equal(common, old.set_index(place)[columns], check_exact=True)


@pytest.mark.unit
def test_policies_and_points_meet_the_same_worlds(small_experiment: Path, tmp_path: Path) -> None:
    """What a world brings, turn by turn, does not hang on who is there; another brings something else."""
    experiment = edited(
        small_experiment,
        ("replications = 15", 'replications = 2\nkeep = ["turns"]'),
        TABLE,
        ('"constant-arrivals"', '"rewrite-budget-spiral"'),
        ('["naive-never-summarised"]', '["never-rewrite", "truncate-oldest"]'),
        ("[40, 110]", "[10, 12]"),
    )
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    turns = read_table(tmp_path / "out", "turns").merge(read_runs(tmp_path / "out"), on="run")
    arrived = turns[turns["turn"] <= 10].groupby(["replication", "run"])["arrived_tokens"].apply(list)
    worlds = [arrived.loc[world].map(tuple) for world in (0, 1)]
    assert [world.nunique() for world in worlds] == [1, 1]
    assert [len(world) for world in worlds] == [8, 8]
    assert worlds[0].iloc[0] != worlds[1].iloc[0]


# ------------------------------------------------------------------------------------ failures


@pytest.mark.unit
def test_a_failed_run_is_a_row(zoo: str, small_experiment: Path, tmp_path: Path) -> None:
    policies = f'["{zoo}:RaisesInPropose", "naive"]'
    broken = edited(small_experiment, TABLE, ('["naive-never-summarised"]', policies), ("= 15", "= 2"))
    assert sweep(broken, tmp_path / "out", workers=0, show="none") == 4
    results = results_of(tmp_path / "out")
    runs, failures = results.runs, results.failures
    failed = runs[runs["outcome"] == "failed"]
    assert set(failed["failed_stage"]) == set(failures["stage"]) == {"propose"}
    reason = "policy raised LookupError: no propose"
    assert set(failed["failure"]) == set(failures["message"]) == {reason}
    assert set(failures["type"]) == {"LookupError"}
    assert failures["traceback"].str.contains("LookupError: no propose").all()
    assert failures["run"].tolist() == failed["run"].tolist()
    assert failed["net_per_attempt_tokens"].isna().all()
    means = results.means
    assert set(means.loc[means["policy"] == "naive", "failed"]) == {0}
    assert means["failed"].sum() == 2 * 2 * 3


HOSTILE = """
import os
from simulator import Policy, RewritePlan


class Sound(Policy):
    name = "sound"

    def check(self, gauge):
        return False

    def propose(self, view):
        return RewritePlan()


class Ends(Sound):
    def check(self, gauge):
        os._exit(3)


class Holds(Sound):
    def check(self, gauge):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass


class Interrupts(Sound):
    def check(self, gauge):
        raise KeyboardInterrupt


class Overflows(Sound):
    def check(self, gauge):
        return self.check(gauge)


class Loops(Sound):
    def check(self, gauge):
        while True:
            gauge
            self


class PrintsASet(Sound):
    def check(self, gauge):
        raise ValueError(f"unknown {set('abcdefgh')}")


class Moves(Sound):
    def check(self, gauge):
        os.chdir("/")
        return False
"""
HOW = {
    "Ends": ("worker", "BrokenExecutor"),
    "Holds": ("worker", "TimeoutError"),
    "Interrupts": ("run", "KeyboardInterrupt"),
    "Overflows": ("check", "RecursionError"),
    "Loops": ("time limit", "TimeoutError"),
    "PrintsASet": ("check", "ValueError"),
}
"""Stage and type of the failure that a hostile policy meets."""


@pytest.fixture
def hostile(small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A run of a hostile policy and one of a sound one, with little time for each."""
    (tmp_path / "hostile_policies.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(runner, "STALL_SECONDS", 1.2)  # the watchdog looks once a second
    monkeypatch.setattr(runner, "CHUNKS_PATIENCE", 1)

    def written(kind: str, other: str = "hostile_policies:Sound") -> Path:
        edited(
            small_experiment,
            ("replications = 15", "replications = 1\ntime_limit_seconds = 1"),
            TABLE,
            ("[40, 110]", "[4]"),
            ("[100, 600]", "[100]"),
            ('["naive-never-summarised"]', f'["hostile_policies:{kind}", "{other}"]'),
        )
        return small_experiment

    return written


@pytest.mark.crash
@pytest.mark.parametrize("kind", HOW)
def test_a_hostile_policy_costs_its_own_runs_and_its_rows_are_alike(
    hostile: Callable[[str], Path], tmp_path: Path, files_of: FilesOf, kind: str
) -> None:
    experiment = load_experiment(str(hostile(kind)))
    for workers in (1, 2):
        assert sweep(experiment, tmp_path / str(workers), workers=workers, show="none") == 1
    failures = read_table(tmp_path / "1", "failures")
    assert set(failures["policy"]) == {f"hostile_policies:{kind}"}
    assert set(zip(failures["stage"], failures["type"], strict=True)) == {HOW[kind]}
    assert tables(tmp_path / "1", files_of) == tables(tmp_path / "2", files_of)


@pytest.mark.cli
def test_a_message_that_prints_a_set_is_the_same_in_each_session(
    hostile: Callable[[str], Path], spawn: Callable[..., object], tmp_path: Path
) -> None:
    path = hostile("PrintsASet")
    for folder in ("one", "two"):
        spawn("sweep", path, "--output", tmp_path / folder, "--workers", "1")
    assert len(read_table(tmp_path / "one", "failures")) == 1
    one, two = ((tmp_path / folder / "failures.parquet").read_bytes() for folder in ("one", "two"))
    assert one == two


@pytest.mark.unit
@pytest.mark.parametrize("workers", [0, 1])
def test_a_policy_that_leaves_its_folder_takes_no_other_along(
    hostile: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    (tmp_path / "own.toml").write_text((POLICIES / "naive.toml").read_text())
    monkeypatch.chdir(tmp_path)
    experiment = load_experiment(str(hostile("Moves", "own.toml")))
    assert sweep(experiment, tmp_path / "out", workers=workers, show="none") == 0


FLAKY = """
from pathlib import Path

from simulator import Policy, RewritePlan


class Flaky(Policy):
    name = "flaky"

    def check(self, gauge):
        if not Path({marker!r}).exists():
            raise OSError("the disk is away")
        return False

    def propose(self, view):
        return RewritePlan()
"""


@pytest.mark.unit
def test_what_failed_is_run_again_where_asked(
    small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "there"
    (tmp_path / "flaky_policy.py").write_text(FLAKY.format(marker=str(marker)))
    monkeypatch.syspath_prepend(tmp_path)
    policies = '["flaky_policy:Flaky", "never-rewrite"]'
    experiment = edited(small_experiment, FEW, TABLE, ('["naive-never-summarised"]', policies))
    out = tmp_path / "out"
    assert sweep(experiment, out, workers=0, show="none") == 12
    before = read_runs(out)
    marker.touch()
    assert sweep(experiment, out, workers=0, show="none") == 12  # a failure is a result
    assert sweep(experiment, out, workers=0, retry_failed=True, only=["replication=0"], show="none") == 8
    assert sweep(experiment, out, workers=0, retry_failed=True, show="none") == 0
    after = read_runs(out)
    assert after["failure"].isna().all()
    assert read_table(out, "failures").empty
    other = before["policy"] == "never-rewrite"
    pd.testing.assert_frame_equal(after[other], before[other], check_exact=True)


@pytest.mark.unit
def test_what_failed_at_any_stage_is_run_again(
    small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve replications in three stages, of which all of one policy failed."""
    marker = tmp_path / "there"
    (tmp_path / "staged_policy.py").write_text(FLAKY.format(marker=str(marker)))
    monkeypatch.syspath_prepend(tmp_path)
    rule = (
        '{ response = "final_occupancy_pct", baseline = "never-rewrite", half_width = 0.1, '
        "first = 4, step = 4, look_ahead = 2, cap = 12 }"
    )
    experiment = edited(
        small_experiment,
        ("replications = 15", f"replications = {rule}"),
        TABLE,
        ('"overflowed"]', '"final_occupancy_pct"]'),
        ('["naive-never-summarised"]', '["staged_policy:Flaky", "never-rewrite"]'),
        ("[40, 110]", "[4]"),
        ("[100, 600]", "[100]"),
    )
    assert sweep(experiment, tmp_path / "out", workers=0, show="none") == 12
    marker.touch()
    assert sweep(experiment, tmp_path / "out", workers=0, retry_failed=True, show="none") == 0


# ------------------------------------------------------------------------------------ kept tables


@pytest.mark.unit
def test_kept_tables_are_those_of_single_runs(small_experiment: Path, tmp_path: Path) -> None:
    kept = ("turns", "rewrites", "events", "obedience")
    experiment = edited(
        small_experiment,
        ("replications = 15", f"replications = 2\nkeep = {list(kept)}"),
        TABLE,
        ('"constant-arrivals"', '"all-four"'),
        ('["naive-never-summarised"]', '["naive", "guarded"]'),
    )
    assert sweep(experiment, tmp_path / "out", workers=2, show="none") == 0
    plan, rows = Plan(experiment), dict.fromkeys(kept, 0)
    found = {name: read_table(tmp_path / "out", name) for name in kept}
    for run in range(0, plan.size, 3):
        at = plan.coordinates(run)
        point = experiment.point(at.point)
        setting = load_scenario("all-four", point.of_scenario).setting()
        policy = load_policy(experiment.policies[at.policy])
        alone = simulate(setting, policy, (experiment.file.seed, at.replication))
        for name in kept:
            own = found[name][found[name]["run"] == run].drop(columns="run").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, getattr(alone, name), check_dtype=False, check_exact=True)
            rows[name] += len(own)
    assert all(count > 0 for count in rows.values()), rows


# ------------------------------------------------------------------------------------ size


@pytest.mark.unit
def test_a_very_large_sweep_needs_a_word_of_consent(small_experiment: Path) -> None:
    large = edited(small_experiment, ("replications = 15", "replications = 25_001"))
    with pytest.raises(InputError, match="a sweep of 100,004 runs; expected at most 100,000, or --yes"):
        require_size(large, consent=False)
    require_size(large, consent=True)
    just = edited(small_experiment, ("replications = 25_001", "replications = 25_000"))
    require_size(just, consent=False)
    assert Plan(just).number(Coordinates(0, 3, 0, 24_999)) == 99_999


# ------------------------------------------------------------------------------------ a study


@pytest.mark.theory
@pytest.mark.slow
def test_spiral_boundary_lies_within_one_step_of_the_analytic_line(tmp_path: Path) -> None:
    """Freed = rationale + measurement: six results of 175 tokens, of which summaries keep 53 each."""
    boundary = load_experiment("spiral-boundary")
    assert boundary.file.plot.line is not None
    intercept, slope = boundary.file.plot.line
    assert (intercept, slope) == (6 * (175 - 53), -1)
    sweep(boundary, tmp_path, show="none")
    found = regimes(results_of(tmp_path, boundary).means, ["rationale", "measurement"])
    assert len(found) == 15 * 15
    step = 50
    for row in found.itertuples():
        spent = row.rationale + row.measurement
        if spent >= intercept + step:
            assert row.regime == "spiral", (row.rationale, row.measurement)
        if spent <= intercept - step:
            assert row.regime != "spiral", (row.rationale, row.measurement)
    for rationale, column in found.groupby("rationale"):
        spirals = column.loc[column["regime"] == "spiral", "measurement"]
        line = intercept + slope * rationale
        if spirals.empty:
            assert line > 725 - step
        else:
            assert abs(spirals.min() - line) <= step or line < 25
