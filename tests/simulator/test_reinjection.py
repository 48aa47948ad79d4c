"""What a client puts back after a rewrite: how much, of what, in which order, and what it costs in room."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from simulator.contracts import (
    CheckPoint,
    MeasurementPlan,
    Policy,
    ReinjectionTerms,
    Step,
    Terms,
    Turn,
    Verdict,
)
from simulator.laws import EvidenceLaw, Laws, MeasurementLaw, SummaryLaw
from simulator.ledger import RewriteEntry
from simulator.plan import Evict, Fold, Mask, RewritePlan
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.traces import PATH_TOKENS
from simulator.workspace import Attempt, Workspace

Make = Callable[..., Policy]


class Standing:
    """Keeps what stands when each attempt settles."""

    def __init__(self) -> None:
        self.spans: list[list[Span]] = []

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        pass

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
        self.spans.append(list(work.context))


def one_pass(
    scripted: Make, listed: type, terms: ReinjectionTerms, spans: tuple[Span, ...], **answers: object
) -> tuple[RewriteEntry, list[Span], Run]:
    """Return the entry of a pass that folds all, what was put back, and the run."""
    everything = RewritePlan((Fold(tuple(span.id for span in spans)),))
    policy = scripted(
        terms=Terms(frozenset({CheckPoint.TURN_END}), deliberates=False, reinjection=terms),
        **{"check_by": lambda gauge: gauge.turn == 1, "propose_by": everything} | answers,
    )
    laws = Laws(
        summary=SummaryLaw(ratio=0.5, cap=40),
        measurement=MeasurementLaw(share=0.05),
        evidence=EvidenceLaw(retention=0, force=0),
    )
    watch = Standing()
    turns = (Turn(), Turn((), (), step=Step(governed=tuple(one for span in spans for one in span.binds))))
    setting = Setting("back", 10**6, listed(turns, spans), head=30, laws=laws)
    run = simulate(setting, policy, watch=watch)
    back = [span for span in watch.spans[0] if span.id < -1 and span.kind not in {Kind.SUMMARY, Kind.TRACE}]
    (entry,) = run.rewrite_rows
    after = entry.tokens_before - entry.freed + entry.measurement_cost + entry.reinjected
    assert entry.tokens_after == after
    assert entry.reinjected == sum(span.tokens for span in back)
    return entry, back, run


def result(identity: int, tokens: int, born: int = 0, *, standing: bool = False) -> Span:
    return Span(identity, Kind.TOOL_RESULT, tokens, born, standing=standing, binds=(identity,))


@pytest.mark.unit
def test_nothing_is_put_back_where_nothing_is_declared(scripted: Make, listed: type) -> None:
    entry, back, _ = one_pass(
        scripted, listed, ReinjectionTerms(), (result(0, 100), result(1, 100, standing=True))
    )
    assert (entry.reinjected, back) == (0, [])


@pytest.mark.unit
def test_rules_come_back_after_each_commit_and_after_no_refusal(scripted: Make, listed: type) -> None:
    terms = ReinjectionTerms(fixed_tokens=70)
    entry, back, _ = one_pass(scripted, listed, terms, (result(0, 100),))
    assert [(span.kind, span.tokens) for span in back] == [(Kind.USER, 70)]
    refused, back, _ = one_pass(scripted, listed, terms, (result(0, 100),), judge_by=Verdict(False, "no"))
    assert (entry.reinjected, refused.reinjected, back) == (70, 0, [])


@pytest.mark.unit
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (3, 0, 4, 2, 1)])
def test_the_newest_results_are_read_again_and_a_long_one_is_its_path(
    scripted: Make, listed: type, order: tuple[int, ...]
) -> None:
    """Born in turns 0, 1, 1, 1, 2, whatever order the plan names them in."""
    spans = (result(0, 50), result(1, 60, 1), result(2, 500, 1), result(3, 80, 1), result(4, 90, 2))
    spans += (
        result(9, 70, 3, standing=True),
        Span(8, Kind.ASSISTANT, 20, 3),
    )  # files and text are no results
    terms = ReinjectionTerms(results=3, result_tokens=100)
    plan = RewritePlan((Fold((*order, 8, 9)),))
    _, back, run = one_pass(scripted, listed, terms, spans, propose_by=plan)
    assert [span.tokens for span in back] == [90, 80, PATH_TOKENS]
    assert [span.carries for span in back] == [(4,), (3,), ()]
    broken = {event.detail for event in run.event_rows if event.kind == "violation"}
    assert broken == {f"constraint {one}" for one in (0, 1, 2, 9)}  # a path holds nothing


@pytest.mark.unit
@pytest.mark.parametrize(
    ("most", "each", "tokens", "held"),
    [
        (0, None, [], set()),
        (None, None, [300, 200, 100], {0, 1, 2}),
        (None, 150, [150, 150, 100], {0}),  # what is cut has lost what it held
        (500, None, [300, 200], {1, 2}),
        (499, None, [300], {2}),  # the oldest are dropped
        (400, 150, [150, 150, 100], {0}),
        (399, 150, [150, 150], set()),
    ],
)
def test_standing_spans_come_back_newest_first_up_to_their_caps(
    scripted: Make, listed: type, most: int | None, each: int | None, tokens: list[int], held: set[int]
) -> None:
    spans = tuple(result(place, 100 * (place + 1), place, standing=True) for place in range(3))
    spans += (result(9, 1_000, 5),)
    terms = ReinjectionTerms(standing_tokens=most, standing_item_tokens=each)
    _, back, run = one_pass(scripted, listed, terms, spans)
    assert [span.tokens for span in back] == tokens
    assert all(span.standing and span.pair is None for span in back)
    kept = {0, 1, 2} - {int(event.detail.split()[1]) for event in run.event_rows if event.kind == "violation"}
    assert kept == held


@pytest.mark.unit
def test_a_constraint_that_comes_back_states_the_one_it_was(scripted: Make, listed: type) -> None:
    rule = Span(3, Kind.USER, 40, constraint=True, binds=(3,), standing=True)
    _, (back,), run = one_pass(scripted, listed, ReinjectionTerms(standing_tokens=None), (rule,))
    assert (back.constraint, back.restates, back.binds) == (True, 3, (3,))
    assert run.summary["constraints_held"] == 1


@pytest.mark.unit
def test_a_standing_span_comes_back_once_and_again_only_when_it_was_taken_again(
    scripted: Make, listed: type
) -> None:
    """A placeholder of it is no file: taking that brings nothing back."""

    def plan(view: object) -> RewritePlan:
        first = view.items[1]  # type: ignore[attr-defined]
        return RewritePlan((Mask(first.id, 5) if first.id >= 0 else Evict(first.id),))

    policy = scripted(
        terms=Terms(
            deliberates=False,
            measurement=MeasurementPlan.NONE,
            reinjection=ReinjectionTerms(standing_tokens=None),
        ),
        check_by=lambda gauge: gauge.turn < 4,
        propose_by=plan,
    )
    spans = (Span(0, Kind.TOOL_RESULT, 200, standing=True),)
    run = simulate(Setting("once", 10**6, listed((Turn(),) * 4, spans), head=1), policy)
    # masked and read again; the placeholder goes; the file itself goes, and is read again
    assert [(entry.freed, entry.reinjected) for entry in run.rewrite_rows] == [(195, 200), (5, 0), (200, 200)]


@pytest.mark.theory
def test_the_turns_between_two_passes_fall_as_what_is_put_back_grows(scripted: Make, listed: type) -> None:
    """Field report S05: (T - F - S - X) / a falls from 12 turns to 5 as skills are used, X growing."""
    trigger, fixed, summary, growth = 155_000, 16_000, 4_000, 11_000
    skills = range(16, 93, 12)  # the turns that bring the body of a skill, a turn's growth each
    turns = tuple(
        Turn((Span(turn, Kind.TOOL_RESULT, growth, turn, standing=turn in skills),)) for turn in range(1, 150)
    )
    policy = scripted(
        terms=Terms(
            frozenset({CheckPoint.TURN_END}),
            deliberates=False,
            measurement=MeasurementPlan.NONE,
            reinjection=ReinjectionTerms(standing_tokens=None),
        ),
        check_by=lambda gauge: gauge.tokens + growth > trigger,  # before the next turn would pass it
        propose_by=lambda view: RewritePlan((Fold(tuple(item.id for item in view.items[1:])),)),
    )
    laws = Laws(summary=SummaryLaw(ratio=0.5, cap=summary))
    setting = Setting("skills", 200_000, listed(turns), horizon=150, head=fixed, laws=laws)
    entries = simulate(setting, policy).rewrite_rows
    gaps = [after.turn - before.turn for before, after in pairwise(entries)]
    payloads = [entry.reinjected for entry in entries[:-1]]
    assert payloads == [growth * sum(turn <= entry.turn for turn in skills) for entry in entries[:-1]]
    assert [entry.tokens_after for entry in entries[:-1]] == [fixed + summary + one for one in payloads]
    assert gaps == [math.floor((trigger - fixed - summary - one) / growth) for one in payloads]
    assert (gaps[0], gaps[-1]) == (12, 5)
    assert gaps == sorted(gaps, reverse=True)
