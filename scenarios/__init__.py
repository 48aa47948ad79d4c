"""What happens to the agent: scenario files, workloads, expectations, readers of real logs.

`load_scenario(reference)` is the door. Knows no policy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.expectation import Expectation as Expectation
    from scenarios.replay import ReplayScenario as ReplayScenario
    from scenarios.replay import replay_scenarios as replay_scenarios
    from scenarios.scenario import Scenario as Scenario
    from scenarios.scenario import load_scenario as load_scenario
    from scenarios.scenario import scenario_names as scenario_names

_HOME = {
    "Expectation": "expectation",
    "ReplayScenario": "replay",
    "Scenario": "scenario",
    "load_scenario": "scenario",
    "replay_scenarios": "replay",
    "scenario_names": "scenario",
}

__all__ = [
    "Expectation",
    "ReplayScenario",
    "Scenario",
    "load_scenario",
    "replay_scenarios",
    "scenario_names",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
