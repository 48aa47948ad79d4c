"""The gates: pure functions and parts of a policy, one gate a file.

Imports without SimPy, numpy and pandas; a gate's file is read when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policies.gates.binding import BindingGate as BindingGate
    from policies.gates.coherence import CoherenceGate as CoherenceGate
    from policies.gates.conservation import ConservationGate as ConservationGate
    from policies.gates.evidence import EvidenceGate as EvidenceGate
    from policies.gates.payback import PaybackGate as PaybackGate
    from policies.gates.prediction import PredictionGate as PredictionGate
    from policies.gates.progress import ProgressGate as ProgressGate
    from policies.gates.reclaim import ReclaimGate as ReclaimGate
    from policies.gates.result_target import ResultTargetGate as ResultTargetGate
    from policies.gates.size_cap import SizeCapGate as SizeCapGate
    from simulator.contracts import CoherenceBudgetInversionError as CoherenceBudgetInversionError
    from simulator.contracts import InstructionDecayError as InstructionDecayError
    from simulator.contracts import LossySelfRewriteError as LossySelfRewriteError
    from simulator.contracts import RewriteBudgetViolation as RewriteBudgetViolation

_HOME = {
    "BindingGate": "policies.gates.binding",
    "CoherenceBudgetInversionError": "simulator.contracts",
    "CoherenceGate": "policies.gates.coherence",
    "ConservationGate": "policies.gates.conservation",
    "EvidenceGate": "policies.gates.evidence",
    "InstructionDecayError": "simulator.contracts",
    "LossySelfRewriteError": "simulator.contracts",
    "PaybackGate": "policies.gates.payback",
    "PredictionGate": "policies.gates.prediction",
    "ProgressGate": "policies.gates.progress",
    "ReclaimGate": "policies.gates.reclaim",
    "ResultTargetGate": "policies.gates.result_target",
    "RewriteBudgetViolation": "simulator.contracts",
    "SizeCapGate": "policies.gates.size_cap",
}

__all__ = [
    "BindingGate",
    "CoherenceBudgetInversionError",
    "CoherenceGate",
    "ConservationGate",
    "EvidenceGate",
    "InstructionDecayError",
    "LossySelfRewriteError",
    "PaybackGate",
    "PredictionGate",
    "ProgressGate",
    "ReclaimGate",
    "ResultTargetGate",
    "RewriteBudgetViolation",
    "SizeCapGate",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
