"""The gates: pure functions and parts of a policy, one gate a file.

Imports without SimPy, numpy and pandas.
"""

from policies.gates.conservation import ConservationGate
from policies.gates.size_cap import SizeCapGate
from simulator.contracts import RewriteBudgetViolation

__all__ = ["ConservationGate", "RewriteBudgetViolation", "SizeCapGate"]
