"""Paired rounds: reference and case by turns, and the median of their ratios with its interval.

In come two callables that do a fixed amount of work and return the seconds it took; out comes a
`Ratio`. A shared machine changes its speed from second to second, so only what was measured within
one round is compared, and the order within a round alternates.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

Measure = Callable[[], float]
"""Do the work, return the seconds it took."""

CONFIDENCE = 0.95


class Ratio(NamedTuple):
    """Case over reference: the median of the rounds, its interval, and the best seconds of each side."""

    median: float
    low: float
    high: float
    rounds: int
    best_reference: float
    best_case: float


def paired(reference: Measure, case: Measure, rounds: int) -> Ratio:
    """Return the ratio of `case` to `reference`; one round before the first warms both up."""
    sides = (reference, case)
    for side in sides:
        side()
    taken: list[tuple[float, float]] = []
    for number in range(rounds):
        seconds = [0.0, 0.0]
        for which in (0, 1) if number % 2 else (1, 0):
            gc.collect()
            seconds[which] = sides[which]()
        taken.append((seconds[0], seconds[1]))
    ratios = sorted(of_case / of_reference for of_reference, of_case in taken)
    low, high = median_ranks(rounds)
    return Ratio(
        statistics.median(ratios),
        ratios[low],
        ratios[high],
        rounds,
        min(of_reference for of_reference, _ in taken),
        min(of_case for _, of_case in taken),
    )


def median_ranks(number: int) -> tuple[int, int]:
    """Return the places in a sorted sample between which its population's median lies.

    Order statistics: the narrowest symmetric pair whose binomial coverage is at least `CONFIDENCE`;
    all of the sample where it is too small for that.

    >>> median_ranks(15)
    (3, 11)
    """
    low, below = 0, 0.5**number
    for rank in range(1, number // 2):
        below += math.comb(number, rank) * 0.5**number
        if 1 - 2 * below < CONFIDENCE:
            break
        low = rank
    return low, number - 1 - low


def wall(work: Callable[[], object]) -> Measure:
    """Return a measure of a callable by the wall clock: for what runs in other processes."""
    return lambda: _seconds(work, time.perf_counter)


def cpu(work: Callable[[], object]) -> Measure:
    """Return a measure by this process's own time, which other processes do not lengthen directly."""
    return lambda: _seconds(work, time.process_time)


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    began = clock()
    work()
    return clock() - began
