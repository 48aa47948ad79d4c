"""The schema of an experiment file, and the experiment that it becomes: points by number.

Scenarios and policies by name or by pattern, policies by group too; factors and a design over them;
replications, fixed or until a figure is known well enough; responses, which are measures or keys of the
summary, one number a run; pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from experiments.factors import (
    Design,
    Factor,
    Sets,
    Value,
    matrix_of,
    points_in,
    require_design,
    require_printable,
)
from experiments.paths import owned, require_paths
from scenarios.expectation import SUMMARY
from scenarios.measures import MEASURES, is_yes_or_no
from simulator.catalogue import names, overridden, read_entry, validated
from simulator.errors import InputError, nearest_name
from simulator.schema import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CATALOGUE = Path(__file__).parent / "catalogue"

MOST_PLANNED = 10**7
"""Runs of a plan, done or not: a driver keeps some hundred bytes of each."""

GROUP = "group:"
"""What stands before the name of a group of policies."""

OWN_KEYS = ("summary", "source", "question", "plots")
"""Keys that a base does not hand down."""

SUMMARY_RESPONSES = tuple(key for key in SUMMARY if key not in ("outcome", "observable"))
"""Keys of a run's summary that are numbers."""

Kind = Literal[
    "response",
    "heat",
    "phase",
    "table",
    "differences",
    "effects",
    "interactions",
    "comparison",
    "ranking",
    "pareto",
    "survival",
    "sensitivity",
    "tornado",
    "rejection",
    "occupancy",
    "believed",
    "ledger",
    "welch",
]
"""Pictures of a sweep, each with the analysis that it shows."""

Kept = Literal["turns", "rewrites", "events", "obedience"]
"""Tables of single runs that a sweep can keep."""


class PlotTable(Table):
    """One picture, and the analysis that it shows.

    `response` is what is shown, `x` and `y` where two are; `better` says which way is good. `by` names the
    factor, if any, that a response plot tells its lines apart by; `baseline` is the level, or the policy,
    that differences are taken to; `barred_by` a response that must be 0 for a point to be on a Pareto front;
    `line` is an analytic boundary y = intercept + slope * x.
    """

    kind: Kind = "response"
    response: str | None = None
    x: str | None = None
    y: str | None = None
    barred_by: str | None = None
    better: Literal["lower", "higher"] = "lower"
    by: str | None = None
    baseline: Value | None = None
    line: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    line_label: str = "analytic"


LEVEL_UP_TO = 100
"""Replications up to which a look-ahead is as long as it says; above, it grows with them."""


class Sequential(Table):
    """Replications until a figure is known well enough, point by point.

    `half-width`: until the 95% half-width of each policy's paired difference to `baseline` (of one
    policy alone, of its mean) is at most `half_width`, and stays so for `look_ahead` more; above 100
    replications for as many more in proportion (Hoad, Robinson and Davies 2010). `best`: until the race of
    Kim and Nelson has left one policy. Where the best leads all others by `indifference` or more, and the
    responses are roughly normal, that is the best with probability `confidence`.
    """

    rule: Literal["half-width", "best"] = "half-width"
    response: str
    baseline: str | None = None
    half_width: Annotated[float, Field(gt=0)] | None = None
    look_ahead: Annotated[int, Field(ge=0, le=1000)] = 5
    indifference: Annotated[float, Field(gt=0)] | None = None
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    better: Literal["lower", "higher"] = "lower"
    first: Annotated[int, Field(ge=2, le=10**5)] = 10
    step: Annotated[int, Field(ge=1, le=10**4)] = 5
    cap: Annotated[int, Field(ge=2, le=10**6)] = 200

    @model_validator(mode="after")
    def _complete(self) -> Sequential:
        if self.rule == "half-width" and self.half_width is None:
            raise ValueError("the rule half-width needs half_width")
        if self.rule == "best" and self.indifference is None:
            raise ValueError("the rule best needs indifference")
        if self.rule == "best" and (self.half_width is not None or self.baseline is not None):
            raise ValueError("half_width and baseline belong to the rule half-width")
        if self.rule == "half-width" and self.indifference is not None:
            raise ValueError("indifference belongs to the rule best")
        if self.first > self.cap:
            raise ValueError("first is above cap")
        least = self.first + self.ahead(self.first)
        if self.rule == "half-width" and self.cap < least:
            raise ValueError(f"cap is below first and the look-ahead together, {least}: no rule could be met")
        return self

    def ahead(self, replications: int) -> int:
        """Return for how many more the half-width must stay small, once it is so after so many.

        >>> rule = Sequential(response="turns", half_width=1.0, look_ahead=5)
        >>> rule.ahead(10), rule.ahead(100), rule.ahead(300)
        (5, 5, 15)
        """
        return self.look_ahead * max(replications, LEVEL_UP_TO) // LEVEL_UP_TO


