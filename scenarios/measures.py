"""Measures: named responses of one run that no single column gives. The only home of their definitions.

Each takes a `Run` and returns one number, or None where the run does not exercise it. All stand on
the truth: ledger entries, turn and obedience rows, never on what the policy believed; what is said of
confidence and quotes is said of the agent's belief, as its definition tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import NamedTuple

from simulator.ledger import COMMITTED, Outcome, RewriteEntry
from simulator.recorder import ObedienceRow
from simulator.simulation import Run

Number = float | None


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
    """Return the least and the most that a measure can be: a share 0 to 1, a count 0 and up.

    >>> possible("share_overflowed"), possible("mean_rise_pct")
    ((0.0, 1.0), (-inf, inf))
    """
    unit = MEASURES[name].unit
    if name in SIGNED:
        return -math.inf, math.inf
    if unit.startswith("share of") or unit == YES_OR_NO:
        return 0.0, 1.0
    return (0.0, math.inf) if unit == "count" else (-math.inf, math.inf)


def _of_one_agent(take: Callable[[Run], Number]) -> Callable[[Run], Number]:
    """Make a measure that follows one history: of a fleet, which has several, it is None."""

    @wraps(take)
    def taken(run: Run) -> Number:
        return None if any(row.agent for row in run.turn_rows) else take(run)

    return taken


def _committed(run: Run) -> list[RewriteEntry]:
    return [entry for entry in run.rewrite_rows if entry.outcome in COMMITTED]


def _mean(values: Sequence[float]) -> Number:
    return sum(values) / len(values) if values else None


def _overflowed(run: Run) -> Number:
    return float(run.outcome == "overflow")


@_of_one_agent
def _mean_rise(run: Run) -> Number:
    """Mean of -net as points of the window, over committed rewrites from the second on."""
    return _mean([_points(entry, -entry.net) for entry in _committed(run)[1:]])


@_of_one_agent
def _acceleration(run: Run) -> Number:
    """Rise of the last committed rewrite minus rise of the second, points."""
    rises = [_points(entry, -entry.net) for entry in _committed(run)[1:]]
    return rises[-1] - rises[0] if len(rises) > 1 else None


def _points(entry: RewriteEntry, tokens: int) -> float:
    return 100 * tokens / entry.window


def _after_commit(run: Run) -> Number:
    return _mean([entry.occupancy_after_pct for entry in _committed(run)])


@_of_one_agent
def _maxima_between_commits(run: Run) -> Number:
    """Mean over the gaps between commits of the highest turn-end occupancy in the gap."""
    turns = sorted({entry.turn for entry in _committed(run)})
    occupancy = {row.turn: row.occupancy_pct for row in run.turn_rows}
    maxima = [
        max(inside)
        for first, last in pairwise(turns)
        if (inside := [occupancy[turn] for turn in range(first, last) if turn in occupancy])
    ]
    return _mean(maxima)


def _share_refused(run: Run) -> Number:
    return _mean([float(entry.outcome == Outcome.REFUSED) for entry in run.rewrite_rows])


def _commits_without_gain(run: Run) -> Number:
    return float(sum(entry.net <= 0 for entry in _committed(run)))


def _share_without_gain(run: Run) -> Number:
    return _mean([float(entry.net <= 0) for entry in _committed(run)])


def _planned(run: Run) -> list[RewriteEntry]:
    """Return the attempts that came to choose spans."""
    return [entry for entry in run.rewrite_rows if entry.selected]


def _own_selected(run: Run) -> Number:
    return _mean([float(entry.own_selected > 0) for entry in _planned(run)])


@_of_one_agent
def _own_selected_later(run: Run) -> Number:
    """Share of attempts from the second on whose plan holds own records."""
    return _mean([float(entry.own_selected > 0) for entry in _planned(run)[1:]])


def _own_share(entry: RewriteEntry) -> float:
    return entry.own_selected_tokens / entry.selected_tokens if entry.selected_tokens else 0.0


def _steps(values: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(values)]


@_of_one_agent
def _own_share_growth(run: Run) -> Number:
    """Smallest step of the own records' share of the selected tokens, attempt to attempt."""
    return min(_steps([_own_share(entry) for entry in run.rewrite_rows]), default=None)


