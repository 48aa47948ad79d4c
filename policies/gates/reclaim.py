"""The least that must be reclaimable, asked before anything is done: gate class G1 of the policy zoo.

In comes the plan with the view it was made from; out comes a refusal where it would free too little
for what a broken prompt cache costs. Sources: policy zoo 1, 8, 12, 31, 34; field report S40.
"""

from __future__ import annotations

from typing import Literal

from simulator.contracts import Gate, Verdict
from simulator.plan import RewritePlan
from simulator.spans import Kind
from simulator.view import View


class ReclaimGate(Gate):
    """Refuses a plan that takes too little. Each least that is 0 has no say.

    Parameters
    ----------
    tokens : int
        Believed tokens.
    share : float
        Of the believed count of what stands, 0 to 1.
    share_of_messages : float
        Messages that go, of all that stand, 0 to 1.
    counts : "saving" or "selected"
        The saving that the plan believes in, or the whole size of what it touches.
    """

    name = "reclaim"

    def __init__(
        self,
        tokens: int = 0,
        share: float = 0.0,
        share_of_messages: float = 0.0,
        counts: Literal["saving", "selected"] = "saving",
    ) -> None:
        self._tokens = tokens
        self._share = share
        self._share_of_messages = share_of_messages
        self._whole = counts == "selected"

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Refuse where the plan falls short of one of the leasts."""
        touched = set(plan.sources())
        tokens = plan.believed_saving
        if self._whole:
            tokens = sum(item.tokens for item in view.items if item.id in touched)
        messages = sum(item.kind is not Kind.HEAD for item in view.items)
        least = max(self._tokens, self._share * view.gauge.tokens)
        figures = {"reclaimable": tokens, "least": least, "messages": len(touched)}
        if tokens < least:
            return Verdict(False, f"{tokens} tokens to reclaim are fewer than {least:g}", figures)
        if len(touched) < self._share_of_messages * messages:
            return Verdict(False, f"{len(touched)} of {messages} messages are too few to reclaim", figures)
        return Verdict(True, f"{tokens} tokens to reclaim", figures)
