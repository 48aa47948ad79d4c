"""The evidence gate (field record 002): what a later decision rests on stays, and what goes leaves a trace.

Constraints are pinned by identity, never by count; where one is stated several times, all but its
oldest copy may go. `preserve` judges a plan, `trust` the agent's own state at the start of a turn.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from simulator.contracts import ACCEPTED, Gate, LossySelfRewriteError, Proposal, Verdict
from simulator.plan import Evict, Mask

if TYPE_CHECKING:
    from simulator.plan import Operation, RewritePlan
    from simulator.questions import Vitals
    from simulator.view import Item, View


class Evidence(NamedTuple):
    """What a plan does to the constraints in a working set.

    Attributes
    ----------
    stated : constraints that the working set states.
    lost : ids of those that it no longer states verbatim after the plan.
    unrecorded : ids of what the plan drops without a tombstone.
    pinned : tokens of the constraints, one copy each.
    target : tokens that the rewrite should end at.
    """

    stated: int
    lost: tuple[int, ...]
    unrecorded: tuple[int, ...]
    pinned: int
    target: int


def preserve(evidence: Evidence) -> Verdict:
    """Judge a plan by what it leaves of the evidence: constraints, tombstones, then the target.

    On a budget of 4,000 tokens: constraints that fit it, one that would be lost, and constraints
    that alone exceed it.

    Parameters
    ----------
    evidence : Evidence

    >>> preserve(Evidence(stated=3, lost=(), unrecorded=(), pinned=400, target=4_000)).accepted
    True
    >>> preserve(Evidence(3, lost=(7,), unrecorded=(), pinned=400, target=4_000)).reason
    'constraints fall from 3 to 2: lost 7'
    >>> preserve(Evidence(3, (), (), pinned=4_100, target=4_000)).require()
    Traceback (most recent call last):
        ...
    simulator.contracts.LossySelfRewriteError: constraints alone take 4100 tokens, target 4000: halt and \
reconstruct
    """
    stated, lost = evidence.stated, len(evidence.lost)
    figures = {
        "stated": stated,
        "lost": lost,
        "unrecorded": len(evidence.unrecorded),
        "pinned": evidence.pinned,
        "target": evidence.target,
    }
    if lost:
        reason = f"constraints fall from {stated} to {stated - lost}: lost {_shown(evidence.lost)}"
    elif evidence.unrecorded:
        reason = f"dropped without a tombstone: {_shown(evidence.unrecorded)}"
    elif evidence.pinned > evidence.target:
        reason = (
            f"constraints alone take {evidence.pinned} tokens, target {evidence.target}: halt and reconstruct"
        )
    else:
        return Verdict(True, f"all {stated} constraints stay", figures)
    return Verdict(False, reason, figures, LossySelfRewriteError)


def trust(vitals: Vitals) -> Verdict:
    """Judge whether a smaller and surer working set can be trusted: only where there is a ledger.

    The record asks that the ledger exist and be consulted; an empty one says that nothing was dropped.

    Parameters
    ----------
    vitals : Vitals
        Tokens and confidence now and a turn before, and the tombstones that can be consulted.

    >>> from simulator.questions import Vitals
    >>> trust(Vitals(2_600, 3_900, confidence=0.97, confidence_before=0.90, ledger=None)).accepted
    False
    >>> trust(Vitals(2_600, 3_900, confidence=0.97, confidence_before=0.90, ledger=5)).reason
    'smaller and surer; 5 tombstones consulted'
    """
    if vitals.tokens >= vitals.tokens_before or vitals.confidence <= vitals.confidence_before:
        return ACCEPTED
    figures = {
        "tokens": vitals.tokens,
        "tokens_before": vitals.tokens_before,
        "confidence": vitals.confidence,
        "confidence_before": vitals.confidence_before,
    }
    if vitals.ledger is not None:
        reason = f"smaller and surer; {vitals.ledger} tombstones consulted"
        return Verdict(True, reason, {**figures, "ledger": vitals.ledger})
    reason = (
        f"tokens fell from {vitals.tokens_before} to {vitals.tokens}, confidence rose from "
        f"{vitals.confidence_before:.3f} to {vitals.confidence:.3f}, and no ledger says what went: halt and "
        "reconstruct"
    )
    return Verdict(False, reason, figures, LossySelfRewriteError)


class EvidenceGate(Gate):
    """Pins constraints, asks for tombstones, and looks for the red flag.

    Parameters
    ----------
    red_flag : bool
        Judge at turn start whether a smaller and surer working set can be trusted.
    pins : bool
        Keep constraints out of plans and ask for tombstones; False leaves only the red flag.
    """

    name = "evidence"

    def __init__(self, red_flag: bool = True, pins: bool = True) -> None:
        self._red_flag, self._pins = red_flag, pins
        self.begin()

    def begin(self) -> None:
        """Forget the plan of the last run."""
        self._evidence: Evidence | None = None

    def spares(self, view: View) -> Collection[int]:
        """Return the ids of constraints and of what nobody has classified, the oldest copy of each."""
        return {item.id for item in _pinned(view.items)} if self._pins else ()

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Take note of the constraints that the plan loses and of what it drops without a record."""
        touched = set(plan.sources())
        stating = [item for item in view.items if item.constraint is not False]
        stated = {identity for item in stating for identity in _stated(item)}
        kept = {identity for item in stating if item.id not in touched for identity in _stated(item)}
        dropped = {identity for one in plan.operations if _leaves_nothing(one) for identity in one.sources}
        self._evidence = Evidence(
            len(stated),
            tuple(sorted(stated - kept)),
            tuple(sorted(dropped.difference(plan.tombstones))),
            sum(item.tokens for item in _pinned(view.items)),
            target,
        )
        return ACCEPTED

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the plan that was weighed last."""
        return preserve(self._evidence) if self._pins and self._evidence is not None else ACCEPTED

    def resume(self, vitals: Vitals) -> Verdict:
        """Judge the state at turn start, where the red flag is looked for."""
        return trust(vitals) if self._red_flag else ACCEPTED


def _leaves_nothing(operation: Operation) -> bool:
    """Whether nothing at all stands in the place of a span: not even a placeholder that is seen."""
    return isinstance(operation, Evict) or (isinstance(operation, Mask) and not operation.tokens)


def _stated(item: Item) -> tuple[int, ...]:
    """Return the ids of the constraints that an item states; one that nobody has classified is its own."""
    return () if item.constraint is False else item.states or (item.id,)


def _pinned(items: Iterable[Item]) -> list[Item]:
    """Return the items that hold the oldest copy of some constraint."""
    stating = sorted((item for item in items if item.constraint is not False), key=_age)
    held: set[int] = set()
    pinned: list[Item] = []
    for item in stating:
        if not held.issuperset(_stated(item)):
            held.update(_stated(item))
            pinned.append(item)
    return pinned


def _age(item: Item) -> tuple[int, bool, int]:
    """Return what orders items by age wherever they stand; in one turn, what came in before what was made."""
    return item.born, item.id < 0, abs(item.id)


def _shown(ids: tuple[int, ...]) -> str:
    more = f" and {len(ids) - LONGEST_LIST} more" if len(ids) > LONGEST_LIST else ""
    return ", ".join(str(identity) for identity in ids[:LONGEST_LIST]) + more


LONGEST_LIST = 8
"""Ids that a reason names."""
