"""`Cognition`: the state of the agent's mind that laws act on. Truth, never shown to a policy.

Here lives the decision quality: it falls with each own record that is summarised, and through it
rationales grow and estimates go astray. That loop is the self-referential spiral of field record
000.
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
    """

    __slots__ = ("_laws", "can_fall", "decision_quality", "records_summarised")

    def __init__(self, laws: Laws) -> None:
        self._laws = laws
        self.can_fall = laws.quality.record_factor < 1
        self.records_summarised = 0
        self.decision_quality = 1.0

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
