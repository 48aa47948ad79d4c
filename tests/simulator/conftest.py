"""What the simulator's tests share: a workload that is a list, and a policy that is a table of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from policies import ComposedPolicy
from simulator.contracts import ACCEPTED, Brief, CheckPoint, Lesson, Policy, Proposal, Terms, Turn, Verdict
from simulator.plan import RewritePlan
from simulator.questions import Amendment, Reliance, Vitals
from simulator.spans import Kind, Span
from simulator.streams import Streams
from simulator.view import Gauge, View


@dataclass(frozen=True)
class Listed:
    """The workload of a list: spans before the first turn, then these turns."""

    brought: tuple[Turn, ...] = ()
    before: tuple[Span, ...] = ()

    def initial(self, streams: Streams) -> Iterator[Span]:
        return iter(self.before)

    def turns(self, streams: Streams) -> Iterator[Turn]:
        return iter(self.brought)


@dataclass
class Scripted(Policy):
    """A policy whose answers were given, each a value or a function of the question; keeps what it saw."""

    name: str = "scripted"
    terms: Terms = field(default_factory=lambda: Terms(deliberates=False))
    check_by: object = True
    admit_by: object = ACCEPTED
    propose_by: object = RewritePlan()
    judge_by: object = ACCEPTED
    learn_by: object = False
    resume_by: object = ACCEPTED
    amend_by: object = ACCEPTED
    rely_by: object = ACCEPTED

    def __post_init__(self) -> None:
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        self.brief = brief
        self.gauges: list[Gauge] = []
        self.views: list[View] = []
        self.proposals: list[Proposal] = []
        self.lessons: list[Lesson] = []
        self.vitals: list[Vitals] = []
        self.amendments: list[Amendment] = []
        self.reliances: list[Reliance] = []

    def check(self, gauge: Gauge) -> bool:
        self.gauges.append(gauge)
        return answer(self.check_by, gauge)

    def admit(self, gauge: Gauge) -> Verdict:
        return answer(self.admit_by, gauge)

    def propose(self, view: View) -> RewritePlan:
        self.views.append(view)
        return answer(self.propose_by, view)

    def judge(self, proposal: Proposal) -> Verdict:
        self.proposals.append(proposal)
        return answer(self.judge_by, proposal)

    def learn(self, lesson: Lesson) -> bool:
        self.lessons.append(lesson)
        return answer(self.learn_by, lesson)

    def resume(self, vitals: Vitals) -> Verdict:
        self.vitals.append(vitals)
        return answer(self.resume_by, vitals)

    def amend(self, amendment: Amendment) -> Verdict:
        self.amendments.append(amendment)
        return answer(self.amend_by, amendment)

    def rely(self, reliance: Reliance) -> Verdict:
        self.reliances.append(reliance)
        return answer(self.rely_by, reliance)


def answer(given: Any, question: object) -> Any:
    """Return the answer that was given, or what the given function makes of the question."""
    return given(question) if callable(given) else given


@pytest.fixture(scope="session")
def listed() -> type[Listed]:
    return Listed


@pytest.fixture(scope="session")
def scripted() -> type[Scripted]:
    return Scripted


def looks_for_a_share(policy: Policy) -> bool:
    """Whether a policy looks before each request, and for a share of its window alone.

    Such a policy acts in a world of any size; others count tokens, messages or turns, or wait for the user.
    """
    trigger = policy.parts.trigger if isinstance(policy, ComposedPolicy) else None
    if trigger is None:
        return False
    others = (trigger.tokens, trigger.reserve, trigger.messages, trigger.turns, trigger.first_turns)
    at_requests = CheckPoint.BEFORE_REQUEST in trigger.check_points
    return at_requests and trigger.fraction is not None and set(others) == {None}


@pytest.fixture(scope="session")
def by_share() -> Callable[[Policy], bool]:
    return looks_for_a_share


def constant_turns(
    number: int, arrival: int, *, reply: int = 0, dies: bool = False, seconds: float = 0.0
) -> tuple[Turn, ...]:
    """Return turns that bring one tool result and perhaps one reply of constant size.

    Where `dies`, each result is a subgoal of its own that closes at the next turn.
    """
    turns = []
    for turn in range(1, number + 1):
        goal = turn if dies else None
        result = Span(2 * turn, Kind.TOOL_RESULT, arrival, turn, subgoal=goal)
        answer = (Span(2 * turn + 1, Kind.ASSISTANT, reply, turn),) if reply else ()
        closes = (turn - 1,) if dies and turn > 1 else ()
        turns.append(Turn((result,), answer, seconds, closes=closes))
    return tuple(turns)


@pytest.fixture(scope="session")
def constant() -> Callable[..., tuple[Turn, ...]]:
    return constant_turns
