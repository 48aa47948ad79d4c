"""OpenHands' summarising condenser, its rule stated anew from what it does.

Comes in: a conversation in which one message is one event, as each call is and each result. Goes out: the
`Outcome`. Source: OpenHands/software-agent-sdk, openhands-sdk 1.58.2,
openhands/sdk/context/condenser/llm_summarizing_condenser.py and openhands/sdk/context/view/.
"""

from __future__ import annotations

from typing import NamedTuple

from .messages import Conversation, calls_apart, settled
from .sides import Outcome, untouched


class Condenser(NamedTuple):
    """The condenser's parameters.

    Attributes
    ----------
    max_size : events above which it condenses, softly.
    keep_first : events at the start that stay.
    max_tokens : tokens above which it condenses, come what may; None sets no limit.
    minimum_progress : least share of the events that a condensation must take.
    """

    max_size: int = 240
    keep_first: int = 2
    max_tokens: int | None = None
    minimum_progress: float = 0.1

    def condense(self, events: Conversation, *, requested: bool = False) -> Outcome:
        """Return what stands of the events, and what gives way to a summary.

        Parameters
        ----------
        events : Conversation
        requested : bool
            A user, or the provider's refusal of the last request, asks for it.
        """
        tokens = sum(event.tokens for event in events)
        pressed = self.max_tokens is not None and tokens > self.max_tokens
        hard = pressed or requested
        if not hard and len(events) <= self.max_size:
            return untouched(events)
        tails = []
        if requested:
            tails.append(len(events) // 2 - self.keep_first - 1)
        if len(events) > self.max_size:
            tails.append(self.max_size // 2 - self.keep_first - 1)
        if self.max_tokens is not None and pressed:
            tails.append(self._tail_of_tokens(events, tokens - self.max_tokens // 2))
        legal = legal_cuts(events)
        start = min((cut for cut in legal if cut >= self.keep_first), default=len(events))
        end = min((cut for cut in legal if cut >= len(events) - min(tails)), default=0)
        gone = tuple(event.id for event in events[start:end])
        if not gone or len(gone) < self.minimum_progress * len(events):
            gone = tuple(event.id for event in events) if hard else ()
        kept = tuple(event.id for event in events if event.id not in gone)
        return Outcome(True, kept, (), gone)

    def _tail_of_tokens(self, events: Conversation, need: int) -> int:
        """Return the events left once the shortest run after the first ones has taken more than `need`."""
        taken = 0
        for place in range(self.keep_first, len(events)):
            taken += events[place].tokens
            if taken > need:
                return len(events) - place - 1
        return 0


def legal_cuts(events: Conversation) -> list[int]:
    """Return where events may be cut: outside batches, between no call and its result, in no signed loop."""
    legal = [0]
    pending: set[str] = set()
    in_loop = False
    for place, event in enumerate(events):
        call, result = bool(event.calls), event.role == "result"
        before = events[place - 1] if place else None
        torn = call and before is not None and bool(before.calls) and before.batch == event.batch
        if event.thinks:
            in_loop = True
        elif call or result:
            torn = torn or in_loop
        else:
            in_loop = False
        if torn and legal[-1] == place:
            legal.pop()
        pending.update(event.calls)
        pending.difference_update(event.answers)
        if not pending:
            legal.append(place + 1)
    return legal


def talk(conversation: Conversation) -> Conversation:
    """Return the conversation as OpenHands' view has it, without the system prompt and torn batches."""
    spoken = tuple(message for message in conversation if message.role != "system")
    return calls_apart(settled(spoken))


CONDENSERS = (
    Condenser(12, 2),
    Condenser(40, 4),
    Condenser(20, 0, 1_500),
    Condenser(1_000, 2, 800),
    Condenser(30, 2, 2_000, 0.5),
)
"""Soft ones, hard ones, and one that must take half."""
