"""Figures of runs and sweeps: tables in, `matplotlib.figure.Figure` out, nothing kept between.

Pure functions over the `turns` and `rewrites` tables of a run (or of many, with columns `policy` and
`replication`) and over tables of a sweep, and `save_figure`, the one way to a file. Importing this
package imports matplotlib: the command line does so only where a figure is asked for.
"""

from experiments.plots.contrasts import difference_table, effect_forest
from experiments.plots.costs import cost_against_occupancy
from experiments.plots.heat import heat_table
from experiments.plots.ledgers import ledger_of_one_rewrite, ledgers_side_by_side
from experiments.plots.minds import compliance_by_epoch, confidence_and_constraints
from experiments.plots.nets import believed_and_true_net
from experiments.plots.regimes import phase_diagram
from experiments.plots.responses import response_with_intervals
from experiments.plots.signatures import signature_table
from experiments.plots.style import ONE_COLUMN, TWO_COLUMNS, PolicyStyle, policy_styles, save_figure
from experiments.plots.turns import occupancy_by_turn

__all__ = [
    "ONE_COLUMN",
    "TWO_COLUMNS",
    "PolicyStyle",
    "believed_and_true_net",
    "compliance_by_epoch",
    "confidence_and_constraints",
    "cost_against_occupancy",
    "difference_table",
    "effect_forest",
    "heat_table",
    "ledger_of_one_rewrite",
    "ledgers_side_by_side",
    "occupancy_by_turn",
    "phase_diagram",
    "policy_styles",
    "response_with_intervals",
    "save_figure",
    "signature_table",
]
