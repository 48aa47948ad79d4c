"""The conservation gate: its bound, its proof, the order of its reasons, and that it is pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.gates import ConservationGate, RewriteBudgetViolation
from policies.gates.conservation import admit, prove
from simulator.contracts import Bound, Proposal

TOKENS = st.integers(-10_000, 10_000)
PROPOSALS = st.builds(
    Proposal,
    freed=TOKENS,
    rewrite_cost=TOKENS,
    measurement_cost=TOKENS,
    unattributed=st.just(0) | TOKENS,
    touched_own_substrate=st.booleans(),
    slack=TOKENS,
    believed_saving=TOKENS,
    believed_freed=TOKENS,
)


@pytest.mark.unit
@pytest.mark.parametrize(("freed", "accepted"), [(469, False), (470, False), (471, True)])
def test_a_net_of_0_is_churn_and_a_net_of_1_is_a_gain(freed: int, accepted: bool) -> None:
    verdict = prove(Proposal(freed, 380, 90))
    assert verdict.accepted is accepted
    assert verdict.figures["net"] == freed - 470


@pytest.mark.unit
def test_the_documented_figures_stand_in_the_refusal_with_the_slack() -> None:
    verdict = prove(Proposal(freed=400, rewrite_cost=380, measurement_cost=90, slack=50))
    assert verdict.reason == (
        "budget not conserved: freed=400 rewrite_cost=380 measurement_cost=90 net=-70 slack=50"
    )
    assert verdict.figures == {
        "freed": 400,
        "rewrite_cost": 380,
        "measurement_cost": 90,
        "unattributed": 0,
        "net": -70,
        "slack": 50,
    }
    with pytest.raises(RewriteBudgetViolation, match=r"net=-70 slack=50"):
        verdict.require()


@pytest.mark.unit
def test_room_left_in_the_window_excuses_nothing() -> None:
    assert not prove(Proposal(400, 380, 90, slack=100_000)).accepted


@pytest.mark.unit
def test_reasons_come_in_order_substrate_then_attribution_then_net() -> None:
    all_wrong = Proposal(0, 10, 10, unattributed=7, touched_own_substrate=True)
    assert prove(all_wrong).reason == "the plan touches its own decision records"
    attribution = prove(all_wrong._replace(touched_own_substrate=False)).reason
    assert attribution.startswith("7 tokens are attributed to no component")
    assert prove(Proposal(0, 10, 10)).reason.startswith("budget not conserved")


@pytest.mark.unit
@pytest.mark.parametrize(
    "wrong",
    [
        {"touched_own_substrate": True},
        {"unattributed": 1},
        {"unattributed": -1},
        {"rewrite_cost": -1},
        {"measurement_cost": -1},
    ],
)
def test_a_large_gain_excuses_neither_substrate_nor_missing_attribution(wrong: dict[str, int]) -> None:
    generous = Proposal(freed=10_000, rewrite_cost=1, measurement_cost=1)
    assert prove(generous).accepted
    assert not prove(generous._replace(**wrong)).accepted  # type: ignore[arg-type]


@pytest.mark.unit
def test_the_estimate_plays_no_part_in_the_proof() -> None:
    honest = Proposal(400, 380, 90)
    assert prove(honest._replace(believed_saving=9_000, believed_freed=9_000)) == prove(honest)


@pytest.mark.unit
@pytest.mark.parametrize(("freeable", "accepted"), [(171, False), (172, False), (173, True)])
def test_the_bound_asks_for_a_net_of_1_too(freeable: int, accepted: bool) -> None:
    verdict = admit(Bound(freeable, 160, 12))
    assert verdict.accepted is accepted
    assert verdict.figures == {
        "freeable": freeable,
        "rewrite_cost": 160,
        "measurement_cost": 12,
        "net": freeable - 172,
    }


@pytest.mark.unit
def test_the_part_of_a_policy_says_what_the_functions_say() -> None:
    gate, bound, proposal = ConservationGate(), Bound(100, 160, 12), Proposal(400, 380, 90)
    assert gate.name == "conservation"
    assert gate.admit(bound) == admit(bound)
    assert gate.judge(proposal) == prove(proposal)


@pytest.mark.property
@given(PROPOSALS)
def test_it_accepts_exactly_what_is_clean_attributed_and_leaves_room(proposal: Proposal) -> None:
    verdict = prove(proposal)
    assert verdict.accepted == (
        not proposal.touched_own_substrate
        and not proposal.unattributed
        and proposal.rewrite_cost >= 0
        and proposal.measurement_cost >= 0
        and proposal.freed - proposal.rewrite_cost - proposal.measurement_cost >= 1
    )
    assert verdict.reason
    assert verdict.figures["slack"] == proposal.slack


@pytest.mark.property
@given(PROPOSALS)
def test_it_is_pure(proposal: Proposal) -> None:
    before = repr(proposal)
    gate = ConservationGate()
    first = gate.judge(proposal)
    gate.judge(Proposal(1, 2, 3))
    assert gate.judge(proposal) == first == prove(proposal)
    assert repr(proposal) == before
    assert vars(gate) == {}


@pytest.mark.property
@given(st.builds(Bound, TOKENS, st.integers(0, 5_000), st.integers(0, 5_000)))
def test_what_the_bound_refuses_no_proof_could_accept(bound: Bound) -> None:
    if not admit(bound).accepted:
        assert not prove(Proposal(bound.freeable, bound.rewrite_cost, bound.measurement_cost)).accepted
