"""The world: scripted changes exact, renewals against the renewal law, versions that never repeat."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simulator.errors import InputError
from simulator.streams import Streams
from simulator.world import PremiseSpec, World, WorldSpec

FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right


def world(*premises: PremiseSpec, clock: str = "turns", seed: int = 1) -> World:
    return World(WorldSpec(premises, clock), Streams(seed, "world"))  # type: ignore[arg-type]


@pytest.mark.unit
def test_scripted_times_are_exact() -> None:
    seen = world(PremiseSpec("schema", at=(7, 2, 4.5)), PremiseSpec("phase", at=(4,)))
    changes = {turn: names for turn in range(1, 10) if (names := seen.advance(turn, 1e9))}
    assert changes == {2: ["schema"], 4: ["phase"], 5: ["schema"], 7: ["schema"]}
    assert seen.versions == {"schema": 3, "phase": 1}
    assert seen.epoch == 4


@pytest.mark.unit
def test_constant_renewals_are_exact() -> None:
    seen = world(PremiseSpec("schema", mean_interval=4, constant=True))
    assert [turn for turn in range(1, 18) if seen.advance(turn, 0)] == [4, 8, 12, 16]


@pytest.mark.unit
def test_the_clock_of_seconds_does_not_look_at_turns() -> None:
    seen = world(PremiseSpec("schema", at=(10.0, 20.0)), clock="seconds")
    assert seen.advance(99, 9.99) == []
    assert seen.advance(1, 10.0) == ["schema"]
    assert seen.advance(1, 19.0) == []
    assert seen.advance(1, 1e9) == ["schema"]
    assert seen.advance(99, 1e12) == []


@pytest.mark.property
@given(
    st.lists(st.lists(st.floats(0, 40), max_size=6), max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.sampled_from([None, 3.0]),
)
def test_versions_count_the_changes_and_never_go_back(
    scripts: list[list[float]], steps: list[int], mean: float | None
) -> None:
    premises = [PremiseSpec(f"p{number}", at=tuple(at)) for number, at in enumerate(scripts)]
    if mean is not None:
        premises.append(PremiseSpec("renewing", mean_interval=mean))
    seen, turn = world(*premises), 0
    for step in steps:
        turn += step
        before = dict(seen.versions)
        changed = seen.advance(turn, 0.0)
        assert seen.versions == {name: before[name] + changed.count(name) for name in before}
        assert seen.epoch == sum(seen.versions.values())
        for number, at in enumerate(scripts):
            assert seen.versions[f"p{number}"] == sum(time <= turn for time in at)
        if mean is not None:
            times = islice(premises[-1].times(Streams(1, "world")), seen.versions["renewing"] + 1)
            assert sum(time <= turn for time in times) == seen.versions["renewing"]


@pytest.mark.unit
def test_how_often_the_world_is_asked_does_not_matter() -> None:
    often, once = world(PremiseSpec("p", mean_interval=0.7)), world(PremiseSpec("p", mean_interval=0.7))
    for turn in range(1, 101):
        often.advance(turn, 0.0)
    once.advance(100, 0.0)
    assert often.versions == once.versions != {"p": 0}


@pytest.mark.theory
def test_renewals_are_a_poisson_process() -> None:
    mean, turns, runs = 6.0, 60, 3_000
    counts = []
    for seed in range(runs):
        seen = world(PremiseSpec("p", mean_interval=mean), seed=seed)
        seen.advance(turns, 0.0)
        counts.append(seen.epoch)
    expected = turns / mean

    low, high = stats.poisson.interval(1 - FALSE_ALARM, runs * expected)
    assert low <= sum(counts) <= high

    # the variance of a Poisson count is its mean; (n - mean)^2 / mean has variance 2 + 1 / mean
    dispersion = np.sum((np.asarray(counts) - expected) ** 2) / expected
    spread = math.sqrt(runs * (2 + 1 / expected))
    low, high = stats.norm.interval(1 - FALSE_ALARM, runs, spread)
    assert low <= dispersion <= high

    edges = range(5, 17)
    observed = [sum(count < 5 for count in counts), *(counts.count(n) for n in edges)]
    observed.append(runs - sum(observed))
    shares = [stats.poisson.cdf(4, expected), *stats.poisson.pmf(list(edges), expected)]
    shares.append(1 - sum(shares))
    assert stats.chisquare(observed, np.asarray(shares) * runs).pvalue > FALSE_ALARM


@pytest.mark.unit
def test_two_premises_do_not_share_their_times() -> None:
    seen = world(PremiseSpec("one", mean_interval=2.0), PremiseSpec("two", mean_interval=2.0))
    together = [set(seen.advance(turn, 0.0)) for turn in range(1, 60)]
    assert {"one"} in together
    assert {"two"} in together


@pytest.mark.unit
def test_a_premise_more_leaves_the_others_where_they_were() -> None:
    one = PremiseSpec("one", mean_interval=2.0)
    alone, beside = world(one), world(PremiseSpec("zero", mean_interval=1.0), one)
    for turn in range(1, 60):
        beside.advance(turn, 0.0)
        alone.advance(turn, 0.0)
        assert alone.versions["one"] == beside.versions["one"]


@pytest.mark.unit
def test_windows_switch_at_their_turn_alone() -> None:
    seen = World(WorldSpec(windows=((3, 900), (7, 400))), Streams(1))
    assert [seen.window_at(turn) for turn in range(1, 9)] == [None, None, 900, None, None, None, 400, None]


@pytest.mark.unit
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: WorldSpec((PremiseSpec("schema", (1.0,)), PremiseSpec("schema", (2.0,)))),
        lambda: WorldSpec(windows=((3, 100), (3, 200))),
        lambda: PremiseSpec("schema", (1.0,), mean_interval=2.0),
    ],
)
def test_contradictions_of_a_world_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        wrong()
