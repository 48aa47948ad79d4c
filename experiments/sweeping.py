"""Sweeps: an experiment file becomes a folder of Parquet, resumable, and its picture.

The plan is the list of (point, policy, replication) in file order; a run is one row of responses.
What has been run is never run again; results are the same bit for bit whatever the workers, the
order, a crash or a resume.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.effects import differences, effects
from experiments.experiment import REGIME_RESPONSES, Experiment, ExperimentFile, require_plot
from experiments.progress import Mode, progress
from experiments.runner import stream_tasks
from experiments.runs import RunTask, execute
from experiments.statistics import Interval, mean_interval, share_interval
from experiments.store import SweepStore, read_manifest, read_runs
from experiments.workers import Failure
from policies import load_policy
from scenarios import load_scenario
from scenarios.measures import MEASURES, YES_OR_NO, possible
from simulator import InputError, Run
from simulator.catalogue import validated
from simulator.errors import nearest_name
from simulator.simulation import version

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class SweepTask:
    """One run of a sweep: the run, where it stands in the table, and what to take from it."""

    run: RunTask
    labels: dict[str, Scalar]
    responses: tuple[str, ...]


def execute_row(task: SweepTask) -> dict[str, Scalar]:
    """Run one task and return its row of responses."""
    run = execute(task.run)
    row: dict[str, Scalar] = {
        **_coordinates(task),
        "outcome": run.outcome,
        "failed_stage": None,
        "failure": None,
    }
    return row | {name: response(run, name) for name in task.responses}


def response(run: Run, name: str) -> float | None:
    """Return one response of a run: a measure, or a number of its summary."""
    if name in MEASURES:
        return MEASURES[name].take(run)
    value = run.summary.get(name)
    return float(value) if isinstance(value, int | float) else None


def plan_of(experiment: Experiment) -> list[SweepTask]:
    """Return all runs of an experiment. Raises InputError where a point or a policy cannot be built."""
    try:
        return _plan(experiment)
    except InputError as fault:
        raise InputError(f"{fault}", where=str(experiment.path)) from fault


def _plan(experiment: Experiment) -> list[SweepTask]:
    file = experiment.file
    responses = tuple(file.responses)
    tasks = []
    for point in experiment.points():
        setting = load_scenario(file.scenario, point.of_scenario).setting()
        labels: dict[str, Scalar] = dict(point.labels)
        for policy in file.policies:
            load_policy(policy, point.of_policy)
            tasks += [
                SweepTask(
                    RunTask(setting, policy, file.seed, replication, point.of_policy), labels, responses
                )
                for replication in range(file.replications)
            ]
    return tasks


def sweep(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    show: Mode = "auto",
) -> int:
    """Run what is missing of an experiment, and return how many of all of its runs have failed.

    Parameters
    ----------
    experiment : Experiment
    folder : where the results lie; made if it is not there.
    workers : processes; None takes the usable cores.
    fresh : remove the results of an earlier plan first.
    show : how progress is shown, as for `progress`.

    Raises
    ------
    InputError
        The folder cannot be written, is in use, or holds another plan.
    """
    tasks = plan_of(experiment)
    columns: dict[str, type] = {
        "policy": str,
        "replication": int,
        "outcome": str,
        "failed_stage": str,
        "failure": str,
    }
    columns |= dict.fromkeys(experiment.file.responses, float)
    manifest = {"experiment": experiment.name, "file": experiment.file.model_dump(mode="json")}
    with SweepStore(
        folder,
        plan_digest=digest_of(experiment, tasks),
        plan_size=len(tasks),
        manifest=manifest,
        columns=columns,
        fresh=fresh,
    ) as store:
        missing = store.missing()
        todo = [tasks[run] for run in missing]
        with (
            progress(len(tasks), "runs", show, done=len(tasks) - len(todo)) as bar,
            closing(stream_tasks(execute_row, todo, workers=workers)) as stream,
        ):
            for place, result in stream:
                failed = isinstance(result, Failure)
                store.add(
                    missing[place],
                    _failed_row(todo[place], result) if isinstance(result, Failure) else result,
                )
                bar.advance(failures=int(failed))
    return int(read_runs(folder)["failure"].notna().sum())


def digest_of(experiment: Experiment, plan: Sequence[SweepTask] | None = None) -> str:
    """Return what names the plan: all that its rows follow from, and nothing that only tells of them.

    That is each point's setting and labels, each policy there, seed, replications and responses; a
    policy of a user's own is told by the text of its module.
    """
    file = experiment.file
    digest = hashlib.sha256()

    def add(part: object) -> None:
        digest.update(json.dumps(plain_form(part), sort_keys=True).encode())

    add([version(), file.seed, file.replications, file.responses])
    for task in plan_of(experiment) if plan is None else plan:
        run = task.run
        if run.replication:
            continue
        policy = load_policy(run.policy, run.overrides)
        parts = getattr(policy, "parts", None)
        add([task.labels, run.setting, run.policy, policy.terms, parts])
        if parts is None:
            add([type(policy).__qualname__, _source_of(type(policy))])
    return digest.hexdigest()[:16]


def plain_form(value: object) -> object:
    """Return a value as JSON could hold it, the same in every process.

    Sets are sorted, objects are told by their class and attributes, and nothing by its address.

    >>> plain_form(frozenset({"b", "a"})), plain_form((1, 2.5))
    (['a', 'b'], [1, 2.5])
    """
    if isinstance(value, Enum):
        return plain_form(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return [[plain_form(key), plain_form(inner)] for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [plain_form(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((plain_form(inner) for inner in value), key=json.dumps)
    if isinstance(value, type) or callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', '')}"
    if dataclasses.is_dataclass(value):
        inner = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    else:
        inner = dict(getattr(value, "__dict__", {}))
    return [type(value).__qualname__, plain_form(inner)]


def _source_of(kind: type) -> str:
    """Return the text of the module that a class stands in, or nothing where there is none."""
    try:
        return inspect.getsource(sys.modules[kind.__module__])
    except (KeyError, OSError, TypeError):
        return ""


def table_of(folder: Path, experiment: Experiment) -> pd.DataFrame:
    """Return one row a point, policy and response: mean, interval, runs and failures.

    Columns are the factors, `policy`, `response`, `mean`, `low`, `high`, `n`, `failed`.
    """
    import pandas as pd

    runs = read_runs(folder)
    factors = [factor.name for factor in experiment.file.factor]
    if runs.empty:
        return pd.DataFrame()
    rows = []
    for key, group in runs.groupby([*factors, "policy"], sort=False):
        place = dict(zip([*factors, "policy"], key, strict=True))
        failed = int(group["failure"].notna().sum())
        for name in experiment.file.responses:
            values = group[name].dropna().to_numpy(dtype=float)
            interval = _interval(name, values.tolist())
            rows.append(
                {
                    **place,
                    "response": name,
                    "mean": interval.estimate if interval else None,
                    "low": interval.low if interval else None,
                    "high": interval.high if interval else None,
                    "n": len(values),
                    "failed": failed,
                }
            )
    return pd.DataFrame(rows)


def _interval(response: str, values: Sequence[float]) -> Interval | None:
    """Return the interval of a mean, cut to what is possible; of a response that is 0 or 1, of a share."""
    if not values:
        return None
    if response in MEASURES and MEASURES[response].unit == YES_OR_NO:
        return share_interval(round(sum(values)), len(values))
    interval = mean_interval(values)
    if response in MEASURES:
        least, most = possible(response)
    else:
        least, most = (-math.inf if response in SIGNED_KEYS else 0.0), math.inf
    return interval._replace(low=max(interval.low, least), high=min(interval.high, most))


SIGNED_KEYS = ("net_tokens", "believed_net_tokens")
"""Keys of the summary that may be below 0."""


def regimes(table: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return one row a point and policy with its regime.

    Spiral: mean net of an attempt below 0. Insufficient: at least 0 but below what arrives a turn.
    Stable: else, and where nothing triggered. Points of which every run failed have none.
    """
    places = [*factors, "policy"]
    ran = table[(table["failed"] == 0) | (table["n"] > 0)]
    wide = ran[places].drop_duplicates().reset_index(drop=True)
    for name in REGIME_RESPONSES:
        own = table.loc[table["response"] == name, [*places, "mean"]]
        own = own.assign(mean=own["mean"].astype(float)).rename(columns={"mean": name})
        wide = wide.merge(own, how="left", on=places)
    net, arrivals = (wide[name] for name in REGIME_RESPONSES)
    wide["regime"] = "stable"
    wide.loc[net < arrivals, "regime"] = "insufficient"
    wide.loc[net < 0, "regime"] = "spiral"
    return wide


