"""The seams of the house: what crosses between the floors.

Protocols (`Policy`, `Gate`, `Workload`), the `Bound` and the `Proposal` a gate judges, the `Verdict`
it returns, and the refusals of the field records; what a policy declares is in `declarations`, what
it is asked between rewrites in `questions`. Standard library only, so that a gate can be lifted into
a real agent as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from simulator.declarations import (
    BackgroundTerms,
    Brief,
    CheckPoint,
    Component,
    CounterKind,
    CounterTerms,
    Fingerprint,
    InstructionTerms,
    KeepWarmTerms,
    MeasurementPlan,
    Need,
    Placement,
    Prices,
    ReinjectionTerms,
    RequestTerms,
    Terms,
    TombstoneTerms,
    WindowTerms,
)

if TYPE_CHECKING:
    from simulator.plan import RewritePlan
    from simulator.questions import Amendment, Reliance, Vitals
    from simulator.spans import Span
    from simulator.streams import Streams
    from simulator.view import Gauge, View

__all__ = [
    "ACCEPTED",
    "BackgroundTerms",
    "Bound",
    "Brief",
    "CheckPoint",
    "CoherenceBudgetInversionError",
    "Component",
    "CounterKind",
    "CounterTerms",
    "Fingerprint",
    "Gate",
    "InstructionDecayError",
    "InstructionTerms",
    "KeepWarmTerms",
    "Lesson",
    "LossySelfRewriteError",
    "MeasurementPlan",
    "Need",
    "Parameter",
    "Placement",
    "Policy",
    "Prices",
    "Proposal",
    "ReinjectionTerms",
    "RequestTerms",
    "RewriteBudgetViolation",
    "RewriteRefused",
    "Step",
    "Terms",
    "TombstoneTerms",
    "Turn",
    "Verdict",
    "WindowTerms",
    "Workload",
    "parameter",
]

# --------------------------------------------------------------------------- verdicts and refusals


class RewriteRefused(RuntimeError):
    """A gate did not let a rewrite pass. The four field records each name one kind."""


class RewriteBudgetViolation(RewriteRefused):
    """The rewrite cannot be proven to leave more room than it takes (field record 000)."""


class LossySelfRewriteError(RewriteRefused):
    """The rewrite would erase evidence that a later decision rests on, or the trace of its erasure (002)."""


class CoherenceBudgetInversionError(RewriteRefused):
    """The rewrite would reach its budget only by destroying what live references lean on (003)."""


class InstructionDecayError(RewriteRefused):
    """A self-written instruction would bind outside the epoch it was written in (field record 004)."""


class Verdict(NamedTuple):
    """What a gate says of a rewrite: accepted or not, why, and the figures it stands on.

    `escalate` calls the supervisor when the attempt has settled, whatever came of it.

    >>> Verdict(True, "net 1 token", {"net": 1}).require()
    >>> Verdict(False, "net 0 tokens", {"net": 0}).require()
    Traceback (most recent call last):
        ...
    simulator.contracts.RewriteBudgetViolation: net 0 tokens
    """

    accepted: bool
    reason: str
    figures: Mapping[str, float] = {}
    refusal: type[RewriteRefused] = RewriteBudgetViolation
    escalate: bool = False

    def require(self) -> None:
        """Raise the refusal when the rewrite was not accepted."""
        if not self.accepted:
            raise self.refusal(self.reason)


ACCEPTED = Verdict(True, "")
"""What a policy without gates says of everything."""

# --------------------------------------------------------------------------- what a gate judges


class Bound(NamedTuple):
    """The cheapest picture of a rewrite, at *admit*: nothing was emitted yet. Tokens.

    `freeable` is the most the policy hopes to free; the costs are what it would charge itself.
    """

    freeable: int
    rewrite_cost: int
    measurement_cost: int


class Proposal(NamedTuple):
    """The exact picture of a rewrite, at *gate*: staged sizes and attributed costs. Tokens.

    Attributes
    ----------
    freed : what the staged operations remove minus what replaces it.
    rewrite_cost : emitted since *check* and charged to this rewrite.
    measurement_cost : upper bound of the measurement to come, as far as it is charged.
    unattributed : in the window since *check* and claimed by no component.
    touched_own_substrate : the plan touches an artifact that its marks protect.
    slack : room left before the request would no longer fit.
    believed_saving : what the policy believed it would save when it proposed.
    believed_freed : freed in the policy's own counter, its emissions not in it.
    before : in the window at this moment, by that counter.
    content_after : what will stand, the fixed head not in it, by the estimate of its items.
    put_back : the most that the commit puts in beside its replacements and at nobody's charge: what is
        read again or restored, and free tombstones.
    """

    freed: int
    rewrite_cost: int
    measurement_cost: int
    unattributed: int = 0
    touched_own_substrate: bool = False
    slack: int = 0
    believed_saving: int = 0
    believed_freed: int = 0
    before: int = 0
    content_after: int = 0
    put_back: int = 0


class Lesson(NamedTuple):
    """What a policy learns when an attempt has settled: exact sizes it has paid for. Tokens.

    Attributes
    ----------
    outcome, stage : how and where the attempt ended.
    items : spans that were summarised; 0 where no summary was staged.
    summarised, summaries : tokens that went into summaries and that came out of them.
    tokens : believed count after the attempt.
    freed, net, before : exact figures of the attempt; freed 0 where nothing was committed.
    usd : dollars that it has cost.
    requests : model requests that it has taken.
    """

    outcome: str
    stage: str
    items: int
    summarised: int
    summaries: int
    tokens: int
    freed: int = 0
    net: int = 0
    before: int = 0
    usd: float = 0.0
    requests: int = 0


# --------------------------------------------------------------------------- protocols


class Gate(Protocol):
    """A pre-commit test in two steps: a cheap bound before anything is emitted, an exact proof.

    Subclass it: what a gate has no opinion on, it accepts. A gate is begun anew for every run.
    """

    name: str = "gate"

    def begin(self) -> None:
        """Forget the last run."""
        return

    def brief(self, brief: Brief, terms: Terms) -> None:
        """Take note of the public facts of this run, and of what the policy has declared."""
        return

    def learn(self, lesson: Lesson) -> None:
        """Take note of how an attempt ended."""
        return

    def admit(self, bound: Bound) -> Verdict:
        """Judge the cheapest bound; refuse here and nothing was spent."""
        return ACCEPTED

    def spares(self, view: View) -> Collection[int]:
        """Return the ids that the plan to come must leave alone."""
        return ()

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Judge a plan before anything is asked for, beside the tokens that it should end at."""
        return ACCEPTED

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the exact figures, before commit."""
        return ACCEPTED

    def resume(self, vitals: Vitals) -> Verdict:
        """Judge at turn start whether the working set can be trusted; a refusal halts the agent."""
        return ACCEPTED

    def amend(self, amendment: Amendment) -> Verdict:
        """Judge whether an instruction may be written."""
        return ACCEPTED

    def rely(self, reliance: Reliance) -> Verdict:
        """Judge whether a self-written instruction binds now; a refusal makes the agent derive it anew."""
        return ACCEPTED


class Policy(Protocol):
    """When to rewrite, what, and what to refuse. Subclass it; only two methods have no default.

    A policy sees its `Gauge` at each check and the `View` after its trigger fired, never the truth
    behind them. It is begun anew for every run, and two runs with the same inputs must take the
    same decisions.
    """

    name: str = "policy"
    terms: Terms = Terms()

    def begin(self, brief: Brief) -> None:
        """Forget the last run; take note of the public facts of this one."""

    def check(self, gauge: Gauge) -> bool:
        """Return True to start an attempt. Called at each declared check point."""
        ...

    def admit(self, gauge: Gauge) -> Verdict:
        """Judge the cheapest bound; nothing was emitted yet."""
        return ACCEPTED

    def propose(self, view: View) -> RewritePlan:
        """Choose spans and operations, with the saving that the policy believes in."""
        ...

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the exact figures, before commit."""
        return ACCEPTED

    def learn(self, lesson: Lesson) -> bool:
        """Take note of how an attempt ended; return True to call the supervisor."""
        return False

    def resume(self, vitals: Vitals) -> Verdict:
        """Judge at turn start, where the terms say so, whether to go on; a refusal halts the agent."""
        return ACCEPTED

    def amend(self, amendment: Amendment) -> Verdict:
        """Judge whether to write an instruction after a failure."""
        return ACCEPTED

    def rely(self, reliance: Reliance) -> Verdict:
        """Judge whether a self-written instruction binds now; a refusal makes the agent derive it anew."""
        return ACCEPTED


