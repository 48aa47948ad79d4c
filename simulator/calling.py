"""Calling the policy: while it answers, a fault is its own, and what it answers is checked.

In come a method and a question; out comes the answer, or RunFailed that names the method. A policy may be
anybody's class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from traceback import walk_tb
from typing import TypeVar

from simulator.contracts import Verdict
from simulator.errors import RunFailed, told
from simulator.workspace import Workspace

Question = TypeVar("Question")
Reply = TypeVar("Reply")


def ask(work: Workspace, method: str, call: Callable[[Question], Reply], question: Question) -> Reply:
    """Call a method of the policy; while it runs, an error is the policy's, but for the watchdog's."""
    work.asking = method
    try:
        answer = call(question)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        if isinstance(fault, RunFailed) and _is_ours(fault):
            raise
        raise RunFailed(method, f"policy raised {told(fault)}") from fault
    work.asking = ""
    return answer


OURS = ("simulator", "policies")
"""Packages whose failures name their own stage: the checker's witness is a policy too."""


def _is_ours(failure: RunFailed) -> bool:
    """Return whether a failure is the watchdog's, which has a class of its own, or was raised by our code."""
    frame = [frame for frame, _ in walk_tb(failure.__traceback__)][-1]
    return type(failure) is not RunFailed or frame.f_globals.get("__name__", "").split(".")[0] in OURS


VERDICT_FIELDS = (("accepted", bool), ("reason", str), ("figures", Mapping), ("escalate", bool))
"""What a verdict is checked for: a policy may be anybody's class."""


def ask_verdict(
    work: Workspace, method: str, call: Callable[[Question], Verdict], question: Question
) -> Verdict:
    """Ask for a verdict. Raises RunFailed where the policy answers something else."""
    verdict = ask(work, method, call, question)
    if not isinstance(verdict, Verdict):
        raise RunFailed(method, f"policy returned {type(verdict).__name__}, expected a Verdict")
    for name, kind in VERDICT_FIELDS:
        if not isinstance(getattr(verdict, name), kind):
            raise RunFailed(method, f"policy returned a Verdict whose {name} is {getattr(verdict, name)!r}")
    return verdict
