"""`Ledger`: every token that enters or leaves the window, in one account each, and one entry an attempt.

Double entry: a posting moves tokens between the window and one account, so the window's balance is
the sum of all accounts. The three identities (net, after, final) hold in exact integers and are
audited: each entry when it settles, the run against a recount of the context.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from simulator.errors import RunFailed


class Account(StrEnum):
    """Where tokens in the window come from and go to."""

    INITIAL = "initial"
    ARRIVED = "arrived"
    REWRITE = "rewrite"
    MEASUREMENT = "measurement"
    FREED = "freed"
    RETIRED = "retired"
    OUT_OF_BAND = "out_of_band"
    TOMBSTONES = "tombstones"
    REINJECTED = "reinjected"
    REDERIVED = "rederived"
    INSTRUCTIONS = "instructions"
    LOST = "lost"


LEAVING = frozenset({Account.FREED, Account.RETIRED, Account.OUT_OF_BAND, Account.LOST})
"""Accounts that take tokens out of the window."""

ARRIVING = (Account.ARRIVED, Account.REDERIVED, Account.INSTRUCTIONS)
"""Accounts of what comes in that no rewrite has written."""


class RewriteEntry(NamedTuple):
    """One attempt, settled. Tokens unless said otherwise.

    `net = freed - rewrite_cost - measurement_cost`;
    `tokens_after = tokens_before - freed + rewrite_cost + measurement_cost + tombstones + reinjected
    + arrivals_during - out_of_band_during - retired_during - lost`.
    """

    turn: int
    time_s: float
    trigger: str
    tokens_before: int
    tokens_after: int
    occupancy_before_pct: float
    occupancy_after_pct: float
    estimated_saving: int
    freed: int
    rewrite_cost: int
    measurement_cost: int
    arrivals_during: int
    tombstones: int
    reinjected: int
    out_of_band_during: int
    net: int
    believed_net: int
    rewrite_seconds: float
    outcome: str
    stage: str
    reason: str
    window: int
    selected: int
    selected_tokens: int
    own_selected: int
    own_selected_tokens: int
    summaries_tokens: int
    measured_error: int
    decision_quality: float
    deliberate_seconds: float
    replace_seconds: float
    measure_seconds: float
    dangled: int
    coherence_cost: float
    constraints_held: int
    confidence_before: float
    confidence_after: float
    usd: float
    requests: int
    rebuild_tokens: int
    unread_tokens: int
    prospective_net: int | None
    broken_pairs: int
    lost: int
    retired_during: int
    agent: int = 0


class Tombstone(NamedTuple):
    """The record of a span that was dropped: which, when, and at which check point."""

    id: int
    turn: int
    reason: str


class Ledger:
    """The accounts of one run, in tokens."""

    __slots__ = ("accounts", "balance", "entries", "tombstones")

    def __init__(self) -> None:
        self.accounts: dict[Account, int] = dict.fromkeys(Account, 0)
        self.balance = 0
        self.entries: list[RewriteEntry] = []
        self.tombstones: list[Tombstone] = []

    def post(self, account: Account, tokens: int) -> None:
        """Move tokens between the window and one account; `freed` may be negative, nothing else."""
        self.accounts[account] += tokens
        self.balance += -tokens if account in LEAVING else tokens

    def settle(self, entry: RewriteEntry) -> None:
        """Audit one attempt and keep it. Raises RunFailed where an identity does not hold."""
        net = entry.freed - entry.rewrite_cost - entry.measurement_cost
        if net != entry.net:
            raise RunFailed("settle", f"net is {entry.net}, its components give {net}")
        after = (
            entry.tokens_before
            - entry.freed
            + entry.rewrite_cost
            + entry.measurement_cost
            + entry.tombstones
            + entry.reinjected
            + entry.arrivals_during
            - entry.out_of_band_during
            - entry.retired_during
            - entry.lost
        )
        if after != entry.tokens_after:
            raise RunFailed(
                "settle", f"{entry.tokens_after} tokens after the attempt, the identity gives {after}"
            )
        if entry.outcome not in COMMITTED and entry.freed:
            raise RunFailed("settle", f"{entry.freed} tokens freed by an attempt that was {entry.outcome}")
        self.entries.append(entry)

    def audit(self, recounted: int) -> None:
        """Hold the accounts against a recount of the context and a re-reading of the entries.

        Raises RunFailed with both numbers where they differ.
        """
        of_accounts = sum(
            -tokens if account in LEAVING else tokens for account, tokens in self.accounts.items()
        )
        if not recounted == self.balance == of_accounts:
            raise RunFailed(
                "audit",
                f"context holds {recounted} tokens, the ledger {self.balance}, its accounts {of_accounts}",
            )
        for account, of_entries in (
            (Account.FREED, sum(entry.freed for entry in self.entries)),
            (Account.REWRITE, sum(entry.rewrite_cost for entry in self.entries)),
            (Account.MEASUREMENT, sum(entry.measurement_cost for entry in self.entries)),
            (Account.TOMBSTONES, sum(entry.tombstones for entry in self.entries)),
            (Account.REINJECTED, sum(entry.reinjected for entry in self.entries)),
            (Account.LOST, sum(entry.lost for entry in self.entries)),
        ):
            if self.accounts[account] != of_entries:
                raise RunFailed(
                    "audit",
                    f"account {account} holds {self.accounts[account]} tokens, its entries {of_entries}",
                )


class Outcome(StrEnum):
    """How an attempt ended."""

    COMMITTED = "committed"
    WITHOUT_EFFECT = "committed_without_effect"
    REFUSED = "refused"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    CONFLICTED = "conflicted"


COMMITTED = frozenset({Outcome.COMMITTED, Outcome.WITHOUT_EFFECT})
"""Outcomes that changed the context as planned."""