class Step(NamedTuple):
    """What one turn's work stands on; truth, which no policy sees.

    Attributes
    ----------
    governed : ids of constraints that the step must respect.
    touches : ids of spans that the step leans on, beside what its reply cites.
    claims : (claim, correction) ids: the step uses the claim, which the correction has corrected.
    topics : topics whose instructions the step comes under.
    """

    governed: tuple[int, ...] = ()
    touches: tuple[int, ...] = ()
    claims: tuple[tuple[int, int], ...] = ()
    topics: tuple[str, ...] = ()


class Turn(NamedTuple):
    """What the world brings in one turn of the agent, the same for every policy.

    Attributes
    ----------
    arrivals : spans that come before the request (user message, tool results).
    reply : spans of the answer, appended after the request.
    seconds : tool latency and waiting before the request.
    user_turn : whether a user message starts this turn.
    closes : subgoals that are complete when the turn starts.
    events : (kind, detail) rows for the event table.
    step : what the turn's work stands on, or None.
    together : the arrivals come at one instant; else one after another, each with its check point.
    """

    arrivals: tuple[Span, ...] = ()
    reply: tuple[Span, ...] = ()
    seconds: float = 0.0
    user_turn: bool = False
    closes: tuple[int, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    step: Step | None = None
    together: bool = True


class Workload(Protocol):
    """What happens to the agent: a stream of turns that no policy can change."""

    def initial(self, streams: Streams) -> Iterable[Span]:
        """Yield the spans that stand in the window before the first turn, the head not among them."""
        ...

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield the turns in order; the run is complete when they end."""
        ...


@dataclass(frozen=True, slots=True)
class Parameter:
    """What the documentation says of one number of a law."""

    symbol: str
    unit: str
    source: str


def parameter(default: float | int | bool | str | None, symbol: str, unit: str, source: str) -> object:
    """Return a dataclass field that carries symbol, unit and source beside its default."""
    return field(default=default, metadata={"parameter": Parameter(symbol, unit, source)})
