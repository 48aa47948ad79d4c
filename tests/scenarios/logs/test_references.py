from __future__ import annotations

import time

import pytest

from scenarios.logs import Citation, read_sessions, references
from scenarios.logs.references import CitationIndex

pytestmark = pytest.mark.unit

LINE = "    return compute_the_final_answer(forty, two)"
PATH = "/srv/project/source/module_name.py"


def cited(*messages: tuple[str, str]) -> tuple[Citation, ...]:
    index = CitationIndex()
    for position, (kind, text) in enumerate(messages):
        index.add(position, kind, text)
    return index.citations()


def test_a_path_and_a_line_are_citations():
    assert cited(("tool_result", f"found {PATH}:12"), ("tool_call", PATH)) == (Citation(0, 1, 1, 1),)
    assert cited(("tool_result", f"  7→{LINE}"), ("assistant", f"so:\n{LINE.strip()}\n")) == (
        Citation(0, 1, 1, 1),
    )


def test_first_and_last_and_number_of_citing_messages():
    found = cited(
        ("tool_result", PATH),
        ("assistant", f"{PATH} {PATH}"),
        ("user", PATH),
        ("tool_call", PATH),
        ("user", ""),
    )
    assert found == (Citation(0, 1, 3, 2),)


def test_only_the_message_that_brought_it_in_first_is_cited():
    assert cited(("user", PATH), ("tool_result", PATH), ("assistant", PATH)) == ()
    assert cited(("tool_call", PATH), ("tool_result", PATH), ("assistant", PATH)) == ()
    assert cited(("tool_result", PATH), ("tool_result", PATH), ("assistant", PATH)) == (Citation(0, 2, 2, 1),)


@pytest.mark.parametrize("text", ["short line", "-" * 40, "= = = = = = = = = = = = = = =", "a/b.py"])
def test_short_pieces_and_rules_cite_nothing(text):
    assert cited(("tool_result", text), ("assistant", text)) == ()


def test_a_request_cannot_cite_what_it_asked_for(claude, lines):
    path = lines(
        claude.assistant(claude.call("t1")),
        claude.result("t1", PATH),
        claude.assistant(claude.text(PATH)),
        claude.assistant(claude.text(PATH), request="msg_2"),
    )
    [session] = read_sessions(path)
    assert session.citations == (Citation(1, 3, 3, 1),)


def test_lines_inside_call_arguments_are_read_without_their_escapes(claude, lines):
    path = lines(
        claude.assistant(claude.call("t1")),
        claude.result("t1", f"  1→def f():\n  2→{LINE}"),
        claude.assistant(claude.call("t2", "Edit", old=f"def f():\n{LINE}\n"), request="msg_2"),
    )
    assert read_sessions(path)[0].citations == (Citation(1, 2, 2, 1),)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(references, "NEEDLES_PER_RESULT", 2)
    monkeypatch.setattr(references, "NEEDLES_PER_SESSION", 3)
    texts = [f"a line that is number {number} of many" for number in range(9)]
    index = CitationIndex()
    index.add(0, "tool_result", "\n".join(texts[:5]))
    assert not index.is_full
    index.add(1, "assistant", texts[4])
    index.add(2, "assistant", texts[1])
    assert index.citations() == (Citation(0, 2, 2, 1),)
    index.add(3, "tool_result", "\n".join(texts[6:]))
    assert index.is_full


def test_the_number_of_needles_kept_grows_with_the_text_and_not_faster():
    index = CitationIndex()
    started = time.process_time()
    for position in range(2_000):
        kind = "assistant" if position % 2 else "tool_result"
        index.add(
            position, kind, "\n".join(f"line {line} of message {position // 2} here" for line in range(50))
        )
    assert len(index.citations()) == 1_000
    # Not a benchmark: a quadratic search would take minutes.
    assert time.process_time() - started < 20
