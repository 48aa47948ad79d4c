"""What stays: each rule of the tail on hand-made views, legal borders, and requests that are not torn."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.keeping import Keeping, newest_within, whole_requests
from simulator.contracts import CheckPoint
from simulator.spans import Kind, Provenance
from simulator.view import Gauge, Item, View

KINDS = {
    "h": Kind.HEAD,
    "u": Kind.USER,
    "a": Kind.ASSISTANT,
    "t": Kind.THINKING,
    "c": Kind.TOOL_CALL,
    "r": Kind.TOOL_RESULT,
    "m": Kind.PLACEHOLDER,
    "s": Kind.SUMMARY,
}


def talk(said: str, tokens: Iterable[int] | None = None, *, window: int = 1_000) -> View:
    """Return a view of one item a letter, with its place as id.

    A reply belongs to the turn before its results; a call and what answers it share the turn that called.
    """
    items = []
    turn = pair = 1
    sizes = [100] * len(said) if tokens is None else list(tokens)
    for place, letter in enumerate(said):
        kind = KINDS[letter]
        if place and kind in (Kind.USER, Kind.TOOL_RESULT, Kind.PLACEHOLDER) and said[place - 1] in "tac":
            turn += 1
        if kind is Kind.TOOL_CALL:
            pair = turn
        of_request = kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.PLACEHOLDER)
        items.append(
            Item(
                place, kind, sizes[place], turn, Provenance.TOOL, None, pair if of_request else None,
                (), False, False, False, "text", 0, False,
            )
        )  # fmt: skip
    count = sum(sizes)
    gauge = Gauge(CheckPoint.BEFORE_REQUEST, turn, count, window, 0, 1, 0, dict.fromkeys(Kind, 0), len(said))
    return View(tuple(items), gauge)


def going(keeping: Keeping, view: View) -> list[int]:
    stays = keeping.stays(view)
    return [item.id for item in view.items if item.id not in stays and item.kind is not Kind.HEAD]


# --------------------------------------------------------------------------- where the tail begins


@pytest.mark.unit
@pytest.mark.parametrize(
    ("keeping", "goes"),
    [
        (Keeping(), [1, 2, 3, 4, 5]),
        (Keeping(first=2), [3, 4, 5]),
        (Keeping(last=2), [1, 2, 3]),
        (Keeping(last=9), []),
        (Keeping(first=2, last=2), [3]),
        (Keeping(first=3, last=3), []),
        (Keeping(tokens=250), [1, 2, 3]),
        (Keeping(tokens=200), [1, 2, 3]),
        (Keeping(tokens=199), [1, 2, 3, 4]),
        (Keeping(tokens=250, rounds="up"), [1, 2]),
        (Keeping(tokens=200, rounds="up"), [1, 2, 3]),
        (Keeping(tokens=0), [1, 2, 3, 4, 5]),
        (Keeping(share=0.4), [1, 2, 3]),  # of 500, the head not in it
        (Keeping(share=0.4, share_of="window"), [1]),  # of 1,000
        (Keeping(share=0.4, share_of="window", tokens=100), [1, 2, 3, 4]),  # both hold
        (Keeping(tokens=300, counts_head=True), [1, 2, 3]),  # the head takes 100 of it
        (Keeping(tokens=100, last=3), [1, 2]),  # the longest tail holds
        (Keeping(oldest_share=0.3), [1]),
        (Keeping(oldest_share=0.7), [1, 2, 3]),
        (Keeping(oldest_share=0.0), [1]),
        (Keeping(oldest_share=0.2, oldest_step=0.2, tokens=200), [1, 2, 3]),
        (Keeping(last=9, oldest_least=2), [1, 2]),
        (Keeping(last=4, oldest_least=2), [1]),
    ],
)
def test_each_rule_says_where_the_tail_begins(keeping: Keeping, goes: list[int]) -> None:
    assert going(keeping, talk("huauau")) == goes


@pytest.mark.unit
@pytest.mark.parametrize(("turns", "goes"), [(1, [1, 2, 3, 4, 5]), (2, [1, 2, 3]), (3, []), (4, [])])
def test_turns_of_the_user_are_kept_whole_and_all_where_there_are_not_so_many(
    turns: int, goes: list[int]
) -> None:
    assert going(Keeping(turns=turns), talk("hucruaua")) == goes


@pytest.mark.unit
def test_requests_are_the_newest_turns_by_birth() -> None:
    view = talk("hucrcrcr")  # births 1 1 1 2 2 3 3 4, the last result came in this turn
    assert [item.born for item in view.items] == [1, 1, 1, 2, 2, 3, 3, 4]
    assert going(Keeping(requests=1), view) == [1, 2, 3, 4, 5, 6]
    assert going(Keeping(requests=2), view) == [1, 2, 3, 4]
    assert going(Keeping(requests=9), view) == []


# --------------------------------------------------------------------------- where it may be cut


@pytest.mark.unit
@pytest.mark.parametrize(
    ("keeping", "goes"),
    [
        (Keeping(last=2, cut="not_result"), [0, 1, 2, 3, 4, 5, 6]),  # a result: back to its call
        (Keeping(last=2, cut="not_result", cut_moves="forward"), list(range(9))),
        (Keeping(last=5, cut="not_result"), [0]),
        (Keeping(last=7, cut="not_result"), [0]),  # the middle of an answer is no place
        (Keeping(last=3, cut="user"), [0, 1, 2, 3, 4, 5]),
        (Keeping(last=3, cut="user", cut_moves="forward"), list(range(10))),
        (Keeping(last=3, cut="user", cut_moves="forward", cut_else="nothing"), []),
        (Keeping(last=3, cut="user", cut_moves="forward", cut_else="back"), [0, 1, 2, 3, 4, 5]),
        (Keeping(last=2, cut="user", cut_moves="forward", cut_else="answered"), []),
        (Keeping(last=8, cut="user", cut_moves="forward"), [0, 1, 2, 3, 4, 5]),
        (Keeping(last=2, cut="assistant"), [0, 1, 2, 3, 4, 5, 6]),
        (Keeping(last=6, cut="assistant"), [0]),
        (Keeping(last=5, cut="answered", cut_moves="forward"), [0, 1, 2, 3, 4, 5, 6]),
        (Keeping(last=5, cut="paired", cut_moves="forward"), [0, 1, 2, 3, 4, 5]),
        (Keeping(last=2, cut="balanced"), [0, 1, 2, 3, 4, 5, 6]),
        (Keeping(last=5, cut="balanced"), [0]),
        (Keeping(first=1, last=5, cut="not_result"), []),
    ],
)
def test_the_border_moves_to_where_it_may_be(keeping: Keeping, goes: list[int]) -> None:
    assert going(keeping, talk("utacrrucra")) == goes


@pytest.mark.unit
def test_an_open_call_is_no_place_before_which_all_is_answered() -> None:
    view = talk("ucrcucr")  # the second call is never answered
    assert going(Keeping(last=2, cut="balanced"), view) == [0, 1, 2]
    assert going(Keeping(last=0, cut="balanced"), view) == [0, 1, 2]


# --------------------------------------------------------------------------- results, and what users said


@pytest.mark.unit
@pytest.mark.parametrize(
    ("results", "polling", "masked"),
    # floor((r + 1) / p) x p - n - 1 of r = 7 results, the task counted as one more
    [(5, 1, 2), (7, 1, 0), (9, 1, 0), (0, 1, 7), (3, 5, 1), (3, 4, 4), (3, 10, 0), (1, 3, 4)],
)
def test_the_newest_results_stay_and_polling_rounds_what_may_go(
    results: int, polling: int, masked: int
) -> None:
    view = talk("u" + "cr" * 7)
    gone = going(Keeping(results=results, polling=polling), view)
    assert [one for one in gone if view.items[one].kind is Kind.TOOL_RESULT] == [
        2 * n for n in range(1, masked + 1)
    ]


@pytest.mark.unit
def test_results_that_were_masked_before_are_counted() -> None:
    view = talk("ucmcmcrcrcr")
    gone = going(Keeping(results=2), view)
    assert [one for one in gone if view.items[one].kind is Kind.TOOL_RESULT] == [6]


@pytest.mark.unit
def test_tokens_of_results_are_counted_before_the_tail_and_stop_at_the_first_that_does_not_fit() -> None:
    view = talk("ucrcrcrcr", [10, 10, 40, 10, 90, 10, 40, 10, 70])
    keeping = Keeping(last=2, result_tokens=100)  # 40 stays, 90 does not fit, and the 40 before it goes, too
    assert going(keeping, view) == [0, 1, 2, 3, 4, 5]


@pytest.mark.unit
def test_user_messages_stay_by_number_and_by_tokens() -> None:
    view = talk("uauaua", [50, 1, 50, 1, 50, 1])
    assert going(Keeping(users=1), view) == [0, 1, 2, 3, 5]
    assert going(Keeping(user_tokens=100), view) == [0, 1, 3, 5]
    assert going(Keeping(users=9), view) == [1, 3, 5]


@pytest.mark.property
@given(st.lists(st.integers(0, 50), max_size=12), st.integers(0, 300))
def test_what_is_within_a_budget_is_the_longest_tail_that_fits(sizes: list[int], tokens: int) -> None:
    items = talk("u" * len(sizes), sizes).items
    kept = newest_within(items, tokens)
    assert sum(item.tokens for item in kept) <= tokens
    assert [item.id for item in reversed(kept)] == [item.id for item in items[len(items) - len(kept) :]]
    if len(kept) < len(items):
        assert sum(item.tokens for item in items[len(items) - len(kept) - 1 :]) > tokens


# --------------------------------------------------------------------------- whole requests


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "free", "left"),
    [
        ("ucrcra", [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        ("ucrcra", [0, 1, 3, 4], [0, 3, 4]),  # the result of the first call stays, and holds its call
        ("ucrcra", [2, 4], []),
        ("ucrc", [0, 1, 2, 3], [0, 1, 2]),  # an open call waits
        ("uccra", [0, 1, 2, 3, 4], [0, 4]),  # so does one of two calls, and the other with it
    ],
)
def test_a_request_goes_whole_or_not_at_all(said: str, free: list[int], left: list[int]) -> None:
    items = talk(said).items
    assert [item.id for item in whole_requests(items, [items[place] for place in free])] == left


@pytest.mark.property
@given(st.text("ucrta", max_size=25), st.sets(st.integers(0, 24)))
def test_what_goes_never_parts_a_call_from_its_results(said: str, chosen: set[int]) -> None:
    items = talk(said).items
    gone = whole_requests(items, [item for item in items if item.id in chosen])
    pairs = {item.pair for item in gone if item.pair is not None}
    ids = {item.id for item in gone}
    assert ids <= chosen
    assert all(item.id in ids for item in items if item.pair in pairs)


@pytest.mark.property
@given(
    st.text("ucrta", max_size=25),
    st.builds(
        Keeping,
        first=st.integers(0, 4),
        last=st.integers(0, 12),
        tokens=st.none() | st.integers(0, 900),
        oldest_share=st.none() | st.floats(0, 1),
        requests=st.integers(0, 3),
        cut=st.sampled_from(["any", "user", "assistant", "answered", "not_result", "paired", "balanced"]),
        cut_moves=st.sampled_from(["back", "forward"]),
        cut_else=st.none() | st.sampled_from(["all", "nothing", "back", "assistant", "not_result"]),
    ),
)
def test_what_goes_is_one_run_after_the_first_messages(said: str, keeping: Keeping) -> None:
    gone = going(keeping, talk(said))
    assert gone == list(range(keeping.first, keeping.first + len(gone)))


@pytest.mark.unit
def test_a_view_of_nothing_but_the_head_loses_nothing(view: Callable[..., View]) -> None:
    for keeping in (Keeping(), Keeping(first=3, last=3, oldest_share=0.5, turns=1, requests=1, results=1)):
        assert going(keeping, talk("h")) == []
        assert going(keeping, view([])) == []
