"""`Cognition`: the state of the agent's mind that laws act on. Truth, never shown to a policy.

Here live the decision quality, which falls with each own record that is summarised (the spiral of
field record 000), and what the agent's steps have done with constraints, claims and references that
were no longer there (002, 003). Instructions have a room of their own, `binding`.
"""

from __future__ import annotations

from simulator.laws import Laws
from simulator.spans import Kind, Span

OWN_RECORDS = frozenset({Kind.RATIONALE})
"""Kinds in which a policy keeps the reasons of its decisions."""


class Cognition:
    """What the agent's decisions are worth, from 1 (sound) to 0.

    Attributes
    ----------
    records_summarised : own records ever eaten by a rewrite.
    decision_quality : lasting quality of decisions.
    can_fall : whether the scenario has a law by which it falls.
    stated : tokens of the constraints stated so far, by id, as they were first stated.
    violations : steps that broke a constraint which had lost its force.
    false_claims : steps that used a claim whose correction had lost its force.
    dropped : references that a step has silently dropped.
    met_doubt : something that came in was in doubt.
    recoverable : tokens that it takes to recover a span, by id.
    """

    __slots__ = (
        "_laws",
        "can_fall",
        "decision_quality",
        "dropped",
        "false_claims",
        "met_doubt",
        "records_summarised",
        "recoverable",
        "stated",
        "violations",
    )

    def __init__(self, laws: Laws) -> None:
        self._laws = laws
        self.can_fall = laws.quality.record_factor < 1
        self.records_summarised = 0
        self.decision_quality = 1.0
        self.stated: dict[int, int] = {}
        self.violations = 0
        self.false_claims = 0
        self.dropped = 0
        self.met_doubt = False
        self.recoverable: dict[int, int] = {}

    def meet(self, span: Span) -> None:
        """Take note of what came in: what it binds, and what it takes to recover it."""
        for constraint in span.binds:
            self.stated.setdefault(constraint, span.tokens)
        if span.doubt:
            self.met_doubt = True
        if span.rederive:
            self.recoverable[span.id] = span.rederive

    def rationale(self, occupancy: float, cap: int | None) -> tuple[int, float]:
        """Return the tokens of the next rationale and the quality of the decision it carries."""
        wanted = self._laws.rationale.tokens(occupancy, self.decision_quality)
        written = wanted if cap is None else min(wanted, cap)
        quality = self._laws.quality.of_one_decision(self.decision_quality, wanted, written)
        return written, quality

    def lose(self, summarised: list[Span]) -> None:
        """Take note of spans that a committed rewrite has summarised."""
        eaten = sum(span.kind in OWN_RECORDS for span in summarised)
        if eaten:
            self.records_summarised += eaten
            self.decision_quality = self._laws.quality.lasting(self.records_summarised)
