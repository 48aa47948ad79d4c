"""What a policy declares before a run, and what it is told at its start.

`Terms` with the words it is made of, and the `Brief`. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


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
