"""What makes sense in the `Terms` that a policy declares: anything in, the first fault in words out.

A policy may be anybody's class, so that types promise nothing here. The engine asks before anything
runs; the conformance checker asks too, and tells the fault as a check that has failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from simulator.contracts import (
    CheckPoint,
    Component,
    Fingerprint,
    InstructionTerms,
    MeasurementPlan,
    Placement,
    Terms,
    TombstoneTerms,
)


def terms_fault(terms: object) -> str:
    """Return what is wrong with declared terms, or nothing.

    >>> terms_fault(Terms(retries=-1))
    'expected retries to be 0 or more, saw -1'
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


def is_count(value: object, least: int) -> bool:
    """Whether a value is a whole number of at least so many."""
    return isinstance(value, int) and is_whole(value) and value >= least


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_cap(value: object) -> bool:
    return value is None or is_count(value, 1)


def _is_ratio(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


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


SENSIBLE_TERMS: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("check_points", _is_check_points, "a frozenset of CheckPoint, not empty"),
    ("deliberates", _is_flag, "True or False"),
    ("rationale_cap", _is_cap, "None, or 1 token or more"),
    ("summary_cap", _is_cap, "None, or 1 token or more"),
    ("measurement", _is_plan, "a MeasurementPlan"),
    ("checkpoint_every", partial(is_count, least=1), "1 or more"),
    ("ambiguity_limit", partial(is_count, least=0), "0 or more"),
    ("counter_ratio", _is_ratio, "finite and above 0"),
    ("charges", _is_set_of(Component), "a frozenset of Component"),
    ("immutable_this_turn", _is_flag, "True or False"),
    ("never_summarised", _is_flag, "True or False"),
    ("retires", _is_flag, "True or False"),
    ("retries", partial(is_count, least=0), "0 or more"),
    ("endless_window", _is_flag, "True or False"),
    ("tombstones", _is_record, "None, or TombstoneTerms with a Placement and 1 token or more"),
    ("red_flag", _is_flag, "True or False"),
    (
        "instructions",
        _is_writing,
        "InstructionTerms of truth values, a Fingerprint, and None or 1 turn or more",
    ),
)
"""Key, whether a value makes sense, and what would, for each of the terms."""
