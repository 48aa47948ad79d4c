"""The progress gate: what it asks of a pass, and the bound on passes that follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies import load_policy
from policies.composed import ComposedPolicy
from policies.gates.progress import ProgressGate, most_passes
from scenarios import load_scenario
from simulator import simulate
from simulator.contracts import Brief, Proposal, Terms
from simulator.ledger import COMMITTED
from simulator.plan import RewritePlan
from simulator.simulation import Run

pytestmark = pytest.mark.theory


def test_a_pass_must_free_its_share_of_the_window_net() -> None:
    gate = ProgressGate(0.05)
    gate.brief(Brief(24_000), Terms())
    assert gate.judge(Proposal(1_360, 160, 0)).accepted
    assert not gate.judge(Proposal(1_360, 160, 1)).accepted
    assert not gate.judge(Proposal(1_360, 160, 0, put_back=1)).accepted


def test_what_is_not_even_believed_to_be_progress_is_not_paid_for() -> None:
    gate = ProgressGate(0.05)
    gate.brief(Brief(24_000), Terms())
    assert gate.weigh(None, RewritePlan((), 1_200), 0).accepted  # type: ignore[arg-type]
    assert not gate.weigh(None, RewritePlan((), 1_199), 0).accepted  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_the_least_is_never_nothing(share: float) -> None:
    gate = ProgressGate(share)
    gate.brief(Brief(1), Terms())
    assert not gate.judge(Proposal(0, 0, 0)).accepted


def committed(run: Run) -> list[int]:
    """Return the net of each pass that was committed, with what it put back taken off."""
    rows = [row for row in run.rewrite_rows if row.outcome in COMMITTED]
    return [row.net - row.reinjected - row.tombstones for row in rows]


@pytest.mark.parametrize("standing", [0, 20_000, None])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_no_run_has_more_passes_than_what_came_in_allows(share: float, standing: int | None) -> None:
    """A client that puts standing content back would loop for ever without the gate."""
    setting = load_scenario("report-reinjection").setting()
    made = load_policy("report-reinjects-all")
    assert isinstance(made, ComposedPolicy)
    terms = replace(made.terms, reinjection=replace(made.terms.reinjection, standing_tokens=standing))
    gated = ComposedPolicy("gated", terms, replace(made.parts, gates=(ProgressGate(share),)))
    run = simulate(setting, gated)
    least = -(-int(share * 100) * setting.window // 100)
    passes = committed(run)
    assert all(net >= least for net in passes)
    came_in = run.turn_rows[-1].tokens + sum(passes) - setting.head
    assert len(passes) <= most_passes(setting.head, came_in, least)


def test_the_bound_is_whole_passes() -> None:
    assert most_passes(5_000, 94_999, 10_000) == 9
    assert most_passes(5_000, 95_000, 10_000) == 10
