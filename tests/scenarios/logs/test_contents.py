"""What a message is made of, where its text says so; sizes do not depend on it."""

from __future__ import annotations

import pytest

from scenarios.logs.contents import content_class
from scenarios.logs.session import IMAGE_TOKENS
from scenarios.workloads.replay import ReplayWorkload
from simulator.spans import CONTENT_CLASSES

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', "json"),
        (' [1, {"b": null}]\n', "json"),
        ('{"a": 1} and more }', ""),
        ("{not json}", ""),
        ("[" * 100_000 + "]" * 100_000, ""),
        ("3", ""),
        ("", ""),
        ("def f(): return 1", ""),
        ("请把会议改到周五", "cjk"),
        ("会議を金曜日に移してください", "cjk"),
        ("회의를 금요일로 옮겨 주세요", "cjk"),
        ("path/to/file.py: 文字 in a comment", ""),
        ("Größe und Maß", ""),
        ('{"名": "周五"}', "json"),
    ],
)
def test_texts(text: str, found: str) -> None:
    assert content_class(text) == found
    assert found in ("", *CONTENT_CLASSES)


def test_the_larger_of_text_and_images_says_the_class() -> None:
    assert content_class("a page", text_tokens=2, image_tokens=IMAGE_TOKENS) == "image"
    assert content_class("a page", text_tokens=2 * IMAGE_TOKENS, image_tokens=IMAGE_TOKENS) == ""


def test_a_replay_says_the_class_of_each_message(lines, claude) -> None:
    from scenarios.logs import read_sessions

    path = lines(
        claude.user("把日志打开"),
        claude.assistant(claude.call("x", file="a.json")),
        claude.result("x", '{"rows": [1, 2]}'),
        claude.assistant(claude.text("two rows"), request="msg_2"),
    )
    [session] = read_sessions(path)
    first, second = ReplayWorkload.of(session).recorded
    classes = [
        span.content_class for span in (*first.arrivals, *first.reply, *second.arrivals, *second.reply)
    ]
    assert classes == ["cjk", "code", "json", "prose"]