def picture(folder: Path, experiment: Experiment, kind: str | None = None) -> Figure:
    """Return the figure of a sweep's results, of the kind that its file asks for or another."""
    from experiments import plots

    file = experiment.file
    kind = kind or file.plot.kind
    if kind not in KINDS:
        raise InputError(
            f"unknown picture {kind!r}",
            where="plot",
            expected=", ".join(KINDS),
            nearest=nearest_name(kind, KINDS),
        )
    require_plot(file, kind, f"plot {kind}")
    table = table_of(folder, experiment)
    if table.empty:
        raise InputError("holds no results yet", where=str(folder), expected="a sweep that has run")
    factors = [factor.name for factor in file.factor]
    labels = {
        factor.name: f"{factor.name} ({factor.unit})" if factor.unit else factor.name
        for factor in file.factor
    }
    chosen = file.plot.response or file.responses[0]
    labels |= {
        name: f"{name} ({MEASURES[name].unit})" if name in MEASURES else name for name in file.responses
    }
    if kind == "differences":
        return plots.difference_table(
            differences(folder, experiment),
            baseline=str(file.plot.baseline),
            replications=file.replications,
            labels=labels,
            corner=labels[factors[0]],
        )
    if kind == "effects":
        return plots.effect_forest(
            effects(folder, experiment), chosen, replications=file.replications, labels=labels
        )
    if kind == "phase":
        points = regimes(table, factors)
        intercept, slope = file.plot.line or (0.0, 0.0)
        return plots.phase_diagram(
            points,
            factors[0],
            factors[1],
            analytic=(lambda x: intercept + slope * x) if file.plot.line else None,
            analytic_label=file.plot.line_label,
            labels=labels,
        )
    if kind == "table":
        wide = table.copy()
        places = [*factors, "policy"] if len(file.policies) > 1 else factors
        wide["setting"] = wide[places].astype(str).agg(", ".join, axis=1)
        wide["judged"] = None
        wide["documented"] = wide["response"].map(
            lambda name: MEASURES[name].unit if name in MEASURES else ""
        )
        wide["response"] = wide["response"].str.replace("_", " ")
        return plots.signature_table(
            wide,
            setting="setting",
            signature="response",
            value="mean",
            passed="judged",
            corner=", ".join(places),
        )
    rows = table[table["response"] == chosen].rename(columns={"mean": chosen})
    if kind == "heat":
        return plots.heat_table(rows, factors[0], factors[1], chosen, labels=labels)
    by = file.plot.by
    if by is None:
        return plots.response_with_intervals(rows, factors[0], chosen, labels=labels)
    lines = rows[by].astype(str)
    rows = rows.assign(line=lines + ", " + rows["policy"] if len(file.policies) > 1 else lines)
    across = next(name for name in factors if name != by)
    return plots.response_with_intervals(rows, across, chosen, by="line", labels=labels)


