"""From results to pictures: each kind with the analysis that it shows and the function that draws it.

`analysis_of` gives the numbers, `draw` the figure of the same numbers. What a kind needs of an experiment
stands in `experiments.requirements`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from experiments.analyses import comparison, contrasts, histories, ranking, sensitivity, survival, tradeoffs
from experiments.experiment import Kind, PlotTable
from experiments.factors import Value
from experiments.requirements import NEEDS, require_picture
from experiments.results import Results, regimes
from scenarios.definitions import definition_of
from simulator import InputError
from simulator.errors import nearest_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

KINDS: tuple[str, ...] = get_args(Kind)
"""Pictures of a sweep."""

SMOOTHING = 5
"""Turns on each side that the moving average of a Welch picture takes in, where the runs are long enough."""


MOST_SETTINGS = 200
"""Rows of a table that is drawn."""


MOST_COMPARED = 60
"""Rows of a forest of differences; more are a table of policies by places."""

COMPARED_INCHES, NAME_COLUMNS = 0.95, 3
"""Width of a column of such a table, and what the names of its rows take of them."""


class Picture(NamedTuple):
    """One kind of picture: the table that it shows, if any beside the means, and how it is drawn."""

    analysis: Callable[[Results, PlotTable], pd.DataFrame] | None
    draw: Callable[[Results, PlotTable], Figure]


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
    asked = [plot for plot in file.pictures if kind in (None, plot.kind)]
    fitting = [plot for plot in asked if response in (None, plot.response)]
    plot = next(iter(fitting or asked), None) or _plain(results, str(kind))
    if response is not None and "response" not in NEEDS[plot.kind].shown:
        raise InputError(
            f"a picture of kind {plot.kind} shows no response of choice",
            where="--response",
            expected=", ".join(name for name, needs in NEEDS.items() if "response" in needs.shown),
        )
    changed: dict[str, object] = {}
    if response not in (None, plot.response):
        changed = {"response": response, "better": "lower"}
    if better is not None:
        changed["better"] = better
    plot = plot.model_copy(update=changed)
    require_picture(results.experiment, plot, f"plot {plot.kind}")
    return plot


def _plain(results: Results, kind: str) -> PlotTable:
    """Return a picture that the experiment does not ask for, of what its main picture shows."""
    file = results.experiment.file
    main = file.plot
    sides: dict[str, Sequence[Value]] = {"level": [], "policy": results.experiment.policies}
    if results.experiment.file.factor:
        sides["level"] = file.factor[0].labels
    known = sides.get(NEEDS[kind].baseline, [])
    baseline = main.baseline if main.baseline in known or not known else known[0]
    first, second = (*file.responses, file.responses[0])[:2]
    return main.model_copy(
        update={
            "kind": kind,
            "response": main.response or file.responses[0],
            "x": main.x or first,
            "y": main.y or second,
            "baseline": baseline,
        }
    )


def analysis_of(results: Results, plot: PlotTable) -> pd.DataFrame | None:
    """Return the table that a picture shows, made once, or None where that is the table of means."""
    make = PICTURES[plot.kind].analysis
    if make is None:
        return None
    key = plot.model_dump_json()
    if key not in results.analyses:
        results.analyses[key] = make(results, plot)
    return results.analyses[key]


def draw(results: Results, plot: PlotTable) -> Figure:
    """Return a picture. Raises InputError where there is nothing to draw."""
    if results.ran.empty:
        raise InputError("holds no results yet", where=str(results.folder), expected="a sweep that has run")
    return PICTURES[plot.kind].draw(results, plot)


def titled(results: Results) -> dict[str, str]:
    """Return the words for factors and responses, with their units."""
    file = results.experiment.file
    words = {factor.name: factor.titled for factor in file.factor}
    for name in file.responses:
        unit, _ = definition_of(name)
        words[name] = name if unit in ("", "1") else f"{name} ({unit})"
    return words


# --------------------------------------------------------------------------- tables


def _differences(results: Results, plot: PlotTable) -> pd.DataFrame:
    return contrasts.differences(results.ran, results.experiment, plot)


def _effects(results: Results, _plot: PlotTable) -> pd.DataFrame:
    return contrasts.effects(results.ran, results.experiment)


def _regimes(results: Results, _plot: PlotTable) -> pd.DataFrame:
    return regimes(results.means, results.experiment.factors)


def _comparison(results: Results, plot: PlotTable) -> pd.DataFrame:
    return comparison.comparison(results.ran, results.experiment, plot)


def _ranking(results: Results, plot: PlotTable) -> pd.DataFrame:
    return ranking.ranking(results.ran, results.experiment, plot)


def _tradeoff(results: Results, plot: PlotTable) -> pd.DataFrame:
    return tradeoffs.tradeoff(results.ran, results.experiment, plot)


def _survival(results: Results, _plot: PlotTable) -> pd.DataFrame:
    return survival.survival(results.ran, results.experiment)


def _sensitivity(results: Results, plot: PlotTable) -> pd.DataFrame:
    return sensitivity.sensitivity(results.ran, results.experiment, plot)


def _swings(results: Results, plot: PlotTable) -> pd.DataFrame:
    return sensitivity.swings(results.ran, results.experiment, plot)


def _refusals(results: Results, _plot: PlotTable) -> pd.DataFrame:
    return tradeoffs.refusals(results.ran, results.experiment)


# --------------------------------------------------------------------------- figures


def shown(results: Results, plot: PlotTable) -> pd.DataFrame:
    """Return the table of a picture that shows one beside the means."""
    table = analysis_of(results, plot)
    assert table is not None
    return table


def _draw_response(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    chosen, policies = str(plot.response), results.experiment.policies
    rows = results.means[results.means["response"] == chosen].rename(columns={"mean": chosen})
    factors, labels = results.experiment.factors, titled(results)
    if plot.by is None:
        return plots.response_with_intervals(rows, factors[0], chosen, labels=labels)
    lines = rows[plot.by].astype(str)
    rows = rows.assign(line=lines + ", " + rows["policy"] if len(policies) > 1 else lines)
    across = next(name for name in factors if name != plot.by)
    return plots.response_with_intervals(rows, across, chosen, by="line", labels=labels)


def _draw_heat(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    chosen = str(plot.response)
    rows = results.means[results.means["response"] == chosen].rename(columns={"mean": chosen})
    across, along = results.experiment.factors
    return plots.heat_table(rows, across, along, chosen, labels=titled(results))


def _draw_phase(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    intercept, slope = plot.line or (0.0, 0.0)
    across, along = results.experiment.factors
    return plots.phase_diagram(
        shown(results, plot),
        across,
        along,
        analytic=(lambda x: intercept + slope * x) if plot.line else None,
        analytic_label=plot.line_label,
        labels=titled(results),
    )


def _draw_table(results: Results, _plot: PlotTable) -> Figure:
    from experiments import plots

    experiment = results.experiment
    wide = results.means.copy()
    places = [*experiment.places, *(["policy"] if len(experiment.policies) > 1 else [])] or ["policy"]
    if (count := len(wide) // len(experiment.file.responses)) > MOST_SETTINGS:
        raise InputError(
            f"{count:,} settings", where="plot table", expected=f"at most {MOST_SETTINGS}; the files hold all"
        )
    wide["setting"] = wide[places].astype(str).agg(", ".join, axis=1)
    again = wide.groupby(["setting", "response"]).cumcount()  # points of a design may have the same levels
    wide["setting"] += again.map(lambda earlier: f" ({earlier + 1})" if earlier else "")
    wide["judged"] = None
    wide["documented"] = wide["response"].map(lambda name: definition_of(name)[0].replace("1", "", 1))
    wide["response"] = wide["response"].str.replace("_", " ")
    return plots.signature_table(
        wide, setting="setting", signature="response", value="mean", passed="judged", corner=", ".join(places)
    )


def _draw_differences(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    labels = titled(results)
    return plots.difference_table(
        shown(results, plot),
        baseline=str(plot.baseline),
        replications=results.experiment.file.cap,
        labels=labels,
        corner=labels[results.experiment.factors[0]],
    )


def _draw_effects(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    return plots.effect_forest(
        shown(results, plot),
        str(plot.response),
        replications=results.experiment.file.cap,
        labels=titled(results),
    )


def _draw_interactions(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    factors = results.experiment.factors
    return plots.interaction_grid(results.ran, factors, str(plot.response), labels=titled(results))


def _draw_comparison(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    table = shown(results, plot)
    if len(table) > MOST_COMPARED:
        return _draw_many_compared(results, plot, table)
    if table["place"].nunique() > 1:
        table = table.assign(policy=table["policy"] + ", " + table["place"])
    return plots.difference_forest(
        table, str(plot.baseline), str(plot.response), better=plot.better, labels=titled(results)
    )


def _draw_many_compared(results: Results, plot: PlotTable, table: pd.DataFrame) -> Figure:
    """Return the differences as a table of policies by places, where rows would be too many."""
    from experiments import plots

    places = table["place"].unique()
    return plots.difference_table(
        table.rename(columns={"policy": "level", "place": "response"}).assign(failed=0),
        baseline=str(plot.baseline),
        replications=results.experiment.file.cap,
        labels={str(place): str(place) for place in places},
        corner=titled(results)[str(plot.response)],
        width=max(plots.TWO_COLUMNS, COMPARED_INCHES * (len(places) + NAME_COLUMNS)),
    )


def _draw_ranking(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    table = shown(results, plot).rename(columns={"place": "scenario"})
    if plot.barred_by is not None:
        table = table[~table["barred"]]
    return plots.ranking_chart(table, str(plot.response), better=plot.better, labels=titled(results))


def _draw_pareto(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    table, experiment = shown(results, plot), results.experiment
    panel = "place" if len(experiment.scenarios) > 1 and not experiment.factors else None
    named = table if panel else _named_by_place(table)
    return plots.pareto_front(named, str(plot.x), str(plot.y), labels=titled(results), panel=panel)


def _draw_survival(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    return plots.survival_curves(shown(results, plot), event="overflow or halt")


def _draw_sensitivity(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    table, labels = shown(results, plot), titled(results)
    if "first" in table.columns:
        return plots.sensitivity_bars(table, labels=labels)
    return plots.morris_plane(table, response=str(plot.response), labels=labels)


def _draw_tornado(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    return plots.tornado(shown(results, plot), str(plot.response), labels=titled(results))


def _draw_rejection(results: Results, plot: PlotTable) -> Figure:
    from experiments import plots

    table = _named_by_place(shown(results, plot))
    return plots.rejection_against_net(table, net_label="Net of an attempt (tokens)")


def _draw_occupancy(results: Results, _plot: PlotTable) -> Figure:
    from experiments import plots

    found = histories.histories(results)
    setting = histories.setting_of(results)
    return plots.occupancy_by_turn(histories.turns_of(found), window=setting.window, horizon=setting.horizon)


def _draw_believed(results: Results, _plot: PlotTable) -> Figure:
    from experiments import plots

    return plots.believed_against_true(histories.turns_of(histories.histories(results)))


def _draw_ledger(results: Results, _plot: PlotTable) -> Figure:
    from experiments import plots

    found = histories.histories(results, worlds=1)
    rows = {one.policy: one.run.rewrites.iloc[0] for one in found if one.run.rewrite_rows}
    if not rows:
        raise InputError("no run has an attempt, there is no ledger to draw", where=str(results.folder))
    return plots.ledgers_side_by_side(rows, histories.setting_of(results).window)


def _draw_welch(results: Results, _plot: PlotTable) -> Figure:
    from experiments import plots

    table, cut = histories.warm_up(histories.histories(results), SMOOTHING)
    return plots.welch_picture(table, cut, response="occupancy_pct")


def _named_by_place(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose policies say where they were tried, where that is more than one place."""
    if table["place"].nunique() == 1:
        return table
    if table["policy"].nunique() == 1:
        return table.assign(policy=table["place"])
    return table.assign(policy=table["policy"] + ", " + table["place"])


PICTURES: dict[str, Picture] = {
    "response": Picture(None, _draw_response),
    "heat": Picture(None, _draw_heat),
    "phase": Picture(_regimes, _draw_phase),
    "table": Picture(None, _draw_table),
    "differences": Picture(_differences, _draw_differences),
    "effects": Picture(_effects, _draw_effects),
    "interactions": Picture(None, _draw_interactions),
    "comparison": Picture(_comparison, _draw_comparison),
    "ranking": Picture(_ranking, _draw_ranking),
    "pareto": Picture(_tradeoff, _draw_pareto),
    "survival": Picture(_survival, _draw_survival),
    "sensitivity": Picture(_sensitivity, _draw_sensitivity),
    "tornado": Picture(_swings, _draw_tornado),
    "rejection": Picture(_refusals, _draw_rejection),
    "occupancy": Picture(None, _draw_occupancy),
    "believed": Picture(None, _draw_believed),
    "ledger": Picture(None, _draw_ledger),
    "welch": Picture(None, _draw_welch),
}
"""The pictures by kind."""
