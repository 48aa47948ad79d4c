"""The `Witness` between the engine and a policy under check: it keeps the answers and finds the faults.

Comes in: a `Subject`, which is the policy by its reference, and the setting of one run. Goes out: its
decisions as text, or `RunFailed` with the method whose answer was faulty. A policy that raises,
answers nonsense or hangs is a fault here and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from policies.faults import FAULTS
from policies.loader import load_policy
from policies.small_worlds import FULL, INSTRUCTED, MARKED, SEED, STRESS
from simulator.contracts import ACCEPTED, Brief, CheckPoint, Lesson, Policy, Proposal, Terms, Verdict
from simulator.errors import RunFailed, told
from simulator.ledger import Outcome
from simulator.plan import Fold, RewritePlan, Summarise
from simulator.questions import Amendment, Reliance, Vitals
from simulator.setting import Setting
from simulator.simulation import POLICY_FAULTS, simulate
from simulator.terms import terms_fault
from simulator.view import Gauge, View

Question = TypeVar("Question", bound=tuple[object, ...])
Answer = TypeVar("Answer")

ALL = "all"
INPUTS = "inputs"
NOTHING_AT_ALL = ""
"""What a witness may look at, beside one method."""

FAULTY = "a faulty answer"


class Shortfall(Exception):
    """A promise that was not kept; its text says what was expected and what was seen."""


class Subject:
    """The policy under check.

    Attributes
    ----------
    declared : its terms when it was first loaded, and those that policies share by default.
    silent : methods that were found to hang, with what to say of them.
    """

    def __init__(self, reference: str) -> None:
        self.reference = reference
        self.declared = terms_of(self.fresh())
        self.silent: dict[str, str] = {}
        self._decisions: list[Decision] = []

    def fresh(self) -> Policy:
        """Return the policy, loaded anew."""
        return load_policy(self.reference)

    def decisions(self) -> list[Decision]:
        """Return the decisions that others are held against, made once."""
        self._decisions = self._decisions or decisions_of(self, self.fresh())
        return self._decisions


def terms_of(policy: Policy) -> tuple[Terms, Terms]:
    """Return copies of a policy's terms and of those that policies share by default."""
    return replace(policy.terms), replace(Policy.terms)


class Decision(NamedTuple):
    """One answer of a policy, as text, and whether it asks for a replacement that must be paid for."""

    world: str
    method: str
    answer: str
    pays: bool


