"""Sweeps: an experiment file becomes a folder of Parquet, resumable, on any executor.

The driver asks the plan for what is missing and hands out numbers of runs; a worker makes the run, takes its
responses, and writes them to its journal; at the end the driver compacts. What has been run is never run
again; results are the same bit for bit whatever the workers, the order, a crash or a resume.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from types import NoneType, UnionType
from typing import NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from experiments.choosing import chosen
from experiments.experiment import Experiment, ExperimentFile, experiment_from
from experiments.factors import Factor
from experiments.identity import identity_of
from experiments.journal import Journal, Scalar, Tables
from experiments.parquet import Columns
from experiments.plan import Coordinates, Plan
from experiments.progress import Mode, progress
from experiments.rounds import wanted
from experiments.runner import stream_tasks
from experiments.store import FAILURES, RUNS, SweepStore, read_manifest, read_table
from experiments.workers import Failure
from scenarios.measures import MEASURES
from simulator import InputError, Run, simulate
from simulator.catalogue import validated
from simulator.errors import SKIPPED, RunSkipped
from simulator.ledger import RewriteEntry
from simulator.recorder import EventRow, ObedienceRow, TurnRow

TIMES = "times"
"""The table of wall-clock seconds: the one whose rows differ from session to session."""

RECORDS: dict[str, type[NamedTuple]] = {
    "turns": TurnRow,
    "rewrites": RewriteEntry,
    "events": EventRow,
    "obedience": ObedienceRow,
}
"""Tables of single runs that can be kept, and the rows that they are made of."""

TIME_LIMIT_SECONDS = 600.0
"""Wall-clock seconds that a run may take, where its experiment does not say."""

MOST_RUNS = 100_000
"""Runs of a sweep that is begun without a word of consent."""

SECONDS_BETWEEN_FLUSHES = 1.0


class Done(NamedTuple):
    """What comes back of a run: whether it failed, and its rows where the worker could not write them."""

    failed: bool
    tables: Tables | None


class SweepJob:
    """What a worker does with a run of a plan: make it, take its responses, write its rows.

    Parameters
    ----------
    plan : Plan
    journal : Journal or None
        Where a worker writes on the driver's own disk; without it rows travel back.
    """

    def __init__(self, plan: Plan, journal: Journal | None) -> None:
        self.plan, self.journal = plan, journal

    def __call__(self, run: int) -> Done:
        """Make one run. Raises RunFailed for a policy's fault, InputError for one that does not load."""
        started = time.perf_counter()
        tables = self.tables_of(run)
        tables[TIMES] = [[time.perf_counter() - started]]
        if self.journal is None:
            return Done(False, tables)
        self.journal.append(run, tables)
        return Done(False, None)

    def end_chunk(self) -> None:
        """Have the disk keep what was written."""
        if self.journal is not None:
            self.journal.sync()

    def tables_of(self, run: int) -> dict[str, list[list[Scalar]]]:
        """Make one run and return its rows by table, without the run's number."""
        at = self.plan.coordinates(run)
        file = self.plan.experiment.file
        try:
            made = run_at(self.plan, at)
        except RunSkipped as told:
            return {RUNS: [unfinished_row(self.plan, run, SKIPPED, told.stage, told.reason)], FAILURES: []}
        responses = [response(made, name) for name in file.responses]
        row = [*self.plan.labels(at).values(), made.outcome, None, None, *responses]
        kept: dict[str, Sequence[Sequence[Scalar]]] = {
            "turns": made.turn_rows,
            "rewrites": made.rewrite_rows,
            "events": made.event_rows,
            "obedience": made.obedience_rows,
        }
        return {RUNS: [row], FAILURES: [], **{name: [list(one) for one in kept[name]] for name in file.keep}}


def run_at(plan: Plan, at: Coordinates) -> Run:
    """Make the run that stands somewhere in a plan. Raises RunFailed."""
    return simulate(
        plan.setting(at), plan.policy(at), plan.seed(at), time_limit=time_limit_of(plan.experiment)
    )


def time_limit_of(experiment: Experiment) -> float:
    """Return the wall-clock seconds that a run of an experiment may take."""
    return experiment.file.time_limit_seconds or TIME_LIMIT_SECONDS


def response(run: Run, name: str) -> float | None:
    """Return one response of a run: a measure, or a number of its summary."""
    if name in MEASURES:
        taken = MEASURES[name].take(run)
        return None if taken is None else float(taken)
    value = run.summary.get(name)
    return float(value) if isinstance(value, int | float) else None


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
    workers : processes; None takes the usable cores. Of another executor: how many runs it makes at once.
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
        for todo, done, total in _rounds(plan, store, meant, retry_failed=retry_failed):
            with (
                progress(total, "runs", show, done=done) as bar,
                closing(
                    stream_tasks(
                        job,
                        todo,
                        workers=workers,
                        open_executor=open_executor,
                        time_limit=time_limit_of(experiment),
                    )
                ) as stream,
            ):
                _take_in(plan, store.journal, todo, stream, bar.advance)
        store.compact()
    return len(read_table(folder, FAILURES))


