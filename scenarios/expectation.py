"""Expectations: the documented figures of a scenario, as rows that a run can miss.

An expectation says which response of which policy must lie in which band, where the figure comes
from, and whether parameters were fitted to it. Here is what it takes from one run; how many runs
are judged together is the business of the floor above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios.definitions import SUMMARY_KEYS
from scenarios.measures import MEASURES
from simulator.errors import nearest_name
from simulator.ledger import RewriteEntry
from simulator.recorder import EventRow, ObedienceRow, TurnRow
from simulator.schema import Amount, Share, Table
from simulator.simulation import Run

COLUMNS = {
    "turns": TurnRow._fields,
    "rewrites": RewriteEntry._fields,
    "events": EventRow._fields,
    "obedience": ObedienceRow._fields,
}
SUMMARY = ("outcome", *SUMMARY_KEYS)
"""Keys of a run's summary, and its outcome: what `summary` may name."""

Kind = Literal["fitted", "implied", "external"]


class Expectation(Table):
    """One documented figure.

    The response is a `column` of a `table`, either one row of it (`pick`) or all of them (`reduce`);
    or a registered `measure`; or a key of the `summary`. With `minus`, it is the difference to
    another policy in the same world. Several runs are taken `over`: their mean, the share in which
    the response lies in the band, a quantile, or every one. The band is `equals` and `within`,
    `between`, `at_least` or `at_most`. With `must_fail`, the row passes where the figure is missed:
    the signature of a switch, or, of an external figure, a miss that is owned up to.
    """

    policy: str
    table: Literal["turns", "rewrites", "events", "obedience"] | None = None
    column: str | None = None
    pick: Literal["first", "last", "all"] | int | None = None
    reduce: Literal["mean", "min", "max", "sum", "count"] | None = None
    measure: str | None = None
    summary: str | None = None
    minus: str | None = None
    replications: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = None
    over: Literal["mean", "share", "q05", "q95", "every"] = "every"
    equals: float | str | None = None
    within: Amount = 0.0
    between: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    at_least: float | None = None
    at_most: float | None = None
    share_at_least: Share | None = None
    must_fail: bool = False
    kind: Kind
    source: str
    note: str = ""
    holds_in_box: Share | None = None

    @model_validator(mode="after")
    def _one_response(self) -> Expectation:
        responses = [name for name in ("column", "measure", "summary") if getattr(self, name) is not None]
        if len(responses) != 1:
            raise ValueError("needs exactly one of column (with table), measure, summary")
        if self.measure is not None and self.measure not in MEASURES:
            raise ValueError(f"unknown measure {self.measure!r}{_hint(self.measure, MEASURES)}")
        if self.summary is not None and self.summary not in SUMMARY:
            raise ValueError(f"unknown key of the summary {self.summary!r}{_hint(self.summary, SUMMARY)}")
        if self.column is None and (self.table, self.pick, self.reduce) != (None, None, None):
            raise ValueError("table, pick and reduce need a column")
        if self.pick == "all" and (self.minus is not None or self.over != "every"):
            raise ValueError(
                "pick all gives the rows of a run, which are judged over every one and not paired"
            )
        if self.column is not None:
            if self.table is None:
                raise ValueError("column needs a table: turns, rewrites, events or obedience")
            if self.column not in COLUMNS[self.table]:
                raise ValueError(f"unknown column {self.column!r}{_hint(self.column, COLUMNS[self.table])}")
            if (self.pick is None) == (self.reduce is None):
                raise ValueError("column needs one of pick and reduce")
        return self

    @model_validator(mode="after")
    def _one_band(self) -> Expectation:
        bands = [
            name for name in ("equals", "between", "at_least", "at_most") if getattr(self, name) is not None
        ]
        if len(bands) != 1:
            raise ValueError("needs exactly one band: equals (with within), between, at_least, at_most")
        if self.within and not isinstance(self.equals, int | float):
            raise ValueError("within needs equals with a number")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError(f"between [{self.between[0]}, {self.between[1]}] is empty")
        if (self.over == "share") == (self.share_at_least is None):
            raise ValueError("over share needs share_at_least, and nothing else takes it")
        if isinstance(self.equals, str) and (self.over != "every" or self.minus is not None):
            raise ValueError("a word can only be judged over every run")
        return self

    @property
    def response(self) -> str:
        """The response in words, for tables."""
        if self.measure is not None:
            name = self.measure
        elif self.summary is not None:
            name = f"summary.{self.summary}"
        else:
            how = self.reduce if self.reduce is not None else _ordinal(self.pick)
            name = f"{self.table}.{self.column} {how}"
        if self.minus is not None:
            name += f" minus {self.minus}"
        if self.replications is not None:
            name += f" in runs {', '.join(map(str, self.replications))}"
        return name

    @property
    def documented(self) -> str:
        """The band in words, for tables."""
        return f"not {self._band}" if self.must_fail else self._band

    @property
    def _band(self) -> str:
        if self.equals is not None:
            band = (self.equals if isinstance(self.equals, str) else f"{self.equals:g}") + (
                f" +/- {self.within:g}" if self.within else ""
            )
        elif self.between is not None:
            band = f"{self.between[0]:g} to {self.between[1]:g}"
        else:
            band = f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"
        if self.over == "share":
            return f"{band} in >= {self.share_at_least:.0%} of runs"
        return band if self.over == "every" else f"{band} ({self.over})"

    @property
    def limits(self) -> tuple[float, float]:
        """The band as numbers, both ends included."""
        if isinstance(self.equals, int | float):
            return self.equals - self.within - 1e-9, self.equals + self.within + 1e-9
        if self.between is not None:
            return self.between[0], self.between[1]
        low = self.at_least if self.at_least is not None else -float("inf")
        high = self.at_most if self.at_most is not None else float("inf")
        return low, high

    def holds(self, value: float | str | None) -> bool:
        """Whether one value lies in the band."""
        if isinstance(self.equals, str) or isinstance(value, str):
            return value == self.equals
        low, high = self.limits
        return value is not None and low <= value <= high

    def values(self, run: Run) -> list[float | str | None]:
        """Return the response of one run: one value, or one a row where `pick` is all."""
        if self.measure is not None:
            return [MEASURES[self.measure].take(run)]
        if self.summary is not None:
            if self.summary == "outcome":
                return [run.outcome]
            return [_number(run.summary.get(self.summary))]
        tables: dict[str, Sequence[object]] = {
            "turns": run.turn_rows,
            "rewrites": run.rewrite_rows,
            "events": run.event_rows,
            "obedience": run.obedience_rows,
        }
        rows = tables[self.table or "turns"]
        column = [_number(getattr(row, self.column or "")) for row in rows]
        if self.reduce is not None:
            return [_reduced(self.reduce, [value for value in column if isinstance(value, int | float)])]
        if self.pick == "all":
            return list(column) or [None]
        place = {"first": 0, "last": -1}.get(str(self.pick), self.pick)
        assert isinstance(place, int)
        return [column[place]] if -len(column) <= place < len(column) else [None]


def _number(value: object) -> float | str | None:
    if isinstance(value, bool):
        return float(value)
    return value if isinstance(value, int | float | str) else None


def _reduced(how: str, values: Sequence[float]) -> float | None:
    if how == "count":
        return float(len(values))
    if not values:
        return None
    if how == "mean":
        return sum(values) / len(values)
    if how == "min":
        return min(values)
    return max(values) if how == "max" else float(sum(values))


def _ordinal(pick: int | str | None) -> str:
    return f"row {pick}" if isinstance(pick, int) else str(pick)


def _hint(name: str, valid: Iterable[str]) -> str:
    near = nearest_name(name, valid)
    return f", did you mean {near!r}?" if near else ""
