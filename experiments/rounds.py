"""Sequential replications: which runs are wanted next, given all that have been.

The answer depends on the rows alone, never on order, workers or a resume: each point is walked from its
first replications on, and stops where its rule is met, or at the cap. Half-widths follow Law (Simulation
Modeling and Analysis, 5th edition, section 9.4.1) with the look-ahead of Hoad, Robinson and Davies (JORS 61,
2010); the race is that of Kim and Nelson (ACM TOMACS 11, 2001).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Sequential
from experiments.plan import Plan
from experiments.statistics import kim_nelson, mean_interval, paired_difference

FEWEST = 2
"""Values below which nothing is known of a width."""


def wanted(
    plan: Plan, rule: Sequential, finished: NDArray[np.bool_], values: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return, run by run, whether the next round has to run it; none where every point has stopped.

    Parameters
    ----------
    plan : Plan
    rule : Sequential
    finished, values : numpy.ndarray, shape (runs,)
        Which runs are done, and their response, NaN where a run failed or has none.
    """
    policies = list(plan.experiment.policies)
    shape = (-1, len(policies), plan.replications)
    done, seen = finished.reshape(shape), values.reshape(shape)
    needed = np.zeros(done.shape, dtype=bool)
    for point, lacking in enumerate(needed):
        for count, running in _stages(rule, policies, seen[point]):
            lacking[running, :count] = ~done[point][running, :count]
            if lacking.any():
                break
    return needed.reshape(-1)


def _stages(rule: Sequential, policies: list[str], seen: NDArray[np.float64]) -> list[tuple[int, list[int]]]:
    """Return how many replications each stage of a point has, and for which policies, until it stops."""
    stages = []
    running = list(range(len(policies)))
    count = rule.first
    while running:
        stages.append((count, running))
        if count >= rule.cap or np.isnan(seen[running, :count]).all():
            break
        running = _running(rule, policies, seen[:, :count], running)
        count = min(count + rule.step, rule.cap)
    return stages


def _running(
    rule: Sequential, policies: list[str], seen: NDArray[np.float64], running: list[int]
) -> list[int]:
    """Return the policies that go on after so many replications."""
    if rule.rule == "best":
        return _still_racing(rule, policies, seen, running)
    count = seen.shape[1]
    if count < rule.first + rule.look_ahead:  # the first replications are no look ahead
        return running
    counts = range(count - rule.look_ahead, count + 1)
    precise = all(_half_width(rule, policies, seen[:, :count]) <= (rule.half_width or 0) for count in counts)
    return [] if precise else running


def _half_width(rule: Sequential, policies: list[str], seen: NDArray[np.float64]) -> float:
    """Return the widest half-width of a difference to the baseline; of one policy, of its mean."""
    if len(policies) == 1:
        values = seen[0][~np.isnan(seen[0])]
        return mean_interval(values).half_width if values.size >= FEWEST else math.inf
    baseline = policies.index(str(rule.baseline))
    widest = 0.0
    for place in range(len(policies)):
        if place == baseline:
            continue
        pairs = seen[[place, baseline]]
        pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
        widest = max(widest, paired_difference(*pairs).half_width if pairs.shape[1] >= FEWEST else math.inf)
    return widest


def _still_racing(
    rule: Sequential, policies: list[str], seen: NDArray[np.float64], running: list[int]
) -> list[int]:
    """Return who is still in; a policy without a response in a world has no place in the race."""
    columns = {}
    for place, name in enumerate(policies):
        missing = np.flatnonzero(np.isnan(seen[place]))
        columns[name] = seen[place][: missing[0]] if missing.size else seen[place]
    if any(column.size < rule.first for column in columns.values()):
        return running
    assert rule.indifference is not None
    race = kim_nelson(
        columns,
        first=rule.first,
        indifference=rule.indifference,
        confidence=rule.confidence,
        larger_is_better=rule.better == "higher",
    )
    return [policies.index(name) for name in race.remaining] if len(race.remaining) > 1 else []
