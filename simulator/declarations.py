"""What a policy declares before a run, and what it is told at its start.

`Terms` with the words it is made of, and the `Brief`. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple


class CheckPoint(StrEnum):
    """The moments of a turn at which a policy may look at its gauge."""

    TURN_START = "turn_start"
    USER_TURN = "user_turn"
    AFTER_RESULT = "after_result"
    BEFORE_REQUEST = "before_request"
    TURN_END = "turn_end"
    OVERFLOW = "overflow"


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
    """Where the record of what was dropped lives: outside the window, or inside, charged or free."""

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


class CounterKind(StrEnum):
    """What a policy's count stands on.

    `running` starts from what was measured last and adds its own estimate of all since; `estimate`
    estimates everything anew; `usage` is what the provider reported of the last request; `cumulative`
    is the sum of all that it reported; `constant` never moves.
    """

    RUNNING = "running"
    ESTIMATE = "estimate"
    USAGE = "usage"
    CUMULATIVE = "cumulative"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class CounterTerms:
    """How a policy counts, with the errors of real counters.

    Attributes
    ----------
    kind : what the count at a check stands on.
    ratio : estimated over true tokens (1 is an exact counter; chars/4 is about 0.72 of what some
        providers bill).
    ratios : the same by content class, where it differs.
    head : the fixed prefix is in the count.
    tail : a count by usage adds the estimate of what came in since that request.
    follows_rewrites : a count by usage loses what a rewrite is estimated to have freed; else it is
        stale until the next request.
    tokens : the count that never moves.
    """

    kind: CounterKind = CounterKind.RUNNING
    ratio: float = 1.0
    ratios: tuple[tuple[str, float], ...] = ()
    head: bool = True
    tail: bool = False
    follows_rewrites: bool = True
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class WindowTerms:
    """The window that a policy believes in.

    Attributes
    ----------
    tokens : a window of its own, right or wrong; None is told the true one.
    follows_switches : it hears of a model switch; else it goes on with the window of the start.
    """

    tokens: int | None = None
    follows_switches: bool = True


@dataclass(frozen=True, slots=True)
class RequestTerms:
    """How a policy asks for a replacement, which is a model request itself.

    Attributes
    ----------
    overhead_tokens : of the summariser's own prompt, each call.
    calls : model calls over the same input, as a draft and a check of it; each writes the summary.
    shares_prefix : the call extends the live prompt, all of it, so that a warm cache serves it; a try
        that leaves something out shares nothing.
    reads_all : it is sent the whole context; else only what is to be replaced.
    coverage_tokens : the newest tokens of what is to be replaced that it is shown; the rest goes
        unread. None shows all.
    from_user : what it is shown begins with a message of the user: what stands before the first one
        shown goes unread. Where none is shown nothing is asked, and a stub stands for the sources.
    stub_tokens : of that stub.
    item_tokens : each item is cut to so many before it is shown. None cuts nothing.
    window : of the summariser's model, tokens; None is the agent's. Without a ladder an input that does
        not fit is not even sent.
    price : of its model, as a share of the agent's prices.
    ladder : shares of its input that further tries are shown, oldest left out, after one that did not
        fit or failed.
    on_failure : when the last try has failed: `leave` the context as it is, `drop` the sources
        without a replacement, or `raise`, which ends the agent.
    refuses_empty : an empty answer is a failed try; else nothing takes the place of the sources.
    """

    overhead_tokens: int = 0
    calls: int = 1
    shares_prefix: bool = False
    reads_all: bool = False
    coverage_tokens: int | None = None
    from_user: bool = False
    stub_tokens: int = 0
    item_tokens: int | None = None
    window: int | None = None
    price: float = 1.0
    ladder: tuple[float, ...] = ()
    on_failure: Literal["leave", "drop", "raise"] = "leave"
    refuses_empty: bool = True


@dataclass(frozen=True, slots=True)
class BackgroundTerms:
    """A rewrite that runs beside the turns.

    Attributes
    ----------
    overwrites : at its end it puts the context as it saw it, rewritten, over what stands by then,
        and loses what came in meanwhile; else it commits only where nothing that it saw has changed.
    """

    overwrites: bool = False


@dataclass(frozen=True, slots=True)
class ReinjectionTerms:
    """What a client puts back into the window after a rewrite.

    Attributes
    ----------
    fixed_tokens : rules and notes that it always sends again.
    results : newest tool results that the rewrite took and it reads again.
    result_tokens : a longer one comes back as its path alone. None brings all back whole.
    standing_tokens : most tokens in all of the standing spans that the rewrite took, newest first;
        None puts all of them back.
    standing_item_tokens : each of them is cut to so many. None cuts nothing.
    """

    fixed_tokens: int = 0
    results: int = 0
    result_tokens: int | None = None
    standing_tokens: int | None = 0
    standing_item_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class KeepWarmTerms:
    """Requests sent while nothing is to do, so that the prompt cache does not expire.

    Attributes
    ----------
    ping_seconds : between two of them.
    longest_seconds : of idling, after which they stop.
    """

    ping_seconds: float
    longest_seconds: float


class Need(StrEnum):
    """What a policy needs of a scenario to be itself; without it its run is skipped, with that reason."""

    USER_TURNS = "user_turns"
    PAIRS = "pairs"
    REFERENCES = "references"


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
    counter : how it counts.
    window : the window that it believes in.
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
    request : how it asks for a replacement.
    background : its rewrites run beside the turns; None blocks the agent while it rewrites.
    reinjection : what is put back after a rewrite.
    keep_warm : requests that keep the prompt cache alive; None sends none.
    needs : what a scenario must have.
    clairvoyant : it is told when each span is used for the last time: a bound.
    """

    check_points: frozenset[CheckPoint] = frozenset({CheckPoint.BEFORE_REQUEST})
    deliberates: bool = True
    rationale_cap: int | None = None
    summary_cap: int | None = None
    measurement: MeasurementPlan = MeasurementPlan.FULL
    checkpoint_every: int = 10
    ambiguity_limit: int = 8
    counter: CounterTerms = CounterTerms()
    window: WindowTerms = WindowTerms()
    charges: frozenset[Component] = frozenset(Component)
    immutable_this_turn: bool = False
    never_summarised: bool = False
    retires: bool = False
    retries: int = 0
    endless_window: bool = False
    tombstones: TombstoneTerms | None = None
    red_flag: bool = False
    instructions: InstructionTerms = InstructionTerms()
    request: RequestTerms = RequestTerms()
    background: BackgroundTerms | None = None
    reinjection: ReinjectionTerms = ReinjectionTerms()
    keep_warm: KeepWarmTerms | None = None
    needs: frozenset[Need] = frozenset()
    clairvoyant: bool = False


class Prices(NamedTuple):
    """The list prices that an agent knows, dollars for one token, and how long a cache lives."""

    input: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    output: float = 0.0
    cache_seconds: float = 0.0


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
    prices : what the provider lists.
    horizon : most turns that the run may have.
    """

    window: int
    output_reserve: int = 0
    summary_floor: int = 0
    summary_cap: int | None = None
    rationale_estimate: int = 0
    full_measurement_share: float = 0.0
    full_measurement_tokens: int | None = None
    delta_measurement_tokens: int = 0
    prices: Prices = Prices()
    horizon: int = 0

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
