"""The runs that a page lets step through: which ones, made again apart from this process.

In come the results of a sweep; out come the frames of some of its runs, or the reason why there are none.
"""

from __future__ import annotations

import numpy as np

from experiments.again import made_again
from experiments.analyses.histories import require_same
from experiments.manifest import FAILED
from experiments.plan import Coordinates, Plan
from experiments.report.frames import frames_of
from experiments.report.page import ViewedRun
from experiments.results import Results
from experiments.workers import Failure
from simulator import InputError
from simulator.errors import one_line

MOST_RUNS, MOST_PLACES = 12, 4
"""Runs that a page holds, frame by frame, and scenarios and points that they come from."""


def runs_seen(results: Results, worlds: int) -> tuple[tuple[ViewedRun, ...], str]:
    """Return the frames of runs of so many worlds, a run a policy, and the reason where there are none."""
    if not worlds:
        return (), ""
    try:
        require_same(results)
    except InputError as fault:  # all else on the page follows from the tables
        return (), one_line(str(fault))
    plan = Plan(results.experiment)
    chosen = _chosen(results, plan, worlds)
    made = dict(made_again(frames_of, plan, chosen))
    frames = ((run, made[run]) for run in chosen)
    return tuple(ViewedRun(_label(plan, run), own) for run, own in frames if not isinstance(own, Failure)), ""


def _chosen(results: Results, plan: Plan, worlds: int) -> list[int]:
    """Return numbers of runs: of all policies, at places from the first to the last, in the first worlds.

    What failed stands among the failed runs, and is not made again: it may have ended its process.
    """
    scenarios, points, policies, replications = plan.shape
    count = min(MOST_PLACES, max(1, MOST_RUNS // (policies * worlds)))
    places = np.unique(np.linspace(0, scenarios * points - 1, count).round().astype(int)).tolist()
    runs = [
        plan.number(Coordinates(place // points, place % points, policy, replication))
        for place in places
        for replication in range(min(worlds, replications))
        for policy in range(policies)
    ]
    whole = set(results.ran.loc[results.ran[FAILED].isna(), "run"])
    return [run for run in runs if run in whole][:MOST_RUNS]


def _label(plan: Plan, run: int) -> str:
    at = plan.coordinates(run)
    levels = [f"{name} {level}" for name, level in plan.experiment.labels(at.point).items()]
    where = [plan.experiment.policies[at.policy], plan.experiment.scenarios[at.scenario], *levels]
    return ", ".join([*where, f"replication {at.replication}"])
