"""What happened inside runs: some of a sweep's runs made again, with the tables of each.

A run is its coordinates, so what a sweep has not kept can be had again, bit for bit, as long as the code
and the files are those that it ran with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.again import made_again, whole_run
from experiments.analyses.worlds import place_name
from experiments.identity import identity_of
from experiments.manifest import FAILED, read_manifest
from experiments.plan import Coordinates, Plan
from experiments.results import Results
from experiments.statistics import mser, welch_average
from experiments.statistics.warmup import BATCH
from experiments.workers import Failure
from simulator import InputError, Run, Setting

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


def histories(results: Results, *, worlds: int = MOST_WORLDS, point: int | None = None) -> list[History]:
    """Make runs of every policy at one point again, apart from this process; none that failed.

    They are those of the first worlds in which a run has finished. The point is the first such, if none is
    given.

    Raises
    ------
    InputError
        The scenario or the policies are no longer those that the sweep ran, or every run fails.
    """
    require_same(results)
    plan = Plan(results.experiment)
    point = first_point(results) if point is None else point
    numbers = whole_runs(results, worlds, point)["run"].tolist()
    made = dict(made_again(whole_run, plan, numbers))
    found = []
    for number in numbers:
        at, run = plan.coordinates(number), made[number]
        if not isinstance(run, Failure):
            found.append(History(at, results.experiment.policies[at.policy], run))
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


def whole_runs(results: Results, worlds: int, point: int) -> pd.DataFrame:
    """Return the rows of the finished runs in the first worlds of a point that have any.

    What failed is left out, for it may have ended its process.
    """
    finished = _finished(results)
    own = finished[finished["point"] == point]
    return own[own["replication"].isin(sorted(own["replication"].unique())[:worlds])]


def first_point(results: Results) -> int:
    """Return the first point of the design that has a finished run of the first scenario.

    Raises
    ------
    InputError
        There is none.
    """
    finished = _finished(results)
    if finished.empty:
        raise InputError("no run has finished, there is nothing to draw", where=str(results.folder))
    return int(finished["point"].min())


def _finished(results: Results) -> pd.DataFrame:
    """Return the rows of the first scenario whose runs have finished."""
    return _of_first_scenario(results.ran[results.ran[FAILED].isna()], results)


def _of_first_scenario(runs: pd.DataFrame, results: Results) -> pd.DataFrame:
    return runs[runs["scenario"] == results.experiment.scenarios[0]]


def setting_of(results: Results) -> Setting:
    """Return the first scenario at its first point that has a finished run."""
    return Plan(results.experiment).setting(Coordinates(0, first_point(results), 0, 0))


def where_from(results: Results, found: list[History]) -> str:
    """Return in words where runs made again come from: the point, how many worlds, and what is left out."""
    experiment, point = results.experiment, found[0].at.point
    seen, most = {one.at.replication for one in found}, experiment.file.cap
    own = _of_first_scenario(results.ran[results.ran["point"] == point], results)
    made = own[own["replication"].isin(seen)]
    some = "up to " if made.groupby("policy").size().min() < len(seen) else ""
    words = f"{some}{len(seen):,} of {most:,} world{'' if most == 1 else 's'} a policy"
    if experiment.factors:
        row = own.iloc[0]
        words = f"point {point + 1:,} of {experiment.size:,} ({place_name(row, experiment)}), {words}"
    if lost := len(made) - len(found):
        words += f", without {lost:,} run{'' if lost == 1 else 's'} that failed"
    return f"Runs made again: {words}."


def warm_up(found: list[History], smoothing: int) -> tuple[pd.DataFrame, dict[str, int | None]]:
    """Return mean occupancy over the runs of each policy by turn, smoothed, and the turn it settles at.

    The runs of a policy are cut to their shortest; where that is too short, the table has no rows of it.
    Columns are `policy`, `turn`, `mean` and `smoothed` (Welch's moving average); the turn is the first that
    MSER-5 keeps, or None where it would cut half of the turns, the most it may: then the runs are too short
    to tell.

    Raises
    ------
    InputError
        The runs of every policy are too short to tell a warm-up.
    """
    import pandas as pd

    rows: dict[str, list[list[float]]] = {}
    for one in found:
        own = [row.occupancy_pct for row in one.run.turn_rows if row.agent == 0]
        rows.setdefault(one.policy, []).append(own)
    shortest = {policy: min(map(len, own)) for policy, own in rows.items()}
    if (turns := max(shortest.values())) < SHORTEST:
        raise InputError(
            f"the shortest run lasts {turns} turns", where="plot welch", expected=f"{SHORTEST} turns or more"
        )
    tables, cuts = [], dict[str, int | None]()
    for policy, of_runs in rows.items():
        cuts[policy] = None
        if (turns := shortest[policy]) < SHORTEST:
            continue
        grid = np.array([row[:turns] for row in of_runs])
        mean = grid.mean(axis=0)
        turn = np.arange(1, turns + 1)
        table = pd.DataFrame({"policy": policy, "turn": turn, "mean": mean, "smoothed": np.nan})
        smoothed = welch_average(grid, smoothing)
        table.loc[: len(smoothed) - 1, "smoothed"] = smoothed
        tables.append(table)
        cut = mser(mean)
        if cut < turns // BATCH // 2 * BATCH:
            cuts[policy] = cut + 1
    return pd.concat(tables, ignore_index=True), cuts


def turns_of(found: list[History]) -> pd.DataFrame:
    """Return the turns of all runs, with columns `policy`, `replication` and `outcome`."""
    import pandas as pd

    frames = [
        one.run.turns.assign(policy=one.policy, replication=one.at.replication, outcome=one.run.outcome)
        for one in found
    ]
    joined: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return joined
