"""Admission: what a policy hopes to free before it has emitted anything, learned from what it got.

Keeps moving averages of realised summary ratios and of plan sizes. Without them a guarded policy
hastens its own end where nothing compresses: each refusal at the gate has already cost a rationale.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.contracts import Lesson
from simulator.view import Gauge


@dataclass(frozen=True, slots=True)
class AdmissionTerms:
    """Whether to learn, and how fast.

    Attributes
    ----------
    moving_average : False hopes for the believed ratio for ever.
    weight : weight of one more summarised item in the averages, 0 to 1.
    """

    moving_average: bool = True
    weight: float = 0.5


class Admission:
    """The hope of one run, in tokens freeable."""

    def __init__(self, terms: AdmissionTerms, believed_ratio: float) -> None:
        self._terms = terms
        self._ratio = believed_ratio
        self._summarised: float | None = None

    def freeable(self, gauge: Gauge, *, evicts_dead: bool) -> int:
        """Return the tokens that an attempt may free; independent of the context's length."""
        dead = gauge.dead_tokens if evicts_dead else 0
        summarisable = gauge.summarisable_tokens
        if self._summarised is not None:
            summarisable = min(summarisable, round(self._summarised))
        return dead + round((1 - self._ratio) * summarisable)

    def learn(self, lesson: Lesson) -> None:
        """Take in the ratio and the size of what was summarised, whether or not it was committed."""
        if not self._terms.moving_average or not lesson.summarised:
            return
        weight = 1 - (1 - self._terms.weight) ** lesson.items
        self._ratio += weight * (lesson.summaries / lesson.summarised - self._ratio)
        if self._summarised is None:
            self._summarised = float(lesson.summarised)
        else:
            self._summarised += weight * (lesson.summarised - self._summarised)
