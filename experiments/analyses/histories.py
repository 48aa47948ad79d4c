"""What happened inside runs: some of a sweep's runs made again, with the tables of each.

A run is its coordinates, so what a sweep has not kept can be had again, bit for bit, as long as the code
and the files are those that it ran with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.identity import identity_of
from experiments.job import run_at
from experiments.plan import Coordinates, Plan
from experiments.results import Results
from experiments.statistics import mser, welch_average
from experiments.statistics.warmup import BATCH
from experiments.store import read_manifest
from simulator import InputError, Run, RunFailed, Setting

if TYPE_CHECKING:
    import pandas as pd

SHORTEST = 50
"""Turns below which a run has no warm-up that could be told: ten batches of five."""

MOST_WORLDS = 20
"""Replications that a picture makes again of each policy."""


class History(NamedTuple):
    """One run made again, and where it stands."""

    at: Coordinates
    policy: str
    run: Run


def histories(results: Results, *, worlds: int = MOST_WORLDS, point: int = 0) -> list[History]:
    """Make the first runs of every policy at one point again; those that fail are left out.

    Raises
    ------
    InputError
        The scenario or the policies are no longer those that the sweep ran, or every run fails.
    """
    require_same(results)
    plan = Plan(results.experiment)
    found = []
    for place, policy in enumerate(results.experiment.policies):
        for replication in range(min(worlds, plan.replications)):
            at = Coordinates(0, point, place, replication)
            try:
                found.append(History(at, policy, run_at(plan, at)))
            except RunFailed:  # a failure is a row of the sweep, and has no history
                continue
    if not found:
        raise InputError("no run has finished, there is nothing to draw", where=str(results.folder))
    return found


def require_same(results: Results) -> None:
    """Raise InputError where runs made again would be others than those in the folder."""
    there, here = read_manifest(results.folder)["identity"], identity_of(results.experiment)
    for key, words in (("versions", "a version"), ("scenarios", "a scenario"), ("policies", "a policy")):
        if there.get(key) != here[key]:
            raise InputError(
                f"{words} has changed since the sweep ran",
                where=str(results.folder),
                expected="the files and the version that it ran with, or the sweep run again",
            )


def setting_of(results: Results, point: int = 0) -> Setting:
    """Return the first scenario at a point."""
    return Plan(results.experiment).setting(Coordinates(0, point, 0, 0))


def warm_up(found: list[History], smoothing: int) -> tuple[pd.DataFrame, int | None]:
    """Return mean occupancy over all runs of the first policy by turn, smoothed, and the turn it settles at.

    Runs are cut to the shortest. Columns are `turn`, `mean` and `smoothed` (Welch's moving average); the turn
    is the first that MSER-5 keeps, or None where it would cut half of the turns, the most it may: then the
    runs are too short to tell.

    Raises
    ------
    InputError
        The runs are too short to tell a warm-up.
    """
    import pandas as pd

    rows = [[row.occupancy_pct for row in one.run.turn_rows if row.agent == 0] for one in found]
    rows = [row for one, row in zip(found, rows, strict=True) if one.policy == found[0].policy]
    turns = min(map(len, rows))
    if turns < SHORTEST:
        raise InputError(
            f"the shortest run lasts {turns} turns", where="plot welch", expected=f"{SHORTEST} turns or more"
        )
    grid = np.array([row[:turns] for row in rows])
    mean = grid.mean(axis=0)
    table = pd.DataFrame({"turn": np.arange(1, turns + 1), "mean": mean, "smoothed": np.nan})
    smoothed = welch_average(grid, smoothing)
    table.loc[: len(smoothed) - 1, "smoothed"] = smoothed
    cut = mser(mean)
    most = turns // BATCH // 2 * BATCH
    return table, cut + 1 if cut < most else None


def turns_of(found: list[History]) -> pd.DataFrame:
    """Return the turns of all runs, with columns `policy`, `replication` and `outcome`."""
    import pandas as pd

    frames = [
        one.run.turns.assign(policy=one.policy, replication=one.at.replication, outcome=one.run.outcome)
        for one in found
    ]
    joined: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return joined
