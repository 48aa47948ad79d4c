"""The results of a sweep as tables with intervals: means and shares by point, and regimes.

In come the rows of the runs; out come tidy tables, a row a point, policy and response.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Experiment
from experiments.manifest import FAILED, FAILURES
from experiments.plan import Plan
from experiments.reading import read_runs, read_table
from experiments.requirements import REGIME_RESPONSES
from experiments.rounds import wanted
from experiments.statistics import (
    Interval,
    bootstrap_interval,
    mean_interval,
    quantile_interval,
    share_interval,
)
from experiments.sweeping import experiment_of
from scenarios.measures import MEASURES, is_yes_or_no, possible
from simulator.errors import SKIPPED

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

SIGNED_KEYS = ("net_tokens", "believed_net_tokens")
"""Keys of the summary that may be below 0."""

SHARE_KEYS = (
    "reported_compliance",
    "actual_compliance",
    "auditable_compliance",
    "confidence",
    "decision_quality",
)
"""Keys of the summary that are at most 1."""

TURNS = ("turns", "sound_turns")
"""Responses that count turns of a run, which no run has more of than its horizon."""

BOOTSTRAP_SEED = 1


@dataclass(frozen=True)
class Results:
    """What a sweep has found so far: its folder, its experiment, and its tables, read when asked for."""

    folder: Path
    experiment: Experiment
    analyses: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)
    """Tables of pictures that have been made, by what they show."""

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row a run."""
        return read_runs(self.folder)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """One row a run that failed: where it stands, stage, type, message, traceback."""
        return read_table(self.folder, FAILURES)

    @cached_property
    def ran(self) -> pd.DataFrame:
        """Their rows without those that were skipped, of which there is nothing to say."""
        return self.runs[~was_skipped(self.runs)]

    @cached_property
    def skipped(self) -> pd.DataFrame:
        """Their rows that were skipped, each with its reason as `failure`."""
        return self.runs[was_skipped(self.runs)]

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """Which runs of the plan are still to be made, shape (points, runs of a point).

        Under a rule they are the next that each point asks for, after which it may ask for more.
        """
        plan, rule = Plan(self.experiment), self.experiment.file.replications
        runs = self.runs["run"].to_numpy(dtype=np.int64)
        finished = np.zeros(plan.size, dtype=bool)
        finished[runs] = True
        if isinstance(rule, int):
            lacking = ~finished
        else:
            values = np.full(plan.size, np.nan)
            values[runs] = self.runs[rule.response].to_numpy(dtype=float)
            lacking = wanted(plan, rule, finished, values)
        return lacking.reshape(plan.points, plan.runs_a_point)

    @cached_property
    def unfinished(self) -> int:
        """How many runs are still to be made; under a rule at the least."""
        return int(self.wanted.sum())

    @cached_property
    def means(self) -> pd.DataFrame:
        """One row a point, policy and response: mean, interval, runs and failures."""
        return means_of(self.ran, self.experiment)

    @cached_property
    def quantiles(self) -> pd.DataFrame:
        """One row a point, policy, response and quantile that the experiment asks for, with its interval."""
        return quantiles_of(self.ran, self.experiment)


def results_of(folder: Path, experiment: Experiment | None = None) -> Results:
    """Return the results in a folder, of the experiment that its manifest holds. Raises InputError."""
    return Results(Path(folder), experiment or experiment_of(folder))


def was_skipped(runs: pd.DataFrame) -> pd.Series[bool]:
    """Say of each row whether its run was never begun."""
    return runs[FAILED] == SKIPPED


def has_failed(runs: pd.DataFrame) -> pd.Series[bool]:
    """Say of each row whether its run was begun and could not be finished."""
    return runs[FAILED].notna() & ~was_skipped(runs)


