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

from types import SimpleNamespace

from policies import gates
from simulator.contracts import Bound, Proposal
from simulator.plan import Evict, RewritePlan
from simulator.questions import Amendment, Reliance, Vitals
from simulator.spans import Kind


def item(identity, kind=Kind.TOOL_RESULT, **said):
    plain = dict(tokens=100, born=1, cites=(), needed=False, dead=False, marked=False, rederive=50)
    plain |= dict(constraint=False, states=(), replaces=())
    return SimpleNamespace(id=identity, kind=kind, **(plain | said))


def weighed(gate):
    items = [item(1, constraint=True, states=(1,)), item(2, Kind.INSTRUCTION), item(3, cites=(1, 2))]
    gauge = SimpleNamespace(window=2000, tokens=3000, turn=9, idle_seconds=0.0, output_reserve=0)
    gate.weigh(SimpleNamespace(items=items, gauge=gauge), RewritePlan((Evict(1), Evict(2))), 1000)
    return gate


made = [getattr(gates, name) for name in gates.__all__]
judges = [one() for one in made if "judge" in vars(one) and one is not gates.PaybackGate]  # it goes by a plan
assert len(judges) == 7, made
for gate in judges:
    gate.admit(Bound(100, 10, 10))
    assert gate.judge(Proposal(100, 10, 10, believed_freed=100)).accepted, gate
    gate.begin()
    proposal = Proposal(freed=0, rewrite_cost=10, measurement_cost=10, before=3000)
    assert not weighed(gate).judge(proposal).accepted, gate
assert not gates.EvidenceGate().resume(Vitals(1, 2, 0.9, 0.8, None)).accepted
assert not gates.BindingGate().amend(Amendment("payload", narrative=True)).accepted
assert not gates.BindingGate().rely(Reliance("payload", None, {})).accepted
assert [name for name in gates.__all__ if name.endswith(("Error", "Violation"))] == [
    "CoherenceBudgetInversionError",
    "InstructionDecayError",
    "LossySelfRewriteError",
    "RewriteBudgetViolation",
]
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
