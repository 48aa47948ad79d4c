"""`chrome_trace`: a run as a timeline that trace viewers open (Perfetto, chrome://tracing).

A run goes in, with its setting and policy; out comes the JSON of Google's "Trace Event Format" (complete
events `X`, counters `C`, instants `i`, metadata `M`; times in whole microseconds, in order). An agent is a
process. Its turns are one track, its rewrites inside of them, phases inside of those; rewrites that run
beside the turns are a track of their own. On a track each slice lies within the one around it. A viewer
takes no file of any size, so an agent's turns end at a stated number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from experiments.files import write_atomically
from simulator import Policy, Run, Setting
from simulator.ledger import RewriteEntry
from simulator.recorder import EventRow, TurnRow

TraceEvent = dict[str, object]

MICROSECONDS = 1_000_000
"""In a second of simulated time."""

MOST_TURNS = 50_000
"""Turns of all agents together, at about 500 bytes each: what a viewer still opens at once."""

TURNS, BESIDE = 1, 2
"""Tracks of an agent's process: its turns, and the rewrites of a policy that rewrites beside them."""

PHASES = ("deliberate", "replace", "measure")
"""Phases that take time, in order; the others take none."""


def chrome_trace(run: Run, setting: Setting, policy: Policy) -> dict[str, object]:
    """Return the trace of a run.

    Parameters
    ----------
    run : Run
    setting : Setting
    policy : Policy
        The two that it was made of.

    Returns
    -------
    dict
        `traceEvents`, `displayTimeUnit` and `otherData`, which says what was run and how many turns at
        the end of the run have been left out (`turns_left_out`, 0 for most).

    >>> from policies import load_policy; from scenarios import load_scenario; from simulator import simulate
    >>> setting, policy = load_scenario("rewrite-budget-exact").setting(), load_policy("naive")
    >>> trace = chrome_trace(simulate(setting, policy), setting, policy)
    >>> trace["displayTimeUnit"], trace["otherData"]["turns_left_out"]
    ('ms', 0)
    """
    last_turn = MOST_TURNS // setting.fleet.agents
    names: list[TraceEvent] = []
    events: list[TraceEvent] = []
    track = TURNS if policy.terms.background is None else BESIDE
    for agent in range(setting.fleet.agents):
        process = agent + 1
        whose = f", agent {agent}" if setting.fleet.agents > 1 else ""
        names.append(_metadata(process, TURNS, "process_name", f"{setting.name} under {policy.name}{whose}"))
        names.append(_metadata(process, TURNS, "thread_name", "turns"))
        if track == BESIDE:
            names.append(_metadata(process, BESIDE, "thread_name", "background rewrites"))
        turns = [row for row in run.turn_rows if row.agent == agent and row.turn <= last_turn]
        rewrites = [row for row in run.rewrite_rows if row.agent == agent and row.turn <= last_turn]
        happened = [row for row in run.event_rows if row.agent == agent and row.turn <= last_turn]
        begun: dict[int, list[TraceEvent]] = {}
        for entry, latest in zip(rewrites, _latest_ends(rewrites, turns, track), strict=True):
            begun.setdefault(entry.turn, []).extend(_rewrite(process, track, entry, latest))
        for row, slice_of_turn in zip(turns, _turns(process, turns), strict=True):
            events += [slice_of_turn, *begun.get(row.turn, ())]
        events += [_instant(process, row) for row in happened]
        events += _counters(process, turns, _windows(setting.window, happened))
    return {
        "traceEvents": names + sorted(events, key=_begin),
        "displayTimeUnit": "ms",
        "otherData": _about(run, sum(row.turn > last_turn for row in run.turn_rows)),
    }


def write_chrome_trace(path: Path, trace: dict[str, object]) -> None:
    """Write a trace as JSON, whole or not at all. Raises InputError where the path cannot be written."""
    write_atomically(path, json.dumps(trace, allow_nan=False, separators=(",", ":")).encode())


def _about(run: Run, left_out: int) -> dict[str, object]:
    return {
        "scenario": run.manifest["scenario"],
        "policy": run.manifest["policy"],
        "seed": run.manifest["seed"],
        "outcome": run.outcome,
        "turns_left_out": left_out,
    }


