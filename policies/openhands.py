"""OpenHands' summarising condenser: soft by the number of events, hard by tokens or an overflow.

Softly it goes on uncondensed where no legal cut leaves enough to take; pressed hard it then gives up the
whole view, its first events too. An event is a span, the fixed head among them. Source: policy zoo 12,
OpenHands/software-agent-sdk:openhands-sdk/openhands/sdk/context/condenser/ and context/view/ @611629e699.
"""

from __future__ import annotations

from collections.abc import Sequence

from policies.composed import NOTHING
from policies.keeping import RESULTS, WRITTEN
from simulator.contracts import (
    Brief,
    CheckPoint,
    CounterKind,
    CounterTerms,
    MeasurementPlan,
    Policy,
    RequestTerms,
    Terms,
)
from simulator.errors import InputError
from simulator.plan import Fold, RewritePlan, Summarise
from simulator.spans import FIXED, Kind
from simulator.view import Gauge, Item, View


class OpenHandsCondenser(Policy):
    """Folds the events between the first ones and a tail, at legal cuts alone.

    Parameters
    ----------
    max_size : int
        Events above which it condenses, softly; half of them are to be left.
    keep_first : int
        Events at the start that stay, while it is not pressed.
    max_tokens : int, optional
        Believed tokens above which it condenses, come what may; None is the window.
    minimum_progress : float
        Least share of the events that a condensation must take.
    overhead_tokens : int
        The summariser's own prompt.
    resets : int
        Tries to summarise, each shown `scaling` of what the last one was. The real one makes them where
        it is pressed, and softly a single one; here the engine is told once for a run, so always.
    scaling : float
        Above 0 and below 1.
    ratio : float
        Share that it believes a summary to keep.
    """

    name = "openhands-condenser"

    def __init__(
        self,
        *,
        max_size: int = 240,
        keep_first: int = 2,
        max_tokens: int | None = None,
        minimum_progress: float = 0.1,
        overhead_tokens: int = 0,
        resets: int = 5,
        scaling: float = 0.8,
        ratio: float = 0.1,
    ) -> None:
        tail = max_size // 2 - keep_first - 1
        if tail < 1 or keep_first < 0:
            raise InputError(
                f"max_size {max_size} with keep_first {keep_first} leaves a tail of {tail} events",
                where="parameters.max_size",
                expected="a tail of max_size // 2 - keep_first - 1 events, 1 or more",
            )
        self._max_size, self._keep_first, self._max_tokens = max_size, keep_first, max_tokens
        self._minimum_progress, self._ratio = minimum_progress, ratio
        self.terms = Terms(
            check_points=frozenset({CheckPoint.BEFORE_REQUEST, CheckPoint.OVERFLOW}),
            deliberates=False,
            measurement=MeasurementPlan.NONE,
            counter=CounterTerms(kind=CounterKind.ESTIMATE),
            request=RequestTerms(
                overhead_tokens=overhead_tokens,
                ladder=tuple(scaling**number for number in range(1, resets)),
            ),
        )
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        self._requested = False

    def check(self, gauge: Gauge) -> bool:
        """Whether there are too many events or tokens, or the provider has refused the request."""
        self._requested = gauge.point is CheckPoint.OVERFLOW
        events = gauge.messages + (gauge.by_kind[Kind.HEAD] > 0)
        return self._requested or events > self._max_size or gauge.tokens > self._limit(gauge)

    def propose(self, view: View) -> RewritePlan:
        """Take the events between two legal cuts; all of them where that is not enough and it is pressed."""
        events = view.items
        pressed = self._requested or view.gauge.tokens > self._limit(view.gauge)
        legal = legal_cuts(events)
        start = next(cut for cut in legal if cut >= min(self._keep_first, len(events)))
        end = next((cut for cut in legal if cut >= len(events) - self._tail(view)), start)
        going = _movable(events[start:end])
        if len(going) < max(1, self._minimum_progress * len(events)):
            going = _movable(events) if pressed else ()
        if not going:
            return RewritePlan(refusal=NOTHING)
        ids = tuple(item.id for item in going)
        saving = round((1 - self._ratio) * sum(item.tokens for item in going))
        return RewritePlan((Fold(ids) if len(ids) > 1 else Summarise(ids[0]),), saving)

    def _limit(self, gauge: Gauge) -> int:
        return gauge.window if self._max_tokens is None else min(self._max_tokens, gauge.window)

    def _tail(self, view: View) -> int:
        """Return the events of the tail, by the strictest of the reasons to condense."""
        events, limit = view.items, self._limit(view.gauge)
        tails = []
        if self._requested:
            tails.append(len(events) // 2 - self._keep_first - 1)
        if len(events) > self._max_size:
            tails.append(self._max_size // 2 - self._keep_first - 1)
        tokens = view.gauge.tokens
        if tokens > limit:
            tails.append(self._after_tokens(events, tokens - limit // 2))
        return min(tails, default=len(events))

    def _after_tokens(self, events: Sequence[Item], need: int) -> int:
        """Return the events left once the shortest run after the first ones has taken more than `need`."""
        for place in range(self._keep_first, len(events)):
            need -= events[place].tokens
            if need < 0:
                return len(events) - place - 1
        return 0


def legal_cuts(events: Sequence[Item]) -> list[int]:
    """Return the places where events may be cut.

    Not within one answer, not between a call and its result, and not within a loop that a signed block
    has opened: from there on, all calls and results up to the next plain message.
    """
    legal = [0]
    pending: dict[int, int] = {}
    in_loop = False
    for place, event in enumerate(events):
        before = events[place - 1] if place else None
        torn = (
            before is not None
            and event.kind in WRITTEN
            and before.kind in WRITTEN
            and event.born == before.born
        )
        if event.kind is Kind.THINKING:
            in_loop = True
        elif torn or event.kind is Kind.TOOL_CALL or event.kind in RESULTS:
            torn = torn or in_loop
        else:
            in_loop = False
        if torn and legal[-1] == place:
            legal.pop()
        if event.pair is not None and event.kind is not Kind.THINKING:
            opens = 1 if event.kind is Kind.TOOL_CALL else -1
            pending[event.pair] = pending.get(event.pair, 0) + opens
        if not any(open_ > 0 for open_ in pending.values()):
            pending.clear()
            legal.append(place + 1)
    return legal


def _movable(events: Sequence[Item]) -> tuple[Item, ...]:
    """Return the events that may be touched at all: no fixed ones, and nothing that is marked."""
    return tuple(item for item in events if item.kind not in FIXED and not item.marked)
