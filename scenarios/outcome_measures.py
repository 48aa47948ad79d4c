"""Measures of waste, of wrong ends, and of whether a rewrite was earned back.

Each takes a `Run` and returns one number. What a rewrite costs is its ledger entry's dollars: its own
requests, rejected ones among them, and the cache that it broke. What it earns is what is gone from the
context once all is put back that its client puts back, at the price of a token read from the cache, once a
call: that is what a call would have paid for it while the cache is warm.
"""

from __future__ import annotations

from statistics import median

from scenarios.taking import Number, committed, of_one_agent
from simulator.agent import End
from simulator.ledger import RewriteEntry
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
        gone(entry) * price * (end - entry.turn) >= entry.usd for entry, end in zip(rows, ends, strict=True)
    ]
    return sum(repaid) / len(repaid)


@of_one_agent
def payback_calls(run: Run) -> Number:
    """Median calls until a committed rewrite is earned back, of those after which less stands."""
    price = read_price(run)
    if price is None:
        return None
    calls = [entry.usd / (gone(entry) * price) for entry in committed(run) if gone(entry) > 0]
    return median(calls) if calls else None


def gone(entry: RewriteEntry) -> int:
    """Return the tokens that an attempt took out of the context, less all that it put into it."""
    return entry.net - entry.reinjected - entry.tombstones


def read_price(run: Run) -> Number:
    """Return the mean dollars of a token read from the cache, or of one read at all where none was.

    None where reading is free.
    """
    for kind in ("cache_read", "agent_input"):
        usd, tokens = run.summary.get(f"{kind}_usd"), run.summary.get(f"{kind}_tokens")
        if isinstance(usd, float) and isinstance(tokens, int) and tokens:
            return usd / tokens or None
    return None
