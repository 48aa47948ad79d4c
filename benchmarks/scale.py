"""Scale: what two workers gain, and what a sweep keeps in memory.

Workers are held against bare processes that are forked in the same round and run half of the same
runs each: the ceiling that this machine offers at that moment. Memory is measured in a process of
its own for each size of sweep.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
from pathlib import Path

from findings import Finding, in_time, of_ratio, require
from pairing import Measure, paired, wall

from experiments.runner import Failure, run_tasks
from experiments.runs import RunTask
from experiments.sweeping import SweepTask, execute_row
from scenarios import load_scenario

WORKERS = 2
MEMORY_TARGET = 1.05
"""Does not grow: no more than the noise of a resident set."""
WARM_RUNS = 10
"""Runs before memory is measured: libraries are loaded by then, and caches filled."""
HERE = Path(__file__).resolve().parent


def half(tasks: list[SweepTask]) -> None:
    """Run these tasks one after the other."""
    for task in tasks:
        execute_row(task)


def bare_processes(tasks: list[SweepTask]) -> Measure:
    """Return a measure of forked processes that run their shares and send nothing back."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)

    def work() -> None:
        processes = [context.Process(target=half, args=(tasks[share::WORKERS],)) for share in range(WORKERS)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            if process.exitcode:
                raise RuntimeError(f"a bare process ended with {process.exitcode}")

    return wall(work)


def workers_against_bare(rounds: int, runs: int) -> Finding:
    """Measure the throughput of two workers in that of two bare processes."""
    setting = load_scenario("rewrite-budget-spiral").setting()
    tasks = [
        SweepTask(RunTask(setting, "guarded", 1, replication), {}, ("turns", "usd"))
        for replication in range(runs)
    ]
    rows = [row for row in run_tasks(execute_row, tasks, workers=WORKERS) if not isinstance(row, Failure)]
    turns = sum(int(row["turns"] or 0) for row in rows)
    work = require({"turns": (turns, runs * setting.horizon), "runs": (len(rows), runs)})
    # throughput is the reciprocal of time: the workers are the reference of this ratio
    workers = wall(lambda: run_tasks(execute_row, tasks, workers=WORKERS))
    ratio = paired(workers, bare_processes(tasks), rounds)
    return Finding(
        "two workers",
        "two bare processes",
        **of_ratio(ratio),
        target=0.9,
        sense="at least",
        times=f"{in_time(ratio.best_reference / runs)} a run, {in_time(ratio.best_case / runs)} a run",
        work=work,
    )


# --------------------------------------------------------------------------- memory


def sweep_memory(runs: int) -> Finding:
    """Measure the peak of a sweep of 4N runs in that of N."""
    small, large = peak_of_sweep(runs), peak_of_sweep(4 * runs)
    work = require({"rows": (large["rows"], 4 * runs), "rows of the small one": (small["rows"], runs)})
    grown = (large["traced"] - small["traced"]) / (3 * runs)
    return Finding(
        f"peak memory of a sweep of {4 * runs} runs",
        f"a sweep of {runs} runs",
        measured=large["resident"] / small["resident"],
        target=MEMORY_TARGET,
        times=f"{large['resident'] >> 10} MiB, {small['resident'] >> 10} MiB resident; {grown:.0f} bytes a "
        "run more in Python's own peak",
        work=work,
    )


def peak_of_sweep(runs: int) -> dict[str, int]:
    """Return rows and peaks of a sweep of so many runs: KiB resident untraced, bytes traced by Python."""
    found: dict[str, int] = {}
    for way in ("resident", "traced"):
        command = [sys.executable, str(HERE / "scale.py"), way, str(runs)]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found |= json.loads(answer)
    return found


def sweep_here(way: str, runs: int) -> dict[str, int]:
    """Sweep in this process, serially, so that its peak is the peak of all that a sweep does."""
    import resource
    import tracemalloc

    from experiments.experiment import load_experiment
    from experiments.store import read_runs
    from experiments.sweeping import sweep

    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder, "memory.toml")
        experiment.write_text(EXPERIMENT.format(replications=WARM_RUNS))
        sweep(load_experiment(str(experiment)), Path(folder, "warm"), workers=1, show="none")
        experiment.write_text(EXPERIMENT.format(replications=runs))
        if way == "traced":
            tracemalloc.start()
        sweep(load_experiment(str(experiment)), Path(folder, "measured"), workers=1, show="none")
        if way == "traced":
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        else:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {way: peak, "rows": len(read_runs(Path(folder, "measured")))}


EXPERIMENT = """
scenario = "rewrite-budget-exact"
policies = ["guarded"]
replications = {replications}
responses = ["occupancy_q95_pct", "usd", "net_tokens"]

[[factor]]
name = "trigger"
path = "policy.trigger.fraction"
values = [0.91]

[plot]
response = "usd"
"""

if __name__ == "__main__":
    json.dump(sweep_here(sys.argv[1], int(sys.argv[2])), sys.stdout)
