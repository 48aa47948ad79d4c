"""Held to the real Agent Development Kit: compaction by a token threshold, and its gate.

Its layout: the results of one answer's calls are one event. The last event reports the tokens of the
whole as the provider's count, so that both sides compare the same number with the threshold.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from .messages import Conversation, Message, made, requests, results_together
from .sides import Outcome, Persistent, assert_same, of_policy, standing, untouched

pytest.importorskip("google.adk", reason="google-adk is not installed: it comes with the extra `peers`")

from google.adk.apps._configs import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.compaction import (
    _is_range_worth_compacting,
    _run_compaction_for_token_threshold_config,
)
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.sessions.session import Session
from google.genai import types

pytestmark = [
    pytest.mark.contract,
    pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning"),
]

CHARACTERS = 4
"""Characters that stand for one token."""

# --------------------------------------------------------------------------- their side


def theirs(conversation: Conversation, *, first: int = 0) -> list[Event]:
    """Return the conversation as ADK's events, a second apart; a user's message opens an invocation."""
    events = []
    users = 0
    for place, message in enumerate(conversation, first + 1):
        users += message.role == "user"
        events.append(
            Event(
                invocation_id=f"invocation {first} {users}",
                author="user" if message.role == "user" else "agent",
                timestamp=float(place),
                content=types.Content(role=_role(message), parts=_parts(message)),
            )
        )
    return events


def _role(message: Message) -> str:
    return "model" if message.role == "assistant" else "user"


def _parts(message: Message) -> list[types.Part]:
    parts = [types.Part(text="x" * CHARACTERS * message.tokens)]
    parts += [
        types.Part(function_call=types.FunctionCall(id=call, name="read", args={})) for call in message.calls
    ]
    parts += [
        types.Part(function_response=types.FunctionResponse(id=call, name="read", response={}))
        for call in message.answers
    ]
    return parts


class Writer(BaseEventsSummarizer):
    """A summariser whose summaries are all of one size."""

    def __init__(self, tokens: int = 1) -> None:
        self.tokens = tokens
        self.read: list[float] = []

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event:
        self.read = [event.timestamp for event in events]
        content = types.Content(role="model", parts=[types.Part(text="x" * CHARACTERS * self.tokens)])
        span = EventCompaction(
            start_timestamp=events[0].timestamp, end_timestamp=events[-1].timestamp, compacted_content=content
        )
        return Event(author="user", invocation_id="compaction", actions=EventActions(compaction=span))


class Service:
    """A session service that keeps its session in mind."""

    async def append_event(self, session: Session, event: Event) -> None:
        session.events.append(event)


def compact(events: list[Event], tokens: int, threshold: int, retention: int, writer: Writer) -> list[Event]:
    """Return the events after one check at which the provider's last count was `tokens`."""
    events[-1].usage_metadata = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens)
    session = Session(id="one", app_name="app", user_id="user", events=events)
    config = EventsCompactionConfig(
        token_threshold=threshold, event_retention_size=retention, summarizer=writer
    )
    service: Any = Service()
    agent: Any = SimpleNamespace()
    asyncio.run(
        _run_compaction_for_token_threshold_config(
            config=config, session=session, session_service=service, agent=agent
        )
    )
    return session.events


def compacted(conversation: Conversation, threshold: int, retention: int) -> Outcome:
    """Return what a first check makes of the conversation."""
    writer = Writer()
    tokens = total(conversation)
    compact(theirs(conversation), tokens, threshold, retention, writer)
    if not writer.read:
        return untouched(conversation, triggered=tokens >= threshold)
    return standing(conversation, {one.id for one in conversation if float(one.id + 1) not in writer.read})


def total(conversation: Conversation) -> int:
    return sum(message.tokens for message in conversation)


def talk(conversation: Conversation) -> Conversation:
    """Return the conversation in ADK's layout; the instruction is no event."""
    spoken = tuple(message for message in conversation if message.role != "system")
    return results_together(spoken)


# --------------------------------------------------------------------------- the rules


@pytest.mark.parametrize("retention", [0, 1, 4, 10])
def test_token_threshold_takes_the_same_events(conversations: list[Conversation], retention: int) -> None:
    for conversation in map(talk, conversations[::3]):
        for threshold in (total(conversation), total(conversation) + 1):
            _same(conversation, threshold, retention)


def test_token_threshold_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in map(talk, recordings):
        for retention in (2, 10, 30):
            _same(conversation, total(conversation) // 2, retention)


def overrides(threshold: int, retention: int) -> dict[str, object]:
    return {"trigger.tokens": threshold, "selector.keep_last": retention}


def _same(conversation: Conversation, threshold: int, retention: int) -> None:
    ours = of_policy(
        "adk-token-threshold",
        conversation,
        overrides(threshold, retention),
    )
    assert_same(conversation, compacted(conversation, threshold, retention), ours, (threshold, retention))


@pytest.mark.parametrize(
    ("threshold", "retention", "summary"), [(600, 4, 50), (1_500, 10, 50), (600, 4, 500), (600, 4, 2_000)]
)
def test_token_threshold_over_a_whole_session(threshold: int, retention: int, summary: int) -> None:
    """The last summary is taken into the next one, however long, and is not among the events counted."""
    for seed in range(0, 60, 2):
        conversation = results_together(made(seed, system=False, unanswered=False))
        ours = Persistent("adk-token-threshold", overrides(threshold, retention), summary_tokens=summary)
        events: list[Event] = []
        end = seen = 0
        for length in requests(conversation):
            said = conversation[:length]
            ours.see(said)
            events += theirs(said)[seen:]
            seen = length
            tokens = total(said[end:]) + summary * bool(end)
            events = compact(events, tokens, threshold, retention, Writer(summary))
            if (span := events[-1].actions.compaction) is not None:
                end = int(span.end_timestamp)
            assert_same(
                said, standing(said, {one.id for one in said[end:]}), ours.outcome(said), (seed, length)
            )


# --------------------------------------------------------------------------- its gate


def rolled(first: Conversation, second: Conversation, summary_tokens: int) -> tuple[list[Event], list[Event]]:
    """Return the events after a first compaction to a summary of that size, and what came since."""
    events = compact(theirs(first), 2, 1, 0, Writer(summary_tokens))
    return events, theirs(second, first=len(first))


def test_its_gate_lets_every_rolling_range_pass(conversations: list[Conversation]) -> None:
    """The old summary is in the range that takes its place, so it weighs on both sides of the test."""
    for first, second in zip(conversations[:20], conversations[20:40], strict=True):
        before, since = rolled(talk(first), talk(second), 10 * total(second))
        writer = Writer()
        events = compact(before + since, 2, 1, 0, writer)
        assert events[-1].actions.compaction is not None
        assert len(writer.read) > 1


def test_its_gate_refuses_a_range_without_the_old_summary() -> None:
    """As the other trigger asks it, by invocations: new events alone against the last summary."""
    conversation = talk(((Message(0, "user", 100)), (Message(1, "assistant", 100))))
    for summary_tokens, worth in ((1, True), (150, True), (260, False), (1_000, False)):
        before, since = rolled(conversation, conversation, summary_tokens)
        assert _is_range_worth_compacting(events=before + since, events_to_compact=since) is worth
