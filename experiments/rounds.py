"""Which runs a sweep still has to make; under a rule, given all that have been made.

The answer depends on the rows alone, never on order, workers or a resume: each point is walked from its
first replications on, and stops where its rule is met, or at the cap. Half-widths follow Law (Simulation
Modeling and Analysis, 5th edition, section 9.4.1) with the look-ahead of Hoad, Robinson and Davies (JORS 61,
2010); the race is that of Kim and Nelson (ACM TOMACS 11, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import LEVEL_UP_TO, Experiment, Sequential
from experiments.plan import Plan
from experiments.statistics import (
    Interval,
    Race,
    kim_nelson,
    mean_interval,
    paired_difference,
    paired_share_difference,
    share_interval,
)
from scenarios.measures import is_yes_or_no

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
    shape = (-1, len(plan.experiment.policies), plan.replications)
    points = zip(finished.reshape(shape), values.reshape(shape), strict=True)
    return np.concatenate([_wanted_at(plan.experiment, rule, *point).reshape(-1) for point in points])


def _wanted_at(
    experiment: Experiment, rule: Sequential, done: NDArray[np.bool_], seen: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which runs of one point are wanted next, shape (policies, replications) as what is known."""
    lacking = np.zeros(done.shape, dtype=bool)
    for count, running in _stages(experiment, rule, seen):
        lacking[running, :count] = ~done[running, :count]
        if lacking.any():
            break
    return lacking


