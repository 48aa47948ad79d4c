"""Reads sessions of Claude Code: JSON lines, one record a block of a message.

Comes in: a session file, or the file of a sub-agent. Goes out: one `Session`. Layout after the
project's survey of 273 published sessions, versions 1.0.24 to 2.1.114.

Choices: a summary that the log's own compaction wrote is left out and what it replaced stays; usage
counts once a `message.id`; `toolUseResult` repeats a result for the screen and never counts; thinking
counts as text, its signature does not; records of sub-agents inside a parent's file are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from scenarios.logs.builder import Part, SessionBuilder
from scenarios.logs.formats import LogFormat
from scenarios.logs.records import Head, Json, Record, Tolerated, stream_lines, too_deep
from scenarios.logs.session import Kind, Session
from scenarios.logs.values import (
    epoch_seconds,
    identifier,
    mapping,
    sequence,
    strings_within,
    tokens_or_none,
)

_NAME = "claude_code"
# Median of 1,944 steps: bytes that were added against growth of the input that the provider billed.
_BYTES_PER_TOKEN = 2.9
_BYTES_PER_TOKEN_SOURCE = "2.89 bytes a token as billed for Claude Opus 4.5 and 4.6, 1,944 steps"

_MESSAGES = ("user", "assistant")
_BOOKKEEPING = frozenset(
    {
        "summary",
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "pr-link",
        "last-prompt",
        "permission-mode",
    }
)
_SENT_ATTACHMENTS = {
    "hook_additional_context": "content",
    "deferred_tools_delta": "addedNames",
    "skill_listing": "content",
    "task_reminder": "content",
}
"""Attachments that the client sends on as a reminder, and the key that holds what is sent."""

_UNKNOWN_NAMED = 5


def recognises(head: Head) -> bool:
    """Return whether the first records are those of a Claude Code session."""
    return head.container == "sequence" and any(_is_ours(mapping(value)) for value in head.records)


def read(path: Path, bytes_per_token: float, bytes_per_token_source: str) -> list[Session]:
    """Return the one session of the file.

    Raises
    ------
    InputError
        Naming the line, where the file cannot be used.
    """

    def builder() -> SessionBuilder:
        return SessionBuilder(_NAME, path, bytes_per_token, bytes_per_token_source)

    tolerated = Tolerated()
    reading = _Reading(builder(), builder())
    for record in stream_lines(path, tolerated):
        try:
            reading.take(record)
        except RecursionError:
            raise too_deep(f"{path}: line {record.place}") from None
    return [reading.finish(tolerated)]


class _Reading:
    """The walk through one file: the main session, and beside it the records of sub-agents.

    A sub-agent's own file holds nothing but side records; then these are the session.
    """

    def __init__(self, main: SessionBuilder, side: SessionBuilder) -> None:
        self._main, self._side = main, side
        self._seen: dict[str, int] = {}
        self._side_records = 0
        self._bookkeeping = 0
        self._unknown: Counter[str] = Counter()

    def take(self, record: Record) -> None:
        """Take one record of the log."""
        value = record.value
        if not isinstance(value, dict):
            self._main.count("record is not an object", "records are not objects")
            return
        if self._is_repeated(value):
            return
        is_side = bool(value.get("isSidechain"))
        builder = self._side if is_side else self._main
        kind = value.get("type")
        if kind in _MESSAGES:
            self._side_records += is_side
            _take_message(builder, value, record.place)
        elif kind == "attachment":
            _take_attachment(builder, value, record.place)
        elif kind == "system":
            _take_system(builder, value, record.place)
        elif isinstance(kind, str) and kind in _BOOKKEEPING:
            self._bookkeeping += 1
        else:
            self._unknown[identifier(kind) or "none"] += 1

    def finish(self, tolerated: Tolerated) -> Session:
        """Return the session that the records make."""
        builder = self._main
        if not self._main.messages and self._side.messages:
            builder = self._side
            builder.say("This is the session of a sub-agent.")
        else:
            builder.count(
                "message of a sub-agent was left out",
                "messages of sub-agents were left out",
                self._side_records,
            )
        builder.tolerate(tolerated)
        builder.count(
            "record of bookkeeping was left out", "records of bookkeeping were left out", self._bookkeeping
        )
        if self._unknown:
            names = ", ".join(f"{name[:40]!r}" for name, _ in self._unknown.most_common(_UNKNOWN_NAMED))
            builder.say(f"{self._unknown.total()} records of unknown types ({names}) were left out.")
        return builder.build()

    def _is_repeated(self, value: dict[str, Json]) -> bool:
        uuid = value.get("uuid")
        if not isinstance(uuid, str):
            return False
        # A resumed session writes its last record anew: other folder and version, same content.
        content = hash(json.dumps([value.get("type"), mapping(value.get("message")).get("content")]))
        if uuid not in self._seen:
            self._seen[uuid] = content
            return False
        if self._seen[uuid] == content:
            self._main.count("record was written twice", "records were written twice")
            return True
        self._main.count(
            "record repeats the uuid of another and was kept",
            "records repeat the uuid of another and were kept",
        )
        return False


def _take_message(builder: SessionBuilder, value: dict[str, Json], line: int) -> None:
    owner = "agentId" if value.get("isSidechain") else "sessionId"
    builder.name = builder.name or identifier(value.get(owner)) or ""
    message = mapping(value.get("message"))
    at = epoch_seconds(value.get("timestamp"))
    if value.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        builder.count(
            "message was made by the client, not by the model, and left out",
            "messages were made by the client, not by the model, and left out",
        )
        return
    if value.get("isCompactSummary"):
        builder.dropped_summary = True
        builder.count(
            "summary that a rewrite of the log wrote was left out",
            "summaries that rewrites of the log wrote were left out",
        )
        return
    if value.get("type") == "assistant":
        _take_answer(builder, message, line, at)
    else:
        _take_input(builder, message, line, at, "injected" if value.get("isMeta") else "user")


def _take_answer(builder: SessionBuilder, message: dict[str, Json], line: int, at: float | None) -> None:
    request = identifier(message.get("id")) or f"line {line}"
    usage = mapping(message.get("usage"))
    builder.add_usage(
        request,
        tokens_or_none(usage.get("input_tokens")) or 0,
        tokens_or_none(usage.get("cache_read_input_tokens")) or 0,
        tokens_or_none(usage.get("cache_creation_input_tokens")) or 0,
        line,
    )
    for block in _blocks(message.get("content")):
        kind = str(block.get("type"))
        if kind.endswith("tool_use"):
            arguments = block.get("input")
            tool = identifier(block.get("name"))
            text = (tool or "") + json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
            call, quotable = identifier(block.get("id")), strings_within(arguments)
            builder.add(Part("tool_call", text, line, at, call, tool, request, quotable=quotable))
        elif kind.endswith("tool_result"):
            _take_result(builder, block, line, at)
        elif text := _text(builder, block):
            if kind == "thinking":
                builder.say("Thinking counts as text of the assistant.")
            builder.add(Part("assistant", text, line, at, request=request))
        elif kind == "thinking":
            builder.count("thought was logged without its text", "thoughts were logged without their text")


def _take_input(
    builder: SessionBuilder, message: dict[str, Json], line: int, at: float | None, kind: Kind
) -> None:
    texts: list[str] = []
    images = 0
    for block in _blocks(message.get("content")):
        if str(block.get("type")).endswith("tool_result"):
            _take_result(builder, block, line, at)
        elif block.get("type") in ("image", "document"):
            images += 1
        else:
            texts.append(_text(builder, block))
    if texts or images:
        builder.add(Part(kind, "\n".join(texts), line, at, images=images))


def _take_result(builder: SessionBuilder, block: dict[str, Json], line: int, at: float | None) -> None:
    texts: list[str] = []
    images = 0
    for part in _blocks(block.get("content")):
        if part.get("type") in ("image", "document"):
            images += 1
        elif part.get("type") == "tool_reference":
            texts.append(identifier(part.get("tool_name")) or "")
            builder.count(
                "tool definition that a result brings in counts by its name only",
                "tool definitions that results bring in count by their names only",
            )
        else:
            texts.append(_text(builder, part))
    call, is_error = identifier(block.get("tool_use_id")), bool(block.get("is_error"))
    builder.add(Part("tool_result", "\n".join(texts), line, at, call, is_error=is_error, images=images))


def _take_attachment(builder: SessionBuilder, value: dict[str, Json], line: int) -> None:
    attachment = mapping(value.get("attachment"))
    key = _SENT_ATTACHMENTS.get(str(attachment.get("type")))
    text = strings_within(attachment.get(key)) if key else ""
    if not text:
        builder.count(
            "attachment that is not sent was left out", "attachments that are not sent were left out"
        )
        return
    builder.count("attachment counts as injected text", "attachments count as injected text")
    builder.add(Part("injected", text, line, epoch_seconds(value.get("timestamp"))))


def _take_system(builder: SessionBuilder, value: dict[str, Json], line: int) -> None:
    subtype = value.get("subtype")
    if subtype not in ("compact_boundary", "microcompact_boundary"):
        builder.count("record of the client was left out", "records of the client were left out")
        return
    is_micro = subtype == "microcompact_boundary"
    figures = mapping(value.get("microcompactMetadata" if is_micro else "compactMetadata"))
    builder.add_rewrite(
        "microcompact" if is_micro else "compact",
        "manual" if figures.get("trigger") == "manual" else "auto",
        tokens_before=tokens_or_none(figures.get("preTokens")),
        tokens_after=tokens_or_none(figures.get("postTokens")),
        tokens_saved=tokens_or_none(figures.get("tokensSaved")),
        line=line,
    )


def _blocks(content: Json) -> list[dict[str, Json]]:
    """Return the blocks of a message, whose content may be one string."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {"type": "text", "text": part} if isinstance(part, str) else mapping(part)
        for part in sequence(content)
    ]


def _text(builder: SessionBuilder, block: dict[str, Json]) -> str:
    kind = block.get("type")
    text = block.get("thinking" if kind == "thinking" else "text")
    if isinstance(text, str):
        return text
    builder.count("block of an unknown type was left out", "blocks of unknown types were left out")
    return ""


def _is_ours(record: dict[str, Json]) -> bool:
    kind = record.get("type")
    if kind in _MESSAGES:
        return isinstance(record.get("message"), dict)
    if not isinstance(kind, str) or kind not in _BOOKKEEPING:
        return False
    return "sessionId" in record or "leafUuid" in record or "snapshot" in record


FORMAT = LogFormat(_NAME, _BYTES_PER_TOKEN, _BYTES_PER_TOKEN_SOURCE, recognises, read)
