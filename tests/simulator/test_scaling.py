"""Scaling: a mechanism that holds no figure of one case gives the same run when every figure is doubled.

Twice the tokens and the window: same outcomes, occupancies, decisions and seconds, twice the counts,
exactly. The random world is stretched by a power of two first and has dyadic ratios, so that no
rounding happens anywhere and equality is exact there too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

import pytest

from policies import ComposedPolicy, load_policy, policy_names
from policies.loader import read_policy
from scenarios import load_scenario
from simulator.contracts import Policy, Turn, Workload
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Span
from simulator.streams import Streams

EXACT, SPIRAL = "rewrite-budget-exact", "rewrite-budget-spiral"

TOKENS_OF_TURNS = {"tokens", "believed_tokens", "arrived_tokens", "retired", "out_of_band"}
TOKENS_OF_REWRITES = {
    *("tokens_before", "tokens_after", "estimated_saving", "freed", "rewrite_cost", "measurement_cost"),
    *("arrivals_during", "tombstones", "reinjected", "out_of_band_during", "net", "believed_net"),
    *("selected_tokens", "own_selected_tokens", "summaries_tokens", "measured_error", "window"),
    *("rebuild_tokens", "unread_tokens", "prospective_net", "lost", "retired_during"),
    "usd",  # so many tokens at a price
}
SAYS_TOKENS = {"reason"}  # a sentence with figures in it


@dataclass(frozen=True)
class Stretched:
    """A workload whose every span is that many times as long."""

    inner: Workload
    factor: int

    def initial(self, streams: Streams) -> Iterator[Span]:
        return (self._longer(span) for span in self.inner.initial(streams))

    def turns(self, streams: Streams) -> Iterator[Turn]:
        for turn in self.inner.turns(streams):
            yield turn._replace(
                arrivals=tuple(map(self._longer, turn.arrivals)), reply=tuple(map(self._longer, turn.reply))
            )

    def _longer(self, span: Span) -> Span:
        return span._replace(tokens=self.factor * span.tokens)


def stretched(setting: Setting, factor: int) -> Setting:
    """Return a setting with every token figure times `factor`; speeds are tokens a second, so they too."""

    laws, provider = setting.laws, setting.provider
    return replace(
        setting,
        draws=setting.draws or setting.name,
        window=factor * setting.window,
        head=factor * setting.head,
        output_reserve=factor * setting.output_reserve,
        workload=Stretched(setting.workload, factor),
        laws=replace(
            laws,
            rationale=replace(laws.rationale, base=factor * laws.rationale.base),
            summary=replace(
                laws.summary, floor=factor * laws.summary.floor, cap=times(factor, laws.summary.cap)
            ),
            measurement=replace(
                laws.measurement,
                full_tokens=times(factor, laws.measurement.full_tokens),
                delta_tokens=factor * laws.measurement.delta_tokens,
                seconds_per_token=laws.measurement.seconds_per_token / factor,
            ),
        ),
        provider=replace(
            provider,
            prefill_tokens_per_second=factor * provider.prefill_tokens_per_second,
            decode_tokens_per_second=factor * provider.decode_tokens_per_second,
        ),
        supervisor=replace(setting.supervisor, evict_tokens=factor * setting.supervisor.evict_tokens),
    )


def times(factor: int, value: int | None) -> int | None:
    return None if value is None else factor * value


def stretched_policy(name: str, factor: int, overrides: Mapping[str, object] | None = None) -> Policy:
    """Return a catalogue policy with its token figures times `factor`, past what a file may hold."""
    policy = load_policy(name, overrides)
    assert isinstance(policy, ComposedPolicy)
    terms, parts = policy.terms, policy.parts
    rule = replace(
        parts.replacement,
        cap=times(factor, parts.replacement.cap),
        placeholder=factor * parts.replacement.placeholder,
    )
    caps = {cap: times(factor, getattr(terms, cap)) for cap in ("rationale_cap", "summary_cap")}
    return ComposedPolicy(name, replace(terms, **caps), replace(parts, replacement=rule))


def must_scale(small: Run, large: Run, factor: int = 2) -> None:
    assert large.outcome == small.outcome
    assert large.summary["max_occupancy_pct"] == small.summary["max_occupancy_pct"]
    assert large.summary["seconds"] == small.summary["seconds"]
    assert large.summary["usd"] == pytest.approx(factor * small.summary["usd"])
    for rows, others, tokens in (
        (small.turn_rows, large.turn_rows, TOKENS_OF_TURNS),
        (small.rewrite_rows, large.rewrite_rows, TOKENS_OF_REWRITES),
    ):
        assert len(rows) == len(others)
        for row, other in zip(rows, others, strict=True):
            for name in set(row._fields) - SAYS_TOKENS:
                scale = factor if name in tokens else 1
                value = getattr(row, name)
                assert getattr(other, name) == (value if scale == 1 or value is None else scale * value), name


def of_shares() -> list[str]:
    """Return the policies whose figures are shares, or are stretched here; those of the zoo count tokens."""
    return [name for name in policy_names() if read_policy(name).data.get("group") in STRETCHED_GROUPS]


STRETCHED_GROUPS = ("records", "comparators", None)


@pytest.mark.theory
@pytest.mark.parametrize("name", of_shares())
def test_the_exact_world_with_all_tokens_doubled(by_share: Callable[[Policy], bool], name: str) -> None:
    setting = load_scenario(EXACT).setting()
    small = simulate(stretched(setting, 1), stretched_policy(name, 1), 7)
    large = simulate(stretched(setting, 2), stretched_policy(name, 2), 7)
    must_scale(small, large)
    assert small.rewrite_rows or not by_share(load_policy(name))


DYADIC = {
    "window.tokens": 24_576,  # 3 * 2**13
    "laws.rationale.base": 704,
    "laws.rationale.pressure_gain": 0.0,
    "laws.quality.record_factor": 0.5,
    "laws.quality.error_gain": 0.0,
    "laws.summary.ratio": 0.5,
    "laws.summary.ratio_spread": 0.0,
    "laws.summary.ratio_per_pass": 0.25,
    "laws.summary.incompressible_ratio": 1.0,
    "laws.measurement.share": 0.0625,
    "laws.measurement.seconds_per_token": 0.0,
}
DYADIC_POLICY = {
    "trigger.fraction": 0.90625,
    "replacement.ratio": 0.5,
    "replacement.ratio_per_pass": 0.25,
    "admission.moving_average": False,
}
STRETCH = 2**40


@pytest.mark.theory
@pytest.mark.parametrize("name", ["naive", "guarded", "guarded-without-gate", "truncate-oldest"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_random_world_with_all_tokens_doubled(name: str, seed: int) -> None:
    setting = load_scenario(SPIRAL, DYADIC).setting()
    asked = dict(DYADIC_POLICY)
    if load_policy(name).parts.trigger.low_watermark is not None:  # type: ignore[attr-defined]
        asked["trigger.low_watermark"] = 0.875
    runs = [
        simulate(stretched(setting, factor), stretched_policy(name, factor, asked), seed)
        for factor in (STRETCH, 2 * STRETCH)
    ]
    must_scale(*runs)
    assert len(runs[0].rewrite_rows) >= 2


@pytest.mark.theory
@pytest.mark.parametrize("name", ["naive", "guarded", "truncate-oldest"])
def test_prices_doubled_change_the_bill_and_nothing_else(name: str) -> None:
    setting = load_scenario(SPIRAL).setting()
    prices = [one.name for one in fields(setting.provider) if one.name.endswith("_usd")]
    dear = replace(
        setting,
        provider=replace(
            setting.provider, **{price: 2 * getattr(setting.provider, price) for price in prices}
        ),
    )
    cheap_run, dear_run = (simulate(one, load_policy(name), 7) for one in (setting, dear))
    assert dear_run.turn_rows == cheap_run.turn_rows
    doubled = [row._replace(usd=2 * row.usd) for row in cheap_run.rewrite_rows]
    assert dear_run.rewrite_rows == doubled
    assert dear_run.event_rows == cheap_run.event_rows
    dollars = {name for name in cheap_run.summary if "usd" in name}
    assert dear_run.summary == {
        name: 2 * value if name in dollars else value for name, value in cheap_run.summary.items()
    }
    assert cheap_run.summary["usd"] > 0  # type: ignore[operator]
