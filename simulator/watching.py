"""`Watch`: somebody who looks on while a run goes its way, and changes nothing.

The engine calls it at the end of each turn and at the settling of each attempt, with what it works on
itself: nothing is copied for it, and a run that nobody watches pays one comparison with None. A watch
draws no random number and touches nothing that it is shown; then the tables are the same with it and
without it, bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simulator.ledger import RewriteEntry
    from simulator.workspace import Attempt, Workspace


class Watch(Protocol):
    """What `simulate` calls while it runs. Look, and copy what is to be kept: all of it goes on changing.

    What it raises ends the run as it is, for it is no fault of the policy.

    >>> class Counting:
    ...     turns = rewrites = 0
    ...     def turn_ended(self, work, user_turn):
    ...         self.turns += 1
    ...     def rewrite_settled(self, work, attempt, entry):
    ...         self.rewrites += 1
    >>> watch: Watch = Counting()
    """

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        """Look at an agent at the end of its turn; the marks that hold for one turn still stand."""
        ...

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
        """Look at an attempt that has settled, with the verdicts on it and its entry in the ledger."""
        ...
