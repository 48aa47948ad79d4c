"""The clairvoyant: a bound on what goes wrong, since it knows when each span is used for the last time.

It evicts, without asking any model, what nothing will lean on again, and nothing else; and does it when the
rent of that has reached what the broken cache costs, or where the next request would not fit. So it breaks
no reference and pays for no summary. It does not know when the run ends, nor the cheapest moment of all:
on dollars it is no bound, and one that forgets what is still used may be cheaper.
"""

from __future__ import annotations

from policies.gates.payback import rebuild
from policies.keeping import whole_requests
from simulator.contracts import Brief, CheckPoint, Lesson, MeasurementPlan, Policy, Terms
from simulator.plan import Evict, RewritePlan
from simulator.schema import Share
from simulator.spans import FIXED, Kind
from simulator.view import Gauge, Item, View

KEPT = FIXED | {Kind.INSTRUCTION}
"""What stays: the head and tombstones, and instructions, whose use no reference tells."""


class ClairvoyantPolicy(Policy):
    """Evicts what is never used again.

    Parameters
    ----------
    headroom : float
        Share of the window that is kept free.
    """

    def __init__(self, headroom: Share = 0.1) -> None:
        self.name = "clairvoyant"
        self.terms = Terms(
            check_points=frozenset({CheckPoint.BEFORE_REQUEST, CheckPoint.OVERFLOW}),
            deliberates=False,
            measurement=MeasurementPlan.NONE,
            clairvoyant=True,
        )
        self._headroom = headroom
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        self._prices = brief.prices
        self._floor = 0
        self._rent = 0.0

    def check(self, gauge: Gauge) -> bool:
        """Sum the rent of what came since the last rewrite; what of it is useless is seen only then."""
        if gauge.point is CheckPoint.OVERFLOW:
            return True
        grown = max(0, gauge.tokens - self._floor)
        warm = gauge.idle_seconds <= self._prices.cache_seconds
        self._rent += grown * (self._prices.cache_read if warm else self._prices.cache_write)
        full = gauge.tokens + gauge.output_reserve > (1 - self._headroom) * gauge.window
        return full or self._rent > rebuild(gauge.tokens, self._prices, warm=warm)

    def propose(self, view: View) -> RewritePlan:
        """Evict what nothing will lean on."""
        gauge = view.gauge
        over = whole_requests(view.items, [item for item in view.items if _is_over(item, gauge.turn)])
        saved = sum(item.tokens for item in over)
        refusal = "" if over else "everything is still used"
        return RewritePlan(tuple(Evict(item.id) for item in over), saved, refusal=refusal)

    def learn(self, lesson: Lesson) -> bool:
        """Begin a new lease."""
        self._floor, self._rent = lesson.tokens, 0.0
        return False


def _is_over(item: Item, turn: int) -> bool:
    """Whether a span that this turn's request need not read is used no more."""
    last = item.born if item.last_use is None else item.last_use
    return item.kind not in KEPT and not item.marked and item.born < turn and last < turn
