"""Measures: named responses of one run that no single column gives. The only home of their definitions.

Each takes a `Run` and returns one number, or None where the run does not exercise it. All stand on
the truth: ledger entries, turn and obedience rows, never on what the policy believed; what is said of
confidence and quotes is said of the agent's belief, as its definition tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from scenarios.bill_measures import (
    own_input,
    passes_in_requests,
    usd_a_turn,
    usd_an_agent,
    usd_per_million_input,
)
from scenarios.outcome_measures import (
    billed,
    dead,
    payback_calls,
    repaid_share,
    stopped,
    waste_share,
    waste_usd,
)
from scenarios.record_measures import (
    active,
    coherence_cost,
    compliance_gap,
    compression,
    confidence_and_size,
    confidence_change,
    confidence_rises,
    constraints_kept,
    constraints_lost,
    delay_to_violation,
    derived_compliance,
    fresh_compliance,
    gridlock_turn,
    inherited_compliance,
    inherited_quotes,
    net_after_rederivation,
    share_of_content,
    share_overflowed,
    sound_turns,
    wrong,
)
from scenarios.taking import Number, committed, mean, of_one_agent, per_hundred_turns
from simulator.ledger import Outcome, RewriteEntry
from simulator.simulation import Run

YES_OR_NO = "0 or 1"
"""Unit of a measure whose mean over runs is a share."""


class Measure(NamedTuple):
    """One response: its unit, its definition, and how it is taken from a run."""

    unit: str
    definition: str
    take: Callable[[Run], Number]


SIGNED = frozenset({"compliance_gap", "smallest_own_share_step", "quality_change"})
"""Measures that are shares or numbers of one by their unit, and may be below 0 all the same."""


def possible(name: str) -> tuple[float, float]:
    """Return the least and the most that a measure can be: a share 0 to 1, a count or dollars 0 and up.

    >>> possible("share_overflowed"), possible("mean_rise_pct")
    ((0.0, 1.0), (-inf, inf))
    """
    unit = MEASURES[name].unit
    if name in SIGNED:
        return -math.inf, math.inf
    if unit.startswith("share of") or unit == YES_OR_NO:
        return 0.0, 1.0
    return (0.0, math.inf) if unit == "count" or unit.startswith("$") else (-math.inf, math.inf)


def _overflowed(run: Run) -> Number:
    return float(run.outcome == "overflow")


@of_one_agent
def _mean_rise(run: Run) -> Number:
    """Mean of -net as points of the window, over committed rewrites from the second on."""
    return mean([_points(entry, -entry.net) for entry in committed(run)[1:]])


@of_one_agent
def _acceleration(run: Run) -> Number:
    """Rise of the last committed rewrite minus rise of the second, points."""
    rises = [_points(entry, -entry.net) for entry in committed(run)[1:]]
    return rises[-1] - rises[0] if len(rises) > 1 else None


def _points(entry: RewriteEntry, tokens: int) -> float:
    return 100 * tokens / entry.window


def _after_commit(run: Run) -> Number:
    return mean([entry.occupancy_after_pct for entry in committed(run)])


@of_one_agent
def _maxima_between_commits(run: Run) -> Number:
    """Mean over the gaps between commits of the highest turn-end occupancy in the gap."""
    turns = sorted({entry.turn for entry in committed(run)})
    occupancy = {row.turn: row.occupancy_pct for row in run.turn_rows}
    maxima = [
        max(inside)
        for first, last in pairwise(turns)
        if (inside := [occupancy[turn] for turn in range(first, last) if turn in occupancy])
    ]
    return mean(maxima)


def _share_refused(run: Run) -> Number:
    return mean([float(entry.outcome == Outcome.REFUSED) for entry in run.rewrite_rows])


def _commits_without_gain(run: Run) -> Number:
    return float(sum(entry.net <= 0 for entry in committed(run)))


def _share_without_gain(run: Run) -> Number:
    return mean([float(entry.net <= 0) for entry in committed(run)])


def _planned(run: Run) -> list[RewriteEntry]:
    """Return the attempts that came to choose spans."""
    return [entry for entry in run.rewrite_rows if entry.selected]


def _own_selected(run: Run) -> Number:
    return mean([float(entry.own_selected > 0) for entry in _planned(run)])


@of_one_agent
def _own_selected_later(run: Run) -> Number:
    """Share of attempts from the second on whose plan holds own records."""
    return mean([float(entry.own_selected > 0) for entry in _planned(run)[1:]])


def _own_share(entry: RewriteEntry) -> float:
    return entry.own_selected_tokens / entry.selected_tokens if entry.selected_tokens else 0.0


def _steps(values: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(values)]


@of_one_agent
def _own_share_growth(run: Run) -> Number:
    """Smallest step of the own records' share of the selected tokens, attempt to attempt."""
    return min(_steps([_own_share(entry) for entry in run.rewrite_rows]), default=None)


