"""How much work a turn is, counted and not timed: SimPy events, and bytecode that the context cannot grow."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import pytest
import simpy

from simulator import simulation
from simulator.contracts import CheckPoint, Policy, Terms, Turn
from simulator.setting import Setting
from simulator.simulation import simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams

Make = Callable[..., Policy]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Callable[[Setting, Policy], int]:
    """Count the events that SimPy takes from its queue in one run."""

    class Counting(simpy.Environment):
        steps = 0

        def step(self) -> None:
            Counting.steps += 1
            super().step()

    def counted(setting: Setting, policy: Policy) -> int:
        Counting.steps = 0
        simulate(setting, policy)
        return Counting.steps

    monkeypatch.setattr(simulation.simpy, "Environment", Counting)
    return counted


@pytest.mark.unit
@pytest.mark.parametrize(("latency", "a_turn"), [(0.0, 1), (4.0, 2)])
def test_an_uncontended_turn_without_rewrite_is_one_event_and_one_for_its_tools(
    listed: type, constant: Callable, scripted: Make, events: Callable, latency: float, a_turn: int
) -> None:
    policy = scripted(terms=Terms(check_points=frozenset(CheckPoint)), check_by=False)
    started_and_ended = 2
    for turns in (1, 10, 50):
        workload = listed(constant(turns, 50, reply=30, seconds=latency))
        assert events(Setting("events", 10**6, workload), policy) == started_and_ended + turns * a_turn


@pytest.mark.unit
def test_a_check_that_is_refused_at_once_takes_no_event(
    listed: type, constant: Callable, scripted: Make, events: Callable
) -> None:
    from simulator.contracts import Verdict

    policy = scripted(admit_by=Verdict(False, "no"))
    assert events(Setting("events", 10**6, listed(constant(10, 50))), policy) == 2 + 10


class Traced:
    """A workload of many spans before the first turn, which counts bytecode between two of its turns."""

    FIRST, LAST = 3, 13

    def __init__(self, size: int) -> None:
        self.size = size
        self.instructions = 0
        self.calls = 0

    def initial(self, streams: Streams) -> Iterator[Span]:
        for identity in range(self.size):
            yield Span(identity, Kind.TOOL_RESULT, 10, subgoal=identity % 7, cites=(identity // 2,))

    def turns(self, streams: Streams) -> Iterator[Turn]:
        def step(frame: object, event: str, argument: object) -> object:
            frame.f_trace_opcodes = True  # type: ignore[attr-defined]
            self.calls += event == "call"
            self.instructions += event == "opcode"
            return step

        before = sys.gettrace()
        for turn in range(1, 20):
            if turn == self.FIRST:
                sys.settrace(step)
            if turn == self.LAST:
                sys.settrace(before)
            new = 10**6 + 3 * turn
            yield Turn(
                (Span(new, Kind.TOOL_RESULT, 10, turn, cites=(0, 5)), Span(new + 1, Kind.USER, 10, turn)),
                (Span(new + 2, Kind.ASSISTANT, 10, turn, cites=(new,)),),
                1.0,
                user_turn=True,
                closes=(turn % 7,),
            )


@pytest.mark.unit
def test_the_work_of_a_turn_does_not_grow_with_the_context(scripted: Make) -> None:
    def work(size: int) -> tuple[int, int]:
        workload = Traced(size)
        policy = scripted(terms=Terms(check_points=frozenset(CheckPoint)), check_by=False)
        simulate(Setting("work", 10**9, workload), policy)
        return workload.calls, workload.instructions

    gc.collect()
    gc.disable()  # what others hang on to the collector would be counted, and it comes with the spans
    try:
        small, large = work(100), work(10_000)
    finally:
        gc.enable()
    turns = Traced.LAST - Traced.FIRST
    assert small == large
    assert 10 * turns < small[0] < 200 * turns  # it did count, and a turn is a small thing
