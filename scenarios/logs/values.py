"""Values out of records that may hold anything: each is what it should be, or nothing.

Comes in: a JSON value that a log has in some place. Goes out: an identifier, a count, a time, an
object or a list that a reader can go on with, whatever stood there.
"""

from __future__ import annotations

from datetime import UTC, datetime

from scenarios.logs.records import Json
from simulator.errors import one_line

_LARGEST_COUNT = 10**12
"""Counts above it are taken for damage: no context has that many tokens."""


def identifier(value: Json) -> str | None:
    r"""Return an identifier or a name of the log, safe to print, or None.

    >>> identifier("toolu_01"), identifier(7), identifier(None), identifier("a\x1b[2J")
    ('toolu_01', '7', None, 'a?[2J')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) <= _LARGEST_COUNT else None
    if not isinstance(value, str) or not value.strip():
        return None
    return one_line(value)


def tokens_or_none(value: Json) -> int | None:
    """Return a recorded count of tokens, or None where there is none that can be true.

    >>> tokens_or_none(155000), tokens_or_none(-1), tokens_or_none("many")
    (155000, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _LARGEST_COUNT else None


def mapping(value: Json) -> dict[str, Json]:
    """Return `value` if it is an object, else an empty one: a missing key is no reason to stop."""
    return value if isinstance(value, dict) else {}


def sequence(value: Json) -> list[Json]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def strings_within(value: Json) -> str:
    r"""Return the strings inside a JSON value, in order, a line each.

    >>> strings_within({"file": "a.py", "edits": [{"old": "x"}, 3]})
    'a.py\nx'
    """
    found: list[str] = []
    waiting: list[Json] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
    return "\n".join(found)


def epoch_seconds(timestamp: Json) -> float | None:
    """Return the seconds since the epoch of an ISO timestamp (UTC where it names no zone), or None.

    >>> epoch_seconds("1970-01-01T00:01:00.500Z"), epoch_seconds("yesterday")
    (60.5, None)
    """
    if not isinstance(timestamp, str):
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