@_of_one_agent
def _quality_change(run: Run) -> Number:
    rows = run.rewrite_rows
    return rows[-1].decision_quality - rows[0].decision_quality if len(rows) > 1 else None


@_of_one_agent
def _largest_quality_step(run: Run) -> Number:
    """Largest step of decision quality between attempts from the second on: below 0 falls at each."""
    return max(_steps([entry.decision_quality for entry in run.rewrite_rows[1:]]), default=None)


def _rationales(run: Run) -> list[float]:
    return [float(entry.rewrite_cost) for entry in run.rewrite_rows if entry.rewrite_cost]


@_of_one_agent
def _rationale_growth(run: Run) -> Number:
    costs = _rationales(run)
    return costs[-1] - costs[0] if len(costs) > 1 else None


@_of_one_agent
def _smallest_rationale_step(run: Run) -> Number:
    """Smallest step of the rationale's length between attempts from the second on: above 0 grows at each."""
    return min(_steps(_rationales(run)[1:]), default=None)


def _rewrite_seconds(run: Run) -> Number:
    return _mean([entry.rewrite_seconds for entry in run.rewrite_rows])


def _estimate_error(run: Run) -> Number:
    """Largest absolute difference of estimated and realised saving over commits, tokens."""
    return max((float(abs(entry.estimated_saving - entry.freed)) for entry in _committed(run)), default=None)


def _summary_share(run: Run) -> Number:
    """Largest share that summaries keep of what they replace, over commits."""
    shares = [
        entry.summaries_tokens / entry.selected_tokens for entry in _committed(run) if entry.selected_tokens
    ]
    return max(shares, default=None)


def _measured_error(run: Run) -> Number:
    """Largest absolute difference of measured and true count after an attempt, tokens."""
    return max((float(abs(entry.measured_error)) for entry in run.rewrite_rows), default=None)


def _net_per_attempt(run: Run) -> Number:
    return _mean([float(entry.net) for entry in run.rewrite_rows])


LESSONS = 3
"""Attempts after which a policy that learns has learned how well things compress."""


@_of_one_agent
def _net_once_learned(run: Run) -> Number:
    """Sum of net over the attempts after the third: what is spent once there is evidence."""
    return float(sum(entry.net for entry in run.rewrite_rows[LESSONS:])) if run.rewrite_rows else None


@_of_one_agent
def _turns_to_overflow(run: Run) -> Number:
    """Return the turns from the first attempt to the end of a run that overflowed."""
    if run.outcome != "overflow" or not run.rewrite_rows:
        return None
    return float(len(run.turn_rows) - run.rewrite_rows[0].turn)


@_of_one_agent
def _triggered_each_turn(run: Run) -> Number:
    """Share of turns from the first attempt on in which an attempt started."""
    if not run.rewrite_rows:
        return None
    first = run.rewrite_rows[0].turn
    return len({entry.turn for entry in run.rewrite_rows}) / (len(run.turn_rows) - first + 1)


def _cost_slope(run: Run) -> Number:
    """Least-squares slope of the cost of a committed rewrite on occupancy before it, tokens a point."""
    xs = [entry.occupancy_before_pct for entry in _committed(run)]
    ys = [float(entry.rewrite_cost + entry.measurement_cost) for entry in _committed(run)]
    middle_x, middle_y = _mean(xs), _mean(ys)
    if middle_x is None or middle_y is None:
        return None
    spread = sum((x - middle_x) ** 2 for x in xs)
    if spread == 0:
        return None
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread


@_of_one_agent
def _arrivals_per_turn(run: Run) -> Number:
    """Mean tokens that the world brings a turn, from the first attempt on."""
    if not run.rewrite_rows:
        return None
    first = run.rewrite_rows[0].turn
    return _mean([float(row.arrived_tokens) for row in run.turn_rows if row.turn >= first])


