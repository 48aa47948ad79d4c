"""A rewrite is a request: what its model is shown, what must fit, what each try costs, what failing does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.asking import shown
from simulator.contracts import CheckPoint, MeasurementPlan, Policy, RequestTerms, Terms, Turn, Verdict
from simulator.laws import AnswerLaw, Laws, QualityLaw, RationaleLaw, SummaryLaw
from simulator.plan import Evict, Fold, Mask, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span

Make = Callable[..., Policy]
SPEC = ProviderSpec(
    overhead_seconds=2.0,
    prefill_tokens_per_second=1_000,
    decode_tokens_per_second=10,
    input_usd=4.0,
    cache_read_usd=1.0,
    cache_write_usd=5.0,
    output_usd=20.0,
    cache_seconds=10**6,
)
SOURCES = (400, 300, 200)
WRITTEN = 450
"""Tokens of the summary of all sources, at a ratio of a half."""

FOLD_THREE = RewritePlan((Fold((0, 1, 2)),))


# --------------------------------------------------------------------------- what it is shown


@pytest.mark.property
@given(
    st.lists(st.integers(0, 60), max_size=8),
    st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]),
    st.none() | st.integers(1, 150),
    st.none() | st.integers(1, 50),
)
def test_what_is_shown_is_the_newest_tokens_one_by_one(
    sizes: list[int], share: float, coverage: int | None, item: int | None
) -> None:
    spans = [Span(identity, Kind.TOOL_RESULT, tokens) for identity, tokens in enumerate(sizes)]
    laid_out = [
        span.id for span in spans for place in range(span.tokens) if item is None or place < item
    ]  # every single token, under the id that it belongs to
    if coverage is not None:
        laid_out = laid_out[max(0, len(laid_out) - coverage) :]
    newest = math.floor(share * len(laid_out))
    laid_out = laid_out[len(laid_out) - newest :]
    read = shown(spans, share, coverage, item)
    assert {identity: tokens for identity, tokens in read.items() if tokens} == {
        identity: laid_out.count(identity) for identity in set(laid_out)
    }


# --------------------------------------------------------------------------- one pass


def one_pass(
    scripted: Make,
    listed: type,
    request: RequestTerms,
    *,
    failure: float = 0.0,
    answer: AnswerLaw | None = None,
    retries: int = 0,
    window: int = 10_000,
    **answers: object,
) -> tuple[Run, Policy]:
    """Return a run with one request before and after a pass that folds three of four spans."""
    before = tuple(Span(place, Kind.TOOL_RESULT, tokens) for place, tokens in enumerate(SOURCES))
    before += (Span(3, Kind.USER, 100),)
    declared = Terms(
        frozenset({CheckPoint.TURN_END}),
        deliberates=False,
        measurement=MeasurementPlan.NONE,
        retries=retries,
        request=request,
    )
    given = {"check_by": lambda gauge: gauge.turn == 1, "propose_by": FOLD_THREE}
    policy = scripted(terms=declared, **given | answers)
    laws = Laws(summary=SummaryLaw(ratio=0.5), answer=answer or AnswerLaw())
    setting = Setting(
        "asking",
        window,
        listed((Turn(), Turn()), before),
        laws=laws,
        provider=replace(SPEC, failure_share=failure),
    )
    return simulate(setting, policy), policy


def seconds(prompt: int, output: int) -> float:
    return 2.0 + prompt / 1_000 + output / 10


def usd(**tokens: int) -> float:
    prices = {"input": 4.0, "read": 1.0, "write": 5.0, "output": 20.0}
    return sum(prices[kind] * number for kind, number in tokens.items()) / 1e6


REBUILT = usd(write=100) - usd(read=100)
"""Of all that was cached only the user's 100 tokens still stand, behind what has changed."""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("request_terms", "prompt"),
    [
        (RequestTerms(), 900),
        (RequestTerms(overhead_tokens=70), 970),
        (RequestTerms(reads_all=True), 1_000),
        (RequestTerms(reads_all=True, overhead_tokens=70), 1_070),
        (RequestTerms(coverage_tokens=450), 450),
        (RequestTerms(item_tokens=250), 700),
        (RequestTerms(item_tokens=250, coverage_tokens=300, overhead_tokens=5), 305),
    ],
)
def test_the_input_is_the_prompt_and_what_is_shown(
    scripted: Make, listed: type, request_terms: RequestTerms, prompt: int
) -> None:
    run, _ = one_pass(scripted, listed, request_terms)
    (entry,) = run.rewrite_rows
    written = entry.summaries_tokens
    read = prompt - request_terms.overhead_tokens - 100 * request_terms.reads_all
    assert written == read / 2  # a summary is of what was read
    assert entry.unread_tokens == 900 - read
    assert entry.replace_seconds == pytest.approx(seconds(prompt, written))
    assert entry.usd == pytest.approx(usd(input=prompt, output=written) + REBUILT)
    assert (entry.requests, run.summary["replacement_requests"]) == (1, 1)


