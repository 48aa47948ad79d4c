"""The page of the documentation that the benchmarks write: tables of findings, and what they mean.

In come findings and profiles, out comes Markdown. What is said stands here and nowhere else, since the page
is written anew each time.
"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from importlib import metadata

from findings import Finding
from profiles import Shares

from experiments.runner import usable_cores


def figure(value: float) -> str:
    """Return a number with three digits that mean something.

    >>> figure(16.87), figure(45546.9), figure(1.003)
    ('16.9', '45,500', '1.00')
    """
    if value >= 1000:
        return f"{round(value, -len(str(int(value))) + 3):,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def row_of(finding: Finding) -> list[str]:
    """Return one row of the table."""
    interval = (
        ""
        if finding.low is None or finding.high is None
        else f" [{figure(finding.low)}, {figure(finding.high)}]"
    )
    target = "-" if finding.target is None else f"{finding.sense} {finding.target:g}"
    verdict = {True: "met", False: "not met", None: "-"}[finding.met]
    if not finding.clear:
        verdict += ", but the interval lies on both sides"
    return [
        finding.case,
        finding.against,
        target,
        figure(finding.measured) + interval,
        verdict,
        finding.times or "-",
        finding.work or "-",
    ]


HEADER = [
    "case",
    "in units of",
    "target",
    "measured [95% interval]",
    "verdict",
    "best times",
    "work, counted",
]


def markdown(rows: list[list[str]], header: list[str]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def page(findings: list[Finding], of_a_turn: Shares, of_runs: Mapping[str, Shares]) -> str:
    """Return the page, given where the time of a turn goes, and of runs, by policy."""
    judged = [finding for finding in findings if finding.target is not None]
    others = [finding for finding in findings if finding.target is None]
    missed = [finding for finding in judged if not finding.met]
    gaps = "".join(
        f"- {one.case}: {figure(one.measured)} x {one.against}, wanted {one.sense} {one.target:g}.\n"
        for one in missed
    )
    informative = [[cells[0], cells[1], cells[3], cells[5], cells[6]] for cells in map(row_of, others)]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("simpy", "numpy", "typer"))
    return PAGE.format(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        cores=usable_cores(),
        versions=f"Python {platform.python_version()}, {versions}",
        judged=markdown(list(map(row_of, judged)), HEADER),
        informative=markdown(informative, [HEADER[0], HEADER[1], *HEADER[3:4], *HEADER[5:]]),
        gaps=gaps or "No median missed its target.\n",
        of_a_turn=_shares(of_a_turn),
        of_runs="\n".join(f"{name}:\n\n{_shares(shares)}" for name, shares in of_runs.items()),
    )


def _shares(shares: Shares) -> str:
    return markdown([[f"`{name}`", f"{share:.0%}"] for name, share in shares], ["function", "own time"])


PAGE = """# Benchmarks

<!-- written by benchmarks/run.py; what is written by hand here is lost -->

Measured {date} on a shared virtual machine with {cores} cores, others at work on it ({versions}).
`make bench` measures again, `python benchmarks/run.py --write docs/benchmarks.md` writes this page.

Only ratios within one round are compared: one process measures reference and case by turns, and a row
gives the median over the rounds with an order-statistic interval. The turn and the runs are timed by the
process's own CPU time, workers and commands by the wall clock. The last column was counted in an untimed
run and asserted, so that nothing gets faster by doing less.

## Targets

{judged}
A *benchmark turn* brings 2 spans and passes 4 check points, with ledger, recorder and cognition, an
uncontended provider and no rewrite; the workload makes its spans within the timed turn. Setting the run
up and recounting it at its end are left out there and shown below. *Two workers* is throughput: a sweep's
jobs with the pool opened anew in each round, rows sent back, against two processes forked in the same
round that run half of the same runs each and send nothing. What the *runner* adds is told by tasks that do
nothing, on two workers, from the first tenth on, with chunks as the runner makes them. Each *sweep* is one
of a process of its own: `constant-arrivals` for 3 turns, one policy; its peak is the driver's,
compaction included, and without workers it is the peak of everything.

{gaps}
## Beside them, without a target

{informative}
## Where a turn's time goes

{of_a_turn}
By own time under `cProfile`, which weighs short functions too heavily. Two of the turn's units are its
two SimPy events, the floor, and between one and two are the spans that the workload makes. The largest
part after that is the four checks, about one each: a gauge is built, the policy is called, and the engine
notes whose call it is, so that a policy's error or silence can be told from the engine's. The bound is
25 and the aim was 15; what is left is spread over many small steps (an account is posted, a row is made,
a price is summed), and none of those is worth clouding its code for.

## Where a run's time goes

Ten runs of `rewrite-budget-spiral`, by own time under `cProfile`. The naive agent overflows early; the
guarded one lives 220 turns, and rewrites in every sixth.

{of_runs}
More than four fifths of a guarded run are its rewrites, and those are linear in the spans that they look
at. What was done about the three largest parts, every result left as it was to the last bit:

1. *The view* (`view.look`, and the judgement that goes into it). Every span is shown to the policy as a
   record of its own, so that a policy cannot reach what is hidden; that stays. Draws of judgement are taken
   all at once and not by position, what is dead is known by subgoal and not asked for span by span, and
   marks are one set.
2. *The choice* (`selectors`, `replacements`). Each candidate's saving has to be believed before the best
   can be known; a candidate costs two sums over mostly one item, now without a generator each.
3. *The gates* (`coherence`, `evidence`). Live references were counted twice an attempt, to spare and to
   weigh; they are counted once a view. Constraints are looked for among what may be one.

Together a guarded run takes 16% less time than before, a naive one 7%. A commit renews the order of the
context, once and no longer twice. What is left is flat: no function has a tenth of the time.

`list` starts, as every Typer command with a text argument, by loading pydantic, which `--help` does not
need; the row against an empty command shows what is ours of it.

What a sweep keeps in memory beside its libraries are a few numbers a run: whether it is done, and where its
line stands. [scale.md](scale.md) says what follows for a sweep of a million runs.
"""
