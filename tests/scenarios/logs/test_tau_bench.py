from __future__ import annotations

import json

import pytest

from scenarios.logs import detect_format, read_sessions
from simulator.errors import InputError

pytestmark = pytest.mark.unit


def call(identifier: str, name: str, arguments: object) -> dict[str, object]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": written}}


CHAT = [
    {"role": "system", "content": "policy"},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": None, "tool_calls": [call("c1", "find", {"id": "x"})]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": ""},
    {"role": "assistant", "content": "bye"},
    {"role": "user", "content": "###STOP###"},
]


def test_a_chat_is_a_session(tau):
    path = tau(CHAT)
    assert detect_format(path) == "tau_bench"
    [session] = read_sessions(path)
    assert session.name == "task 0 trial 0"
    assert [message.kind for message in session.messages] == [
        "system",
        "user",
        "tool_call",
        "tool_result",
        "assistant",
        "user",
    ]
    made, found = session.messages[2:4]
    assert (made.call, made.tool) == (found.call, found.tool) == ("c1", "find")
    assert made.text_bytes == len('find{"id": "x"}')
    assert found.tokens == 0
    assert [message.request for message in session.messages if message.request] == ["message 2", "message 4"]
    assert [message.line for message in session.messages] == [0, 1, 2, 3, 4, 5]
    assert session.prefix_tokens is None
    assert session.usages == ()
    assert {message.seconds for message in session.messages} == {None}


def test_text_and_parallel_calls_of_one_message_are_one_request(tau):
    chat = [
        {"role": "assistant", "content": "both", "tool_calls": [call("a", "f", {}), call("b", "g", "{oops")]}
    ]
    [session] = read_sessions(tau(chat))
    assert [message.kind for message in session.messages] == ["assistant", "tool_call", "tool_call"]
    assert session.requests == 1


def test_the_longest_is_the_default_and_positions_count_from_zero(tau):
    path = tau(CHAT[:2], CHAT, CHAT[:1])
    assert [session.name for session in read_sessions(path)] == ["task 1 trial 0"]
    assert [session.name for session in read_sessions(path, session=2)] == ["task 2 trial 0"]
    assert len(read_sessions(path, session="all")) == 3
    for outside in (3, -1):
        with pytest.raises(InputError, match="expected all, or a position from 0 to 2"):
            read_sessions(path, session=outside)


def test_elements_without_a_chat_are_said(tau, tmp_path):
    path = tmp_path / "log"
    path.write_text(json.dumps([7, {"traj": CHAT}, {"traj": "none"}, {"traj": [3, {"role": "narrator"}]}]))
    [session] = read_sessions(path, format="tau_bench", session="all")
    assert any("3 elements of the file hold no trajectory" in note for note in session.notes)


def test_a_cut_document_keeps_the_chats_before_the_cut(tau):
    path = tau(CHAT, CHAT, CHAT)
    text = path.read_text()
    path.write_text(text[: text.rindex("bye")])
    sessions = read_sessions(path, session="all")
    assert len(sessions) == 2
    assert any("ends inside its last record (element 2)" in note for note in sessions[-1].notes)


@pytest.mark.parametrize(
    ("broken", "where"),
    [('[{"traj": [] oops}, {}]', "element 0"), ('[{"traj": [1]}, {"a" 1}, {}]', "element 1")],
)
def test_a_broken_element_names_itself(tmp_path, broken, where):
    path = tmp_path / "log"
    path.write_text(broken)
    with pytest.raises(InputError, match=rf"{where}: is not JSON"):
        read_sessions(path, format="tau_bench")


def test_a_missing_comma_names_the_element_before_it(tmp_path):
    path = tmp_path / "log"
    path.write_text('[{"traj": [{"role": "user", "content": "a"}]} {"traj": []}]')
    with pytest.raises(InputError, match=r"after element 0: .*a comma or ] is missing"):
        read_sessions(path)


def test_text_after_the_list_is_said(tau):
    path = tau(CHAT)
    path.write_text(path.read_text() + " and more")
    assert any("after the end of the list" in note for note in read_sessions(path)[0].notes)


def test_an_element_longer_than_a_piece_is_read_whole(tau):
    path = tau([{"role": "user", "content": "é" * 3_000_000}], CHAT)
    first, second = read_sessions(path, session="all")
    assert first.messages[0].text_bytes == 6_000_000
    assert len(second.messages) == 6
