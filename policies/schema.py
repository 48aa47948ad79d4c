"""The schema of a policy file: what its tables and keys may hold, and how they become a policy.

Every key has a default that leaves its part out, so that a file says only what its policy does.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from policies.admission import AdmissionTerms
from policies.composed import ComposedPolicy, Parts
from policies.gate_tables import GatesTable
from policies.replacements import ReplacementRule
from policies.tables import (
    BackgroundTable,
    CounterTable,
    GuardTable,
    KeepWarmTable,
    ReinjectionTable,
    RequestTable,
    SelectorTable,
    TriggerTable,
    WindowTable,
)
from simulator.contracts import (
    Component,
    Fingerprint,
    InstructionTerms,
    MeasurementPlan,
    Need,
    Placement,
    Terms,
    TombstoneTerms,
)
from simulator.schema import Positive, Share, Table, Tokens


class DeliberationTable(Table):
    """Whether a planner writes a rationale, and how long it may be."""

    enabled: bool = True
    cap: Annotated[int, Field(ge=1)] | None = None


class ReplacementTable(Table):
    """What takes their place, and how large the policy believes it to be."""

    kind: Literal["summary", "mask", "clip", "evict", "digest"] = "summary"
    ratio: Share = 0.30
    ratio_per_pass: Share = 0.45
    cap: Annotated[int, Field(ge=1)] | None = None
    placeholder: Tokens = 12
    clip_tokens: Annotated[int, Field(ge=1, le=10**9)] = 100
    clip_over: Tokens = 0
    group: Literal["item", "pair", "all"] = "pair"
    position: Literal["first", "last"] = "first"


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


class PolicyFile(Table):
    """One policy.

    `group` is the part of the catalogue that it belongs to, `version` that of the system which it
    stands for, `gate_class` what that system asks before it commits (policy zoo: G0 nothing, G1 a least
    to reclaim, G2 smaller than before, G3 under a target, G4 a predicted saving, G5 prices and the lost
    cache), `prefix` whether its request for a summary can be served by the cache of the agent's prompt.
    """

    summary: str = ""
    source: str = ""
    version: str = ""
    group: Literal["records", "comparators", "zoo", "stages", "bounds", "conserving", "own"] = "own"
    gate_class: Literal["", "G0", "G1", "G2", "G3", "G4", "G5"] = ""
    prefix: Literal["", "shared", "fresh", "none"] = ""
    needs: tuple[Need, ...] = ()
    class_: str | None = Field(default=None, alias="class")
    parameters: dict[str, object] = Field(default_factory=dict)
    trigger: TriggerTable = TriggerTable()
    counter: CounterTable = CounterTable()
    window: WindowTable = WindowTable()
    deliberation: DeliberationTable = DeliberationTable()
    selector: SelectorTable = SelectorTable()
    replacement: ReplacementTable = ReplacementTable()
    request: RequestTable = RequestTable()
    background: BackgroundTable = BackgroundTable()
    reinjection: ReinjectionTable = ReinjectionTable()
    keep_warm: KeepWarmTable = KeepWarmTable()
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
        replacement, tombstones = self.replacement, self._tombstone_terms()
        charges = {
            Component.RATIONALE: self.charging.rationale,
            Component.MEASUREMENT: self.charging.measurement,
        }
        terms = Terms(
            check_points=frozenset(self.trigger.check_points),
            deliberates=self.deliberation.enabled,
            rationale_cap=self.deliberation.cap,
            summary_cap=replacement.cap,
            measurement=self.measurement.plan,
            checkpoint_every=self.measurement.checkpoint_every,
            ambiguity_limit=self.measurement.ambiguity_limit,
            counter=self.counter.terms(),
            window=self.window.terms(),
            charges=frozenset(component for component, charged in charges.items() if charged),
            immutable_this_turn=self.marks.immutable_this_turn,
            never_summarised=self.marks.never_summarised,
            retires=self.marks.retire,
            retries=self.guard.retries,
            endless_window=self.guard.endless_window,
            tombstones=tombstones,
            red_flag=self._looks_at_turn_start,
            instructions=self._instruction_terms(),
            request=self.request.terms(),
            background=self.background.terms(),
            reinjection=self.reinjection.terms(),
            keep_warm=self.keep_warm.terms(),
            needs=frozenset(self.needs),
        )
        parts = Parts(
            trigger=self.trigger.trigger(),
            selector=self.selector.selector(),
            replacement=ReplacementRule(
                kind=replacement.kind,
                ratio=replacement.ratio,
                ratio_per_pass=replacement.ratio_per_pass,
                cap=replacement.cap,
                placeholder=replacement.placeholder,
                clip_tokens=replacement.clip_tokens,
                clip_over=replacement.clip_over,
                group_by=replacement.group,
                position=replacement.position,
                tombstone=0 if tombstones is None else _charged_tokens(tombstones),
            ),
            admission=AdmissionTerms(
                self.admission.moving_average, self.admission.weight, self.admission.lapse
            ),
            guard=self.guard.terms(),
            gates=self.gates.gates(),
        )
        return ComposedPolicy(name, terms, parts)

    @property
    def _looks_at_turn_start(self) -> bool:
        """Whether the policy is asked at each turn's start whether to go on."""
        red_flag = self.gates.asks("evidence") and self.gates.evidence.red_flag
        return red_flag or self.guard.halt_after is not None

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
