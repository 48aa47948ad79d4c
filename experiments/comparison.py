"""Comparison: several policies in one world, run by run, saved and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.files import write_tables
from experiments.runner import run_tasks
from experiments.runs import RunTask, execute
from experiments.workers import Failure
from policies import load_policy
from simulator import InputError, Run, Setting


@dataclass(frozen=True, slots=True)
class Row:
    """One policy in one world: the run, or the failure that stands in its place."""

    scenario: str
    policy: str
    seed: int
    window: int
    run: Run | None
    failure: Failure | None


def compare(
    settings: Sequence[Setting],
    policies: Sequence[str],
    overrides: Mapping[str, Mapping[str, object]],
    seed: int,
) -> list[Row]:
    """Run every policy in every world. Raises InputError as `require_policies`, before the first run."""
    require_policies(policies, overrides)
    tasks = [
        RunTask(setting, policy, seed, overrides=dict(overrides.get(policy, {})))
        for setting in settings
        for policy in policies
    ]
    return [
        Row(
            task.setting.name,
            task.policy,
            seed,
            task.setting.window,
            None if isinstance(result, Failure) else result,
            result if isinstance(result, Failure) else None,
        )
        for task, result in zip(tasks, run_tasks(execute, tasks, workers=0), strict=True)
    ]


def require_policies(policies: Sequence[str], overrides: Mapping[str, Mapping[str, object]]) -> None:
    """See that all policies can run side by side.

    Raises
    ------
    InputError
        A policy does not load, stands twice, or shares the name of its folder with another.
    """
    if len(set(policies)) != len(policies):
        raise InputError("a policy stands twice", where="--policy", expected="distinct policies")
    folders: dict[str, str] = {}
    for policy in policies:
        load_policy(policy, overrides.get(policy, {}))
        if (other := folders.setdefault(folder_name(policy), policy)) != policy:
            raise InputError(
                f"{other!r} and {policy!r} are both named {folder_name(policy)!r}",
                where="--policy",
                expected="distinct names",
            )


def save_comparison(rows: Sequence[Row], save: Path | None, plot: Path | None) -> None:
    """Write the tables, one folder a run, and the picture of occupancy by turn."""
    worlds = list(dict.fromkeys(row.scenario for row in rows))
    if save is not None:
        for row in rows:
            if row.run is not None:
                place = save / folder_name(row.policy)
                if len(worlds) > 1:
                    place = save / folder_name(row.scenario) / folder_name(row.policy)
                tables = {
                    "turns": row.run.turns,
                    "rewrites": row.run.rewrites,
                    "events": row.run.events,
                    "obedience": row.run.obedience,
                }
                write_tables(place, tables)
    if plot is not None:
        import pandas as pd

        from experiments import plots

        frames = [
            row.run.turns.assign(
                policy=row.policy, replication=worlds.index(row.scenario), outcome=row.run.outcome
            )
            for row in rows
            if row.run is not None
        ]
        if not frames:
            raise InputError("no run has finished, there is nothing to draw", where="--plot")
        figure = plots.occupancy_by_turn(pd.concat(frames, ignore_index=True), window=rows[0].window)
        plots.save_figure(figure, plot)


def folder_name(reference: str) -> str:
    """Return a reference as the name of a folder.

    >>> folder_name("my/policies/mine.toml")
    'mine'
    """
    stem = Path(reference).stem if reference.endswith(".toml") else reference
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in stem).strip(".")
        or "policy"
    )
