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


@pytest.mark.unit
def test_a_mixed_scope_passes_what_has_grown_by_less_than_the_head() -> None:
    """Before has system and tools in it and after has not: gemini-cli's two sides."""
    head, content, after = 200, 700, 800
    grown = Proposal(
        content - after, 0, 0, believed_freed=content - after, before=head + content, content_after=after
    )
    assert SizeCapGate("mixed").judge(grown).accepted
    assert not SizeCapGate().judge(grown).accepted
    inflated = grown._replace(believed_freed=-201, content_after=901)
    assert not SizeCapGate("mixed", equal_passes=True).judge(inflated).accepted


@pytest.mark.unit
@pytest.mark.parametrize("scope", ["same", "mixed"])
def test_equal_sizes_pass_where_that_is_said(scope: str) -> None:
    equal = Proposal(0, 0, 0, believed_freed=0, before=900, content_after=900)
    assert SizeCapGate(scope, equal_passes=True).judge(equal).accepted  # type: ignore[arg-type]
    assert not SizeCapGate(scope).judge(equal).accepted  # type: ignore[arg-type]
