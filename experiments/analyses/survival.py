"""How long runs last: Kaplan-Meier curves of the turns until they end, by policy and place.

A run ends where it overflowed, died or halted; it is censored where it was complete or came to the horizon,
which the world sets and no policy moves. A policy's own stop is no such thing: taken for censoring, it would
leave the runs that stop for want of room out of those that lasted too short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.analyses.worlds import by_place
from experiments.experiment import Experiment
from experiments.statistics import Lifetimes, kaplan_meier
from simulator import InputError

if TYPE_CHECKING:
    import pandas as pd

ENDED = frozenset({"overflow", "dead", "halted"})
"""Outcomes that end a run: it overflowed, died or halted. Complete or at the horizon, it is censored."""

MOST_CURVES = 8


def survival(runs: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Return the steps of each curve.

    Columns are `policy` (with its place, where there are several), `time` (turns), `survival`, `low`,
    `high` (95%, log-log Greenwood), `at_risk` and `censored` (runs that were complete or came to the horizon
    at that time).

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
    frames = []
    for place, group in places:
        for policy, own in group.groupby("policy", sort=False):
            lives = Lifetimes(own["turns"].to_numpy(dtype=float), own["outcome"].isin(ENDED).to_numpy())
            curve = kaplan_meier(lives)
            gone = [*curve.at_risk[1:].tolist(), 0]
            frames.append(
                pd.DataFrame(
                    {
                        "policy": _curve(str(policy), place, experiment, len(places)),
                        "time": curve.times,
                        "survival": curve.survival,
                        "low": curve.low,
                        "high": curve.high,
                        "at_risk": curve.at_risk,
                        "censored": curve.at_risk - gone - curve.ends,
                    }
                )
            )
    joined: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return joined


def _curve(policy: str, place: str, experiment: Experiment, places: int) -> str:
    """Return the name of a curve: the policy, its place, or both, whichever tells it from the others."""
    if places == 1:
        return policy
    return place if len(experiment.policies) == 1 else f"{policy}, {place}"
