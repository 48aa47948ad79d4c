"""How each kind of picture of a sweep is drawn: results and what is asked for in, a figure out.

Loaded only where a figure is asked for, for it loads matplotlib. The tables come from `experiments.pictures`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiments import plots
from experiments.analyses import histories, survival
from experiments.experiment import PlotTable
from experiments.pictures import shown
from experiments.plots.marks import noted
from experiments.plots.titles import entitled
from experiments.results import Results
from experiments.titles import bare_words, title_of, titled, unit_of
from simulator import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SMOOTHING = 5
"""Turns on each side that the moving average of a Welch picture takes in, where the runs are long enough."""

MOST_SETTINGS = 200
"""Rows of a table that is drawn."""

MOST_COMPARED = 60
"""Rows of a forest of differences; more are a table of policies by places."""

COMPARED_INCHES, NAME_COLUMNS = 0.95, 3
"""Width of a column of such a table, and what the names of its rows take of them."""


def drawing(results: Results, plot: PlotTable) -> Figure:
    """Return a picture with its title. Raises InputError where there is nothing to draw."""
    figure = DRAWINGS[plot.kind](results, plot)
    return entitled(figure, *title_of(results, plot))


def _response(results: Results, plot: PlotTable) -> Figure:
    chosen, policies = str(plot.response), results.experiment.policies
    rows = results.means[results.means["response"] == chosen].rename(columns={"mean": chosen})
    factors, labels = results.experiment.factors, titled(results.experiment)
    if plot.by is None:
        return plots.response_with_intervals(rows, factors[0], chosen, labels=labels)
    lines = labels[plot.by] + ": " + rows[plot.by].astype(str)
    rows = rows.assign(line=rows["policy"] + ", " + lines if len(policies) > 1 else lines)
    across = next(name for name in factors if name != plot.by)
    return plots.response_with_intervals(rows, across, chosen, by="line", labels=labels)


def _heat(results: Results, plot: PlotTable) -> Figure:
    chosen = str(plot.response)
    rows = results.means[results.means["response"] == chosen].rename(columns={"mean": chosen})
    across, along = results.experiment.factors
    return plots.heat_table(rows, across, along, chosen, labels=titled(results.experiment))


def _phase(results: Results, plot: PlotTable) -> Figure:
    intercept, slope = plot.line or (0.0, 0.0)
    across, along = results.experiment.factors
    return plots.phase_diagram(
        shown(results, plot),
        across,
        along,
        analytic=(lambda x: intercept + slope * x) if plot.line else None,
        analytic_label=plot.line_label,
        labels=titled(results.experiment),
    )


def _table(results: Results, _plot: PlotTable) -> Figure:
    experiment = results.experiment
    places = [*experiment.places, *(["policy"] if len(experiment.policies) > 1 else [])] or ["policy"]
    if (count := len(results.means) // len(experiment.file.responses)) > MOST_SETTINGS:
        raise InputError(
            f"{count:,} settings", where="plot table", expected=f"at most {MOST_SETTINGS}; the files hold all"
        )
    settings = results.means[places].astype(str).agg(", ".join, axis=1)
    means = results.means.assign(setting=settings)
    again = means.groupby(["setting", "response"]).cumcount()  # points of a design may have the same levels
    means["setting"] += again.map(lambda earlier: f" ({earlier + 1})" if earlier else "")
    units = {name: unit_of(name) for name in experiment.file.responses}
    labels = {name: (bare_words(name, unit), unit) for name, unit in units.items()}
    return plots.means_table(means, labels=labels, corner=", ".join(places))


def _differences(results: Results, plot: PlotTable) -> Figure:
    labels = titled(results.experiment)
    return plots.difference_table(
        shown(results, plot),
        baseline=str(plot.baseline),
        replications=results.experiment.file.cap,
        labels=labels,
        corner=labels[results.experiment.factors[0]],
    )


def _effects(results: Results, plot: PlotTable) -> Figure:
    cap, labels = results.experiment.file.cap, titled(results.experiment)
    return plots.effect_forest(shown(results, plot), str(plot.response), replications=cap, labels=labels)


def _interactions(results: Results, plot: PlotTable) -> Figure:
    return plots.interaction_grid(shown(results, plot), str(plot.response), labels=titled(results.experiment))


def _comparison(results: Results, plot: PlotTable) -> Figure:
    table = shown(results, plot)
    if len(table) > MOST_COMPARED:
        return _many_compared(results, plot, table)
    if table["place"].nunique() > 1:
        table = table.assign(policy=table["policy"] + ", " + table["place"])
    return plots.difference_forest(
        table,
        str(plot.baseline),
        str(plot.response),
        better=plot.better,
        labels=titled(results.experiment),
    )


def _many_compared(results: Results, plot: PlotTable, table: pd.DataFrame) -> Figure:
    """Return the differences as a table of policies by places, where rows would be too many."""
    places = table["place"].unique()
    return plots.difference_table(
        table.rename(columns={"policy": "level", "place": "response"}).assign(failed=0),
        baseline=str(plot.baseline),
        replications=results.experiment.file.cap,
        labels={str(place): str(place) for place in places},
        corner=titled(results.experiment)[str(plot.response)],
        better=plot.better,
        width=max(plots.TWO_COLUMNS, COMPARED_INCHES * (len(places) + NAME_COLUMNS)),
    )


def _ranking(results: Results, plot: PlotTable) -> Figure:
    table = shown(results, plot).rename(columns={"place": "scenario"})
    if plot.barred_by is not None:
        table = table[~table["barred"]]
    labels = titled(results.experiment)
    return plots.ranking_chart(table, str(plot.response), better=plot.better, labels=labels)


def _pareto(results: Results, plot: PlotTable) -> Figure:
    table, experiment = shown(results, plot), results.experiment
    panel = "place" if len(experiment.scenarios) > 1 and not experiment.factors else None
    named = table if panel else _named_by_place(table)
    return plots.pareto_front(named, str(plot.x), str(plot.y), labels=titled(experiment), panel=panel)


def _survival(results: Results, plot: PlotTable) -> Figure:
    return plots.survival_curves(shown(results, plot), event=survival.EVENT)


def _sensitivity(results: Results, plot: PlotTable) -> Figure:
    table, labels, response = shown(results, plot), titled(results.experiment), str(plot.response)
    if "first" in table.columns:
        return plots.sensitivity_bars(table, response, labels=labels)
    return plots.morris_plane(table, response=response, labels=labels)


def _tornado(results: Results, plot: PlotTable) -> Figure:
    return plots.tornado(shown(results, plot), str(plot.response), labels=titled(results.experiment))


def _rejection(results: Results, plot: PlotTable) -> Figure:
    table = _named_by_place(shown(results, plot))
    return plots.rejection_against_net(table, net_label="Net of an attempt (tokens)")


def _occupancy(results: Results, _plot: PlotTable) -> Figure:
    found = histories.histories(results)
    setting = histories.setting_of(results)
    turns = histories.turns_of(found)
    figure = plots.occupancy_by_turn(turns, window=setting.window, horizon=setting.horizon)
    return noted(figure, histories.where_from(results, found))


def _believed(results: Results, _plot: PlotTable) -> Figure:
    found = histories.histories(results)
    return noted(plots.believed_against_true(histories.turns_of(found)), histories.where_from(results, found))


def _ledger(results: Results, _plot: PlotTable) -> Figure:
    found = histories.histories(results, worlds=1)
    rows = {one.policy: one.run.rewrites.iloc[0] for one in found if one.run.rewrite_rows}
    if not rows:
        raise InputError("no run has an attempt, there is no ledger to draw", where=str(results.folder))
    figure = plots.ledgers_side_by_side(rows, histories.setting_of(results).window)
    without = [one.policy for one in found if one.policy not in rows]
    words = f" Without a rewrite: {', '.join(without)}." if without else ""
    return noted(figure, histories.where_from(results, found) + words)


def _welch(results: Results, _plot: PlotTable) -> Figure:
    found = histories.histories(results)
    table, cuts = histories.warm_up(found, SMOOTHING)
    figure = plots.welch_picture(table, cuts, response="occupancy_pct")
    return noted(figure, histories.where_from(results, found))


def _named_by_place(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose policies say where they were tried, where that is more than one place."""
    if table["place"].nunique() == 1:
        return table
    if table["policy"].nunique() == 1:
        return table.assign(policy=table["place"])
    return table.assign(policy=table["policy"] + ", " + table["place"])


DRAWINGS: dict[str, Callable[[Results, PlotTable], Figure]] = {
    "response": _response,
    "heat": _heat,
    "phase": _phase,
    "table": _table,
    "differences": _differences,
    "effects": _effects,
    "interactions": _interactions,
    "comparison": _comparison,
    "ranking": _ranking,
    "pareto": _pareto,
    "survival": _survival,
    "sensitivity": _sensitivity,
    "tornado": _tornado,
    "rejection": _rejection,
    "occupancy": _occupancy,
    "believed": _believed,
    "ledger": _ledger,
    "welch": _welch,
}
"""The drawings by kind."""
