"""The zoo's scenarios: worlds that are as their sources say, whole at the start, each with its own stress."""

from __future__ import annotations

import math
from functools import cache
from itertools import islice
from statistics import mean, stdev

import pytest

from policies import load_policy
from scenarios import load_scenario, scenario_names
from scenarios.prices import price_list_names
from simulator import Run, simulate
from simulator.contracts import Turn
from simulator.spans import Kind, Span
from simulator.streams import Streams

ZOO = [name for name in scenario_names() if name.startswith("zoo-")]
WORLDS = 20
SLACK = 4.0
"""Standard errors between a mean and its source: a false alarm in some 16,000 tests."""


@cache
def worlds_of(name: str) -> list[list[Turn]]:
    setting = load_scenario(name).setting()
    draws = [Streams(3, world, "zoo") for world in range(WORLDS)]
    return [[*islice(setting.workload.turns(streams), setting.horizon)] for streams in draws]


@cache
def run_of(name: str, policy: str = "never-rewrite") -> Run:
    return simulate(load_scenario(name).setting(), load_policy(policy), (3, 0))


def spans_of(turns: list[Turn], *kinds: Kind) -> list[Span]:
    return [span for turn in turns for span in (*turn.arrivals, *turn.reply) if span.kind in kinds]


def assert_mean(values: list[float], expected: float) -> None:
    assert abs(mean(values) - expected) <= SLACK * stdev(values) / math.sqrt(len(values))


def growths(name: str) -> list[float]:
    """Tokens a turn, one number a world."""
    return [
        sum(span.tokens for turn in turns for span in (*turn.arrivals, *turn.reply)) / len(turns)
        for turns in worlds_of(name)
    ]


# ------------------------------------------------------------------------------------ what all have in common


@pytest.mark.unit
def test_there_are_nine() -> None:
    assert len(ZOO) == 9


@pytest.mark.unit
@pytest.mark.parametrize("name", ZOO)
def test_each_says_its_source_its_prices_and_what_its_provider_asks(name: str) -> None:
    file = load_scenario(name).file
    assert file.source and file.summary
    assert file.prices in price_list_names()
    assert file.runtime.requires_pairs
    assert not file.expect
    assert file.run.horizon <= 200


@pytest.mark.unit
@pytest.mark.parametrize("name", ZOO)
def test_an_agent_that_never_rewrites_breaks_nothing(name: str) -> None:
    run = run_of(name)
    assert run.outcome in ("horizon", "complete")
    assert run.summary["broken_pairs"] == 0
    assert run.summary["dangling_references"] == 0
    assert run.summary["constraint_violations"] in (0, None)


@pytest.mark.unit
@pytest.mark.parametrize("name", ZOO)
def test_calls_and_results_stand_beside_each_other(name: str) -> None:
    for turns in worlds_of(name):
        called = [span.pair for span in spans_of(turns[:-1], Kind.TOOL_CALL)]
        assert called == [span.pair for span in spans_of(turns, Kind.TOOL_RESULT)]


# ------------------------------------------------------------------------------------ each by its source


@pytest.mark.theory
@pytest.mark.parametrize(
    ("name", "published"),
    [
        # a user turn brings 214, seven in eight 1.2 calls of 186 and results of 825; thinking, text
        ("zoo-coding-agent", 7 / 8 * 1.2 * (186 + 825) + 155 + 108 + 214 / 8),
        # half of the turns are a customer's 25; the other half a call of 26 and a result of 160; text 78
        ("zoo-short-chat", (12 * 25 + 12 * (26 + 160)) / 24 + 78),
        # 119 of 120 turns bring an observation of 604 and its call of 55; text 60; the task
        ("zoo-swe", 119 / 120 * (604 + 55) + 60 + 910 / 120),
    ],
)
def test_growth_a_turn(name: str, published: float) -> None:
    assert_mean(growths(name), published)


@pytest.mark.documented
def test_a_coding_agent_grows_as_the_survey_says() -> None:
    """Mean growth of 1,300 to 1,800 provider tokens a model call."""
    assert 1_300 <= mean(growths("zoo-coding-agent")) <= 1_800


@pytest.mark.documented
def test_a_chat_is_never_near_its_window() -> None:
    assert run_of("zoo-short-chat").summary["max_occupancy_pct"] == pytest.approx(5, abs=2)
    assert run_of("zoo-short-chat").outcome == "complete"


@pytest.mark.documented
def test_bursts_are_of_four_and_have_a_heavy_tail() -> None:
    """P(X > 1,777) = 0.1 and P(X > 11,800) = 0.01: the survey's p90 and p99 in provider tokens."""
    turns = [turn for world in worlds_of("zoo-burst") for turn in world]
    counts = [sum(span.kind is Kind.TOOL_RESULT for span in turn.arrivals) for turn in turns]
    assert max(counts) == 4
    assert all(turn.together for turn in turns)
    sizes = [span.tokens for span in spans_of(turns, Kind.TOOL_RESULT)]
    for limit, share in ((1_777, 0.1), (11_800, 0.01)):
        beyond = [float(size > limit) for size in sizes]
        assert abs(mean(beyond) - share) <= SLACK * math.sqrt(share * (1 - share) / len(sizes)) + share / 50


@pytest.mark.documented
def test_a_cache_that_expires_is_paid_for_at_each_return() -> None:
    """Gaps of 900 s outlive a cache of 300 s, gaps of 125 s do not: the prompt is written again, or read."""
    idle, busy = run_of("zoo-idle"), run_of("zoo-coding-agent")
    assert [row.tokens for row in idle.turn_rows] == [row.tokens for row in busy.turn_rows]
    sent = [row.tokens for row in idle.turn_rows]
    returns = sum(sent[turn - 1] for turn in range(8, 200, 8))  # what stood before the user came back
    lost = float(str(busy.summary["cache_read_tokens"])) - float(str(idle.summary["cache_read_tokens"]))
    assert lost == pytest.approx(returns, rel=0.02)  # less the last reply, which was never sent before


@pytest.mark.documented
def test_content_of_another_script() -> None:
    results = [span for turns in worlds_of("zoo-cjk") for span in spans_of(turns, Kind.TOOL_RESULT)]
    for name, share in (("cjk", 0.5), ("json", 0.3), ("code", 0.1), ("text", 0.1), ("prose", 0.0)):
        found = [float(span.content_class == name) for span in results]
        assert abs(mean(found) - share) <= SLACK * math.sqrt(share * (1 - share) / len(found))


@pytest.mark.documented
def test_a_small_window_is_full_within_a_score_of_turns() -> None:
    file = load_scenario("zoo-small-window").file
    assert (file.window.tokens, file.window.head) == (32_768, 12_000)
    room = file.window.tokens - file.window.head - file.window.output_reserve
    assert 10 < room / mean(growths("zoo-small-window")) < 30


@pytest.mark.documented
def test_references_lean_on_more_than_elsewhere() -> None:
    def cited(name: str) -> float:
        spans = [span for turns in worlds_of(name) for span in spans_of(turns, *Kind)]
        return sum(len(span.cites) for span in spans) / len(spans)

    assert cited("zoo-references") > 3 * cited("zoo-coding-agent") > 0
