"""Factors and designs: the numbers that points have, what they move, and a line for each fault."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.experiment import Experiment, load_experiment
from experiments.factors import Factor
from experiments.identity import identity_of
from experiments.paths import require_paths
from experiments.plan import Coordinates, Plan
from policies.loader import CATALOGUE as POLICIES
from simulator import InputError

Write = Callable[..., Experiment]

HEAD = """\
summary = "designs"
scenario = "constant-arrivals"
policies = ["naive"]
replications = 2
responses = ["overflowed"]
"""
LINEAR = 'name = "head"\npath = "window.head"\nlow = 1_000\nhigh = 3_000'
LOG = 'name = "base"\npath = "laws.rationale.base"\nlow = 1\nhigh = 1_000\nscale = "log"'
WHOLE = 'name = "horizon"\npath = "run.horizon"\nlow = 11\nhigh = 14\nwhole = true'
LEVELS = '{ label = "a", set = {} }, { label = "b", set = { "laws.summary.ratio" = 0.5 } }'
WORDS = f'name = "ratio"\nlevels = [{LEVELS}]'
RANGES = (LINEAR, LOG, WHOLE, WORDS)
SWITCHES = tuple(f'name = "{name}"\npath = "laws.{name}"\nvalues = [10, 20]' for name in "abcd")


def text_of(design: str, *factors: str) -> str:
    """Return an experiment file with this design over these factors."""
    return f"{HEAD}\n[design]\n{design}\n" + "".join(f"\n[[factor]]\n{factor}\n" for factor in factors)


@pytest.fixture
def designed(tmp_path: Path) -> Write:
    """Load an experiment with this design over these factors."""

    def load(design: str, *factors: str) -> Experiment:
        path = tmp_path / "designed.toml"
        path.write_text(text_of(design, *factors))
        return load_experiment(str(path))

    return load


def levels(experiment: Experiment) -> list[tuple[object, ...]]:
    return [tuple(experiment.labels(point).values()) for point in range(experiment.size)]


# ------------------------------------------------------------------------------------ what a factor moves


@pytest.mark.unit
def test_one_value_moves_several_paths(designed: Write) -> None:
    both = 'name = "both"\npath = ["window.head", "policy.trigger.fraction"]\nvalues = [0.5, 0.75]'
    second = list(designed('kind = "grid"', both).points())[1]
    assert second.labels == {"both": 0.75}
    assert second.of_scenario == {"window.head": 0.75}
    assert second.of_policies == {"naive": {"trigger.fraction": 0.75}}


@pytest.mark.unit
def test_a_path_may_be_that_of_one_policy_of_several(tmp_path: Path) -> None:
    path = tmp_path / "named.toml"
    factor = '\n[[factor]]\nname = "at"\npath = "guarded.trigger.fraction"\nvalues = [0.8, 0.9]\n'
    both = HEAD.replace('["naive"]', '["naive", "guarded", "guarded-without-gate"]')
    path.write_text(both + '[set]\n"naive.trigger.fraction" = 0.7\n"policy.deliberation.cap" = 90\n' + factor)
    experiment = load_experiment(str(path))
    (first, second), plan = experiment.points(), Plan(experiment)
    assert first.of_scenario == second.of_scenario == {}
    assert second.of_policies == {
        "naive": {"trigger.fraction": 0.7, "deliberation.cap": 90},
        "guarded": {"trigger.fraction": 0.9, "deliberation.cap": 90},
        "guarded-without-gate": {"deliberation.cap": 90},
    }
    made = [plan.policy(Coordinates(0, 1, place, 0)) for place in range(3)]
    assert [one.parts.trigger.fraction for one in made] == [0.7, 0.9, 0.91]  # type: ignore[attr-defined]
    assert identity_of(experiment)["policies"].keys() == {"naive", "guarded", "guarded-without-gate"}  # type: ignore[attr-defined]


OVERLAPPING = (
    (
        ["laws.summary.ratio", "laws.summary"],
        {},
        "two factors move laws.summary.ratio and laws.summary",
    ),
    (
        ["policy.trigger.fraction", "naive.trigger.fraction"],
        {},
        "two factors move policy.trig",
    ),
    (["naive.trigger.fraction", "guarded.trigger.fraction"], {}, ""),
    (["trigger", "policy.trigger"], {}, "unknown path 'trigger'"),
    (["naive.trigger.fraction"], {"policy.trigger.fraction": 0.5}, ""),
    (
        ["policy.trigger.fraction"],
        {"naive.trigger.fraction": 0.5},
        "naive.trigger.fraction is set, and",
    ),
    (["policy.trigger"], {"policy.trigger.fraction": 0.5}, "policy.trigger.fraction is set, and moved by"),
)


@pytest.mark.unit
@pytest.mark.parametrize(("paths", "sets", "told"), OVERLAPPING)
def test_no_two_things_move_one_place(paths: list[str], sets: dict[str, float], told: str) -> None:
    factors = [Factor(name=f"f{place}", path=path, values=(1, 2)) for place, path in enumerate(paths)]
    if not told:
        require_paths(factors, sets, ["naive", "guarded"], "here")
        return
    with pytest.raises(InputError, match=told):
        require_paths(factors, sets, ["naive", "guarded"], "here")


@pytest.mark.unit
def test_what_is_one_policys_goes_before_what_is_every_policys_in_any_order(tmp_path: Path) -> None:
    sets = ['"policy.trigger.fraction" = 0.9', '"naive.trigger.fraction" = 0.8']
    for order in (sets, sets[::-1]):
        path = tmp_path / "set.toml"
        path.write_text(HEAD.replace('["naive"]', '["naive", "guarded"]') + "[set]\n" + "\n".join(order))
        (point,) = load_experiment(str(path)).points()
        assert point.of_policies == {"naive": {"trigger.fraction": 0.8}, "guarded": {"trigger.fraction": 0.9}}


@pytest.mark.unit
def test_a_policy_that_is_a_file_beside_has_its_dots_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("./own.toml", "policy.toml"):
        (tmp_path / name).write_text((POLICIES / "naive.toml").read_text())
        path = tmp_path / "beside.toml"
        factor = f'\n[[factor]]\nname = "at"\npath = "{name}.trigger.fraction"\nvalues = [0.8]\n'
        path.write_text(HEAD.replace('["naive"]', f'["{name}", "guarded"]') + factor)
        (point,) = load_experiment(str(path)).points()
        assert point.of_policies == {name: {"trigger.fraction": 0.8}, "guarded": {}}


@pytest.mark.unit
def test_a_path_may_lead_into_a_list_and_a_value_may_be_one(tmp_path: Path) -> None:
    path = tmp_path / "lists.toml"
    premise = (
        '\n[[factor]]\nname = "change"\npath = "premise.schema version.mean_interval"\nvalues = [20, 40]\n'
    )
    kinds = '\n[[factor]]\nname = "kinds"\npath = "policy.selector.kinds"\n'
    kinds += 'values = [["tool_result"], ["tool_result", "assistant"]]\n'
    path.write_text(HEAD.replace("constant-arrivals", "instruction-decay") + premise + kinds)
    experiment = load_experiment(str(path))
    assert [tuple(point.labels.values()) for point in experiment.points()] == [
        (20, "tool_result"),
        (20, "tool_result, assistant"),
        (40, "tool_result"),
        (40, "tool_result, assistant"),
    ]
    plan = Plan(experiment)
    slow, fast = (plan.setting(Coordinates(0, point, 0, 0)).world.premises[0] for point in (3, 0))
    assert (fast.mean_interval, slow.mean_interval) == (20, 40)
    kept = plan.policy(Coordinates(0, 3, 0, 0)).parts.selector.kinds  # type: ignore[attr-defined]
    assert {kind.value for kind in kept} == {"tool_result", "assistant"}


@pytest.mark.unit
def test_what_a_file_sets_stands_in_every_point_and_no_factor_moves_it(tmp_path: Path) -> None:
    path = tmp_path / "set.toml"
    sets = '[set]\n"policy.trigger.fraction" = 0.9\n"window.head" = 2_000\n'
    factor = '\n[[factor]]\nname = "horizon"\npath = "run.horizon"\nvalues = [5]\n'
    path.write_text(HEAD + sets + factor)
    (point,) = load_experiment(str(path)).points()
    assert point.of_scenario == {"run.horizon": 5, "window.head": 2_000}
    assert point.of_policies == {"naive": {"trigger.fraction": 0.9}}
    path.write_text(HEAD + sets + '"run.horizon" = 30\n' + factor)
    with pytest.raises(InputError, match=r"set: run\.horizon is set, and moved by a factor"):
        load_experiment(str(path))


@pytest.mark.property
@given(st.floats(0, 1), st.floats(-1e6, 1e6), st.floats(100, 1e6))
def test_a_value_of_a_range_lies_in_it(unit: float, low: float, width: float) -> None:
    high = low + width
    factor = Factor(name="x", path="x", low=low, high=high)
    value = float(factor.at(unit))
    assert low <= value <= high
    assert factor.labels == [factor.at(0.0), factor.at(1.0)]
    step = 10 ** (math.floor(math.log10(max(abs(low), abs(high)))) - 5)  # six digits stand in a table
    assert value == pytest.approx(low + unit * width, abs=step)


@pytest.mark.unit
def test_the_middle_of_a_range() -> None:
    assert Factor(name="x", path="x", low=2, high=4).at(0.25) == 2.5
    assert Factor(name="x", path="x", low=1, high=10_000, scale="log").at(0.5) == 100
    whole = Factor(name="x", path="x", low=1, high=3, whole=True)
    assert [whole.at(unit) for unit in (0, 0.4, 0.99)] == [1, 2, 3]
    assert Factor(name="x", path="x", low=0, high=3).at(1 / 9) == 0.333333


# ------------------------------------------------------------------------------------ designs


@pytest.mark.unit
def test_a_grid_has_every_combination_the_last_factor_fastest(designed: Write) -> None:
    other = 'name = "word"\nlevels = [{ label = "x", set = {} }, { label = "y", set = {} }]'
    third = 'name = "flag"\npath = "laws.f"\nvalues = [true, false]'
    experiment = designed('kind = "grid"', SWITCHES[0].replace("20", "20, 30"), other, third)
    assert levels(experiment) == list(itertools.product((10, 20, 30), "xy", (True, False)))


@pytest.mark.unit
def test_two_levels_of_each(designed: Write) -> None:
    assert levels(designed('kind = "two-level"', *SWITCHES)) == list(itertools.product((10, 20), repeat=4))
    ends = levels(designed('kind = "two-level"', LINEAR, WHOLE))
    assert ends == list(itertools.product((1_000, 3_000), (11, 14)))


@pytest.mark.theory
def test_a_fraction_holds_its_generator_in_every_run(designed: Write) -> None:
    """D = ABC, low and high counting as -1 and +1; and A, B and C in all combinations."""
    experiment = designed('kind = "fractional"\ngenerators = { d = ["a", "b", "c"] }', *SWITCHES)
    found = levels(experiment)
    assert [row[:3] for row in found] == list(itertools.product((10, 20), repeat=3))
    for row in found:
        signs = [1 if level == 20 else -1 for level in row]
        assert signs[3] == signs[0] * signs[1] * signs[2]


@pytest.mark.theory
@pytest.mark.parametrize("kind", ["latin-hypercube", "sobol"])
def test_each_slice_of_a_range_has_one_point(designed: Write, kind: str) -> None:
    """Each of n equal slices of a factor has one point; whole numbers and words get equal shares."""
    points = 64
    found = list(zip(*levels(designed(f'kind = "{kind}"\npoints = {points}', *RANGES)), strict=True))
    linear = (np.array(found[0]) - 1_000) / 2_000
    log = np.log10(np.array(found[1])) / 3
    for units in (linear, log):
        assert sorted((units * points).astype(int)) == list(range(points))
    assert Counter(found[2]) == dict.fromkeys((11, 12, 13, 14), points // 4)
    assert Counter(found[3]) == dict.fromkeys(("a", "b"), points // 2)
    assert {type(level) for level in found[2]} == {int}


@pytest.mark.theory
def test_blocks_of_saltelli(designed: Write) -> None:
    """A, B, and for each factor A with that factor of B."""
    k, points = len(RANGES), 8
    experiment = designed(f'kind = "saltelli"\npoints = {points}', *RANGES)
    assert experiment.size == points * (k + 2)
    blocks = np.array(levels(experiment), dtype=object).reshape(k + 2, points, k)
    for factor, mixed in enumerate(blocks[2:]):
        assert (mixed[:, factor] == blocks[1][:, factor]).all()
        others = [other for other in range(k) if other != factor]
        assert (mixed[:, others] == blocks[0][:, others]).all()
    assert (blocks[0][:, :2] != blocks[1][:, :2]).all()


@pytest.mark.theory
def test_steps_of_morris(designed: Write) -> None:
    """Each step moves one factor, each once, by delta = levels / (2 (levels - 1)) of its range."""
    experiment = designed('kind = "morris"\ntrajectories = 6\nlevels = 4', LINEAR, LOG)
    assert experiment.size == 6 * 3
    found = np.array(levels(experiment), dtype=float)
    units = np.column_stack([(found[:, 0] - 1_000) / 2_000, np.log10(found[:, 1]) / 3]).reshape(6, 3, 2)
    steps = np.abs(np.diff(units, axis=1))
    assert sorted(steps[0].ravel()) == pytest.approx([0, 0, 2 / 3, 2 / 3], abs=1e-4)
    assert steps.sum(axis=(1, 2)) == pytest.approx([4 / 3] * 6, abs=1e-4)
    assert steps.sum(axis=1) == pytest.approx(2 / 3, abs=1e-4)
    assert set(np.round(units * 3, 3).ravel()) <= {0, 1, 2, 3}


DESIGNS = (
    'kind = "grid"',
    'kind = "two-level"',
    'kind = "fractional"\ngenerators = { d = ["a", "b"], c = ["a", "b"] }',
    'kind = "latin-hypercube"\npoints = 9\nseed = 4',
    'kind = "sobol"\npoints = 8\nseed = 4',
    'kind = "saltelli"\npoints = 4',
    'kind = "morris"\ntrajectories = 3',
)


@pytest.mark.unit
def test_a_design_is_the_same_in_another_process(tmp_path: Path) -> None:
    paths = []
    for number, design in enumerate(DESIGNS):
        factors = RANGES if "points" in design or "morris" in design else SWITCHES
        paths.append(tmp_path / f"{number}.toml")
        paths[-1].write_text(text_of(design.replace('d = ["a", "b"], ', ""), *factors))
    script = (
        "import json, sys\nfrom experiments.experiment import load_experiment\n"
        "for path in sys.argv[1:]:\n"
        "    made = load_experiment(path)\n"
        "    print(json.dumps([made.labels(point) for point in range(made.size)]))\n"
    )
    there = subprocess.run(
        [sys.executable, "-c", script, *map(str, paths)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for path, line in zip(paths, there, strict=True):
        made = load_experiment(str(path))
        assert json.loads(line) == [made.labels(point) for point in range(made.size)]
    assert len(there) == len(DESIGNS)


@pytest.mark.unit
def test_another_seed_is_another_design(designed: Write) -> None:
    design = 'kind = "latin-hypercube"\npoints = 8'
    assert levels(designed(design, *RANGES)) == levels(designed(f"{design}\nseed = 1", *RANGES))
    assert levels(designed(design, *RANGES)) != levels(designed(f"{design}\nseed = 2", *RANGES))


# ------------------------------------------------------------------------------------ faults

GRID = 'kind = "grid"'


@pytest.mark.unit
@pytest.mark.parametrize(
    ("design", "factor", "told"),
    [
        (GRID, LINEAR, "factor: a grid has no place for the range of 'head'; expected values, or"),
        (GRID, LINEAR.replace("low = 1_000\n", ""), "a range needs low below high"),
        (GRID, LINEAR.replace("1_000", "3_000"), "a range needs low below high"),
        (GRID, LOG.replace("low = 1", "low = 0"), "a range on a log scale needs low above 0"),
        (GRID, WHOLE.replace("11", "11.5"), "a range of whole numbers needs whole low and high"),
        (GRID, LINEAR + "\nvalues = [1]", "at least one of values, or low and high"),
        (GRID, WORDS + "\nlow = 1\nhigh = 2", "levels have no low and high"),
        (GRID, WORDS + '\npath = "a.b"', "either path with values, or levels"),
        (GRID, WORDS.replace('"b"', '"a"'), "a level stands twice in"),
        (GRID, SWITCHES[0].replace("20", "10.0"), "a level stands twice in"),
        (GRID, SWITCHES[0].replace("20", "true"), "values of one kind are one column of a table"),
        (GRID, SWITCHES[0].replace('"a"', '"a x b"'), "reads as an interaction"),
        (GRID, SWITCHES[0].replace('name = "a"', 'name = ""'), "factor.0.name: String should have"),
        (GRID, SWITCHES[0].replace("values", "valus"), "unknown key; expected .* did you mean 'values'"),
        (GRID, SWITCHES[0] + '\nscale = "lg"', "factor.0.scale: unknown value 'lg'; .* did you mean 'log'"),
        (
            GRID,
            SWITCHES[0].replace("20", "inf"),
            "factor.0.values.1: inf is no value; expected a finite",
        ),
        (
            GRID,
            SWITCHES[0].replace("20", "nan"),
            "factor.0.values.1: nan is no value; expected a finite",
        ),
        (
            GRID,
            SWITCHES[0].replace("20", "{ x = 1 }"),
            "factor.0.values.1: .* is no value; expected a numb",
        ),
        (
            GRID,
            SWITCHES[0].replace("20", str(2**63)),
            "a whole number of 19 digits; expected one below",
        ),
        (GRID, WHOLE.replace("14", "1e300"), "whole numbers needs low and high below 2\\^63"),
        (GRID, SWITCHES[0].replace("laws.a", ""), "factor.0.path: '' is not a path; expected keys between"),
        (GRID, SWITCHES[0].replace("laws.a", "laws..a"), "factor.0.path: 'laws..a' is not a path"),
        (GRID, SWITCHES[0].replace("laws.a", "law.a"), "factor.0.path: unknown path 'law.a'; .*mean 'laws'"),
        (GRID, SWITCHES[0].replace("laws.a", "Policy.a"), "unknown path 'Policy.a'; .*mean 'policy'"),
        (GRID, SWITCHES[0].replace("laws.a", "naiv.trigger"), "unknown path .*mean 'naive'"),
        ('kind = "two-level"', SWITCHES[0].replace("20", "20, 30"), "factors with 2 levels, and 'a' has 3"),
        ('kind = "sobl"', LINEAR, "design.kind: unknown value 'sobl'; .* did you mean 'sobol'"),
        ('kind = "sobol"', LINEAR, "design: a sobol design needs points"),
        ('kind = "sobol"\npoints = 6', LINEAR, "design: Sobol points are a power of two, got 6"),
        ('kind = "sobol"\npoints = 8\ntrajectories = 3', LINEAR, "a sobol design has no trajectories"),
        ('kind = "grid"\npoints = 8', SWITCHES[0], "a grid design has no points"),
        ('kind = "morris"', LINEAR, "a morris design needs trajectories"),
        ('kind = "morris"\ntrajectories = 4\nlevels = 5', LINEAR, "an even number of levels"),
        ('kind = "fractional"', SWITCHES[0], "generators belong to a fractional design"),
        ('kind = "fractional"\ngenerators = { b = ["a"] }', SWITCHES[0], "the generator of b names b"),
        ('kind = "fractional"\ngenerators = { a = ["a"] }', SWITCHES[0], "generators run in a circle"),
        ('kind = "grid"\ngenerators = { b = ["a"] }', SWITCHES[0], "generators belong to a fractional"),
    ],
)
def test_faults_of_designs(designed: Write, design: str, factor: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        designed(design, factor)
    assert "designed.toml: " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.unit
@pytest.mark.parametrize("kind", ["two-level", "latin-hypercube", "sobol", "saltelli", "morris"])
def test_a_design_of_nothing(designed: Write, kind: str) -> None:
    counts = {"two-level": "", "morris": "trajectories = 4"}.get(kind, "points = 4")
    with pytest.raises(InputError, match="at least one"):
        designed(f'kind = "{kind}"\n{counts}')


@pytest.mark.unit
@pytest.mark.parametrize(
    "name",
    ["run", "policy", "stage", "type", "traceback", "mean", "low", "n", "failed", "quantile", "value"],
)
def test_a_factor_is_no_other_column_of_a_table(designed: Write, name: str) -> None:
    with pytest.raises(InputError, match=f"the name '{name}' is that of a column of every sweep"):
        designed(GRID, SWITCHES[0].replace('name = "a"', f'name = "{name}"'))


@pytest.mark.unit
def test_a_design_that_no_memory_holds_is_refused(designed: Write) -> None:
    """Forty switches are a million million points: told at once, not tried."""
    many = [f'name = "f{number}"\npath = "laws.f{number}"\nvalues = [0, 1]' for number in range(40)]
    with pytest.raises(InputError, match="a two-level design of 1,099,511,627,776 points"):
        designed('kind = "two-level"', *many)
    with pytest.raises(InputError, match="a plan of 2,199,023,255,552 runs; expected at most 10,000,000"):
        designed(GRID, *many)
