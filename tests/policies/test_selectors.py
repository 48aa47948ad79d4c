"""Selectors: what may go, in which order, and where the dead stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.keeping import Keeping
from policies.replacements import ReplacementRule
from policies.selectors import Selector
from simulator.contracts import Brief, CheckPoint
from simulator.spans import Kind, Provenance
from simulator.view import Gauge, Item, View

BRIEF = Brief(window=1_000)
SUMMARY = ReplacementRule()

GAUGE = Gauge(CheckPoint.BEFORE_REQUEST, 1, 0, 1_000, 0, 0, 0, 0)
VIEWS = st.lists(
    st.builds(
        Item,
        id=st.just(0),
        kind=st.sampled_from(list(Kind)),
        tokens=st.integers(0, 900),
        born=st.integers(0, 9),
        provenance=st.sampled_from(list(Provenance)),
        subgoal=st.none() | st.integers(0, 3),
        pair=st.none() | st.integers(0, 3),
        cites=st.just(()),
        needed=st.booleans(),
        closed=st.booleans(),
        dead=st.booleans(),
        content_class=st.just("text"),
        passes=st.integers(0, 3),
        marked=st.booleans(),
        judgement=st.sampled_from([0.5, 1.0, 1.7]),
    ),
    max_size=20,
).map(lambda items: View(tuple(item._replace(id=place) for place, item in enumerate(items)), GAUGE))
SELECTORS = st.builds(
    Selector,
    order=st.sampled_from(["verbosity", "saving", "oldest", "salience"]),
    kinds=st.frozensets(st.sampled_from(list(Kind))),
    exempt=st.frozensets(st.sampled_from(list(Kind)), max_size=3),
    keeping=st.builds(Keeping, last=st.integers(0, 25)),
    dead_first=st.booleans(),
    evict_unit=st.sampled_from(["item", "subgoal"]),
    only_savings=st.booleans(),
)
RULES = st.builds(
    ReplacementRule,
    kind=st.sampled_from(["summary", "mask", "evict"]),
    group_by=st.sampled_from(["item", "pair"]),
)


def ids(selector: Selector, view: View, rule: ReplacementRule = SUMMARY) -> list[tuple[int, ...]]:
    return [tuple(item.id for item in unit.items) for unit in selector.units(view, rule, BRIEF)]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("oldest", [(1,), (2,), (3,), (4,)]),
        ("verbosity", [(3,), (2,), (4,), (1,)]),
        # savings: of 100 at 0.30, 70; of 300 at 0.75, 75; of 400 at 1.00, 0; of 300 at 0.30, 210
        ("saving", [(4,), (2,), (1,), (3,)]),
    ],
)
def test_the_order_is_the_age_the_length_or_the_believed_saving(
    order: str, expected: list[tuple[int]], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 100), item(2, 300, passes=1), item(3, 400, passes=2), item(4, 300)])
    assert ids(Selector(order=order), shown) == expected  # type: ignore[arg-type]


@pytest.mark.unit
@pytest.mark.parametrize("order", ["verbosity", "saving"])
def test_equals_stay_in_context_order(
    order: str, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(item(identity) for identity in (5, 3, 9))
    assert ids(Selector(order=order), shown) == [(5,), (3,), (9,)]  # type: ignore[arg-type]


@pytest.mark.unit
def test_a_misjudging_mind_orders_by_what_it_believes(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 200), item(2, 100, judgement=3.0)])
    assert ids(Selector(order="saving"), shown) == [(2,), (1,)]
    assert ids(Selector(order="verbosity"), shown) == [(1,), (2,)]


@pytest.mark.unit
def test_results_of_one_call_fold_into_one_unit(item: Callable[..., Item], view: Callable[..., View]) -> None:
    shown = view(
        [
            item(1, 240, pair=7),
            item(2, 300),
            item(3, 230, pair=7),
            item(4, 50, Kind.TOOL_CALL, pair=7),
            item(5, 20, pair=8),
        ]
    )
    assert ids(Selector(), shown) == [(1, 3), (2,), (4,), (5,)]
    unit = Selector().units(shown, SUMMARY, BRIEF)[0]
    assert (unit.tokens, unit.saving) == (470, 470 - 141)
    assert ids(Selector(), shown, ReplacementRule(group_by="item")) == [(2,), (1,), (3,), (4,), (5,)]


@pytest.mark.unit
def test_kinds_that_are_not_named_stay_and_the_head_and_tombstones_always(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(item(place, kind=kind) for place, kind in enumerate(Kind))
    kinds = list(Kind)
    assert ids(Selector(kinds=frozenset({Kind.SUMMARY})), shown) == [(kinds.index(Kind.SUMMARY),)]
    every = ids(Selector(exempt=frozenset()), shown)
    assert (kinds.index(Kind.HEAD),) not in every
    assert (kinds.index(Kind.TOMBSTONE),) not in every
    assert len(every) == len(kinds) - 2
    assert (kinds.index(Kind.TRACE),) not in ids(Selector(), shown)


@pytest.mark.unit
@pytest.mark.parametrize("evict_unit", ["item", "subgoal"])
def test_what_is_exempt_is_never_touched_dead_or_not(
    evict_unit: str, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [
            item(0, kind=Kind.ASSISTANT, dead=True, subgoal=1),
            item(1, dead=True, subgoal=1),
            item(2, kind=Kind.ASSISTANT),
            item(3),
        ]
    )
    selector = Selector(exempt=frozenset({Kind.ASSISTANT}), dead_first=True, evict_unit=evict_unit)  # type: ignore[arg-type]
    assert [gone.id for gone in selector.dead(shown, None)] == [1]
    assert ids(selector, shown) == [(3,)]


@pytest.mark.unit
def test_kinds_say_what_is_replaced_and_nothing_of_the_dead(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(0, kind=Kind.ASSISTANT, dead=True, subgoal=1), item(1)])
    selector = Selector(kinds=frozenset({Kind.TOOL_RESULT}), dead_first=True)
    assert [gone.id for gone in selector.dead(shown, None)] == [0]
    assert ids(selector, shown) == [(1,)]


@pytest.mark.unit
@pytest.mark.parametrize(("keep_last", "left"), [(0, 3), (1, 2), (3, 0), (4, 0), (5, 0), (100, 0)])
def test_the_last_spans_stay_dead_or_not(
    keep_last: int, left: int, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    assert len(ids(Selector(keeping=Keeping(last=keep_last)), view(item(n) for n in range(3)))) == left
    dead = view(item(n, dead=True, subgoal=0) for n in range(3))
    assert len(Selector(keeping=Keeping(last=keep_last), dead_first=True).dead(dead, None)) == left


@pytest.mark.unit
def test_only_savings_leaves_alone_what_is_believed_to_save_nothing(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 100), item(2, 100, passes=2)])
    assert ids(Selector(), shown) == [(1,), (2,)]
    assert ids(Selector(only_savings=True), shown) == [(1,)]
    assert (
        ids(Selector(only_savings=True), view([item(1, 12)]), ReplacementRule("mask", placeholder=12)) == []
    )


@pytest.mark.unit
@pytest.mark.parametrize(
    ("need", "going"),
    [
        (None, [1, 3, 5]),
        (-5, []),
        (0, []),
        (1, [1]),
        (100, [1]),
        (101, [1, 3]),
        (300, [1, 3, 5]),
        (999, [1, 3, 5]),
    ],
)
def test_the_dead_go_oldest_first_until_the_need_is_met(
    need: int | None, going: list[int], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(item(n, dead=n % 2 == 1, subgoal=n) for n in range(1, 7))
    assert [gone.id for gone in Selector(dead_first=True).dead(shown, need)] == going


@pytest.mark.unit
def test_the_dead_stay_dead_weight_without_dead_first(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, dead=True, subgoal=1), item(2)])
    assert Selector().dead(shown, None) == []
    assert ids(Selector(), shown) == [(1,), (2,)]
    assert ids(Selector(dead_first=True), shown) == [(2,)]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("need", "going"), [(0, []), (1, [1, 3, 5]), (300, [1, 3, 5]), (301, [1, 2, 3, 4, 5])]
)
def test_a_subgoal_goes_whole_even_where_another_lies_between(
    need: int, going: list[int], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [
            item(1, 150, dead=True, subgoal=1),
            item(2, 10, dead=True, subgoal=2) if need > 300 else item(2, 10),
            item(3, 150, dead=True, subgoal=1),
            item(4, 10, dead=True, subgoal=2) if need > 300 else item(4, 10),
            item(5, 10, dead=True, subgoal=1),
        ]
    )
    selector = Selector(dead_first=True, evict_unit="subgoal")
    assert [gone.id for gone in selector.dead(shown, need)] == going


@pytest.mark.unit
def test_no_other_subgoal_is_begun_once_the_need_is_met(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(item(n, dead=True, subgoal=n % 2) for n in range(6))
    selector = Selector(dead_first=True, evict_unit="subgoal")
    assert [gone.id for gone in selector.dead(shown, 100)] == [0, 2, 4]
    assert [gone.id for gone in selector.dead(shown, 101)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.unit
def test_what_is_spared_stays_dead_or_not(item: Callable[..., Item], view: Callable[..., View]) -> None:
    shown = view([item(1, dead=True, subgoal=1), item(2, dead=True, subgoal=1), item(3), item(4)])
    selector = Selector(dead_first=True)
    assert [gone.id for gone in selector.dead(shown, None, {1})] == [2]
    assert [unit.items[0].id for unit in selector.units(shown, SUMMARY, BRIEF, {1, 3})] == [4]


@pytest.mark.unit
def test_a_tombstone_lowers_what_a_dead_span_frees_and_keeps_one_that_is_no_larger(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(item(n, tokens, dead=True, subgoal=n) for n, tokens in enumerate((12, 100, 13, 100)))
    selector = Selector(dead_first=True)
    assert [gone.id for gone in selector.dead(shown, 112)] == [0, 1]
    # 88 of 100 and 1 of 13 are freed; 12 of 12 would free nothing
    assert [gone.id for gone in selector.dead(shown, 89, tombstone=12)] == [1, 2]
    assert [gone.id for gone in selector.dead(shown, 90, tombstone=12)] == [1, 2, 3]


@pytest.mark.unit
def test_salience_takes_first_what_is_old_and_rarely_cited(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [
            item(1, born=1),  # recency 0.05, salience 2/3
            item(2, born=2),  # recency 0.10, cited too long ago to count
            item(3, born=8, cites=(2,)),  # recency 0.40
            item(4, born=11, cites=(1,)),  # recency 0.55
            item(5, born=20, cites=(1, 3)),  # recency 1.00; item 3 has salience 1/3
        ],
        turn=20,
    )
    selector = Selector(order="salience")
    assert ids(selector, shown) == [(2,), (4,), (1,), (3,), (5,)]
    assert ids(Selector(order="salience", salience_turns=9), shown) == [(2,), (1,), (4,), (3,), (5,)]
    assert ids(Selector(order="salience", salience_weight=0.0), shown) == [(1,), (2,), (3,), (4,), (5,)]
    assert ids(Selector(order="salience", recency_weight=0.0), shown) == [(2,), (4,), (5,), (3,), (1,)]


@pytest.mark.unit
def test_a_unit_is_as_salient_as_the_best_of_its_items(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, pair=7), item(2), item(3, pair=7), item(4, born=2, cites=(3,))], turn=2)
    assert ids(Selector(order="salience"), shown) == [(2,), (4,), (1, 3)]


@pytest.mark.property
@given(VIEWS, SELECTORS, RULES, st.none() | st.integers(-100, 3_000))
def test_nothing_is_selected_that_may_not_be_and_nothing_twice(
    view: View, selector: Selector, rule: ReplacementRule, need: int | None
) -> None:
    dead = selector.dead(view, need)
    units = selector.units(view, rule, BRIEF)
    taken = dead + [item for unit in units for item in unit.items]
    movable = view.items[: max(0, len(view.items) - selector.keeping.last)]
    assert len({item.id for item in taken}) == len(taken)
    assert all(item in movable and not item.marked for item in taken)
    assert all(item.kind not in selector.exempt | {Kind.HEAD, Kind.TOMBSTONE} for item in taken)
    assert all(item.dead for item in dead)
    for unit in units:
        assert all(item.kind in selector.kinds for item in unit.items)
        assert unit.tokens == sum(item.tokens for item in unit.items)
        assert unit.saving > 0 or not selector.only_savings
        assert len(unit.items) == 1 or len({item.pair for item in unit.items}) == 1


@pytest.mark.property
@given(VIEWS, SELECTORS, st.integers(0, 3_000))
def test_one_by_one_the_dead_overshoot_their_need_by_less_than_the_last(
    view: View, selector: Selector, need: int
) -> None:
    dead = selector.dead(view, need)
    assert [item.id for item in dead] == sorted(item.id for item in dead)
    if selector.evict_unit == "item" and dead:
        assert sum(item.tokens for item in dead[:-1]) < need


@pytest.mark.property
@given(VIEWS, st.integers(1, 3_000))
def test_by_subgoal_what_was_begun_is_finished(view: View, need: int) -> None:
    selector = Selector(dead_first=True, evict_unit="subgoal")
    begun = {item.subgoal for item in selector.dead(view, need)}
    fixed = (Kind.HEAD, Kind.TOMBSTONE, Kind.TRACE)
    free = [item for item in view.items if not item.marked and item.kind not in fixed]
    whole = [item for item in free if item.dead and item.subgoal in begun]
    assert selector.dead(view, need) == whole
