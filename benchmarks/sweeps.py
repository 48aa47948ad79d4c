"""Whole sweeps, each in a process of its own: its time by stage, the driver's memory, what the disk holds.

The script sweeps one experiment file and prints what that took as JSON; the functions above it make the
files, start it, and hold sizes against each other. Runs are short where the sweep is measured, and as long
as a study's where the runs are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal, NamedTuple
from unittest import mock

from findings import Finding, in_time, of_ratio, require
from pairing import cpu, paired
from turn import bare_timeouts, counted_events

from experiments.experiment import load_experiment
from experiments.job import SweepJob, run_at
from experiments.plan import Plan
from experiments.reading import JOURNAL, read_runs, read_table
from experiments.store import SweepStore
from experiments.sweeping import sweep
from experiments.workers import open_pool

WORKERS = 2
MICROSECOND = 1e-6
MEMORY_TARGET = 1.2
TIMES_LARGER = 10
LONG_TURNS = 200
WANTED_RUNS = 10_000
"""Runs of 200 turns whose time is asked for; it is told from fewer."""
RATIO_RUNS = 5
"""Runs whose events are counted, and which are timed against as many bare ones."""

SHORT = """
scenario = "constant-arrivals"
policies = ["naive"]
replications = {runs}
responses = ["turns", "usd", "net_tokens"]

[set]
"run.horizon" = 3
"""

LONG = """
scenario = "rewrite-budget-spiral"
policies = ["guarded"]
replications = {runs}
responses = ["turns", "usd", "net_tokens"]
keep = {keep}

[set]
"run.horizon" = 200
"""


def plan_of(experiment: str) -> Plan:
    """Return the plan of the text of an experiment file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.toml")
        path.write_text(experiment)
        return Plan(load_experiment(str(path)))


Way = Literal["journals", "travels"]
"""Workers write to journals of their own, or rows travel back to the driver, as from a cluster."""


class Swept(NamedTuple):
    """What one sweep took.

    Attributes
    ----------
    runs, turns : rows of its tables.
    seconds : wall-clock seconds of all of it.
    driver : CPU seconds of all of it in the driver's process, without workers those of the runs too.
    compaction : CPU seconds of making the tables.
    reading : CPU seconds of reading the table of the runs back, which is not in the others.
    resident : peak of the driver's resident memory, KiB.
    journal, tables : bytes on disk before and after compaction.
    """

    runs: int
    turns: int
    seconds: float
    driver: float
    compaction: float
    reading: float
    resident: int
    journal: int
    tables: int


def swept(experiment: str, workers: int, way: Way = "journals") -> Swept:
    """Sweep the text of an experiment file in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "measured.toml")
        path.write_text(experiment)
        command = [sys.executable, __file__, str(path), str(workers), way]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Swept(**json.loads(answer))


def sweep_here(path: Path, workers: int, way: str) -> Swept:
    """Sweep in this process and look at what it took."""
    opener = (lambda: open_pool(workers, [SweepJob.__module__])) if way == "travels" else None
    experiment, folder = load_experiment(str(path)), path.with_suffix("")
    compact = SweepStore.compact
    seen: dict[str, float] = {}

    def watched(store: SweepStore) -> None:
        seen["journal"] = _bytes_in(folder / JOURNAL)
        began = time.process_time()
        compact(store)
        seen["compaction"] = time.process_time() - began

    began, driver = time.perf_counter(), time.process_time()
    with mock.patch.object(SweepStore, "compact", watched):
        sweep(experiment, folder, workers=workers, open_executor=opener, show="none")
    seconds, driver = time.perf_counter() - began, time.process_time() - driver
    resident = peak_kib()
    began = time.process_time()
    rows = len(read_runs(folder))
    reading = time.process_time() - began
    return Swept(
        rows,
        len(read_table(folder, "turns")) if "turns" in experiment.file.keep else 0,
        seconds,
        driver,
        seen["compaction"],
        reading,
        resident,
        int(seen["journal"]),
        sum(table.stat().st_size for table in folder.glob("*.parquet")),
    )


def peak_kib() -> int:
    """Return the peak of the resident memory in KiB; `getrusage` would count the process that started us."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


# --------------------------------------------------------------------------- cases


def memory(runs: int) -> list[Finding]:
    """Measure the driver's peak in a sweep of many short runs in that of a tenth of them."""
    return [_memory(runs, workers) for workers in (0, WORKERS)]


