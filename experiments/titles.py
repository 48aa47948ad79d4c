"""What a picture of a sweep is called: words for factors and responses, and the two lines above it.

In: the results and what is asked for. Out: words; nothing is estimated here. The first line says what is
shown, with its unit; the second where, of how many runs, and what the intervals are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from experiments.experiment import Experiment, PlotTable
from experiments.pictures import analysis_of
from experiments.reports import counted
from experiments.results import Results
from scenarios.definitions import definition_of
from scenarios.measures import is_yes_or_no

SUFFIXES = ("_pct", "_tokens", "_usd", "_seconds")
"""Ends of names that a unit says better."""

PLAIN_WORDS = {"usd": "cost", "seconds": "time"}
"""Units that stand as a word in a name, and what is measured in them."""

UNIT_WORDS = {"1": "", "0 or 1": "share of runs"}
"""Units of a run's response that are others, or none, of a mean over runs."""


class Title(NamedTuple):
    """The two lines above a picture."""

    headline: str
    detail: str


def titled(experiment: Experiment) -> dict[str, str]:
    """Return the words for factors and responses, with their units, by name."""
    words = {factor.name: in_words(factor.name, factor.unit) for factor in experiment.file.factor}
    return words | {name: in_words(name, unit_of(name)) for name in experiment.file.responses}


def unit_of(response: str) -> str:
    """Return the unit of the mean of a response over runs.

    >>> unit_of("overflowed"), unit_of("usd"), unit_of("turns")
    ('share of runs', '$', '')
    """
    unit, _ = definition_of(response)
    return UNIT_WORDS.get(unit, unit)


def in_words(name: str, unit: str) -> str:
    """Return the words for a name, with its unit once.

    >>> in_words("net_after_rederivation_tokens", "tokens"), in_words("usd_a_turn", "$")
    ('Net after rederivation (tokens)', 'Cost a turn ($)')
    >>> in_words("sound_turns", "turns")
    'Sound turns'
    """
    words = bare_words(name, unit)
    return f"{words} ({unit})" if unit and not words.lower().endswith(unit) else words


def bare_words(name: str, unit: str) -> str:
    """Return the words for a name without the unit that it may end in.

    >>> bare_words("max_occupancy_pct", "% of window"), bare_words("policy.cap", "")
    ('Max occupancy', 'Cap')
    """
    stem = name.rsplit(".", 1)[-1]
    if unit:
        stem = next((stem.removesuffix(end) for end in SUFFIXES if stem.endswith(end)), stem)
    words = " ".join(PLAIN_WORDS.get(word, word) for word in stem.split("_") if word) or name
    return f"{words[:1].upper()}{words[1:]}"


def _inside(words: str) -> str:
    """Return words as they stand within a sentence."""
    return f"{words[:1].lower()}{words[1:]}"


HEADLINES = {
    "response": "{response} by {factors}",
    "heat": "Mean {response} over {factors}",
    "phase": "Where the agent spirals: regimes over {factors}",
    "table": "All responses, point by point",
    "differences": "What each level of {factors} changes against {baseline}, in the same worlds",
    "effects": "Effects of the factors on {response}",
    "interactions": "{response} by two factors at a time",
    "comparison": "{response}: policies against {baseline} in the same worlds",
    "ranking": "Policies by {response}",
    "pareto": "{y} against {x}, both taken to be small",
    "survival": "How long runs last without overflow, death or halt (turns)",
    "sensitivity": "What {response} hangs on",
    "tornado": "How far each factor swings {response}",
    "rejection": "Attempts refused (share) against the net of an attempt (tokens)",
    "occupancy": "Occupancy (% of window) by turn",
    "believed": "Error of the believed count (%) by turn",
    "ledger": "Ledger of the first rewrite (tokens)",
    "welch": "Mean occupancy (% of window) by turn, and the warm-up that MSER-5 cuts",
}
"""The first line of each kind of picture."""