class Witness(Policy):
    """Stands between the engine and a policy: passes questions on, keeps the answers, finds the faults.

    Parameters
    ----------
    subject, policy : the reference under check, and one policy loaded from it.
    world : name of the world, for messages.
    terms : what the engine is told; the policy's own where None and sensible.
    insists : lets the engine try a rewrite at each check point whatever the policy says.
    lens : whose faults count: of `ALL` methods, of one (which is asked variants too), or of none; a
        change of `INPUTS` counts under its own lens only.
    until_paid : the policy is asked nothing more once it has asked for a replacement.

    Attributes
    ----------
    decisions : answers in order; one whose fault does not count stands there as faulty.
    questions : what the method under the lens was asked.
    outcome : how the run ended.
    """

    name = "witness"

    def __init__(
        self,
        subject: Subject,
        policy: Policy,
        world: str,
        *,
        terms: Terms | None = None,
        insists: bool = False,
        lens: str = NOTHING_AT_ALL,
        until_paid: bool = False,
    ) -> None:
        self.terms = _engine_terms(policy) if terms is None else terms
        self.decisions: list[Decision] = []
        self.questions: list[tuple[object, ...]] = []
        self.outcome = ""
        self._subject, self._policy, self._world = subject, policy, world
        self._insists, self._lens, self._until_paid = insists, lens, until_paid

    def begin(self, brief: Brief) -> None:
        """Begin the policy."""
        self._ask("begin", self._policy.begin, brief, None)

    def check(self, gauge: Gauge) -> bool:
        """Ask whether to start; under its own lens nothing is started, so that the context only grows."""
        answer = self._ask("check", self._policy.check, gauge, False)
        if self._is_done:
            return False
        return self._lens != "check" if self._insists else answer

    def admit(self, gauge: Gauge) -> Verdict:
        """Ask for the cheapest bound."""
        answer = self._ask("admit", self._policy.admit, gauge, ACCEPTED)
        return ACCEPTED if self._insists else answer

    def propose(self, view: View) -> RewritePlan:
        """Ask for the plan."""
        plan = self._ask("propose", self._policy.propose, view, RewritePlan())
        return plan._replace(refusal="") if self._insists else plan

    def judge(self, proposal: Proposal) -> Verdict:
        """Ask for the judgement of the exact figures."""
        answer = self._ask("judge", self._policy.judge, proposal, ACCEPTED)
        if self._lens == "judge":
            for bad in _bad_figures(proposal):
                self._ask("judge", self._policy.judge, bad, ACCEPTED)
        return ACCEPTED if self._insists else answer

    def learn(self, lesson: Lesson) -> bool:
        """Hand on what was learned."""
        answer = self._ask("learn", self._policy.learn, lesson, False)
        if self._lens == "learn":
            for outcome in Outcome:
                self._ask("learn", self._policy.learn, lesson._replace(outcome=outcome.value), False)
        return not self._insists and answer

    def resume(self, vitals: Vitals) -> Verdict:
        """Ask whether to go on."""
        answer = self._ask("resume", self._policy.resume, vitals, ACCEPTED)
        if self._lens == "resume":
            for other in _other_vitals(vitals):
                self._ask("resume", self._policy.resume, other, ACCEPTED)
        return ACCEPTED if self._insists else answer

    def amend(self, amendment: Amendment) -> Verdict:
        """Ask whether an instruction may be written."""
        answer = self._ask("amend", self._policy.amend, amendment, ACCEPTED)
        if self._lens == "amend":
            for other in _other_amendments(amendment):
                self._ask("amend", self._policy.amend, other, ACCEPTED)
        return answer

    def rely(self, reliance: Reliance) -> Verdict:
        """Ask whether an instruction binds now."""
        answer = self._ask("rely", self._policy.rely, reliance, ACCEPTED)
        if self._lens == "rely":
            for other in _other_reliances(reliance):
                self._ask("rely", self._policy.rely, other, ACCEPTED)
        return answer

    @property
    def _is_done(self) -> bool:
        return self._until_paid and bool(self.decisions) and self.decisions[-1].pays

    def _ask(
        self, method: str, call: Callable[[Question], Answer], question: Question, neutral: Answer
    ) -> Answer:
        """Return the answer; the neutral one where it is faulty and the lens is on another method."""
        if self._is_done:
            return neutral
        if method == self._lens:
            self.questions.append(question)
        try:
            answer = self._call(method, call, question)
            fault = FAULTS[method](answer, question)
            if fault:
                raise RunFailed(method, f"{fault} (world {self._world!r})")
        except RunFailed as fault:
            if self._lens in (ALL, method) or fault.stage == INPUTS:
                raise
            self.decisions.append(Decision(self._world, method, FAULTY, False))
            return neutral
        operations = answer.operations if isinstance(answer, RewritePlan) else ()
        pays = any(isinstance(operation, Summarise | Fold) for operation in operations)
        self.decisions.append(Decision(self._world, method, repr(answer), pays))
        return answer

    def _call(self, method: str, call: Callable[[Question], Answer], question: Question) -> Answer:
        if method in self._subject.silent:
            raise RunFailed(method, self._subject.silent[method])
        before = repr(question) if self._lens == INPUTS else ""
        try:
            answer = call(question)
        except POLICY_FAULTS as fault:
            reason = f"expected an answer, saw {told(fault)} (world {self._world!r})"
            if isinstance(fault, TimeoutError):
                self._subject.silent[method] = reason  # or every check would wait for it again
            raise RunFailed(method, reason) from fault
        if before and repr(question) != before:
            raise RunFailed(INPUTS, f"{method} has changed its {type(question).__name__}")
        return answer


def _engine_terms(policy: Policy) -> Terms:
    """Return terms that the engine can live with, so that bad ones fail their own check and no other."""
    return Terms() if terms_fault(policy.terms) else policy.terms


