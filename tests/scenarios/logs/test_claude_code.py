from __future__ import annotations

import json

import pytest

from scenarios.logs import Session, read_sessions
from scenarios.logs.session import IMAGE_TOKENS
from simulator.errors import InputError

pytestmark = pytest.mark.unit

USAGE = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 890}


def read(path, **options) -> Session:
    [session] = read_sessions(path, **options)
    return session


def kinds(session: Session) -> list[str]:
    return [message.kind for message in session.messages]


def says(session: Session, piece: str) -> bool:
    return any(piece in note for note in session.notes)


def test_a_turn_is_messages_pairs_and_one_usage(claude, lines):
    session = read(
        lines(
            claude.user("x" * 29),
            claude.assistant(claude.text("I look."), usage=USAGE),
            claude.assistant(claude.call("t1", file="a.py"), usage=USAGE),
            claude.result("t1", "y" * 30),
            claude.assistant(claude.text("Done."), request="msg_2", usage={"input_tokens": 2000}),
        )
    )
    assert session.format == "claude_code"
    assert session.name == "s"
    assert kinds(session) == ["user", "assistant", "tool_call", "tool_result", "assistant"]
    assert [message.request for message in session.messages] == [None, "msg_1", "msg_1", None, "msg_2"]
    assert [message.line for message in session.messages] == [1, 2, 3, 4, 5]
    assert [message.index for message in session.messages] == [0, 1, 2, 3, 4]
    call, result = session.messages[2:4]
    assert (call.call, call.tool) == (result.call, result.tool) == ("t1", "Read")
    assert [message.tokens for message in session.messages[::3]] == [10, 11]
    assert [(usage.request, usage.before, usage.total) for usage in session.usages] == [
        ("msg_1", 1, 1000),
        ("msg_2", 4, 2000),
    ]
    assert session.usages[0].cache_read == 100
    assert session.prefix_tokens == 990
    assert session.largest_input == 2000
    assert session.requests == 2


def test_bytes_are_of_utf8_and_the_figure_can_be_given(claude, lines):
    path = lines(claude.user("äöü"))
    assert read(path).messages[0].text_bytes == 6
    assert read(path, bytes_per_token=2).messages[0].tokens == 3
    assert read(path, bytes_per_token=2).bytes_per_token_source == "given by the user"


def test_a_half_surrogate_counts_three_bytes(lines):
    path = lines('{"type":"user","message":{"content":"\\ud800"}}')
    assert read(path).messages[0].text_bytes == 3


def test_a_compaction_is_an_event_and_its_summary_no_content(claude, lines):
    session = read(
        lines(
            claude.user("one"),
            claude.assistant(claude.text("two"), usage=USAGE),
            claude.compaction(trigger="manual", preTokens=158_105, postTokens=9_000),
            claude.user("a summary", isCompactSummary=True),
            claude.assistant(claude.text("three"), request="msg_2", usage=USAGE),
        )
    )
    [rewrite] = session.rewrites
    assert (rewrite.kind, rewrite.trigger, rewrite.tokens_before) == ("compact", "manual", 158_105)
    assert (rewrite.line, rewrite.after, rewrite.tokens_after) == (3, 1, 9_000)
    assert kinds(session) == ["user", "assistant", "assistant"]
    assert says(session, "1 summary")


def test_a_microcompaction_keeps_what_it_saved(claude, lines):
    boundary = {
        "type": "system",
        "subtype": "microcompact_boundary",
        "microcompactMetadata": {"trigger": "auto", "preTokens": 58_573, "tokensSaved": 20_801},
    }
    [rewrite] = read(lines(claude.user("one"), boundary)).rewrites
    assert (rewrite.kind, rewrite.tokens_before, rewrite.tokens_saved) == ("microcompact", 58_573, 20_801)


def test_a_log_that_starts_after_a_rewrite_says_so_of_its_prefix(claude, lines):
    session = read(
        lines(claude.user("s", isCompactSummary=True), claude.assistant(claude.text("a"), usage=USAGE))
    )
    assert session.prefix_tokens == 1000
    assert says(session, "the prefix contains the summary")


