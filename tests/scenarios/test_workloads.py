"""Workloads: random ones against closed forms, scripted ones to the token."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from typing import Any

import pytest

from scenarios.workloads.scripted import Row, ScriptedWorkload
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.contracts import Turn
from simulator.spans import Kind, Provenance
from simulator.streams import Streams

SLACK = 4.0
"""Standard errors between a mean and its closed form: a false alarm in some 16,000 tests."""

DRAWN = 20_000


def turns_of(number: int, seed: int = 1, **said: Any) -> list[Turn]:
    return list(islice(SyntheticWorkload(**said).turns(Streams(seed, "test")), number))


def assert_mean(values: list[float], expected: float, bias: float = 0.0) -> None:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    assert abs(mean - expected) <= SLACK * spread / math.sqrt(len(values)) + bias


def normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


# ------------------------------------------------------------------------------------ sizes

ROUNDING = 0.05
"""Sizes are whole and at least 1; what that moves the mean of sizes around 175 by is less."""


@pytest.mark.theory
def test_the_mean_of_uncut_results_is_that_of_the_law() -> None:
    sizes = [float(turn.arrivals[0].tokens) for turn in turns_of(DRAWN, result_mean=175, result_sigma=0.8)]
    assert_mean(sizes, 175, ROUNDING)
    logs = [math.log(size) for size in sizes]
    assert_mean(logs, math.log(175) - 0.8**2 / 2, 0.002)
    assert_mean([(log - math.log(175) + 0.32) ** 2 for log in logs], 0.8**2, 0.002)


@pytest.mark.theory
@pytest.mark.parametrize("cut", [100, 300, 1_500])
def test_the_mean_of_cut_results_is_the_limited_expectation(cut: int) -> None:
    """E min(X, c) of a lognormal X = mean x Phi(d - sigma) + c x (1 - Phi(d)), d the standardised cut."""
    mean, sigma = 175, 0.8
    standardised = (math.log(cut) - math.log(mean) + sigma**2 / 2) / sigma
    limited = mean * normal_cdf(standardised - sigma) + cut * (1 - normal_cdf(standardised))
    turns = turns_of(DRAWN, result_mean=mean, result_sigma=sigma, result_cut=cut)
    sizes = [float(turn.arrivals[0].tokens) for turn in turns]
    assert max(sizes) == cut
    assert_mean(sizes, limited, ROUNDING)


@pytest.mark.unit
def test_without_spread_all_results_are_alike() -> None:
    turns = turns_of(50, result_mean=175, result_sigma=0.0, results_per_turn=3)
    assert {span.tokens for turn in turns for span in turn.arrivals} == {175}
    assert {len(turn.arrivals) for turn in turns} == {3}


@pytest.mark.theory
def test_replies_are_uniform_with_both_ends() -> None:
    sizes = [turn.reply[0].tokens for turn in turns_of(DRAWN, reply_low=20, reply_high=24)]
    assert set(sizes) == {20, 21, 22, 23, 24}
    for size in range(20, 25):
        assert_mean([float(found == size) for found in sizes], 0.2)


@pytest.mark.unit
def test_without_replies_nothing_is_written() -> None:
    assert all(turn.reply == () for turn in turns_of(20))


# ------------------------------------------------------------------------------------ shares and time


@pytest.mark.theory
@pytest.mark.parametrize("share", [0.0, 0.15, 1.0])
def test_shares_of_what_is_needed_and_of_what_does_not_compress(share: float) -> None:
    turns = turns_of(5_000, cited_share=share, incompressible_share=share, results_per_turn=2)
    spans = [span for turn in turns for span in turn.arrivals]
    for flags in ([span.needed for span in spans], [not span.compressible for span in spans]):
        assert_mean([float(flag) for flag in flags], share)


@pytest.mark.theory
def test_waits_are_exponential() -> None:
    seconds = [turn.seconds for turn in turns_of(DRAWN, turn_seconds=4.0)]
    assert_mean(seconds, 4.0)
    assert_mean([value**2 for value in seconds], 2 * 4.0**2)


# ------------------------------------------------------------------------------------ subgoals and citations


def closings(turns: list[Turn]) -> dict[int, int]:
    """The turn at which each subgoal is known to be closed."""
    return {goal: number for number, turn in enumerate(turns, 1) for goal in turn.closes}


@pytest.mark.theory
def test_subgoals_are_uniform_in_length_and_follow_one_another() -> None:
    turns = turns_of(DRAWN, subgoal_low=2, subgoal_high=5)
    closed = closings(turns)
    assert list(closed) == list(range(len(closed)))
    ends = [0, *(turn - 1 for turn in closed.values())]
    lengths = [after - before for before, after in pairwise(ends)]
    assert set(lengths) == {2, 3, 4, 5}
    for length in range(2, 6):
        assert_mean([float(found == length) for found in lengths], 0.25)
    for number, turn in enumerate(turns[: list(closed.values())[-1] - 1], 1):
        goal = turn.arrivals[0].subgoal
        assert goal is not None
        assert ends[goal] < number <= ends[goal + 1]


@pytest.mark.unit
def test_without_subgoals_none_is_named_or_closed() -> None:
    turns = turns_of(50)
    assert all(turn.closes == () for turn in turns)
    assert all(span.subgoal is None for turn in turns for span in turn.arrivals)


@pytest.mark.theory
def test_citations_come_after_the_subgoal_has_closed() -> None:
    turns = turns_of(
        4_000, subgoal_low=3, subgoal_high=6, cited_share=0.3, citation_lag=7.0, reply_low=5, reply_high=9
    )
    closed = closings(turns)
    needed = {span.id: span for turn in turns for span in turn.arrivals if span.needed}
    cited: dict[int, int] = {}
    for number, turn in enumerate(turns, 1):
        for span in turn.reply:
            for identity in span.cites:
                assert identity not in cited
                cited[identity] = number
    assert set(cited) <= set(needed)
    lags = []
    for identity, turn_number in cited.items():
        goal = needed[identity].subgoal
        assert goal is not None
        assert turn_number >= closed[goal]
        lags.append(turn_number - closed[goal])
    settled = [identity for identity, span in needed.items() if span.born < len(turns) - 200]
    assert set(settled) <= set(cited)
    # the whole part of an exponential lag of mean m is geometric, of mean 1 / (e^(1/m) - 1)
    assert_mean([float(lag) for lag in lags], 1 / (math.exp(1 / 7.0) - 1), 0.05)


@pytest.mark.unit
def test_worlds_are_keyed_by_purpose() -> None:
    """What one key moves leaves the draws of all others where they were."""
    plain = turns_of(200, reply_low=5, reply_high=50)
    rich = {
        "cited_share": 0.4,
        "incompressible_share": 0.5,
        "turn_seconds": 2,
        "subgoal_low": 1,
        "subgoal_high": 4,
    }
    richer = turns_of(200, reply_low=5, reply_high=50, **rich)
    assert [turn.arrivals[0].tokens for turn in plain] == [turn.arrivals[0].tokens for turn in richer]
    assert [turn.reply[0].tokens for turn in plain] == [turn.reply[0].tokens for turn in richer]
    assert turns_of(9) == turns_of(9) != turns_of(9, seed=2)


@pytest.mark.unit
def test_a_workload_may_end() -> None:
    assert len(turns_of(100, turns_limit=7)) == 7


@pytest.mark.unit
def test_no_two_spans_share_an_identity() -> None:
    spans = [
        span
        for turn in turns_of(300, results_per_turn=3, reply_high=5)
        for span in (*turn.arrivals, *turn.reply)
    ]
    assert len({span.id for span in spans}) == len(spans)


# ------------------------------------------------------------------------------------ scripts


@pytest.mark.unit
def test_a_script_to_the_token() -> None:
    workload = ScriptedWorkload(
        (
            Row(0, Kind.TOOL_RESULT, 300, 0, subgoal=1),
            Row(1, Kind.USER, 40, 1),
            Row(2, Kind.TOOL_RESULT, 60, 4, subgoal=2, needed=True),
            Row(2, Kind.ASSISTANT, 7, 2, compressible=False),
            Row(3, Kind.TOOL_CALL, 5, 3, pair=9),
        ),
        closes=((2, 1), (2, 5)),
        turns_seconds=1.5,
    )
    streams = Streams(1)
    (before,) = workload.initial(streams)
    assert (before.id, before.tokens, before.born, before.subgoal) == (0, 300, 0, 1)
    turns = list(islice(workload.turns(streams), 6))
    assert [[span.tokens for span in turn.arrivals] for turn in turns] == [[40], [60], [60], [60], [], []]
    assert [[span.tokens for span in turn.reply] for turn in turns] == [[], [7], [5], [], [], []]
    assert [turn.user_turn for turn in turns] == [True, False, False, False, False, False]
    assert [turn.closes for turn in turns] == [(), (1, 5), (), (), (), ()]
    assert {turn.seconds for turn in turns} == {1.5}
    assert [turn.arrivals[0].born for turn in turns[:4]] == [1, 2, 3, 4]
    spans = [before, *(span for turn in turns for span in (*turn.arrivals, *turn.reply))]
    assert len({span.id for span in spans}) == len(spans)
    provenances = {span.kind: span.provenance for span in spans}
    assert provenances == {
        Kind.TOOL_RESULT: Provenance.TOOL,
        Kind.USER: Provenance.USER,
        Kind.ASSISTANT: Provenance.SELF,
        Kind.TOOL_CALL: Provenance.SELF,
    }
    assert all(span.needed for span in spans if span.tokens == 60)
    assert [span.compressible for span in spans if span.tokens == 7] == [False]
    assert [span.pair for span in spans if span.tokens == 5] == [9]
