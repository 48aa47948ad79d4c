"""Catalogue files: one TOML file an entry, by name or by path, with at most one base.

Data in, checked data out; what the data mean is the business of the floor above. All that can be
wrong with a file is said in one line: what, where (file and key), what was expected, and the
nearest valid name.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from simulator.errors import InputError, nearest_name

if TYPE_CHECKING:
    from pydantic import BaseModel

Data = dict[str, object]
Model = TypeVar("Model", bound="BaseModel")

OTHER_FORMS = {"policy": ", or package.module:Class"}
"""Forms of a reference that are no catalogue file."""

DEEP_KEY = re.compile(r"(?:[\w\"'-]+[ \t]*\.[ \t]*){40,}")
"""A dotted key of more parts than any table of ours has."""

LARGEST_FILE = 4 << 20
"""Bytes; a longer file is not one of ours."""

DEEPEST = 32
"""Tables and lists within one another; a deeper file is not one of ours, and would exhaust the stack."""


LONGEST_PATH = 120
"""Characters of a path that a message repeats."""


class Entry(NamedTuple):
    """One catalogue file: its name, its place, and its data with those of its base under them."""

    name: str
    path: Path
    data: Data
    base: str | None = None


def names(folder: Path) -> list[str]:
    """Return the names in a catalogue, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_entry(
    kind: str,
    reference: str,
    folder: Path,
    *,
    not_inherited: Iterable[str] = (),
    told_apart: Iterable[str] = (),
) -> Entry:
    """Read one entry.

    Parameters
    ----------
    kind : str
        What is read, for messages: "scenario", "policy", "experiment".
    reference : str
        A name in the catalogue, or the path of a TOML file.
    folder : Path
        The catalogue.
    not_inherited : iterable of str
        Top-level keys that a base does not hand down.
    told_apart : iterable of str
        Tables that a base hands down only where the entry's own is of no other `kind`.

    Raises
    ------
    InputError
        The name is unknown, or the file cannot be read or parsed.
    """
    path = _path_of(kind, reference, folder)
    data = read_toml(path)
    base = data.pop("base", None)
    if base is not None:
        if not isinstance(base, str):
            raise InputError("base is not a name", where=f"{path}: base", expected=f"the name of {_a(kind)}")
        beside = path.parent / f"{base}.toml"
        below = read_toml(beside if beside.exists() else _path_of(kind, base, folder, where=f"{path}: base"))
        if "base" in below:
            raise InputError(
                f"base {base!r} has a base itself", where=f"{path}: base", expected="one base, no chain"
            )
        left = {
            *not_inherited,
            *(key for key in told_apart if _of_another_kind(data.get(key), below.get(key))),
        }
        data = merged({key: value for key, value in below.items() if key not in left}, data)
    return Entry(path.stem, path, data, base)


def read_toml(path: Path) -> Data:
    """Return the data of one TOML file. Raises InputError, with the line where there is one."""
    text = read_text(path, "a TOML file")
    if DEEP_KEY.search(text):  # such a key takes its parser for ever
        raise InputError("nested too deeply", where=str(path), expected="flat tables")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise InputError(f"not TOML: {fault}", where=str(path)) from None
    except RecursionError:
        raise InputError("nested too deeply", where=str(path), expected="flat tables") from None
    except ValueError:
        raise InputError("a number is too long", where=str(path)) from None
    require_shallow(data, str(path))
    return data


def read_head(path: Path) -> Data:
    """Return what stands in a TOML file before its first table. Raises InputError as `read_toml`."""
    head = re.split(r"^\[", read_text(path, "a TOML file"), maxsplit=1, flags=re.MULTILINE)[0]
    try:
        return tomllib.loads(head)
    except ValueError:  # cut within a text or a list of several lines, or there is a fault to tell
        return read_toml(path)


