"""What the agent does about its context: parts, gates, compositions, and the catalogue.

`load_policy(reference)` is the door. Knows no scenario.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "ComposedPolicy": "composed",
    "ConservationGate": "gates",
    "SizeCapGate": "gates",
    "load_policy": "library",
    "policy_names": "library",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"policies.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
