"""The coherence gate (field record 003): no budget is met by destroying what live references lean on.

It speaks only where references are dense, where evicting what is dead cannot reach the target, and
where something is dear to recover; elsewhere it abstains. Then a plan must free more than its broken
references cost to recover, and reach its target; a plan that breaks none is never refused, and what
it falls short calls the supervisor. Standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from simulator.contracts import ACCEPTED, CoherenceBudgetInversionError, Gate, Proposal, Verdict
from simulator.plan import Evict
from simulator.spans import FIXED

if TYPE_CHECKING:
    from simulator.plan import RewritePlan
    from simulator.view import Item, View


class Coherence(NamedTuple):
    """What a plan does to the references in a working set. Tokens, where nothing else is said.

    Attributes
    ----------
    items : in the working set.
    references : live ones: their antecedents are there and may still be leaned on.
    costly : live references whose antecedent is dear to recover.
    dangling : live references whose antecedent the plan removes.
    penalty : what recovering the dangling ones costs.
    saved : what the plan frees.
    before, target : the size before the plan, and the size that it should end at.
    dead : what could be evicted at no cost to coherence, by this plan or another.
    coherent : the best size that keeps every antecedent, as far as the plan tells.
    miscounted : how far the policy's own counter, which sizes are in, falls short of what is saved.
    """

    items: int
    references: int
    costly: int
    dangling: int
    penalty: int
    saved: int
    before: int
    target: int
    dead: int = 0
    coherent: int = 0
    miscounted: int = 0

    @property
    def density(self) -> float:
        """Live references an item."""
        return self.references / self.items if self.items else 0.0

    @property
    def after(self) -> int:
        """Tokens after the plan, by the policy's own counter."""
        return self.before - self.saved + self.miscounted


def cohere(coherence: Coherence, threshold: float = 0.3) -> Verdict:
    """Judge whether a plan saves more than its broken references cost, and reaches its target.

    Ten items of 3,000 tokens with four live references, two of which would dangle; 900 tokens are dead.

    Parameters
    ----------
    coherence : Coherence
    threshold : float
        Live references an item above which the gate speaks.

    >>> plan = Coherence(10, 4, 4, dangling=2, penalty=1_900, saved=1_900, before=3_000, target=1_200,
    ...                  dead=900, coherent=1_770)
    >>> cohere(plan).require()
    Traceback (most recent call last):
        ...
    simulator.contracts.CoherenceBudgetInversionError: saved=1900 penalty=1900 dangling=2 after=1100 \
target=1200 R=0.40 best coherent size 1770: evict what is dead or escalate
    >>> [cohere(plan._replace(penalty=2 * cost)).accepted for cost in (949, 950, 951)]
    [True, False, False]
    >>> cohere(plan._replace(references=3)).reason
    'abstains: R=0.30 is not above 0.3'
    """
    figures = {**coherence._asdict(), "density": coherence.density, "after": coherence.after}
    if coherence.density <= threshold:
        return Verdict(True, f"abstains: R={coherence.density:.2f} is not above {threshold}", figures)
    if not coherence.costly:
        return Verdict(True, "abstains: all is cheap to recover", figures)
    if coherence.before - coherence.dead <= coherence.target:
        reason = f"abstains: evicting {coherence.dead} dead tokens reaches {coherence.target}"
        return Verdict(True, reason, figures)
    missed = coherence.after > coherence.target
    told = (
        f"saved={coherence.saved} penalty={coherence.penalty} dangling={coherence.dangling} "
        f"after={coherence.after} target={coherence.target} R={coherence.density:.2f} "
        f"best coherent size {coherence.coherent}"
    )
    if coherence.penalty and (coherence.saved <= coherence.penalty or missed):
        reason = f"{told}: evict what is dead or escalate"
        return Verdict(False, reason, figures, CoherenceBudgetInversionError, escalate=True)
    return Verdict(True, told, figures, escalate=missed and not coherence.penalty)


