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

from simulator.calling import ask, ask_verdict
from simulator.contracts import CheckPoint, Step, Turn
from simulator.errors import RunFailed
from simulator.foresight import last_uses
from simulator.ledger import Account, Outcome
from simulator.provider import Purpose
from simulator.questions import Vitals
from simulator.recorder import EventRow, Recorder, TurnRow
from simulator.relief import relieve
from simulator.rewrite import transaction
from simulator.spans import Kind, Provenance, Span
from simulator.stepping import Stepper
from simulator.supervisor import Supervisor
from simulator.tagging import Tagger
from simulator.view import Gauge, believed
from simulator.workspace import Workspace
from simulator.world import World

NO_STEP = Step()

GIVEN_UP = frozenset({Outcome.FAILED, Outcome.INFEASIBLE})
"""Outcomes after which a policy may raise, where its terms say so."""


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
        self._beside: simpy.Process | None = None
        self._life: simpy.Process | None = None
        self._heads = int(work.setting.head > 0)
        self._counts_exactly = work.counter.is_true
        self._service = work.streams.exponential("service")

    def live(self) -> Generator[simpy.Event, object, None]:
        """Run all turns, and wait for a rewrite that still runs beside them; the process to give to SimPy."""
        self._life = life = self.work.env.active_process
        assert life is not None
        life.defused = True  # who waits for it raises its fault, also where two agents fail at one instant
        fault: Exception | None = None
        try:
            yield from self._turns()
            if self._beside is not None:
                yield self._beside
        except simpy.Interrupt as call:  # of the rewrite beside them
            fault = call.cause
        if fault is not None:
            raise fault

    # One turn, read from top to bottom: a generator within a generator would cost a tenth of it.
    def _turns(self) -> Generator[simpy.Event, object, None]:  # noqa: PLR0912, PLR0915
        work = self.work
        setting = work.setting
        at_start, at_user, after, before, at_end, at_overflow = (
            point in work.terms.check_points
            for point in (
                CheckPoint.TURN_START,
                CheckPoint.USER_TURN,
                CheckPoint.AFTER_RESULT,
                CheckPoint.BEFORE_REQUEST,
                CheckPoint.TURN_END,
                CheckPoint.OVERFLOW,
            )
        )
        torn = work.context.pairs if setting.runtime.requires_pairs else None
        watches, warm, listens = work.terms.red_flag, work.terms.keep_warm, work.counter.listens
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
            if warm is not None:  # before anybody looks: what was kept warm is warm for a rewrite, too
                pings = work.provider.stay_warm(
                    work.env.now, ping_seconds=warm.ping_seconds, longest_seconds=warm.longest_seconds
                )
                work.last_request_s += pings * warm.ping_seconds
            if after and not turn.together:
                arrived = yield from self._arrive_apart(turn.arrivals)
            else:
                arrived = self._arrive(turn.arrivals)
            if at_user and turn.user_turn:
                yield from self._check(CheckPoint.USER_TURN)
            if after and turn.together:
                yield from self._check(CheckPoint.AFTER_RESULT)
            if before:
                yield from self._check(CheckPoint.BEFORE_REQUEST)
            if at_overflow and self.outcome is None and self._overflows():
                yield from self._make_room()
            if (torn is not None and torn.broken) or self._overflows():
                self.outcome = self.outcome or self._end_before_request()
            if self.outcome is not None:
                self._end_turn(user_turn, arrived)
                return
            output = 0
            for span in turn.reply:
                output += span.tokens
            prompt = work.context.tokens
            yield work.env.timeout(work.provider.continue_prompt(work.env.now, prompt, output, Purpose.AGENT))
            work.last_request_s = work.env.now
            if listens:
                work.counter.hear(prompt, turn.reply)
            work.requests_since_rewrite += 1
            seconds = self._step(turn)
            if seconds:
                yield work.env.timeout(seconds)
            arrived += self._arrive(turn.reply)
            if at_end:
                yield from self._check(CheckPoint.TURN_END)
            self._end_turn(user_turn, arrived)
            if self._has_ended():  # a rewrite at the end of the turn may have raised
                return
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

    def _has_ended(self) -> bool:
        return self.outcome is not None

    @property
    def max_occupancy_pct(self) -> float:
        """Highest true count at any instant, percent of the window then in force."""
        return max(self._max_occupancy_pct, 100 * self.work.context.peak / self.work.window)

    def gauge(self, point: CheckPoint) -> Gauge:
        """Return what the policy sees at a check point."""
        work = self.work
        context = work.context
        now, tokens = work.env.now, context.tokens
        dead, by_kind = context.dead_tokens, context.kinds()
        if not self._counts_exactly:
            tokens, share = work.counter.count(), work.counter.share()
            dead = believed(dead, share)
            by_kind = {kind: believed(count, share) for kind, count in by_kind.items()}
        return Gauge(
            point,
            work.turn,
            tokens,
            work.believed_window,
            work.setting.output_reserve,
            work.requests_since_rewrite,
            dead,
            by_kind,
            context.count - self._heads,
            now,
            now - work.last_request_s,
        )

    def _check(self, point: CheckPoint) -> Iterable[simpy.Event]:
        """Return what is to be lived through: the rewrite that the check starts, mostly nothing."""
        work = self.work
        if self._beside is not None or self.outcome is not None:  # one rewrite at a time
            return ()
        gauge = self.gauge(point)
        fired = ask(work, "check", work.policy.check, gauge)
        if fired is False:
            return ()
        if fired is not True:
            raise RunFailed("check", f"policy returned {type(fired).__name__}, expected True or False")
        if work.terms.background is not None:
            self._beside = work.env.process(self._rewrite_beside(gauge))
            return (work.env.timeout(0),)  # it begins with what stood at the check
        return self._rewrite(gauge)

    def _rewrite_beside(self, gauge: Gauge) -> Generator[simpy.Event, object, None]:
        """Rewrite while the turns go on; a fault ends them, as it was raised."""
        try:
            yield from self._rewrite(gauge)
        except Exception as fault:
            assert self._life is not None
            self._life.interrupt(fault)
        self._beside = None

    def _rewrite(self, gauge: Gauge) -> Generator[simpy.Event, object, None]:
        work = self.work
        ending = yield from transaction(work, gauge)
        gives_up = ending.outcome in GIVEN_UP and work.terms.request.on_failure == "raise"
        if gives_up and self.outcome is None:
            self._note("halted", ending.reason, 0)
            self.outcome = End.HALTED
        if work.calls_supervisor:
            self._note("escalation", "", 0)
            place, self.escalations = self.escalations, self.escalations + 1
            served = self.supervisor.escalate(self._relieve, self._service[place])
            if served is not None and work.setting.fleet.blocks:
                yield served

    def _make_room(self) -> Generator[simpy.Event, object, None]:
        """Let the policy answer the provider's refusal, as long as its answers make the request shorter."""
        work = self.work
        while self._overflows():
            yield work.env.timeout(work.provider.rejected(Purpose.AGENT))
            before = work.context.tokens
            yield from self._check(CheckPoint.OVERFLOW)
            if self._beside is not None:
                yield self._beside
            if work.context.tokens >= before or self.outcome is not None:
                return

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
        if work.terms.clairvoyant:
            work.last_uses = last_uses(work.setting, work.streams)
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
            if work.terms.window.tokens is None and work.terms.window.follows_switches:
                work.believed_window = window
            self._note("window", "", window)
        if turn.user_turn:
            work.context.pairs.begin_loop(work.turn)
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

    def _arrive_apart(self, spans: tuple[Span, ...]) -> Generator[simpy.Event, object, int]:
        """Let spans come in one after another, with a look after each tool result."""
        arrived = 0
        for span in spans:
            arrived += self._arrive((span,))
            if span.kind is Kind.TOOL_RESULT:
                yield from self._check(CheckPoint.AFTER_RESULT)
        return arrived

    def _overflows(self) -> bool:
        work = self.work
        return (
            work.context.tokens + work.setting.output_reserve > work.window and not work.terms.endless_window
        )

    def _end_before_request(self) -> End:
        """Return how the run ends where the next request cannot be sent, now or ever."""
        setting = self.work.setting
        if setting.runtime.requires_pairs and self.work.context.pairs.broken:
            self._note("rejected", "a call and its result do not stand together", 0)
            return End.DEAD
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
                tokens if self._counts_exactly else work.believed_tokens(),
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
