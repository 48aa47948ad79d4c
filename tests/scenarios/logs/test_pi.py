"""Sessions of Pi: hand-made records, and facts of the published session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from scenarios.logs import detect_format, read_sessions
from scenarios.logs.session import IMAGE_TOKENS, Session
from simulator.errors import InputError

pytestmark = pytest.mark.unit

OPENING = {"type": "session", "id": "s-1", "timestamp": "2025-12-09T00:00:00Z", "provider": "anthropic"}


def message(role: str, second: int = 0, **keys: object) -> dict[str, object]:
    stamp = f"2025-12-09T00:00:{second:02d}Z"
    return {"type": "message", "timestamp": stamp, "message": {"role": role, **keys}}


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def call(identity: str, **arguments: object) -> dict[str, object]:
    return {"type": "toolCall", "id": identity, "name": "read", "arguments": arguments}


def result(identity: str, *blocks: object, second: int = 0, **keys: object) -> dict[str, object]:
    return message("toolResult", second, toolCallId=identity, toolName="read", content=[*blocks], **keys)


def usage(**tokens: int) -> dict[str, int]:
    return {"input": 0, "output": 1, "cacheRead": 0, "cacheWrite": 0, **tokens}


RECORDS = [
    OPENING,
    message("user", content=[said("look")]),
    message(
        "assistant",
        3,
        content=[
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "x" * 64},
            said("ok"),
            call("a"),
        ],
        usage=usage(input=1_000, cacheRead=20, cacheWrite=3),
    ),
    result("a", said('{"rows": 3}'), second=5),
    message("assistant", 6, content=[call("b", path="p"), call("never")], stopReason="aborted"),
    result("b", {"type": "image", "data": "..."}, second=7, isError=True),
    {"type": "compaction", "summary": "all of it", "firstKeptEntryIndex": 2, "tokensBefore": 175_004},
    {"type": "model_change", "modelId": "m"},
    {"type": "of the future"},
    message("bashExecution", 8, command="ls", output="a\nb\n", exitCode=0),
    message("assistant", 9, content=[]),
    message("assistant", 9, content=[said("done")], usage=usage(input=2_000)),
]


def test_the_records_of_a_session(lines):
    path = lines(*RECORDS)
    assert detect_format(path) == "pi"
    [session] = read_sessions(path)
    assert session.name == "s-1"
    assert [(m.kind, m.call, m.request, m.line) for m in session.messages] == [
        ("user", None, None, 2),
        ("assistant", None, "line 3", 3),
        ("assistant", None, "line 3", 3),
        ("tool_call", "a", "line 3", 3),
        ("tool_result", "a", None, 4),
        ("tool_call", "b", "line 5", 5),
        ("tool_result", "b", None, 6),
        ("injected", None, None, 10),
        ("assistant", None, "line 12", 12),
    ]
    assert [m.text_bytes for m in session.messages[:4]] == [4, 2, 2, len("read{}")]
    assert session.messages[6].tokens == IMAGE_TOKENS
    assert session.messages[6].is_error
    assert session.messages[4].seconds == 2.0
    assert [m.content_class for m in session.messages] == ["", "", "", "", "json", "", "image", "", ""]


def test_what_a_session_says_beside_its_messages(lines):
    [session] = read_sessions(lines(*RECORDS))
    assert [(u.uncached, u.cache_read, u.cache_write, u.before) for u in session.usages] == [
        (1_000, 20, 3, 1),
        (2_000, 0, 0, 8),
    ]
    assert session.prefix_tokens == 1_023 - session.messages[0].tokens
    [rewrite] = session.rewrites
    assert (rewrite.kind, rewrite.tokens_before, rewrite.after) == ("compact", 175_004, 6)
    for note in (
        "1 call that never got a result was left out.",
        "1 summary that a rewrite of the log wrote was left out.",
        "1 record of an unknown type was left out.",
        "2 records of bookkeeping were left out.",
        "1 command of the user counts as injected text.",
    ):
        assert note in session.notes


# ------------------------------------------------------------------ damage


def damaged(value: object, harm: object) -> Iterator[object]:
    """Yield the value with each of its parts, at any depth, replaced by the harm."""
    yield harm
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        for broken in damaged(part, harm):
            whole = value.copy()
            whole[key] = broken
            yield whole


@pytest.mark.parametrize("harm", [None, 7, "x", [], {}, [["x"]], {"a": {}}])
def test_damage_anywhere_is_read_or_told(lines, harm):
    read = 0
    for broken in damaged(RECORDS, harm):
        if not isinstance(broken, list):
            continue
        try:
            read += bool(read_sessions(lines(*broken), format="pi"))
        except InputError as told:
            assert "\n" not in str(told)
    assert read > 50


# ------------------------------------------------------------------ the published session


@pytest.fixture(scope="module")
def published(shared: Path) -> Session:
    [path] = (shared / "traces" / "pi").glob("*.jsonl")
    assert detect_format(path) == "pi"
    [session] = read_sessions(path)
    return session


def test_counts_of_the_published_session(published):
    """Counted by the survey: two compactions, calls that never ran, a refusal that they brought about."""
    assert [rewrite.tokens_before for rewrite in published.rewrites] == [175_004, 185_014]
    kinds = [message.kind for message in published.messages]
    assert kinds.count("tool_call") == kinds.count("tool_result") == 448
    assert published.usages[0].total == 2_775
    assert "6 calls that never got a result were left out." in published.notes


def test_inputs_fall_where_a_compaction_is_recorded_and_nowhere_else(published):
    falls = [
        (before.before, after.before)
        for before, after in pairwise(published.usages)
        if after.total < 0.5 * before.total
    ]
    assert len(falls) == 2
    for (start, end), rewrite in zip(falls, published.rewrites, strict=True):
        assert start <= rewrite.after < end
