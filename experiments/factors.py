"""Factors of an experiment and the design over them: what is moved, to which levels, in which points.

A factor moves one path, several paths by one value, or several values together (named levels). A design
is a matrix with a row a point and a column a factor: numbers of levels, or places in [0, 1) of a range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from simulator.errors import InputError
from simulator.schema import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Value = bool | int | float | str
"""A level as it stands in a table."""

COLUMNS = (
    "run",
    "scenario",
    "point",
    "policy",
    "replication",
    "outcome",
    "failed_stage",
    "failure",
    "stage",
    "type",
    "message",
    "traceback",
    "response",
    "mean",
    "low",
    "high",
    "n",
    "failed",
    "place",
    "rank",
    "best",
    "bound",
    "front",
    "lead",
    "lead_low",
    "lead_high",
    "worlds",
    "missing",
    "effect",
    "level",
    "order",
    "factor",
    "time",
    "survival",
    "quantile",
    "value",
    "regime",
    "line",
)
"""Columns of a sweep's tables that are no factors."""

SWITCH_LEVELS = 2
"""Levels of a factor that has an effect."""

DIGITS = 6
"""Significant digits of a value that a design has put into a range: it is a level, and stands in a table."""

MOST_POINTS = 10**7
"""Points of a design that is held as a matrix: all of them are in memory at once."""

SPACE_FILLING = frozenset({"latin-hypercube", "sobol", "saltelli", "morris"})
"""Designs whose columns are places in [0, 1)."""


LARGEST_WHOLE = 2**63 - 1
"""The largest whole number that a table can hold."""


def _laid(value: object) -> object:
    """Return a value as a path can take it. Raises ValueError for another one."""
    values = value if isinstance(value, list) else [value]
    for one in values:
        if isinstance(one, list):
            _laid(one)
        elif not isinstance(one, bool | int | float | str):
            raise ValueError(
                f"{one!r} is no value; expected a number, true, false, a text, or a list of those"
            )
        elif isinstance(one, float) and not math.isfinite(one):
            raise ValueError(f"{one!r} is no value; expected a finite number")
        elif isinstance(one, int) and abs(one) > LARGEST_WHOLE:
            raise ValueError(f"a whole number of {len(str(abs(one)))} digits; expected one below 2^63")
    return value


Laid = Annotated[object, PlainValidator(_laid)]
"""What is laid over a file: a number, a truth value, a text, or a list of those."""


def _one_key_a_path(value: object) -> object:
    """Say how a path is written, where TOML has read it as a table in a table."""
    if isinstance(value, Mapping):
        for path, inner in value.items():
            if isinstance(inner, Mapping):
                whole = ".".join([str(path), *map(str, list(inner)[:1])])
                raise ValueError(f"{path!r} is a table; a path is one key in quotes, as '{whole}'")
    return value


Sets = Annotated[dict[str, Laid], BeforeValidator(_one_key_a_path)]
"""Values by path."""


class Level(Table):
    """One level of a factor that moves several values together."""

    label: Annotated[str, Field(min_length=1)]
    set: Sets


def _label(value: object) -> Value:
    """Return a value as it stands in a table: a list as a text."""
    if isinstance(value, list):
        return ", ".join(str(_label(one)) for one in value) or "none"
    assert isinstance(value, bool | int | float | str)
    return value


