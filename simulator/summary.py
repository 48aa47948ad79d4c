"""The summary of a run: its responses by name, from the truth alone.

What a scenario does not exercise is None, never 0. Of a fleet, counts, tokens, dollars and seconds
are sums over its agents, shares and percentages are means, and extremes are extremes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.agent import Agent, End
from simulator.ledger import COMMITTED, Account, Outcome
from simulator.prices import REWRITING, Purpose, TokenClass
from simulator.recorder import ObedienceRow
from simulator.supervisor import Supervisor

WORST_FIRST = (End.DEAD, End.OVERFLOW, End.HALTED, End.HORIZON, End.COMPLETE)
"""Of the ends of its agents, a fleet has the worst."""


def outcome_of(agents: Sequence[Agent]) -> End:
    """Return how a run ended: of its agents, the worst end."""
    ends = {agent.outcome for agent in agents}
    return next(end for end in WORST_FIRST if end in ends)


def summary_of(agents: Sequence[Agent], supervisor: Supervisor) -> dict[str, object]:
    """Return the responses of a run."""
    summaries = [_of_one(agent) for agent in agents]
    merged: dict[str, object] = {
        key: _merged(key, [summary[key] for summary in summaries]) for key in summaries[0]
    }
    waits = supervisor.waited_seconds / supervisor.served if supervisor.served else None
    return merged | {
        "supervisor_wait_seconds": waits,
        "supervisor_busy_seconds": supervisor.busy_seconds if supervisor.escalations else None,
        "agents_overflowed": sum(agent.outcome in (End.OVERFLOW, End.DEAD) for agent in agents),
        "observable": all(_is_observable(agent) for agent in agents),
    }


def _of_one(agent: Agent) -> dict[str, object]:
    work = agent.work
    rows = agent.recorder.turns
    accounts, entries, provider = work.ledger.accounts, work.ledger.entries, work.provider
    cognition = work.cognition
    usd = provider.usd
    first = next((entry.turn for entry in entries), None)
    triggered = [row.occupancy_pct for row in rows if first is not None and row.turn >= first]
    counts = dict.fromkeys(Outcome, 0)
    for entry in entries:
        counts[Outcome(entry.outcome)] += 1
    requests = sum(entry.requests for entry in entries)
    caches = work.setting.provider.cache_seconds > 0
    judged = any(entry.reason for entry in entries if entry.stage in ("gate", "settle"))
    leans = work.context.cites_anything or cognition.dropped or accounts[Account.REDERIVED]
    steps = work.bindings.rows
    instructs = steps or accounts[Account.INSTRUCTIONS]
    return {
        "turns": len(rows),
        "max_occupancy_pct": agent.max_occupancy_pct,
        "final_occupancy_pct": rows[-1].occupancy_pct if rows else 100 * work.context.tokens / work.window,
        "occupancy_q05_pct": _quantile(triggered, 0.05),
        "occupancy_q95_pct": _quantile(triggered, 0.95),
        "rewrites_committed": sum(counts[outcome] for outcome in COMMITTED),
        "rewrites_without_effect": counts[Outcome.WITHOUT_EFFECT],
        "rewrites_refused": counts[Outcome.REFUSED],
        "rewrites_infeasible": counts[Outcome.INFEASIBLE],
        "rewrites_failed": counts[Outcome.FAILED],
        "rewrites_conflicted": counts[Outcome.CONFLICTED],
        "first_trigger_turn": first,
        "tokens_freed": accounts[Account.FREED],
        "rewrite_cost_tokens": accounts[Account.REWRITE],
        "measurement_cost_tokens": accounts[Account.MEASUREMENT],
        "net_tokens": sum(entry.net for entry in entries),
        "believed_net_tokens": sum(entry.believed_net for entry in entries),
        "waste_tokens": -sum(entry.net for entry in entries if entry.net <= 0),
        "quota_tokens": work.quota_tokens if work.setting.charged_to == "separate" else None,
        "retired_tokens": accounts[Account.RETIRED],
        "out_of_band_tokens": accounts[Account.OUT_OF_BAND],
        "tombstones": None if work.terms.tombstones is None else len(work.ledger.tombstones),
        "tombstone_tokens": work.context.tombstone_tokens if work.terms.tombstones else None,
        "escalations": agent.escalations,
        "false_accepts": counts[Outcome.WITHOUT_EFFECT] if judged else None,
        "false_rejects": sum((entry.prospective_net or 0) >= 1 for entry in entries) if judged else None,
        "replacement_requests": requests,
        "rejected_requests": sum(provider.rejections.values()),
        "unread_tokens": sum(entry.unread_tokens for entry in entries) if requests else None,
        "rebuild_tokens": sum(entry.rebuild_tokens for entry in entries) if caches else None,
        "broken_pairs": len(work.context.pairs.broken) if work.setting.runtime.requires_pairs else None,
        "lost_tokens": accounts[Account.LOST] if work.terms.background else None,
        "constraints_held": work.constraints_held,
        "constraints_total": len(cognition.stated) or None,
        "constraint_violations": cognition.violations if cognition.stated else None,
        "false_claims": cognition.false_claims if cognition.stated else None,
        "dangled_at_commit": sum(entry.dangled or 0 for entry in entries) if leans else None,
        "dangling_references": work.context.references()[1] if leans else None,
        "dropped_references": cognition.dropped if leans else None,
        "rederivation_tokens": accounts[Account.REDERIVED] if leans else None,
        "instruction_tokens": accounts[Account.INSTRUCTIONS] if instructs else None,
        "instructions_written": work.bindings.written if instructs else None,
        "instructions_unwritten": work.bindings.unwritten if instructs else None,
        "instructions_stopped": work.bindings.stopped if instructs else None,
        "reported_compliance": _share(steps, lambda row: row.quoted),
        "actual_compliance": _share(steps, lambda row: row.obeyed),
        "auditable_compliance": _share(steps, lambda row: row.obeyed and row.auditable),
        "stale_obedience": sum(is_stale(row) for row in steps) if steps else None,
        "confidence": work.confidence if cognition.met_doubt else None,
        "decision_quality": cognition.decision_quality if cognition.can_fall else None,
        "usd": sum(usd.values()),
        "usd_rewriting": sum(spent for (purpose, _), spent in usd.items() if purpose in REWRITING),
        "seconds": rows[-1].time_s if rows else work.env.now,
        "rewrite_seconds": sum(entry.rewrite_seconds for entry in entries),
        "agent_input_tokens": sum(provider.tokens[kind][Purpose.AGENT] for kind in READ),
        "cache_read_usd": sum(usd[purpose, TokenClass.CACHE_READ] for purpose in Purpose),
        "agent_input_usd": sum(usd[Purpose.AGENT, kind] for kind in READ),
        **{f"{kind.value}_tokens": provider.billed(kind) for kind in TokenClass},
    }


READ = (TokenClass.INPUT, TokenClass.CACHE_READ, TokenClass.CACHE_WRITE)
"""Classes of what a model reads."""

SEEN = frozenset({End.OVERFLOW, End.DEAD, End.HALTED})
"""Ends that an agent sees from inside its context."""


def _is_observable(agent: Agent) -> bool:
    """Whether an agent could know how it stands: it saw its end, or nothing went wrong in silence."""
    work = agent.work
    mind = work.cognition
    wrong = mind.violations + mind.false_claims + mind.dropped + work.context.references()[1]
    return agent.outcome in SEEN or not (wrong or any(map(is_stale, work.bindings.rows)))


def is_stale(row: ObedienceRow) -> bool:
    """Whether a step relied on an instruction of the agent's own past the epoch it was written for."""
    return not row.outside and row.changes > 0 and row.quoted


MEANS = frozenset(
    {
        "final_occupancy_pct",
        "occupancy_q05_pct",
        "occupancy_q95_pct",
        "reported_compliance",
        "actual_compliance",
        "auditable_compliance",
        "confidence",
        "decision_quality",
    }
)
"""Keys of which a fleet has the mean over its agents."""

EXTREMES: dict[str, Callable[[list[float]], float]] = {
    "turns": max,
    "max_occupancy_pct": max,
    "first_trigger_turn": min,
    "seconds": max,
}
"""Keys of which a fleet has the largest, or the smallest."""


def _merged(key: str, values: list[object]) -> object:
    """Return one value for a fleet; of a single agent its own, unchanged."""
    if len(values) == 1:
        return values[0]
    numbers = [value for value in values if isinstance(value, int | float)]
    if not numbers:
        return None
    if key in EXTREMES:
        return EXTREMES[key](numbers)
    return sum(numbers) / len(numbers) if key in MEANS else sum(numbers)


def _share(rows: Sequence[ObedienceRow], holds: Callable[[ObedienceRow], bool]) -> float | None:
    return sum(map(holds, rows)) / len(rows) if rows else None


def _quantile(values: list[float], share: float) -> float | None:
    """Return the quantile with linear interpolation, None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
