"""The answer in short: what the analyses of a sweep say, a sentence each.

Every figure in a sentence stands in a table beside it; nothing is estimated here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from experiments.analyses import ranking
from experiments.analyses.boundary import boundary
from experiments.analyses.worlds import by_place, worlds
from experiments.experiment import PlotTable
from experiments.pictures import shown
from experiments.reports import number
from experiments.results import Results, has_failed
from experiments.rounds import half_width
from experiments.statistics import excludes_zero
from experiments.statistics.multiple import SURE
from simulator import InputError

if TYPE_CHECKING:
    pass


def answers(results: Results) -> list[str]:
    """Return what each picture of an experiment shows, in sentences, and how many runs stand behind it."""
    said: list[str] = list(_precision(results))
    ranked = False
    for plot in results.experiment.file.pictures:
        tell = TELLING.get(plot.kind)
        if tell is None:
            continue
        if plot.kind == "ranking" and ranked:  # of further responses only what holds everywhere
            said.append(ranking.statements(results.ran, results.experiment, plot)[-1])
            continue
        ranked = ranked or plot.kind == "ranking"
        try:
            said.extend(tell(results, plot))
        except InputError:  # what cannot be shown says so in its own place
            continue
    said.append(_counted(results))
    return [*said, *_skipped(results)]


def _counted(results: Results) -> str:
    """Return how many runs there are, and how many of them failed."""
    failed, skipped = int(has_failed(results.runs).sum()), len(results.skipped)
    words = f"{len(results.runs):,} runs, {f'{failed:,}' if failed else 'none'} failed"
    return f"{words}, {skipped:,} skipped" if skipped else words


def _skipped(results: Results) -> Iterator[str]:
    """Yield each reason for which runs were skipped, and whose they were."""
    for reason, own in results.skipped.groupby("failure", sort=False):
        where = own.groupby("policy", sort=False)["scenario"].unique()
        told = (f"{policy} in {', '.join(map(str, places))}" for policy, places in where.items())
        yield f"skipped: {reason}: {'; '.join(told)}"


def _precision(results: Results) -> Iterator[str]:
    """Yield where replications ended at the cap before the figure was known as well as was asked."""
    experiment, rule = results.experiment, results.experiment.file.replications
    if isinstance(rule, int) or rule.half_width is None:
        return
    widths = []
    for _, group in by_place(results.ran, experiment):
        wide = worlds(group, rule.response, experiment.policies)
        widths.append(half_width(experiment, rule, wide.to_numpy().T))
    missed = [width for width in widths if width > rule.half_width]
    if missed:
        yield (
            f"{len(missed)} of {len(widths)} points came to the cap of {rule.cap} replications with a "
            f"half-width on {rule.response} above {rule.half_width:g}, the widest {number(max(missed))}"
        )


def _ranking(results: Results, plot: PlotTable) -> Iterator[str]:
    yield from ranking.statements(results.ran, results.experiment, plot)


def _phase(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    counts = found["regime"].value_counts()
    yield "; ".join(f"{name} at {count} of {len(found)} points" for name, count in counts.items())
    if plot.line is None:
        return
    steps = boundary(found, results.experiment.factors, plot.line)["steps"].max()
    if not math.isfinite(steps):
        yield f"the analytic line {plot.line_label} has no single simulated boundary to lie on"
        return
    where = "between the two levels" if steps == 0 else f"within {steps:.2g} grid steps of the two levels"
    yield f"the analytic line {plot.line_label} lies {where} where the simulated spiral begins, everywhere"


def _comparison(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot).dropna(subset=["mean"])
    if found.empty:
        return
    sure = found[found["adjusted_p"] <= SURE]
    lower = int((sure["mean"] < 0).sum())
    words = [f"{lower} lower", f"{len(sure) - lower} higher", f"{len(found) - len(sure)} not told apart"]
    same = int((sure["low"] == sure["high"]).sum())
    if same:
        words.append(f"{same} of those told apart are the same in every world, so that no chance is in them")
    yield f"{plot.response} against {plot.baseline}, paired, Holm over {len(found)}: {', '.join(words)}"
    if not sure.empty:
        widest = max(sure.to_dict("records"), key=lambda row: abs(row["mean"]))
        yield f"the widest of them: {widest['policy']} at {widest['place']}, {_interval(widest, 'mean')}"


def _survival(results: Results, plot: PlotTable) -> Iterator[str]:
    curves = shown(results, plot).drop_duplicates("policy").to_dict("records")
    means = ", ".join(f"{row['policy']} {_interval(row, 'lasts')}" for row in curves)
    yield f"of the first {curves[0]['up_to']:g} turns a run lasts: {means}"


def _sensitivity(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    key = "total" if "total" in found.columns else "mu_star"
    words = {"total": "total index", "mu_star": "mean elementary effect"}[key]
    most = max(found.to_dict("records"), key=lambda row: float(row[key]))
    yield f"{plot.response} hangs most on {most['factor']}: {words} {_interval(most, key)}"


def _effects(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    own = found[(found["response"] == plot.response) & (found["n"] > 0)]
    sure = [row for row in own.to_dict("records") if excludes_zero(row["low"], row["high"])]
    if not sure:
        yield f"no effect on {plot.response} is told from 0"
        return
    most = max(sure, key=lambda row: abs(row["mean"]))
    yield (
        f"{len(sure)} of {len(own)} effects on {plot.response} are told from 0, one by one; the largest is "
        f"{most['effect']}: {_interval(most, 'mean')}"
    )


def _differences(results: Results, plot: PlotTable) -> Iterator[str]:
    found = shown(results, plot)
    known = [row for row in found.to_dict("records") if row["n"] > 0]
    sure = sum(excludes_zero(row["low"], row["high"]) for row in known)
    yield f"{sure} of {len(known)} differences to {plot.baseline} are told from 0, one by one"


def _interval(row: Mapping[Hashable, Any], key: str) -> str:
    low, high = ("low", "high") if key == "mean" else (f"{key}_low", f"{key}_high")
    return f"{number(row[key])} [{number(row[low])}, {number(row[high])}]"


TELLING: dict[str, Callable[[Results, PlotTable], Iterator[str]]] = {
    "ranking": _ranking,
    "phase": _phase,
    "comparison": _comparison,
    "survival": _survival,
    "sensitivity": _sensitivity,
    "effects": _effects,
    "differences": _differences,
}
"""Kinds of pictures whose analysis can be said in a sentence."""
