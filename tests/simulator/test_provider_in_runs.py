"""Keeping a cache warm in whole runs: the agent pings while it idles, and the published break-even holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from simulator.contracts import Policy, Terms, Turn
from simulator.declarations import KeepWarmTerms, RequestTerms
from simulator.laws import Laws, SummaryLaw
from simulator.plan import RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span

MINUTES = 60.0
PING = 4 * MINUTES
FOR_EVER = 1e9
TOKENS = 200_000

INSTANT = ProviderSpec(
    overhead_seconds=0.0, prefill_tokens_per_second=math.inf, decode_tokens_per_second=math.inf
)


@pytest.fixture
def idling(listed: type, scripted: Callable[..., Policy]) -> Callable[..., Run]:
    """A run of requests with these gaps between them, the pings of which stop after `longest` seconds."""

    def run(gaps: Sequence[float], longest: float | None, write: float, read: float) -> Run:
        warm = None if longest is None else KeepWarmTerms(PING, longest)
        first = Turn((Span(1, Kind.USER, TOKENS),), ())
        turns = (first, *(Turn((), (), seconds=gap) for gap in gaps))
        spec = replace(INSTANT, cache_write_usd=write, cache_read_usd=read)
        policy = scripted(terms=replace(Terms(), keep_warm=warm), check_by=False)
        return simulate(Setting("idle", 10**6, listed(turns), provider=spec), policy)

    return run


@pytest.mark.theory
@pytest.mark.parametrize(
    ("write", "gaps"),
    [
        (6.25, [44 * MINUTES, 48 * MINUTES]),  # 11.5 x 4 minutes is no whole number of pings, the mean is
        (5.0, [36 * MINUTES]),
    ],
)
def test_keeping_warm_breaks_even_at_46_and_at_36_minutes(
    idling: Callable[..., Run], write: float, gaps: list[float]
) -> None:
    """T = (write - read) / read x ping: 12.5 reads a write, and 10 (papers, section 8)."""
    warm, cold = (idling(gaps * 3, longest, write, 0.5) for longest in (FOR_EVER, None))
    assert cold.summary["usd"] == pytest.approx((3 * len(gaps) + 1) * TOKENS * write / 1e6)
    assert warm.summary["usd"] == pytest.approx(cold.summary["usd"])
    assert warm.summary["cache_write_tokens"] == TOKENS
    assert warm.summary["seconds"] == cold.summary["seconds"]
    shorter, longer = ([gap + step for gap in gaps] for step in (-PING, PING))
    for gap, is_cheaper in ((shorter, True), (longer, False)):
        warm, cold = (idling(gap, longest, write, 0.5) for longest in (FOR_EVER, None))
        assert (warm.summary["usd"] < cold.summary["usd"]) is is_cheaper


@pytest.mark.theory
@pytest.mark.parametrize("minutes", [60, 600])
def test_pings_that_stop_bound_what_a_pause_costs(idling: Callable[..., Run], minutes: int) -> None:
    """After five pings the cache is left to expire: five reads more than without, however long the pause."""
    warm, cold = (idling([minutes * MINUTES], longest, 6.25, 0.5) for longest in (5 * PING, None))
    assert warm.summary["usd"] - cold.summary["usd"] == pytest.approx(5 * TOKENS * 0.5 / 1e6)


@pytest.mark.theory
def test_pings_are_no_cost_of_rewriting(idling: Callable[..., Run]) -> None:
    assert idling([36 * MINUTES], FOR_EVER, 5.0, 0.5).summary["usd_rewriting"] == 0


@pytest.mark.theory
def test_what_was_kept_warm_is_warm_for_a_rewrite_too(listed: type, scripted: Callable[..., Policy]) -> None:
    """A summary that extends the live prompt reads it, where pings kept it, and writes it where none did."""
    results = tuple(Turn((Span(place, Kind.TOOL_RESULT, 50_000, place),), (), 720.0) for place in (1, 2))

    def replacement_usd(keep_warm: KeepWarmTerms | None) -> float:
        policy = scripted(
            terms=Terms(
                deliberates=False,
                keep_warm=keep_warm,
                request=RequestTerms(shares_prefix=True, reads_all=True),
            ),
            check_by=lambda gauge: gauge.turn == 2,
            propose_by=RewritePlan((Summarise(1),), 0),
        )
        run = simulate(
            Setting("idle", 10**6, listed(results), laws=Laws(summary=SummaryLaw(ratio=0.1))), policy
        )
        return float(run.summary["usd_rewriting"])  # type: ignore[arg-type]

    spec = ProviderSpec()
    output = 5_000 * spec.output_usd / 1e6
    cold = 100_000 * spec.cache_write_usd / 1e6 + output
    warm = (50_000 * spec.cache_read_usd + 50_000 * spec.cache_write_usd) / 1e6 + output
    assert replacement_usd(None) == pytest.approx(cold)
    assert replacement_usd(KeepWarmTerms(240.0, 3_600.0)) == pytest.approx(warm)
