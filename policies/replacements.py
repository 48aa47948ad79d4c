"""Replacements: what a policy puts in the place of a span, and what it believes that will save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simulator.contracts import Brief
from simulator.plan import Evict, Fold, Mask, Operation, Summarise
from simulator.spans import Kind
from simulator.view import Item


@dataclass(frozen=True, slots=True)
class ReplacementRule:
    """How selected spans are replaced, and the policy's belief in the size of the result.

    Attributes
    ----------
    kind : a summary by a model, a placeholder, or nothing; a `clip` keeps head and tail of an item; a
        `digest` makes one summary of the plan steps of a subgoal and drops the results that these
        stand on.
    ratio, ratio_per_pass : believed share that a summary keeps, and how it grows with each pass.
    cap : most tokens asked for in one summary; None leaves it to the model.
    placeholder : tokens of a placeholder.
    clip_tokens : what is left of a clipped item; one that is no larger is left alone.
    clip_over : and so is one of no more than so many tokens.
    group_by : a summary is made of each `item`, of all results of one call (`pair`), or of `all` that was
        selected.
    position : a summary of several spans stands where the `first` of them or where the `last` stood.
    tombstone : tokens that the policy charges itself for the record of each span that it evicts.
    """

    kind: Literal["summary", "mask", "clip", "evict", "digest"] = "summary"
    ratio: float = 0.30
    ratio_per_pass: float = 0.45
    cap: int | None = None
    placeholder: int = 12
    clip_tokens: int = 100
    clip_over: int = 0
    group_by: Literal["item", "pair", "all"] = "pair"
    position: Literal["first", "last"] = "first"
    tombstone: int = 0

    @property
    def believed_ratio(self) -> float:
        """Share that the policy expects to be left of what it replaces, at the first pass.

        0 where nothing is summarised: a placeholder is a size of its own and no share of anything.
        """
        return self.ratio if self.kind in ("summary", "digest") else 0.0

    def believed_size(self, items: Sequence[Item], brief: Brief) -> int:
        """Return the tokens that the policy expects in the place of these items."""
        if self._drops(items):
            return self.tombstone * len(items)
        if self.kind == "mask":
            return (self.placeholder or self.tombstone) * len(items)  # of nothing there is a record to keep
        if self.kind == "clip":
            return sum([self.clip_tokens if self._clips(item) else item.tokens for item in items])
        left = round(
            sum([min(self.ratio + self.ratio_per_pass * item.passes, 1.0) * item.tokens for item in items])
        )
        for limit in (self.cap, brief.summary_cap):
            if limit is not None and limit < left:
                left = limit
        return max(brief.summary_floor, left)

    def operation(self, items: Sequence[Item]) -> tuple[Operation, ...]:
        """Return what to do with one unit of items."""
        if self._drops(items):
            return tuple(Evict(item.id) for item in items)
        if self.kind == "mask":
            return tuple(Mask(item.id, self.placeholder) for item in items)
        if self.kind == "clip":
            return tuple(Mask(item.id, self.clip_tokens) for item in items if self._clips(item))
        if len(items) == 1:
            return (Summarise(items[0].id),)
        return (Fold(tuple(item.id for item in items), self.position == "last"),)

    def group(self, item: Item) -> object:
        """Return what the item is replaced together with: a key that its companions share."""
        if self.kind == "digest" and item.kind is Kind.ASSISTANT and item.subgoal is not None:
            return ("steps", item.subgoal)
        if self.group_by == "pair" and item.pair is not None and item.kind is Kind.TOOL_RESULT:
            return ("pair", item.pair)
        return item.id

    def _clips(self, item: Item) -> bool:
        return item.tokens > max(self.clip_tokens, self.clip_over)

    def _drops(self, items: Sequence[Item]) -> bool:
        """Whether nothing takes the place of these items."""
        return self.kind == "evict" or (self.kind == "digest" and items[0].kind is Kind.TOOL_RESULT)
