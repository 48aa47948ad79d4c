"""What columns of replications say: estimates with intervals, and tests, each verified against theory.

Pure functions: numbers in, numbers out; no file, no experiment. scipy is imported where it is used.
"""

from experiments.statistics.fronts import on_front
from experiments.statistics.intervals import (
    CONFIDENCE,
    Interval,
    Moments,
    bootstrap_interval,
    excludes_zero,
    mean_interval,
    quantile_interval,
    share_interval,
)
from experiments.statistics.multiple import (
    bonferroni_confidence,
    family_false_alarm_rate,
    holm,
    mcnemar_p_value,
    paired_t_p_value,
)
from experiments.statistics.pairs import (
    PairedDifference,
    paired,
    paired_difference,
    paired_share_difference,
    share_contrast,
)
from experiments.statistics.selection import BestVerdict, Race, compare_with_best, kim_nelson
from experiments.statistics.sensitivity import (
    ElementaryEffect,
    SobolIndex,
    elementary_effects,
    sobol_indices,
)
from experiments.statistics.survival import (
    Lifetimes,
    SurvivalCurve,
    kaplan_meier,
    restricted_mean,
)
from experiments.statistics.warmup import mser, welch_average

__all__ = [
    "CONFIDENCE",
    "BestVerdict",
    "ElementaryEffect",
    "Interval",
    "Lifetimes",
    "Moments",
    "PairedDifference",
    "Race",
    "SobolIndex",
    "SurvivalCurve",
    "bonferroni_confidence",
    "bootstrap_interval",
    "compare_with_best",
    "elementary_effects",
    "excludes_zero",
    "family_false_alarm_rate",
    "holm",
    "kaplan_meier",
    "kim_nelson",
    "mcnemar_p_value",
    "mean_interval",
    "mser",
    "on_front",
    "paired",
    "paired_difference",
    "paired_share_difference",
    "paired_t_p_value",
    "quantile_interval",
    "restricted_mean",
    "share_contrast",
    "share_interval",
    "sobol_indices",
    "welch_average",
]
