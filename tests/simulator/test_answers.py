"""What an answer is worth: its size where it is cut, inflated or empty, and evidence that went unread."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from simulator.contracts import MeasurementPlan, Policy, RequestTerms, Step, Terms, Turn
from simulator.laws import Answer, AnswerLaw, EvidenceLaw, Laws, SummaryLaw
from simulator.plan import Fold, Mask, RewritePlan, Summarise
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams

Make = Callable[..., Policy]
DEVIATIONS = 4.5
"""Of a normal law, beyond which a share lies by chance 7 times in a million."""


def one_pass(
    scripted: Make,
    listed: type,
    plan: RewritePlan,
    *,
    sizes: tuple[int, ...] = (400, 300, 200),
    request: RequestTerms | None = None,
    answer: AnswerLaw | None = None,
    evidence: EvidenceLaw | None = None,
    ratio: float = 0.5,
    seed: int = 0,
) -> Run:
    """Return a run with one pass over spans that each state a constraint, all of which the step needs."""
    before = tuple(
        Span(place, Kind.TOOL_RESULT, tokens, binds=(place,), doubt=tokens // 10)
        for place, tokens in enumerate(sizes)
    )
    terms = Terms(deliberates=False, measurement=MeasurementPlan.NONE, request=request or RequestTerms())
    turns = (Turn(), Turn((), (), step=Step(governed=tuple(range(len(sizes))))))
    policy = scripted(terms=terms, check_by=lambda gauge: gauge.turn == 1, propose_by=plan)
    laws = Laws(
        summary=SummaryLaw(ratio=ratio), answer=answer or AnswerLaw(), evidence=evidence or EvidenceLaw()
    )
    return simulate(Setting("answers", 10**6, listed(turns, before), laws=laws), policy, seed)


FOLD = RewritePlan((Fold((0, 1, 2)),))


# --------------------------------------------------------------------------- sizes


@pytest.mark.unit
@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (AnswerLaw(), 450),
        (AnswerLaw(truncated_share=1, truncated_part=0.4), 180),
        (AnswerLaw(inflated_share=1, inflated_ratio=1.2), 1_080),
        (AnswerLaw(empty_share=1), 0),
    ],
)
def test_an_answer_has_the_size_of_its_kind(
    scripted: Make, listed: type, answer: AnswerLaw, tokens: int
) -> None:
    run = one_pass(scripted, listed, FOLD, answer=answer, request=RequestTerms(refuses_empty=False))
    (entry,) = run.rewrite_rows
    assert (entry.summaries_tokens, entry.freed, entry.tokens_after) == (tokens, 900 - tokens, tokens)
    assert entry.outcome == ("committed_without_effect" if tokens > 900 else "committed")
    assert run.summary["output_tokens"] == tokens


@pytest.mark.theory
def test_the_documented_inflation_is_told_as_it_was(scripted: Make, listed: type) -> None:
    # policy zoo, gates: a summary took 72,706 tokens to 79,680
    law = AnswerLaw(inflated_share=1, inflated_ratio=79_680 / 72_706)
    run = one_pass(scripted, listed, RewritePlan((Summarise(0),)), sizes=(72_706,), answer=law)
    assert run.rewrite_rows[0].summaries_tokens == 79_680
    assert run.rewrite_rows[0].net == 72_706 - 79_680


@pytest.mark.unit
def test_an_inflated_answer_is_longer_than_what_was_read_not_than_what_was_there(
    scripted: Make, listed: type
) -> None:
    law = AnswerLaw(inflated_share=1, inflated_ratio=1.5)
    run = one_pass(scripted, listed, FOLD, answer=law, request=RequestTerms(coverage_tokens=200))
    assert run.rewrite_rows[0].summaries_tokens == 300


@pytest.mark.unit
def test_an_empty_answer_that_is_taken_leaves_nothing_but_what_no_model_wrote(
    scripted: Make, listed: type
) -> None:
    plan = RewritePlan((Fold((0, 1)), Mask(2, 15)))
    law = AnswerLaw(empty_share=1)
    taken = one_pass(scripted, listed, plan, answer=law, request=RequestTerms(refuses_empty=False))
    assert (taken.rewrite_rows[0].outcome, taken.rewrite_rows[0].tokens_after) == ("committed", 15)
    assert taken.summary["constraints_held"] == 0
    left = one_pass(scripted, listed, plan, answer=law)
    assert (left.rewrite_rows[0].outcome, left.rewrite_rows[0].tokens_after) == ("failed", 900)
    assert left.summary["constraints_held"] == 3


@pytest.mark.theory
def test_answers_come_with_their_shares() -> None:
    law = AnswerLaw(empty_share=0.1, truncated_share=0.2, inflated_share=0.3)
    number = 20_000
    answers = [law.answer(one) for one in Streams(5).uniform("answers").first(number)]
    for kind, share in zip((Answer.NOTHING, Answer.TRUNCATED, Answer.INFLATED), (0.1, 0.2, 0.3), strict=True):
        margin = DEVIATIONS * math.sqrt(share * (1 - share) / number)
        assert answers.count(kind) / number == pytest.approx(share, abs=margin)


# --------------------------------------------------------------------------- evidence


@pytest.mark.unit
@pytest.mark.parametrize(
    ("coverage", "held"),
    [(200, {2}), (500, {1, 2}), (900, {0, 1, 2}), (None, {0, 1, 2})],
)
def test_what_went_unread_is_lost_and_what_was_read_is_kept(
    scripted: Make, listed: type, coverage: int | None, held: set[int]
) -> None:
    for plan in (FOLD, RewritePlan(tuple(map(Summarise, range(3))))):
        run = one_pass(scripted, listed, plan, request=RequestTerms(coverage_tokens=coverage))
        assert run.summary["constraints_held"] == len(held)
        broken = {event.detail for event in run.event_rows if event.kind == "violation"}
        assert broken == {f"constraint {one}" for one in {0, 1, 2} - held}
        assert run.summary["unread_tokens"] == 900 - (coverage or 900)


def held_share(make: Callable[[int], Run], runs: int) -> float:
    """Return in which share of so many runs the oldest of the constraints is still held."""
    broken = sum(
        any(event.detail == "constraint 0" for event in make(seed).event_rows) for seed in range(runs)
    )
    return 1 - broken / runs


@pytest.mark.theory
@pytest.mark.parametrize(
    ("request_terms", "answer", "share"),
    [
        (RequestTerms(coverage_tokens=600), None, 0.25),  # 100 of the oldest 400
        (RequestTerms(item_tokens=240), None, 0.6),
        (None, AnswerLaw(truncated_share=1, truncated_part=0.7), 0.7),
        (RequestTerms(item_tokens=240), AnswerLaw(truncated_share=1, truncated_part=0.5), 0.3),
        (None, AnswerLaw(truncated_share=0.5, truncated_part=0.4), 0.7),
    ],
)
def test_what_was_read_or_told_in_part_is_kept_with_that_share(
    scripted: Make, listed: type, request_terms: RequestTerms | None, answer: AnswerLaw | None, share: float
) -> None:
    """A share of independent runs, within 4.5 standard deviations: five cases, 35 in a million."""
    runs = 500
    kept = held_share(
        lambda seed: one_pass(scripted, listed, FOLD, request=request_terms, answer=answer, seed=seed), runs
    )
    assert kept == pytest.approx(share, abs=DEVIATIONS * math.sqrt(share * (1 - share) / runs))


@pytest.mark.theory
def test_reading_and_retention_are_two_losses_one_after_the_other(scripted: Make, listed: type) -> None:
    runs, share = 500, 0.6 * 0.5
    kept = held_share(
        lambda seed: one_pass(
            scripted,
            listed,
            FOLD,
            request=RequestTerms(item_tokens=240),
            evidence=EvidenceLaw(retention=0.5),
            seed=seed,
        ),
        runs,
    )
    assert kept == pytest.approx(share, abs=DEVIATIONS * math.sqrt(share * (1 - share) / runs))


@pytest.mark.unit
def test_the_draws_of_a_loss_are_the_items_own_whatever_else_is_folded(scripted: Make, listed: type) -> None:
    """Common random numbers: whether an item was read does not hang on the company it was read in."""
    for seed in range(20):
        lost = []
        for plan in (FOLD, RewritePlan((Summarise(0), Fold((2, 1))))):
            run = one_pass(scripted, listed, plan, request=RequestTerms(item_tokens=150), seed=seed)
            lost.append({event.detail for event in run.event_rows if event.kind == "violation"})
        assert lost[0] == lost[1]


@pytest.mark.unit
@pytest.mark.parametrize("coverage", [None, 700, 200, 50])
def test_what_went_unread_brings_no_doubt_into_the_summary(
    scripted: Make, listed: type, coverage: int | None
) -> None:
    """A tenth of every source is in doubt, so a tenth of whatever part of them was read is."""
    run = one_pass(scripted, listed, FOLD, request=RequestTerms(coverage_tokens=coverage))
    entry = run.rewrite_rows[0]
    rounding = 0.5 / entry.summaries_tokens
    assert entry.confidence_before == pytest.approx(0.9)
    assert entry.confidence_after == pytest.approx(0.9, abs=rounding + 1e-9)
