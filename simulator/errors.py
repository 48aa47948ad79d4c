"""The errors that users meet, each told in one line: what, where, what was expected, the nearest name.

Standard library only. The refusals of the field records are no errors of users; they stand in
`simulator.contracts`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RewriteLabError(Exception):
    """Anything that a user of rewritelab is told in one line."""


class InputError(RewriteLabError):
    """A file, a name, a path or a value that cannot be used.

    Parameters
    ----------
    what : str
        What is wrong, in words.
    where : str
        File and key, line of a log, or option of the command line.
    expected : str
        What would have been right.
    nearest : str
        The nearest valid name, or empty.
    """

    def __init__(self, what: str, *, where: str = "", expected: str = "", nearest: str = "") -> None:
        self.what, self.where, self.expected, self.nearest = what, where, expected, nearest
        line = f"{where}: {what}" if where else what
        if expected:
            short = expected if len(expected) <= LONGEST_EXPECTED else f"{expected[:LONGEST_EXPECTED]}..."
            line += f"; expected {short}"
        if nearest:
            line += f"; did you mean {nearest!r}?"
        super().__init__(one_line(line))

    def __reduce__(self) -> tuple[object, ...]:
        return _input_error, (type(self), self.what, self.where, self.expected, self.nearest)


def _input_error(kind: type[InputError], what: str, where: str, expected: str, nearest: str) -> InputError:
    return kind(what, where=where, expected=expected, nearest=nearest)


class RunFailed(RewriteLabError):
    """A run that could not be finished: a policy's fault, or a broken identity.

    Parameters
    ----------
    stage : str
        The phase of the transaction, or the part of the run, that failed.
    reason : str
        Why, in one line.
    """

    def __init__(self, stage: str, reason: str) -> None:
        self.stage, self.reason = stage, one_line(reason)
        super().__init__(f"run failed at {stage}: {self.reason}")

    def __reduce__(self) -> tuple[type[RunFailed], tuple[str, ...]]:
        return RunFailed, (self.stage, self.reason)


SKIPPED = "skipped"
"""The stage of a run that was never begun."""


class RunSkipped(RunFailed):
    """A run that would say nothing: its scenario lacks what its policy needs to be itself."""

    def __init__(self, reason: str) -> None:
        super().__init__(SKIPPED, reason)

    def __str__(self) -> str:
        """Return what a user is told."""
        return f"{self.stage}: {self.reason}"

    def __reduce__(self) -> tuple[type[RunFailed], tuple[str, ...]]:
        return RunSkipped, (self.reason,)


def nearest_name(name: str, valid: Iterable[str]) -> str:
    """Return the valid name that looks most like `name`, or an empty string.

    >>> nearest_name("gaurded", ["naive", "guarded"])
    'guarded'
    """
    matches = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return matches[0] if matches else ""


def one_line(text: str) -> str:
    r"""Return `text` on one line, cut where it is too long, with nothing that a terminal would obey.

    >>> one_line("first\nsecond\x1b[2J")
    'first second?[2J'
    """
    flat = " ".join(text.split())
    safe = "".join(letter if letter.isprintable() else "?" for letter in flat)
    return safe if len(safe) <= LONGEST_LINE else safe[: LONGEST_LINE - 3] + "..."


LONGEST_EXPECTED = 300
"""Characters of what would have been right; the nearest name after it says more than the rest of a list."""

LONGEST_LINE = 600
"""Characters of a message."""


def told(fault: BaseException) -> str:
    """Return the class and the text of an exception, even of one that cannot be printed.

    >>> told(ZeroDivisionError("by my own fault"))
    'ZeroDivisionError: by my own fault'
    """
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:
        return f"{type(fault).__name__}, which cannot be printed"
