"""What will stand must be under a target, asked after the replacement was paid for: gate class G3.

Source: policy zoo 22 and 30.
"""

from __future__ import annotations

from policies.triggers import threshold
from simulator.contracts import Gate, Proposal, Verdict
from simulator.plan import RewritePlan
from simulator.view import View


class ResultTargetGate(Gate):
    """Refuses a rewrite after which a share of the window, or more, would still be taken.

    Parameters
    ----------
    share : float
        Of the window that the policy believes in, above 0.
    """

    name = "result_target"

    def __init__(self, share: float = 1.0) -> None:
        self._share = share
        self.begin()

    def begin(self) -> None:
        """Forget the last run."""
        self._window = 0

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Take note of the window."""
        self._window = view.gauge.window
        return Verdict(True, "")

    def judge(self, proposal: Proposal) -> Verdict:
        """Refuse what is not under the target by the policy's own count."""
        if not self._window:
            return Verdict(True, "no plan was weighed")
        after, limit = proposal.before - proposal.believed_freed, threshold(self._share, self._window)
        figures = {"after": after, "limit": limit}
        if after < limit:
            return Verdict(True, f"{after} tokens will stand", figures)
        return Verdict(False, f"{after} tokens would stand, not under {limit}", figures)
