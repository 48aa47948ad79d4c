"""What names a sweep: all that its rows follow from, and nothing that only tells of them.

That is the version, scenarios, policies, factors, design, replications and responses as the file has them,
and what scenarios and policies mean, told by digests; classes of a user's own in a policy are told by the
text of their modules, and of those that these import. Two identities that differ can say where.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, partial
from pathlib import Path, PurePath

import numpy as np

from experiments.experiment import Experiment, Point
from experiments.factors import Value
from experiments.sources import sources_of
from policies import load_policy
from scenarios import load_scenario
from simulator import InputError
from simulator.errors import told
from simulator.simulation import version

TELLING_ONLY = frozenset(
    {
        "summary",
        "source",
        "question",
        "plot",
        "plots",
        "intervals",
        "quantiles",
        "time_limit_seconds",
    }
)
"""Keys of an experiment file that its rows do not follow from."""

POINTS_TRIED = 256
"""Points that are all built before the first run; of a larger design, each level beside two of the others."""

DIFFERENCES_SHOWN = 3

Identity = dict[str, object]


def identity_of(experiment: Experiment) -> Identity:
    """Return what names a sweep: `versions`, `file`, and digests of `scenarios` and `policies` by reference.

    Raises InputError where a scenario, a policy or a level of one cannot be built at any point that is tried:
    before the first run. Levels that go alone and not together are failed runs.
    """
    try:
        points = list(points_to_try(experiment))
        return {
            "versions": versions(),
            "file": {
                key: value
                for key, value in experiment.file.model_dump(mode="json").items()
                if key not in TELLING_ONLY
            },
            "scenarios": {
                name: _digest(_built(experiment, points, _of_scenario, partial(_scenario_form, name)))
                for name in experiment.scenarios
            },
            "policies": {
                name: _digest(
                    _built(experiment, points, partial(_of_policy, name), partial(_policy_form, name))
                )
                for name in experiment.policies
            },
        }
    except InputError as fault:
        raise InputError(f"{fault}", where=str(experiment.path)) from fault


PACKAGES = ("rewritelab", "simpy", "numpy", "scipy")
"""Distributions whose versions rows follow from, beside that of Python: scipy makes the points of designs."""


def versions() -> dict[str, str | None]:
    """Return the versions that rows follow from, in this process; `source` tells our own code by its text."""
    named = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **named, "source": _source_digest()}


@cache
def _source_digest() -> str:
    """Return in 16 characters the code of the mechanism, policies and scenarios, without what files say."""
    digest = hashlib.sha256()
    for package in ("simulator", "policies", "scenarios"):
        folder = Path(__file__).parent.parent / package
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder.parent).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def digest_of(identity: Identity) -> str:
    """Return an identity in 16 characters."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def points_to_try(experiment: Experiment) -> Iterator[Point]:
    """Yield all points of a small design; of a large one, each level beside the first and the last others."""
    if experiment.size <= POINTS_TRIED:
        yield from experiment.points()
        return
    for end in (0, -1):
        others = {factor.name: factor.labels[end] for factor in experiment.file.factor}
        for factor in experiment.file.factor:
            for label in factor.labels:
                yield experiment.point_at(others | {factor.name: label})


