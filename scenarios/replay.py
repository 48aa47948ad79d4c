"""Replay: a recorded session as a scenario, to be run under any policy.

Comes in: the path of a log, a window, and the name of the scenario whose model is assumed. Goes out:
one `ReplayScenario` a session, whose notes say what was recorded and what was assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scenarios.logs import read_sessions
from scenarios.logs.formats import Pick
from scenarios.logs.session import Session
from scenarios.logs.sizes import Sizes, billed_sizes, estimated_sizes
from scenarios.scenario import Scenario, load_scenario
from scenarios.workloads.replay import MOST_WAITING_SECONDS, ReplayWorkload, leading_system
from simulator.errors import InputError
from simulator.setting import Setting
from simulator.spans import Kind

MODEL = "replay-model"
"""The scenario whose laws, provider and supervisor a replay takes by default."""

LARGEST_TOKENS = 10**9
"""Most tokens of a window or a prefix, as in scenario files."""

_FROM_THE_LOG = ("workload", "run", "window.tokens", "window.head", "draws")
_NAME_LENGTH = 80


@dataclass(frozen=True, slots=True)
class ReplayScenario:
    """One recorded session, ready to run.

    Attributes
    ----------
    name : what the tables call it; letters, digits, dots, dashes and underscores.
    session : what the reader found in the log.
    workload : its turns, one a model call.
    window, head : tokens; the head is the fixed prefix.
    model : the scenario whose laws, provider and supervisor are assumed.
    notes : what was recorded and what was assumed, a sentence each.
    """

    name: str
    session: Session
    workload: ReplayWorkload
    window: int
    head: int
    model: Scenario
    notes: tuple[str, ...]

    def setting(self) -> Setting:
        """Return the frozen input of `simulate`; the horizon is the number of model calls."""
        return replace(
            self.model.setting(),
            name=self.name,
            draws=self.name,
            window=self.window,
            head=self.head,
            horizon=len(self.workload.recorded),
            workload=self.workload,
        )


def replay_scenarios(
    path: str | Path,
    *,
    window: int,
    format: str | None = None,
    session: Pick = None,
    prefix: int | None = None,
    bytes_per_token: float | None = None,
    overrides: Mapping[str, object] | None = None,
    model: str = MODEL,
) -> list[ReplayScenario]:
    """Return the sessions of a log as scenarios.

    Parameters
    ----------
    path : str or Path
        The log.
    window : int
        The model's window, tokens.
    format : str, optional
        Name of the log's format; None recognises it.
    session : int, "all" or None
        Position in the file from 0, all of them, or the longest.
    prefix : int, optional
        Tokens of the fixed prefix (system prompt, tools); None takes the log's.
    bytes_per_token : float, optional
        UTF-8 bytes that stand for one token, everywhere; None takes sizes as billed where the log
        reports usage, else the format's own figure.
    overrides : mapping, optional
        Values by dotted path, laid over the model's scenario.
    model : str
        Name or path of the scenario whose laws, provider and supervisor are assumed.

    Raises
    ------
    InputError
        The log, the model or a value cannot be used, or the window is smaller than the prefix.
    """
    _require("--window", window, 1)
    if prefix is not None:
        _require("--prefix", prefix, 0)
    scenario = load_scenario(model, _checked(overrides or {}))
    found = read_sessions(path, format, session, bytes_per_token)
    # Of all sessions those without a model call are passed over, unless there is no other.
    chosen = [one for one in found if one.requests] or found
    return [
        _replay(one, name, scenario, window, prefix, billed=bytes_per_token is None)
        for one, name in zip(chosen, _names(chosen), strict=True)
    ]


# --------------------------------------------------------------------------- one session


def _replay(
    session: Session, name: str, model: Scenario, window: int, prefix: int | None, *, billed: bool
) -> ReplayScenario:
    sizes = billed_sizes(session) if billed else estimated_sizes(session)
    workload = ReplayWorkload.of(session, sizes.tokens)
    opening = sum(sizes.tokens[message.index] for message in leading_system(session))
    head = (sizes.prefix or 0) + opening if prefix is None else prefix
    if window < head:
        raise InputError(
            f"{window} is smaller than the fixed prefix of {head} tokens of {name}",
            where="--window",
            expected=f"{head} or more, or a smaller --prefix",
        )
    notes = (
        *_world_notes(session, workload, sizes),
        _prefix_note(sizes, opening, prefix),
        _size_note(session, sizes, billed=billed),
        *_time_notes(session, workload),
        f"What the model does when asked (laws, provider, supervisor) is assumed: scenario {model.name!r}.",
        *session.notes,
    )
    return ReplayScenario(name, session, workload, window, head, model, notes)


def _world_notes(session: Session, workload: ReplayWorkload, sizes: Sizes) -> list[str]:
    turns = workload.recorded
    spans = [span for turn in turns for span in (*turn.arrivals, *turn.reply)]
    results = [span for span in spans if span.kind is Kind.TOOL_RESULT]
    notes = [
        "Replay is open loop: the recorded messages arrive whatever the policy does, and the "
        f"number of turns ({len(turns)}) is an input, never a result.",
        "Summaries that the log's own rewrites wrote are left out and what they replaced stays; "
        f"recorded rewrites ({len(session.rewrites)}) are events, not content.",
        f"{sum(span.needed for span in results)} of {len(results)} tool results are tagged as needed after "
        "their user turn; the tag is read off quotations and is a lower bound.",
    ]
    notes += [
        f"The input fell from {fall.before} to {fall.after} tokens at line {fall.line} though no rewrite is "
        "recorded; the replay removes nothing there."
        for fall in sizes.falls
    ]
    unread = len(session.messages) - len(leading_system(session)) - len(spans)
    if unread:
        messages = "1 message" if unread == 1 else f"{unread} messages"
        notes.append(f"No model call followed the last {messages}, never read and left out.")
    return notes


def _prefix_note(sizes: Sizes, opening: int, prefix: int | None) -> str:
    if prefix is not None:
        return f"The fixed prefix of {prefix} tokens is given by the user."
    parts = []
    if sizes.prefix is not None:
        parts.append(f"the first reported input minus the messages before it ({sizes.prefix} tokens)")
    if opening:
        parts.append(f"the system messages that open the log ({opening} tokens)")
    if not parts:
        return "The fixed prefix is unknown and taken as 0; give it with --prefix."
    return f"The fixed prefix is {' and '.join(parts)}."


def _size_note(session: Session, sizes: Sizes, *, billed: bool) -> str:
    ratio, source = session.bytes_per_token, session.bytes_per_token_source
    if sizes.followed:
        return (
            f"Sizes are as billed: {sizes.followed} of {sizes.growths} growths of the input are spread over "
            f"the messages behind them, and other messages take {ratio / sizes.factor:.2f} bytes a token, as "
            f"these growths show; the reader's figure was {ratio:g} ({source})."
        )
    if billed and session.usages:
        source += "; too little usage is reported to do better"
    return f"Sizes are estimated at {ratio:g} bytes a token ({source})."


def _time_notes(session: Session, workload: ReplayWorkload) -> list[str]:
    if all(message.seconds is None for message in session.messages):
        return ["The log has no clock: tools and users take no time."]
    cut = sum(turn.seconds >= MOST_WAITING_SECONDS for turn in workload.recorded)
    return [
        "Waiting for tools and users is as recorded, at most "
        f"{MOST_WAITING_SECONDS:.0f} seconds a turn (cut in {cut}); requests take the provider's time."
    ]


# --------------------------------------------------------------------------- arguments and names


def _require(option: str, tokens: int, least: int) -> None:
    if not least <= tokens <= LARGEST_TOKENS:
        raise InputError(
            f"cannot be {tokens}", where=option, expected=f"tokens from {least} to {LARGEST_TOKENS}"
        )


def _checked(overrides: Mapping[str, object]) -> Mapping[str, object]:
    """Return the overrides. Raises InputError for one that the log would silently overrule."""
    for path in overrides:
        for taken in _FROM_THE_LOG:
            if path == taken or path.startswith(f"{taken}.") or taken.startswith(f"{path}."):
                raise InputError(
                    f"a replay takes {taken} from the log",
                    where=f"--set {path}",
                    expected="a key of laws, provider or supervisor",
                )
    return overrides


def _names(sessions: Sequence[Session]) -> list[str]:
    """Return a name for each session, safe for files and terminals, no two alike."""
    names: list[str] = []
    for session in sessions:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", session.name)[:_NAME_LENGTH].strip("-.")
        name = stem = f"replay-{plain or 'session'}"
        number = 1
        while name in names:
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return names
