"""Which policy is best where, and how sure that is: a subset with the best, and leads over the others.

Compared are the policies that are no bound, not barred, and have the response, in the worlds that all of them
have in common; after a race those that it ran to its end. On the race's own response its verdict stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from experiments.analyses.worlds import by_place, policies_in, worlds
from experiments.experiment import Experiment, PlotTable, require_one_better
from experiments.results import interval_columns, interval_in
from experiments.rounds import race
from experiments.statistics import BestVerdict, Race, compare_with_best
from scenarios.measures import is_yes_or_no

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED = 5
"""Policies that a sentence names."""

FEWEST = 2
"""Worlds, and policies, below which nothing can be selected."""


class Standing(NamedTuple):
    """What one place says on a response.

    Attributes
    ----------
    seen : responses, a row a world and a column a policy.
    barred : rivals that have no rank.
    stopped : rivals that the race has stopped before others, with their worlds.
    compared : the other rivals that have the response.
    common : the worlds that all compared have, a column each.
    verdict : the selection among them; None where there is none, or a race has its own.
    raced : how the race on this response ended, if there was one.
    """

    seen: pd.DataFrame
    barred: frozenset[str]
    stopped: dict[str, int]
    compared: list[str]
    common: pd.DataFrame
    verdict: BestVerdict | None
    raced: Race | None

    @property
    def best(self) -> frozenset[str]:
        """Who may be the best."""
        found = self.raced.remaining if self.raced else self.verdict.subset if self.verdict else ()
        return frozenset(found) - self.barred

    def is_behind(self, policy: str) -> bool:
        """Say whether the race has put a policy behind all that it has not."""
        return policy in self.stopped or (self.raced is not None and policy not in self.raced.remaining)


def ranking(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a place and policy, the best mean of each place first, bounds last.

    Columns are `place`, `rank` (from 1, equal means alike; none for a bound or without a response), `policy`,
    `mean`, `low`, `high`, `n` (over the worlds that all compared policies have in common, where there are
    any), `missing` (worlds of the place in which the policy has no response), `best` (may be the best at
    95%; none of whom a race has stopped and left uncompared), `bound`, `lead`, `lead_low`, `lead_high` (over
    the best of the others, in the same common worlds; positive is better) and `worlds` (how many these are).
    Where the plot has `barred_by`, `barred` says of which policies that response is not always 0: they have
    no rank. Whom a race has put out ranks behind all others, by the worlds it has.

    Raises
    ------
    InputError
        A race on the response took the other way for better.
    """
    import pandas as pd

    assert plot.response is not None
    rows = []
    for place, group in by_place(runs, experiment):
        found = _standing(group, experiment, plot)
        own: list[dict[str, object]] = []
        for policy in policies_in(group, experiment):
            bound = policy in experiment.file.bounds
            in_common = bound or policy in found.compared
            at = found.common.index if in_common and len(found.common) else found.seen.index
            values = found.seen.loc[at, policy].dropna().tolist()
            lead = found.verdict.leads.get(policy) if found.verdict else None
            own.append(
                {
                    "place": place,
                    "policy": policy,
                    **interval_columns(interval_in(experiment, plot.response, values)),
                    "missing": int(found.seen[policy].isna().sum()),
                    "best": None if found.is_behind(policy) and not found.raced else policy in found.best,
                    "bound": bound,
                    "barred": policy in found.barred,
                    "behind": found.is_behind(policy),
                    "lead": lead.estimate if lead else None,
                    "lead_low": lead.low if lead else None,
                    "lead_high": lead.high if lead else None,
                    "worlds": len(found.common),
                }
            )
        rows += _ranked(own, larger=plot.better == "higher")
    columns = ["place", "rank", "policy", "mean", "low", "high", "n", "missing", "best", "bound"]
    columns += ["lead", "lead_low", "lead_high", "worlds"]
    return pd.DataFrame(rows, columns=[*columns, *(["barred"] if plot.barred_by else [])])


