"""What a user's words on the command line mean: overrides and numbers of sessions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import Literal

from experiments.paths import owned
from simulator.errors import InputError

Overrides = dict[str, object]


def split_overrides(words: Sequence[str], policies: Sequence[str]) -> tuple[Overrides, dict[str, Overrides]]:
    """Return the overrides of the scenario and of each policy.

    `path=value` is the scenario's, `policy.path=value` every policy's, `NAME.path=value` one's. Values
    are TOML. Raises InputError.

    >>> split_overrides(["window.tokens=100", "naive.trigger.fraction=0.8"], ["naive"])
    ({'window.tokens': 100}, {'naive': {'trigger.fraction': 0.8}})
    """
    of_scenario: Overrides = {}
    of_policies: dict[str, Overrides] = {policy: {} for policy in policies}
    for path, value in _set(words):
        at = owned(path, policies)
        for owner in at.owners:
            of_policies[owner][at.key] = value
        if not at.owners:
            of_scenario[path] = value
    return of_scenario, of_policies


def experiment_overrides(words: Sequence[str]) -> Overrides:
    """Return what is laid over an experiment file.

    `experiment.path=value` is the experiment's own; all else is set in every run, as `path=value` of the
    scenario, `policy.path=value` of every policy or `NAME.path=value` of one. Raises InputError.

    >>> experiment_overrides(["experiment.replications=5", "run.horizon=40"])
    {'replications': 5, 'set': {'run.horizon': 40}}
    """
    own = "experiment."
    given = dict(_set(words))
    overrides = {path.removeprefix(own): value for path, value in given.items() if path.startswith(own)}
    of_runs = {path: value for path, value in given.items() if not path.startswith(own)}
    return overrides | ({"set": of_runs} if of_runs else {})


def _set(words: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Yield path and value of each word."""
    for word in words:
        path, separator, text = word.partition("=")
        path = path.strip()
        if not separator or not path:
            raise InputError(f"{shortened(word)!r} sets nothing", where="--set", expected="path=value")
        yield path, _toml(path, text)


def session_of(word: str | None) -> int | Literal["all"] | None:
    """Return which sessions of a log are meant: a number from 0, all, or the longest (None)."""
    if word is None or word == "all":
        return word  # type: ignore[return-value]
    if not word.isascii() or not word.isdigit() or len(word) > LONGEST_NUMBER:
        raise InputError(f"{word!r} is no session", where="--session", expected="a number from 0, or all")
    return int(word)


LONGEST_NUMBER = 9
"""Digits of the number of a session."""


def _toml(path: str, text: str) -> object:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # TOML's own errors are ValueErrors, as are numbers without end
        read = {}
    if list(read) != ["value"]:  # more keys come with a line break
        raise InputError(
            f"{shortened(text)!r} is not a TOML value",
            where=f"--set {path}",
            expected='a number, true, false, or "text"',
        )
    return read["value"]


def shortened(text: str) -> str:
    """Return a text that leaves room in its line for what is said about it."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


LONGEST_SHOWN = 80
"""Characters of a user's words that a message repeats."""
