"""The formats that can be read, and the way in: recognise a log, read it, pick a session.

A format is one module that ends with `FORMAT = LogFormat(...)` and one line in `FORMATS`; nothing
else in the house knows how a log is laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from scenarios.logs.records import Head, read_head
from scenarios.logs.session import Session
from simulator.errors import InputError, nearest_name

FORMATS: dict[str, str] = {
    "claude_code": "scenarios.logs.claude_code",
    "openhands": "scenarios.logs.openhands",
    "pi": "scenarios.logs.pi",
    "tau_bench": "scenarios.logs.tau_bench",
}
"""Name of a format -> the module that reads it, imported where it is first needed."""

BYTES_PER_TOKEN_RANGE = (0.1, 100.0)
"""What a user may take for the bytes of one token; real vocabularies lie between 2 and 6."""

Pick = int | Literal["all"] | None
"""Which sessions of a file: a position from 0, all, or the longest (None)."""


@dataclass(frozen=True, slots=True)
class LogFormat:
    """How the logs of one tool are read.

    Attributes
    ----------
    name : str
        Name of the format.
    bytes_per_token : float
        UTF-8 bytes that stand for one token by default.
    bytes_per_token_source : str
        Where that figure comes from.
    recognises : callable
        Whether the first records of a file are of this format.
    read : callable
        All sessions of a file: `read(path, bytes_per_token, bytes_per_token_source)`.
    """

    name: str
    bytes_per_token: float
    bytes_per_token_source: str
    recognises: Callable[[Head], bool]
    read: Callable[[Path, float, str], list[Session]]


def load_format(name: str) -> LogFormat:
    """Return the format of that name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in FORMATS:
        raise InputError(
            f"unknown log format {name!r}",
            expected=f"one of {', '.join(FORMATS)}",
            nearest=nearest_name(name, FORMATS),
        )
    found = import_module(FORMATS[name]).FORMAT
    assert isinstance(found, LogFormat)
    return found


def detect_format(path: str | Path) -> str:
    """Return the name of the format of a log, judged by its first records and never by its name.

    Raises
    ------
    InputError
        If the file cannot be read, or no known format recognises it.
    """
    path = Path(path)
    head = read_head(path)
    for name in FORMATS:
        if load_format(name).recognises(head):
            return name
    what = "the log's format is not known" if head.records else "holds no record"
    raise InputError(what, where=str(path), expected=f"a log in one of the formats {', '.join(FORMATS)}")


def read_sessions(
    path: str | Path,
    format: str | None = None,
    session: Pick = None,
    bytes_per_token: float | None = None,
) -> list[Session]:
    """Read the sessions of a log.

    Parameters
    ----------
    path : str or Path
        The log.
    format : str or None
        Name of its format; None recognises it by its first records.
    session : int, "all" or None
        Position in the file from 0, all of them, or the longest.
    bytes_per_token : float or None
        UTF-8 bytes that stand for one token; None takes the format's own figure.

    Returns
    -------
    list of Session
        One, or with "all" each that the file holds, in its order.

    Raises
    ------
    InputError
        If the file, the format, the position or the figure cannot be used.
    """
    path = Path(path)
    known = load_format(format) if format is not None else load_format(detect_format(path))
    ratio, source = known.bytes_per_token, known.bytes_per_token_source
    if bytes_per_token is not None:
        least, most = BYTES_PER_TOKEN_RANGE
        if not least <= bytes_per_token <= most:
            raise InputError(
                f"cannot be {bytes_per_token}",
                where="bytes_per_token",
                expected=f"a number from {least} to {most}",
            )
        ratio, source = float(bytes_per_token), "given by the user"
    return pick_session(known.read(path, ratio, source), session)


def pick_session(sessions: Sequence[Session], which: Pick = None) -> list[Session]:
    """Return the sessions asked for.

    Parameters
    ----------
    sessions : sequence of Session
        Those of one file, in its order; at least one.
    which : int, "all" or None
        Position from 0, all, or the longest in tokens (the first of equals).

    Raises
    ------
    InputError
        If there is no session at that position.
    """
    if which == "all":
        return list(sessions)
    if which is None:
        return [max(sessions, key=lambda session: session.tokens)]
    if 0 <= which < len(sessions):
        return [sessions[which]]
    where = str(sessions[0].source) if sessions else "session"
    last = len(sessions) - 1
    expected = f"all, or a position from 0 to {last}" if last else "all, or 0 (the file holds one session)"
    raise InputError(f"has no session {which}", where=where, expected=expected)
