"""Reads trajectories of tau-bench: one JSON list whose elements each hold an OpenAI chat in `traj`.

Comes in: a results file. Goes out: one `Session` an element, read one at a time. The log has neither
times nor usage; each assistant message is one model call. `line` counts the messages of the chat.
"""

from __future__ import annotations

import json
from pathlib import Path

from scenarios.logs.builder import Part, SessionBuilder
from scenarios.logs.formats import LogFormat
from scenarios.logs.records import Head, Json, Tolerated, stream_values, too_deep
from scenarios.logs.session import Kind, Session
from scenarios.logs.values import identifier, mapping, sequence, strings_within
from simulator.errors import InputError

_NAME = "tau_bench"
# gpt-4o: 3.78 bytes a token of o200k, 3.81 of cl100k, over 36.4 MB of messages of such logs.
_BYTES_PER_TOKEN = 3.8
_BYTES_PER_TOKEN_SOURCE = "3.8 bytes a token (cl100k and o200k), 36.4 MB of agent messages"

_KINDS: dict[str, Kind] = {"system": "system", "developer": "system", "user": "user"}


def recognises(head: Head) -> bool:
    """Return whether the first records are results of tau-bench."""
    return any(isinstance(mapping(value).get("traj"), list) for value in head.records)


def read(path: Path, bytes_per_token: float, bytes_per_token_source: str) -> list[Session]:
    """Return the sessions of the file, in its order.

    Raises
    ------
    InputError
        Naming the element, where the file cannot be used.
    """
    builders: list[SessionBuilder] = []
    tolerated = Tolerated()
    unusable = 0
    for record in stream_values(path, tolerated):
        builder = SessionBuilder(_NAME, path, bytes_per_token, bytes_per_token_source)
        try:
            _take_trajectory(builder, mapping(record.value))
        except RecursionError:
            raise too_deep(f"{path}: element {record.place}") from None
        if builder.messages:
            builders.append(builder)
        else:
            unusable += 1
    if not builders:
        raise InputError("holds no trajectory", where=str(path), expected="a list of objects with traj")
    for builder in builders:
        builder.count(
            "element of the file holds no trajectory", "elements of the file hold no trajectory", unusable
        )
    builders[-1].tolerate(tolerated)
    return [builder.build() for builder in builders]


def _take_trajectory(builder: SessionBuilder, value: dict[str, Json]) -> None:
    task, trial = identifier(value.get("task_id")), identifier(value.get("trial"))
    builder.name = f"task {task or '?'} trial {trial or '?'}"
    for position, item in enumerate(sequence(value.get("traj"))):
        message = mapping(item)
        role, text = message.get("role"), _text(message.get("content"))
        if role == "assistant":
            _take_answer(builder, message, text, position)
        elif role == "tool":
            call, tool = identifier(message.get("tool_call_id")), identifier(message.get("name"))
            builder.add(Part("tool_result", text, position, call=call, tool=tool))
        elif isinstance(role, str) and role in _KINDS:
            builder.add(Part(_KINDS[role], text, position))
        else:
            builder.count(
                "message of an unknown role was left out", "messages of unknown roles were left out"
            )


def _take_answer(builder: SessionBuilder, message: dict[str, Json], text: str, position: int) -> None:
    request = f"message {position}"
    if text:
        builder.add(Part("assistant", text, position, request=request))
    for item in sequence(message.get("tool_calls")):
        call = mapping(item)
        function = mapping(call.get("function"))
        tool, arguments = identifier(function.get("name")), function.get("arguments")
        # OpenAI sends arguments as a string that holds JSON.
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        builder.add(
            Part(
                "tool_call",
                (tool or "") + written,
                position,
                None,
                identifier(call.get("id")),
                tool,
                request,
                quotable=strings_within(_parsed(written)),
            )
        )


def _parsed(arguments: str) -> Json:
    try:
        parsed: Json = json.loads(arguments)
    except ValueError:
        return arguments
    return parsed


def _text(content: Json) -> str:
    """Return the text of a message: a string, null, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in map(mapping, sequence(content)) if "text" in part)


FORMAT = LogFormat(_NAME, _BYTES_PER_TOKEN, _BYTES_PER_TOKEN_SOURCE, recognises, read)
