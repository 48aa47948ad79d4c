"""Frames add up: the context that they tell is the one that the engine had, span by span."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.report.frames import SPAN_COLUMNS, Frames, changes, view_run
from policies import load_policy
from scenarios import load_scenario
from simulator import Kind, Policy, RewritePlan, Setting, Span, Turn, Verdict, simulate
from simulator.ledger import RewriteEntry
from simulator.workspace import Attempt, Workspace

pytestmark = pytest.mark.unit

RUNS = [("rewrite-budget-spiral", "guarded"), ("all-four", "guarded"), ("gridlock", "naive")]
MOST_BYTES = 300_000


def applied(before: list[int], gone: list[int], came: list[list[int]]) -> list[int]:
    order = [one for one in before if one not in set(gone)]
    for place, *run in came:
        order[place:place] = run
    return order


def orders_of(frames: Frames) -> list[list[int]]:
    order: list[int] = []
    return [order := applied(order, turn["gone"], turn["came"]) for turn in frames["turns"]]  # type: ignore[attr-defined]


class Orders:
    """A watch that keeps the first agent's whole context."""

    def __init__(self) -> None:
        self.seen: list[list[tuple[int, str, int]]] = []

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        if not work.agent:
            self.seen.append([(span.id, span.kind.value, span.tokens) for span in work.context])

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None: ...


@pytest.mark.property
@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(0, 12), st.integers(0, 12))
def test_changes_lead_from_one_order_to_the_other(
    one: list[int], other: list[int], many: int, more: int
) -> None:
    before, after = one[:many], other[:more]
    assert applied(before, *changes(before, after)) == after


