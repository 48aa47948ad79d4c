"""Some runs of a sweep made again, apart from this process: what a policy does there does nothing here.

In come a plan, numbers of runs and a function at the top of a module that makes what is wanted of one run;
out come its results, or the failure of a run in the place of one. A run is its coordinates, so that what a
sweep has not kept can be had again, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Generic, TypeVar

from experiments.job import run_at, time_limit_of
from experiments.plan import Plan
from experiments.runner import stream_tasks
from experiments.workers import Failure
from simulator import Run

R = TypeVar("R")


def made_again(
    make: Callable[[Plan, int], R], plan: Plan, runs: Sequence[int], *, workers: int | None = 1
) -> Generator[tuple[int, R | Failure], None, None]:
    """Yield each run's number with what `make` returns of it, or its failure, in order of completion.

    Close the generator to stop. The runs may grow meanwhile, as the tasks of `stream_tasks`.

    Parameters
    ----------
    make : callable
        At the top of a module, of the plan and the number of a run; what it returns has to be picklable.
        `whole_run` is one.
    plan : Plan
    runs : sequence of int
        Numbers of runs; from coordinates, `plan.number`.
    workers : int or None
        As for `stream_tasks`. 0 makes the runs in this process, which they can then end.

    Examples
    --------
    >>> from experiments.experiment import load_experiment
    >>> plan = Plan(load_experiment("trigger-and-watermark", {"set": {"run.horizon": 3}}))
    >>> [(number, run.outcome) for number, run in made_again(whole_run, plan, [7], workers=0)]
    [(7, 'horizon')]
    """
    limit = time_limit_of(plan.experiment)
    with closing(stream_tasks(_Of(make, plan), runs, workers=workers, time_limit=limit)) as stream:
        for place, result in stream:
            yield runs[place], result


def whole_run(plan: Plan, run: int) -> Run:
    """Make one run, with its tables. Raises RunFailed."""
    return run_at(plan, plan.coordinates(run))


class _Of(Generic[R]):
    """A function of a plan and a run, as one of the run alone."""

    def __init__(self, make: Callable[[Plan, int], R], plan: Plan) -> None:
        self.make, self.plan = make, plan

    def __call__(self, run: int) -> R:
        return self.make(self.plan, run)
