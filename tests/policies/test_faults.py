"""The faults of answers: each thing that a policy may say wrong, in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies import load_policy
from policies.faults import FAULTS
from policies.loader import METHODS
from policies.small_worlds import STRESS
from policies.witness import ALL, Subject, Witness
from simulator.contracts import ACCEPTED, Policy, Verdict
from simulator.errors import RunFailed
from simulator.plan import Evict, Mask, RewritePlan, Summarise
from simulator.questions import Amendment, Reliance, Vitals
from simulator.spans import Kind
from simulator.view import Gauge, Item, View

pytestmark = pytest.mark.contract

QUESTIONS: dict[str, tuple[object, ...]] = {
    "resume": Vitals(900, 1_000, 0.9, 0.8, None),
    "amend": Amendment("payload", narrative=True),
    "rely": Reliance("payload", None, {"schema": 1}),
}


class Older(Policy):
    """A policy written before there was anything to ask between rewrites."""

    def check(self, gauge: Gauge) -> bool:
        return False

    def propose(self, view: View) -> RewritePlan:
        return RewritePlan()


def test_every_method_has_its_faults() -> None:
    assert tuple(FAULTS) == METHODS


@pytest.mark.parametrize("method", ["admit", "judge", "resume", "amend", "rely"])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (True, "expected a Verdict"),
        (Verdict(False, ""), "expected a refusal to say why"),
        (Verdict(True, "", escalate=1), "expected escalate to be True or False"),  # type: ignore[arg-type]
        (Verdict(True, "", {"net": float("nan")}), "expected finite figures"),
        (Verdict(False, "no", {}, KeyError), "RewriteRefused"),  # type: ignore[arg-type]
        (ACCEPTED, ""),
        (Verdict(True, "short", escalate=True), ""),
    ],
)
def test_a_verdict_is_looked_at_in_every_part(method: str, answer: object, told: str) -> None:
    fault = FAULTS[method](answer, QUESTIONS.get(method, ()))
    assert told in fault
    assert bool(fault) is bool(told)


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (RewritePlan((Evict(1),), 0, (1,)), ""),
        (RewritePlan((Evict(1),), 0, ()), ""),
        (RewritePlan((Mask(1, 0), Mask(2, 5)), 0, (1, 2)), ""),
        (RewritePlan((Evict(1),), 0, [1]), "expected a tuple of tombstones"),  # type: ignore[arg-type]
        (RewritePlan((Evict(1),), 0, (2,)), "expected tombstones of evicted or masked spans, saw 2"),
        (RewritePlan((Summarise(1),), 0, (1,)), "expected tombstones of evicted or masked spans, saw 1"),
        (RewritePlan((Evict(3),)), "expected the fixed tombstone untouched"),
    ],
)
def test_tombstones_are_of_what_is_dropped_and_are_no_prey(
    plan: RewritePlan, told: str, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1), item(2), item(3, kind=Kind.TOMBSTONE)])
    fault = FAULTS["propose"](plan, shown)
    assert told in fault
    assert bool(fault) is bool(told)


@pytest.mark.parametrize("method", QUESTIONS)
def test_a_witness_passes_on_what_is_asked_between_rewrites(method: str) -> None:
    policy = load_policy("guarded")
    witness = Witness(Subject("guarded"), policy, STRESS[0].name, lens=ALL)
    assert getattr(witness, method)(QUESTIONS[method]) == getattr(policy, method)(QUESTIONS[method])
    assert not getattr(witness, method)(QUESTIONS[method]).accepted
    assert {decision.method for decision in witness.decisions} == {method}


@pytest.mark.parametrize("method", QUESTIONS)
def test_a_witness_finds_the_fault_of_such_an_answer(method: str) -> None:
    policy = load_policy("naive")
    setattr(policy, method, lambda _question: None)
    witness = Witness(Subject("naive"), policy, STRESS[0].name, lens=ALL)
    with pytest.raises(RunFailed, match="expected a Verdict, saw None") as fault:
        getattr(witness, method)(QUESTIONS[method])
    assert fault.value.stage == method


@pytest.mark.parametrize("method", QUESTIONS)
def test_a_policy_without_the_new_methods_still_answers(method: str) -> None:
    assert getattr(Older(), method)(QUESTIONS[method]) == ACCEPTED
