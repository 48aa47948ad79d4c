"""The schema of a policy file: what its tables and keys may hold, and how they become a policy.

Every key has a default that leaves its part out, so that a file says only what its policy does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from policies.admission import AdmissionTerms
from policies.composed import ComposedPolicy, Parts
from policies.gates import BindingGate, CoherenceGate, ConservationGate, EvidenceGate, SizeCapGate
from policies.guards import GuardTerms
from policies.replacements import ReplacementRule
from policies.selectors import Order, Selector
from policies.triggers import Trigger
from simulator.contracts import (
    CheckPoint,
    Component,
    Fingerprint,
    Gate,
    InstructionTerms,
    MeasurementPlan,
    Placement,
    Terms,
    TombstoneTerms,
)
from simulator.schema import Amount, Positive, Share, Table, Tokens
from simulator.spans import Kind

GATES: dict[str, Callable[..., Gate]] = {
    "binding": BindingGate,
    "coherence": CoherenceGate,
    "conservation": ConservationGate,
    "evidence": EvidenceGate,
    "size_cap": SizeCapGate,
}
"""Gates by the name that a policy file uses."""

GateName = Literal["binding", "coherence", "conservation", "evidence", "size_cap"]


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

    order: Order = "verbosity"
    limit: Annotated[int, Field(ge=1)] | None = None
    kinds: tuple[Kind, ...] | None = None
    exempt: tuple[Kind, ...] = (Kind.TRACE,)
    keep_last: Tokens = 0
    dead_first: bool = False
    evict_unit: Literal["item", "subgoal"] = "item"
    only_savings: bool = False
    recency_weight: Amount = 1.0
    salience_weight: Amount = 1.0
    salience_turns: Annotated[int, Field(ge=1)] = 10


class ReplacementTable(Table):
    """What takes their place, and how large the policy believes it to be."""

    kind: Literal["summary", "mask", "evict", "digest"] = "summary"
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


class TombstonesTable(Table):
    """Where the record of what is dropped stands, and its tokens; none without the evidence gate."""

    placement: Literal["none", "outside", "inside-charged", "inside-free"] = "none"
    tokens: Annotated[int, Field(ge=1, le=10**6)] = 12


class InstructionsTable(Table):
    """How the policy writes instructions to itself."""

    edits: bool = True
    fingerprint: Fingerprint = Fingerprint.NONE
    diagnoses: bool = False
    monotonic: bool = False
    consolidates: bool = False
    emphatic: bool = False
    repeats_every: Annotated[int, Field(ge=1)] | None = None


class SwitchTable(Table):
    """A gate that is on or off."""

    enabled: bool = True


class EvidenceTable(SwitchTable):
    """What the evidence gate looks for beside lost constraints."""

    red_flag: bool = True
    pins: bool = True


class CoherenceTable(SwitchTable):
    """When the coherence gate speaks, and what it keeps out of a plan's way."""

    threshold: Amount = 0.3
    retain_antecedents: bool = True
    cheap_tokens: Tokens = 0


class BindingTable(SwitchTable):
    """What the binding gate asks of an instruction."""

    cap: int | Literal["none"] = 4
    imperative: bool = True
    rederive: bool = True
    retain: bool = True

    @field_validator("cap")
    @classmethod
    def _at_least_one(cls, cap: int | Literal["none"]) -> int | Literal["none"]:
        if cap != "none" and cap < 1:
            raise ValueError("expected 1 instruction or more, or 'none'")
        return cap


