"""The context against a list of spans: every total, index and order that it keeps is counted again."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from simulator.context import Context, Replacement
from simulator.spans import Kind, Span

SUBGOALS = st.none() | st.integers(0, 3)


def spans(identity: int) -> st.SearchStrategy[Span]:
    return st.builds(
        Span,
        st.just(identity),
        st.sampled_from(list(Kind)),
        st.integers(0, 500),
        st.integers(0, 9),
        subgoal=SUBGOALS,
        cites=st.lists(st.integers(0, 12), max_size=3, unique=True).map(tuple),
        needed=st.booleans(),
        doubt=st.integers(0, 40),
        carries=st.lists(st.integers(0, 12), max_size=2, unique=True).map(tuple),
        binds=st.lists(st.integers(0, 5), max_size=2, unique=True).map(tuple),
    )


class AgainstAList(RuleBasedStateMachine):
    """The model: a plain list of spans and plain sets of marks; the context must agree at every step."""

    @initialize(data=st.data(), number=st.integers(2, 8))
    def start(self, data: st.DataObject, number: int) -> None:
        self.context = Context()
        self.model: list[Span] = []
        self.closed: set[int] = set()
        self.finished: set[int] = set()
        self.immutable: set[int] = set()
        self.protected: set[int] = set()
        self.peak = 0
        self.made = 0
        for _ in range(number):
            self.append(data)

    def fresh(self, data: st.DataObject) -> Span:
        self.made += 1
        return data.draw(spans(self.made))

    def chosen(self, data: st.DataObject, least: int = 0) -> list[int]:
        ids = [span.id for span in self.model]
        return data.draw(st.permutations(ids))[: data.draw(st.integers(least, 4))]

    def forget_marks(self) -> None:
        left = {span.id for span in self.model}
        self.immutable &= left
        self.protected &= left

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        span = self.fresh(data)
        self.context.append(span)
        self.model.append(span)
        self.peak = max(self.peak, sum(span.tokens for span in self.model))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def append_again(self, data: st.DataObject) -> None:
        span = data.draw(st.sampled_from(self.model))
        before = self.context.snapshot()
        with pytest.raises(ValueError, match=str(span.id)):
            self.context.append(span)
        assert self.context.snapshot() == before

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        going = self.chosen(data)
        tokens = sum(span.tokens for span in self.model if span.id in going)
        assert self.context.remove(going) == tokens
        self.model = [span for span in self.model if span.id not in going]
        self.forget_marks()

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        going = self.chosen(data, least=1)
        cuts = sorted(data.draw(st.sets(st.integers(1, len(going)), max_size=3)) | {0, len(going)})
        staged = []
        for low, high in pairwise(cuts):
            put = self.fresh(data) if data.draw(st.booleans()) else None
            staged.append(Replacement(tuple(going[low:high]), put))
        removed = sum(span.tokens for span in self.model if span.id in going)
        inserted = sum(replacement.span.tokens for replacement in staged if replacement.span)

        places = {span.id: place for place, span in enumerate(self.model)}
        stands_after: dict[int, list[Span]] = {}
        for one in staged:
            place = min(places[source] for source in one.sources)
            if one.span is not None and len(one.sources) > 1:  # causal order: after what it leans on
                leant_on = [cited for cited in one.span.cites if cited in places and cited not in going]
                place = max([place, *(places[cited] for cited in leant_on)])
            if one.span is not None:
                stands_after.setdefault(place, []).append(one.span)
        order = []
        for place, span in enumerate(self.model):
            if span.id not in going:
                order.append(span)
            order.extend(stands_after.get(place, ()))

        assert self.context.apply(staged) == removed - inserted
        self.model = order
        self.peak = max(self.peak, sum(span.tokens for span in self.model))
        self.forget_marks()

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def apply_to_what_is_gone(self, data: st.DataObject) -> None:
        before, version = self.context.snapshot(), self.context.version
        there = self.chosen(data, least=1)
        with pytest.raises(KeyError):
            self.context.apply([Replacement((*there, -99), self.fresh(data))])
        assert self.context.snapshot() == before
        assert self.context.version == version

    @rule(subgoal=st.integers(0, 3))
    def close(self, subgoal: int) -> None:
        self.context.close(subgoal)
        self.closed.add(subgoal)

    @rule(subgoal=st.integers(0, 3))
    def finish(self, subgoal: int) -> None:
        self.context.finished.add(subgoal)
        self.finished.add(subgoal)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def mark(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(self.model)).id
        kept, modelled = data.draw(
            st.sampled_from(
                [(self.context.immutable, self.immutable), (self.context.protected, self.protected)]
            )
        )
        kept.add(identity)
        modelled.add(identity)

    @rule()
    def end_turn(self) -> None:
        self.context.end_turn()
        self.immutable.clear()

    @invariant()
    def order_and_membership(self) -> None:
        assert list(self.context) == self.model
        assert list(reversed(self.context)) == self.model[::-1]
        assert len(self.context) == len(self.model)
        for span in self.model:
            assert span.id in self.context
            assert self.context[span.id] == span

    @invariant()
    def totals(self) -> None:
        kinds = Counter[Kind]()
        for span in self.model:
            kinds[span.kind] += span.tokens
        assert self.context.tokens == sum(kinds.values()) == self.context.recount()
        assert self.context.by_kind == {kind: kinds[kind] for kind in Kind}
        assert self.context.peak == self.peak

    @invariant()
    def dead(self) -> None:
        kept_alive = {span.subgoal for span in self.model if span.needed}
        dying = [span for span in self.model if span.subgoal in self.closed - kept_alive]
        assert self.context.dead_tokens == sum(span.tokens for span in dying)
        assert [span for span in self.model if self.context.is_dead(span)] == dying

    @invariant()
    def citations(self) -> None:
        for identity in range(13):
            citing = [span.id for span in self.model if identity in span.cites]
            assert sorted(self.context.cited_by(identity)) == sorted(citing)

    @invariant()
    def evidence(self) -> None:
        bound = {constraint for span in self.model for constraint in span.binds}
        held = {one for span in self.model for one in (span.id, *span.carries)}
        assert self.context.doubt == sum(span.doubt for span in self.model)
        assert self.context.bound == len(bound)
        assert {one for one in range(6) if self.context.binds(one)} == bound
        assert {one for one in range(self.made + 13) if self.context.holds(one)} == held

    @invariant()
    def live_references(self) -> None:
        held = {one for span in self.model for one in (span.id, *span.carries)}
        live = [
            antecedent
            for span in self.model
            if span.subgoal not in self.finished
            for antecedent in span.cites
        ]
        holding = sum(antecedent in held for antecedent in live)
        assert self.context.references() == (holding, len(live) - holding)
        assert [self.context.leaning(one) for one in range(13)] == [live.count(one) for one in range(13)]

    @invariant()
    def marks(self) -> None:
        assert self.context.immutable == self.immutable
        assert self.context.protected == self.protected

    @invariant()
    def snapshot_is_what_a_new_context_would_say(self) -> None:
        twin = Context()
        for span in self.model:
            twin.append(span)
        for subgoal in self.closed:
            twin.close(subgoal)
        twin.finished |= self.finished
        twin.immutable |= self.immutable
        twin.protected |= self.protected
        assert twin.snapshot() == self.context.snapshot()


AgainstAList.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=20,
    phases=set(Phase) - {Phase.shrink},  # twenty steps can be read; shrinking them takes minutes
)
TestAgainstAList = pytest.mark.property(AgainstAList.TestCase)


@pytest.mark.property
@given(
    sizes=st.lists(st.integers(0, 100), min_size=1, max_size=20),
    picked=st.sets(st.integers(0, 19), max_size=5),
)
def test_prefix_ends_before_the_first_of_the_spans(sizes: list[int], picked: set[int]) -> None:
    context = Context()
    for identity, tokens in enumerate(sizes):
        context.append(Span(identity, Kind.USER, tokens))
    wanted = {identity for identity in picked if identity < len(sizes)}
    first = min(wanted, default=len(sizes))
    assert context.prefix_before(wanted) == sum(sizes[:first])


@pytest.fixture
def context() -> Context:
    context = Context()
    context.append(Span(1, Kind.TOOL_RESULT, 100, subgoal=1, cites=(7,)))
    context.append(Span(2, Kind.TOOL_RESULT, 50, subgoal=1, needed=True, carries=(7, 8), doubt=5))
    context.append(Span(3, Kind.ASSISTANT, 20, subgoal=2, carries=(8,), binds=(4, 5)))
    context.close(2)
    return context


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "wrong"),
    [("tokens", 171), ("dead_tokens", 21), ("doubt", 6), ("bound", 3)],
)
def test_recount_finds_a_total_that_is_off(context: Context, name: str, wrong: int) -> None:
    setattr(context, name, wrong)
    with pytest.raises(ValueError, match=rf"says {wrong} .*say {wrong - 1}"):
        context.recount()


@pytest.mark.unit
def test_recount_finds_tokens_of_the_wrong_kind(context: Context) -> None:
    context.by_kind[Kind.USER] += 100
    context.by_kind[Kind.TOOL_RESULT] -= 100
    with pytest.raises(ValueError, match=r"user|tool_result"):
        context.recount()


@pytest.mark.unit
def test_recount_finds_a_needed_span_that_was_lost_count_of(context: Context) -> None:
    context.close(1)
    context._needed[1] = 0
    context.dead_tokens = 170  # what follows from the wrong count: consistent with itself, not with the spans
    with pytest.raises(ValueError, match="dead"):
        context.recount()


@pytest.mark.unit
def test_recount_finds_a_reference_that_the_index_lost(context: Context) -> None:
    context._cited_by[7].clear()
    with pytest.raises(ValueError, match="cited"):
        context.recount()


@pytest.mark.unit
@pytest.mark.parametrize(
    "breaks",
    [
        lambda context: context._copies.pop(7),
        lambda context: context._copies.update({9: 1}),
        lambda context: context._copies.update({7: 2, 8: 1}),  # as many as there are, of the wrong ones
        lambda context: context._binding.pop(4),
        lambda context: context._binding.update({4: 2}),
        lambda context: context._binding.update({4: 0, 6: 1}),
    ],
)
def test_recount_finds_an_index_of_evidence_that_is_off(context: Context, breaks: object) -> None:
    assert context.recount() == 170
    breaks(context)  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"copies of|spans with force of"):
        context.recount()


@pytest.mark.unit
@pytest.mark.parametrize(
    "change",
    [
        lambda context: context.append(Span(4, Kind.USER, 1)),
        lambda context: context.remove([3]),
        lambda context: context.apply([Replacement((1,), Span(9, Kind.SUMMARY, 100, subgoal=1, cites=(7,)))]),
        lambda context: context.apply([Replacement((1,), context[1]._replace(compressible=False))]),
        lambda context: context.close(1),
        lambda context: context.immutable.add(1),
        lambda context: context.protected.add(1),
        lambda context: context._cited_by[7].append(2),
        lambda context: context.finished.add(1),
        lambda context: context._copies.update({9: 1}),
        lambda context: context._binding.update({9: 1}),
        lambda context: setattr(context, "doubt", 6),
        lambda context: setattr(context, "bound", 1),
    ],
)
def test_a_snapshot_tells_apart(context: Context, change: object) -> None:
    before = context.snapshot()
    change(context)  # type: ignore[operator]
    assert context.snapshot() != before
