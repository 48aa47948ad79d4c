"""What two sides made of one conversation, and our side of it.

Comes in: a conversation and a policy by name, with overrides. Goes out: an `Outcome`, read from the
policy's check and plan alone, before any replacement is asked for. Our counter is exact on both ways in,
whatever its file says, for what is compared is the rule: the errors of a real counter are not held to
anything here. `assert_same` compares it with what a library did and shows the smallest telling difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import pytest

from policies.loader import load_policy
from simulator.context import Context, Replacement
from simulator.contracts import Brief, CheckPoint, Lesson
from simulator.plan import Evict, Fold, Mask, Operation, Summarise
from simulator.spans import Kind, Span
from simulator.view import Gauge, look

from .messages import Conversation, spans

WINDOW = 10**9
"""Tokens of a window that decides nothing."""


SUMMARY_TOKENS = 50
"""Tokens of a summary that stands in for one."""


class Outcome(NamedTuple):
    """What a policy or a library does with a conversation.

    Attributes
    ----------
    triggered : its trigger fires.
    kept : ids of the messages that stand as they were.
    masked : ids of the messages whose content gives way to a placeholder.
    summarised : ids of the messages that give way to a summary.
    """

    triggered: bool
    kept: tuple[int, ...]
    masked: tuple[int, ...] = ()
    summarised: tuple[int, ...] = ()


def standing(conversation: Conversation, kept: Collection[int]) -> Outcome:
    """Return the outcome in which a summary stands in for all that is not kept."""
    stays = tuple(message.id for message in conversation if message.id in kept)
    gone = tuple(message.id for message in conversation if message.id not in kept)
    return Outcome(bool(gone), stays, (), gone)


def untouched(conversation: Conversation, *, triggered: bool = False) -> Outcome:
    """Return the outcome that changes nothing."""
    return Outcome(triggered, tuple(message.id for message in conversation))


def of_policy(
    name: str,
    conversation: Conversation,
    overrides: Mapping[str, object] | None = None,
    *,
    window: int = WINDOW,
    point: CheckPoint | None = None,
) -> Outcome:
    """Return what one look of a policy makes of a conversation, by an exact count.

    Raises
    ------
    InputError
        Where the catalogue has no such policy.
    """
    ours = Persistent(name, overrides, window=window, point=point)
    ours.see(conversation)
    return ours.outcome(conversation)._replace(triggered=ours.triggered)


class Persistent:
    """One of our policies over a conversation that grows, with what it has done so far in place.

    Its counter is exact, whatever its file says: what is compared is the rule.

    Attributes
    ----------
    triggered : its trigger fired when it looked last.
    """

    def __init__(
        self,
        name: str,
        overrides: Mapping[str, object] | None = None,
        *,
        window: int = WINDOW,
        point: CheckPoint | None = None,
        summary_tokens: int = SUMMARY_TOKENS,
    ) -> None:
        self.triggered = False
        self._policy = load_policy(name, overrides)
        self._policy.begin(Brief(window=window))
        self._point = sorted(self._policy.terms.check_points)[0] if point is None else point
        self._window, self._summary_tokens = window, summary_tokens
        self._context = Context()
        self._seen = self._made = self._requests = 0
        self._gone: dict[type[Operation], set[int]] = {}

    def see(self, conversation: Conversation) -> None:
        """Append what is new, and look once."""
        for span in spans(conversation)[self._seen :]:
            self._context.append(span)
        self._seen = len(conversation)
        self._requests += 1
        gauge = self._gauge()
        self.triggered = self._policy.check(gauge)
        if not self.triggered or not self._policy.admit(gauge).accepted:
            return
        plan = self._policy.propose(look(self._context, gauge))
        if plan.refusal or not plan.operations:
            return
        self._requests = 0
        freed = self._context.apply([self._staged(one) for one in plan.operations])
        left = gauge.tokens - freed
        self._policy.learn(Lesson("committed", "settle", 0, 0, 0, left, freed, freed, gauge.tokens))

    def outcome(self, conversation: Conversation) -> Outcome:
        """Return what has become of the conversation by now; triggered where something has."""
        kept = tuple(message.id for message in conversation if message.id in self._context)
        masked, summarised = self._went(Mask), self._went(Fold, Summarise)
        return Outcome(len(kept) < len(conversation), kept, masked, summarised)

    def _went(self, *ways: type[Operation]) -> tuple[int, ...]:
        return tuple(sorted(identity for way in ways for identity in self._gone.get(way, ())))

    def _gauge(self) -> Gauge:
        context = self._context
        heads = [span.tokens for span in context if span.kind is Kind.HEAD]
        return Gauge(
            point=self._point,
            turn=max((span.born for span in context), default=1),
            tokens=context.tokens - (0 if self._policy.terms.counter.head else sum(heads)),
            window=self._window,
            output_reserve=0,
            requests_since_rewrite=self._requests,
            dead_tokens=0,
            by_kind=context.by_kind,
            messages=len(context) - len(heads),
        )

    def _staged(self, operation: Operation) -> Replacement:
        sources = [self._context[identity] for identity in operation.sources]
        self._gone.setdefault(type(operation), set()).update(one.id for one in sources if one.id >= 0)
        if isinstance(operation, Evict):
            return Replacement(operation.sources, None)
        self._made -= 1
        if isinstance(operation, Mask):
            made = sources[0]._replace(id=self._made, kind=Kind.PLACEHOLDER, tokens=operation.tokens)
            return Replacement(operation.sources, made)
        summary = Span(self._made, Kind.SUMMARY, self._summary_tokens, born=sources[0].born)
        return Replacement(operation.sources, summary, isinstance(operation, Fold) and operation.last)


def assert_same(conversation: Conversation, library: Outcome, ours: Outcome, said: object) -> None:
    """Fail with the conversation where the two sides differ."""
    if library == ours:
        return
    listed = "\n".join(
        f"  {one.id:3} {one.role:9} {one.tokens:6} {'calls ' * bool(one.calls)}"
        f"{'' if one.batch is None else f'batch {one.batch}'}"
        for one in conversation
    )
    pytest.fail(f"{said}\n{listed}\nlibrary {library}\nours    {ours}", pytrace=False)
