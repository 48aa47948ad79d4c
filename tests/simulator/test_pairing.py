"""Calls and their results: a brute-force oracle, what keeps a pair, what breaks it, and the end of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.context import Context, Replacement
from simulator.contracts import CheckPoint, MeasurementPlan, Policy, Terms, Turn
from simulator.pairing import Part
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.setting import RuntimeSpec, Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Provenance, Span
from simulator.view import View

Make = Callable[..., Policy]
CALL, RESULT, THINKING = Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.THINKING


# --------------------------------------------------------------------------- the oracle


class Oracle:
    """All spans that stand, each with the parts that it stands for, and all that ever came: no sums kept."""

    def __init__(self) -> None:
        self.stands: dict[int, list[tuple[int, Kind]]] = {}
        self.came: list[tuple[int, Kind]] = []
        self.first = 0
        self.torn: set[int] = set()
        self.changed: set[int] = set()

    def settle(self) -> set[int]:
        """Look at every request from scratch; what is broken stays so while a part of it stands."""
        here = [part for parts in self.stands.values() for part in parts]
        for pair in {pair for pair, _ in self.came}:
            calls, results, blocks = (here.count((pair, role)) for role in (CALL, RESULT, THINKING))
            waiting = max(0, self.came.count((pair, CALL)) - self.came.count((pair, RESULT)))
            if (pair, CALL) in self.came and (results > calls or calls - results > waiting):
                self.torn.add(pair)
            if not calls + results + blocks:
                self.torn.discard(pair)
            if calls and blocks < self.came.count((pair, THINKING)) and pair >= self.first:
                self.changed.add(pair)
            if not calls or pair < self.first:
                self.changed.discard(pair)
        return self.torn | self.changed


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["come", "come", "come", "remove", "mask", "fold", "fold", "user"]),
        st.integers(0, 3),
        st.sampled_from([CALL, CALL, RESULT, RESULT, THINKING, Kind.USER]),
        st.sets(st.integers(0, 9), min_size=1, max_size=4),
    ),
    max_size=30,
)


@pytest.mark.property
@given(STEPS)
@settings(max_examples=400)
def test_a_pair_is_broken_where_a_look_at_all_spans_says_so(
    steps: list[tuple[str, int, Kind, set[int]]],
) -> None:
    context, oracle = Context(), Oracle()
    for number, (what, pair, kind, places) in enumerate(steps):
        standing = [span.id for span in context]
        chosen = [standing[place] for place in sorted(places) if place < len(standing)]
        if what == "come":
            # no result of a call comes that was never made, but for those of one request that has none
            called = pair == 3 or sum(
                role is CALL for one, role in oracle.came if one == pair
            ) > oracle.came.count((pair, RESULT))
            if (kind is RESULT and not called) or (kind is CALL and pair == 3):
                continue
            context.append(Span(number, kind, 10, pair=pair))
            oracle.stands[number] = [] if kind is Kind.USER else [(pair, kind)]
            oracle.came += oracle.stands[number]
        elif what == "remove":
            context.remove(chosen)
            for one in chosen:
                del oracle.stands[one]
        elif what == "user":
            context.pairs.begin_loop(pair)
            oracle.first = pair
        elif chosen:
            gone = chosen[:1] if what == "mask" else chosen
            made = Span(1_000 + number, Kind.SUMMARY, 1)
            context.apply([Replacement(tuple(gone), made)])
            parts = [oracle.stands.pop(one) for one in gone]
            alike = {part for one in parts for part in one}
            one_role = all(parts) and len(alike) == 1 and THINKING not in {role for _, role in alike}
            oracle.stands[made.id] = [part for one in parts for part in one] if one_role else []
        broken = oracle.settle()
        assert context.pairs.broken == broken
        context.recount()


# --------------------------------------------------------------------------- what keeps, what breaks


def a_request(results: int, pair: int = 1, *, thinking: bool = False) -> Context:
    """Return a context with one request of so many calls, 0 and up, and their results, 10 and up."""
    context = Context()
    if thinking:
        context.append(Span(90, THINKING, 5, pair=pair))
    for place in range(results):
        context.append(Span(place, CALL, 5, pair=pair))
    for place in range(results):
        context.append(Span(10 + place, RESULT, 50, pair=pair))
    return context


def stand_in(*sources: int) -> Replacement:
    return Replacement(sources, Span(-1 - sources[0], Kind.SUMMARY, 9))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("replacements", "breaks"),
    [
        ([stand_in(10)], False),  # a mask or a summary of one result answers its call
        ([stand_in(10, 11, 12)], False),  # so does one of all results of a request
        ([stand_in(10, 11)], False),
        ([stand_in(10), stand_in(11, 12)], False),
        ([stand_in(0), stand_in(10)], False),
        ([Replacement((10,), None)], True),
        ([Replacement((0,), None)], True),
        ([Replacement((0,), None), Replacement((10,), None)], False),  # both of one, by their number
        ([stand_in(0, 10)], False),  # a call and its result are gone, and nothing stands for them
        ([stand_in(0, 1, 10)], True),
        ([stand_in(0, 1, 2, 10, 11, 12)], False),
    ],
)
def test_what_answers_the_same_calls_keeps_the_pair(replacements: list[Replacement], breaks: bool) -> None:
    context = a_request(3)
    context.apply(replacements)
    assert context.pairs.broken == ({1} if breaks else set())


@pytest.mark.unit
def test_a_fold_across_requests_answers_none_of_them() -> None:
    context = a_request(1)
    context.append(Span(20, CALL, 5, pair=2))
    context.append(Span(21, RESULT, 50, pair=2))
    context.apply([stand_in(10, 21)])
    assert context.pairs.broken == {1, 2}
    other = a_request(3)
    for place in range(3):
        other.append(Span(20 + place, CALL, 5, pair=2))
    for place in range(3):
        other.append(Span(30 + place, RESULT, 50, pair=2))
    # nor does it answer two calls of either
    other.apply([stand_in(10, 30), Replacement((11,), None), Replacement((31,), None)])
    assert other.pairs.broken == {1, 2}


@pytest.mark.unit
def test_a_stand_in_that_goes_takes_its_calls_answers_with_it() -> None:
    context = a_request(3)
    context.apply([stand_in(10, 11, 12)])
    context.apply([Replacement((-11,), Span(-20, Kind.SUMMARY, 1))])  # a summary of the summary
    assert not context.pairs.broken
    context.remove([-20])
    assert context.pairs.broken == {1}


@pytest.mark.unit
def test_a_result_that_comes_late_finds_its_call_gone() -> None:
    context = Context()
    context.append(Span(0, CALL, 5, pair=1))
    context.append(Span(1, CALL, 5, pair=1))
    context.append(Span(10, RESULT, 50, pair=1))
    context.remove([1])
    assert not context.pairs.broken  # whose result has not come yet
    context.append(Span(11, RESULT, 50, pair=1))
    assert context.pairs.broken == {1}


@pytest.mark.unit
def test_a_result_whose_call_the_log_never_held_is_no_part_of_a_pair() -> None:
    context = Context()
    context.append(Span(10, RESULT, 50, pair=1))
    context.append(Span(11, RESULT, 50, pair=1))
    context.remove([10])
    assert not context.pairs.broken


@pytest.mark.unit
def test_a_signed_block_may_change_once_its_loop_is_over() -> None:
    context = a_request(1, thinking=True)
    context.apply([Replacement((90,), Span(-1, Kind.SUMMARY, 1))])
    assert context.pairs.broken == {1}
    context.pairs.begin_loop(2)  # the pass came between the loop's last answer and the next user message
    assert not context.pairs.broken
    other = a_request(1, thinking=True)
    other.pairs.begin_loop(2)
    other.apply([Replacement((90,), None)])
    assert not other.pairs.broken


@pytest.mark.unit
def test_a_new_loop_heals_no_call_without_its_result() -> None:
    context = a_request(2)
    context.remove([10])
    context.pairs.begin_loop(5)
    assert context.pairs.broken == {1}
    context.remove([0])
    assert context.pairs.broken == {1}  # which of the two calls has lost its answer cannot be told
    context.remove([1, 11])
    assert not context.pairs.broken


# --------------------------------------------------------------------------- whole runs


def tool_turns(number: int, *, results: int = 1, thinking: int = 0) -> tuple[Turn, ...]:
    """Return turns of which each brings the results that the one before has called for."""
    turns = []
    for turn in range(1, number + 1):
        first = 100 * turn
        came = tuple(Span(first + one, RESULT, 40, turn, pair=turn - 1) for one in range(results))
        block = (Span(first + 50, THINKING, 10, turn, Provenance.SELF, pair=turn),) if thinking else ()
        calls = tuple(
            Span(first + 60 + one, CALL, 5, turn, Provenance.SELF, pair=turn) for one in range(results)
        )
        user = (Span(first + 99, Kind.USER, 20, turn, Provenance.USER),)
        turns.append(Turn(user if turn == 1 else came, block + calls, user_turn=turn == 1))
    return tuple(turns)


def lived(scripted: Make, listed: type, propose: object, *, requires: bool = True, **workload: int) -> Run:
    """Return a run in which the plan is made at the end of the third turn and never again."""
    points = frozenset({CheckPoint.TURN_END})
    policy = scripted(
        terms=Terms(points, deliberates=False, measurement=MeasurementPlan.NONE),
        check_by=lambda gauge: gauge.turn == 3,
        propose_by=propose,
    )
    runtime = RuntimeSpec(requires_pairs=requires)
    turns = tool_turns(8, **workload)
    return simulate(Setting("pairs", 10**6, listed(turns), runtime=runtime), policy)


def operations_on(kind: Kind, operation: Callable[[int], Operation]) -> Callable[[View], RewritePlan]:
    return lambda view: RewritePlan(tuple(operation(item.id) for item in view.items if item.kind is kind))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("plan", "breaks", "dies"),
    [
        (operations_on(RESULT, lambda one: Mask(one, 3)), 0, False),
        (operations_on(RESULT, Summarise), 0, False),
        (operations_on(RESULT, Evict), 2, True),
        (operations_on(CALL, Evict), 2, True),
        (lambda view: RewritePlan((Fold(tuple(item.id for item in view.items[:-1])),)), 0, False),
        # all is folded, with the call of this turn, whose result comes in the next and finds it gone
        (lambda view: RewritePlan((Fold(tuple(item.id for item in view.items)),)), 0, True),
    ],
)
def test_a_broken_pair_is_the_end_at_the_next_request_and_only_where_somebody_looks(
    listed: type, scripted: Make, plan: Callable[[View], RewritePlan], breaks: int, dies: bool
) -> None:
    run = lived(scripted, listed, plan)
    (entry,) = run.rewrite_rows
    assert entry.broken_pairs == breaks
    assert run.outcome == ("dead" if dies else "complete")
    assert len(run.turn_rows) == (4 if dies else 8)
    assert [event.kind for event in run.event_rows] == ["rejected"] * dies
    assert bool(run.summary["broken_pairs"]) is dies
    heedless = lived(scripted, listed, plan, requires=False)
    assert (heedless.outcome, heedless.summary["broken_pairs"]) == ("complete", None)


@pytest.mark.unit
@pytest.mark.parametrize("operation", [Evict, Summarise, lambda one: Mask(one, 10)])
def test_a_signed_block_changed_in_the_running_loop_is_the_end(
    listed: type, scripted: Make, operation: Callable[[int], Operation]
) -> None:
    run = lived(scripted, listed, operations_on(THINKING, operation), thinking=1)
    assert (run.outcome, len(run.turn_rows), run.rewrite_rows[0].broken_pairs) == ("dead", 4, 3)


@pytest.mark.unit
@pytest.mark.parametrize(("at", "outcome"), [(1, "dead"), (2, "complete"), (3, "dead")])
def test_blocks_that_are_cleared_between_two_user_turns_are_missed_by_nobody(
    listed: type, scripted: Make, at: int, outcome: str
) -> None:
    """Two loops of a question, a call, its result and an answer, each thought over."""

    def turn(number: int) -> Turn:
        asks = number % 2 == 1
        came = Span(10 * number, Kind.USER if asks else RESULT, 40, pair=None if asks else number - 1)
        thought = Span(10 * number + 1, THINKING, 10, number, pair=number)
        said = Span(
            10 * number + 2, CALL if asks else Kind.ASSISTANT, 5, number, pair=number if asks else None
        )
        return Turn((came,), (thought, said), user_turn=asks)

    policy = scripted(
        terms=Terms(frozenset({CheckPoint.TURN_END}), deliberates=False),
        check_by=lambda gauge: gauge.turn == at,
        propose_by=operations_on(THINKING, Evict),
    )
    runtime = RuntimeSpec(requires_pairs=True)
    run = simulate(Setting("loops", 10**6, listed(tuple(map(turn, range(1, 5)))), runtime=runtime), policy)
    assert run.outcome == outcome


@pytest.mark.theory
@pytest.mark.parametrize("results", [1, 2, 3])
def test_a_cut_by_messages_that_parts_a_call_from_its_result_absorbs(
    listed: type, scripted: Make, results: int
) -> None:
    # field report S68: keep the newest 6 messages. A request is `results` calls and as many results, so
    # that the cut falls between two requests exactly where 6 is whole requests and the open calls.
    keep = 6
    points = frozenset({CheckPoint.BEFORE_REQUEST})
    policy = scripted(
        terms=Terms(points, deliberates=False, measurement=MeasurementPlan.NONE),
        check_by=lambda gauge: gauge.messages > 2 * keep,
        propose_by=lambda view: RewritePlan((Fold(tuple(item.id for item in view.items[:-keep])),)),
    )
    turns = tool_turns(40, results=results)
    setting = Setting("cut", 10**6, listed(turns), runtime=RuntimeSpec(requires_pairs=True), horizon=40)
    run = simulate(setting, policy)
    parted = keep % (2 * results) != 0
    assert parted is (results == 2)
    assert run.outcome == ("dead" if parted else "complete")
    if parted:
        assert len(run.rewrite_rows) == 1  # the first pass is the last
        assert run.turn_rows[-1].turn == run.rewrite_rows[0].turn
    else:
        assert len(run.rewrite_rows) > 5


# --------------------------------------------------------------------------- the audit


@pytest.mark.unit
@pytest.mark.parametrize(
    "harm",
    [
        lambda context: context.pairs._parts.pop(10) and context.pairs.leave(11),
        lambda context: context.pairs.leave(10),
        lambda context: context.pairs.stand_in(
            Span(77, Kind.SUMMARY, 1), Part(1, RESULT)
        ),  # for a span that is not there
        lambda context: context._spans.__setitem__(10, context[10]._replace(pair=2)),
    ],
)
def test_a_recount_finds_pairs_that_are_not_those_of_the_spans(harm: Callable[[Context], object]) -> None:
    context = a_request(3)
    assert context.recount() == 165
    harm(context)
    with pytest.raises(ValueError, match=r"pairs of the context"):
        context.recount()


@pytest.mark.unit
def test_a_recount_finds_classes_that_are_off() -> None:
    context = Context()
    context.by_class = {}
    context.append(Span(0, Kind.USER, 30, content_class="cjk"))
    context.append(Span(1, Kind.USER, 20))
    context.remove([1])
    assert context.recount() == 30
    assert context.by_class == {"cjk": 30, "text": 0}
    context.by_class["cjk"] -= 1
    context.by_class["text"] += 1
    with pytest.raises(ValueError, match="by class"):
        context.recount()
