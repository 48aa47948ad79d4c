"""Selectors: which spans a rewrite touches. View in, units of items out, best first.

A unit is what is replaced together: one span, or the spans of one call where these are folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from policies.replacements import ReplacementRule
from simulator.contracts import Brief
from simulator.spans import Kind
from simulator.view import Item, View


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
        first in the context.
    limit : most spans that are replaced in one attempt; None is no limit.
    kinds : kinds that may be replaced; dead spans may be of any.
    exempt : kinds that are never touched, dead or not; the fixed head is always one of them.
    keep_last : spans at the end of the context that stay.
    dead_first : spans of closed subgoals with nothing needed are evicted first, oldest first.
    evict_unit : dead spans go one by one, or a whole subgoal at once.
    only_savings : units without a believed saving are left alone.
    """

    order: Literal["verbosity", "saving", "oldest"] = "verbosity"
    limit: int | None = None
    kinds: frozenset[Kind] = frozenset(Kind)
    exempt: frozenset[Kind] = frozenset({Kind.TRACE})
    keep_last: int = 0
    dead_first: bool = False
    evict_unit: Literal["item", "subgoal"] = "item"
    only_savings: bool = False

    def dead(self, view: View, need: int | None) -> list[Item]:
        """Return dead items to evict, oldest first, until `need` tokens are met (None takes all)."""
        if not self.dead_first:
            return []
        going: list[Item] = []
        left = need
        begun: set[int | None] = set()
        for item in self._movable(view):
            if not item.dead:
                continue
            if left is not None and left <= 0 and item.subgoal not in begun:
                continue
            going.append(item)
            if left is not None:
                left -= item.tokens
            if self.evict_unit == "subgoal":
                begun.add(item.subgoal)
        return going

    def units(self, view: View, replacement: ReplacementRule, brief: Brief) -> list[Unit]:
        """Return the units that may be replaced, best first."""
        free = (
            item
            for item in self._movable(view)
            if item.kind in self.kinds and not (self.dead_first and item.dead)
        )
        units = [_unit(items, replacement, brief) for items in _grouped(free, replacement.fold_pairs)]
        if self.only_savings:
            units = [unit for unit in units if unit.saving > 0]
        if self.order == "verbosity":
            units.sort(key=lambda unit: -unit.tokens)
        elif self.order == "saving":
            units.sort(key=lambda unit: -unit.saving)
        return units

    def _movable(self, view: View) -> Iterator[Item]:
        """Yield what may be touched at all: before the last ones that stay, not exempt, not marked."""
        for item in view.items[: max(0, len(view.items) - self.keep_last)]:
            if item.kind is not Kind.HEAD and item.kind not in self.exempt and not item.marked:
                yield item


def _unit(items: tuple[Item, ...], replacement: ReplacementRule, brief: Brief) -> Unit:
    tokens = sum(item.tokens for item in items)
    saving = (tokens - replacement.believed_size(items, brief)) * items[0].judgement
    return Unit(items, tokens, round(saving))


def _grouped(items: Iterable[Item], fold_pairs: bool) -> list[tuple[Item, ...]]:
    """Return items one by one, the tool results of one call together where pairs are folded."""
    groups: dict[object, list[Item]] = {}
    for item in items:
        folds = fold_pairs and item.pair is not None and item.kind is Kind.TOOL_RESULT
        groups.setdefault(("pair", item.pair) if folds else item.id, []).append(item)
    return [tuple(group) for group in groups.values()]
