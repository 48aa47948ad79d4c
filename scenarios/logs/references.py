"""Which tool results are cited later: a proxy that reads quotations.

A result is cited when a later message of the assistant (text, thinking or call arguments) repeats a
*needle* that this result brought in for the first time: a run of 20 or more path or identifier
characters, or a stripped line of 20 or more characters. Use without quoting is missed, so the share
is a lower bound. Source: the project's survey of recorded traces, "referred to later".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from scenarios.logs.session import Citation, Kind

NEEDLE_CHARACTERS = 20
"""Shortest needle, characters."""

NEEDLE_KEPT_CHARACTERS = 200
"""Needles are compared by this many first characters, which bounds memory."""

NEEDLES_PER_RESULT = 4_000
"""Needles remembered of one message; a file read is cut at 2,000 lines by the tools seen."""

NEEDLES_PER_SESSION = 500_000
"""Needles remembered of one session, below 200 MB; later ones are not remembered."""

_RUN = re.compile(rf"[A-Za-z0-9_./@+~-]{{{NEEDLE_CHARACTERS},}}")
_LINE_NUMBER = re.compile(r"\s*\d{1,7}(?:→|\t)")
_NOT_FROM_A_RESULT = -1


def needles(text: str) -> Iterator[str]:
    """Yield the needles of `text`, in order, repetitions included.

    Line numbers that a file viewer puts before each line are taken off first.

    >>> list(needles("  12→return compute_the_answer(42)"))
    ['return compute_the_answer(42)']
    >>> list(needles("see src/simpy/events_core.py."))
    ['see src/simpy/events_core.py.', 'src/simpy/events_core.py']
    """
    # split("\n") and not splitlines(): a form feed inside a line is content, not its end.
    for line in text.split("\n"):
        numbered = _LINE_NUMBER.match(line)
        stripped = (line[numbered.end() :] if numbered else line).strip()
        if len(stripped) < NEEDLE_CHARACTERS:
            continue
        if _says_something(stripped):
            yield stripped[:NEEDLE_KEPT_CHARACTERS]
        for run in _RUN.findall(stripped):
            bare = run.strip("./-+~")
            if len(bare) >= NEEDLE_CHARACTERS and bare != stripped and _says_something(bare):
                yield bare[:NEEDLE_KEPT_CHARACTERS]


class CitationIndex:
    """Finds the citations of one session while its messages pass by once.

    Time is linear in the text, memory is bounded by `NEEDLES_PER_SESSION`. What the assistant writes
    in the very request that made the call cannot cite its result, though a log may put it later.

    >>> index = CitationIndex()
    >>> index.add(0, "tool_result", "wrote /srv/data/2026/report-final.csv")
    >>> index.add(1, "assistant", "The file is /srv/data/2026/report-final.csv")
    >>> index.citations()
    (Citation(result=0, first=1, last=1, times=1),)
    """

    def __init__(self) -> None:
        self._origin: dict[str, int] = {}
        self._asked_in: dict[int, str] = {}
        self._found: dict[int, Citation] = {}
        self.is_full = False
        """True once needles were no longer remembered."""

    def add(self, index: int, kind: Kind, text: str, request: str | None = None) -> None:
        """Take the next message.

        Parameters
        ----------
        index : int
            Its position; positions must rise.
        kind : Kind
            Who brought it in.
        text : str
            Its text; of a call, the strings among its arguments, a line each.
        request : str or None
            The model call that wrote it; of a result, the model call that asked for it.
        """
        from_assistant = kind in ("assistant", "tool_call")
        origin = index if kind == "tool_result" else _NOT_FROM_A_RESULT
        if origin >= 0 and request is not None:
            self._asked_in[origin] = request
        cited: set[int] = set()
        for needle in needles(text) if from_assistant else islice(needles(text), NEEDLES_PER_RESULT):
            known = self._origin.get(needle)
            if known is None:
                self._remember(needle, origin)
            elif from_assistant and known >= 0:
                cited.add(known)
        for result in cited:
            asked_in = self._asked_in.get(result)
            if asked_in is None or asked_in != request:
                self._note(result, index)

    def citations(self) -> tuple[Citation, ...]:
        """Return what was cited so far, in the order of the results."""
        return tuple(self._found[result] for result in sorted(self._found))

    def _remember(self, needle: str, origin: int) -> None:
        if len(self._origin) >= NEEDLES_PER_SESSION:
            self.is_full = True
            return
        self._origin[needle] = origin

    def _note(self, result: int, index: int) -> None:
        before = self._found.get(result)
        if before is None:
            self._found[result] = Citation(result, index, index, 1)
        else:
            self._found[result] = before._replace(last=index, times=before.times + 1)


def _says_something(text: str) -> bool:
    # Rules and frames ("----", "====") repeat everywhere and cite nothing.
    return sum(letter.isalnum() for letter in text[:NEEDLE_KEPT_CHARACTERS]) >= NEEDLE_CHARACTERS // 2
