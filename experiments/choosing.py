"""Which runs of a plan are meant: `--only name=value`, by scenario, policy, point, replication or factor."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.factors import Value
from experiments.plan import Plan
from simulator.errors import InputError, nearest_name, one_line


def chosen(plan: Plan, words: Sequence[str]) -> NDArray[np.bool_]:
    """Return, run by run, whether it is meant: by all names, and of each by any of its values.

    Raises
    ------
    InputError
        A word names nothing of the experiment, or a value that it does not have; or no run has all of them.
    """
    asked: dict[str, list[Value]] = {}
    for word in words:
        name, value = _read(plan, word)
        if name in ("policy", "replication") and not isinstance(plan.experiment.file.replications, int):
            raise InputError(
                f"where replications stop by a rule, a {name} alone cannot be run",
                where="--only",
                expected="whole points: scenario, point or a factor",
            )
        asked.setdefault(name, []).append(value)
    meant = np.ones(plan.shape, dtype=bool)
    for name, values in asked.items():
        if name in AXES:
            keep = np.isin(_along(plan, name), values)
            sides = [1] * len(plan.shape)
            sides[AXES.index(name)] = keep.size
            meant &= keep.reshape(sides)
        else:
            fitting = [plan.experiment.labels(point)[name] in values for point in range(plan.shape[1])]
            meant &= np.array(fitting).reshape(1, -1, 1, 1)
    if not meant.any():
        raise InputError(
            f"no run has {one_line(' and '.join(words))}", where="--only", expected="values that go together"
        )
    return meant.reshape(-1)


AXES = ("scenario", "point", "policy", "replication")


def _along(plan: Plan, name: str) -> list[Value]:
    """Return what stands along an axis of the plan."""
    names = {"scenario": plan.experiment.scenarios, "policy": plan.experiment.policies}
    return list(names.get(name, range(plan.shape[AXES.index(name)])))


def _read(plan: Plan, word: str) -> tuple[str, Value]:
    valid = [*AXES, *plan.experiment.factors]
    ways = [(word[:at].strip(), word[at + 1 :].strip()) for at, sign in enumerate(word) if sign == "="]
    if not ways:
        raise InputError(f"{one_line(word)!r} chooses nothing", where="--only", expected="name=value")
    name, text = next((way for way in ways if way[0] in valid), ways[0])  # either may hold an equals sign
    if name not in valid:
        raise InputError(
            f"unknown name {name!r}",
            where="--only",
            expected=", ".join(valid),
            nearest=nearest_name(name, valid),
        )
    there = _along(plan, name) if name in AXES else _levels(plan, name)
    for value in (text, _toml(text)):
        if any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in there):
            return name, value  # type: ignore[return-value]
    words = [str(one) for one in dict.fromkeys(there)]
    raise InputError(
        f"{name} has no {text!r}",
        where="--only",
        expected=f"one of {', '.join(words[:SHOWN])}{', ...' if len(words) > SHOWN else ''}",
        nearest=nearest_name(text, words[:SHOWN]),
    )


SHOWN = 12
"""Values that a message repeats."""


def _levels(plan: Plan, name: str) -> list[Value]:
    factor = next(factor for factor in plan.experiment.file.factor if factor.name == name)
    if not factor.is_range:
        return factor.labels
    return [plan.experiment.labels(point)[name] for point in range(plan.shape[1])]


def _toml(text: str) -> object:
    try:
        read = tomllib.loads(f"value = {text}")
        return read["value"] if list(read) == ["value"] and "#" not in text else None
    except (ValueError, RecursionError):
        return None
