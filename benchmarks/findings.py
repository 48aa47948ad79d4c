"""What a case reports: its target, what was measured, and the count of work that it asserted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pairing import Ratio


@dataclass(frozen=True)
class Finding:
    """One row of the table.

    Attributes
    ----------
    case, against : what was measured, and in units of what.
    measured, low, high : the median and its interval.
    target : the bound; None for what is only information.
    sense : whether the bound is one from above or from below.
    times : best times of the two sides, in words.
    work : counts that were asserted in an untimed run, so that nothing gets faster by doing less.
    """

    case: str
    against: str
    measured: float
    low: float | None = None
    high: float | None = None
    target: float | None = None
    sense: Literal["at most", "at least"] = "at most"
    times: str = ""
    work: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the median keeps the target; None without one."""
        return None if self.target is None else self._keeps(self.measured)

    @property
    def surely_missed(self) -> bool:
        """Whether the whole interval lies beyond the target."""
        return self.met is False and self.clear

    @property
    def clear(self) -> bool:
        """Whether the whole interval is on one side of the target."""
        ends = [end for end in (self.low, self.high) if end is not None]
        return self.target is None or all(self._keeps(end) == self.met for end in ends)

    def _keeps(self, value: float) -> bool:
        assert self.target is not None
        return value <= self.target if self.sense == "at most" else value >= self.target


class DidLess(AssertionError):
    """A case did not do the work that its time stands for."""


def require(counts: Mapping[str, tuple[float, float]]) -> str:
    """Return the counts in words. Raises DidLess where one is not what was expected, with both numbers."""
    for name, (counted, expected) in counts.items():
        if counted != expected:
            raise DidLess(f"{name}: counted {counted}, expected {expected}")
    return ", ".join(f"{counted:g} {name}" for name, (counted, _) in counts.items())


def of_ratio(ratio: Ratio, scale: float = 1.0) -> dict[str, float]:
    """Return the three numbers of a ratio, scaled."""
    return {"measured": ratio.median * scale, "low": ratio.low * scale, "high": ratio.high * scale}


def in_time(seconds: float) -> str:
    """Return seconds in the unit that suits them.

    >>> in_time(0.0000153)
    '15.3 us'
    """
    for factor, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
