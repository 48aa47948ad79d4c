"""The tool results of a synthetic world: how large, made of what, needed by whom.

One `Results` a run keeps what is still to be cited. All draws are keyed by purpose and by
the result's number: what is asked of a result moves no other draw, how many there are moves all after it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from scenarios.workloads.grounds import Grounds
from scenarios.workloads.sizes import lognormal_tokens, pareto_tokens
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams

if TYPE_CHECKING:
    from scenarios.workloads.synthetic import SyntheticWorkload


class Results:
    """The tool results of one run.

    Parameters
    ----------
    workload : SyntheticWorkload
        Whose parameters hold.
    streams : Streams
        The run's randomness.
    grounds : Grounds, optional
        What else the work stands on, where a scenario asks for it.
    """

    def __init__(self, workload: SyntheticWorkload, streams: Streams, grounds: Grounds | None) -> None:
        self._spec = workload
        self._sizes = streams.normal("result size")
        self._tails = streams.uniform("result tail")
        self._dense = streams.uniform("incompressible")
        self._cited = streams.uniform("cited")
        self._lags = streams.exponential("citation lag")
        self._classes = streams.uniform("content class")
        self._standing = streams.uniform("standing")
        self._doubts = grounds if workload.doubt_share else None
        self._leans = grounds if workload.lean_share else None
        shares = accumulate(share for _, share in workload.content)
        self._classes_up_to = tuple(zip(shares, (name for name, _ in workload.content), strict=True))
        self._is_made_of_more = bool(workload.content or workload.standing_share)
        self._due: dict[int, list[int]] = {}
        self._leaning: list[int] = []

    def come(
        self, turn: int, count: int, first: int, *, pair: int | None, goal: int | None, ends: int
    ) -> list[Span]:
        """Return the results of a turn.

        Parameters
        ----------
        turn, count : number of the turn, and of its results.
        first : identity of the first of them.
        pair : the call that they answer, or None.
        goal, ends : their subgoal and its last turn; None and 0 where there are none.
        """
        spec = self._spec
        cites: tuple[int, ...] = ()
        if self._leaning and count:  # the turn before had no reply to cite them
            cites, self._leaning = tuple(self._leaning), []
        spans = []
        result = (turn - 1) * spec.most_results
        for identity in range(first, first + count):
            needed = self._cited[result] < spec.cited_share
            if needed:
                at = (ends or turn) + 1 + int(spec.citation_lag * self._lags[result])
                self._due.setdefault(at, []).append(identity)
            if self._leans and self._leans.is_leant_on(result, identity, turn, ends):
                self._leaning.append(identity)
            size = self._tokens(result)
            span = Span(
                identity,
                Kind.TOOL_RESULT,
                size,
                turn,
                Provenance.TOOL,
                goal,
                pair,
                cites,
                needed,
                "text",
                0,
                None,
                self._dense[result] >= spec.incompressible_share,
                False,
                spec.rederive,
                self._doubts.doubt(result, size) if self._doubts else 0,
            )
            spans.append(self._made(span, result) if self._is_made_of_more else span)
            cites = ()
            result += 1
        return spans

    def cited_by_reply(self, turn: int) -> tuple[int, ...]:
        """Return what the reply of the turn cites: what is due, then what came in the turn."""
        cites, self._leaning = (*self._due.pop(turn, ()), *self._leaning), []
        return cites

    def _tokens(self, result: int) -> int:
        """Return the size of the run's `result`-th tool result, as the runtime lets it in."""
        spec = self._spec
        if spec.result_tail:
            size = pareto_tokens(spec.result_mean, spec.result_tail, self._tails[result])
        else:
            size = lognormal_tokens(spec.result_mean, spec.result_sigma, self._sizes[result])
        return size if spec.result_cut is None else min(size, spec.result_cut)

    def _made(self, span: Span, result: int) -> Span:
        """Return the run's `result`-th tool result with its content class, standing or not."""
        draw = self._classes[result]
        content = next((name for limit, name in self._classes_up_to if draw < limit), span.content_class)
        return span._replace(
            content_class=content, standing=self._standing[result] < self._spec.standing_share
        )
