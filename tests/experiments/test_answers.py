"""Answers in short: what a sentence names is the largest there is, and it promises no more than was seen."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.answers import answers
from experiments.designs import morris, saltelli
from experiments.experiment import Experiment, ExperimentFile
from experiments.plan import Coordinates, Plan
from experiments.results import Results

Row = dict[str, object]
WORLDS = 20


def results(
    value: Callable[[Row], object], *, scenarios: tuple[str, ...] = ("s",), **keys: object
) -> Results:
    """Return the results of an experiment that no folder holds: `value` is the first response of a run."""
    given = {"policies": ["a"], "responses": ["net_tokens"], "replications": WORLDS, "scenarios": scenarios}
    file = ExperimentFile.model_validate({**given, **keys})
    policies = tuple(file.policies)
    experiment = Experiment("made", Path("made.toml"), file, scenarios, policies)
    rows = []
    for scenario, point, policy, world in itertools.product(
        scenarios, range(experiment.size), policies, range(file.cap)
    ):
        at = Coordinates(scenarios.index(scenario), point, policies.index(policy), world)
        row = {
            "run": Plan(experiment).number(at),
            "scenario": scenario,
            "point": point,
            **experiment.labels(point),
            "policy": policy,
        }
        row |= {"replication": world, "failure": None, "failed_stage": None}
        rows.append(row | dict.fromkeys(file.responses, 0.5) | {file.responses[0]: value(row)})
    found = Results(Path("made"), experiment)
    found.__dict__["runs"] = pd.DataFrame(rows)
    return found


def noise(row: Row, spread: float = 1.0) -> float:
    """A number of a run, normal around 0, the same at each call."""
    words = [row["point"], row["replication"], *map(ord, str(row["policy"]))]
    return float(np.random.default_rng([int(str(word)) for word in words]).normal(0, spread))


def told(said: list[str], words: str) -> str:
    """Return the only answer that holds these words."""
    (found,) = [line for line in said if words in line]
    return found


# ------------------------------------------------------------------------------------ the largest of many


def factor(name: str, **keys: object) -> dict[str, object]:
    return {"name": name, "path": name, **keys}


@pytest.mark.unit
@pytest.mark.parametrize("kind", ["saltelli", "morris"])
def test_a_response_hangs_most_on_what_moves_it_most(kind: str) -> None:
    """Slopes 1/2, -1 and -3: the largest size is that of the last factor, and of the lowest mean effect."""
    design = {"kind": kind, "seed": 1}
    design |= {"points": 64} if kind == "saltelli" else {"trajectories": 8, "levels": 4}
    points = saltelli(64, 3, 1) if kind == "saltelli" else morris(8, 3, 4, 1)
    slopes = np.array([0.5, -1.0, -3.0])
    said = answers(
        results(
            lambda row: float(points[int(str(row["point"]))] @ slopes),
            design=design,
            factor=[factor(name, low=0.0, high=1.0) for name in "xyz"],
            replications=1,
            plot={"kind": "sensitivity", "response": "net_tokens"},
        )
    )
    words = told(said, "hangs most on")
    assert words.startswith("net_tokens hangs most on z, as seen: ")
    assert "the largest of 3, chosen after the fact: its interval is not adjusted for that" in words
    if kind == "morris":  # of a linear response each effect is the slope
        sizes = re.findall(r"effect (\S+) \[(\S+), (\S+)\]", words)[0]
        assert [float(size) for size in sizes] == [3, 3, 3]
    assert not any("too few to tell" in line for line in said)


@pytest.mark.unit
def test_a_saltelli_design_of_few_points_says_so() -> None:
    """Of four points that carry noise alone the index can be anything."""
    said = answers(
        results(
            lambda row: noise(row, 1),
            design={"kind": "saltelli", "seed": 1, "points": 4},
            factor=[factor(name, low=0.0, high=1.0) for name in "xy"],
            replications=1,
            plot={"kind": "sensitivity", "response": "net_tokens"},
        )
    )
    words = told(said, "the points are too few to tell: the total index of ")
    assert words.endswith(" on net_tokens has an interval wider than 1")


@pytest.mark.unit
def test_the_largest_effect_is_largest_by_size() -> None:
    """Effects 2 of x, -5 of y: the larger one is below 0."""

    def value(row: Row) -> float:
        return 2.0 * float(str(row["x"])) - 5.0 * float(str(row["y"])) + noise(row, 0.1)

    two = [factor(name, values=[0, 1]) for name in "xy"]
    said = answers(
        results(
            value,
            design={"kind": "two-level"},
            factor=two,
            plot={"kind": "effects", "response": "net_tokens"},
        )
    )
    words = told(said, "told from 0")
    assert re.match(
        r"[23] of 3 effects on net_tokens are told from 0, one by one; the largest seen is y: -", words
    )
    estimate, low, high = map(float, re.findall(r"-?[\d.]+", words.split("is y: ")[1])[:3])
    assert low <= -5 <= high
    assert low < estimate < high < 0
    assert words.endswith("the largest of 3, chosen after the fact: its interval is not adjusted for that")


@pytest.mark.unit
def test_no_effect_is_told_from_chance() -> None:
    two = [factor(name, values=[0, 1]) for name in "xy"]
    plot = {"kind": "effects", "response": "net_tokens"}
    said = answers(results(lambda _: 7.0, design={"kind": "two-level"}, factor=two, plot=plot))
    assert "no effect on net_tokens is told from 0" in said


@pytest.mark.theory
def test_the_widest_difference_has_the_interval_that_holds_for_all() -> None:
    """By scipy: Student's paired interval at 1 - 0.05 / 3, of the policy that lies farthest below."""
    shift = {"base": 0.0, "near": 3.0, "far": -9.0, "same": 0.0}
    found = results(
        lambda row: shift[str(row["policy"])] + noise(row),
        policies=list(shift),
        plot={"kind": "comparison", "response": "net_tokens", "baseline": "base"},
    )
    said = answers(found)
    assert told(said, "Holm over 3").endswith(": 1 lower, 1 higher, 1 not told apart")
    words = told(said, "the widest of those told apart: far at s, ")
    wide = found.runs.pivot(index="replication", columns="policy", values="net_tokens")
    interval = stats.ttest_rel(wide["far"], wide["base"]).confidence_interval(1 - 0.05 / 3)
    low, high = map(float, re.findall(r"\[(.*), (.*)\]", words)[0])
    assert (low, high) == pytest.approx((interval.low, interval.high), abs=5e-3)
    assert words.endswith("an interval that holds for all 3 together")


