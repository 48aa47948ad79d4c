"""The synthetic workload: tool results and replies of random size, in subgoals that open and close.

All draws are keyed by purpose and item, so that the world is the same whatever a policy does. Tool
results come from `results`; where a scenario asks for it, what the work stands on from `grounds`, who
speaks and what is called for from `conversation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.workloads.conversation import Conversation
from scenarios.workloads.grounds import Grounds
from scenarios.workloads.results import Results
from simulator.contracts import Turn
from simulator.errors import InputError
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
    call_tokens : each reply ends with a call of so many tokens for each result of the next turn, and
        call and results share a pair, the number of the turn that called. 0 has no calls: results
        come by themselves.
    thinking_tokens : signed block that each reply starts with; 0 has none.
    user_every, user_tokens : turns from one user message to the next, and its size. It opens its turn;
        where there are calls no result comes in that turn, and the reply before it calls nothing.
        0 has none, but for the one that opens a run with calls.
    result_tail : index of a Pareto law of sizes, above 1, in the place of the lognormal one and with
        the same mean; 0 keeps that.
    burst_share, burst_results : share of turns that bring another number of results, and that number.
    results_together : the results of a turn come at one instant; else one after another.
    content : (content class, share of tool results); the rest is `text`.
    standing_share : share of tool results that a client puts back from disk after a rewrite.
    idle_every, idle_seconds : so many turns after the start, and after so many more each time, nobody
        is there for that long before the turn starts. 0 has no such gaps.
    lengths : turns of each replication, and from there on of each agent of its fleet; empty goes on to
        `turns_limit`.
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
    call_tokens: int = 0
    thinking_tokens: int = 0
    user_every: int = 0
    user_tokens: int = 0
    result_tail: float = 0.0
    burst_share: float = 0.0
    burst_results: int = 0
    results_together: bool = True
    content: tuple[tuple[str, float], ...] = ()
    standing_share: float = 0.0
    idle_every: int = 0
    idle_seconds: float = 0.0
    lengths: tuple[int, ...] = ()

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield nothing: the window starts with its head alone."""
        return iter(())

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield the turns of one world. Raises InputError for a run that has no length."""
        last_turn = self._last_turn(streams)
        replies = streams.uniform("reply size")
        lengths = streams.uniform("subgoal length")
        waits = streams.exponential("turn seconds")
        grounds = Grounds(self, streams) if self._stands_on_more else None
        states = grounds if self.constraint_share else None
        results = Results(self, streams, grounds)
        talk = Conversation(self, streams, last_turn) if self._is_talk else None
        most = self.most_results
        width = most + (2 if states else 1) + (talk.width if talk else 0)
        subgoal, ends = 0, self._length(lengths[0])
        turn = 0
        while last_turn is None or turn < last_turn:
            turn += 1
            closes: tuple[int, ...] = ()
            if ends and turn > ends:
                closes = (subgoal,)
                subgoal += 1
                ends += self._length(lengths[subgoal])
            goal = subgoal if ends else None
            first = (turn - 1) * width
            constraint = states.constraint(turn, first + width - 1) if states else None
            count = talk.results(turn) if talk else self.results_per_turn
            pair = turn - 1 if self.call_tokens else None
            arrivals = results.come(turn, count, first, pair=pair, goal=goal, ends=ends)
            opened = talk is not None and talk.is_opened_by_user(turn)
            if talk and opened:
                arrivals.insert(0, talk.user_message(turn, first + most + 1))
            if constraint is not None:  # what was called for stands next to its call
                arrivals.insert(len(arrivals) if pair is not None else 0, constraint)
            reply: tuple[Span, ...] = ()
            if self.reply_high:
                written = self.reply_low + int(replies[turn] * (self.reply_high - self.reply_low + 1))
                cites = results.cited_by_reply(turn)
                reply = (
                    Span(first + most, Kind.ASSISTANT, written, turn, Provenance.SELF, goal, None, cites),
                )
            if talk:
                next_goal = subgoal + 1 if ends == turn and ends else goal
                reply = talk.around(turn, first + most + 1, reply, goal, next_goal)
            step = grounds.step(turn, constraint) if grounds else None
            came = Turn(
                tuple(arrivals),
                reply,
                self.turn_seconds * waits[turn] + (self._idle(turn) if self.idle_every else 0.0),
                opened or constraint is not None,
                closes,
                (),
                step,
            )
            yield came if self.results_together else came._replace(together=False)

    @property
    def most_results(self) -> int:
        """Most tool results that a turn can bring."""
        return max(self.results_per_turn, self.burst_results)

    @property
    def _is_talk(self) -> bool:
        """Whether anything of `conversation` is asked for."""
        return bool(self.call_tokens or self.thinking_tokens or self.user_every or self.burst_share)

    @property
    def _stands_on_more(self) -> bool:
        """Whether anything of `grounds` is asked for."""
        shares = (self.constraint_share, self.doubt_share, self.lean_share, self.topic_share)
        return any(shares)

    def _last_turn(self, streams: Streams) -> int | None:
        """Return the last turn of this run, None where the horizon alone ends it."""
        if not self.lengths:
            return self.turns_limit
        row = streams.replication + streams.agent
        if row >= len(self.lengths):
            raise InputError(
                f"replication {streams.replication}, agent {streams.agent} has no length",
                where="workload.lengths",
                expected=f"at most {len(self.lengths)} of them",
            )
        length = self.lengths[row]
        return length if self.turns_limit is None else min(length, self.turns_limit)

    def _idle(self, turn: int) -> float:
        """Return the seconds in which nobody is there before the turn."""
        return self.idle_seconds if turn > 1 and (turn - 1) % self.idle_every == 0 else 0.0

    def _length(self, uniform: float) -> int:
        """Return the turns of a subgoal, 0 where there are none."""
        return (
            self.subgoal_low + int(uniform * (self.subgoal_high - self.subgoal_low + 1))
            if self.subgoal_high
            else 0
        )
