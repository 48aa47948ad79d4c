"""The progress gate: what it asks of a pass, and the bound on passes that follows from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.gates.progress import ProgressGate, most_passes
from simulator.contracts import Brief, Proposal, Terms

pytestmark = pytest.mark.theory


def test_a_pass_must_free_its_share_of_the_window_net() -> None:
    gate = ProgressGate(0.05)
    gate.brief(Brief(24_000), Terms())
    assert gate.judge(Proposal(1_360, 160, 0)).accepted
    assert not gate.judge(Proposal(1_360, 160, 1)).accepted


@given(st.integers(0, 10_000), st.lists(st.integers(0, 2_000), max_size=60), st.integers(1, 3_000), st.data())
def test_no_run_has_more_passes_than_the_bound(
    initial: int, arrivals: list[int], least: int, data: st.DataObject
) -> None:
    """Whatever arrives, and however greedy a policy is: the potential cannot fall below 0."""
    content, passes = initial, 0
    for arrived in arrivals:
        content += arrived
        while content >= least and data.draw(st.booleans()):
            content -= data.draw(st.integers(least, content))
            passes += 1
    assert passes <= most_passes(initial, sum(arrivals), least)


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_the_least_is_never_nothing(share: float) -> None:
    gate = ProgressGate(share)
    gate.brief(Brief(1), Terms())
    assert not gate.judge(Proposal(0, 0, 0)).accepted
