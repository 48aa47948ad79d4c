"""The provider: seconds and dollars computed by hand, class of token by class of token."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.provider import Provider, ProviderSpec, Purpose, TokenClass

SPEC = ProviderSpec(
    overhead_seconds=2.0,
    prefill_tokens_per_second=1_000.0,
    decode_tokens_per_second=50.0,
    input_usd=4.0,
    cache_read_usd=1.0,
    cache_write_usd=5.0,
    output_usd=20.0,
    cache_seconds=60.0,
)
AGENT, REPLACEMENT = Purpose.AGENT, Purpose.REPLACEMENT


def spent(provider: Provider, purpose: Purpose) -> float:
    return sum(usd for (whose, _), usd in provider.usd.items() if whose is purpose)


@pytest.fixture
def provider() -> Provider:
    return Provider(SPEC)


@pytest.mark.unit
def test_a_first_request_is_written_to_the_cache(provider: Provider) -> None:
    assert provider.continue_prompt(0.0, 3_000, 100, AGENT) == 2.0 + 3.0 + 2.0
    assert spent(provider, AGENT) == pytest.approx((3_000 * 5 + 100 * 20) / 1e6)
    assert (provider.billed(TokenClass.CACHE_READ), provider.billed(TokenClass.CACHE_WRITE)) == (0, 3_000)


@pytest.mark.unit
def test_the_unchanged_prefix_is_read(provider: Provider) -> None:
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    before = spent(provider, AGENT)
    assert provider.continue_prompt(10.0, 3_500, 100, AGENT) == 2.0 + 0.5 + 2.0
    assert spent(provider, AGENT) - before == pytest.approx((3_000 * 1 + 500 * 5 + 100 * 20) / 1e6)
    assert (provider.billed(TokenClass.CACHE_READ), provider.billed(TokenClass.CACHE_WRITE)) == (3_000, 3_500)


@pytest.mark.unit
@pytest.mark.parametrize(("later", "read"), [(60.0, 3_000), (60.001, 0)])
def test_the_cache_expires(provider: Provider, later: float, read: int) -> None:
    provider.continue_prompt(100.0, 3_000, 0, AGENT)
    provider.continue_prompt(100.0 + later, 3_000, 0, AGENT)
    assert provider.billed(TokenClass.CACHE_READ) == read


@pytest.mark.unit
def test_each_hit_renews_the_cache(provider: Provider) -> None:
    for now in (0.0, 50.0, 100.0, 150.0):
        provider.continue_prompt(now, 1_000, 0, AGENT)
    assert provider.billed(TokenClass.CACHE_READ) == 3_000


@pytest.mark.unit
def test_a_rewrite_keeps_what_stands_before_it(provider: Provider) -> None:
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    provider.keep_prefix(1_200)
    provider.keep_prefix(2_000)  # a later change further behind brings nothing back
    assert provider.continue_prompt(1.0, 2_500, 0, AGENT) == 2.0 + 1.3
    assert provider.billed(TokenClass.CACHE_READ) == 1_200


@pytest.mark.unit
def test_no_more_is_read_than_there_is(provider: Provider) -> None:
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    assert provider.continue_prompt(1.0, 800, 0, AGENT) == 2.0
    assert provider.billed(TokenClass.CACHE_READ) == 800


@pytest.mark.unit
def test_a_fresh_prompt_pays_full_and_leaves_the_cache_alone(provider: Provider) -> None:
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    assert provider.fresh_prompt(2_000, 50, REPLACEMENT) == 2.0 + 2.0 + 1.0
    assert spent(provider, REPLACEMENT) == pytest.approx((2_000 * 4 + 50 * 20) / 1e6)
    provider.continue_prompt(1.0, 3_000, 0, AGENT)
    assert (provider.billed(TokenClass.CACHE_READ), provider.billed(TokenClass.CACHE_WRITE)) == (3_000, 3_000)


@pytest.mark.unit
def test_each_purpose_has_its_own_account(provider: Provider) -> None:
    seconds = provider.continue_prompt(0.0, 10, 10, Purpose.RATIONALE)
    assert provider.seconds == dict.fromkeys(Purpose, 0.0) | {Purpose.RATIONALE: seconds}
    assert {purpose for (purpose, _), usd in provider.usd.items() if usd} == {Purpose.RATIONALE}


@pytest.mark.property
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**5))
def test_a_cache_never_makes_a_request_slower_or_dearer(
    first: int, kept: int, second: int, output: int
) -> None:
    warm, cold = Provider(SPEC), Provider(SPEC)
    warm.continue_prompt(0.0, first, 0, AGENT)
    warm.keep_prefix(kept)
    before = spent(warm, AGENT)
    assert warm.continue_prompt(1.0, second, output, AGENT) <= cold.continue_prompt(
        1.0, second, output, AGENT
    )
    assert spent(warm, AGENT) - before <= spent(cold, AGENT) + 1e-9
    assert warm.billed(TokenClass.CACHE_READ) == min(first, kept, second)


@pytest.mark.property
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), max_size=6))
def test_twice_the_prices_are_twice_the_dollars(requests: list[tuple[int, int]]) -> None:
    prices = [field.name for field in fields(SPEC) if field.name.endswith("_usd")]
    dear = replace(SPEC, **{name: 2 * getattr(SPEC, name) for name in prices})
    cheap_one, dear_one = Provider(SPEC), Provider(dear)
    for number, (tokens, output) in enumerate(requests):
        for provider in (cheap_one, dear_one):
            provider.continue_prompt(float(number), tokens, output, AGENT)
            provider.fresh_prompt(tokens, output, REPLACEMENT)
    assert dear_one.seconds == cheap_one.seconds
    assert dear_one.usd == {purpose: 2 * usd for purpose, usd in cheap_one.usd.items()}