KINDS = ("response", "heat", "phase", "table", "differences", "effects")
"""Pictures of a sweep."""


def contrasts(folder: Path, experiment: Experiment) -> pd.DataFrame | None:
    """Return the table of contrasts that the experiment's picture shows: effects, differences, or none."""
    made = {"differences": differences, "effects": effects}.get(experiment.file.plot.kind)
    return None if made is None else made(folder, experiment)


def experiment_of(folder: Path) -> Experiment:
    """Return the experiment whose results lie in a folder, as its manifest holds it.

    Raises
    ------
    InputError
        The folder is not a sweep's.
    """
    session = read_manifest(folder)["sessions"][-1]
    file = validated(ExperimentFile, session["file"], f"{folder}/manifest.json")
    return Experiment(session["experiment"], folder / "manifest.json", file)


def _coordinates(task: SweepTask) -> dict[str, Scalar]:
    return {**task.labels, "policy": task.run.policy, "replication": task.run.replication}


def _failed_row(task: SweepTask, failure: Failure) -> dict[str, Scalar]:
    """Return the row of a run that failed: its stage and reason stand where a result would."""
    row: dict[str, Scalar] = {
        **_coordinates(task),
        "outcome": "failed",
        "failed_stage": failure.stage,
        "failure": failure.reason,
    }
    return row | dict.fromkeys(task.responses)
