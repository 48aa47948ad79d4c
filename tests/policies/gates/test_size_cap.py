"""The size cap: it passes what the conservation gate refuses, by its own count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.gates import SizeCapGate
from policies.gates.conservation import prove
from simulator.contracts import Bound, Proposal


@pytest.mark.unit
def test_it_passes_400_freed_for_380_and_90_spent() -> None:
    proposal = Proposal(400, 380, 90, slack=50, believed_freed=400)
    assert SizeCapGate().judge(proposal).accepted
    assert not prove(proposal).accepted


@pytest.mark.unit
@pytest.mark.parametrize(("believed_freed", "accepted"), [(-1, False), (0, False), (1, True)])
def test_smaller_means_smaller_by_a_token(believed_freed: int, accepted: bool) -> None:
    verdict = SizeCapGate().judge(Proposal(0, 0, 0, believed_freed=believed_freed))
    assert verdict.accepted is accepted
    assert verdict.figures == {"believed_freed": believed_freed}
    assert str(believed_freed) in verdict.reason


@pytest.mark.unit
def test_it_admits_whatever_the_bound() -> None:
    assert SizeCapGate().admit(Bound(-100, 1_000, 1_000)).accepted


@pytest.mark.property
@given(st.integers(-9_999, 9_999), st.integers(-9_999, 9_999), st.integers(0, 9_999), st.booleans())
def test_only_its_own_count_matters(believed: int, freed: int, cost: int, touched: bool) -> None:
    verdict = SizeCapGate().judge(
        Proposal(freed, cost, cost, unattributed=cost, touched_own_substrate=touched, believed_freed=believed)
    )
    assert verdict.accepted == (believed > 0)
