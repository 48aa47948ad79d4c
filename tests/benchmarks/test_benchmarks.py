"""What the benchmarks stand on, none of it timed: ranks, verdicts, counts of work."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("number", [6, 9, 15, 41])
def test_the_ranks_cover_the_median_and_no_narrower_pair_does(rooms: SimpleNamespace, number: int) -> None:
    low, high = rooms.pairing.median_ranks(number)

    def coverage(rank: int) -> float:
        return 1 - 2 * sum(math.comb(number, below) for below in range(rank + 1)) / 2**number

    assert high == number - 1 - low
    assert coverage(low) >= 0.95 > coverage(low + 1)


def test_order_alternates_and_the_ratio_is_case_over_reference(rooms: SimpleNamespace) -> None:
    asked: list[str] = []

    def taking(name: str, seconds: float) -> float:
        asked.append(name)
        return seconds

    ratio = rooms.pairing.paired(lambda: taking("r", 2.0), lambda: taking("c", 3.0), rounds=4)
    assert ratio.median == ratio.low == ratio.high == 1.5
    assert "".join(asked) == "rc" + "cr" + "rc" + "cr" + "rc"


@pytest.mark.parametrize(
    ("measured", "low", "high", "sense", "met", "surely_missed"),
    [
        (20, 19, 21, "at most", True, False),
        (26, 24, 28, "at most", False, False),
        (26, 25.5, 28, "at most", False, True),
        (0.8, 0.7, 0.85, "at least", False, True),
        (0.8, 0.7, 30, "at least", False, False),
    ],
)
def test_a_target_is_surely_missed_only_by_the_whole_interval(
    rooms: SimpleNamespace,
    measured: float,
    low: float,
    high: float,
    sense: str,
    met: bool,
    surely_missed: bool,
) -> None:
    target = 25 if sense == "at most" else 0.9
    finding = rooms.findings.Finding("case", "reference", measured, low, high, target, sense)
    assert (finding.met, finding.surely_missed) == (met, surely_missed)


def test_the_benchmark_turn_does_its_work_whatever_the_context(rooms: SimpleNamespace) -> None:
    turn = rooms.turn
    assert turn.counted_work(50) == turn.counted_work(50, 1_000)


def test_a_turn_that_does_less_is_told_with_both_numbers(
    rooms: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = rooms.turn
    monkeypatch.setattr(turn, "EVENTS_A_TURN", 3)
    with pytest.raises(rooms.findings.DidLess, match=r"counted 2\.0, expected 3"):
        turn.counted_work(20)


def test_the_timed_turns_are_timed(rooms: SimpleNamespace) -> None:
    turn = rooms.turn
    workload = turn.TimedTurns(5)
    run = turn.simulate(turn.setting_of(workload), turn.Idle())
    assert run.outcome == "complete"  # so the workload was asked once more, and has read its clock
    assert workload.seconds > 0
