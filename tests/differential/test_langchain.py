"""Held to the real LangChain: `trim_messages`, `ClearToolUsesEdit`, `SummarizationMiddleware`.

A line is a token on their side, and a message has as many lines as we gave it tokens, so that what is
compared is the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from simulator.asking import shown
from simulator.spans import Kind

from .messages import Conversation, Message, made, requests, spans
from .sides import SUMMARY_TOKENS, Outcome, Persistent, assert_same, of_policy, standing, untouched

pytest.importorskip("langchain", reason="langchain is not installed: it comes with the extra `peers`")

from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)

pytestmark = pytest.mark.contract

PLACEHOLDER = "[cleared]"
PLACEHOLDER_TOKENS = 3
LEAST_KEPT = 1
"""Messages that the middleware keeps where the last one alone is over its budget."""

FRAME_LINES = 2
"""Lines that the middleware puts before a summary."""

# --------------------------------------------------------------------------- their side


def theirs(conversation: Conversation) -> list[BaseMessage]:
    """Return the conversation as LangChain's messages, each with our id."""
    return [_message(message) for message in conversation]


def _message(message: Message) -> BaseMessage:
    said = {"content": "line\n" * message.tokens, "id": str(message.id)}
    if message.role == "assistant":
        calls = [{"name": "read", "args": {}, "id": call, "type": "tool_call"} for call in message.calls]
        return AIMessage(tool_calls=calls, **said)
    if message.role == "result":
        return ToolMessage(tool_call_id=message.answers[0], name="read", **said)
    return HumanMessage(**said) if message.role == "user" else SystemMessage(**said)


def count(messages: Sequence[Any]) -> int:
    """Return the tokens of messages: their lines, or those of a placeholder."""
    return sum(
        PLACEHOLDER_TOKENS if message.content == PLACEHOLDER else message.content.count("\n")
        for message in messages
    )


def total(conversation: Conversation) -> int:
    return sum(message.tokens for message in conversation)


def trimmed(conversation: Conversation, limit: int, **said: Any) -> Outcome:
    """Return what `trim_messages` keeps; it has no trigger of its own: it is one where it drops."""
    kept = trim_messages(
        theirs(conversation),
        max_tokens=limit,
        token_counter=count,
        allow_partial=False,
        **said,
    )
    ids = tuple(int(str(message.id)) for message in kept)
    return Outcome(len(ids) < len(conversation), ids)


def cleared(conversation: Conversation, edit: ClearToolUsesEdit) -> Outcome:
    """Return which results the edit clears."""
    messages = theirs(conversation)
    triggered = count(messages) > edit.trigger
    edit.apply(messages, count_tokens=count)
    masked = tuple(place for place, message in enumerate(messages) if message.content == PLACEHOLDER)
    kept = tuple(place for place in range(len(messages)) if place not in masked)
    return Outcome(triggered, kept, masked)


def summarizer(write: Callable[[list[Any]], str], window: int = 10**6, **said: Any) -> Any:
    """Return the middleware with a model of that window, which leaves the writing to `write`."""
    return SummarizationMiddleware(
        model=FakeListChatModel(responses=["never asked"], profile={"max_input_tokens": window}),
        token_counter=count,
        summarizer=write,
        **said,
    )


class Summarised:
    """The middleware at work, and what its summariser was shown."""

    def __init__(self, conversation: Conversation, *, window: int = 10**6, **said: Any) -> None:
        self.read: dict[int, int] = {}
        middleware = summarizer(self._summarise, window, **said)
        messages = theirs(conversation)
        triggered = middleware._should_summarize(messages, count(messages))
        update = middleware.before_model({"messages": messages}, None)
        if update is None:
            self.outcome = untouched(conversation, triggered=triggered)
            return
        remove, summary, *rest = update["messages"]
        assert isinstance(remove, RemoveMessage)
        assert isinstance(summary, HumanMessage)
        self.outcome = standing(conversation, {int(message.id) for message in rest})

    def _summarise(self, messages: list[Any]) -> str:
        self.read = {int(message.id): count([message]) for message in messages}
        return "what was said"


# --------------------------------------------------------------------------- trim_messages


def test_trim_keeps_the_same_messages(conversations: list[Conversation]) -> None:
    random = Random("trim")
    for conversation in conversations:
        for share in random.sample((0.0, 0.2, 0.6, 0.9, 1.0), 2):
            _same_trim(conversation, round(share * total(conversation)), start_on_user=True)


