"""How long runs last: Kaplan-Meier curves of the turns until they end, by policy and place.

A run ends where it overflowed, died or halted; it is censored where it was complete or came to the horizon,
which the world sets and no policy moves. A policy's own stop is no such thing: taken for censoring, it would
leave the runs that stop for want of room out of those that lasted too short.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from experiments.analyses.worlds import by_place
from experiments.experiment import Experiment
from experiments.statistics import Lifetimes, kaplan_meier, restricted_mean
from simulator import InputError

if TYPE_CHECKING:
    import pandas as pd

ENDED = frozenset({"overflow", "dead", "halted"})
"""Outcomes that end a run: it overflowed, died or halted. Complete or at the horizon, it is censored."""

EVENT = "overflow, death or halt"
"""The same in words."""

MOST_CURVES = 8


def survival(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return the steps of each curve.

    Columns are `policy` (with its place, where there are several), `time` (turns), `survival`, `low`,
    `high` (95%, log-log Greenwood), `at_risk` and `censored` (runs that were complete or came to the horizon
    at that time); and, alike in all rows of a curve, `lasts`, `lasts_low`, `lasts_high`: the mean of how
    many of the first `up_to` turns a run lasts, with its 95% interval. `up_to` is as far as every curve is
    known.

    Raises
    ------
    InputError
        No run has finished, or there are more curves than one picture can tell apart.
    """
    import pandas as pd

    lived = runs[runs["turns"].notna()]
    if lived.empty:
        raise InputError("no run has finished", where=str(experiment.path), expected="a run that has turns")
    places = list(by_place(lived, experiment))
    if len(places) * len(experiment.policies) > MOST_CURVES:
        raise InputError(
            f"{len(places) * len(experiment.policies)} survival curves",
            where=f"{experiment.path}: plot",
            expected=f"at most {MOST_CURVES}: fewer policies, points or scenarios",
        )
    lives = {
        _curve(str(policy), place, experiment, len(places)): Lifetimes(
            own["turns"].to_numpy(dtype=float), own["outcome"].isin(ENDED).to_numpy()
        )
        for place, group in places
        for policy, own in group.groupby("policy", sort=False)
    }
    up_to = min(_known_up_to(one) for one in lives.values())
    if up_to == math.inf:
        up_to = float(lived["turns"].max())
    joined: pd.DataFrame = pd.concat(
        [pd.DataFrame(_steps(name, own, up_to)) for name, own in lives.items()], ignore_index=True
    )
    return joined


def _steps(name: str, lives: Lifetimes, up_to: float) -> dict[str, object]:
    curve = kaplan_meier(lives)
    mean = restricted_mean(lives, up_to)
    return {
        "policy": name,
        "time": curve.times,
        "survival": curve.survival,
        "low": curve.low,
        "high": curve.high,
        "at_risk": curve.at_risk,
        "censored": curve.at_risk - [*curve.at_risk[1:].tolist(), 0] - curve.ends,
        "lasts": mean.estimate,
        "lasts_low": max(mean.low, 0.0),
        "lasts_high": min(mean.high, up_to),
        "up_to": up_to,
    }


def _known_up_to(lives: Lifetimes) -> float:
    """Return the time up to which a curve is known: without end where the last runs were seen to end."""
    return float(lives.times[-1]) if lives.ends[-1] < lives.at_risk[-1] else math.inf


def _curve(policy: str, place: str, experiment: Experiment, places: int) -> str:
    """Return the name of a curve: the policy, its place, or both, whichever tells it from the others."""
    if places == 1:
        return policy
    return place if len(experiment.policies) == 1 else f"{policy}, {place}"
