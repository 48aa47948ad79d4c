"""Closed forms: with constant arrivals the first trigger and the saw-tooth are known by arithmetic.

A turn brings `a` tokens on a head `h`, in a window `W`; the policy fires at the share `f` and aims at
the share `l`. With `t = ceil(f W)` and `g = floor(l W)`:

first trigger    n = ceil((t - h) / a)
evicted          k = ceil((level + costs - g) / a) spans of `a`
level after      level + costs - k a; the costs retire before the next turn's arrivals
period           ceil((t - (level - k a)) / a)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import load_policy
from simulator.laws import Laws, MeasurementLaw, RationaleLaw
from simulator.setting import Setting
from simulator.simulation import Run, simulate

HORIZON = 160
SHARES = st.sampled_from([(0.5, 0.25), (0.75, 0.5), (0.875, 0.625), (0.90625, 0.875)])


def sawtooth(
    window: int, head: int, arrival: int, fires: float, aims: float, costs: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield turn, tokens before, freed and tokens after of each rewrite within the horizon."""
    trigger, target = math.ceil(fires * window), math.floor(aims * window)
    level, turn = head, 0
    while True:
        wait = max(1, math.ceil((trigger - level) / arrival))
        turn += wait
        if turn > HORIZON:
            return
        before = level + wait * arrival
        freed = max(0, math.ceil((before + costs - target) / arrival)) * arrival
        yield turn, before, freed, before - freed + costs
        level = before - freed  # the costs retire


def rewrites(run: Run) -> list[tuple[int, int, int, int]]:
    return [(row.turn, row.tokens_before, row.freed, row.tokens_after) for row in run.rewrite_rows]


@pytest.mark.theory
@given(st.integers(1, 60), st.integers(0, 900), SHARES)
def test_truncating_the_oldest_draws_the_saw_tooth(
    listed: type, constant: Callable, arrival: int, head: int, shares: tuple[float, float]
) -> None:
    fires, aims = shares
    window = 4_096
    setting = Setting("saw-tooth", window, listed(constant(HORIZON, arrival)), head=head, horizon=HORIZON)
    policy = load_policy("truncate-oldest", {"trigger.fraction": fires, "trigger.low_watermark": aims})
    run = simulate(setting, policy)
    assert run.outcome == "complete"
    assert rewrites(run) == list(sawtooth(window, head, arrival, fires, aims, 0))


@pytest.mark.theory
@given(st.integers(20, 60), st.integers(0, 900), SHARES, st.integers(0, 80), st.integers(0, 12))
def test_guarded_draws_the_saw_tooth_with_its_costs(
    listed: type,
    constant: Callable,
    arrival: int,
    head: int,
    shares: tuple[float, float],
    rationale: int,
    trace: int,
) -> None:
    fires, aims = shares
    window = 4_096
    setting = Setting(
        "saw-tooth",
        window,
        listed(constant(HORIZON, arrival, dies=True)),
        head=head,
        horizon=HORIZON,
        laws=Laws(rationale=RationaleLaw(base=rationale), measurement=MeasurementLaw(delta_tokens=trace)),
    )
    policy = load_policy("guarded", {"trigger.fraction": fires, "trigger.low_watermark": aims})
    run = simulate(setting, policy)
    assert run.outcome == "complete"
    expected = list(sawtooth(window, head, arrival, fires, aims, rationale + trace))
    assert rewrites(run) == expected
    assert [row.retired for row in run.turn_rows if row.retired] == [
        rationale + trace for turn, *_ in expected if turn < HORIZON and rationale + trace
    ]
    assert all(row.net == row.freed - rationale - trace >= 1 for row in run.rewrite_rows)


@pytest.mark.theory
def test_a_case_by_hand(listed: type, constant: Callable) -> None:
    # window 10,000, head 0, 100 a turn, fires at 9,100, aims at 8,800
    setting = Setting("by hand", 10_000, listed(constant(120, 100)), horizon=120)
    run = simulate(setting, load_policy("truncate-oldest"))
    assert [row.turn for row in run.rewrite_rows] == list(range(91, 121, 3))
    assert {(row.freed, row.tokens_after) for row in run.rewrite_rows} == {(300, 8_800)}
    assert run.summary["max_occupancy_pct"] == 91.0
    assert [row.tokens for row in run.turn_rows[90:97]] == [8_800, 8_900, 9_000, 8_800, 8_900, 9_000, 8_800]


@pytest.mark.theory
@pytest.mark.parametrize("reply", [0, 7, 30])
def test_replies_count_from_the_turn_after(listed: type, constant: Callable, reply: int) -> None:
    setting = Setting("replies", 4_096, listed(constant(HORIZON, 25, reply=reply)), head=100)
    run = simulate(
        setting, load_policy("truncate-oldest", {"trigger.fraction": 0.5, "trigger.low_watermark": 0.25})
    )
    # the smallest n with h + n a + (n - 1) r >= f W
    assert run.rewrite_rows[0].turn == math.ceil((2_048 - 100 + reply) / (25 + reply))


@pytest.mark.theory
@pytest.mark.parametrize("head", [0, 1_000])
def test_without_rewriting_the_end_is_known(
    listed: type, constant: Callable, scripted: Callable, head: int
) -> None:
    setting = Setting("end", 4_096, listed(constant(400, 25)), head=head, horizon=400, output_reserve=96)
    run = simulate(setting, scripted(check_by=False))
    assert (run.outcome, run.turn_rows[-1].turn) == ("overflow", (4_000 - head) // 25 + 1)
