"""Factorial designs against the published tables, and fractions against their own columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from experiments.designs import FractionalDesign, fractional, two_level

PUBLISHED = [  # Box, Hunter and Hunter, 2nd edition, table 6.22: names, generators, resolution
    ("ABC", {"C": "AB"}, 3),
    ("ABCD", {"D": "ABC"}, 4),
    ("ABCDE", {"E": "ABCD"}, 5),
    ("ABCDE", {"D": "AB", "E": "AC"}, 3),
    ("ABCDEF", {"E": "ABC", "F": "BCD"}, 4),
    ("ABCDEFG", {"D": "AB", "E": "AC", "F": "BC", "G": "ABC"}, 3),
    ("ABCDEFG", {"E": "ABC", "F": "BCD", "G": "ACD"}, 4),
    ("ABCDEFGH", {"E": "BCD", "F": "ACD", "G": "ABC", "H": "ABD"}, 4),
    ("ABCDEFGH", {"G": "ABCD", "H": "ABEF"}, 5),
]


def signs(design: FractionalDesign, effect: Sequence[str]) -> np.ndarray:
    """The column of an effect: the product of its factors, levels being -1 and +1."""
    chosen = [design.names.index(name) for name in effect]
    return np.prod(2 * design.runs[:, chosen] - 1, axis=1)


@pytest.mark.unit
@pytest.mark.parametrize("k", [1, 2, 5])
def test_two_levels_count_in_binary_with_the_last_factor_fastest(k: int) -> None:
    assert two_level(k).tolist() == [list(run) for run in itertools.product((0, 1), repeat=k)]


@pytest.mark.theory
@pytest.mark.parametrize(("names", "generators", "resolution"), PUBLISHED)
def test_published_fractions_have_the_published_resolution(
    names: str, generators: Mapping[str, str], resolution: int
) -> None:
    design = fractional(names, generators)
    k, p = len(names), len(generators)
    assert design.resolution == resolution
    assert design.runs.shape == (2 ** (k - p), k)
    assert len(design.words) == 2**p - 1


@pytest.mark.theory
@pytest.mark.parametrize(("names", "generators", "resolution"), PUBLISHED)
def test_runs_say_what_words_and_aliases_say(
    names: str, generators: Mapping[str, str], resolution: int
) -> None:
    """Words are constant columns, aliased effects are equal columns, all others are orthogonal."""
    design = fractional(names, generators)
    assert len(np.unique(design.runs, axis=0)) == len(design.runs)
    for word in design.words:
        assert (signs(design, word) == 1).all()
    for first, second in itertools.combinations(design.aliases, 2):
        inner = int(signs(design, first) @ signs(design, second))
        aliased = second in design.aliases[first]
        assert inner == (len(design.runs) if aliased else 0)
        assert aliased == (first in design.aliases[second])


@pytest.mark.theory
def test_the_bicycle_design_as_published() -> None:
    """The 2^(7-4) of Box, Hunter and Hunter: I = ABD = ACE = BCF = ABCG, and A = BD = CE = FG."""
    design = fractional("ABCDEFG", {"D": "AB", "E": "AC", "F": "BC", "G": "ABC"})
    assert design.aliases[("A",)] == (("B", "D"), ("C", "E"), ("F", "G"))
    assert sum(len(word) == 3 for word in design.words) == 7
    assert sum(len(word) == 4 for word in design.words) == 7
    assert design.words[-1] == tuple("ABCDEFG")


@pytest.mark.unit
def test_a_generator_may_name_generated_factors_in_any_order() -> None:
    """E = DA with D = ABC is E = BC."""
    chained = fractional("EABCD", {"E": ["D", "A"], "D": ["A", "B", "C"]})
    direct = fractional("EABCD", {"E": ["B", "C"], "D": ["A", "B", "C"]})
    assert chained.runs.tolist() == direct.runs.tolist()
    assert chained.words == direct.words


@pytest.mark.unit
@pytest.mark.parametrize(
    ("names", "generators", "words"),
    [
        ("ABC", {}, "needs a generator"),
        ("ABA", {"B": "A"}, "A twice"),
        ("ABC", {"C": "AX"}, "generator of C names X: not among A, B, C"),
        ("ABC", {"D": "AB"}, "names D"),
        ("ABC", {"C": ""}, "empty"),
        ("ABC", {"C": "AA"}, "twice"),
        ("ABC", {"C": "AC"}, "circle: C -> C"),
        ("ABCD", {"C": "AD", "D": "BC"}, "circle: C -> D -> C"),
        ("ABC", {"C": "A"}, "A and C stand at the same level"),
        ("ABCDE", {"D": "AB", "E": "AB"}, "D and E stand at the same level"),
        ("ABCDE", {"D": "AB", "E": "ABD"}, "E stands at one level"),
    ],
)
def test_what_is_no_fraction_is_refused_in_words(
    names: str, generators: Mapping[str, str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        fractional(names, generators)


@pytest.mark.unit
def test_a_design_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one factor"):
        two_level(0)


@pytest.mark.theory
def test_a_half_fraction_finds_what_the_whole_design_finds_plus_the_alias() -> None:
    """With D = ABC, the contrast of AB is the sum of the effects of AB and CD."""
    design = fractional("ABCD", {"D": "ABC"})
    response = 3.0 * signs(design, "AB") + 0.5 * signs(design, "CD") + 7.0 * signs(design, "A") + 2.0
    assert math.isclose(float(signs(design, "AB") @ response) / len(design.runs), 3.5)
    assert design.aliases[("A", "B")] == (("C", "D"),)
