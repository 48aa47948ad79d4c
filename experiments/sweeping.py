"""Sweeps: an experiment file becomes a folder of Parquet, resumable, on any executor.

The driver asks the plan for what is missing and hands out numbers of runs; a worker makes the run, takes its
responses, and writes them to its journal; at the end the driver compacts. What has been run is never run
again; results are the same bit for bit whatever the workers, the order, a crash or a resume.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.choosing import chosen
from experiments.experiment import Experiment, ExperimentFile, experiment_from
from experiments.identity import identity_of
from experiments.job import Done, SweepJob, failed_tables, tables_of, time_limit_of
from experiments.journal import Journal
from experiments.manifest import FAILURES, read_manifest
from experiments.plan import Plan
from experiments.progress import Mode, progress
from experiments.reading import read_table
from experiments.rounds import Agenda
from experiments.runner import stream_tasks
from experiments.store import SweepStore
from experiments.workers import Failure
from simulator import InputError
from simulator.catalogue import validated

MOST_RUNS = 100_000
"""Runs of a sweep that is begun without a word of consent."""

SECONDS_BETWEEN_FLUSHES = 1.0


def sweep(  # noqa: PLR0913 - one parameter an option of the command
    experiment: Experiment,
    folder: Path,
    *,
    workers: int | None = None,
    open_executor: Callable[[], Executor] | None = None,
    only: Sequence[str] = (),
    fresh: bool = False,
    retry_failed: bool = False,
    show: Mode = "auto",
    command: Sequence[str] = (),
) -> int:
    """Run what is missing of an experiment, and return how many of the runs in the folder have failed.

    Parameters
    ----------
    experiment : Experiment
    folder : where the results lie; made if it is not there.
    workers : worker processes; None takes the usable cores, 0 stays in this process, which a policy can then
        end. Of another executor: how many runs it makes at once.
    open_executor : makes another executor, of a cluster for instance, and a new one where it breaks.
    only : words `name=value` that say which runs are meant, as `chosen` reads them.
    fresh : remove the results of an earlier sweep first.
    retry_failed : run again what has failed.
    show : how progress is shown, as for `progress`.
    command : the words that asked for it, for the manifest.

    Raises
    ------
    InputError
        A level, scenario or policy cannot be built; the folder cannot be written, is in use, or holds
        another sweep. Of a disk that fills up (DiskFault) the same sweep goes on later.
    """
    plan = Plan(experiment)
    meant = chosen(plan, only)
    session = {
        "experiment": experiment.name,
        "file": experiment.file.model_dump(mode="json"),
        "command": list(command),
    }
    with SweepStore(
        folder,
        identity=identity_of(experiment),
        size=plan.size,
        tables=tables_of(experiment),
        session=session,
        fresh=fresh,
    ) as store:
        job = SweepJob(plan, store.journal if open_executor is None else None)
        agenda = _agenda(plan, store, meant, retry_failed=retry_failed)
        stream = stream_tasks(
            job,
            agenda.todo,
            workers=workers,
            open_executor=open_executor,
            time_limit=time_limit_of(experiment),
        )
        with progress(agenda.total, "runs", show, done=agenda.done) as bar, closing(stream):
            _take_in(agenda, store.journal, stream, bar.advance)
        store.compact()
    return len(read_table(folder, FAILURES))


def _agenda(plan: Plan, store: SweepStore, meant: NDArray[np.bool_], *, retry_failed: bool) -> Agenda:
    """Return what is still to be done of a sweep."""
    rule = plan.experiment.file.replications
    finished = store.finished(notes=True)
    again = meant & finished & ~store.finished(failed_too=False) if retry_failed else np.zeros_like(meant)
    values = None if isinstance(rule, int) else store.values(rule.response)
    return Agenda(plan, meant, finished, again, values)


def _take_in(
    agenda: Agenda,
    journal: Journal,
    stream: Iterator[tuple[int, Done | Failure]],
    advance: Callable[..., None],
) -> None:
    """Write what workers could not, rows that came back and failures; let the agenda grow."""
    flushed = time.monotonic()
    for place, result in stream:
        run, value = agenda.todo[place], None
        if isinstance(result, Failure):
            journal.append(run, failed_tables(agenda.plan, run, result))
        else:
            value = result.value
            if result.tables is not None:
                journal.append(run, result.tables)
        if time.monotonic() - flushed > SECONDS_BETWEEN_FLUSHES:
            journal.sync()
            flushed = time.monotonic()
        advance(failures=int(isinstance(result, Failure)), more=agenda.take(run, value))
    journal.sync()


def experiment_of(folder: Path) -> Experiment:
    """Return the experiment whose results lie in a folder, as its manifest holds it.

    Raises
    ------
    InputError
        The folder is not a sweep's.
    """
    session = read_manifest(folder)["sessions"][-1]
    path = Path(folder) / "manifest.json"
    file = validated(ExperimentFile, session.get("file", {}), str(path))
    return experiment_from(file, str(session.get("experiment")), path)


def require_size(experiment: Experiment, *, consent: bool) -> None:
    """Raise InputError for a sweep of more than `MOST_RUNS` runs without a word of consent."""
    size = Plan(experiment).size
    if size > MOST_RUNS and not consent:
        raise InputError(
            f"a sweep of {size:,} runs",
            where=str(experiment.path),
            expected=f"at most {MOST_RUNS:,}, or --yes; --dry-run tells how long it takes",
        )
