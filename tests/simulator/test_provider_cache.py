"""What the prompt cache keeps, what a rewrite costs it, and what it takes to keep it warm."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.provider import Provider, ProviderSpec, Purpose, TokenClass

AGENT, REPLACEMENT, KEEP_WARM = Purpose.AGENT, Purpose.REPLACEMENT, Purpose.KEEP_WARM
INPUT, READ, WRITE, OUTPUT = TokenClass
MINUTES = 60.0
TOKENS = st.integers(0, 10**6)

INSTANT = ProviderSpec(
    overhead_seconds=0.0,
    prefill_tokens_per_second=1e300,
    decode_tokens_per_second=1e300,
    input_usd=5.0,
    cache_read_usd=0.5,
    cache_write_usd=6.25,
    output_usd=25.0,
)
"""A cache of five minutes whose write costs 12.5 reads."""


def of(provider: Provider, kind: TokenClass, purpose: Purpose = AGENT) -> int:
    return provider.tokens[kind][purpose]


# ------------------------------------------------------------------------------- what is kept


@pytest.mark.unit
@pytest.mark.parametrize(("prompt", "plain", "kept"), [(1_023, 1_023, 0), (1_024, 0, 1_024)])
def test_a_short_prompt_is_not_cached(prompt: int, plain: int, kept: int) -> None:
    provider = Provider(replace(INSTANT, cache_minimum_tokens=1_024))
    provider.continue_prompt(0.0, prompt, 0, AGENT)
    assert (of(provider, INPUT), of(provider, WRITE)) == (plain, kept)
    provider.continue_prompt(1.0, 4_000, 0, AGENT)
    assert (of(provider, READ), of(provider, WRITE)) == (kept, 4_000)


@pytest.mark.unit
def test_a_prefix_that_a_rewrite_made_short_is_not_read() -> None:
    provider = Provider(replace(INSTANT, cache_minimum_tokens=1_024))
    provider.continue_prompt(0.0, 4_000, 0, AGENT)
    assert provider.keep_prefix(1_000) == 4_000
    provider.continue_prompt(1.0, 3_000, 0, AGENT)
    assert of(provider, READ) == 0


@pytest.mark.unit
def test_a_cache_that_lives_no_time_is_none() -> None:
    provider = Provider(replace(INSTANT, cache_seconds=0.0))
    for _ in range(2):  # at the same instant
        provider.continue_prompt(0.0, 1_000, 0, AGENT)
    assert (of(provider, INPUT), of(provider, READ), of(provider, WRITE)) == (2_000, 0, 0)
    assert provider.keep_prefix(0) == 0
    assert provider.stay_warm(900.0, ping_seconds=60.0, longest_seconds=900.0) == 0


@pytest.mark.property
@given(TOKENS, TOKENS, TOKENS, st.integers(1, 4_096), st.integers(0, 4_096))
def test_a_hit_is_a_whole_number_of_blocks(
    first: int, kept: int, second: int, block: int, minimum: int
) -> None:
    spec = replace(INSTANT, cache_block_tokens=block, cache_minimum_tokens=minimum)
    provider = Provider(spec)
    provider.continue_prompt(0.0, first, 0, AGENT)
    provider.keep_prefix(kept)
    before = of(provider, INPUT) + of(provider, WRITE)
    provider.continue_prompt(1.0, second, 0, AGENT)
    hit, prefix = of(provider, READ), min(first if first >= minimum else 0, kept, second)
    assert hit % block == 0
    assert hit == 0 or minimum <= prefix
    assert hit == (prefix - prefix % block if prefix >= minimum else 0)
    assert of(provider, INPUT) + of(provider, WRITE) - before == second - hit


@pytest.mark.unit
def test_a_block_holds_something() -> None:
    with pytest.raises(InputError, match="provider: cache_block_tokens is 0; expected 1 or more"):
        ProviderSpec(cache_block_tokens=0)


# ------------------------------------------------------------------------------- what a rewrite breaks


@pytest.mark.property
@given(TOKENS, TOKENS, TOKENS, st.integers(1, 512), st.integers(0, 4_096))
def test_a_rewrite_costs_what_the_next_request_cannot_read(
    prompt: int, kept: int, later: int, block: int, minimum: int
) -> None:
    """The dollars of a next request that contains all that was cached rise by the rebuild, exactly."""
    spec = replace(INSTANT, cache_block_tokens=block, cache_minimum_tokens=minimum)
    rewritten, untouched = Provider(spec), Provider(spec)
    lost = 0
    for provider in (rewritten, untouched):
        provider.continue_prompt(0.0, prompt, 0, AGENT)
        if provider is rewritten:
            lost = provider.keep_prefix(kept, 1.0)
        provider.continue_prompt(2.0, prompt + later, 0, AGENT)
    assert of(untouched, READ) - of(rewritten, READ) == lost
    dearer = rewritten.spent([AGENT]) - untouched.spent([AGENT])
    assert dearer == pytest.approx(rewritten.rebuild_usd(lost, prompt + later), abs=1e-9)


@pytest.mark.unit
@pytest.mark.parametrize(("now", "lost"), [(None, 2_000), (300.0, 2_000), (301.0, 0)])
def test_an_expired_cache_has_nothing_to_lose(now: float | None, lost: int) -> None:
    provider = Provider(INSTANT)
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    assert provider.keep_prefix(1_000, now) == lost


S40 = ((4_036, 28_164), (4_456, 34_032), (6_303, 33_603), (8_379, 15_728), (4_381, 25_992))
"""Five firings of a real agent that aged old results in place: tokens saved, tokens billed anew."""


@pytest.mark.theory
def test_an_edit_far_from_the_end_pays_only_after_many_calls() -> None:
    """Field report S40: at a read of a tenth, 17 to 69 further calls, where there were 5 to 8."""
    spec = replace(INSTANT, input_usd=1.0, cache_write_usd=1.0, cache_read_usd=0.1)
    calls_needed = []
    for saved, anew in S40:
        edited, untouched = Provider(spec), Provider(spec)
        for provider in (edited, untouched):
            provider.continue_prompt(0.0, 100_000, 0, AGENT)
        assert edited.keep_prefix(100_000 - saved - anew) == saved + anew
        calls = 0
        while not calls or edited.spent([AGENT]) > untouched.spent([AGENT]):
            calls += 1
            edited.continue_prompt(0.0, 100_000 - saved, 0, AGENT)
            untouched.continue_prompt(0.0, 100_000, 0, AGENT)
        assert calls == math.ceil(anew * 0.9 / (saved * 0.1))
        calls_needed.append(calls)
    assert (min(calls_needed), max(calls_needed)) == (17, 69)


# ------------------------------------------------------------------------------- requests beside the agent's


@pytest.mark.unit
def test_a_summary_that_extends_the_prompt_reads_what_is_warm() -> None:
    spec = replace(INSTANT, prefill_tokens_per_second=100.0, decode_tokens_per_second=10.0)
    provider = Provider(spec)
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    assert provider.shared_prompt(9.0, 3_200, 400, 50, REPLACEMENT) == 2.0 + 4.0 + 5.0
    assert [of(provider, kind, REPLACEMENT) for kind in TokenClass] == [400, 3_000, 200, 50]
    provider.continue_prompt(309.0, 3_200, 0, AGENT)  # it has renewed the prompt, not what stood behind it
    assert (of(provider, READ), of(provider, WRITE)) == (3_200, 3_000)


@pytest.mark.unit
def test_a_cold_summary_writes_the_prompt_first() -> None:
    provider = Provider(INSTANT)
    provider.continue_prompt(0.0, 3_000, 0, AGENT)
    provider.shared_prompt(301.0, 3_000, 400, 50, REPLACEMENT)
    assert [of(provider, kind, REPLACEMENT) for kind in TokenClass] == [400, 0, 3_000, 50]


@pytest.mark.theory
@pytest.mark.parametrize(("tokens", "output"), [(231_000, 5_000), (342_000, 1_500)])
def test_a_cold_compaction_costs_a_write_of_all(tokens: int, output: int) -> None:
    """Measured: 1.26-1.74 dollars for 231k-342k tokens, at $5 a write and $20 an output (papers, 4)."""
    spec = replace(INSTANT, input_usd=4.0, cache_read_usd=0.2, cache_write_usd=5.0, output_usd=20.0)
    provider = Provider(spec)
    provider.continue_prompt(0.0, tokens, 0, AGENT)
    provider.shared_prompt(3_600.0, tokens, 0, output, REPLACEMENT)
    assert 1.255 <= provider.spent([REPLACEMENT]) <= 1.745


@pytest.mark.unit
def test_a_smaller_model_costs_its_share_of_the_dollars_and_all_of_the_tokens() -> None:
    cheap, own = Provider(INSTANT), Provider(INSTANT)
    for price, provider in ((0.2, cheap), (1.0, own)):
        for _ in range(2):
            assert provider.fresh_prompt(30_000, 500, REPLACEMENT, price) == pytest.approx(0)
        provider.fresh_prompt(1_000, 0, REPLACEMENT)
    assert cheap.tokens == own.tokens
    assert own.spent([REPLACEMENT]) == pytest.approx((61_000 * 5 + 1_000 * 25) / 1e6)
    assert cheap.spent([REPLACEMENT]) == pytest.approx((0.2 * (60_000 * 5 + 1_000 * 25) + 1_000 * 5) / 1e6)
    assert cheap.billed(INPUT) == 61_000


@pytest.mark.unit
def test_a_refused_request_takes_time_and_no_money() -> None:
    provider = Provider(replace(INSTANT, overhead_seconds=1.5))
    provider.continue_prompt(0.0, 1_000, 0, AGENT)
    before = provider.tokens
    assert provider.rejected(AGENT) == 1.5
    assert provider.rejections == dict.fromkeys(Purpose, 0) | {AGENT: 1}
    assert provider.seconds[AGENT] == 3.0
    assert provider.tokens == before


# ------------------------------------------------------------------------------- keeping warm


@pytest.mark.theory
@pytest.mark.parametrize(
    ("write", "read", "minutes"),
    [
        (6.25, 0.5, 46),  # 12.5 to 1
        (5.0, 0.5, 36),  # 10 to 1
        (5.0, 0.2, 96),  # 25 to 1
    ],
)
def test_keeping_warm_breaks_even_at(write: float, read: float, minutes: int) -> None:
    """T = (write - read) / read x 4 minutes: 46 and 36 as published (papers, section 8).

    Where T is no whole number of pings, two gaps stand for it whose mean it is.
    """
    spec = replace(INSTANT, cache_write_usd=write, cache_read_usd=read)
    ping, gaps = 4 * MINUTES, [minutes * MINUTES] * 2
    if minutes % 4:
        gaps = [(minutes - 2) * MINUTES, (minutes + 2) * MINUTES]

    def dearer(gaps: list[float]) -> float:
        warm, cold = Provider(spec), Provider(spec)
        now = 0.0
        for gap in (0.0, *gaps):
            now += gap
            pings = warm.stay_warm(now, ping_seconds=ping, longest_seconds=1e9)
            assert pings == gap // ping
            for provider in (warm, cold):
                provider.continue_prompt(now, 200_000, 0, AGENT)
        return warm.spent(Purpose) - cold.spent(Purpose)

    assert dearer(gaps) == pytest.approx(0, abs=1e-12)
    assert dearer([minutes * MINUTES - ping]) < -0.02
    assert dearer([minutes * MINUTES + ping]) > 0.02


@pytest.mark.theory
def test_pings_stop_and_the_cache_expires_with_the_last() -> None:
    for gap, pings, read in ((1_499.0, 5, 900), (1_500.0, 5, 900), (1_501.0, 5, 0)):
        provider = Provider(INSTANT)
        provider.continue_prompt(0.0, 900, 0, AGENT)
        assert provider.stay_warm(gap, ping_seconds=240.0, longest_seconds=1_300.0) == pings
        assert of(provider, READ, KEEP_WARM) == pings * 900
        provider.continue_prompt(gap, 900, 0, AGENT)
        assert of(provider, READ) == read


@pytest.mark.unit
def test_a_ping_that_comes_too_late_writes_anew() -> None:
    provider = Provider(INSTANT)
    provider.continue_prompt(0.0, 900, 0, AGENT)
    assert provider.stay_warm(1_000.0, ping_seconds=301.0, longest_seconds=1e9) == 3
    assert (of(provider, READ, KEEP_WARM), of(provider, WRITE, KEEP_WARM)) == (0, 2_700)


@pytest.mark.unit
def test_no_gap_takes_no_ping() -> None:
    provider = Provider(INSTANT)
    assert provider.stay_warm(1e6, ping_seconds=240.0, longest_seconds=1e9) == 0  # nothing is cached
    provider.continue_prompt(1e6, 900, 0, AGENT)
    assert provider.stay_warm(1e6 + 239.0, ping_seconds=240.0, longest_seconds=1e9) == 0
    assert not provider.spent([KEEP_WARM])
