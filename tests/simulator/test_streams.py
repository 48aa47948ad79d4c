"""The random streams: a draw is a function of the run's coordinates, the purpose and the item alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simulator.errors import InputError
from simulator.streams import BLOCK, Streams, coordinates_of

FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right
KINDS = ("uniform", "normal", "exponential")

asked = st.tuples(st.sampled_from("abc"), st.sampled_from(KINDS), st.integers(0, 3 * BLOCK))


def draw(streams: Streams, purpose: str, kind: str, index: int) -> float:
    return getattr(streams, kind)(purpose)[index]  # type: ignore[no-any-return]


@pytest.mark.property
@given(questions=st.lists(asked, min_size=1, max_size=12), order=st.randoms(use_true_random=False))
def test_the_order_of_asking_changes_nothing(questions: list[tuple[str, str, int]], order: object) -> None:
    there = Streams(7, 0, "world")
    first = {question: draw(there, *question) for question in questions}
    order.shuffle(questions)  # type: ignore[attr-defined]
    back = Streams(7, 0, "world")
    assert {question: draw(back, *question) for question in questions} == first
    assert {question: draw(Streams(7, 0, "world"), *question) for question in questions} == first


@pytest.mark.property
@given(st.lists(asked, max_size=8), st.lists(st.text(max_size=5), max_size=4))
def test_a_new_purpose_moves_nobody_elses_numbers(
    questions: list[tuple[str, str, int]], new: list[str]
) -> None:
    alone, crowded = Streams(7), Streams(7)
    for question in questions:
        for purpose in new:
            draw(crowded, f"new {purpose}", "uniform", 3)
        assert draw(crowded, *question) == draw(alone, *question)


@pytest.mark.unit
def test_every_coordinate_purpose_and_kind_makes_other_numbers() -> None:
    others = [
        Streams(7, 0, "world").uniform("a"),
        Streams(8, 0, "world").uniform("a"),
        Streams(7, 1, "world").uniform("a"),
        Streams(7, 0, "other").uniform("a"),
        Streams(7, "world").uniform("a"),
        Streams(7, 0, "world").uniform("b"),
        Streams(7, 0, "world").normal("a"),
        Streams(7, 0, "world").exponential("a"),
    ]
    assert len({draws[0] for draws in others}) == len(others)


@pytest.mark.unit
def test_a_seed_is_one_coordinate_or_two() -> None:
    assert coordinates_of(7) == (7, 0)
    assert coordinates_of([7, 3]) == (7, 3)


@pytest.mark.theory
@pytest.mark.parametrize(
    ("kind", "law"), [("uniform", stats.uniform()), ("normal", stats.norm()), ("exponential", stats.expon())]
)
def test_draws_follow_their_law(kind: str, law: object) -> None:
    draws = getattr(Streams(20261113), kind)("any")
    assert stats.kstest([draws[index] for index in range(20_000)], law.cdf).pvalue > FALSE_ALARM  # type: ignore[attr-defined]


@pytest.mark.theory
def test_streams_of_two_purposes_are_uncorrelated() -> None:
    streams, number = Streams(20261113), 20_000
    first, second = streams.normal("first"), streams.normal("second")
    pairs = [(first[index], second[index]) for index in range(number)]
    assert stats.pearsonr(*zip(*pairs, strict=True)).pvalue > FALSE_ALARM


@pytest.mark.theory
@pytest.mark.parametrize("kind", ["normal", "exponential"])
def test_the_kinds_of_one_purpose_are_uncorrelated(kind: str) -> None:
    # the first draws of many runs: one bit pattern behind both would show in their sizes
    runs = [Streams(seed) for seed in range(2_000)]
    sizes = [abs(getattr(streams, kind)("one")[0]) for streams in runs]
    assert stats.spearmanr([streams.uniform("one")[0] for streams in runs], sizes).pvalue > FALSE_ALARM


@pytest.mark.unit
@pytest.mark.parametrize("seed", [-1, (1, -1), "x", 1.5, None, (), [2.0]])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(InputError, match="no seed"):
        coordinates_of(seed)  # type: ignore[arg-type]


@pytest.mark.unit
def test_a_seed_may_come_from_numpy() -> None:
    assert coordinates_of(np.int64(7)) == (7, 0) == coordinates_of(7)  # type: ignore[arg-type]


@pytest.mark.unit
def test_draws_are_counted_from_zero() -> None:
    with pytest.raises(IndexError):
        Streams(1).uniform("any")[-1]
