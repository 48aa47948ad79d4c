"""The tables of a report: analyses as rows of words, and what their columns mean.

In come the tables of analyses, out go parts of a page: each number as text, each column with its unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.experiment import Experiment
from experiments.report.page import Column, TablePart
from experiments.reports import number
from scenarios.definitions import definition_of

if TYPE_CHECKING:
    import pandas as pd

COLUMN_WORDS = {
    "mean": ("", "mean over replications; in a ranking, over the worlds that all compared policies have"),
    "low": (
        "",
        "lower end of the 95% interval; equal to the mean where all runs were alike, "
        "which does not prove that all runs are",
    ),
    "high": ("", "upper end of the 95% interval"),
    "n": ("runs", "runs, pairs or worlds behind the estimate"),
    "failed": ("runs", "runs of the point that failed"),
    "missing": ("worlds or pairs", "in which the policy, or one of a pair, has no such response"),
    "variance_reduction": (
        "",
        "variance of a difference between independent worlds over that in the same worlds: "
        "how many times the replications the pairing is worth",
    ),
    "joint_low": ("", "lower end of the interval that holds with 95% for all rows at once (Bonferroni)"),
    "joint_high": ("", "upper end of the interval that holds with 95% for all rows at once (Bonferroni)"),
    "p": ("", "p value that there is no difference: Student's paired test, or McNemar's of a yes or no"),
    "adjusted_p": ("", "p value by Holm over all rows of the table"),
    "rank": ("", "by mean, 1 being best; bounds have none"),
    "best": ("", "may be the best: it is one of these with 95% confidence, by place"),
    "bound": ("", "no rival, but what a policy can be held against"),
    "barred": ("", "not ranked: in some run something happened that makes the response say nothing"),
    "lead": ("", "mean over the best of the others; positive is better"),
    "lead_low": ("", "lower end of the simultaneous 95% interval of the lead"),
    "lead_high": ("", "upper end of the simultaneous 95% interval of the lead"),
    "worlds": ("worlds", "in which all ranked policies have the response"),
    "place": ("", "scenario and levels of the factors"),
    "front": ("", "on the Pareto front of the estimates: no other row is as low on both and lower on one"),
    "order": ("", "factors in the effect"),
    "effect": ("", "change of the mean response from the first level to the second; x means interaction"),
    "time": ("turns", "end of a step of the curve"),
    "survival": (
        "share",
        "runs that last longer (Kaplan-Meier; overflow, death, halting are ends)",
    ),
    "at_risk": ("runs", "still going just before that time"),
    "censored": ("runs", "last seen at that time, still going or complete"),
    "first": (
        "share",
        "of the response's variance that fixing the factor alone would take away; near 0, it may be below",
    ),
    "total": ("share", "of the response's variance that is left if all but the factor are fixed"),
    "mu": ("", "mean elementary effect over a full range of the factor"),
    "mu_star": ("", "mean size of the elementary effects"),
    "sigma": ("", "their standard deviation: curvature and interactions"),
    "factor": ("", "a factor of the design"),
    "base": ("", "mean of the response over all points"),
    "low_value": ("", "mean of the response at the low end of the factor, over all levels of the others"),
    "high_value": ("", "mean of the response at its high end"),
    "low_label": ("", "what the low end is: the first level, or the lowest fifth of the points of a range"),
    "high_label": ("", "what the high end is"),
    "level": ("", "of the factor"),
    "other": ("", "the second factor of the two"),
    "other_level": ("", "of the second factor"),
    "quantile": ("", "of the runs of the point"),
    "value": ("", "of the quantile"),
    "regime": (
        "",
        "spiral: mean net of an attempt below 0; insufficient: below arrivals; else stable",
    ),
}
"""Unit and meaning of the columns that analyses add to factors and responses."""


NO_UNIT = "1"
"""What definitions call the unit of a count or a share."""


def table_part(title: str, note: str, table: pd.DataFrame, experiment: Experiment) -> TablePart:
    """Return a table of an analysis as a part of a page."""
    columns = tuple(_column(str(name), experiment) for name in table.columns)
    rows = tuple(tuple(map(_words, row)) for row in table.itertuples(index=False))
    return TablePart(title, note, columns, rows)


def _words(value: object) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else number(value)


def _column(name: str, experiment: Experiment) -> Column:
    for factor in experiment.file.factor:
        if factor.name == name:
            return Column(name, factor.unit, "a factor of the design")
    for end, words in (("_low", "lower end of the 95% interval"), ("_high", "upper end of the 95% interval")):
        if name not in COLUMN_WORDS and name.endswith(end):
            own = _column(name.removesuffix(end), experiment)
            return Column(name, own.unit, words)
    if name in COLUMN_WORDS:
        return Column(name, *COLUMN_WORDS[name])
    if name in experiment.file.responses:
        unit, meaning = definition_of(name)
        return Column(name, "" if unit == NO_UNIT else unit, meaning)
    return Column(name)
