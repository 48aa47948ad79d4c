"""The engine in the limit of the closed form: with steady growth there is a cheapest size to compact at.

A cycle has N calls at sizes s, s + g, ... and ends with a compaction at s + N g. Let p_r, p_w and p_o be
the prices of a token that is read from the cache, written to it, and written by the model; let the head of
h_0 tokens stay cached and the summary have m tokens, so that s = h_0 + m. In the engine's bookkeeping
- the call after a compaction reads the head and writes the rest: h_0 p_r + (s - h_0) p_w;
- each later one reads what the last one left, and writes what has come: (s + (j - 1) g) p_r + g p_w;
- the compaction's own call shares the live prompt: (s + (N - 1) g) p_r + g p_w, and m p_o for its answer.
Their sum is p_r (s + (s + g) + ... + (s + (N - 1) g)) + N g p_w + A with
    A = s p_r + (s - h_0) (p_w - p_r) + m p_o,
which is A = k0 + (k1 + p_w - p_r) s with k0 = m p_o and k1 = p_r where h_0 = 0. A call costs
    p_r (s + g (N - 1) / 2) + g p_w + A / N,
least at N* = sqrt(2 A / (g p_r)); h* = s - g + sqrt(g^2 + 2 g A / p_r) = s - g + g sqrt(1 + N*^2) lies
between the sizes of N* - 1 and of N* calls of growth. A threshold in (s + (N - 1) g, s + N g] makes cycles
of N calls, so the cheapest thresholds lie within one growth step of h*.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from experiments.experiment import load_experiment
from experiments.job import response, run_at
from experiments.plan import Coordinates, Plan
from policies import load_policy
from policies.conserving import ConservingPolicy, optimal_threshold
from scenarios import load_scenario
from simulator import Setting, simulate
from simulator.ledger import COMMITTED
from simulator.provider import ProviderSpec

pytestmark = pytest.mark.theory

POLICY = "anthropic-server-compaction"
TOKENS = 1_000_000
CYCLES = 3


def ground(growth: int, head: int, summary: int, provider: ProviderSpec) -> Setting:
    changes = {"workload.result_mean": float(growth), "laws.summary.floor": summary, "window.head": head}
    setting = load_scenario("optimal-threshold", changes).setting()
    return replace(setting, provider=replace(provider, cache_seconds=1e9))


def fixed_cost(head: int, summary: int, provider: ProviderSpec) -> float:
    """A, in dollars."""
    read, write, out = provider.cache_read_usd, provider.cache_write_usd, provider.output_usd
    return ((head + summary) * read + summary * (write - read) + summary * out) / TOKENS


def call_cost(setting: Setting, threshold: int, calls: int, before: int) -> float:
    """Dollars a call over whole cycles, the first turns of a run left out."""

    def paid(turns: int) -> float:
        run = simulate(replace(setting, horizon=turns), load_policy(POLICY, {"trigger.tokens": threshold}))
        return float(run.summary["usd"])  # type: ignore[arg-type]

    return (paid(before + CYCLES * calls) - paid(before)) / (CYCLES * calls)


@pytest.mark.parametrize(
    ("growth", "head", "summary", "provider"),
    [
        (2_000, 2_000, 4_000, ProviderSpec()),
        (700, 0, 3_000, ProviderSpec()),
        (5_000, 1_000, 20_000, ProviderSpec(5.0, 0.5, 6.25, 25.0)),
        (1_500, 500, 1_500, ProviderSpec(1.0, 0.02, 1.0, 1.2)),  # a cache at 1/50, writing free of charge
        (300, 0, 800, ProviderSpec(2.0, 1.0, 2.0, 8.0)),
        (9_000, 0, 1_000, ProviderSpec(1.25, 0.125, 1.25, 10.0)),
    ],
)
def test_the_cheapest_threshold_is_the_closed_form_s(
    growth: int, head: int, summary: int, provider: ProviderSpec
) -> None:
    setting = ground(growth, head, summary, provider)
    after, fixed = head + summary, fixed_cost(head, summary, provider)
    read, write = provider.cache_read_usd / TOKENS, provider.cache_write_usd / TOKENS
    best = math.sqrt(2 * fixed / (growth * read))
    costs = {}
    for calls in range(max(1, math.floor(best) - 4), math.ceil(best) + 5):
        threshold = after + calls * growth
        costs[threshold] = call_cost(setting, threshold, calls, before=2 * calls + after // growth + 2)
        closed = read * (after + growth * (calls - 1) / 2) + growth * write + fixed / calls
        assert costs[threshold] == pytest.approx(closed, rel=1e-9)
    cheapest = min(costs, key=costs.__getitem__)
    least, most = cheapest - growth, cheapest  # thresholds with the same cycles
    found = optimal_threshold(after, growth, fixed, read)
    assert least - growth <= found <= most + growth
    assert min(costs) < cheapest < max(costs) or cheapest == after + growth


def test_the_study_finds_it_within_one_growth_step() -> None:
    experiment = load_experiment("optimal-threshold")
    plan = Plan(experiment)
    levels = [int(label) for label in experiment.file.factor[0].labels]
    scenario = load_scenario("optimal-threshold")
    setting = scenario.setting()
    growth, summary = round(scenario.file.workload.result_mean), setting.laws.summary.floor
    after, fixed = setting.head + summary, fixed_cost(setting.head, summary, setting.provider)
    found = optimal_threshold(after, growth, fixed, setting.provider.cache_read_usd / TOKENS)
    near = [place for place, level in enumerate(levels) if abs(level - found) <= 2 * growth]
    assert len(near) >= 4
    costs = {
        levels[place]: response(run_at(plan, Coordinates(0, place, 0, 0)), "usd_a_turn") for place in near
    }
    assert abs(min(costs, key=lambda level: costs[level] or math.inf) - found) <= growth


def test_the_rent_of_the_conserving_family_comes_due_there() -> None:
    """The rent of N calls is g p_r N (N + 1) / 2, and it reaches A where N is about N*: no price is known.

    Without a pass in reserve, without kept requests, and with its prompt for nothing, as the closed form
    has it. What it freed last time is what it expects to free: it comes near in a few passes.
    """
    growth, head, summary, provider = 2_000, 2_000, 4_000, ProviderSpec()
    setting = replace(ground(growth, head, summary, provider), horizon=1_500)
    policy = ConservingPolicy(
        keep_requests=0, headroom_turns=0, watermark_turns=0, least_progress=1e-6, overhead_tokens=0
    )
    run = simulate(setting, policy)
    levels = [row.tokens_before for row in run.rewrite_rows if row.outcome in COMMITTED]
    best = math.sqrt(2 * fixed_cost(head, summary, provider) * TOKENS / (growth * provider.cache_read_usd))
    assert len(levels) > 50
    for level in levels[10:]:
        assert abs((level - head - summary) / growth - best) <= 1
