"""Figures of runs and sweeps: tables in, `matplotlib.figure.Figure` out, nothing kept between.

Pure functions over the `turns` and `rewrites` tables of a run (or of many, with columns `policy` and
`replication`) and over tables of a sweep, and `save_figure`, the one way to a file. Importing this
package imports matplotlib: the command line does so only where a figure is asked for.
"""

from experiments.plots.contrasts import difference_table, effect_forest
from experiments.plots.costs import cost_against_occupancy
from experiments.plots.counts import believed_against_true
from experiments.plots.forests import difference_forest
from experiments.plots.fronts import pareto_front
from experiments.plots.heat import heat_table
from experiments.plots.interactions import interaction_grid
from experiments.plots.ledgers import ledger_of_one_rewrite, ledgers_side_by_side
from experiments.plots.means import means_table
from experiments.plots.minds import compliance_by_epoch, confidence_and_constraints
from experiments.plots.nets import believed_and_true_net
from experiments.plots.rankings import ranking_chart
from experiments.plots.refusals import rejection_against_net
from experiments.plots.regimes import phase_diagram
from experiments.plots.responses import response_with_intervals
from experiments.plots.sensitivity import morris_plane, sensitivity_bars, tornado
from experiments.plots.signatures import signature_table
from experiments.plots.style import ONE_COLUMN, TWO_COLUMNS, PolicyStyle, policy_styles, save_figure
from experiments.plots.survival import survival_curves
from experiments.plots.turns import occupancy_by_turn
from experiments.plots.warmups import welch_picture

__all__ = [
    "ONE_COLUMN",
    "TWO_COLUMNS",
    "PolicyStyle",
    "believed_against_true",
    "believed_and_true_net",
    "compliance_by_epoch",
    "confidence_and_constraints",
    "cost_against_occupancy",
    "difference_forest",
    "difference_table",
    "effect_forest",
    "heat_table",
    "interaction_grid",
    "ledger_of_one_rewrite",
    "ledgers_side_by_side",
    "means_table",
    "morris_plane",
    "occupancy_by_turn",
    "pareto_front",
    "phase_diagram",
    "policy_styles",
    "ranking_chart",
    "rejection_against_net",
    "response_with_intervals",
    "save_figure",
    "sensitivity_bars",
    "signature_table",
    "survival_curves",
    "tornado",
    "welch_picture",
]
