"""What the work of a synthetic world stands on: constraints, caveats, references and topics.

One `Grounds` a run keeps what was stated and what is still to be touched. All draws are keyed by
purpose and by turn or result, so that no parameter moves another one's draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.workloads.sizes import lognormal_tokens
from simulator.contracts import Step
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams

if TYPE_CHECKING:
    from scenarios.workloads.synthetic import SyntheticWorkload


class Grounds:
    """The state of one run.

    Parameters
    ----------
    workload : SyntheticWorkload
        Whose parameters hold.
    streams : Streams
        The run's randomness.
    """

    def __init__(self, workload: SyntheticWorkload, streams: Streams) -> None:
        self._spec = workload
        self._stated: list[int] = []
        self._touches: dict[int, list[int]] = {}
        self._constraints = streams.uniform("constraint")
        self._constraint_sizes = streams.normal("constraint size")
        self._governs = streams.uniform("governed")
        self._governing = streams.uniform("governing constraint")
        self._doubts = streams.uniform("doubt")
        self._leans = streams.uniform("lean")
        self._touched = streams.uniform("touched")
        self._touch_lags = streams.exponential("touch lag")
        self._under_topic = streams.uniform("under topic")
        self._topics = streams.uniform("topic")

    def constraint(self, turn: int, identity: int) -> Span | None:
        """Return the user message that opens the turn with a constraint, or None."""
        spec = self._spec
        if spec.constraint_turns is not None and turn > spec.constraint_turns:
            return None
        if self._constraints[turn] >= spec.constraint_share:
            return None
        tokens = lognormal_tokens(spec.constraint_mean, spec.constraint_sigma, self._constraint_sizes[turn])
        return Span(
            identity,
            Kind.USER,
            tokens,
            turn,
            Provenance.USER,
            constraint=True,
            rederive=spec.rederive,
            doubt=round(spec.constraint_doubt * tokens),
            binds=(identity,),
        )

    def doubt(self, result: int, tokens: int) -> int:
        """Return how many tokens of the run's `result`-th tool result are in doubt."""
        return round(self._spec.doubt_part * tokens) if self._doubts[result] < self._spec.doubt_share else 0

    def is_leant_on(self, result: int, identity: int, turn: int, ends: int) -> bool:
        """Whether the next reply leans on a tool result; if a later step does too, that is noted.

        `ends` is the last turn of its subgoal, 0 where there are none.
        """
        spec = self._spec
        if self._leans[result] >= spec.lean_share:
            return False
        if self._touched[result] < spec.touched_share:
            again = turn + 1 + int(spec.touch_lag * self._touch_lags[result])
            if not ends or again <= ends:
                self._touches.setdefault(again, []).append(identity)
        return True

    def step(self, turn: int, constraint: Span | None) -> Step | None:
        """Return what the work of this turn stands on, and take note of the constraint that opened it."""
        spec = self._spec
        governed: tuple[int, ...] = ()
        if self._stated and self._governs[turn] < spec.governed_share:
            governed = (self._stated[int(self._governing[turn] * len(self._stated))],)
        touches = tuple(self._touches.pop(turn, ())) if self._touches else ()
        topics: tuple[str, ...] = ()
        if spec.topics and self._under_topic[turn] < spec.topic_share:
            topics = (spec.topics[int(self._topics[turn] * len(spec.topics))],)
        if constraint is not None:
            self._stated.append(constraint.id)
        return Step(governed, touches, (), topics) if governed or touches or topics else None