@pytest.mark.unit
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_each_call_reads_the_same_and_writes_the_summary(scripted: Make, listed: type, calls: int) -> None:
    run, policy = one_pass(scripted, listed, RequestTerms(calls=calls, price=0.25))
    (entry,) = run.rewrite_rows
    assert entry.replace_seconds == pytest.approx(calls * seconds(900, WRITTEN))
    assert entry.usd == pytest.approx(calls * 0.25 * usd(input=900, output=WRITTEN) + REBUILT)
    assert (entry.requests, policy.lessons[0].requests, policy.lessons[0].usd) == (calls, calls, entry.usd)


@pytest.mark.unit
def test_a_call_that_shares_the_prefix_reads_the_live_prompt_from_the_cache(
    scripted: Make, listed: type
) -> None:
    run, _ = one_pass(scripted, listed, RequestTerms(shares_prefix=True, overhead_tokens=70))
    (entry,) = run.rewrite_rows
    # all 1,000 tokens stand in the cache since the request before; behind them the prompt, as plain input
    assert entry.usd == pytest.approx(usd(read=1_000, input=70, output=WRITTEN) + REBUILT)
    assert entry.replace_seconds == pytest.approx(seconds(70, WRITTEN))


@pytest.mark.theory
def test_what_a_pass_costs_is_what_the_bill_is_higher_by(scripted: Make, listed: type) -> None:
    """Beside a run without it: the pass's own usd, less reading what is gone, and writing what is new."""
    for operation in (Mask(0, 60), Evict(1), Fold((0, 1)), Fold((0, 1, 2)), Summarise(2)):
        run, _ = one_pass(scripted, listed, RequestTerms(), propose_by=RewritePlan((operation,)))
        idle, _ = one_pass(scripted, listed, RequestTerms(), check_by=False)
        (entry,) = run.rewrite_rows
        gone = entry.selected_tokens
        new = gone - entry.freed
        saved = usd(read=gone) - usd(write=new)
        assert run.summary["usd"] - idle.summary["usd"] == pytest.approx(entry.usd - saved, abs=1e-12)


# --------------------------------------------------------------------------- fit, or the next rung


@pytest.mark.unit
@pytest.mark.parametrize(
    ("window", "ladder", "rejected", "read"),
    [
        (900, (), 0, 900),
        (899, (), 0, None),
        (899, (0.5,), 1, 450),
        (300, (0.5, 0.25), 2, 225),
        (200, (0.5, 0.25), 3, None),
    ],
)
def test_the_input_fits_its_models_window_or_less_is_shown(
    scripted: Make, listed: type, window: int, ladder: tuple[float, ...], rejected: int, read: int | None
) -> None:
    run, _ = one_pass(scripted, listed, RequestTerms(window=window, ladder=ladder))
    (entry,) = run.rewrite_rows
    assert run.summary["rejected_requests"] == rejected
    if read is None:
        assert (entry.outcome, entry.stage) == ("infeasible", "replace")
        assert f"exceed {window}" in entry.reason
        assert entry.replace_seconds == 2.0 * rejected
        assert entry.usd == 0
        return
    written = round(read / 2)
    assert (entry.outcome, entry.summaries_tokens) == ("committed", written)
    # a request that is refused takes its overhead and bills nothing
    assert entry.replace_seconds == pytest.approx(2.0 * rejected + seconds(read, written))
    assert entry.usd == pytest.approx(usd(input=read, output=written) + REBUILT)
    assert entry.requests == rejected + 1


@pytest.mark.unit
def test_without_a_window_of_its_own_its_model_has_the_agents(scripted: Make, listed: type) -> None:
    request = RequestTerms(overhead_tokens=200)
    tight, _ = one_pass(scripted, listed, request, window=1_099)
    roomy, _ = one_pass(scripted, listed, request, window=1_100)
    assert [run.rewrite_rows[0].outcome for run in (tight, roomy)] == ["infeasible", "committed"]


# --------------------------------------------------------------------------- tries that fail


@pytest.mark.unit
@pytest.mark.parametrize("empties", [False, True])
def test_each_try_that_fails_or_is_empty_is_billed(scripted: Make, listed: type, empties: bool) -> None:
    fails: dict[str, object] = {"answer": AnswerLaw(empty_share=1)} if empties else {"failure": 1.0}
    ladder = (0.5, 0.2)
    run, policy = one_pass(scripted, listed, RequestTerms(ladder=ladder), retries=2, **fails)  # type: ignore[arg-type]
    (entry,) = run.rewrite_rows
    # first all tries on one rung, then the next
    prompts = [read for read in (900, 450, 180) for _ in range(3)]
    assert (entry.outcome, entry.stage, entry.requests) == ("failed", "replace", 9)
    assert entry.replace_seconds == pytest.approx(sum(seconds(prompt, 0) for prompt in prompts))
    assert entry.usd == pytest.approx(usd(input=sum(prompts)))
    assert (entry.tokens_after, entry.freed) == (1_000, 0)  # left as it was
    assert policy.lessons[0].items == 0


