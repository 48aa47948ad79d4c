"""The replay workload: a recorded session, one model call a turn, whatever a policy does.

Comes in: a `Session` and the tokens of its messages. Goes out: the turns, made once. What came before
a request (user, tool results, injected text) arrives, what that request wrote is the reply. A turn
ends with its reply, so what the log holds after its last call was never read and is left out.

Choices: a subgoal is a user turn, and closes when a turn brings the next user message; all that
arrives with that message belongs to the new one, since nothing may die unread. `pair` numbers the
request, shared by its calls and all their results: these are what a provider accepts or refuses
together, and what policies fold into one summary. Rewrites that the log recorded are event rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from scenarios.logs.session import Kind as Recorded
from scenarios.logs.session import Message, Rewrite, Session
from simulator.contracts import Turn
from simulator.errors import InputError
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams

MOST_WAITING_SECONDS = 3_600.0
"""Waiting before one request is cut here, seconds: a night's pause would drown all other times, and
prompt caches expire within the hour."""


class _Role(NamedTuple):
    """What a kind of message becomes; its content may say another class."""

    kind: Kind
    provenance: Provenance
    content_class: str


_ROLES: dict[Recorded, _Role] = {
    "user": _Role(Kind.USER, Provenance.USER, "prose"),
    "assistant": _Role(Kind.ASSISTANT, Provenance.SELF, "prose"),
    "tool_call": _Role(Kind.TOOL_CALL, Provenance.SELF, "code"),
    "tool_result": _Role(Kind.TOOL_RESULT, Provenance.TOOL, "code"),
    # Sent with the role of the user, written by the client.
    "injected": _Role(Kind.USER, Provenance.RUNTIME, "prose"),
    "system": _Role(Kind.USER, Provenance.RUNTIME, "prose"),
}


@dataclass(frozen=True, slots=True)
class ReplayWorkload:
    """The turns of one recorded session, the same in every run.

    Attributes
    ----------
    recorded : the turns, one a model call, in the order of the log.
    """

    recorded: tuple[Turn, ...]

    @classmethod
    def of(cls, session: Session, tokens: Sequence[int] | None = None) -> ReplayWorkload:
        """Return the workload of a session.

        Parameters
        ----------
        session : Session
            What a reader of logs found.
        tokens : sequence of int, optional
            Tokens of each message, by index; None takes the reader's own estimates.

        Raises
        ------
        InputError
            The session holds no model call.
        """
        calls = _calls(session)
        if not calls:
            raise InputError(
                f"session {session.name!r} holds no model call",
                where=str(session.source),
                expected="at least one message that a model wrote",
            )
        sizes = [message.tokens for message in session.messages] if tokens is None else tokens
        return cls(tuple(_Recording(session, sizes, calls).turns()))

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield nothing: the window starts with its head alone."""
        return iter(())

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield the recorded turns."""
        return iter(self.recorded)


def leading_system(session: Session) -> tuple[Message, ...]:
    """Return the system messages that open the log: they stand in the fixed prefix."""
    return tuple(takewhile(lambda message: message.kind == "system", session.messages))


@dataclass(slots=True)
class _Call:
    """One model call: what came before it, and what it wrote."""

    read: list[Message]
    user_turn: int
    starts_user_turn: bool
    written: list[Message] = field(default_factory=list)


def _calls(session: Session) -> list[_Call]:
    """Return the model calls in the order in which they began.

    A client may log the result of one parallel call before the next call of the same request: it is
    read by the next request all the same.
    """
    calls: list[_Call] = []
    begun: dict[str, _Call] = {}
    waiting: list[Message] = []
    user_turn = 0
    for message in session.messages[len(leading_system(session)) :]:
        if message.request is None:
            waiting.append(message)
            continue
        if message.request not in begun:
            starts = any(read.kind == "user" for read in waiting)
            user_turn += starts
            begun[message.request] = _Call(waiting, user_turn, starts)
            calls.append(begun[message.request])
            waiting = []
        begun[message.request].written.append(message)
    return calls


class _Recording:
    """Turns calls into turns: who belongs to whom, by index of the message."""

    def __init__(self, session: Session, tokens: Sequence[int], calls: list[_Call]) -> None:
        self._session, self._tokens, self._calls = session, tokens, calls
        self._turn_of = {
            message.index: turn
            for turn, call in enumerate(calls, 1)
            for message in (*call.read, *call.written)
        }
        self._asked_in = {
            message.call: turn
            for turn, call in enumerate(calls, 1)
            for message in call.written
            if message.kind == "tool_call" and message.call is not None
        }
        self._cites, self._needed = self._citations()
        self._events = self._rewrites()

    def turns(self) -> Iterator[Turn]:
        """Yield the turns in order."""
        before: int | None = None
        for number, call in enumerate(self._calls, 1):
            closes = (before,) if call.starts_user_turn and before is not None else ()
            before = call.user_turn
            waited = sum(message.seconds or 0.0 for message in call.read)
            yield Turn(
                arrivals=tuple(self._span(message, number) for message in call.read),
                reply=tuple(self._span(message, number) for message in call.written),
                seconds=min(waited, MOST_WAITING_SECONDS),
                user_turn=call.starts_user_turn,
                closes=closes,
                events=tuple(self._events.get(number, ())),
            )

    def _span(self, message: Message, turn: int) -> Span:
        role = _ROLES[message.kind]
        return Span(
            id=message.index,
            kind=role.kind,
            tokens=self._tokens[message.index],
            born=turn,
            provenance=role.provenance,
            subgoal=self._calls[turn - 1].user_turn,
            pair=None if message.call is None else self._asked_in.get(message.call),
            cites=tuple(self._cites.get(message.index, ())),
            needed=message.index in self._needed,
            content_class=message.content_class or role.content_class,
        )

    def _citations(self) -> tuple[dict[int, list[int]], set[int]]:
        """Return what each message cites, and the results that are cited after their user turn."""
        cites: dict[int, list[int]] = {}
        needed: set[int] = set()
        for citation in self._session.citations:
            arrived = self._turn_of.get(citation.result)
            if arrived is None:
                continue
            for citing in sorted({citation.first, citation.last}):
                # What was written before the result was read cannot lean on it, wherever it is logged.
                if self._turn_of.get(citing, 0) >= arrived:
                    cites.setdefault(citing, []).append(citation.result)
            last = self._turn_of.get(citation.last, arrived)
            if self._calls[last - 1].user_turn > self._calls[arrived - 1].user_turn:
                needed.add(citation.result)
        return cites, needed

    def _rewrites(self) -> dict[int, list[tuple[str, str]]]:
        """Return the recorded rewrites as events, by the turn of the message that follows each."""
        events: dict[int, list[tuple[str, str]]] = {}
        for rewrite in self._session.rewrites:
            following = (turn for index, turn in self._turn_of.items() if index > rewrite.after)
            turn = min(following, default=len(self._calls))
            events.setdefault(turn, []).append(_event(rewrite))
        return events


def _event(rewrite: Rewrite) -> tuple[str, str]:
    """Return kind and detail of a recorded rewrite.

    >>> _event(Rewrite("compact", "auto", 158_105, 432, 386))
    ('recorded_compaction', 'auto at 158105 tokens')
    """
    if rewrite.kind == "compact":
        at = "" if rewrite.tokens_before is None else f" at {rewrite.tokens_before} tokens"
        after = "" if rewrite.tokens_after is None else f", {rewrite.tokens_after} after"
        return "recorded_compaction", f"{rewrite.trigger}{at}{after}"
    of = "" if rewrite.tokens_before is None else f" of {rewrite.tokens_before} clearable tokens"
    saved = "" if rewrite.tokens_saved is None else f", {rewrite.tokens_saved} saved"
    return "recorded_microcompaction", f"{rewrite.trigger}{of}{saved}"
