"""Catalogue files: one TOML file an entry, by name or by path, with at most one base.

Data in, checked data out; what the data mean is the business of the floor above. All that can be
wrong with a file is said in one line: what, where (file and key), what was expected, and the
nearest valid name.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from simulator.contracts import InputError, nearest_name

if TYPE_CHECKING:
    from pydantic import BaseModel

Data = dict[str, object]
Model = TypeVar("Model", bound="BaseModel")

LARGEST_FILE = 4 << 20
"""Bytes; a longer file is not one of ours."""


class Entry(NamedTuple):
    """One catalogue file: its name, its place, and its data with those of its base under them."""

    name: str
    path: Path
    data: Data
    base: str | None = None


def names(folder: Path) -> list[str]:
    """Return the names in a catalogue, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_entry(kind: str, reference: str, folder: Path, *, not_inherited: Iterable[str] = ()) -> Entry:
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
            raise InputError("base is not a name", where=f"{path}: base", expected=f"the name of a {kind}")
        beside = path.parent / f"{base}.toml"
        below = read_toml(beside if beside.exists() else _path_of(kind, base, folder, where=f"{path}: base"))
        if "base" in below:
            raise InputError(
                f"base {base!r} has a base itself", where=f"{path}: base", expected="one base, no chain"
            )
        data = merged({key: value for key, value in below.items() if key not in set(not_inherited)}, data)
    return Entry(path.stem, path, data, base)


def read_toml(path: Path) -> Data:
    """Return the data of one TOML file. Raises InputError, with the line where there is one."""
    try:
        if path.is_dir():
            raise InputError("is a directory", where=str(path), expected="a TOML file")
        if path.stat().st_size > LARGEST_FILE:
            raise InputError("is too large", where=str(path), expected=f"at most {LARGEST_FILE >> 20} MiB")
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        near = nearest_name(path.name, (other.name for other in path.parent.glob("*.toml")))
        raise InputError("no such file", where=str(path), expected="a TOML file", nearest=near) from None
    except UnicodeDecodeError as fault:
        raise InputError(
            f"not UTF-8 text at byte {fault.start}", where=str(path), expected="a TOML file"
        ) from None
    except tomllib.TOMLDecodeError as fault:
        raise InputError(f"not TOML: {fault}", where=str(path)) from None
    except RecursionError:
        raise InputError("nested too deeply", where=str(path), expected="flat tables") from None
    except OSError as fault:
        raise InputError(fault.strerror or "cannot be read", where=str(path)) from None


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
    """Return `data` with values set at dotted paths. Raises InputError where a path goes through a value.

    >>> overridden({"a": {"x": 1}}, {"a.x": 2})
    {'a': {'x': 2}}
    """
    result = data
    for path, value in overrides.items():
        layer: object = value
        for key in reversed(path.split(".")):
            if not key:
                raise InputError(f"{path!r} is not a path", where="--set", expected="table.key=value")
            layer = {key: layer}
        assert isinstance(layer, dict)
        _require_tables(result, path)
        result = merged(result, layer)
    return result


def validated(model: type[Model], data: Data, where: str) -> Model:
    """Return the data as a checked model. Raises InputError with the first fault and how many more.

    Strict, through JSON: no text for a number, no NaN, no infinity.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as fault:
        errors = fault.errors(include_url=False)
        first = errors[0]
        key = ".".join(str(part) for part in first["loc"])
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        if first["type"] == "extra_forbidden":
            valid = _keys_at(model, first["loc"][:-1])
            near = nearest_name(str(first["loc"][-1]), valid)
            raise InputError(
                f"unknown key{more}",
                where=f"{where}: {key}",
                expected=f"one of {', '.join(valid)}",
                nearest=near,
            ) from None
        got = first["input"]
        shown = f" (got {got!r})" if isinstance(got, str | int | float | bool) else ""
        raise InputError(f"{first['msg']}{shown}{more}", where=f"{where}: {key}") from None


def _path_of(kind: str, reference: str, folder: Path, where: str = "") -> Path:
    """Return the file that a name or a path stands for."""
    if not reference or "\0" in reference:
        raise InputError(
            f"{reference!r} is not a name", where=where, expected=f"the name or path of a {kind}"
        )
    if reference.endswith(".toml") or "/" in reference:
        return Path(reference)
    path = folder / f"{reference}.toml"
    if path.exists():
        return path
    valid = names(folder)
    raise InputError(
        f"unknown {kind} {reference!r}",
        where=where,
        expected=f"a {kind} of `rewritelab list` or the path of a TOML file",
        nearest=nearest_name(reference, valid),
    )


def _require_tables(data: Mapping[str, object], path: str) -> None:
    layer: object = data
    for key in path.split(".")[:-1]:
        if not isinstance(layer, Mapping) or key not in layer:
            return
        layer = layer[key]
        if not isinstance(layer, Mapping):
            raise InputError(f"{key} is a value, not a table", where=f"--set {path}")


def _keys_at(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """Return the valid keys of the table at that place of a model, as far as it is plain."""
    from pydantic import BaseModel

    current: type[BaseModel] = model
    for part in place:
        field = current.model_fields.get(str(part))
        inner = [
            option
            for option in (getattr(field.annotation, "__args__", ()) or (field.annotation,) if field else ())
            if isinstance(option, type) and issubclass(option, BaseModel)
        ]
        if not inner:
            return sorted(current.model_fields) if isinstance(part, int) else []
        current = inner[0]
    return sorted(current.model_fields)
