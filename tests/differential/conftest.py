"""What the differential tests share: made conversations, and recorded ones where they lie beside us."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from scenarios.logs import read_sessions
from scenarios.scenario import load_scenario
from scenarios.workloads.replay import ReplayWorkload
from simulator.contracts import Turn

from .messages import Conversation, made, recorded

CASES = 300
"""Made conversations a rule is tried on."""

SHIPPED = ("log-claude-code", "log-openhands", "log-pi", "log-tau-airline")
"""Recorded sessions that come with the scenarios."""

TRACES = (
    "claude_code/entire-deeac353.jsonl",
    "claude_code/entire-53ea1606.jsonl",
    "claude_code/ccl-ef958aa1.jsonl",
    "tau_bench/gpt-4o-airline-trial0-tasks0-24.json",
)
"""Recorded sessions that lie with the field data."""

LENGTHS = (15, 40, 90, 140, 240)
"""Messages after which a recorded session is looked at; what is later is the same rule on more."""


@pytest.fixture(scope="module", autouse=True)
def _entry_points_are_read_once() -> Iterator[None]:
    """A policy is loaded for every case, and each time all that is installed would be looked through."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "entry_points", cache(metadata.entry_points))
        yield


@pytest.fixture(scope="session")
def conversations() -> list[Conversation]:
    """Made conversations, each with a system message."""
    return [made(seed) for seed in range(CASES)]


@pytest.fixture(scope="session", params=["shipped", "traces"])
def recordings(request: pytest.FixtureRequest) -> list[Conversation]:
    """Recorded sessions as they stood at several lengths."""
    if request.param == "shipped":
        sessions = [recorded(_turns(name)) for name in SHIPPED]
    else:
        sessions = list(_traces(request.getfixturevalue("shared") / "traces"))
    return [whole[:length] for whole in sessions for length in LENGTHS if length <= len(whole)]


def _turns(name: str) -> tuple[Turn, ...]:
    workload = load_scenario(name).setting().workload
    assert isinstance(workload, ReplayWorkload)
    return workload.recorded


def _traces(folder: Path) -> Iterator[Conversation]:
    for log in TRACES:
        if not (folder / log).is_file():
            pytest.skip(f"no recorded session at {folder / log}")
        for session in read_sessions(folder / log, session="all"):
            yield recorded(ReplayWorkload.of(session).recorded)
