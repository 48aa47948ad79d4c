"""Triggers: the threshold to the token, hysteresis by regrowth, the target of the low watermark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.triggers import Trigger, threshold
from simulator.contracts import CheckPoint
from simulator.view import Gauge

SHARES = st.integers(1, 1_000).map(lambda thousandths: thousandths / 1_000)
WINDOWS = st.integers(1, 2_000_000)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("fraction", "window", "tokens"),
    [
        (0.91, 24_000, 21_840),
        (0.905, 24_000, 21_720),
        (0.07, 100, 7),  # 0.07 * 100 is 7.000000000000001
        (0.57, 100, 57),  # 0.57 * 100 is 56.99999999999999
        (0.5, 3, 2),
        (1.0, 10, 10),
    ],
)
def test_a_trigger_fires_at_exact_equality_and_not_a_token_sooner(
    fraction: float, window: int, tokens: int, gauge: Callable[..., Gauge]
) -> None:
    trigger = Trigger(fraction)
    assert threshold(fraction, window) == tokens
    assert trigger.fires(gauge(tokens, window), None)
    assert not trigger.fires(gauge(tokens - 1, window), None)


@pytest.mark.unit
def test_without_regrowth_a_trigger_fires_again_at_once(gauge: Callable[..., Gauge]) -> None:
    assert Trigger(0.9).fires(gauge(900), 900)
    assert Trigger(0.9).fires(gauge(900), 2_000)


@pytest.mark.unit
@pytest.mark.parametrize(("level", "fires"), [(870, True), (871, False), (900, False), (1_000, False)])
def test_hysteresis_waits_until_its_share_of_the_window_has_come_in(
    level: int, fires: bool, gauge: Callable[..., Gauge]
) -> None:
    assert Trigger(0.9, regrow=0.03).fires(gauge(900), level) is fires


@pytest.mark.unit
def test_hysteresis_does_not_hold_the_first_attempt_back(gauge: Callable[..., Gauge]) -> None:
    assert Trigger(0.9, regrow=0.5).fires(gauge(900), None)


@pytest.mark.unit
def test_regrowth_alone_does_not_fire_below_the_threshold(gauge: Callable[..., Gauge]) -> None:
    assert not Trigger(0.9, regrow=0.03).fires(gauge(899), 0)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("low_watermark", "window", "target"),
    [(None, 1_000, None), (0.88, 24_000, 21_120), (0.57, 100, 57), (0.0, 1_000, 0), (0.5, 3, 1)],
)
def test_the_target_is_the_low_watermark_in_whole_tokens(
    low_watermark: float | None, window: int, target: int | None, gauge: Callable[..., Gauge]
) -> None:
    assert Trigger(0.9, low_watermark).target(gauge(0, window)) == target


@pytest.mark.unit
def test_threshold_and_target_follow_a_window_that_shrinks(gauge: Callable[..., Gauge]) -> None:
    trigger = Trigger(0.9, 0.8)
    assert not trigger.fires(gauge(900, 2_000), None)
    assert trigger.fires(gauge(900, 1_000), None)
    assert trigger.target(gauge(900, 1_000)) == 800


@pytest.mark.property
@given(SHARES, WINDOWS)
def test_the_threshold_is_the_least_count_at_or_above_the_share(fraction: float, window: int) -> None:
    tokens = threshold(fraction, window)
    assert tokens >= fraction * window - 1e-5
    assert tokens - 1 < fraction * window


@pytest.mark.property
@given(SHARES, st.integers(1, 1_000))
def test_a_share_of_a_window_in_thousands_is_exact(fraction: float, thousands: int) -> None:
    window = 1_000 * thousands
    exact = round(fraction * 1_000) * thousands
    gauge = Gauge(None, 1, exact, window, 0, 0, 0, 0)  # type: ignore[arg-type]
    assert threshold(fraction, window) == exact
    assert Trigger(0.5, fraction).target(gauge) == exact


@pytest.mark.property
@given(SHARES, st.floats(0, 1), WINDOWS, st.integers(0, 3_000_000), st.none() | st.integers(0, 3_000_000))
def test_what_fires_with_hysteresis_fires_without(
    fraction: float, regrow: float, window: int, tokens: int, level: int | None
) -> None:
    gauge = Gauge(None, 1, tokens, window, 0, 0, 0, 0)  # type: ignore[arg-type]
    if Trigger(fraction, regrow=regrow).fires(gauge, level):
        assert Trigger(fraction).fires(gauge, level)
        assert tokens >= threshold(fraction, window)


# --------------------------------------------------------------------------- other limits


@pytest.mark.unit
@pytest.mark.parametrize(
    ("trigger", "said", "fires"),
    [
        (Trigger(tokens=500), {"tokens": 500}, True),
        (Trigger(tokens=500), {"tokens": 499}, False),
        (Trigger(tokens=0), {"tokens": 0}, True),
        (Trigger(reserve=200), {"tokens": 801}, True),
        (Trigger(reserve=200), {"tokens": 800}, False),
        (Trigger(messages=40), {"messages": 40}, True),
        (Trigger(messages=40), {"messages": 39}, False),
        (Trigger(turns=21), {"requests_since_rewrite": 21}, True),
        (Trigger(turns=21), {"requests_since_rewrite": 20}, False),
        (Trigger(0.9, messages=40), {"tokens": 100, "messages": 40}, True),
        (Trigger(0.9, messages=40), {"tokens": 900, "messages": 1}, True),
        (Trigger(0.9, messages=40, together=True), {"tokens": 900, "messages": 39}, False),
        (Trigger(0.9, messages=40, together=True), {"tokens": 900, "messages": 40}, True),
        (Trigger(), {"tokens": 10_000, "messages": 999}, False),
        (Trigger(together=True), {"tokens": 10_000}, False),
    ],
)
def test_any_limit_fires_or_all_together(
    trigger: Trigger, said: dict[str, int], fires: bool, gauge: Callable[..., Gauge]
) -> None:
    assert trigger.fires(gauge(**said), None) is fires


@pytest.mark.unit
@pytest.mark.parametrize(
    ("trigger", "reserve", "fires_at"),
    [
        (Trigger(0.9, output_most=50), 0, 900),
        (Trigger(0.9, output_most=50), 20, 880),
        (Trigger(0.9, output_most=50), 80, 850),
        (Trigger(reserve=100, output_most=50), 20, 881),
        (Trigger(reserve=100, output_most=50), 80, 851),
        (Trigger(tokens=900, output_most=50), 80, 900),  # a count of its own knows no window
        (Trigger(0.9), 80, 900),
    ],
)
def test_the_output_reserve_is_taken_off_a_limit_by_the_window_up_to_a_most(
    trigger: Trigger, reserve: int, fires_at: int, gauge: Callable[..., Gauge]
) -> None:
    fired = [
        trigger.fires(gauge(tokens, output_reserve=reserve), None) for tokens in (fires_at - 1, fires_at)
    ]
    assert fired == [False, True]
    over = [trigger.is_over(tokens, 1_000, reserve) for tokens in (fires_at - 1, fires_at)]
    assert over == [False, True]


@pytest.mark.unit
def test_the_first_rewrite_may_wait_for_more_turns(gauge: Callable[..., Gauge]) -> None:
    trigger = Trigger(turns=21, first_turns=31)
    fired = [trigger.fires(gauge(requests_since_rewrite=turns), None, first=True) for turns in (21, 30, 31)]
    assert fired == [False, False, True]
    assert trigger.fires(gauge(requests_since_rewrite=21), None)


@pytest.mark.unit
def test_a_request_that_was_refused_fires_whatever_the_limits(gauge: Callable[..., Gauge]) -> None:
    refused = gauge(1)._replace(point=CheckPoint.OVERFLOW)
    assert Trigger().fires(refused, None)
    assert Trigger(0.9, regrow=0.5).fires(refused, 1)


@pytest.mark.unit
def test_a_target_may_be_a_number_of_tokens(gauge: Callable[..., Gauge]) -> None:
    assert Trigger(0.9, target_tokens=700).target(gauge(950)) == 700


@pytest.mark.unit
def test_only_limits_of_size_say_whether_a_count_is_over() -> None:
    trigger = Trigger(0.9, tokens=950, messages=1, turns=0)
    assert [trigger.is_over(tokens, 1_000) for tokens in (899, 900)] == [False, True]
    assert not Trigger(messages=1).is_over(10_000, 1_000)
