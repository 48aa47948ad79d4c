"""Tags: what a classifier says of what comes in, right or wrong.

A span and a subgoal come in as they truly are, and go out with the tags that a policy will see. What
is true stays in what later steps do. Draws are keyed by span and subgoal, so that all policies meet
the same tags.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.errors import InputError
from simulator.spans import Span
from simulator.streams import Streams


@dataclass(frozen=True, slots=True)
class TagQuality:
    """How good one tag is.

    `recall` is the share of what deserves the tag that gets it. `precision` is the share of what has
    the tag that deserves it, 0.5 to 1: for each tag given rightly, the next in line that deserves
    none gets one with probability `(1 - precision) / precision`.
    """

    recall: float = 1.0
    precision: float = 1.0

    def __post_init__(self) -> None:
        for name, low in (("recall", 0.0), ("precision", 0.5)):
            value = getattr(self, name)
            if not low <= value <= 1:
                raise InputError(f"{name} is {value}", where="tags", expected=f"{low} to 1")

    @property
    def spill(self) -> float:
        """Probability that a tag rightly given brings a false one with it.

        >>> TagQuality(precision=0.5).spill
        1.0
        """
        return (1 - self.precision) / self.precision


@dataclass(frozen=True, slots=True)
class TagSpec:
    """The quality of each tag: states a constraint, subgoal complete, will be cited."""

    constraint: TagQuality = field(default_factory=TagQuality)
    closed: TagQuality = field(default_factory=TagQuality)
    needed: TagQuality = field(default_factory=TagQuality)


class _Tag:
    """One tag of one run: who gets it rightly, and whether the next in line gets it wrongly."""

    def __init__(self, name: str, quality: TagQuality, streams: Streams) -> None:
        self._quality = quality
        self._missed = streams.uniform(f"{name} tag missed")
        self._false = streams.uniform(f"{name} tag false")
        self._owed = 0

    def of(self, deserved: bool, place: int) -> bool:
        """Return the tag of the thing at this place, which deserves it or not."""
        if deserved:
            given = self._missed[place] < self._quality.recall
            if given and self._false[place] < self._quality.spill:
                self._owed += 1
            return given
        false = self._owed > 0
        self._owed -= false
        return false


class Tagger:
    """The classifier of one run.

    Attributes
    ----------
    is_perfect : whether all tags are as they are deserved, so that nothing need be asked.
    """

    def __init__(self, spec: TagSpec, streams: Streams) -> None:
        self.is_perfect = spec == TagSpec()
        self._constraint = _Tag("constraint", spec.constraint, streams)
        self._closed = _Tag("closed", spec.closed, streams)
        self._needed = _Tag("needed", spec.needed, streams)

    def arriving(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        """Return the spans as they are tagged."""
        if self.is_perfect:
            return spans
        return tuple(
            span._replace(
                constraint=span.constraint
                if span.constraint is None
                else self._constraint.of(span.constraint, span.id),
                needed=self._needed.of(span.needed, span.id),
            )
            for span in spans
        )

    def closing(self, subgoals: tuple[int, ...]) -> tuple[int, ...]:
        """Return the subgoals that are tagged complete when these are: some missed, the next one falsely."""
        if self.is_perfect:
            return subgoals
        tagged: list[int] = []
        for subgoal in subgoals:
            if self._closed.of(True, abs(subgoal)):
                tagged.append(subgoal)
            if self._closed.of(False, abs(subgoal)):
                tagged.append(subgoal + 1)
        return tuple(tagged)
