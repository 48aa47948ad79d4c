"""The statement of OpenHands' rule, held to the real SDK where it is installed (Python 3.12 and above)."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from .condenser import CONDENSERS, Condenser, legal_cuts, talk
from .messages import Conversation, Message, made
from .sides import Outcome, assert_same, untouched

pytest.importorskip("openhands.sdk", reason="openhands-sdk is not installed: it needs Python 3.12")

from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.condenser.base import NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent
from openhands.sdk.event.condenser import Condensation
from openhands.sdk.llm import LLM, MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.llm import Message as Said

pytestmark = pytest.mark.contract


def theirs(conversation: Conversation) -> list[Any]:
    """Return the conversation as the SDK's events, each under our id and of our size in letters."""
    return [_event(message) for message in conversation]


def _event(message: Message) -> Any:
    identity, text = str(message.id), "x" * message.tokens
    if message.calls:
        [call] = message.calls
        return ActionEvent(
            id=identity,
            thought=[],
            thinking_blocks=[ThinkingBlock(thinking="hm", signature="s")] if message.thinks else [],
            tool_name="read",
            tool_call_id=call,
            tool_call=MessageToolCall(id=call, name="read", arguments=text, origin="completion"),
            llm_response_id=str(message.batch),
            action=None,
        )
    if message.role == "result":
        [call] = message.answers
        return AgentErrorEvent(id=identity, tool_name="read", tool_call_id=call, error=text)
    role, source = ("user", "user") if message.role == "user" else ("assistant", "agent")
    return MessageEvent(
        id=identity, source=source, llm_message=Said(role=role, content=[TextContent(text=text)])
    )


def condensed(conversation: Conversation, said: Condenser, *, requested: bool) -> Outcome:
    """Return what the condenser makes of the conversation; a letter is a token."""
    model, agent = MagicMock(spec=LLM), MagicMock(spec=LLM)
    model.stream = False
    model.generate.return_value.message.content = [TextContent(text="what was said")]
    model.generate.return_value.id = "summary"
    agent.effective_max_input_tokens = None
    agent.get_token_count.side_effect = _letters
    condenser = LLMSummarizingCondenser.model_construct(llm=model, **said._asdict())
    view = View.from_events(theirs(conversation))
    view.unhandled_condensation_request = requested
    triggered = condenser.condensation_requirement(view, agent_llm=agent) is not None
    try:
        done = condenser.condense(view, agent_llm=agent)
    except NoCondensationAvailableException:
        return untouched(conversation, triggered=triggered)
    if not isinstance(done, Condensation):
        return untouched(conversation, triggered=triggered)
    gone = tuple(sorted(map(int, done.forgotten_event_ids)))
    return Outcome(triggered, tuple(one.id for one in conversation if one.id not in gone), (), gone)


def _letters(messages: list[Any], **_: object) -> int:
    said = [content.text for message in messages for content in message.content]
    asked = [call.arguments for message in messages for call in message.tool_calls or ()]
    return sum(text.count("x") for text in (*said, *asked))


def test_the_statement_is_what_openhands_does() -> None:
    for seed in range(60):
        conversation = talk(made(seed, thinking=True))
        if not conversation:
            continue
        assert sorted(View.from_events(theirs(conversation)).manipulation_indices) == legal_cuts(conversation)
        for condenser in CONDENSERS:
            for requested in (False, True):
                library = condensed(conversation, condenser, requested=requested)
                said = condenser.condense(conversation, requested=requested)
                assert_same(conversation, library, said, (seed, condenser, requested))
