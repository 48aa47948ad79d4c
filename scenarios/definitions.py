"""Units and definitions of columns and of keys of the summary, in one place: unit, then meaning.

Those of measures stand beside how they are taken, in `scenarios.measures`.
"""

from __future__ import annotations

from scenarios.measures import MEASURES

Definitions = dict[str, tuple[str, str]]

TURN_COLUMNS: Definitions = {
    "turn": ("1", "number of the turn, from 1"),
    "user_turn": ("1", "user messages so far"),
    "time_s": ("s", "simulated time at the end of the turn"),
    "tokens": ("tokens", "true count"),
    "occupancy_pct": ("% of window", "true count"),
    "believed_tokens": ("tokens", "the policy's count"),
    "arrived_tokens": ("tokens", "brought by the world in this turn, the reply included"),
    "retired": ("tokens", "own records removed whole at the start of this turn"),
    "out_of_band": ("tokens", "removed by the supervisor since the last turn ended"),
    "decision_quality": ("1", "1 is sound"),
    "epoch": ("1", "sum of the versions of all premises"),
    "confidence": ("share", "1 minus the share of tokens in doubt: what the agent believes"),
    "constraints_held": ("1", "constraints that have force through some span"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
REWRITE_COLUMNS: Definitions = {
    "turn": ("1", "turn in which the attempt started"),
    "time_s": ("s", "simulated time at *check*"),
    "trigger": ("word", "check point that fired"),
    "tokens_before": ("tokens", "true count at *check*"),
    "tokens_after": ("tokens", "true count at *settle*"),
    "occupancy_before_pct": ("% of window", "`tokens_before`"),
    "occupancy_after_pct": ("% of window", "`tokens_after`"),
    "estimated_saving": ("tokens", "what the policy believed it would free"),
    "freed": ("tokens", "removed minus what replaces it; 0 unless committed"),
    "rewrite_cost": (
        "tokens",
        "written into the window by the policy, charged tombstones too; no measurement",
    ),
    "measurement_cost": ("tokens", "trace of the confirmed count"),
    "arrivals_during": ("tokens", "that came in between *check* and *settle*, not by the rewrite"),
    "tombstones": ("tokens", "records of dropped spans that live in the window and are charged to nobody"),
    "reinjected": ("tokens", "put back by the runtime or by the policy's client after the commit"),
    "out_of_band_during": ("tokens", "removed by the supervisor between *check* and *settle*"),
    "net": ("tokens", "`freed - rewrite_cost - measurement_cost`"),
    "believed_net": ("tokens", "`estimated_saving` if committed, minus what the policy charges itself"),
    "rewrite_seconds": ("s", "from *check* to *settle*"),
    "outcome": ("word", "how the attempt ended"),
    "stage": ("word", "where it ended"),
    "reason": ("text", "why it was refused or ended early"),
    "window": ("tokens", "window in force"),
    "selected": ("1", "spans in the plan"),
    "selected_tokens": ("tokens", "true size of these spans"),
    "own_selected": ("1", "own records among them"),
    "own_selected_tokens": ("tokens", "true size of these records"),
    "summaries_tokens": ("tokens", "summaries that were staged"),
    "measured_error": ("tokens", "believed minus true count after the attempt"),
    "decision_quality": ("1", "of this decision, a capped rationale included"),
    "deliberate_seconds": ("s", "writing the rationale"),
    "replace_seconds": ("s", "asking for the replacements"),
    "measure_seconds": ("s", "counting"),
    "dangled": ("1", "live references that the commit broke"),
    "coherence_cost": ("checks", "at *settle*: live references that hold, broken ones at their weight"),
    "constraints_held": ("1", "at *settle*: constraints that have force through some span"),
    "confidence_before": ("share", "at *check*: 1 minus the share of tokens in doubt"),
    "confidence_after": ("share", "at *settle*"),
    "usd": (
        "$",
        "its own requests, and writing again what the cache has lost by it, as if that would not expire",
    ),
    "requests": ("1", "model requests for the replacement, refused and failed ones among them"),
    "rebuild_tokens": ("tokens", "that were cached, still stand, and have to be written anew"),
    "unread_tokens": ("tokens", "of what was replaced that no model was shown"),
    "prospective_net": ("tokens", "of an attempt that its gates refused: the net of its commit; else null"),
    "broken_pairs": ("1", "requests whose calls and results the commit has torn apart"),
    "lost": ("tokens", "that came in meanwhile and were written over"),
    "retired_during": ("tokens", "own records removed between *check* and *settle*"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
OBEDIENCE_COLUMNS: Definitions = {
    "turn": ("1", "number of the turn"),
    "topic": ("word", "what the step and the instruction are about"),
    "instruction": ("1", "number in the order of writing; -1 was received from outside"),
    "outside": ("true or false", "received from outside"),
    "changes": ("1", "versions of its premises since it was last derived; above 0 it is stale"),
    "age": ("turns", "since it was last derived"),
    "derivations": ("1", "how often it was derived anew"),
    "active": ("1", "instructions in force at the step"),
    "quoted": ("true or false", "the agent reports it as kept"),
    "obeyed": ("true or false", "it was kept"),
    "revoked": ("true or false", "the agent no longer holds itself to it, unlogged"),
    "stopped": ("true or false", "the step was stopped until it was derived anew"),
    "auditable": ("true or false", "its binding can be checked from outside the agent"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
EVENT_COLUMNS: Definitions = {
    "turn": ("1", "number of the turn"),
    "time_s": ("s", "simulated time"),
    "kind": (
        "word",
        "`premise`, `window`, `escalation`, `out_of_band`, `halted`, `rejected`, `violation`, `false claim`, "
        "`dropped reference`, `rederived`, `broken`, `failure`, `instruction`, `unwritten`, `stopped`, "
        "`retired`, `validated`, `repeated`, `recorded_compaction`, `recorded_microcompaction`",
    ),
    "detail": ("text", "name of the premise or topic, span, who acted, or what the log says"),
    "tokens": ("tokens", "new window, tokens removed or written; else 0"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
SUMMARY_KEYS: Definitions = {
    "turns": ("1", "turns lived through"),
    "max_occupancy_pct": ("% of window", "highest at any instant"),
    "final_occupancy_pct": ("% of window", "at the end"),
    "occupancy_q05_pct": ("% of window", "5% quantile of turn ends from the first attempt on"),
    "occupancy_q95_pct": ("% of window", "95% quantile of turn ends from the first attempt on"),
    "rewrites_committed": ("1", "attempts committed, with or without effect"),
    "rewrites_without_effect": ("1", "those with net <= 0"),
    "rewrites_refused": ("1", "attempts refused at *admit* or *gate*"),
    "rewrites_infeasible": ("1", "attempts whose request could not fit"),
    "rewrites_failed": ("1", "attempts whose replacement never came"),
    "rewrites_conflicted": ("1", "attempts whose spans had left meanwhile"),
    "first_trigger_turn": ("1", "turn of the first attempt; null without one"),
    "tokens_freed": ("tokens", "account `freed`"),
    "rewrite_cost_tokens": ("tokens", "account `rewrite`"),
    "measurement_cost_tokens": ("tokens", "account `measurement`"),
    "net_tokens": ("tokens", "sum of `net` over attempts"),
    "believed_net_tokens": ("tokens", "sum of `believed_net` over attempts"),
    "waste_tokens": ("tokens", "sum of `-net` over attempts with net <= 0"),
    "quota_tokens": ("tokens", "paid from a separate quota, never in the window"),
    "retired_tokens": ("tokens", "account `retired`"),
    "out_of_band_tokens": ("tokens", "account `out_of_band`"),
    "escalations": ("1", "calls of the supervisor"),
    "false_accepts": ("1", "attempts that a gate let pass and that freed nothing; null without a verdict"),
    "false_rejects": ("1", "attempts that a gate refused and that would have freed; null without a verdict"),
    "replacement_requests": ("1", "model requests for replacements, refused and failed ones among them"),
    "rejected_requests": ("1", "requests that were too long for the provider"),
    "unread_tokens": ("tokens", "given to be summarised that no model was shown; null where none was asked"),
    "rebuild_tokens": ("tokens", "put out of the prompt cache by rewrites, and standing; null without one"),
    "broken_pairs": ("1", "requests torn apart; null where the provider does not look"),
    "lost_tokens": ("tokens", "account `lost`: written over; null where no rewrite runs beside the turns"),
    "tombstones": ("1", "records of dropped spans; null for a policy that leaves none"),
    "tombstone_tokens": ("tokens", "of them in the window"),
    "constraints_held": ("1", "that have force at the end; null where none was stated"),
    "constraints_total": ("1", "stated in the run"),
    "constraint_violations": ("1", "steps that broke a constraint which had lost its force"),
    "false_claims": ("1", "steps that used a claim whose correction had lost its force"),
    "dangled_at_commit": ("1", "live references that committed plans broke; null without references"),
    "dangling_references": ("1", "live references still broken at the end"),
    "dropped_references": ("1", "references that a step dropped in silence"),
    "rederivation_tokens": ("tokens", "account `rederived`: retries and reconstructions"),
    "instruction_tokens": ("tokens", "account `instructions`; null where no step came under one"),
    "instructions_written": ("1", "by the agent to itself"),
    "instructions_unwritten": ("1", "that the policy refused to write"),
    "instructions_stopped": ("1", "steps stopped until an instruction was derived anew"),
    "reported_compliance": ("share", "of steps under an instruction at which it was quoted as kept"),
    "actual_compliance": ("share", "of steps under an instruction at which it was kept"),
    "auditable_compliance": ("share", "of them at which it was kept and can be checked from outside"),
    "stale_obedience": ("1", "steps that relied on (quoted as kept) an own instruction past its epoch"),
    "confidence": ("share", "at the end; null where nothing was in doubt"),
    "decision_quality": ("1", "at the end; 1 is sound"),
    "usd": ("$", "all requests"),
    "seconds": ("s", "simulated length of the run"),
    "rewrite_seconds": ("s", "sum over attempts"),
    "usd_rewriting": ("$", "of it for rationales and replacements"),
    "agent_input_tokens": ("tokens", "read by the agent's own requests, from the cache or not"),
    "agent_input_usd": ("$", "of them"),
    "cache_read_usd": ("$", "of what was read from the cache"),
    "input_tokens": ("tokens", "billed input that shares no prefix with the live prompt"),
    "cache_read_tokens": ("tokens", "billed input read from the prompt cache"),
    "cache_write_tokens": ("tokens", "billed input put into the prompt cache"),
    "output_tokens": ("tokens", "billed output"),
    "supervisor_wait_seconds": ("s", "mean from escalation to service, over the served; null without"),
    "supervisor_busy_seconds": ("s", "served, summed over the desks; null where nobody called"),
    "agents_overflowed": ("1", "agents whose request no longer fitted"),
    "observable": (
        "true or false",
        "the agent saw its end from inside, or nothing went wrong in silence",
    ),
}


def definition_of(response: str) -> tuple[str, str]:
    """Return unit and meaning of a response: a measure, or a key of the summary.

    >>> definition_of("usd")
    ('$', 'all requests')
    """
    if response in MEASURES:
        return MEASURES[response].unit, MEASURES[response].definition
    return SUMMARY_KEYS[response]