@of_one_agent
def _quality_change(run: Run) -> Number:
    rows = run.rewrite_rows
    return rows[-1].decision_quality - rows[0].decision_quality if len(rows) > 1 else None


@of_one_agent
def _largest_quality_step(run: Run) -> Number:
    """Largest step of decision quality between attempts from the second on: below 0 falls at each."""
    return max(_steps([entry.decision_quality for entry in run.rewrite_rows[1:]]), default=None)


def _rationales(run: Run) -> list[float]:
    return [float(entry.rewrite_cost) for entry in run.rewrite_rows if entry.rewrite_cost]


@of_one_agent
def _rationale_growth(run: Run) -> Number:
    costs = _rationales(run)
    return costs[-1] - costs[0] if len(costs) > 1 else None


@of_one_agent
def _smallest_rationale_step(run: Run) -> Number:
    """Smallest step of the rationale's length between attempts from the second on: above 0 grows at each."""
    return min(_steps(_rationales(run)[1:]), default=None)


def _rewrite_seconds(run: Run) -> Number:
    return mean([entry.rewrite_seconds for entry in run.rewrite_rows])


def _estimate_error(run: Run) -> Number:
    """Largest absolute difference of estimated and realised saving over commits, tokens."""
    return max((float(abs(entry.estimated_saving - entry.freed)) for entry in committed(run)), default=None)


def _summary_share(run: Run) -> Number:
    """Largest share that summaries keep of what they replace, over commits."""
    shares = [
        entry.summaries_tokens / entry.selected_tokens for entry in committed(run) if entry.selected_tokens
    ]
    return max(shares, default=None)


def _measured_error(run: Run) -> Number:
    """Largest absolute difference of measured and true count after an attempt, tokens."""
    return max((float(abs(entry.measured_error)) for entry in run.rewrite_rows), default=None)


def _net_per_attempt(run: Run) -> Number:
    return mean([float(entry.net) for entry in run.rewrite_rows])


LESSONS = 3
"""Attempts after which a policy that learns has learned how well things compress."""


@of_one_agent
def _net_once_learned(run: Run) -> Number:
    """Sum of net over the attempts after the third: what is spent once there is evidence."""
    return float(sum(entry.net for entry in run.rewrite_rows[LESSONS:])) if run.rewrite_rows else None


@of_one_agent
def _turns_to_overflow(run: Run) -> Number:
    """Return the turns from the first attempt to the end of a run that overflowed."""
    if run.outcome != "overflow" or not run.rewrite_rows:
        return None
    return float(len(run.turn_rows) - run.rewrite_rows[0].turn)


@of_one_agent
def _triggered_each_turn(run: Run) -> Number:
    """Share of turns from the first attempt on in which an attempt started."""
    if not run.rewrite_rows:
        return None
    first = run.rewrite_rows[0].turn
    return len({entry.turn for entry in run.rewrite_rows}) / (len(run.turn_rows) - first + 1)


def _cost_slope(run: Run) -> Number:
    """Least-squares slope of the cost of a committed rewrite on occupancy before it, tokens a point."""
    xs = [entry.occupancy_before_pct for entry in committed(run)]
    ys = [float(entry.rewrite_cost + entry.measurement_cost) for entry in committed(run)]
    middle_x, middle_y = mean(xs), mean(ys)
    if middle_x is None or middle_y is None:
        return None
    spread = sum((x - middle_x) ** 2 for x in xs)
    if spread == 0:
        return None
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread


