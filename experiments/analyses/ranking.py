"""Which policy is best where, and how sure that is: a subset with the best, and leads over the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.analyses.worlds import by_place, policies_in, worlds
from experiments.experiment import Experiment, PlotTable
from experiments.results import interval_columns, interval_of
from experiments.rounds import race
from experiments.statistics import BestVerdict, Race, compare_with_best

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED = 5
"""Policies that a sentence names."""

FEWEST = 2
"""Worlds, and policies, below which nothing can be selected."""


def ranking(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a place and policy, the best mean of each place first, bounds last.

    Columns are `place`, `rank` (from 1, equal means alike; none for a bound or without a response), `policy`,
    `mean`, `low`, `high`, `n`, `best` (may be the best at 95%), `bound`, `lead`, `lead_low`, `lead_high`
    (over the best of the others, in worlds that all ranked policies have in common; positive is better) and
    `worlds` (how many these are). Where the plot has `barred_by`, `barred` says of which policies that
    response is not always 0: they have no rank.
    """
    import pandas as pd

    assert plot.response is not None
    rows = []
    for place, group in by_place(runs, experiment):
        wide, barred = _able(group, experiment, plot)
        verdict, common = _verdict(wide, experiment, plot)
        raced = _raced(wide, experiment, plot)
        best = raced.remaining if raced else verdict.subset if verdict else ()
        own: list[dict[str, object]] = []
        for policy in policies_in(group, experiment):
            values = group.loc[group["policy"] == policy, plot.response].dropna().astype(float).tolist()
            interval = interval_of(plot.response, values)
            lead = verdict.leads.get(policy) if verdict else None
            own.append(
                {
                    "place": place,
                    "policy": policy,
                    **interval_columns(interval),
                    "best": policy in best,
                    "bound": policy in experiment.file.bounds,
                    "barred": policy in barred,
                    "lead": lead.estimate if lead else None,
                    "lead_low": lead.low if lead else None,
                    "lead_high": lead.high if lead else None,
                    "worlds": common,
                }
            )
        rows += _ranked(own, larger=plot.better == "higher")
    columns = ["place", "rank", "policy", "mean", "low", "high", "n", "best", "bound"]
    columns += ["lead", "lead_low", "lead_high", "worlds"]
    return pd.DataFrame(rows, columns=[*columns, *(["barred"] if plot.barred_by else [])])


def statements(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> list[str]:
    """Return a sentence a place, which policies may be the best, and one for all places together."""
    assert plot.response is not None
    told, everywhere = [], set(experiment.rivals)
    places = 0
    for place, group in by_place(runs, experiment):
        wide, barred = _able(group, experiment, plot)
        verdict, common = _verdict(wide, experiment, plot)
        where = f"{place}, {plot.response} ({plot.better} is better)"
        if barred:
            where += f", {len(barred)} barred by {plot.barred_by}"
        if (raced := _raced(wide, experiment, plot)) is not None:
            told.append(f"{where}: {_outcome(raced, experiment)}")
            continue
        if verdict is None:
            told.append(f"{where}: too few worlds in common to select")
            continue
        places += 1
        everywhere &= set(verdict.subset)
        told.append(
            f"{where}: {_said(verdict, wide)}; {common} worlds, 95% confidence{_without_chance(wide)}"
        )
    if places > 1:
        names = ", ".join(name for name in experiment.policies if name in everywhere) or "none"
        told.append(f"may be the best on {plot.response} in each of {places} places, 95% a place: {names}")
    return told


def _able(
    group: pd.DataFrame, experiment: Experiment, plot: PlotTable
) -> tuple[pd.DataFrame, frozenset[str]]:
    """Return the worlds of a place without the values of policies that are barred, and who these are."""
    wide = worlds(group, str(plot.response), experiment.policies)
    if plot.barred_by is None:
        return wide, frozenset()
    counts = worlds(group, plot.barred_by, experiment.policies).sum()
    barred = frozenset(str(name) for name in counts[counts > 0].index if name in experiment.rivals)
    wide[sorted(barred)] = float("nan")
    return wide, barred


def _without_chance(wide: pd.DataFrame) -> str:
    """Return how many policies have one value in all worlds, in words: replications say nothing of them."""
    alive = wide.dropna(axis=1, how="all")
    still = int(alive.nunique().eq(1).sum()) if len(alive) > 1 else 0
    return f" ({still} of {alive.shape[1]} are the same in each: no chance is in them)" if still else ""


def _said(verdict: BestVerdict, wide: pd.DataFrame) -> str:
    """Return a selection in words: the best alone, those that are not told apart from it, or a tie of all."""
    rivals, subset = list(verdict.leads), verdict.subset
    alike = wide[rivals].dropna().nunique(axis=1).eq(1).all()
    if alike:
        return f"all {len(rivals)} policies are alike in every world"
    if len(subset) == 1:
        return f"{subset[0]} is the best of {len(rivals)}"
    if len(subset) == len(rivals):
        return f"none of {len(rivals)} is out: {verdict.leader} has the best mean"
    if len(subset) <= MOST_NAMED:
        named = ", ".join(subset)
    else:
        means = wide[list(subset)].dropna().mean()
        named = f"their means lie between {means.min():.4g} and {means.max():.4g}"
    return f"{len(subset)} of {len(rivals)} may be the best ({named}); the others are not"


def _raced(wide: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> Race | None:
    """Return how the race ended that decided on the replications, where this is its response."""
    rule = experiment.file.replications
    if isinstance(rule, int) or rule.rule != "best" or rule.response != plot.response:
        return None
    return race(experiment, rule, {str(name): wide[name].to_numpy() for name in wide})


def _outcome(found: Race, experiment: Experiment) -> str:
    """Return a race in words."""
    rule = experiment.file.replications
    assert not isinstance(rule, int)
    after = f"after {found.replications} replications of the race of Kim and Nelson"
    if len(found.remaining) == 1:
        sure = f"with {100 * rule.confidence:g}% confidence"
        return f"{found.remaining[0]} is the best or within {rule.indifference:g} of it, {sure}, {after}"
    return f"{len(found.remaining)} are still in ({', '.join(found.remaining)}) {after}: no verdict"


def _verdict(wide: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> tuple[BestVerdict | None, int]:
    """Return the selection among policies that are no bound and have responses, and its number of worlds.

    None after a race, whose replications have stopped by what they showed: its own verdict stands.
    """
    rule = experiment.file.replications
    rivals = [name for name in experiment.rivals if wide[name].notna().any()]
    common = wide[rivals].dropna()
    if len(rivals) < FEWEST or len(common) < FEWEST or not (isinstance(rule, int) or rule.rule != "best"):
        return None, len(common)
    columns = {str(name): common[name].to_numpy() for name in rivals}
    return compare_with_best(columns, larger_is_better=plot.better == "higher"), len(common)


def _ranked(rows: list[dict[str, object]], *, larger: bool) -> list[dict[str, object]]:
    """Return the rows of one place with their ranks, bounds and rows without a mean last."""

    def key(row: dict[str, object]) -> tuple[bool, float]:
        mean = row["mean"]
        assert isinstance(mean, float | None)
        if row["bound"] or row["barred"] or mean is None:
            return True, 0.0
        return False, -mean if larger else mean

    ordered = sorted(rows, key=key)
    for row in ordered:
        row["rank"] = None if key(row)[0] else 1 + sum(key(other) < key(row) for other in ordered)
    return ordered
