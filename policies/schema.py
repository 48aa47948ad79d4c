"""The schema of a policy file: what its tables and keys may hold, and how they become a policy.

Every key has a default that leaves its part out, so that a file says only what its policy does.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from policies.admission import AdmissionTerms
from policies.composed import ComposedPolicy, Parts
from policies.gates import ConservationGate, SizeCapGate
from policies.guards import GuardTerms
from policies.replacements import ReplacementRule
from policies.selectors import Selector
from policies.triggers import Trigger
from simulator.contracts import CheckPoint, Component, Gate, MeasurementPlan, Terms
from simulator.schema import Positive, Share, Table, Tokens
from simulator.spans import Kind

GATES: dict[str, type[Gate]] = {"conservation": ConservationGate, "size_cap": SizeCapGate}
"""Gates by the name that a policy file uses."""

GateName = Literal["conservation", "size_cap"]


class TriggerTable(Table):
    """When an attempt starts. Without `fraction` the policy never rewrites."""

    fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    low_watermark: Share | None = None
    regrow: Share = 0.0
    check_points: Annotated[tuple[CheckPoint, ...], Field(min_length=1)] = (CheckPoint.BEFORE_REQUEST,)


class CounterTable(Table):
    """How the policy counts: believed over true tokens."""

    ratio: Annotated[float, Field(gt=0, le=10)] = 1.0


class DeliberationTable(Table):
    """Whether a planner writes a rationale, and how long it may be."""

    enabled: bool = True
    cap: Annotated[int, Field(ge=1)] | None = None


class SelectorTable(Table):
    """Which spans are replaced."""

    order: Literal["verbosity", "saving", "oldest"] = "verbosity"
    limit: Annotated[int, Field(ge=1)] | None = None
    kinds: tuple[Kind, ...] | None = None
    exempt: tuple[Kind, ...] = (Kind.TRACE,)
    keep_last: Tokens = 0
    dead_first: bool = False
    evict_unit: Literal["item", "subgoal"] = "item"
    only_savings: bool = False


class ReplacementTable(Table):
    """What takes their place, and how large the policy believes it to be."""

    kind: Literal["summary", "mask", "evict"] = "summary"
    ratio: Share = 0.30
    ratio_per_pass: Share = 0.45
    cap: Annotated[int, Field(ge=1)] | None = None
    placeholder: Tokens = 12
    fold_pairs: bool = True


class MeasurementTable(Table):
    """How the new count is confirmed."""

    plan: MeasurementPlan = MeasurementPlan.FULL
    checkpoint_every: Annotated[int, Field(ge=1)] = 10
    ambiguity_limit: Tokens = 8


class ChargingTable(Table):
    """Which components the policy charges to its own rewrite."""

    rationale: bool = True
    measurement: bool = True


class MarksTable(Table):
    """How the policy's own records are kept out of its hands."""

    immutable_this_turn: bool = False
    never_summarised: bool = False
    retire: bool = False


class AdmissionTable(Table):
    """What the policy hopes to free before it emits anything."""

    moving_average: bool = True
    weight: Annotated[float, Field(gt=0, le=1)] = 0.6
    lapse: Positive | None = None


class GatesTable(Table):
    """The gates, in the order in which they are asked."""

    order: tuple[GateName, ...] = ()


class GuardTable(Table):
    """What happens after refusals and failures."""

    escalate_after: Annotated[int, Field(ge=1)] | None = None
    reset: Literal["commit", "recovery"] = "commit"
    retries: Annotated[int, Field(ge=0, le=20)] = 0
    endless_window: bool = False


class PolicyFile(Table):
    """One policy."""

    summary: str = ""
    source: str = ""
    class_: str | None = Field(default=None, alias="class")
    trigger: TriggerTable = TriggerTable()
    counter: CounterTable = CounterTable()
    deliberation: DeliberationTable = DeliberationTable()
    selector: SelectorTable = SelectorTable()
    replacement: ReplacementTable = ReplacementTable()
    measurement: MeasurementTable = MeasurementTable()
    charging: ChargingTable = ChargingTable()
    marks: MarksTable = MarksTable()
    admission: AdmissionTable = AdmissionTable()
    gates: GatesTable = GatesTable()
    guard: GuardTable = GuardTable()

    def policy(self, name: str) -> ComposedPolicy:
        """Return the composed policy that the file describes."""
        trigger, selector, replacement = self.trigger, self.selector, self.replacement
        points = frozenset(trigger.check_points)
        charges = {
            Component.RATIONALE: self.charging.rationale,
            Component.MEASUREMENT: self.charging.measurement,
        }
        terms = Terms(
            check_points=points,
            deliberates=self.deliberation.enabled,
            rationale_cap=self.deliberation.cap,
            summary_cap=replacement.cap,
            measurement=self.measurement.plan,
            checkpoint_every=self.measurement.checkpoint_every,
            ambiguity_limit=self.measurement.ambiguity_limit,
            counter_ratio=self.counter.ratio,
            charges=frozenset(component for component, charged in charges.items() if charged),
            immutable_this_turn=self.marks.immutable_this_turn,
            never_summarised=self.marks.never_summarised,
            retires=self.marks.retire,
            retries=self.guard.retries,
            endless_window=self.guard.endless_window,
        )
        fires = (
            None
            if trigger.fraction is None
            else Trigger(trigger.fraction, trigger.low_watermark, trigger.regrow, points)
        )
        parts = Parts(
            trigger=fires,
            selector=Selector(
                order=selector.order,
                limit=selector.limit,
                kinds=frozenset(Kind if selector.kinds is None else selector.kinds),
                exempt=frozenset(selector.exempt),
                keep_last=selector.keep_last,
                dead_first=selector.dead_first,
                evict_unit=selector.evict_unit,
                only_savings=selector.only_savings,
            ),
            replacement=ReplacementRule(
                kind=replacement.kind,
                ratio=replacement.ratio,
                ratio_per_pass=replacement.ratio_per_pass,
                cap=replacement.cap,
                placeholder=replacement.placeholder,
                fold_pairs=replacement.fold_pairs,
            ),
            admission=AdmissionTerms(
                self.admission.moving_average, self.admission.weight, self.admission.lapse
            ),
            guard=GuardTerms(self.guard.escalate_after, self.guard.reset),
            gates=tuple(GATES[gate]() for gate in self.gates.order),
        )
        return ComposedPolicy(name, terms, parts)