def read_text(path: Path, expected: str) -> str:
    """Return the text of a small file; `expected` says in messages what it should be. Raises InputError."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError("is not a regular file", where=str(path), expected=expected)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)  # not its size, which a pipe or a device does not tell
        if len(content) > LARGEST_FILE:
            raise InputError("is too large", where=str(path), expected=f"at most {LARGEST_FILE >> 20} MiB")
        return content.decode()
    except FileNotFoundError:
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        near = nearest_name(path.name, (other.name for other in beside if other.suffix == path.suffix))
        raise InputError("no such file", where=str(path), expected=expected, nearest=near) from None
    except IsADirectoryError:
        raise InputError("is a directory", where=str(path), expected=expected) from None
    except UnicodeDecodeError as fault:
        raise InputError(
            f"not UTF-8 text at byte {fault.start}", where=str(path), expected=expected
        ) from None
    except OSError as fault:
        raise InputError(fault.strerror or "cannot be read", where=str(path), expected=expected) from None
    except ValueError:  # a NUL in the name
        raise InputError("is no name of a file", where=str(path), expected=expected) from None


def require_shallow(value: object, where: str) -> None:
    """Raise InputError where tables and lists stand deeper within one another than `DEEPEST`."""
    layer, depth = [value], 0
    while layer:
        if depth > DEEPEST:
            raise InputError("nested too deeply", where=where, expected="flat tables")
        inner: list[object] = []
        for part in layer:
            if isinstance(part, Mapping):
                inner.extend(part.values())
            elif isinstance(part, list):
                inner.extend(part)
        layer, depth = inner, depth + 1


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> Data:
    """Return `above` laid over `below`, table by table.

    >>> merged({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}})
    {'a': {'x': 1, 'y': 3}}
    """
    result: Data = dict(below)
    for key, value in above.items():
        under = result.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            result[key] = merged(under, value)
        else:
            result[key] = value
    return result


def overridden(data: Data, overrides: Mapping[str, object]) -> Data:
    """Return `data` with values set at dotted paths.

    A key that is a number picks a row of a list, counted from 0; another key picks the row of that `name`.
    Raises InputError where a path leads through a value, or to a row that is not there.

    >>> overridden({"a": {"x": 1}, "row": [{"name": "b", "y": 0}]}, {"a.x": 2, "row.b.y": 3, "row.0.z": 4})
    {'a': {'x': 2}, 'row': [{'name': 'b', 'y': 3, 'z': 4}]}
    """
    result = data
    for path, value in overrides.items():
        keys = path.split(".")
        where = f"the path {path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + '...'}"
        if not all(keys):
            raise InputError(f"{path!r} is not a path", expected="table.key")
        if len(keys) > DEEPEST:
            raise InputError(f"a path of {len(keys)} keys", where=where, expected="table.key")
        require_shallow(value, where)
        laid = _laid(result, keys, value, where)
        assert isinstance(laid, dict)
        result = laid
    return result


def _laid(under: object, keys: list[str], value: object, where: str, at: str = "") -> object:
    """Return what stands at `at` with a value laid over what stands in it below some keys."""
    if not keys and isinstance(under, Mapping) and isinstance(value, Mapping):
        return merged(under, value)
    if not keys:
        return value
    key, *further = keys
    if isinstance(under, list):
        place = _place_of(key, under, at, where)
        return [*under[:place], _laid(under[place], further, value, where, key), *under[place + 1 :]]
    if under is None:
        under = {}
    if not isinstance(under, Mapping):
        raise InputError(f"{at} is a value, not a table", where=where)
    return {**under, key: _laid(under.get(key), further, value, where, key)}


def _place_of(key: str, rows: list[object], at: str, where: str) -> int:
    """Return which row of a list a key picks: the number that it is, or the first row of that name."""
    names = [row.get("name") if isinstance(row, Mapping) else None for row in rows]
    for keys in ([str(number) for number in range(len(rows))], names):
        if key in keys:
            return keys.index(key)
    known = [name for name in names if isinstance(name, str)]
    raise InputError(
        f"{at} has no row {key!r}",
        where=where,
        expected=f"a number below {len(rows)}" + (" or the name of a row" if known else ""),
        nearest=nearest_name(key, known),
    )


def validated(model: type[Model], data: Data, where: str) -> Model:
    """Return the data as a checked model. Raises InputError with the first fault and how many more.

    Strict, through JSON: no text for a number, no NaN, no infinity.
    """
    from pydantic import ValidationError

    from simulator.schema import input_error

    try:
        return model.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as fault:
        raise input_error(model, fault, where) from None


def _path_of(kind: str, reference: str, folder: Path, where: str = "") -> Path:
    """Return the file that a name or a path stands for."""
    if not reference or "\0" in reference:
        raise InputError(
            f"{reference!r} is not a name", where=where, expected=f"the name or path of {_a(kind)}"
        )
    if reference.endswith(".toml") or "/" in reference:
        return Path(reference)
    valid = names(folder)
    if reference in valid:
        return folder / f"{reference}.toml"
    raise InputError(
        f"unknown {kind} {reference!r}",
        where=where,
        expected=f"{_a(kind)} of `rewritelab list` or the path of a TOML file{OTHER_FORMS.get(kind, '')}",
        nearest=nearest_name(reference, valid),
    )


def _of_another_kind(table: object, below: object) -> bool:
    if not isinstance(table, Mapping) or not isinstance(below, Mapping) or "kind" not in table:
        return False
    return bool(table["kind"] != below.get("kind"))


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
