"""Who runs it: sweeps, statistics, pictures, reproduction, and the command line.

Knows all other floors; no floor knows it.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "Experiment": "experiment",
    "Finding": "judge",
    "experiment_names": "experiment",
    "load_experiment": "experiment",
    "reproduce": "reproduction",
    "sweep": "sweeping",
}

__all__ = [
    "Experiment",
    "Finding",
    "experiment_names",
    "load_experiment",
    "reproduce",
    "sweep",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"experiments.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
