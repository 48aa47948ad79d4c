"""The rows of a sweep world by world: what stands side by side because it met the same random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd


def by_place(runs: pd.DataFrame, experiment: Experiment) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each place of an experiment, in words, with its runs: a scenario at a point of the design."""
    for _, group in runs.groupby(["scenario", "point"], sort=False):
        first = group.iloc[0]
        yield place_name(first, experiment), group


def place_name(row: pd.Series, experiment: Experiment) -> str:
    """Return where a row stands, in words: the scenario if there are several, and the levels."""
    scenario = [str(row["scenario"])] if len(experiment.scenarios) > 1 or not experiment.factors else []
    return ", ".join([*scenario, *(f"{name} {row[name]}" for name in experiment.factors)])


def policies_in(group: pd.DataFrame, experiment: Experiment) -> list[str]:
    """Return the policies that have runs at a place, in the order of the experiment."""
    present = set(group["policy"])
    return [policy for policy in experiment.policies if policy in present]


def worlds(runs: pd.DataFrame, response: str, policies: Sequence[str]) -> pd.DataFrame:
    """Return one row a world and one column a policy of what one place has; NaN where there is nothing."""
    wide = runs.pivot(index="replication", columns="policy", values=response)
    return wide.reindex(columns=list(policies)).astype(float)