class GatesTable(Table):
    """The gates: a table for each, and the order in which they are asked. One that is not named is off."""

    order: tuple[GateName, ...] = ()
    binding: BindingTable = BindingTable()
    coherence: CoherenceTable = CoherenceTable()
    conservation: SwitchTable = SwitchTable()
    evidence: EvidenceTable = EvidenceTable()
    size_cap: SwitchTable = SwitchTable()

    @field_validator("order")
    @classmethod
    def _each_once(cls, order: tuple[GateName, ...]) -> tuple[GateName, ...]:
        twice = next((name for name in order if order.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"gate {twice!r} stands twice; expected each once")
        return order

    def asks(self, name: GateName) -> bool:
        """Whether a gate is asked: it stands in the order and is enabled."""
        table: SwitchTable = getattr(self, name)
        return name in self.order and table.enabled

    def gates(self) -> tuple[Gate, ...]:
        """Return the gates that are asked, in their order."""
        return tuple(GATES[name](**self._arguments(name)) for name in self.order if self.asks(name))

    def _arguments(self, name: GateName) -> dict[str, object]:
        table: SwitchTable = getattr(self, name)
        said = table.model_dump(exclude={"enabled"})
        return {key: None if value == "none" else value for key, value in said.items()}


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
    tombstones: TombstonesTable = TombstonesTable()
    instructions: InstructionsTable = InstructionsTable()
    guard: GuardTable = GuardTable()

    @model_validator(mode="after")
    def _no_contradiction(self) -> PolicyFile:
        """Refuse a cure without the gate that it belongs to, and a gate without what it reads."""
        gates, placement, instructions = self.gates, self.tombstones.placement, self.instructions
        tag = instructions.fingerprint
        untagged = tag is Fingerprint.NONE
        if placement != "none" and "evidence" not in gates.order:
            raise ValueError(
                f"tombstones.placement is {placement!r} without the evidence gate; expected 'none', or "
                "'evidence' in gates.order"
            )
        if not untagged and "binding" not in gates.order:
            raise ValueError(
                f"instructions.fingerprint is {tag.value!r} without the binding gate; expected 'none', or "
                "'binding' in gates.order"
            )
        if instructions.consolidates and "binding" not in gates.order:
            raise ValueError(
                "instructions.consolidates is true without the binding gate; expected false, or 'binding' in "
                "gates.order"
            )
        if untagged and gates.asks("binding") and gates.binding.rederive:
            raise ValueError(
                "instructions.fingerprint is 'none' where gates.binding.rederive is true, so that all is "
                "stale; expected 'outside' or 'inside'"
            )
        return self

    def policy(self, name: str) -> ComposedPolicy:
        """Return the composed policy that the file describes."""
        trigger, selector, replacement = self.trigger, self.selector, self.replacement
        tombstones = self._tombstone_terms()
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
            tombstones=tombstones,
            red_flag=self.gates.asks("evidence") and self.gates.evidence.red_flag,
            instructions=self._instruction_terms(),
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
                recency_weight=selector.recency_weight,
                salience_weight=selector.salience_weight,
                salience_turns=selector.salience_turns,
            ),
            replacement=ReplacementRule(
                kind=replacement.kind,
                ratio=replacement.ratio,
                ratio_per_pass=replacement.ratio_per_pass,
                cap=replacement.cap,
                placeholder=replacement.placeholder,
                fold_pairs=replacement.fold_pairs,
                tombstone=0 if tombstones is None else _charged_tokens(tombstones),
            ),
            admission=AdmissionTerms(
                self.admission.moving_average, self.admission.weight, self.admission.lapse
            ),
            guard=GuardTerms(self.guard.escalate_after, self.guard.reset),
            gates=self.gates.gates(),
        )
        return ComposedPolicy(name, terms, parts)

    def _tombstone_terms(self) -> TombstoneTerms | None:
        """Return where tombstones stand; without the evidence gate there are none."""
        said = self.tombstones
        if said.placement == "none" or not self.gates.asks("evidence"):
            return None
        return TombstoneTerms(Placement(said.placement), said.tokens)

    def _instruction_terms(self) -> InstructionTerms:
        """Return how instructions are written; without the binding gate they carry no fingerprint."""
        said = self.instructions
        return InstructionTerms(
            edits=said.edits,
            fingerprint=said.fingerprint if self.gates.asks("binding") else Fingerprint.NONE,
            diagnoses=said.diagnoses,
            monotonic=said.monotonic,
            consolidates=said.consolidates,
            emphatic=said.emphatic,
            repeats_every=said.repeats_every,
        )


def _charged_tokens(tombstones: TombstoneTerms) -> int:
    """Return what the policy charges itself for one tombstone."""
    return tombstones.tokens if tombstones.placement is Placement.INSIDE_CHARGED else 0
