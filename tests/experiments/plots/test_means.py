"""Tables of means: each cell with its interval, a column with one number of decimals."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from experiments import plots
from simulator import InputError

pytestmark = pytest.mark.unit


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"setting": ["a", "b", "c"], "response": "usd", **columns})


def cells(frame: pd.DataFrame) -> list[str]:
    """Return the words after the heads and the names of the rows."""
    words = [text.get_text() for text in plots.means_table(frame).axes[0].texts]
    return words[words.index("c") + 1 :]


@pytest.mark.parametrize(
    ("means", "half", "shown"),
    [
        ((90.0, 90.25, 91.5), 0.42, ["90.00", "89.58 to 90.42", "90.25", "89.83 to 90.67", "91.50"]),
        ((1200.0, 31234.0, 0.4), 120.0, ["1,200", "1,080 to 1,320", "31,234", "31,114 to 31,354"]),
        ((0.5, 0.25, 0.125), 0.0, ["0.500", "0.250", "0.125"]),
    ],
)
def test_a_column_has_one_number_of_decimals_two_digits_of_its_half_width(
    means: tuple[float, ...], half: float, shown: list[str]
) -> None:
    frame = table(mean=means, low=[mean - half for mean in means], high=[mean + half for mean in means])
    assert cells(frame)[: len(shown)] == shown


def test_runs_that_are_alike_and_means_that_are_not_there_have_no_interval() -> None:
    frame = table(mean=[2.0, 0.1 + 0.2, None], low=[-math.inf, 0.3, None], high=[math.inf, 0.1 + 0.2, None])
    assert cells(frame) == ["2.0", "0.3", "\N{EN DASH}"]


def test_units_stand_under_the_names_and_a_cell_given_twice_is_refused() -> None:
    frame = table(mean=1.0, low=1.0, high=1.0)
    words = [
        text.get_text() for text in plots.means_table(frame, labels={"usd": ("Cost", "$")}).axes[0].texts
    ]
    assert {"Cost", "$"} <= set(words)
    with pytest.raises(InputError, match="'usd' is given twice for 'a'"):
        plots.means_table(pd.concat([frame, frame.head(1)]))
