"""Pictures of a sweep by kind: what is asked for, the table that it shows, and the figure.

`plot_of` says what is asked for, `analysis_of` gives the numbers, `draw` the figure of the same numbers. What
a kind needs of an experiment stands in `experiments.requirements`, how it is drawn in `experiments.drawings`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

from experiments.analyses import (
    comparison,
    contrasts,
    interactions,
    ranking,
    sensitivity,
    survival,
    tradeoffs,
)
from experiments.experiment import Experiment, Kind, PlotTable
from experiments.factors import Value
from experiments.requirements import NEEDS, require_picture
from experiments.results import Results, regimes
from simulator import InputError
from simulator.errors import nearest_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

KINDS: tuple[str, ...] = get_args(Kind)
"""Pictures of a sweep."""


def plot_of(
    results: Results, kind: str | None, response: str | None = None, better: str | None = None
) -> PlotTable:
    """Return what an experiment asks for under a kind (its main picture if None), or a plain one.

    Of several of a kind it is that of the response, if one is given. A response that the experiment does
    not ask for is better when lower, unless `better` says otherwise.

    Raises
    ------
    InputError
        There is no such kind, it has no place for the experiment, or it shows no response that could be
        another.
    """
    file = results.experiment.file
    if kind is not None and kind not in KINDS:
        raise InputError(
            f"unknown picture {kind!r}",
            where="plot",
            expected=", ".join(KINDS),
            nearest=nearest_name(kind, KINDS),
        )
    if response is not None and "response" not in NEEDS[kind or file.plot.kind].shown:
        raise InputError(
            f"a picture of kind {kind or file.plot.kind} shows no response of choice",
            where="--response",
            expected=", ".join(name for name, needs in NEEDS.items() if "response" in needs.shown),
        )
    asked = [plot for plot in file.pictures if kind in (None, plot.kind)]
    fitting = [plot for plot in asked if response in (None, plot.response)]
    plot = next(iter(fitting or asked), None) or _plain(results, str(kind))
    changed: dict[str, object] = {}
    if response not in (None, plot.response):
        changed = {"response": response, "better": "lower"}
    if better is not None:
        changed["better"] = better
    plot = plot.model_copy(update=changed)
    require_picture(results.experiment, plot, f"plot {plot.kind}")
    return plot


def _plain(results: Results, kind: str) -> PlotTable:
    """Return a picture that the experiment does not ask for, of what its main picture shows.

    Raises InputError where it shows two responses and the main picture does not: nobody knows which are to be
    small.
    """
    file = results.experiment.file
    main = file.plot
    if "x" in NEEDS[kind].shown and None in (main.x, main.y):
        raise InputError(
            "the experiment does not say which two responses are to be small",
            where=f"plot {kind}",
            expected=f'[[plots]] with kind = "{kind}", x and y in its file, and the same sweep once more',
        )
    sides: dict[str, Sequence[Value]] = {"level": [], "policy": results.experiment.policies}
    if results.experiment.file.factor:
        sides["level"] = file.factor[0].labels
    known = sides.get(NEEDS[kind].baseline, [])
    baseline = main.baseline if main.baseline in known or not known else known[0]
    return main.model_copy(
        update={
            "kind": kind,
            "response": main.response or file.responses[0],
            "baseline": baseline,
        }
    )


def analysis_of(results: Results, plot: PlotTable) -> pd.DataFrame | None:
    """Return the table that a picture shows, made once, or None where that is the table of means."""
    make = ANALYSES.get(plot.kind)
    if make is None:
        return None
    key = plot.model_dump_json()
    if key not in results.analyses:
        results.analyses[key] = make(results, plot)
    return results.analyses[key]


def shown(results: Results, plot: PlotTable) -> pd.DataFrame:
    """Return the table of a picture that shows one beside the means."""
    table = analysis_of(results, plot)
    assert table is not None
    return table


def draw(results: Results, plot: PlotTable) -> Figure:
    """Return a picture. Raises InputError where there is nothing to draw."""
    from experiments.drawings import drawing

    if results.ran.empty:
        raise InputError("holds no results yet", where=str(results.folder), expected="a sweep that has run")
    return drawing(results, plot)


OfRuns = Callable[["pd.DataFrame", Experiment, PlotTable], "pd.DataFrame"]
OfResults = Callable[[Results, PlotTable], "pd.DataFrame"]


def _of_runs(analysis: OfRuns) -> OfResults:
    return lambda results, plot: analysis(results.ran, results.experiment, plot)


ANALYSES: dict[str, OfResults] = {
    "phase": lambda results, _plot: regimes(results.means, results.experiment.factors),
    "differences": _of_runs(contrasts.differences),
    "effects": lambda results, _plot: contrasts.effects(results.ran, results.experiment),
    "interactions": _of_runs(interactions.interactions),
    "comparison": _of_runs(comparison.comparison),
    "ranking": _of_runs(ranking.ranking),
    "pareto": _of_runs(tradeoffs.tradeoff),
    "survival": lambda results, _plot: survival.survival(results.ran, results.experiment),
    "sensitivity": _of_runs(sensitivity.sensitivity),
    "tornado": _of_runs(sensitivity.swings),
    "rejection": lambda results, _plot: tradeoffs.refusals(results.ran, results.experiment),
}
"""The table of each kind that shows another than the means."""
