"""What an agent believes beside what is so: the pictures hold the numbers of the tables that they draw."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.plots import compliance_by_epoch, confidence_and_constraints
from simulator import InputError


def turns() -> pd.DataFrame:
    rows = []
    for policy, lost in (("naive", 1), ("guarded", 0)):
        for replication in range(3):
            for turn in (1, 2):
                held = 2 - lost * (turn - 1)
                rows.append((policy, replication, turn, 0.8 + 0.05 * turn * lost + 0.01 * replication, held))
    return pd.DataFrame(rows, columns=["policy", "replication", "turn", "confidence", "constraints_held"])


@pytest.mark.unit
def test_lines_are_the_means_over_runs() -> None:
    upper, lower = confidence_and_constraints(turns()).axes
    naive = turns()[turns()["policy"] == "naive"].groupby("turn")
    drawn = [line.get_ydata().tolist() for line in upper.get_lines()]  # type: ignore[union-attr]
    assert pytest.approx(naive["confidence"].mean().tolist()) in drawn
    assert [2.0, 1.0] in [line.get_ydata().tolist() for line in lower.get_lines()]  # type: ignore[union-attr]


@pytest.mark.unit
def test_instructions_from_outside_are_none_of_the_agents_own() -> None:
    table = pd.DataFrame(
        {
            "policy": ["naive"] * 4,
            "replication": [0, 0, 1, 0],
            "changes": [0, 7, 7, 0],
            "quoted": [True, True, True, False],
            "obeyed": [True, False, False, False],
            "outside": [False, False, False, True],
        }
    )
    (axes,) = compliance_by_epoch(table).axes
    quoted, obeyed = (bars.lines[0].get_ydata().tolist() for bars in axes.containers)  # type: ignore[attr-defined]
    assert (quoted, obeyed) == ([1.0, 1.0], [1.0, 0.0])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2", "3 or more"]


@pytest.mark.unit
@pytest.mark.parametrize("picture", [confidence_and_constraints, compliance_by_epoch])
def test_a_table_without_rows_says_so(picture: object) -> None:
    with pytest.raises(InputError, match="no column"):
        picture(pd.DataFrame({"turn": [1]}))  # type: ignore[operator]