def statements(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> list[str]:
    """Return a sentence a place, which policies may be the best, and one for all places together.

    Raises
    ------
    InputError
        As `ranking`.
    """
    assert plot.response is not None
    told, everywhere = [], set(experiment.rivals)
    places = 0
    for place, group in by_place(runs, experiment):
        found = _standing(group, experiment, plot)
        where = f"{place}, {plot.response} ({plot.better} is better)"
        if found.barred:
            where += f", {len(found.barred)} barred by {plot.barred_by}"
        if found.raced is not None:
            told.append(f"{where}: {_outcome(found.raced, experiment)}")
            continue
        if found.verdict is None:
            told.append(f"{where}: no selection, {_why_none(found)}{_stopped(found, experiment)}")
            continue
        places += 1
        everywhere &= found.best
        told.append(
            f"{where}: {_said(found.verdict, found.common)}; {_in_worlds(found)}, 95% confidence"
            f"{_alike(found.common)}{_stopped(found, experiment)}"
        )
    if places > 1:
        names = ", ".join(name for name in experiment.policies if name in everywhere) or "none"
        told.append(f"may be the best on {plot.response} in each of {places} places, 95% a place: {names}")
    return told


# --------------------------------------------------------------------------- who is compared


def _standing(group: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> Standing:
    """Return what one place says on the response of a plot."""
    require_one_better(experiment, plot, str(experiment.path))
    seen = worlds(group, str(plot.response), experiment.policies)
    barred = _barred(group, experiment, plot)
    rule = experiment.file.replications
    raced, stopped = None, {}
    if not isinstance(rule, int) and rule.rule == "best":
        by = worlds(group, rule.response, experiment.policies)
        found = race(experiment, rule, {str(name): by[name].to_numpy() for name in by})
        if found is not None:
            made = group["policy"].value_counts()
            out = [name for name in experiment.rivals if name not in found.remaining]
            stopped = {name: int(made[name]) for name in out if made[name] < made.max()}
        if rule.response == plot.response:
            raced = found
    left_out = {*barred, *stopped}
    compared = [name for name in experiment.rivals if seen[name].notna().any() and name not in left_out]
    common = seen[compared].dropna() if compared else seen[compared].head(0)
    if len(compared) >= FEWEST and _are_alike(common):
        raced = None  # it has drawn one of them
    verdict = None
    if raced is None and len(compared) >= FEWEST and len(common) >= FEWEST:
        columns = {name: common[name].to_numpy() for name in compared}
        verdict = compare_with_best(
            columns, larger_is_better=plot.better == "higher", of_shares=is_yes_or_no(str(plot.response))
        )
    return Standing(seen, barred, stopped, compared, common, verdict, raced)


def _are_alike(common: pd.DataFrame) -> bool:
    """Say whether all policies have the same value in every world."""
    return bool(common.nunique(axis=1).eq(1).all())


def _barred(group: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> frozenset[str]:
    if plot.barred_by is None:
        return frozenset()
    counts = worlds(group, plot.barred_by, experiment.policies).sum()
    return frozenset(str(name) for name in counts[counts > 0].index if name in experiment.rivals)


def _ranked(rows: list[dict[str, object]], *, larger: bool) -> list[dict[str, object]]:
    """Return the rows of one place with their ranks, bounds and rows without a mean last."""

    def key(row: dict[str, object]) -> tuple[bool, bool, float]:
        mean = row["mean"]
        assert isinstance(mean, float | None)
        if row["bound"] or row["barred"] or mean is None:
            return True, True, 0.0
        return False, bool(row["behind"]), -mean if larger else mean

    ordered = sorted(rows, key=key)
    for row in ordered:
        row["rank"] = None if key(row)[0] else 1 + sum(key(other) < key(row) for other in ordered)
    return ordered


# --------------------------------------------------------------------------- in words


def _said(verdict: BestVerdict, common: pd.DataFrame) -> str:
    """Return a selection in words: the best alone, those that are not told apart from it, or a tie of all."""
    rivals, subset = list(verdict.leads), verdict.subset
    if _are_alike(common):
        return f"all {len(rivals)} policies are alike in every world"
    if len(subset) == 1:
        return f"{subset[0]} is the best of {len(rivals)}"
    if len(subset) == len(rivals):
        means = common[rivals].mean()
        level = int((means == means[verdict.leader]).sum())
        leads = (
            f"{verdict.leader} has" if level == 1 else f"{level} of them, {verdict.leader} among them, have"
        )
        return f"none of {len(rivals)} is out: {leads} the best mean"
    if len(subset) <= MOST_NAMED:
        named = ", ".join(subset)
    else:
        means = common[list(subset)].mean()
        first = sorted(subset, key=lambda name: -verdict.leads[name].estimate)[:MOST_NAMED]
        named = f"{', '.join(first)} and {len(subset) - MOST_NAMED} more, "
        low, high = f"{means.min():.4g}", f"{means.max():.4g}"
        named += f"with the mean {low}" if low == high else f"with means from {low} to {high}"
    return f"{len(subset)} of {len(rivals)} may be the best ({named}); the others are not"


def _in_worlds(found: Standing) -> str:
    """Return in how many worlds a selection was made, and whose lack left others out."""
    seen = found.seen[found.compared].dropna(how="all")
    if len(found.common) == len(seen):
        return f"{len(seen)} worlds"
    lacks = seen.isna().sum()
    return f"{len(found.common)} of {len(seen)} worlds, {lacks.idxmax()} lacks {lacks.max()}"


def _alike(common: pd.DataFrame) -> str:
    """Return how many policies had one value in all worlds, which is not to say that they always have."""
    same = int(common.nunique().eq(1).sum())
    return f" ({same} of {common.shape[1]} had one value in all of these worlds)" if same else ""


def _why_none(found: Standing) -> str:
    """Return why nothing could be selected, and whose lack it is."""
    if len(found.compared) < FEWEST:
        return f"{found.compared[0]} alone can be ranked" if found.compared else "no policy can be ranked"
    has = found.seen[found.compared].notna().sum().sort_values(kind="stable").head(MOST_NAMED)
    told = ", ".join(f"{name} has {count}" for name, count in has.items())
    return f"too few worlds in common: of {len(found.seen)} worlds {told}"


def _stopped(found: Standing, experiment: Experiment) -> str:
    """Return who was left out because the race had stopped it, in words."""
    if not found.stopped:
        return ""
    rule = experiment.file.replications
    assert not isinstance(rule, int)
    named = ", ".join(f"{name} after {count}" for name, count in list(found.stopped.items())[:MOST_NAMED])
    more = len(found.stopped) - MOST_NAMED
    return f"; the race on {rule.response} stopped {named}{f' and {more} more' if more > 0 else ''}"


def _outcome(found: Race, experiment: Experiment) -> str:
    """Return a race in words."""
    rule = experiment.file.replications
    assert not isinstance(rule, int)
    after = f"after {found.replications} replications of the race of Kim and Nelson"
    if len(found.remaining) > 1:
        return f"{len(found.remaining)} are still in ({', '.join(found.remaining)}) {after}: no verdict"
    sure = f"with {100 * rule.confidence:g}% confidence if the best leads by {rule.indifference:g} or more"
    return f"{found.remaining[0]} is the best, {sure}, {after}"