WHAT_IS_DRAWN = {
    "response": "bars and bands: 95% interval of the mean over runs ({method})",
    "heat": "means over runs, without intervals",
    "phase": "by the mean net of an attempt against 0 and against arrivals",
    "table": "mean, and its 95% interval over runs",
    "differences": "95% interval of the mean over pairs",
    "effects": "bars: 95% interval over worlds",
    "interactions": "bars: 95% interval of the mean over worlds",
    "comparison": "{better} is taken for better; 95% intervals over pairs",
    "ranking": "{better} is taken for better; bars: 95% interval over runs ({method})",
    "pareto": "crosses: 95% intervals over runs",
    "survival": "Kaplan-Meier; bands: 95%",
    "sensitivity": "{indices}; bars: 95% interval over points of the design",
    "tornado": "lines: 95% interval over worlds",
    "rejection": "means over runs; crosses: 95% intervals over runs ({of_means}, the share within [0, 1])",
    "occupancy": "by turn, over runs",
    "believed": "line: mean over runs, band: its 95% interval",
    "ledger": "as the policy believes it, and as it is",
    "welch": "smoothed by a moving average",
}
"""The end of the second line: what estimates and intervals are."""

INTERVALS, NO_INTERVALS = "95%", "too few worlds for an interval"
"""What tells that a part of the second line is about intervals, and what it is where there is none."""

OF_HISTORIES = ("occupancy", "believed", "ledger", "welch")
"""Kinds that show some runs made again, of which there is no table, and say which beneath."""


def title_of(results: Results, plot: PlotTable) -> Title:
    """Return the title of a picture."""
    experiment, words = results.experiment, titled(results.experiment)
    of_means = "bootstrap" if experiment.file.intervals == "bootstrap" else "Student's"
    responses = {"response": plot.response, "x": plot.x, "y": plot.y}
    known = {
        **{key: _inside(words.get(str(name), "")) for key, name in responses.items()},
        "factors": " and ".join(_inside(words[name]) for name in experiment.factors) or "policy",
        "baseline": repr(plot.baseline),
        "better": plot.better,
        "method": "Wilson's" if is_yes_or_no(str(plot.response)) else of_means,
        "of_means": of_means,
        "indices": "Sobol' indices" if experiment.file.design.kind == "saltelli" else "elementary effects",
    }
    headline = HEADLINES[plot.kind].format(**known)
    drawn = WHAT_IS_DRAWN[plot.kind].format(**known)
    if INTERVALS in drawn and not _has_intervals(results, plot):
        drawn = "; ".join([*(part for part in drawn.split("; ") if INTERVALS not in part), NO_INTERVALS])
    behind = [] if plot.kind in OF_HISTORIES else [_behind(results)]
    return Title(f"{headline[:1].upper()}{headline[1:]}", "; ".join([_where(experiment), *behind, drawn]))


def _has_intervals(results: Results, plot: PlotTable) -> bool:
    """Return whether any estimate of a picture has an interval with two ends."""
    if plot.kind in OF_HISTORIES:
        return True
    table = analysis_of(results, plot)
    if table is None:
        means = results.means
        table = means[means["response"] == plot.response] if plot.kind == "response" else means
    names = [str(name) for name in table]
    ends = [(name, name.removesuffix("low") + "high") for name in names if name.endswith("low")]
    both = [(name, other) for name, other in ends if other in table]
    return any(np.isfinite(table[[*pair]].to_numpy(dtype=float)).all(axis=1).any() for pair in both)


def _where(experiment: Experiment) -> str:
    """Return the scenario, or how many, and how long a run lasts at most."""
    count = len(experiment.scenarios)
    place = experiment.scenarios[0] if count == 1 else f"{count} scenarios"
    horizon = experiment.horizon
    return f"{place}, at most {horizon:,.0f} turns a run" if math.isfinite(horizon) else place


def _behind(results: Results) -> str:
    """Return how many runs and worlds stand behind a picture."""
    worlds = int(results.ran["replication"].nunique())
    return f"{counted(len(results.ran), 'run')} in {counted(worlds, 'world')}"
