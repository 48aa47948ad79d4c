"""Experiment files: points by number, names by pattern, what is set over them, and a line for each fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.experiment import Experiment, experiment_names, load_experiment
from experiments.factors import Factor
from experiments.plan import Coordinates, Plan
from experiments.sweeping import experiment_of, sweep
from experiments.words import experiment_overrides
from policies import policy_names
from scenarios import scenario_names
from simulator import InputError

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


# ------------------------------------------------------------------------------------ points and runs


@pytest.mark.unit
def test_the_grid_goes_through_the_last_factor_fastest(experiment: Experiment) -> None:
    assert [point.labels for point in experiment.points()] == [
        {"rationale": 100, "horizon": 40},
        {"rationale": 100, "horizon": 110},
        {"rationale": 600, "horizon": 40},
        {"rationale": 600, "horizon": 110},
    ]
    plan = Plan(experiment)
    assert [plan.coordinates(run).replication for run in range(16)] == [*range(15), 0]
    horizons = [plan.setting(plan.coordinates(run)).horizon for run in range(0, 60, 15)]
    assert horizons == [40, 110, 40, 110]


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
    (name,) = load_experiment(str(small_experiment)).policies
    own = [point.of_policies[name] for point in points]
    assert own == [{"trigger.fraction": 0.8}, {"trigger.fraction": 0.7}]


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
        ('kind = "phase"', 'kind = "heat"', "plot.response: None is not among the responses"),
        ('kind = "phase"', 'kind = "phse"', "plot.kind: unknown value 'phse'.* did you mean 'phase'"),
        ('kind = "phase"', 'kind = "phase"\nline = [1]', "plot.line: List should have at least 2 items"),
        ('kind = "phase"', 'kind = "table"\n[[plots]]\nkind = "ranking"', "plots.0.*2 policies or more"),
        ("replications = 15", 'replications = 15\nkeep = ["turn"]', "keep.0: unknown.* mean 'turns'"),
        ("replications = 15", 'replications = 15\nbounds = ["nave"]', "the bound 'nave' is not among"),
        ("replications = 15", "replications = 15\ntime_limit_seconds = 0", "limit_seconds: .*greater than 0"),
        ("replications = 15", "replications = 15\nseed = -1", "seed: .*greater than or equal to 0"),
        ("replications = 15", 'replications = 15\nscenarios = ["x"]', "either scenario or scenarios"),
        ("[plot]", "[set]\nrun.horizon = 3\n[plot]", "set: 'run' is a table; .* as 'run.horizon'"),
        ('"overflowed"]', '"overflowed", "overflowed"]', "responses: 'overflowed' stands twice"),
        ('["naive-never-summarised"]', '["nave-*"]', "policies: 'nave-[*]' fits nothing"),
        ('["naive-never-summarised"]', '["naive*"]\nwithout = ["nave"]', "'nave' .* did you mean 'naive'"),
        ('["naive-never-summarised"]', "[]", "policies: List should have at least 1 item"),
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
        sweep(broken, tmp_path / "out", workers=0, show="none")
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------ names by pattern


@pytest.mark.unit
def test_patterns_are_names_of_the_catalogue(small_experiment: Path) -> None:
    every = edited(small_experiment, 'kind = "phase"', 'kind = "table"')
    every = edited(small_experiment, '["naive-never-summarised"]', '["guarded", "naive*", "naive"]')
    assert every.policies == ("guarded", *(name for name in policy_names() if name.startswith("naive")))
    fewer = edited(small_experiment, '"naive"]', '"naive"]\nwithout = ["naive-repeating", "guarded"]')
    assert set(every.policies) - set(fewer.policies) == {"naive-repeating", "guarded"}
    many = edited(small_experiment, 'scenario = "constant-arrivals"', 'scenarios = ["lossy-*", "tombstones"]')
    lossy = [name for name in scenario_names() if name.startswith("lossy-")]
    assert many.scenarios == (*lossy, "tombstones")
    assert many.places == ["scenario", "rationale", "horizon"]


HOSTILE = "[red] <b>$x$ 'it' \"a\" & *?.toml"


@pytest.mark.unit
def test_a_path_is_no_pattern(small_experiment: Path, tmp_path: Path) -> None:
    from policies.loader import CATALOGUE

    path = tmp_path / HOSTILE
    path.write_text((CATALOGUE / "naive-never-summarised.toml").read_text())
    (tmp_path / "naive.toml").write_text((CATALOGUE / "naive.toml").read_text())
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    loaded = edited(small_experiment, '"naive-never-summarised"', f'"{quoted}"')
    assert loaded.policies == (str(path),)
    assert Plan(loaded).policy(Coordinates(0, 0, 0, 0)).name


# ------------------------------------------------------------------------------------ what is set over a file


@pytest.mark.unit
def test_words_are_set_over_the_file_and_over_every_run(small_experiment: Path, tmp_path: Path) -> None:
    words = ["experiment.replications=2", "window.head=1_500", "policy.trigger.fraction=0.75"]
    loaded = load_experiment(str(small_experiment), experiment_overrides(words))
    assert loaded.file.replications == 2
    for point in loaded.points():
        assert point.of_scenario["window.head"] == 1_500
        assert point.of_policies == {loaded.policies[0]: {"trigger.fraction": 0.75}}
    plan = Plan(loaded)
    assert plan.setting(Coordinates(0, 0, 0, 0)).head == 1_500
    assert plan.setting(Coordinates(0, 1, 0, 0)).horizon == 110  # a factor moves what stands there
    assert sweep(loaded, tmp_path / "out", workers=0, show="none") == 0
    assert experiment_of(tmp_path / "out").file == loaded.file


@pytest.mark.unit
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("experiment.replication=2", "unknown key.* did you mean 'replications'"),
        ("experiment.replications=0", "replications: .*greater than or equal to 1"),
        ("experiment.replications.first=1", "the path replications.first"),
        ("experiment.plot.kind=true", "plot.kind"),
        ("experiment.=2", "'' is not a path"),
        ("run.seconds={x=1}", "'run.seconds' is a table; a path is one key in quotes, as 'run.seconds.x'"),
        ("run.seconds=nan", "set.run.seconds: nan is no value; expected a finite number"),
    ],
)
def test_words_that_set_nothing_right(small_experiment: Path, word: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        load_experiment(str(small_experiment), experiment_overrides([word]))
    assert "\n" not in str(caught.value)


@pytest.mark.documented
@pytest.mark.parametrize("name", experiment_names())
def test_experiments_of_the_catalogue(name: str) -> None:
    """Each loads, has its first and its last point, and stays what it is through its own manifest's form."""
    from experiments.experiment import ExperimentFile
    from simulator.catalogue import validated

    loaded = load_experiment(name)
    assert loaded.labels(0).keys() == loaded.labels(loaded.size - 1).keys() == set(loaded.factors)
    assert validated(ExperimentFile, loaded.file.model_dump(mode="json"), "here") == loaded.file


@pytest.mark.unit
def test_labels_of_several_kinds_keep_their_kind() -> None:
    for values in ((1, 2), (0.5, 1.5), (True, False), ("a", "b")):
        factor = Factor(name="x", path="x", values=values)
        assert [type(label) for label in factor.labels] == [type(value) for value in values]
