"""The benchmark turn: 2 spans, 4 check points, ledger, recorder, cognition, and no rewrite.

Against bare SimPy timeouts, and against itself in a context a hundred times as long. The workload
reads the clock at its first and after its last timed turn, so that neither setting a run up nor
the recount at its end is in the figures.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import simpy
from findings import Finding, in_time, of_ratio, require
from pairing import Measure, cpu, paired

from simulator import CheckPoint, Kind, Policy, RewritePlan, Setting, Span, Terms, Turn, View, simulate
from simulator import simulation as door
from simulator.contracts import Step
from simulator.instructions import InstructionSpec, Topic
from simulator.spans import Provenance
from simulator.streams import Streams
from simulator.view import Gauge

POINTS = frozenset(
    {CheckPoint.TURN_START, CheckPoint.AFTER_RESULT, CheckPoint.BEFORE_REQUEST, CheckPoint.TURN_END}
)
EVENTS_A_TURN = 2
"""One for the tool's latency, one for the request."""
WARM_TURNS = 20
TOPIC = "dispatch"
BARE_TIMEOUTS = 20_000


class Idle(Policy):
    """Looks at each of the four check points and never rewrites."""

    name = "idle"
    terms = Terms(check_points=POINTS, deliberates=False)

    def check(self, gauge: Gauge) -> bool:
        return False

    def propose(self, view: View) -> RewritePlan:
        raise AssertionError("nothing has fired")


class Counting(Idle):
    """Counts its checks."""

    checks = 0

    def check(self, gauge: Gauge) -> bool:
        self.checks += 1
        return False


class TimedTurns:
    """Turns of one tool result and one reply; `seconds` is what those after the warm ones took.

    Where `minded`, each result is in doubt, each reply leans on its result, and each turn's work is
    governed by a constraint, touches the result of the turn before and comes under an instruction.
    """

    def __init__(self, turns: int, spans_before: int = 0, *, minded: bool = False) -> None:
        self.last = WARM_TURNS + turns
        self.spans_before = spans_before + minded
        self.minded = minded
        self.seconds = 0.0

    def initial(self, streams: Streams) -> Iterator[Span]:
        for identity in range(self.spans_before):
            stated = self.minded and not identity
            yield Span(identity, Kind.TOOL_RESULT, 175, constraint=stated, binds=(0,) if stated else ())

    def turns(self, streams: Streams) -> Iterator[Turn]:
        identity = self.spans_before
        began = time.process_time()
        for turn in range(1, self.last + 1):
            if turn == WARM_TURNS + 1:
                began = time.process_time()
            if self.minded:
                result = Span(identity, Kind.TOOL_RESULT, 175, turn, doubt=30)
                reply = Span(identity + 1, Kind.ASSISTANT, 40, turn, Provenance.SELF, None, None, (identity,))
                yield Turn((result,), (reply,), 4.0, step=Step((0,), (max(0, identity - 2),), (), (TOPIC,)))
            else:
                result = Span(identity, Kind.TOOL_RESULT, 175, turn)
                reply = Span(identity + 1, Kind.ASSISTANT, 40, turn, Provenance.SELF)
                yield Turn((result,), (reply,), 4.0)
            identity += 2
        self.seconds = time.process_time() - began  # asked once more than there are turns: the last is over


def setting_of(workload: TimedTurns) -> Setting:
    """Return a setting with room for everything, whose horizon lets the workload end by itself."""
    topics = InstructionSpec((Topic(TOPIC, given=True),)) if workload.minded else InstructionSpec()
    return Setting("benchmark", 10**9, workload, horizon=workload.last + 1, instructions=topics)


def turns(number: int, spans_before: int = 0, runs: int = 1, *, minded: bool = False) -> Measure:
    """Return a measure of that many turns, in so many runs."""

    def measure() -> float:
        seconds = 0.0
        for _ in range(runs):
            workload = TimedTurns(number, spans_before, minded=minded)
            simulate(setting_of(workload), Idle())
            seconds += workload.seconds
        return seconds

    return measure


