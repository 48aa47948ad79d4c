"""Two responses against each other, by policy and place: cost and failures, refusals and net."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.analyses.worlds import by_place
from experiments.experiment import Experiment, PlotTable
from experiments.requirements import REFUSAL_RESPONSES
from experiments.results import interval_of
from experiments.statistics import on_front

if TYPE_CHECKING:
    import pandas as pd


def tradeoff(runs: pd.DataFrame, experiment: Experiment, plot: PlotTable) -> pd.DataFrame:
    """Return one row a place and policy with the means of two responses.

    Columns are `place`, `policy`, and for the plot's `x` and `y` the response's name, alone and with `_low`
    and `_high` (95%); and `front`: no other row is as low on both and lower on one.
    """
    assert plot.x is not None and plot.y is not None
    table = _pairs(runs, experiment, plot.x, plot.y)
    return table.assign(front=on_front(table[plot.x].astype(float), table[plot.y].astype(float)))


def refusals(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return one row a place and policy: share of attempts refused, and net of an attempt, tokens."""
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
                interval = interval_of(name, own[name].dropna().tolist())
                row[name] = interval.estimate if interval else None
                row[f"{name}_low"] = interval.low if interval else None
                row[f"{name}_high"] = interval.high if interval else None
            rows.append(row)
    return pd.DataFrame(rows)
