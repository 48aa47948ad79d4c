"""The schema that files are held to: the table, its numbers, and what is said of one that does not fit.

Scenarios, policies and experiments are tables of one manner: strict types, no unknown key, no NaN and
no infinity. Imported only where a file is read, since pydantic is no part of the mechanism.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.errors import InputError, nearest_name

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, le=10**12)]
Amount = Annotated[float, Field(ge=0, le=10**12)]
Tokens = Annotated[int, Field(ge=0, le=10**9)]
Turns = Annotated[int, Field(ge=0, le=10**6)]


class Table(BaseModel):
    """A table of a file: no unknown key, no infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


def input_error(model: type[BaseModel], fault: ValidationError, where: str) -> InputError:
    """Return the first fault of a file in one line, and how many more there are."""
    errors = fault.errors(include_url=False)
    # a misspelt key says more than the required one that it should have been
    first = next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])
    got, context = first["input"], first.get("ctx", {})
    place = _place(model, first["loc"])
    at = f"{where}: {place.path}" if place.path else where
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        return _none_of(f"unknown key{more}", key, _place(model, first["loc"][:-1]).keys, at)
    if first["type"] == "union_tag_invalid":
        key, tag = context["discriminator"].strip("'"), context["tag"]
        return _none_of(f"unknown value {tag!r}{more}", tag, place.tags(key), f"{at}.{key}")
    if first["type"] == "union_tag_not_found":
        key = context["discriminator"].strip("'")
        return _none_of(f"is missing{more}", "", place.tags(key), f"{at}.{key}")
    if first["type"] in ("literal_error", "enum"):
        valid = QUOTED.findall(context["expected"])
        return _none_of(f"unknown value{_shown(got)}{more}", str(got), valid, at)
    shown = f" (got{_shown(got)})" if _shown(got) else ""
    return InputError(f"{first['msg'].removeprefix(OF_OUR_OWN)}{shown}{more}", where=at)


OF_OUR_OWN = "Value error, "
"""What pydantic puts before the words of our own validators."""


QUOTED = re.compile(r"'([^']*)'")
"""The names in what pydantic says of allowed values."""

UNION_LABEL = re.compile(r"(int|float|bool|str|constrained-(int|float|str)|(literal|list)\[.*\])")
"""What pydantic appends to a place to say which of several types did not fit."""


class _Place(NamedTuple):
    """A place in a file: its dotted path, and the tables that may stand there."""

    path: str
    tables: tuple[type[BaseModel], ...]

    @property
    def keys(self) -> list[str]:
        """Valid keys, by the names that files use."""
        return sorted(
            {field.alias or name for table in self.tables for name, field in table.model_fields.items()}
        )

    def tags(self, key: str) -> list[str]:
        """Values of the key that tells the tables apart."""
        return [tag for table in self.tables for tag in get_args(table.model_fields[key].annotation)]


def _place(model: type[BaseModel], location: tuple[int | str, ...]) -> _Place:
    """Return the place of a fault, without the steps that are pydantic's and not the file's."""
    tables: tuple[type[BaseModel], ...] = (model,)
    words: list[str] = []
    for part in location:
        tagged = [table for table in tables if part in _tags_of(table)] if len(tables) > 1 else []
        if tagged:
            tables = (tagged[0],)
            continue
        words.append(str(part))
        if isinstance(part, str):
            tables = tuple(inner for table in tables for inner in _tables_at(table, part))
    if words and not tables and UNION_LABEL.fullmatch(words[-1]):
        words.pop()
    return _Place(".".join(words), tables)


def _tags_of(table: type[BaseModel]) -> set[object]:
    annotations = [field.annotation for field in table.model_fields.values()]
    return {tag for found in annotations if get_origin(found) is Literal for tag in get_args(found)}


def _tables_at(table: type[BaseModel], key: str) -> list[type[BaseModel]]:
    """Return the tables that may stand at a key, alone, in a list, or one of several."""
    found: list[type[BaseModel]] = []
    open_ = [field.annotation for name, field in table.model_fields.items() if key in (name, field.alias)]
    while open_:
        annotation = open_.pop(0)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        else:
            open_.extend(get_args(annotation))
    return found


def _none_of(what: str, got: str, valid: list[str], where: str) -> InputError:
    near = nearest_name(got, valid)
    return InputError(what, where=where, expected=f"one of {', '.join(valid)}", nearest=near)


def _shown(value: object) -> str:
    return f" {value!r}" if isinstance(value, str | int | float | bool) else ""