def differences_between(there: Mapping[str, object], here: Mapping[str, object]) -> str:
    """Return in words where two identities differ, at most three places of all.

    Where files differ, what is only built from them is not told beside.

    >>> differences_between({"file": {"seed": 1}}, {"file": {"seed": 2}})
    'file.seed is 1 there and 2 here'
    """
    left, right = dict(_leaves(there, "")), dict(_leaves(here, ""))
    paths = [path for path in dict.fromkeys([*left, *right]) if left.get(path) != right.get(path)]
    if any(path.startswith("file.") for path in paths):
        paths = [path for path in paths if path.partition(".")[0] not in ("scenarios", "policies")]
    told = [
        f"{path} is {_shown(left.get(path))} there and {_shown(right.get(path))} here"
        for path in paths[:DIFFERENCES_SHOWN]
    ]
    more = len(paths) - DIFFERENCES_SHOWN
    return ", ".join(told) + (f", and {more} more" if more > 0 else "")


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield the values of nested tables with their paths."""
    inner: Iterator[tuple[object, object]]
    if isinstance(value, Mapping):
        inner = iter(value.items())
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        inner = iter(enumerate(value))
    else:
        yield path, value
        return
    for key, part in inner:
        yield from _leaves(part, f"{path}.{key}" if path else str(key))


LONGEST_SHOWN = 60
"""Characters of a value that a message repeats."""


def _shown(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _scenario_form(reference: str, overrides: dict[str, object]) -> object:
    return plain_form(load_scenario(reference, overrides).setting())


def _policy_form(reference: str, overrides: dict[str, object]) -> object:
    """Return what a policy is: its terms, its parts, and the texts that others wrote for it."""
    modules: set[str] = set()
    try:
        policy = load_policy(reference, overrides)
        form = _form([type(policy), policy.terms, getattr(policy, "parts", None)], modules)
    except InputError:
        raise
    except Exception as fault:  # a property may raise anything, and what holds itself has no end
        raise InputError(
            f"its terms and parts cannot be told: {told(fault)}",
            where=reference,
            expected="plain values and objects with attributes",
        ) from fault
    return [form, [list(source) for source in sources_of(modules)]]


def _built(
    experiment: Experiment,
    points: list[Point],
    side: Callable[[Point], dict[str, object]],
    form: Callable[[dict[str, object]], object],
) -> list[object]:
    """Return one side of the points, each once, None where it cannot be built.

    Raises the first fault of a level that is built at none of its points; a value of a range is no level.
    """
    found: dict[str, object] = {}
    faults: dict[str, InputError] = {}
    of_level: dict[tuple[str, Value], list[str]] = {}
    counted = [factor.name for factor in experiment.file.factor if not factor.is_range]
    for point in points:
        overrides = side(point)
        key = json.dumps(overrides, sort_keys=True)
        if key not in found:
            found[key] = None
            try:
                found[key] = form(overrides)
            except InputError as fault:
                faults[key] = fault
        for name in counted:
            of_level.setdefault((name, point.labels[name]), []).append(key)
    if all(key in faults for key in found):
        raise next(iter(faults.values()))
    for (name, label), keys in of_level.items():
        if all(key in faults for key in keys):
            raise InputError(f"{faults[keys[0]]}", where=f"factor {name!r} at {label!r}")
    return list(found.values())


def _of_scenario(point: Point) -> dict[str, object]:
    return point.of_scenario


def _of_policy(reference: str, point: Point) -> dict[str, object]:
    return point.of_policies[reference]


def _digest(forms: list[object]) -> str:
    digest = hashlib.sha256()
    for form in forms:
        digest.update(json.dumps(form, sort_keys=True).encode())
    return digest.hexdigest()[:16]


def plain_form(value: object) -> object:
    """Return a value as JSON could hold it, the same in every process.

    Sets are sorted, arrays are lists, objects are told by their class and attributes, functions by name, and
    nothing by its address. Raises TypeError for an object that shows no attributes.

    >>> plain_form(frozenset({"b", "a"})), plain_form((1, 2.5))
    (['a', 'b'], [1, 2.5])
    """
    return _form(value, set())


def _form(value: object, modules: set[str]) -> object:
    """Return the plain form, and add the modules of the classes and functions that are met."""
    if isinstance(value, Enum):
        return _form(value.value, modules)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return _form(value.tolist(), modules)
    if isinstance(value, Mapping):
        return [[_form(key, modules), _form(inner, modules)] for key, inner in value.items()]
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_form(inner, modules) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((_form(inner, modules) for inner in value), key=json.dumps)
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        family = value.__mro__ if isinstance(value, type) else [value]
        modules.update(f"{getattr(one, '__module__', None)}" for one in family)
        return f"{getattr(value, '__module__', None)}.{value.__qualname__}"  # a method of C has no module
    return [_form(type(value), modules), _form(_attributes(value), modules)]


def _attributes(value: object) -> object:
    """Return what an object is made of: its fields, or what its slots and its `__dict__` hold."""
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return list(value)
    if not (hasattr(value, "__dict__") or hasattr(value, "__slots__")):
        raise TypeError(f"a {type(value).__qualname__} has no attributes to tell it by, got {value!r}")
    return object.__getstate__(value)
