"""The conserving family: a rewrite happens when it pays, or when there is no room to wait, and never else.

What no system of the zoo has, in one policy: the rent of what a rewrite would spare, summed call by call at
what each call really pays, against the whole price of that rewrite (its requests, its tries and the cache
that it breaks); a low watermark in turns of growth; room for the rewrite itself and for the largest arrival
seen; pins and pairs by identity; and a least progress a pass. To buy when the rent has reached the price is
the rule of ski rental: where the price is the cache alone (masking, a warm cache), it pays at most twice what
one pays that knows the end; with steady growth its passes settle at `optimal_threshold`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from policies.gates.conservation import ConservationGate
from policies.gates.evidence import EvidenceGate
from policies.gates.payback import PaybackGate, Work, cost
from policies.gates.progress import ProgressGate
from policies.keeping import whole_requests
from simulator.contracts import (
    Brief,
    CheckPoint,
    Gate,
    Lesson,
    MeasurementPlan,
    Policy,
    Proposal,
    RequestTerms,
    Terms,
    TombstoneTerms,
    Verdict,
)
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan
from simulator.schema import Amount, Share, Tokens, Turns
from simulator.spans import FIXED, Kind
from simulator.view import Gauge, Item, View

PINNED = FIXED | {Kind.USER, Kind.INSTRUCTION}
"""Kinds that a pass leaves as they are: what users said, and what binds."""

PLACEHOLDER_TOKENS = 12
"""What stands for a masked tool result."""

GROWTH_WEIGHT = 0.1
"""Weight of one more turn in the mean growth."""


def optimal_threshold(after: float, growth: float, fixed_usd: float, read_usd: float) -> float:
    """Return the threshold with the least mean cost a call, tokens: `s - g + sqrt(g^2 + 2 g A / p_r)`.

    Parameters
    ----------
    after : float
        Tokens right after a rewrite, s.
    growth : float
        Mean growth a call, g.
    fixed_usd : float
        A, the cost of a rewrite that does not depend on its threshold.
    read_usd : float
        Price of reading one cached token, p_r.

    >>> round(optimal_threshold(10_000, 1_000, 0.2, 2e-7))
    53733
    """
    return after - growth + math.sqrt(growth**2 + 2 * growth * fixed_usd / read_usd)


class Relaxation(NamedTuple):
    """How much a plan spares.

    Attributes
    ----------
    kept_requests : newest requests that stay whole.
    summarises : it asks for a summary; else it masks.
    spares_leant_on : what any live work leans on stays; else only what the newest requests lean on.
    spares_needed : what is tagged as needed later stays.
    """

    kept_requests: int
    summarises: bool
    spares_leant_on: bool = False
    spares_needed: bool = False


class ConservingPolicy(Policy):
    """Rewrites when the rent has reached the price, or when there is no room to wait.

    Parameters
    ----------
    replacement : str
        `summary` writes one for all that goes; `mask` blanks tool results, which asks no model.
    keep_requests : int
        Newest requests whose spans stay.
    headroom_turns, watermark_turns : float
        Turns of growth that must be free before a request, and after a rewrite.
    least_progress : float
        Share of the window that a pass must free.
    as_many_again : float
        Calls left, as a share of those made.
    believed_ratio : float
        What a summary is expected to leave, until one was seen.
    overhead_tokens : int
        Of the prompt for a summary.
    """

    def __init__(
        self,
        *,
        replacement: Literal["summary", "mask"] = "summary",
        keep_requests: Turns = 4,
        headroom_turns: Amount = 2.0,
        watermark_turns: Amount = 20.0,
        least_progress: Share = 0.02,
        as_many_again: Amount = 1.0,
        believed_ratio: Share = 0.2,
        overhead_tokens: Tokens = 400,
    ) -> None:
        self.name = "conserving"
        self._summarises = replacement == "summary"
        self._keep_requests = keep_requests
        self._headroom_turns, self._watermark_turns = headroom_turns, watermark_turns
        self._believed_ratio = believed_ratio
        self._least_progress = least_progress
        self.terms = Terms(
            check_points=frozenset({CheckPoint.BEFORE_REQUEST, CheckPoint.OVERFLOW}),
            deliberates=False,
            measurement=MeasurementPlan.DELTA,
            retries=1,
            tombstones=TombstoneTerms(),
            request=RequestTerms(
                overhead_tokens=overhead_tokens, shares_prefix=True, reads_all=True, ladder=(0.5,)
            ),
        )
        self._payback = PaybackGate(as_many_again, headroom_turns)
        self.gates: tuple[Gate, ...] = (
            EvidenceGate(red_flag=False),
            ConservationGate(),
            self._payback,
            ProgressGate(least_progress),
        )
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        self._brief = brief
        self._ratio = self._believed_ratio
        self._rent = 0.0
        self._floor: int | None = None
        self._summary = 0
        self._last: int | None = None
        self._growth = self._largest = 0.0
        self._wait_until = 0
        self._failed = False
        for gate in self.gates:
            gate.begin()
            gate.brief(brief, self.terms)

    def check(self, gauge: Gauge) -> bool:
        """Pay the rent of one more call; rewrite when it has reached the price, or there is no room."""
        self._watch(gauge)
        if gauge.point is CheckPoint.OVERFLOW:
            return True
        keep = round(self._keep_requests * self._growth)
        floor = gauge.by_kind[Kind.HEAD] + keep if self._floor is None else self._floor
        freeable = max(0, gauge.tokens - floor)
        prices = self._brief.prices
        warm = gauge.idle_seconds <= prices.cache_seconds
        work = self._work(gauge, freeable, keep)
        self._rent += max(0, work.saved) * (prices.cache_read if warm else prices.cache_write)
        if work.saved < self._least_progress * gauge.window or gauge.tokens < self._wait_until:
            return False
        price = cost(work, prices, warm=warm, tries=self._payback.tries)
        return self._rent >= price or self._is_short_of_room(gauge)

    def propose(self, view: View) -> RewritePlan:
        """Replace all that nothing pins, from the oldest on; where that is not enough, keep less."""
        gauge = view.gauge
        for relaxed in self._relaxations():
            plan = self._plan(self._movable(view, relaxed), summarises=relaxed.summarises)
            if gauge.tokens - plan.believed_saving <= self._target(gauge):
                break
        if not plan.operations:
            return plan._replace(refusal="nothing to rewrite that is not pinned")
        for gate in self.gates:
            verdict = gate.weigh(view, plan, self._target(gauge))
            if not verdict.accepted:
                return plan._replace(refusal=verdict.reason)
        return plan

    def judge(self, proposal: Proposal) -> Verdict:
        """Ask the gates, in order."""
        verdict = Verdict(True, "")
        for gate in self.gates:
            verdict = gate.judge(proposal)
            if not verdict.accepted:
                break
        return verdict

    def learn(self, lesson: Lesson) -> bool:
        """Begin a new lease after a commit; after a refusal wait for one more step of growth."""
        for gate in self.gates:
            gate.learn(lesson)
        if lesson.summarised:
            self._ratio = lesson.summaries / lesson.summarised
        self._failed = lesson.outcome in ("failed", "infeasible")
        self._last = None
        if lesson.freed > 0:
            self._rent, self._floor, self._wait_until = 0.0, lesson.tokens, 0
            self._summary = lesson.summaries
        elif not self._failed:
            self._wait_until = lesson.tokens + round(max(self._growth, 1))
        return False

    def _watch(self, gauge: Gauge) -> None:
        """Learn how fast the content grows, and the largest step."""
        if self._last is not None:
            step = max(0, gauge.tokens - self._last)
            self._largest = max(self._largest, step)
            weight = GROWTH_WEIGHT if self._growth else 1.0
            self._growth += weight * (step - self._growth)
        self._last = gauge.tokens

    def _is_short_of_room(self, gauge: Gauge) -> bool:
        """Whether the next steps, or the rewrite's own request, might not fit."""
        room = max(self._headroom_turns * self._growth, self._largest)
        own = self.terms.request.overhead_tokens if self._summarises else 0
        return gauge.tokens + gauge.output_reserve + room + own > gauge.window

    def _target(self, gauge: Gauge) -> int:
        """Return the tokens that a rewrite should end at: so many turns of growth below the limit.

        No lower than half of what the head leaves, where the window is that small.
        """
        room = max(self._headroom_turns * self._growth, self._largest) + self._watermark_turns * self._growth
        usable = gauge.window - gauge.output_reserve
        return max(math.floor(usable - room), (usable + gauge.by_kind[Kind.HEAD]) // 2)

    def _work(self, gauge: Gauge, freeable: int, keep: int) -> Work:
        """Return what a rewrite would take now, in constant time.

        That the call reads what goes once more is left out: each call of waiting adds as much to it, so
        that it moves no best moment. The gate counts it.
        """
        if not self._summarises:
            return Work(saved=freeable, behind=max(0, gauge.tokens - freeable - gauge.by_kind[Kind.HEAD]))
        written = self._written(freeable + self._summary)  # the last summary is summarised again
        saved = freeable - (written - self._summary)
        stays = gauge.tokens - freeable
        return Work(self.terms.request.overhead_tokens, written, stays, saved, keep + written)

    def _written(self, read: int) -> int:
        """Return what a summary of so many tokens is expected to take, within its documented limits."""
        if not read:
            return 0
        longest = self._brief.summary_cap or read
        return max(self._brief.summary_floor, min(round(self._ratio * read), longest))

    def _relaxations(self) -> Iterator[Relaxation]:
        """Yield what a plan spares, each time less: what is leant on, what is needed, the newest requests."""
        summarises = self._summarises and not self._failed
        kept = self._keep_requests
        yield Relaxation(kept, summarises, spares_leant_on=True, spares_needed=True)
        if not summarises and not self._failed:
            summarises = True
            yield Relaxation(kept, summarises, spares_leant_on=True, spares_needed=True)
        yield Relaxation(kept, summarises, spares_needed=True)
        yield Relaxation(kept, summarises)
        while kept:
            kept //= 2
            yield Relaxation(kept, summarises)

    def _movable(self, view: View, relaxed: Relaxation) -> list[Item]:
        """Return what may go: not pinned, not of the newest requests, no partner of what stays."""
        stays: set[int] = set()
        pairs: set[int] = set()
        oldest = view.gauge.turn - relaxed.kept_requests
        for item in view.items:
            pinned = item.kind in PINNED or item.marked or item.constraint is not False
            if pinned or (relaxed.spares_needed and item.needed) or item.born > oldest:
                stays.add(item.id)
                if item.pair is not None:
                    pairs.add(item.pair)
            if item.born > oldest or (relaxed.spares_leant_on and not item.closed):
                stays.update(item.cites)
        pairs |= {item.pair for item in view.items if item.id in stays and item.pair is not None}
        return [item for item in view.items if item.id not in stays and item.pair not in pairs]

    def _plan(self, movable: Sequence[Item], *, summarises: bool) -> RewritePlan:
        """Return the plan for what may go."""
        operations: list[Operation] = []
        if not summarises:
            going = [
                item for item in movable if item.kind is Kind.TOOL_RESULT and item.tokens > PLACEHOLDER_TOKENS
            ]
            operations = [Mask(item.id, PLACEHOLDER_TOKENS) for item in going]
            saving = sum(item.tokens - PLACEHOLDER_TOKENS for item in going)
            return RewritePlan(tuple(operations), saving)
        dead = whole_requests(movable, [item for item in movable if item.dead])
        read = [item for item in movable if item.id not in {one.id for one in dead}]
        operations = [Evict(item.id) for item in dead]
        tokens = sum(item.tokens for item in read)
        if read:
            operations.append(Fold(tuple(item.id for item in read)))
        saving = sum(item.tokens for item in dead) + tokens - self._written(tokens)
        return RewritePlan(tuple(operations), saving, tuple(item.id for item in dead))
