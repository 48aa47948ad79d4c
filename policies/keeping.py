"""What stays: the head of the conversation, its tail, the newest results, what users typed. View in, ids out.

Everything before a border may go. The rules of the tail each say where it begins and the longest tail
holds; then the border moves to where a provider, or the system, lets it be. Sources: policy zoo
sections 1 and 2; field reports S15, S68.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from policies.triggers import share_of
from simulator.spans import Kind
from simulator.view import Item, View

Cut = Literal["any", "user", "assistant", "answered", "not_result", "paired", "balanced"]
ShareOf = Literal["content", "window", "usable"]
CutElse = Literal["all", "nothing", "back", "assistant", "answered", "not_result"]

WRITTEN = frozenset({Kind.THINKING, Kind.ASSISTANT, Kind.TOOL_CALL})
"""Kinds that one answer of a model is made of; no border falls within it."""

RESULTS = frozenset({Kind.TOOL_RESULT, Kind.PLACEHOLDER})
"""Tool results, and what stands in their place."""

TASK = 1
"""SWE-agent counts the message that states the task among its observations, and never masks it."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Which spans stay. A message is a span; the fixed head is none.

    Attributes
    ----------
    first, last : messages at the start and at the end that stay.
    tokens : newest messages that hold together no more than so many believed tokens.
    share, share_of : the same as a share of the `content`, which is all but the head, of the `window`,
        or of what of it is `usable`, the output reserve not in it; where both are set both hold.
    rounds : the message in which such a budget ends goes (`down`) or stays (`up`).
    counts_head : the fixed head is in that budget.
    turns : newest user turns; where there are fewer, all stays.
    requests : newest turns of the agent, by birth.
    oldest_share : all but this share of the messages, and but one at least.
    oldest_step : that share grows by so much until the tail is within the budget of tokens.
    oldest_least : messages before the border where the tail would else hold everything.
    cut : what the first message of the tail may be: `any`, a `user` message, the start of an answer
        (`assistant`), of one whose calls are answered at once (`answered`), or all but a tool result or
        the middle of an answer (`not_result`), nor a call that is not answered at once (`paired`); with
        `balanced` no call before it is open, and none has a result behind it.
    cut_moves : the border moves `back`, and the tail grows, or `forward`, to the next place for it.
    cut_else : what goes where there is no such place: `all`, or `nothing`; or it moves `back`, or to
        another kind of message.
    results : newest tool results that stay, wherever they stand.
    polling : the number of those that may go is rounded down, so that it grows by so many at once.
    result_tokens : newest tool results before the tail that hold no more than so many tokens together.
    users, user_tokens : newest user messages that stay, by number and by their tokens together.
    pairs : with `whole`, a call and its results go together or not at all, and an open call stays.
    """

    first: int = 0
    last: int = 0
    tokens: int | None = None
    share: float | None = None
    share_of: ShareOf = "content"
    rounds: Literal["down", "up"] = "down"
    counts_head: bool = False
    turns: int = 0
    requests: int = 0
    oldest_share: float | None = None
    oldest_step: float = 0.0
    oldest_least: int = 0
    cut: Cut = "any"
    cut_moves: Literal["back", "forward"] = "back"
    cut_else: CutElse | None = None
    results: int | None = None
    polling: int = 1
    result_tokens: int | None = None
    users: int = 0
    user_tokens: int = 0
    pairs: Literal["ignore", "whole"] = "ignore"

    def stays(self, view: View) -> frozenset[int]:
        """Return the ids of what stays, pairs not looked at."""
        items = view.items
        start = next((place for place, item in enumerate(items) if item.kind is not Kind.HEAD), len(items))
        low = min(start + self.first, len(items))
        border = max(low, self._cut(items, low, max(low, self._border(view, start))))
        kept = [*items[:low], *items[border:]]
        if self.results is not None:
            kept += self._newest_results(items)
        if self.result_tokens is not None:
            shown = [item for item in items[:border] if item.kind is Kind.TOOL_RESULT]
            kept += newest_within(shown, self.result_tokens)
        if self.users or self.user_tokens:
            typed = [item for item in items if item.kind is Kind.USER]
            kept += typed[len(typed) - min(self.users, len(typed)) :]
            kept += newest_within(typed, self.user_tokens)
        return frozenset(item.id for item in kept)

    def _border(self, view: View, start: int) -> int:
        """Return the place of the first message of the tail, by the rule that keeps the most."""
        items, end = view.items, len(view.items)
        borders = [max(start, end - self.last)]
        budget = self._budget(view)
        if self.oldest_share is not None:
            borders.append(self._after_oldest(items, start, budget))
        elif budget is not None:
            borders.append(self._after_budget(items, start, budget))
        if self.turns:
            typed = [place for place in range(start, end) if items[place].kind is Kind.USER]
            borders.append(typed[-self.turns] if len(typed) >= self.turns else start)
        if self.requests:
            oldest = view.gauge.turn - self.requests
            place = end
            while place > start and items[place - 1].born > oldest:
                place -= 1
            borders.append(place)
        border = min(borders)
        return border if border > start else min(start + self.oldest_least, end)

    def _budget(self, view: View) -> int | None:
        """Return the tokens of the tail, or None where they have no limit."""
        head = sum(item.tokens for item in view.items if item.kind is Kind.HEAD)
        budgets = [] if self.tokens is None else [self.tokens]
        if self.share is not None:
            window, reserve = view.gauge.window, view.gauge.output_reserve
            content = sum(item.tokens for item in view.items) - head
            wholes = {"content": content, "window": window, "usable": window - reserve}
            budgets.append(share_of(self.share, wholes[self.share_of]))
        if not budgets:
            return None
        return min(budgets) - (head if self.counts_head else 0)

    def _after_budget(self, items: tuple[Item, ...], start: int, budget: int) -> int:
        place, left = len(items), budget
        while place > start and items[place - 1].tokens <= left:
            place -= 1
            left -= items[place].tokens
        return place - 1 if self.rounds == "up" and place > start and left > 0 else place

    def _after_oldest(self, items: tuple[Item, ...], start: int, budget: int | None) -> int:
        assert self.oldest_share is not None
        count = len(items) - start
        share = self.oldest_share
        place = start + max(1, share_of(share, count))
        if budget is None or not self.oldest_step:
            return place
        while sum(item.tokens for item in items[place:]) > budget and share < 1:
            share = min(1.0, share + self.oldest_step)
            place = start + share_of(share, count)
        return place

    def _cut(self, items: tuple[Item, ...], low: int, border: int) -> int:
        """Return the border moved to where it may be."""
        if self.cut == "any" or border <= low:
            return border
        last = border if self.cut == "balanced" else min(border, len(items) - 1)
        if self.cut_moves == "back":
            moved = _first(range(last, low - 1, -1), LEGAL[self.cut], items)
        else:
            moved = _first(range(border, len(items)), LEGAL[self.cut], items)
        if moved is not None:
            return moved
        otherwise = self.cut_else or ("nothing" if self.cut_moves == "back" else "all")
        if otherwise in LEGAL:
            moved = _first(range(border, len(items)), LEGAL[otherwise], items)
        elif otherwise == "back":
            moved = _first(range(last, low - 1, -1), LEGAL[self.cut], items)
        elif otherwise == "all":
            return len(items)
        return low if moved is None else moved

    def _newest_results(self, items: tuple[Item, ...]) -> list[Item]:
        """Return the tool results that stay by their number; those that were masked are counted."""
        assert self.results is not None
        results = [item for item in items if item.kind in RESULTS]
        counted = (len(results) + TASK) // self.polling * self.polling
        return results[max(0, counted - TASK - self.results) :]


def newest_within(items: Iterable[Item], tokens: int) -> list[Item]:
    """Return the newest items that hold no more than so many tokens together."""
    kept: list[Item] = []
    for item in reversed(list(items)):
        if item.tokens > tokens:
            break
        tokens -= item.tokens
        kept.append(item)
    return kept


def whole_requests(items: Iterable[Item], free: Collection[Item]) -> list[Item]:
    """Return of the items that may go those whose whole request may go, or that belong to none.

    Parameters
    ----------
    items : iterable of Item
        All that the policy sees, or as much of it as may tear a request.
    free : collection of Item
        Those of them that may go; what is returned keeps their order.

    Notes
    -----
    A call whose results are not all to be seen is open: it waits for them, or they stand in another
    form, and what is left of it stays.
    """
    ids = {item.id for item in free}
    calls: dict[int, int] = {}
    torn: set[int] = set()
    for item in items:
        if item.pair is None:
            continue
        if item.id not in ids:
            torn.add(item.pair)
        if item.kind is Kind.TOOL_CALL:
            calls[item.pair] = calls.get(item.pair, 0) + 1
        elif item.kind in RESULTS:
            calls[item.pair] = calls.get(item.pair, 0) - 1
    torn.update(pair for pair, open_ in calls.items() if open_ > 0)
    return [item for item in free if item.pair is None or item.pair not in torn]


def _first(
    places: Iterable[int], legal: Callable[[tuple[Item, ...], int], bool], items: tuple[Item, ...]
) -> int | None:
    return next((place for place in places if legal(items, place)), None)


def _is_user(items: tuple[Item, ...], place: int) -> bool:
    return items[place].kind is Kind.USER


def _is_within_answer(items: tuple[Item, ...], place: int) -> bool:
    item, before = items[place], items[place - 1] if place else None
    return before is not None and item.kind in WRITTEN and before.kind in WRITTEN and item.born == before.born


def _opens_answer(items: tuple[Item, ...], place: int) -> bool:
    return items[place].kind in WRITTEN and not _is_within_answer(items, place)


def _is_no_result(items: tuple[Item, ...], place: int) -> bool:
    item = items[place]
    answers = item.kind is Kind.TOOL_RESULT or (item.kind is Kind.PLACEHOLDER and item.pair is not None)
    return not answers and not _is_within_answer(items, place)


def _end_of_answer(items: tuple[Item, ...], place: int) -> int:
    end = place + 1
    while end < len(items) and _is_within_answer(items, end):
        end += 1
    return end


def _opens_answered(items: tuple[Item, ...], place: int) -> bool:
    end = _end_of_answer(items, place)
    calls = any(item.kind is Kind.TOOL_CALL for item in items[place:end])
    answered = end < len(items) and items[end].kind in RESULTS
    return _opens_answer(items, place) and calls and answered


def _is_paired(items: tuple[Item, ...], place: int) -> bool:
    if not _is_no_result(items, place):
        return False
    calls = any(item.kind is Kind.TOOL_CALL for item in items[place : _end_of_answer(items, place)])
    return not calls or _opens_answered(items, place)


def _is_balanced(items: tuple[Item, ...], place: int) -> bool:
    if place < len(items) and _is_within_answer(items, place):
        return False
    calls: dict[int, int] = {}
    for item in items[:place]:
        if item.pair is not None and item.kind is not Kind.THINKING:
            calls[item.pair] = calls.get(item.pair, 0) + (1 if item.kind is Kind.TOOL_CALL else -1)
    answered = {item.pair for item in items[place:] if item.kind in RESULTS}
    return not any(open_ > 0 for open_ in calls.values()) and answered.isdisjoint(calls)


LEGAL: dict[str, Callable[[tuple[Item, ...], int], bool]] = {
    "user": _is_user,
    "assistant": _opens_answer,
    "answered": _opens_answered,
    "not_result": _is_no_result,
    "paired": _is_paired,
    "balanced": _is_balanced,
}
"""Whether a border may stand before a message, by the word for the place."""