def _memory(runs: int, workers: int) -> Finding:
    few, many = (swept(SHORT.format(runs=number), workers) for number in (runs // TIMES_LARGER, runs))
    work = require({"rows": (many.runs, runs), "rows of the small one": (few.runs, runs // TIMES_LARGER)})
    grown = (many.resident - few.resident) * 1024 / (many.runs - few.runs)
    return Finding(
        f"peak memory of a sweep of {many.runs:,} short runs, {_place(workers)}",
        f"a sweep of {few.runs:,} runs",
        measured=many.resident / few.resident,
        target=MEMORY_TARGET,
        times=f"{many.resident >> 10} MiB, {few.resident >> 10} MiB resident, {grown:.0f} bytes a run more; "
        + _told(many),
        work=work,
    )


def _place(workers: int) -> str:
    return "in one process" if workers == 0 else f"driver of {workers} workers"


def _told(sweep: Swept) -> str:
    """Return what a run cost in a sweep of many, stage by stage."""
    return (
        f"a run: {in_time(sweep.seconds / sweep.runs)} in all; {in_time(sweep.driver / sweep.runs)} of the "
        f"driver, {in_time(sweep.compaction / sweep.runs)} of that compaction; read back in "
        f"{in_time(sweep.reading / sweep.runs)}; {sweep.journal / sweep.runs:.0f} bytes of journal, "
        f"{sweep.tables / sweep.runs:.0f} of tables"
    )


def long_runs(runs: int, rounds: int) -> list[Finding]:
    """Measure runs of 200 turns: how many a second on two workers, and in as many bare SimPy events."""
    plan = plan_of(LONG.format(runs=RATIO_RUNS, keep=[]))
    places = [plan.coordinates(run) for run in range(plan.size)]

    def work() -> list[int]:
        return [len(run_at(plan, place).turn_rows) for place in places]

    with counted_events() as events:
        turns = sum(work())
    counted = require({"turns": (turns, RATIO_RUNS * LONG_TURNS)})
    ratio = paired(bare_timeouts(events.scheduled), cpu(work), rounds)
    whole = swept(LONG.format(runs=runs, keep=[]), WORKERS)
    rate = whole.runs / whole.seconds
    return [
        Finding(
            f"guarded run of {LONG_TURNS} turns of rewrite-budget-spiral",
            "as many bare SimPy events",
            **of_ratio(ratio),
            times=f"{in_time(ratio.best_case / RATIO_RUNS)} a run",
            work=f"{counted} and {events.scheduled} events in {RATIO_RUNS} runs",
        ),
        Finding(
            f"sweep of such runs on {WORKERS} workers",
            "runs a second",
            rate,
            times=f"at that rate {WANTED_RUNS:,} runs take {in_time(WANTED_RUNS / rate)}; {_told(whole)}",
            work=require({"rows": (whole.runs, runs)}),
        ),
    ]


def driver(runs: int) -> list[Finding]:
    """Measure what one run more costs the driver, where workers write journals and where rows travel back."""
    return [_driver(runs, "journals", "workers write"), _driver(runs, "travels", "rows travel back")]


def _driver(runs: int, way: Way, how: str) -> Finding:
    few, many = (swept(SHORT.format(runs=number), WORKERS, way) for number in (runs // TIMES_LARGER, runs))
    more = many.runs - few.runs
    return Finding(
        f"driver, a run more of a sweep where {how}",
        "microseconds of its CPU time",
        (many.driver - few.driver) / more / MICROSECOND,
        times=f"{in_time((many.compaction - few.compaction) / more)} of it compaction",
        work=require({"rows": (many.runs, runs)}),
    )


def kept_turns(runs: int) -> Finding:
    """Measure what the disk holds of a run whose turns are kept."""
    kept = swept(LONG.format(runs=runs, keep=["turns"]), WORKERS)
    return Finding(
        f"disk for a run of {LONG_TURNS} turns that are kept",
        "bytes of tables",
        kept.tables / kept.runs,
        times=_told(kept),
        work=require({"rows": (kept.runs, runs), "turn rows": (kept.turns, runs * LONG_TURNS)}),
    )


if __name__ == "__main__":
    json.dump(sweep_here(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])._asdict(), sys.stdout)
