"""Guards: what a policy does when its attempts come to nothing. An automaton of three states.

`open` lets attempts through, `cooling` waits, `latched` never rewrites again. Enough strikes call the
supervisor, latch, or halt the agent. What is a strike and what clears strikes are choices: with any
commit as the cure, a policy that is refused and commits a trifle in turn climbs to its end without
ever calling. Source: policy zoo section 3 point 8; field reports S01, S02, S03, S10, S13, S60.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from simulator.contracts import Lesson
from simulator.ledger import COMMITTED
from simulator.view import Gauge

STRIKES = frozenset({"refused", "infeasible", "failed"})
"""Outcomes that are strikes."""

FUTILE = "futile"
"""A commit that counts as a strike, where a guard looks for it."""

Clock = Literal["turns", "seconds"]
"""What a cool-down is measured in; a turn is one model request."""


class GuardState(StrEnum):
    """What a guard does with the next attempt."""

    OPEN = "open"
    COOLING = "cooling"
    LATCHED = "latched"


@dataclass(frozen=True, slots=True)
class GuardTerms:
    """When a policy waits, gives up, or calls for help. None never does.

    Attributes
    ----------
    escalate_after : strikes that call the supervisor, which clears them.
    reset : what clears the strikes: any `commit`, a `recovery` to below the trigger, or `never`.
    strike_on : outcomes that are strikes; `futile` is a commit that has freed less than
        `futile_share` of what stood, or that comes within `thrash_turns` turns of the last one.
    futile_share : share of the tokens before, 0 to 1; 0 calls no commit futile for what it freed.
    thrash_turns : turns within which a window that is full again makes a commit futile; 0 never.
    latch_after : strikes after which it never rewrites again.
    halt_after : strikes after which the agent is halted at the next turn.
    cooldown : after a strike, that long no attempt, in `cooldown_unit`; 0 goes on at once.
    most, per : at most so many attempts in so many turns; most None has no limit.
    """

    escalate_after: int | None = None
    reset: Literal["commit", "recovery", "never"] = "commit"
    strike_on: frozenset[str] = STRIKES
    futile_share: float = 0.0
    thrash_turns: int = 0
    latch_after: int | None = None
    halt_after: int | None = None
    cooldown: float = 0.0
    cooldown_unit: Clock = "turns"
    most: int | None = None
    per: int = 1


class Guard:
    """The guard of one run.

    Attributes
    ----------
    state : open, cooling or latched.
    strikes : since they were last cleared.
    halts : the strikes are enough to halt the agent.
    """

    def __init__(self, terms: GuardTerms) -> None:
        self._terms = terms
        self.state = GuardState.OPEN
        self.strikes = 0
        self.halts = False
        self._cooled_at = 0.0
        self._turn, self._clock = 0, 0.0
        self._committed_in: int | None = None
        self._started: list[int] = []

    def lets(self, gauge: Gauge) -> bool:
        """Whether an attempt may start now, for which the trigger has asked."""
        self._turn, self._clock = gauge.turn, self._now(gauge)
        if self.state is GuardState.LATCHED:
            return False
        if self.state is GuardState.COOLING:
            if self._clock < self._cooled_at:
                return False
            self.state = GuardState.OPEN
        most = self._terms.most
        if most is not None:
            self._started = [turn for turn in self._started if gauge.turn - turn < self._terms.per]
            if len(self._started) >= most:
                return False
            self._started.append(gauge.turn)
        return True

    def count(self, lesson: Lesson, *, recovered: bool, called: bool = False) -> bool:
        """Take in one attempt; return whether to call the supervisor, which clears the strikes.

        Parameters
        ----------
        lesson : Lesson
        recovered : bool
            The context is back under its trigger.
        called : bool
            A gate has asked for the supervisor, whatever the strikes.
        """
        if called:
            self.strikes = 0
            return True
        if self._is_strike(lesson):
            self._strike()
        elif lesson.outcome in COMMITTED and self._clears(recovered):
            self.strikes = 0
        if lesson.outcome in COMMITTED:
            self._committed_in = self._turn
        return self._calls()

    def _clears(self, recovered: bool) -> bool:
        reset = self._terms.reset
        return reset == "commit" or (reset == "recovery" and recovered)

    def _is_strike(self, lesson: Lesson) -> bool:
        terms = self._terms
        if lesson.outcome not in COMMITTED:
            return lesson.outcome in terms.strike_on
        if FUTILE not in terms.strike_on:
            return False
        back = self._committed_in is not None and self._turn - self._committed_in <= terms.thrash_turns
        return lesson.freed < terms.futile_share * lesson.before or (terms.thrash_turns > 0 and back)

    def _strike(self) -> None:
        terms = self._terms
        self.strikes += 1
        if terms.cooldown:
            self.state = GuardState.COOLING
            self._cooled_at = self._clock + terms.cooldown
        if terms.latch_after is not None and self.strikes >= terms.latch_after:
            self.state = GuardState.LATCHED
        if terms.halt_after is not None and self.strikes >= terms.halt_after:
            self.halts = True

    def _calls(self) -> bool:
        after = self._terms.escalate_after
        if after is None or self.strikes < after:
            return False
        self.strikes = 0
        return True

    def _now(self, gauge: Gauge) -> float:
        """Return the time by the clock of the cool-down."""
        return gauge.time_s if self._terms.cooldown_unit == "seconds" else float(gauge.turn)
