"""What the commands print: tables for people, JSON lines for programs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import SKIPPED, one_line

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from experiments.catalogues import Entry
    from experiments.comparison import Row
    from experiments.judge import Finding
    from experiments.pilot import Forecast
    from experiments.reproduction import BoxShare
    from policies.checker import Check
    from scenarios import Scenario

SHOWN = (
    ("turns", ""),
    ("max_occupancy_pct", "% of window"),
    ("final_occupancy_pct", "% of window"),
    ("rewrites_committed", ""),
    ("rewrites_refused", ""),
    ("rewrites_infeasible", ""),
    ("broken_pairs", ""),
    ("tokens_freed", "tokens"),
    ("rewrite_cost_tokens", "tokens"),
    ("measurement_cost_tokens", "tokens"),
    ("net_tokens", "tokens"),
    ("believed_net_tokens", "tokens"),
    ("retired_tokens", "tokens"),
    ("out_of_band_tokens", "tokens"),
    ("escalations", ""),
    ("constraints_held", ""),
    ("constraints_total", ""),
    ("constraint_violations", ""),
    ("dangling_references", ""),
    ("rederivation_tokens", "tokens"),
    ("reported_compliance", "share"),
    ("actual_compliance", "share"),
    ("stale_obedience", ""),
    ("confidence", "share"),
    ("decision_quality", ""),
    ("usd", "$"),
    ("seconds", "s"),
)
"""Responses of a run that its table shows, with their units."""


def json_line(value: object) -> str:
    """Return one JSON line; what is not finite becomes null."""
    return printable_json(_plain(value)) + "\n"


def printable_json(value: object) -> str:
    """Return a value as JSON on one line, with escapes for all that a terminal would obey."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    if not text.isprintable():
        text = json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f")
    return text


def findings_json(findings: Iterable[Finding]) -> str:
    """Return one object an expectation."""
    return "".join(json_line(dataclasses.asdict(finding)) for finding in findings)


def findings_table(findings: Sequence[Finding], output: Path) -> str:
    """Return documented beside simulated, and the count of what holds."""
    from experiments.judge import LEVEL
    from experiments.statistics import family_false_alarm_rate

    parts = []
    for scenario in dict.fromkeys(finding.scenario for finding in findings):
        own = [finding for finding in findings if finding.scenario == scenario]
        table = _table(scenario, "policy", "response", "documented", "simulated", "kind", "box", "")
        for finding in own:
            box = "" if finding.holds_in_box is None else f"{finding.holds_in_box:.0%}"
            mark = "pass" if finding.passed else "MISS"
            _add_row(
                table,
                finding.policy,
                finding.response,
                finding.documented,
                _simulated(finding),
                finding.kind,
                box,
                mark,
            )
        parts.append(_rendered(table))
        parts += [
            f"  {one_line(f'{finding.policy}, {finding.response}: {finding.note}')}\n"
            for finding in own
            if finding.note
        ]
    passed = sum(finding.passed for finding in findings)
    kinds = Counter(finding.kind for finding in findings)
    chance = [finding for finding in findings if finding.random]
    counted = ", ".join(f"{kinds[kind]} {kind}" for kind in ("fitted", "implied", "external"))
    missed = sum(finding.owns_up for finding in findings)
    owned = (
        ""
        if not missed
        else f"; {missed} of them say{'s' * (missed == 1)} that a documented figure is missed"
    )
    parts.append(f"\n{passed} of {len(findings)} expectations hold: {counted}{owned}.\n")
    if chance:
        rate = family_false_alarm_rate(len(chance), 1 - LEVEL)
        parts.append(
            f"{len(chance)} are judged by {LEVEL:.0%} intervals: in fresh worlds chance makes each miss with "
            f"probability {1 - LEVEL:.0%} at most, where its truth lies well inside its band, and at least "
            f"one of them, were they independent, with {rate:.0%}.\n"
        )
    parts.append(f"Pictures and findings.jsonl are in {one_line(str(output))}\n")
    return "".join(parts)


def box_json(shares: Iterable[BoxShare]) -> str:
    """Return one object a signature."""
    return "".join(json_line(share._asdict()) for share in shares)


def box_table(scenario: Scenario, shares: Sequence[BoxShare]) -> str:
    """Return the share of the parameter box in which each signature holds."""
    half = scenario.file.box_half_width
    table = _table(
        f"{scenario.name}, {len(scenario.file.box)} parameters +/-{half:.0%}",
        "policy",
        "response",
        "documented",
        "holds in",
    )
    for share in shares:
        _add_row(table, share.policy, share.response, share.documented, f"{share.holds_in_box:.0%}")
    return _rendered(table)


def comparison_json(rows: Iterable[Row]) -> str:
    """Return one object a run; a failed one has its stage and reason, and no summary."""
    lines = []
    for row in rows:
        line: dict[str, object] = {"scenario": row.scenario, "policy": row.policy, "seed": row.seed}
        if row.run is not None:
            line |= {"outcome": row.run.outcome, "summary": row.run.summary, "manifest": row.run.manifest}
        elif row.failure is not None:
            line |= {
                "outcome": _outcome(row),
                "summary": None,
                "manifest": None,
                "stage": row.failure.stage,
                "reason": row.failure.reason,
            }
        lines.append(json_line(line))
    return "".join(lines)