# --------------------------------------------------------------------------- evidence (record 002)


def _confidence_rises(run: Run) -> Number:
    return _mean([float(entry.confidence_after > entry.confidence_before) for entry in _committed(run)])


def _confidence_change(run: Run) -> Number:
    return _mean([entry.confidence_after - entry.confidence_before for entry in _committed(run)])


@_of_one_agent
def _confidence_and_size(run: Run) -> Number:
    """Correlation of confidence and size over turns, from the first attempt on."""
    if not run.rewrite_rows:
        return None
    rows = [row for row in run.turn_rows if row.turn >= run.rewrite_rows[0].turn]
    xs, ys = [float(row.tokens) for row in rows], [row.confidence for row in rows]
    middle_x, middle_y = _mean(xs), _mean(ys)
    if middle_x is None or middle_y is None or min(xs) == max(xs) or min(ys) == max(ys):
        return None
    spread = sum((x - middle_x) ** 2 for x in xs) * sum((y - middle_y) ** 2 for y in ys)
    return float(sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread**0.5)


def _constraints_lost(run: Run) -> Number:
    total, held = run.summary["constraints_total"], run.summary["constraints_held"]
    return float(total - held) if isinstance(total, int) and isinstance(held, int) else None


def _constraints_kept(run: Run) -> Number:
    total, held = run.summary["constraints_total"], run.summary["constraints_held"]
    return held / total if isinstance(total, int) and isinstance(held, int) else None


@_of_one_agent
def _delay_to_violation(run: Run) -> Number:
    """Count the turns from the first loss of a constraint to the first violation."""
    violated = next((row.turn for row in run.event_rows if row.kind == "violation"), None)
    most = 0
    lost = None
    for row in run.turn_rows:
        most = max(most, row.constraints_held)
        if row.constraints_held < most:
            lost = row.turn
            break
    return float(violated - lost) if violated is not None and lost is not None else None


def _share_of_content(run: Run) -> Number:
    """Mean share of the context that a committed rewrite touches: its scope."""
    return _mean([entry.selected_tokens / entry.tokens_before for entry in _committed(run)])


# --------------------------------------------------------------------------- coherence (record 003)


def _net_after_rederivation(run: Run) -> Number:
    """Return what all attempts freed, minus their cost, minus what was derived again."""
    spent = run.summary["rederivation_tokens"]
    return float(sum(entry.net for entry in run.rewrite_rows)) - (spent if isinstance(spent, int) else 0)


def _compression(run: Run) -> Number:
    """Mean share that committed rewrites took off the context."""
    return _mean([entry.freed / entry.tokens_before for entry in _committed(run)])


@_of_one_agent
def _coherence_cost(run: Run) -> Number:
    return run.rewrite_rows[-1].coherence_cost if run.rewrite_rows else None


# --------------------------------------------------------------------------- composition


def _per_hundred_turns(key: str) -> Callable[[Run], Number]:
    """Return a measure: a count of the summary for each hundred turns that were lived through."""

    def rate(run: Run) -> Number:
        count = run.summary[key]
        return 100 * count / len(run.turn_rows) if isinstance(count, int) and run.turn_rows else None

    return rate


@_of_one_agent
def _gridlock_turn(run: Run) -> Number:
    """Return the turn of the first attempt after the last commit, None where the last one committed."""
    after: Number = None
    for entry in run.rewrite_rows:
        if entry.outcome in COMMITTED:
            after = None
        elif after is None:
            after = float(entry.turn)
    return after


def _share_overflowed(run: Run) -> Number:
    overflowed = run.summary["agents_overflowed"]
    agents = 1 + max((row.agent for row in run.turn_rows), default=0)
    return overflowed / agents if isinstance(overflowed, int) else None


# --------------------------------------------------------------------------- binding (record 004)


def _obeyed(rows: Sequence[ObedienceRow]) -> Number:
    return _mean([float(row.obeyed) for row in rows])


