"""What a reader hands on: one recorded session as plain data.

Comes in: what a format's reader found in a log. Goes out: messages with sizes and pairs, the
rewrites and usage that the log recorded, and sentences about what was assumed. No text is kept, so
a session is small however large its log.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["user", "assistant", "tool_call", "tool_result", "system", "injected"]
"""Who brought a message in; `injected` is text that the client adds unasked (skills, reminders)."""

RewriteKind = Literal["compact", "microcompact"]
Trigger = Literal["auto", "manual"]

IMAGE_TOKENS = 1_500
"""Tokens of one image: Anthropic bills width x height / 750 and scales down to about 1,600."""


@dataclass(frozen=True, slots=True)
class Message:
    """One piece of the context, in the order in which the log has it.

    Attributes
    ----------
    index : int
        Position among the session's messages, from 0.
    kind : Kind
        Who brought it in.
    text_bytes : int
        UTF-8 bytes of the text that goes to the model, images not included.
    tokens : int
        `ceil(text_bytes / bytes_per_token)` plus `IMAGE_TOKENS` an image.
    call : str or None
        Identifier that pairs a tool call with its result.
    tool : str or None
        Name of the tool, on calls and, where the call is known, on results.
    seconds : float or None
        Time since the message before it; None where the log has no clock.
    request : str or None
        The model call that wrote it; several messages may share one. None on what the model reads.
    is_error : bool
        The tool reported an error.
    images : int
        Number of images.
    line : int
        Line of the file from 1, or position in the trajectory from 0 (formats that are one document).
    content_class : str
        What it is made of, where its content says so; else empty, and its kind says what it is as a rule.
    """

    index: int
    kind: Kind
    text_bytes: int
    tokens: int
    call: str | None = None
    tool: str | None = None
    seconds: float | None = None
    request: str | None = None
    is_error: bool = False
    images: int = 0
    line: int = 0
    content_class: str = ""


class Rewrite(NamedTuple):
    """A rewrite of the context that the log recorded: an event, not content.

    Attributes
    ----------
    kind : RewriteKind
        `compact` (summary of everything) or `microcompact` (old tool results masked).
    trigger : Trigger
        Who asked for it.
    tokens_before : int or None
        Tokens before, as recorded. For `microcompact`: of the clearable results, not of the context.
    line : int
        Line of the file.
    after : int
        Index of the last message before it; -1 if it comes first.
    tokens_after, tokens_saved : int or None
        Tokens after, and tokens freed, where the log says so.
    """

    kind: RewriteKind
    trigger: Trigger
    tokens_before: int | None
    line: int
    after: int
    tokens_after: int | None = None
    tokens_saved: int | None = None


class Usage(NamedTuple):
    """The input of one model call, in tokens as the provider counted them, once a call.

    Attributes
    ----------
    request : str
        The model call.
    before : int
        Index that the first message of the answer has: messages below it were sent.
    uncached, cache_read, cache_write : int
        Tokens read at full price, from the cache, and written to it.
    line : int
        Line of the file.
    """

    request: str
    before: int
    uncached: int
    cache_read: int
    cache_write: int
    line: int

    @property
    def total(self) -> int:
        """Tokens of the whole input."""
        return self.uncached + self.cache_read + self.cache_write


class Citation(NamedTuple):
    """A tool result that later messages of the assistant repeat a piece of.

    Attributes
    ----------
    result : int
        Index of the tool result.
    first, last : int
        Index of the first and the last message that cites it.
    times : int
        Number of messages that cite it.
    """

    result: int
    first: int
    last: int
    times: int


@dataclass(frozen=True, slots=True)
class Session:
    """One recorded session of an agent.

    Attributes
    ----------
    format : str
        Name of the log format.
    name : str
        Identifier of the session, safe to print.
    source : Path
        The file.
    messages : tuple of Message
        Everything that went to the model or came from it, the log's own summaries left out.
    rewrites : tuple of Rewrite
        Rewrites that the log recorded.
    usages : tuple of Usage
        What the provider counted, a row a model call.
    citations : tuple of Citation
        Tool results that are cited later, by the proxy of `references`.
    prefix_tokens : int or None
        System prompt and tools: first reported input minus the messages before it, tokens. None
        where no usage is reported.
    bytes_per_token : float
        UTF-8 bytes that stand for one token.
    bytes_per_token_source : str
        Where that figure comes from.
    notes : tuple of str
        What was left out, assumed or tolerated, a sentence each.
    """

    format: str
    name: str
    source: Path
    messages: tuple[Message, ...]
    rewrites: tuple[Rewrite, ...]
    usages: tuple[Usage, ...]
    citations: tuple[Citation, ...]
    prefix_tokens: int | None
    bytes_per_token: float
    bytes_per_token_source: str
    notes: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """Tokens of all messages, the prefix not included."""
        return sum(message.tokens for message in self.messages)

    @property
    def requests(self) -> int:
        """Number of model calls that left a message."""
        return len({message.request for message in self.messages if message.request is not None})

    @property
    def largest_input(self) -> int | None:
        """Largest input that the provider reported, tokens; None where no usage is reported."""
        return max((usage.total for usage in self.usages), default=None)
