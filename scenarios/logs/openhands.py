"""Reads runs of OpenHands: JSON lines, one run a line, whose `history` lists the events of version 0.

Comes in: the output file of an evaluation. Goes out: one `Session` a run. Layout after the project's
survey of eight published runs; only events that carry the answer they came from are read.

Choices: text, calls and usage are those of the model's answer, taken once however often it is
repeated; what an observation shows around its content counts; condensations are events, not content.
`line` is the position in the history.
"""

from __future__ import annotations

import json
from pathlib import Path

from scenarios.logs.builder import Part, SessionBuilder
from scenarios.logs.formats import LogFormat
from scenarios.logs.records import Head, Json, Tolerated, stream_values, too_deep
from scenarios.logs.session import Session
from scenarios.logs.values import (
    epoch_seconds,
    identifier,
    mapping,
    sequence,
    strings_within,
    tokens_or_none,
)
from simulator.errors import InputError

_NAME = "openhands"
_BYTES_PER_TOKEN = 3.8
_BYTES_PER_TOKEN_SOURCE = "3.8 bytes a token (cl100k and o200k), 36.4 MB of agent messages"

_NOT_SENT = frozenset({"agent_state_changed", "null"})
"""Observations that are for the interface alone."""


def recognises(head: Head) -> bool:
    """Return whether the first records are runs of OpenHands."""
    events = (mapping(event) for value in head.records for event in sequence(mapping(value).get("history")))
    return any(_answer(event) for event in events)


def read(path: Path, bytes_per_token: float, bytes_per_token_source: str) -> list[Session]:
    """Return the runs of the file, in its order.

    Raises
    ------
    InputError
        Naming the element, where the file cannot be used.
    """
    sessions: list[Session] = []
    tolerated = Tolerated()
    for record in stream_values(path, tolerated):
        value = mapping(record.value)
        builder = SessionBuilder(_NAME, path, bytes_per_token, bytes_per_token_source)
        builder.name = identifier(value.get("instance_id")) or ""
        try:
            _Run(builder).take(sequence(value.get("history")))
        except RecursionError:
            raise too_deep(f"{path}: element {record.place}") from None
        if builder.messages:
            builder.tolerate(tolerated)
            sessions.append(builder.build())
    if not sessions:
        raise InputError("holds no run", where=str(path), expected="objects with a history of events")
    return sessions


class _Run:
    """The walk through the events of one run."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._seen: set[str] = set()

    def take(self, history: list[Json]) -> None:
        """Take the events in order."""
        for place, item in enumerate(history):
            event = mapping(item)
            at = epoch_seconds(event.get("timestamp"))
            if event.get("observation") is not None:
                self._take_observation(event, place, at)
            elif answer := _answer(event):
                self._take_answer(answer, place, at)
            else:
                self._take_action(event, place, at)

    def _take_answer(self, answer: dict[str, Json], place: int, at: float | None) -> None:
        request = identifier(answer.get("id")) or f"event {place}"
        if request in self._seen:
            return
        self._seen.add(request)
        usage = mapping(answer.get("usage"))
        prompt = tokens_or_none(usage.get("prompt_tokens")) or 0
        cached = tokens_or_none(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")) or 0
        self._builder.add_usage(request, max(0, prompt - cached), cached, 0, place)
        for choice in sequence(answer.get("choices"))[:1]:
            message = mapping(mapping(choice).get("message"))
            text = message.get("content")
            if isinstance(text, str) and text:
                self._builder.add(Part("assistant", text, place, at, request=request))
            for call in map(mapping, sequence(message.get("tool_calls"))):
                self._builder.add(_call(call, place, at, request))

    def _take_observation(self, event: dict[str, Json], place: int, at: float | None) -> None:
        metadata = mapping(event.get("tool_call_metadata"))
        call = identifier(metadata.get("tool_call_id"))
        if call is not None:
            tool = identifier(metadata.get("function_name"))
            self._builder.add(Part("tool_result", _shown(event), place, at, call, tool))
        elif str(event.get("observation")) in _NOT_SENT or not event.get("content"):
            self._leave_out()
        else:
            self._builder.add(Part("injected", _shown(event), place, at))

    def _take_action(self, event: dict[str, Json], place: int, at: float | None) -> None:
        action, arguments = event.get("action"), mapping(event.get("args"))
        text = arguments.get("content")
        if action == "condensation":
            self._builder.add_rewrite("compact", "auto", tokens_before=None, line=place)
        elif action not in ("system", "message") or not isinstance(text, str):
            self._leave_out()
        elif action == "system":
            self._builder.add(Part("system", text, place, at))
        elif event.get("source") == "user":
            images = len(sequence(arguments.get("image_urls")))
            self._builder.add(Part("user", text, place, at, images=images))
        else:
            self._builder.add(Part("assistant", text, place, at, request=f"event {place}"))

    def _leave_out(self) -> None:
        self._builder.count("event that is not sent was left out", "events that are not sent were left out")


def _call(call: dict[str, Json], place: int, at: float | None, request: str) -> Part:
    function = mapping(call.get("function"))
    tool, arguments = identifier(function.get("name")), function.get("arguments")
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    try:
        quotable = strings_within(json.loads(written))
    except ValueError:
        quotable = written
    identity = identifier(call.get("id"))
    return Part("tool_call", (tool or "") + written, place, at, identity, tool, request, quotable=quotable)


def _shown(event: dict[str, Json]) -> str:
    """Return what an observation shows: its content between the words that the runtime puts around it."""
    around = mapping(mapping(event.get("extras")).get("metadata"))
    parts = (around.get("prefix"), event.get("content"), around.get("suffix"))
    return "".join(part for part in parts if isinstance(part, str))


def _answer(event: dict[str, Json]) -> dict[str, Json]:
    """Return the model's answer that an event came from, or an empty object."""
    return mapping(mapping(event.get("tool_call_metadata")).get("model_response"))


FORMAT = LogFormat(_NAME, _BYTES_PER_TOKEN, _BYTES_PER_TOKEN_SOURCE, recognises, read)
