"""Who runs it: sweeps, statistics, pictures, reproduction, and the command line.

Knows all other floors; no floor knows it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.clusters import cluster as cluster
    from experiments.experiment import Experiment as Experiment
    from experiments.experiment import experiment_names as experiment_names
    from experiments.experiment import load_experiment as load_experiment
    from experiments.judge import Finding as Finding
    from experiments.reproduction import reproduce as reproduce
    from experiments.results import Results as Results
    from experiments.results import results_of as results_of
    from experiments.sweeping import sweep as sweep

_HOME = {
    "Experiment": "experiment",
    "Finding": "judge",
    "Results": "results",
    "cluster": "clusters",
    "experiment_names": "experiment",
    "load_experiment": "experiment",
    "reproduce": "reproduction",
    "results_of": "results",
    "sweep": "sweeping",
}

__all__ = [
    "Experiment",
    "Finding",
    "Results",
    "cluster",
    "experiment_names",
    "load_experiment",
    "reproduce",
    "results_of",
    "sweep",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
