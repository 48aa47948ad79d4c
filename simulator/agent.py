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

from simulator.contracts import CheckPoint, Step, Turn
from simulator.errors import RunFailed
from simulator.ledger import Account
from simulator.provider import Purpose
from simulator.questions import Vitals
from simulator.recorder import EventRow, Recorder, TurnRow
from simulator.relief import relieve
from simulator.rewrite import ask, ask_verdict, transaction
from simulator.spans import Kind, Provenance, Span
from simulator.stepping import Stepper
from simulator.supervisor import Supervisor
from simulator.tagging import Tagger
from simulator.view import Gauge, believed
from simulator.workspace import Workspace
from simulator.world import World

NO_STEP = Step()


class End(StrEnum):
    """How a run ended."""

    HORIZON = "horizon"
    COMPLETE = "complete"
    OVERFLOW = "overflow"
    DEAD = "dead"
    HALTED = "halted"


class Agent:
    """One agent on the clock.

    Attributes
    ----------
    outcome : how the run ended, once it has.
    escalations : calls of the supervisor.
    """

    def __init__(self, work: Workspace, world: World, supervisor: Supervisor, recorder: Recorder) -> None:
        self.work = work
        self.world = world
        self.supervisor = supervisor
        self.recorder = recorder
        self.outcome: End | None = None
        self.stepper = Stepper(work, self._note)
        self.tagger = Tagger(work.setting.tags, work.streams)
        work.versions = world.versions
        self._max_occupancy_pct = 0.0
        self._removed = self._retired = 0
        self.escalations = 0
        self._vitals: Vitals | None = None
        self._service = work.streams.exponential("service")

    def live(self) -> Generator[simpy.Event, object, None]:
        """Run all turns; the process to give to SimPy."""
        work = self.work
        setting = work.setting
        at_start, at_user, after, before, at_end = (
            point in work.terms.check_points
            for point in (
                CheckPoint.TURN_START,
                CheckPoint.USER_TURN,
                CheckPoint.AFTER_RESULT,
                CheckPoint.BEFORE_REQUEST,
                CheckPoint.TURN_END,
            )
        )
        watches = work.terms.red_flag
        self._move_in()
        user_turn = 0
        coming = setting.workload.turns(work.streams)
        for work.turn, turn in enumerate(islice(coming, setting.horizon), 1):
            user_turn += turn.user_turn
            self._start_turn(turn)
            if watches and self._distrusts():
                self._end_turn(user_turn, 0)
                self.outcome = End.HALTED
                return
            if at_start:
                yield from self._check(CheckPoint.TURN_START)
            if turn.seconds:
                yield work.env.timeout(turn.seconds)
            arrived = self._arrive(turn.arrivals)
            if at_user and turn.user_turn:
                yield from self._check(CheckPoint.USER_TURN)
            if after:
                yield from self._check(CheckPoint.AFTER_RESULT)
            if before:
                yield from self._check(CheckPoint.BEFORE_REQUEST)
            if self._overflows():
                self._end_turn(user_turn, arrived)
                self.outcome = self._overflow_end()
                return
            output = 0
            for span in turn.reply:
                output += span.tokens
            yield work.env.timeout(
                work.provider.continue_prompt(work.env.now, work.context.tokens, output, Purpose.AGENT)
            )
            work.requests_since_rewrite += 1
            seconds = self._step(turn)
            if seconds:
                yield work.env.timeout(seconds)
            arrived += self._arrive(turn.reply)
            if at_end:
                yield from self._check(CheckPoint.TURN_END)
            self._end_turn(user_turn, arrived)
        self.outcome = End.COMPLETE if next(coming, None) is None else End.HORIZON

    def _step(self, turn: Turn) -> float:
        """Let the turn's work meet what it stands on; return the seconds that it takes beside its request."""
        cited: tuple[int, ...] = ()
        for spans in (turn.reply, turn.arrivals):
            for span in spans:
                if span.cites:
                    cited += span.cites
        if not cited and turn.step is None and not self.stepper.instructor.is_waiting:
            return 0.0
        if len(turn.reply) > 1:  # parts of one reply lean on each other: what is being written is not missing
            written = {span.id for span in turn.reply}
            cited = tuple(identity for identity in cited if identity not in written)
        subgoal = turn.reply[0].subgoal if turn.reply else None
        return self.stepper.take(turn.step or NO_STEP, cited, subgoal)

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
            place, self.escalations = self.escalations, self.escalations + 1
            served = self.supervisor.escalate(self._relieve, self._service[place])
            if served is not None and work.setting.fleet.blocks:
                yield served

    def _distrusts(self) -> bool:
        """Ask the policy whether it can trust what it holds, beside what it held a turn ago."""
        work = self.work
        last = self._vitals
        tokens, confidence = work.believed_tokens(), work.confidence
        ledger = None if work.terms.tombstones is None else len(work.ledger.tombstones)
        self._vitals = Vitals(tokens, tokens, confidence, confidence, ledger)
        if last is None:
            return False
        vitals = Vitals(tokens, last.tokens, confidence, last.confidence, ledger)
        verdict = ask_verdict(work, "resume", work.policy.resume, vitals)
        if not verdict.accepted:
            self._note("halted", verdict.reason, 0)
        return not verdict.accepted

    def _move_in(self) -> None:
        work = self.work
        if work.setting.head:
            head = Span(work.new_id(), Kind.HEAD, work.setting.head, 0, Provenance.RUNTIME)
            work.context.append(head)
        self.stepper.instructor.move_in()
        for span in self.tagger.arriving(tuple(work.setting.workload.initial(work.streams))):
            work.context.append(span)
            work.cognition.meet(span)
        work.ledger.post(Account.INITIAL, work.context.tokens)

    def _start_turn(self, turn: Turn) -> None:
        """Let premises and the window change, subgoals close, old artifacts retire."""
        work = self.work
        changed = self.world.advance(work.turn, work.env.now)
        if changed:
            for name in changed:
                self._note("premise", name, 0)
            self.stepper.instructor.changed(changed)
        window = self.world.window_at(work.turn)
        if window is not None:
            self._max_occupancy_pct = self.max_occupancy_pct
            work.window, work.context.peak = window, work.context.tokens
            self._note("window", "", window)
        if turn.closes:
            work.context.finished.update(turn.closes)
            for subgoal in self.tagger.closing(turn.closes):
                work.context.close(subgoal)
        for kind, detail in turn.events:
            self._note(kind, detail, 0)
        if work.terms.retires and work.artifacts:
            self._retire()

    def _retire(self) -> None:
        """Remove the artifacts of earlier turns whole, outside any rewrite."""
        work = self.work
        context = work.context
        old = [identity for identity in work.artifacts if identity in context]
        work.artifacts.clear()
        if not old:
            return
        work.provider.keep_prefix(context.prefix_before(old))
        work.ledger.post(Account.RETIRED, context.remove(old))

    def _arrive(self, spans: tuple[Span, ...]) -> int:
        work = self.work
        context = work.context
        before = context.tokens
        if not self.tagger.is_perfect:
            spans = self.tagger.arriving(spans)
        for span in spans:
            context.append(span)
            if span.rederive or span.doubt or span.binds:
                work.cognition.meet(span)
        arrived = context.tokens - before
        work.ledger.post(Account.ARRIVED, arrived)
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

    def _end_turn(self, user_turn: int, arrived: int) -> None:
        work = self.work
        tokens = work.context.tokens
        removed = work.ledger.accounts[Account.OUT_OF_BAND]
        retired = work.ledger.accounts[Account.RETIRED]
        if work.watch is not None:
            work.watch.turn_ended(work, user_turn)
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
                retired - self._retired,
                removed - self._removed,
                work.cognition.decision_quality,
                self.world.epoch,
                work.confidence,
                work.context.bound,
                work.agent,
            )
        )
        self._removed, self._retired = removed, retired

    def _relieve(self, tokens: int) -> None:
        """Let the supervisor remove content out of band."""
        if self.outcome is not None:  # of a fleet: nobody is there any more
            return
        removed = relieve(self.work, tokens)
        if removed:
            self._note("out_of_band", "supervisor", removed)

    def _note(self, kind: str, detail: str, tokens: int) -> None:
        self.recorder.events.append(
            EventRow(self.work.turn, self.work.env.now, kind, detail, tokens, self.work.agent)
        )
