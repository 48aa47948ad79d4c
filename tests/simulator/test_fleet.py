"""Fleets: one supervisor for many agents, held to machine repair; each agent's world is its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from policies import load_policy
from scenarios import load_scenario
from simulator.contracts import Policy, Terms, Turn, Verdict
from simulator.errors import InputError
from simulator.plan import Evict, RewritePlan
from simulator.provider import ProviderSpec
from simulator.setting import FleetSpec, Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams
from simulator.summary import EXTREMES, MEANS
from simulator.supervisor import SupervisorSpec

Make = Callable[..., Policy]
FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right
AT_ONCE = ProviderSpec(
    overhead_seconds=0.0, prefill_tokens_per_second=math.inf, decode_tokens_per_second=math.inf
)


@dataclass(frozen=True)
class Thinking:
    """Turns that bring nothing but exponential thinking time."""

    mean: float

    def initial(self, streams: Streams) -> Iterator[Span]:
        return iter(())

    def turns(self, streams: Streams) -> Iterator[Turn]:
        draws = streams.exponential("thinking")
        place = 0
        while True:
            yield Turn(seconds=self.mean * draws[place])
            place += 1


@pytest.fixture(scope="session")
def calling(scripted: Make) -> Callable[..., Run]:
    """Run agents whose every attempt is refused and calls the supervisor, who takes 1 s in the mean."""

    def made(agents: int, servers: int, *, think: float, turns: int, seed: int, blocks: bool = True) -> Run:
        policy = scripted(admit_by=Verdict(False, "no"), learn_by=True)
        setting = Setting(
            "repair",
            10**6,
            Thinking(think),  # type: ignore[arg-type]
            horizon=turns,
            provider=AT_ONCE,
            supervisor=SupervisorSpec(servers, 1.0, constant=False),
            fleet=FleetSpec(agents, blocks),
        )
        return simulate(setting, policy, seed)

    return made


# --------------------------------------------------------------------------- machine repair, M/M/c//N


@dataclass(frozen=True)
class Repair:
    """What the desk of a supervisor sees: calls a second, seconds of waiting a call, share of it busy."""

    throughput: float
    wait: float
    utilisation: float


def repair_by_formula(agents: int, servers: int, think: float, service: float = 1.0) -> Repair:
    """Return the stationary values of M/M/c//N: birth and death over the number of agents at the desk."""
    weights = [1.0]
    for number in range(agents):
        births, deaths = (agents - number) / think, min(number + 1, servers) / service
        weights.append(weights[-1] * births / deaths)
    shares = np.array(weights) / sum(weights)
    at_desk = np.arange(agents + 1)
    throughput = float(shares @ (agents - at_desk)) / think
    waiting = float(shares @ np.maximum(at_desk - servers, 0))
    return Repair(throughput, waiting / throughput, float(shares @ np.minimum(at_desk, servers)) / servers)


def stays(run: Run) -> list[tuple[float, float]]:
    """Return when each call was made and when it had been served."""
    ends = {(row.agent, row.turn): row.time_s for row in run.turn_rows}
    return [(row.time_s, ends[row.agent, row.turn]) for row in run.event_rows if row.kind == "escalation"]


def repair_from_rows(run: Run, servers: int, begin: float, end: float) -> Repair:
    """Return what went on at the desk between two moments, from the number of agents there."""
    changes = sorted([(came, 1) for came, _ in stays(run)] + [(left, -1) for _, left in stays(run)])
    number, waited, busy, served = 0, 0.0, 0.0, 0
    for (now, change), (then, _) in pairwise([*changes, (math.inf, 0)]):
        number += change
        served += change < 0 and begin < now <= end
        overlap = max(0.0, min(then, end) - max(now, begin))
        waited += max(0, number - servers) * overlap
        busy += min(number, servers) * overlap
    return Repair(served / (end - begin), waited / served, busy / servers / (end - begin))