# ------------------------------------------------------------------------------------ no more than was seen


@pytest.mark.unit
def test_what_differs_by_the_same_in_every_world_is_said_to_be_seen_so() -> None:
    said = answers(
        results(
            lambda row: 4.0 if row["policy"] == "b" else 0.0,
            policies=["a", "b"],
            plot={"kind": "comparison", "response": "net_tokens", "baseline": "a"},
        )
    )
    assert "1 of those told apart by the same amount in every world seen" in told(said, "Holm")
    assert not any("chance" in line for line in said)


@pytest.mark.theory
@pytest.mark.parametrize(
    ("response", "is_told"), [("escalations", True), ("net_tokens", False), ("overflowed", False)]
)
def test_what_never_happened_may_happen(response: str, is_told: bool) -> None:
    """None in 20 runs leaves a share p with (1 - p)^20 = 5%: 13.9%, of what counts and has no interval."""
    said = answers(results(lambda _: 0.0, responses=[response], plot={"kind": "table"}))
    assert any("may be above 0" in line for line in said) == is_told
    if is_told:
        most = float(re.findall(r"up to (\d+)%", told(said, "may be above 0"))[0]) / 100
        assert stats.binom.pmf(0, WORLDS, most) == pytest.approx(0.05, abs=0.005)
        assert "1 mean is 0 in each of its 20 runs" in told(said, "may be above 0")


@pytest.mark.unit
@pytest.mark.parametrize(("worlds", "intervals"), [(19, "bootstrap"), (20, "bootstrap"), (3, "t")])
def test_a_bootstrap_of_few_runs_says_so(worlds: int, intervals: str) -> None:
    """Two means; that of a yes or no is Wilson's, and no bootstrap."""
    said = answers(
        results(
            noise,
            responses=["net_tokens", "overflowed"],
            replications=worlds,
            intervals=intervals,
            plot={"kind": "table"},
        )
    )
    words = "1 of 1 bootstrap intervals stand on fewer than 20 runs (19 at the least)"
    assert any(words in line for line in said) == (worlds == 19)
    assert any("bootstrap" in line for line in said) == (worlds == 19)


