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
from scipy.stats import binom, t

from experiments.analyses.contrasts import differences, effects, factorial_contrasts
from experiments.experiment import Experiment, ExperimentFile, PlotTable, load_experiment
from experiments.factors import Design, Factor, Level
from experiments.identity import plain_form
from experiments.pictures import analysis_of, draw, plot_of
from experiments.plan import Coordinates, Plan
from experiments.reports import contrasts_table, sweep_table
from experiments.requirements import require_picture
from experiments.results import Results
from experiments.statistics.intervals import excludes_zero
from experiments.sweeping import sweep
from policies import load_policy
from scenarios import load_scenario
from simulator import InputError

Point = Mapping[str, object]

CONFIDENCE = 0.95
FALSE_ALARM = 1e-4
"""How often a test of coverage fails though the intervals are right."""


GRID = Design()


def of_one_policy(
    factors: tuple[Factor, ...],
    plot: PlotTable,
    *,
    replications: int = 5,
    responses: tuple[str, ...] = ("y",),
    design: Design = GRID,
) -> Experiment:
    file = ExperimentFile(
        scenario="s",
        policies=["p"],
        replications=replications,
        responses=list(responses),
        design=design,
        factor=factors,
        plot=plot,
    )
    return Experiment("made", Path("made.toml"), file, ("s",), ("p",))


def switches(*names: str, replications: int = 5, responses: tuple[str, ...] = ("y",)) -> Experiment:
    factors = tuple(Factor(name=name, path=f"a.{name}", values=(False, True)) for name in names)
    plot = PlotTable(kind="effects", response=responses[0])
    return of_one_policy(factors, plot, replications=replications, responses=responses)


def levels(*labels: str, replications: int = 5, responses: tuple[str, ...] = ("y",)) -> Experiment:
    factor = Factor(name="gate off", levels=tuple(Level(label=label, set={label: 1}) for label in labels))
    plot = PlotTable(kind="differences", baseline=labels[0])
    return of_one_policy((factor,), plot, replications=replications, responses=responses)


def made(experiment: Experiment, value: Callable[[Point, int], object]) -> pd.DataFrame:
    """The rows of a sweep whose runs give `value` of the point and the replication."""
    rows = []
    for place, replication in itertools.product(range(experiment.size), range(experiment.file.cap)):
        labels = experiment.labels(place)
        found = {name: value(labels, replication) for name in experiment.file.responses}
        own = {"scenario": "s", "point": place, **labels, "policy": "p", "replication": replication}
        rows.append({**own, "failure": None, **found})
    return pd.DataFrame(rows)


