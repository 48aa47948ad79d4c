"""Two-level factorial designs, whole and fractional, and what a fraction cannot tell apart.

In come factor names and generators; out come runs of levels 0 and 1 with the resolution and the aliases
that follow (Box, Hunter and Hunter, Statistics for Experimenters, 2nd edition, chapter 6). An effect is a
set of factors; two are aliased if their symmetric difference is a defining word.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Effect = tuple[str, ...]
"""A main effect, an interaction or a defining word: factor names in the order of the design."""

HIGHEST_ORDER = 2
"""Aliases are told of main effects and two-factor interactions; higher ones are taken to be small."""

LEAST_RESOLUTION = 3
"""Below it two main effects are one."""


@dataclass(frozen=True, eq=False)
class FractionalDesign:
    """A regular fraction of a two-level factorial design.

    Parameters
    ----------
    names : tuple of str
        The k factors, a column each.
    runs : numpy.ndarray of int, shape (2^(k - p), k)
        Levels 0 and 1; of the factors without generator, the last is fastest.
    words : tuple of tuple of str
        The 2^p - 1 defining words: products of factors that are the same in all runs. Shortest first.
    resolution : int
        Length of the shortest word. At 3, main effects are clear of each other; at 4 also of two-factor
        interactions; at 5 these also of each other.
    aliases : mapping of tuple of str to tuple of tuple of str
        For each main effect and two-factor interaction, those that this design cannot tell from it.
    """

    names: tuple[str, ...]
    runs: NDArray[np.int64]
    words: tuple[Effect, ...]
    resolution: int
    aliases: Mapping[Effect, tuple[Effect, ...]]


def two_level(k: int) -> NDArray[np.int64]:
    """Return all combinations of two levels of k factors, the last fastest.

    Parameters
    ----------
    k : int
        How many factors, at least 1.

    Returns
    -------
    numpy.ndarray of int, shape (2^k, k)
        Levels 0 and 1.

    Raises
    ------
    ValueError
        If `k` is below 1.

    Examples
    --------
    >>> two_level(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if k < 1:
        raise ValueError(f"a design has at least one factor, got {k}")
    return np.arange(2**k)[:, None] >> np.arange(k)[::-1] & 1


def fractional(names: Sequence[str], generators: Mapping[str, Sequence[str]]) -> FractionalDesign:
    """Return the fraction in which each generated factor stands at the product of others.

    Parameters
    ----------
    names : sequence of str
        All factors.
    generators : mapping of str to sequence of str
        For each generated factor those whose product it is, levels 0 and 1 counting as -1 and +1:
        `{"D": ["A", "B", "C"]}` is D = ABC. They may be generated themselves.

    Raises
    ------
    ValueError
        If a name stands twice, there is no generator or no factor without one, a generator is empty,
        names a factor that does not exist, twice or in a circle, or two columns coincide.

    Examples
    --------
    >>> half = fractional("ABC", {"C": "AB"})
    >>> half.runs.tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
    >>> half.resolution, half.aliases[("A",)]
    (3, (('B', 'C'),))
    """
    _require_names(names, generators)
    basic = [name for name in names if name not in generators]
    parts = {name: _basic_parts(name, generators, ()) for name in names}
    _require_apart(parts)
    words = _products([parts[name] ^ {name} for name in generators])
    levels = two_level(len(basic))
    columns = []
    for name in names:
        chosen = [place for place, other in enumerate(basic) if other in parts[name]]
        columns.append((levels[:, chosen] + 1).sum(axis=1) + 1 & 1)  # an even count of 0s is a product of +1
    aliases = {}
    for order in range(1, HIGHEST_ORDER + 1):
        for effect in itertools.combinations(names, order):
            same = (word.symmetric_difference(effect) for word in words)
            aliases[effect] = _in_order((other for other in same if len(other) <= HIGHEST_ORDER), names)
    defining = _in_order(words, names)
    return FractionalDesign(tuple(names), np.column_stack(columns), defining, len(defining[0]), aliases)


def _require_names(names: Sequence[str], generators: Mapping[str, Sequence[str]]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ValueError(f"a factor stands once among the names, got {', '.join(twice)} twice")
    if not generators:
        raise ValueError("a fraction needs a generator; without one it is the whole design, `two_level`")
    for name, product in generators.items():
        unknown = [other for other in (name, *product) if other not in names]
        if unknown:
            raise ValueError(
                f"the generator of {name} names {', '.join(unknown)}: not among {', '.join(names)}"
            )
        if not product:
            raise ValueError(f"the generator of {name} is empty")
        if len(set(product)) < len(product):
            raise ValueError(f"the generator of {name} names a factor twice: {', '.join(product)}")


def _basic_parts(name: str, generators: Mapping[str, Sequence[str]], above: Effect) -> frozenset[str]:
    """Return the factors without generator whose product the factor is."""
    if name in above:
        raise ValueError(f"generators run in a circle: {' -> '.join([*above, name])}")
    if name not in generators:
        return frozenset({name})
    found = (_basic_parts(other, generators, (*above, name)) for other in generators[name])
    return reduce(frozenset.symmetric_difference, found)


def _require_apart(parts: Mapping[str, frozenset[str]]) -> None:
    """Refuse a design of resolution 1 or 2: a column that never moves, or two that move as one."""
    seen: dict[frozenset[str], str] = {}
    for name, own in parts.items():
        if not own:
            raise ValueError(f"{name} stands at one level in all runs: its generator cancels out")
        if own in seen:
            raise ValueError(
                f"{seen[own]} and {name} stand at the same level in all runs: "
                f"a design needs resolution {LEAST_RESOLUTION} or more"
            )
        seen[own] = name


def _products(generating: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return all products of the generating words."""
    found: list[frozenset[str]] = [frozenset()]
    for word in generating:
        found += [known ^ word for known in found]
    return found[1:]


def _in_order(effects: Iterable[frozenset[str]], names: Sequence[str]) -> tuple[Effect, ...]:
    """Return the effects short ones first, and then in the order of the factors, as their own names are."""
    placed = (tuple(place for place, name in enumerate(names) if name in effect) for effect in effects)
    ordered = sorted(placed, key=lambda places: (len(places), places))
    return tuple(tuple(names[place] for place in places) for places in ordered)
