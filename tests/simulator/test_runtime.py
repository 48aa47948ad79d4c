"""The runtime: a log that only grows, and a check from outside that puts back what a rewrite has lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.contracts import (
    MeasurementPlan,
    Placement,
    Policy,
    Step,
    Terms,
    TombstoneTerms,
    Turn,
    Verdict,
)
from simulator.laws import EvidenceLaw, Laws, MeasurementLaw, SummaryLaw
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.setting import RuntimeSpec, Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Provenance, Span
from simulator.view import View

Make = Callable[..., Policy]
CONSTRAINT = Span(1, Kind.USER, 40, provenance=Provenance.USER, constraint=True, binds=(1,))
OTHER = CONSTRAINT._replace(id=2, tokens=25, binds=(2,))
RESULT = Span(3, Kind.TOOL_RESULT, 300)
GOVERNED = Turn(step=Step(governed=(1,)))


@pytest.fixture(scope="session")
def lived(listed: type, scripted: Make) -> Callable[..., Run]:
    """Live through governed turns with a rewrite in turn 2; the policy stands in the summary."""

    def made(
        *operations: Operation,
        restores: bool = True,
        append_only: bool = False,
        before: tuple[Span, ...] = (CONSTRAINT, OTHER, RESULT),
        terms: Terms | None = None,
        laws: Laws | None = None,
        turns: int = 3,
        **said: object,
    ) -> Run:
        plan = RewritePlan(tuple(operations), 1)
        answers = {"check_by": lambda gauge: gauge.turn == 2, "propose_by": plan, **said}
        charged_to = answers.pop("charged_to", "window")
        policy = scripted(terms=terms or Terms(deliberates=False), **answers)
        setting = Setting(
            "runtime",
            10**6,
            listed((Turn(), *(GOVERNED,) * (turns - 1)), before),
            laws=laws or Laws(evidence=EvidenceLaw(0, 0)),
            runtime=RuntimeSpec(append_only, restores),
            charged_to=charged_to,  # type: ignore[arg-type]
        )
        run = simulate(setting, policy)
        run.summary["policy"] = policy
        return run

    return made


# --------------------------------------------------------------------------- append-only


@pytest.mark.unit
def test_an_append_only_log_refuses_every_attempt_before_anybody_is_asked(lived: Callable) -> None:
    run = lived(Evict(1), Evict(3), append_only=True, restores=False, check_by=True)
    assert [(entry.outcome, entry.stage, entry.reason) for entry in run.rewrite_rows] == [
        ("refused", "admit", "the log is append-only")
    ] * 3
    assert {row.tokens for row in run.turn_rows} == {365}
    assert {(entry.freed, entry.rewrite_cost, entry.rewrite_seconds) for entry in run.rewrite_rows} == {
        (0, 0, 0)
    }
    assert run.summary["constraint_violations"] == 0
    assert run.summary["policy"].views == []
    # the policy learns of it, as of any refusal
    assert [lesson.outcome for lesson in run.summary["policy"].lessons] == ["refused"] * 3


# --------------------------------------------------------------------------- restored from outside


@pytest.mark.theory
@pytest.mark.parametrize("operation", [Evict(1), Mask(1, 9), Summarise(1), Fold((1, 3))])
def test_a_constraint_that_lost_its_force_is_put_back_whole(lived: Callable, operation: Operation) -> None:
    lost = lived(operation, restores=False)
    assert (lost.summary["constraint_violations"], lost.rewrite_rows[0].reinjected) == (2, 0)
    run = lived(operation)
    (entry,) = run.rewrite_rows
    assert run.summary["constraint_violations"] == 0
    assert run.summary["constraints_held"] == 2
    assert entry.reinjected == 40
    assert entry.freed == lost.rewrite_rows[0].freed  # what is put back is no part of what the plan frees
    assert entry.net == entry.freed
    assert entry.tokens_after == entry.tokens_before - entry.freed + 40
    assert run.turn_rows[-1].tokens == entry.tokens_after


@pytest.mark.unit
def test_what_is_put_back_is_seen_as_the_constraint_that_it_states_again(lived: Callable) -> None:
    run = lived(Evict(1), check_by=lambda gauge: gauge.turn > 1, propose_by=evicts_constraint_1, turns=4)
    views = run.summary["policy"].views
    (item,) = (item for item in views[1].items if item.id < 0)
    assert (item.kind, item.provenance, item.tokens) == (Kind.USER, Provenance.RUNTIME, 40)
    assert (item.constraint, item.states, item.born) == (True, (1,), 2)
    assert views[1].items[-1] == item  # at the end
    # lost again, it comes back again, as it was first stated
    assert [entry.reinjected for entry in run.rewrite_rows] == [40, 40, 40]
    assert run.summary["constraint_violations"] == 0


def evicts_constraint_1(view: View) -> RewritePlan:
    return RewritePlan(tuple(Evict(item.id) for item in view.items if item.states == (1,)), 1)


@pytest.mark.unit
def test_what_keeps_its_force_is_not_put_back(lived: Callable) -> None:
    again = Span(4, Kind.ASSISTANT, 15, constraint=True, restates=1, carries=(1,), binds=(1,))
    standing = lived(Evict(1), before=(CONSTRAINT, again, RESULT))
    assert standing.rewrite_rows[0].reinjected == 0
    kept = lived(Summarise(1), laws=Laws(evidence=EvidenceLaw(1, 1)))
    assert kept.rewrite_rows[0].reinjected == 0
    # both statements lost: put back once, as it was first stated
    both = lived(Evict(1), Evict(4), before=(CONSTRAINT, again, RESULT))
    assert both.rewrite_rows[0].reinjected == 40
    nothing = lived(Evict(3))
    assert nothing.rewrite_rows[0].reinjected == 0


@pytest.mark.unit
def test_a_refused_attempt_puts_nothing_back(lived: Callable) -> None:
    run = lived(Evict(1), judge_by=Verdict(False, "no"))
    assert (run.rewrite_rows[0].outcome, run.rewrite_rows[0].reinjected) == ("refused", 0)
    assert {row.tokens for row in run.turn_rows} == {365}


@pytest.mark.theory
@pytest.mark.parametrize("charged_to", ["window", "separate"])
def test_what_may_come_back_is_in_the_bound_of_the_measurement(lived: Callable, charged_to: str) -> None:
    laws = Laws(evidence=EvidenceLaw(0, 0), measurement=MeasurementLaw(0.5), summary=SummaryLaw(ratio=0.5))
    terms = Terms(
        deliberates=False,
        measurement=MeasurementPlan.FULL,
        tombstones=TombstoneTerms(Placement.INSIDE_CHARGED, 10),
    )
    run = lived(Evict(1), Summarise(2), terms=terms, laws=laws, charged_to=charged_to)
    (entry,), (proposal,) = run.rewrite_rows, run.summary["policy"].proposals
    assert entry.reinjected == 65
    measured = entry.measurement_cost if charged_to == "window" else 0
    assert proposal.measurement_cost == measured
    assert entry.tokens_after == entry.tokens_before - entry.freed + 65 + measured


@pytest.mark.property
@given(
    st.lists(st.sampled_from([Evict, Summarise, lambda one: Mask(one, 5)]), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_no_commit_leaves_a_constraint_without_force(
    lived: Callable, kinds: list, touched: set[int], retention: float, force: float
) -> None:
    spans = tuple(
        CONSTRAINT._replace(id=one, tokens=10 + one, binds=(one % 4,), carries=() if one < 4 else (one % 4,))
        for one in range(6)
    )
    plan = tuple(kinds[one](one) for one in sorted(touched))
    run = lived(*plan, before=spans, laws=Laws(evidence=EvidenceLaw(retention, force)))
    assert run.summary["constraints_held"] == run.summary["constraints_total"] == 4
    (entry,) = run.rewrite_rows
    lost = sum(10 + one for one in range(4) if {again for again in range(6) if again % 4 == one} <= touched)
    assert entry.reinjected <= lost
    if not force or not any(kinds[one] is Summarise for one in touched):
        assert entry.reinjected == lost
