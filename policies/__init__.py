"""What the agent does about its context: parts, gates, compositions, and the catalogue.

`load_policy(reference)` is the door. Knows no scenario.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policies.checker import check_policy as check_policy
    from policies.composed import ComposedPolicy as ComposedPolicy
    from policies.gates import BindingGate as BindingGate
    from policies.gates import CoherenceGate as CoherenceGate
    from policies.gates import ConservationGate as ConservationGate
    from policies.gates import EvidenceGate as EvidenceGate
    from policies.gates import SizeCapGate as SizeCapGate
    from policies.loader import load_policy as load_policy
    from policies.loader import policy_names as policy_names

_HOME = {
    "BindingGate": "gates",
    "CoherenceGate": "gates",
    "ComposedPolicy": "composed",
    "ConservationGate": "gates",
    "EvidenceGate": "gates",
    "SizeCapGate": "gates",
    "check_policy": "checker",
    "load_policy": "loader",
    "policy_names": "loader",
}

__all__ = [
    "BindingGate",
    "CoherenceGate",
    "ComposedPolicy",
    "ConservationGate",
    "EvidenceGate",
    "SizeCapGate",
    "check_policy",
    "load_policy",
    "policy_names",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
