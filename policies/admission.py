"""Admission: what a policy hopes to free before it has emitted anything, learned from what it got.

Keeps a moving average of realised summary ratios, and the size of a plan that could not be larger.
Without them a guarded policy hastens its own end where nothing compresses: each refusal at the gate
has already cost a rationale. What is refused here teaches nothing, so the lesson lapses when enough
content has come in that it says nothing of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from simulator.contracts import Lesson
from simulator.spans import Kind
from simulator.view import Gauge


@dataclass(frozen=True, slots=True)
class AdmissionTerms:
    """Whether to learn, how fast, and when to forget.

    Attributes
    ----------
    moving_average : False hopes for the believed ratio for ever.
    weight : weight of one more summarised item in the average, 0 to 1.
    lapse : the lesson lapses when as much new summarisable content has come in as this many plans
        hold; None never forgets.
    """

    moving_average: bool = True
    weight: float = 0.6
    lapse: float | None = None


class Admission:
    """The hope of one run, in tokens freeable."""

    def __init__(self, terms: AdmissionTerms, believed_ratio: float) -> None:
        self._terms = terms
        self._believed_ratio = believed_ratio
        self._offered = 0
        self._ratio = believed_ratio
        self._plan: float | None = None
        self._known: int = 0
        self._plan_known: float = math.inf

    def freeable(self, gauge: Gauge, *, kinds: Iterable[Kind], need: int | None, evicts_dead: bool) -> int:
        """Return the tokens that an attempt may free; independent of the context's length.

        Parameters
        ----------
        gauge : Gauge
        kinds : iterable of Kind
            What the plan may replace.
        need : int or None
            Tokens that the plan will aim at: it ends where the believed ratio says that they are met.
        evicts_dead : bool
            Whether the plan takes dead spans first.
        """
        dead = gauge.dead_tokens if evicts_dead else 0
        self._offered = max(0, sum(gauge.by_kind[kind] for kind in kinds) - dead)
        lapse = self._terms.lapse
        if lapse is not None and self._offered - self._known > lapse * self._plan_known:
            self._forget()
        largest = float(self._offered)
        if self._plan is not None:
            largest = min(largest, self._plan)
        if need is not None and self._believed_ratio < 1:
            largest = min(largest, max(0, need - dead) / (1 - self._believed_ratio))
        return dead + round((1 - self._ratio) * largest)

    def learn(self, lesson: Lesson, *, whole: bool) -> None:
        """Take in the ratio and the size of what was summarised, whether or not it was committed.

        Parameters
        ----------
        lesson : Lesson
        whole : bool
            The plan could not be larger: its size says what a plan can hold, and not what was needed.
        """
        if not self._terms.moving_average or not lesson.summarised:
            return
        weight = 1 - (1 - self._terms.weight) ** lesson.items
        self._ratio += weight * (lesson.summaries / lesson.summarised - self._ratio)
        self._known, self._plan_known = self._offered, lesson.summarised
        if not whole:
            self._plan = None
        elif self._plan is None:
            self._plan = float(lesson.summarised)
        else:
            self._plan += weight * (lesson.summarised - self._plan)

    def _forget(self) -> None:
        self._ratio, self._plan = self._believed_ratio, None
        self._known, self._plan_known = 0, math.inf
