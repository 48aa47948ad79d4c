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

# --------------------------------------------------------------------------- where a replacement stands


def homes_of(antecedent: int, staged: list[Replacement], after: list[Span]) -> set[int]:
    """Return what may stand for a span after a rewrite: itself, its replacement, or any that carries it."""
    if any(span.id == antecedent for span in after):
        return {antecedent}
    taken = {one.span.id for one in staged if antecedent in one.sources and one.span}
    return taken or {span.id for span in after if antecedent in span.carries}


def must_be_swapped_in(before: list[Span], staged: list[Replacement], after: list[Span]) -> None:
    """Hold an order against the one before: what was kept keeps it, a fold follows what it leans on."""
    going = {source for one in staged for source in one.sources}
    kept = [span for span in before if span.id not in going]
    made = {one.span.id: one for one in staged if one.span}
    assert [span for span in after if span.id not in made] == kept
    assert Counter(span for span in after if span.id in made) == Counter(one.span for one in made.values())

    was = {span.id: place for place, span in enumerate(before)}
    now = {span.id: place for place, span in enumerate(after)}
    kept_before = {span.id: sum(one.id not in made for one in after[: now[span.id]]) for span in after}
    first = {new: min(was[source] for source in one.sources) for new, one in made.items()}
    least = {new: sum(was[one.id] < place for one in kept) for new, place in first.items()}
    single = [new for new, one in made.items() if len(one.sources) == 1]
    assert sorted(single, key=now.__getitem__) == sorted(single, key=first.__getitem__)
    assert all(kept_before[new] == least[new] for new in single)  # in the very place of its source

    homes = {
        new: [homes_of(one, staged, after) for one in fold.span.cites if one not in fold.sources]
        for new, fold in made.items()
        if fold.span and new not in single
    }
    ahead = {new: set().union(*antecedents) for new, antecedents in homes.items()}
    for fold, antecedents in homes.items():
        bound = [any_of for any_of in antecedents if any_of and fold not in any_of]
        in_a_ring = {home for home in ahead[fold] if fold in reached(home, ahead)}
        for any_of in bound:
            assert any_of & in_a_ring or min(now[home] for home in any_of) < now[fold]
        assert kept_before[fold] >= least[fold]
        if not in_a_ring and all(len(any_of) == 1 for any_of in bound):  # and no later than that
            after_homes = [kept_before[home] + (home not in made) for (home,) in bound]
            assert kept_before[fold] == max([least[fold], *after_homes])


def reached(start: int, homes: dict[int, set[int]]) -> set[int]:
    """Return all that a replacement leans on, at first hand or through others, and itself."""
    found: set[int] = set()
    ahead = {start}
    while ahead:
        one = ahead.pop()
        found.add(one)
        ahead |= homes.get(one, set()) - found
    return found


@st.composite
def rewrites(draw: st.DrawFn) -> tuple[list[Span], list[Replacement]]:
    """Return spans that lean on what stood before them, and a rewrite of folds that keep some evidence."""
    number = draw(st.integers(2, 9))
    ids = list(range(number))
    before = [
        Span(
            one,
            Kind.ASSISTANT,
            10,
            cites=draw(st.lists(st.integers(0, max(0, one - 1)), max_size=2, unique=True).map(tuple)),
            carries=draw(st.lists(st.integers(0, 12), max_size=1).map(tuple)),
        )
        for one in ids
    ]
    going = draw(st.permutations(ids))[: draw(st.integers(1, number))]
    cuts = sorted(draw(st.sets(st.integers(1, len(going)), max_size=3)) | {0, len(going)})
    staged = []
    for low, high in pairwise(cuts):
        sources = [before[one] for one in going[low:high]]
        cites = dict.fromkeys(cited for span in sources for cited in span.cites)
        evidence = [one for span in sources for one in (span.id, *span.carries)]
        carries = draw(st.lists(st.sampled_from(evidence), max_size=3, unique=True))
        put = Span(-1 - low, Kind.SUMMARY, 5, cites=tuple(cites), carries=tuple(carries))
        staged.append(Replacement(tuple(going[low:high]), put if draw(st.integers(0, 4)) else None))
    return before, staged


@pytest.mark.property
@given(rewrites())
@settings(max_examples=400)
def test_a_fold_stands_after_the_home_of_everything_that_it_leans_on(
    case: tuple[list[Span], list[Replacement]],
) -> None:
    before, staged = case
    context = Context()
    for span in before:
        context.append(span)
    context.apply(staged)
    context.recount()
    must_be_swapped_in(before, staged, list(context))


@pytest.mark.unit
def test_a_chain_of_folds_stands_in_the_order_of_its_leaning() -> None:
    # 6 leans on 2, which is folded behind 5: the fold of 0 and 6 follows that one, whatever the plan's order
    cites = {4: (3,), 5: (), 6: (2,), 2: (), 7: (5,)}
    before = [Span(one, Kind.ASSISTANT, 10, cites=cites.get(one, ())) for one in range(9)]
    inner = Replacement((2, 7), Span(-2, Kind.SUMMARY, 5, cites=(5,)))
    outer = Replacement((0, 6), Span(-1, Kind.SUMMARY, 5, cites=(2,)))
    for staged in ([outer, inner], [inner, outer]):
        context = Context()
        for span in before:
            context.append(span)
        context.apply(staged)
        assert [span.id for span in context] == [1, 3, 4, 5, -2, -1, 8]


@pytest.mark.unit
def test_a_fold_follows_what_the_same_rewrite_puts_in() -> None:
    context = Context()
    for one in range(4):
        context.append(Span(one, Kind.ASSISTANT, 10))
    single = Replacement((3,), Span(-2, Kind.SUMMARY, 5))
    context.apply([Replacement((0, 1), Span(-1, Kind.SUMMARY, 5, cites=(-2,))), single])
    assert [span.id for span in context] == [2, -2, -1]


@pytest.mark.unit
def test_a_ring_of_folds_does_not_hang() -> None:
    context = Context()
    for one, cites in enumerate([(), (), (0,), (1,)]):
        context.append(Span(one, Kind.ASSISTANT, 10, cites=cites))
    one = Replacement((0, 3), Span(-1, Kind.SUMMARY, 5, cites=(1,)))
    other = Replacement((1, 2), Span(-2, Kind.SUMMARY, 5, cites=(0,)))
    context.apply([one, other])
    assert {span.id for span in context} == {-1, -2}
    context.recount()


# --------------------------------------------------------------------------- against a list


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

        before, self.model = self.model, [span for span in self.model if span.id not in going]
        assert self.context.apply(staged) == removed - inserted
        must_be_swapped_in(before, staged, list(self.context))
        self.model = list(self.context)
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
        assert [span for span in self.model if span.subgoal in self.context.dead_subgoals()] == dying

    @invariant()
    def citations(self) -> None:
        kept = dict(self.context.snapshot().cited_by)
        for identity in range(13):
            citing = [span.id for span in self.model if identity in span.cites]
            assert kept.get(identity, ()) == tuple(sorted(citing))

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