def _turns(process: int, turns: Sequence[TurnRow]) -> Iterator[TraceEvent]:
    """Yield each turn from the end of the one before it to its own."""
    start = 0.0
    for row in turns:
        figures = {
            "tokens": row.tokens,
            "arrived_tokens": row.arrived_tokens,
            "retired_tokens": row.retired,
            "occupancy_pct": round(row.occupancy_pct, 2),
        }
        yield _slice((process, TURNS), f"turn {row.turn}", "turn", (start, row.time_s), figures)
        start = row.time_s


def _latest_ends(rewrites: Sequence[RewriteEntry], turns: Sequence[TurnRow], track: int) -> list[float]:
    """Return when each rewrite has ended at the latest: with its turn; beside the turns, before the next."""
    if track == BESIDE:
        return [after.time_s for _, after in pairwise(rewrites)] + [math.inf] * bool(rewrites)
    ends = {row.turn: row.time_s for row in turns}
    return [ends[row.turn] for row in rewrites]


def _rewrite(process: int, track: int, entry: RewriteEntry, latest: float) -> Iterator[TraceEvent]:
    """Yield an attempt and the phases of it that took time."""
    # Sums of parts are the whole but for rounding, and a slice must not leave the one around it.
    end = min(entry.time_s + entry.rewrite_seconds, latest)
    figures = {
        "outcome": entry.outcome,
        "stage": entry.stage,
        "reason": entry.reason,
        "trigger": entry.trigger,
        "freed": entry.freed,
        "rewrite_cost": entry.rewrite_cost,
        "measurement_cost": entry.measurement_cost,
        "net": entry.net,
        "believed_net": entry.believed_net,
    }
    yield _slice((process, track), f"rewrite: {entry.outcome}", "rewrite", (entry.time_s, end), figures)
    start = entry.time_s
    for phase in PHASES:
        seconds: float = getattr(entry, f"{phase}_seconds")
        if seconds:
            until = min(start + seconds, end)
            yield _slice((process, track), phase, "phase", (start, until), {})
            start = until


def _windows(window: int, happened: Sequence[EventRow]) -> dict[int, int]:
    """Return the window from each turn on at which it is another."""
    return {0: window, **{row.turn: row.tokens for row in happened if row.kind == "window"}}


def _counters(process: int, turns: Sequence[TurnRow], windows: dict[int, int]) -> Iterator[TraceEvent]:
    """Yield the counts at the end of each turn; the window where it changes."""
    window = windows[0]
    for row in turns:
        at = _microseconds(row.time_s)
        window_before, window = window, windows.get(row.turn, window)
        counts = {"tokens, true": row.tokens, "tokens, believed": row.believed_tokens}
        if row is turns[0] or row is turns[-1] or window != window_before:
            counts["window"] = window
        for name, tokens in counts.items():
            yield {"name": name, "ph": "C", "pid": process, "ts": at, "args": {"tokens": tokens}}


def _slice(
    place: tuple[int, int],
    name: str,
    category: str,
    seconds: tuple[float, float],
    figures: Mapping[str, object],
) -> TraceEvent:
    process, track = place
    start, end = map(_microseconds, seconds)
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": process,
        "tid": track,
        "ts": start,
        "dur": end - start,
        "args": dict(figures),
    }


def _instant(process: int, row: EventRow) -> TraceEvent:
    return {
        "name": row.kind,
        "cat": "event",
        "ph": "i",
        "s": "t",
        "pid": process,
        "tid": TURNS,
        "ts": _microseconds(row.time_s),
        "args": {"turn": row.turn, "detail": row.detail, "tokens": row.tokens},
    }


def _metadata(process: int, track: int, name: str, value: str) -> TraceEvent:
    return {"name": name, "ph": "M", "pid": process, "tid": track, "args": {"name": value}}


def _begin(event: TraceEvent) -> int:
    """Return when an event begins; of those at one time, what is around comes first, as it was made."""
    begin = event["ts"]
    assert isinstance(begin, int)
    return begin


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