def test_what_does_not_reach_the_model_is_left_out_and_said(claude, lines):
    session = read(
        lines(
            {"type": "summary", "summary": "a title", "leafUuid": "u"},
            {"type": "progress", "data": {"type": "bash_progress"}},
            {"type": "file-history-snapshot", "snapshot": {}},
            {"type": "brand-new\x1b[2J"},
            {"nothing": "known"},
            7,
            claude.user("hello", toolUseResult={"originalFile": "z" * 1000}),
            claude.assistant(claude.text("no credit"), isApiErrorMessage=True),
            {"type": "assistant", "message": {"model": "<synthetic>", "content": [claude.text("made up")]}},
            claude.assistant(claude.text("aside"), isSidechain=True),
            {"type": "system", "subtype": "turn_duration"},
        )
    )
    assert [(message.kind, message.text_bytes) for message in session.messages] == [("user", 5)]
    assert says(session, "3 records of bookkeeping")
    assert says(session, "2 records of unknown types")
    assert says(session, "1 record is not an object")
    assert says(session, "2 messages were made by the client")
    assert says(session, "1 message of a sub-agent")
    assert all(note.isprintable() for note in session.notes)


def test_a_file_of_side_records_is_the_session_of_a_sub_agent(claude, lines):
    session = read(
        lines(
            claude.user("task", isSidechain=True, agentId="a1"),
            claude.assistant(claude.text("done"), isSidechain=True, agentId="a1"),
        )
    )
    assert kinds(session) == ["user", "assistant"]
    assert session.name == "a1"


def test_meta_records_and_reminders_are_injected(claude, lines):
    session = read(
        lines(
            claude.user("a caveat", isMeta=True),
            {"type": "attachment", "attachment": {"type": "skill_listing", "content": "- a skill"}},
            {"type": "attachment", "attachment": {"type": "hook_success", "content": "ok"}},
        )
    )
    assert [(message.kind, message.text_bytes) for message in session.messages] == [
        ("injected", 8),
        ("injected", 9),
    ]


def test_images_cost_a_constant_and_thinking_counts_without_its_signature(claude, lines):
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 9999}}
    session = read(
        lines(
            claude.user([claude.text("see"), image]),
            claude.assistant({"type": "thinking", "thinking": "hmm", "signature": "B" * 999}),
            claude.assistant({"type": "thinking", "thinking": "", "signature": "B" * 999}),
            claude.assistant(claude.call("t", "Shot")),
            claude.result("t", [image, claude.text("seen"), {"type": "tool_reference", "tool_name": "Web"}]),
            claude.user([{"type": "hologram", "data": "?"}]),
        )
    )
    assert [message.images for message in session.messages] == [1, 0, 0, 1, 0]
    assert session.messages[0].tokens == 2 + IMAGE_TOKENS
    assert session.messages[1].text_bytes == 3
    assert session.messages[3].text_bytes == len("\nseen\nWeb") - 1
    assert says(session, "1 thought was logged without its text")
    assert says(session, "1 block of an unknown type")


def test_calls_and_results_may_lack_each_other(claude, lines):
    session = read(
        lines(
            claude.result("lost", "from before the file"),
            claude.assistant(claude.call("open")),
            claude.assistant({"type": "tool_use"}),
            claude.user([{"type": "tool_result"}]),
        )
    )
    assert kinds(session) == ["tool_result", "tool_call", "tool_call", "tool_result"]
    assert says(session, "2 results have no call before them")
    assert says(session, "1 call has no result")
    assert says(session, "1 call has no identifier")


def test_a_repeated_call_identifier_still_names_one_pair(claude, lines):
    session = read(
        lines(
            claude.assistant(claude.call("t")),
            claude.result("t", "one"),
            claude.assistant(claude.call("t"), request="msg_2"),
            claude.result("t", "two", is_error=True),
        )
    )
    assert [message.call for message in session.messages] == ["t", "t", "t#2", "t#2"]


def test_a_record_written_twice_counts_once_but_a_reused_uuid_is_no_reason_to_drop(claude, lines):
    session = read(
        lines(
            claude.user("one", uuid="u", cwd="/here"),
            claude.user("one", uuid="u", cwd="/there"),
            claude.user("two", uuid="u"),
        )
    )
    assert [message.line for message in session.messages] == [1, 3]
    assert says(session, "1 record was written twice")
    assert says(session, "1 record repeats the uuid")