def differences_of(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    return differences(runs, experiment, experiment.file.plot)


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
    experiment = switches("A", "B", "C")
    worlds = [0.0, 1000.0, -30.0, 5.0, 77.0]

    def value(point: Point, replication: int) -> float:
        x, y, z = (float(bool(point[name])) for name in "ABC")
        return worlds[replication] + a * x + b * y + g * x * y + d * x * y * z

    table = effects(made(experiment, value), experiment)
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
    experiment = switches("A", "B", replications=40)
    noise = np.random.default_rng(3).normal(5, 2, 40)
    runs = made(
        experiment, lambda point, world: noise[world] + 0.1 * bool(point["A"]) + 0.2 * bool(point["B"])
    )
    found = by_effect(effects(runs, experiment))
    assert found["A x B"] == [0, 0, 0]
    assert found["A"] == pytest.approx([0.1, 0.1, 0.1])
    small = made(experiment, lambda point, _: 1e-9 * bool(point["A"]))  # small responses have effects too
    assert by_effect(effects(small, experiment))["A"] == pytest.approx([1e-9, 1e-9, 1e-9], rel=1e-9)


def covered(table: pd.DataFrame, truth: float) -> None:
    """Assert that as many intervals hold the truth as a binomial law allows."""
    count = int(((table["low"] <= truth) & (truth <= table["high"])).sum())
    least, most = binom.interval(1 - FALSE_ALARM, len(table), CONFIDENCE)
    assert least <= count <= most


@pytest.mark.theory
def test_intervals_of_effects_cover() -> None:
    """Two thousand responses with a common and a private noise; A does 3, B nothing, together 2 more."""
    responses = tuple(f"y{number}" for number in range(2000))
    experiment = switches("A", "B", replications=6, responses=responses)
    random = np.random.default_rng(20261113)
    common = random.normal(0, 50, (6, len(responses)))
    rows = []
    for a, b, world in itertools.product((False, True), (False, True), range(6)):
        values = common[world] + 3 * a + 2 * (a and b) + random.normal(0, 2, len(responses))
        labels = {"A": a, "B": b, "policy": "p", "replication": world, "failure": None}
        rows.append(labels | dict(zip(responses, values, strict=True)))
    table = effects(pd.DataFrame(rows), experiment)
    for effect, truth in (("A", 3 + 2 / 2), ("B", 2 / 2), ("A x B", 2 / 2)):
        own = table[table["effect"] == effect]
        covered(own, truth)
        assert (own["high"] - own["low"]).median() < 10  # the common noise of 50 fell out


@pytest.mark.unit
def test_a_world_counts_where_all_its_points_do() -> None:
    experiment = switches("A", "B")
    runs = made(experiment, lambda point, world: 10.0 * world + 4 * bool(point["A"]))
    hurt = failing(runs, (runs["replication"] == 2) & runs["A"] & ~runs["B"])
    table = effects(hurt, experiment)
    assert table["n"].tolist() == [4, 4, 4]
    assert table["mean"].tolist() == [4, 0, 0]
    none = effects(failing(runs, runs["A"] & runs["B"]), experiment)
    assert none["n"].tolist() == [0, 0, 0]
    assert none["mean"].isna().all()
    assert "A x B\n" in contrasts_table(none)  # an empty cell, neither None nor nan


@pytest.mark.unit
@pytest.mark.parametrize("values", [(0, 1), (0.5, 2), ("off", "on"), (False, True), (1.0, 0.0)])
def test_the_second_level_is_the_high_one(values: tuple[float | str, float | str]) -> None:
    factors = (Factor(name="A", path="a", values=values), Factor(name="B", path="b", values=(1, 2)))
    experiment = of_one_policy(factors, PlotTable(kind="effects", response="y"))
    runs = made(experiment, lambda point, _: 7.0 if point["A"] == values[1] else 2.0)
    assert by_effect(effects(runs, experiment))["A"] == [5, 5, 5]


# ------------------------------------------------------------------------------------ differences


@pytest.mark.theory
def test_common_noise_cancels() -> None:
    experiment = levels("none", "one", "two", replications=30)
    noise = np.random.default_rng(5).lognormal(3, 2, 30)
    does = {"none": 0.0, "one": 0.1, "two": 0.0}
    table = differences_of(
        made(experiment, lambda point, world: noise[world] + does[str(point["gate off"])]), experiment
    )
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
    experiment = levels("none", "one", replications=6, responses=responses)
    random = np.random.default_rng(20261114)
    common = random.normal(0, 50, (6, len(responses)))
    rows = []
    for level, world in itertools.product(("none", "one"), range(6)):
        values = common[world] - 3 * (level == "one") + random.normal(0, 2, len(responses))
        labels = {"gate off": level, "policy": "p", "replication": world, "failure": None}
        rows.append(labels | dict(zip(responses, values, strict=True)))
    covered(differences_of(pd.DataFrame(rows), experiment), -3)


@pytest.mark.theory
def test_differences_of_yes_or_no_are_those_of_shares() -> None:
    """One of ten pairs differs; and none, where Student's interval would have no width."""
    experiment = levels("none", "one", "two", replications=10, responses=("overflowed",))
    runs = made(experiment, lambda point, world: float(point["gate off"] == "one" and world == 0))
    one, two = differences_of(runs, experiment).to_dict("records")
    low, high = t.interval(0.95, 9, 1 / 12, np.sqrt((3 / 12 - (1 / 12) ** 2) / 12))
    assert (one["mean"], one["low"], one["high"]) == pytest.approx((0.1, low, high))
    low, high = t.interval(0.95, 9, 0, np.sqrt((2 / 12) / 12))
    assert (two["mean"], two["low"], two["high"]) == pytest.approx((0, low, high))


@pytest.mark.unit
def test_a_failed_run_takes_its_pair_along() -> None:
    experiment = levels("none", "one", "two")
    runs = made(experiment, lambda point, world: 100.0 * world + 2 * (point["gate off"] == "one"))
    level, world = runs["gate off"], runs["replication"]
    hurt = failing(runs, ((level == "none") & (world == 0)) | ((level == "one") & world.isin([0, 3])))
    hurt.loc[(level == "two") & (world == 4), "y"] = None
    table = differences_of(hurt, experiment)
    assert counts(table) == {"one": (3, 2, 0), "two": (3, 1, 1)}
    assert table["mean"].tolist() == [2, 0]
    unfinished = differences_of(runs[level != "two"], experiment)
    assert counts(unfinished) == {"one": (5, 0, 0), "two": (0, 0, 5)}


def counts(table: pd.DataFrame) -> dict[str, tuple[int, int, int]]:
    """How many pairs stand behind each level, failed, and have no value."""
    return {row["level"]: (row["n"], row["failed"], row["missing"]) for row in table.to_dict("records")}


@pytest.mark.unit
def test_one_pair_bounds_nothing() -> None:
    experiment = levels("none", "one", replications=1)
    (row,) = differences_of(made(experiment, lambda *_: 1.0), experiment).to_dict("records")
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
    experiment = load_experiment("gate-off")
    misspelt = experiment.file.plot.model_copy(update={"baseline": "nnone"})
    with pytest.raises(InputError, match="did you mean 'none'"):
        require_picture(experiment, misspelt, "plot.kind")


@pytest.mark.documented
@pytest.mark.parametrize(("name", "points", "replications"), [("gate-off", 5, 60), ("gate-ablation", 16, 40)])
def test_plans_of_the_catalogue(name: str, points: int, replications: int) -> None:
    experiment = load_experiment(name)
    assert experiment.size == len(list(experiment.points())) == points
    assert Plan(experiment).size == points * replications


@pytest.mark.unit
def test_a_level_that_sets_nothing_is_the_file() -> None:
    experiment = load_experiment("gate-off")
    first = next(experiment.points())
    assert (first.labels, first.of_scenario) == ({"gate off": "none"}, {})
    assert not any(first.of_policies.values())
    plan = Plan(experiment)
    assert plan.setting(Coordinates(0, 0, 0, 0)) == load_scenario(experiment.scenarios[0]).setting()
    assert plain_form(plan.policy(Coordinates(0, 0, 0, 0))) == plain_form(load_policy("guarded"))
    assert plain_form(plan.policy(Coordinates(0, 1, 0, 0))) != plain_form(load_policy("guarded"))


# ------------------------------------------------------------------------------------ of a sweep that ran


@pytest.mark.unit
def test_effects_of_a_sweep(small_experiment: Path, tmp_path: Path) -> None:
    experiment = load_experiment(str(written(small_experiment, EFFECTS)))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    results = Results(tmp_path / "out", experiment)
    found = analysis_of(results, experiment.file.plot)
    assert found is not None
    assert len(found) == 3 * 3
    means = results.runs.groupby("rationale")["overflowed"].mean()
    own = found[(found["response"] == "overflowed") & (found["effect"] == "rationale")]
    assert own["mean"].item() == pytest.approx(means[600] - means[100])
    said = sweep_table(results.means, Path("x.png"), found, "effects")
    assert "rationale x horizon" in said
    assert said.endswith("The picture is x.png\n")
    assert draw(results, experiment.file.plot).axes
    with pytest.raises(InputError, match="a differences plot shows 1 factor, not 2"):
        plot_of(results, "differences")


@pytest.mark.unit
def test_differences_of_a_sweep(small_experiment: Path, tmp_path: Path) -> None:
    edits = [(ONE_FACTOR, ""), ('"phase"', '"differences"\nbaseline = 600')]
    experiment = load_experiment(str(written(small_experiment, *edits)))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    results = Results(tmp_path / "out", experiment)
    found = analysis_of(results, experiment.file.plot)
    assert found is not None
    assert set(found["level"]) == {100}
    assert found.set_index("response").loc["arrivals_per_turn_tokens", "n"] == 15
    words = [text.get_text() for text in draw(results, experiment.file.plot).axes[0].texts]
    assert words[0].startswith("15 replications; differences to '600'")
    with pytest.raises(InputError, match="not 1"):
        plot_of(results, "effects")


@pytest.mark.unit
def test_a_table_has_no_contrasts(small_experiment: Path, tmp_path: Path) -> None:
    experiment = load_experiment(str(small_experiment))
    assert analysis_of(Results(tmp_path, experiment), PlotTable(kind="table")) is None


# ------------------------------------------------------------------------------------ fractions


@pytest.mark.theory
def test_a_fraction_tells_the_main_effects_of_an_additive_response() -> None:
    """D = ABC has resolution 4: where nothing interacts, half of the runs give the effects of all."""
    names = ("A", "B", "C", "D")
    does = dict(zip(names, (12.0, -7.0, 0.0, 3.0), strict=True))
    whole = switches(*names)
    half = of_one_policy(
        whole.file.factor,
        whole.file.plot,
        design=Design(kind="fractional", generators={"D": ["A", "B", "C"]}),
    )
    assert (whole.size, half.size) == (16, 8)

    def value(point: Point, world: int) -> float:
        return 100.0 * world**2 + sum(does[name] * bool(point[name]) for name in names)

    of_half = by_effect(effects(made(half, value), half))
    of_whole = by_effect(effects(made(whole, value), whole))
    assert list(of_half) == list(names)  # no two-factor interaction is confounded at resolution 4
    for effect, found in of_half.items():
        assert found == of_whole[effect] == [does[effect]] * 3


@pytest.mark.theory
def test_a_fraction_of_resolution_three_names_what_it_confounds() -> None:
    """C = AB: the effect of C is that of C and the interaction of A and B together, by construction."""
    whole = switches("A", "B", "C")
    half = of_one_policy(
        whole.file.factor, whole.file.plot, design=Design(kind="fractional", generators={"C": ["A", "B"]})
    )

    def value(point: Point, world: int) -> float:
        a, b, c = (float(bool(point[name])) for name in "ABC")
        return world + 5 * c + 8 * a * b

    found = by_effect(effects(made(half, value), half))
    assert list(found) == ["A = B x C", "B = A x C", "C = A x B"]
    interaction, main = 8 / 2, 5.0
    assert found["C = A x B"] == [main + interaction] * 3
    assert found["A = B x C"] == [8 / 2] * 3  # B is 1 in half of the runs where A is


@pytest.mark.theory
def test_rounding_is_no_effect_of_a_fraction() -> None:
    whole = switches("A", "B", "C", replications=40)
    half = of_one_policy(
        whole.file.factor,
        whole.file.plot,
        replications=40,
        design=Design(kind="fractional", generators={"C": ["A", "B"]}),
    )
    noise = np.random.default_rng(3).normal(5, 2, 40)
    runs = made(half, lambda point, world: noise[world] + 0.1 * bool(point["A"]) + 0.2 * bool(point["B"]))
    assert by_effect(effects(runs, half))["C = A x B"] == [0, 0, 0]


@pytest.mark.unit
@pytest.mark.parametrize("length", range(12, 60))
def test_the_printed_table_holds_every_effect_and_response(length: int) -> None:
    """Whatever the widths, no cell is folded."""
    responses = tuple(f"{'a' * length}{number}" for number in range(9))
    experiment = switches("A", "B", replications=3, responses=responses)
    runs = made(experiment, lambda point, world: 1000.0 * bool(point["A"]) + world * bool(point["B"]))
    said = contrasts_table(effects(runs, experiment))
    assert max(len(line) for line in said.splitlines()) <= 150
    for name in responses:
        assert name in said
    assert said.count("1,000 [1,000, 1,000]*") == 9
    assert said.count("0 [0, 0]\n") + said.count("0 [0, 0] ") == 9
    assert said.count("1 [-1.48, 3.48]") == 9  # mean of 0, 1, 2 with t(2) = 4.303 / sqrt(3)