@pytest.mark.theory
def test_a_try_fails_with_its_share(scripted: Make, listed: type) -> None:
    """Requests until one succeeds are geometric: their mean is within 4.5 of its own standard deviations."""
    share, runs = 0.4, 400
    tries = []
    for seed in range(runs):
        before = (Span(0, Kind.TOOL_RESULT, 100),)
        policy = scripted(terms=Terms(deliberates=False, retries=60), propose_by=RewritePlan((Summarise(0),)))
        spec = replace(SPEC, failure_share=share)
        run = simulate(Setting("tries", 10**6, listed((Turn(),), before), provider=spec), policy, seed)
        tries.append(run.rewrite_rows[0].requests)
    deviation = math.sqrt(share) / (1 - share) / math.sqrt(runs)
    assert sum(tries) / runs == pytest.approx(1 / (1 - share), abs=4.5 * deviation)  # 7 in a million


@pytest.mark.unit
def test_what_could_not_be_summarised_may_be_dropped(scripted: Make, listed: type) -> None:
    plan = RewritePlan((Fold((0, 1)), Mask(2, 30)))
    run, policy = one_pass(scripted, listed, RequestTerms(on_failure="drop"), failure=1.0, propose_by=plan)
    (entry,) = run.rewrite_rows
    assert (entry.outcome, entry.freed, entry.tokens_after) == (
        "committed",
        870,
        130,
    )  # the mask needs nobody
    assert (entry.summaries_tokens, entry.requests) == (0, 1)
    assert entry.usd == pytest.approx(usd(input=700) + REBUILT)
    assert (policy.lessons[0].items, policy.lessons[0].summarised) == (0, 0)  # nothing to learn a ratio from


@pytest.mark.unit
def test_what_does_not_fit_may_be_dropped_too(scripted: Make, listed: type) -> None:
    run, _ = one_pass(scripted, listed, RequestTerms(window=10, on_failure="drop"))
    (entry,) = run.rewrite_rows
    assert (entry.outcome, entry.freed, entry.tokens_after, entry.usd) == (
        "committed",
        900,
        100,
        pytest.approx(REBUILT),
    )


@pytest.mark.unit
@pytest.mark.parametrize(
    ("request_terms", "fails"),
    [
        (RequestTerms(on_failure="raise"), {"failure": 1.0}),
        (RequestTerms(on_failure="raise", window=10), {}),
    ],
)
def test_a_policy_that_raises_halts_its_agent(
    scripted: Make, listed: type, request_terms: RequestTerms, fails: dict[str, float]
) -> None:
    run, _ = one_pass(scripted, listed, request_terms, **fails)  # type: ignore[arg-type]
    assert (run.outcome, len(run.turn_rows), run.event_rows[-1].kind) == ("halted", 1, "halted")
    kept, _ = one_pass(scripted, listed, RequestTerms(on_failure="raise"))
    refused, _ = one_pass(scripted, listed, RequestTerms(on_failure="raise"), judge_by=Verdict(False, "no"))
    assert [other.outcome for other in (kept, refused)] == ["complete", "complete"]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("fails", "quality"), [({}, 0.85), ({"failure": 1.0}, 1.0), ({"answer": AnswerLaw(empty_share=1)}, 1.0)]
)
def test_own_records_that_are_dropped_were_not_summarised(
    scripted: Make, listed: type, fails: dict[str, object], quality: float
) -> None:
    """Retiring a record whole does not lower the quality of decisions; summarising it does."""
    request = RequestTerms(on_failure="drop", refuses_empty=False)
    policy = scripted(
        terms=Terms(frozenset({CheckPoint.TURN_END}), request=request, measurement=MeasurementPlan.NONE),
        propose_by=lambda view: RewritePlan(
            tuple(Summarise(item.id) for item in view.items if item.kind is Kind.RATIONALE)
        ),
    )
    laws = Laws(
        RationaleLaw(base=60),
        QualityLaw(record_factor=0.85),
        answer=fails.get("answer", AnswerLaw()),  # type: ignore[arg-type]
    )
    spec = replace(SPEC, failure_share=fails.get("failure", 0.0))  # type: ignore[type-var]
    turns = (Turn((Span(0, Kind.USER, 50),)), Turn())
    run = simulate(Setting("records", 10_000, listed(turns), laws=laws, provider=spec), policy)
    assert [entry.own_selected for entry in run.rewrite_rows] == [0, 1]
    assert run.summary["decision_quality"] == pytest.approx(quality)
