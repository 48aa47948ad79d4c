"""The benchmarks: ratios within one process, medians of paired rounds, each beside a count of its work.

`make bench` prints the table; `--quick` takes fewer rounds, `--json` prints a line a case, `--write FILE`
writes the page of the documentation. Exit code 1 says that a target was missed by the whole interval
of a case, or that a case did less work than its time stands for.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from findings import DidLess, Finding

from experiments.runner import usable_cores


class Effort(NamedTuple):
    """How many rounds, and how much in each."""

    rounds: int
    few_rounds: int
    command_rounds: int
    worker_rounds: int
    worker_runs: int
    sweep_runs: int


FULL = Effort(rounds=41, few_rounds=15, command_rounds=15, worker_rounds=7, worker_runs=160, sweep_runs=200)
QUICK = Effort(rounds=11, few_rounds=5, command_rounds=5, worker_rounds=3, worker_runs=40, sweep_runs=40)


def measured(effort: Effort) -> Iterator[Finding]:
    """Measure case after case; imported here, since workers load this script again."""
    import costs
    import scale
    import start
    import turn

    cases: tuple[Callable[[], Finding | list[Finding]], ...] = (
        lambda: turn.against_bare_timeouts(effort.rounds),
        lambda: turn.with_a_mind(effort.rounds),
        lambda: turn.against_short_context(effort.few_rounds),
        lambda: scale.workers_against_bare(effort.worker_rounds, effort.worker_runs),
        lambda: scale.sweep_memory(effort.sweep_runs),
        lambda: start.commands(effort.command_rounds),
        lambda: costs.whole_runs(effort.few_rounds),
        lambda: costs.attempt_a_span(effort.few_rounds),
    )
    for case in cases:
        found = case()
        yield from found if isinstance(found, list) else [found]


# --------------------------------------------------------------------------- words


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


def page(findings: list[Finding], shares: list[tuple[str, float]]) -> str:
    """Return the page of the documentation."""
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
        profile=markdown([[f"`{name}`", f"{share:.0%}"] for name, share in shares], ["function", "own time"]),
    )


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
up and recounting it at its end are left out there and shown below. *Two workers* is throughput:
`run_tasks` with its pool opened anew in each round, results sent back, against two processes forked in
the same round that run half of the same runs each and send nothing. The sweep runs serially in a process
of its own, so that its peak is the peak of everything.

{gaps}
## Beside them, without a target

{informative}
## Where a turn's time goes

{profile}
By own time under `cProfile`, which weighs short functions too heavily. Two of the turn's units are its
two SimPy events, the floor, and between one and two are the spans that the workload makes. The largest
part after that is the four checks, about one each: a gauge is built, the policy is called, and the engine
notes whose call it is, so that a policy's error or silence can be told from the engine's. The bound is
25 and the aim was 15; what is left is spread over many small steps (an account is posted, a row is made,
a price is summed), and none of those is worth clouding its code for.

A rewrite is linear in the spans that it looks at: every span is shown to the policy as a record of its
own, so that a policy cannot reach what is hidden, and a commit renews the order. More than half of the
fixed cost of a run is its manifest, which asks for the versions of what is installed.

`list` starts, as every Typer command with a text argument, by loading pydantic, which `--help` does not
need; the row against an empty command shows what is ours of it.

The resident peak of a sweep hardly moves, but to the letter its memory does grow: the plan is a list with
a record a run, and parts of up to 250 rows wait until they are whole. The first grows with the plan, the
second stops growing at 25,000 runs.
"""


def main() -> int:
    """Measure, print, perhaps write. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a figure to quote")
    parser.add_argument("--json", action="store_true", help="one object a case on stdout")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page of the documentation")
    chosen = parser.parse_args()
    findings = []
    try:
        for finding in measured(QUICK if chosen.quick else FULL):
            findings.append(finding)
            if chosen.json:
                print(json.dumps(dataclasses.asdict(finding) | {"met": finding.met}), flush=True)
            else:
                cells = row_of(finding)
                print(f"{cells[0]}: {cells[3]} x {cells[1]} ({cells[2]}: {cells[4]})", flush=True)
                print(f"    {cells[5]}; {cells[6]}", flush=True)
    except DidLess as fault:
        print(f"did not do its work: {fault}", file=sys.stderr)
        return 1
    if chosen.write is not None:
        import turn

        chosen.write.write_text(page(findings, turn.profile()))
    return int(any(finding.surely_missed for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
