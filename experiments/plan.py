"""The plan of a sweep: a run is its number, and its number is its coordinates.

Runs are counted by scenario, point, policy and replication, the last fastest. Nothing is kept of them: a
worker makes the setting of a point and the policy there when it meets the first run of it. The seed is
that of the replication alone, so that all policies and points meet one world, and none moves the numbers
of another.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import NamedTuple

from experiments.experiment import Experiment
from experiments.factors import Value
from policies import load_policy
from policies.composed import ComposedPolicy
from scenarios import load_scenario
from simulator import InputError, RunFailed, Setting
from simulator.contracts import Policy

POINTS_KEPT, POLICIES_KEPT = 16, 256
"""Settings, and makers of policies, that a worker keeps: it meets the runs of a point together."""


class Coordinates(NamedTuple):
    """Where a run stands: numbers of its scenario, point, policy and replication."""

    scenario: int
    point: int
    policy: int
    replication: int


class Plan:
    """All runs of an experiment, by number; pickles small.

    >>> from experiments.experiment import load_experiment
    >>> plan = Plan(load_experiment("trigger-and-watermark"))
    >>> plan.size, plan.coordinates(25), plan.number(Coordinates(0, 2, 0, 5))
    (160, Coordinates(scenario=0, point=2, policy=0, replication=5), 25)
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.replications = experiment.file.cap
        self.shape = (
            len(experiment.scenarios),
            experiment.size,
            len(experiment.policies),
            self.replications,
        )
        self._settings = lru_cache(POINTS_KEPT)(self._setting_at)
        self._policies = lru_cache(POLICIES_KEPT)(self._policy_at)

    def __reduce__(self) -> tuple[type[Plan], tuple[Experiment]]:
        return Plan, (self.experiment,)

    @cached_property
    def size(self) -> int:
        """How many runs there are, if every point has the most replications."""
        scenarios, points, policies, replications = self.shape
        return scenarios * points * policies * replications

    @property
    def points(self) -> int:
        """Points of all scenarios."""
        return self.shape[0] * self.shape[1]

    @property
    def runs_a_point(self) -> int:
        """Runs of one point: its policies, each with the most replications."""
        return self.shape[2] * self.shape[3]

    def coordinates(self, run: int) -> Coordinates:
        """Return where a run stands."""
        _, points, policies, replications = self.shape
        rest, replication = divmod(run, replications)
        rest, policy = divmod(rest, policies)
        scenario, point = divmod(rest, points)
        return Coordinates(scenario, point, policy, replication)

    def number(self, at: Coordinates) -> int:
        """Return the number of the run that stands there."""
        _, points, policies, replications = self.shape
        return ((at.scenario * points + at.point) * policies + at.policy) * replications + at.replication

    def labels(self, at: Coordinates) -> dict[str, Value]:
        """Return what says in a table where a run stands: scenario, point, factors, policy, replication."""
        experiment = self.experiment
        return {
            "scenario": experiment.scenarios[at.scenario],
            "point": at.point,
            **experiment.labels(at.point),
            "policy": experiment.policies[at.policy],
            "replication": at.replication,
        }

    def seed(self, at: Coordinates) -> tuple[int, int]:
        """Return the seed of a run: the root seed and its replication."""
        return self.experiment.file.seed, at.replication

    def setting(self, at: Coordinates) -> Setting:
        """Return the scenario at a run's point. Raises RunFailed where the point cannot be."""
        with _a_row():
            return self._settings(at.scenario, at.point)

    def policy(self, at: Coordinates) -> Policy:
        """Return a policy that has seen no run. Raises RunFailed where the point cannot be."""
        with _a_row():
            return self._policies(at.point, at.policy)()

    def _setting_at(self, scenario: int, point: int) -> Setting:
        reference = self.experiment.scenarios[scenario]
        return load_scenario(reference, self.experiment.point(point).of_scenario).setting()

    def _policy_at(self, point: int, policy: int) -> Callable[[], Policy]:
        reference = self.experiment.policies[policy]
        return fresh_policies(reference, self.experiment.point(point).of_policies[reference])


@contextmanager
def _a_row() -> Iterator[None]:
    """Let levels that go alone and not together be the failure of a run, not of the sweep."""
    try:
        yield
    except InputError as fault:
        raise RunFailed("point", str(fault)) from fault


def fresh_policies(reference: str, overrides: Mapping[str, object]) -> Callable[[], Policy]:
    """Return what makes a policy anew for each run; a composed one is read from its file once.

    A class of a user's own is imported and made each time, by the same words as for a single run.
    """
    policy = load_policy(reference, overrides)
    if type(policy) is not ComposedPolicy:
        return lambda: load_policy(reference, overrides)
    packed = pickle.dumps(policy)

    def unpacked() -> Policy:
        made: Policy = pickle.loads(packed)
        return made

    return unpacked
