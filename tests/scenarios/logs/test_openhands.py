"""Runs of OpenHands: hand-made events, and facts of the published runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.logs import detect_format, read_sessions
from scenarios.workloads.replay import ReplayWorkload
from simulator.errors import InputError

pytestmark = pytest.mark.unit


def answer(identity: str, text: str, *calls: str, prompt: int, cached: int = 0) -> dict[str, object]:
    made = [
        {"id": call, "type": "function", "function": {"name": "run", "arguments": json.dumps({"c": call})}}
        for call in calls
    ]
    return {
        "id": identity,
        "choices": [{"message": {"role": "assistant", "content": text, "tool_calls": made}}],
        "usage": {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}},
    }


def action(response: dict[str, object], call: str, **keys: object) -> dict[str, object]:
    metadata = {"tool_call_id": call, "function_name": "run", "model_response": response}
    return {"source": "agent", "action": "run", "tool_call_metadata": metadata, **keys}


def observation(response: dict[str, object], call: str, content: str, **extras: str) -> dict[str, object]:
    made = action(response, call, observation="run", content=content, extras={"metadata": extras})
    return {key: value for key, value in made.items() if key != "action"}


BOTH = answer("gen-1", "both", "c1", "c2", prompt=500)
LAST = answer("gen-2", "", "c3", prompt=700, cached=500)
HISTORY = [
    {"source": "agent", "action": "system", "args": {"content": "be good", "tools": []}},
    {"source": "user", "action": "message", "args": {"content": "do it", "image_urls": ["u"]}},
    {"source": "user", "action": "recall", "args": {"query": "do it"}},
    {"source": "environment", "observation": "recall", "content": "a note"},
    action(BOTH, "c1", timestamp="2025-04-30T16:45:40"),
    observation(BOTH, "c1", "one", suffix="[done]"),
    action(BOTH, "c2"),
    observation(BOTH, "c2", ""),
    {"source": "agent", "observation": "error", "content": "malformed"},
    {"source": "agent", "observation": "agent_state_changed", "content": "x"},
    {"action": "condensation", "args": {"forgotten_event_ids": [1]}},
    action(LAST, "c3"),
    {"source": "agent", "action": "message", "args": {"content": "bye"}},
]


def run(*history: object, name: str = "task-7") -> dict[str, object]:
    return {"instance_id": name, "history": list(history)}


def test_the_events_of_a_run(lines):
    path = lines(run(*HISTORY))
    assert detect_format(path) == "openhands"
    [session] = read_sessions(path)
    assert session.name == "task-7"
    assert [(m.kind, m.call, m.request, m.line) for m in session.messages] == [
        ("system", None, None, 0),
        ("user", None, None, 1),
        ("injected", None, None, 3),
        ("assistant", None, "gen-1", 4),
        ("tool_call", "c1", "gen-1", 4),
        ("tool_call", "c2", "gen-1", 4),
        ("tool_result", "c1", None, 5),
        ("tool_result", "c2", None, 7),
        ("injected", None, None, 8),
        ("tool_call", "c3", "gen-2", 11),
        ("assistant", None, "event 12", 12),
    ]
    assert session.messages[6].text_bytes == len("one[done]")
    assert [(u.request, u.uncached, u.cache_read) for u in session.usages] == [
        ("gen-1", 500, 0),
        ("gen-2", 200, 500),
    ]
    assert [(rewrite.kind, rewrite.after) for rewrite in session.rewrites] == [("compact", 8)]
    assert "2 events that are not sent were left out." in session.notes
    first, second, third = ReplayWorkload.of(session).recorded
    assert [len(turn.arrivals) for turn in (first, second, third)] == [2, 3, 0]
    assert {span.pair for span in (*first.reply[1:], *second.arrivals[:2])} == {1}


def test_each_line_is_a_run_and_one_without_events_is_none(lines):
    sessions = read_sessions(
        lines(run(*HISTORY, name="a"), run(), run(*HISTORY[:5], name="b")), session="all"
    )
    assert [session.name for session in sessions] == ["a", "b"]
    with pytest.raises(InputError, match="holds no run"):
        read_sessions(lines(run()), format="openhands")


def test_a_history_of_another_agent_is_not_taken_for_one(lines):
    path = lines({"history": [{"role": "user", "content": "hello"}], "trajectory": []})
    with pytest.raises(InputError, match="format is not known"):
        detect_format(path)


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
    for broken in damaged([run(*HISTORY)], harm):
        if not isinstance(broken, list):
            continue
        try:
            read += bool(read_sessions(lines(*broken), format="openhands"))
        except InputError as told:
            assert "\n" not in str(told)
    assert read > 50


# ------------------------------------------------------------------ the published runs


@pytest.mark.parametrize(("number", "calls", "billed"), [(0, 23, 565_158), (1, 33, 410_169)])
def test_published_runs_bill_what_their_own_sum_says(shared: Path, number: int, calls: int, billed: int):
    """The file's `accumulated_token_usage.prompt_tokens` is the sum over all calls."""
    path = shared / "traces" / "openhands" / f"multi_swe_bench-output-{number}.jsonl"
    [session] = read_sessions(path)
    assert session.requests == len(session.usages) == calls
    assert sum(usage.total for usage in session.usages) == billed
    assert session.messages[0].kind == "system"
