"""The payback gate: whole-rewrite conservation in money, against the calls that are left.

A rewrite pays its own requests, retries among them, and what it puts out of the prompt cache; it earns
what each later call no longer reads. Before anything is asked for it is judged by what it is expected to
take; at *gate* what is spent is spent, and only the cache is still to lose. No system of the zoo asks how
many calls are left (policy zoo, section 3). Standard library only: lift it into a real agent as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.contracts import Brief, Gate, Lesson, Prices, Proposal, RewriteBudgetViolation, Terms, Verdict
from simulator.plan import Fold, RewritePlan, Summarise
from simulator.spans import Kind
from simulator.view import View


class Work(NamedTuple):
    """What a rewrite takes and gives, in tokens.

    Attributes
    ----------
    read, written : by the model that is asked, over all its calls; 0 where none is.
    shared : of what it reads, the live prompt that a warm cache serves.
    saved : what each later call reads less.
    behind : what stays behind the first change and has to be written to the cache again.
    """

    read: int = 0
    written: int = 0
    shared: int = 0
    saved: int = 0
    behind: int = 0


def cost(work: Work, prices: Prices, *, warm: bool = True, tries: float = 1.0, price: float = 1.0) -> float:
    """Return the dollars that a rewrite takes.

    Parameters
    ----------
    work : Work
    prices : Prices
        Dollars for one token.
    warm : bool
        Whether the prompt cache is alive; when it has expired there is nothing to lose in it, and what
        the call would share has to be written.
    tries : float
        Requests that one answer is expected to take.
    price : float
        Of the model that is asked, as a share of the agent's prices.

    >>> round(cost(Work(read=100, written=10, behind=50), Prices(1.0, 0.1, 1.25, 5.0)), 2)
    207.5
    """
    fresh = price * (work.read * prices.input + work.written * prices.output)
    shared = work.shared * (prices.cache_read if warm else prices.cache_write)
    return tries * (fresh + shared) + rebuild(work.behind, prices, warm=warm)


def rebuild(behind: int, prices: Prices, *, warm: bool = True) -> float:
    """Return the dollars of writing again what stays behind the first change, and not reading it."""
    return behind * max(0.0, prices.cache_write - prices.cache_read) if warm else 0.0


def earned(saved: int, calls: float, prices: Prices, *, warm: bool = True) -> float:
    """Return the dollars that so many later calls no longer pay; after a cold cache the first is a write.

    Without a cache the price of reading it is that of input (`ProviderSpec.prices_at`).

    >>> earned(100, 4, Prices(1.0, 0.25, 1.25, 5.0))
    100.0
    """
    first = 0.0 if warm else prices.cache_write - prices.cache_read
    return saved * (calls * prices.cache_read + first)


class PaybackGate(Gate):
    """Accept a rewrite that its later calls repay, or that the window leaves no choice about.

    Parameters
    ----------
    as_many_again : float
        Calls left, as a share of those already made: where nothing is known of a run's end, one that
        has lasted long is expected to last as long again. The budget of turns caps it.
    headroom_turns : float
        Turns of growth; with less room than that a rewrite is due whatever it costs.
    """

    name = "payback"

    def __init__(self, as_many_again: float = 1.0, headroom_turns: float = 3.0) -> None:
        self._as_many_again = as_many_again
        self._headroom_turns = headroom_turns
        self.begin()

    def begin(self) -> None:
        """Forget the last run."""
        self._brief, self._terms = Brief(1), Terms()
        self._tries = self._answered = 0
        self._level: int | None = None
        self._work, self._calls, self._warm, self._forced = Work(), 0.0, True, False

    def brief(self, brief: Brief, terms: Terms) -> None:
        """Take note of the prices, of the budget of turns and of how a summary is asked for."""
        self._brief, self._terms = brief, terms

    def learn(self, lesson: Lesson) -> None:
        """Remember how many tries an answer takes, and where the content stood after a commit."""
        answered = lesson.summaries > 0
        if lesson.requests:
            self._tries += lesson.requests - answered * (self._terms.request.calls - 1)
            self._answered += answered
        if lesson.freed:
            self._level = lesson.tokens

    @property
    def tries(self) -> float:
        """Tries that one answer is expected to take."""
        return (self._tries + 1) / (self._answered + 1)

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Judge a plan by what it is expected to take, before anything is asked for."""
        gauge, prices = view.gauge, self._brief.prices
        self._work = self._expected(view, plan)
        self._calls = max(0.0, min(self._as_many_again * gauge.turn, self._brief.horizon - gauge.turn))
        self._warm = gauge.idle_seconds <= prices.cache_seconds
        level = gauge.by_kind[Kind.HEAD] if self._level is None else self._level
        grown = max(0, gauge.tokens - level) / max(1, gauge.requests_since_rewrite)
        self._forced = gauge.window - gauge.output_reserve - gauge.tokens < self._headroom_turns * grown
        takes = cost(self._work, prices, warm=self._warm, tries=self.tries, price=self._terms.request.price)
        return self._verdict(takes, "would take")

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge what is still to lose, by the exact sizes."""
        saved = proposal.freed - proposal.rewrite_cost - proposal.measurement_cost
        self._work = self._work._replace(saved=saved)
        return self._verdict(rebuild(self._work.behind, self._brief.prices, warm=self._warm), "still takes")

    def _verdict(self, takes: float, verb: str) -> Verdict:
        gives = earned(self._work.saved, self._calls, self._brief.prices, warm=self._warm)
        figures = {**self._work._asdict(), "calls_left": self._calls, "takes_usd": takes, "gives_usd": gives}
        words = f"{verb} ${takes:.4f}, gives ${gives:.4f} in {self._calls:.0f} calls"
        if self._work.saved > 0 and (self._forced or gives > takes):
            return Verdict(True, f"{'no room to wait: ' if self._forced else ''}{words}", figures)
        return Verdict(False, words, figures, RewriteBudgetViolation)

    def _expected(self, view: View, plan: RewritePlan) -> Work:
        """Return what a plan is expected to take, by the policy's own count."""
        request = self._terms.request
        going = set(plan.sources())
        asked = {
            identity
            for operation in plan.operations
            if isinstance(operation, Summarise | Fold)
            for identity in operation.sources
        }
        removed = read = before = 0
        changed = False
        for item in view.items:
            if item.id in going:
                changed = True
                removed += item.tokens
                read += item.tokens if item.id in asked else 0
            elif not changed:
                before += item.tokens
        saved = plan.believed_saving
        after = view.gauge.tokens - saved
        if not asked:
            return Work(saved=saved, behind=max(0, after - before))
        written = max(0, removed - saved)  # what the plan believes will stand in their place
        calls = request.calls
        if request.shares_prefix:
            shared, fresh = view.gauge.tokens, request.overhead_tokens
        else:
            shared, fresh = 0, read + request.overhead_tokens
        return Work(calls * fresh, calls * written, calls * shared, saved, max(0, after - before))
