"""Selectors: which spans a rewrite touches. View in, units of items out, best first.

A unit is what is replaced together: one span, or the spans of one call where these are folded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from policies.keeping import Keeping, whole_requests
from policies.replacements import ReplacementRule
from simulator.contracts import Brief
from simulator.spans import FIXED, Kind
from simulator.view import Item, View

Order = Literal["verbosity", "saving", "oldest", "salience"]


EVERYTHING_MAY_GO = Keeping()


class Unit(NamedTuple):
    """Items that are replaced together, their believed tokens and the believed saving."""

    items: tuple[Item, ...]
    tokens: int
    saving: int


@dataclass(frozen=True, slots=True)
class Selector:
    """Which spans may be rewritten, in what order, and how many.

    Attributes
    ----------
    order : `verbosity` takes the longest first, `saving` the largest believed saving, `oldest` the
        first in the context, `salience` the lowest score of recency and salience, ties oldest first.
    limit : most spans that are replaced in one attempt; None is no limit.
    kinds : kinds that may be replaced; dead spans may be of any.
    exempt : kinds that are never touched, dead or not; the fixed head and tombstones always are.
    enough_tokens : an attempt takes no more once so many are believed to be saved; None goes on to the
        target.
    keeping : which spans stay whatever else is said.
    dead_first : spans of closed subgoals with nothing needed are evicted first, oldest first.
    evict_unit : dead spans go one by one, or a whole subgoal at once.
    only_savings : units without a believed saving are left alone.
    recency_weight : weight in the score of the turn of birth, as a share of this turn.
    salience_weight : weight in the score of the share that an item has in what the spans of the last
        `salience_turns` turns cite.
    """

    order: Order = "verbosity"
    limit: int | None = None
    kinds: frozenset[Kind] = frozenset(Kind)
    exempt: frozenset[Kind] = frozenset({Kind.TRACE})
    enough_tokens: int | None = None
    keeping: Keeping = EVERYTHING_MAY_GO
    dead_first: bool = False
    evict_unit: Literal["item", "subgoal"] = "item"
    only_savings: bool = False
    recency_weight: float = 1.0
    salience_weight: float = 1.0
    salience_turns: int = 10

    def dead(
        self, view: View, need: int | None, spared: Collection[int] = (), *, tombstone: int = 0
    ) -> list[Item]:
        """Return dead items to evict, oldest first, until `need` tokens are met.

        Parameters
        ----------
        view : View
        need : int or None
            Tokens to free; None takes all.
        spared : collection of int
            Ids that stay.
        tombstone : int
            Tokens charged for the record of each; what is no larger stays.
        """
        if not self.dead_first:
            return []
        going: list[Item] = []
        left = need
        begun: set[tuple[str, int | None] | None] = set()
        dead = [
            item
            for item in self._movable(view, spared)
            if item.dead and not (tombstone and item.tokens <= tombstone)
        ]
        for item in self._in_requests(view, dead):
            whole = self._unit_of_dead(item)
            if left is not None and left <= 0 and whole not in begun:
                continue
            going.append(item)
            if left is not None:
                left -= item.tokens - tombstone
            if whole is not None:
                begun.add(whole)
        return going

    def units(
        self, view: View, replacement: ReplacementRule, brief: Brief, spared: Collection[int] = ()
    ) -> list[Unit]:
        """Return the units that may be replaced, best first; `spared` ids stay."""
        free = [
            item
            for item in self._movable(view, spared)
            if item.kind in self.kinds and not (self.dead_first and item.dead)
        ]
        key = self._request_of if self.keeping.pairs == "whole" else replacement.group
        groups = _grouped(self._in_requests(view, free), key)
        units = [_unit(items, replacement, brief) for items in groups]
        if self.only_savings:
            units = [unit for unit in units if unit.saving > 0]
        if self.order == "verbosity":
            units.sort(key=lambda unit: -unit.tokens)
        elif self.order == "saving":
            units.sort(key=lambda unit: -unit.saving)
        elif self.order == "salience":
            units.sort(key=self._score(view))
        return units

    def _movable(self, view: View, spared: Collection[int]) -> Iterator[Item]:
        """Yield what may be touched at all: what does not stay and is not exempt, marked or spared."""
        fixed = FIXED | self.exempt
        stays = () if self.keeping == EVERYTHING_MAY_GO else self.keeping.stays(view)
        for item in view.items:
            if item.kind not in fixed and not item.marked and item.id not in spared and item.id not in stays:
                yield item

    def _in_requests(self, view: View, free: list[Item]) -> list[Item]:
        """Return what may go without parting a call from its results, where that is asked for."""
        return whole_requests(view.items, free) if self.keeping.pairs == "whole" else free

    def _unit_of_dead(self, item: Item) -> tuple[str, int | None] | None:
        """Return what a dead item is evicted together with, or None."""
        if self.evict_unit == "subgoal":
            return ("subgoal", item.subgoal)
        if self.keeping.pairs == "whole" and item.pair is not None:
            return ("request", item.pair)
        return None

    @staticmethod
    def _request_of(item: Item) -> object:
        return item.id if item.pair is None else ("request", item.pair)

    def _score(self, view: View) -> Callable[[Unit], float]:
        """Return the score of a unit, which is that of its best item, by recency and salience."""
        turn = max(1, view.gauge.turn)
        recent = Counter(
            antecedent
            for item in view.items
            if turn - item.born < self.salience_turns
            for antecedent in item.cites
        )
        cited = max(1, recent.total())

        def score(unit: Unit) -> float:
            return max(
                self.recency_weight * item.born / turn + self.salience_weight * recent[item.id] / cited
                for item in unit.items
            )

        return score


def merged(units: Iterable[Unit], view: View, replacement: ReplacementRule, brief: Brief) -> list[Unit]:
    """Return one unit of all the items, in context order; nothing of nothing."""
    chosen = {item.id for unit in units for item in unit.items}
    items = tuple(item for item in view.items if item.id in chosen)
    return [_unit(items, replacement, brief)] if items else []


def _unit(items: tuple[Item, ...], replacement: ReplacementRule, brief: Brief) -> Unit:
    tokens = sum([item.tokens for item in items])
    saving = (tokens - replacement.believed_size(items, brief)) * items[0].judgement
    return Unit(items, tokens, round(saving))


def _grouped(items: Iterable[Item], key: Callable[[Item], object]) -> list[tuple[Item, ...]]:
    """Return items one by one, or together with those that share their key."""
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return [tuple(group) for group in groups.values()]
