"""The clairvoyant bound: it breaks nothing, asks nobody, and evicts only what is over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.clairvoyant import ClairvoyantPolicy
from scenarios import load_scenario
from simulator import simulate
from simulator.contracts import Brief, Prices
from simulator.foresight import last_uses
from simulator.plan import Evict
from simulator.spans import Kind
from simulator.streams import Streams
from simulator.view import Item, View

WORLDS = ("lossy-boundary", "coherence-inversion", "all-four", "zoo-references", "zoo-coding-agent")


@pytest.mark.theory
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_wrong_where_the_future_is_known(name: str, seed: int) -> None:
    run = simulate(load_scenario(name).setting(), ClairvoyantPolicy(), seed)
    assert any(row.freed for row in run.rewrite_rows)
    for key in ("constraint_violations", "false_claims", "dangling_references", "dropped_references"):
        assert not run.summary[key], key
    assert not run.summary["broken_pairs"]
    assert run.summary["usd_rewriting"] == 0


@pytest.mark.theory
def test_what_is_evicted_is_never_used_again() -> None:
    setting = load_scenario("zoo-references").setting()
    uses = last_uses(setting, Streams(3, 0, setting.draws))
    went: dict[int, int] = {}

    class Noting(ClairvoyantPolicy):
        def propose(self, view: View):  # type: ignore[no-untyped-def]
            plan = super().propose(view)
            went.update(dict.fromkeys(plan.sources(), view.gauge.turn))
            return plan

    simulate(setting, Noting(), 3)
    assert went
    assert all(uses.get(identity, 0) < turn for identity, turn in went.items())


@pytest.mark.unit
def test_requests_go_whole_or_not_at_all(item: Callable[..., Item], view: Callable[..., View]) -> None:
    policy = ClairvoyantPolicy()
    policy.begin(Brief(1_000, prices=Prices(1, 0.1, 1.25, 5, 300)))
    items = [
        item(1, kind=Kind.TOOL_CALL, born=1, pair=1, last_use=1),
        item(2, born=2, pair=1, last_use=9),
        item(3, kind=Kind.TOOL_CALL, born=2, pair=2, last_use=2),
        item(4, born=3, pair=2, last_use=3),
        item(5, born=9, last_use=9),
    ]
    plan = policy.propose(view(items, turn=9))
    assert plan.operations == (Evict(3), Evict(4))
    assert plan.believed_saving == 200
