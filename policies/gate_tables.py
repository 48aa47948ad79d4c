"""Tables of a policy file for its gates: which are asked, in which order, and with what parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from policies.gates import (
    BindingGate,
    CoherenceGate,
    ConservationGate,
    EvidenceGate,
    PaybackGate,
    PredictionGate,
    ProgressGate,
    ReclaimGate,
    ResultTargetGate,
    SizeCapGate,
)
from simulator.contracts import Gate
from simulator.schema import Amount, Share, Table, Tokens

GATES: dict[str, Callable[..., Gate]] = {
    "binding": BindingGate,
    "coherence": CoherenceGate,
    "conservation": ConservationGate,
    "evidence": EvidenceGate,
    "payback": PaybackGate,
    "prediction": PredictionGate,
    "progress": ProgressGate,
    "reclaim": ReclaimGate,
    "result_target": ResultTargetGate,
    "size_cap": SizeCapGate,
}
"""Gates by the name that a policy file uses."""

GateName = Literal[
    "binding",
    "coherence",
    "conservation",
    "evidence",
    "payback",
    "prediction",
    "progress",
    "reclaim",
    "result_target",
    "size_cap",
]


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


class PaybackTable(SwitchTable):
    """How many more calls are hoped for, and the room in which a rewrite is due whatever it costs."""

    as_many_again: Amount = 1.0
    headroom_turns: Amount = 3.0


class ProgressTable(SwitchTable):
    """The share of the window that a pass must free."""

    share: Annotated[float, Field(gt=0, le=1)] = 0.05


class ReclaimTable(SwitchTable):
    """The least that a plan must take, by each of these; 0 has no say."""

    tokens: Tokens = 0
    share: Share = 0.0
    share_of_messages: Share = 0.0
    counts: Literal["saving", "selected"] = "saving"


class ResultTargetTable(SwitchTable):
    """The share of the window under which the result must be."""

    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class SizeCapTable(SwitchTable):
    """Which two sizes the size cap compares, and whether equal ones pass."""

    scope: Literal["same", "mixed"] = "same"
    equal_passes: bool = False


class GatesTable(Table):
    """The gates: a table for each, and the order in which they are asked. One that is not named is off."""

    order: tuple[GateName, ...] = ()
    binding: BindingTable = BindingTable()
    coherence: CoherenceTable = CoherenceTable()
    conservation: SwitchTable = SwitchTable()
    evidence: EvidenceTable = EvidenceTable()
    payback: PaybackTable = PaybackTable()
    prediction: SwitchTable = SwitchTable()
    progress: ProgressTable = ProgressTable()
    reclaim: ReclaimTable = ReclaimTable()
    result_target: ResultTargetTable = ResultTargetTable()
    size_cap: SizeCapTable = SizeCapTable()

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
