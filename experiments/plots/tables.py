"""What a figure asks of a table: its columns, its runs, its policies, its means with intervals.

In: pandas tables as a run or a store gives them. Out: the same rows, checked and completed, or a
summary a group. Intervals are 95% Student intervals of a mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.statistics import mean_interval
from simulator.errors import InputError, nearest_name

FIRST_POLICIES = ("naive", "guarded")

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"

UNITS = {
    "_pct": "%",
    "_tokens": "tokens",
    "_seconds": "s",
    "_usd": "US$",
    "_share": "share",
    "_turns": "turns",
    "_s": "s",
}
LABELS = {
    "net": "Net of a rewrite (tokens)",
    "believed_net": "Believed net of a rewrite (tokens)",
    "freed": "Freed by a rewrite (tokens)",
    "rewrite_cost": "Rewrite cost (tokens)",
    "measurement_cost": "Measurement cost (tokens)",
    "turn": "Turn",
    "policy": "Policy",
}


def require_columns(table: pd.DataFrame, columns: Iterable[str], name: str) -> None:
    """Raise `InputError` unless the table has rows and each of the columns."""
    present = [str(column) for column in table.columns]
    for column in columns:
        if column not in present:
            raise InputError(
                f"no column {column!r}",
                where=f"table {name!r}",
                expected=f"the columns {', '.join(columns)}",
                nearest=nearest_name(column, present),
            )
    if table.empty:
        raise InputError("nothing to draw: the table has no rows", where=f"table {name!r}")


def with_runs(table: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """Return the table with columns `policy` and `replication`; without them it is one run of one policy."""
    require_columns(table, columns, name)
    absent = {key: value for key, value in (("policy", ""), ("replication", 0)) if key not in table.columns}
    return table.assign(**absent) if absent else table


def policies_of(table: pd.DataFrame, by: str = "policy") -> list[str]:
    """Return the policies of a table: naive, guarded, then the others as they appear.

    >>> policies_of(pd.DataFrame({"policy": ["gate-only", "guarded", "naive"]}))
    ['naive', 'guarded', 'gate-only']
    """
    present = [str(name) for name in table[by].unique()]
    return [name for name in FIRST_POLICIES if name in present] + [
        name for name in present if name not in FIRST_POLICIES
    ]


def mean_by(table: pd.DataFrame, key: str, value: str) -> pd.DataFrame:
    """Return mean, low, high and count of `value` for each `key`, with a 95% interval of the mean.

    Missing values do not count. Where a group has one value the interval is not a number.

    >>> mean_by(pd.DataFrame({"k": [1, 1, 2], "v": [2.0, 4.0, 5.0]}), "k", "v")["mean"].tolist()
    [3.0, 5.0]
    """
    groups = table.dropna(subset=[value]).groupby(key)[value]
    intervals = {level: mean_interval(values.to_numpy(dtype=float)) for level, values in groups}
    summary = pd.DataFrame(
        [(found.estimate, found.low, found.high, found.n) for found in intervals.values()],
        index=pd.Index(list(intervals), name=key),
        columns=["mean", "low", "high", "count"],
        dtype=float,
    )
    return summary.replace([-np.inf, np.inf], np.nan)


def axis_label(column: str, labels: Mapping[str, str] | None = None) -> str:
    """Return the words for a column, with the unit that its name ends in.

    >>> axis_label("max_occupancy_pct"), axis_label("policy.rewrite_cap_tokens")
    ('Max occupancy (%)', 'Rewrite cap (tokens)')
    """
    known = LABELS if labels is None else {**LABELS, **labels}
    if column in known:
        return known[column]
    stem = column.rsplit(".", 1)[-1]
    unit = ""
    for suffix, words in UNITS.items():
        if stem.endswith(suffix):
            stem, unit = stem.removesuffix(suffix), f" ({words})"
            break
    words = stem.replace("_", " ").strip()
    return f"{words[:1].upper()}{words[1:]}{unit}"


def number_words(value: float) -> str:
    """Return a number as a figure prints it: grouped thousands, a real minus, no needless digits.

    >>> number_words(-1234.5), number_words(0.25), number_words(24000)
    ('\N{MINUS SIGN}1,234', '0.25', '24,000')
    """
    return words_alike([value])[0]


def shown_decimals(value: float) -> int:
    """Return the decimals of a number with three digits, those before the point never cut.

    >>> [shown_decimals(value) for value in (0.0763, 89.1, -1234.5, 0.0)]
    [4, 1, 0, 0]
    """
    if not value or not math.isfinite(value):
        return 0
    place = math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return min(max(0, 2 - place), MOST_DECIMALS)


def needed_decimals(value: float) -> int:
    """Return how many of these decimals tell something.

    >>> [needed_decimals(value) for value in (0.32, 0.3201, 89.0)]
    [2, 2, 0]
    """
    return _decimals(abs(value), shown_decimals(value)) if math.isfinite(value) else 0


MOST_DECIMALS = 6


def words_alike(values: Sequence[float]) -> list[str]:
    """Return numbers as a figure prints them, all with the decimals that the neediest of them has.

    >>> words_alike([89, 89.1]), words_alike([0.2, 0.125]), words_alike([-210.0000001])
    (['89.0', '89.1'], ['0.200', '0.125'], ['\N{MINUS SIGN}210'])
    """
    finite = [abs(value) for value in values if np.isfinite(value)]
    largest = max(finite, default=0.0)
    most = next(decimals for bound, decimals in DECIMALS if largest >= bound)
    decimals = max((_decimals(size, most) for size in finite), default=0)
    return [fixed_words(value, decimals) if np.isfinite(value) else DASH for value in values]


DECIMALS = ((1000, 0), (10, 1), (1, 2), (0, 3))
"""From this size on at most so many decimals."""


def _decimals(size: float, most: int) -> int:
    """Return how many decimals are needed to tell `size`, up to `most`."""
    return next(
        count for count in range(most + 1) if count == most or round(size, count) == round(size, most)
    )


def fixed_words(value: float, decimals: int) -> str:
    """Return a number with so many decimals, grouped thousands and a real minus."""
    words = f"{abs(value):,.{decimals}f}"
    return f"{MINUS}{words}" if value < 0 and words.strip("0.") else words


def tick_words(value: float, _position: float | None = None) -> str:
    """Return the words for a tick: all its digits, grouped thousands, a real minus.

    >>> tick_words(-1200.0), tick_words(0.0125), tick_words(-0.0)
    ('\N{MINUS SIGN}1,200', '0.0125', '0')
    """
    return f"{value + 0.0:,.10g}".replace("-", MINUS)


def signed(value: float, digits: int = 0) -> str:
    """Return a number with its sign, a real minus and grouped thousands.

    >>> signed(-700), signed(1100), signed(0)
    ('\N{MINUS SIGN}700', '+1,100', '0')
    """
    words = f"{abs(value):,.{digits}f}"
    if not words.strip("0.,"):
        return words
    return f"{MINUS if value < 0 else '+'}{words}"
