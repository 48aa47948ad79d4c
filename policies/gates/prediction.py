"""What goes must be larger than what will come, asked before paying: gate class G4.

The size of a summary is not known until it is paid for; that of the last one is the only evidence. The
summariser's input, its price and the lost cache are not in it. Source: policy zoo 10.
"""

from __future__ import annotations

from simulator.contracts import Gate, Verdict
from simulator.plan import RewritePlan
from simulator.spans import Kind
from simulator.view import View


class PredictionGate(Gate):
    """Refuses a plan that takes no more than the last summary holds; without one it accepts."""

    name = "prediction"

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Judge what goes by the newest summary that stands."""
        touched = set(plan.sources())
        goes = sum(item.tokens for item in view.items if item.id in touched)
        last = next((item.tokens for item in reversed(view.items) if item.kind is Kind.SUMMARY), 0)
        figures = {"goes": goes, "last_summary": last}
        if not last or goes > last:
            return Verdict(True, f"{goes} tokens go, the last summary holds {last}", figures)
        return Verdict(False, f"{goes} tokens to go are no more than the last summary's {last}", figures)
