"""Measures of records 002, 003 and 004, and of what the gates make of each other, in that order.

Evidence, coherence and binding are counted from the truth; what is said of confidence and of quotes is
said of the agent's belief, as the definitions in `measures` tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.taking import Number, committed, mean, of_one_agent
from simulator.ledger import COMMITTED
from simulator.recorder import ObedienceRow
from simulator.simulation import Run
from simulator.summary import is_stale

# --------------------------------------------------------------------------- evidence (record 002)


def confidence_rises(run: Run) -> Number:
    """Return the share of commits at which confidence rose."""
    return mean([float(entry.confidence_after > entry.confidence_before) for entry in committed(run)])


def confidence_change(run: Run) -> Number:
    """Return the mean change of confidence at a commit."""
    return mean([entry.confidence_after - entry.confidence_before for entry in committed(run)])


@of_one_agent
def confidence_and_size(run: Run) -> Number:
    """Correlation of confidence and size over turns, from the first attempt on."""
    if not run.rewrite_rows:
        return None
    rows = [row for row in run.turn_rows if row.turn >= run.rewrite_rows[0].turn]
    xs, ys = [float(row.tokens) for row in rows], [row.confidence for row in rows]
    middle_x, middle_y = mean(xs), mean(ys)
    if middle_x is None or middle_y is None or min(xs) == max(xs) or min(ys) == max(ys):
        return None
    spread = sum((x - middle_x) ** 2 for x in xs) * sum((y - middle_y) ** 2 for y in ys)
    return float(sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread**0.5)


def constraints_lost(run: Run) -> Number:
    """Return the constraints stated minus those that have force at the end."""
    total, held = run.summary["constraints_total"], run.summary["constraints_held"]
    return float(total - held) if isinstance(total, int) and isinstance(held, int) else None


def constraints_kept(run: Run) -> Number:
    """Return the share of constraints that have force at the end."""
    total, held = run.summary["constraints_total"], run.summary["constraints_held"]
    return held / total if isinstance(total, int) and isinstance(held, int) else None


@of_one_agent
def delay_to_violation(run: Run) -> Number:
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


def share_of_content(run: Run) -> Number:
    """Mean share of the context that a committed rewrite touches: its scope."""
    return mean([entry.selected_tokens / entry.tokens_before for entry in committed(run)])


# --------------------------------------------------------------------------- coherence (record 003)


def net_after_rederivation(run: Run) -> Number:
    """Return what all attempts freed, minus their cost, minus what was derived again."""
    spent = run.summary["rederivation_tokens"]
    return float(sum(entry.net for entry in run.rewrite_rows)) - (spent if isinstance(spent, int) else 0)


def compression(run: Run) -> Number:
    """Mean share that committed rewrites took off the context."""
    return mean([entry.freed / entry.tokens_before for entry in committed(run)])


@of_one_agent
def coherence_cost(run: Run) -> Number:
    """Return the coherence cost after the last attempt, checks."""
    return run.rewrite_rows[-1].coherence_cost if run.rewrite_rows else None


# --------------------------------------------------------------------------- composition


@of_one_agent
def gridlock_turn(run: Run) -> Number:
    """Return the turn of the first attempt after the last commit, None where the last one committed."""
    after: Number = None
    for entry in run.rewrite_rows:
        if entry.outcome in COMMITTED:
            after = None
        elif after is None:
            after = float(entry.turn)
    return after


def share_overflowed(run: Run) -> Number:
    """Return the share of a fleet whose request no longer fitted."""
    overflowed = run.summary["agents_overflowed"]
    agents = 1 + max((row.agent for row in run.turn_rows), default=0)
    return overflowed / agents if isinstance(overflowed, int) else None


# --------------------------------------------------------------------------- binding (record 004)


def obeyed(rows: Sequence[ObedienceRow]) -> Number:
    """Return the share of rows that were obeyed."""
    return mean([float(row.obeyed) for row in rows])


def own(run: Run) -> list[ObedienceRow]:
    """Return the rows under instructions that the agent wrote itself."""
    return [row for row in run.obedience_rows if not row.outside]


def fresh_compliance(run: Run) -> Number:
    """Return the share obeyed under own instructions within their epoch."""
    return obeyed([row for row in own(run) if not row.changes])


def inherited_compliance(run: Run) -> Number:
    """Return the share obeyed under own instructions past their epoch."""
    return obeyed([row for row in own(run) if row.changes])


def inherited_quotes(run: Run) -> Number:
    """Return the share quoted as kept under own instructions past their epoch."""
    return mean([float(row.quoted) for row in own(run) if row.changes])


def derived_compliance(run: Run) -> Number:
    """Return the share obeyed under own instructions that were derived anew."""
    return obeyed([row for row in own(run) if row.derivations and not row.changes])


def compliance_gap(run: Run) -> Number:
    """Return reported minus actual compliance."""
    reported, actual = run.summary["reported_compliance"], run.summary["actual_compliance"]
    return reported - actual if isinstance(reported, float) and isinstance(actual, float) else None


def active(run: Run) -> Number:
    """Return the mean number of instructions in force at a step."""
    return mean([float(row.active) for row in run.obedience_rows])


@of_one_agent
def sound_turns(run: Run) -> Number:
    """Count the turns before the first violation, broken reference or stale step, or all that were lived."""
    if not run.turn_rows:
        return None
    wrongs = [row.turn for row in run.event_rows if row.kind == "violation"]
    wrongs += [entry.turn for entry in run.rewrite_rows if entry.dangled]
    wrongs += [row.turn for row in run.obedience_rows if is_stale(row)]
    return float(min(wrongs) - 1 if wrongs else len(run.turn_rows))


def wrong(run: Run) -> Number:
    """Constraint violations, broken references and stale obedience: what is wrong, not what is wasted."""
    keys = ("constraint_violations", "dangling_references", "stale_obedience")
    counts = [run.summary[key] for key in keys]
    known = [count for count in counts if isinstance(count, int)]
    return float(sum(known)) if known else None
