"""One attempt in words: what was seen, estimated, spent and judged, and what was true."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.runner import run_tasks
from experiments.runs import RunTask, execute
from experiments.workers import Failure
from policies import load_policy
from scenarios import Scenario
from simulator import InputError, RunFailed
from simulator.errors import one_line
from simulator.ledger import COMMITTED, RewriteEntry


def explain(
    scenario: Scenario, policy: str, overrides: Mapping[str, object], *, seed: int, number: int, as_json: bool
) -> str:
    """Return attempt `number` (from 1) of one run, as text or as one JSON line; of a skipped run, its reason.

    Raises
    ------
    InputError
        The policy does not load, or the run has fewer attempts.
    RunFailed
        The run could not be finished.
    """
    setting = scenario.setting()
    load_policy(policy, overrides)
    (run,) = run_tasks(execute, [RunTask(setting, policy, seed, overrides=dict(overrides))], workers=0)
    if isinstance(run, Failure):
        if not run.is_skipped:
            raise RunFailed(run.stage, run.reason)
        return _skipped(scenario.name, policy, seed, run, as_json=as_json)
    entries = run.rewrite_rows
    if number > len(entries):
        there = f"1 to {len(entries)}" if entries else "another run; this one has no attempt"
        raise InputError(f"there is no attempt {number}", where="--rewrite", expected=there)
    entry = entries[number - 1]
    if as_json:
        from experiments.reports import json_line

        return json_line(
            {"scenario": scenario.name, "policy": policy, "seed": seed, "rewrite": number, **entry._asdict()}
        )
    title = f"{scenario.name} under {policy}, seed {seed}: attempt {number} of {len(entries)}"
    return "\n".join([one_line(title), "", *told_lines(entry, setting.window)]) + "\n"


def _skipped(scenario: str, policy: str, seed: int, run: Failure, *, as_json: bool) -> str:
    """Return what is said of a run that has no attempts because it was never begun."""
    if not as_json:
        return one_line(f"{scenario} under {policy}, seed {seed}: {run}") + "\n"
    from experiments.reports import json_line

    told = {"outcome": run.stage, "stage": run.stage, "reason": run.reason}
    return json_line({"scenario": scenario, "policy": policy, "seed": seed, **told})


def told_lines(entry: RewriteEntry, window: int) -> list[str]:
    """Return what a ledger entry says, a line a label: seen, chosen, spent, judged, and what was true."""
    whose = f"agent {entry.agent}, " if entry.agent else ""
    lines = [
        f"seen       {whose}turn {entry.turn}, {entry.time_s:.1f} s, at the check point {entry.trigger}: "
        f"{_tokens(entry.tokens_before)} in the window, {entry.occupancy_before_pct:.2f}% of {window:,}",
    ]
    if entry.selected:
        own = f", {entry.own_selected} of them its own records" if entry.own_selected else ""
        lines.append(f"chosen     {entry.selected} spans of {_tokens(entry.selected_tokens)}{own}")
        lines.append(f"estimated  a saving of {_tokens(entry.estimated_saving)}")
    lines.append(
        f"spent      {_tokens(entry.rewrite_cost)} of rationale and {_tokens(entry.measurement_cost)} "
        f"of measurement in the window; {entry.rewrite_seconds:.1f} s"
    )
    lines.append(
        f"judged     {entry.outcome} at {entry.stage}"
        + (f": {one_line(entry.reason)}" if entry.reason else "")
    )
    lines.append(f"believed   net {entry.believed_net:+,} tokens")
    terms = [
        f"{entry.freed:,} freed",
        f"- {entry.rewrite_cost:,} rationale",
        f"- {entry.measurement_cost:,} measurement",
    ]
    lines.append(f"true       net {entry.net:+,} tokens = {' '.join(terms)}")
    lines.append(
        f"after      {_tokens(entry.tokens_after)}, {entry.occupancy_after_pct:.2f}% of the window"
        + _meanwhile(entry)
    )
    lines.extend(_of_the_mind(entry))
    if entry.outcome in COMMITTED and entry.believed_net > 0 >= entry.net:
        lines.append("so         the policy believes that it has gained; the window says that it has lost")
    elif entry.outcome not in COMMITTED:
        lines.append("so         the context is as it was, but for what was spent")
    return lines


def _of_the_mind(entry: RewriteEntry) -> list[str]:
    """Return what the attempt did to references, confidence and constraints, where it did anything."""
    lines = []
    if entry.dangled:
        lines.append(f"broke      {entry.dangled} live references: what they lean on is gone")
    if entry.confidence_before != entry.confidence_after:
        lines.append(
            f"mind       confidence {entry.confidence_before:.3f} before, {entry.confidence_after:.3f} "
            f"after; {entry.constraints_held} constraints have force"
        )
    return lines


def _meanwhile(entry: RewriteEntry) -> str:
    parts = []
    if entry.arrivals_during:
        parts.append(f"{entry.arrivals_during:,} arrived")
    if entry.out_of_band_during:
        parts.append(f"{entry.out_of_band_during:,} were removed out of band")
    return f" (meanwhile {' and '.join(parts)})" if parts else ""


def _tokens(count: int) -> str:
    return f"{count:,} tokens"
