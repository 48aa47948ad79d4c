"""Which runs `--only` means, by every axis and kind of level, and the numbers of runs back and forth."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.choosing import chosen
from experiments.experiment import Experiment, ExperimentFile, Sequential, load_experiment
from experiments.factors import Design, Factor, Level
from experiments.plan import Coordinates, Plan
from simulator import InputError

FACTORS = (
    Factor(name="size", path="a", values=(1, 2, 5)),
    Factor(name="share", path="b", values=(0.5, 1.5)),
    Factor(name="gate", path="c", values=(False, True)),
    Factor(name="how = much", levels=(Level(label="a = b", set={}), Level(label="5", set={}))),
)


def planned(
    factors: tuple[Factor, ...] = FACTORS,
    scenarios: tuple[str, ...] = ("calm", "wild"),
    policies: tuple[str, ...] = ("naive", "a/b.toml"),
    replications: int = 3,
    design: Design | None = None,
) -> Plan:
    file = ExperimentFile(
        scenarios=scenarios,
        policies=list(policies),
        responses=["turns"],
        replications=replications,
        factor=factors,
        design=design or Design(),
    )
    return Plan(Experiment("made", Path("made.toml"), file, scenarios, policies))


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned()


def meant_by_hand(plan: Plan, **wanted: object) -> list[int]:
    """Return the runs whose labels are these, one run after the other."""
    found = []
    for run in range(plan.size):
        labels = plan.labels(plan.coordinates(run))
        if all(labels[name.replace("_", " = ")] == value for name, value in wanted.items()):
            found.append(run)
    return found


@pytest.mark.unit
@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("scenario=wild", {"scenario": "wild"}),
        ("policy=a/b.toml", {"policy": "a/b.toml"}),
        ("point=7", {"point": 7}),
        ("replication=2", {"replication": 2}),
        ("size=5", {"size": 5}),
        ("size = 5.0", {"size": 5}),
        ("share=0.5", {"share": 0.5}),
        ("share=5e-1", {"share": 0.5}),
        ("gate=true", {"gate": True}),
        ("gate=false", {"gate": False}),
        ("how = much=a = b", {"how_much": "a = b"}),
        ("how = much=5", {"how_much": "5"}),
    ],
)
def test_one_word_means_the_runs_that_have_it(plan: Plan, word: str, wanted: dict[str, object]) -> None:
    by_hand = meant_by_hand(plan, **wanted)
    assert 0 < len(by_hand) < plan.size
    assert np.flatnonzero(chosen(plan, [word])).tolist() == by_hand


@pytest.mark.unit
def test_names_narrow_and_values_widen(plan: Plan) -> None:
    assert chosen(plan, []).all()
    both = chosen(plan, ["size=1", "size=5", "gate=true", "replication=0"])
    by_hand = [*meant_by_hand(plan, size=1, gate=True), *meant_by_hand(plan, size=5, gate=True)]
    assert np.flatnonzero(both).tolist() == sorted(run for run in by_hand if run % 3 == 0)


@pytest.mark.unit
def test_a_value_that_a_design_has_put_into_a_range() -> None:
    plan = planned(
        (Factor(name="x", path="x", low=0, high=1),), design=Design(kind="latin-hypercube", points=5)
    )
    value = plan.experiment.labels(3)["x"]
    assert np.flatnonzero(chosen(plan, [f"x={value}"])).tolist() == meant_by_hand(plan, point=3)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["size"], "--only: 'size' chooses nothing; expected name=value"),
        (["siz=1"], "--only: unknown name 'siz'; expected scenario, .*size.* did you mean 'size'"),
        (["size=3"], "--only: size has no '3'; expected one of 1, 2, 5"),
        (["gate=1"], "--only: gate has no '1'; expected one of False, True"),
        (["size=true"], "--only: size has no 'true'"),
        (["scenario=wald"], "scenario has no 'wald'; expected one of calm, wild; did you mean 'wild'"),
        (["point=24"], "--only: point has no '24'; expected one of 0, 1, .*, 11, [.]{3}"),
        (["replication=-1"], "--only: replication has no '-1'"),
        (["point=0", "size=5"], "--only: no run has point=0 and size=5"),
        (["size=\x1b[2J\n"], "size has no"),
    ],
)
def test_words_that_choose_nothing(plan: Plan, words: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        chosen(plan, words)
    assert str(caught.value).isprintable()


# ------------------------------------------------------------------------------------ numbers of runs


@pytest.mark.property
@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(1, 7), st.data())
def test_a_run_is_its_coordinates(
    scenarios: int, points: int, policies: int, replications: int, data: st.DataObject
) -> None:
    plan = planned(
        (Factor(name="x", path="x", values=tuple(range(points))),),
        tuple(f"s{number}" for number in range(scenarios)),
        tuple(f"p{number}" for number in range(policies)),
        replications,
    )
    assert plan.size == scenarios * points * policies * replications
    run = data.draw(st.integers(0, plan.size - 1))
    at = plan.coordinates(run)
    assert plan.number(at) == run
    assert all(0 <= place < count for place, count in zip(at, plan.shape, strict=True))
    there = Coordinates(*(data.draw(st.integers(0, count - 1)) for count in plan.shape))
    assert plan.coordinates(plan.number(there)) == there


@pytest.mark.unit
def test_replications_run_fastest_and_scenarios_slowest(plan: Plan) -> None:
    order = [plan.coordinates(run) for run in range(plan.size)]
    assert order == sorted(order)
    assert order[:4] == [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 1, 0)]


@pytest.mark.unit
def test_worlds_are_common_to_all_policies_points_and_scenarios(plan: Plan) -> None:
    seeds: dict[int, set[tuple[int, int]]] = {}
    for run in range(plan.size):
        at = plan.coordinates(run)
        seeds.setdefault(at.replication, set()).add(plan.seed(at))
    assert [len(found) for found in seeds.values()] == [1, 1, 1]
    assert len(set.union(*seeds.values())) == 3


@pytest.mark.unit
def test_a_plan_travels_small() -> None:
    """Its design is made again where it arrives, and no setting travels with it."""
    import pickle

    large = planned(
        tuple(Factor(name=f"x{number}", path=f"x{number}", low=0, high=1) for number in range(4)),
        design=Design(kind="sobol", points=2**14),
    )
    before = large.experiment.labels(9_000)
    packed = pickle.dumps(large)
    assert len(packed) < 10_000
    assert pickle.loads(packed).experiment.labels(9_000) == before
    catalogue = Plan(load_experiment("trigger-and-watermark"))
    catalogue.setting(Coordinates(0, 0, 0, 0))
    assert len(pickle.dumps(catalogue)) < 10_000


@pytest.mark.unit
def test_where_replications_stop_by_a_rule_whole_points_are_chosen() -> None:
    """A policy alone has nobody to stop with, and would run on to the cap."""
    plan = planned()
    rule = Sequential(response="turns", baseline="naive", half_width=1.0, cap=20)
    file = plan.experiment.file.model_copy(update={"replications": rule})
    ruled = Plan(dataclasses.replace(plan.experiment, file=file))
    for word in ("policy=naive", "replication=1"):
        with pytest.raises(InputError, match=r"a (policy|replication) alone cannot be run"):
            chosen(ruled, [word])
    assert chosen(ruled, ["scenario=calm", "size=2"]).sum() == ruled.size / 2 / 3
