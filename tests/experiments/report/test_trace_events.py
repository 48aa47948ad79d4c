"""A trace holds the run's times and figures, and its slices nest as trace viewers want them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.report import trace_events
from experiments.report.trace_events import chrome_trace, write_chrome_trace
from policies import load_policy
from scenarios import load_scenario
from simulator import InputError, simulate

pytestmark = pytest.mark.unit

RUNS = [("rewrite-budget-spiral", "guarded"), ("all-four", "naive"), ("machine-repair", "always-escalates")]
HORIZON = 220
MICROSECOND = 1e-6


def traced(scenario: str, policy: str) -> tuple[dict[str, Any], Any]:
    setting = replace(load_scenario(scenario).setting(), horizon=HORIZON)
    return chrome_trace(setting, load_policy(policy), 5), simulate(setting, load_policy(policy), 5)


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_slices_of_one_track_nest(scenario: str, policy: str) -> None:
    trace, _ = traced(scenario, policy)
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            assert event["dur"] >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    inside = {"turn": None, "rewrite": "turn", "phase": "rewrite"}
    for slices in tracks.values():
        around: list[dict[str, Any]] = []
        # As they were written: what begins with what is around it comes after it.
        order = list(inside)
        for event in sorted(slices, key=lambda one: (one["ts"], -one["dur"], order.index(one["cat"]))):
            end = event["ts"] + event["dur"]
            while around and around[-1]["ts"] + around[-1]["dur"] < end:
                assert around[-1]["ts"] + around[-1]["dur"] <= event["ts"], (around[-1], event)
                around.pop()
            while around and order.index(around[-1]["cat"]) >= order.index(event["cat"]):
                assert around[-1]["ts"] + around[-1]["dur"] <= event["ts"], (around[-1], event)
                around.pop()
            assert (around[-1]["cat"] if around else None) == inside[event["cat"]]
            around.append(event)


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_turns_follow_each_other_and_fill_the_run(scenario: str, policy: str) -> None:
    trace, run = traced(scenario, policy)
    for agent in {row.agent for row in run.turn_rows}:
        turns = [e for e in trace["traceEvents"] if e.get("cat") == "turn" and e["pid"] == agent + 1]
        rows = [row for row in run.turn_rows if row.agent == agent]
        assert [event["name"] for event in turns] == [f"turn {row.turn}" for row in rows]
        assert sum(event["dur"] for event in turns) * MICROSECOND == pytest.approx(rows[-1].time_s, abs=1e-6)
        ends = [(event["ts"] + event["dur"]) * MICROSECOND for event in turns]
        assert ends == pytest.approx([row.time_s for row in rows], abs=1e-6)


def test_rewrites_have_their_phases_and_figures() -> None:
    trace, run = traced("rewrite-budget-spiral", "guarded")
    rewrites = [event for event in trace["traceEvents"] if event.get("cat") == "rewrite"]
    assert [event["args"]["net"] for event in rewrites] == [entry.net for entry in run.rewrite_rows]
    phases = [event for event in trace["traceEvents"] if event.get("cat") == "phase"]
    for name in ("deliberate", "replace", "measure"):
        seconds = sum(getattr(entry, f"{name}_seconds") for entry in run.rewrite_rows)
        spent = sum(event["dur"] for event in phases if event["name"] == name) * MICROSECOND
        assert spent == pytest.approx(seconds, abs=1e-6 * max(len(phases), 1))
    assert any(event["name"] == "deliberate" for event in phases)


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_counters_and_instants_are_the_rows(scenario: str, policy: str) -> None:
    trace, run = traced(scenario, policy)
    counts: dict[str, list[int]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            counts.setdefault(event["name"], []).append(event["args"]["tokens"])
    assert counts["tokens, true"] == [row.tokens for row in run.turn_rows]
    assert counts["tokens, believed"] == [row.believed_tokens for row in run.turn_rows]
    instants = [event["name"] for event in trace["traceEvents"] if event["ph"] == "i"]
    assert instants == [row.kind for row in run.event_rows]


def test_a_changed_window_is_counted_from_its_turn_on() -> None:
    setting = load_scenario("rewrite-budget-spiral").setting()
    world = replace(setting.world, windows=((10, 9_000),))
    trace = chrome_trace(replace(setting, world=world, horizon=20), load_policy("never-rewrite"), 1)
    counted = [event for event in trace["traceEvents"] if event["name"] == "window" and event["ph"] == "C"]  # type: ignore[attr-defined]
    ends = [event["ts"] + event["dur"] for event in trace["traceEvents"] if event["ph"] == "X"]  # type: ignore[attr-defined]
    assert [(event["ts"], event["args"]["tokens"]) for event in counted] == [
        (ends[0], setting.window),
        (ends[9], 9_000),
        (ends[-1], 9_000),
    ]


def test_a_long_run_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, run = traced("rewrite-budget-spiral", "guarded")
    monkeypatch.setattr(trace_events, "MOST_TURNS", 100)
    cut, _ = traced("rewrite-budget-spiral", "guarded")
    assert whole["otherData"]["turns_left_out"] == 0
    assert cut["otherData"]["turns_left_out"] == len(run.turn_rows) - 100
    end = run.turn_rows[99].time_s / MICROSECOND + 1
    slices = [event for event in whole["traceEvents"] if event["ph"] == "X"]
    kept = [event for event in slices if event["ts"] + event["dur"] <= end]
    assert [event for event in cut["traceEvents"] if event["ph"] == "X"] == kept


def test_the_file_is_json_whole_or_not_there(tmp_path: Path) -> None:
    trace, _ = traced("all-four", "naive")
    path = tmp_path / "run.trace.json"
    write_chrome_trace(path, trace)
    assert json.loads(path.read_text()) == trace
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    with pytest.raises(InputError, match="a-file"):
        write_chrome_trace(blocked / "run.json", trace)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a-file", "run.trace.json"]
