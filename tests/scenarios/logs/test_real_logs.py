"""Facts that were counted once over the published logs, and that the readers must find again."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.logs import read_sessions
from scenarios.logs.session import Session

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def claude_sessions(shared: Path) -> dict[str, Session]:
    paths = sorted((shared / "traces" / "claude_code").rglob("*.jsonl"))
    assert len(paths) >= 24
    return {path.stem: read_sessions(path)[0] for path in paths}


def test_every_session_of_claude_code_reads(claude_sessions):
    for session in claude_sessions.values():
        assert session.format == "claude_code"
        assert session.messages
        assert session.usages
        assert [message.index for message in session.messages] == list(range(len(session.messages)))


def test_the_compaction_of_the_longest_session(claude_sessions):
    session = claude_sessions["entire-deeac353"]
    [rewrite] = session.rewrites
    assert (rewrite.kind, rewrite.trigger, rewrite.tokens_before) == ("compact", "auto", 158_105)
    assert rewrite.line == 432
    assert session.largest_input == 155_015
    assert len(session.messages) == 421
    assert session.requests == len(session.usages) == 118


def test_all_rewrites_of_the_published_sessions(claude_sessions):
    found = {
        (name, rewrite.kind, rewrite.tokens_before)
        for name, session in claude_sessions.items()
        for rewrite in session.rewrites
    }
    assert found == {
        ("entire-deeac353", "compact", 158_105),
        ("entire-53ea1606", "compact", 174_247),
        ("entire-0cd9edf7", "microcompact", 58_573),
    }


def test_prefixes_are_those_of_first_calls(claude_sessions):
    assert claude_sessions["entire-deeac353"].prefix_tokens == 40_053
    # The survey: first calls of 39,339 in the median, 44,157 at 90%; older versions and sub-agents less.
    typical = [s.prefix_tokens for name, s in claude_sessions.items() if name.startswith("entire-")]
    assert all(prefix is not None and 27_000 <= prefix <= 44_157 for prefix in typical)
    assert sorted(typical)[len(typical) // 2] == pytest.approx(39_339, rel=0.05)


def test_prefix_and_messages_make_the_largest_input(claude_sessions):
    """The token figure holds: what the provider billed is prefix plus messages, within a quarter."""
    session = claude_sessions["entire-deeac353"]
    largest = max(session.usages, key=lambda usage: usage.total)
    sent = sum(message.tokens for message in session.messages[: largest.before])
    assert session.prefix_tokens + sent == pytest.approx(largest.total, rel=0.25)


def test_the_share_of_cited_results_is_that_of_the_survey(claude_sessions):
    """The survey counts 17% of the results and 54% of their tokens, over ten times as many sessions."""
    results = [m.tokens for s in claude_sessions.values() for m in s.messages if m.kind == "tool_result"]
    cited = [s.messages[c.result].tokens for s in claude_sessions.values() for c in s.citations]
    assert 0.12 < len(cited) / len(results) < 0.25
    assert 0.45 < sum(cited) / sum(results) < 0.65


def test_joined_lines_and_repeated_records_are_tolerated(claude_sessions):
    notes = claude_sessions["entire-130d7b7e"].notes
    assert "1 line held two JSON objects." in notes
    assert "1 record was written twice." in notes


def test_the_airline_sessions(shared: Path):
    [path] = (shared / "traces" / "tau_bench").glob("*.json")
    sessions = read_sessions(path, session="all")
    assert [session.name for session in sessions] == [f"task {task} trial 0" for task in range(25)]
    for session in sessions:
        assert session.prefix_tokens is None
        assert session.messages[0].kind == "system"
        assert len({m.call for m in session.messages if m.kind == "tool_call"}) == sum(
            m.kind == "tool_result" for m in session.messages
        )
    [longest] = read_sessions(path)
    assert longest.tokens == max(session.tokens for session in sessions)


def test_other_formats_are_not_taken_for_these(shared: Path):
    from scenarios.logs import detect_format
    from simulator.errors import InputError

    for path in (shared / "traces").rglob("*.json*"):
        try:
            found = detect_format(path)
        except InputError:
            found = ""
        for name in ("claude_code", "tau_bench"):
            assert (found == name) == (name in path.parts), path
