"""The mechanism: context, ledger, transaction, laws, and the processes that live on one clock.

`simulate(setting, policy, seed)` is the door. Knows no policy and no scenario.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "Brief": "contracts",
    "CheckPoint": "contracts",
    "Component": "contracts",
    "InputError": "contracts",
    "MeasurementPlan": "contracts",
    "Policy": "contracts",
    "Proposal": "contracts",
    "RewriteBudgetViolation": "contracts",
    "RewriteLabError": "contracts",
    "RunFailed": "contracts",
    "Terms": "contracts",
    "Turn": "contracts",
    "Verdict": "contracts",
    "Evict": "plan",
    "Fold": "plan",
    "Mask": "plan",
    "RewritePlan": "plan",
    "Summarise": "plan",
    "Laws": "laws",
    "Setting": "setting",
    "Kind": "spans",
    "Span": "spans",
    "Gauge": "view",
    "Item": "view",
    "View": "view",
    "Run": "simulation",
    "simulate": "simulation",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"simulator.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
