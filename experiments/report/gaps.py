"""Who has no value in a report, or fewer than the others, and why: a sentence each.

In come the results of a sweep; out go the policies whose runs failed, and those that have no value of a
pictured response because what it is taken over never happened. Of skipped runs the answers tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.results import Results, has_failed
from simulator.errors import one_line

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED = 6
"""Places, or policies, that a sentence names."""


def gaps(results: Results) -> Iterator[str]:
    """Yield a sentence a policy that failed, and one a response for those whose runs have no value of it."""
    ran = results.ran.assign(has_failed=has_failed(results.ran))
    for policy, own in ran.groupby("policy", sort=False):
        if own["has_failed"].any():
            yield _failed(str(policy), own, results)
    finished = ran[~ran["has_failed"]]
    for response in _pictured(results):
        yield from _unvalued(response, finished, results)


def _failed(policy: str, own: pd.DataFrame, results: Results) -> str:
    """Return how many runs of a policy failed, where it is left without a value, and the commonest reason."""
    share = own.groupby(["scenario", "point"], sort=False)["has_failed"].mean()
    lost = share[share == 1].index.to_list()
    words = f"{policy}: {own['has_failed'].sum():,} of {len(own):,} runs failed"
    if lost:
        words += f"; it has no value {_places(lost, len(share), results)}"
    if len(lost) < (share > 0).sum():
        words += "; where some finished, its figures are of those alone"
    failures = results.failures
    stages = failures.loc[failures["policy"] == policy, ["stage", "message"]]
    stage, message = stages.value_counts().index[0]
    return one_line(f"{words}; most often at {stage}: {message}")


def _unvalued(response: str, finished: pd.DataFrame, results: Results) -> Iterator[str]:
    """Yield which policies have no value of a response where, those with the same places together."""
    alike: dict[str, list[str]] = {}
    for policy, own in finished.groupby("policy", sort=False):
        valued = own.groupby(["scenario", "point"], sort=False)[response].count()
        lacking = valued[valued == 0].index.to_list()
        if lacking:
            alike.setdefault(_places(lacking, len(valued), results), []).append(str(policy))
    for where, policies in alike.items():
        yield f"no {response} {where}, for what it is taken over did not happen there: {_named(policies)}"


def _pictured(results: Results) -> list[str]:
    """Return the responses that pictures show, each once."""
    plots = results.experiment.file.pictures
    return list(dict.fromkeys(name for plot in plots for name in (plot.response, plot.x, plot.y) if name))


def _places(lost: Sequence[tuple[str, int]], of: int, results: Results) -> str:
    """Return scenarios and points in words."""
    if len(lost) == of:
        return "anywhere" if of > 1 else "at all"
    if results.experiment.factors:
        return f"at {len(lost):,} of {of:,} points"
    return f"in {_named([scenario for scenario, _ in lost])}"


def _named(names: Sequence[str]) -> str:
    """Return names in a row, the first ones of many.

    >>> _named(["a", "b"]), _named(list("abcdefgh"))
    ('a, b', 'a, b, c, d, e, f and 2 more')
    """
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
