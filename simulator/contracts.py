"""The seams of the house: what crosses between the floors.

Protocols (`Policy`, `Gate`, `Workload`), the `Terms` a policy declares, the `Bound` and the
`Proposal` a gate judges, the `Verdict` it returns, and the refusals of the field records. Standard
library only, so that a gate can be lifted into a real agent as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from simulator.plan import RewritePlan
    from simulator.spans import Span
    from simulator.streams import Streams
    from simulator.view import Gauge, View

# --------------------------------------------------------------------------- verdicts and refusals


class RewriteRefused(RuntimeError):
    """A gate did not let a rewrite pass. The four field records each name one kind."""


class RewriteBudgetViolation(RewriteRefused):
    """The rewrite cannot be proven to leave more room than it takes (field record 000)."""


class Verdict(NamedTuple):
    """What a gate says of a rewrite: accepted or not, why, and the figures it stands on.

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

    def require(self) -> None:
        """Raise the refusal when the rewrite was not accepted."""
        if not self.accepted:
            raise self.refusal(self.reason)


ACCEPTED = Verdict(True, "")
"""What a policy without gates says of everything."""

# --------------------------------------------------------------------------- what a policy declares


class CheckPoint(StrEnum):
    """The moments of a turn at which a policy may look at its gauge."""

    TURN_START = "turn_start"
    USER_TURN = "user_turn"
    AFTER_RESULT = "after_result"
    BEFORE_REQUEST = "before_request"
    TURN_END = "turn_end"


class Component(StrEnum):
    """What a policy emits into the window while it rewrites."""

    RATIONALE = "rationale"
    MEASUREMENT = "measurement"


class MeasurementPlan(StrEnum):
    """How a policy confirms its token count after a rewrite."""

    NONE = "none"
    FULL = "full"
    DELTA = "delta"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a policy declares before the run; the engine keeps it to its word.

    Attributes
    ----------
    check_points : the moments at which `check` is called.
    deliberates : whether a planner writes a rationale before each rewrite.
    rationale_cap : most tokens of one rationale; None leaves the length to the model.
    summary_cap : most tokens asked for in one summary; None leaves it to the model.
    measurement : how the count is confirmed; `checkpoint_every` rewrites, or sooner when more than
        `ambiguity_limit` spans have a size that the counter cannot know, for `checkpoint`.
    counter_ratio : believed tokens over true tokens (1 is an exact counter; chars/4 is about 0.72
        of what some providers bill).
    charges : components that the policy charges to its own rewrite; the rest counts as the
        system's, and no gate sees it.
    immutable_this_turn : no operation may touch an artifact before its turn ends.
    never_summarised : no operation may touch an artifact as long as it lives.
    retires : artifacts of earlier turns that are never summarised are removed whole at turn start.
    retries : further requests for a replacement after one has failed.
    endless_window : the bound of a policy that never meets its window.
    """

    check_points: frozenset[CheckPoint] = frozenset({CheckPoint.BEFORE_REQUEST})
    deliberates: bool = True
    rationale_cap: int | None = None
    summary_cap: int | None = None
    measurement: MeasurementPlan = MeasurementPlan.FULL
    checkpoint_every: int = 10
    ambiguity_limit: int = 8
    counter_ratio: float = 1.0
    charges: frozenset[Component] = frozenset(Component)
    immutable_this_turn: bool = False
    never_summarised: bool = False
    retires: bool = False
    retries: int = 0
    endless_window: bool = False


class Brief(NamedTuple):
    """What a policy is told at the start of a run: the public facts of its runtime.

    Attributes
    ----------
    window, output_reserve : tokens.
    summary_floor, summary_cap : documented limits of one summary, tokens; cap None is no limit.
    rationale_estimate : tokens that a rationale without a cap takes, as documented.
    full_measurement_share : a full recount writes this share of the count into the window.
    full_measurement_tokens : or this constant; None where the share holds.
    delta_measurement_tokens : tokens of a confirmation by deltas.
    """

    window: int
    output_reserve: int = 0
    summary_floor: int = 0
    summary_cap: int | None = None
    rationale_estimate: int = 0
    full_measurement_share: float = 0.0
    full_measurement_tokens: int | None = None
    delta_measurement_tokens: int = 0

    def measurement(self, plan: MeasurementPlan, count: int) -> int:
        """Return the most tokens that `plan` writes for a context of `count` tokens.

        >>> Brief(1000, full_measurement_share=0.05).measurement(MeasurementPlan.FULL, 500)
        25
        """
        if plan is MeasurementPlan.NONE:
            return 0
        if plan is MeasurementPlan.DELTA:
            return self.delta_measurement_tokens
        if self.full_measurement_tokens is not None:
            return self.full_measurement_tokens
        return round(self.full_measurement_share * count)


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
    """

    freed: int
    rewrite_cost: int
    measurement_cost: int
    unattributed: int = 0
    touched_own_substrate: bool = False
    slack: int = 0
    believed_saving: int = 0
    believed_freed: int = 0


class Lesson(NamedTuple):
    """What a policy learns when an attempt has settled: exact sizes it has paid for. Tokens.

    Attributes
    ----------
    outcome, stage : how and where the attempt ended.
    items : spans that were summarised; 0 where no summary was staged.
    summarised, summaries : tokens that went into summaries and that came out of them.
    tokens : believed count after the attempt.
    """

    outcome: str
    stage: str
    items: int
    summarised: int
    summaries: int
    tokens: int


# --------------------------------------------------------------------------- protocols


class Gate(Protocol):
    """A pre-commit test in two steps: a cheap bound before anything is emitted, an exact proof."""

    name: str

    def admit(self, bound: Bound) -> Verdict:
        """Judge the cheapest bound; refuse here and nothing was spent."""
        ...

    def judge(self, proposal: Proposal) -> Verdict:
        """Judge the exact figures, before commit."""
        ...


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
    """

    arrivals: tuple[Span, ...] = ()
    reply: tuple[Span, ...] = ()
    seconds: float = 0.0
    user_turn: bool = False
    closes: tuple[int, ...] = ()
    events: tuple[tuple[str, str], ...] = ()


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
