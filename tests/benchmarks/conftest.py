"""The rooms of the benchmarks, which are scripts beside each other and no package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules by name; none of them stays loaded."""
    names = sorted(path.stem for path in BENCHMARKS.glob("*.py") if path.stem != "run")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield SimpleNamespace(**{name: import_module(name) for name in names})
    for name in names:
        sys.modules.pop(name, None)