@pytest.mark.theory
@pytest.mark.parametrize(("agents", "servers", "think"), [(4, 1, 4.0), (8, 2, 4.0), (10, 3, 3.0)])
def test_agents_that_block_are_machines_under_repair(
    calling: Callable, agents: int, servers: int, think: float
) -> None:
    runs = [calling(agents, servers, think=think, turns=1_200 // agents, seed=seed) for seed in range(24)]
    found = []
    for run in runs:
        # from the first tenth on, and as long as all agents are there
        end = min(max(row.time_s for row in run.turn_rows if row.agent == one) for one in range(agents))
        found.append(repair_from_rows(run, servers, end / 10, end))
    expected = repair_by_formula(agents, servers, think)
    for name in ("throughput", "wait", "utilisation"):
        values = [getattr(one, name) for one in found]
        low, high = stats.t.interval(1 - FALSE_ALARM, len(runs) - 1, np.mean(values), stats.sem(values))
        assert low <= getattr(expected, name) <= high, name
        assert high - low < getattr(expected, name) / 2, name  # narrow enough to mean something


@pytest.mark.theory
def test_the_formula_is_the_textbooks() -> None:
    # two machines, one repairman, rates of 1: shares 1/5, 2/5, 2/5; one at a time is in repair
    two = repair_by_formula(2, 1, 1.0)
    assert two.throughput == pytest.approx(4 / 5)
    assert two.utilisation == pytest.approx(4 / 5)
    assert two.wait == pytest.approx(1 / 2)
    # who has a repairman each never waits
    assert repair_by_formula(3, 3, 2.0).wait == 0
    assert repair_by_formula(3, 3, 2.0).throughput == pytest.approx(3 / (2 + 1))


@pytest.mark.theory
@pytest.mark.parametrize(("agents", "servers"), [(4, 1), (8, 2), (3, 3), (1, 1)])
def test_the_summary_says_what_the_rows_say(calling: Callable, agents: int, servers: int) -> None:
    run = calling(agents, servers, think=2.0, turns=100, seed=5)
    calls = 100 * agents
    desk = repair_from_rows(run, servers, 0.0, max(row.time_s for row in run.turn_rows))
    assert run.summary["escalations"] == calls
    assert run.summary["supervisor_wait_seconds"] == pytest.approx(desk.wait, abs=1e-9)
    seconds = run.summary["seconds"]
    assert run.summary["supervisor_busy_seconds"] == pytest.approx(desk.utilisation * servers * seconds)
    # all stays together are waiting and service
    together = sum(left - came for came, left in stays(run))
    assert together == pytest.approx(desk.wait * calls + run.summary["supervisor_busy_seconds"])


@pytest.mark.theory
@pytest.mark.parametrize(("agents", "servers"), [(1, 1), (1, 5), (4, 4), (3, 9)])
def test_who_has_a_place_of_its_own_never_waits(calling: Callable, agents: int, servers: int) -> None:
    run = calling(agents, servers, think=0.1, turns=60, seed=2)
    assert run.summary["supervisor_wait_seconds"] == 0
    assert all(left > came for came, left in stays(run))


@pytest.mark.theory
def test_nobody_waits_for_a_supervisor_who_never_comes(calling: Callable) -> None:
    run = calling(3, 0, think=2.0, turns=50, seed=2)
    assert (run.outcome, run.summary["escalations"]) == ("horizon", 150)
    assert run.summary["supervisor_wait_seconds"] is None
    assert all(came == left for came, left in stays(run))


@pytest.mark.theory
def test_who_does_not_block_goes_on_thinking(calling: Callable) -> None:
    open_, never = (calling(3, servers, think=2.0, turns=50, seed=2, blocks=False) for servers in (1, 0))
    assert [row.time_s for row in open_.turn_rows] == [row.time_s for row in never.turn_rows]
    assert open_.summary["supervisor_busy_seconds"] > 0


@pytest.mark.theory
def test_a_desk_that_is_always_full_serves_at_its_capacity(calling: Callable) -> None:
    run = calling(6, 2, think=1e-9, turns=400, seed=4)
    desk = repair_from_rows(run, 2, 0.0, min(left for came, left in stays(run)[399::400]))
    assert desk.utilisation == pytest.approx(1.0, abs=1e-6)


# --------------------------------------------------------------------------- each agent's world


@pytest.mark.property
@pytest.mark.parametrize("name", ["naive", "guarded"])
def test_the_first_agents_world_is_that_of_no_fleet(name: str) -> None:
    setting = load_scenario("rewrite-budget-spiral", {"run.horizon": 120}).setting()
    alone = simulate(setting, load_policy(name), 7)
    desks = replace(setting.supervisor, capacity=3)
    fleet = simulate(replace(setting, supervisor=desks, fleet=FleetSpec(3)), load_policy(name), 7)
    assert alone.rewrite_rows
    for rows, others in (
        (alone.turn_rows, fleet.turn_rows),
        (alone.rewrite_rows, fleet.rewrite_rows),
        (alone.event_rows, fleet.event_rows),
    ):
        assert [row for row in others if row.agent == 0] == rows
    arrived = [[row.arrived_tokens for row in fleet.turn_rows if row.agent == one][:50] for one in range(3)]
    assert arrived[0] != arrived[1] != arrived[2] != arrived[0]


@pytest.mark.property
def test_one_more_agent_changes_nothing_for_the_others_where_nobody_waits() -> None:
    setting = load_scenario("rewrite-budget-spiral", {"run.horizon": 100}).setting()
    setting = replace(setting, supervisor=replace(setting.supervisor, capacity=9))
    three, four = (
        simulate(replace(setting, fleet=FleetSpec(agents)), load_policy("guarded"), 7) for agents in (3, 4)
    )
    assert [row for row in four.turn_rows if row.agent < 3] == three.turn_rows
    assert [row for row in four.rewrite_rows if row.agent < 3] == three.rewrite_rows


@pytest.mark.property
def test_each_agent_has_a_policy_of_its_own(listed: type, constant: Callable, scripted: Make) -> None:
    policy = scripted(check_by=False)
    simulate(Setting("own", 10**6, listed(constant(5, 10)), fleet=FleetSpec(4)), policy)
    assert len(policy.gauges) == 5  # what the first agent has asked, and nobody else


@pytest.mark.unit
def test_a_fleet_has_somebody_in_it() -> None:
    with pytest.raises(InputError, match="agents is 0"):
        FleetSpec(0)


@pytest.mark.unit
def test_an_agent_that_is_gone_is_not_swept(listed: type, scripted: Make) -> None:
    @dataclass(frozen=True)
    class Uneven:
        """As many turns as were drawn, so that one agent is gone long before the others."""

        def initial(self, streams: Streams) -> Iterator[Span]:
            return iter((Span(1, Kind.TOOL_RESULT, 100),))

        def turns(self, streams: Streams) -> Iterator[Turn]:
            return iter((Turn(seconds=1.0),) * (2 + int(40 * streams.uniform("how long")[0])))

    policy = scripted(admit_by=Verdict(False, "no"), learn_by=True)
    desk = SupervisorSpec(1, 4.0, evict_tokens=10**6)
    setting = Setting("uneven", 10**6, Uneven(), provider=AT_ONCE, supervisor=desk, fleet=FleetSpec(5))
    run = simulate(setting, policy, 3)
    lasts = {row.agent: row.time_s for row in run.turn_rows}
    swept = {row.agent: row.time_s for row in run.event_rows if row.kind == "out_of_band"}
    assert len(set(lasts.values())) > 1
    assert 0 < len(swept) < 5
    assert all(swept[agent] <= lasts[agent] for agent in swept)
    assert run.summary["out_of_band_tokens"] == sum(row.out_of_band for row in run.turn_rows)


# --------------------------------------------------------------------------- the summary of a fleet


@pytest.mark.theory
def test_of_equal_agents_counts_add_up_and_shares_stay(
    listed: type, constant: Callable, scripted: Make
) -> None:
    policy = scripted(
        terms=Terms(deliberates=False),
        check_by=lambda gauge: gauge.turn % 3 == 0,
        propose_by=lambda view: RewritePlan((Evict(view.items[-1].id),), 10),
    )
    one = Setting("equal", 5_000, listed(constant(10, 100, reply=20)))
    alone, fleet = (simulate(replace(one, fleet=FleetSpec(agents)), policy).summary for agents in (1, 3))
    assert alone["tokens_freed"] == 300
    assert set(fleet) == set(alone)
    apart = {"supervisor_wait_seconds", "supervisor_busy_seconds", "observable"}
    for name in set(alone) - apart:
        value = alone[name]
        times = 1 if value is None or name in MEANS or name in EXTREMES else 3
        assert fleet[name] == (value if times == 1 else pytest.approx(3 * value)), name
    for name in {name for name in alone if name.endswith(("_pct", "_compliance"))}:
        assert name in MEANS or name in EXTREMES
    for name in {name for name in alone if name.endswith(("_tokens", "usd")) or name.startswith("rewrites_")}:
        assert name not in MEANS
        assert name not in EXTREMES


@pytest.mark.theory
def test_of_unequal_agents_there_are_sums_means_and_extremes() -> None:
    setting = load_scenario("rewrite-budget-spiral").setting()
    run = simulate(replace(setting, fleet=FleetSpec(3)), load_policy("naive"), 7)
    by_agent = [[row for row in run.turn_rows if row.agent == one] for one in range(3)]
    total = run.summary
    assert len({len(rows) for rows in by_agent}) > 1
    assert total["turns"] == max(map(len, by_agent))
    assert total["seconds"] == max(rows[-1].time_s for rows in by_agent)
    assert total["final_occupancy_pct"] == pytest.approx(
        np.mean([rows[-1].occupancy_pct for rows in by_agent])
    )
    assert total["first_trigger_turn"] == min(row.turn for row in run.rewrite_rows)
    assert total["tokens_freed"] == sum(row.freed for row in run.rewrite_rows)
    assert total["max_occupancy_pct"] >= max(row.occupancy_pct for row in run.turn_rows)
    quality = [rows[-1].decision_quality for rows in by_agent]
    assert total["decision_quality"] == pytest.approx(np.mean(quality))
    assert total["agents_overflowed"] == 3


@pytest.mark.unit
def test_a_fleet_ends_as_its_worst_agent_does(scripted: Make) -> None:
    @dataclass(frozen=True)
    class Sometimes:
        """Too much to hold for about every second agent."""

        def initial(self, streams: Streams) -> Iterator[Span]:
            return iter(())

        def turns(self, streams: Streams) -> Iterator[Turn]:
            much = streams.uniform("much")[0] < 0.5
            return iter((Turn((Span(1, Kind.USER, 2_000 if much else 10),)), Turn()))

    run = simulate(Setting("worst", 1_000, Sometimes(), fleet=FleetSpec(12)), scripted(check_by=False), 1)
    last = [max(row.turn for row in run.turn_rows if row.agent == one) for one in range(12)]
    gone = last.count(1)
    assert 0 < gone < 12
    assert (run.outcome, run.summary["agents_overflowed"]) == ("overflow", gone)
    calm = simulate(Setting("worst", 10_000, Sometimes(), fleet=FleetSpec(12)), scripted(check_by=False), 1)
    assert (calm.outcome, calm.summary["agents_overflowed"]) == ("complete", 0)
