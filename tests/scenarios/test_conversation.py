"""The shape of synthetic conversations: pairs, user turns, bursts, gaps; and what results are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from scenarios.synthetic_tables import SyntheticTable
from scenarios.workloads.sizes import pareto_tokens
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.catalogue import validated
from simulator.contracts import Turn
from simulator.errors import InputError
from simulator.spans import CONTENT_CLASSES, Kind, Provenance, Span
from simulator.streams import Streams

SLACK = 4.0
"""Standard errors between a share and its law: a false alarm in some 16,000 tests."""

DRAWN = 10_000

CALLS: dict[str, Any] = {"call_tokens": 30, "user_tokens": 50, "reply_low": 5, "reply_high": 50}


def turns_of(number: int, seed: int = 1, **said: Any) -> list[Turn]:
    return list(islice(SyntheticWorkload(**said).turns(Streams(seed, 0, "test")), number))


def spans_of(turns: Iterable[Turn]) -> list[Span]:
    return [span for turn in turns for span in (*turn.arrivals, *turn.reply)]


def of_kind(turns: Iterable[Turn], kind: Kind) -> list[Span]:
    return [span for span in spans_of(turns) if span.kind is kind]


def assert_share(flags: Iterable[bool], share: float) -> None:
    seen = [*flags]
    assert abs(sum(seen) - share * len(seen)) <= SLACK * math.sqrt(len(seen) * share * (1 - share))


# ------------------------------------------------------------------------------------ calls and results


@pytest.mark.unit
@pytest.mark.parametrize("results", [1, 3])
def test_each_result_answers_a_call_of_the_turn_before(results: int) -> None:
    turns = turns_of(40, **CALLS, results_per_turn=results, user_every=7)
    for number, (turn, following) in enumerate(pairwise(turns), 1):
        calls = [span for span in turn.reply if span.kind is Kind.TOOL_CALL]
        answers = [span for span in following.arrivals if span.kind is Kind.TOOL_RESULT]
        assert len(calls) == len(answers) == (0 if number % 7 == 0 else results)
        assert {span.pair for span in (*calls, *answers)} <= {number}
        assert {(span.tokens, span.provenance) for span in calls} <= {(30, Provenance.SELF)}
        kinds = [span.kind for span in turn.reply]
        assert kinds == [Kind.ASSISTANT, *[Kind.TOOL_CALL] * len(calls)]


@pytest.mark.unit
def test_a_run_with_calls_is_opened_by_the_user_and_ends_without_one() -> None:
    turns = turns_of(9, **CALLS, turns_limit=6)
    assert len(turns) == 6
    (message,) = turns[0].arrivals
    assert (message.kind, message.tokens, message.provenance) == (Kind.USER, 50, Provenance.USER)
    assert [turn.user_turn for turn in turns] == [True] + [False] * 5
    assert len(of_kind(turns, Kind.TOOL_CALL)) == len(of_kind(turns, Kind.TOOL_RESULT)) == 5
    assert [span.kind for span in turns[-1].reply] == [Kind.ASSISTANT]


@pytest.mark.unit
def test_a_signed_block_stands_first_in_each_reply_and_belongs_to_its_calls() -> None:
    for number, turn in enumerate(turns_of(20, **CALLS, thinking_tokens=80), 1):
        block = turn.reply[0]
        assert (block.kind, block.tokens, block.pair) == (Kind.THINKING, 80, number)
        assert {span.pair for span in turn.reply if span.kind is Kind.TOOL_CALL} == {number}


@pytest.mark.unit
def test_a_call_belongs_to_the_subgoal_of_its_results() -> None:
    turns = turns_of(60, **CALLS, thinking_tokens=9, results_per_turn=2, subgoal_low=3, subgoal_high=5)
    goals: dict[int | None, set[int | None]] = {}
    for span in spans_of(turns):
        if span.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
            goals.setdefault(span.pair, set()).add(span.subgoal)
    assert {len(found) for found in goals.values()} == {1}


@pytest.mark.unit
def test_a_constraint_comes_after_the_results_that_were_called_for() -> None:
    turns = turns_of(50, **CALLS, constraint_share=1.0)
    for turn in turns[1:]:
        assert [span.kind for span in turn.arrivals] == [Kind.TOOL_RESULT, Kind.USER]
        assert turn.user_turn
    assert [span.constraint for span in turns[0].arrivals] == [False, True]


# ------------------------------------------------------------------------------------ user turns and gaps


@pytest.mark.unit
def test_user_messages_come_every_so_many_turns() -> None:
    turns = turns_of(30, user_every=10, user_tokens=40)
    assert [number for number, turn in enumerate(turns, 1) if turn.user_turn] == [1, 11, 21]
    assert len(of_kind(turns, Kind.TOOL_RESULT)) == 30  # nothing was called for: results come all the same
    assert all(turn.arrivals[0].kind is Kind.USER for turn in turns if turn.user_turn)


@pytest.mark.unit
def test_the_user_is_away_every_so_many_turns() -> None:
    busy = turns_of(31, turn_seconds=4.0)
    gaps = [
        turn.seconds - plain.seconds
        for turn, plain in zip(
            turns_of(31, turn_seconds=4.0, idle_every=10, idle_seconds=600), busy, strict=True
        )
    ]
    assert [number for number, gap in enumerate(gaps, 1) if gap] == [11, 21, 31]
    assert all(gap == pytest.approx(600) for gap in gaps if gap)


# ------------------------------------------------------------------------------------ bursts


@pytest.mark.theory
def test_bursts_come_in_their_share_of_turns() -> None:
    turns = turns_of(DRAWN, burst_share=0.2, burst_results=4)
    counts = Counter(len(turn.arrivals) for turn in turns)
    assert set(counts) == {1, 4}
    assert_share((len(turn.arrivals) == 4 for turn in turns), 0.2)
    assert all(turn.together for turn in turns)


@pytest.mark.unit
def test_a_burst_moves_no_other_item() -> None:
    """The same turns with no burst, some, and nothing else: what comes in both is the same."""
    calm, wild = (
        {span.id: span for span in spans_of(turns_of(300, **CALLS, burst_share=share, burst_results=4))}
        for share in (0.0, 0.3)
    )
    assert set(calm) < set(wild)
    assert all(wild[identity] == span for identity, span in calm.items())


@pytest.mark.unit
def test_results_may_come_one_after_another() -> None:
    turns = turns_of(10, results_per_turn=3, results_together=False)
    assert not any(turn.together for turn in turns)
    assert [turn._replace(together=True) for turn in turns] == turns_of(10, results_per_turn=3)


# ------------------------------------------------------------------------------------ contents


@pytest.mark.theory
@pytest.mark.parametrize("index", [1.5, 3.0])
def test_the_tail_is_a_power_law_with_the_same_mean(index: float) -> None:
    """P(X > y m (index - 1) / index) = y ** -index; and E min(X, c), which a cut keeps finite, by the law."""
    mean, cut = 1_000, 20_000
    smallest = mean * (index - 1) / index
    turns = turns_of(DRAWN, result_mean=mean, result_tail=index, result_cut=cut)
    sizes = [span.tokens for span in of_kind(turns, Kind.TOOL_RESULT)]
    for times in (1.5, 3.0, 10.0):
        assert_share((size > times * smallest for size in sizes), times**-index)
    limited = mean - cut ** (1 - index) * smallest**index / (index - 1)
    found = sum(sizes) / len(sizes)
    spread = math.sqrt(sum((size - found) ** 2 for size in sizes) / len(sizes))
    assert abs(found - limited) <= SLACK * spread / math.sqrt(len(sizes)) + 0.5
    assert pareto_tokens(mean, index, 0.0) == round(smallest)


@pytest.mark.theory
def test_content_classes_and_what_stands_on_disk() -> None:
    shares = {"code": 0.4, "json": 0.25, "cjk": 0.05}
    turns = turns_of(DRAWN, content=tuple(shares.items()), standing_share=0.1, results_per_turn=2)
    results = of_kind(turns, Kind.TOOL_RESULT)
    for name, share in {**shares, "text": 0.3}.items():
        assert_share((span.content_class == name for span in results), share)
    assert_share((span.standing for span in results), 0.1)
    plain = turns_of(DRAWN, results_per_turn=2)
    bare = [span._replace(content_class="text", standing=False) for span in results]
    assert bare == of_kind(plain, Kind.TOOL_RESULT)


# ------------------------------------------------------------------------------------ lengths of runs


@pytest.fixture
def lengths(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "runs.csv").write_text(text)
        return tmp_path / "mine.toml"

    return write


def table(**said: object) -> SyntheticTable:
    return validated(SyntheticTable, {"kind": "synthetic", **said}, "mine.toml: workload")


@pytest.mark.unit
def test_each_replication_and_each_agent_has_its_length(lengths: Callable[[str], Path]) -> None:
    path = lengths("task,raw,mask\na,3,9\nb,5,9\nc,2,9\n")
    workload = table(lengths="runs.csv", lengths_column="raw").workload(path)
    lived = [
        len([*workload.turns(Streams(7, *whole, "test"))]) for whole in ((0,), (1,), (2,), (0, 1), (0, 2))
    ]
    assert lived == [3, 5, 2, 5, 2]
    with pytest.raises(InputError, match="replication 3, agent 0 has no length; expected at most 3"):
        next(iter(workload.turns(Streams(7, 3, "test"))))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,raw\na,3\n", "no column is named 'mask'; expected one of task, raw; did you mean 'task'?"),
        ("task,mask\n", "has no row; expected a header, and one a replication"),
        ("task,mask\na,3\nb,0\n", "row 2: mask: '0' is no number of turns; expected 1 to 1,000,000"),
        ("task,mask\na,3\nb\n", "row 2: mask: '' is no number of turns"),
        ("task,mask\na,2.5\n", "row 1: mask: '2.5' is no number of turns"),
        ("", "has no row; expected a header"),
    ],
)
def test_lengths_that_cannot_be_read(lengths: Callable[[str], Path], text: str, message: str) -> None:
    with pytest.raises(InputError) as fault:
        table(lengths="runs.csv", lengths_column="mask").workload(lengths(text))
    assert message in str(fault.value)
    assert "runs.csv" in str(fault.value)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"content": {"cdoe": 0.5}}, "unknown content class 'cdoe'; expected one of text, prose, code"),
        ({"content": {"jsn": 0.5}}, "did you mean 'json'?"),
        ({"content": {"code": 0.7, "json": 0.4}}, "shares of 1.1 in all, above 1"),
        ({"result_tail": 0.9}, "result_tail 0.9 has no mean; expected above 1"),
        ({"call_tokens": 20}, "call_tokens 20 needs user_tokens"),
        ({"burst_share": 0.1}, "burst_share 0.1 needs burst_results"),
        ({"idle_every": 5}, "idle_every 5 needs idle_seconds"),
        ({"lengths": "runs.csv"}, "lengths 'runs.csv' needs lengths_column"),
    ],
)
def test_a_table_that_makes_no_sense(said: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as fault:
        table(**said)
    assert message in str(fault.value)


@pytest.mark.unit
def test_all_content_classes_can_be_asked_for() -> None:
    even = dict.fromkeys(CONTENT_CLASSES, 1 / len(CONTENT_CLASSES))
    table(content=even)
