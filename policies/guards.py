"""Guards: what a policy does when its attempts come to nothing.

Refusals are strikes; enough of them call the supervisor. What resets them is a choice: any commit,
or only one that brings the context back under its trigger. With the first, a policy that is refused
and commits a trifle in turn climbs to its end without ever calling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.contracts import Lesson
from simulator.ledger import COMMITTED

STRIKES = frozenset({"refused", "infeasible", "failed"})
"""Outcomes that are strikes."""


@dataclass(frozen=True, slots=True)
class GuardTerms:
    """When the supervisor is called.

    Attributes
    ----------
    escalate_after : strikes that call the supervisor; None never calls.
    reset : what clears the strikes: any `commit`, or a `recovery` to below the trigger.
    """

    escalate_after: int | None = None
    reset: Literal["commit", "recovery"] = "commit"


class Strikes:
    """The strikes of one run."""

    def __init__(self, terms: GuardTerms) -> None:
        self._terms = terms
        self._count = 0

    def count(self, lesson: Lesson, *, recovered: bool, called: bool = False) -> bool:
        """Take in one attempt; return whether to call the supervisor, which clears the strikes.

        Parameters
        ----------
        lesson : Lesson
        recovered : bool
            The context is back under its trigger.
        called : bool
            A gate has asked for the supervisor, whatever the strikes.
        """
        if called:
            self._count = 0
            return True
        if lesson.outcome in STRIKES:
            self._count += 1
        elif lesson.outcome in COMMITTED and (recovered or self._terms.reset == "commit"):
            self._count = 0
        if self._terms.escalate_after is None or self._count < self._terms.escalate_after:
            return False
        self._count = 0
        return True