def test_two_objects_on_one_line_are_two_records(claude, lines):
    two = json.dumps(claude.user("one")) + " " + json.dumps(claude.user("two"))
    session = read(lines(claude.user("zero"), two, claude.user("three")))
    assert [message.line for message in session.messages] == [1, 2, 2, 3]
    assert says(session, "1 line held two JSON objects")


def test_no_newline_at_the_end_is_nothing_to_speak_of(claude, lines):
    assert read(lines(claude.user("one"), end="")).notes == read(lines(claude.user("one"))).notes


def test_a_cut_last_line_is_left_out_and_said(claude, lines):
    session = read(lines(claude.user("one"), '{"type":"user","mess', end="\n\n\n"))
    assert len(session.messages) == 1
    assert says(session, "line 2")


def test_a_broken_line_in_the_middle_names_itself(claude, lines):
    with pytest.raises(InputError, match=r"log: line 2: is not JSON .*expected a JSON record"):
        read(lines(claude.user("one"), '{"type":', claude.user("two")))


def test_bytes_that_are_not_utf8_are_replaced(claude, lines):
    path = lines(claude.user("caf?"))
    path.write_bytes(path.read_bytes().replace(b"?", b"\xe9"))
    assert read(path).messages[0].text_bytes == len("caf\ufffd".encode())


def test_times_are_gaps_and_never_negative(claude, lines):
    session = read(
        lines(
            claude.user("a", timestamp="2026-01-12T20:00:00.000Z"),
            claude.user("b", timestamp="2026-01-12T20:00:02.500Z"),
            claude.user("c", timestamp="2026-01-12T20:00:01.000Z"),
            claude.user("d", timestamp="2026-01-12T20:00:03.500Z"),
            claude.user("e", timestamp="yesterday"),
            claude.user("f", timestamp=12),
        )
    )
    assert [message.seconds for message in session.messages] == [None, 2.5, 0.0, 1.0, None, None]
    assert says(session, "1 message is dated before its predecessor")


@pytest.mark.parametrize("figure", [None, "many", -1, True, 1e300, float("nan"), 10**30])
def test_figures_that_cannot_be_true_are_no_figures(claude, lines, figure):
    usage = {"input_tokens": figure}
    session = read(
        lines(
            claude.user("a"),
            claude.assistant(claude.text("b"), usage=usage),
            claude.compaction(preTokens=figure, trigger=7),
        )
    )
    assert session.usages == ()
    assert session.prefix_tokens is None
    assert session.rewrites[0].tokens_before is None
    assert session.rewrites[0].trigger == "auto"
    assert says(session, "No usage is reported")
    assert says(session, "no tool results")


def test_a_usage_below_the_messages_gives_a_prefix_of_none(claude, lines):
    session = read(
        lines(claude.user("a" * 9000), claude.assistant(claude.text("b"), usage={"input_tokens": 5}))
    )
    assert session.prefix_tokens == 0
    assert says(session, "prefix is taken as 0")


def test_hostile_names_cannot_reach_a_terminal(claude, lines):
    evil = "\x1b]0;owned\x07\nline"
    session = read(
        lines(
            claude.user("a", sessionId=evil),
            claude.assistant(claude.call(evil, evil), request=evil),
            claude.result(evil, "r"),
        )
    )
    call, result = session.messages[1:]
    assert call.call == result.call
    for text in (session.name, call.call, call.tool, call.request, *session.notes):
        assert text is not None
        assert text.isprintable()


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user"},
        {"type": "user", "message": "text"},
        {"type": "user", "message": {"content": 7}},
        {"type": "user", "message": {"content": [None, 3, {"type": None}, {"type": ["x"]}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": None, "name": 3}]}},
        {"type": "assistant", "message": {"usage": [], "content": None, "id": {}}},
        {"type": ["user"]},
        {"type": "attachment"},
        {"type": "system", "subtype": ["x"], "compactMetadata": []},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": "x"},
    ],
)
def test_no_shape_of_a_record_stops_the_reader(claude, lines, record):
    assert read(lines(claude.user("first"), record, claude.user("last"))).messages[-1].text_bytes == 4
