"""Prices by length of the prompt, told on the flat and the tiered prices of the Complexity Trap."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.provider import PriceTier, Provider, ProviderSpec, Purpose, TokenClass

AGENT, REPLACEMENT = Purpose.AGENT, Purpose.REPLACEMENT
INPUT, READ, WRITE, OUTPUT = TokenClass

SPEC = ProviderSpec(
    input_usd=3.0,
    cache_read_usd=1.2,
    cache_write_usd=3.0,
    output_usd=15.0,
    tiers=(PriceTier(31_999, 1.0, 0.4, 1.0, 5.0), PriceTier(127_999, 1.8, 0.72, 1.8, 9.0)),
)
"""Qwen3-Coder 480B (papers, section 1c)."""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("tokens", "input_usd", "read_usd", "output_usd"),
    [
        (31_999, 1.0, 0.4, 5.0),
        (32_000, 1.8, 0.72, 9.0),
        (127_999, 1.8, 0.72, 9.0),
        (128_000, 3.0, 1.2, 15.0),
    ],
)
def test_a_request_pays_its_tier_for_all_of_it(
    tokens: int, input_usd: float, read_usd: float, output_usd: float
) -> None:
    """Its cached part counts for the tier, and its output is in it."""
    provider = Provider(SPEC)
    provider.continue_prompt(0.0, 20_000, 0, AGENT)
    before = provider.spent([AGENT])
    provider.continue_prompt(1.0, tokens, 700, AGENT)
    dollars = (20_000 * read_usd + (tokens - 20_000) * input_usd + 700 * output_usd) / 1e6
    assert provider.spent([AGENT]) - before == pytest.approx(dollars)
    assert (provider.billed(READ), provider.billed(WRITE), provider.billed(OUTPUT)) == (20_000, tokens, 700)
    assert SPEC.prices_at(tokens).cache_read == pytest.approx(read_usd / 1e6)
    assert provider.rebuild_usd(1_000, tokens) == pytest.approx(1_000 * (input_usd - read_usd) / 1e6)


@pytest.mark.unit
def test_what_is_put_behind_the_prompt_counts_for_the_tier() -> None:
    provider = Provider(SPEC)
    provider.continue_prompt(0.0, 31_000, 0, AGENT)
    provider.shared_prompt(1.0, 31_000, 1_000, 100, REPLACEMENT)
    assert provider.spent([REPLACEMENT]) == pytest.approx((31_000 * 0.72 + 1_000 * 1.8 + 100 * 9) / 1e6)


@pytest.mark.unit
def test_a_smaller_model_has_tiers_too() -> None:
    provider = Provider(SPEC)
    provider.fresh_prompt(40_000, 100, REPLACEMENT, 0.25)
    assert provider.spent([REPLACEMENT]) == pytest.approx(0.25 * (40_000 * 1.8 + 100 * 9) / 1e6)


@pytest.mark.property
@given(st.lists(st.tuples(st.integers(0, 300_000), st.integers(0, 9_000)), max_size=8))
def test_tiers_of_one_price_are_no_tiers(requests: list[tuple[int, int]]) -> None:
    same = tuple(PriceTier(limit, 3.0, 1.2, 3.0, 15.0) for limit in (1, 32_000, 128_000))
    tiered, flat = Provider(replace(SPEC, tiers=same)), Provider(replace(SPEC, tiers=()))
    for number, (tokens, output) in enumerate(requests):
        for provider in (tiered, flat):
            provider.continue_prompt(float(number), tokens, output, AGENT)
            provider.fresh_prompt(tokens, output, REPLACEMENT)
            provider.shared_prompt(float(number), tokens, 500, output, REPLACEMENT)
    assert tiered.tokens == flat.tokens
    assert tiered.seconds == flat.seconds
    assert tiered.usd == pytest.approx(flat.usd)


@pytest.mark.unit
def test_what_an_agent_is_told_is_the_price_of_short_requests() -> None:
    assert SPEC.prices == SPEC.prices_at(31_999)
    assert SPEC.prices.output == pytest.approx(5e-6)
    assert SPEC.prices.cache_seconds == SPEC.cache_seconds


@pytest.mark.unit
@pytest.mark.parametrize("limits", [(32_000, 32_000), (128_000, 32_000)])
def test_tiers_out_of_order_are_refused(limits: tuple[int, int]) -> None:
    tiers = tuple(PriceTier(limit, 1.0, 1.0, 1.0, 1.0) for limit in limits)
    told = f"a tier up to 32000 stands after one up to {limits[0]}; expected ascending limits"
    with pytest.raises(InputError, match=told):
        ProviderSpec(tiers=tiers)


@pytest.mark.unit
def test_a_tier_has_a_limit_and_gives_nothing_back() -> None:
    with pytest.raises(InputError, match=r"provider\.tiers: up_to is 0; expected 1 or more"):
        PriceTier(0, 1.0, 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match=r"provider\.tiers: cache_read_usd is -1"):
        PriceTier(9, 1.0, -1.0, 1.0, 1.0)


@pytest.mark.theory
def test_the_bill_of_a_flat_price_is_the_published_one(shared: Path) -> None:
    """Qwen3-32B, 1,500 runs: given turns and mean tokens, every policy's bill within 2% (papers, section 1c).

    The published dollars leave summaries out.
    """
    path = shared / "data" / "complexity-trap" / "qwen3-32b.csv"
    if not path.is_file():
        pytest.skip("no data of the Complexity Trap")
    spec = ProviderSpec(input_usd=0.7, output_usd=2.8, cache_seconds=0.0)
    bills: dict[str, Provider] = defaultdict(lambda: Provider(spec))
    published: dict[str, float] = defaultdict(float)
    with path.open(newline="") as file:
        for run in csv.DictReader(file):
            policy = run["strategy"]
            published[policy] += float(run["cost_usd"])
            prompt, output = int(run["mean_prompt_tokens"]), int(run["mean_completion_tokens"])
            for _ in range(int(run["turns"])):
                bills[policy].continue_prompt(0.0, prompt, output, AGENT)
    assert len(bills) == 3
    for policy, provider in bills.items():
        assert provider.spent([AGENT]) == pytest.approx(published[policy], rel=0.02)
