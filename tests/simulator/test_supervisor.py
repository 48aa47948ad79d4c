"""The supervisor is a queue: against Lindley's recursion exactly, against M/M/1 and M/M/c by intervals."""

from __future__ import annotations

import heapq
import math
from functools import partial

import numpy as np
import pytest
import simpy
from scipy import stats

from simulator.supervisor import Supervisor, SupervisorSpec

FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right


def waits(spec: SupervisorSpec, gaps: list[float], works: list[float]) -> tuple[list[float], Supervisor]:
    """Return how long each escalation waited for its service to begin, and the supervisor."""
    env = simpy.Environment()
    supervisor = Supervisor(env, spec)
    arrived, left = np.cumsum(gaps), np.zeros(len(gaps))

    def leave(number: int, tokens: int) -> None:
        left[number] = env.now

    def calls() -> object:
        for number, gap in enumerate(gaps):
            yield env.timeout(gap)
            supervisor.escalate(partial(leave, number), works[number])

    env.process(calls())  # type: ignore[arg-type]
    env.run()
    service = np.asarray(works) * spec.service_seconds
    return list(left - arrived - service), supervisor


def waits_by_recursion(servers: int, gaps: list[float], services: list[float]) -> list[float]:
    """Return the waiting times of a first-come queue: Lindley for one server, Kiefer-Wolfowitz for more."""
    now, free, found = 0.0, [0.0] * servers, []
    for gap, service in zip(gaps, services, strict=True):
        now += gap
        start = max(now, heapq.heappop(free))
        heapq.heappush(free, start + service)
        found.append(start - now)
    return found


def mean_wait(servers: int, arrivals: float, service: float) -> float:
    """Return the mean wait of M/M/c: Erlang's C over what is left of the capacity."""
    load = arrivals * service
    top = load**servers / math.factorial(servers) * servers / (servers - load)
    waiting = top / (sum(load**n / math.factorial(n) for n in range(servers)) + top)
    return waiting * service / (servers - load)


@pytest.mark.theory
@pytest.mark.parametrize("servers", [1, 2, 5])
def test_each_wait_is_that_of_a_first_come_queue(servers: int) -> None:
    rng = np.random.default_rng(3)
    gaps, works = rng.exponential(1.0, 2_000).tolist(), rng.exponential(1.0, 2_000).tolist()
    spec = SupervisorSpec(capacity=servers, service_seconds=0.9 * servers, constant=False)
    found, supervisor = waits(spec, gaps, works)
    services = [work * spec.service_seconds for work in works]
    assert found == pytest.approx(waits_by_recursion(servers, gaps, services), abs=1e-8)
    assert supervisor.waited_seconds == pytest.approx(sum(found))
    assert supervisor.escalations == supervisor.served == 2_000


@pytest.mark.theory
@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (3, 1.5)])
def test_the_mean_wait_is_that_of_the_formula(servers: int, load: float) -> None:
    runs, calls, warm_up, service = 25, 3_000, 300, 2.0
    spec = SupervisorSpec(capacity=servers, service_seconds=service, constant=False)
    means = []
    for seed in range(runs):
        rng = np.random.default_rng([11, seed])
        gaps = rng.exponential(service / load, calls).tolist()
        found, _ = waits(spec, gaps, rng.exponential(1.0, calls).tolist())
        means.append(np.mean(found[warm_up:]))
    expected = mean_wait(servers, load / service, service)
    low, high = stats.t.interval(1 - FALSE_ALARM, runs - 1, np.mean(means), stats.sem(means))
    assert low <= expected <= high
    assert high - low < expected  # the interval is narrow enough to mean something


@pytest.mark.theory
def test_the_formula_is_the_textbooks() -> None:
    # M/M/1 at half load: the wait is one service; M/M/2 at load 1: a third of a service
    assert mean_wait(1, 0.5, 1.0) == pytest.approx(1.0)
    assert mean_wait(2, 1.0, 1.0) == pytest.approx(1 / 3)


@pytest.mark.unit
def test_a_constant_service_takes_its_time_whatever_was_drawn() -> None:
    found, _ = waits(SupervisorSpec(1, 3.0), [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    assert found == [0.0, 3.0, 6.0]
    found, _ = waits(SupervisorSpec(1, 3.0), [0.0, 1.0], [1.0, 1.0])
    assert found == [0.0, 2.0]
    env = simpy.Environment()
    supervisor = Supervisor(env, SupervisorSpec(1, 3.0))
    supervisor.escalate(print, 40.0)
    env.run()
    assert env.now == 3.0


@pytest.mark.unit
def test_nobody_comes_where_nobody_is() -> None:
    env = simpy.Environment()
    supervisor = Supervisor(env, SupervisorSpec(capacity=0, evict_tokens=10))
    assert supervisor.escalate(pytest.fail) is None
    env.run()
    assert (supervisor.escalations, supervisor.served) == (1, 0)


@pytest.mark.unit
def test_the_act_is_told_the_tokens_once_served() -> None:
    env = simpy.Environment()
    supervisor = Supervisor(env, SupervisorSpec(1, 5.0, evict_tokens=1234))
    told: list[tuple[float, int]] = []
    process = supervisor.escalate(lambda tokens: told.append((env.now, tokens)))
    assert told == []
    env.run(until=process)
    assert told == [(5.0, 1234)]