@given(st.permutations(range(12)), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_what_keeps_its_order_is_not_told_again(one: list[int], gone: set[int], new: set[int]) -> None:
    before = [name for name in one if name not in new]
    after = [name for name in one if name not in gone]
    leaving, came = changes(before, after)
    assert set(leaving) == set(before) - set(after)
    assert {name for _, *run in came for name in run} == set(after) - set(before)


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_the_told_context_is_the_one_that_the_engine_had(
    frames: Callable[..., Any], scenario: str, policy: str
) -> None:
    told, watch = frames(scenario, policy), Orders()
    run = simulate(load_scenario(scenario).setting(), load_policy(policy), 7, watch=watch)
    spans = [row[:3] for row in told["spans"]["rows"]]
    assert [[tuple(spans[one]) for one in order] for order in orders_of(told)] == watch.seen
    rows = [row for row in run.turn_rows if row.agent == 0]
    assert [
        (turn["turn"], turn["user_turn"], turn["tokens"], turn["believed_tokens"], turn["epoch"])
        for turn in told["turns"]
    ] == [(row.turn, row.user_turn, row.tokens, row.believed_tokens, row.epoch) for row in rows]
    assert told["outcome"] == run.outcome


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_attempts_are_those_of_the_ledger_and_lie_in_their_turns(
    frames: Callable[..., Any], scenario: str, policy: str
) -> None:
    told = frames(scenario, policy)
    run = simulate(load_scenario(scenario).setting(), load_policy(policy), 7)
    entries = [entry for entry in run.rewrite_rows if entry.agent == 0]
    assert len(told["rewrites"]) == len(entries) > 0
    for rewrite, entry in zip(told["rewrites"], entries, strict=True):
        figures = rewrite["entry"]
        assert (rewrite["turn"], rewrite["outcome"], rewrite["reason"]) == (
            entry.turn,
            entry.outcome,
            entry.reason,
        )
        assert figures["freed"] - figures["rewrite_cost"] - figures["measurement_cost"] == figures["net"]
        assert (figures["net"], figures["believed_net"]) == (entry.net, entry.believed_net)
    assert [turn["turn"] for turn in told["turns"] for _ in turn["rewrites"]] == [
        rewrite["turn"] for rewrite in told["rewrites"]
    ]
    assert [number for turn in told["turns"] for number in turn["rewrites"]] == list(range(len(entries)))


@pytest.mark.parametrize(("scenario", "policy"), RUNS)
def test_what_a_commit_replaced_is_gone_and_its_sizes_are_what_was_freed(
    frames: Callable[..., Any], scenario: str, policy: str
) -> None:
    told = frames(scenario, policy)
    tokens = [row[2] for row in told["spans"]["rows"]]
    orders = dict(zip((turn["turn"] for turn in told["turns"]), orders_of(told), strict=True))
    for rewrite in told["rewrites"]:
        sources = [one for chosen, _ in rewrite["staged"] for one in chosen]
        put = [one for _, one in rewrite["staged"] if one is not None]
        freed = sum(tokens[one] for one in sources) - sum(tokens[one] for one in put)
        if rewrite["committed"]:
            assert freed == rewrite["entry"]["freed"]
            assert set(put) <= set(rewrite["put_in"])
            assert not set(sources) & set(orders[rewrite["turn"]])
        else:
            assert rewrite["entry"]["freed"] == 0
            assert not set(put) & set(rewrite["put_in"])
        written = sum(tokens[one] for one in set(rewrite["put_in"]) - set(put))
        cost = ("rewrite_cost", "measurement_cost", "tombstones", "reinjected")
        assert written == sum(rewrite["entry"][name] for name in cost)


def test_each_gate_has_its_own_word_in_the_order_of_the_policy(frames: Callable[..., Any]) -> None:
    order = [gate.name for gate in load_policy("guarded").parts.gates]  # type: ignore[attr-defined]
    for rewrite in frames("all-four", "guarded")["rewrites"]:
        for phase in ("admit", "gate"):
            asked = [one for one in rewrite["verdicts"] if one["phase"] == phase]
            assert [one["gate"] for one in asked] == order[: len(asked)]
            refusing = [one for one in asked if not one["accepted"]]
            assert refusing == asked[-1:] if rewrite["stage"] == phase else not refusing
        if rewrite["stage"] == "settle":
            proof = rewrite["verdicts"][-1]["figures"]
            assert proof["net"] == rewrite["entry"]["net"] >= 1


def test_without_gates_it_is_the_policy_that_has_spoken(listed_run: tuple[Setting, Policy]) -> None:
    (rewrite,) = view_run(*listed_run)["rewrites"]  # type: ignore[misc]
    assert [(one["phase"], one["gate"]) for one in rewrite["verdicts"]] == [  # type: ignore[index]
        ("admit", "policy"),
        ("gate", "policy"),
    ]
    assert rewrite["verdicts"][1]["figures"] == {"whole": 2, "part": 0.333333, "no": "nan", "endless": "inf"}  # type: ignore[index]


@pytest.fixture
def listed_run() -> tuple[Setting, Policy]:
    class World:
        def initial(self, streams: object) -> tuple[Span, ...]:
            return ()

        def turns(self, streams: object) -> Any:
            return iter([Turn((Span(0, Kind.TOOL_RESULT, 10, 1),))])

    class Plain(Policy):
        name = "plain"

        def check(self, gauge: object) -> bool:
            return True

        def propose(self, view: object) -> RewritePlan:
            return RewritePlan()

        def judge(self, proposal: object) -> Verdict:
            return Verdict(
                False, "no", {"whole": 2.0, "part": 1 / 3, "no": float("nan"), "endless": float("inf")}
            )

    return Setting("small", 1_000, World()), Plain()


def test_marks_hold_for_what_bears_them(frames: Callable[..., Any]) -> None:
    told = frames("rewrite-budget-spiral", "guarded")
    assert told["spans"]["columns"] == list(SPAN_COLUMNS)
    spans = [dict(zip(SPAN_COLUMNS, row, strict=True)) for row in told["spans"]["rows"]]
    assert [span["marks"] for span in spans if span["kind"] == "head"] == [["fixed"]]
    own = {place for place, span in enumerate(spans) if span["provenance"] == "policy"}
    assert own
    for place, span in enumerate(spans):
        assert ("protected" in span["marks"]) is (place in own)
    marked = {one for turn in told["turns"] for one in turn["immutable"]}
    assert marked == own
    for before, after in pairwise(told["turns"]):
        assert not set(before["immutable"]) & set(after["immutable"])


def test_of_a_fleet_the_first_agent_is_seen_and_it_says_so() -> None:
    setting = replace(load_scenario("machine-repair").setting(), horizon=40)
    told: Any = view_run(setting, load_policy("always-escalates"), 7)
    run = simulate(setting, load_policy("always-escalates"), 7)
    assert (told["agents"], told["agent"]) == (8, 0)
    assert len(told["turns"]) == sum(row.agent == 0 for row in run.turn_rows) < len(run.turn_rows)
    assert len(told["rewrites"]) == sum(entry.agent == 0 for entry in run.rewrite_rows)
    assert all(len(rewrite["verdicts"]) == 1 for rewrite in told["rewrites"])
    told_events = [event for turn in told["turns"] for event in turn["events"]]
    assert told_events == [[row.kind, row.detail, row.tokens] for row in run.event_rows if row.agent == 0]
    assert told_events


@pytest.mark.parametrize(("scenario", "policy"), RUNS[:2])
def test_frames_are_json_of_a_bearable_size(frames: Callable[..., Any], scenario: str, policy: str) -> None:
    told = frames(scenario, policy)
    text = json.dumps(told, allow_nan=False, separators=(",", ":"))
    assert len(told["turns"]) > 200
    assert len(text) < MOST_BYTES
    assert json.loads(text) == told
