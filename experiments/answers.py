"""The answer in short: what the analyses of a sweep say, a sentence each.

Every figure in a sentence stands in a table beside it; nothing is estimated here.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.analyses import ranking
from experiments.analyses.boundary import boundary
from experiments.analyses.worlds import by_place, worlds
from experiments.experiment import PlotTable
from experiments.pictures import shown
from experiments.reports import counted, number
from experiments.results import Results, has_failed, limits
from experiments.rounds import half_width
from experiments.statistics import CONFIDENCE, excludes_zero
from experiments.statistics.multiple import SURE
from scenarios.measures import is_yes_or_no
from simulator import InputError

if TYPE_CHECKING:
    import pandas as pd

OVERFLOWED = "overflowed"
"""The response that says whether a run overflowed."""


def answers(results: Results) -> list[str]:
    """Return what each picture of an experiment shows, in sentences, and how many runs stand behind it."""
    said: list[str] = [*_unfinished(results), *_precision(results), *_small_bootstraps(results)]
    ranked = False
    for plot in results.experiment.file.pictures:
        tell = TELLING.get(plot.kind)
        if tell is None:
            continue
        if plot.kind == "ranking":
            tell = _ranking_everywhere if ranked else tell
            ranked = True
        with contextlib.suppress(InputError):  # what cannot be shown says so in its own place
            said.extend(tell(results, plot))
    said.extend(_never_seen(results))
    said.append(_counted(results))
    return [*said, *_skipped(results)]


def _counted(results: Results) -> str:
    """Return how many runs there are, and how many of them failed."""
    failed, skipped = int(has_failed(results.runs).sum()), len(results.skipped)
    words = f"{counted(len(results.runs), 'run')}, {f'{failed:,}' if failed else 'none'} failed"
    return f"{words}, {skipped:,} skipped" if skipped else words


def _skipped(results: Results) -> Iterator[str]:
    """Yield each reason for which runs were skipped, and whose they were."""
    for reason, own in results.skipped.groupby("failure", sort=False):
        where = own.groupby("policy", sort=False)["scenario"].unique()
        told = (f"{policy} in {', '.join(map(str, places))}" for policy, places in where.items())
        yield f"skipped: {reason}: {'; '.join(told)}"


def _unfinished(results: Results) -> Iterator[str]:
    """Yield how many runs are still to be made, if any."""
    if not results.unfinished:
        return
    least = "" if isinstance(results.experiment.file.replications, int) else "at least "
    verb = "is" if results.unfinished == 1 else "are"
    yield f"unfinished: {least}{counted(results.unfinished, 'more run')} {verb} wanted"


def _precision(results: Results) -> Iterator[str]:
    """Yield where replications ended at the cap before the figure was known as well as was asked.

    Points that still want runs have not ended, and those where every run failed ended before the cap.
    """
    experiment, rule = results.experiment, results.experiment.file.replications
    if isinstance(rule, int) or rule.rule != "half-width":
        return
    asked, ended, missed = float(rule.half_width or 0), 0, list[float]()
    for _, group in by_place(results.ran, experiment):
        if results.wanted[group["run"].iloc[0] // results.wanted.shape[1]].any():
            continue
        ended += 1
        wide = worlds(group, rule.response, experiment.policies)
        width = half_width(experiment, rule, wide.to_numpy().T)
        if len(wide) == rule.cap and width > asked:
            missed.append(width)
    if missed:
        yield (
            f"{len(missed)} of {counted(ended, 'point')} came to the cap of {rule.cap} replications with a "
            f"half-width on {rule.response} above {asked:g}, the widest {number(max(missed))}"
        )


FEW_TO_RESAMPLE = 20
"""Runs below which a bootstrap interval of a mean holds the truth clearly less often than it says."""


def _small_bootstraps(results: Results) -> Iterator[str]:
    """Yield how many bootstrap intervals stand on too few runs.

    Of normal responses the 95% intervals hold the mean of 3 runs in 72%, of 5 in 83%, of 10 in 91% and of 20
    in 93% (simulated).
    """
    if results.experiment.file.intervals != "bootstrap":
        return
    resampled = results.means[~results.means["response"].map(is_yes_or_no)]
    runs = resampled.loc[resampled["n"] > 0, "n"]
    few = runs[runs < FEW_TO_RESAMPLE]
    if not few.empty:
        yield (
            f"{len(few)} of {len(runs)} bootstrap intervals stand on fewer than {FEW_TO_RESAMPLE} runs "
            f"({few.min()} at the least): they hold the mean less often than 95%"
        )


def _never_seen(results: Results) -> Iterator[str]:
    """Yield how often what no run of a mean has shown may happen all the same: 1 - 0.05^(1/n) of runs."""
    means = results.means[(results.means["n"] > 1) & (results.means["mean"] == 0)]
    of_counts = [limits(str(name))[0] == 0 and not is_yes_or_no(str(name)) for name in means["response"]]
    runs = means.loc[of_counts, "n"]  # of a yes or no the interval says it
    if runs.empty:
        return
    most = 1 - (1 - CONFIDENCE) ** (1 / int(runs.min()))
    counts = f"{runs.min()}" if runs.min() == runs.max() else f"{runs.min()} to {runs.max()}"
    one = len(runs) == 1
    yield (
        f"{counted(len(runs), 'mean')} {'is' if one else 'are'} 0 in each of {'its' if one else 'their'} "
        f"{counts} runs, which is no proof that {'it always is' if one else 'they always are'}: "
        f"{'' if one else 'of one of them '}up to {most:.0%} of runs may be above 0, with 95% confidence"
    )


def _ranking(results: Results, plot: PlotTable) -> Iterator[str]:
    yield from ranking.statements(results.ran, results.experiment, plot)


def _ranking_everywhere(results: Results, plot: PlotTable) -> Iterator[str]:
    """Yield what a further ranking says of all places together, or of the only one."""
    told = ranking.statements(results.ran, results.experiment, plot)
    yield from (line for line in told if len(told) == 1 or line.startswith(EVERYWHERE))


EVERYWHERE = "may be the best on "
"""How the sentence of a ranking begins that is for all places together."""


def _phase(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    counts = found["regime"].value_counts()
    yield "; ".join(f"{name} at {count} of {len(found)} points" for name, count in counts.items())
    yield from _overflowing(results, found)
    if plot.line is None:
        return
    columns = boundary(found, results.experiment.factors, plot.line)
    steps, line = columns["steps"].max(), f"the analytic line {plot.line_label}"
    if not math.isfinite(steps):
        lost = int((~columns["steps"].map(math.isfinite)).sum())
        yield f"{line} has no single simulated boundary to lie on in {lost} of {len(columns)} columns"
        return
    where = "between the two levels" if steps == 0 else f"within {steps:.2g} grid steps of the two levels"
    yield f"{line} lies {where} where the simulated spiral begins, everywhere"
    if outside := int(columns[["last_calm", "first_spiral"]].isna().any(axis=1).sum()):
        yield f"in {outside} of {len(columns)} columns the spiral begins outside of the levels"


def _overflowing(results: Results, found: pd.DataFrame) -> Iterator[str]:
    """Yield at how many stable points a run overflows all the same, where the sweep tells."""
    if OVERFLOWED not in results.experiment.file.responses:
        return
    means = results.means[results.means["response"] == OVERFLOWED]
    places = [*results.experiment.factors, "policy"]
    stable = found[found["regime"] == "stable"].merge(means, on=places)
    lost = int((stable["mean"] > 0).sum())
    if lost:
        yield (
            f"at {lost} of the {len(stable)} stable points a run overflows all the same: stable says that a "
            "rewrite frees more than a turn brings, not that it comes in time"
        )


def _response(results: Results, plot: PlotTable) -> Iterator[str]:
    """Yield where each line of a response plot begins and ends, and between which levels it crosses 0."""
    (factor,) = (name for name in results.experiment.factors if name != plot.by)
    found = results.means[(results.means["response"] == plot.response) & (results.means["n"] > 0)]
    lines = ["policy", *([plot.by] if plot.by else [])]
    for names, own in found.groupby(lines, sort=False):
        rows = own.to_dict("records")
        if all(isinstance(row[factor], int | float) for row in rows):
            rows.sort(key=lambda row: float(row[factor]))
        told = ", ".join(str(name) for name in names[:1]) + (f" at {plot.by} {names[1]}" if plot.by else "")
        ends = [f"{_interval(row, 'mean')} at {factor} {row[factor]}" for row in (rows[0], rows[-1])]
        crossed = list(_crossings([(str(row[factor]), float(row["mean"])) for row in rows]))
        where = f"; it crosses 0 {', and '.join(crossed)}" if crossed else ""
        along = f"from {ends[0]} to {ends[1]}" if len(rows) > 1 else ends[0]
        yield f"{plot.response}, {told}: {along}{where}"


def _crossings(means: Sequence[tuple[str, float]]) -> Iterator[str]:
    """Yield where means by level go from one side of 0 to the other.

    >>> list(_crossings([("1", -5.0), ("2", 5.0), ("3", 0.0), ("4", -5.0), ("5", 0.0)]))
    ['between 1 and 2', 'at 3']
    """
    signed = [place for place, (_, mean) in enumerate(means) if mean]
    for before, after in itertools.pairwise(signed):
        if (means[before][1] > 0) == (means[after][1] > 0):
            continue
        levels = [level for level, _ in means[before : after + 1]]
        yield f"at {' and '.join(levels[1:-1])}" if levels[2:] else f"between {' and '.join(levels)}"


def _comparison(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot).dropna(subset=["mean"])
    if found.empty:
        return
    sure = found[found["adjusted_p"] <= SURE]
    lower = int((sure["mean"] < 0).sum())
    words = [f"{lower} lower", f"{len(sure) - lower} higher", f"{len(found) - len(sure)} not told apart"]
    same = int((sure["low"] == sure["high"]).sum())
    if same:
        words.append(f"{same} of those told apart by the same amount in every world seen")
    yield f"{plot.response} against {plot.baseline}, paired, Holm over {len(found)}: {', '.join(words)}"
    if not sure.empty:
        widest = max(sure.to_dict("records"), key=lambda row: abs(row["mean"]))
        yield (
            f"the widest of those told apart: {widest['policy']} at {widest['place']}, "
            f"{_interval(widest, 'mean', 'joint')}, an interval that holds for all {len(found)} together"
        )


def _survival(results: Results, plot: PlotTable) -> Iterator[str]:
    curves = shown(results, plot).drop_duplicates("policy").to_dict("records")
    means = ", ".join(f"{row['policy']} {_interval(row, 'lasts', 'lasts')}" for row in curves)
    yield f"of the first {curves[0]['up_to']:g} turns a run lasts: {means}"


def _sensitivity(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    key = "total" if "total" in found.columns else "mu_star"
    words = {"total": "total index", "mu_star": "mean size of an elementary effect"}[key]
    most = max(found.to_dict("records"), key=lambda row: float(row[key]))
    yield (
        f"{plot.response} hangs most on {most['factor']}, as seen: {words} {_interval(most, key, key)}, "
        f"{NOT_ADJUSTED.format(len(found))}"
    )
    wide = [row["factor"] for row in found.to_dict("records") if row[f"{key}_high"] - row[f"{key}_low"] > 1]
    if key == "total" and wide:
        yield (
            f"the points are too few to tell: the total index of {', '.join(wide)} on {plot.response} has an "
            "interval wider than 1"
        )


NOT_ADJUSTED = "the largest of {}, chosen after the fact: its interval is not adjusted for that"


def _effects(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    own = found[(found["response"] == plot.response) & (found["n"] > 0)]
    sure = [row for row in own.to_dict("records") if excludes_zero(row["low"], row["high"])]
    if not sure:
        yield f"no effect on {plot.response} is told from 0"
        return
    most = max(sure, key=lambda row: abs(row["mean"]))
    yield (
        f"{len(sure)} of {len(own)} effects on {plot.response} are told from 0, one by one; the largest seen "
        f"is {most['effect']}: {_interval(most, 'mean')}, {NOT_ADJUSTED.format(len(own))}"
    )


def _differences(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    known = [row for row in found.to_dict("records") if row["n"] > 0]
    sure = sum(excludes_zero(row["low"], row["high"]) for row in known)
    yield f"{sure} of {len(known)} differences to {plot.baseline} are told from 0, one by one"


def _interval(row: Mapping[Hashable, Any], key: str, of: str = "") -> str:
    """Return an estimate of a row with the interval whose columns begin with `of`."""
    low, high = (f"{of}_{end}" if of else end for end in ("low", "high"))
    return f"{number(row[key])} [{number(row[low])}, {number(row[high])}]"


TELLING: dict[str, Callable[[Results, PlotTable], Iterator[str]]] = {
    "response": _response,
    "ranking": _ranking,
    "phase": _phase,
    "comparison": _comparison,
    "survival": _survival,
    "sensitivity": _sensitivity,
    "effects": _effects,
    "differences": _differences,
}
"""Kinds of pictures whose analysis can be said in a sentence."""
