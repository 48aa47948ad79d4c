"""The benchmarks: ratios within one process, medians of paired rounds, each beside a count of its work.

`make bench` prints the table; `--quick` takes fewer rounds, `--json` prints a line a case, `--write FILE`
writes the page of the documentation. Exit code 1 says that a target was missed by the whole interval
of a case, or that a case did less work than its time stands for.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from findings import DidLess, Finding
from page import page, row_of


class Effort(NamedTuple):
    """How many rounds, and how much in each."""

    rounds: int
    few_rounds: int
    command_rounds: int
    worker_rounds: int
    worker_runs: int
    overhead_tasks: int
    short_runs: int
    long_runs: int
    kept_runs: int


FULL = Effort(41, 15, 15, 7, 160, overhead_tasks=1_000, short_runs=100_000, long_runs=1_000, kept_runs=200)
QUICK = Effort(11, 5, 5, 3, 40, overhead_tasks=200, short_runs=2_000, long_runs=40, kept_runs=20)

DRIVER_RUNS = 10_000
"""Short runs that tell what one more costs the driver."""

PROFILED = ("naive", "guarded")
"""Policies whose runs are profiled."""


def measured(effort: Effort) -> Iterator[Finding]:
    """Measure case after case; imported here, since workers load this script again."""
    import costs
    import scale
    import start
    import sweeps
    import turn

    cases: tuple[Callable[[], Finding | list[Finding]], ...] = (
        lambda: turn.against_bare_timeouts(effort.rounds),
        lambda: turn.with_a_mind(effort.rounds),
        lambda: turn.against_short_context(effort.few_rounds),
        lambda: scale.workers_against_bare(effort.worker_rounds, effort.worker_runs),
        lambda: scale.runner_overhead(effort.few_rounds, effort.overhead_tasks),
        lambda: sweeps.memory(effort.short_runs),
        lambda: start.commands(effort.command_rounds),
        lambda: costs.whole_runs(effort.few_rounds),
        lambda: costs.attempt_a_span(effort.few_rounds),
        lambda: scale.rows_overhead(effort.few_rounds),
        lambda: sweeps.driver(min(effort.short_runs, DRIVER_RUNS)),
        lambda: sweeps.long_runs(effort.long_runs, effort.few_rounds),
        lambda: sweeps.kept_turns(effort.kept_runs),
    )
    for case in cases:
        found = case()
        yield from found if isinstance(found, list) else [found]


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
        from profiles import of_a_turn, of_runs

        chosen.write.write_text(page(findings, of_a_turn(), {name: of_runs(name) for name in PROFILED}))
    return int(any(finding.surely_missed for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
