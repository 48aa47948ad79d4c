"""`Pairs`: which tool calls stand beside their results, as a provider checks it at every request.

A call without its result, a result without its call, or a signed block that was changed in the tool loop
that is still running makes each later request fail. Spans come in and go by the context; what takes the
place of one result, or of all results of one request, answers the same calls.
Source: field report S68, and the providers' rules that it cites.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simulator.spans import Kind, Span

ROLES = frozenset({Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.THINKING})
"""Kinds that belong to a request and are checked."""


class Part(NamedTuple):
    """What a span is to a provider: which request's, what of it, and for how many calls it stands."""

    pair: int
    role: Kind
    weight: int = 1


class _Sides:
    """The parts of one request: how many stand here, and how many there ever were."""

    __slots__ = ("ever", "here")

    def __init__(self) -> None:
        self.here = dict.fromkeys(ROLES, 0)
        self.ever = dict.fromkeys(ROLES, 0)

    @property
    def is_broken(self) -> bool:
        """Whether a request with these calls and results would be refused."""
        if not self.ever[Kind.TOOL_CALL]:  # a log that keeps its calls elsewhere
            return False
        calls, results = self.here[Kind.TOOL_CALL], self.here[Kind.TOOL_RESULT]
        awaited = max(0, self.ever[Kind.TOOL_CALL] - self.ever[Kind.TOOL_RESULT])
        return results > calls or calls > results + awaited

    @property
    def is_changed(self) -> bool:
        """Whether a signed block of it is no longer what it was."""
        return self.here[Kind.TOOL_CALL] > 0 and self.here[Kind.THINKING] < self.ever[Kind.THINKING]


class Pairs:
    """The pairs of one context.

    Attributes
    ----------
    torn : requests whose calls and results no longer fit; they stay so while a part of them stands.
    changed : requests of the running tool loop whose signed block was changed.
    loop : the first request of the tool loop that is running.
    """

    __slots__ = ("_parts", "_sides", "_touched", "changed", "loop", "torn")

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}
        self._sides: dict[int, _Sides] = {}
        self._touched: set[int] = set()
        self.torn: set[int] = set()
        self.changed: set[int] = set()
        self.loop = 0

    @property
    def broken(self) -> set[int]:
        """Requests that make the next one fail."""
        return self.torn | self.changed

    def begin_loop(self, first: int) -> None:
        """Begin a new tool loop: the signed blocks of earlier ones are checked no more."""
        self.loop = first
        self.changed = {pair for pair in self.changed if pair >= first}

    def arrive(self, span: Span) -> None:
        """Take note of a part of a request; a result that comes too late may find its call gone."""
        if span.pair is None or span.kind not in ROLES:
            return
        sides = self._sides.get(span.pair)
        if sides is None:
            sides = self._sides[span.pair] = _Sides()
        sides.ever[span.kind] += 1
        sides.here[span.kind] += 1
        self._parts[span.id] = Part(span.pair, span.kind)
        if sides.is_broken:
            self.torn.add(span.pair)

    def leave(self, identity: int) -> None:
        """Take note of a span that goes."""
        part = self._parts.pop(identity, None)
        if part is not None:
            self._sides[part.pair].here[part.role] -= part.weight
            self._touched.add(part.pair)

    def part_of(self, sources: Iterable[int]) -> Part | None:
        """Return what one span in the place of these is to a provider, or None where it is no part."""
        parts = {self._parts.get(identity) for identity in sources}
        found = next(iter(parts))
        if len({part and (part.pair, part.role) for part in parts}) != 1 or found is None:
            return None
        if found.role is Kind.THINKING:
            return None
        weight = sum(self._parts[identity].weight for identity in sources)
        return found._replace(weight=weight)

    def stand_in(self, span: Span, part: Part | None) -> None:
        """Take note of a span that stands for others of its request, or is a part of its own."""
        self.arrive(span)
        if part is not None and span.id not in self._parts:
            self._parts[span.id] = part
            self._sides[part.pair].here[part.role] += part.weight

    def settle(self) -> None:
        """Find what the change just made has broken."""
        for pair in self._touched:
            sides = self._sides[pair]
            if not any(sides.here.values()):
                self.torn.discard(pair)
            elif sides.is_broken:
                self.torn.add(pair)
            if sides.is_changed and pair >= self.loop:
                self.changed.add(pair)
            elif not sides.here[Kind.TOOL_CALL]:
                self.changed.discard(pair)
        self._touched.clear()

    def recount(self, spans: Iterable[Span]) -> dict[int, dict[Kind, int]]:
        """Return the parts that stand among these spans by request; of what stands in, as it was noted."""
        found: dict[int, dict[Kind, int]] = {}
        for span in spans:
            part = self._parts.get(span.id)
            if span.pair is not None and span.kind in ROLES:
                part = Part(span.pair, span.kind)
            if part is None:
                continue
            roles = found.setdefault(part.pair, dict.fromkeys(ROLES, 0))
            roles[part.role] += part.weight
        return found

    def kept(self) -> dict[int, dict[Kind, int]]:
        """Return the same as the pairs keep it, for an audit."""
        return {pair: dict(sides.here) for pair, sides in self._sides.items() if any(sides.here.values())}