@pytest.mark.theory
def test_points_that_came_to_the_cap_are_counted() -> None:
    """At two of three points the noise is wide; the widest half-width is scipy's."""
    rule = {"response": "net_tokens", "half_width": 1.0, "first": 5, "look_ahead": 2, "cap": 15}
    spread = {0: 0.01, 1: 50.0, 2: 400.0}
    found = results(
        lambda row: noise(row, spread[int(str(row["point"]))]),
        replications=rule,
        factor=[factor("x", values=[1, 2, 3])],
        plot={"kind": "table"},
    )
    words = told(answers(found), "came to the cap")
    assert words.startswith(
        "2 of 3 points came to the cap of 15 replications with a half-width on net_tokens above 1"
    )
    values = found.runs.loc[found.runs["point"] == 2, "net_tokens"]
    widest = stats.t.ppf(0.975, 14) * stats.sem(values)
    assert float(words.split("the widest ")[1].replace(",", "")) == pytest.approx(widest, rel=5e-3)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("regimes", "words"),
    [
        ("ccs css", ["lies between the two levels where the simulated spiral begins, everywhere"]),
        (
            "sss ccs",
            ["lies within 0.5 grid steps", "in 1 of 2 columns the spiral begins outside of the levels"],
        ),
        ("scs ccs", ["has no single simulated boundary to lie on in 1 of 2 columns"]),
        ("ssc scc", ["lies between the two levels where the simulated spiral begins, everywhere"]),
    ],
)
def test_what_is_said_of_a_line(regimes: str, words: list[str]) -> None:
    """Columns at x = 1 and 2, levels 0, 10, 20, calm or spiral; one line misses a column by half a step."""
    columns = dict(zip((1, 2), regimes.split(), strict=True))
    lines = {"ccs css": [24, -10], "sss ccs": [-5, 10], "scs ccs": [15, 0], "ssc scc": [24, -10]}
    found = results(
        lambda row: -1.0 if columns[int(str(row["x"]))][int(str(row["y"])) // 10] == "s" else 1.0,
        responses=["net_per_attempt_tokens", "arrivals_per_turn_tokens"],
        factor=[factor("x", values=[1, 2]), factor("y", values=[0, 10, 20])],
        replications=1,
        plot={"kind": "phase", "line": lines[regimes], "line_label": "freed = cost"},
    )
    said = [line for line in answers(found) if "columns" in line or "analytic line" in line]
    assert len(said) == len(words)
    for line, part in zip(said, words, strict=True):
        assert part in line
    assert "freed = cost" in said[0]


# ------------------------------------------------------------------------------------ along one factor


@pytest.mark.unit
def test_a_response_is_told_from_its_first_level_to_its_last_and_where_it_crosses_0() -> None:
    """Of y = 25 - 10 x at x in 1 to 4, without noise, the mean crosses 0 between 2 and 3."""
    said = answers(
        results(
            lambda row: 25.0 - 10.0 * float(str(row["x"])) * (row["policy"] == "a"),
            policies=["a", "b"],
            factor=[factor("x", values=[1, 2, 3, 4])],
            plot={"kind": "response", "response": "net_tokens"},
        )
    )
    assert told(said, "net_tokens, a: ") == (
        "net_tokens, a: from 15 [15, 15] at x 1 to -15 [-15, -15] at x 4; it crosses 0 between 2 and 3"
    )
    assert told(said, "net_tokens, b: ").endswith("to 25 [25, 25] at x 4")


@pytest.mark.unit
@pytest.mark.parametrize("overflowed", ["0000", "0010", "1011"])
def test_stable_points_that_overflow_all_the_same_are_counted(overflowed: str) -> None:
    """All four points are stable by their net and arrivals; the count is that of points with any overflow."""
    made = results(
        lambda _: 500.0,
        responses=["net_per_attempt_tokens", "arrivals_per_turn_tokens", "overflowed"],
        factor=[factor(name, values=[1, 2]) for name in "xy"],
        replications=2,
        plot={"kind": "phase"},
    )
    runs = made.runs
    runs["overflowed"] = [
        float(overflowed[point]) * (world == 0)
        for point, world in zip(runs["point"], runs["replication"], strict=True)
    ]
    words = [line for line in answers(made) if "overflows all the same" in line]
    count = overflowed.count("1")
    assert len(words) == (count > 0)
    assert all(line.startswith(f"at {count} of the 4 stable points") for line in words)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("means", "words"),
    [
        (
            {3: -5.0, 1: 5.0, 2: 4.0},
            "from 5 [5, 5] at x 1 to -5 [-5, -5] at x 3; it crosses 0 between 2 and 3",
        ),
        ({1: -5.0, 2: 0.0, 3: 5.0}, "from -5 [-5, -5] at x 1 to 5 [5, 5] at x 3; it crosses 0 at 2"),
        ({10: 5.0, 9: 0.0, 8: 5.0}, "from 5 [5, 5] at x 8 to 5 [5, 5] at x 10"),  # it touches
        ({1: -5.0, 2: 0.0}, "from -5 [-5, -5] at x 1 to 0 [0, 0] at x 2"),  # it gets there
    ],
)
def test_crossings_are_those_along_the_levels_by_size(means: dict[int, float], words: str) -> None:
    said = answers(
        results(
            lambda row: means[int(str(row["x"]))],
            factor=[factor("x", values=list(means))],
            plot={"kind": "response", "response": "net_tokens"},
        )
    )
    assert told(said, "net_tokens, a: ") == f"net_tokens, a: {words}"


