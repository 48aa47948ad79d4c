"""Belief: all that a policy may see.

The `Gauge` is built at each check, in constant time; the `View` only after the trigger fired. Both
hold the policy's own count, never the true one, and nothing that the model keeps hidden.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from simulator.context import Context
from simulator.contracts import CheckPoint
from simulator.counting import Sizes, believed
from simulator.declarations import CounterTerms
from simulator.spans import Kind, Provenance, Span

__all__ = ["Gauge", "Item", "View", "believed", "look"]


class Gauge(NamedTuple):
    """What a policy sees at a check. Tokens are believed ones.

    Attributes
    ----------
    point : the check point.
    turn : number of the turn, from 1.
    tokens : believed count.
    window, output_reserve : tokens.
    requests_since_rewrite : model requests since the last committed rewrite.
    dead_tokens : believed tokens of closed subgoals with nothing needed in them.
    by_kind : believed tokens by kind of span.
    messages : spans in the window, the fixed head not among them.
    time_s : seconds since the start.
    idle_seconds : since the last request; what a prompt cache has expired by.
    """

    point: CheckPoint
    turn: int
    tokens: int
    window: int
    output_reserve: int
    requests_since_rewrite: int
    dead_tokens: int
    by_kind: Mapping[Kind, int]
    messages: int = 0
    time_s: float = 0.0
    idle_seconds: float = 0.0


class Item(NamedTuple):
    """What a policy sees of one span.

    `tokens` is the policy's own count; `constraint` is a tag, None where nobody has said; `states` are
    the ids of the constraints that it states, its own where nobody has said; `rederive` are the tokens
    that it takes to recover what it holds; `replaces` are the ids of what a summary was put in the
    place of, whether or not it kept their evidence. `judgement` is the factor by which the model
    misjudges what this item would save, 1 for a sound mind: a part of the belief, as a policy of one's
    own may see. `standing` is put back from disk after a rewrite. `last_use` is the turn in which it is
    used for the last time, told to a clairvoyant alone.
    """

    id: int
    kind: Kind
    tokens: int
    born: int
    provenance: Provenance
    subgoal: int | None
    pair: int | None
    cites: tuple[int, ...]
    needed: bool
    closed: bool
    dead: bool
    content_class: str
    passes: int
    marked: bool
    constraint: bool | None = False
    states: tuple[int, ...] = ()
    rederive: int = 0
    replaces: tuple[int, ...] = ()
    judgement: float = 1.0
    standing: bool = False
    last_use: int | None = None


class View(NamedTuple):
    """The working set as a policy sees it when it proposes a rewrite.

    Attributes
    ----------
    items : in context order.
    gauge : the gauge of the check that fired.
    """

    items: tuple[Item, ...]
    gauge: Gauge


EXACT = Sizes(CounterTerms())
"""A counter that makes no error."""


def _states(span: Span) -> tuple[int, ...]:
    """Return what a span that may be a constraint is known to state; what nobody has classified, itself."""
    return (span.id,) if span.restates is None or not span.constraint else (span.restates,)


def look(
    context: Context,
    gauge: Gauge,
    sizes: Sizes = EXACT,
    *,
    unseen: Collection[int] = (),
    judgement: Sequence[float] | None = None,
    last_uses: Mapping[int, int] | None = None,
) -> View:
    """Build the view of a context: linear in its spans.

    Parameters
    ----------
    context, gauge, sizes
        The working set, the gauge of the check that fired, the policy's estimate of single spans.
    unseen : collection of int
        Ids left out: what the attempt itself has written since it looked.
    judgement : sequence of float or None
        Factors of misjudgement by position in the view, at least as many as it has items.
    last_uses : mapping or None
        The turn in which each span is used for the last time, for a clairvoyant.
    """
    closed, dead = context.closed, context.dead_subgoals()
    marked = context.immutable | context.protected
    exact, size = sizes.exact, sizes.of
    seen = (span for span in context if span.id not in unseen)
    items: list[Item] = []
    for span, factor in zip(seen, repeat(1.0) if judgement is None else judgement, strict=False):
        items.append(
            Item(
                span.id,
                span.kind,
                span.tokens if exact else size(span),
                span.born,
                span.provenance,
                span.subgoal,
                span.pair,
                span.cites,
                span.needed,
                span.subgoal in closed,
                span.subgoal in dead,
                span.content_class,
                span.passes,
                span.id in marked,
                span.constraint,
                () if span.constraint is False else _states(span),
                span.rederive,
                span.replaces,
                factor,
                span.standing,
                None if last_uses is None else last_uses.get(span.id, span.born),
            )
        )
    return View(tuple(items), gauge)
