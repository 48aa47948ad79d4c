"""Two responses against each other, by policy and place: cost and failures, refusals and net."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.analyses.worlds import by_place
from experiments.experiment import Experiment, PlotTable
from experiments.requirements import REFUSAL_RESPONSES
from experiments.results import interval_in
from experiments.statistics import on_front

if TYPE_CHECKING:
    import pandas as pd


def tradeoff(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a place and policy with the means of two responses.

    Columns are `place`, `policy`, and for the plot's `x` and `y` the response's name, alone and with `_low`
    and `_high` (95%); the plot's `barred_by`, if it has one; `bound`; and `front`: no other row of the
    scenario is as low on both and lower on one. A bound, and a row whose `barred_by` is not 0, is neither on
    the front nor keeps others off it.
    """
    assert plot.x is not None and plot.y is not None
    named = [plot.x, plot.y, *([plot.barred_by] if plot.barred_by else [])]
    table = _pairs(runs, experiment, *dict.fromkeys(named))
    table["bound"] = table["policy"].isin(experiment.file.bounds)
    able = ~table["bound"]
    if plot.barred_by:
        able &= table[plot.barred_by].astype(float) == 0
    table["front"] = False
    for _, own in table[able].groupby(_scenario_of(runs, experiment, table), sort=False):
        table.loc[own.index, "front"] = on_front(own[plot.x].astype(float), own[plot.y].astype(float))
    if plot.barred_by:
        table = table.drop(columns=[f"{plot.barred_by}_low", f"{plot.barred_by}_high"])
    return table


def _scenario_of(runs: pd.DataFrame, experiment: Experiment, table: pd.DataFrame) -> pd.Series[str]:
    """Return the scenario of each row of a table by places."""
    scenarios = {place: group["scenario"].iloc[0] for place, group in by_place(runs, experiment)}
    return table["place"].map(scenarios)


def refusals(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return one row a place and policy: share of attempts refused, and net of an attempt, tokens.

    Both are means over runs, each run counting once: attempts of one run share its world, so the run is
    the unit. `low` and `high` are those of the table of means (Student's over runs, 95%, or the bootstrap's),
    cut to [0, 1]; those of `net` have its name.
    """
    share, net = REFUSAL_RESPONSES
    table = _pairs(runs, experiment, share, net)
    ends = {f"{net}{end}": f"net{end}" for end in ("", "_low", "_high")}
    return table.rename(columns={**ends, f"{share}_low": "low", f"{share}_high": "high"})


def _pairs(runs: pd.DataFrame, experiment: Experiment, *responses: str) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for place, group in by_place(runs, experiment):
        for policy, own in group.groupby("policy", sort=False):
            row: dict[str, object] = {"place": place, "policy": policy}
            for name in responses:
                interval = interval_in(experiment, name, own[name].dropna().tolist())
                row[name] = interval.estimate if interval else None
                row[f"{name}_low"] = interval.low if interval else None
                row[f"{name}_high"] = interval.high if interval else None
            rows.append(row)
    return pd.DataFrame(rows)
