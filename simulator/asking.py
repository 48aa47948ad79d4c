"""Asking for a summary: a rewrite is a model request itself, and may not come to anything.

What is to be replaced is cut to what the summariser is shown; the input must fit its model's window; a
try may be refused, fail, or come back empty, truncated or longer than its source; further tries are
shown less. Sources: policy zoo sections 1 and 2; field reports S06, S13, S16, S21, S35.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from simulator.laws import Answer
from simulator.ledger import Outcome
from simulator.provider import Purpose
from simulator.spans import Kind, Span
from simulator.workspace import WHOLE, Attempt, Reading, Workspace


class Failure(NamedTuple):
    """Why there is no summary."""

    outcome: Outcome
    reason: str


def shown(
    spans: Iterable[Span], share: float = 1.0, coverage: int | None = None, item: int | None = None
) -> dict[int, int]:
    """Return the tokens of each span that a summariser is shown, the newest first where not all are.

    Parameters
    ----------
    spans : iterable of Span
        In context order.
    share : float
        Of all that would be shown, 0 to 1.
    coverage : int or None
        Most tokens in all.
    item : int or None
        Most tokens of one span.

    >>> shown([Span(0, "user", 70), Span(1, "tool_result", 90)], coverage=100, item=60)
    {1: 60, 0: 40}
    """
    cut = {span.id: span.tokens if item is None else min(span.tokens, item) for span in spans}
    left = sum(cut.values())
    if coverage is not None:
        left = min(left, coverage)
    if share < 1:
        left = int(left * share)
    read: dict[int, int] = {}
    for identity in reversed(cut):
        if left <= 0:
            break
        read[identity] = min(cut[identity], left)
        left -= read[identity]
    return read


def ask_for_summary(work: Workspace, attempt: Attempt, sources: Sequence[Span]) -> Failure | None:
    """Find what the summariser is shown and what it answers; return why it came to nothing, or None.

    Tries that fail are paid for here; the one that succeeds when its size is known.
    """
    terms, provider = work.terms.request, work.provider
    chosen = {span.id for span in sources}
    spans = [span for span in work.context if span.id in chosen] if len(chosen) > 1 else list(sources)
    law = work.setting.laws.answer
    failures = work.streams.uniform(f"replacement failure {attempt.number}")
    answers = work.streams.uniform(f"answer {attempt.number}") if law.may_err else None
    rungs = (1.0, *terms.ladder)
    outcome, reason = Outcome.FAILED, ""
    for share in rungs:
        _show(work, attempt, spans, share)
        if attempt.reading.is_empty:
            return None
        tokens = request_tokens(work, attempt)
        window = work.window if terms.window is None else terms.window
        if tokens > window and not work.terms.endless_window:
            outcome, reason = Outcome.INFEASIBLE, f"{tokens} tokens to summarise exceed {window}"
            if len(rungs) > 1:
                attempt.requests += 1
                attempt.spend("replace", provider.rejected(Purpose.REPLACEMENT))
            continue
        for _ in range(work.terms.retries + 1):
            place = attempt.requests
            attempt.requests += 1
            failed = failures[place] < work.setting.provider.failure_share
            answer = Answer.WHOLE if failed or answers is None else law.answer(answers[place])
            attempt.reading = attempt.reading._replace(answer=answer)
            if not failed and not (answer is Answer.NOTHING and terms.refuses_empty):
                return None
            _pay(work, attempt, 0)
        outcome, reason = Outcome.FAILED, f"no replacement after {attempt.requests} requests"
    return Failure(outcome, reason)


def pay_for_summary(work: Workspace, attempt: Attempt) -> None:
    """Pay for the try that has succeeded, and for the further calls that the policy makes over it."""
    if attempt.reading.is_empty:
        return
    attempt.requests += work.terms.request.calls - 1
    for _ in range(work.terms.request.calls):
        _pay(work, attempt, attempt.summaries_tokens())


def request_tokens(work: Workspace, attempt: Attempt) -> int:
    """Return the input of the request as it stands: the prompt, and what the summariser is shown."""
    terms = work.terms.request
    selected = attempt.summarised()
    read = attempt.reading.tokens(selected)
    if terms.reads_all or terms.shares_prefix:  # the live prompt is all of the context
        read += work.context.tokens - sum(span.tokens for span in selected)
    return terms.overhead_tokens + read


def _show(work: Workspace, attempt: Attempt, spans: Sequence[Span], share: float) -> None:
    terms = work.terms.request
    if share == 1 and terms.coverage_tokens is None and terms.item_tokens is None and not terms.from_user:
        attempt.reading, attempt.unread_tokens = WHOLE, 0
        return
    read = shown(spans, share, terms.coverage_tokens, terms.item_tokens)
    if terms.from_user:
        first = next((place for place, span in enumerate(spans) if _opens(span, read)), len(spans))
        read = {span.id: read[span.id] for span in spans[first:] if span.id in read}
    attempt.unread_tokens = sum(span.tokens for span in spans) - sum(read.values())
    attempt.reading = Reading(read)


def _opens(span: Span, read: Mapping[int, int]) -> bool:
    return span.kind is Kind.USER and span.id in read


def _pay(work: Workspace, attempt: Attempt, output: int) -> None:
    terms, provider = work.terms.request, work.provider
    tokens = request_tokens(work, attempt)
    if terms.shares_prefix and attempt.reading.shown is None:  # what is left out breaks the prefix
        own = terms.overhead_tokens
        seconds = provider.shared_prompt(work.env.now, tokens - own, own, output, Purpose.REPLACEMENT)
    else:
        seconds = provider.fresh_prompt(tokens, output, Purpose.REPLACEMENT, price=terms.price)
    attempt.spend("replace", seconds)
