"""Extreme conditions: what must happen at the ends of every scale is known without a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from policies import load_policy, policy_names
from scenarios import load_scenario
from simulator.contracts import CheckPoint, MeasurementPlan, Policy, Terms
from simulator.laws import Laws, MeasurementLaw, RationaleLaw, SummaryLaw
from simulator.plan import RewritePlan, Summarise
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span

Make = Callable[..., Policy]
QUIET: dict[str, object] = dict.fromkeys(
    ("workload.results_per_turn", "workload.reply_low", "workload.reply_high"), 0
)
MORTAL = [name for name in policy_names() if not load_policy(name).terms.endless_window]


def spiral(
    name: str, scenario: dict[str, object], policy: dict[str, object] | None = None, seed: int = 7
) -> Run:
    setting = load_scenario("rewrite-budget-spiral", scenario).setting()
    return simulate(setting, load_policy(name, policy), seed)


def is_free(terms: Terms) -> bool:
    """Whether a rewrite writes nothing about itself into the window."""
    return not terms.deliberates and terms.measurement is MeasurementPlan.NONE


# --------------------------------------------------------------------------- arrivals, window, horizon


@pytest.mark.theory
@pytest.mark.parametrize("name", policy_names())
def test_without_arrivals_nothing_ever_happens(by_share: Callable[[Policy], bool], name: str) -> None:
    run = spiral(name, QUIET)
    assert run.outcome == "horizon"
    assert {row.tokens for row in run.turn_rows} == {5_000}
    if run.rewrite_rows:  # wants to at any size, at each call or so often, and finds nothing to touch
        assert not by_share(load_policy(name)) or name == "always-escalates"
        assert {(row.selected, row.outcome, row.usd) for row in run.rewrite_rows} == {(0, "refused", 0.0)}
        bound = spiral("never-rewrite", QUIET)
        assert [row._replace(believed_tokens=5_000) for row in run.turn_rows] == bound.turn_rows
        return
    assert run.summary["first_trigger_turn"] is None
    assert run.summary["occupancy_q95_pct"] is None


@pytest.mark.theory
@pytest.mark.parametrize("name", policy_names())
def test_without_a_single_turn_there_is_still_a_run(listed: type, name: str) -> None:
    run = simulate(Setting("nothing", 100, listed(), head=40), load_policy(name))
    assert (run.outcome, run.summary["turns"], run.summary["seconds"]) == ("complete", 0, 0)
    assert run.summary["final_occupancy_pct"] == run.summary["max_occupancy_pct"] == 40.0


@pytest.mark.theory
@pytest.mark.parametrize("name", MORTAL)
def test_a_head_that_fills_the_window_cannot_be_rewritten(name: str) -> None:
    full = spiral(name, {"window.head": 24_000, **QUIET})
    assert full.summary["tokens_freed"] == 0
    assert full.summary["max_occupancy_pct"] >= 100.0
    with_content = spiral(name, {"window.head": 24_000})
    if name == "truncate-oldest":  # costs nothing, and drops what has just arrived: it works on nothing
        assert with_content.outcome == "horizon"
        assert all(entry.tokens_after == 24_000 for entry in with_content.rewrite_rows)
    elif is_free(load_policy(name).terms):  # nothing goes into the window, but digests and replies stay
        assert all(entry.tokens_after >= 24_000 for entry in with_content.rewrite_rows)
    else:
        assert (with_content.outcome, with_content.summary["turns"]) == ("overflow", 1)
    beyond = spiral(name, {"window.head": 24_001})
    assert beyond.summary["agent_input_tokens"] == 0  # no request was ever read
    fails = any(entry.outcome in {"failed", "infeasible"} for entry in beyond.rewrite_rows)
    gives_up = fails and load_policy(name).terms.request.on_failure == "raise"
    assert beyond.outcome == ("halted" if gives_up else "dead")


@pytest.mark.theory
@pytest.mark.parametrize("name", policy_names())
def test_a_horizon_of_one_turn(name: str) -> None:
    run = spiral(name, {"run.horizon": 1})
    assert (run.outcome, run.summary["turns"], len(run.turn_rows)) == ("horizon", 1, 1)


@pytest.mark.theory
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_one_span_alone_is_summarised_to_its_share(
    listed: type, constant: Callable, scripted: Make, ratio: float
) -> None:
    policy = scripted(propose_by=lambda view: RewritePlan((Summarise(view.items[0].id),)))
    laws = Laws(summary=SummaryLaw(ratio=ratio))
    run = simulate(Setting("one", 1_000, listed(constant(1, 400)), laws=laws), policy)
    assert run.turn_rows[0].tokens == ratio * 400
    assert run.rewrite_rows[0].outcome == ("committed_without_effect" if ratio == 1 else "committed")


# --------------------------------------------------------------------------- ratio and share


@pytest.mark.theory
def test_where_nothing_compresses_naive_ends_and_guarded_commits_no_loss() -> None:
    hopeless = {
        "laws.summary.ratio": 1.0,
        "laws.summary.ratio_spread": 0.0,
        "workload.incompressible_share": 0.0,
        "supervisor.capacity": 0,
    }
    naive = spiral("naive", hopeless)
    assert naive.outcome == "overflow"
    assert naive.summary["tokens_freed"] == 0
    assert naive.summary["rewrites_committed"] == naive.summary["rewrites_without_effect"] > 0
    guarded = spiral("guarded", hopeless)
    assert all(entry.net >= 1 for entry in guarded.rewrite_rows if entry.outcome == "committed")
    assert guarded.summary["rewrites_without_effect"] == 0


@pytest.mark.theory
def test_where_everything_compresses_to_nothing_a_rewrite_frees_its_sources() -> None:
    magic = {
        "laws.summary.ratio": 0.0,
        "laws.summary.ratio_spread": 0.0,
        "workload.incompressible_share": 0.0,
    }
    for name in ("naive", "guarded"):
        first = spiral(name, magic).rewrite_rows[0]
        assert first.freed == first.selected_tokens > 0
        assert first.summaries_tokens == 0


@pytest.mark.theory
def test_a_measurement_of_nothing_costs_nothing_and_one_of_all_is_the_end() -> None:
    free = spiral("naive", {"laws.measurement.share": 0.0})
    assert free.summary["measurement_cost_tokens"] == 0
    assert free.rewrite_rows
    whole = spiral("naive", {"laws.measurement.share": 1.0})
    first = whole.rewrite_rows[0]
    assert first.measurement_cost == first.tokens_before + first.rewrite_cost - first.freed
    assert first.tokens_after == 2 * first.measurement_cost
    assert (whole.outcome, whole.summary["turns"]) == ("overflow", first.turn)


@pytest.mark.theory
def test_the_gate_refuses_every_recount_that_writes_all_again() -> None:
    run = spiral("guarded-full-measurement", {"laws.measurement.share": 1.0})
    assert run.rewrite_rows
    assert {(entry.outcome, entry.net <= 0) for entry in run.rewrite_rows} == {("refused", True)}


# --------------------------------------------------------------------------- nothing to do, nobody to ask


@pytest.mark.theory
@pytest.mark.parametrize("name", ["naive", "guarded", "truncate-oldest"])
def test_where_all_is_pinned_nothing_is_touched(name: str) -> None:
    asked: dict[str, object] = {"selector.kinds": [], "selector.dead_first": False}
    run = spiral(name, {"supervisor.capacity": 0}, asked)
    assert run.outcome == "overflow"
    assert run.rewrite_rows
    assert {(entry.selected, entry.freed) for entry in run.rewrite_rows} == {(0, 0)}


@pytest.mark.theory
def test_a_supervisor_without_capacity_never_comes() -> None:
    with_help, without = (
        spiral("guarded", {"supervisor.capacity": capacity, "workload.cited_share": 0.9})
        for capacity in (1, 0)
    )
    assert with_help.summary["escalations"] > 0  # type: ignore[operator]
    assert with_help.summary["out_of_band_tokens"] > 0  # type: ignore[operator]
    assert without.summary["escalations"] > 0  # type: ignore[operator]
    assert without.summary["out_of_band_tokens"] == 0
    assert without.outcome == "overflow"


@pytest.mark.theory
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_provider_that_always_or_never_fails(share: float) -> None:
    run = spiral("guarded", {"provider.failure_share": share, "workload.cited_share": 1.0})
    reached = [entry for entry in run.rewrite_rows if entry.stage in ("replace", "gate", "commit", "settle")]
    assert reached
    assert {entry.outcome == "failed" for entry in reached} == {share == 1.0}


@pytest.mark.theory
def test_a_separate_quota_cannot_spiral() -> None:
    setting = load_scenario("rewrite-budget-spiral").setting()
    inside = simulate(setting, load_policy("naive"), 7)
    apart = simulate(replace(setting, charged_to="separate"), load_policy("naive"), 7)
    assert inside.outcome == "overflow"
    assert all(entry.net >= 0 for entry in apart.rewrite_rows)
    assert apart.summary["quota_tokens"] > 0  # type: ignore[operator]
    assert {entry.own_selected for entry in apart.rewrite_rows} == {0}


@pytest.mark.theory
def test_spans_of_no_size_at_all(listed: type, scripted: Make) -> None:
    from simulator.contracts import Turn

    turns = tuple(Turn((Span(number, Kind.TOOL_RESULT, 0),)) for number in range(5))
    policy = scripted(
        terms=Terms(check_points=frozenset({CheckPoint.TURN_END}), measurement=MeasurementPlan.FULL),
        propose_by=lambda view: RewritePlan(tuple(Summarise(item.id) for item in view.items)),
    )
    laws = Laws(rationale=RationaleLaw(base=10), measurement=MeasurementLaw(share=0.5))
    run = simulate(Setting("empty", 10_000, listed(turns), laws=laws), policy)
    assert run.outcome == "complete"
    assert {entry.outcome for entry in run.rewrite_rows} <= {"committed", "committed_without_effect"}
