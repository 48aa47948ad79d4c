"""A trace holds the run's times and figures, and its slices nest as trace viewers want them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from experiments import runs
from experiments.report import trace_events
from experiments.report.trace_events import chrome_trace, write_chrome_trace
from policies import load_policy
from scenarios import load_scenario
from simulator import InputError, Policy, Run, Setting, simulate

pytestmark = pytest.mark.unit

RUNS = [
    ("rewrite-budget-spiral", "guarded"),
    ("all-four", "naive"),
    ("machine-repair", "always-escalates"),
    ("zoo-coding-agent", "aider"),
]
AROUND = {"turn": None, "rewrite": "turn", "phase": "rewrite"}
BESIDE = {"rewrite": None, "phase": "rewrite"}
HORIZON = 220
MICROSECOND = 1e-6


@cache
def made(scenario: str, name: str) -> tuple[Run, Setting, Policy]:
    setting, policy = replace(load_scenario(scenario).setting(), horizon=HORIZON), load_policy(name)
    return simulate(setting, policy, 5), setting, policy


def traced(scenario: str, policy: str) -> tuple[dict[str, Any], Run]:
    run, *of = made(scenario, policy)
    return chrome_trace(run, *of), run


def slices_by_track(trace: dict[str, Any]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    return tracks


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_slices_of_one_track_nest_as_they_are_written(scenario: str, policy: str) -> None:
    trace, _ = traced(scenario, policy)
    begins = [event["ts"] for event in trace["traceEvents"] if "ts" in event]
    assert begins == sorted(begins)
    for slices in slices_by_track(trace).values():
        inside = AROUND if slices[0]["cat"] == "turn" else BESIDE
        ranks = list(inside)
        around: list[dict[str, Any]] = []
        for event in slices:
            end = event["ts"] + event["dur"]
            assert event["dur"] >= 0
            while around and ranks.index(around[-1]["cat"]) >= ranks.index(event["cat"]):
                over = around.pop()
                assert over["ts"] + over["dur"] <= event["ts"], (over, event)
            assert (around[-1]["cat"] if around else None) == inside[event["cat"]]
            assert not around or end <= around[-1]["ts"] + around[-1]["dur"], (around[-1], event)
            around.append(event)


def test_what_runs_beside_the_turns_is_a_track_of_its_own_that_says_so() -> None:
    trace, run = traced("zoo-coding-agent", "aider")
    beside = slices_by_track(trace)[1, 2]
    own = [event for event in beside if event["cat"] == "rewrite"]
    entries = run.rewrite_rows
    assert [event["ts"] for event in own] == [round(entry.time_s / MICROSECOND) for entry in entries]
    assert [event["dur"] for event in own] == pytest.approx(
        [entry.rewrite_seconds / MICROSECOND for entry in entries], abs=1
    )
    ends = {row.turn: row.time_s for row in run.turn_rows}
    assert any(entry.time_s + entry.rewrite_seconds > ends[entry.turn] for entry in entries)
    names = {
        (event["tid"], event["args"]["name"])
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert names == {(1, "turns"), (2, "background rewrites")}
    inline, _ = traced("rewrite-budget-spiral", "guarded")
    assert {event["tid"] for event in inline["traceEvents"] if "tid" in event} == {1}


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
    for agent in {row.agent for row in run.turn_rows}:
        own = [event for event in trace["traceEvents"] if event["pid"] == agent + 1]
        counts: dict[str, list[int]] = {}
        for event in own:
            if event["ph"] == "C":
                counts.setdefault(event["name"], []).append(event["args"]["tokens"])
        rows = [row for row in run.turn_rows if row.agent == agent]
        assert counts["tokens, true"] == [row.tokens for row in rows]
        assert counts["tokens, believed"] == [row.believed_tokens for row in rows]
        instants = [event["name"] for event in own if event["ph"] == "i"]
        assert instants == [row.kind for row in run.event_rows if row.agent == agent]


def test_a_changed_window_is_counted_from_its_turn_on() -> None:
    setting = load_scenario("rewrite-budget-spiral").setting()
    world = replace(setting.world, windows=((10, 9_000),))
    changed, policy = replace(setting, world=world, horizon=20), load_policy("never-rewrite")
    trace = chrome_trace(simulate(changed, policy, 1), changed, policy)
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


def test_the_command_traces_the_one_run_that_it_tells(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_runs: list[Run] = []

    def noted(*given: Any, **named: Any) -> Run:
        made_runs.append(simulate(*given, **named))
        return made_runs[-1]

    monkeypatch.setattr(runs, "simulate", noted)
    path = tmp_path / "new" / "run.trace.json"
    told = command("run", "all-four", "--policy", "naive", "--set", "run.horizon=40", "--trace", path)
    assert told.code == 0
    (run,) = made_runs
    turns = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "turn"]
    assert [event["args"]["tokens"] for event in turns] == [row.tokens for row in run.turn_rows]
