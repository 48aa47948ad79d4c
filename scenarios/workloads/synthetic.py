"""The synthetic workload: tool results and replies of random size, in subgoals that open and close.

All draws are keyed by purpose and item, so that the world is the same whatever a policy does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

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
    turns : most turns; None goes on until the horizon.
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
        width = self.results_per_turn + 1
        due: dict[int, list[int]] = {}
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
            arrivals = []
            for place in range(self.results_per_turn):
                needed = cited[results] < self.cited_share
                identity = first + place
                if needed:
                    due.setdefault((ends or turn) + 1 + int(self.citation_lag * lags[results]), []).append(
                        identity
                    )
                arrivals.append(
                    Span(
                        identity,
                        Kind.TOOL_RESULT,
                        self._size(sizes[results]),
                        turn,
                        Provenance.TOOL,
                        goal,
                        None,
                        (),
                        needed,
                        "text",
                        0,
                        None,
                        dense[results] >= self.incompressible_share,
                    )
                )
                results += 1
            reply: tuple[Span, ...] = ()
            if self.reply_high:
                size = self.reply_low + int(replies[turn] * (self.reply_high - self.reply_low + 1))
                cites = tuple(due.pop(turn, ()))
                reply = (
                    Span(first + width - 1, Kind.ASSISTANT, size, turn, Provenance.SELF, goal, None, cites),
                )
            yield Turn(tuple(arrivals), reply, self.turn_seconds * waits[turn], False, closes)

    def _size(self, normal: float) -> int:
        """Return the tokens of a tool result; the mean of the law is `result_mean`."""
        sigma = self.result_sigma
        size = self.result_mean * math.exp(sigma * normal - sigma * sigma / 2)
        whole = max(1, round(size))
        return whole if self.result_cut is None else min(whole, self.result_cut)

    def _length(self, uniform: float) -> int:
        """Return the turns of a subgoal, 0 where there are none."""
        return (
            self.subgoal_low + int(uniform * (self.subgoal_high - self.subgoal_low + 1))
            if self.subgoal_high
            else 0
        )