class Agenda:
    """The runs that a sweep still has to make; under a rule there come more as results come in.

    A point asks for its next replications as soon as all that it asked for are there, whatever the others do.

    Parameters
    ----------
    plan : Plan
    meant, finished, again : numpy.ndarray of bool, shape (runs,)
        Which runs are meant at all, which are done, and which of those have to be made again.
    values : numpy.ndarray of float, shape (runs,), or None
        The response that a rule reads, NaN where there is none; None without a rule.

    Attributes
    ----------
    todo : list of int
        Numbers of runs; it grows.
    done : int
        Runs that were done before.
    """

    def __init__(
        self,
        plan: Plan,
        meant: NDArray[np.bool_],
        finished: NDArray[np.bool_],
        again: NDArray[np.bool_],
        values: NDArray[np.float64] | None = None,
    ) -> None:
        self.plan, self.values = plan, values
        self.finished = (finished | ~meant) & ~again
        if values is None:
            first = ~self.finished
        else:
            first = again.copy()
            for point in np.setdiff1d(range(plan.points), np.flatnonzero(again) // plan.runs_a_point):
                first[self._runs_of(point)] = self._wanted_at(point)
        self.todo: list[int] = np.flatnonzero(first).tolist()
        self.done = int((meant & finished & ~first).sum())
        self._open = np.bincount(np.flatnonzero(first) // plan.runs_a_point, minlength=plan.points)

    @property
    def total(self) -> int:
        """Runs that were done before, and all that were or are to do so far."""
        return self.done + len(self.todo)

    def take(self, run: int, value: float | None) -> int:
        """Take in that a run is done, and its response; return how many runs this has added."""
        if self.values is None:
            return 0
        point = run // self.plan.runs_a_point
        self.finished[run] = True
        self.values[run] = math.nan if value is None else value
        self._open[point] -= 1
        if self._open[point]:
            return 0
        more = self._runs_of(point).start + np.flatnonzero(self._wanted_at(point))
        self.todo += more.tolist()
        self._open[point] = len(more)
        return len(more)

    def _runs_of(self, point: int) -> slice:
        return slice(point * self.plan.runs_a_point, (point + 1) * self.plan.runs_a_point)

    def _wanted_at(self, point: int) -> NDArray[np.bool_]:
        """Return which runs of a point are wanted next, shape (runs of a point,)."""
        rule, runs = self.plan.experiment.file.replications, self._runs_of(point)
        assert isinstance(rule, Sequential) and self.values is not None
        shape = (-1, self.plan.replications)
        known = self.finished[runs].reshape(shape), self.values[runs].reshape(shape)
        return _wanted_at(self.plan.experiment, rule, *known).reshape(-1)


def _stages(
    experiment: Experiment, rule: Sequential, seen: NDArray[np.float64]
) -> list[tuple[int, list[int]]]:
    """Return how many replications each stage of a point has, and for which policies, until it stops."""
    stages = []
    running = list(range(len(experiment.policies)))
    count = rule.first
    while running:
        stages.append((count, running))
        if count >= rule.cap or np.isnan(seen[running, :count]).all():
            break
        running = _running(experiment, rule, seen[:, :count], running)
        count = min(count + rule.step, rule.cap)
    return stages


def _running(
    experiment: Experiment, rule: Sequential, seen: NDArray[np.float64], running: list[int]
) -> list[int]:
    """Return the policies that go on after so many replications."""
    if rule.rule == "best":
        return _still_racing(experiment, rule, seen, running)
    count = seen.shape[1]
    since = narrow_since(rule, count)
    if since < rule.first:  # the first replications are no look ahead
        return running
    counts = range(since, count + 1)
    precise = all(half_width(experiment, rule, seen[:, :count]) <= (rule.half_width or 0) for count in counts)
    return [] if precise else running


def narrow_since(rule: Sequential, count: int) -> int:
    """Return after how many replications at the latest it was narrow, to have its look-ahead behind it.

    >>> rule = Sequential(response="turns", half_width=1.0, look_ahead=5)
    >>> narrow_since(rule, 60), narrow_since(rule, 315)
    (55, 300)
    """
    since = count - rule.look_ahead
    if since <= LEVEL_UP_TO:
        return since
    return (LEVEL_UP_TO * (count + 1) - 1) // (LEVEL_UP_TO + rule.look_ahead)


def half_width(experiment: Experiment, rule: Sequential, seen: NDArray[np.float64]) -> float:
    """Return the widest half-width of a difference to the baseline; of one policy, of its mean.

    Intervals are Student's; of a response that is 0 or 1 they are Bonett and Price's, and Wilson's.
    `seen` holds the responses of one point, shape (policies, replications), NaN where there is none.
    """
    of_shares = is_yes_or_no(rule.response)
    policies = list(experiment.policies)
    if len(policies) == 1:
        values = seen[0][~np.isnan(seen[0])]
        return _width(_share if of_shares else mean_interval, values)
    baseline = policies.index(str(rule.baseline))
    differ = paired_share_difference if of_shares else paired_difference
    rivals = [seen[[place, baseline]] for place in range(len(policies)) if place != baseline]
    return max(_width(differ, *pairs[:, ~np.isnan(pairs).any(axis=0)]) for pairs in rivals)


def _share(values: NDArray[np.float64]) -> Interval:
    return share_interval(int(values.sum()), values.size)


def _width(interval: Callable[..., Interval], *columns: NDArray[np.float64]) -> float:
    return interval(*columns).half_width if columns[0].size >= FEWEST else math.inf


def _still_racing(
    experiment: Experiment, rule: Sequential, seen: NDArray[np.float64], running: list[int]
) -> list[int]:
    """Return who goes on: the rivals that are still in, and with them all bounds; none once one has won."""
    policies = list(experiment.policies)
    rows = {name: seen[place] for place, name in enumerate(policies)}
    found = race(experiment, rule, rows)
    if found is None:
        return running
    if len(found.remaining) == 1:
        return []
    return [policies.index(name) for name in policies if name in (*found.remaining, *experiment.file.bounds)]


def race(experiment: Experiment, rule: Sequential, columns: Mapping[str, NDArray[np.float64]]) -> Race | None:
    """Return how far the race of an experiment's rivals has come, or None before its first stage is full.

    `columns` hold the responses of each policy by replication; a column counts up to its first NaN.
    """
    rivals = {}
    for name in experiment.rivals:
        missing = np.flatnonzero(np.isnan(columns[name]))
        rivals[name] = columns[name][: missing[0]] if missing.size else columns[name]
    if any(column.size < rule.first for column in rivals.values()):
        return None
    assert rule.indifference is not None
    return kim_nelson(
        rivals,
        first=rule.first,
        indifference=rule.indifference,
        confidence=rule.confidence,
        larger_is_better=rule.better == "higher",
    )
