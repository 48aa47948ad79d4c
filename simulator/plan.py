"""`RewritePlan` and the operations it may hold: what a policy asks for, before anything is done.

A plan names spans by id and never carries sizes: those are staged by the transaction and judged by
the gates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Evict(NamedTuple):
    """Remove one span; nothing takes its place."""

    id: int

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the spans that the operation removes."""
        return (self.id,)


class Mask(NamedTuple):
    """Put a placeholder of `tokens` tokens in the place of one span; no model is asked."""

    id: int
    tokens: int

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the spans that the operation removes."""
        return (self.id,)


class Summarise(NamedTuple):
    """Put a summary in the place of one span."""

    id: int

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the spans that the operation removes."""
        return (self.id,)


class Fold(NamedTuple):
    """Put one summary in the place of several spans: where the first stood, after what it leans on.

    With `last` it stands where the last of them stood, behind what is kept between them.
    """

    ids: tuple[int, ...]
    last: bool = False

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the spans that the operation removes."""
        return self.ids


Operation = Evict | Mask | Summarise | Fold


class RewritePlan(NamedTuple):
    """What a policy wants done, and the saving that it believes in.

    Attributes
    ----------
    operations : each source span may stand in one operation only.
    believed_saving : tokens that the policy expects to free, its own costs not in it.
    tombstones : ids of evicted spans of which the policy leaves a record.
    refusal : why the policy's own gates refuse it before anything is asked for; empty goes on.
    """

    operations: tuple[Operation, ...] = ()
    believed_saving: int = 0
    tombstones: tuple[int, ...] = ()
    refusal: str = ""

    def sources(self) -> Iterator[int]:
        """Yield the ids of all spans that the plan removes, in plan order."""
        for operation in self.operations:
            yield from operation.sources
