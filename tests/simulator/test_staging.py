"""What a summary keeps: evidence, force and doubt, against binomial laws and by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simulator.contracts import Policy
from simulator.laws import EvidenceLaw, Laws, SummaryLaw
from simulator.plan import Evict, Fold, Mask, Operation, Summarise
from simulator.setting import Setting
from simulator.spans import Kind, Provenance, Span
from simulator.staging import stage
from simulator.streams import Streams
from simulator.workspace import Workspace

Make = Callable[..., Policy]
FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right
SHOCKS = [0.0, 0.3, 0.5, 1.0]


def constraint(identity: int, **said: object) -> Span:
    made = Span(identity, Kind.USER, 40, provenance=Provenance.USER, constraint=True, binds=(identity,))
    return made._replace(**said)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def workspace(scripted: Make) -> Callable[..., Workspace]:
    def made(law: EvidenceLaw, *spans: Span, ratio: float = 0.5, seed: int = 1) -> Workspace:
        laws = Laws(evidence=law, summary=SummaryLaw(ratio=ratio))
        setting = Setting("staging", 10**6, None, laws=laws)  # type: ignore[arg-type]
        work = Workspace(simpy.Environment(), setting, scripted(), Streams(seed, "staging"))
        for span in spans:
            work.context.append(span)
            work.cognition.meet(span)
        return work

    return made


def staged(work: Workspace, operation: Operation, attempt: int = 1) -> Span:
    work.attempts = attempt
    made = stage(work, operation).span
    assert made is not None
    return made


def holds(successes: int, trials: int, share: float) -> bool:
    """Whether the exact interval of a share, at the false-alarm rate, has this one in it."""
    low, high = stats.binomtest(successes, trials).proportion_ci(1 - FALSE_ALARM, "exact")
    return bool(low <= share <= high)


# --------------------------------------------------------------------------- text and force


@pytest.mark.theory
@pytest.mark.parametrize("shock", SHOCKS)
@pytest.mark.parametrize(
    ("retention", "force", "text", "bound"),
    [(1, 1, (1, 2), (1, 2)), (1, 0, (1, 2), ()), (0, 1, (), ()), (0, 0, (), ())],
)
def test_text_kept_and_force_kept_are_two_things(
    workspace: Callable, shock: float, retention: float, force: float, text: tuple, bound: tuple
) -> None:
    law = EvidenceLaw(retention, force, shock)
    summary = staged(workspace(law, constraint(1), constraint(2)), Fold((1, 2)))
    assert (summary.carries, summary.binds) == (text, bound)


@pytest.mark.unit
def test_a_committed_summary_without_force_holds_what_it_does_not_bind(workspace: Callable) -> None:
    work = workspace(EvidenceLaw(force=0), constraint(1))
    work.context.apply([stage(work, Summarise(1))])
    assert work.context.holds(1)
    assert not work.context.binds(1)
    assert work.constraints_held == 0


@pytest.mark.theory
@pytest.mark.parametrize("shock", SHOCKS)
@pytest.mark.parametrize(("retention", "force"), [(0.4, 0.7), (0.1, 0.5), (0.9, 0.1)])
def test_an_item_survives_at_its_rate_whatever_the_shock(
    workspace: Callable, retention: float, force: float, shock: float
) -> None:
    rewrites, law = 5_000, EvidenceLaw(retention, force, shock)
    work = workspace(law, *map(constraint, range(rewrites)))
    made = [staged(work, Summarise(one), attempt=one) for one in range(rewrites)]
    kept = sum(bool(summary.carries) for summary in made)
    assert holds(kept, rewrites, law.retention)
    assert holds(sum(bool(summary.binds) for summary in made), kept, law.force)
    assert not any(summary.binds and not summary.carries for summary in made)


@pytest.mark.theory
def test_without_shock_the_survivors_of_a_rewrite_are_binomial(workspace: Callable) -> None:
    rewrites, items, share = 3_000, 8, 0.6
    work = workspace(EvidenceLaw(retention=share), *map(constraint, range(rewrites * items)))
    found = np.zeros(items + 1)
    for one in range(rewrites):
        ids = tuple(range(one * items, (one + 1) * items))
        found[len(staged(work, Fold(ids), attempt=one).carries)] += 1
    expected = rewrites * stats.binom.pmf(np.arange(items + 1), items, share)
    # cells of less than five expected are too thin for the test: the first two are one
    found[1] += found[0]
    expected[1] += expected[0]
    assert stats.chisquare(found[1:], expected[1:]).pvalue > FALSE_ALARM


@pytest.mark.theory
def test_with_full_shock_all_of_a_rewrite_live_or_die_together(workspace: Callable) -> None:
    rewrites, items = 2_000, 5
    law = EvidenceLaw(retention=0.5, force=0.6, shock=1)
    work = workspace(law, *map(constraint, range(rewrites * items)))
    made = []
    for one in range(rewrites):
        ids = tuple(range(one * items, (one + 1) * items))
        summary = staged(work, Fold(ids), attempt=one)
        assert summary.carries in ((), ids)
        assert summary.binds in ((), ids)
        made.append(summary)
    kept = sum(bool(summary.carries) for summary in made)
    assert holds(kept, rewrites, law.retention)
    assert holds(sum(bool(summary.binds) for summary in made), kept, law.force)


@pytest.mark.theory
def test_the_spread_of_the_losses_grows_with_the_shock(workspace: Callable) -> None:
    def spread(shock: float) -> float:
        rewrites, items = 400, 10
        law = EvidenceLaw(retention=0.5, shock=shock)
        work = workspace(law, *map(constraint, range(rewrites * items)))
        ids = [tuple(range(one * items, (one + 1) * items)) for one in range(rewrites)]
        return float(np.var([len(staged(work, Fold(some), one).carries) for one, some in enumerate(ids)]))

    spreads = [spread(shock) for shock in SHOCKS]
    assert all(low < high for low, high in pairwise(spreads))
    assert spreads[-1] == pytest.approx(25, rel=0.2)  # all ten or none: 100 x 1/4


@pytest.mark.theory
def test_a_second_pass_is_a_second_draw(workspace: Callable) -> None:
    items, law = 3_000, EvidenceLaw(retention=0.7)
    work = workspace(law, *map(constraint, range(items)))
    once = stage(work, Fold(tuple(range(items))))
    work.context.apply([once])
    assert once.span is not None
    assert holds(len(once.span.carries), items, law.retention)
    twice = staged(work, Summarise(once.span.id), attempt=2)
    assert set(twice.carries) < set(once.span.carries)
    assert holds(len(twice.carries), items, law.retention**2)


@pytest.mark.property
@given(
    others=st.sets(st.integers(0, 60).filter(lambda one: one != 7), max_size=12),
    attempt=st.integers(0, 50),
    seed=st.integers(0, 9),
)
def test_another_item_in_the_plan_changes_nothing_for_this_one(
    workspace: Callable, others: set[int], attempt: int, seed: int
) -> None:
    law = EvidenceLaw(retention=0.5, force=0.5)
    work = workspace(law, *map(constraint, {7, *others}), seed=seed)
    alone = staged(work, Summarise(7), attempt=1)
    among = staged(work, Fold((*others, 7)), attempt)
    assert (7 in among.carries, 7 in among.binds) == (7 in alone.carries, 7 in alone.binds)


# --------------------------------------------------------------------------- restatements, masks, evictions


@pytest.mark.unit
def test_a_restatement_keeps_a_constraint_alive(workspace: Callable) -> None:
    again = constraint(5, carries=(1,), binds=(1,))
    work = workspace(EvidenceLaw(retention=0), constraint(1), again)
    work.context.apply([stage(work, Summarise(1))])
    assert work.context.holds(1)
    assert work.context.binds(1)
    assert work.context.bound == 1
    work.context.apply([stage(work, Summarise(5))])
    assert not work.context.holds(1)
    assert work.context.bound == 0
    assert work.cognition.stated == {1: 40}  # stated it was all the same


@pytest.mark.unit
def test_a_summary_of_a_restatement_alone_binds_what_it_states_again(workspace: Callable) -> None:
    work = workspace(EvidenceLaw(), constraint(1), constraint(5, carries=(1,), binds=(1,)))
    work.context.remove([1])
    summary = staged(work, Summarise(5))
    assert set(summary.carries) == {1, 5}
    assert summary.binds == (1,)


@pytest.mark.unit
@pytest.mark.parametrize("operation", [Mask(1, 9), Evict(1)])
def test_masks_and_evictions_lose_all(workspace: Callable, operation: Operation) -> None:
    work = workspace(EvidenceLaw(), constraint(1, doubt=12, carries=(0,)))
    work.context.apply([stage(work, operation)])
    assert [work.context.holds(one) for one in (0, 1)] == [False, False]
    assert (work.context.bound, work.context.doubt) == (0, 0)
    assert (work.confidence, work.constraints_held) == (1.0, 0)


# --------------------------------------------------------------------------- doubt


@pytest.mark.theory
@pytest.mark.parametrize("caveats", [0.0, 0.25, 1.0])
def test_a_summary_keeps_the_share_of_doubt_times_the_caveats(workspace: Callable, caveats: float) -> None:
    sources = Span(1, Kind.TOOL_RESULT, 300, doubt=150), Span(2, Kind.TOOL_RESULT, 500, doubt=10)
    work = workspace(EvidenceLaw(caveats=caveats), *sources, ratio=0.5)
    sure = work.confidence
    assert sure == 1 - 160 / 800
    summary = stage(work, Fold((1, 2)))
    assert summary.span is not None
    assert summary.span.tokens == 400
    assert summary.span.doubt == caveats * 80  # weighted by tokens: 0.2 of it, as of its sources
    work.context.apply([summary])
    assert work.confidence == 1 - caveats * (1 - sure)


@pytest.mark.property
@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.floats(0, 1)).map(lambda one: (one[0], round(one[0] * one[1]))),
        min_size=1,
        max_size=6,
    ),
    st.floats(0, 1),
    st.floats(0, 1.5),
)
def test_doubt_is_never_more_than_there_is_text(
    workspace: Callable, sizes: list[tuple[int, int]], caveats: float, ratio: float
) -> None:
    spans = [
        Span(place, Kind.TOOL_RESULT, tokens, doubt=doubt) for place, (tokens, doubt) in enumerate(sizes)
    ]
    work = workspace(EvidenceLaw(caveats=caveats), *spans, ratio=ratio)
    summary = staged(work, Fold(tuple(range(len(spans)))))
    assert 0 <= summary.doubt <= summary.tokens


@pytest.mark.unit
def test_a_head_is_nothing_to_be_sure_of(workspace: Callable) -> None:
    head, doubtful = Span(1, Kind.HEAD, 900), Span(2, Kind.USER, 100, doubt=50)
    assert workspace(EvidenceLaw(), head, doubtful).confidence == 0.5
    assert workspace(EvidenceLaw(), head).confidence == 1.0


# --------------------------------------------------------------------------- what is to be seen of it


@pytest.mark.contract
@pytest.mark.parametrize("operation", [Summarise(1), Fold((1, 2)), Mask(1, 9)])
@pytest.mark.parametrize("tag", [True, None])
def test_what_takes_a_place_never_has_the_tag_of_a_constraint(
    workspace: Callable, operation: Operation, tag: bool | None
) -> None:
    work = workspace(EvidenceLaw(), constraint(1, constraint=tag), constraint(2, constraint=tag))
    assert staged(work, operation).constraint is False


@pytest.mark.contract
@pytest.mark.parametrize("retention", [0, 0.5, 1])
def test_a_summary_names_what_it_replaced_whether_or_not_it_kept_it(
    workspace: Callable, retention: float
) -> None:
    work = workspace(EvidenceLaw(retention), *map(constraint, (1, 2, 3)))
    first = stage(work, Fold((1, 2)))
    work.context.apply([first])
    assert first.span is not None
    assert first.span.replaces == (1, 2)
    assert staged(work, Fold((3, first.span.id)), attempt=2).replaces == (3, 1, 2)
    # of what was masked there is nothing left to lean on or to recover
    placeholder = staged(work, Mask(first.span.id, 5))
    assert (placeholder.replaces, placeholder.rederive) == ((), 0)


@pytest.mark.contract
def test_what_it_takes_to_recover_a_summary_does_not_tell_what_survived(workspace: Callable) -> None:
    def shown(retention: float) -> int:
        spans = constraint(1, rederive=950), constraint(2, rederive=50)
        return staged(workspace(EvidenceLaw(retention), *spans), Fold((1, 2))).rederive

    assert shown(0) == shown(0.5) == shown(1) == 950


@pytest.mark.property
@given(st.lists(st.sampled_from([0, 0, 40, 950]), min_size=1, max_size=6), st.integers(1, 5))
def test_a_summary_is_as_dear_as_the_dearest_of_its_sources(
    workspace: Callable, costs: list[int], cut: int
) -> None:
    spans = [Span(place, Kind.TOOL_RESULT, 100, rederive=cost) for place, cost in enumerate(costs)]
    work = workspace(EvidenceLaw(), *spans)
    first = stage(work, Fold(tuple(range(len(costs))[:cut])))
    assert first.span is not None
    assert first.span.rederive == max(costs[:cut])
    # and so is a summary of summaries
    work.context.apply([first])
    rest = tuple(range(len(costs))[cut:])
    assert staged(work, Fold((first.span.id, *rest)), attempt=2).rederive == max(costs)
