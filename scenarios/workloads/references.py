"""The ground of references: items of one size that lean on each other, and steps that touch them later.

All items stand in the window before the first turn, so that what one rewrite saves and what it costs
to derive again can be held to closed forms. Nothing else arrives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.contracts import Step, Turn
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams


@dataclass(frozen=True, slots=True)
class ReferenceGround:
    """Items before the first turn, and one step a turn that touches what is leant on.

    Attributes
    ----------
    items : how many.
    tokens : of each.
    density : probability that something leans on an item.
    leaning : a `plan` of one token at the end leans on them; in a `web`, each item that nothing leans
        on leans on the nearest one before it that something does, too.
    rederive : tokens that it takes to recover an item.
    touched_share : probability that a step touches a reference after the first turn.
    """

    items: int = 100
    tokens: int = 300
    density: float = 0.3
    leaning: str = "plan"
    rederive: int = 950
    touched_share: float = 1.0

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield the items in order."""
        leant_on = self._leant_on(streams)
        nearest: tuple[int, ...] = ()
        for identity in range(self.items):
            if leant_on[identity]:
                nearest = (identity,)
            cites = nearest if self.leaning == "web" and not leant_on[identity] else ()
            yield Span(identity, Kind.TOOL_RESULT, self.tokens, cites=cites, rederive=self.rederive)
        plan = tuple(identity for identity in range(self.items) if leant_on[identity])
        yield Span(self.items, Kind.ASSISTANT, 1, provenance=Provenance.SELF, cites=plan)

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield a turn without a step, then one for each item: it is touched, or nothing happens."""
        leant_on = self._leant_on(streams)
        touched = streams.uniform("touched")
        yield Turn()
        for identity in range(self.items):
            used = leant_on[identity] and touched[identity] < self.touched_share
            yield Turn(step=Step(touches=(identity,)) if used else None)

    def _leant_on(self, streams: Streams) -> list[bool]:
        draws = streams.uniform("lean")
        return [draws[identity] < self.density for identity in range(self.items)]
