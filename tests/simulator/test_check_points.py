"""Check points: arrivals together and apart, the answer to a refused request, blind spots and bursts."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

import pytest

from simulator.contracts import (
    BackgroundTerms,
    CheckPoint,
    MeasurementPlan,
    Policy,
    RequestTerms,
    Terms,
    Turn,
    Verdict,
)
from simulator.laws import Laws, SummaryLaw
from simulator.plan import Evict, Fold, Mask, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.view import View

Make = Callable[..., Policy]
AFTER, BEFORE, OVERFLOW = CheckPoint.AFTER_RESULT, CheckPoint.BEFORE_REQUEST, CheckPoint.OVERFLOW
SECOND = ProviderSpec(
    overhead_seconds=1.0, prefill_tokens_per_second=math.inf, decode_tokens_per_second=math.inf
)
"""Every request takes one second, whatever is in it."""


def quiet(*points: CheckPoint, **terms: object) -> Terms:
    return Terms(frozenset(points), deliberates=False, measurement=MeasurementPlan.NONE, **terms)  # type: ignore[arg-type]


def results(*sizes: int, first: int = 10) -> tuple[Span, ...]:
    return tuple(Span(first + place, Kind.TOOL_RESULT, tokens, 1) for place, tokens in enumerate(sizes))


def evict_oldest(number: int = 1) -> Callable[[View], RewritePlan]:
    return lambda view: RewritePlan(tuple(Evict(item.id) for item in view.items[:number]))


# --------------------------------------------------------------------------- after each result


@pytest.mark.unit
@pytest.mark.parametrize(("together", "seen"), [(True, [70]), (False, [20, 50, 70])])
def test_results_that_come_apart_are_each_looked_at(
    listed: type, scripted: Make, together: bool, seen: list[int]
) -> None:
    one, two, three = results(10, 30, 20)
    user = Span(1, Kind.USER, 10, 1)
    policy = scripted(terms=quiet(AFTER), check_by=False)
    run = simulate(
        Setting("apart", 10**6, listed((Turn((user, one, two, three), together=together),))), policy
    )
    assert [gauge.tokens for gauge in policy.gauges] == seen
    assert {gauge.point for gauge in policy.gauges} == {AFTER}
    assert run.turn_rows[0].arrived_tokens == 70


@pytest.mark.unit
def test_a_pass_between_two_results_sees_the_first_alone(listed: type, scripted: Make) -> None:
    policy = scripted(
        terms=quiet(AFTER), check_by=lambda gauge: gauge.tokens == 10, propose_by=evict_oldest()
    )
    run = simulate(Setting("apart", 10**6, listed((Turn(results(10, 30, 20), together=False),))), policy)
    assert [gauge.tokens for gauge in policy.gauges] == [10, 30, 50]
    assert [item.id for item in policy.views[0].items] == [10]
    (entry,) = run.rewrite_rows
    assert (entry.tokens_before, entry.freed, entry.arrivals_during) == (10, 10, 0)
    assert run.turn_rows[0].tokens == 50


# --------------------------------------------------------------------------- on overflow


def overflowing(listed: type, policy: Policy, **setting: object) -> Run:
    """Return the run of a window of 100 with 3 times 40 tokens before its only turn."""
    before = tuple(Span(place, Kind.USER, 40) for place in range(3))
    return simulate(
        Setting("over", 100, listed((Turn(),), before), provider=SECOND, **setting),  # type: ignore[arg-type]
        policy,
    )


@pytest.mark.unit
@pytest.mark.parametrize("reserve", [0, 50])
def test_the_policy_is_asked_after_each_refused_request_until_one_fits(
    listed: type, scripted: Make, reserve: int
) -> None:
    policy = scripted(terms=quiet(OVERFLOW), propose_by=evict_oldest())
    run = overflowing(listed, policy, output_reserve=reserve)
    refused = 1 if reserve == 0 else 2
    assert [gauge.tokens for gauge in policy.gauges] == [120, 80][:refused]
    assert [gauge.time_s for gauge in policy.gauges] == [1.0, 2.0][:refused]  # a refusal takes its time
    assert run.outcome == "complete"
    assert run.summary["rejected_requests"] == refused
    assert run.summary["seconds"] == refused + 1.0
    billed = sum(run.summary[f"{kind}_tokens"] for kind in ("input", "cache_read", "cache_write"))
    assert billed == 120 - 40 * refused  # the one that fits alone


@pytest.mark.unit
@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({"check_by": False}, 1),
        ({"admit_by": Verdict(False, "no")}, 1),
        ({"judge_by": Verdict(False, "no")}, 1),
        ({"propose_by": RewritePlan()}, 1),
        # as long as it was, or longer: who changes without end and makes no room would be asked for ever
        ({"propose_by": lambda view: RewritePlan((Summarise(view.items[0].id),))}, 1),
        ({"propose_by": lambda view: RewritePlan((Mask(view.items[0].id, 41),))}, 1),
        # a token less each time: as often as it takes
        ({"propose_by": lambda view: RewritePlan((Mask(view.items[0].id, view.items[0].tokens - 1),))}, 20),
    ],
)
def test_an_answer_that_makes_no_room_is_the_end(
    listed: type, scripted: Make, answers: dict[str, object], asked: int
) -> None:
    policy = scripted(terms=quiet(OVERFLOW), **answers)
    run = overflowing(listed, policy)
    assert len(policy.gauges) == run.summary["rejected_requests"] == asked
    assert run.outcome == ("overflow" if asked == 1 else "complete")


@pytest.mark.unit
def test_who_rewrites_beside_its_turns_is_waited_for_when_nothing_can_be_sent(
    listed: type, scripted: Make
) -> None:
    policy = scripted(
        terms=quiet(OVERFLOW, background=BackgroundTerms()),
        propose_by=lambda view: RewritePlan((Fold(tuple(item.id for item in view.items[:2])),)),
    )
    run = overflowing(listed, policy, laws=Laws(summary=SummaryLaw(ratio=0.5)))
    assert [(entry.outcome, entry.tokens_after, entry.replace_seconds) for entry in run.rewrite_rows] == [
        ("committed", 80, 1.0)
    ]
    assert (run.outcome, run.summary["seconds"]) == ("complete", 3.0)  # refused, summarised, sent


@pytest.mark.unit
def test_nobody_is_asked_where_the_request_fits_or_the_point_is_not_declared(
    listed: type, scripted: Make, constant: Callable
) -> None:
    fits = scripted(terms=quiet(OVERFLOW))
    assert simulate(Setting("fits", 400, listed(constant(4, 100))), fits).outcome == "complete"
    blind = scripted(terms=quiet(CheckPoint.TURN_END), check_by=False)
    run = overflowing(listed, blind)
    assert (fits.gauges, blind.gauges) == ([], [])
    assert (run.outcome, run.summary["rejected_requests"]) == ("overflow", 0)


@pytest.mark.unit
def test_a_halted_agent_sends_no_request_that_could_be_refused(listed: type, scripted: Make) -> None:
    terms = quiet(BEFORE, OVERFLOW, request=RequestTerms(window=10, on_failure="raise"))
    policy = scripted(terms=terms, propose_by=lambda view: RewritePlan((Summarise(view.items[0].id),)))
    run = overflowing(listed, policy)
    assert (run.outcome, run.summary["rejected_requests"]) == ("halted", 0)
    assert [gauge.point for gauge in policy.gauges] == [BEFORE]


# --------------------------------------------------------------------------- documented blind spots


def goose(scripted: Make, listed: type, point: CheckPoint) -> tuple[Policy, Run]:
    """Return field report S33: one user turn of results of 1,064 tokens, from 17,189, trigger 17,203."""
    window, trigger = 49_152, 17_203
    identities = count(1)
    user = Span(next(identities), Kind.USER, 0, 1)
    calls = (Turn((Span(next(identities), Kind.TOOL_RESULT, 1_064),)) for _ in range(40))
    turns = (Turn((user,), user_turn=True), *calls)
    policy = scripted(
        terms=quiet(point),
        check_by=lambda gauge: gauge.tokens >= trigger,
        propose_by=lambda view: RewritePlan(tuple(Evict(item.id) for item in view.items[:-1])),
    )
    return policy, simulate(Setting("goose", window, listed(turns, (Span(0, Kind.USER, 17_189),))), policy)


@pytest.mark.theory
def test_a_trigger_at_user_turns_alone_is_blind_through_a_turn_of_tools(listed: type, scripted: Make) -> None:
    policy, run = goose(scripted, listed, CheckPoint.USER_TURN)
    assert [gauge.tokens for gauge in policy.gauges] == [17_189]
    calls = [row.turn - 1 for row in run.turn_rows if row.tokens >= 17_203]
    assert (calls[0], calls[-1]) == (1, 31)  # over the trigger at call 1, over the window at call 31
    assert (run.outcome, run.summary["rewrites_committed"]) == ("overflow", 0)
    _, other = goose(scripted, listed, BEFORE)
    assert (other.outcome, other.rewrite_rows[0].turn) == ("complete", 2)


@pytest.mark.theory
@pytest.mark.parametrize(("together", "counts"), [(True, [154, 188]), (False, [154, 162.5, 171])])
def test_a_burst_jumps_over_the_band_in_which_a_pass_is_feasible(
    listed: type, scripted: Make, together: bool, counts: list[float]
) -> None:
    # field report S34: four results of 8,500 on 154,000; trigger 167,000, hard limit 200,000
    prompt = 20_000  # what the summariser must be told beside the context
    policy = scripted(
        terms=quiet(AFTER, request=RequestTerms(reads_all=True, overhead_tokens=prompt)),
        check_by=lambda gauge: gauge.tokens >= 167_000,
        propose_by=lambda view: RewritePlan((Summarise(view.items[0].id),)),
    )
    turns = (Turn(), Turn(results(*[8_500] * 4), together=together))
    setting = Setting(
        "burst",
        200_000,
        listed(turns, (Span(0, Kind.USER, 154_000),)),
        output_reserve=20_000,
        laws=Laws(summary=SummaryLaw(ratio=0.1)),
    )
    run = simulate(setting, policy)
    seen = [gauge.tokens / 1_000 for gauge in policy.gauges]
    assert seen[: len(counts)] == counts
    if together:
        assert len(seen) == 2  # never in the band from 167 to 180
        assert run.rewrite_rows[0].outcome == "infeasible"  # 208,000 do not fit
        assert run.outcome == "overflow"
    else:
        assert run.rewrite_rows[0].outcome == "committed"  # 191,000 do
        assert run.outcome == "complete"
