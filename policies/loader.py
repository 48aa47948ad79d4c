"""Policies by reference: a name in the catalogue, the path of a file, or a class of one's own.

A class is named `package.module:Class`, on the command line or as `class` in a policy file, or is
registered in the entry-point group `rewritelab.policies`. A file hands its class what stands in
`[parameters]`, as keyword arguments. An import error is shown, never swallowed.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_type_hints

from simulator.catalogue import Entry, names, overridden, read_entry, validated
from simulator.contracts import Policy, Terms
from simulator.errors import InputError, nearest_name, told

if TYPE_CHECKING:
    from pydantic import BaseModel

CATALOGUE = Path(__file__).parent / "catalogue"
GROUP = "rewritelab.policies"


def policy_names() -> list[str]:
    """Return the names in the catalogue and of registered entry points, sorted."""
    return sorted({*names(CATALOGUE), *(point.name for point in metadata.entry_points(group=GROUP))})


def read_policy(reference: str) -> Entry:
    """Return the file of a policy: name, path and data. Raises InputError."""
    return read_entry("policy", reference, CATALOGUE, not_inherited=ONE_S_OWN)


def load_policy(reference: str, overrides: Mapping[str, object] | None = None) -> Policy:
    """Return a policy, ready to run.

    Parameters
    ----------
    reference : str
        Name, path of a TOML file, or `package.module:Class`.
    overrides : mapping, optional
        Values by dotted path, laid over a file's data.

    Raises
    ------
    InputError
        There is no such policy, its file is wrong, or its class cannot be made.

    >>> load_policy("guarded").name
    'guarded'
    """
    from policies.schema import PolicyFile

    overrides = overrides or {}
    if ":" in reference and not reference.endswith(".toml"):
        return _instance(reference, reference, overrides)
    if not (CATALOGUE / f"{reference}.toml").is_file():  # to look through all installed takes time
        points = {point.name: point for point in metadata.entry_points(group=GROUP)}
        if reference in points:
            return _instance(points[reference].value, reference, overrides)
    entry = read_policy(reference)
    data = overridden(entry.data, overrides)
    file = validated(PolicyFile, data, str(entry.path) if not overrides else f"{entry.path} with overrides")
    if file.class_ is not None:
        _require_no_tables(entry, file.class_, overrides)
        where = f"{entry.path}: class"
        return _instance(file.class_, where, {}, name=entry.name, parameters=file.parameters)
    if file.parameters:
        raise InputError("parameters without a class", where=str(entry.path), expected="class, or tables")
    return file.policy(entry.name)


def resolved(reference: str) -> dict[str, object]:
    """Return a policy file's data with every default; of one that names a class, what it says."""
    from policies.schema import PolicyFile

    entry = read_policy(reference)
    file = validated(PolicyFile, entry.data, str(entry.path))
    if file.class_ is not None:
        _require_no_tables(entry, file.class_, {})
        return {key: entry.data[key] for key in BESIDE_A_CLASS if key in entry.data}
    return file.model_dump(mode="json", by_alias=True)


def _require_no_tables(entry: Entry, class_: str, overrides: Mapping[str, object]) -> None:
    """Raise InputError where a file names a class and says more, which nobody would read."""
    for path in overrides:
        if path.partition(".")[0] != "parameters":
            raise InputError(
                f"{path} is no parameter of the class {class_!r}",
                where=str(entry.path),
                expected="a policy file without a class, or parameters.NAME",
            )
    for key in entry.data:
        if key not in BESIDE_A_CLASS:
            raise InputError(
                f"says nothing to the class {class_!r}",
                where=f"{entry.path}: {key}",
                expected="a class with parameters, summary and source beside it, or tables without a class",
            )


ONE_S_OWN = ("summary", "source", "version", "group")
"""Keys that say what a file is, and that no file has from its base."""

BESIDE_A_CLASS = ("class", "parameters", "gate_class", "prefix", *ONE_S_OWN)
"""Keys of a policy file that names a class."""


def _import_also_from_here(name: str) -> ModuleType:
    """Import a module, looking last in the folder that the user stands in: it can hide nothing of ours."""
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    finally:
        if added:
            sys.path.remove(here)


def _instance(
    target: str,
    where: str,
    overrides: Mapping[str, object],
    name: str = "",
    parameters: Mapping[str, object] | None = None,
) -> Policy:
    if overrides:
        raise InputError("a policy class takes no overrides", where=where, expected="a policy file")
    module_name, _, class_name = target.partition(":")
    if not module_name or not class_name:
        raise InputError(f"{target!r} names no class", where=where, expected="package.module:Class")
    try:
        module = _import_also_from_here(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        raise InputError(f"{module_name!r} does not import: {told(fault)}", where=where) from fault
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise InputError(
            f"{module_name} has no class {class_name!r}",
            where=where,
            nearest=nearest_name(class_name, classes),
        )
    parameters = parameters or {}
    _require_parameters(made, parameters, where)
    try:
        policy = made(**parameters)
    except InputError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        raise InputError(f"{target} cannot be made: {told(fault)}", where=where) from fault
    missing = [method for method in METHODS if not callable(getattr(policy, method, None))]
    if missing or not isinstance(getattr(policy, "terms", None), Terms):
        lack = ", ".join(missing) or "terms"
        raise InputError(f"{target} is not a policy: no {lack}", where=where, expected="the Policy protocol")
    if name:
        policy.name = name
    return policy  # type: ignore[no-any-return]


def _require_parameters(made: type, parameters: Mapping[str, object], where: str) -> None:
    """Raise InputError where a class is handed what it does not have, or what its annotations refuse."""
    if not parameters:
        return
    known = inspect.signature(made).parameters
    at = where.removesuffix(": class")
    for key in parameters:
        if key not in known and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
            raise InputError(
                f"{made.__name__} has no parameter {key!r}",
                where=f"{at}: parameters.{key}",
                expected=f"one of {', '.join(known)}" if known else "a class without parameters",
                nearest=nearest_name(key, known),
            )
    validated(_table_of(made, parameters), {"parameters": dict(parameters)}, at)


def _table_of(made: type, parameters: Mapping[str, object]) -> type[BaseModel]:
    """Return the table that parameters are held to, as far as the class's annotations say."""
    from pydantic import create_model

    from simulator.schema import Table

    try:
        hints = get_type_hints(made.__init__, include_extras=True)  # type: ignore[misc]
        fields: dict[str, Any] = {key: (hints.get(key, object), ...) for key in parameters}
        table = create_model("Parameters", __base__=Table, **fields)
    except Exception:  # an annotation that no file can hold: the class itself says what is wrong
        table = create_model("Parameters", __base__=Table, **dict.fromkeys(parameters, (object, ...)))  # type: ignore[call-overload]
    return create_model("File", __base__=Table, parameters=(table, ...))


METHODS = ("begin", "check", "admit", "propose", "judge", "learn", "resume", "amend", "rely")
"""What the engine calls."""
