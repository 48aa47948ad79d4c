"""Puts a session together while a reader walks through a log: sizes, pairs, prefix, citations, notes.

Comes in: what a format's reader recognised, in the order of the log. Goes out: a `Session`. What all
formats have in common stands here, so that a reader holds only what is particular to its format.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from scenarios.logs.contents import content_class
from scenarios.logs.records import Tolerated
from scenarios.logs.references import NEEDLES_PER_SESSION, CitationIndex
from scenarios.logs.session import (
    IMAGE_TOKENS,
    Kind,
    Message,
    Rewrite,
    RewriteKind,
    Session,
    Trigger,
    Usage,
)
from simulator.errors import InputError


class Part(NamedTuple):
    """What a reader recognised as a message; fields not named here are those of `Message`.

    Attributes
    ----------
    text : str
        What goes to the model.
    at : float or None
        When it was written, seconds since the epoch.
    quotable : str or None
        What can quote or be quoted, where it is not `text`: the strings among a call's arguments.
    """

    kind: Kind
    text: str
    line: int
    at: float | None = None
    call: str | None = None
    tool: str | None = None
    request: str | None = None
    is_error: bool = False
    images: int = 0
    quotable: str | None = None


class SessionBuilder:
    """One session in the making.

    Parameters
    ----------
    format : str
        Name of the log format.
    source : Path
        The file.
    bytes_per_token : float
        UTF-8 bytes that stand for one token.
    bytes_per_token_source : str
        Where that figure comes from.
    """

    def __init__(
        self, format: str, source: Path, bytes_per_token: float, bytes_per_token_source: str
    ) -> None:
        self.name = ""
        """Identifier of the session; the first one that a reader finds."""
        self.messages: list[Message] = []
        self.dropped_summary = False
        """A summary was left out before any usage was reported, so that the prefix contains it."""
        self._format, self._source = format, source
        self._bytes_per_token, self._bytes_per_token_source = bytes_per_token, bytes_per_token_source
        self._tokens = 0
        self._clock: float | None = None
        self._rewrites: list[Rewrite] = []
        self._usages: dict[str, Usage] = {}
        self._prefix: int | None = None
        self._calls: dict[str, tuple[str | None, str | None]] = {}
        self._written: Counter[str] = Counter()
        self._answered: set[str] = set()
        self._citations = CitationIndex()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._sentences: list[str] = []

    def add(self, part: Part) -> None:
        """Take the next message."""
        call, tool, asked_in = part.call, part.tool, part.request
        if part.kind == "tool_call":
            call = self._take_call(part)
        elif part.kind == "tool_result":
            call, tool, asked_in = self._take_result(part)
        # A lone half of a surrogate pair is legal in JSON and not in UTF-8.
        text_bytes = len(part.text.encode("utf-8", "surrogatepass"))
        text_tokens = math.ceil(text_bytes / self._bytes_per_token)
        image_tokens = part.images * IMAGE_TOKENS
        tokens = text_tokens + image_tokens
        message = Message(
            index=len(self.messages),
            kind=part.kind,
            text_bytes=text_bytes,
            tokens=tokens,
            call=call,
            tool=tool,
            seconds=self._seconds_since(part.at),
            request=part.request,
            is_error=part.is_error,
            images=part.images,
            line=part.line,
            content_class=content_class(part.text, text_tokens, image_tokens),
        )
        self.messages.append(message)
        quotable = part.text if part.quotable is None else part.quotable
        self._citations.add(message.index, part.kind, quotable, asked_in)
        self._tokens += tokens
        self.count(
            f"image counts as {IMAGE_TOKENS} tokens",
            f"images count as {IMAGE_TOKENS} tokens each",
            part.images,
        )

    def add_usage(self, request: str, uncached: int, cache_read: int, cache_write: int, line: int) -> None:
        """Take what the provider counted for `request`, tokens; only the first report counts.

        It must come before the messages of the answer: the fixed prefix is read off the first one.
        """
        usage = Usage(request, len(self.messages), uncached, cache_read, cache_write, line)
        if request in self._usages or not usage.total:
            return
        if not self._usages:
            self._prefix = max(0, usage.total - self._tokens)
            if usage.total < self._tokens:
                self.say(
                    "The first reported usage is below the messages before it; the prefix is taken as 0."
                )
            if self.dropped_summary:
                self.say("The log starts after a rewrite; the prefix contains the summary that was left out.")
        self._usages[request] = usage

    def add_rewrite(
        self,
        kind: RewriteKind,
        trigger: Trigger,
        *,
        tokens_before: int | None,
        line: int,
        tokens_after: int | None = None,
        tokens_saved: int | None = None,
    ) -> None:
        """Take a rewrite that the log recorded, tokens as in `Rewrite`."""
        after = len(self.messages) - 1
        self._rewrites.append(Rewrite(kind, trigger, tokens_before, line, after, tokens_after, tokens_saved))

    def count(self, one: str, many: str, times: int = 1) -> None:
        """Count an oddity; it becomes the note "1 `one`." or "N `many`."."""
        if times:
            self._counts[one, many] += times

    def say(self, sentence: str) -> None:
        """Add a note, once."""
        if sentence not in self._sentences:
            self._sentences.append(sentence)

    def tolerate(self, tolerated: Tolerated) -> None:
        """Say what the stream of records let pass."""
        self.count("line held two JSON objects", "lines held two JSON objects", tolerated.joined_lines)
        if tolerated.cut_at:
            self.say(f"The file ends inside its last record ({tolerated.cut_at}), which was left out.")
        if tolerated.text_after_end:
            self.say("Text after the end of the list was left out.")

    def build(self) -> Session:
        """Return the session.

        Raises
        ------
        InputError
            If it has no message.
        """
        if not self.messages:
            raise InputError(
                "holds no message that a model has read or written",
                where=str(self._source),
                expected=f"a session in the format {self._format}",
            )
        self._close()
        counted = [f"{n} {one if n == 1 else many}." for (one, many), n in self._counts.items()]
        return Session(
            format=self._format,
            name=self.name or self._source.stem,
            source=self._source,
            messages=tuple(self.messages),
            rewrites=tuple(self._rewrites),
            usages=tuple(self._usages.values()),
            citations=self._citations.citations(),
            prefix_tokens=self._prefix,
            bytes_per_token=self._bytes_per_token,
            bytes_per_token_source=self._bytes_per_token_source,
            notes=(*self._sentences, *counted),
        )

    def _take_call(self, part: Part) -> str | None:
        """Return the identifier of a call, made unique, so that it names one pair."""
        if part.call is None:
            self.count("call has no identifier", "calls have no identifier")
            return None
        self._written[part.call] += 1
        call = self._current(part.call)
        if self._written[part.call] > 1:
            self.count(
                "call repeats an identifier and was renamed", "calls repeat an identifier and were renamed"
            )
        self._calls[call] = (part.tool, part.request)
        return call

    def _take_result(self, part: Part) -> tuple[str | None, str | None, str | None]:
        """Return which call a result answers, its tool, and the model call that asked for it."""
        if part.call is None or not self._written[part.call]:
            self.count("result has no call before it", "results have no call before them")
            return part.call, part.tool, None
        call = self._current(part.call)
        if call in self._answered:
            self.count("call has a further result", "calls have a further result")
        self._answered.add(call)
        tool, request = self._calls[call]
        return call, tool or part.tool, request

    def _current(self, call: str) -> str:
        times = self._written[call]
        return call if times == 1 else f"{call}#{times}"

    def _seconds_since(self, at: float | None) -> float | None:
        if at is None:
            return None
        before, self._clock = self._clock, max(at, self._clock or at)
        if before is None:
            return None
        if at < before:
            # The order of the file is the order of events: records of parallel calls are written late.
            self.count(
                "message is dated before its predecessor", "messages are dated before their predecessor"
            )
        return max(0.0, at - before)

    def _close(self) -> None:
        open_calls = len(self._calls) - len(self._answered)
        self.count("call has no result", "calls have no result", open_calls)
        if not any(message.kind == "tool_result" for message in self.messages):
            self.say("There are no tool results.")
        if self._prefix is None:
            self.say("No usage is reported.")
        if self._citations.is_full:
            self.say(f"Only the first {NEEDLES_PER_SESSION} quotable pieces were watched for citations.")
