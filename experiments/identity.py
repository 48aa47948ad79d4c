"""What names a sweep: all that its rows follow from, and nothing that only tells of them.

That is the version, scenarios, policies, factors, design, replications and responses as the file has them,
and what scenarios and policies mean, told by digests; a policy of a user's own is told by the text of its
module. Two identities that differ can say where.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Literal

from experiments.experiment import Experiment, Point
from experiments.factors import Value
from policies import load_policy
from scenarios import load_scenario
from simulator import InputError
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
        "bounds",
    }
)
"""Keys of an experiment file that its rows do not follow from."""

POINTS_TRIED = 256
"""Points that are all built before the first run; of a larger design, each level beside two of the others."""

DIFFERENCES_SHOWN = 3

Identity = dict[str, object]


def identity_of(experiment: Experiment) -> Identity:
    """Return what names a sweep: `version`, `file`, and digests of `scenarios` and `policies` by reference.

    Raises InputError where a scenario, a policy or a level of one cannot be built at any point that is tried:
    before the first run. Levels that go alone and not together are failed runs.
    """
    try:
        points = list(points_to_try(experiment))
        return {
            "version": version(),
            "file": {
                key: value
                for key, value in experiment.file.model_dump(mode="json").items()
                if key not in TELLING_ONLY
            },
            "scenarios": {
                name: _digest(_built(experiment, points, "of_scenario", partial(_scenario_form, name)))
                for name in experiment.scenarios
            },
            "policies": {
                name: _digest(_built(experiment, points, "of_policy", partial(_policy_form, name)))
                for name in experiment.policies
            },
        }
    except InputError as fault:
        raise InputError(f"{fault}", where=str(experiment.path)) from fault


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


def differences_between(there: Identity, here: Identity) -> str:
    """Return in words where two identities differ, at most three places of all.

    >>> differences_between({"file": {"seed": 1}}, {"file": {"seed": 2}})
    'file.seed is 1 there and 2 here'
    """
    left, right = dict(_leaves(there, "")), dict(_leaves(here, ""))
    paths = [path for path in dict.fromkeys([*left, *right]) if left.get(path) != right.get(path)]
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
    policy = load_policy(reference, overrides)
    parts = getattr(policy, "parts", None)
    told = None if parts is not None else [type(policy).__qualname__, _source_of(type(policy))]
    return [plain_form([policy.terms, parts]), told]


def _built(
    experiment: Experiment,
    points: list[Point],
    side: Literal["of_scenario", "of_policy"],
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
        overrides = getattr(point, side)
        key = json.dumps(overrides, sort_keys=True)
        if key not in found:
            found[key] = None
            try:
                found[key] = form(overrides)
            except InputError as fault:
                faults[key] = fault
        for name in counted:
            of_level.setdefault((name, point.labels[name]), []).append(key)
    for keys in [list(found), *of_level.values()]:
        if all(key in faults for key in keys):
            raise faults[keys[0]]
    return list(found.values())


def _digest(forms: list[object]) -> str:
    digest = hashlib.sha256()
    for form in forms:
        digest.update(json.dumps(form, sort_keys=True).encode())
    return digest.hexdigest()[:16]


def plain_form(value: object) -> object:
    """Return a value as JSON could hold it, the same in every process.

    Sets are sorted, objects are told by their class and attributes, and nothing by its address.

    >>> plain_form(frozenset({"b", "a"})), plain_form((1, 2.5))
    (['a', 'b'], [1, 2.5])
    """
    if isinstance(value, Enum):
        return plain_form(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return [[plain_form(key), plain_form(inner)] for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [plain_form(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((plain_form(inner) for inner in value), key=json.dumps)
    if isinstance(value, type) or callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', '')}"
    if dataclasses.is_dataclass(value):
        inner = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    else:
        inner = dict(getattr(value, "__dict__", {}))
    return [type(value).__qualname__, plain_form(inner)]


def _source_of(kind: type) -> str:
    """Return the text of the module that a class stands in, or nothing where there is none."""
    try:
        return inspect.getsource(sys.modules[kind.__module__])
    except (KeyError, OSError, TypeError):
        return ""
