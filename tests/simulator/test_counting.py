"""Counters: what a policy believes, against arithmetic on what truly came and what was reported."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.context import Context, Replacement
from simulator.contracts import (
    CheckPoint,
    CounterKind,
    CounterTerms,
    MeasurementPlan,
    Policy,
    Terms,
    Turn,
    Verdict,
    WindowTerms,
)
from simulator.counting import Counter
from simulator.plan import Evict, Mask, RewritePlan, Summarise
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import CONTENT_CLASSES, Kind, Span
from simulator.world import WorldSpec

Make = Callable[..., Policy]

CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "remove", "replace", "measure"]),
        st.sampled_from(CONTENT_CLASSES),
        st.integers(0, 900),
    ),
    max_size=25,
)
RATIOS = st.dictionaries(st.sampled_from(CONTENT_CLASSES), st.sampled_from([0.3, 0.7, 1.0, 2.3]), max_size=4)


def change(context: Context, what: str, name: str, tokens: int, identity: int) -> None:
    """Append, remove the oldest, or put one of another class in its place."""
    span = Span(identity, Kind.TOOL_RESULT, tokens, content_class=name)
    oldest = next((one.id for one in context if one.kind is not Kind.HEAD), None)
    if what == "append":
        context.append(span)
    elif oldest is not None and what == "remove":
        context.remove([oldest])
    elif oldest is not None and what == "replace":
        context.apply([Replacement((oldest,), span)])


def estimated(context: Context, ratio: float, ratios: dict[str, float], *, head: bool = True) -> float:
    """Return the estimate of each span by its class, added up."""
    spans = [span for span in context if head or span.kind is not Kind.HEAD]
    return math.fsum(span.tokens * ratios.get(span.content_class, ratio) for span in spans)


# --------------------------------------------------------------------------- estimates


@pytest.mark.property
@given(CHANGES, RATIOS, st.sampled_from([0.72, 1.0, 1.3]), st.sampled_from([0, 400]))
def test_a_running_count_is_what_was_measured_plus_the_estimate_of_what_came(
    changes: list[tuple[str, str, int]], ratios: dict[str, float], ratio: float, head: int
) -> None:
    context = Context()
    counter = Counter(CounterTerms(ratio=ratio, ratios=tuple(ratios.items())), context)
    context.append(Span(-1, Kind.HEAD, head))
    measured, then = 0, 0.0
    for identity, (what, name, tokens) in enumerate(changes):
        change(context, what, name, tokens, identity)
        if what == "measure":
            counter.measure()
            measured, then = context.tokens, estimated(context, ratio, ratios)
            assert counter.count() == context.tokens
        expected = measured + estimated(context, ratio, ratios) - then
        assert counter.count() == pytest.approx(expected, abs=1.01)  # it rounds what it adds
        assert context.recount() == context.tokens


@pytest.mark.property
@given(CHANGES, RATIOS, st.sampled_from([0.72, 1.0]), st.sampled_from([0, 400]))
def test_content_is_all_but_the_head_and_both_make_up_the_whole(
    changes: list[tuple[str, str, int]], ratios: dict[str, float], ratio: float, head: int
) -> None:
    context = Context()
    whole, without = (
        Counter(
            CounterTerms(CounterKind.ESTIMATE, ratio=ratio, ratios=tuple(ratios.items()), head=counts),
            context,
        )
        for counts in (True, False)
    )
    context.append(Span(-1, Kind.HEAD, head))
    for identity, (what, name, tokens) in enumerate(changes):
        change(context, what, name, tokens, identity)
        assert whole.count() == pytest.approx(estimated(context, ratio, ratios), abs=0.51)
        assert whole.content() == pytest.approx(estimated(context, ratio, ratios, head=False), abs=1.01)
        assert without.count() == whole.content() == whole.count() - whole.head()


@pytest.mark.unit
@pytest.mark.parametrize(("ratios", "head"), [((("text", 0.3),), 120), ((("cjk", 0.3),), 400), ((), 400)])
def test_the_head_is_text_and_is_estimated_as_such(ratios: tuple, head: int) -> None:
    context = Context()
    counter = Counter(CounterTerms(CounterKind.ESTIMATE, ratios=ratios), context)
    context.append(Span(-1, Kind.HEAD, 400))
    context.append(Span(0, Kind.USER, 100, content_class="prose"))
    assert (counter.head(), counter.content(), counter.count()) == (head, 100, head + 100)


@pytest.mark.unit
def test_a_tail_of_another_script_is_as_long_as_its_ratio_says() -> None:
    # field report S31: chars/4 sees 0.3 of CJK, so a tail kept at a believed 20,000 is really 66,667
    counter = Counter(CounterTerms(ratios=(("json", 0.7), ("cjk", 0.3))), Context())
    believed, true = 0, 0
    while believed < 20_000:
        believed += counter.sizes.of(Span(0, Kind.TOOL_RESULT, 1_000, content_class="cjk"))
        true += 1_000
    assert true == pytest.approx(20_000 / 0.3, abs=1_000)


@pytest.mark.unit
def test_a_constant_never_moves(listed: type, constant: Callable, scripted: Make) -> None:
    terms = Terms(deliberates=False, counter=CounterTerms(CounterKind.CONSTANT, tokens=777, head=False))
    policy = scripted(terms=terms, check_by=False)
    simulate(Setting("constant", 10**6, listed(constant(6, 100)), head=50), policy)
    assert {gauge.tokens for gauge in policy.gauges} == {777}


# --------------------------------------------------------------------------- what a provider reports


def gauges_of(
    scripted: Make,
    workload: object,
    terms: CounterTerms,
    head: int = 0,
    **answers: object,
) -> tuple[list[int], Run]:
    """Return the counts at the end of each turn and before the next request, and the run."""
    points = frozenset({CheckPoint.BEFORE_REQUEST, CheckPoint.TURN_END})
    declared = Terms(points, deliberates=False, counter=terms, measurement=MeasurementPlan.NONE)
    policy = scripted(terms=declared, **{"check_by": False} | answers)
    run = simulate(Setting("usage", 10**6, workload, head=head), policy)  # type: ignore[arg-type]
    return [gauge.tokens for gauge in policy.gauges], run


@pytest.mark.unit
@pytest.mark.parametrize("head", [0, 500])
@pytest.mark.parametrize("counts_head", [True, False])
def test_usage_lags_by_exactly_what_came_since(
    listed: type, constant: Callable, scripted: Make, head: int, counts_head: bool
) -> None:
    terms = CounterTerms(CounterKind.USAGE, head=counts_head)
    seen, _ = gauges_of(scripted, listed(constant(5, 100, reply=40)), terms, head=head)
    own = head if counts_head else 0
    true = [own + 100 * ((place // 2) + 1) + 40 * ((place + 1) // 2) for place in range(6)]
    # the first request was never reported: all is estimated; from then on a result is missing before each
    assert seen[:6] == [true[0], true[1], true[2] - 100, true[3], true[4] - 100, true[5]]


@pytest.mark.unit
@pytest.mark.parametrize("ratio", [1.0, 0.72])
def test_usage_with_a_tail_errs_by_its_estimate_of_the_tail_alone(
    listed: type, constant: Callable, scripted: Make, ratio: float
) -> None:
    terms = CounterTerms(CounterKind.USAGE, ratio=ratio, tail=True)
    seen, _ = gauges_of(scripted, listed(constant(5, 100, reply=50)), terms, head=500)
    true = [500 + 100 * turn + 50 * (turn - 1) for turn in range(1, 6)]
    assert seen[1::2] == [tokens + 50 for tokens in true]
    assert seen[2::2] == [round(tokens - 100 + 100 * ratio) for tokens in true[1:]]


@pytest.mark.unit
def test_a_reply_in_another_script_is_in_the_usage_and_in_no_tail(listed: type, scripted: Make) -> None:
    turns = tuple(
        Turn(
            (Span(2 * turn, Kind.TOOL_RESULT, 100, turn),),
            (Span(2 * turn + 1, Kind.ASSISTANT, 1_000, turn, content_class="cjk"),),
        )
        for turn in range(1, 4)
    )
    terms = CounterTerms(CounterKind.USAGE, ratios=(("cjk", 0.3),), tail=True)
    seen, run = gauges_of(scripted, listed(turns), terms)
    assert seen[1::2] == [row.tokens for row in run.turn_rows] == [1_100, 2_200, 3_300]
    assert seen[2::2] == [1_200, 2_300]


def one_pass(scripted: Make, listed: type, terms: CounterTerms, removed: int, kept: int) -> list[int]:
    """Return the counts round a pass at the end of the first turn that evicts one span of two."""
    before = (Span(0, Kind.USER, removed), Span(1, Kind.USER, kept - 25))
    turns = (Turn((), (Span(2, Kind.ASSISTANT, 25, 1),)), Turn((Span(3, Kind.USER, 300, 2),)), Turn())
    seen, run = gauges_of(
        scripted,
        listed(turns, before),
        terms,
        check_by=lambda gauge: gauge.turn == 1 and gauge.point is CheckPoint.TURN_END,
        propose_by=RewritePlan((Evict(0),)),
    )
    assert [row.tokens for row in run.turn_rows] == [kept, kept + 300, kept + 300]
    return seen


@pytest.mark.theory
def test_usage_that_a_rewrite_does_not_touch_is_a_phantom_until_the_next_request(
    listed: type, scripted: Make
) -> None:
    # field report S26: 139,025 true, 363,095 read; 300 more come before the next request
    for tail in (False, True):
        came = 300 * tail
        stale = CounterTerms(CounterKind.USAGE, follows_rewrites=False, tail=tail)
        assert one_pass(scripted, listed, stale, 224_070, 139_025)[1:4] == [363_095, 363_095 + came, 139_325]
        told = CounterTerms(CounterKind.USAGE, tail=tail)
        assert one_pass(scripted, listed, told, 224_070, 139_025)[1:4] == [363_095, 139_025 + came, 139_325]


@pytest.mark.theory
def test_a_cumulative_count_never_falls_and_fires_for_ever(listed: type, scripted: Make) -> None:
    # field report S28: a trigger of 116,000 on the sum of all inputs, over a context of 18,000
    trigger, true = 116_000, 18_000
    turns = tuple(Turn((), (Span(turn, Kind.ASSISTANT, 1, turn),)) for turn in range(1, 21))
    points = frozenset({CheckPoint.BEFORE_REQUEST})
    terms = Terms(points, deliberates=False, counter=CounterTerms(CounterKind.CUMULATIVE))
    policy = scripted(
        terms=terms,
        check_by=lambda gauge: gauge.tokens >= trigger,
        propose_by=lambda view: RewritePlan(tuple(Mask(item.id, 0) for item in view.items[-1:])),
    )
    run = simulate(Setting("sum", 10**6, listed(turns, (Span(0, Kind.USER, true),))), policy)
    counts = [gauge.tokens for gauge in policy.gauges]
    assert counts == sorted(counts)
    first = math.ceil(trigger / (true + 1)) + 1  # the first check before which so much was sent
    assert [entry.turn for entry in run.rewrite_rows] == list(range(first, 21))
    assert all(entry.tokens_before < trigger / 6 for entry in run.rewrite_rows)


# --------------------------------------------------------------------------- scope, and the window


@pytest.mark.theory
def test_two_counts_of_different_scope_report_a_saving_that_is_not_there(
    listed: type, scripted: Make
) -> None:
    # field report S10: the whole prompt before, the messages alone after: 0.96 of a pass that saved 0.002
    before = (Span(0, Kind.USER, 100), Span(1, Kind.USER, 2_000))
    policy = scripted(propose_by=RewritePlan((Evict(0),)), judge_by=Verdict(False, "no"))
    simulate(Setting("scope", 200_000, listed((Turn(),), before), head=50_000), policy)
    (proposal,) = policy.proposals
    assert (proposal.before, proposal.content_after, proposal.freed) == (52_100, 2_000, 100)
    assert 1 - proposal.content_after / proposal.before == pytest.approx(0.96, abs=0.005)
    assert proposal.freed / proposal.before == pytest.approx(0.002, abs=0.0005)


@pytest.mark.unit
def test_what_will_stand_is_estimated_item_by_item(listed: type, scripted: Make) -> None:
    before = tuple(
        Span(place, Kind.TOOL_RESULT, 1_000, content_class=name)
        for place, name in enumerate(("cjk", "code", "prose"))
    )
    terms = Terms(deliberates=False, counter=CounterTerms(ratios=(("cjk", 0.3), ("prose", 0.5))))
    policy = scripted(terms=terms, propose_by=RewritePlan((Mask(0, 100), Summarise(1))))
    simulate(Setting("scope", 10**6, listed((Turn(),), before), head=600), policy)
    (proposal,) = policy.proposals
    # a placeholder stays of its class, a summary of the whole code is prose: 30 + 500 + 500
    assert (proposal.before, proposal.content_after) == (600 + 300 + 1_000 + 500, 30 + 500 + 500)
    assert proposal.believed_freed == 300 + 1_000 - 30 - 500


@pytest.mark.theory
def test_a_policy_that_believes_in_a_fifth_of_its_window_compacts_at_a_sixth(
    listed: type, constant: Callable, scripted: Make
) -> None:
    # field report S38: a window of 1M believed to be 200,000 compacts at 171,000, 17%
    share = 0.855
    policy = scripted(
        terms=Terms(deliberates=False, window=WindowTerms(200_000)),
        check_by=lambda gauge: gauge.tokens >= share * gauge.window,
    )
    run = simulate(Setting("belief", 1_000_000, listed(constant(200, 1_000))), policy)
    first = run.rewrite_rows[0]
    assert first.tokens_before == 171_000
    assert first.occupancy_before_pct == pytest.approx(17.1)
    assert first.window == 1_000_000  # the truth is recorded beside it


@pytest.mark.unit
@pytest.mark.parametrize(
    ("terms", "seen"),
    [
        (WindowTerms(), [5_000, 5_000, 2_000, 2_000]),
        (WindowTerms(follows_switches=False), [5_000] * 4),
        (WindowTerms(3_000), [3_000] * 4),
    ],
)
def test_a_window_is_believed_until_a_switch_is_heard_of(
    listed: type, constant: Callable, scripted: Make, terms: WindowTerms, seen: list[int]
) -> None:
    policy = scripted(terms=Terms(window=terms), check_by=False)
    world = WorldSpec(windows=((3, 2_000),))
    run = simulate(Setting("switch", 5_000, listed(constant(4, 100)), world=world), policy)
    assert [gauge.window for gauge in policy.gauges] == seen
    assert [row.occupancy_pct for row in run.turn_rows] == [2.0, 4.0, 15.0, 20.0]


@pytest.mark.unit
def test_the_room_that_a_gate_is_told_of_is_that_of_the_window_believed_in(
    listed: type, constant: Callable, scripted: Make
) -> None:
    for window in (300, 9_000):
        policy = scripted(terms=Terms(deliberates=False, window=WindowTerms(window)))
        simulate(Setting("room", 5_000, listed(constant(1, 100)), output_reserve=50), policy)
        assert [proposal.slack for proposal in policy.proposals] == [window - 50 - 100]
