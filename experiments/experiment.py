"""The schema of an experiment file: factors, policies, responses, and how they are drawn.

A factor moves one path, or several together (its levels are then named sets of values). The design
is the full grid of all factors. Responses are measures or keys of the summary, one number a run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios.expectation import SUMMARY
from scenarios.measures import MEASURES
from simulator.catalogue import names, read_entry, validated
from simulator.errors import InputError, nearest_name
from simulator.schema import Table

CATALOGUE = Path(__file__).parent / "catalogue"

Value = bool | int | float | str
"""A level as it stands in a table."""


COLUMNS = ("run", "policy", "replication", "outcome", "failed_stage", "failure", "response")
"""Columns of a sweep's tables that are no factors."""

FACTORS_SHOWN = {"phase": 2, "heat": 2, "response": 1, "differences": 1}
"""Factors that a kind of plot has place for; a table takes any."""

REGIME_RESPONSES = ("net_per_attempt_tokens", "arrivals_per_turn_tokens")
"""What a phase plot tells the regimes by."""


class Level(Table):
    """One level of a factor that moves several values together."""

    label: Annotated[str, Field(min_length=1)]
    set: dict[str, Value | list[str]]


class Factor(Table):
    """One factor: `path` and `values`, or named `levels`. Paths beginning with `policy.` are the policy's."""

    name: Annotated[str, Field(min_length=1)]
    unit: str = ""
    path: str | None = None
    values: tuple[Value, ...] = ()
    levels: tuple[Level, ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> Factor:
        if (self.path is None) == (not self.levels):
            raise ValueError("needs either path with values, or levels")
        if self.path is not None and not self.values:
            raise ValueError("path needs at least one of values")
        labels = self.labels
        if len(set(labels)) != len(labels):
            raise ValueError(f"a level stands twice in {labels}")
        if len({_kind_of(label) for label in labels}) > 1:
            raise ValueError(f"values of one kind are one column of a table, not {labels}")
        if self.name in COLUMNS:
            raise ValueError(f"the name {self.name!r} is that of a column of every sweep")
        if " x " in self.name:
            raise ValueError(f"the name {self.name!r} reads as an interaction; expected one without ' x '")
        return self

    @property
    def labels(self) -> list[Value]:
        """The levels as they stand in tables."""
        return [level.label for level in self.levels] if self.levels else list(self.values)

    @property
    def paths(self) -> set[str]:
        """What the factor moves."""
        return {path for setting in self.settings() for path in setting}

    def settings(self) -> list[dict[str, object]]:
        """Return the overrides of each level."""
        if self.levels:
            return [dict(level.set) for level in self.levels]
        assert self.path is not None
        return [{self.path: value} for value in self.values]


class PlotTable(Table):
    """How the experiment is drawn.

    `line` is an analytic boundary y = intercept + slope * x; `by` names the factor, if any, that a
    response plot tells its lines apart by; `baseline` is the level that differences are taken to.
    """

    kind: Literal["response", "heat", "phase", "table", "differences", "effects"] = "response"
    response: str | None = None
    by: str | None = None
    baseline: Value | None = None
    line: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    line_label: str = "analytic"


class ExperimentFile(Table):
    """One experiment."""

    summary: str = ""
    source: str = ""
    scenario: str
    policies: Annotated[list[str], Field(min_length=1)]
    replications: Annotated[int, Field(ge=1, le=10**6)] = 20
    seed: Annotated[int, Field(ge=0)] = 20261113
    responses: Annotated[list[str], Field(min_length=1)]
    factor: Annotated[list[Factor], Field(min_length=1)]
    plot: PlotTable = PlotTable()


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the design: what stands in the table, and what is set."""

    labels: dict[str, Value]
    of_scenario: dict[str, object]
    of_policy: dict[str, object]


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment, read and checked."""

    name: str
    path: Path
    file: ExperimentFile

    def points(self) -> Iterator[Point]:
        """Yield the points of the full grid, the last factor fastest."""
        factors = self.file.factor
        levels = [list(zip(factor.labels, factor.settings(), strict=True)) for factor in factors]
        for combination in itertools.product(*levels):
            moved: dict[str, object] = {}
            for _, settings in combination:
                moved |= settings
            yield Point(
                {factor.name: label for factor, (label, _) in zip(factors, combination, strict=True)},
                {path: value for path, value in moved.items() if not path.startswith("policy.")},
                {
                    path.removeprefix("policy."): value
                    for path, value in moved.items()
                    if path.startswith("policy.")
                },
            )


def experiment_names() -> list[str]:
    """Return the names in the catalogue, sorted."""
    return names(CATALOGUE)


def load_experiment(reference: str) -> Experiment:
    """Return an experiment by name or path. Raises InputError where something is wrong.

    >>> len(list(load_experiment("trigger-and-watermark").points())) > 3
    True
    """
    entry = read_entry("experiment", reference, CATALOGUE, not_inherited=("summary", "source"))
    file = validated(ExperimentFile, entry.data, str(entry.path))
    valid = [*MEASURES, *SUMMARY_RESPONSES]
    for response in file.responses:
        if response not in valid:
            raise InputError(
                f"unknown response {response!r}",
                where=f"{entry.path}: responses",
                expected="a measure or a number of the summary",
                nearest=nearest_name(response, valid),
            )
    factor_names = [factor.name for factor in file.factor]
    if len(set(factor_names)) != len(factor_names):
        raise InputError("two factors share a name", where=f"{entry.path}: factor", expected="distinct names")
    if both := set(factor_names) & set(file.responses):
        raise InputError(
            f"{min(both)!r} is a factor and a response",
            where=f"{entry.path}: factor",
            expected="distinct names",
        )
    paths = [path for factor in file.factor for path in factor.paths]
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(
                f"two factors move {path}", where=f"{entry.path}: factor", expected="distinct paths"
            )
    require_plot(file, file.plot.kind, f"{entry.path}: plot.kind")
    if file.plot.kind in ("response", "heat", "effects") and file.plot.response not in file.responses:
        raise InputError(
            f"{file.plot.response!r} is not among the responses",
            where=f"{entry.path}: plot.response",
            nearest=nearest_name(str(file.plot.response), file.responses),
        )
    return Experiment(entry.name, entry.path, file)


SWITCH_LEVELS = 2
"""Levels of a factor that has an effect."""

ONE_POLICY = frozenset({"heat", "phase", "differences", "effects"})
"""Plots that hold one policy."""


def require_plot(file: ExperimentFile, kind: str, where: str) -> None:
    """Raise InputError where a kind of plot has no place for the experiment's factors or responses."""
    wanted = FACTORS_SHOWN.get(kind)
    if kind == "response" and file.plot.by is not None:
        others = [factor.name for factor in file.factor]
        if file.plot.by not in others:
            raise InputError(
                f"{file.plot.by!r} is no factor", where=where, nearest=nearest_name(file.plot.by, others)
            )
        wanted = 2
    if wanted is not None and len(file.factor) != wanted:
        factors = "1 factor" if wanted == 1 else f"{wanted} factors"
        raise InputError(
            f"{_a_plot(kind)} shows {factors}, not {len(file.factor)}", where=where, expected="kind table"
        )
    if kind in ONE_POLICY and len(file.policies) > 1:
        raise InputError(
            f"{_a_plot(kind)} shows one policy, not {len(file.policies)}", where=where, expected="kind table"
        )
    if kind == "phase" and (lacking := [name for name in REGIME_RESPONSES if name not in file.responses]):
        raise InputError(
            f"a phase plot needs the responses {' and '.join(REGIME_RESPONSES)}",
            where=where,
            expected=f"{' and '.join(lacking)} among responses",
        )
    if kind == "differences":
        _require_baseline(file, where)
    if kind == "effects":
        _require_two_levels(file, where)


def _require_baseline(file: ExperimentFile, where: str) -> None:
    """Raise InputError unless the baseline is one of several levels of the only factor."""
    (factor,) = file.factor
    baseline, labels = file.plot.baseline, factor.labels
    words = [str(label) for label in labels]
    if len(labels) == 1:
        raise InputError(
            f"differences need a level beside the baseline, and {factor.name!r} has one",
            where=where,
            expected="2 levels or more",
        )
    if baseline is None:
        raise InputError(
            "differences need a baseline", where=where, expected=f"plot.baseline, one of {', '.join(words)}"
        )
    if baseline not in labels or _kind_of(baseline) != _kind_of(labels[0]):  # true is no 1
        raise InputError(
            f"the baseline {baseline!r} is no level of {factor.name!r}",
            where=where,
            expected=f"one of {', '.join(words)}",
            nearest=nearest_name(str(baseline), words),
        )


def _require_two_levels(file: ExperimentFile, where: str) -> None:
    """Raise InputError unless there are several factors, each of two levels."""
    if len(file.factor) == 1:
        raise InputError(
            "an effects plot shows 2 factors or more, not 1", where=where, expected="kind response or table"
        )
    for factor in file.factor:
        if (count := len(factor.labels)) != SWITCH_LEVELS:
            levels = "1 level" if count == 1 else f"{count} levels"
            raise InputError(
                f"effects are those of factors with 2 levels, and {factor.name!r} has {levels}",
                where=where,
                expected="2 levels a factor, or kind table",
            )


def _a_plot(kind: str) -> str:
    return f"an {kind} plot" if kind == "effects" else f"a {kind} plot"


def _kind_of(value: Value) -> str:
    if isinstance(value, bool):
        return "truth value"
    return "text" if isinstance(value, str) else "number"


SUMMARY_RESPONSES = tuple(key for key in SUMMARY if key not in ("outcome", "observable"))
"""Keys of a run's summary that are numbers."""
