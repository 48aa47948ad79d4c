"""Foresight: what a world will bring, read ahead of the run; no policy can change it.

When each span is used for the last time, for the bound that knows the future; and whether a world has
what a policy needs to be itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from simulator.contracts import Turn
from simulator.declarations import Need
from simulator.errors import RunSkipped
from simulator.setting import Setting
from simulator.streams import Streams


def last_uses(setting: Setting, streams: Streams) -> dict[int, int]:
    """Return the last turn in which each span that is used at all is leant on, by its id."""
    uses: dict[int, int] = {}
    for number, turn in enumerate(_ahead(setting, streams), 1):
        for span in (*turn.arrivals, *turn.reply):
            uses.update(dict.fromkeys(span.cites, number))
        if turn.step is not None:
            step = turn.step
            claimed = (identity for pair in step.claims for identity in pair)
            uses.update(dict.fromkeys((*step.governed, *step.touches, *claimed), number))
    return uses


def require_needs(needs: frozenset[Need], setting: Setting, streams: Streams) -> None:
    """Raise RunSkipped where a world lacks what a policy needs; names all that it lacks."""
    left = set(needs)
    for turn in _ahead(setting, streams):
        if not left:
            return
        left -= _brought(turn)
    if left:
        raise RunSkipped(f"needs {', '.join(sorted(left))}")


def _brought(turn: Turn) -> set[Need]:
    spans = (*turn.arrivals, *turn.reply)
    brought = {Need.USER_TURNS} if turn.user_turn else set()
    if any(span.pair is not None for span in spans):
        brought.add(Need.PAIRS)
    if any(span.cites for span in spans):
        brought.add(Need.REFERENCES)
    return brought


def _ahead(setting: Setting, streams: Streams) -> Iterator[Turn]:
    return islice(setting.workload.turns(streams), setting.horizon)
