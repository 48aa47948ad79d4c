"""Held to the real Strands: the sliding window and the summarising conversation manager.

Its layout: the results of one answer's calls come back in one message.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simulator.contracts import CheckPoint

from .messages import Conversation, Message, results_together
from .sides import Outcome, assert_same, of_policy, standing, untouched

pytest.importorskip("strands", reason="strands-agents is not installed: it comes with the extra `peers`")

from strands.agent.conversation_manager import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.types.exceptions import ContextWindowOverflowException

pytestmark = pytest.mark.contract

SUMMARY = "summary"

# --------------------------------------------------------------------------- their side


def theirs(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the conversation as Strands' messages; the system prompt is not one of them."""
    return [_message(message) for message in conversation]


def _message(message: Message) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"text": str(message.id)}]
    content += [{"toolUse": {"toolUseId": call, "name": "read", "input": {}}} for call in message.calls]
    content += [
        {"toolResult": {"toolUseId": call, "status": "success", "content": [{"text": "found"}]}}
        for call in message.answers
    ]
    return {"role": "assistant" if message.role == "assistant" else "user", "content": content}


class Agent:
    """All of an agent that the managers touch; asked for a summary, it counts what it is shown."""

    system_prompt = None
    tool_names = ("read",)
    tool_registry = None

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages
        self.read: list[int] = []

    def __call__(self, prompt: str) -> SimpleNamespace:
        self.read = [int(message["content"][0]["text"]) for message in self.messages]
        return SimpleNamespace(message={"role": "assistant", "content": [{"text": SUMMARY}]})


def left(conversation: Conversation, agent: Agent, *, triggered: bool) -> Outcome:
    """Return what stands; where a summary stands, it took the place of what is gone."""
    texts = [message["content"][0]["text"] for message in agent.messages]
    outcome = standing(conversation, {int(text) for text in texts if text != SUMMARY})
    return outcome._replace(triggered=triggered, summarised=outcome.summarised if SUMMARY in texts else ())


def slid(conversation: Conversation, size: int) -> Outcome:
    """Return what the sliding window keeps at the end of a cycle of its agent."""
    agent: Any = Agent(theirs(conversation))
    SlidingWindowConversationManager(window_size=size).apply_management(agent)
    return left(conversation, agent, triggered=len(conversation) > size)


def overflowed(conversation: Conversation, size: int) -> Outcome:
    """Return what the sliding window keeps when the provider refuses, where no result may be clipped."""
    agent: Any = Agent(theirs(conversation))
    manager = SlidingWindowConversationManager(window_size=size, should_truncate_results=False)
    try:
        manager.reduce_context(agent, e=ContextWindowOverflowException("too long"))
    except ContextWindowOverflowException:
        return untouched(conversation, triggered=True)
    return left(conversation, agent, triggered=True)


def summarised(conversation: Conversation, ratio: float, recent: int) -> tuple[Outcome, list[int]]:
    """Return what stands after the summarising manager met an overflow, and what it was shown."""
    agent: Any = Agent(theirs(conversation))
    writer: Any = Agent([])
    manager = SummarizingConversationManager(
        summary_ratio=ratio, preserve_recent_messages=recent, summarization_agent=writer
    )
    try:
        manager.reduce_context(agent, e=ContextWindowOverflowException("too long"))
    except ContextWindowOverflowException:
        return untouched(conversation, triggered=True), []
    return left(conversation, agent, triggered=True), writer.read


def talk(conversation: Conversation) -> Conversation:
    """Return the conversation in Strands' layout."""
    spoken = tuple(message for message in conversation if message.role != "system")
    return results_together(spoken)


# --------------------------------------------------------------------------- the rules


@pytest.mark.parametrize("size", [4, 10, 40])
def test_sliding_window_keeps_the_same_messages(conversations: list[Conversation], size: int) -> None:
    for conversation in map(talk, conversations):
        _same_window(conversation, size)


def test_sliding_window_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in map(talk, recordings):
        _same_window(conversation, 10)
        _same_window(conversation, 40)


def _same_window(conversation: Conversation, size: int) -> None:
    for point, library in ((CheckPoint.USER_TURN, slid), (CheckPoint.OVERFLOW, overflowed)):
        if point is CheckPoint.USER_TURN or len(conversation) > size:
            ours = of_policy("strands-sliding-window", conversation, window_overrides(size), point=point)
            assert_same(conversation, library(conversation, size), ours, (size, point))


def test_refused_within_its_window_it_drops_the_first_two(conversations: list[Conversation]) -> None:
    """Or more, to the next place for a cut: a window that still holds all is no reason to give up."""
    for conversation in map(talk, conversations):
        size = len(conversation) + 5
        ours = of_policy(
            "strands-sliding-window", conversation, window_overrides(size), point=CheckPoint.OVERFLOW
        )
        assert_same(conversation, overflowed(conversation, size), ours, size)


def window_overrides(size: int) -> dict[str, object]:
    return {"trigger.messages": size + 1, "selector.keep_last": size}


@pytest.mark.parametrize(("ratio", "recent"), [(0.3, 10), (0.3, 2), (0.8, 4), (0.1, 10)])
def test_summarising_takes_the_same_messages(
    conversations: list[Conversation], ratio: float, recent: int
) -> None:
    for conversation in map(talk, conversations):
        _same_summary(conversation, ratio, recent)


def test_summarising_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in map(talk, recordings):
        _same_summary(conversation, 0.3, 10)


def _same_summary(conversation: Conversation, ratio: float, recent: int) -> None:
    library, read = summarised(conversation, ratio, recent)
    assert tuple(read) == library.summarised  # it is shown all that it takes the place of
    ours = of_policy(
        "strands-summarizing",
        conversation,
        {"selector.oldest_share": ratio, "selector.keep_last": recent},
        point=CheckPoint.OVERFLOW,
    )
    assert_same(conversation, library, ours, (ratio, recent))