@of_one_agent
def _arrivals_per_turn(run: Run) -> Number:
    """Mean tokens that the world brings a turn, from the first attempt on."""
    if not run.rewrite_rows:
        return None
    first = run.rewrite_rows[0].turn
    return mean([float(row.arrived_tokens) for row in run.turn_rows if row.turn >= first])


MEASURES: dict[str, Measure] = {
    "confidence_rises": Measure(
        "share of commits", "committed rewrites at which confidence rose", confidence_rises
    ),
    "confidence_change": Measure(
        "share", "mean change of confidence at a committed rewrite", confidence_change
    ),
    "confidence_and_size": Measure(
        "1", "correlation of confidence and size over turns from the first attempt on", confidence_and_size
    ),
    "constraints_lost": Measure("count", "constraints stated minus those with force", constraints_lost),
    "constraints_kept": Measure(
        "share of constraints", "constraints with force at the end", constraints_kept
    ),
    "delay_to_violation": Measure(
        "turns", "from the first loss of a constraint to the first violation", delay_to_violation
    ),
    "scope": Measure("share of context", "mean share that a committed rewrite touches", share_of_content),
    "net_after_rederivation_tokens": Measure(
        "tokens", "sum of net over attempts minus tokens derived again", net_after_rederivation
    ),
    "compression": Measure("share of context", "mean share that a committed rewrite takes off", compression),
    "coherence_cost": Measure("checks", "coherence cost after the last attempt", coherence_cost),
    "fresh_compliance": Measure(
        "share of steps", "obeyed, under own instructions within their epoch", fresh_compliance
    ),
    "inherited_compliance": Measure(
        "share of steps", "obeyed, under own instructions past their epoch", inherited_compliance
    ),
    "inherited_quotes": Measure(
        "share of steps", "quoted as kept, under own instructions past their epoch", inherited_quotes
    ),
    "derived_compliance": Measure(
        "share of steps", "obeyed, under own instructions derived anew", derived_compliance
    ),
    "compliance_gap": Measure("share of steps", "reported minus actual compliance", compliance_gap),
    "active_instructions": Measure("count", "mean instructions in force at a step", active),
    "violations_per_100_turns": Measure(
        "count", "constraint violations for each 100 turns", per_hundred_turns("constraint_violations")
    ),
    "dangled_per_100_turns": Measure(
        "count", "references broken at commits for each 100 turns", per_hundred_turns("dangled_at_commit")
    ),
    "stale_per_100_turns": Measure(
        "count", "stale obedience for each 100 turns", per_hundred_turns("stale_obedience")
    ),
    "gridlock_turn": Measure(
        "turn", "first attempt after the last commit: from it on, nothing was admissible", gridlock_turn
    ),
    "share_overflowed": Measure(
        "share of agents", "agents of a fleet whose request no longer fitted", share_overflowed
    ),
    "sound_turns": Measure(
        "turns",
        "turns before the first constraint violation, broken reference or stale step; all that were lived "
        "where nothing went wrong",
        sound_turns,
    ),
    "wrong": Measure(
        "count", "constraint violations, references broken at the end and stale obedience", wrong
    ),
    "dead": Measure(YES_OR_NO, "the run ended where nothing can ever be sent again", dead),
    "stopped": Measure(
        YES_OR_NO, "the run ended early: it overflowed, was dead, or its policy gave up", stopped
    ),
    "waste_usd": Measure(
        "$", "of attempts with net <= 0: their requests, and the cache that they broke", waste_usd
    ),
    "waste_share": Measure(
        "share of dollars of attempts", "those of attempts with net <= 0 in those of all", waste_share
    ),
    "repaid_share": Measure(
        "share of commits",
        "rewrites earned back before the next one or the end, at the price of a cache read",
        repaid_share,
    ),
    "payback_calls": Measure(
        "calls",
        "median until a committed rewrite is earned back, at the price of a cache read",
        payback_calls,
    ),
    "billed_tokens": Measure("tokens", "on the bill: input, cache reads and writes, and output", billed),
    "overflowed": Measure(YES_OR_NO, "the run ended because a request no longer fitted", _overflowed),
    "mean_rise_pct": Measure("points", "mean of -net over committed rewrites from the second on", _mean_rise),
    "acceleration_pct": Measure(
        "points", "rise of the last committed rewrite minus that of the second", _acceleration
    ),
    "after_commit_pct": Measure(
        "% of window", "mean occupancy right after a committed rewrite", _after_commit
    ),
    "maxima_between_commits_pct": Measure(
        "% of window",
        "mean over gaps between commits of the highest turn-end occupancy",
        _maxima_between_commits,
    ),
    "share_refused": Measure("share of attempts", "attempts refused at admit or gate", _share_refused),
    "commits_without_gain": Measure("count", "committed rewrites with net <= 0", _commits_without_gain),
    "share_without_gain": Measure(
        "share of commits", "committed rewrites with net <= 0", _share_without_gain
    ),
    "share_own_selected": Measure("share of attempts", "plans that hold own records", _own_selected),
    "share_own_selected_later": Measure(
        "share of attempts", "plans from the second on that hold own records", _own_selected_later
    ),
    "smallest_own_share_step": Measure(
        "share of tokens",
        "smallest step, attempt to attempt, of the own records' share of what is selected",
        _own_share_growth,
    ),
    "quality_change": Measure(
        "1", "decision quality at the last attempt minus at the first", _quality_change
    ),
    "largest_quality_step": Measure(
        "1", "largest step of decision quality between attempts from the second on", _largest_quality_step
    ),
    "rationale_growth_tokens": Measure(
        "tokens", "rationale of the last attempt minus that of the first", _rationale_growth
    ),
    "smallest_rationale_step_tokens": Measure(
        "tokens",
        "smallest step of the rationale's length between attempts from the second on",
        _smallest_rationale_step,
    ),
    "rewrite_seconds": Measure("s", "mean time of an attempt", _rewrite_seconds),
    "estimate_error_tokens": Measure("tokens", "largest |estimated - freed| over commits", _estimate_error),
    "summary_share": Measure(
        "share of tokens", "largest share that summaries keep, over commits", _summary_share
    ),
    "measured_error_tokens": Measure(
        "tokens", "largest |measured - true count| after an attempt", _measured_error
    ),
    "net_per_attempt_tokens": Measure("tokens", "mean net of an attempt", _net_per_attempt),
    "net_once_learned_tokens": Measure(
        "tokens", "sum of net over attempts after the third", _net_once_learned
    ),
    "turns_to_overflow": Measure("turns", "from the first attempt to the overflow", _turns_to_overflow),
    "share_of_turns_triggered": Measure(
        "share of turns", "turns from the first attempt on in which an attempt started", _triggered_each_turn
    ),
    "arrivals_per_turn_tokens": Measure(
        "tokens a turn",
        "mean tokens that the world brings a turn, from the first attempt on",
        _arrivals_per_turn,
    ),
    "cost_slope": Measure(
        "tokens a point", "slope of the cost of a committed rewrite on occupancy before it", _cost_slope
    ),
    "own_input_tokens": Measure(
        "tokens", "input tokens of an agent's own requests; of a fleet, the mean over its agents", own_input
    ),
    "usd_an_agent": Measure("$", "dollars of a run; of a fleet, the mean over its agents", usd_an_agent),
    "usd_a_turn": Measure("$", "dollars for each turn, rewrites among them", usd_a_turn),
    "usd_per_million_input": Measure(
        "$/M tokens",
        "what input of the agent's own requests has cost, cache reads and writes among it, output not",
        usd_per_million_input,
    ),
    "passes_in_requests": Measure(
        "share of requests", "committed rewrites among these and the agent's own requests", passes_in_requests
    ),
}
"""All registered measures, by name."""


def is_yes_or_no(response: str) -> bool:
    """Say whether a response is 0 or 1, so that its means are shares.

    >>> is_yes_or_no("overflowed"), is_yes_or_no("turns")
    (True, False)
    """
    return response in MEASURES and MEASURES[response].unit == YES_OR_NO
