"""Sweeps: the grid, the name of a plan, the same bytes whatever happens, regimes and pictures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from experiments.experiment import Experiment, load_experiment
from experiments.store import read_runs
from experiments.sweeping import (
    digest_of,
    experiment_of,
    picture,
    plain_form,
    plan_of,
    regimes,
    sweep,
    table_of,
)
from policies.loader import CATALOGUE as POLICIES
from scenarios.scenario import CATALOGUE as SCENARIOS
from simulator import InputError

FilesOf = Callable[[Path], dict[str, bytes]]

LEVELS = """
[[factor]]
name = "both"
levels = [
  { label = "small", set = { "laws.rationale.base" = 10, "policy.trigger.fraction" = 0.8 } },
  { label = "large", set = { "laws.rationale.base" = 900, "policy.trigger.fraction" = 0.7 } },
]
"""


@pytest.fixture
def experiment(small_experiment: Path) -> Experiment:
    return load_experiment(str(small_experiment))


def edited(path: Path, before: str, after: str) -> Experiment:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    return load_experiment(str(path))


# ------------------------------------------------------------------------------------ the plan


@pytest.mark.unit
def test_the_grid_goes_through_the_last_factor_fastest(experiment: Experiment) -> None:
    assert [point.labels for point in experiment.points()] == [
        {"rationale": 100, "horizon": 40},
        {"rationale": 100, "horizon": 110},
        {"rationale": 600, "horizon": 40},
        {"rationale": 600, "horizon": 110},
    ]
    tasks = plan_of(experiment)
    assert [task.run.replication for task in tasks[:16]] == [*range(15), 0]
    assert [task.run.setting.horizon for task in tasks[::15]] == [40, 110, 40, 110]


@pytest.mark.unit
def test_levels_move_several_paths_of_scenario_and_policy(small_experiment: Path) -> None:
    text = small_experiment.read_text()
    head = text[: text.index("[[factor]]")]
    small_experiment.write_text(head + LEVELS + '[plot]\nkind = "table"\n')
    points = list(load_experiment(str(small_experiment)).points())
    assert [point.labels for point in points] == [{"both": "small"}, {"both": "large"}]
    assert [point.of_scenario for point in points] == [
        {"laws.rationale.base": 10},
        {"laws.rationale.base": 900},
    ]
    assert [point.of_policy for point in points] == [{"trigger.fraction": 0.8}, {"trigger.fraction": 0.7}]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"overflowed"', '"overflowd"', "unknown response 'overflowd'.* did you mean 'overflowed'"),
        ("[100, 600]", "[100, 100]", "a level stands twice"),
        ("[100, 600]", "[]", "at least one of values"),
        ("[100, 600]", '[100, "many"]', "values of one kind"),
        ('path = "run.horizon"', 'path = "laws.rationale.base"', "two factors move laws.rationale.base"),
        ('name = "horizon"', 'name = "rationale"', "two factors share a name"),
        ('name = "horizon"', 'name = "policy"', "'policy' is that of a column"),
        ('name = "horizon"', 'name = "overflowed"', "'overflowed' is a factor and a response"),
        ('path = "run.horizon"\n', "", "either path with values, or levels"),
        ('kind = "phase"', 'kind = "response"', "a response plot shows 1 factor, not 2"),
        ('kind = "phase"', 'kind = "heat"', "not among the responses"),
        ('"net_per_attempt_tokens", ', "", "a phase plot needs the responses"),
        ("replications = 15", "replications = 0", "replications: .*greater than or equal to 1"),
        ("policies = [", "policy = [", "unknown key.* did you mean 'policies'"),
    ],
)
def test_faults_of_an_experiment(small_experiment: Path, before: str, after: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        edited(small_experiment, before, after)
    assert str(small_experiment) in str(caught.value)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"run.horizon"', '"run.horizn"', "run.horizn: unknown key.* did you mean 'horizon'"),
        ("[40, 110]", "[40, 0]", "run.horizon"),
        ('"run.horizon"', '"policy.trigger.fracton"', "trigger.fracton: unknown key"),
        ('"constant-arrivals"', '"constant-arrival"', "did you mean 'constant-arrivals'"),
        ('"naive-never-summarised"', '"naive-never-summarized"', "did you mean 'naive-never-summarised'"),
    ],
)
def test_every_point_is_built_before_the_first_run(
    small_experiment: Path, tmp_path: Path, before: str, after: str, told: str
) -> None:
    broken = edited(small_experiment, before, after)
    with pytest.raises(InputError, match=told):
        sweep(broken, tmp_path / "out", workers=1, show="none")
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------ the name of the plan


@pytest.fixture
def own(small_experiment: Path, tmp_path: Path) -> Path:
    """The small experiment over copies of its scenario and policy, and a script in a CSV beside."""
    scenario = (SCENARIOS / "constant-arrivals.toml").read_text()
    start, end = scenario.index("[workload]"), scenario.index("[laws.rationale]")
    scripted = '[workload]\nkind = "scripted"\ncsv = "script.csv"\n\n'
    (tmp_path / "world.toml").write_text(scenario[:start] + scripted + scenario[end:])
    (tmp_path / "script.csv").write_text("at,kind,tokens,until\n1,tool_result,175,1000\n")
    (tmp_path / "mine.toml").write_text((POLICIES / "naive-never-summarised.toml").read_text())
    (tmp_path / "naive.toml").write_text((POLICIES / "naive.toml").read_text())
    text = small_experiment.read_text()
    text = text.replace('"constant-arrivals"', f'"{tmp_path / "world.toml"}"')
    small_experiment.write_text(text.replace('"naive-never-summarised"', f'"{tmp_path / "mine.toml"}"'))
    return small_experiment


@pytest.mark.unit
@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("two-by-two.toml", "replications = 15", "replications = 16"),
        ("two-by-two.toml", "[100, 600]", "[100, 601]"),
        ("two-by-two.toml", ', "overflowed"', ""),
        ("two-by-two.toml", "replications = 15", "replications = 15\nseed = 1"),
        ("two-by-two.toml", 'name = "rationale"', 'name = "planner"'),
        ("world.toml", "tokens = 24_000", "tokens = 24_001"),
        ("world.toml", "ratio = 0.30", "ratio = 0.31"),
        ("script.csv", "175", "176"),
        ("naive.toml", "0.905", "0.904"),
        ("naive.toml", "limit = 6", "limit = 7"),
    ],
)
def test_the_digest_follows_what_the_rows_follow_from(own: Path, file: str, before: str, after: str) -> None:
    digest = digest_of(load_experiment(str(own)))
    edited_file = own.parent / file
    text = edited_file.read_text()
    assert before in text
    edited_file.write_text(text.replace(before, after))
    assert digest_of(load_experiment(str(own))) != digest


@pytest.mark.unit
def test_the_digest_follows_nothing_else(own: Path) -> None:
    digest = digest_of(load_experiment(str(own)))
    for path in own.parent.glob("*.toml"):
        text = path.read_text()
        path.write_text(f"# a remark\n{text}".replace('summary = "', 'summary = "really, '))
    edited(own, 'kind = "phase"', 'kind = "table"')
    assert digest_of(load_experiment(str(own))) == digest


@pytest.mark.unit
def test_the_digest_follows_the_text_of_a_class(small_experiment: Path, tmp_path: Path) -> None:
    """Asked in processes of their own: there a set has another order, and a module another text."""
    module = tmp_path / "mine.py"
    module.write_text("from policies.composed import ComposedPolicy as Base\nclass Mine:\n    pass\n")
    module.write_text("from simulator.contracts import Policy\n\n\nclass Mine(Policy):\n    name = 'mine'\n")
    edited(small_experiment, 'kind = "phase"', 'kind = "table"')
    edited(small_experiment, '["naive-never-summarised"]', '["mine:Mine", "guarded"]')
    script = (
        "import sys\nfrom experiments.experiment import load_experiment\n"
        "from experiments.sweeping import digest_of\nprint(digest_of(load_experiment(sys.argv[1])))\n"
    )

    def asked(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-B", "-c", script, str(small_experiment)],
            env={"PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first = asked("1")
    assert asked("2") == first
    module.write_text(module.read_text() + "    limit = 3\n")
    assert asked("1") != first


@pytest.mark.unit
def test_plain_form_tells_no_address() -> None:
    class Thing:
        def __init__(self, size: int) -> None:
            self.size = size

    assert plain_form(Thing(1)) == plain_form(Thing(1)) != plain_form(Thing(2))
    assert plain_form({"b", "a", "c"}) == ["a", "b", "c"]
    assert plain_form([len, Thing]) == ["builtins.len", f"{__name__}.{Thing.__qualname__}"]


# ------------------------------------------------------------------------------------ running


@pytest.mark.unit
def test_resume_and_workers_give_the_same_bytes(
    experiment: Experiment, tmp_path: Path, files_of: FilesOf
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert sweep(experiment, one, workers=1, show="none") == 0
    assert sweep(experiment, two, workers=2, show="none") == 0
    parts = files_of(one / "runs")
    assert sorted(parts) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert files_of(two / "runs") == parts
    (two / "runs" / "part-00001.parquet").unlink()
    untouched = (two / "runs" / "part-00000.parquet").stat().st_mtime_ns
    assert sweep(experiment, two, workers=1, show="none") == 0
    assert files_of(two / "runs") == parts
    assert (two / "runs" / "part-00000.parquet").stat().st_mtime_ns == untouched
    (two / "runs" / "part-00002.parquet").write_bytes(b"PAR1 hurt")
    assert sweep(experiment, two, workers=1, show="none") == 0
    assert files_of(two / "runs") == parts


@pytest.mark.unit
def test_rows(experiment: Experiment, tmp_path: Path) -> None:
    sweep(experiment, tmp_path / "out", workers=1, show="none")
    runs = read_runs(tmp_path / "out")
    assert list(runs["run"]) == list(range(60))
    assert runs["failure"].isna().all()
    assert set(runs["outcome"]) == {"horizon", "overflow"}
    table = table_of(tmp_path / "out", experiment)
    assert list(table.columns) == [
        "rationale",
        "horizon",
        "policy",
        "response",
        "mean",
        "low",
        "high",
        "n",
        "failed",
    ]
    assert len(table) == 4 * 3
    assert experiment_of(tmp_path / "out").file == experiment.file


@pytest.mark.unit
def test_a_failed_run_is_a_row(zoo: str, small_experiment: Path, tmp_path: Path) -> None:
    edited(small_experiment, 'kind = "phase"', 'kind = "table"')
    broken = edited(small_experiment, '["naive-never-summarised"]', f'["{zoo}:RaisesInPropose", "naive"]')
    broken = edited(small_experiment, "replications = 15", "replications = 2")
    assert sweep(broken, tmp_path / "out", workers=1, show="none") == 4
    runs = read_runs(tmp_path / "out")
    failed = runs[runs["outcome"] == "failed"]
    assert set(failed["failed_stage"]) == {"propose"}
    assert set(failed["failure"]) == {"policy raised LookupError: no propose"}
    assert failed["net_per_attempt_tokens"].isna().all()
    table = table_of(tmp_path / "out", broken)
    assert set(table.loc[table["policy"] == "naive", "failed"]) == {0}
    assert table["failed"].sum() == 2 * 2 * 3
    picture(tmp_path / "out", broken)  # what is there is drawn


# ------------------------------------------------------------------------------------ regimes and pictures


@pytest.mark.unit
@pytest.mark.parametrize(
    ("net", "arrivals", "regime"),
    [
        (-0.1, 100.0, "spiral"),
        (0.0, 100.0, "insufficient"),
        (99.9, 100.0, "insufficient"),
        (100.0, 100.0, "stable"),
        (None, None, "stable"),
        (5.0, 0.0, "stable"),
    ],
)
def test_regimes_by_definition(net: float | None, arrivals: float | None, regime: str) -> None:
    rows = [
        {"x": 1, "policy": "p", "response": name, "mean": value, "n": int(value is not None), "failed": 0}
        for name, value in (("net_per_attempt_tokens", net), ("arrivals_per_turn_tokens", arrivals))
    ]
    found = regimes(pd.DataFrame(rows), ["x"])
    assert found[["x", "policy", "regime"]].to_numpy().tolist() == [[1, "p", regime]]


@pytest.mark.unit
def test_a_point_of_which_every_run_failed_has_no_regime() -> None:
    rows = [
        {"x": 1, "policy": "p", "response": name, "mean": None, "n": 0, "failed": 3}
        for name in ("net_per_attempt_tokens", "arrivals_per_turn_tokens")
    ]
    assert regimes(pd.DataFrame(rows), ["x"]).empty


@pytest.mark.unit
def test_pictures_of_a_sweep(experiment: Experiment, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest\.json"):
        picture(tmp_path, experiment)
    sweep(experiment, tmp_path / "out", workers=1, show="none")
    for kind in ("phase", "heat", "table", None):
        assert picture(tmp_path / "out", experiment, kind).axes
    with pytest.raises(InputError, match="shows 1 factor, not 2"):
        picture(tmp_path / "out", experiment, "response")
    with pytest.raises(InputError, match="did you mean 'heat'"):
        picture(tmp_path / "out", experiment, "het")


@pytest.mark.unit
def test_a_sweep_that_has_not_begun_holds_no_results(experiment: Experiment, tmp_path: Path) -> None:
    sweep(experiment, tmp_path / "out", workers=1, show="none")
    for part in (tmp_path / "out" / "runs").iterdir():
        part.unlink()
    with pytest.raises(InputError, match="holds no results yet"):
        picture(tmp_path / "out", experiment)


@pytest.mark.theory
@pytest.mark.slow
def test_spiral_boundary_lies_within_one_step_of_the_analytic_line(tmp_path: Path) -> None:
    """Freed = rationale + measurement: six results of 175 tokens, of which summaries keep 53 each."""
    boundary = load_experiment("spiral-boundary")
    assert boundary.file.plot.line is not None
    intercept, slope = boundary.file.plot.line
    assert (intercept, slope) == (6 * (175 - 53), -1)
    sweep(boundary, tmp_path, show="none")
    found = regimes(table_of(tmp_path, boundary), ["rationale", "measurement"])
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


@pytest.mark.unit
def test_a_cell_holds_one_policy(small_experiment: Path) -> None:
    with pytest.raises(InputError, match="a phase plot shows one policy, not 2"):
        edited(small_experiment, '["naive-never-summarised"]', '["naive", "guarded"]')
