"""Judgement: what the runs of a scenario say of its expectations.

A figure over every run needs each run. A random one (mean, share, quantile) passes when the 95%
interval of its estimate lies inside the documented band; one with `must_fail` passes when that
interval lies outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.statistics import Interval, mean_interval, quantile_interval, share_interval
from experiments.workers import Failure
from scenarios.expectation import Expectation
from simulator import Run

Outcomes = Mapping[str, Sequence[Run | Failure]]
"""Runs by policy, replication by replication, in the same worlds."""

LEVEL = 0.95
"""Confidence of every interval."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One expectation, judged. `low` and `high` bound the estimate; over every run, its range.

    Attributes
    ----------
    scenario, policy, response, documented, kind, source, note : what was expected.
    simulated, low, high : what was found; a word where the response is one, None where there is
        nothing to judge.
    n : runs behind it.
    passed : whether it holds.
    random : whether chance can make it fail.
    must_fail : whether it holds where the figure is missed.
    holds_in_box : share of a +/-20% parameter box in which it was measured to hold.
    """

    scenario: str
    policy: str
    response: str
    documented: str
    simulated: float | str | None
    low: float | None
    high: float | None
    passed: bool
    kind: str
    source: str
    n: int
    random: bool
    note: str = ""
    holds_in_box: float | None = None
    must_fail: bool = False

    @property
    def owns_up(self) -> bool:
        """Whether it says of a figure that others measured that it is missed, and so it is."""
        return self.passed and self.must_fail and self.kind == "external"


def judge(
    scenario: str, expectation: Expectation, outcomes: Outcomes, *, by_estimate: bool = False
) -> Finding:
    """Hold one expectation against the runs of its policy.

    With `by_estimate`, the estimate alone must lie in the band, not its interval.
    """
    values, fault = _values(expectation, outcomes)
    present = [value for value in values if value is not None]
    notes = [fault or expectation.note]
    if not fault and len(present) < len(values):
        notes.append(f"{len(values) - len(present)} of {len(values)} runs have no such response")
    simulated: float | str | None
    interval: Interval | None = None
    if fault or not present:
        simulated, passed = None, False
    elif expectation.over == "every":
        simulated, interval = _range(present)
        if expectation.must_fail:  # a figure is missed by one that is there, not by none
            passed = not all(expectation.holds(value) for value in present)
        else:
            passed = all(expectation.holds(value) for value in values)
    else:
        numbers = [value for value in present if isinstance(value, int | float)]
        interval = _estimate(expectation, numbers, len(values))
        simulated = interval.estimate if interval else None
        if interval is not None and by_estimate:
            interval = interval._replace(low=interval.estimate, high=interval.estimate)
        passed = interval is not None and _lies(expectation, interval)
    return Finding(
        scenario=scenario,
        policy=expectation.policy,
        response=expectation.response,
        documented=expectation.documented,
        simulated=simulated,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        passed=passed,
        kind=expectation.kind,
        source=expectation.source,
        n=len(values) if expectation.over == "share" else len(present),
        random=expectation.over != "every",
        note="; ".join(filter(None, notes)),
        holds_in_box=expectation.holds_in_box,
        must_fail=expectation.must_fail,
    )


def _values(expectation: Expectation, outcomes: Outcomes) -> tuple[list[float | str | None], str]:
    """Return one value a run (or a row), and the fault that makes them unusable."""
    runs = list(outcomes[expectation.policy])
    others = list(outcomes[expectation.minus]) if expectation.minus is not None else None
    places = expectation.replications if expectation.replications is not None else range(len(runs))
    values: list[float | str | None] = []
    for place in places:
        if place >= len(runs):
            return [], f"there is no run {place} among {len(runs)}"
        run = runs[place]
        if isinstance(run, Failure):
            return [], f"run {place} {run}"
        own = expectation.values(run)
        if others is not None:
            other = others[place]
            if isinstance(other, Failure):
                return [], f"run {place} of {expectation.minus} {other}"
            own = [
                a - b if isinstance(a, int | float) and isinstance(b, int | float) else None
                for a, b in zip(own, expectation.values(other), strict=False)
            ]
        values.extend(own)
    return values, ""


def _range(values: Sequence[float | str]) -> tuple[float | str, Interval | None]:
    """Return the mean of the values with their range; of words, the one that all share."""
    words = {value for value in values if isinstance(value, str)}
    if words:
        return " or ".join(sorted(words)), None
    numbers = [value for value in values if isinstance(value, int | float)]
    mean = sum(numbers) / len(numbers)
    # a mean of equal numbers may miss them by a rounding error
    mean = min(max(mean, min(numbers)), max(numbers))
    return mean, Interval(mean, min(numbers), max(numbers), len(numbers), 1.0)


def _estimate(expectation: Expectation, numbers: Sequence[float], runs: int) -> Interval | None:
    """Return the estimate over runs. A run without the response is in no band; of a mean it is no part."""
    if not numbers:
        return None
    if expectation.over == "mean":
        return mean_interval(numbers, LEVEL)
    if expectation.over == "share":
        return share_interval(sum(map(expectation.holds, numbers)), runs, LEVEL)
    return quantile_interval(numbers, {"q05": 0.05, "q95": 0.95}[expectation.over], LEVEL)


def _lies(expectation: Expectation, interval: Interval) -> bool:
    """Whether the interval lies inside the band, or outside where the figure must be missed."""
    if expectation.over == "share":
        low, high = expectation.share_at_least or 0.0, 1.0
    else:
        low, high = expectation.limits
    if expectation.must_fail:
        return interval.high < low or interval.low > high
    return interval.lies_within(low, high)
