"""The mechanism: context, ledger, transaction, laws, and the processes that live on one clock.

`simulate(setting, policy, seed)` is the door. Knows no policy and no scenario.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.contracts import ACCEPTED as ACCEPTED
    from simulator.contracts import Bound as Bound
    from simulator.contracts import Brief as Brief
    from simulator.contracts import CheckPoint as CheckPoint
    from simulator.contracts import Component as Component
    from simulator.contracts import Gate as Gate
    from simulator.contracts import Lesson as Lesson
    from simulator.contracts import MeasurementPlan as MeasurementPlan
    from simulator.contracts import Policy as Policy
    from simulator.contracts import Proposal as Proposal
    from simulator.contracts import RewriteBudgetViolation as RewriteBudgetViolation
    from simulator.contracts import Terms as Terms
    from simulator.contracts import Turn as Turn
    from simulator.contracts import Verdict as Verdict
    from simulator.contracts import Workload as Workload
    from simulator.errors import InputError as InputError
    from simulator.errors import RewriteLabError as RewriteLabError
    from simulator.errors import RunFailed as RunFailed
    from simulator.laws import Laws as Laws
    from simulator.plan import Evict as Evict
    from simulator.plan import Fold as Fold
    from simulator.plan import Mask as Mask
    from simulator.plan import RewritePlan as RewritePlan
    from simulator.plan import Summarise as Summarise
    from simulator.setting import Setting as Setting
    from simulator.simulation import Run as Run
    from simulator.simulation import simulate as simulate
    from simulator.spans import Kind as Kind
    from simulator.spans import Span as Span
    from simulator.view import Gauge as Gauge
    from simulator.view import Item as Item
    from simulator.view import View as View

_HOME = {
    "ACCEPTED": "contracts",
    "Bound": "contracts",
    "Gate": "contracts",
    "Lesson": "contracts",
    "Workload": "contracts",
    "Brief": "contracts",
    "CheckPoint": "contracts",
    "Component": "contracts",
    "Evict": "plan",
    "Fold": "plan",
    "Gauge": "view",
    "InputError": "errors",
    "Item": "view",
    "Kind": "spans",
    "Laws": "laws",
    "Mask": "plan",
    "MeasurementPlan": "contracts",
    "Policy": "contracts",
    "Proposal": "contracts",
    "RewriteBudgetViolation": "contracts",
    "RewriteLabError": "errors",
    "RewritePlan": "plan",
    "Run": "simulation",
    "RunFailed": "errors",
    "Setting": "setting",
    "Span": "spans",
    "Summarise": "plan",
    "Terms": "contracts",
    "Turn": "contracts",
    "Verdict": "contracts",
    "View": "view",
    "simulate": "simulation",
}

__all__ = [
    "ACCEPTED",
    "Bound",
    "Brief",
    "CheckPoint",
    "Component",
    "Evict",
    "Fold",
    "Gate",
    "Gauge",
    "InputError",
    "Item",
    "Kind",
    "Laws",
    "Lesson",
    "Mask",
    "MeasurementPlan",
    "Policy",
    "Proposal",
    "RewriteBudgetViolation",
    "RewriteLabError",
    "RewritePlan",
    "Run",
    "RunFailed",
    "Setting",
    "Span",
    "Summarise",
    "Terms",
    "Turn",
    "Verdict",
    "View",
    "Workload",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
