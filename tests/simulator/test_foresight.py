"""Foresight: the last use of each span by brute force, and a clairvoyant who loses nothing by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.contracts import CheckPoint, MeasurementPlan, Policy, Step, Terms, Turn
from simulator.foresight import last_uses
from simulator.laws import CoherenceLaw, Laws
from simulator.plan import Evict, RewritePlan
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind
from simulator.streams import Streams
from simulator.view import View

Make = Callable[..., Policy]
WORLD = SyntheticWorkload(
    results_per_turn=2,
    reply_low=20,
    reply_high=60,
    subgoal_low=4,
    subgoal_high=9,
    cited_share=0.3,
    citation_lag=8,
    constraint_share=0.2,
    governed_share=0.3,
    lean_share=0.4,
    touched_share=0.5,
    rederive=500,
)
HORIZON = 60


def by_brute_force(turns: list[Turn]) -> dict[int, int]:
    """Return the last turn in which a span is used, looking through all turns for each of them."""
    ids = [span.id for turn in turns for span in (*turn.arrivals, *turn.reply)]

    def uses(turn: Turn, identity: int) -> bool:
        step = turn.step or Step()
        return (
            any(identity in span.cites for span in (*turn.arrivals, *turn.reply))
            or identity in (*step.governed, *step.touches)
            or any(identity in pair for pair in step.claims)
        )

    found = {}
    for identity in ids:
        using = [number for number, turn in enumerate(turns, 1) if uses(turn, identity)]
        if using:
            found[identity] = using[-1]
    return found


@pytest.mark.property
@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_last_uses_are_those_of_a_look_at_every_turn(seed: int) -> None:
    setting = Setting("world", 10**6, WORLD, horizon=HORIZON)
    turns = [turn for turn, _ in zip(WORLD.turns(Streams(seed)), range(HORIZON), strict=False)]
    found = last_uses(setting, Streams(seed))
    assert found == by_brute_force(turns)
    assert len(found) > HORIZON / 4
    shorter = last_uses(Setting("world", 10**6, WORLD, horizon=HORIZON // 2), Streams(seed))
    assert shorter == by_brute_force(turns[: HORIZON // 2])  # nothing is used after the end


@pytest.mark.unit
def test_a_step_uses_what_it_leans_on_beside_its_citations(listed: type) -> None:
    steps = (Step(governed=(0,)), Step(touches=(1,), claims=((2, 3),)), None, Step(governed=(1,)))
    turns = tuple(Turn(step=step) for step in steps)
    assert last_uses(Setting("steps", 100, listed(turns)), Streams(0)) == {0: 1, 1: 4, 2: 2, 3: 2}


def lived(scripted: Make, *, early: int, seed: int, clairvoyant: bool = True) -> tuple[Run, Policy]:
    """Return the run of who evicts each span so many turns before its last use is over."""

    def plan(view: View) -> RewritePlan:
        over = [
            item.id
            for item in view.items
            if item.kind is not Kind.HEAD
            and item.last_use is not None
            and item.born < view.gauge.turn
            and item.last_use - early < view.gauge.turn
        ]
        return RewritePlan(tuple(map(Evict, over)))

    policy = scripted(
        terms=Terms(
            frozenset({CheckPoint.TURN_START}),
            deliberates=False,
            measurement=MeasurementPlan.NONE,
            clairvoyant=clairvoyant,
        ),
        propose_by=plan,
    )
    laws = Laws(coherence=CoherenceLaw(retry_tokens=50))
    setting = Setting("world", 10**6, WORLD, horizon=HORIZON, laws=laws, head=100)
    return simulate(setting, policy, seed), policy


@pytest.mark.theory
@pytest.mark.parametrize("seed", range(3))
def test_who_knows_the_last_use_evicts_all_that_is_over_and_misses_nothing(scripted: Make, seed: int) -> None:
    run, _ = lived(scripted, early=0, seed=seed)
    assert run.summary["tokens_freed"] > 0.5 * sum(row.arrived_tokens for row in run.turn_rows)
    assert run.summary["rederivation_tokens"] == 0
    assert run.summary["constraint_violations"] == 0
    assert run.summary["dropped_references"] == 0
    hasty, _ = lived(scripted, early=1, seed=seed)  # a turn too early: each last use is missed
    assert hasty.summary["rederivation_tokens"] > 0
    assert hasty.summary["constraint_violations"] > 0


@pytest.mark.contract
def test_nobody_else_is_told(scripted: Make) -> None:
    _, policy = lived(scripted, early=0, seed=1, clairvoyant=False)
    assert {item.last_use for view in policy.views for item in view.items} == {None}
    _, seer = lived(scripted, early=-HORIZON, seed=1)  # evicts nothing
    found = last_uses(Setting("world", 10**6, WORLD, horizon=HORIZON), Streams(1, 0, "world"))
    told = {item.id: item.last_use for view in seer.views for item in view.items}
    assert all(last == found.get(one, last) for one, last in told.items())
    born = {item.id: item.born for view in seer.views for item in view.items}
    assert all(told[one] == born[one] for one in told if one not in found)  # used when it came, and no more


@pytest.mark.unit
def test_looking_ahead_moves_no_draw(scripted: Make) -> None:
    seer, _ = lived(scripted, early=-HORIZON, seed=4)
    other, _ = lived(scripted, early=-HORIZON, seed=4, clairvoyant=False)
    assert seer.turn_rows == other.turn_rows


@pytest.mark.unit
def test_a_world_that_is_read_twice_is_the_same_twice() -> None:
    one, two = (list(zip(WORLD.turns(Streams(9)), range(30), strict=False)) for _ in range(2))
    assert one == two