@pytest.mark.unit
def test_where_one_level_has_run_a_response_goes_nowhere() -> None:
    plot = {"kind": "response", "response": "net_tokens"}
    whole = results(lambda _: 5.0, factor=[factor("x", values=[1, 2])], plot=plot)
    said = answers(only(whole, lambda runs: runs["x"] == 2))
    assert told(said, "net_tokens, a: ") == "net_tokens, a: 5 [5, 5] at x 2"


# ------------------------------------------------------------------------------------ what is not there


def only(found: Results, keep: Callable[[pd.DataFrame], pd.Series[bool]]) -> Results:
    """Return results of some of the runs, as a sweep leaves them that was stopped."""
    fewer = Results(found.folder, found.experiment)
    fewer.__dict__["runs"] = found.runs[keep(found.runs)].reset_index(drop=True)
    return fewer


@pytest.mark.unit
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (20, None),
        (19, "unfinished: 1 more run is wanted"),
        (1, "unfinished: 19 more runs are wanted"),
    ],
)
def test_runs_that_are_still_to_be_made_are_counted(made: int, words: str | None) -> None:
    found = only(results(noise, plot={"kind": "table"}), lambda runs: runs["replication"] < made)
    assert found.unfinished == 20 - made
    said = answers(found)
    assert [line for line in said if "unfinished" in line] == ([words] if words else [])
    assert told(said, "none failed") == f"{made} run{'' if made == 1 else 's'}, none failed"


@pytest.mark.unit
def test_a_point_that_still_wants_runs_has_not_come_to_the_cap() -> None:
    """Of three wide points one is at the cap of 15, one has 2 of its first 5 runs, and one none."""
    rule = {"response": "net_tokens", "half_width": 0.001, "first": 5, "look_ahead": 2, "cap": 15}
    wide = results(noise, replications=rule, factor=[factor("x", values=[1, 2, 3])], plot={"kind": "table"})
    made = {0: 15, 1: 2, 2: 0}
    found = only(wide, lambda runs: runs["replication"] < runs["point"].map(made))
    said = answers(found)
    assert "unfinished: at least 8 more runs are wanted" in said
    assert told(said, "came to the cap").startswith("1 of 1 point came to the cap of 15 replications")
    first = only(wide, lambda runs: (runs["point"] == 1) & (runs["replication"] < 2))
    assert "unfinished: at least 13 more runs are wanted" in answers(first)
    assert not any("cap" in line for line in answers(first))


TWO_RANKINGS = {
    "plot": {"kind": "ranking", "response": "net_tokens"},
    "plots": [{"kind": "ranking", "response": "usd"}],
    "responses": ["net_tokens", "usd"],
    "policies": ["a", "b"],
}


@pytest.mark.unit
def test_where_all_is_skipped_no_ranking_says_anything() -> None:
    found = results(lambda _: None, **TWO_RANKINGS)
    found.runs[["net_tokens", "usd"]] = np.nan
    found.runs["failed_stage"], found.runs["failure"] = "skipped", "needs user_turns"
    said = answers(found)
    assert said == ["40 runs, none failed, 40 skipped", "skipped: needs user_turns: a in s; b in s"]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("scenarios", "of_usd"),
    [
        ("s", ["s, usd (lower is better): a is the best of 2"]),
        ("st", ["may be the best on usd in each of 2 places, 95% a place: a"]),
        ("s-", []),  # one of two places has no value of it: nothing holds everywhere
    ],
)
def test_of_a_further_ranking_stands_what_holds_everywhere(scenarios: str, of_usd: list[str]) -> None:
    found = results(noise, scenarios=tuple(scenarios), **TWO_RANKINGS)
    runs = found.runs
    runs["usd"] = np.where(runs["policy"] == "a", 1.0, 9.0) + runs["replication"] % 3 * (
        runs["policy"] == "b"
    )
    runs.loc[runs["scenario"] == "-", "usd"] = np.nan
    said = [line for line in answers(found) if "usd" in line]
    assert len(said) == len(of_usd)
    assert all(line.startswith(words) for line, words in zip(said, of_usd, strict=True))