def _own(run: Run) -> list[ObedienceRow]:
    return [row for row in run.obedience_rows if not row.outside]


def _fresh_compliance(run: Run) -> Number:
    return _obeyed([row for row in _own(run) if not row.changes])


def _inherited_compliance(run: Run) -> Number:
    return _obeyed([row for row in _own(run) if row.changes])


def _inherited_quotes(run: Run) -> Number:
    return _mean([float(row.quoted) for row in _own(run) if row.changes])


def _derived_compliance(run: Run) -> Number:
    return _obeyed([row for row in _own(run) if row.derivations and not row.changes])


def _compliance_gap(run: Run) -> Number:
    reported, actual = run.summary["reported_compliance"], run.summary["actual_compliance"]
    return reported - actual if isinstance(reported, float) and isinstance(actual, float) else None


def _active(run: Run) -> Number:
    return _mean([float(row.active) for row in run.obedience_rows])


def _wrong(run: Run) -> Number:
    """Constraint violations, broken references and stale obedience: what is wrong, not what is wasted."""
    keys = ("constraint_violations", "dangling_references", "stale_obedience")
    counts = [run.summary[key] for key in keys]
    known = [count for count in counts if isinstance(count, int)]
    return float(sum(known)) if known else None


MEASURES: dict[str, Measure] = {
    "confidence_rises": Measure(
        "share of commits", "committed rewrites at which confidence rose", _confidence_rises
    ),
    "confidence_change": Measure(
        "share", "mean change of confidence at a committed rewrite", _confidence_change
    ),
    "confidence_and_size": Measure(
        "1", "correlation of confidence and size over turns from the first attempt on", _confidence_and_size
    ),
    "constraints_lost": Measure("count", "constraints stated minus those with force", _constraints_lost),
    "constraints_kept": Measure(
        "share of constraints", "constraints with force at the end", _constraints_kept
    ),
    "delay_to_violation": Measure(
        "turns", "from the first loss of a constraint to the first violation", _delay_to_violation
    ),
    "scope": Measure("share of context", "mean share that a committed rewrite touches", _share_of_content),
    "net_after_rederivation_tokens": Measure(
        "tokens", "sum of net over attempts minus tokens derived again", _net_after_rederivation
    ),
    "compression": Measure("share of context", "mean share that a committed rewrite takes off", _compression),
    "coherence_cost": Measure("checks", "coherence cost after the last attempt", _coherence_cost),
    "fresh_compliance": Measure(
        "share of steps", "obeyed, under own instructions within their epoch", _fresh_compliance
    ),
    "inherited_compliance": Measure(
        "share of steps", "obeyed, under own instructions past their epoch", _inherited_compliance
    ),
    "inherited_quotes": Measure(
        "share of steps", "quoted as kept, under own instructions past their epoch", _inherited_quotes
    ),
    "derived_compliance": Measure(
        "share of steps", "obeyed, under own instructions derived anew", _derived_compliance
    ),
    "compliance_gap": Measure("share of steps", "reported minus actual compliance", _compliance_gap),
    "active_instructions": Measure("count", "mean instructions in force at a step", _active),
    "violations_per_100_turns": Measure(
        "count", "constraint violations for each 100 turns", _per_hundred_turns("constraint_violations")
    ),
    "dangled_per_100_turns": Measure(
        "count", "references broken at commits for each 100 turns", _per_hundred_turns("dangled_at_commit")
    ),
    "stale_per_100_turns": Measure(
        "count", "stale obedience for each 100 turns", _per_hundred_turns("stale_obedience")
    ),
    "gridlock_turn": Measure(
        "turn", "first attempt after the last commit: from it on, nothing was admissible", _gridlock_turn
    ),
    "share_overflowed": Measure(
        "share of agents", "agents of a fleet whose request no longer fitted", _share_overflowed
    ),
    "wrong": Measure(
        "count", "constraint violations, references broken at the end and stale obedience", _wrong
    ),
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
}
"""All registered measures, by name."""
