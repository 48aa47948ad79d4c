"""The size cap that most systems ship: after must be smaller than before, by their own count.

It compares believed sizes of the content, and the policy's own emissions are not in it: a rewrite
that frees 400 tokens and costs 470 passes. Kept as a comparator.
"""

from __future__ import annotations

from simulator.contracts import Gate, Proposal, Verdict


class SizeCapGate(Gate):
    """Accepts whatever makes the content smaller."""

    name = "size_cap"

    def judge(self, proposal: Proposal) -> Verdict:
        """Accept when the believed size falls.

        >>> SizeCapGate().judge(Proposal(400, 380, 90, believed_freed=400)).accepted
        True
        """
        figures = {"believed_freed": proposal.believed_freed}
        if proposal.believed_freed > 0:
            return Verdict(True, f"smaller by {proposal.believed_freed} tokens", figures)
        return Verdict(False, f"not smaller: {proposal.believed_freed} tokens freed", figures)
