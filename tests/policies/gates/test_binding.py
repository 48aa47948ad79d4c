"""The binding gate: wording, the cap of a phase, and the epoch of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.gates import BindingGate, InstructionDecayError
from policies.gates.binding import bind, permit
from simulator.contracts import Proposal
from simulator.plan import Evict, Fold, Operation, RewritePlan, Summarise
from simulator.questions import Amendment, Reliance
from simulator.spans import Kind
from simulator.view import Item, View

PLAIN = Amendment("payload", ("schema",))
STORY = PLAIN._replace(narrative=True)
PROPOSAL = Proposal(100, 0, 0)

VERSIONS = st.dictionaries(st.sampled_from(["schema", "tools", "phase"]), st.integers(0, 5), max_size=3)


# --------------------------------------------------------------------------- writing


@pytest.mark.unit
@pytest.mark.parametrize(("cap", "written"), [(3, 3), (4, 4), (None, 50)])
def test_a_phase_has_room_for_its_cap(cap: int | None, written: int) -> None:
    gate = BindingGate(cap=cap)
    verdicts = [gate.amend(PLAIN).accepted for _ in range(50)]
    assert verdicts.count(True) == written
    assert verdicts == sorted(verdicts, reverse=True)


@pytest.mark.unit
def test_the_cap_is_4_unless_said_otherwise_and_told_in_the_refusal() -> None:
    gate = BindingGate()
    for _ in range(4):
        gate.amend(PLAIN).require()
    with pytest.raises(InstructionDecayError, match=r"cap of 4 .* is used up: consolidate"):
        gate.amend(PLAIN).require()


@pytest.mark.unit
def test_a_new_phase_starts_a_new_count() -> None:
    gate = BindingGate(cap=1)
    said = [gate.amend(PLAIN._replace(phase=phase)).accepted for phase in (0, 0, 1, 1, 2)]
    assert said == [True, False, True, False, True]


@pytest.mark.unit
def test_wording_is_refused_before_the_cap_is_charged() -> None:
    gate = BindingGate(cap=1)
    assert "tells a story" in gate.amend(STORY).reason
    assert gate.amend(PLAIN).accepted
    assert "tells a story" in gate.amend(STORY).reason  # and not the cap, which is used up
    assert "cap of 1" in gate.amend(PLAIN).reason


@pytest.mark.unit
def test_what_takes_the_place_of_others_is_accepted_beyond_the_cap_and_not_counted() -> None:
    gate = BindingGate(cap=2)
    before = [gate.amend(PLAIN._replace(replaces=1)).accepted for _ in range(5)]
    assert before == [True] * 5
    assert [gate.amend(PLAIN).accepted for _ in range(3)] == [True, True, False]
    for replaces in (1, 3):
        verdict = gate.amend(PLAIN._replace(replaces=replaces))
        assert verdict.accepted
        assert verdict.figures == {"written": 2, "cap": 2}
    assert not gate.amend(PLAIN).accepted
    # a story is no better for it
    assert "tells a story" in gate.amend(STORY._replace(replaces=1)).reason


@pytest.mark.property
@given(st.integers(1, 4), st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2))))
def test_a_phase_grows_by_no_more_than_its_cap_whatever_is_asked(
    cap: int, asked: list[tuple[int, bool, int]]
) -> None:
    gate = BindingGate(cap=cap)
    phase, added = 0, 0
    for replaces, narrative, later in asked:
        phase, added = phase + later, 0 if later else added
        verdict = gate.amend(Amendment("payload", ("schema",), phase, narrative, replaces))
        assert verdict.accepted is (not narrative and (replaces > 0 or added < cap))
        added += verdict.accepted and not replaces


@pytest.mark.unit
def test_wording_is_a_switch() -> None:
    assert permit(STORY, 0, imperative=False).accepted
    assert BindingGate(imperative=False).amend(STORY).accepted
    assert permit(STORY, 0).refusal is InstructionDecayError


@pytest.mark.unit
def test_a_run_that_is_begun_has_written_nothing() -> None:
    gate = BindingGate(cap=1)
    assert gate.amend(PLAIN).accepted
    gate.begin()
    assert gate.amend(PLAIN).accepted


# --------------------------------------------------------------------------- binding


@pytest.mark.unit
def test_the_versions_and_the_displayed_epochs_stand_in_the_refusal() -> None:
    verdict = bind(Reliance("payload", {"schema": 3, "tools": 2}, {"schema": 4, "tools": 2}))
    assert not verdict.accepted
    assert verdict.refusal is InstructionDecayError
    for figure in ("'payload'", "schema 3, now 4", "epoch 5, now 6"):
        assert figure in verdict.reason
    assert verdict.figures == {"epoch": 6, "epoch_written": 5}


@pytest.mark.unit
def test_a_premise_that_comes_back_does_not_bring_the_epoch_back() -> None:
    versions = iter((1, 2, 3))  # A, then B, then A again: each change has a version of its own
    written = {"schema": next(versions)}
    assert bind(Reliance("payload", written, dict(written))).accepted
    next(versions)
    assert not bind(Reliance("payload", written, {"schema": next(versions)})).accepted


@pytest.mark.unit
def test_equal_sums_of_versions_are_no_equal_epochs() -> None:
    assert not bind(Reliance("payload", {"schema": 1, "tools": 2}, {"schema": 2, "tools": 1})).accepted


@pytest.mark.unit
@pytest.mark.parametrize(
    ("written", "live", "binds"),
    [
        (None, {}, False),
        (None, {"schema": 1}, False),
        ({}, {}, True),
        ({}, {"schema": 1}, False),
        ({"schema": 1}, {}, False),
        ({"schema": 0}, {"schema": 0}, True),
    ],
)
def test_what_cannot_prove_that_it_is_fresh_is_stale(
    written: Mapping[str, int] | None, live: Mapping[str, int], binds: bool
) -> None:
    assert bind(Reliance("payload", written, live)).accepted is binds
    assert BindingGate(rederive=False).rely(Reliance("payload", written, live)).accepted


@pytest.mark.property
@given(st.none() | VERSIONS, VERSIONS)
def test_it_binds_exactly_where_each_version_is_the_same(
    written: dict[str, int] | None, live: dict[str, int]
) -> None:
    verdict = BindingGate().rely(Reliance("payload", written, live))
    assert verdict.accepted is (written == live)
    assert verdict.reason
    assert verdict.figures["epoch"] == sum(live.values())


# --------------------------------------------------------------------------- rewrites


@pytest.mark.unit
@pytest.mark.parametrize("operation", [Evict(2), Summarise(2), Fold((1, 2))])
def test_instructions_are_spared_and_a_plan_that_touches_one_is_refused(
    operation: Operation, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1), item(2, kind=Kind.INSTRUCTION), item(3)])
    gate = BindingGate()
    assert gate.spares(shown) == {2}
    gate.weigh(shown, RewritePlan((operation,)), 0)
    verdict = gate.judge(PROPOSAL)
    assert verdict.refusal is InstructionDecayError
    assert "instructions 2" in verdict.reason
    gate.weigh(shown, RewritePlan((Summarise(1), Evict(3))), 0)
    assert gate.judge(PROPOSAL).accepted
