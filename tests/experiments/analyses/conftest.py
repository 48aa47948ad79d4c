"""What tests of analyses share: experiments that no file holds, and rows with made responses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from experiments.experiment import Experiment, ExperimentFile

Place = Mapping[str, object]
Value = Callable[[Place, int], object]


def built(policies: tuple[str, ...], scenarios: tuple[str, ...] = ("s",), **keys: object) -> Experiment:
    """Return an experiment over scenarios and policies that need not be there."""
    file = ExperimentFile.model_validate(
        {"scenarios": scenarios, "policies": list(policies), "responses": ["y"], "replications": 5, **keys}
    )
    return Experiment("made", Path("made.toml"), file, scenarios, policies)


def rows_of(experiment: Experiment, value: Value, **columns: Value) -> pd.DataFrame:
    """Return the rows of all runs: `value` is the first response, `columns` are others."""
    rows = []
    for scenario, point, policy, world in itertools.product(
        experiment.scenarios, range(experiment.size), experiment.policies, range(experiment.file.cap)
    ):
        place = {"scenario": scenario, "point": point, **experiment.labels(point), "policy": policy}
        first = {experiment.file.responses[0]: value(place, world)}
        more = {name: column(place, world) for name, column in columns.items()}
        rows.append({**place, "replication": world, "failure": None, **first, **more})
    return pd.DataFrame(rows)


@pytest.fixture
def build() -> Callable[..., Experiment]:
    return built


@pytest.fixture
def runs_of() -> Callable[..., pd.DataFrame]:
    return rows_of
