"""Scale: what two workers gain, and what the runner and the rows add to a run.

Workers are held against bare processes that are forked in the same round and run half of the same
runs each: the ceiling that this machine offers at that moment. What the runner adds is told by tasks
that do nothing, on two workers, timed from the first tenth on, so that opening the pool is left out.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from unittest import mock

from findings import Finding, in_time, of_ratio, require
from pairing import Measure, cpu, paired, wall
from sweeps import LONG, LONG_TURNS, MICROSECOND, WORKERS, plan_of

from experiments import job as job_of_runs
from experiments.job import SweepJob, run_at, tables_of
from experiments.journal import Journal
from experiments.manifest import RUNS
from experiments.runner import LARGEST_CHUNK, run_tasks, stream_tasks
from experiments.workers import Failure

ALONE_TARGET, CHUNKED_TARGET = 250, 40
"""Microseconds that the runner may add to a run."""
ROWS = 2_000
"""Runs whose rows are journaled in one round."""


def half(job: SweepJob, runs: Sequence[int]) -> None:
    """Make these runs one after the other."""
    for run in runs:
        job(run)


def bare_processes(job: SweepJob, runs: int) -> Measure:
    """Return a measure of forked processes that make their shares of the runs and send nothing back."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)

    def work() -> None:
        shares = [range(share, runs, WORKERS) for share in range(WORKERS)]
        processes = [context.Process(target=half, args=(job, share)) for share in shares]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            if process.exitcode:
                raise RuntimeError(f"a bare process ended with {process.exitcode}")

    return wall(work)


def workers_against_bare(rounds: int, runs: int) -> Finding:
    """Measure the throughput of two workers in that of two bare processes."""
    job = SweepJob(plan_of(LONG.format(runs=runs, keep=[])), None)
    tasks = range(runs)
    rows = [
        done.tables[RUNS][0]
        for done in run_tasks(job, tasks, workers=WORKERS)
        if not isinstance(done, Failure) and done.tables is not None
    ]
    at = list(tables_of(job.plan.experiment)[RUNS]).index("turns")
    turns = sum(int(row[at] or 0) for row in rows)
    work = require({"turns": (turns, runs * LONG_TURNS), "runs": (len(rows), runs)})
    # throughput is the reciprocal of time: the workers are the reference of this ratio
    workers = wall(lambda: run_tasks(job, tasks, workers=WORKERS))
    ratio = paired(workers, bare_processes(job, runs), rounds)
    return Finding(
        "two workers",
        "two bare processes",
        **of_ratio(ratio),
        target=0.9,
        sense="at least",
        times=f"{in_time(ratio.best_reference / runs)} a run, {in_time(ratio.best_case / runs)} a run",
        work=work,
    )


# --------------------------------------------------------------------------- what is added to a run


def nothing(task: int) -> int:
    """Return the task: what is left of its time is the runner's."""
    return task


def runner_overhead(rounds: int, tasks: int) -> list[Finding]:
    """Measure what the runner adds to a task: one a submission, and in chunks of its own making."""
    return [
        _overhead("one a submission", 1, tasks, rounds, ALONE_TARGET),
        _overhead(
            f"in chunks of up to {LARGEST_CHUNK}", None, LARGEST_CHUNK * tasks // 10, rounds, CHUNKED_TARGET
        ),
    ]


def _overhead(how: str, chunk: int | None, tasks: int, rounds: int, target: float) -> Finding:
    warm = tasks // 10

    def a_task() -> float:
        with closing(stream_tasks(nothing, range(tasks), workers=WORKERS, chunk=chunk)) as stream:
            came = sum(index == result for index, result in islice(stream, warm))
            began = time.perf_counter()
            came += sum(index == result for index, result in stream)
            seconds = time.perf_counter() - began
        require({"tasks": (came, tasks)})
        return seconds / (tasks - warm)

    ratio = paired(lambda: MICROSECOND, a_task, rounds)
    return Finding(
        f"runner, {WORKERS} workers, a task that does nothing, {how}",
        "microseconds by the wall clock",
        **of_ratio(ratio),
        target=target,
        times=f"{in_time(ratio.best_case)} a task",
        work=f"{tasks} tasks",
    )


def rows_overhead(rounds: int) -> Finding:
    """Measure what a sweep adds to a run in its worker: labels, responses, and the line of the journal."""
    plan = plan_of(LONG.format(runs=ROWS, keep=[]))
    made = run_at(plan, plan.coordinates(0))
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(job_of_runs, "run_at", lambda *_: made):
        job = SweepJob(plan, Journal(Path(folder), "measured"))

        def work() -> None:
            half(job, range(ROWS))
            job.end_chunk()

        work()
        (journal,) = Path(folder).iterdir()
        counted = require({"lines and a heading": (len(journal.read_bytes().splitlines()), ROWS + 1)})
        ratio = paired(lambda: MICROSECOND, lambda: cpu(work)() / ROWS, rounds)
    return Finding(
        "rows of a run, built and written to the journal",
        "microseconds",
        **of_ratio(ratio),
        times=f"{in_time(ratio.best_case)} a run",
        work=counted,
    )
