"""Replacements: what a policy believes that a summary, a placeholder or nothing will leave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.replacements import ReplacementRule
from simulator.contracts import Brief
from simulator.plan import Evict, Fold, Mask, Summarise
from simulator.spans import Kind
from simulator.view import Item

OPEN = Brief(window=1_000)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("tokens", "passes", "brief", "cap", "left"),
    [
        (200, 0, OPEN, None, 60),
        (200, 1, OPEN, None, 150),
        (200, 2, OPEN, None, 200),  # 0.3 + 2 x 0.45 is above 1: nothing more to win
        (200, 0, Brief(1_000, summary_floor=96), None, 96),
        (200, 0, Brief(1_000, summary_cap=50), None, 50),
        (200, 0, OPEN, 40, 40),
        (200, 0, Brief(1_000, summary_cap=50), 40, 40),
        (200, 0, Brief(1_000, summary_cap=40), 50, 40),
        (200, 0, Brief(1_000, summary_floor=96, summary_cap=50), None, 96),  # a floor holds above a cap
        (50, 0, Brief(1_000, summary_floor=96), None, 96),  # and lifts a summary above its source
    ],
)
def test_a_summary_is_believed_to_keep_its_share_within_the_documented_limits(
    tokens: int, passes: int, brief: Brief, cap: int | None, left: int, item: Callable[..., Item]
) -> None:
    rule = ReplacementRule(ratio=0.30, ratio_per_pass=0.45, cap=cap)
    assert rule.believed_size([item(1, tokens, passes=passes)], brief) == left


@pytest.mark.unit
def test_a_fold_is_one_summary_of_all_its_sources(item: Callable[..., Item]) -> None:
    pair = [item(1, 240), item(2, 230, passes=1)]
    assert ReplacementRule().believed_size(pair, OPEN) == round(0.3 * 240 + 0.75 * 230)
    assert ReplacementRule().believed_size(pair, Brief(1_000, summary_floor=300)) == 300


@pytest.mark.unit
def test_placeholders_count_each_and_evictions_leave_nothing(item: Callable[..., Item]) -> None:
    pair = [item(1, 240), item(2, 230)]
    assert ReplacementRule("mask", placeholder=12).believed_size(pair, OPEN) == 24
    assert ReplacementRule("evict").believed_size(pair, Brief(1_000, summary_floor=96)) == 0


@pytest.mark.unit
def test_the_operation_follows_the_kind_and_the_number_of_items(item: Callable[..., Item]) -> None:
    one, other = item(7), item(9)
    assert ReplacementRule("summary").operation([one]) == (Summarise(7),)
    assert isinstance(ReplacementRule("summary").operation([one])[0], Summarise)
    assert ReplacementRule("summary").operation([one, other]) == (Fold((7, 9)),)
    assert ReplacementRule("mask", placeholder=3).operation([one, other]) == (Mask(7, 3), Mask(9, 3))
    assert [type(done) for done in ReplacementRule("evict").operation([one, other])] == [Evict, Evict]


@pytest.mark.property
@given(
    st.integers(0, 10_000),
    st.integers(0, 9),
    st.integers(0, 500),
    st.none() | st.integers(1, 5_000),
    st.none() | st.integers(1, 5_000),
)
def test_a_belief_lies_between_floor_and_cap_and_never_falls_with_a_pass(
    tokens: int, passes: int, floor: int, cap: int | None, documented: int | None
) -> None:
    item = Item(1, None, tokens, 0, None, None, None, (), False, False, False, "text", passes, False)  # type: ignore[arg-type]
    brief = Brief(1_000, summary_floor=floor, summary_cap=documented)
    rule = ReplacementRule(cap=cap)
    size = rule.believed_size([item], brief)
    assert size >= floor
    assert size <= max(floor, min(limit for limit in (tokens, cap, documented) if limit is not None))
    assert rule.believed_size([item._replace(passes=passes + 1)], brief) >= size


@pytest.mark.unit
def test_a_digest_merges_the_steps_of_a_subgoal_and_drops_what_they_stand_on(
    item: Callable[..., Item],
) -> None:
    rule = ReplacementRule("digest", ratio=1 / 3, tombstone=12)
    steps = tuple(item(place, 165, Kind.ASSISTANT, subgoal=1) for place in (4, 5, 6))
    other, loose = item(7, 165, Kind.ASSISTANT, subgoal=2), item(8, 165, Kind.ASSISTANT)
    result = item(3, 340, subgoal=1)
    groups = [rule.group(one) for one in (*steps, other, loose, result)]
    assert groups[0] == groups[1] == groups[2]
    assert len(set(groups)) == 4
    assert rule.operation(steps) == (Fold((4, 5, 6)),)
    assert rule.believed_size(steps, Brief(4_000)) == 165
    assert rule.operation((result,)) == (Evict(3),)
    assert rule.believed_size((result,), Brief(4_000)) == 12


# --------------------------------------------------------------------------- clips, and all in one


@pytest.mark.unit
def test_a_clip_leaves_so_much_of_what_is_longer_and_the_rest_alone(item: Callable[..., Item]) -> None:
    rule = ReplacementRule("clip", clip_tokens=100)
    items = [item(1, 400), item(2, 101), item(3, 100), item(4, 7)]
    assert rule.operation(items) == (Mask(1, 100), Mask(2, 100))
    assert rule.believed_size(items, OPEN) == 100 + 100 + 100 + 7
    above = ReplacementRule("clip", clip_tokens=10, clip_over=100)
    assert above.operation(items) == (Mask(1, 10), Mask(2, 10))
    assert above.believed_size(items, OPEN) == 10 + 10 + 100 + 7


@pytest.mark.unit
@pytest.mark.parametrize(("position", "last"), [("first", False), ("last", True)])
def test_a_summary_of_several_stands_where_it_is_told(
    position: str, last: bool, item: Callable[..., Item]
) -> None:
    rule = ReplacementRule(group_by="all", position=position)  # type: ignore[arg-type]
    assert rule.operation([item(1), item(5)]) == (Fold((1, 5), last),)
