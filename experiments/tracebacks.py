"""The traceback of a failure, without what differs from process to process.

In comes an exception; out come its message and its stack as a row holds them. Where the watchdog happened to
meet a run, and how deep the stack below was when it overflowed, say nothing of the fault.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator

from simulator.watchdog import Interruption

DEPTH = re.compile(r"(maximum recursion depth exceeded)(?: (?:in|while) [\w ]+)?")
"""What the interpreter says of a stack that is too deep, and what it was doing just then."""


def stack_of(error: BaseException) -> str:
    """Return the stack of an exception below the frame that has caught it, and of what led to it.

    Empty where the watchdog has raised it. Of a stack that overflowed it is the part before the first call
    that comes again: how often it comes depends on what lies below.
    """
    if any(isinstance(one, Interruption) for one in _led_to(error)):
        return ""
    below = error.__traceback__.tb_next if error.__traceback__ else None  # our own frame tells nothing
    told = traceback.TracebackException(type(error), error, below, compact=True)
    if has_overflowed(error):
        _cut(told)
    return DEPTH.sub(r"\1", "".join(told.format()))


def has_overflowed(error: BaseException) -> bool:
    """Return whether a stack that became too deep has led to an exception."""
    return any(isinstance(one, RecursionError) for one in _led_to(error))


def without_depth(text: str) -> str:
    """Return a message without what the interpreter was doing when the stack became too deep.

    >>> without_depth("RecursionError: maximum recursion depth exceeded while calling a Python object")
    'RecursionError: maximum recursion depth exceeded'
    """
    return DEPTH.sub(r"\1", text)


def _led_to(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all that it came from."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def _cut(told: traceback.TracebackException) -> None:
    """Keep of each stack the calls before the first that comes again."""
    waiting = [told]
    while waiting:
        one = waiting.pop()
        seen: set[tuple[str, int | None]] = set()
        kept = []
        for frame in one.stack:
            if (frame.filename, frame.lineno) in seen:
                break
            seen.add((frame.filename, frame.lineno))
            kept.append(frame)
        one.stack = traceback.StackSummary.from_list(kept)
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
