"""Paths of an experiment: whose each is, and that no two say different things of one place.

A path is keys between dots. It is the scenario's, every policy's (`policy.` before it), or one policy's (its
name before it), which then goes before what is every policy's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from simulator.errors import InputError, nearest_name

if TYPE_CHECKING:
    from experiments.factors import Factor

EVERY_POLICY = "policy."
"""What stands before a path that is every policy's."""


class Owned(NamedTuple):
    """A path of somebody.

    Attributes
    ----------
    owners : the policies whose it is; none where it is the scenario's.
    key : the path within those.
    is_named : whether it is that of one policy alone.
    """

    owners: tuple[str, ...]
    key: str
    is_named: bool = False

    def overlaps(self, other: Owned) -> bool:
        """Say whether both say something of one place."""
        same = bool(set(self.owners) & set(other.owners)) or not (self.owners or other.owners)
        inner, outer = f"{self.key}.", f"{other.key}."
        return same and (inner.startswith(outer) or outer.startswith(inner))


def owned(path: str, policies: Sequence[str]) -> Owned:
    """Return whose a path is, of some policies.

    >>> owned("policy.trigger.fraction", ["a", "b"]).owners, owned("b.trigger.fraction", ["a", "b"])
    (('a', 'b'), Owned(owners=('b',), key='trigger.fraction', is_named=True))
    """
    owner = max((name for name in policies if path.startswith(f"{name}.")), key=len, default=None)
    if owner is not None:
        return Owned((owner,), path.removeprefix(f"{owner}."), is_named=True)
    if path.startswith(EVERY_POLICY):
        return Owned(tuple(policies), path.removeprefix(EVERY_POLICY))
    return Owned((), path)


def require_paths(
    factors: Sequence[Factor], sets: Mapping[str, object], policies: Sequence[str], where: str
) -> None:
    """Raise InputError for a path that is none, that begins with nothing known, or that two things move."""
    moved = [
        (path, place, f"{where}: factor.{place}.path")
        for place, factor in enumerate(factors)
        for path in sorted(factor.paths)
    ]
    fixed = [(path, f"{where}: set") for path in sets]
    for path, at in [*((path, at) for path, _, at in moved), *fixed]:
        _require_known(path, policies, at)
    for (one, first, _), (other, second, _) in itertools.combinations(moved, 2):
        if first != second and owned(one, policies).overlaps(owned(other, policies)):
            both = one if one == other else f"{one} and {other}, which are one place"
            raise InputError(f"two factors move {both}", where=f"{where}: factor", expected="distinct paths")
    for path in _overruled(sets, (path for path, _, _ in moved), policies):
        raise InputError(f"{path} is set, and moved by a factor", where=f"{where}: set", expected="either")


def _overruled(sets: Iterable[str], moved: Iterable[str], policies: Sequence[str]) -> Iterator[str]:
    """Yield what is set where a factor moves, but for every policy where the factor moves one."""
    factors = [owned(path, policies) for path in moved]
    for path in sets:
        own = owned(path, policies)
        if any(own.overlaps(one) and (own.is_named or not one.is_named) for one in factors):
            yield path


def _require_known(path: str, policies: Sequence[str], where: str) -> None:
    from scenarios.scenario import ScenarioFile

    at = owned(path, policies)
    if not all(at.key.split(".")):
        raise InputError(
            f"{path!r} is not a path", where=where, expected="keys between dots, as 'run.horizon'"
        )
    tables = [field.alias or name for name, field in ScenarioFile.model_fields.items()]
    first = at.key.partition(".")[0]
    if not at.owners and first not in tables:
        near = [*tables, EVERY_POLICY.removesuffix("."), *policies]
        raise InputError(
            f"unknown path {path!r}",
            where=where,
            expected="a key of the scenario, policy.key, or the key of one policy after its name",
            nearest=nearest_name(first, near),
        )
