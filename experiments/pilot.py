"""What a sweep would cost: how many runs, and how long, told by a few of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.choosing import chosen
from experiments.experiment import Experiment
from experiments.identity import identity_of
from experiments.job import SweepJob
from experiments.plan import Plan
from experiments.rounds import wanted
from experiments.runner import usable_cores
from experiments.statistics import mean_interval
from experiments.store import finished_in
from simulator import RunFailed

PILOT_RUNS = 12
"""Runs of a pilot, spread over the plan."""

PILOT_SECONDS = 10.0
"""Wall-clock seconds after which a pilot begins no further run."""


class Forecast(NamedTuple):
    """What a sweep would take.

    Attributes
    ----------
    runs : in the plan; with sequential replications the most there can be.
    least : with sequential replications those of the first round, else the same.
    done : of them finished in the folder.
    pilot : runs that were timed.
    seconds_a_run, low, high : mean wall-clock seconds of a run, and its 95% interval.
    workers : processes that the forecast is for.
    seconds : of the whole sweep from now on, if no more than `least` runs are needed; `at_most`, if all are.
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
    at_most: float


def forecast(
    experiment: Experiment, folder: Path, *, workers: int | None = None, only: Sequence[str] = ()
) -> Forecast:
    """Time a few runs and say what the sweep would take; nothing is written.

    Raises InputError as `sweep` does for an experiment that cannot be run, and for a folder of another sweep.
    """
    identity = identity_of(experiment)
    plan = Plan(experiment)
    meant = chosen(plan, only)
    finished = finished_in(folder, identity, plan.size)
    rule = experiment.file.replications
    first = meant
    if not isinstance(rule, int):
        nothing = np.full(plan.size, np.nan)
        first = meant & wanted(plan, rule, np.zeros(plan.size, dtype=bool), nothing)
    job = SweepJob(plan, None)
    runs = np.flatnonzero(meant)
    seconds: list[float] = []
    for place in np.unique(np.linspace(0, len(runs) - 1, min(PILOT_RUNS, len(runs))).astype(int)).tolist():
        if sum(seconds) > PILOT_SECONDS:
            break
        started = time.perf_counter()
        with contextlib.suppress(RunFailed):  # a failed run takes time too
            job(int(runs[place]))
        seconds.append(time.perf_counter() - started)
    width = workers or usable_cores()
    a_run = mean_interval(seconds)
    least, most = int((first & ~finished).sum()), int((meant & ~finished).sum())
    return Forecast(
        runs=int(meant.sum()),
        least=int(first.sum()),
        done=int((meant & finished).sum()),
        pilot=len(seconds),
        seconds_a_run=a_run.estimate,
        low=max(0.0, a_run.low),
        high=a_run.high,
        workers=width,
        seconds=least * a_run.estimate / width,
        at_most=most * a_run.estimate / width,
    )
