"""One run as a task: what a worker is given, and what it does with it.

A task holds all of a run's inputs by value or by reference, so that it can go to any process and
gives the same rows there. The policy is loaded anew for each run: nothing of another run stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies import load_policy
from simulator import Run, Setting, simulate


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run: scenario, policy, and the rest of its coordinates.

    Attributes
    ----------
    setting : the scenario, ready.
    policy : a reference as for `load_policy`, with `overrides` laid over it.
    seed, replication : root seed and number of the replication; not the policy.
    """

    setting: Setting
    policy: str
    seed: int
    replication: int = 0
    overrides: Mapping[str, object] = field(default_factory=dict)


def execute(task: RunTask) -> Run:
    """Run one task. Raises RunFailed for a policy's fault, InputError for a policy that does not load."""
    policy = load_policy(task.policy, task.overrides)
    return simulate(task.setting, policy, seed=(task.seed, task.replication))
