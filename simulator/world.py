"""`World`: the named premises under which the agent works, and the window its model offers.

A premise changes at scripted or renewal times, on the clock of turns or of seconds; each change
gets a new version, and a version never repeats even where a value comes back. The epoch is the sum
of all versions. The window may change too (a switch of model).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from simulator.bounds import require_above_zero
from simulator.errors import InputError, RunFailed
from simulator.streams import Streams

MOST_CHANGES = 1_000
"""Changes of one premise in one turn, above which a run is given up: no agent lives in such a world."""


@dataclass(frozen=True, slots=True)
class PremiseSpec:
    """One named premise: changes at the scripted times `at`, or at renewals of mean `mean_interval`.

    Times are in the unit of the clock. Renewal intervals are exponential, or constant where
    `constant` is true.
    """

    name: str
    at: tuple[float, ...] = ()
    mean_interval: float | None = None
    constant: bool = False

    def __post_init__(self) -> None:
        where = f"premise {self.name}"
        if self.at and self.mean_interval is not None:
            raise InputError("has two clockworks", where=where, expected="one of at and mean_interval")
        if self.mean_interval is not None:  # a clockwork that never moves on would change for ever
            require_above_zero(self, ("mean_interval",), where)
        for time in self.at:
            if not time >= 0:  # as NaN is not, which would hide all that come after it
                raise InputError(f"a change at {time}", where=where, expected="a time of 0 or more")

    def times(self, streams: Streams) -> Iterator[float]:
        """Yield the times of change, ascending."""
        yield from sorted(self.at)
        if self.mean_interval is None:
            return
        draws = streams.exponential(f"premise {self.name}")
        now, index = 0.0, 0
        while True:
            now += self.mean_interval * (1.0 if self.constant else draws[index])
            index += 1
            yield now


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """All premises, their clock, and the switches of the window as (turn, tokens)."""

    premises: tuple[PremiseSpec, ...] = ()
    clock: Literal["turns", "seconds"] = "turns"
    windows: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        given = [f"premise {premise.name!r}" for premise in self.premises]
        given += [f"the switch of the window at turn {turn}" for turn, _ in self.windows]
        twice = next((one for one in given if given.count(one) > 1), None)
        if twice is not None:
            raise InputError(f"{twice} stands twice", where="world", expected="each once")
        for turn, tokens in self.windows:
            if tokens < 1:
                raise InputError(
                    f"a window of {tokens} tokens from turn {turn}", where="world", expected="1 or more"
                )


class World:
    """The state of the premises in one run.

    Attributes
    ----------
    versions : version by premise, from 0.
    epoch : sum of all versions.
    """

    __slots__ = ("_changes", "_clock", "_due", "_next", "_windows", "epoch", "versions")

    def __init__(self, spec: WorldSpec, streams: Streams) -> None:
        self._clock = spec.clock
        self._changes = {premise.name: premise.times(streams) for premise in spec.premises}
        self._next = {name: next(times, math.inf) for name, times in self._changes.items()}
        self._due = min(self._next.values(), default=math.inf)
        self._windows = dict(spec.windows)
        self.versions = dict.fromkeys(self._changes, 0)
        self.epoch = 0

    def advance(self, turn: int, now: float) -> list[str]:
        """Let all changes up to this turn or second happen; return the names of what changed."""
        clock = turn if self._clock == "turns" else now
        if clock < self._due:
            return []
        changed: list[str] = []
        for name, due in self._next.items():
            at, first = due, len(changed)
            while at <= clock:
                self.versions[name] += 1
                changed.append(name)
                at = next(self._changes[name], math.inf)
                if len(changed) - first > MOST_CHANGES:
                    raise RunFailed(
                        "world", f"premise {name!r} changes more than {MOST_CHANGES:,} times in one turn"
                    )
            self._next[name] = at
        self._due = min(self._next.values(), default=math.inf)
        self.epoch += len(changed)
        return changed

    def window_at(self, turn: int) -> int | None:
        """Return the window that starts with this turn, or None where it stays."""
        return self._windows.get(turn) if self._windows else None
