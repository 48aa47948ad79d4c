"""The payback gate against hand arithmetic: what a rewrite takes, what it gives, and when it must pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.gates.payback import PaybackGate, Work, cost, earned, rebuild
from simulator.contracts import Brief, Lesson, Prices, Proposal, RequestTerms, Terms
from simulator.plan import Evict, Fold, Mask, RewritePlan
from simulator.provider import ProviderSpec
from simulator.spans import Kind
from simulator.view import Item, View

pytestmark = pytest.mark.theory

MID_SIZE = Prices(3e-6, 0.3e-6, 3.75e-6, 15e-6, cache_seconds=300)
"""Dollars a token of a mid-size model: reads at a tenth of the input, writes at five quarters."""


def test_what_a_rewrite_takes_is_its_requests_and_the_cache() -> None:
    work = Work(read=10_000, written=1_000, shared=50_000, saved=9_000, behind=20_000)
    requests = 10_000 * 3e-6 + 1_000 * 15e-6 + 50_000 * 0.3e-6
    assert cost(work, MID_SIZE) == pytest.approx(requests + 20_000 * (3.75e-6 - 0.3e-6))
    assert cost(work, MID_SIZE, tries=2) == pytest.approx(2 * requests + 20_000 * 3.45e-6)
    cheap = 0.2 * (10_000 * 3e-6 + 1_000 * 15e-6) + 50_000 * 0.3e-6
    assert cost(work, MID_SIZE, price=0.2) == pytest.approx(cheap + 20_000 * 3.45e-6)


def test_a_cold_cache_has_nothing_to_lose() -> None:
    work = Work(shared=50_000, behind=20_000)
    assert rebuild(20_000, MID_SIZE, warm=False) == 0
    assert cost(work, MID_SIZE, warm=False) == pytest.approx(50_000 * 3.75e-6)
    assert earned(1_000, 5, MID_SIZE, warm=False) == pytest.approx(1_000 * (5 * 0.3e-6 + 3.45e-6))


def test_where_nothing_is_cached_a_call_reads_at_the_price_of_input() -> None:
    uncached = ProviderSpec(input_usd=0.7, output_usd=2.8, cache_seconds=0).prices
    assert earned(1_000, 10, uncached) == pytest.approx(1_000 * 10 * 0.7e-6)
    assert rebuild(1_000, uncached) == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 500), st.floats(0.1, 1), st.floats(1, 25))
def test_the_break_even_in_calls_is_price_over_rent(
    saved: int, behind: int, calls: int, input_usd: float, ratio: float
) -> None:
    """A prune pays exactly from (write - read) / read x behind / saved calls on (field report S40)."""
    prices = Prices(input_usd, input_usd / ratio, input_usd * 1.25, 0.0, 300)
    pays = earned(saved, calls, prices) > cost(Work(saved=saved, behind=behind), prices)
    needed = (prices.cache_write - prices.cache_read) * behind
    assert pays == (calls * saved * prices.cache_read > needed)


@pytest.fixture
def weighed(
    item: Callable[..., Item], view: Callable[..., View]
) -> Callable[..., tuple[PaybackGate, View, RewritePlan]]:
    """Make a gate, and a plan that masks the second of three results, with so many calls behind."""

    def make(turn: int, horizon: int = 10_000, **said: object) -> tuple[PaybackGate, View, RewritePlan]:
        gate = PaybackGate()
        gate.begin()
        gate.brief(Brief(10**6, prices=MID_SIZE, horizon=horizon), Terms())
        items = [
            item(1, 1_000, Kind.HEAD),
            item(2, 10_000),
            item(3, 5_000),
        ]
        return (
            gate,
            view(items, turn=turn, window=10**6, **said),
            RewritePlan((Mask(2, 12),), believed_saving=9_988),
        )

    return make


def test_a_gate_passes_a_plan_exactly_when_the_calls_left_repay_it(weighed: Callable[..., tuple]) -> None:
    """Behind the first change stand 5,000 tokens and 12: 5,012 x 11.5 / 9,988 = 5.77 calls."""
    gate, seen, plan = weighed(turn=5)
    assert not gate.weigh(seen, plan, 0).accepted
    gate, seen, plan = weighed(turn=6)
    verdict = gate.weigh(seen, plan, 0)
    assert verdict.accepted
    assert verdict.figures["behind"] == 5_012
    assert verdict.figures["calls_left"] == 6


def test_the_budget_of_turns_ends_the_hope(weighed: Callable[..., tuple]) -> None:
    gate, seen, plan = weighed(turn=100, horizon=105)
    assert not gate.weigh(seen, plan, 0).accepted
    gate, seen, plan = weighed(turn=100, horizon=106)
    assert gate.weigh(seen, plan, 0).accepted


def test_without_room_a_rewrite_is_due_whatever_it_costs(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    gate = PaybackGate(headroom_turns=2)
    gate.brief(Brief(10_000, prices=MID_SIZE, horizon=100), Terms())
    items = [item(1, 9_000), item(2, 500)]
    plan = RewritePlan((Evict(1),), believed_saving=9_000)
    full = view(items, turn=20, window=10_000, requests_since_rewrite=20)  # 500 tokens of room, 475 a turn
    assert gate.weigh(full, plan, 0).accepted
    gate.brief(Brief(20_000, prices=MID_SIZE, horizon=21), Terms())
    roomy = view(items, turn=20, window=20_000, requests_since_rewrite=20)
    assert not gate.weigh(roomy, RewritePlan((Evict(1),), 100), 0).accepted


def test_what_is_spent_is_spent(item: Callable[..., Item], view: Callable[..., View]) -> None:
    """Before the request its whole price counts; once it is paid, only the cache is still to lose."""
    gate = PaybackGate()
    gate.brief(Brief(10**6, prices=MID_SIZE, horizon=10_000), Terms(request=RequestTerms(calls=2)))
    items = [item(1, 20_000), item(2, 1_000)]
    plan = RewritePlan((Fold((1,)),), believed_saving=14_000)
    verdict = gate.weigh(view(items, turn=30, window=10**6), plan, 0)
    expected = 2 * (20_000 * 3e-6 + 6_000 * 15e-6) + (6_000 + 1_000) * 3.45e-6
    assert verdict.figures["takes_usd"] == pytest.approx(expected)
    assert not verdict.accepted
    paid = gate.judge(Proposal(14_000, 0, 0))
    assert paid.figures["takes_usd"] == pytest.approx(7_000 * 3.45e-6)
    assert paid.accepted
    assert not gate.judge(Proposal(0, 0, 0)).accepted  # nothing saved is nothing earned


def test_failed_requests_make_the_next_dearer(item: Callable[..., Item], view: Callable[..., View]) -> None:
    gate = PaybackGate()
    gate.brief(Brief(10**6, prices=MID_SIZE, horizon=10_000), Terms())
    seen = view([item(1, 20_000), item(2, 1_000)], turn=30, window=10**6)
    plan = RewritePlan((Fold((1,)),), believed_saving=14_000)
    before = gate.weigh(seen, plan, 0).figures["takes_usd"]
    gate.learn(Lesson("failed", "replace", 0, 0, 0, 21_000, requests=3))
    request = 20_000 * 3e-6 + 6_000 * 15e-6
    assert gate.weigh(seen, plan, 0).figures["takes_usd"] == pytest.approx(before + 3 * request)
