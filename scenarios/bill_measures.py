"""Measures of what a run was billed: tokens and dollars an agent, a turn, a million tokens of input.

Each takes a `Run` and returns one number. An agent's own requests are told apart from those that its
policy makes. Of a fleet, tokens and dollars are pooled over its agents before they are divided, as
published studies pool them over their tasks.
"""

from __future__ import annotations

from scenarios.taking import Number, committed
from simulator.prices import PRICED_TOKENS
from simulator.simulation import Run


def own_input(run: Run) -> Number:
    """Return the input tokens of an agent's own requests, its policy's not among them."""
    return _shared(run, "agent_input_tokens", _agents(run))


def usd_an_agent(run: Run) -> Number:
    """Return dollars an agent, its policy's requests among them."""
    return _shared(run, "usd", _agents(run))


def usd_a_turn(run: Run) -> Number:
    """Return dollars a turn, the policy's requests among them."""
    return _shared(run, "usd", len(run.turn_rows))


def usd_per_million_input(run: Run) -> Number:
    """Return what a million input tokens of the agent's own requests cost, output left out."""
    tokens = run.summary.get("agent_input_tokens")
    return _shared(run, "agent_input_usd", tokens / PRICED_TOKENS if isinstance(tokens, int | float) else 0)


def passes_in_requests(run: Run) -> Number:
    """Return the share of rewrites that were committed in these and the agent's own requests together."""
    passes, turns = len(committed(run)), len(run.turn_rows)
    return passes / (passes + turns) if turns else None


def _agents(run: Run) -> int:
    """Return how many agents of a fleet have lived through a turn."""
    return len({row.agent for row in run.turn_rows})


def _shared(run: Run, key: str, parts: float) -> Number:
    """Return a sum of the summary in so many parts, None without one."""
    whole = run.summary.get(key)
    return whole / parts if isinstance(whole, int | float) and parts else None
