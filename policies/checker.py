"""The conformance suite behind `rewritelab check-policy NAME`: one function a check, one table of checks.

A reference comes in, one `Check` a promise of the protocol goes out. The policy is driven through
`simulate` in small worlds, with a `Witness` between it and the engine. What no run inside one
process can show is not checked: the order of sets under another hash seed, or a clock read past the
`time` module.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from policies.small_worlds import (
    EMPTY,
    FLOOD,
    FULL,
    INSTRUCTED,
    SEED,
    STATED,
    STRESS,
    VIEWS,
    with_other_truth,
)
from policies.witness import (
    ALL,
    INPUTS,
    Decision,
    Shortfall,
    Subject,
    decisions_of,
    insisted,
    live,
    terms_of,
    under_lens,
)
from simulator.errors import RunFailed, one_line, told
from simulator.simulation import POLICY_FAULTS
from simulator.terms import terms_fault
from simulator.view import Gauge


class Check(NamedTuple):
    """One promise of the protocol: kept or not, what was expected and what was seen."""

    name: str
    passed: bool
    detail: str


def check_policy(reference: str) -> list[Check]:
    """Hold a policy to every promise of the protocol.

    Parameters
    ----------
    reference : str
        Name, path of a TOML file, or `package.module:Class`.

    Returns
    -------
    list of Check
        In the order of `CHECKS`; whatever the policy does, there is one for each. A policy that hangs
        is given up after `watchdog.PATIENCE_SECONDS`, once a method, where this is the main thread.

    Raises
    ------
    InputError
        The policy cannot be loaded.

    >>> all(check.passed for check in check_policy("guarded"))
    True
    """
    subject = Subject(reference)
    return [_outcome(name, look_into, subject) for name, look_into in CHECKS.items()]


def _outcome(name: str, look_into: Callable[[Subject], str], subject: Subject) -> Check:
    try:
        return Check(name, True, look_into(subject))
    except (Shortfall, RunFailed) as fault:
        return Check(name, False, one_line(str(fault)))
    except POLICY_FAULTS as fault:
        return Check(name, False, one_line(f"expected an answer, saw {told(fault)}"))


def _has_a_name(subject: Subject) -> str:
    """Require a name that is a text on one line, and not empty."""
    name = getattr(subject.fresh(), "name", None)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise Shortfall(f"expected a name on one line, saw {name!r}")
    return f"expected a name, saw {name!r}"


def _declares_terms(subject: Subject) -> str:
    """Require terms of the types and in the ranges that the engine understands."""
    terms = subject.fresh().terms
    fault = terms_fault(terms)
    if fault:
        raise Shortfall(fault)
    return f"expected sensible terms, saw {terms!r}"


def _loads_again(subject: Subject) -> str:
    """Require the same policy from its reference each time: a sweep sends the reference to its workers."""
    one, other = subject.fresh(), subject.fresh()
    for what in ("name", "terms"):
        first, second = getattr(one, what, None), getattr(other, what, None)
        if first != second:
            raise Shortfall(f"expected {what} {first!r} when loaded again, saw {second!r}")
    if type(one).__qualname__ != type(other).__qualname__:
        raise Shortfall(f"expected a {type(one).__name__} when loaded again, saw a {type(other).__name__}")
    return f"expected the same policy when loaded again, saw {type(other).__name__} with equal terms"


def _begins(subject: Subject) -> str:
    """Require that it can be begun, and again for another world."""
    return f"expected it to begin, saw it do so {len(under_lens(subject, 'begin', VIEWS))} times"


def _checks(subject: Subject) -> str:
    """Require True or False at gauges from an empty window to one several times overfull."""
    gauges = under_lens(subject, "check", (EMPTY, FLOOD))
    shares = [gauge.tokens / gauge.window for gauge in gauges if isinstance(gauge, Gauge)]
    return (
        f"expected True or False, saw it at {len(gauges)} gauges from {min(shares):.0%} to "
        f"{max(shares):.0%} of the window"
    )


def _admits(subject: Subject) -> str:
    """Require a verdict at gauges of all sizes, and of a refusal that it says why."""
    return f"expected verdicts, saw {len(under_lens(subject, 'admit', (*VIEWS, FLOOD)))} of them"


def _proposes(subject: Subject) -> str:
    """Require plans with ids of the view, each once and the head never, for every kind of view."""
    seen = len(under_lens(subject, "propose", VIEWS))
    return f"expected valid plans, saw {seen} of them in {', '.join(setting.name for setting in VIEWS)}"


def _judges(subject: Subject) -> str:
    """Require a verdict on honest and on bad figures, and of a refusal that it says why."""
    return f"expected verdicts, saw {len(under_lens(subject, 'judge', VIEWS))} of them"


def _learns(subject: Subject) -> str:
    """Require True or False whatever the outcome that it learns of."""
    return f"expected True or False, saw it after {len(under_lens(subject, 'learn', VIEWS))} outcomes"


def _resumes(subject: Subject) -> str:
    """Require a verdict at turn start, the same of two fresh ones, and of a refusal that it says why."""
    return _answered_alike(subject, "resume")


def _amends(subject: Subject) -> str:
    """Require a verdict on instructions to write, the same of two fresh ones, and of a refusal its reason."""
    return _answered_alike(subject, "amend")


def _relies(subject: Subject) -> str:
    """Require a verdict on instructions at hand, the same of two fresh ones, and of a refusal its reason."""
    return _answered_alike(subject, "rely")


def _answered_alike(subject: Subject, method: str) -> str:
    """Ask one method in the world with instructions, twice."""
    first, second = (
        [decision for decision in witness.decisions if decision.method == method]
        for witness in (insisted(subject, subject.fresh(), INSTRUCTED, method) for _ in range(2))
    )
    if not first:
        raise Shortfall(f"expected {method} to be asked in world {INSTRUCTED.name!r}, saw no question")
    _require_same(first, second, "on equal questions")
    return f"expected verdicts, saw {len(first)} of them, twice the same"


def _leaves_inputs_alone(subject: Subject) -> str:
    """Require that it changes nothing of what it is handed, nor its terms once declared."""
    policy = subject.fresh()
    seen = len(decisions_of(subject, policy, lens=INPUTS))
    seen += len(insisted(subject, policy, INSTRUCTED, INPUTS).decisions)
    for declared, now, whose in zip(subject.declared, terms_of(policy), WHOSE_TERMS, strict=True):
        if now != declared:
            raise Shortfall(f"expected {whose} to stay {declared}, saw {now}")
    return f"expected inputs and terms unchanged, saw them so after {seen} decisions"


WHOSE_TERMS = ("its terms", "the default terms")


def _require_same(first: list[Decision], second: list[Decision], between: str) -> str:
    for number, (one, other) in enumerate(zip(first, second, strict=False), start=1):
        if one != other:
            raise Shortfall(
                f"expected equal decisions {between}, saw {one.method} answer {one.answer} against "
                f"{other.method} {other.answer} at decision {number} (world {one.world!r})"
            )
    if len(first) != len(second):
        raise Shortfall(f"expected equal decisions {between}, saw {len(first)} against {len(second)} of them")
    return f"expected equal decisions {between}, saw {len(first)} of them equal"


def _is_deterministic(subject: Subject) -> str:
    """Require equal decisions of two fresh policies on equal inputs."""
    return _require_same(subject.decisions(), decisions_of(subject, subject.fresh()), "on equal inputs")


def _begins_anew(subject: Subject) -> str:
    """Require that nothing of an earlier run stays: two worlds, another, and the first two again."""
    policy = subject.fresh()
    worlds, others = (STRESS[0], INSTRUCTED), (STRESS[2],)
    first = decisions_of(subject, policy, worlds)
    decisions_of(subject, policy, others)
    return _require_same(first, decisions_of(subject, policy, worlds), "before and after another run")


def _leaves_global_randomness_alone(subject: Subject) -> str:
    """Require that it neither uses nor moves the global random numbers of Python and numpy."""
    first = subject.decisions()
    kept = _random_states()
    try:
        random.seed(SEED)
        np.random.seed(SEED)  # noqa: NPY002 - the global state is what is under check
        before = repr(_random_states())
        second = decisions_of(subject, subject.fresh())
        moved = repr(_random_states()) != before
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002 - the global state is what is under check
    if moved:
        raise Shortfall("expected the global random states unmoved, saw them moved")
    return _require_same(first, second, "under two global seeds")


def _random_states() -> tuple[tuple[object, ...], dict[str, object]]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - the global state is what is under check
    return random.getstate(), dict(legacy)


def _ignores_the_clock(subject: Subject) -> str:
    """Require the same decisions when the wall clock races, from another year."""
    first = subject.decisions()
    with _wall_clock(1_000_000_000.0, 1.37):
        racing = decisions_of(subject, subject.fresh())
    return _require_same(first, racing, "under two wall clocks")


@contextmanager
def _wall_clock(start: float, step: float) -> Iterator[None]:
    """Let the `time` module tell a time of our own, some seconds later at each call."""
    now = start

    def seconds() -> float:
        nonlocal now
        now += step
        return now

    def nanoseconds() -> int:
        return int(seconds() * 1e9)

    ours: dict[str, Callable[[], float]] = dict.fromkeys(("time", "monotonic", "perf_counter"), seconds)
    ours |= {f"{name}_ns": nanoseconds for name in tuple(ours)}
    kept = {name: getattr(time, name) for name in ours}
    try:
        for name, clock in ours.items():
            setattr(time, name, clock)
        yield
    finally:
        for name, clock in kept.items():
            setattr(time, name, clock)


def _cannot_see_the_truth(subject: Subject) -> str:
    """Require decisions that hidden truth does not move before a replacement that shows it is paid for."""
    seen = 0
    for setting in (*STRESS, FULL, STATED):
        other = with_other_truth(setting)
        runs = []
        for world in (setting, other):
            free = live(subject, subject.fresh(), world, until_paid=True)
            urged = insisted(subject, subject.fresh(), world, until_paid=True)
            runs.append((free.decisions, urged.decisions))
        for one, two in zip(*runs, strict=True):
            _require_same(one, two, "whatever compresses, before a replacement was paid for")
            seen += len(one)
    return f"expected equal decisions whatever compresses, saw {seen} of them equal before any was paid for"


def _survives(subject: Subject) -> str:
    """Require that it lives through small worlds with the identities of the ledger unbroken."""
    worlds = (*STRESS, INSTRUCTED)
    lives = [live(subject, subject.fresh(), setting, lens=ALL) for setting in worlds]
    ends = ", ".join(f"{life.outcome} ({setting.name})" for life, setting in zip(lives, worlds, strict=True))
    return f"expected runs that end with their books in order, saw {ends}"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "name": _has_a_name,
    "terms": _declares_terms,
    "loads again": _loads_again,
    "begin": _begins,
    "check": _checks,
    "admit": _admits,
    "propose": _proposes,
    "judge": _judges,
    "learn": _learns,
    "resume": _resumes,
    "amend": _amends,
    "rely": _relies,
    "inputs unchanged": _leaves_inputs_alone,
    "deterministic": _is_deterministic,
    "begins anew": _begins_anew,
    "global randomness": _leaves_global_randomness_alone,
    "wall clock": _ignores_the_clock,
    "hidden truth": _cannot_see_the_truth,
    "survives": _survives,
}
"""Every check by name, each a sentence in its function's docstring; the functions return what they saw."""
