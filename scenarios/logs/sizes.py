"""What the messages of a session take: as billed where the log reports usage, else as estimated.

The growth of the input from one call to the next is what the messages between them took, text that
the log hides included. So it is spread over them by their estimated sizes, and the replayed input
equals the billed one up to the first rewrite of the log. Where the input fell, recorded or not, the
log's own runtime had rewritten; messages there keep their estimate, scaled by what the other steps
have shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from scenarios.logs.session import Session, Usage

LEAST_SHARE_OF_ESTIMATE = 0.25
"""A growth below this share of the estimate is a fall: something left the window. Of 485 growths in
published logs three lie below (all negative), the next at 0.31, and 1% below 0.73."""


class Fall(NamedTuple):
    """The input of one call was smaller than what had been sent before, and no rewrite is recorded."""

    line: int
    before: int
    after: int


class Sizes(NamedTuple):
    """What the messages of a session take, by index.

    Attributes
    ----------
    tokens : one figure a message.
    prefix : tokens of system prompt and tools, or None where no usage is reported.
    factor : billed over estimated tokens; 1 where nothing was billed.
    followed, growths : growths of the input that were spread over messages, and all of them.
    falls : where the input fell though no rewrite is recorded.
    """

    tokens: tuple[int, ...]
    prefix: int | None
    factor: float
    followed: int
    growths: int
    falls: tuple[Fall, ...]


def estimated_sizes(session: Session) -> Sizes:
    """Return the sizes that the reader estimated from bytes."""
    tokens = tuple(message.tokens for message in session.messages)
    return Sizes(tokens, session.prefix_tokens, 1.0, 0, 0, ())


def billed_sizes(session: Session) -> Sizes:
    """Return the sizes that the provider billed, as far as the log reports usage.

    Where fewer than two calls report usage, or no growth can be followed, these are the estimates.
    """
    estimate = [message.tokens for message in session.messages]
    steps = list(pairwise(_by_position(session.usages)))
    followed: list[tuple[Usage, Usage]] = []
    falls: list[Fall] = []
    for before, after in steps:
        if any(before.before <= rewrite.after < after.before for rewrite in session.rewrites):
            continue
        if after.total - before.total >= LEAST_SHARE_OF_ESTIMATE * sum(
            estimate[before.before : after.before]
        ):
            followed.append((before, after))
        else:
            falls.append(Fall(after.line, before.total, after.total))
    guessed = sum(sum(estimate[before.before : after.before]) for before, after in followed)
    grown = sum(after.total - before.total for before, after in followed)
    if not guessed or not grown:
        return estimated_sizes(session)
    factor = grown / guessed
    tokens = [round(factor * size) for size in estimate]
    for before, after in followed:
        part = slice(before.before, after.before)
        tokens[part] = _spread(after.total - before.total, estimate[part])
    first = steps[0][0]
    prefix = max(0, first.total - sum(tokens[: first.before]))
    return Sizes(tuple(tokens), prefix, factor, len(followed), len(steps), tuple(falls))


def _by_position(usages: Sequence[Usage]) -> list[Usage]:
    """Return the usages in order, the first of those that stand before the same message."""
    first = {usage.before: usage for usage in reversed(usages)}
    return [first[position] for position in sorted(first)]


def _spread(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole parts of `total` in proportion to the weights; an empty message weighs one token.

    >>> _spread(10, [2, 1, 1])
    [5, 2, 3]
    """
    ends = list(accumulate(max(weight, 1) for weight in weights))
    marks = [total * end // ends[-1] for end in ends]
    return [mark - before for before, mark in pairwise([0, *marks])]
