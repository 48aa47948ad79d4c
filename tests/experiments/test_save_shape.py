"""`replay --save-shape`: a session's shape as a file, and the scenario that its note tells how to write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.cli

SECRET = "the launch code is 0000"
CHAT = [
    {"role": "system", "content": "Answer."},
    {"role": "user", "content": f"{SECRET} " * 40},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "look", "arguments": f'{{"for": "{SECRET}"}}'}}
    ]},
    {"role": "tool", "tool_call_id": "c", "name": "look", "content": f'{{"found": "{SECRET}"}}'},
    {"role": "assistant", "content": f"It is {SECRET}. " * 30},
    {"role": "user", "content": "And now? " * 50},
    {"role": "assistant", "content": "The same. " * 50},
]  # fmt: skip
OPTIONS = ("--policy", "truncate-oldest", "--window", "600", "--set", "laws.rationale.base=5", "--json")


def log_at(path: Path, chats: int) -> Path:
    path.write_text(json.dumps([{"task_id": task, "trial": 0, "traj": CHAT} for task in range(chats)]))
    return path


def test_the_scenario_of_a_shape_runs_as_the_replay_did(command: Callable, tmp_path: Path) -> None:
    log, shape = log_at(tmp_path / "log.json", 1), tmp_path / "new" / "mine.csv"
    replayed = command("replay", log, *OPTIONS, "--save-shape", shape)
    assert replayed.code == 0
    told = re.search(r"tokens = (\d+), head = (\d+) and \[run\] horizon = (\d+)\.", replayed.err)
    assert told is not None
    window, head, horizon = told.groups()
    assert SECRET not in shape.read_text()
    assert "look" not in shape.read_text()
    scenario = shape.with_name("mine.toml")
    scenario.write_text(
        f'base = "replay-model"\n[window]\ntokens = {window}\nhead = {head}\n[run]\nhorizon = {horizon}\n'
        '[workload]\nkind = "recorded"\nfile = "mine.csv"\n'
    )
    ran = command("run", scenario, *(word for word in OPTIONS if word not in ("--window", "600")))
    assert ran.code == 0
    summaries = [json.loads(said.out)["summary"] for said in (replayed, ran)]
    assert summaries[0]["turns"] == 3
    assert summaries[0]["rewrites_committed"] >= 1
    assert summaries[0] == summaries[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--save-shape", "shape.txt"), "'shape.txt' is no CSV; expected a path that ends in .csv"),
        (("--save-shape", "shape.csv", "--session", "all"), "that of one session, not of 2"),
        (("--save-shape", "shape.csv", "--policy", "naiv"), "did you mean 'naive'?"),
    ],
)
def test_wrong_words_write_nothing(
    command: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    told: str,
) -> None:
    log = log_at(tmp_path / "log.json", 2)
    monkeypatch.chdir(tmp_path)
    said = command("replay", log, *OPTIONS, *words)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.json"]
