"""Where the time goes: functions by their own time, in a turn without a rewrite and in whole runs.

By `cProfile`, which weighs short functions too heavily: shares say where to look, not what is gained.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path

from turn import Idle, TimedTurns, setting_of

from policies import load_policy
from scenarios import load_scenario
from simulator import simulate

Shares = list[tuple[str, float]]
"""Functions by name, with their shares of all own time, largest first."""

TURNS = 5_000
RUNS = 10


def of_a_turn() -> Shares:
    """Return where the time of benchmark turns goes."""
    setting = setting_of(TimedTurns(TURNS))
    return own_times(lambda: simulate(setting, Idle()))


def of_runs(policy: str) -> Shares:
    """Return where the time of some runs of the emergent spiral goes."""
    setting, loaded = load_scenario("rewrite-budget-spiral").setting(), load_policy(policy)
    simulate(setting, loaded)  # what is loaded late is no part of a run

    return own_times(lambda: [simulate(setting, loaded, (1, replication)) for replication in range(RUNS)])


def own_times(work: Callable[[], object], top: int = 10) -> Shares:
    """Return the functions with the most own time in some work, and their shares of all."""
    profiler = cProfile.Profile()
    profiler.runcall(work)
    table = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    own: dict[str, float] = {}
    for where, figures in table.items():
        name = _place(*where)
        own[name] = own.get(name, 0.0) + figures[2]
    whole = sum(own.values())
    ranked = sorted(own.items(), key=lambda row: -row[1])[:top]
    return [(name, seconds / whole) for name, seconds in ranked]


def _place(path: str, _line: int, name: str) -> str:
    """Return a function's place in words that hold on any machine."""
    if path == "~":
        return name.strip("<>").split(" at 0x")[0]
    if path.startswith("<"):
        return f"constructor of a NamedTuple ({name})"
    return f"{Path(path).stem}.{name}"
