"""Reads sessions of Pi: JSON lines, one record a message, each answer with its own usage.

Comes in: a session file. Goes out: one `Session`. Layout after the project's survey of two published
sessions of about a thousand messages.

Choices: a call that never got a result (the answer was broken off, or a compaction came between) is
left out, since a provider refuses to read it; summaries are left out and what they replaced stays;
thinking counts as text, its signature does not; a command that the user ran counts as injected text.
"""

from __future__ import annotations

import json
from pathlib import Path

from scenarios.logs.builder import Part, SessionBuilder
from scenarios.logs.formats import LogFormat
from scenarios.logs.records import Head, Json, Record, Tolerated, stream_lines, too_deep
from scenarios.logs.session import Session
from scenarios.logs.values import (
    epoch_seconds,
    identifier,
    mapping,
    sequence,
    strings_within,
    tokens_or_none,
)

_NAME = "pi"
# The published sessions ran on the model whose bill the survey of Claude Code measured.
_BYTES_PER_TOKEN = 2.9
_BYTES_PER_TOKEN_SOURCE = "2.89 bytes a token as billed for Claude Opus 4.5, the model of the sessions seen"

_BOOKKEEPING = frozenset({"session", "thinking_level_change", "model_change"})
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution"})


def recognises(head: Head) -> bool:
    """Return whether the first records are those of a Pi session."""
    return head.container == "sequence" and any(_is_ours(mapping(value)) for value in head.records)


def read(path: Path, bytes_per_token: float, bytes_per_token_source: str) -> list[Session]:
    """Return the one session of the file.

    Raises
    ------
    InputError
        Naming the line, where the file cannot be used.
    """
    builder = SessionBuilder(_NAME, path, bytes_per_token, bytes_per_token_source)
    results = (_message(record.value) for record in stream_lines(path, Tolerated()))
    answered = {identifier(result.get("toolCallId")) for result in results} - {None}
    tolerated = Tolerated()
    for record in stream_lines(path, tolerated):
        try:
            _take(builder, record, answered)
        except RecursionError:
            raise too_deep(f"{path}: line {record.place}") from None
    builder.tolerate(tolerated)
    return [builder.build()]


def _take(builder: SessionBuilder, record: Record, answered: set[str | None]) -> None:
    value, line = mapping(record.value), record.place
    kind, at = value.get("type"), epoch_seconds(value.get("timestamp"))
    message = _message(value)
    role = message.get("role")
    if kind == "session":
        builder.name = builder.name or identifier(value.get("id")) or ""
    if kind == "compaction":
        _take_compaction(builder, value, line)
    elif role == "assistant":
        _take_answer(builder, message, line, at, answered)
    elif role == "user":
        text, images = _content(builder, message.get("content"))
        builder.add(Part("user", text, line, at, images=images))
    elif role == "toolResult":
        text, images = _content(builder, message.get("content"))
        call, tool = identifier(message.get("toolCallId")), identifier(message.get("toolName"))
        is_error = bool(message.get("isError"))
        builder.add(Part("tool_result", text, line, at, call, tool, is_error=is_error, images=images))
    elif role == "bashExecution":
        builder.count(
            "command of the user counts as injected text", "commands of the user count as injected text"
        )
        text = strings_within([message.get("command"), message.get("output")])
        builder.add(Part("injected", text, line, at))
    elif isinstance(kind, str) and kind in _BOOKKEEPING:
        builder.count("record of bookkeeping was left out", "records of bookkeeping were left out")
    else:
        builder.count("record of an unknown type was left out", "records of unknown types were left out")


def _take_answer(
    builder: SessionBuilder, message: dict[str, Json], line: int, at: float | None, answered: set[str | None]
) -> None:
    request = f"line {line}"
    usage = mapping(message.get("usage"))
    uncached, cache_read, cache_write = (
        tokens_or_none(usage.get(key)) or 0 for key in ("input", "cacheRead", "cacheWrite")
    )
    builder.add_usage(request, uncached, cache_read, cache_write, line)
    for block in map(mapping, sequence(message.get("content"))):
        if block.get("type") == "toolCall":
            _take_call(builder, block, request, line, at, answered)
            continue
        if block.get("type") == "thinking":
            builder.say("Thinking counts as text of the assistant.")
        if text := _text(builder, block):
            builder.add(Part("assistant", text, line, at, request=request))


def _take_call(
    builder: SessionBuilder,
    block: dict[str, Json],
    request: str,
    line: int,
    at: float | None,
    answered: set[str | None],
) -> None:
    call = identifier(block.get("id"))
    if call not in answered:
        builder.count(
            "call that never got a result was left out", "calls that never got a result were left out"
        )
        return
    arguments, tool = block.get("arguments"), identifier(block.get("name"))
    text = (tool or "") + json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    quotable = strings_within(arguments)
    builder.add(Part("tool_call", text, line, at, call, tool, request, quotable=quotable))


def _take_compaction(builder: SessionBuilder, value: dict[str, Json], line: int) -> None:
    builder.count(
        "summary that a rewrite of the log wrote was left out",
        "summaries that rewrites of the log wrote were left out",
    )
    builder.say("The log does not say who asked for its compactions; they are told as automatic.")
    before = tokens_or_none(value.get("tokensBefore"))
    builder.add_rewrite("compact", "auto", tokens_before=before, line=line)


def _content(builder: SessionBuilder, content: Json) -> tuple[str, int]:
    """Return the text of a message, and how many images stand beside it."""
    if isinstance(content, str):
        return content, 0
    blocks = [mapping(block) for block in sequence(content)]
    images = sum(block.get("type") == "image" for block in blocks)
    return "\n".join(_text(builder, block) for block in blocks if block.get("type") != "image"), images


def _text(builder: SessionBuilder, block: dict[str, Json]) -> str:
    text = block.get("thinking" if block.get("type") == "thinking" else "text")
    if isinstance(text, str):
        return text
    builder.count("block of an unknown type was left out", "blocks of unknown types were left out")
    return ""


def _message(value: Json) -> dict[str, Json]:
    return mapping(mapping(value).get("message"))


def _is_ours(record: dict[str, Json]) -> bool:
    return record.get("type") == "message" and str(_message(record).get("role")) in _ROLES


FORMAT = LogFormat(_NAME, _BYTES_PER_TOKEN, _BYTES_PER_TOKEN_SOURCE, recognises, read)
