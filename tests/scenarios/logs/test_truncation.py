"""A log that was cut anywhere is a shorter log or one line for the user, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios.logs import read_sessions, records
from simulator.errors import InputError

pytestmark = pytest.mark.property

TEXTS = st.text(max_size=12)
BLOCKS = st.one_of(
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    TEXTS.map(lambda text: {"type": "tool_use", "id": text, "name": "f", "input": {"a": [text, 1.5, None]}}),
    TEXTS.map(lambda text: {"type": "tool_result", "tool_use_id": text, "content": text}),
)
RECORDS = st.builds(
    lambda kind, blocks: {"type": kind, "message": {"role": kind, "content": blocks}},
    st.sampled_from(["user", "assistant"]),
    st.lists(BLOCKS, min_size=1, max_size=2),
)
CHATS = st.lists(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "tool"]), TEXTS),
    min_size=1,
    max_size=3,
)
SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(written=st.lists(RECORDS, min_size=1, max_size=5), ascii_only=st.booleans(), data=st.data())
def test_cut_lines(tmp_path: Path, written, ascii_only, data):
    lines = [json.dumps(record, ensure_ascii=ascii_only).encode("utf-8") for record in written]
    whole = b"\n".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path / "log"
    path.write_bytes(whole)
    try:
        expected = read_sessions(path)[0].messages
    except InputError as error:
        assert "holds no message" in str(error)
        return
    path.write_bytes(whole[:cut])
    complete = sum(len(b"\n".join(lines[: count + 1])) <= cut for count in range(len(lines)))
    kept = tuple(message for message in expected if message.line <= complete)
    try:
        assert read_sessions(path)[0].messages == kept
    except InputError:
        assert not kept


@SETTINGS
@given(chats=st.lists(CHATS, min_size=1, max_size=4), data=st.data())
def test_cut_list(tmp_path: Path, chats, data):
    elements = [
        json.dumps({"task_id": task, "traj": chat}, ensure_ascii=False) for task, chat in enumerate(chats)
    ]
    path = tmp_path / "log"
    whole = ("[" + ", ".join(elements) + "]").encode("utf-8")
    path.write_bytes(whole)
    expected = read_sessions(path, session="all")
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    ends = [len(("[" + ", ".join(elements[: count + 1])).encode("utf-8")) for count in range(len(elements))]
    complete = sum(end <= cut for end in ends)
    try:
        found = read_sessions(path, session="all")
    except InputError:
        assert not complete
    else:
        assert [session.messages for session in found] == [s.messages for s in expected[:complete]]


@SETTINGS
@given(chats=st.lists(CHATS, min_size=1, max_size=4), piece=st.integers(1, 60))
def test_the_size_of_the_pieces_that_are_read_changes_nothing(tmp_path: Path, chats, piece):
    path = tmp_path / "log"
    elements = [{"task_id": task, "score": -1.5e-3, "traj": chat} for task, chat in enumerate(chats)]
    path.write_text(json.dumps([True, None, 12345, *elements], ensure_ascii=False), encoding="utf-8")
    expected = read_sessions(path, session="all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_CHUNK_BYTES", piece)
        assert read_sessions(path, session="all") == expected


@SETTINGS
@given(content=st.binary(max_size=200))
def test_any_bytes(tmp_path: Path, content):
    path = tmp_path / "log"
    path.write_bytes(content)
    for name in (None, "claude_code", "tau_bench"):
        try:
            read_sessions(path, format=name)
        except InputError as error:
            assert str(error).isprintable()


@SETTINGS
@given(
    data=st.data(),
    written=st.lists(RECORDS, min_size=2, max_size=3),
)
def test_a_flipped_byte(tmp_path: Path, written, data):
    whole = bytearray("\n".join(map(json.dumps, written)).encode())
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "log"
    path.write_bytes(bytes(whole))
    try:
        read_sessions(path)
    except InputError as error:
        assert str(error).isprintable()
