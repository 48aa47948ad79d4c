"""The agent: the order of a turn, how a run ends, windows that switch, and the supervisor beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from simulator.contracts import CheckPoint, MeasurementPlan, Policy, Terms, Turn, Verdict
from simulator.laws import Laws, MeasurementLaw, RationaleLaw
from simulator.plan import Evict, RewritePlan
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams
from simulator.supervisor import SupervisorSpec
from simulator.view import View
from simulator.world import PremiseSpec, WorldSpec

Make = Callable[..., Policy]
INSTANT = ProviderSpec(
    overhead_seconds=1.0, prefill_tokens_per_second=math.inf, decode_tokens_per_second=math.inf
)
"""Every request takes one second, whatever is in it."""


@pytest.fixture
def never(scripted: Make) -> Policy:
    return scripted(check_by=False)


# --------------------------------------------------------------------------- the turn


@pytest.mark.unit
def test_a_turn_asks_at_the_declared_points_in_order(listed: type, scripted: Make) -> None:
    arrival, reply = (Span(1, Kind.USER, 10),), (Span(2, Kind.ASSISTANT, 5),)
    turns = (Turn(arrival, reply, user_turn=True), Turn((), ()))
    policy = scripted(terms=Terms(check_points=frozenset(CheckPoint)), check_by=False)
    run = simulate(Setting("points", 100, listed(turns)), policy)
    points = [point for point in CheckPoint if point is not CheckPoint.OVERFLOW]
    assert points == ["turn_start", "user_turn", "after_result", "before_request", "turn_end"]
    assert [gauge.point for gauge in policy.gauges] == [*points, points[0], *points[2:]]
    assert [gauge.tokens for gauge in policy.gauges] == [0, 10, 10, 10, 15, 15, 15, 15, 15]
    assert [row.user_turn for row in run.turn_rows] == [1, 1]


@pytest.mark.unit
@pytest.mark.parametrize("point", list(CheckPoint))
def test_no_other_point_is_asked(listed: type, constant: Callable, scripted: Make, point: CheckPoint) -> None:
    policy = scripted(terms=Terms(check_points=frozenset({point})), check_by=False)
    simulate(Setting("points", 1000, listed(constant(3, 10))), policy)
    assert {gauge.point for gauge in policy.gauges} <= {point}
    assert len(policy.gauges) == (0 if point in (CheckPoint.USER_TURN, CheckPoint.OVERFLOW) else 3)


@pytest.mark.unit
def test_the_clock_runs_through_tools_and_requests(listed: type, constant: Callable, never: Policy) -> None:
    spec = ProviderSpec(
        overhead_seconds=2.0, prefill_tokens_per_second=100, decode_tokens_per_second=10, cache_seconds=1e9
    )
    run = simulate(
        Setting("clock", 10**6, listed(constant(2, 100, reply=30, seconds=4.0)), provider=spec), never
    )
    # tools, then overhead, 100 tokens read, 30 written; then the 30 and 100 more behind the cached 100
    assert [row.time_s for row in run.turn_rows] == [4 + 2 + 1 + 3, 10 + 4 + 2 + 1.3 + 3]
    assert run.summary["cache_read_tokens"] == 100


@pytest.mark.unit
@pytest.mark.parametrize(("accepted", "requests"), [(True, [0, 1, 2, 1, 2]), (False, [0, 1, 2, 3, 4])])
def test_requests_are_counted_since_the_last_commit(
    listed: type, constant: Callable, scripted: Make, accepted: bool, requests: list[int]
) -> None:
    policy = scripted(check_by=lambda gauge: gauge.turn == 3, judge_by=Verdict(accepted, "said"))
    simulate(Setting("requests", 10**6, listed(constant(5, 100))), policy)
    assert [gauge.requests_since_rewrite for gauge in policy.gauges] == requests


# --------------------------------------------------------------------------- ends


@pytest.mark.unit
@pytest.mark.parametrize(("horizon", "outcome", "turns"), [(3, "horizon", 3), (9, "complete", 5)])
def test_a_run_ends_at_its_horizon_or_with_its_work(
    listed: type, constant: Callable, never: Policy, horizon: int, outcome: str, turns: int
) -> None:
    run = simulate(Setting("ends", 10**6, listed(constant(5, 10)), horizon=horizon), never)
    assert (run.outcome, run.summary["turns"], len(run.turn_rows)) == (outcome, turns, turns)


@pytest.mark.unit
@pytest.mark.parametrize(("reserve", "last"), [(0, 10), (1, 9), (100, 9), (101, 8)])
def test_overflow_is_the_first_request_that_leaves_no_room(
    listed: type, constant: Callable, never: Policy, reserve: int, last: int
) -> None:
    setting = Setting("ends", 1_000, listed(constant(50, 100)), output_reserve=reserve)
    run = simulate(setting, never)
    assert run.outcome == "overflow"
    assert run.turn_rows[-1].turn == last + 1
    assert run.turn_rows[-1].tokens == 100 * (last + 1)


@pytest.mark.unit
def test_an_endless_window_never_overflows(listed: type, constant: Callable, scripted: Make) -> None:
    policy = scripted(terms=Terms(endless_window=True), check_by=False)
    run = simulate(Setting("ends", 1_000, listed(constant(50, 100))), policy)
    assert (run.outcome, run.summary["max_occupancy_pct"]) == ("complete", 500.0)


# --------------------------------------------------------------------------- windows


def switched(listed: type, constant: Callable, *windows: tuple[int, int], head: int = 0) -> Setting:
    return Setting("windows", 1_000, listed(constant(8, 100)), head=head, world=WorldSpec(windows=windows))


@pytest.mark.unit
def test_a_smaller_window_can_be_the_end(listed: type, constant: Callable, never: Policy) -> None:
    run = simulate(switched(listed, constant, (5, 400)), never)
    assert (run.outcome, run.turn_rows[-1].turn) == ("overflow", 5)
    assert [row.kind for row in run.event_rows] == ["window"]
    assert run.turn_rows[3].occupancy_pct == 40.0
    assert run.turn_rows[4].occupancy_pct == run.summary["max_occupancy_pct"] == 125.0


@pytest.mark.unit
def test_a_window_below_the_head_is_death(listed: type, constant: Callable, never: Policy) -> None:
    assert simulate(switched(listed, constant, (5, 400), head=401), never).outcome == "dead"
    assert simulate(switched(listed, constant, (5, 400), head=400), never).outcome == "overflow"
    for reserve, outcome in ((101, "dead"), (100, "overflow")):  # nothing can be sent that leaves no room
        setting = replace(switched(listed, constant, (5, 400), head=300), output_reserve=reserve)
        assert simulate(setting, never).outcome == outcome


@pytest.mark.unit
def test_the_highest_occupancy_is_over_all_windows(listed: type, constant: Callable, never: Policy) -> None:
    # 400 of 1,000, then at most 800 of 10,000: the top is in the first window
    run = simulate(switched(listed, constant, (5, 10_000)), never)
    assert (run.outcome, run.summary["max_occupancy_pct"]) == ("complete", 40.0)
    # and at the switch itself, before anything has arrived: 400 of 500, evicted before the request
    assert (
        simulate(switched(listed, constant, (5, 500), (6, 10_000)), never).summary["max_occupancy_pct"]
        == 100.0
    )


@pytest.mark.unit
def test_the_highest_occupancy_is_over_all_instants(listed: type, constant: Callable, scripted: Make) -> None:
    laws = Laws(rationale=RationaleLaw(base=150), measurement=MeasurementLaw(full_tokens=20))
    policy = scripted(terms=Terms(), propose_by=lambda view: RewritePlan((Evict(view.items[0].id),)))
    run = simulate(Setting("peak", 1_000, listed(constant(1, 600)), laws=laws), policy)
    assert run.turn_rows[0].tokens == 170
    assert run.summary["max_occupancy_pct"] == 75.0  # 600 and the rationale, before the commit


@pytest.mark.unit
def test_the_policy_is_told_the_window_in_force(listed: type, constant: Callable, scripted: Make) -> None:
    policy = scripted(check_by=False)
    simulate(switched(listed, constant, (3, 5_000), (6, 2_000)), policy)
    assert [gauge.window for gauge in policy.gauges] == [1_000] * 2 + [5_000] * 3 + [2_000] * 3


# --------------------------------------------------------------------------- retirement


@pytest.mark.unit
@pytest.mark.parametrize(
    ("marked", "retires", "retired"),
    [(True, True, 57), (True, False, 0), (False, True, 0), (False, False, 0)],
)
def test_marked_artifacts_retire_whole_at_the_next_turn_where_the_policy_asks(
    listed: type, constant: Callable, scripted: Make, marked: bool, retires: bool, retired: int
) -> None:
    laws = Laws(rationale=RationaleLaw(base=50), measurement=MeasurementLaw(full_tokens=7))
    policy = scripted(
        terms=Terms(never_summarised=marked, retires=retires),
        check_by=lambda gauge: gauge.turn == 2,
        propose_by=lambda view: RewritePlan((Evict(view.items[0].id),)),
    )
    run = simulate(Setting("retire", 10_000, listed(constant(4, 100)), laws=laws), policy)
    assert [row.retired for row in run.turn_rows] == [0, 0, retired, 0]
    assert [row.tokens for row in run.turn_rows] == [100, 157, 257 - retired, 357 - retired]
    (entry,) = run.rewrite_rows
    assert (entry.freed, entry.net) == (100, 43)  # retiring is in nobody's net


@pytest.mark.unit
@pytest.mark.parametrize(
    ("marks", "outcomes"),
    [
        ({"immutable_this_turn": True}, ["committed", "refused", "committed"]),
        ({"never_summarised": True}, ["committed", "refused", "refused"]),
        ({}, ["committed", "committed", "committed"]),
    ],
)
def test_the_mark_of_a_turn_is_lifted_at_its_end(
    listed: type, constant: Callable, scripted: Make, marks: dict[str, bool], outcomes: list[str]
) -> None:
    # turn 1 asks twice, turn 2 once: evict the first span, then always the first rationale
    def oldest_record(view: View) -> RewritePlan:
        records = [item.id for item in view.items if item.kind is Kind.RATIONALE]
        return RewritePlan((Evict(records[0] if records else view.items[0].id),))

    two = frozenset({CheckPoint.AFTER_RESULT, CheckPoint.TURN_END})
    policy = scripted(
        terms=Terms(check_points=two, measurement=MeasurementPlan.NONE, **marks),
        check_by=lambda gauge: gauge.turn == 1 or gauge.point == CheckPoint.AFTER_RESULT,
        propose_by=oldest_record,
    )
    laws = Laws(rationale=RationaleLaw(base=50))
    run = simulate(Setting("marks", 10_000, listed(constant(2, 100)), laws=laws), policy)
    assert [entry.outcome.removesuffix("_without_effect") for entry in run.rewrite_rows] == outcomes


# --------------------------------------------------------------------------- premises


@pytest.mark.unit
def test_premises_change_on_their_own_clock(listed: type, constant: Callable, never: Policy) -> None:
    for clock, epochs in (("turns", [0, 1, 1, 2]), ("seconds", [0, 0, 1, 1])):
        world = WorldSpec((PremiseSpec("schema", at=(2, 4)),), clock)  # type: ignore[arg-type]
        setting = Setting("premises", 10**6, listed(constant(4, 10)), provider=INSTANT, world=world)
        run = simulate(setting, never)
        # a turn takes one second, and ends at 1, 2, 3, 4; it starts at 0, 1, 2, 3
        assert [row.epoch for row in run.turn_rows] == epochs
        assert [(row.kind, row.detail) for row in run.event_rows] == [("premise", "schema")] * epochs[-1]


# --------------------------------------------------------------------------- the supervisor


def always_refused(scripted: Make, **answers: object) -> Policy:
    return scripted(admit_by=Verdict(False, "no"), learn_by=True, **answers)


@pytest.mark.unit
def test_an_escalation_evicts_the_oldest_out_of_band_while_the_agent_goes_on(
    listed: type, constant: Callable, scripted: Make
) -> None:
    policy = always_refused(scripted, check_by=lambda gauge: gauge.turn == 3)
    setting = Setting(
        "supervisor",
        10_000,
        listed(constant(6, 100), (Span(0, Kind.USER, 40),)),
        head=60,
        provider=INSTANT,
        supervisor=SupervisorSpec(service_seconds=1.5, evict_tokens=150),
    )
    run = simulate(setting, policy)
    # asked for at second 2, served at 3.5: in the request of turn 4; two whole results go, head and user stay
    assert [row.out_of_band for row in run.turn_rows] == [0, 0, 0, 200, 0, 0]
    assert [row.tokens for row in run.turn_rows] == [200, 300, 400, 300, 400, 500]
    assert [(row.kind, row.time_s, row.tokens) for row in run.event_rows] == [
        ("escalation", 2.0, 0),
        ("out_of_band", 3.5, 200),
    ]
    assert (run.summary["escalations"], run.summary["out_of_band_tokens"]) == (1, 200)
    assert run.summary["tokens_freed"] == run.summary["net_tokens"] == 0


@pytest.mark.unit
def test_retiring_breaks_the_cache_where_the_artifacts_stood(
    listed: type, constant: Callable, scripted: Make
) -> None:
    policy = scripted(
        terms=Terms(never_summarised=True, retires=True),
        check_by=lambda gauge: gauge.turn == 2,
        propose_by=RewritePlan(),
    )
    laws = Laws(rationale=RationaleLaw(base=50))
    run = simulate(Setting("cache", 10_000, listed(constant(4, 100)), laws=laws), policy)
    # turn 2: 100 for the planner, 200 for the request; turn 3: the 200 before the rationale; turn 4: all 300
    assert run.summary["cache_read_tokens"] == 100 + 200 + 200 + 300


@pytest.mark.unit
def test_the_supervisor_breaks_the_cache_where_it_evicts(
    listed: type, constant: Callable, scripted: Make
) -> None:
    policy = always_refused(scripted, check_by=lambda gauge: gauge.turn == 3)
    setting = Setting(
        "cache", 10_000, listed(constant(4, 100)), head=60, supervisor=SupervisorSpec(evict_tokens=1)
    )
    run = simulate(setting, policy)
    # 160 written; 160 read; 260 read and the oldest evicted while the request is under way; the head is left
    assert run.summary["cache_read_tokens"] == 160 + 260 + 60


@pytest.mark.unit
def test_each_escalation_has_a_service_time_of_its_own(
    listed: type, constant: Callable, scripted: Make
) -> None:
    policy = always_refused(scripted, check_by=lambda gauge: gauge.turn in (2, 30))
    spec = SupervisorSpec(service_seconds=5.0, constant=False, evict_tokens=1)
    setting = Setting(
        "services", 10**6, listed(constant(60, 100)), horizon=60, provider=INSTANT, supervisor=spec
    )
    run = simulate(setting, policy, 7)
    draws = Streams(7, 0, "services").exponential("service")
    asked = [row.time_s for row in run.event_rows if row.kind == "escalation"]
    came = [row.time_s for row in run.event_rows if row.kind == "out_of_band"]
    assert asked == [1.0, 29.0]
    assert came == pytest.approx([1.0 + 5.0 * draws[0], 29.0 + 5.0 * draws[1]])


@pytest.mark.unit
def test_a_supervisor_spares_what_is_protected(listed: type, constant: Callable, scripted: Make) -> None:
    laws = Laws(rationale=RationaleLaw(base=50))
    policy = scripted(
        terms=Terms(never_summarised=True),
        judge_by=Verdict(False, "no"),
        learn_by=True,
    )
    setting = Setting(
        "spared", 10_000, listed(constant(4, 100)), laws=laws, supervisor=SupervisorSpec(evict_tokens=10**6)
    )
    run = simulate(setting, policy)
    assert run.summary["out_of_band_tokens"] == 400
    assert run.turn_rows[-1].tokens == 4 * 50


@pytest.mark.unit
def test_what_goes_out_of_band_during_an_attempt_is_in_its_entry(
    listed: type, constant: Callable, scripted: Make
) -> None:
    laws = Laws(rationale=RationaleLaw(base=50))
    policy = scripted(
        terms=Terms(),
        propose_by=lambda view: RewritePlan((Evict(view.items[0].id),)),
        judge_by=Verdict(False, "no"),
        learn_by=True,
    )
    setting = Setting(
        "meanwhile",
        10_000,
        listed(constant(5, 100)),
        laws=laws,
        provider=INSTANT,
        supervisor=SupervisorSpec(service_seconds=1.5, evict_tokens=30),
    )
    run = simulate(setting, policy)
    during = [entry.out_of_band_during for entry in run.rewrite_rows]
    assert sum(during) > 0  # the service ended inside an attempt
    assert sum(during) <= run.summary["out_of_band_tokens"]  # type: ignore[operator]