def comparison_table(rows: Sequence[Row]) -> str:
    """Return the responses of each run, one column a policy."""
    parts = []
    for scenario in dict.fromkeys(row.scenario for row in rows):
        own = [row for row in rows if row.scenario == scenario]
        table = _table(scenario, "response", *(row.policy for row in own), "unit")
        _add_row(table, "outcome", *map(_outcome, own), "")
        for name, unit in SHOWN:
            _add_row(table, name, *(number(row.run.summary[name]) if row.run else "" for row in own), unit)
        parts.append(_rendered(table))
        parts += [one_line(f"{row.policy} {row.failure}") + "\n" for row in own if row.failure]
    return "".join(parts)


def _outcome(row: Row) -> str:
    """Return how a run ended, in a word."""
    if row.run is not None:
        return row.run.outcome
    return SKIPPED if row.failure is not None and row.failure.is_skipped else "failed"


def table_json(table: pd.DataFrame) -> str:
    """Return one object a row."""
    return "".join(json_line(row) for row in table.to_dict("records"))


def forecast_json(found: Forecast) -> str:
    """Return what a sweep would take as one object."""
    return json_line(found._asdict())


def forecast_text(name: str, found: Forecast) -> str:
    """Return what a sweep would take, in words."""
    runs = counted(found.runs, "run")
    if found.least != found.runs:
        runs = f"{found.least:,} to {runs}"
    milliseconds = [f"{1000 * value:,.3g}" for value in (found.seconds_a_run, found.low, found.high)]
    a_run, whole = f"{milliseconds[0]} ms", _duration(found.seconds)
    if found.low == found.high:  # all have been timed
        load = "the machine's load comes on top"
    else:
        a_run += f" [{milliseconds[1]}, {milliseconds[2]}]"
        whole += f" [{_duration(found.soonest)}, {_duration(found.latest)}]"
        load = "the interval is over runs, and the machine's load comes on top"
    where = f"with {found.workers} worker{'s' if found.workers > 1 else ''}" if found.workers else "here"
    lines = [
        f"{one_line(name)}: {runs}, {found.done:,} of them done",
        f"a run takes {a_run}, by {counted(found.pilot, 'run')} spread over the plan; {load}",
        f"{where} about {whole}"
        + (f", at most {_duration(found.at_most)}" if found.at_most > found.seconds else "")
        + "; to load and to draw takes a few seconds more",
    ]
    return "".join(f"{line}\n" for line in lines)


def _duration(seconds: float) -> str:
    if seconds < MINUTE:
        return f"{seconds:.3g} s"
    if not math.isfinite(seconds):
        return "no bound"
    return str(timedelta(seconds=round(seconds)))


MINUTE = 60.0

MOST_ROWS = 60
"""Rows of a table that a terminal is given; the files hold all."""


def sweep_table(
    means: pd.DataFrame, path: Path | None, analysis: pd.DataFrame | None = None, kind: str = ""
) -> str:
    """Return a sweep's points with their intervals, the analysis of its picture, and where that is."""
    places = [name for name in means.columns if name not in ("mean", "low", "high", "n", "failed")]
    shown = _table("", *places, "mean", "95% interval", "runs")
    for row in means.head(MOST_ROWS).to_dict("records"):
        bounds = f"{number(row['low'])} to {number(row['high'])}" if row["n"] else "none"
        _add_row(shown, *(number(row[name]) for name in places), number(row["mean"]), bounds, str(row["n"]))
    parts = [_rendered(shown), _left_out(means, "`rewritelab report` and --json give")]
    if analysis is not None and kind in ("differences", "effects"):
        parts.append(contrasts_table(analysis))
    elif analysis is not None:
        parts.append(analysis_table(analysis, kind))
    if path is not None:
        parts.append(f"\nThe picture is {one_line(str(path))}\n")
    return "".join(parts)


def analysis_table(analysis: pd.DataFrame, kind: str) -> str:
    """Return the table that a picture shows."""
    shown = _table(kind, *map(str, analysis.columns))
    for row in analysis.head(MOST_ROWS).itertuples(index=False):
        _add_row(shown, *map(number, row))
    return _rendered(shown) + _left_out(analysis, "`rewritelab report` gives")