def _take_in(
    plan: Plan,
    journal: Journal,
    todo: Sequence[int],
    stream: Iterator[tuple[int, Done | Failure]],
    advance: Callable[..., None],
) -> None:
    """Write what workers could not: rows that came back, and failures."""
    flushed = time.monotonic()
    for place, result in stream:
        if isinstance(result, Failure):
            journal.append(todo[place], failed_tables(plan, todo[place], result))
        elif result.tables is not None:
            journal.append(todo[place], result.tables)
        if time.monotonic() - flushed > SECONDS_BETWEEN_FLUSHES:
            journal.sync()
            flushed = time.monotonic()
        advance(failures=int(isinstance(result, Failure)))
    journal.sync()


def _rounds(
    plan: Plan, store: SweepStore, meant: NDArray[np.bool_], *, retry_failed: bool
) -> Iterator[tuple[list[int], int, int]]:
    """Yield the runs of one round after the other, with how many are done and how many there are."""
    rule = plan.experiment.file.replications
    finished = store.finished(notes=True)
    again = meant & finished & ~store.finished(failed_too=False) if retry_failed else np.zeros_like(meant)
    if isinstance(rule, int):
        todo = meant & ~finished | again
        yield np.flatnonzero(todo).tolist(), int((meant & ~todo).sum()), int(meant.sum())
        return
    todo = again if again.any() else wanted(plan, rule, finished | ~meant, store.values(rule.response))
    while todo.any():
        runs, done = np.flatnonzero(todo).tolist(), int((meant & finished & ~todo).sum())
        yield runs, done, done + len(runs)
        finished = finished | todo
        todo = wanted(plan, rule, finished | ~meant, store.values(rule.response))


def failed_tables(plan: Plan, run: int, failure: Failure) -> Tables:
    """Return the rows of a run that failed: stage and reason stand where a result would."""
    labels = list(plan.labels(plan.coordinates(run)).values())
    reason = without_addresses(failure.reason)
    told = [failure.stage, failure.kind, reason, without_addresses(failure.traceback)]
    row = unfinished_row(plan, run, "failed", failure.stage, reason)
    return {RUNS: [row], FAILURES: [[*labels, *told]]}


def unfinished_row(plan: Plan, run: int, outcome: str, stage: str, reason: str) -> list[Scalar]:
    """Return the row of a run that has no responses: how it ended, where, and why."""
    labels = plan.labels(plan.coordinates(run)).values()
    return [*labels, outcome, stage, reason, *[None] * len(plan.experiment.file.responses)]


def without_addresses(text: str) -> str:
    """Return a text without the addresses of objects, which are others in each process.

    >>> without_addresses("<Policy object at 0x7f1c2a>")
    '<Policy object at 0x...>'
    """
    return re.sub(r"0x[0-9a-f]+", "0x...", text)


# --------------------------------------------------------------------------- tables


def tables_of(experiment: Experiment) -> dict[str, Columns]:
    """Return the tables that a sweep makes, with the types of their columns."""
    labels: dict[str, type] = {"scenario": str, "point": int}
    labels |= {factor.name: _type_of(factor) for factor in experiment.file.factor}
    labels |= {"policy": str, "replication": int}
    outcome = {"outcome": str, "failed_stage": str, "failure": str}
    return {
        RUNS: {**labels, **outcome, **dict.fromkeys(experiment.file.responses, float)},
        FAILURES: {**labels, "stage": str, "type": str, "message": str, "traceback": str},
        TIMES: {"seconds": float},
        **{name: _types_of(RECORDS[name]) for name in experiment.file.keep},
    }


def _type_of(factor: Factor) -> type:
    kinds = {type(label) for label in factor.labels}
    return kinds.pop() if len(kinds) == 1 else float


def _types_of(row: type[NamedTuple]) -> Mapping[str, type]:
    hints = get_type_hints(row)
    return {name: _without_none(hints[name]) for name in row._fields}


def _without_none(kind: type | UnionType) -> type:
    """Return the type of a value that may be missing, as any in a table may.

    >>> _without_none(int | None)
    <class 'int'>
    """
    if not isinstance(kind, UnionType):
        return kind
    (known,) = (one for one in get_args(kind) if one is not NoneType)
    assert isinstance(known, type)
    return known


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
