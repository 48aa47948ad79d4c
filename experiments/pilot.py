"""What a sweep would cost: how many runs, and how long, told by some of them.

The pilot makes runs in as many worker processes as the sweep would have, drawn over the whole plan, for a few
seconds. What a worker reads once for many runs, the scenario of a point and its policy, is timed apart and
shared out among the runs that it is read for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.again import made_again
from experiments.choosing import chosen
from experiments.experiment import Experiment
from experiments.identity import identity_of
from experiments.job import SweepJob, tables_of, time_limit_of
from experiments.plan import Plan
from experiments.rounds import wanted
from experiments.runner import usable_cores
from experiments.statistics import mean_interval
from experiments.store import SweepStore
from experiments.workers import Failure
from simulator import RunFailed

PILOT_SECONDS = 5.0
"""Wall-clock seconds, from the first result on, after which a pilot begins no further run."""

PILOT_RUNS = 20_000
"""Runs of a pilot at most."""

PILOT_SEED = 12
"""Of the order in which runs are drawn."""

SECONDS_AHEAD = 0.5
"""Work that a pilot gives each worker at once."""

LONGEST_RUN_SECONDS = 30.0
"""A run of the pilot that takes longer is counted as one that takes all of its time limit."""


class Forecast(NamedTuple):
    """What a sweep would take.

    Attributes
    ----------
    runs : in the plan; with sequential replications the most there can be.
    least : with sequential replications those of the first round, else the same.
    done : of them finished in the folder.
    pilot : runs that were timed.
    seconds_a_run, low, high : mean wall-clock seconds of a run in its worker, and its 95% interval over runs,
        without width where all have been timed; what else the machine has to do comes on top.
    workers : processes that the forecast is for; 0 is this one.
    seconds, soonest, latest : of the whole sweep from now on, its start included, if no more than `least`
        runs are needed, and the 95% interval. The command also loads, and draws a picture.
    at_most : if all runs are needed.
    """

    runs: int
    least: int
    done: int
    pilot: int
    seconds_a_run: float
    low: float
    high: float
    workers: int
    seconds: float
    soonest: float
    latest: float
    at_most: float


class Cost(NamedTuple):
    """Wall-clock seconds of one run in its worker: what is read for its point, its policy there, the rest."""

    point: float
    policy: float
    run: float


def forecast(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int | None = None,
    only: Sequence[str] = (),
    fresh: bool = False,
) -> Forecast:
    """Time some runs and say what the sweep would take; nothing is written.

    Raises InputError as `sweep` does, for an experiment that cannot be run and for a folder that it refuses.
    """
    identity, plan = identity_of(experiment), Plan(experiment)
    meant = chosen(plan, only)
    tables = tables_of(experiment)
    store = SweepStore(folder, identity=identity, size=plan.size, tables=tables, session={}, fresh=fresh)
    store.check()
    finished = np.zeros(plan.size, dtype=bool) if fresh else store.finished()
    rule = experiment.file.replications
    first = meant
    if not isinstance(rule, int):
        nothing = np.full(plan.size, np.nan)
        first = meant & wanted(plan, rule, np.zeros(plan.size, dtype=bool), nothing)
    width = usable_cores() if workers is None else workers
    runs = np.flatnonzero(meant)
    start, costs = _pilot(experiment, runs, width)
    points = runs // plan.runs_a_point
    a_point = len(runs) / len(np.unique(points))
    a_policy = len(runs) / len(np.unique(runs // plan.replications))
    seconds = [cost.point / a_point + cost.policy / a_policy + cost.run for cost in costs]
    mean, low, high = _mean(seconds, len(runs))
    least, most = int((first & ~finished).sum()), int((meant & ~finished).sum())

    def whole(left: int, a_run: float) -> float:
        return start + left * a_run / max(1, width) if left else 0.0

    return Forecast(
        runs=int(meant.sum()),
        least=int(first.sum()),
        done=int((meant & finished).sum()),
        pilot=len(costs),
        seconds_a_run=mean,
        low=low,
        high=high,
        workers=width,
        seconds=whole(least, mean),
        soonest=whole(least, low),
        latest=whole(least, high),
        at_most=whole(most, mean),
    )


def _pilot(experiment: Experiment, runs: NDArray[np.int64], width: int) -> tuple[float, list[Cost]]:
    """Return the seconds until the first run began, and what runs cost, drawn without replacement."""
    limit = time_limit_of(experiment)
    given_up = min(limit, LONGEST_RUN_SECONDS)
    file = experiment.file.model_copy(update={"time_limit_seconds": given_up})
    plan = Plan(dataclasses.replace(experiment, file=file))
    drawn = iter(np.random.default_rng(PILOT_SEED).permutation(runs)[:PILOT_RUNS].tolist())
    todo = list(islice(drawn, 2 * max(1, width)))
    costs: list[Cost] = []
    started = last = time.monotonic()
    began, busy = math.inf, 0.0
    with closing(made_again(_cost, plan, todo, workers=width)) as stream:
        for done, (_, found) in enumerate(stream, 1):
            now = time.monotonic()
            if not isinstance(found, Failure):
                cost = found
            elif found.kind == TimeoutError.__name__:  # those drawn with it may well hang too
                costs.append(Cost(0.0, 0.0, limit))
                break
            else:  # it has killed its worker, for which all have waited
                cost = Cost(0.0, 0.0, width * (now - last))
            last = now
            if not costs:
                began = now - sum(cost)
            costs.append(cost._replace(run=limit) if cost.run >= given_up else cost)
            busy += sum(cost)
            if now - began < PILOT_SECONDS:
                ahead = max(2, int(SECONDS_AHEAD * done / busy)) * max(1, width)
                todo += islice(drawn, max(0, ahead - (len(todo) - done)))
    return max(0.0, min(began, last) - started), costs


def _cost(plan: Plan, run: int) -> Cost:
    """Make one run, and forget it; a failed one takes time too."""
    at = plan.coordinates(run)
    times = [time.perf_counter()]
    for part in (
        lambda: plan.setting(at),
        lambda: plan.policy(at),
        lambda: SweepJob(plan, None).tables_of(run),
    ):
        with contextlib.suppress(RunFailed):
            part()
        times.append(time.perf_counter())
    return Cost(*np.diff(times).tolist())


def _mean(seconds: Sequence[float], population: int) -> tuple[float, float, float]:
    """Return the mean of all runs and its 95% interval, by runs drawn from them without replacement."""
    found = mean_interval(seconds)
    left = math.sqrt(1 - len(seconds) / population)
    if not left:
        return found.estimate, found.estimate, found.estimate
    return (
        found.estimate,
        max(0.0, found.estimate - left * (found.estimate - found.low)),
        found.estimate + left * (found.high - found.estimate),
    )
