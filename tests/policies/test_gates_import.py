"""The gates can be lifted into a real agent: they import, and judge, where the libraries are not."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

BLOCKED = {"simpy", "numpy", "pandas", "scipy", "pydantic", "matplotlib", "typer", "rich", "pyarrow"}


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"{name} is blocked")


sys.meta_path.insert(0, Blocker())
for name in ("simpy", "numpy", "pandas"):
    try:
        __import__(name)
    except ImportError:
        pass
    else:
        raise SystemExit(f"{name} was not blocked")

from policies import gates
from simulator.contracts import Bound, Proposal

made = [getattr(gates, name) for name in gates.__all__]
judges = [one() for one in made if hasattr(one, "judge")]
assert judges, made
for gate in judges:
    gate.admit(Bound(100, 10, 10))
    assert not gate.judge(Proposal(freed=0, rewrite_cost=10, measurement_cost=10)).accepted, gate
    assert gate.judge(Proposal(100, 10, 10, believed_freed=100)).accepted, gate
try:
    gates.ConservationGate().judge(Proposal(0, 10, 10)).require()
except gates.RewriteBudgetViolation as refusal:
    print(refusal)
loaded = BLOCKED & {name.partition(".")[0] for name in sys.modules}
assert not loaded, loaded
"""


@pytest.mark.contract
def test_gates_import_and_judge_with_the_libraries_blocked() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "net=-20" in done.stdout