def _form_of_replications(value: object) -> str:
    return "table" if isinstance(value, Mapping | Sequential) else "int"


Replications = Annotated[
    Annotated[int, Field(ge=1, le=10**6), Tag("int")] | Annotated[Sequential, Tag("table")],
    Discriminator(_form_of_replications),
]
"""A fixed number, or a rule."""


class ExperimentFile(Table):
    """One experiment."""

    summary: str = ""
    source: str = ""
    question: str = ""
    scenario: str | None = None
    scenarios: tuple[str, ...] = ()
    policies: Annotated[list[str], Field(min_length=1)]
    without: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    replications: Replications = 20
    seed: Annotated[int, Field(ge=0)] = 20261113
    time_limit_seconds: Annotated[float, Field(gt=0, le=10**6)] | None = None
    responses: Annotated[list[str], Field(min_length=1)]
    keep: tuple[Kept, ...] = ()
    intervals: Literal["t", "bootstrap"] = "t"
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    set: Sets = Field(default_factory=dict)
    design: Design = Design()
    factor: tuple[Factor, ...] = ()
    plot: PlotTable = PlotTable(kind="table")
    plots: tuple[PlotTable, ...] = ()

    @model_validator(mode="after")
    def _worlds(self) -> ExperimentFile:
        if (self.scenario is None) == (not self.scenarios):
            raise ValueError("needs either scenario or scenarios")
        require_printable([self.scenario or "", *self.scenarios, *self.policies])
        return self

    @property
    def cap(self) -> int:
        """Most replications of a point."""
        return self.replications if isinstance(self.replications, int) else self.replications.cap

    @property
    def pictures(self) -> list[PlotTable]:
        """All pictures, the main one first."""
        return [self.plot, *self.plots]


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the design: what stands in the table, and what is set."""

    labels: dict[str, Value]
    of_scenario: dict[str, object]
    of_policies: dict[str, dict[str, object]]


@dataclass(frozen=True)
class Experiment:
    """An experiment, read and checked.

    Attributes
    ----------
    name, path : of its file.
    file : what stands there, with what was set over it.
    scenarios, policies : by reference, patterns resolved.
    """

    name: str
    path: Path
    file: ExperimentFile
    scenarios: tuple[str, ...]
    policies: tuple[str, ...]

    def __reduce__(self) -> tuple[type[Experiment], tuple[object, ...]]:
        return Experiment, (self.name, self.path, self.file, self.scenarios, self.policies)  # no matrix

    @property
    def factors(self) -> list[str]:
        """The names of the factors, in the order of the file."""
        return [factor.name for factor in self.file.factor]

    @property
    def rivals(self) -> list[str]:
        """The policies that are no bounds."""
        return [name for name in self.policies if name not in self.file.bounds]

    @property
    def places(self) -> list[str]:
        """The columns that say where in the experiment a policy was tried."""
        return [*(["scenario"] if len(self.scenarios) > 1 else []), *self.factors]

    @cached_property
    def horizon(self) -> float:
        """The most turns that a run can have, where all have one horizon and one agent; else infinite."""
        return self.longest_horizon if len(self._horizons) == 1 else math.inf

    @cached_property
    def longest_horizon(self) -> float:
        """The most turns that a run of any scenario can have; infinite where a factor or a fleet moves it."""
        return max(self._horizons)

    @cached_property
    def _horizons(self) -> frozenset[float]:
        """The horizons of the scenarios, each once; infinite where that is no bound on turns."""
        from scenarios import load_scenario

        own = ("run.horizon", "fleet.agents")
        if any(path in own for factor in self.file.factor for path in factor.paths):
            return frozenset({math.inf})
        try:
            files = [load_scenario(name, self.point(0).of_scenario).file for name in self.scenarios]
        except InputError:  # what cannot be built is told where it is run
            return frozenset({math.inf})
        return frozenset(file.run.horizon if file.fleet.agents == 1 else math.inf for file in files)

    @cached_property
    def size(self) -> int:
        """Points of the design."""
        return points_in(self.file.design, self.file.factor)

    @cached_property
    def _matrix(self) -> NDArray[np.float64] | None:
        return matrix_of(self.file.design, self.file.factor)

    def labels(self, place: int) -> dict[str, Value]:
        """Return the levels of one point, by factor; the points of a grid count the last factor fastest."""
        factors = self.file.factor
        if self._matrix is None:
            levels: list[Value] = []
            for factor in reversed(factors):
                place, level = divmod(place, len(factor.labels))
                levels.insert(0, factor.labels[level])
            return dict(zip((factor.name for factor in factors), levels, strict=True))
        row = self._matrix[place].tolist()
        if self.file.design.kind in ("two-level", "fractional"):
            return {factor.name: factor.labels[int(at)] for factor, at in zip(factors, row, strict=True)}
        return {factor.name: factor.at(at) for factor, at in zip(factors, row, strict=True)}

    def point(self, place: int) -> Point:
        """Return one point of the design."""
        return self.point_at(self.labels(place))

    def point_at(self, labels: Mapping[str, Value]) -> Point:
        """Return the point with these levels."""
        moved: dict[str, object] = dict(self.file.set)
        for factor in self.file.factor:
            moved |= factor.setting(labels[factor.name])
        of_scenario: dict[str, object] = {}
        of_policies: dict[str, dict[str, object]] = {name: {} for name in self.policies}
        of_whom = [(owned(path, self.policies), value) for path, value in moved.items()]
        for at, value in sorted(of_whom, key=lambda one: one[0].is_named):
            for owner in at.owners:
                of_policies[owner][at.key] = value
            if not at.owners:
                of_scenario[at.key] = value
        return Point(dict(labels), of_scenario, of_policies)

    def points(self) -> Iterator[Point]:
        """Yield all points."""
        return (self.point(place) for place in range(self.size))


def experiment_names() -> list[str]:
    """Return the names in the catalogue, sorted."""
    return names(CATALOGUE)


def load_experiment(reference: str, overrides: Mapping[str, object] | None = None) -> Experiment:
    """Return an experiment by name or path, with values laid over those of its file.

    Raises InputError where something is wrong.

    >>> load_experiment("trigger-and-watermark").size
    16
    """
    entry = read_entry("experiment", reference, CATALOGUE, not_inherited=OWN_KEYS)
    data = overridden(entry.data, overrides or {})
    if isinstance(rule := data.get("replications"), Mapping):  # inside of the file its faults say less
        validated(Sequential, dict(rule), f"{entry.path}: replications")
    return experiment_from(validated(ExperimentFile, data, str(entry.path)), entry.name, entry.path)


def experiment_from(file: ExperimentFile, name: str, path: Path) -> Experiment:
    """Return the experiment of a file that has been read. Raises InputError where it cannot be one."""
    from experiments.requirements import require_picture

    where = str(path)
    require_names(file.responses, [*MEASURES, *SUMMARY_RESPONSES], f"{where}: responses", "response")
    for key, given in (("keep", file.keep), ("quantiles", file.quantiles)):
        if len(set(given)) < len(given):
            raise InputError("a value stands twice", where=f"{where}: {key}", expected="distinct values")
    factor_names = [factor.name for factor in file.factor]
    if len(set(factor_names)) != len(factor_names):
        raise InputError("two factors share a name", where=f"{where}: factor", expected="distinct names")
    if both := set(factor_names) & set(file.responses):
        raise InputError(
            f"{min(both)!r} is a factor and a response", where=f"{where}: factor", expected="distinct names"
        )
    require_design(file.design, file.factor, where)
    experiment = Experiment(name, path, file, _scenarios(file, where), _policies(file, where))
    require_paths(file.factor, file.set, experiment.policies, where)
    _require_rule(experiment)
    runs = experiment.size * len(experiment.scenarios) * len(experiment.policies) * file.cap
    if runs > MOST_PLANNED:
        raise InputError(f"a plan of {runs:,} runs", where=where, expected=f"at most {MOST_PLANNED:,}")
    for place, plot in enumerate(file.pictures):
        key = f"{where}: {f'plots.{place - 1}' if place else 'plot'}"
        require_picture(experiment, plot, f"{key}.kind")
        require_one_better(experiment, plot, f"{key}.better")
    return experiment


def require_one_better(experiment: Experiment, plot: PlotTable, where: str) -> None:
    """Raise InputError where a picture says otherwise than a race what is better, or who takes part in it."""
    rule = experiment.file.replications
    if isinstance(rule, int) or rule.rule != "best" or plot.kind not in ("ranking", "comparison"):
        return
    if plot.barred_by is not None:
        raise InputError(
            f"a race cannot bar by {plot.barred_by}: it has stopped policies by those who would be barred",
            where=where,
            expected="no barred_by, or replications that are fixed or go by half-width",
        )
    if plot.response == rule.response and plot.better != rule.better:
        raise InputError(
            f"the race on {rule.response} took {rule.better} for better, and this {plot.kind} {plot.better}",
            where=where,
            expected=f'better = "{rule.better}", as in replications',
        )


def require_names(asked: Sequence[str], valid: Sequence[str], where: str, what: str) -> None:
    """Raise InputError where one of several names is unknown, or stands twice."""
    for place, name in enumerate(asked):
        if name not in valid:
            raise InputError(
                f"unknown {what} {name!r}",
                where=where,
                expected="a measure or a number of the summary" if what == "response" else "",
                nearest=nearest_name(name, valid),
            )
        if name in asked[:place]:
            raise InputError(f"{name!r} stands twice", where=where, expected="distinct names")


def _scenarios(file: ExperimentFile, where: str) -> tuple[str, ...]:
    if file.scenario is not None:
        return (file.scenario,)
    from scenarios import scenario_names

    return _resolved(file.scenarios, scenario_names(), (), f"{where}: scenarios")


def _policies(file: ExperimentFile, where: str) -> tuple[str, ...]:
    from policies import policy_names

    chosen = _resolved(file.policies, policy_names(), file.without, f"{where}: policies")
    for name in file.bounds:
        if name not in chosen:
            raise InputError(
                f"the bound {name!r} is not among the policies",
                where=f"{where}: bounds",
                nearest=nearest_name(name, chosen),
            )
    return chosen


def _resolved(
    asked: Sequence[str], known: Sequence[str], without: Sequence[str], where: str
) -> tuple[str, ...]:
    """Return names in the order asked for, patterns and groups replaced by the names that fit."""
    found: dict[str, None] = {}
    for place, word in enumerate(asked):
        if word in asked[:place]:
            raise InputError(f"{word!r} stands twice", where=where, expected="distinct names")
        fitting = [word]
        if word.startswith(GROUP):
            fitting = _in_group(word.removeprefix(GROUP))
        elif _is_pattern(word):
            fitting = [name for name in known if fnmatchcase(name, word)]
        if not fitting:
            raise InputError(f"{word!r} fits nothing", where=where, nearest=nearest_name(word, known))
        found |= dict.fromkeys(fitting)
    gone: set[str] = set()
    for word in without:
        fitting = [name for name in found if name == word or (_is_pattern(word) and fnmatchcase(name, word))]
        if not fitting:
            raise InputError(
                f"{word!r} is not among them", where=f"{where}, without", nearest=nearest_name(word, found)
            )
        gone |= set(fitting)
    left = tuple(name for name in found if name not in gone)
    if not left:
        raise InputError("none is left", where=f"{where}, without", expected="at least one")
    return left


def _in_group(group: str) -> list[str]:
    """Return the policies of the catalogue whose file, or its base, says that they are of a group."""
    from policies.loader import CATALOGUE as POLICIES
    from policies.loader import read_policy

    return [name for name in names(POLICIES) if read_policy(name).data.get("group") == group]


def _is_pattern(word: str) -> bool:
    """Say whether a word stands for several names of the catalogue; a path may hold any letter."""
    return bool(set(word) & set("*?[")) and "/" not in word and not word.endswith(".toml")


def _require_rule(experiment: Experiment) -> None:
    """Raise InputError where the rule of sequential replications has nothing to stand on."""
    rule = experiment.file.replications
    if isinstance(rule, int):
        return
    where = f"{experiment.path}: replications"
    require_names([rule.response], experiment.file.responses, f"{where}.response", "response")
    if rule.rule == "best" and is_yes_or_no(rule.response):
        raise InputError(
            f"{rule.response} is 0 or 1, and a race needs responses that are roughly normal",
            where=f"{where}.response",
            expected="another response, a fixed number of replications, or the rule half-width",
        )
    if rule.rule == "best" and len(experiment.rivals) == 1:
        raise InputError(
            "the best of one policy is known", where=where, expected="2 policies or more that are no bounds"
        )
    if (
        rule.rule == "half-width"
        and len(experiment.policies) > 1
        and rule.baseline not in experiment.policies
    ):
        raise InputError(
            f"the baseline {rule.baseline!r} is not among the policies",
            where=f"{where}.baseline",
            expected=", ".join(experiment.policies),
            nearest=nearest_name(str(rule.baseline), experiment.policies),
        )