def _left_out(table: pd.DataFrame, give: str) -> str:
    """Return how many rows of a table a terminal is not given, and what gives them."""
    more = len(table) - MOST_ROWS
    return f"and {counted(more, 'row')} more; {give} all of them\n" if more > 0 else ""


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "run"), counted(1_200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def contrasts_table(contrasts: pd.DataFrame) -> str:
    """Return effects (or differences to a baseline): rows of them, columns of responses.

    A cell is the mean and its 95% interval, with a star where that leaves out 0. Responses that do not
    fit beside one another follow in a further table.
    """
    row = "effect" if "effect" in contrasts.columns else "level"
    cells = {
        (str(found[row]), str(found["response"])): _contrast(found) for found in contrasts.to_dict("records")
    }
    rows = list(dict.fromkeys(name for name, _ in cells))
    responses = list(dict.fromkeys(name for _, name in cells))
    widths = [max(len(name), *(len(cells[key, name]) for key in rows)) + GAP for name in responses]
    room = _width() - max(len(name) for name in rows) - GAP
    title = "Effects" if row == "effect" else "Differences to the baseline"
    parts = []
    while responses:
        count = max(1, sum(used <= room for used in accumulate(widths)))
        shown = _table(f"{title}, mean [95% interval]", row, *responses[:count])
        for key in rows:
            _add_row(shown, key, *(cells[key, name] for name in responses[:count]))
        parts.append(_rendered(shown))
        del responses[:count], widths[:count]
    return (
        "".join(parts)
        + "* the interval leaves out 0; chance alone does that to 1 in 20 where there is no effect\n"
    )


def _contrast(found: Mapping[Hashable, Any]) -> str:
    from experiments.statistics import excludes_zero

    if found["n"] == 0:
        return ""
    star = "*" if excludes_zero(found["low"], found["high"]) else ""
    return f"{number(found['mean'])} [{number(found['low'])}, {number(found['high'])}]{star}"


GAP = 3
"""Blanks between two columns of a printed table."""


def listing_json(rows: Iterable[Entry]) -> str:
    """Return one object an entry; what only policies say stands in theirs alone."""
    return "".join(
        json_line({key: value for key, value in row._asdict().items() if value or key in EVERY_ENTRY})
        for row in rows
    )


EVERY_ENTRY = ("kind", "name", "summary", "source")
"""Keys of every entry of the listing."""


def listing_text(rows: Sequence[Entry]) -> str:
    """Return the entries by kind and group, each with its summary; a real system's with its source."""
    lines = []
    for kind, group in dict.fromkeys((row.kind, row.group) for row in rows):
        lines.append(f"{kind}, {group}\n" if group else f"{kind}\n")
        own = [row for row in rows if (row.kind, row.group) == (kind, group)]
        width = max(len(row.name) for row in own)
        told = any(row.gate_class or row.prefix for row in own)
        for row in own:
            asks = f"{row.gate_class or '-':<2}  {row.prefix or '-':<6}  " if told else ""
            lines.append(f"  {row.name:<{width}}  {asks}{one_line(row.summary)}\n")
            if told:
                lines.append(f"  {'':<{width}}  {one_line(row.source)}\n")
    return "".join(lines)


def checks_json(policy: str, checks: Iterable[Check]) -> str:
    """Return one object a check."""
    return "".join(
        json_line({"policy": policy, "check": check.name, "passed": check.passed, "detail": check.detail})
        for check in checks
    )


def checks_text(policy: str, checks: Sequence[Check]) -> str:
    """Return one line a check."""
    lines = [
        f"{'pass' if check.passed else 'FAIL'}  {one_line(f'{check.name}: {check.detail}')}\n"
        for check in checks
    ]
    failed = sum(not check.passed for check in checks)
    verdict = "conforms" if not failed else f"does not conform: {failed} of {len(checks)} checks failed"
    return "".join(lines) + one_line(f"{policy} {verdict}") + "\n"


def _simulated(finding: Finding) -> str:
    if isinstance(finding.simulated, str) or finding.simulated is None:
        return str(finding.simulated)
    if finding.low == finding.high or finding.low is None or finding.high is None:
        return number(finding.simulated)
    return f"{number(finding.simulated)} [{number(finding.low)}, {number(finding.high)}]"


def number(value: object) -> str:
    """Return a number with four digits, tokens whole; nothing for None."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer() and abs(value) < LARGEST_WHOLE:
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3g}"


LARGEST_WHOLE = 1e15
"""Above it, a float no longer holds every whole number."""


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return value


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(one_line(title)),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for place, column in enumerate(columns):
        table.add_column(escape(one_line(column)), overflow="fold", no_wrap=place == 0)
    return table


def _add_row(table: Table, *cells: str) -> None:
    """Add a row of plain words: no markup of rich's, nothing that a terminal would obey."""
    from rich.markup import escape

    table.add_row(*(escape(one_line(cell)) for cell in cells))


def _rendered(table: Table) -> str:
    """Return a rich table as text: colours on a terminal only, never narrower than it can be read."""
    from rich.console import Console

    page = StringIO()
    Console(file=page, width=_width(), force_terminal=_seen(), highlight=False).print(table)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def _seen() -> bool:
    """Say whether what is printed goes to a terminal."""
    import sys

    return sys.stdout is not None and not sys.stdout.closed and sys.stdout.isatty()


def _width() -> int:
    """Return the columns that a table may take."""
    from rich.console import Console

    return max(Console().width, LEAST_WIDTH) if _seen() else WIDTH_OF_A_FILE


LEAST_WIDTH = 80
"""Columns of a table in a terminal that is narrower."""
WIDTH_OF_A_FILE = 150
"""Columns of a table that goes to a file or to another program."""
