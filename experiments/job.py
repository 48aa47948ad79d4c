"""One run of a sweep, wherever it is made: what a worker does with its number, and the rows of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import NamedTuple, get_args, get_type_hints

from experiments.experiment import Experiment
from experiments.factors import Factor
from experiments.identity import differences_between, versions
from experiments.journal import Journal, Scalar, Tables
from experiments.manifest import FAILURES, RUNS
from experiments.parquet import Columns
from experiments.plan import Coordinates, Plan
from experiments.workers import Failure
from scenarios.measures import MEASURES
from simulator import Run, simulate
from simulator.errors import SKIPPED, RunFailed, RunSkipped
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


class Done(NamedTuple):
    """What comes back of a run: the response that a rule reads, and rows that are not yet written."""

    value: float | None
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
        rule, responses = plan.experiment.file.replications, plan.experiment.file.responses
        self._of_rule = None if isinstance(rule, int) else responses.index(rule.response) - len(responses)
        """Where the response that a rule reads stands in a row of the runs, which ends with the responses."""

    def __reduce__(self) -> tuple[Callable[..., SweepJob], tuple[object, ...]]:
        return _unpacked, (self.plan, self.journal, versions())

    def __call__(self, run: int) -> Done:
        """Make one run. Raises RunFailed for a policy's fault, InputError for one that does not load."""
        started = time.perf_counter()
        tables = self.tables_of(run)
        tables[TIMES] = [[time.perf_counter() - started]]
        (row,) = tables[RUNS]
        value = None if self._of_rule is None else row[self._of_rule]
        assert not isinstance(value, str)
        if self.journal is None:
            return Done(value, tables)
        self.journal.append(run, tables)
        return Done(value, None)

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


def _unpacked(plan: Plan, journal: Journal | None, there: Mapping[str, object]) -> SweepJob:
    """Return a job that has travelled. Raises RunFailed where its rows would follow from other versions."""
    if there != (here := versions()):
        raise RunFailed("worker", f"other versions than the driver's: {differences_between(there, here)}")
    return SweepJob(plan, journal)


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
