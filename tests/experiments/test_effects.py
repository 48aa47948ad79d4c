"""Differences and effects: contrasts by their definition, exact where noise cancels, intervals that cover."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from experiments.effects import (
    differences,
    differences_of,
    effects,
    effects_of,
    excludes_zero,
    factorial_contrasts,
)
from experiments.experiment import Experiment, ExperimentFile, Factor, Level, PlotTable, load_experiment
from experiments.reports import contrasts_table, sweep_table
from experiments.store import read_runs
from experiments.sweeping import contrasts, picture, plain_form, plan_of, sweep, table_of
from policies import load_policy
from scenarios import load_scenario
from simulator import InputError

Point = Mapping[str, object]

CONFIDENCE = 0.95
FALSE_ALARM = 1e-4
"""How often a test of coverage fails though the intervals are right."""


def switches(*names: str, replications: int = 5, responses: tuple[str, ...] = ("y",)) -> ExperimentFile:
    factors = [Factor(name=name, path=f"a.{name}", values=(False, True)) for name in names]
    return ExperimentFile(
        scenario="s",
        policies=["p"],
        replications=replications,
        responses=list(responses),
        factor=factors,
        plot=PlotTable(kind="effects", response=responses[0]),
    )


def levels(*labels: str, replications: int = 5, responses: tuple[str, ...] = ("y",)) -> ExperimentFile:
    factor = Factor(name="gate off", levels=tuple(Level(label=label, set={label: 1}) for label in labels))
    return ExperimentFile(
        scenario="s",
        policies=["p"],
        replications=replications,
        responses=list(responses),
        factor=[factor],
        plot=PlotTable(kind="differences", baseline=labels[0]),
    )


def made(file: ExperimentFile, value: Callable[[Point, int], object]) -> pd.DataFrame:
    """The rows of a sweep whose runs give `value` of the point and the replication."""
    points = itertools.product(*(factor.labels for factor in file.factor))
    rows = []
    for labels, replication in itertools.product(points, range(file.replications)):
        point = dict(zip([factor.name for factor in file.factor], labels, strict=True))
        found = {name: value(point, replication) for name in file.responses}
        rows.append({**point, "policy": "p", "replication": replication, "failure": None, **found})
    return pd.DataFrame(rows)


def by_effect(table: pd.DataFrame) -> dict[str, list[float]]:
    return {row["effect"]: [row["mean"], row["low"], row["high"]] for row in table.to_dict("records")}


def failing(runs: pd.DataFrame, which: pd.Series) -> pd.DataFrame:
    """The same rows, some of failed runs."""
    return runs.assign(failure=which.map({True: "policy raised", False: None}), y=runs["y"].where(~which))


# ------------------------------------------------------------------------------------ effects


@pytest.mark.theory
def test_known_terms_of_a_cube_are_recovered() -> None:
    """With y = aA + bB + gAB + dABC over switches of 0 and 1, by the definition of the contrasts:

    A = a + g/2 + d/4, B = b + g/2 + d/4, C = d/4, AB = g/2 + d/4, AC = BC = ABC = d/4.
    """
    a, b, g, d = 12.0, -7.0, 4.0, 8.0
    file = switches("A", "B", "C")
    worlds = [0.0, 1000.0, -30.0, 5.0, 77.0]

    def value(point: Point, replication: int) -> float:
        x, y, z = (float(bool(point[name])) for name in "ABC")
        return worlds[replication] + a * x + b * y + g * x * y + d * x * y * z

    table = effects_of(made(file, value), file)
    assert list(table.columns) == ["response", "effect", "order", "mean", "low", "high", "n"]
    assert table["order"].tolist() == [1, 1, 1, 2, 2, 2, 3]
    assert set(table["n"]) == {5}
    expected = {
        "A": a + g / 2 + d / 4,
        "B": b + g / 2 + d / 4,
        "C": d / 4,
        "A x B": g / 2 + d / 4,
        "A x C": d / 4,
        "B x C": d / 4,
        "A x B x C": d / 4,
    }
    assert by_effect(table) == {effect: [mean, mean, mean] for effect, mean in expected.items()}


@pytest.mark.property
@given(st.lists(st.integers(-1000, 1000), min_size=8, max_size=8))
def test_contrasts_are_those_of_the_definition(values: list[int]) -> None:
    grid = np.array(values, dtype=float).reshape(1, 2, 2, 2)
    found = factorial_contrasts(grid)[0]
    y = grid[0]
    assert found[1, 0, 0] == y[1].mean() - y[0].mean()
    assert found[0, 0, 1] == y[:, :, 1].mean() - y[:, :, 0].mean()

    def effect_of_first(second: int) -> float:
        return float(y[1, second].mean() - y[0, second].mean())

    assert found[1, 1, 0] == (effect_of_first(1) - effect_of_first(0)) / 2

    def interaction(third: int) -> float:
        return float((y[1, 1, third] - y[0, 1, third]) - (y[1, 0, third] - y[0, 0, third])) / 2

    assert found[1, 1, 1] == (interaction(1) - interaction(0)) / 2


@pytest.mark.theory
def test_rounding_is_no_effect() -> None:
    """Tenths have no exact binary form: what their sums leave behind must not pass for an interaction."""
    file = switches("A", "B", replications=40)
    noise = np.random.default_rng(3).normal(5, 2, 40)
    runs = made(file, lambda point, world: noise[world] + 0.1 * bool(point["A"]) + 0.2 * bool(point["B"]))
    found = by_effect(effects_of(runs, file))
    assert found["A x B"] == [0, 0, 0]
    assert found["A"] == pytest.approx([0.1, 0.1, 0.1])
    small = made(file, lambda point, _: 1e-9 * bool(point["A"]))  # small responses have effects too
    assert by_effect(effects_of(small, file))["A"] == pytest.approx([1e-9, 1e-9, 1e-9], rel=1e-9)


def covered(table: pd.DataFrame, truth: float) -> None:
    """Assert that as many intervals hold the truth as a binomial law allows."""
    count = int(((table["low"] <= truth) & (truth <= table["high"])).sum())
    least, most = binom.interval(1 - FALSE_ALARM, len(table), CONFIDENCE)
    assert least <= count <= most


@pytest.mark.theory
def test_intervals_of_effects_cover() -> None:
    """Two thousand responses with a common and a private noise; A does 3, B nothing, together 2 more."""
    responses = tuple(f"y{number}" for number in range(2000))
    file = switches("A", "B", replications=6, responses=responses)
    random = np.random.default_rng(20261113)
    common = random.normal(0, 50, (6, len(responses)))
    rows = []
    for a, b, world in itertools.product((False, True), (False, True), range(6)):
        values = common[world] + 3 * a + 2 * (a and b) + random.normal(0, 2, len(responses))
        labels = {"A": a, "B": b, "policy": "p", "replication": world, "failure": None}
        rows.append(labels | dict(zip(responses, values, strict=True)))
    table = effects_of(pd.DataFrame(rows), file)
    for effect, truth in (("A", 3 + 2 / 2), ("B", 2 / 2), ("A x B", 2 / 2)):
        own = table[table["effect"] == effect]
        covered(own, truth)
        assert (own["high"] - own["low"]).median() < 10  # the common noise of 50 fell out


@pytest.mark.unit
def test_a_world_counts_where_all_its_points_do() -> None:
    file = switches("A", "B")
    runs = made(file, lambda point, world: 10.0 * world + 4 * bool(point["A"]))
    hurt = failing(runs, (runs["replication"] == 2) & runs["A"] & ~runs["B"])
    table = effects_of(hurt, file)
    assert table["n"].tolist() == [4, 4, 4]
    assert table["mean"].tolist() == [4, 0, 0]
    none = effects_of(failing(runs, runs["A"] & runs["B"]), file)
    assert none["n"].tolist() == [0, 0, 0]
    assert none["mean"].isna().all()
    assert "A x B\n" in contrasts_table(none)  # an empty cell, neither None nor nan


@pytest.mark.unit
@pytest.mark.parametrize("values", [(0, 1), (0.5, 2), ("off", "on"), (False, True), (1.0, 0.0)])
def test_the_second_level_is_the_high_one(values: tuple[float | str, float | str]) -> None:
    factors = [Factor(name="A", path="a", values=values), Factor(name="B", path="b", values=(1, 2))]
    file = switches("A", "B").model_copy(update={"factor": factors})
    runs = made(file, lambda point, _: 7.0 if point["A"] == values[1] else 2.0)
    assert by_effect(effects_of(runs, file))["A"] == [5, 5, 5]


# ------------------------------------------------------------------------------------ differences


@pytest.mark.theory
def test_common_noise_cancels() -> None:
    file = levels("none", "one", "two", replications=30)
    noise = np.random.default_rng(5).lognormal(3, 2, 30)
    does = {"none": 0.0, "one": 0.1, "two": 0.0}
    table = differences_of(made(file, lambda point, world: noise[world] + does[str(point["gate off"])]), file)
    assert list(table.columns) == ["level", "response", "mean", "low", "high", "n", "failed", "missing"]
    one, two = table.to_dict("records")
    assert (one["level"], two["level"]) == ("one", "two")
    assert (one["mean"], one["low"], one["high"]) == pytest.approx((0.1, 0.1, 0.1), rel=1e-9)
    assert (two["mean"], two["low"], two["high"]) == (0, 0, 0)
    assert excludes_zero(one["low"], one["high"])
    assert not excludes_zero(two["low"], two["high"])


@pytest.mark.theory
def test_intervals_of_differences_cover() -> None:
    responses = tuple(f"y{number}" for number in range(2000))
    file = levels("none", "one", replications=6, responses=responses)
    random = np.random.default_rng(20261114)
    common = random.normal(0, 50, (6, len(responses)))
    rows = []
    for level, world in itertools.product(("none", "one"), range(6)):
        values = common[world] - 3 * (level == "one") + random.normal(0, 2, len(responses))
        labels = {"gate off": level, "policy": "p", "replication": world, "failure": None}
        rows.append(labels | dict(zip(responses, values, strict=True)))
    covered(differences_of(pd.DataFrame(rows), file), -3)


@pytest.mark.unit
def test_a_failed_run_takes_its_pair_along() -> None:
    file = levels("none", "one", "two")
    runs = made(file, lambda point, world: 100.0 * world + 2 * (point["gate off"] == "one"))
    level, world = runs["gate off"], runs["replication"]
    hurt = failing(runs, ((level == "none") & (world == 0)) | ((level == "one") & world.isin([0, 3])))
    hurt.loc[(level == "two") & (world == 4), "y"] = None
    table = differences_of(hurt, file)
    assert counts(table) == {"one": (3, 2, 0), "two": (3, 1, 1)}
    assert table["mean"].tolist() == [2, 0]
    unfinished = differences_of(runs[level != "two"], file)
    assert counts(unfinished) == {"one": (5, 0, 0), "two": (0, 0, 5)}


def counts(table: pd.DataFrame) -> dict[str, tuple[int, int, int]]:
    """How many pairs stand behind each level, failed, and have no value."""
    return {row["level"]: (row["n"], row["failed"], row["missing"]) for row in table.to_dict("records")}


@pytest.mark.unit
def test_one_pair_bounds_nothing() -> None:
    file = levels("none", "one", replications=1)
    (row,) = differences_of(made(file, lambda *_: 1.0), file).to_dict("records")
    assert (row["low"], row["high"]) == (-np.inf, np.inf)
    assert not excludes_zero(row["low"], row["high"])


# ------------------------------------------------------------------------------------ experiment files

EFFECTS = ('kind = "phase"', 'kind = "effects"\nresponse = "overflowed"')
ONE_FACTOR = '[[factor]]\nname = "horizon"\npath = "run.horizon"\nvalues = [40, 110]\n'


def written(path: Path, *edits: tuple[str, str]) -> Path:
    text = path.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    return path


@pytest.mark.unit
@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([EFFECTS, ("[100, 600]", "[100, 300, 600]")], "2 levels, and 'rationale' has 3 levels; expected 2"),
        ([EFFECTS, ("[40, 110]", "[40]")], "2 levels, and 'horizon' has 1 level;"),
        ([EFFECTS, (ONE_FACTOR, "")], "an effects plot shows 2 factors or more, not 1"),
        ([EFFECTS, ('response = "overflowed"', 'response = "overflwed"')], "did you mean 'overflowed'"),
        ([EFFECTS, ('["naive-never', '["guarded", "naive-never')], "an effects plot shows one policy, not 2"),
        ([('"phase"', '"effect"')], "plot.kind: unknown value 'effect'.* did you mean 'effects'"),
        ([('"phase"', '"differences"')], "a differences plot shows 1 factor, not 2"),
    ],
)
def test_faults_of_files_with_effects(
    small_experiment: Path, edits: list[tuple[str, str]], told: str
) -> None:
    path = written(small_experiment, *edits)
    with pytest.raises(InputError, match=told) as caught:
        load_experiment(str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("baseline", "values", "told"),
    [
        ("", "[100, 600]", "differences need a baseline; expected plot.baseline, one of 100, 600"),
        ("baseline = 60", "[100, 600]", "the baseline 60 is no level of 'rationale'.* did you mean '600'"),
        ("baseline = true", "[1, 600]", "the baseline True is no level"),
        ("baseline = [1]", "[1, 600]", "plot.baseline"),
        ("baseline = 100", "[100]", "differences need a level beside the baseline"),
    ],
)
def test_faults_of_baselines(small_experiment: Path, baseline: str, values: str, told: str) -> None:
    edits = [(ONE_FACTOR, ""), ("[100, 600]", values), ('"phase"', f'"differences"\n{baseline}')]
    with pytest.raises(InputError, match=told):
        load_experiment(str(written(small_experiment, *edits)))


@pytest.mark.unit
def test_a_baseline_that_is_misspelt() -> None:
    with pytest.raises(InputError, match="did you mean 'none'"):
        differences(Path("nowhere"), misspelt(load_experiment("gate-off")))


def misspelt(experiment: Experiment) -> Experiment:
    plot = experiment.file.plot.model_copy(update={"baseline": "nnone"})
    return Experiment(experiment.name, experiment.path, experiment.file.model_copy(update={"plot": plot}))


@pytest.mark.documented
@pytest.mark.parametrize(("name", "points", "replications"), [("gate-off", 5, 60), ("gate-ablation", 16, 40)])
def test_plans_of_the_catalogue(name: str, points: int, replications: int) -> None:
    experiment = load_experiment(name)
    assert len(list(experiment.points())) == points
    assert len(plan_of(experiment)) == points * replications


@pytest.mark.unit
def test_a_level_that_sets_nothing_is_the_file() -> None:
    experiment = load_experiment("gate-off")
    first = next(experiment.points())
    assert (first.labels, first.of_scenario, first.of_policy) == ({"gate off": "none"}, {}, {})
    task = plan_of(experiment)[0]
    assert task.run.setting == load_scenario(experiment.file.scenario).setting()
    assert plain_form(load_policy(task.run.policy, task.run.overrides)) == plain_form(load_policy("guarded"))
    other = plan_of(experiment)[experiment.file.replications].run
    assert plain_form(load_policy(other.policy, other.overrides)) != plain_form(load_policy("guarded"))


# ------------------------------------------------------------------------------------ of a sweep that ran


@pytest.mark.unit
def test_effects_of_a_sweep(small_experiment: Path, tmp_path: Path) -> None:
    experiment = load_experiment(str(written(small_experiment, EFFECTS)))
    sweep(experiment, tmp_path / "out", workers=1, show="none")
    found = effects(tmp_path / "out", experiment)
    assert len(found) == 3 * 3
    runs = read_runs(tmp_path / "out")
    means = runs.groupby("rationale")["overflowed"].mean()
    own = found[(found["response"] == "overflowed") & (found["effect"] == "rationale")]
    assert own["mean"].item() == pytest.approx(means[600] - means[100])
    shown = contrasts(tmp_path / "out", experiment)
    assert shown is not None
    pd.testing.assert_frame_equal(shown, found)
    said = sweep_table(table_of(tmp_path / "out", experiment), Path("x.png"), shown)
    assert "rationale x horizon" in said
    assert said.endswith("The picture is x.png\n")
    assert picture(tmp_path / "out", experiment).axes
    with pytest.raises(InputError, match="a differences plot shows 1 factor, not 2"):
        picture(tmp_path / "out", experiment, "differences")


@pytest.mark.unit
def test_differences_of_a_sweep(small_experiment: Path, tmp_path: Path) -> None:
    edits = [(ONE_FACTOR, ""), ('"phase"', '"differences"\nbaseline = 600')]
    experiment = load_experiment(str(written(small_experiment, *edits)))
    sweep(experiment, tmp_path / "out", workers=1, show="none")
    found = differences(tmp_path / "out", experiment).set_index("response")
    assert set(found["level"]) == {100}
    arrivals = found.loc["arrivals_per_turn_tokens"]
    assert arrivals["n"] == 15
    words = [text.get_text() for text in picture(tmp_path / "out", experiment).axes[0].texts]
    assert words[0].startswith("15 replications; differences to '600'")
    with pytest.raises(InputError, match="not 1"):
        picture(tmp_path / "out", experiment, "effects")


@pytest.mark.unit
def test_a_table_has_no_contrasts(small_experiment: Path, tmp_path: Path) -> None:
    assert contrasts(tmp_path, load_experiment(str(small_experiment))) is None


@pytest.mark.unit
@pytest.mark.parametrize("length", range(12, 60))
def test_the_printed_table_holds_every_effect_and_response(length: int) -> None:
    """Whatever the widths, no cell is folded."""
    responses = tuple(f"{'a' * length}{number}" for number in range(9))
    file = switches("A", "B", replications=3, responses=responses)
    runs = made(file, lambda point, world: 1000.0 * bool(point["A"]) + world * bool(point["B"]))
    said = contrasts_table(effects_of(runs, file))
    assert max(len(line) for line in said.splitlines()) <= 150
    for name in responses:
        assert name in said
    assert said.count("1,000 [1,000, 1,000]*") == 9
    assert said.count("0 [0, 0]\n") + said.count("0 [0, 0] ") == 9
    assert said.count("1 [-1.48, 3.48]") == 9  # mean of 0, 1, 2 with t(2) = 4.303 / sqrt(3)
