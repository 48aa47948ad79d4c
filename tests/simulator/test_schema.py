"""What is said of a file that does not fit: the key as the file has it, what is allowed, the nearest."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, model_validator

from simulator.catalogue import validated
from simulator.errors import InputError
from simulator.schema import Share, Table
from simulator.spans import Kind

pytestmark = pytest.mark.unit


class Script(Table):
    kind: Literal["scripted"]
    rows: int = 0


class Random(Table):
    kind: Literal["synthetic"]
    mean: Share = 0.5


class Inner(Table):
    name: str
    levels: tuple[int | str, ...] = ()


class Whole(Table):
    class_: str | None = Field(default=None, alias="class")
    order: tuple[Literal["verbosity", "saving"], ...] = ()
    kinds: tuple[Kind, ...] | None = None
    pick: Literal["first", "last"] | int | None = None
    workload: Annotated[Script | Random, Field(discriminator="kind")] = Random(kind="synthetic")
    inner: tuple[Inner, ...] = ()
    low: float = 0
    high: float = 1

    @model_validator(mode="after")
    def _ordered(self) -> Whole:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def fault(**data: object) -> InputError:
    with pytest.raises(InputError) as raised:
        validated(Whole, data, "a.toml")
    assert raised.value.where.startswith("a.toml")
    return raised.value


@pytest.mark.parametrize(
    ("data", "key", "nearest", "expected"),
    [
        ({"order": ["verbosty"]}, "order.0", "verbosity", "verbosity, saving"),
        ({"order": ["saving", 3]}, "order.1", "", "verbosity, saving"),
        ({"kinds": ["tool_rsult"]}, "kinds.0", "tool_result", "tool_result"),
        ({"pick": "frist"}, "pick", "first", "first, last"),
        ({"workload": {"kind": "sythetic"}}, "workload.kind", "synthetic", "scripted, synthetic"),
        ({"workload": {"mean": 1}}, "workload.kind", "", "scripted, synthetic"),
    ],
)
def test_a_value_that_is_not_allowed_is_shown_with_those_that_are(
    data: dict[str, object], key: str, nearest: str, expected: str
) -> None:
    told = fault(**data)
    assert told.where == f"a.toml: {key}"
    assert told.nearest == nearest
    assert expected in told.expected


@pytest.mark.parametrize(
    ("data", "key", "nearest"),
    [
        ({"clas": "x"}, "clas", "class"),
        ({"workload": {"kind": "synthetic", "men": 1}}, "workload.men", "mean"),
        ({"workload": {"kind": "scripted", "row": 1}}, "workload.row", "rows"),
        ({"inner": [{"name": "a"}, {"nme": "a"}]}, "inner.1.nme", "name"),
    ],
)
def test_an_unknown_key_is_looked_up_in_its_own_table(
    data: dict[str, object], key: str, nearest: str
) -> None:
    told = fault(**data)
    assert told.what.startswith("unknown key")
    assert told.where == f"a.toml: {key}"
    assert told.nearest == nearest
    assert nearest in told.expected


def test_keys_are_named_as_files_name_them() -> None:
    assert fault(sumary="x").expected == "one of class, high, inner, kinds, low, order, pick, workload"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (
            {"workload": {"kind": "synthetic", "mean": 2}},
            "a.toml: workload.mean: Input should be less than or equal to 1 (got 2)",
        ),
        ({"inner": [{"name": "a", "levels": [[1]]}]}, "a.toml: inner.0.levels.0: Input should be a valid "),
        ({"low": 3}, "a.toml: low is above high"),
    ],
)
def test_a_place_is_the_files_and_not_the_librarys(data: dict[str, object], line: str) -> None:
    assert str(fault(**data)).startswith(line)


def test_what_fits_is_returned() -> None:
    made = validated(Whole, {"class": "a:b", "workload": {"kind": "scripted", "rows": 3}}, "a.toml")
    assert made.class_ == "a:b"
    assert made.workload == Script(kind="scripted", rows=3)
