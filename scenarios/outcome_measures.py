"""Measures of waste, of wrong ends, and of whether a rewrite was earned back.

Each takes a `Run` and returns one number. What a rewrite costs is its ledger entry's dollars: its own
requests, rejected ones among them, and the cache that it broke. What it earns is said by the mean price
of a token that the agent's requests read, first writes among them: an upper estimate of the price at which
a warm cache serves it.
"""

from __future__ import annotations

from statistics import median

from scenarios.taking import Number, committed, of_one_agent
from simulator.agent import End
from simulator.prices import TokenClass
from simulator.simulation import Run

STOPPED = frozenset({End.OVERFLOW, End.DEAD, End.HALTED})
"""Ends before the work or the budget of turns was done."""


def dead(run: Run) -> Number:
    """Say whether the run ended where nothing can ever be sent again, whatever a policy does."""
    return float(run.outcome == End.DEAD)


def stopped(run: Run) -> Number:
    """Say whether the run ended early: it overflowed, was dead, or its policy gave up."""
    return float(run.outcome in STOPPED)


def billed(run: Run) -> Number:
    """Sum the tokens of all classes that are on the bill."""
    counts = [run.summary.get(f"{kind}_tokens") for kind in TokenClass]
    known = [count for count in counts if isinstance(count, int)]
    return float(sum(known)) if known else None


def waste_usd(run: Run) -> Number:
    """Sum the dollars of attempts that made the context no smaller, refused and failed ones among them."""
    return sum(entry.usd for entry in run.rewrite_rows if entry.net <= 0)


def waste_share(run: Run) -> Number:
    """Share of the dollars of all attempts that went to those that made the context no smaller."""
    spent = sum(entry.usd for entry in run.rewrite_rows)
    return sum(entry.usd for entry in run.rewrite_rows if entry.net <= 0) / spent if spent else None


@of_one_agent
def repaid_share(run: Run) -> Number:
    """Share of committed rewrites that are earned back before the next one, or before the end."""
    rows, price = committed(run), read_price(run)
    if not rows or price is None:
        return None
    ends = [*(entry.turn for entry in rows[1:]), len(run.turn_rows) + 1]
    repaid = [
        entry.net * price * (end - entry.turn) >= entry.usd for entry, end in zip(rows, ends, strict=True)
    ]
    return sum(repaid) / len(repaid)


@of_one_agent
def payback_calls(run: Run) -> Number:
    """Median calls until a committed rewrite is earned back, of those that have freed anything on net."""
    price = read_price(run)
    if price is None:
        return None
    calls = [entry.usd / (entry.net * price) for entry in committed(run) if entry.net > 0]
    return median(calls) if calls else None


def read_price(run: Run) -> Number:
    """Return the mean dollars of a token that the agent's own requests read; None where that is free."""
    usd, tokens = run.summary.get("agent_input_usd"), run.summary.get("agent_input_tokens")
    if not isinstance(usd, float) or not isinstance(tokens, int) or not usd or not tokens:
        return None
    return usd / tokens