class Factor(Table):
    """One factor: `path` with `values` or a range (`low`, `high`), or named `levels`.

    Paths beginning with `policy.` are every policy's, with the name of a policy that one's. `path` may be
    several, which then move together. A value may be a list, which a table shows as a text. A range is for
    designs that fill a space, or for its two ends; `whole` keeps to whole numbers.
    """

    name: Annotated[str, Field(min_length=1)]
    unit: str = ""
    path: str | Annotated[list[str], Field(min_length=1)] | None = None
    values: tuple[Laid, ...] = ()
    low: float | None = None
    high: float | None = None
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False
    levels: tuple[Level, ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> Factor:
        if (self.path is None) == (not self.levels):
            raise ValueError("needs either path with values, or levels")
        ends = (self.low is not None) + (self.high is not None)
        if self.path is not None and bool(self.values) == bool(ends):
            raise ValueError("path needs at least one of values, or low and high")
        if self.levels and ends:
            raise ValueError("levels have no low and high")
        if ends:
            self._require_range()
        labels = self.labels
        require_printable([self.name, self.unit, *map(str, labels)])
        if len(set(labels)) != len(labels):
            raise ValueError(f"a level stands twice in {labels}")
        if len({kind_of(label) for label in labels}) > 1:
            raise ValueError(f"values of one kind are one column of a table, not {labels}")
        if self.name in COLUMNS:
            raise ValueError(f"the name {self.name!r} is that of a column of every sweep")
        if " x " in self.name:
            raise ValueError(f"the name {self.name!r} reads as an interaction; expected one without ' x '")
        return self

    def _require_range(self) -> None:
        if self.low is None or self.high is None or not self.low < self.high:
            raise ValueError("a range needs low below high")
        if self.scale == "log" and self.low <= 0:
            raise ValueError("a range on a log scale needs low above 0")
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError("a range of whole numbers needs whole low and high")
        if self.whole and max(-self.low, self.high) > LARGEST_WHOLE:
            raise ValueError("a range of whole numbers needs low and high below 2^63")

    @property
    def is_range(self) -> bool:
        """Its levels are not counted."""
        return self.low is not None

    @property
    def labels(self) -> list[Value]:
        """The levels as they stand in tables; of a range, its two ends."""
        if self.levels:
            return [level.label for level in self.levels]
        if self.low is not None and self.high is not None:
            return [self._rounded(self.low), self._rounded(self.high)]
        return [_label(value) for value in self.values]

    @property
    def paths(self) -> set[str]:
        """What the factor moves."""
        return {path for place in range(len(self.labels)) for path in self.setting(self.labels[place])}

    @property
    def titled(self) -> str:
        """Its name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def setting(self, label: Value) -> dict[str, object]:
        """Return the overrides of one level."""
        if self.levels:
            return dict(next(level.set for level in self.levels if level.label == label))
        assert self.path is not None
        value = self.values[self.labels.index(label)] if self.values else label
        return dict.fromkeys([self.path] if isinstance(self.path, str) else self.path, value)

    def at(self, unit: float) -> Value:
        """Return the level at a place in [0, 1): of a range the value there, else one of equal shares."""
        from experiments.designs import scaling

        if self.low is None or self.high is None:
            return self.labels[scaling.label_index(unit, len(self.labels))]
        if self.whole:
            return scaling.whole(unit, int(self.low), int(self.high))
        scaled = scaling.log if self.scale == "log" else scaling.linear
        return self._rounded(scaled(unit, self.low, self.high))

    def _rounded(self, value: float) -> Value:
        """Return a value of the range as it stands in a table, which is never outside of it."""
        assert self.low is not None and self.high is not None
        return int(value) if self.whole else min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


class Design(Table):
    """How the points are chosen.

    `points` are those of a hypercube or a Sobol sequence, or the base sample of `saltelli`, which has
    (factors + 2) times as many; `trajectories` and `levels` are those of `morris`; `generators` names for
    each generated factor of a `fractional` design the factors whose product it is.
    """

    kind: Literal["grid", "two-level", "fractional", "latin-hypercube", "sobol", "saltelli", "morris"] = (
        "grid"
    )
    points: Annotated[int, Field(ge=2, le=10**6)] | None = None
    trajectories: Annotated[int, Field(ge=2, le=10**4)] | None = None
    levels: Annotated[int, Field(ge=2, le=100)] = 4
    generators: dict[str, list[str]] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0)] = 1

    @model_validator(mode="after")
    def _complete(self) -> Design:
        needs = {
            "latin-hypercube": "points",
            "sobol": "points",
            "saltelli": "points",
            "morris": "trajectories",
        }
        for key in ("points", "trajectories"):
            given, wanted = getattr(self, key) is not None, needs.get(self.kind) == key
            if given != wanted:
                raise ValueError(f"a {self.kind} design {'needs' if wanted else 'has no'} {key}")
        if bool(self.generators) != (self.kind == "fractional"):
            raise ValueError("generators belong to a fractional design, and it to them")
        return self


def require_design(design: Design, factors: Sequence[Factor], where: str) -> None:
    """Raise InputError where a design has no place for a factor, or cannot be made."""
    for factor in factors:
        if factor.is_range and design.kind == "grid":
            raise InputError(
                f"a grid has no place for the range of {factor.name!r}",
                where=f"{where}: factor",
                expected="values, or a design that fills a space",
            )
        if design.kind in ("two-level", "fractional") and len(factor.labels) != SWITCH_LEVELS:
            raise InputError(
                f"a {design.kind} design has factors with 2 levels, and {factor.name!r} has "
                f"{len(factor.labels)}",
                where=f"{where}: factor",
                expected="2 levels a factor",
            )
    if design.kind != "grid" and (points := points_in(design, factors)) > MOST_POINTS:
        raise InputError(
            f"a {design.kind} design of {points:,} points",
            where=f"{where}: design",
            expected=f"at most {MOST_POINTS:,}, by fewer factors or another kind of design",
        )
    try:
        if design.kind != "grid":
            matrix_of(design, factors)
    except ValueError as fault:
        raise InputError(str(fault), where=f"{where}: design") from fault


def points_in(design: Design, factors: Sequence[Factor]) -> int:
    """Return how many points a design has."""
    if design.kind == "grid":
        return math.prod(len(factor.labels) for factor in factors)
    if design.kind == "saltelli":
        return (design.points or 0) * (len(factors) + 2)
    if design.kind == "morris":
        return (design.trajectories or 0) * (len(factors) + 1)
    if design.points is not None:
        return design.points
    return int(2 ** (len(factors) - len(design.generators)))


def matrix_of(design: Design, factors: Sequence[Factor]) -> NDArray[np.float64] | None:
    """Return the design, shape (points, factors), or None for a grid, whose points are counted.

    Two-level designs hold 0 and 1, those that fill a space hold places in [0, 1].

    Raises
    ------
    ValueError
        The design cannot be made; its words are for the user.
    """
    from experiments.designs import factorial, sensitivity, space_filling

    count = len(factors)
    if design.kind == "grid":
        return None
    if design.kind == "two-level":
        return factorial.two_level(count).astype(float)
    if design.kind == "fractional":
        names = [factor.name for factor in factors]
        return factorial.fractional(names, design.generators).runs.astype(float)
    if design.kind == "morris":
        assert design.trajectories is not None
        return sensitivity.morris(design.trajectories, count, design.levels, design.seed)
    assert design.points is not None
    made = {
        "latin-hypercube": space_filling.latin_hypercube,
        "sobol": space_filling.sobol,
        "saltelli": sensitivity.saltelli,
    }[design.kind]
    return made(design.points, count, design.seed)


def require_printable(names: Iterable[str]) -> None:
    """Raise ValueError for a name with a line break, or else what neither terminals nor pictures show."""
    for name in names:
        if not name.isprintable():
            raise ValueError(f"{name!r} holds what cannot be printed")


def kind_of(value: Value) -> str:
    """Return what kind of value a level is, in words."""
    if isinstance(value, bool):
        return "truth value"
    return "text" if isinstance(value, str) else "number"
