"""What a policy may answer between rewrites, what it may name, and what a fleet asks of it beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulator.contracts import Policy, Terms, TombstoneTerms, Verdict
from simulator.errors import RunFailed
from simulator.plan import Evict, RewritePlan
from simulator.setting import FleetSpec, Setting
from simulator.simulation import simulate
from simulator.spans import Kind, Span
from simulator.supervisor import Supervisor, SupervisorSpec
from simulator.world import PremiseSpec, WorldSpec

pytestmark = pytest.mark.unit


def failed(setting: Setting, policy: Policy) -> RunFailed:
    with pytest.raises(RunFailed) as failure:
        simulate(setting, policy)
    return failure.value


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        (Verdict("no", "x"), "accepted"),  # type: ignore[arg-type]
        (Verdict(True, 3), "reason"),  # type: ignore[arg-type]
        (Verdict(True, "x", None), "figures"),  # type: ignore[arg-type]
        (Verdict(True, "x", {}, escalate=7), "escalate"),  # type: ignore[arg-type]
    ],
)
def test_a_verdict_is_checked_for_what_its_types_promise(
    listed: Any, constant: Callable[..., Any], scripted: Callable[..., Policy], answer: Verdict, field: str
) -> None:
    setting = Setting("verdicts", 10_000, listed(constant(3, 100)))
    fault = failed(setting, scripted(admit_by=answer))
    assert (fault.stage, f"a Verdict whose {field} is " in str(fault)) == ("admit", True)


@pytest.mark.parametrize(
    ("named", "told"),
    [((0, 0), "two tombstones for span 0"), ((7,), "does not drop"), ([0], "expected a tuple")],
)
def test_tombstones_name_what_is_dropped_each_once(
    listed: Any, scripted: Callable[..., Policy], constant: Callable[..., Any], named: Any, told: str
) -> None:
    terms = Terms(deliberates=False, tombstones=TombstoneTerms())
    policy = scripted(terms=terms, propose_by=RewritePlan((Evict(0),), 0, named))
    before = (Span(0, Kind.TOOL_RESULT, 100),)
    fault = failed(Setting("tombstones", 10_000, listed(constant(2, 10), before)), policy)
    assert (fault.stage, told in str(fault)) == ("propose", True)


def test_a_fleet_needs_policies_of_their_own(
    listed: Any, constant: Callable[..., Any], scripted: Callable[..., Policy]
) -> None:
    setting = Setting("fleet", 10_000, listed(constant(2, 10)), fleet=FleetSpec(2))
    for deepcopy, told in (
        (lambda policy, _: policy, "no policy of its own"),
        (lambda *_: None, "policy raised"),
        (lambda *_: 1 / 0, "policy raised ZeroDivisionError"),
    ):
        policy = scripted()
        kind = type("Odd", (type(policy),), {"__deepcopy__": deepcopy})
        fault = failed(setting, kind())
        assert (fault.stage, told in str(fault)) == ("copy", True)


def test_a_premise_that_never_rests_ends_the_run(
    listed: Any, constant: Callable[..., Any], scripted: Callable[..., Policy]
) -> None:
    for interval, fails in ((1 / 512, False), (1e-300, True)):
        world = WorldSpec((PremiseSpec("schema", mean_interval=interval, constant=True),))
        setting = Setting("restless", 10_000, listed(constant(1, 10)), world=world)
        if fails:
            assert failed(setting, scripted()).stage == "world"
        else:
            assert (
                simulate(setting, scripted()).turn_rows[-1].epoch == 512
            )  # a binary fraction: its multiples are exact


def test_only_the_served_have_waited() -> None:
    import simpy

    env = simpy.Environment()
    supervisor = Supervisor(env, SupervisorSpec(service_seconds=10))
    for _ in range(2):
        supervisor.escalate(lambda _: None)
    env.run(until=15)
    assert (supervisor.served, supervisor.waited_seconds) == (1, 0.0)
    env.run(until=25)
    assert (supervisor.served, supervisor.waited_seconds) == (2, 10.0)
