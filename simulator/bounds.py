"""Bounds of the numbers in a specification, for those who build one in Python and not from a file."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.errors import InputError


def require_at_least(least: float, spec: object, names: Iterable[str], where: str) -> None:
    """Raise InputError for the first attribute that is below `least`, or not a number."""
    for name in names:
        value = getattr(spec, name)
        if not value >= least:  # as NaN is
            raise InputError(f"{name} is {value}", where=where, expected=f"{least} or more")


def require_above_zero(spec: object, names: Iterable[str], where: str) -> None:
    """Raise InputError for the first attribute that is not above 0."""
    for name in names:
        value = getattr(spec, name)
        if not value > 0:
            raise InputError(f"{name} is {value}", where=where, expected="more than 0")
