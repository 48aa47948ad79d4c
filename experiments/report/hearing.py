"""What each gate of a composed policy says of a rewrite, where the engine hears the policy as a whole.

In come a policy and a list; out comes a policy that decides the same and leaves each verdict in the
list: at which phase, by which gate.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from policies.composed import ComposedPolicy
from simulator import Gate, Policy, RewritePlan, View
from simulator.contracts import Bound, Brief, Lesson, Proposal, Terms, Verdict
from simulator.questions import Amendment, Reliance, Vitals

Heard = list[tuple[str, str, Verdict]]
"""Phase (`admit` or `gate`), name of the gate, and its verdict, in the order of asking."""


def listened_to(policy: Policy, heard: Heard) -> Policy:
    """Return the policy with gates that are listened to, where it is composed of gates.

    Parameters
    ----------
    policy : Policy
        One that is no `ComposedPolicy` is returned as it is, and nothing is heard.
    heard : list
        Takes in each verdict as it is given.

    >>> from policies import load_policy
    >>> listened_to(load_policy("guarded"), []).name
    'guarded'
    """
    if type(policy) is not ComposedPolicy:  # a subclass may do other things with its gates
        return policy
    gates = tuple(_ListenedTo(gate, heard) for gate in policy.parts.gates)
    return ComposedPolicy(policy.name, policy.terms, replace(policy.parts, gates=gates))


class _ListenedTo(Gate):
    """A gate, and a note of each verdict that it gives on a rewrite."""

    def __init__(self, gate: Gate, heard: Heard) -> None:
        self.name = gate.name
        self._gate = gate
        self._heard = heard

    def begin(self) -> None:
        self._gate.begin()

    def admit(self, bound: Bound) -> Verdict:
        return self._noted("admit", self._gate.admit(bound))

    def spares(self, view: View) -> Collection[int]:
        return self._gate.spares(view)

    def brief(self, brief: Brief, terms: Terms) -> None:
        self._gate.brief(brief, terms)

    def learn(self, lesson: Lesson) -> None:
        self._gate.learn(lesson)

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        verdict = self._gate.weigh(view, plan, target)
        return verdict if verdict.accepted else self._noted("propose", verdict)

    def judge(self, proposal: Proposal) -> Verdict:
        return self._noted("gate", self._gate.judge(proposal))

    def resume(self, vitals: Vitals) -> Verdict:
        return self._gate.resume(vitals)

    def amend(self, amendment: Amendment) -> Verdict:
        return self._gate.amend(amendment)

    def rely(self, reliance: Reliance) -> Verdict:
        return self._gate.rely(reliance)

    def _noted(self, phase: str, verdict: Verdict) -> Verdict:
        self._heard.append((phase, self.name, verdict))
        return verdict
