"""Auto-compaction on real logs: what they recorded of their own, beside our policy replayed on them.

Recorded of 65 automatic compactions (trace survey, section 3): they fire at 155,000 or 167,000 of 200,000
tokens, by version, and up to 8,000 above, for the check comes after a call; they leave 0.32 of the input,
p10 0.26, p90 0.40.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from policies import load_policy
from scenarios.logs import read_sessions
from scenarios.logs.session import Session
from scenarios.replay import replay_scenarios
from simulator import simulate
from simulator.ledger import COMMITTED

pytestmark = pytest.mark.documented

WINDOW = 200_000
LIMITS = (155_000, 167_000)
LET_THROUGH = 8_000
OUTPUT = {"window.output_reserve": 20_000}
"""The most output that the policy holds back."""

LEFT = (0.26, 0.40)
LOGS = ("entire-53ea1606", "entire-deeac353")


def session_of(path: Path) -> Session:
    (session,) = read_sessions(path)
    return session


def limit_of(tokens: int) -> int | None:
    """The limit of the version that wrote a log, by the size that it recorded."""
    return next((limit for limit in LIMITS if 0 <= tokens - limit <= LET_THROUGH), None)


@pytest.mark.parametrize("name", LOGS)
def test_the_recorded_ones_are_as_surveyed(shared: Path, name: str) -> None:
    session = session_of(shared / "traces" / "claude_code" / f"{name}.jsonl")
    (recorded,) = [one for one in session.rewrites if one.kind == "compact"]
    assert recorded.trigger == "auto"
    assert limit_of(recorded.tokens_before or 0) is not None
    sizes = [one.uncached + one.cache_read + one.cache_write for one in session.usages]
    fall = min(after / before for before, after in pairwise(sizes))
    assert LEFT[0] <= fall <= LEFT[1]


@pytest.mark.parametrize("name", LOGS)
def test_the_policy_fires_where_the_log_s_version_did_and_leaves_as_much(shared: Path, name: str) -> None:
    path = shared / "traces" / "claude_code" / f"{name}.jsonl"
    (recorded,) = [one for one in session_of(path).rewrites if one.kind == "compact"]
    limit = limit_of(recorded.tokens_before or 0)
    assert limit is not None
    (replay,) = replay_scenarios(path, window=WINDOW)
    policy = load_policy("claude-code-auto", {"trigger.reserve": WINDOW - limit})
    run = simulate(replay.setting(), policy, (1, 0))
    committed = [row for row in run.rewrite_rows if row.outcome in COMMITTED]
    assert len(committed) == 1
    (found,) = committed
    assert 0 <= found.tokens_before - limit <= LET_THROUGH
    assert LEFT[0] <= found.tokens_after / found.tokens_before <= LEFT[1]


def test_it_fires_at_the_very_call_whose_bill_the_log_has(shared: Path) -> None:
    """Nothing was taken out of this session before its compaction, so the count is the billed one."""
    path = shared / "traces" / "claude_code" / "entire-53ea1606.jsonl"
    sizes = [one.uncached + one.cache_read + one.cache_write for one in session_of(path).usages]
    (replay,) = replay_scenarios(path, window=WINDOW, overrides=OUTPUT)
    (found,) = simulate(replay.setting(), load_policy("claude-code-auto"), (1, 0)).rewrite_rows
    assert found.tokens_before == sizes[found.turn - 1] == max(sizes)
    assert all(size <= max(LIMITS) for size in sizes[: found.turn - 1])
