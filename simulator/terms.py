"""What makes sense in the `Terms` that a policy declares: anything in, the first fault in words out.

A policy may be anybody's class, so that types promise nothing here. The engine asks before anything
runs; the conformance checker asks too, and tells the fault as a check that has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simulator.declarations import (
    BackgroundTerms,
    CheckPoint,
    Component,
    CounterKind,
    CounterTerms,
    Fingerprint,
    InstructionTerms,
    KeepWarmTerms,
    MeasurementPlan,
    Need,
    Placement,
    ReinjectionTerms,
    RequestTerms,
    Terms,
    TombstoneTerms,
    WindowTerms,
)
from simulator.spans import CONTENT_CLASSES

MOST = 10**18
"""Nothing that terms count is more: beyond it numbers no longer add up."""

MOST_TRIES = 100
"""Tries, calls or rungs that one rewrite may have: more of them would never end."""


def terms_fault(terms: object) -> str:
    """Return what is wrong with declared terms, or nothing.

    >>> terms_fault(Terms(retries=-1))
    'expected retries to be 0 to 100, saw -1'
    >>> terms_fault(Terms())
    ''
    """
    if not isinstance(terms, Terms):
        return f"expected Terms, saw {type(terms).__name__}"
    for key, sensible, expected in SENSIBLE_TERMS:
        value = getattr(terms, key)
        if not sensible(value):
            return f"expected {key} to be {expected}, saw {value!r}"
    return ""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: object, least: int, most: int = MOST) -> bool:
    """Whether a value is a whole number of at least so many, and no more than anything here can have."""
    return isinstance(value, int) and is_whole(value) and least <= value <= most


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_cap(value: object) -> bool:
    return value is None or is_count(value, 1)


def _is_ratio(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST


def _is_set_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, frozenset) and all(isinstance(one, kind) for one in value)


def _is_check_points(value: object) -> bool:
    return bool(value) and _is_set_of(CheckPoint)(value)


def _is_plan(value: object) -> bool:
    return isinstance(value, MeasurementPlan)


def _is_record(value: object) -> bool:
    if not isinstance(value, TombstoneTerms):
        return value is None
    placement: object = value.placement
    return isinstance(placement, Placement) and is_count(value.tokens, 1)


def _is_writing(value: object) -> bool:
    if not isinstance(value, InstructionTerms):
        return False
    switches = (value.edits, value.diagnoses, value.monotonic, value.consolidates, value.emphatic)
    fingerprint: object = value.fingerprint
    return (
        isinstance(fingerprint, Fingerprint) and all(map(_is_flag, switches)) and _is_cap(value.repeats_every)
    )


def _is_counter(value: object) -> bool:
    if not isinstance(value, CounterTerms):
        return False
    kind: object = value.kind
    switches = (value.head, value.tail, value.follows_rewrites)
    return (
        isinstance(kind, CounterKind)
        and _is_ratio(value.ratio)
        and _is_ratios(value.ratios)
        and all(map(_is_flag, switches))
        and is_count(value.tokens, 0)
    )


def _is_ratios(value: object) -> bool:
    """Whether a value is a tuple of content classes, each with its ratio."""
    return isinstance(value, tuple) and all(
        isinstance(one, tuple) and len(one) == 2 and one[0] in CONTENT_CLASSES and _is_ratio(one[1])  # noqa: PLR2004
        for one in value
    )


def _is_ladder(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) > MOST_TRIES:
        return False
    return all(_is_ratio(share) and share <= 1 for share in value)


def _is_window(value: object) -> bool:
    return isinstance(value, WindowTerms) and _is_cap(value.tokens) and _is_flag(value.follows_switches)


def _is_request(value: object) -> bool:
    if not isinstance(value, RequestTerms):
        return False
    switches = (value.shares_prefix, value.reads_all, value.refuses_empty, value.from_user)
    caps = (value.coverage_tokens, value.item_tokens, value.window)
    return (
        is_count(value.overhead_tokens, 0)
        and is_count(value.stub_tokens, 0)
        and is_count(value.calls, 1, MOST_TRIES)
        and all(map(_is_flag, switches))
        and all(map(_is_cap, caps))
        and _is_ratio(value.price)
        and _is_ladder(value.ladder)
        and value.on_failure in ("leave", "drop", "raise")
    )


def _is_reinjection(value: object) -> bool:
    if not isinstance(value, ReinjectionTerms):
        return False
    counts = (value.fixed_tokens, value.results)
    mosts = (value.result_tokens, value.standing_tokens)
    return (
        all(is_count(count, 0) for count in counts)
        and all(most is None or is_count(most, 0) for most in mosts)
        and _is_cap(value.standing_item_tokens)
    )


def _is_background(value: object) -> bool:
    return value is None or (isinstance(value, BackgroundTerms) and _is_flag(value.overwrites))


def _is_keep_warm(value: object) -> bool:
    if not isinstance(value, KeepWarmTerms):
        return value is None
    return _is_ratio(value.ping_seconds) and value.ping_seconds >= 1 and _is_ratio(value.longest_seconds)


SENSIBLE_TERMS: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("check_points", _is_check_points, "a frozenset of CheckPoint, not empty"),
    ("deliberates", _is_flag, "True or False"),
    ("rationale_cap", _is_cap, "None, or 1 token or more"),
    ("summary_cap", _is_cap, "None, or 1 token or more"),
    ("measurement", _is_plan, "a MeasurementPlan"),
    ("checkpoint_every", partial(is_count, least=1), "1 or more"),
    ("ambiguity_limit", partial(is_count, least=0), "0 or more"),
    ("counter", _is_counter, "CounterTerms with ratios that are finite and above 0"),
    ("window", _is_window, "WindowTerms with None, or 1 token or more"),
    ("charges", _is_set_of(Component), "a frozenset of Component"),
    ("immutable_this_turn", _is_flag, "True or False"),
    ("never_summarised", _is_flag, "True or False"),
    ("retires", _is_flag, "True or False"),
    ("retries", partial(is_count, least=0, most=MOST_TRIES), f"0 to {MOST_TRIES}"),
    ("endless_window", _is_flag, "True or False"),
    ("tombstones", _is_record, "None, or TombstoneTerms with a Placement and 1 token or more"),
    ("red_flag", _is_flag, "True or False"),
    (
        "instructions",
        _is_writing,
        "InstructionTerms of truth values, a Fingerprint, and None or 1 turn or more",
    ),
    ("request", _is_request, "RequestTerms with calls and caps of 1 or more, and shares in a ladder"),
    ("background", _is_background, "None, or BackgroundTerms"),
    ("reinjection", _is_reinjection, "ReinjectionTerms with tokens of 0 or more"),
    ("keep_warm", _is_keep_warm, "None, or KeepWarmTerms with a ping each second at most"),
    ("needs", _is_set_of(Need), "a frozenset of Need"),
    ("clairvoyant", _is_flag, "True or False"),
)
"""Key, whether a value makes sense, and what would, for each of the terms."""