def test_trim_without_a_start_keeps_the_same_messages(conversations: list[Conversation]) -> None:
    for conversation in conversations:
        _same_trim(conversation, total(conversation) // 2, start_on_user=False)


def test_trim_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in recordings:
        for share in (0.1, 0.5, 0.9):
            _same_trim(conversation, round(share * total(conversation)), start_on_user=True)


def _same_trim(conversation: Conversation, limit: int, *, start_on_user: bool) -> None:
    said = {"start_on": "human"} if start_on_user else {}
    library = trimmed(conversation, limit, strategy="last", include_system=True, **said)
    ours = of_policy("langchain-trim", conversation, trim_overrides(limit, start_on_user=start_on_user))
    # Ours may fire and find nothing to drop.
    assert_same(conversation, library, ours._replace(triggered=library.triggered), (limit, start_on_user))


def trim_overrides(limit: int, *, start_on_user: bool) -> dict[str, object]:
    return {
        "trigger.tokens": limit + 1,
        "selector.keep_tokens": limit,
        "selector.cut": "user" if start_on_user else "any",
    }


# --------------------------------------------------------------------------- ClearToolUsesEdit


def test_clear_tool_uses_masks_the_same_results(conversations: list[Conversation]) -> None:
    random = Random("clear")
    for conversation in conversations:
        _same_clear(conversation, random.choice((0, 1, 3, 8)), random.choice((0.3, 0.9, 1.0)), 0)


def test_clear_at_least_stops_at_the_same_result(conversations: list[Conversation]) -> None:
    random = Random("clear at least")
    for conversation in conversations:
        least = random.choice((1, 60, 400, total(conversation)))
        _same_clear(conversation, random.choice((0, 3)), 0.3, least)


def test_clear_tool_uses_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in recordings:
        for keep in (0, 3, 10):
            _same_clear(conversation, keep, 0.8, 0)
            _same_clear(conversation, keep, 0.8, total(conversation) // 5)


def _same_clear(conversation: Conversation, keep: int, share: float, least: int) -> None:
    trigger = round(share * total(conversation))
    edit = ClearToolUsesEdit(trigger=trigger, keep=keep, clear_at_least=least, placeholder=PLACEHOLDER)
    library = cleared(conversation, edit)
    ours = of_policy("langchain-clear-tool-uses", conversation, clear_overrides(trigger, keep, least))
    assert_same(conversation, library, ours, (trigger, keep, least))


def clear_overrides(trigger: int, keep: int, least: int) -> dict[str, object]:
    return {
        "trigger.tokens": trigger + 1,
        "selector.keep_results": keep,
        "selector.enough_tokens": least or None,
        "replacement.placeholder": PLACEHOLDER_TOKENS,
    }


@pytest.mark.parametrize("keep", [3, 8])
def test_once_over_its_trigger_it_clears_at_every_request(keep: int) -> None:
    """It edits a copy of the whole history, which never shrinks: what it keeps moves on with each request."""
    for seed in range(0, 60, 2):
        conversation = made(seed, unanswered=False)
        trigger = total(conversation) // 2
        ours = Persistent("langchain-clear-tool-uses", clear_overrides(trigger, keep, 0))
        for length in requests(conversation):
            said = conversation[:length]
            ours.see(said)
            edit = ClearToolUsesEdit(trigger=trigger, keep=keep, placeholder=PLACEHOLDER)
            library = cleared(said, edit)._replace(triggered=bool(cleared(said, edit).masked))
            assert_same(said, library, ours.outcome(said), (seed, length))


# --------------------------------------------------------------------------- SummarizationMiddleware


@pytest.mark.parametrize(
    "keep", [("messages", 1), ("messages", 6), ("messages", 20), ("tokens", 1), ("tokens", 400)]
)
def test_summarization_cuts_at_the_same_message(
    conversations: list[Conversation], keep: tuple[str, int]
) -> None:
    random = Random("summary")
    for talk in map(without_system, conversations):
        trigger = random.choice((("tokens", total(talk)), ("tokens", total(talk) + 1), ("messages", 12)))
        _same_summary(talk, trigger, keep)


def test_summarization_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in recordings:
        for keep in (("messages", 20), ("tokens", 4_000)):
            _same_summary(conversation, ("tokens", total(conversation) // 2), keep)


@pytest.mark.parametrize("together", [True, False])
def test_triggers_of_two_kinds(conversations: list[Conversation], together: bool) -> None:
    """All conditions of one clause, or any of several."""
    said: dict[str, int] = {"tokens": 1_200, "messages": 14}
    trigger: Any = said if together else list(said.items())
    for talk in map(without_system, conversations):
        library = Summarised(talk, trigger=trigger, keep=("messages", 4), trim_tokens_to_summarize=None)
        overrides = {f"trigger.{key}": value for key, value in said.items()}
        overrides |= {"trigger.all": together, "selector.keep_last": 4}
        assert_same(talk, library.outcome, of_policy("langchain-summarize", talk, overrides), trigger)


def test_summarization_by_shares_of_the_window(conversations: list[Conversation]) -> None:
    """At four fifths of the window, and one token short of it; shares are rounded apart by the two sides."""
    for first, *rest in map(without_system, conversations[::3]):
        conversation = (first._replace(tokens=first.tokens + -total((first, *rest)) % 4), *rest)
        for window in (total(conversation) // 4 * 5, total(conversation) // 4 * 5 + 5):
            library = Summarised(
                conversation,
                window=window,
                trigger=("fraction", 0.8),
                keep=("fraction", 0.4),
                trim_tokens_to_summarize=None,
            )
            assert library.outcome.triggered is (window * 4 == total(conversation) * 5)
            ours = of_policy("langchain-summarize", conversation, shares(0.8, 0.4), window=window)
            assert_same(conversation, library.outcome, ours, window)


def shares(trigger: float, keep: float) -> dict[str, object]:
    return {
        "trigger.tokens": None,
        "trigger.fraction": trigger,
        "selector.keep_last": LEAST_KEPT,
        "selector.keep_share": keep,
        "selector.keep_of": "window",
    }


@pytest.mark.parametrize(
    ("trigger", "keep"), [(("messages", 15), ("messages", 6)), (("tokens", 900), ("tokens", 300))]
)
def test_summarization_over_a_whole_conversation(trigger: tuple[str, int], keep: tuple[str, int]) -> None:
    """Summaries are summarised again, and count as messages of their size."""
    for seed in range(0, 60, 2):
        conversation = made(seed, system=False, unanswered=False)
        middleware = summarizer(
            lambda _: "line\n" * (SUMMARY_TOKENS - FRAME_LINES) + ".",
            trigger=trigger,
            keep=keep,
            trim_tokens_to_summarize=None,
        )
        ours = Persistent("langchain-summarize", summary_overrides(trigger, keep))
        state: list[Any] = []
        seen = 0
        for length in requests(conversation):
            said = conversation[:length]
            ours.see(said)
            state += theirs(conversation)[seen:length]
            seen = length
            update = middleware.before_model({"messages": state}, None)
            state = state if update is None else update["messages"][1:]
            kept = {int(message.id) for message in state if message.id and message.id.isdigit()}
            assert_same(said, standing(said, kept), ours.outcome(said), (seed, length))


@pytest.mark.parametrize("limit", [50, 400, 4_000])
def test_its_summariser_is_shown_the_newest_tokens_from_a_users_message_on(
    conversations: list[Conversation], limit: int
) -> None:
    """Where none of them is a user's, it is not asked: a sentence takes the place of everything."""
    called = 0
    for conversation in map(without_system, conversations):
        library = Summarised(
            conversation, trigger=("messages", 1), keep=("messages", 6), trim_tokens_to_summarize=limit
        )
        gone = [span for span in spans(conversation) if span.id in library.outcome.summarised]
        newest = shown(gone, coverage=limit)
        first = min((span.id for span in gone if span.id in newest and span.kind is Kind.USER), default=None)
        assert library.read == {
            identity: tokens for identity, tokens in newest.items() if first is not None and identity >= first
        }
        called += bool(library.read)
    assert 0 < called < len(conversations)


def without_system(conversation: Conversation) -> Conversation:
    """Return the conversation without its system message, which the middleware never sees."""
    return tuple(message for message in conversation if message.role != "system")


def _same_summary(conversation: Conversation, trigger: tuple[str, int], keep: tuple[str, int]) -> None:
    library = Summarised(conversation, trigger=trigger, keep=keep, trim_tokens_to_summarize=None)
    ours = of_policy("langchain-summarize", conversation, summary_overrides(trigger, keep))
    assert_same(conversation, library.outcome, ours, (trigger, keep))


def summary_overrides(trigger: tuple[str, int], keep: tuple[str, int]) -> dict[str, object]:
    kind, value = keep
    return {
        "trigger.tokens": None,
        f"trigger.{trigger[0]}": trigger[1],
        "selector.keep_last": value if kind == "messages" else LEAST_KEPT,
        "selector.keep_tokens": value if kind == "tokens" else None,
    }
