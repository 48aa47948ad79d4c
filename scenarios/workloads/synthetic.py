"""The synthetic workload: tool results and replies of random size, in subgoals that open and close.

All draws are keyed by purpose and item, so that the world is the same whatever a policy does. What
the work stands on, where a scenario asks for it, comes from `grounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.workloads.grounds import Grounds
from scenarios.workloads.sizes import lognormal_tokens
from simulator.contracts import Turn
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams


@dataclass(frozen=True, slots=True)
class SyntheticWorkload:
    """A stream of turns, each with tool results before the request and a reply after it.

    Attributes
    ----------
    results_per_turn : tool results a turn.
    result_mean, result_sigma, result_cut : lognormal size of a tool result, tokens; mean of the
        uncut law, spread of its logarithm, and where a runtime cuts it. Sigma 0 is a constant size.
    reply_low, reply_high : uniform size of a reply, tokens, both included.
    subgoal_low, subgoal_high : uniform length of a subgoal, turns, both included; 0 has no subgoals.
    cited_share : share of tool results that are cited after their subgoal has closed.
    citation_lag : mean turns from the close of the subgoal to the citation.
    incompressible_share : share of items that do not compress, found out only by summarising.
    turn_seconds : mean of the exponential tool latency, seconds; 0 is none.
    turns_limit : most turns; None goes on until the horizon.
    constraint_share, constraint_turns : share of turns that a user message opens with a constraint,
        and the last turn that may be; None has no last.
    constraint_mean, constraint_sigma : lognormal size of a constraint, tokens.
    constraint_doubt : share of a constraint's tokens that are in doubt.
    governed_share : share of turns whose step is governed by one constraint, drawn evenly among those
        stated in earlier turns; none is before the first.
    doubt_share, doubt_part : share of tool results with caveats, and the share of such a result's
        tokens that are.
    lean_share : share of tool results that the reply of their turn cites; where there are no replies
        the first tool result of the next turn does.
    touched_share, touch_lag : share of these that a step touches again, 1 turn and the whole part of
        an exponential of mean `touch_lag` later, unless their subgoal is over by then.
    rederive : tokens that it takes to recover a tool result or a constraint.
    topics, topic_share : topics of instructions, and the share of turns whose step comes under one of
        them, drawn evenly.
    """

    results_per_turn: int = 1
    result_mean: float = 175
    result_sigma: float = 0.8
    result_cut: int | None = None
    reply_low: int = 0
    reply_high: int = 0
    subgoal_low: int = 0
    subgoal_high: int = 0
    cited_share: float = 0.0
    citation_lag: float = 15.0
    incompressible_share: float = 0.0
    turn_seconds: float = 0.0
    turns_limit: int | None = None
    constraint_share: float = 0.0
    constraint_turns: int | None = None
    constraint_mean: float = 40.0
    constraint_sigma: float = 0.0
    constraint_doubt: float = 0.0
    governed_share: float = 0.0
    doubt_share: float = 0.0
    doubt_part: float = 0.0
    lean_share: float = 0.0
    touched_share: float = 0.0
    touch_lag: float = 3.0
    rederive: int = 0
    topics: tuple[str, ...] = ()
    topic_share: float = 0.0

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield nothing: the window starts with its head alone."""
        return iter(())

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield the turns of one world."""
        sizes = streams.normal("result size")
        dense = streams.uniform("incompressible")
        cited = streams.uniform("cited")
        lags = streams.exponential("citation lag")
        replies = streams.uniform("reply size")
        lengths = streams.uniform("subgoal length")
        waits = streams.exponential("turn seconds")
        grounds = Grounds(self, streams) if self._stands_on_more else None
        states = grounds if self.constraint_share else None
        doubts = grounds if self.doubt_share else None
        leans = grounds if self.lean_share else None
        width = self.results_per_turn + (2 if states else 1)
        due: dict[int, list[int]] = {}
        leaning: list[int] = []
        subgoal, ends = 0, self._length(lengths[0])
        results = turn = 0
        while self.turns_limit is None or turn < self.turns_limit:
            turn += 1
            closes: tuple[int, ...] = ()
            if ends and turn > ends:
                closes = (subgoal,)
                subgoal += 1
                ends += self._length(lengths[subgoal])
            goal = subgoal if ends else None
            first = (turn - 1) * width
            constraint = states.constraint(turn, first + width - 1) if states else None
            arrivals = [] if constraint is None else [constraint]
            cites: tuple[int, ...] = ()
            if leaning:  # the turn before had no reply to cite them
                cites, leaning = tuple(leaning), []
            for place in range(self.results_per_turn):
                needed = cited[results] < self.cited_share
                identity = first + place
                if needed:
                    due.setdefault((ends or turn) + 1 + int(self.citation_lag * lags[results]), []).append(
                        identity
                    )
                if leans and leans.is_leant_on(results, identity, turn, ends):
                    leaning.append(identity)
                size = self._size(sizes[results])
                arrivals.append(
                    Span(
                        identity,
                        Kind.TOOL_RESULT,
                        size,
                        turn,
                        Provenance.TOOL,
                        goal,
                        None,
                        cites,
                        needed,
                        "text",
                        0,
                        None,
                        dense[results] >= self.incompressible_share,
                        False,
                        self.rederive,
                        doubts.doubt(results, size) if doubts else 0,
                    )
                )
                cites = ()
                results += 1
            reply: tuple[Span, ...] = ()
            if self.reply_high:
                written = self.reply_low + int(replies[turn] * (self.reply_high - self.reply_low + 1))
                cites, leaning = (*due.pop(turn, ()), *leaning), []
                identity = first + self.results_per_turn
                reply = (Span(identity, Kind.ASSISTANT, written, turn, Provenance.SELF, goal, None, cites),)
            step = grounds.step(turn, constraint) if grounds else None
            yield Turn(
                tuple(arrivals),
                reply,
                self.turn_seconds * waits[turn],
                constraint is not None,
                closes,
                (),
                step,
            )

    @property
    def _stands_on_more(self) -> bool:
        """Whether anything of `grounds` is asked for."""
        shares = (self.constraint_share, self.doubt_share, self.lean_share, self.topic_share)
        return any(shares)

    def _size(self, normal: float) -> int:
        """Return the tokens of a tool result; the mean of the uncut law is `result_mean`."""
        size = lognormal_tokens(self.result_mean, self.result_sigma, normal)
        return size if self.result_cut is None else min(size, self.result_cut)

    def _length(self, uniform: float) -> int:
        """Return the turns of a subgoal, 0 where there are none."""
        return (
            self.subgoal_low + int(uniform * (self.subgoal_high - self.subgoal_low + 1))
            if self.subgoal_high
            else 0
        )
