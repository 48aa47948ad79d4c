"""The progress gate: each pass must bring the content down by so much, or there is no pass.

The potential is the content of the window in tokens. Each committed pass lowers it by `least` or more, what
it puts back among it; only what comes in between passes raises it. So a run has at most (initial + came
in) / least passes, whatever comes: no loop is without end (field reports S01-S06 and S15).
"""

from __future__ import annotations

import math

from simulator.contracts import Brief, Gate, Proposal, RewriteBudgetViolation, Terms, Verdict
from simulator.plan import RewritePlan
from simulator.view import View


def most_passes(initial: int, came_in: int, least: int) -> int:
    """Return the most passes that a run can have, by what stood at its start and all that came in.

    >>> most_passes(5_000, 95_000, 10_000)
    10
    """
    return (initial + came_in) // least


class ProgressGate(Gate):
    """Accept a pass that frees at least a share of the window, all that it puts in taken off.

    Parameters
    ----------
    share : float
        Of the window that the run began with, above 0 and at most 1.
    """

    name = "progress"

    def __init__(self, share: float = 0.05) -> None:
        self._share = share
        self._least = 1

    def brief(self, brief: Brief, terms: Terms) -> None:
        """Take note of the window."""
        self._least = max(1, math.ceil(self._share * brief.window))

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Refuse before anything is paid for what is not even believed to be progress."""
        return self._verdict(plan.believed_saving)

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the exact figures.

        >>> ProgressGate().judge(Proposal(400, 380, 90)).accepted
        False
        """
        net = proposal.freed - proposal.rewrite_cost - proposal.measurement_cost
        return self._verdict(net - proposal.put_back)

    def _verdict(self, net: int) -> Verdict:
        figures = {"net": net, "least": self._least}
        if net >= self._least:
            return Verdict(True, f"net {net} of at least {self._least} tokens", figures)
        return Verdict(
            False, f"net {net} tokens are no progress of {self._least}", figures, RewriteBudgetViolation
        )
