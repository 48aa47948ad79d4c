"""The progress gate: each pass must bring the content down by so much, or there is no pass.

The potential is the content of the window in tokens. Arrivals raise it by their size and nothing else does;
each committed pass lowers it by `least` or more. So a run has at most (initial + arrived) / least passes,
whatever arrives: no loop is without end, and none is needed to say so (field reports S01-S06 and S15).
"""

from __future__ import annotations

import math

from simulator.contracts import Brief, Gate, Proposal, RewriteBudgetViolation, Terms, Verdict


def most_passes(initial: int, arrived: int, least: int) -> int:
    """Return the most passes that a run can have.

    >>> most_passes(5_000, 95_000, 10_000)
    10
    """
    return (initial + arrived) // least


class ProgressGate(Gate):
    """Accept a pass that frees at least a share of the window, its own costs taken off.

    Parameters
    ----------
    share : float
        Of the window, above 0 and at most 1.
    """

    name = "progress"

    def __init__(self, share: float = 0.05) -> None:
        self._share = share
        self._least = 1

    def brief(self, brief: Brief, terms: Terms) -> None:
        """Take note of the window."""
        self._least = max(1, math.ceil(self._share * brief.window))

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the exact figures.

        >>> ProgressGate().judge(Proposal(400, 380, 90)).accepted
        False
        """
        net = proposal.freed - proposal.rewrite_cost - proposal.measurement_cost
        figures = {"net": net, "least": self._least}
        if net >= self._least:
            return Verdict(True, f"net {net} of at least {self._least} tokens", figures)
        return Verdict(
            False, f"net {net} tokens are no progress of {self._least}", figures, RewriteBudgetViolation
        )
