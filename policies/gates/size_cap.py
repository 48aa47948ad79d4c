"""The size cap that most systems ship: after must be smaller than before, by their own count.

It compares believed sizes, and the policy's own emissions are not in them: a rewrite that frees 400
tokens and costs 470 passes. Kept as a comparator. Sources: field record 000; policy zoo 7 and 32.
"""

from __future__ import annotations

from typing import Literal

from simulator.contracts import Gate, Proposal, Verdict


class SizeCapGate(Gate):
    """Accepts whatever makes the content smaller.

    Parameters
    ----------
    scope : "same" or "mixed"
        Both sides count the same, or the side after leaves the fixed head out that the side before has.
    equal_passes : bool
        A rewrite that changes no size is accepted.
    """

    name = "size_cap"

    def __init__(self, scope: Literal["same", "mixed"] = "same", *, equal_passes: bool = False) -> None:
        self._mixed = scope == "mixed"
        self._least = 0 if equal_passes else 1

    def judge(self, proposal: Proposal) -> Verdict:
        """Accept when the believed size falls.

        >>> SizeCapGate().judge(Proposal(400, 380, 90, believed_freed=400)).accepted
        True
        >>> larger = Proposal(-50, 0, 0, believed_freed=-50, before=900, content_after=700)
        >>> SizeCapGate().judge(larger).accepted, SizeCapGate("mixed").judge(larger).accepted
        (False, True)
        """
        freed = proposal.before - proposal.content_after if self._mixed else proposal.believed_freed
        figures = {"believed_freed": freed}
        if freed >= self._least:
            return Verdict(True, f"smaller by {freed} tokens", figures)
        return Verdict(False, f"not smaller: {freed} tokens freed", figures)
