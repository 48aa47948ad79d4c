"""From the results of a sweep to the page of its report: question, answers, tables, pictures, runs.

Every number on the page comes from `results` and the analyses; here it is only given words and an order.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from experiments.answers import answers
from experiments.catalogues import toml_text
from experiments.experiment import PlotTable, Sequential
from experiments.factors import SPACE_FILLING, Factor
from experiments.manifest import read_manifest
from experiments.pictures import analysis_of, draw
from experiments.report.captions import caption_of, heading_of, where_numbers_are
from experiments.report.columns import table_part
from experiments.report.gaps import gaps
from experiments.report.page import Column, FigurePart, ReportPage, TablePart
from experiments.report.runs import runs_seen
from experiments.reports import counted, number
from experiments.results import Results
from scenarios.definitions import definition_of
from simulator import InputError
from simulator.errors import one_line

MOST_FAILURES = 200
"""Rows of failed runs that a page shows; the table of failures has all of them."""

LARGE = 1_000
"""Numbers that need no decimals in a cell with an interval."""


def page_of(results: Results, *, worlds: int = 1) -> ReportPage:
    """Return the page of a sweep's report.

    Parameters
    ----------
    results : Results
    worlds : int
        Replications of a few points whose runs can be stepped through, a run a policy.

    Raises
    ------
    InputError
        There are no results yet.
    """
    experiment, file = results.experiment, results.experiment.file
    if results.runs.empty:
        raise InputError("holds no results yet", where=str(results.folder), expected="a sweep that has run")
    pictures = list(_pictures(results))
    runs, unseen = runs_seen(results, worlds)
    return ReportPage(
        title=experiment.name,
        question=file.question or file.summary,
        source=file.source,
        shows=file.summary if file.question else "",
        answers=tuple(answers(results)),
        gaps=tuple(gaps(results)),
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
        runs=runs,
        unseen=unseen,
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
    made = "none was" if counts.empty else f"{counts.min()} to {counts.max()} were"
    made += f" made, {rule.first} at first, {rule.cap} at most"
    if rule.rule == "best":
        race = f"a race on {rule.response} with indifference {rule.indifference:g}"
        return f"until {race} has one left: {made}"
    return f"until the half-width on {rule.response} is at most {rule.half_width:g}: {made}"


# --------------------------------------------------------------------------- tables and figures


def _pictures(results: Results) -> Iterator[tuple[FigurePart | None, TablePart | None]]:
    """Yield each picture with the table that it shows; one that cannot be drawn leaves its reason."""
    for plot in results.experiment.file.pictures:
        title = heading_of(plot)
        try:
            table = analysis_of(results, plot)
            figure: FigurePart | None = FigurePart(
                title=title,
                caption=caption_of(results, plot),
                alt=f"{title}. {where_numbers_are(plot, has_table=table is not None)}",
                svg=_svg(results, plot),
            )
        except InputError as fault:
            yield None, TablePart(title, one_line(str(fault)), (Column("nothing to show"),), ())
            continue
        yield figure, None if table is None else table_part(title, "", table, results.experiment)


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
        yield table_part("means", note, results.means, experiment)
    if experiment.file.quantiles:
        yield table_part("quantiles", "between order statistics, 95% at least", results.quantiles, experiment)


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
        yield table_part(f"means in {scenario}", note, told, experiment)


def _estimate(row: Mapping[Hashable, Any]) -> str:
    """Return a mean with its interval in one cell; of runs that are all alike, the mean alone."""
    mean, low, high = (_short(row[key]) for key in ("mean", "low", "high"))
    return mean if not row["n"] or row["low"] == row["high"] == row["mean"] else f"{mean} [{low}, {high}]"


def _short(value: float | None) -> str:
    """Return a number for a narrow cell: a large one without decimals."""
    large = value is not None and LARGE <= abs(value) < math.inf
    return number(round(value) if large and value is not None else value)


def _failures(results: Results) -> TablePart | None:
    found = results.failures
    if found.empty:
        return None
    places = [*results.experiment.factors, "replication", "stage", "type", "message"]
    told = found[["policy", "scenario", *places]].head(MOST_FAILURES)
    note = f"{counted(len(found), 'run')} failed"
    if len(found) > MOST_FAILURES:
        note += f"; the first {MOST_FAILURES} are shown"
    return table_part("failed runs", note, told, results.experiment)


def _skipped(results: Results) -> Iterator[TablePart]:
    """Yield the table of what was skipped, a row a policy and scenario, where anything was."""
    if results.skipped.empty:
        return
    counts = results.skipped.groupby(["policy", "scenario", "failure"], sort=False).size()
    table = counts.rename("runs").reset_index().rename(columns={"failure": "reason"})
    note = "a policy that would not be itself there; these are no failures"
    yield table_part("skipped runs", note, table, results.experiment)


# --------------------------------------------------------------------------- how it was made


def _manifest(results: Results) -> dict[str, object]:
    manifest = read_manifest(results.folder)
    sessions = [
        {
            "started": session.get("started"),
            "ended": session.get("ended"),
            "command": shlex.join(session.get("command") or []),
        }
        for session in manifest["sessions"]
    ]
    identity = {key: manifest["identity"][key] for key in ("versions", "scenarios", "policies")}
    return {"digest": manifest["digest"], **identity, "sessions": dict(enumerate(sessions, 1))}


def _commands(results: Results) -> Iterator[str]:
    """Yield what makes the runs, and what makes the page: one sweep of all, or every sweep of a part."""
    given = [session.get("command") for session in read_manifest(results.folder)["sessions"]]
    sweeps = [words for words in given if words] or [["rewritelab", "sweep", results.experiment.name]]
    whole = [words for words in sweeps if not any(word.partition("=")[0] == "--only" for word in words)]
    yield from dict.fromkeys(map(shlex.join, whole[:1] or sweeps))
    yield f"rewritelab report {shlex.quote(str(results.folder))}"
