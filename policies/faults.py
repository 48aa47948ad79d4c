"""The faults of one answer of a policy: what it was asked and what it said in, what is wrong out.

Stricter than the engine, which lets pass what does no harm; nothing here raises for what a policy
may have answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from simulator.contracts import RewriteRefused, Verdict
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.spans import FIXED
from simulator.terms import is_count, is_whole
from simulator.view import View


def _no_fault(_answer: object, _question: object) -> str:
    return ""


def _flag_fault(answer: object, _question: object) -> str:
    return "" if isinstance(answer, bool) else f"expected True or False, saw {answer!r}"


def _verdict_fault(answer: object, _question: object) -> str:
    if not isinstance(answer, Verdict):
        return f"expected a Verdict, saw {answer!r}"
    accepted, reason, figures, refusal, escalate = cast("tuple[object, ...]", answer)
    if not isinstance(accepted, bool) or not isinstance(reason, str):
        return f"expected a Verdict of True or False and a reason, saw {answer!r}"
    if not isinstance(escalate, bool):
        return f"expected escalate to be True or False, saw {escalate!r}"
    if not isinstance(figures, Mapping):
        return f"expected figures by name, saw {figures!r}"
    for name, figure in figures.items():
        if not isinstance(name, str) or not isinstance(figure, int | float) or not math.isfinite(figure):
            return f"expected finite figures by name, saw {name!r}: {figure!r}"
    if not accepted and not reason:
        return "expected a refusal to say why, saw no reason"
    if not (isinstance(refusal, type) and issubclass(refusal, RewriteRefused)):
        return f"expected a refusal of the RewriteRefused family, saw {refusal!r}"
    return ""


def _is_filled_tuple(value: object) -> bool:
    return isinstance(value, tuple) and bool(value)


def _plan_fault(answer: object, view: object) -> str:
    assert isinstance(view, View)
    if not isinstance(answer, RewritePlan):
        return f"expected a RewritePlan, saw {answer!r}"
    operations, believed_saving, tombstones, refusal = cast("tuple[object, ...]", answer)
    if not is_whole(believed_saving):
        return f"expected a believed saving in whole tokens, saw {believed_saving!r}"
    if not isinstance(refusal, str):
        return f"expected a refusal in words or none, saw {refusal!r}"
    if not isinstance(operations, tuple):
        return f"expected a tuple of operations, saw {operations!r}"
    return _operations_fault(operations, view) or _tombstones_fault(tombstones, operations)


def _operations_fault(operations: tuple[object, ...], view: View) -> str:
    kinds = {item.id: item.kind for item in view.items}
    seen: set[int] = set()
    for operation in operations:
        if not isinstance(operation, Evict | Mask | Summarise | Fold):
            return f"expected operations, saw {operation!r}"
        if isinstance(operation, Fold) and not _is_filled_tuple(operation.ids):
            return f"expected ids to fold, saw {operation.ids!r}"
        if isinstance(operation, Mask) and not is_count(operation.tokens, 0):
            return f"expected a placeholder of 0 tokens or more, saw {operation.tokens!r}"
        for identity in operation.sources:
            if not is_whole(identity) or identity not in kinds:
                return f"expected ids of the view, saw {identity!r}"
            if identity in seen:
                return f"expected each span in one operation, saw {identity} twice"
            if kinds[identity] in FIXED:
                return f"expected the fixed {kinds[identity]} untouched, saw {operation!r}"
            seen.add(identity)
    return ""


def _tombstones_fault(tombstones: object, operations: Iterable[Operation]) -> str:
    if not isinstance(tombstones, tuple):
        return f"expected a tuple of tombstones, saw {tombstones!r}"
    dropped = {operation.id for operation in operations if isinstance(operation, Evict | Mask)}
    for identity in tombstones:
        if not is_whole(identity) or identity not in dropped:
            return f"expected tombstones of evicted or masked spans, saw {identity!r}"
    return ""


FAULTS: dict[str, Callable[[object, object], str]] = {
    "begin": _no_fault,
    "check": _flag_fault,
    "admit": _verdict_fault,
    "propose": _plan_fault,
    "judge": _verdict_fault,
    "learn": _flag_fault,
    "resume": _verdict_fault,
    "amend": _verdict_fault,
    "rely": _verdict_fault,
}
"""What is wrong with an answer, empty where nothing is, by method."""
