"""Costs for information, without a target: whole runs, and a rewrite attempt by the spans it looks at."""

from __future__ import annotations

from findings import Finding, in_time, of_ratio, require
from pairing import cpu, paired
from turn import BARE_TIMEOUTS, Idle, TimedTurns, bare_timeouts, counted_events, setting_of

from policies import load_policy
from scenarios import load_scenario
from simulator import CheckPoint, Evict, Kind, MeasurementPlan, RewritePlan, Terms, View, simulate
from simulator.view import Gauge

SOME_SPANS, MORE_SPANS = 1_000, 9_000
ATTEMPTS = 20


class Evicting(Idle):
    """Rewrites at each request: looks at every span, and removes the oldest tool result."""

    name = "evicting"
    terms = Terms(
        check_points=frozenset({CheckPoint.BEFORE_REQUEST}),
        deliberates=False,
        measurement=MeasurementPlan.NONE,
    )

    def check(self, gauge: Gauge) -> bool:
        return True

    def propose(self, view: View) -> RewritePlan:
        oldest = next(item for item in view.items if item.kind is Kind.TOOL_RESULT)
        return RewritePlan((Evict(oldest.id),), oldest.tokens)


def whole_runs(rounds: int) -> list[Finding]:
    """Measure a naive and a guarded run of the emergent spiral, and what a run of one turn costs."""
    setting = load_scenario("rewrite-budget-spiral").setting()
    reference = bare_timeouts()
    findings = []
    for name in ("naive", "guarded"):
        policy = load_policy(name)
        with counted_events() as events:
            run = simulate(setting, policy, seed=1)
        work = f"{events.scheduled} events, {len(run.turn_rows)} turns, {len(run.rewrite_rows)} attempts"
        ratio = paired(reference, cpu(lambda policy=policy: simulate(setting, policy, seed=1)), rounds)
        findings.append(
            Finding(
                f"{name} run of rewrite-budget-spiral ({run.outcome})",
                "bare SimPy timeouts",
                **of_ratio(ratio, BARE_TIMEOUTS),
                times=in_time(ratio.best_case),
                work=work,
            )
        )
    return [*findings, _fixed_cost(rounds)]


def _fixed_cost(rounds: int) -> Finding:
    def work() -> None:
        workload = TimedTurns(1)
        workload.last = 1
        simulate(setting_of(workload), Idle())

    ratio = paired(bare_timeouts(), cpu(work), rounds)
    return Finding(
        "run of a single turn (set up, recount, manifest)",
        "bare SimPy timeouts",
        **of_ratio(ratio, BARE_TIMEOUTS),
        times=in_time(ratio.best_case),
    )


def attempt_a_span(rounds: int) -> Finding:
    """Measure what each further span adds to a rewrite attempt that looks at all and removes one."""
    work = require(
        {f"attempts at {spans} spans": (_attempts(spans), ATTEMPTS) for spans in (SOME_SPANS, MORE_SPANS)}
    )

    def measure() -> float:
        return _seconds(MORE_SPANS) - _seconds(SOME_SPANS)

    ratio = paired(bare_timeouts(), measure, rounds)
    spans = ATTEMPTS * (MORE_SPANS - SOME_SPANS)
    return Finding(
        "rewrite attempt, for each span looked at",
        "bare SimPy timeouts",
        **of_ratio(ratio, BARE_TIMEOUTS / spans),
        times=in_time(ratio.best_case / spans),
        work=work,
    )


def _seconds(spans: int) -> float:
    workload = TimedTurns(ATTEMPTS, spans)
    simulate(setting_of(workload), Evicting())
    return workload.seconds


def _attempts(spans: int) -> int:
    workload = TimedTurns(ATTEMPTS, spans)
    run = simulate(setting_of(workload), Evicting())
    committed = [row for row in run.rewrite_rows if row.outcome == "committed" and row.selected == 1]
    return sum(row.turn > workload.last - ATTEMPTS for row in committed)
