"""Lists of prices: the catalogue is sound, `[provider]` wins, and each fault is told in one line."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.catalogues import shown
from experiments.identity import plain_form
from scenarios import load_scenario
from scenarios.prices import CATALOGUE, load_prices, price_list_names
from simulator import InputError
from simulator.provider import PriceTier, ProviderSpec, TokenClass

pytestmark = pytest.mark.unit

Writer = Callable[..., Path]

SCENARIO = """\
prices = "{prices}"

[window]
tokens = 1_000

[provider]
{provider}

[workload]
kind = "scripted"
rows = [{{ at = 0, kind = "tool_result", tokens = 300 }}]
"""
MINE = """\
source = "a page"
date = 2026-09-01
currency = "usd"
input = 2.0
cache_read = 0.1
cache_write = 3.0
output = 8.0
cache_seconds = 1_800

[[tier]]
up_to = 32_000
input = 1.0
cache_read = 0.05
cache_write = 1.5
output = 4.0
"""
SOURCES = {"anthropic", "deepseek", "openai", "qwen"}


@pytest.fixture
def spec_of(written: Writer) -> Callable[..., ProviderSpec]:
    def spec(prices: str, provider: str = "", **overrides: object) -> ProviderSpec:
        path = written(SCENARIO.format(prices=prices, provider=provider))
        given = {f"provider.{key}": value for key, value in overrides.items()}
        return load_scenario(str(path), given).setting().provider

    return spec


def fault_of(load: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        load()
    line = str(caught.value)
    assert "\n" not in line
    return line


# ------------------------------------------------------------------------------------ the catalogue


@pytest.mark.parametrize("name", price_list_names())
def test_a_list_says_whose_it_is_from_when_and_from_where(name: str) -> None:
    data, prices = tomllib.loads((CATALOGUE / f"{name}.toml").read_text()), load_prices(name)
    assert name.partition("-")[0] in SOURCES
    assert name.endswith(f"{prices.date:%Y-%m}")
    assert data["summary"] and data["source"] and data["date"] == prices.date
    assert prices.date <= datetime.date.today()


@pytest.mark.parametrize("name", price_list_names())
def test_what_is_cached_costs_no_more_to_read_than_to_send_and_no_less_to_write(name: str) -> None:
    prices = load_prices(name)
    for rates in (prices, *prices.tier):
        assert rates.input and rates.output and rates.output > rates.input
        if prices.cache_seconds != 0:
            assert rates.cache_read is not None and rates.cache_write is not None
            assert rates.cache_read < rates.input <= rates.cache_write


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("anthropic-opus-5-2026-07", 12.5), ("anthropic-opus-5-5-2026-09", 25), ("openai-gpt-5-4-2026-06", 10)],
)
def test_a_write_costs_that_many_reads(name: str, ratio: float) -> None:
    """Papers, section 8."""
    prices = load_prices(name)
    assert prices.cache_read and prices.cache_write
    assert prices.cache_write / prices.cache_read == pytest.approx(ratio)


def test_a_prefix_written_anew_against_one_read() -> None:
    """Papers, section 4: $0.63 against $0.05 for 100,000 tokens; the first is $0.625, rounded."""
    scenario = load_scenario("constant-arrivals", {"prices": "anthropic-opus-5-2026-07"})
    prices = scenario.setting().provider.prices
    assert 100_000 * prices.cache_write == pytest.approx(0.625)
    assert 100_000 * prices.cache_read == pytest.approx(0.05)


def test_a_list_of_a_base_says_its_own_date_and_source(written: Writer) -> None:
    hour = load_prices("anthropic-opus-5-5-hour-2026-09")
    assert (hour.input, hour.cache_write, hour.cache_seconds) == (4.0, 8.0, 3_600)
    path = written('base = "anthropic-opus-5-2026-07"\n', "bare.toml")
    assert "source: Field required (and 1 more)" in fault_of(lambda: load_prices(str(path)))


# ------------------------------------------------------------------------------------ what a scenario gets


def test_a_scenario_pays_what_its_list_says(spec_of: Callable[..., ProviderSpec], written: Writer) -> None:
    written(MINE, "prices.toml")
    spec = spec_of("./prices.toml", "overhead_seconds = 9")
    assert spec == ProviderSpec(
        overhead_seconds=9,
        input_usd=2.0,
        cache_read_usd=0.1,
        cache_write_usd=3.0,
        output_usd=8.0,
        cache_seconds=1_800,
        tiers=(PriceTier(32_000, 1.0, 0.05, 1.5, 4.0),),
    )
    assert spec.prices_at(32_000).input == pytest.approx(1e-6)
    assert spec.prices_at(32_001).input == pytest.approx(2e-6)


def test_what_the_scenario_says_itself_holds_in_each_tier(
    spec_of: Callable[..., ProviderSpec], written: Writer
) -> None:
    written(MINE, "prices.toml")
    spec = spec_of("./prices.toml", "output_usd = 7\ncache_seconds = 60", cache_read_usd=0.2)
    for prompt in (1, 10**6):
        assert spec.prices_at(prompt).output == pytest.approx(7e-6)
        assert spec.prices_at(prompt).cache_read == pytest.approx(2e-7)
    assert spec.cache_seconds == 60
    assert spec.prices_at(1).cache_write == pytest.approx(1.5e-6)


def test_resolved_says_what_holds_and_is_the_same_scenario(written: Writer) -> None:
    path = written(SCENARIO.format(prices="qwen-3-coder-480b-2025-08", provider="input_usd = 9"))
    resolved = tomllib.loads(shown(str(path), resolved=True))
    assert resolved["provider"]["cache_read_usd"] == 2.4
    assert [tier["input_usd"] for tier in resolved["provider"]["tiers"]] == [9] * 3
    again = written(shown(str(path), resolved=True), "again.toml")
    assert load_scenario(str(again)).file == load_scenario(str(path)).file.model_copy(
        update={"draws": "mine"}
    )


def test_prices_are_part_of_what_a_run_is() -> None:
    forms = {
        str(plain_form(load_scenario("constant-arrivals", {"prices": name}).setting()))
        for name in price_list_names()
    }
    assert len(forms) == len(price_list_names())


def test_no_list_changes_nothing() -> None:
    assert load_scenario("constant-arrivals").setting().provider == ProviderSpec()


# ------------------------------------------------------------------------------------ faults


def test_an_unknown_list_is_told_with_the_nearest(spec_of: Callable[..., ProviderSpec]) -> None:
    line = fault_of(lambda: spec_of("anthropic-opus-5-2026-08"))
    assert "mine.toml: prices: unknown price list 'anthropic-opus-5-2026-08'; expected one of" in line
    assert line.endswith("did you mean 'anthropic-opus-5-2026-07'?")
    assert "no such file" in fault_of(lambda: spec_of("./none.toml"))


@pytest.mark.parametrize("kind", list(TokenClass))
def test_a_class_that_is_used_and_not_sold(
    spec_of: Callable[..., ProviderSpec], written: Writer, kind: TokenClass
) -> None:
    first, rest = MINE.split("[[tier]]")
    lines = {"": (first, rest), "tier 0: ": (rest, first)}
    for tier, (part, other) in lines.items():
        kept = "".join(line for line in part.splitlines(True) if not line.startswith(f"{kind} ="))
        written("[[tier]]".join((other, kept) if tier else (kept, other)), "prices.toml")
        line = fault_of(lambda: spec_of("./prices.toml"))
        assert f"mine.toml: prices: './prices.toml' has no price of {kind}, which the scenario uses" in line
        assert f"expected {tier}{kind} in the list, or provider.{kind}_usd in the scenario" in line
        assert spec_of("./prices.toml", f"{kind}_usd = 1").prices.cache_seconds == 1_800


def test_a_model_without_a_cache_needs_no_price_of_one(spec_of: Callable[..., ProviderSpec]) -> None:
    assert spec_of("qwen-3-32b-2025-08").cache_seconds == 0
    assert spec_of("qwen-3-32b-2025-08", "input_usd = 3").prices.input == pytest.approx(3e-6)
    line = fault_of(lambda: spec_of("qwen-3-32b-2025-08", "cache_seconds = 300"))
    assert "'qwen-3-32b-2025-08' has no price of cache_read, which the scenario uses" in line


def test_a_list_of_tomorrow_is_refused(spec_of: Callable[..., ProviderSpec], written: Writer) -> None:
    day = datetime.date(2026, 9, 1)
    path = written(MINE, "prices.toml")
    assert load_prices(str(path), today=day).date == day
    line = fault_of(lambda: load_prices(str(path), today=day - datetime.timedelta(1)))
    assert line == f"{path}: date: 2026-09-01 is in the future; expected 2026-08-31 or before"
    written(MINE.replace("2026-09-01", "9999-01-01"), "prices.toml")
    assert "prices.toml: date: 9999-01-01 is in the future" in fault_of(lambda: spec_of("./prices.toml"))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("2026-09-01", '"soon"', "prices.toml: date: Input should be a valid date"),
        ("2026-09-01", "20260901", "prices.toml: date: Input should be a valid date"),
        ("2026-09-01", "2026-09-01T10:00:00", "prices.toml: date: "),
        ('"usd"', '"eur"', "prices.toml: currency: unknown value 'eur'; expected one of usd"),
        ("cache_read = 0.1", "cache_read = -0.1", "prices.toml: cache_read: Input should be greater than or"),
        ("cache_read = 0.05", "cache_read = -1", "prices.toml: tier.0.cache_read: Input should be greater"),
        ("output = 8.0", "output = inf", "prices.toml: output: "),
        ("output = 8.0", "outptu = 8.0", "prices.toml: outptu: unknown key; expected one of"),
        ("up_to = 32_000", "up_to = 0", "prices.toml: tier.0.up_to: "),
        (
            "[[tier]]",
            "[[tier]]\nup_to = 64_000\n\n[[tier]]",
            "prices.toml: tier: a tier up to 32000 stands after one up to 64000; expected ascending limits",
        ),
    ],
)
def test_faults(
    spec_of: Callable[..., ProviderSpec], written: Writer, before: str, after: str, told: str
) -> None:
    assert before in MINE
    written(MINE.replace(before, after, 1), "prices.toml")
    assert told in fault_of(lambda: spec_of("./prices.toml"))


def test_faults_beside_a_list(spec_of: Callable[..., ProviderSpec], written: Writer) -> None:
    path = written(SCENARIO.format(prices="x", provider="").replace('"x"', "7"))
    assert "mine.toml: prices: Input should be a valid string (got 7)" in fault_of(
        lambda: load_scenario(str(path))
    )
    rates = "input_usd = 1, cache_read_usd = 1, cache_write_usd = 1, output_usd = 1"
    tiers = f"tiers = [{{ up_to = 9, {rates} }}, {{ up_to = 9, {rates} }}]"
    line = fault_of(lambda: spec_of("anthropic-opus-5-2026-07", tiers))
    assert "mine.toml: provider.tiers: a tier up to 9 stands after one up to 9" in line
    line = fault_of(lambda: spec_of("anthropic-opus-5-2026-07", 'cache_seconds = "long"'))
    assert "mine.toml: provider.cache_seconds: " in line
