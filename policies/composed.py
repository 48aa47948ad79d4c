"""`ComposedPolicy`: a policy as a composition of parts.

Trigger, selector, replacement, admission and gates are values; here is only the order in which they
are asked. `naive` and `guarded` are two compositions of one class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policies.admission import Admission, AdmissionTerms
from policies.guards import Guard, GuardTerms
from policies.replacements import ReplacementRule
from policies.selectors import Selector, Unit, merged
from policies.triggers import Trigger
from simulator.contracts import (
    ACCEPTED,
    Bound,
    Brief,
    Component,
    Gate,
    Lesson,
    Policy,
    Proposal,
    Terms,
    Verdict,
)
from simulator.ledger import COMMITTED
from simulator.plan import Evict, Mask, Operation, RewritePlan
from simulator.questions import Amendment, Reliance, Vitals
from simulator.view import Gauge, View


@dataclass(frozen=True, slots=True)
class Parts:
    """What a composed policy is made of. `trigger` None never fires."""

    trigger: Trigger | None
    selector: Selector
    replacement: ReplacementRule
    admission: AdmissionTerms
    guard: GuardTerms
    gates: tuple[Gate, ...]


NOTHING = "nothing to rewrite"
"""Why a plan without operations is refused, where no planner has written anything for it."""


class ComposedPolicy(Policy):
    """A policy made of parts.

    Parameters
    ----------
    name : str
    terms : Terms
        What the policy declares to the engine.
    parts : Parts
        What it asks when it decides.

    Attributes
    ----------
    guard : of the run that has begun.
    """

    def __init__(self, name: str, terms: Terms, parts: Parts) -> None:
        self.name = name
        self.terms = terms
        self.parts = parts
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        self._brief = brief
        self._window = brief.window
        self._level: int | None = None
        self._whole = False
        self._called = False
        self._committed = self._latched = False
        self._admission = Admission(self.parts.admission, self.parts.replacement.believed_ratio)
        self.guard = Guard(self.parts.guard)
        for gate in self.parts.gates:
            gate.begin()
            gate.brief(brief, self.terms)

    def check(self, gauge: Gauge) -> bool:
        """Ask the trigger, and then the guard."""
        self._window = gauge.window  # a model switch may change it
        trigger = self.parts.trigger
        if trigger is None:
            return False
        if not self._latched and not trigger.fires(gauge, self._level, first=not self._committed):
            return False
        self._latched = trigger.latches
        return self.guard.lets(gauge)

    def admit(self, gauge: Gauge) -> Verdict:
        """Ask the gates for their cheapest bound."""
        if not self.parts.gates:
            return ACCEPTED
        freeable = self._admission.freeable(
            gauge,
            kinds=self.parts.selector.kinds - self.parts.selector.exempt,
            need=self._need(gauge),
            evicts_dead=self.parts.selector.dead_first,
        )
        bound = Bound(freeable, *self._charged_costs(gauge.tokens))
        return _first_refusal(_verdict(gate, "admit", gate.admit(bound)) for gate in self.parts.gates)

    def propose(self, view: View) -> RewritePlan:
        """Evict what is dead, then replace the best units, until the target is met; leave what is spared."""
        parts, gauge = self.parts, view.gauge
        need, tombstone = self._need(gauge), parts.replacement.tombstone
        spared = frozenset(identity for gate in parts.gates for identity in gate.spares(view))
        dead = parts.selector.dead(view, need, spared, tombstone=tombstone)
        saving = sum(item.tokens - tombstone for item in dead)
        operations: list[Operation] = [Evict(item.id) for item in dead]
        left = None if need is None else need - saving
        units = self._chosen(parts.selector.units(view, parts.replacement, self._brief, spared), left)
        if parts.replacement.group_by == "all":
            units = merged(units, view, parts.replacement, self._brief)
        for unit in units:
            operations.extend(parts.replacement.operation(unit.items))
            saving += unit.saving
        self._whole = need is None or saving < need
        plan = RewritePlan(tuple(operations), saving, self._tombstones(operations))
        if not operations and not self.terms.deliberates:
            return plan._replace(refusal=NOTHING)
        return self.weighed(view, plan)

    def weighed(self, view: View, plan: RewritePlan) -> RewritePlan:
        """Return the plan with the reason of the first gate that refuses it before anything is paid for."""
        gauge = view.gauge
        target = self._target(gauge)
        if target is None:
            target = gauge.window - gauge.output_reserve
        weighed = (_verdict(gate, "weigh", gate.weigh(view, plan, target)) for gate in self.parts.gates)
        verdict = _first_refusal(weighed)
        self._called = verdict.escalate
        return plan if verdict.accepted else plan._replace(refusal=verdict.reason)

    def judge(self, proposal: Proposal) -> Verdict:
        """Ask the gates, in order."""
        verdict = _first_refusal(_verdict(gate, "judge", gate.judge(proposal)) for gate in self.parts.gates)
        self._called = self._called or verdict.escalate
        return verdict

    def learn(self, lesson: Lesson) -> bool:
        """Remember the level for the trigger, the ratios for the admission, and the strikes."""
        called, self._called = self._called, False
        self._level = lesson.tokens
        self._committed = self._committed or lesson.outcome in COMMITTED
        for gate in self.parts.gates:
            gate.learn(lesson)
        self._admission.learn(lesson, whole=self._whole)
        trigger = self.parts.trigger
        over = trigger is None or trigger.is_over(lesson.tokens, self._window, self._brief.output_reserve)
        return self.guard.count(lesson, recovered=not over, called=called)

    def resume(self, vitals: Vitals) -> Verdict:
        """Ask the guard, and then the gates, in order, whether to go on with the working set."""
        if self.guard.halts:
            return Verdict(False, f"halted after {self.guard.strikes} strikes")
        return _first_refusal(_verdict(gate, "resume", gate.resume(vitals)) for gate in self.parts.gates)

    def amend(self, amendment: Amendment) -> Verdict:
        """Ask the gates, in order, whether an instruction may be written."""
        return _first_refusal(_verdict(gate, "amend", gate.amend(amendment)) for gate in self.parts.gates)

    def rely(self, reliance: Reliance) -> Verdict:
        """Ask the gates, in order, whether an instruction binds now."""
        return _first_refusal(_verdict(gate, "rely", gate.rely(reliance)) for gate in self.parts.gates)

    def _charged_costs(self, tokens: int) -> tuple[int, int]:
        """Return what this policy will charge itself for rationale and measurement, as far as it knows."""
        terms, brief = self.terms, self._brief
        rationale = measurement = 0
        if terms.deliberates and Component.RATIONALE in terms.charges:
            cap = terms.rationale_cap
            rationale = brief.rationale_estimate if cap is None else min(brief.rationale_estimate, cap)
        if Component.MEASUREMENT in terms.charges:
            measurement = brief.measurement(terms.measurement, tokens)
        return rationale, measurement

    def _need(self, gauge: Gauge) -> int | None:
        """Return the tokens to free for the target, the charged costs included; None aims at nothing."""
        target = self._target(gauge)
        return None if target is None else gauge.tokens + sum(self._charged_costs(gauge.tokens)) - target

    def _target(self, gauge: Gauge) -> int | None:
        """Return the tokens that a rewrite aims at, or None."""
        return self.parts.trigger.target(gauge) if self.parts.trigger else None

    def _tombstones(self, operations: Iterable[Operation]) -> tuple[int, ...]:
        """Return the ids of what leaves nothing behind, where the policy leaves a record of it."""
        if self.terms.tombstones is None:
            return ()
        return tuple(
            operation.id
            for operation in operations
            if isinstance(operation, Evict) or (isinstance(operation, Mask) and not operation.tokens)
        )

    def _chosen(self, units: list[Unit], need: int | None) -> list[Unit]:
        """Return the first units within the limit of spans, until the need is met."""
        limit, enough = self.parts.selector.limit, self.parts.selector.enough_tokens
        if enough is not None:
            need = enough if need is None else min(need, enough)
        chosen: list[Unit] = []
        spans = 0
        for unit in units:
            if need is not None and need <= 0:
                break
            if limit is not None and spans + len(unit.items) > limit:
                continue
            chosen.append(unit)
            spans += len(unit.items)
            if need is not None:
                need -= unit.saving
        return chosen


def _verdict(gate: Gate, method: str, answer: object) -> Verdict:
    """Return what a gate said, if it is a verdict: a gate may be anybody's class, or of an older kind."""
    if not isinstance(answer, Verdict):
        said = type(answer).__name__
        raise TypeError(f"gate {gate.name!r} returned {said} from {method}, expected a Verdict")
    return answer


def _first_refusal(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first refusal, or else the last word, and with it an earlier call for the supervisor."""
    last, call = ACCEPTED, None
    for last in verdicts:
        if not last.accepted:
            break
        if last.escalate and call is None:
            call = last
    if call is None or call is last:
        return last
    return last._replace(
        reason=f"{call.reason}; {last.reason}", figures={**call.figures, **last.figures}, escalate=True
    )
