"""The ledger: identities in exact integers, and every planted error found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import RunFailed
from simulator.ledger import LEAVING, Account, Ledger, Outcome, RewriteEntry

OF_ATTEMPTS = (
    *(Account.FREED, Account.REWRITE, Account.MEASUREMENT),
    *(Account.TOMBSTONES, Account.REINJECTED, Account.LOST),
)
"""Accounts that only an attempt posts to."""

TEXTS = {"trigger": "before_request", "outcome": Outcome.COMMITTED.value, "stage": "settle", "reason": ""}


def entry(**values: object) -> RewriteEntry:
    """Return an attempt that freed 500 of 1,000 tokens for 100 + 20; `values` are laid over it."""
    numbers = dict.fromkeys(RewriteEntry._fields, 0)
    sound = {"tokens_before": 1000, "tokens_after": 620, "freed": 500}
    costs = {"rewrite_cost": 100, "measurement_cost": 20, "net": 380}
    return RewriteEntry(**{**numbers, **TEXTS, **sound, **costs, **values})  # type: ignore[arg-type]


def booked(*entries: RewriteEntry) -> Ledger:
    """Return the ledger of a run that began at 1,000 tokens and had these attempts."""
    ledger = Ledger()
    ledger.post(Account.INITIAL, 1000)
    for one in entries:
        ledger.post(Account.FREED, one.freed)
        ledger.post(Account.REWRITE, one.rewrite_cost)
        ledger.post(Account.MEASUREMENT, one.measurement_cost)
        ledger.settle(one)
    return ledger


@pytest.mark.unit
def test_a_sound_attempt_settles_and_the_run_balances() -> None:
    booked(entry()).audit(620)


@pytest.mark.unit
@pytest.mark.parametrize(
    "wrong",
    [
        {"net": 381},
        {"freed": 501, "net": 381},
        {"tokens_after": 619},
        {"tokens_before": 1001},
        {"rewrite_cost": 101, "net": 379},
        {"measurement_cost": 19, "net": 381},
        {"arrivals_during": 1},
        {"out_of_band_during": 1},
        {"tombstones": 12},
        {"reinjected": 1},
        {"retired_during": 1},
        {"lost": 1},
        {"outcome": Outcome.REFUSED.value},
    ],
)
def test_an_attempt_that_breaks_an_identity_does_not_settle(wrong: dict[str, object]) -> None:
    with pytest.raises(RunFailed, match="settle") as failure:
        Ledger().settle(entry(**wrong))
    assert failure.value.stage == "settle"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "sign"),
    [
        *(("arrivals_during", 1), ("tombstones", 1), ("reinjected", 1)),
        *(("out_of_band_during", -1), ("retired_during", -1), ("lost", -1)),
    ],
)
def test_each_term_stands_in_the_identity_with_its_sign(name: str, sign: int) -> None:
    Ledger().settle(entry(**{name: 7, "tokens_after": 620 + sign * 7}))


@pytest.mark.unit
@pytest.mark.parametrize("account", list(Account))
def test_the_audit_finds_a_posting_that_the_window_never_saw(account: Account) -> None:
    ledger = booked(entry())
    ledger.post(account, 1)
    with pytest.raises(RunFailed, match=r"620.*(619|621)"):
        ledger.audit(620)


@pytest.mark.unit
@pytest.mark.parametrize("account", list(Account))
def test_the_audit_finds_an_account_that_was_changed_past_its_balance(account: Account) -> None:
    ledger = booked(entry())
    ledger.accounts[account] += 1
    with pytest.raises(RunFailed, match="audit"):
        ledger.audit(620)


@pytest.mark.unit
@pytest.mark.parametrize("lost", [620 - 1, 620 + 1])
def test_the_audit_finds_a_context_of_another_size(lost: int) -> None:
    with pytest.raises(RunFailed, match=str(lost)):
        booked(entry()).audit(lost)


@pytest.mark.unit
@pytest.mark.parametrize("account", OF_ATTEMPTS)
def test_the_audit_finds_tokens_that_belong_to_no_attempt(account: Account) -> None:
    ledger = booked(entry())
    ledger.post(account, 5)
    ledger.post(Account.ARRIVED, 5 if account in LEAVING else -5)  # the balance is right again
    with pytest.raises(RunFailed, match=account.value):
        ledger.audit(620)


@pytest.mark.unit
def test_the_audit_finds_a_lost_entry() -> None:
    ledger = booked(entry())
    ledger.entries.clear()
    with pytest.raises(RunFailed, match="its entries 0"):
        ledger.audit(620)


@pytest.mark.property
@given(st.lists(st.tuples(st.sampled_from(list(Account)), st.integers(0, 10**9))))
def test_the_balance_is_what_came_minus_what_left(postings: list[tuple[Account, int]]) -> None:
    ledger = Ledger()
    for account, tokens in postings:
        ledger.post(account, tokens)
    came = sum(tokens for account, tokens in postings if account not in LEAVING)
    left = sum(tokens for account, tokens in postings if account in LEAVING)
    assert ledger.balance == came - left
    assert frozenset({"freed", "retired", "out_of_band", "lost"}) == LEAVING