def bare_timeouts(number: int = BARE_TIMEOUTS) -> Measure:
    """Return a measure of one process that does nothing but wait."""

    def waiting(env: simpy.Environment) -> Iterator[simpy.Event]:
        for _ in range(number):
            yield env.timeout(1.0)

    def work() -> None:
        env = simpy.Environment()
        env.run(until=env.process(waiting(env)))

    return cpu(work)


def against_bare_timeouts(rounds: int) -> Finding:
    """Measure a turn in bare timeouts."""
    number = 1_000
    ratio = paired(bare_timeouts(), turns(number), rounds)
    return Finding(
        "benchmark turn",
        "bare SimPy timeouts",
        **of_ratio(ratio, BARE_TIMEOUTS / number),
        target=25,
        times=f"{in_time(ratio.best_case / number)} a turn, "
        f"{in_time(ratio.best_reference / BARE_TIMEOUTS)} a timeout",
        work=counted_work(number),
    )


def with_a_mind(rounds: int) -> Finding:
    """Measure a turn whose work stands on a constraint, two references and an instruction."""
    number = 1_000
    ratio = paired(bare_timeouts(), turns(number, minded=True), rounds)
    return Finding(
        "benchmark turn with constraint, references and instruction",
        "bare SimPy timeouts",
        **of_ratio(ratio, BARE_TIMEOUTS / number),
        target=25,
        times=f"{in_time(ratio.best_case / number)} a turn, "
        f"{in_time(ratio.best_reference / BARE_TIMEOUTS)} a timeout",
        work=counted_work(number, minded=True),
    )


def against_short_context(rounds: int) -> Finding:
    """Measure a turn at 10,000 spans in turns at 100."""
    number, runs = 50, 20
    ratio = paired(turns(number, 100, runs), turns(number, 10_000, runs), rounds)
    return Finding(
        "turn at 10,000 spans",
        "turn at 100 spans",
        **of_ratio(ratio),
        target=1.5,
        times=f"{in_time(ratio.best_case / number / runs)}, {in_time(ratio.best_reference / number / runs)}",
        work=f"both: {counted_work(number, 100)}; {counted_work(number, 10_000).split(',')[0]}",
    )


def counted_work(number: int, spans_before: int = 0, *, minded: bool = False) -> str:
    """Run untimed and return what a turn does. Raises DidLess if that is not the benchmark turn."""
    some, more = (counts(turns, spans_before, minded=minded) for turns in (number, 2 * number))
    expected = {"events": EVENTS_A_TURN, "checks": len(POINTS), "rows": 1, "tokens": 175 + 40}
    if minded:
        expected["steps"] = 1
    return require({name: ((more[name] - some[name]) / number, expected[name]) for name in expected})


def counts(number: int, spans_before: int, *, minded: bool = False) -> dict[str, int]:
    """Return the events scheduled, checks asked, rows recorded and tokens in the window of one run."""
    policy, workload = Counting(), TimedTurns(number, spans_before, minded=minded)
    with counted_events() as events:
        run = simulate(setting_of(workload), policy)
    return {
        "events": events.scheduled,
        "checks": policy.checks,
        "rows": len(run.turn_rows),
        "tokens": run.turn_rows[-1].tokens,
        "steps": len(run.obedience_rows),
    }


class counted_events:  # noqa: N801 - reads as a verb where it is used
    """While it lasts, each environment that the simulator makes counts the events scheduled in it."""

    def __init__(self) -> None:
        self.scheduled = 0

    def __enter__(self) -> counted_events:
        counter = self

        class CountingEnvironment(simpy.Environment):
            def schedule(self, *args: object, **named: object) -> None:
                counter.scheduled += 1
                super().schedule(*args, **named)  # type: ignore[arg-type]

        self._real = door.simpy.Environment
        door.simpy.Environment = CountingEnvironment  # type: ignore[misc]
        return self

    def __exit__(self, *_: object) -> None:
        door.simpy.Environment = self._real  # type: ignore[misc]