def means_of(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return one row a point, policy and response.

    Columns are the scenario if there are several, the factors, `policy`, `response`, `mean`, `low`, `high`,
    `n` (runs behind the mean) and `failed`.
    """
    import pandas as pd

    rows = [
        {
            **place,
            "response": name,
            **interval_columns(interval_in(experiment, name, values)),
            "failed": failed,
        }
        for place, failed, name, values in _samples(runs, experiment)
    ]
    columns = [*experiment.places, "policy", "response", "mean", "low", "high", "n", "failed"]
    return pd.DataFrame(rows, columns=columns)


def quantiles_of(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return one row a point, policy, response and quantile.

    Columns are those of `means_of`, with `quantile` (in (0, 1)) and `value` in place of the mean, and without
    `failed`. A bound that too few runs cannot give is infinite.
    """
    import pandas as pd

    rows = []
    for place, _failed, name, values in _samples(runs, experiment):
        for quantile in experiment.file.quantiles if values else ():
            found = quantile_interval(values, quantile)
            row = {**place, "response": name, "quantile": quantile, "value": found.estimate}
            rows.append(row | {"low": found.low, "high": found.high, "n": found.n})
    columns = [*experiment.places, "policy", "response", "quantile", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)


def _samples(
    runs: pd.DataFrame, experiment: Experiment
) -> Iterator[tuple[dict[str, object], int, str, list[float]]]:
    """Yield place, failed runs, response and its values, for each point, policy and response."""
    for _place, group in runs.groupby(["scenario", "point", "policy"], sort=False):
        place = {name: group[name].iloc[0] for name in [*experiment.places, "policy"]}
        failed = int(has_failed(group).sum())
        for name in experiment.file.responses:
            yield place, failed, name, group[name].dropna().astype(float).tolist()


def interval_in(experiment: Experiment, response: str, values: Sequence[float]) -> Interval | None:
    """Return the interval of a mean as an experiment asks for it, turns cut at its longest horizon."""
    horizon = experiment.longest_horizon if response in TURNS else math.inf
    return interval_of(response, values, bootstrap=experiment.file.intervals == "bootstrap", horizon=horizon)


def interval_of(
    response: str, values: Sequence[float], *, bootstrap: bool = False, horizon: float = math.inf
) -> Interval | None:
    """Return the interval of a mean, cut to what is possible; of a response that is 0 or 1, of a share.

    It is Student's, or the bias-corrected bootstrap's, whose resampling has a seed of its own. `horizon` is
    the most that counts of turns can be.
    """
    if not values:
        return None
    if is_yes_or_no(response):
        return share_interval(round(sum(values)), len(values))
    interval = bootstrap_interval(values, seed=BOOTSTRAP_SEED) if bootstrap else mean_interval(values)
    least, most = limits(response, horizon)
    return interval._replace(low=max(interval.low, least), high=min(interval.high, most))


def limits(response: str, horizon: float = math.inf) -> tuple[float, float]:
    """Return the least and the most that a response can be.

    >>> limits("turns", horizon=200), limits("net_tokens")
    ((0.0, 200), (-inf, inf))
    """
    if response in TURNS:
        return 0.0, horizon
    if response in MEASURES:
        return possible(response)
    least = -math.inf if response in SIGNED_KEYS else 0.0
    return least, 1.0 if response in SHARE_KEYS else math.inf


def interval_columns(interval: Interval | None) -> dict[str, float | int | None]:
    """Return an interval as the columns `mean`, `low`, `high` and `n` of a table."""
    if interval is None:
        return {"mean": None, "low": None, "high": None, "n": 0}
    return {"mean": interval.estimate, "low": interval.low, "high": interval.high, "n": interval.n}


def regimes(table: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return one row a point and policy with its regime.

    Spiral: mean net of an attempt below 0. Insufficient: at least 0 but below what arrives a turn.
    Stable: else, and where nothing triggered. Points of which every run failed have none. The table has one
    row a response of each point, as `means_of` gives them; points may have the same levels.
    """
    import pandas as pd

    names = table["response"].unique()
    rows = {name: table[table["response"] == name].reset_index(drop=True) for name in names}
    net, arrivals = (rows[name]["mean"].astype(float) for name in REGIME_RESPONSES)
    wide = rows[REGIME_RESPONSES[0]][[*factors, "policy"]].assign(
        **dict(zip(REGIME_RESPONSES, (net, arrivals), strict=True)), regime="stable"
    )
    wide.loc[net < arrivals, "regime"] = "insufficient"
    wide.loc[net < 0, "regime"] = "spiral"
    ran = pd.concat([(own["failed"] == 0) | (own["n"] > 0) for own in rows.values()], axis=1)
    told: pd.DataFrame = wide[ran.any(axis=1)].reset_index(drop=True)
    return told
