"""Which of several policies is best, and how sure that is.

In come columns, a policy each, whose entries i come from replication i under common random numbers; out
come the subset that holds the best, simultaneous intervals of each policy's lead over the best of the
others, or who is left of a sequential race. Subsets: Nelson, Swann, Goldsman and Song (Operations
Research 49, 2001). Leads: Hsu (Annals of Statistics 12, 1984), with paired widths as in Nelson and
Matejcik (Management Science 41, 1995) but by Bonferroni, so that no structure of the covariances is
assumed. Race: Kim and Nelson (ACM TOMACS 11, 2001), with c = 1. All assume normal means; none assumes
independent columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.statistics.intervals import CONFIDENCE, Interval, student_quantile
from experiments.statistics.pairs import ROUNDING, share_contrast
from experiments.statistics.samples import require_rivals, sample, sample_table


class BestVerdict(NamedTuple):
    """Which policy is best, as far as the replications tell.

    Parameters
    ----------
    leader : str
        The policy with the best sample mean.
    subset : tuple of str
        Those that may be the best: it is one of them, with the stated confidence.
    leads : mapping of str to Interval
        Of each policy's true mean over the best of all the others', positive being better whether large
        or small responses are; all hold together. An interval that ends at 0 says which side a policy is
        on: only the best can have a positive lead.
    indifference : float
        A lead that does not matter, in the unit of the responses.
    confidence : float
        Of everything said here, together.
    """

    leader: str
    subset: tuple[str, ...]
    leads: Mapping[str, Interval]
    indifference: float
    confidence: float

    @property
    def decided(self) -> bool:
        """Whether the leader is known to be the best, or behind it by no more than the indifference."""
        return self.leads[self.leader].low >= -self.indifference

    @property
    def statement(self) -> str:
        """The verdict in a sentence."""
        if len(self.subset) == 1:
            found = f"{self.leader} is the best"
        elif self.decided:
            found = f"{self.leader} is the best or within {self.indifference:g} of it"
        else:
            found = f"the best is one of {', '.join(self.subset)}"
        return f"{found}, with {100 * self.confidence:g}% confidence"


def compare_with_best(
    columns: Mapping[str, ArrayLike],
    confidence: float = CONFIDENCE,
    *,
    indifference: float = 0.0,
    larger_is_better: bool = True,
    of_shares: bool = False,
) -> BestVerdict:
    """Compare each column with the best of the others, with the stated confidence in all of it.

    Two columns whose difference is alike in all replications have no spread to judge it by: it then counts
    where the sign test of so many would tell it, and not before.

    Parameters
    ----------
    columns : mapping of str to array_like of float, shape (n,)
        The responses of k policies; entry i of all of them comes from replication i.
    confidence : float
        In (1 / k, 1).
    indifference : float
        A lead that does not matter, at least 0, in the unit of the responses.
    larger_is_better : bool
        Whether large responses are good.
    of_shares : bool
        Whether the responses are 0 or 1; leads are then differences of shares, as `share_contrast` has them.

    Raises
    ------
    ValueError
        If there are fewer than two columns, their lengths differ, a value is NaN or infinite, or
        `confidence` or `indifference` is out of range.

    Examples
    --------
    >>> compare_with_best({"a": [5.0, 6.1, 9.0, 7.0], "b": [4.0, 5.0, 8.0, 6.0]}).statement
    'a is the best, with 95% confidence'
    """
    if not indifference >= 0:
        raise ValueError(f"an indifference is at least 0, got {indifference!r}")
    table = sample_table(columns)
    names = list(columns)
    contrasts = _contrasts(table if larger_is_better else -table)
    leads = contrasts.mean(axis=0)
    lows, highs = _bounds(contrasts, confidence, of_shares=of_shares)
    may_be_best = np.all(highs >= 0, axis=1)
    intervals = {}
    for place, name in enumerate(names):
        others = np.arange(len(names)) != place
        lead = float(leads[place, others].min())
        high = max(0.0, float(highs[place, others].min()))
        low = float(lows[place, may_be_best].min(initial=0.0))
        intervals[name] = Interval(lead, low, high, len(table), confidence)
    leader = names[int(leads.min(axis=1).argmax())]
    subset = tuple(names[place] for place in np.flatnonzero(may_be_best))
    return BestVerdict(leader, subset, intervals, indifference, confidence)


class Race(NamedTuple):
    """How far a sequential race has come.

    Parameters
    ----------
    remaining : tuple of str
        Who is still in; a single one is the selected best.
    replications : int
        After how many replications of each this is so; 0 before the first stage is full.
    at_most : int or None
        After how many the race will be decided at the latest; None before the first stage is full.
    """

    remaining: tuple[str, ...]
    replications: int
    at_most: int | None


def kim_nelson(
    columns: Mapping[str, ArrayLike],
    *,
    first: int,
    indifference: float,
    confidence: float = CONFIDENCE,
    larger_is_better: bool = True,
) -> Race:
    """Say who is still in the fully sequential race of Kim and Nelson, given the replications so far.

    The last one in is the best with the stated confidence if the best leads by at least the indifference.
    Where two differ by the same in all of the first stage, none of them falls out before the sign test tells.
    The race is run again from its first stage at each call, so the answer depends on the data alone.

    Parameters
    ----------
    columns : mapping of str to array_like of float, shape (n_i,)
        All policies that started, also those that fell out; entry i of each comes from replication i. A
        column may end where its policy fell out; the race stops where one that is still in ends.
    first : int
        Replications before anyone may fall out, at least 2; very few of them make the race long.
    indifference : float
        The smallest lead that matters, above 0, in the unit of the responses.
    confidence : float
        Of the selection, in (1 / k, 1) with k policies.
    larger_is_better : bool
        Whether large responses are good.

    Raises
    ------
    ValueError
        If there are fewer than two columns, a value is NaN or infinite, or a parameter is out of range.

    Examples
    --------
    >>> seen = {"a": [5.0, 6.1, 9.0, 7.0], "b": [1.0, 2.0, 5.1, 3.0]}
    >>> kim_nelson(seen, first=3, indifference=1.0)
    Race(remaining=('a',), replications=3, at_most=3)
    """
    _require_race(columns, first, indifference, confidence)
    names = list(columns)
    sign = 1.0 if larger_is_better else -1.0
    samples = [sign * sample(values) for values in columns.values()]
    if min(seen.size for seen in samples) < first:
        return Race(tuple(names), 0, None)
    eta = ((2 * (1 - confidence) / (len(names) - 1)) ** (-2 / (first - 1)) - 1) / 2
    start = _contrasts(np.column_stack([seen[:first] for seen in samples]))
    reach = 2 * eta * (first - 1) * start.var(axis=0, ddof=1) / indifference**2
    last = max(first, math.floor(reach.max()) + 1)
    alike = (reach == 0) & ~np.eye(len(names), dtype=bool)
    signs = _signs_needed((1 - confidence) / (len(names) - 1)) if alike.any() else 0
    last = max(last, signs)
    sums = [np.cumsum(seen) for seen in samples]
    inside = np.arange(len(names))
    stage = first
    while True:
        means = np.array([sums[place][stage - 1] for place in inside]) / stage
        slack = np.maximum(0.0, indifference / (2 * stage) * (reach[np.ix_(inside, inside)] - stage))
        if stage < signs:
            slack[alike[np.ix_(inside, inside)]] = math.inf
        keeps = (means[:, None] >= means - slack).all(axis=1)
        inside = inside[keeps] if stage < last else inside[[means.argmax()]]
        if len(inside) == 1 or min(samples[place].size for place in inside) == stage:
            return Race(tuple(names[place] for place in inside), stage, last)
        stage += 1


def _require_race(
    columns: Mapping[str, ArrayLike], first: int, indifference: float, confidence: float
) -> None:
    require_rivals(columns)
    if first < 2:  # noqa: PLR2004 - a variance needs two
        raise ValueError(f"a first stage has at least 2 replications, got {first}")
    if not 0 < indifference < math.inf:
        raise ValueError(f"a race needs a finite indifference above 0, got {indifference!r}")
    _require_confidence(confidence, len(columns))


def _require_confidence(confidence: float, rivals: int) -> None:
    if not 1 / rivals < confidence < 1:  # a draw among them is as sure as the lower end
        raise ValueError(f"confidence in the best of {rivals} lies in (1 / {rivals}, 1), got {confidence!r}")


def _bounds(
    contrasts: NDArray[np.float64], confidence: float, *, of_shares: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest true lead of each column over each other, one-sided, by Bonferroni."""
    n, rivals, _ = contrasts.shape
    _require_confidence(confidence, rivals)
    wrong = (1 - confidence) / (rivals - 1)
    leads = contrasts.mean(axis=0)
    if of_shares:
        found = [share_contrast(column, 1 - 2 * wrong) for column in contrasts.reshape(n, -1).T]
        lows, highs = np.array([(one.low, one.high) for one in found]).T.reshape(2, rivals, rivals)
        np.fill_diagonal(lows, 0.0)
        np.fill_diagonal(highs, 0.0)
        return lows, highs
    widths = np.zeros_like(leads)
    if n > 1:
        scale = student_quantile(1 - wrong, n - 1) / math.sqrt(n)
        widths = scale * contrasts.std(axis=0, ddof=1)
    if n < _signs_needed(wrong):
        widths[(np.ptp(contrasts, axis=0) == 0) & (leads != 0)] = math.inf
    return leads - widths, leads + widths


def _signs_needed(wrong: float) -> int:
    """Return how many differences of one sign are told from chance, where it may err so often."""
    return math.ceil(-math.log2(wrong))


def _contrasts(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return column i minus column j in every row, shape (n, k, k), without their rounding."""
    found = table[:, :, None] - table[:, None, :]
    sizes = np.abs(table).max(axis=0)
    least = ROUNDING * np.maximum(sizes[:, None], sizes)
    middle = np.median(found, axis=0)
    alike = np.where(np.abs(middle) <= least, 0.0, middle)
    return np.where(np.ptp(found, axis=0) <= least, alike, found)
