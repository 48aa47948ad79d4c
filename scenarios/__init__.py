"""What happens to the agent: scenario files, workloads, expectations, readers of real logs.

`load_scenario(reference)` is the door. Knows no policy.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "Expectation": "expectation",
    "Scenario": "scenario",
    "load_scenario": "scenario",
    "scenario_names": "scenario",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"scenarios.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
