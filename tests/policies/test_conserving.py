"""The conserving family: pins and pairs by identity, rent against price, and what theory promises of both."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conserving import PINNED, ConservingPolicy, optimal_threshold
from policies.gates.progress import most_passes
from scenarios import load_scenario
from simulator import simulate
from simulator.contracts import Brief, Prices, Turn
from simulator.laws import Laws, SummaryLaw
from simulator.ledger import COMMITTED
from simulator.plan import RewritePlan
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams
from simulator.view import Item, View

pytestmark = pytest.mark.theory

PRICES = Prices(3e-6, 0.3e-6, 3.75e-6, 15e-6, cache_seconds=300)


@dataclass(frozen=True)
class Steady:
    """A turn brings one tool result of constant size; nothing is cited."""

    tokens: int
    turns_limit: int

    def initial(self, streams: Streams) -> list[Span]:
        return []

    def turns(self, streams: Streams):  # type: ignore[no-untyped-def]
        for turn in range(1, self.turns_limit + 1):
            yield Turn((Span(turn, Kind.TOOL_RESULT, self.tokens, turn, Provenance.TOOL),))


# --------------------------------------------------------------------------- pins and pairs


def scattered(seed: int, item: Callable[..., Item]) -> list[Item]:
    """Return a random context of calls with results, prose, users' words and notes."""
    dice = random.Random(seed)
    items, identity = [item(0, 500, Kind.HEAD, born=0)], 0
    for turn in range(1, dice.randint(2, 12)):
        for _ in range(dice.randint(0, 3)):
            identity += 1
            kind = dice.choice([Kind.USER, Kind.ASSISTANT, Kind.INSTRUCTION, Kind.SUMMARY, Kind.TOMBSTONE])
            items.append(
                item(
                    identity,
                    dice.randint(1, 900),
                    kind,
                    born=turn,
                    marked=dice.random() < 0.1,
                    constraint=dice.choice([False, False, True, None]),
                )
            )
        if dice.random() < 0.7:
            parts = [Kind.THINKING] * dice.randint(0, 1) + [Kind.TOOL_CALL, Kind.TOOL_RESULT] * dice.randint(
                1, 3
            )
            for kind in parts:
                identity += 1
                items.append(
                    item(
                        identity,
                        dice.randint(1, 900),
                        kind,
                        born=turn,
                        pair=turn,
                        needed=dice.random() < 0.2,
                        dead=dice.random() < 0.3,
                        closed=dice.random() < 0.5,
                        cites=tuple(dice.sample(range(1, identity + 1), min(identity, dice.randint(0, 2)))),
                    )
                )
    return items


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), window=st.integers(1_000, 40_000), masks=st.booleans())
def test_no_plan_touches_a_pin_or_tears_a_request(
    seed: int, window: int, masks: bool, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    items = scattered(seed, item)
    policy = ConservingPolicy(replacement="mask" if masks else "summary")
    policy.begin(Brief(window, prices=PRICES, horizon=100))
    plan = policy.propose(view(items, turn=13, window=window))
    assert isinstance(plan, RewritePlan)
    by_id = {one.id: one for one in items}
    for identity in plan.sources():
        one = by_id[identity]
        assert one.kind not in PINNED
        assert not (one.marked or one.constraint is not False)
    gone = {identity for operation in plan.operations for identity in operation.sources}
    masked = all(type(operation).__name__ == "Mask" for operation in plan.operations)
    for pair in {one.pair for one in items if one.pair is not None}:
        parts = {one.id for one in items if one.pair == pair}
        assert masked or parts <= gone or not parts & gone


# --------------------------------------------------------------------------- progress


@pytest.mark.parametrize("replacement", ["summary", "mask"])
@pytest.mark.parametrize("name", ["rewrite-budget-spiral", "all-four", "coherence-inversion"])
def test_a_run_has_no_more_passes_than_the_potential_allows(name: str, replacement: str) -> None:
    setting = load_scenario(name).setting()
    policy = ConservingPolicy(replacement=replacement, least_progress=0.05)
    run = simulate(setting, policy, 5)
    committed = [row for row in run.rewrite_rows if row.outcome in COMMITTED]
    least = -(-setting.window // 20)
    assert committed
    assert all(row.net >= least for row in committed)
    came_in = sum(row.arrived_tokens for row in run.turn_rows)
    came_in += int(run.summary["rederivation_tokens"] or 0) + int(run.summary["instruction_tokens"] or 0)  # type: ignore[call-overload]
    assert len(committed) <= most_passes(setting.head, came_in, least)


# --------------------------------------------------------------------------- rent and price


def steady(growth: int, turns: int, **prices: float) -> Setting:
    provider = ProviderSpec(overhead_seconds=0.0, cache_seconds=1e9, **prices)
    return Setting("steady", 10**8, Steady(growth, turns), head=2_000, horizon=turns, provider=provider)


def cheapest(growth: int, turns: int, head: int, placeholder: int, kept: int) -> float:
    """Return the least dollars of cached reading and rewriting, by dynamic programming over all schedules.

    A state is the turn of the last pass. A pass at turn t masks all results but the newest `kept`; it costs
    what stands behind the first result that it changes, written and not read; each call then reads.
    """
    read, write = PRICES.cache_read, PRICES.cache_write

    def tokens(turn: int, last: int) -> int:
        masked = max(0, last - kept) if last else 0
        return head + growth * (turn - masked) + placeholder * masked

    best = {0: 0.0}
    for turn in range(1, turns + 1):
        after: dict[int, float] = {}
        for last, paid in best.items():
            call = read * tokens(turn, last)
            after[last] = min(after.get(last, float("inf")), paid + call)
            if turn - kept > max(0, last - kept):
                first = max(0, last - kept) if last else 0
                unchanged = head + placeholder * first
                behind = tokens(turn, turn) - unchanged
                passed = paid + behind * (write - read) + read * tokens(turn, turn)
                after[turn] = min(after.get(turn, float("inf")), passed)
        best = after
    return min(best.values())


@pytest.mark.parametrize("growth", [300, 1_000, 4_000])
def test_it_never_pays_twice_what_one_pays_that_knows_the_end(growth: int) -> None:
    """Ski rental: at every horizon the rent paid is at most the price, and the price is paid no sooner.

    Held for masking, whose price is the cache alone. What every schedule pays alike is left out: that
    arrivals are written once.
    """
    written = PRICES.cache_write - PRICES.cache_read
    for turns in (3, 10, 25, 60, 140):
        policy = ConservingPolicy(replacement="mask", least_progress=1e-6)
        run = simulate(steady(growth, turns), policy)
        alike = written * (2_000 + growth * turns)
        paid = float(run.summary["usd"]) - alike  # type: ignore[arg-type]
        assert paid <= 2 * cheapest(growth, turns, 2_000, 12, kept=4)


def test_the_optimal_threshold_is_where_the_mean_cost_has_its_minimum() -> None:
    """The closed form against a search over whole cycles: cost a call is (A + p_r sum of sizes) / calls."""
    after, growth, fixed, read = 12_000, 700, 0.31, 3e-7

    def mean_cost(calls: int) -> float:
        return (fixed + read * sum(after + growth * call for call in range(calls))) / calls

    best = min(range(1, 500), key=mean_cost)
    assert optimal_threshold(after, growth, fixed, read) == pytest.approx(
        after + growth * (best - 1), abs=growth
    )


def test_with_steady_growth_passes_come_at_a_steady_level() -> None:
    """A summary of a tenth, itself summarised again, has a steady size; so have the rent and the price."""
    laws = Laws(summary=SummaryLaw(ratio=0.1))
    run = simulate(replace(steady(1_000, 600), laws=laws), ConservingPolicy(least_progress=1e-6))
    levels = [row.tokens_before for row in run.rewrite_rows if row.outcome in COMMITTED]
    assert len(levels) > 6
    assert all(abs(after - before) <= 1_000 for before, after in pairwise(levels[3:]))


def test_a_short_run_is_left_alone() -> None:
    assert simulate(steady(500, 6), ConservingPolicy()).rewrite_rows == []
