"""From the results of a sweep to the page of its report: question, answers, tables, pictures, runs.

Every number on the page comes from `results` and the analyses; here it is only given words and an order.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from experiments.analyses import histories
from experiments.answers import answers
from experiments.catalogues import toml_text
from experiments.experiment import Experiment, PlotTable, Sequential
from experiments.factors import SPACE_FILLING, Factor
from experiments.pictures import analysis_of, draw
from experiments.plan import Coordinates, Plan
from experiments.report.page import Column, FigurePart, ReportPage, TablePart, ViewedRun
from experiments.reports import number
from experiments.requirements import NEEDS
from experiments.results import Results
from experiments.store import read_manifest
from scenarios.definitions import definition_of
from simulator import InputError, RunFailed
from simulator.errors import one_line

if TYPE_CHECKING:
    import pandas as pd

MOST_FAILURES = 200
"""Rows of failed runs that a page shows; the table of failures has all of them."""

LARGE = 1_000
"""Numbers that need no decimals in a cell with an interval."""

MOST_RUNS_SEEN = 12
"""Runs that a page holds, frame by frame."""

TABLE_WORDS = {
    "mean": ("", "mean over replications"),
    "low": ("", "lower end of the 95% interval; equal to the mean where all runs were alike"),
    "high": ("", "upper end of the 95% interval"),
    "n": ("runs", "runs, pairs or worlds behind the estimate"),
    "failed": ("runs", "runs of the point that failed"),
    "missing": ("pairs", "left out because a run has no such response"),
    "variance_reduction": (
        "",
        "variance of a difference between independent worlds over that in the same worlds: "
        "how many times the replications the pairing is worth",
    ),
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
    "quantile": ("", "of the runs of the point"),
    "value": ("", "of the quantile"),
    "regime": (
        "",
        "spiral: mean net of an attempt below 0; insufficient: below arrivals; else stable",
    ),
}
"""Unit and meaning of the columns that analyses add to factors and responses."""


def page_of(results: Results, *, worlds: int = 1) -> ReportPage:
    """Return the page of a sweep's report.

    Parameters
    ----------
    results : Results
    worlds : int
        Replications of the first point whose runs can be stepped through, a run a policy.

    Raises
    ------
    InputError
        There are no results yet, or runs to be seen could not be made again.
    """
    experiment, file = results.experiment, results.experiment.file
    if results.runs.empty:
        raise InputError("holds no results yet", where=str(results.folder), expected="a sweep that has run")
    pictures = list(_pictures(results))
    return ReportPage(
        title=experiment.name,
        question=file.question or file.summary,
        source=file.source,
        shows=file.summary if file.question else "",
        answers=tuple(answers(results)),
        design=tuple(_design(results)),
        tables=(
            *(table for _, table in pictures if table is not None),
            *_estimates(results),
            *_skipped(results),
        ),
        figures=tuple(figure for figure, _ in pictures if figure is not None),
        failures=_failures(results),
        manifest=_manifest(results),
        commands=tuple(_commands(results)),
        file=toml_text(file.model_dump(mode="json", exclude_none=True, exclude_defaults=True)),
        glossary=tuple((name, definition_of(name)[1]) for name in file.responses),
        runs=tuple(_runs(results, worlds)),
    )


def _design(results: Results) -> Iterator[tuple[str, str]]:
    experiment, file = results.experiment, results.experiment.file
    yield "scenarios", ", ".join(experiment.scenarios)
    yield "policies", ", ".join(experiment.policies)
    if file.bounds:
        yield "bounds", ", ".join(file.bounds)
    if experiment.factors:
        seeded = f", seed {file.design.seed}" if file.design.kind in SPACE_FILLING else ""
        yield "design", f"{file.design.kind}, {experiment.size:,} points{seeded}"
    for factor in file.factor:
        yield f"factor {factor.titled}", _levels(factor)
    if file.set:
        yield "set in every run", ", ".join(f"{path} = {value}" for path, value in file.set.items())
    yield "replications", _replications(results)
    yield "seed", f"{file.seed}; a replication is one world, and all policies and points meet it"
    yield "responses", ", ".join(file.responses)


def _levels(factor: Factor) -> str:
    between = "; " if any("," in str(label) for label in factor.labels) else ", "
    words = between.join(map(number, factor.labels))
    if factor.is_range:
        words = f"{factor.low:g} to {factor.high:g}, {factor.scale}"
    path = factor.path if isinstance(factor.path, str) else ", ".join(factor.path or [])
    return f"{words} ({path})" if path else words


def _replications(results: Results) -> str:
    rule = results.experiment.file.replications
    if not isinstance(rule, Sequential):
        return str(rule)
    counts = results.ran.groupby(["scenario", "point", "policy"]).size()
    made = f"{counts.min()} to {counts.max()} were made, {rule.first} at first, {rule.cap} at most"
    if rule.rule == "best":
        return f"until the best on {rule.response} is known to within {rule.indifference:g}: {made}"
    return f"until the half-width on {rule.response} is at most {rule.half_width:g}: {made}"


# --------------------------------------------------------------------------- tables and figures


def _pictures(results: Results) -> Iterator[tuple[FigurePart | None, TablePart | None]]:
    """Yield each picture with the table that it shows; one that cannot be drawn leaves its reason."""
    for plot in results.experiment.file.pictures:
        shown = plot.response or (f"{plot.y} against {plot.x}" if plot.x else "")
        title = NEEDS[plot.kind].shows + (f": {shown}" if shown else "")
        caption = f"{title}."
        try:
            table = analysis_of(results, plot)
            figure: FigurePart | None = FigurePart(
                title=title,
                caption=caption,
                alt=f"{caption} The numbers stand in the tables.",
                svg=_svg(results, plot),
            )
        except InputError as fault:
            yield None, TablePart(title, one_line(str(fault)), (Column("nothing to show"),), ())
            continue
        yield figure, None if table is None else _table(title, "", table, results.experiment)


def _svg(results: Results, plot: PlotTable) -> bytes:
    from experiments.plots.style import figure_bytes

    return figure_bytes(draw(results, plot), "svg")


def _estimates(results: Results) -> Iterator[TablePart]:
    experiment = results.experiment
    method = {"t": "Student's", "bootstrap": "bootstrap"}[experiment.file.intervals]
    note = f"95% intervals are {method}; of shares, Wilson's"
    if len(experiment.scenarios) > 1 and not experiment.factors:
        yield from _means_by_scenario(results, note)
    else:
        yield _table("means", note, results.means, experiment)
    if experiment.file.quantiles:
        yield _table("quantiles", "between order statistics, 95% at least", results.quantiles, experiment)


def _means_by_scenario(results: Results, note: str) -> Iterator[TablePart]:
    """Yield a table a scenario: a row a policy, and in each column a response with its interval."""
    experiment = results.experiment
    for scenario, means in results.means.groupby("scenario", sort=False):
        cells = means.assign(cell=[_estimate(row) for row in means.to_dict("records")])
        wide = cells.pivot(index="policy", columns="response", values="cell")
        wide = wide.reindex(index=means["policy"].unique(), columns=experiment.file.responses)
        told = wide.reset_index()
        if means["failed"].any():
            told["failed"] = told["policy"].map(means.groupby("policy")["failed"].max())
        yield _table(f"means in {scenario}", note, told, experiment)


def _estimate(row: Mapping[Hashable, Any]) -> str:
    """Return a mean with its interval in one cell; of runs that are all alike, the mean alone."""
    mean, low, high = (_short(row[key]) for key in ("mean", "low", "high"))
    return mean if not row["n"] or row["low"] == row["high"] == row["mean"] else f"{mean} [{low}, {high}]"


def _short(value: float | None) -> str:
    """Return a number for a narrow cell: a large one without decimals."""
    large = value is not None and LARGE <= abs(value) < math.inf
    return number(round(value) if large and value is not None else value)


def _table(title: str, note: str, table: pd.DataFrame, experiment: Experiment) -> TablePart:
    columns = tuple(_column(str(name), experiment) for name in table.columns)
    rows = tuple(tuple(map(number, row)) for row in table.itertuples(index=False))
    return TablePart(title, note, columns, rows)


def _column(name: str, experiment: Experiment) -> Column:
    for factor in experiment.file.factor:
        if factor.name == name:
            return Column(name, factor.unit, "a factor of the design")
    for end, words in (("_low", "lower end of the 95% interval"), ("_high", "upper end of the 95% interval")):
        if name not in TABLE_WORDS and name.endswith(end):
            own = _column(name.removesuffix(end), experiment)
            return Column(name, own.unit, words)
    if name in TABLE_WORDS:
        return Column(name, *TABLE_WORDS[name])
    if name in experiment.file.responses:
        return Column(name, *definition_of(name))
    return Column(name)


def _failures(results: Results) -> TablePart | None:
    found = results.failures
    if found.empty:
        return None
    told = found.drop(columns=["traceback"]).head(MOST_FAILURES)
    note = f"{len(found):,} runs failed"
    if len(found) > MOST_FAILURES:
        note += f"; the first {MOST_FAILURES} are shown"
    return _table("failed runs", note, told, results.experiment)


def _skipped(results: Results) -> Iterator[TablePart]:
    """Yield the table of what was skipped, a row a policy and scenario, where anything was."""
    if results.skipped.empty:
        return
    counts = results.skipped.groupby(["policy", "scenario", "failure"], sort=False).size()
    table = counts.rename("runs").reset_index().rename(columns={"failure": "reason"})
    note = "a policy that would not be itself there; these are no failures"
    yield _table("skipped runs", note, table, results.experiment)


# --------------------------------------------------------------------------- how it was made


def _manifest(results: Results) -> dict[str, object]:
    manifest = read_manifest(results.folder)
    sessions = [
        {key: session.get(key) for key in ("started", "ended", "command")} for session in manifest["sessions"]
    ]
    identity = {key: manifest["identity"][key] for key in ("versions", "scenarios", "policies")}
    return {"digest": manifest["digest"], **identity, "sessions": dict(enumerate(sessions, 1))}


def _commands(results: Results) -> Iterator[str]:
    name = results.experiment.name
    words = read_manifest(results.folder)["sessions"][0].get("command") or ["rewritelab", "sweep", name]
    yield " ".join(map(shlex.quote, words))
    yield f"rewritelab report {shlex.quote(str(results.folder))}"


def _runs(results: Results, worlds: int) -> Iterator[ViewedRun]:
    """Make the first runs of the first point again, to be stepped through."""
    from experiments.report.frames import view_run

    if not worlds:
        return
    histories.require_same(results)
    plan = Plan(results.experiment)
    seen = 0
    for replication in range(min(worlds, plan.replications)):
        for place, policy in enumerate(results.experiment.policies):
            at = Coordinates(0, 0, place, replication)
            if seen == MOST_RUNS_SEEN:
                return
            try:
                frames = view_run(plan.setting(at), plan.policy(at), plan.seed(at))
            except RunFailed:  # it stands among the failed ones
                continue
            seen += 1
            yield ViewedRun(_label(plan, at, policy), frames)


def _label(plan: Plan, at: Coordinates, policy: str) -> str:
    levels = [f"{name} {level}" for name, level in plan.experiment.labels(at.point).items()]
    where = [policy, plan.experiment.scenarios[at.scenario], *levels]
    return ", ".join([*where, f"replication {at.replication}"])
