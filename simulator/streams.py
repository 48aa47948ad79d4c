"""`Streams`: named random streams, one a purpose, indexed by item and not by order of use.

A run is its coordinates (root seed, scenario, replication); the policy is not among them, so that
all policies meet the same world (common random numbers), and adding a purpose moves nobody else's
numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from operator import index

import numpy as np

from simulator.errors import InputError

BLOCK = 256
"""Draws made at once: a scalar draw of numpy costs ten times one of a block."""


class Draws:
    """The draws of one purpose: `draws[i]` is the same number whenever it is asked for."""

    __slots__ = ("_make", "_values")

    def __init__(self, make: Callable[[int], list[float]]) -> None:
        self._make = make
        self._values: list[float] = []

    def __getitem__(self, place: int) -> float:
        values = self._values
        if 0 <= place < len(values):
            return values[place]
        if place < 0:
            raise IndexError(f"draws are counted from 0, not {place}")
        self._draw(place + 1)
        return values[place]

    def first(self, count: int) -> list[float]:
        """Return so many draws, from the first on."""
        self._draw(count)
        return self._values[:count]

    def _draw(self, count: int) -> None:
        while len(self._values) < count:
            self._values.extend(self._make(BLOCK))


class Streams:
    """The random streams of one run.

    Parameters
    ----------
    *coordinates : int or str
        What the run is: root seed, replication, scenario.

    Attributes
    ----------
    replication, agent : the second and third whole number among them, 0 where there is none.
    """

    def __init__(self, *coordinates: int | str) -> None:
        self._root = [_entropy(part) for part in coordinates]
        whole = [part for part in coordinates if isinstance(part, int)]
        self.replication, self.agent = (*whole[1:3], 0, 0)[:2]
        self._known: dict[tuple[str, str], Draws] = {}

    def uniform(self, purpose: str) -> Draws:
        """Return draws from [0, 1)."""
        return self._draws(purpose, "uniform", lambda rng: lambda n: rng.random(n).tolist())

    def normal(self, purpose: str) -> Draws:
        """Return standard normal draws."""
        return self._draws(purpose, "normal", lambda rng: lambda n: rng.standard_normal(n).tolist())

    def exponential(self, purpose: str) -> Draws:
        """Return exponential draws of mean 1."""
        return self._draws(purpose, "exponential", lambda rng: lambda n: rng.standard_exponential(n).tolist())

    def _draws(
        self, purpose: str, kind: str, maker: Callable[[np.random.Generator], Callable[[int], list[float]]]
    ) -> Draws:
        key = (purpose, kind)
        if key not in self._known:
            seed = np.random.SeedSequence([*self._root, _entropy(purpose), _entropy(kind)])
            self._known[key] = Draws(maker(np.random.default_rng(seed)))
        return self._known[key]


def coordinates_of(seed: int | Sequence[int]) -> tuple[int, ...]:
    """Return the seed as coordinates (root seed, replication); a root seed alone is its replication 0.

    Raises
    ------
    InputError
        A coordinate is not a whole number of 0 or more.

    >>> coordinates_of(7)
    (7, 0)
    """
    parts = tuple(seed) if isinstance(seed, Sequence) else (seed, 0)
    try:
        coordinates = tuple(index(part) for part in parts)
    except TypeError:
        coordinates = (-1,)
    if min(coordinates, default=-1) < 0:
        raise InputError(f"{seed!r} is no seed", where="seed", expected="whole numbers of 0 or more")
    return coordinates


def _entropy(part: int | str) -> int:
    """Return a non-negative integer for one coordinate; texts by a digest that no version changes."""
    if isinstance(part, str):
        return int.from_bytes(hashlib.blake2b(part.encode(), digest_size=8).digest(), "big")
    return part
