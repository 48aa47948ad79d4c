"""The seams of the house: what crosses between the floors.

Protocols (`Policy`, `Gate`, `Workload`), the `Terms` a policy declares, the `Bound` and the
`Proposal` a gate judges, the `Verdict` it returns, and the refusals of the field records; what a
policy is asked between rewrites is in `questions`. Standard library only, so that a gate can be
lifted into a real agent as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from simulator.plan import RewritePlan
    from simulator.questions import Amendment, Reliance, Vitals
    from simulator.spans import Span
    from simulator.streams import Streams
    from simulator.view import Gauge, View

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


class Placement(StrEnum):
    """Where a marker lives that must outlast a rewrite: a tombstone, or the fingerprint of premises."""

    OUTSIDE = "outside"
    INSIDE_CHARGED = "inside-charged"
    INSIDE_FREE = "inside-free"


class Fingerprint(StrEnum):
    """Where a self-written instruction keeps the versions of the premises that it names."""

    NONE = "none"
    OUTSIDE = "outside"
    INSIDE = "inside"


@dataclass(frozen=True, slots=True)
class TombstoneTerms:
    """The record that a policy leaves of each span it drops: where it stands and its tokens."""

    placement: Placement = Placement.OUTSIDE
    tokens: int = 12


@dataclass(frozen=True, slots=True)
class InstructionTerms:
    """How a policy writes instructions to itself.

    Attributes
    ----------
    edits : failures make it write instructions at all.
    fingerprint : where an instruction keeps the versions of its premises; a rewrite can forge what
        stands inside.
    diagnoses : it waits a turn, until the cause of a failure is known.
    monotonic : instructions are only ever added to: none shadows another.
    consolidates : when one more may not be written, those of its topic become one.
    emphatic : it writes them in capitals: salience, not force.
    repeats_every : turns after which it says them all again; None never does. Salience, not force.
    """

    edits: bool = True
    fingerprint: Fingerprint = Fingerprint.NONE
    diagnoses: bool = False
    monotonic: bool = False
    consolidates: bool = False
    emphatic: bool = False
    repeats_every: int | None = None


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
    tombstones : the record that it leaves of what it drops; None leaves none.
    red_flag : it looks at its own size and confidence at the start of each turn.
    instructions : how it writes instructions to itself.
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
    tombstones: TombstoneTerms | None = None
    red_flag: bool = False
    instructions: InstructionTerms = InstructionTerms()


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
    before : in the window at this moment, by that counter.
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
    """A pre-commit test in two steps: a cheap bound before anything is emitted, an exact proof.

    Subclass it: what a gate has no opinion on, it accepts. A gate is begun anew for every run.
    """

    name: str = "gate"

    def begin(self) -> None:
        """Forget the last run."""

    def admit(self, bound: Bound) -> Verdict:
        """Judge the cheapest bound; refuse here and nothing was spent."""
        return ACCEPTED

    def spares(self, view: View) -> Collection[int]:
        """Return the ids that the plan to come must leave alone."""
        return ()

    def weigh(self, view: View, plan: RewritePlan, target: int) -> None:
        """Take note of a plan before it is staged, and of the tokens that it should end at."""

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
    """

    arrivals: tuple[Span, ...] = ()
    reply: tuple[Span, ...] = ()
    seconds: float = 0.0
    user_turn: bool = False
    closes: tuple[int, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    step: Step | None = None


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
