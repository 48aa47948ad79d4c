"""`Counter`: a policy's own count of the context, with the errors that real counters have.

In come the true spans and what the provider reports; out comes what the policy believes. Belief never
flows back: the truth is the context's. Errors documented: usage that lags, is cumulative or stale after a
rewrite, characters by four on another script, two counts of different scope (field reports S10, S26-S31).
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.context import Context
from simulator.declarations import CounterKind, CounterTerms
from simulator.spans import Kind, Span


def believed(tokens: int, ratio: float) -> int:
    """Return what a counter with that ratio makes of a true size.

    >>> believed(1000, 0.72)
    720
    """
    return tokens if ratio == 1 else round(tokens * ratio)


class Sizes:
    """What a counter makes of single spans.

    >>> sizes = Sizes(CounterTerms(ratio=0.7, ratios=(("cjk", 0.3),)))
    >>> sizes.of(Span(0, Kind.TOOL_RESULT, 1000)), sizes.of(Span(1, Kind.USER, 1000, content_class="cjk"))
    (700, 300)
    """

    __slots__ = ("_by_class", "_ratio", "exact")

    def __init__(self, terms: CounterTerms) -> None:
        self._ratio = terms.ratio
        self._by_class = dict(terms.ratios)
        self.exact = terms.ratio == 1 and all(ratio == 1 for ratio in self._by_class.values())

    def of(self, span: Span) -> int:
        """Return the believed tokens of a span."""
        return believed(span.tokens, self._by_class.get(span.content_class, self._ratio))

    def head(self, context: Context) -> int:
        """Return the believed tokens of the fixed prefix, which is text."""
        return believed(context.by_kind[Kind.HEAD], self._by_class.get("text", self._ratio))

    def total(self, context: Context) -> int:
        """Return the believed tokens of a context; linear in the classes, not in the spans."""
        if context.by_class is None:
            return believed(context.tokens, self._ratio)
        return round(
            sum(tokens * self._by_class.get(name, self._ratio) for name, tokens in context.by_class.items())
        )


class Counter:
    """The count that one policy keeps of one context.

    Attributes
    ----------
    sizes : its estimate of single spans.
    measured : the true count at the last full measurement, which a running count starts from.
    is_true : it makes no error at all.
    listens : it wants to be told what the provider reports.
    """

    __slots__ = ("_context", "_reported", "_terms", "_then", "is_true", "listens", "measured", "sizes")

    def __init__(self, terms: CounterTerms, context: Context) -> None:
        self._terms = terms
        self._context = context
        self.sizes = Sizes(terms)
        self.measured = 0
        self.is_true = terms.kind is CounterKind.RUNNING and self.sizes.exact and terms.head
        self.listens = terms.kind in (CounterKind.USAGE, CounterKind.CUMULATIVE)
        self._reported: int | None = None
        self._then = 0
        if terms.ratios:
            context.by_class = {}

    def count(self) -> int:
        """Return the believed tokens in the window."""
        terms, context = self._terms, self._context
        kind = terms.kind
        if kind is CounterKind.RUNNING:
            if context.by_class is None:
                count = self.measured + believed(context.tokens - self.measured, terms.ratio)
            else:
                count = self.measured + self.sizes.total(context) - self._then
        elif kind is CounterKind.CONSTANT:
            return terms.tokens
        elif kind is CounterKind.ESTIMATE or self._reported is None:
            count = self.sizes.total(context)
        else:
            count = self._reported
            if terms.tail:
                count += max(0, self.sizes.total(context) - self._then)
        return count if terms.head else count - self.head()

    def head(self) -> int:
        """Return the believed tokens of the fixed prefix."""
        return self.sizes.head(self._context)

    def content(self) -> int:
        """Return the estimated tokens of all but the fixed prefix."""
        return self.sizes.total(self._context) - self.head()

    def share(self) -> float:
        """Return estimated over true tokens of the context as it stands."""
        tokens = self._context.tokens
        return self.sizes.total(self._context) / tokens if tokens else 1.0

    def hear(self, prompt: int, reply: Iterable[Span]) -> None:
        """Take note of the usage of a request, in true tokens, whose reply is not in the context yet."""
        output = estimate = 0
        for span in reply:
            output += span.tokens
            estimate += self.sizes.of(span)
        if self._terms.kind is CounterKind.CUMULATIVE:
            self._reported = (self._reported or 0) + prompt + output
        else:
            self._reported = prompt + output
        self._then = self.sizes.total(self._context) + estimate

    def measure(self) -> None:
        """Count in full."""
        self.measured = self._context.tokens
        if self._context.by_class is not None and not self.listens:
            self._then = self.sizes.total(self._context)

    def forget(self, freed: int) -> None:
        """Take note of a rewrite, by its estimate in tokens; a stale usage stays as it was reported."""
        if self.listens and self._reported is not None:
            self._then -= freed
            if self._terms.follows_rewrites and self._terms.kind is CounterKind.USAGE:
                self._reported -= freed