def _bad_figures(proposal: Proposal) -> tuple[Proposal, ...]:
    """Return what a gate may be shown beside honest figures."""
    return (
        proposal._replace(freed=0),
        proposal._replace(freed=-50),
        proposal._replace(unattributed=7),
        proposal._replace(touched_own_substrate=True),
        proposal._replace(freed=400, rewrite_cost=380, measurement_cost=90),
    )


def _other_vitals(vitals: Vitals) -> tuple[Vitals, ...]:
    """Return what an agent may find of itself at turn start: smaller and surer, with a ledger and without."""
    surer = Vitals(vitals.tokens, vitals.tokens + 1, confidence=0.9, confidence_before=0.5, ledger=None)
    return (
        surer,
        surer._replace(ledger=0),
        surer._replace(ledger=3),
        surer._replace(confidence=0.5, confidence_before=0.9),
        surer._replace(tokens_before=0),
    )


def _other_amendments(amendment: Amendment) -> tuple[Amendment, ...]:
    """Return instructions of another wording, without premises, in the place of others, of the next phase."""
    return (
        amendment._replace(narrative=True),
        amendment._replace(premises=()),
        amendment._replace(replaces=2),
        amendment._replace(phase=amendment.phase + 1),
    )


def _other_reliances(reliance: Reliance) -> tuple[Reliance, ...]:
    """Return what an instruction may show: no tag, one of this epoch, of another, and an empty one."""
    live = dict(reliance.live)
    return (
        reliance._replace(written=None),
        reliance._replace(written=live),
        reliance._replace(written={name: version + 1 for name, version in live.items()}),
        reliance._replace(written={}),
        reliance._replace(written={}, live={}),
    )


def live(
    subject: Subject,
    policy: Policy,
    setting: Setting,
    *,
    terms: Terms | None = None,
    insists: bool = False,
    lens: str = NOTHING_AT_ALL,
    until_paid: bool = False,
) -> Witness:
    """Return the witness of one run. Raises RunFailed with the method at fault, if it is under the lens."""
    witness = Witness(
        subject, policy, setting.name, terms=terms, insists=insists, lens=lens, until_paid=until_paid
    )
    witness.outcome = simulate(setting, witness, SEED).outcome
    return witness


def decisions_of(
    subject: Subject,
    policy: Policy,
    settings: tuple[Setting, ...] = STRESS,
    lens: str = NOTHING_AT_ALL,
) -> list[Decision]:
    """Return all decisions in these worlds, then those that are insisted on where the window is full."""
    lives = [live(subject, policy, setting, lens=lens) for setting in settings]
    lives.append(insisted(subject, policy, FULL, lens))
    return [decision for witness in lives for decision in witness.decisions]


def insisted(
    subject: Subject,
    policy: Policy,
    setting: Setting,
    lens: str = NOTHING_AT_ALL,
    *,
    until_paid: bool = False,
) -> Witness:
    """Return the witness of one run in which a rewrite is tried at every check point."""
    terms = replace(_engine_terms(policy), endless_window=True)
    if terms.check_points == {CheckPoint.OVERFLOW}:  # which no endless window meets
        terms = replace(terms, check_points=frozenset({CheckPoint.BEFORE_REQUEST}))
    if setting is MARKED:
        terms = replace(
            terms, deliberates=True, immutable_this_turn=True, never_summarised=True, retires=False
        )
    if setting is INSTRUCTED:
        terms = replace(terms, red_flag=True, instructions=replace(terms.instructions, edits=True))
    return live(subject, policy, setting, terms=terms, insists=True, lens=lens, until_paid=until_paid)


def under_lens(subject: Subject, method: str, settings: tuple[Setting, ...]) -> list[tuple[object, ...]]:
    """Return what one method was asked in these worlds. Raises RunFailed at its first faulty answer."""
    questions = []
    for setting in settings:
        witness = insisted(subject, subject.fresh(), setting, method)
        if not witness.questions:
            raise Shortfall(f"expected {method} to be asked in world {setting.name!r}, saw no check point")
        questions += witness.questions
    return questions
