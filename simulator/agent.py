"""`Agent`: the SimPy process that lives through the turns.

A turn is one model request with what led to it: arrivals, check points, request, reply. At each
check point that the policy has declared it reads its gauge, and a fired trigger starts one rewrite
transaction. The run ends at the horizon, when the workload is complete, or when a request no longer
fits.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from enum import StrEnum
from itertools import islice

import simpy

from simulator.contracts import CheckPoint, Turn
from simulator.errors import RunFailed
from simulator.ledger import Account
from simulator.provider import Purpose
from simulator.recorder import EventRow, Recorder, TurnRow
from simulator.rewrite import ask, transaction
from simulator.spans import Kind, Provenance, Span
from simulator.supervisor import Supervisor
from simulator.view import Gauge, believed
from simulator.workspace import Workspace
from simulator.world import World

EVICTABLE = frozenset(Kind) - {Kind.HEAD, Kind.USER}
"""What a supervisor may remove."""


class End(StrEnum):
    """How a run ended."""

    HORIZON = "horizon"
    COMPLETE = "complete"
    OVERFLOW = "overflow"
    DEAD = "dead"


OBSERVABLE = {End.HORIZON: True, End.COMPLETE: True, End.OVERFLOW: True, End.DEAD: True}
"""Whether an end can be seen from inside the context."""


class Agent:
    """One agent on the clock.

    Attributes
    ----------
    outcome : how the run ended, once it has.
    max_occupancy_pct : highest true count at any instant, percent of the window then in force.
    """

    def __init__(self, work: Workspace, world: World, supervisor: Supervisor, recorder: Recorder) -> None:
        self.work = work
        self.world = world
        self.supervisor = supervisor
        self.recorder = recorder
        self.outcome: End | None = None
        self._max_occupancy_pct = 0.0
        self._removed = 0
        self._service = work.streams.exponential("service")

    def live(self) -> Generator[simpy.Event, object, None]:
        """Run all turns; the process to give to SimPy."""
        work = self.work
        setting = work.setting
        points = work.terms.check_points
        self._move_in()
        user_turn = 0
        coming = setting.workload.turns(work.streams)
        for work.turn, turn in enumerate(islice(coming, setting.horizon), 1):
            user_turn += turn.user_turn
            retired = self._start_turn(turn)
            if CheckPoint.TURN_START in points:
                yield from self._check(CheckPoint.TURN_START)
            if turn.seconds:
                yield work.env.timeout(turn.seconds)
            arrived = self._arrive(turn.arrivals)
            if turn.user_turn and CheckPoint.USER_TURN in points:
                yield from self._check(CheckPoint.USER_TURN)
            if CheckPoint.AFTER_RESULT in points:
                yield from self._check(CheckPoint.AFTER_RESULT)
            if CheckPoint.BEFORE_REQUEST in points:
                yield from self._check(CheckPoint.BEFORE_REQUEST)
            if self._overflows():
                self._end_turn(user_turn, arrived, retired)
                self.outcome = self._overflow_end()
                return
            output = 0
            for span in turn.reply:
                output += span.tokens
            yield work.env.timeout(
                work.provider.continue_prompt(work.env.now, work.context.tokens, output, Purpose.AGENT)
            )
            work.requests_since_rewrite += 1
            arrived += self._arrive(turn.reply)
            if CheckPoint.TURN_END in points:
                yield from self._check(CheckPoint.TURN_END)
            self._end_turn(user_turn, arrived, retired)
        self.outcome = End.COMPLETE if next(coming, None) is None else End.HORIZON

    @property
    def max_occupancy_pct(self) -> float:
        """Highest true count at any instant, percent of the window then in force."""
        return max(self._max_occupancy_pct, 100 * self.work.context.peak / self.work.window)

    def gauge(self, point: CheckPoint) -> Gauge:
        """Return what the policy sees at a check point."""
        work = self.work
        context = work.context
        tokens, dead = context.tokens, context.dead_tokens
        by_kind = context.by_kind.copy()
        ratio = work.terms.counter_ratio
        if ratio != 1:
            tokens, dead = work.believed_tokens(), believed(dead, ratio)
            by_kind = {kind: believed(count, ratio) for kind, count in by_kind.items()}
        return Gauge(
            point,
            work.turn,
            tokens,
            work.window,
            work.setting.output_reserve,
            work.requests_since_rewrite,
            dead,
            by_kind,
        )

    def _check(self, point: CheckPoint) -> Iterable[simpy.Event]:
        """Return what is to be lived through: the rewrite that the check starts, mostly nothing."""
        work = self.work
        gauge = self.gauge(point)
        fired = ask(work, "check", work.policy.check, gauge)
        if fired is False:
            return ()
        if fired is not True:
            raise RunFailed("check", f"policy returned {type(fired).__name__}, expected True or False")
        return self._rewrite(gauge)

    def _rewrite(self, gauge: Gauge) -> Generator[simpy.Event, object, None]:
        work = self.work
        yield from transaction(work, gauge)
        if work.calls_supervisor:
            self._note("escalation", "", 0)
            self.supervisor.escalate(self._evict, self._service[self.supervisor.escalations])

    def _move_in(self) -> None:
        work = self.work
        if work.setting.head:
            head = Span(work.new_id(), Kind.HEAD, work.setting.head, 0, Provenance.RUNTIME)
            work.context.append(head)
        for span in work.setting.workload.initial(work.streams):
            work.context.append(span)
        work.ledger.post(Account.INITIAL, work.context.tokens)

    def _start_turn(self, turn: Turn) -> int:
        """Let premises and the window change, subgoals close, old artifacts retire."""
        work = self.work
        for name in self.world.advance(work.turn, work.env.now):
            self._note("premise", name, 0)
        window = self.world.window_at(work.turn)
        if window is not None:
            self._max_occupancy_pct = self.max_occupancy_pct
            work.window, work.context.peak = window, work.context.tokens
            self._note("window", "", window)
        for subgoal in turn.closes:
            work.context.close(subgoal)
        for kind, detail in turn.events:
            self._note(kind, detail, 0)
        return self._retire() if work.terms.retires and work.artifacts else 0

    def _retire(self) -> int:
        """Remove the artifacts of earlier turns whole, outside any rewrite."""
        work = self.work
        context = work.context
        old = [identity for identity in work.artifacts if identity in context]
        work.artifacts.clear()
        if not old:
            return 0
        work.provider.keep_prefix(context.prefix_before(old))
        retired = context.remove(old)
        work.ledger.post(Account.RETIRED, retired)
        return retired

    def _arrive(self, spans: tuple[Span, ...]) -> int:
        context = self.work.context
        before = context.tokens
        for span in spans:
            context.append(span)
        arrived = context.tokens - before
        self.work.ledger.post(Account.ARRIVED, arrived)
        return arrived

    def _overflows(self) -> bool:
        work = self.work
        return (
            work.context.tokens + work.setting.output_reserve > work.window and not work.terms.endless_window
        )

    def _overflow_end(self) -> End:
        """Return overflow; or dead, where not even an empty conversation would fit."""
        setting = self.work.setting
        return End.DEAD if setting.head + setting.output_reserve > self.work.window else End.OVERFLOW

    def _end_turn(self, user_turn: int, arrived: int, retired: int) -> None:
        work = self.work
        tokens = work.context.tokens
        removed = work.ledger.accounts[Account.OUT_OF_BAND]
        work.context.end_turn()
        self.recorder.turns.append(
            TurnRow(
                work.turn,
                user_turn,
                work.env.now,
                tokens,
                100 * tokens / work.window,
                work.believed_tokens(),
                arrived,
                retired,
                removed - self._removed,
                work.cognition.decision_quality,
                self.world.epoch,
            )
        )
        self._removed = removed

    def _evict(self, tokens: int) -> None:
        """Remove the oldest evictable content, as the supervisor does it: out of band."""
        work = self.work
        going: list[int] = []
        left = tokens
        for span in work.context:
            if left <= 0:
                break
            marked = span.id in work.context.protected or span.id in work.context.immutable
            if span.kind in EVICTABLE and not marked:
                going.append(span.id)
                left -= span.tokens
        if not going:
            return
        work.provider.keep_prefix(work.context.prefix_before(going))
        removed = work.context.remove(going)
        work.ledger.post(Account.OUT_OF_BAND, removed)
        self._note("out_of_band", "supervisor", removed)

    def _note(self, kind: str, detail: str, tokens: int) -> None:
        self.recorder.events.append(EventRow(self.work.turn, self.work.env.now, kind, detail, tokens))
