"""Survival tables: a curve worked by hand, a published trial, what ends a run and what only hides its end."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from experiments.analyses.survival import survival
from experiments.experiment import Experiment
from simulator import InputError

Build = Callable[..., Experiment]
Rows = Callable[..., pd.DataFrame]

# Weeks of remission (Freireich and others, Blood 21, 1963), as in Klein and Moeschberger, section 1.2.
RELAPSED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
WATCHED = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]


def lived(build: Build, runs_of: Rows, **of_policy: list[tuple[int | None, str]]) -> pd.DataFrame:
    """Return the table of policies whose runs ended so: turns and outcome, world by world."""
    worlds = max(map(len, of_policy.values()))
    experiment = build(tuple(of_policy), replications=worlds, responses=["turns"])
    padded = {name: ends + [(None, "failed")] * (worlds - len(ends)) for name, ends in of_policy.items()}
    runs = runs_of(
        experiment,
        lambda at, world: padded[str(at["policy"])][world][0],
        outcome=lambda at, world: padded[str(at["policy"])][world][1],
    )
    return survival(runs.astype({"turns": float}), experiment)


@pytest.mark.theory
def test_a_curve_by_hand(build: Build, runs_of: Rows) -> None:
    """3 of 4 outlive turn 3; of the 3 left one ends at 5 while one is lost there, so 3/4 x 2/3 remain."""
    table = lived(build, runs_of, a=[(5, "overflow"), (3, "overflow"), (8, "horizon"), (5, "horizon")])
    assert table["time"].tolist() == [3, 5, 8]
    assert table["at_risk"].tolist() == [4, 3, 1]
    assert table["survival"].tolist() == pytest.approx([3 / 4, 1 / 2, 1 / 2])
    assert table["censored"].tolist() == [0, 1, 1]
    assert set(table["policy"]) == {"a"}


@pytest.mark.theory
def test_the_leukaemia_trial_as_published(build: Build, runs_of: Rows) -> None:
    """Klein and Moeschberger, table 4.1A."""
    ends = [(week, "overflow") for week in RELAPSED] + [(week, "horizon") for week in WATCHED]
    table = lived(build, runs_of, a=ends).set_index("time")
    published = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert table.loc[list(published), "survival"].to_dict() == pytest.approx(published, abs=5e-4)
    assert table["censored"].sum() == len(WATCHED)
    assert table.loc[6, "censored"] == 1
    assert table["at_risk"].iloc[0] == len(RELAPSED) + len(WATCHED)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("outcome", "left"),
    [("overflow", 0), ("dead", 0), ("horizon", 1), ("complete", 1), ("halted", 0)],
)
def test_what_ends_a_run_and_what_hides_its_end(build: Build, runs_of: Rows, outcome: str, left: int) -> None:
    (row,) = lived(build, runs_of, a=[(7, outcome)] * 5).to_dict("records")
    assert (row["survival"], row["at_risk"], row["censored"]) == (left, 5, 5 * left)


@pytest.mark.unit
def test_a_failed_run_has_no_life(build: Build, runs_of: Rows) -> None:
    table = lived(build, runs_of, a=[(4, "overflow"), (None, "failed"), (9, "horizon")], b=[(9, "horizon")])
    assert table.groupby("policy")["at_risk"].max().to_dict() == {"a": 2, "b": 1}


@pytest.mark.unit
def test_no_run_no_curve(build: Build, runs_of: Rows) -> None:
    with pytest.raises(InputError, match="no run has finished"):
        lived(build, runs_of, a=[(None, "failed")])


@pytest.mark.unit
def test_curves_are_told_apart_by_their_place(build: Build, runs_of: Rows) -> None:
    experiment = build(("a",), scenarios=("calm", "wild"), responses=["turns"], replications=2)
    ends = {"calm": "horizon", "wild": "overflow"}
    runs = runs_of(experiment, lambda *_: 5.0, outcome=lambda at, _: ends[at["scenario"]])
    table = survival(runs, experiment).set_index("policy")
    assert table["survival"].to_dict() == {"calm": 1, "wild": 0}
    many = build(("a",), scenarios=tuple(f"s{n}" for n in range(13)), responses=["turns"], replications=1)
    with pytest.raises(InputError, match="13 survival curves; expected at most 8"):
        survival(runs_of(many, lambda *_: 5.0, outcome=lambda *_: ""), many)