class References(NamedTuple):
    """The live references of a view: for each antecedent, the ids of the items that cite it.

    A summary is the antecedent of what cites anything that it was put in the place of.

    An item that will be cited, with its subgoal not dead, is leaned on by what is still to come:
    None stands for that.
    """

    items: int
    citing: Mapping[int, tuple[int | None, ...]]

    @property
    def live(self) -> int:
        """Live references, all together."""
        return sum(map(len, self.citing.values()))

    @property
    def density(self) -> float:
        """Live references an item."""
        return self.live / self.items if self.items else 0.0


def live_references(view: View) -> References:
    """Return the references of a view that can still be leaned on.

    Parameters
    ----------
    view : View
    """
    homes = {identity: item.id for item in view.items for identity in item.replaces}
    homes |= {item.id: item.id for item in view.items}
    citing: dict[int, list[int | None]] = {}
    for item in view.items:
        if item.dead:
            continue
        for antecedent in dict.fromkeys(item.cites):
            home = homes.get(antecedent, item.id)
            if home != item.id:
                citing.setdefault(home, []).append(item.id)
        if item.needed:
            citing.setdefault(item.id, []).append(None)
    return References(len(view.items), {antecedent: tuple(ids) for antecedent, ids in citing.items()})


class CoherenceGate(Gate):
    """Weighs what a plan breaks against what it saves, and keeps antecedents out of its way.

    Parameters
    ----------
    threshold : float
        Live references an item above which the gate speaks.
    retain_antecedents : bool
        Where it speaks, plans leave alone what live references lean on and what was not yet read.
    cheap_tokens : int
        What takes no more to recover costs nothing: it may go.
    """

    name = "coherence"

    def __init__(
        self, threshold: float = 0.3, retain_antecedents: bool = True, cheap_tokens: int = 0
    ) -> None:
        self._threshold, self._retains, self._cheap = threshold, retain_antecedents, cheap_tokens
        self.begin()

    def begin(self) -> None:
        """Forget the view and the plan of the last run."""
        self._view: View | None = None
        self._weighed: Coherence | None = None
        self._kept = 0

    def spares(self, view: View) -> Collection[int]:
        """Return the ids of antecedents that are dear to recover, and of what came in this turn."""
        if not self._retains:
            return ()
        references = self._references_of(view)
        dear = {item.id for item in view.items if item.id in references.citing and self._is_dear(item)}
        if references.density <= self._threshold or not dear:
            return ()
        return dear | {item.id for item in view.items if item.born >= view.gauge.turn}

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Take note of the references that the plan breaks and of what recovering them costs."""
        references = self._references_of(view)
        removed = set(plan.sources())
        gone = {operation.id for operation in plan.operations if isinstance(operation, Evict)}
        costly = dangling = penalty = kept = dead = dead_left = 0
        for item in view.items:
            citing = references.citing.get(item.id, ())
            if not citing:
                if item.dead and not item.marked and item.kind not in FIXED and item.constraint is False:
                    dead += item.tokens
                    dead_left += 0 if item.id in removed else item.tokens
                continue
            cost = item.rederive if self._is_dear(item) else 0
            costly += len(citing) if cost else 0
            # a reference goes with the item that makes it
            broken = sum(one not in gone for one in citing) if item.id in removed else 0
            dangling += broken
            penalty += broken * cost
            kept += item.tokens if broken and cost else 0
        self._kept = kept - dead_left
        self._weighed = Coherence(
            references.items, references.live, costly, dangling, penalty, 0, 0, target, dead
        )
        return ACCEPTED

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the plan that was weighed last, by the exact tokens that it frees."""
        if self._weighed is None:
            return ACCEPTED
        after = proposal.before - proposal.believed_freed
        weighed = self._weighed._replace(
            saved=proposal.freed,
            before=proposal.before,
            coherent=min(proposal.before, after + self._kept),
            miscounted=proposal.freed - proposal.believed_freed,
        )
        return cohere(weighed, self._threshold)

    def _references_of(self, view: View) -> References:
        """Return the live references of a view; it is asked for once to spare, and again to weigh."""
        if view is not self._view:
            self._view, self._references = view, live_references(view)
        return self._references

    def _is_dear(self, item: Item) -> bool:
        return item.rederive > self._cheap
