"""One list of messages, for a real library and for our policies: made ones, and recorded ones.

Comes in: a seed, or the turns of a recorded session. Goes out: a tuple of `Message`, which a library's
test turns into that library's own, and `spans`, which turns it into one span a message. So both sides
count messages alike, and what is compared is the rule. Libraries disagree on what one message is:
`calls_apart` and `results_together` give the other two layouts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from random import Random
from typing import Literal, NamedTuple

from simulator.contracts import Turn
from simulator.spans import Kind, Provenance, Span

Role = Literal["system", "user", "assistant", "result"]

MOST_CALLS = 4
"""Tool calls that one made answer of a model holds at most."""


class Message(NamedTuple):
    """One message of a conversation.

    Attributes
    ----------
    id : its place in the conversation that was made.
    role : who wrote it.
    tokens : its size.
    turn : the model request that it was written by, or came before; from 1.
    calls : ids of the tool calls that it makes.
    answers : ids of the tool calls that it answers.
    batch : what the calls of one answer and their results share.
    thinks : it opens with a signed block.
    """

    id: int
    role: Role
    tokens: int
    turn: int = 1
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    batch: int | None = None
    thinks: bool = False


Conversation = tuple[Message, ...]

# --------------------------------------------------------------------------- made ones


def made(seed: int, *, system: bool = True, unanswered: bool = True, thinking: bool = False) -> Conversation:
    """Return a made conversation: 1 to about 180 messages, valid for every provider.

    Parameters
    ----------
    seed : int
        The same seed makes the same conversation.
    system : bool
        It opens with a system message.
    unanswered : bool
        One in five ends before all the calls of its last answer have their results.
    thinking : bool
        One in four of the answers that call tools opens with a signed block.
    """
    random = Random(f"conversation {seed}")
    messages = list(_made(random, thinking=thinking))
    if unanswered and random.random() < 0.2:
        while messages[-1].role == "result" and random.random() < 0.8:
            messages.pop()
    if system:
        messages.insert(0, Message(0, "system", _size(random)))
    return tuple(message._replace(id=place) for place, message in enumerate(messages))


def _made(random: Random, *, thinking: bool) -> Iterator[Message]:
    turn = batch = 1
    for _ in range(random.choice((1, 2, 3, 6, 12))):
        yield Message(0, "user", _size(random), turn)
        for _ in range(random.choice((0, 0, 1, 2, 3, 8))):
            calls = tuple(f"call-{batch}-{place}" for place in range(random.randint(1, MOST_CALLS)))
            thinks = thinking and random.random() < 0.25
            yield Message(0, "assistant", _size(random), turn, calls, batch=batch, thinks=thinks)
            turn += 1
            for call in random.sample(calls, len(calls)):
                yield Message(0, "result", _size(random), turn, answers=(call,), batch=batch)
            batch += 1
        if random.random() < 0.7:
            yield Message(0, "assistant", _size(random), turn)
            turn += 1


def _size(random: Random) -> int:
    """Return a size of a message, tokens: mostly short, at times very long."""
    return math.ceil(random.lognormvariate(4.0, 1.5)) + 5


# --------------------------------------------------------------------------- recorded ones


def recorded(turns: Iterable[Turn]) -> Conversation:
    """Return a recorded session as a conversation; what one request wrote is one message.

    Results that answer no call of the log are read by the model as text of the user.
    """
    messages: list[Message] = []
    waiting: dict[int, list[str]] = {}
    for number, turn in enumerate(turns, 1):
        for span in turn.arrivals:
            calls = waiting.get(-1 if span.pair is None else span.pair)
            if span.kind is Kind.TOOL_RESULT and calls:
                answers = (calls.pop(0),)
                messages.append(Message(0, "result", span.tokens, number, answers=answers, batch=span.pair))
            else:
                messages.append(Message(0, "user", span.tokens, number))
        if not turn.reply:
            continue
        asked = [span for span in turn.reply if span.kind is Kind.TOOL_CALL]
        batch = asked[0].pair if asked else None
        calls = [f"call-{batch}-{place}" for place in range(len(asked))]
        if batch is not None:
            waiting[batch] = list(calls)
        tokens = sum(span.tokens for span in turn.reply)
        messages.append(Message(0, "assistant", tokens, number, tuple(calls), batch=batch))
    return tuple(
        message._replace(id=place, tokens=max(5, message.tokens)) for place, message in enumerate(messages)
    )


def settled(conversation: Conversation) -> Conversation:
    """Return the conversation without calls that nothing answers, and without their batches."""
    answered = {call for message in conversation for call in message.answers}
    torn = {message.batch for message in conversation if not answered.issuperset(message.calls)}
    return tuple(message for message in conversation if message.batch is None or message.batch not in torn)


def requests(conversation: Conversation) -> list[int]:
    """Return the lengths at which a model is asked: before each of its answers, and at the end."""
    asked = [place for place, message in enumerate(conversation) if place and message.role == "assistant"]
    return [*asked, len(conversation)]


# --------------------------------------------------------------------------- other layouts


def calls_apart(conversation: Conversation) -> Conversation:
    """Return the layout in which each call is a message of its own, the first one with the text."""
    messages: list[Message] = []
    for message in conversation:
        parts = max(1, len(message.calls))
        shares = [message.tokens // parts + (place < message.tokens % parts) for place in range(parts)]
        for place, tokens in enumerate(shares):
            calls = message.calls[place : place + 1]
            messages.append(
                message._replace(tokens=tokens, calls=calls, thinks=message.thinks and place == 0)
            )
    return tuple(message._replace(id=place) for place, message in enumerate(messages))


def results_together(conversation: Conversation) -> Conversation:
    """Return the layout in which the results of one answer's calls are one message, once all are there."""
    asked = {message.batch: len(message.calls) for message in conversation if message.calls}
    messages: list[Message] = []
    for message in conversation:
        last = messages[-1] if messages else None
        if last is not None and message.role == last.role == "result" and message.batch == last.batch:
            answers = last.answers + message.answers
            messages[-1] = last._replace(tokens=last.tokens + message.tokens, answers=answers)
        else:
            messages.append(message)
    there = [one for one in messages if one.role != "result" or len(one.answers) == asked[one.batch]]
    return tuple(message._replace(id=place) for place, message in enumerate(there))


# --------------------------------------------------------------------------- ours


def spans(conversation: Conversation) -> list[Span]:
    """Return one span a message, with the message's id."""
    return [
        Span(
            message.id,
            _kind(message),
            message.tokens,
            born=message.turn,
            provenance=_PROVENANCE[message.role],
            pair=message.batch,
        )
        for message in conversation
    ]


def _kind(message: Message) -> Kind:
    if message.role == "assistant":
        return Kind.TOOL_CALL if message.calls else Kind.ASSISTANT
    return {"system": Kind.HEAD, "user": Kind.USER, "result": Kind.TOOL_RESULT}[message.role]


_PROVENANCE = {
    "system": Provenance.RUNTIME,
    "user": Provenance.USER,
    "assistant": Provenance.SELF,
    "result": Provenance.TOOL,
}
