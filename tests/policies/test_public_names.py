"""The public names of the package: each is there, lazily, and nothing else pretends to be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import policies
from policies import gates

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("package", [policies, gates])
def test_every_name_in_all_is_there_once(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    for name in names:
        made = getattr(package, name)
        assert getattr(made, "__doc__", None), name


def test_the_door_is_among_them() -> None:
    assert {"load_policy", "policy_names", "ComposedPolicy", "ConservationGate"} <= set(policies.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = policies.no_such_name


def test_importing_the_package_imports_no_room_of_it() -> None:
    code = "import sys, policies; print([name for name in sys.modules if name.startswith('policies.')])"
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert seen.stdout.strip() == "[]"


def test_no_policy_room_imports_a_scenario_or_an_experiment() -> None:
    folder = Path(policies.__file__).parent
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert (module or "").split(".")[0] not in {"scenarios", "experiments"}, file
