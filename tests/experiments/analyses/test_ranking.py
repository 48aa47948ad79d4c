"""Rankings: means in order, bounds and the mute last, ties alike, and a selection that covers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.analyses.ranking import ranking, statements
from experiments.experiment import Experiment, PlotTable
from simulator import InputError

Build = Callable[..., Experiment]
Rows = Callable[..., pd.DataFrame]

LOWER = PlotTable(kind="ranking", response="y")
HIGHER = PlotTable(kind="ranking", response="y", better="higher")
WORLDS = 10


def means(levels: dict[str, float], spread: float = 0.0) -> Callable[[dict[str, object], int], float]:
    """Responses around a level a policy: a common swing by world, and a private one of the given spread."""
    random = np.random.default_rng(11)
    common = random.normal(0, 50, WORLDS)
    own = {policy: random.normal(0, 1, WORLDS) for policy in levels}
    own = {policy: spread * (noise - noise.mean()) for policy, noise in own.items()}  # means are exact

    def value(at: dict[str, object], world: int) -> float:
        policy = str(at["policy"])
        return float(common[world] - common.mean() + levels[policy] + own[policy][world])

    return value


@pytest.mark.unit
@pytest.mark.parametrize(("plot", "order"), [(LOWER, ["b", "c", "a"]), (HIGHER, ["a", "c", "b"])])
def test_the_best_stands_first(build: Build, runs_of: Rows, plot: PlotTable, order: list[str]) -> None:
    experiment = build(("a", "b", "c"), replications=WORLDS)
    table = ranking(runs_of(experiment, means({"a": 9, "b": 4, "c": 6})), experiment, plot)
    assert table["policy"].tolist() == order
    assert table["rank"].tolist() == [1, 2, 3]
    assert table["best"].tolist() == [True, False, False]
    assert table["lead"].tolist() == pytest.approx([2.0, -2.0, -5.0] if plot is LOWER else [3.0, -3.0, -5.0])
    assert set(table["worlds"]) == {WORLDS}


@pytest.mark.theory
def test_of_two_policies_the_subset_is_the_one_sided_paired_test(build: Build, runs_of: Rows) -> None:
    """A policy falls out where its paired t statistic passes the one-sided 95% quantile of Student's t."""
    experiment = build(("a", "b"), replications=WORLDS)
    quantile = stats.t.ppf(0.95, WORLDS - 1)
    spread = 1.0
    noise = runs_of(experiment, means({"a": 0, "b": 0}, spread)).pivot(
        index="replication", columns="policy", values="y"
    )
    edge = quantile * (noise["a"] - noise["b"]).std() / np.sqrt(WORLDS)
    for gap, kept in ((0.99 * edge, [True, True]), (1.01 * edge, [True, False])):
        table = ranking(runs_of(experiment, means({"a": 0, "b": gap}, spread)), experiment, LOWER)
        assert table["best"].tolist() == kept
        (said,) = statements(runs_of(experiment, means({"a": 0, "b": gap}, spread)), experiment, LOWER)
        told = "none of 2 is out: a has the best mean" if all(kept) else "a is the best of 2"
        assert said == f"s, y (lower is better): {told}; {WORLDS} worlds, 95% confidence"


@pytest.mark.unit
def test_equal_means_have_equal_ranks(build: Build, runs_of: Rows) -> None:
    experiment = build(("a", "b", "c", "d"), replications=WORLDS)
    runs = runs_of(experiment, lambda at, _: 7.0 if at["policy"] == "d" else 3.0)
    table = ranking(runs, experiment, LOWER)
    assert table["policy"].tolist() == ["a", "b", "c", "d"]
    assert table["rank"].tolist() == [1, 1, 1, 4]
    assert table["best"].tolist() == [True, True, True, False]
    assert table["lead"].tolist() == [0, 0, 0, -4]


@pytest.mark.unit
def test_a_bound_is_no_rival(build: Build, runs_of: Rows) -> None:
    experiment = build(("bound", "a", "b"), bounds=("bound",), replications=WORLDS)
    table = ranking(runs_of(experiment, means({"bound": 0, "a": 5, "b": 8})), experiment, LOWER)
    rows = table.set_index("policy")
    assert table["policy"].tolist() == ["a", "b", "bound"]
    assert rows["bound"].tolist() == [False, False, True]
    assert rows.loc["bound", "mean"] == pytest.approx(0)  # it has a mean, and no rank, lead or chance
    assert not rows.loc["bound", "best"]
    assert rows.loc["bound", ["rank", "lead"]].isna().all()
    assert rows.loc["a", "best"]
    assert rows.loc["a", "lead"] == pytest.approx(3)


@pytest.mark.unit
def test_leads_are_taken_in_common_worlds(build: Build, runs_of: Rows) -> None:
    """One policy has no response in the hard worlds: there its rivals do not count, and it is no best."""
    experiment = build(("a", "b"), replications=WORLDS)

    def value(at: dict[str, object], world: int) -> float | None:
        hard = world >= WORLDS // 2
        if at["policy"] == "b":
            return None if hard else 2.0
        return 100.0 if hard else 1.0 + 0.01 * world

    table = ranking(runs_of(experiment, value), experiment, LOWER).set_index("policy")
    assert table["rank"].to_dict() == {"a": 1, "b": 2}
    assert table["mean"].to_dict() == pytest.approx({"a": 1.02, "b": 2.0})
    assert table.loc["a", "lead"] == pytest.approx(1 - 0.02)
    assert table["best"].to_dict() == {"a": True, "b": False}
    assert set(table["worlds"]) == {WORLDS // 2}
    assert table["n"].to_dict() == {"a": WORLDS // 2, "b": WORLDS // 2}
    assert table["missing"].to_dict() == {"a": 0, "b": WORLDS // 2}
    (said,) = statements(runs_of(experiment, value), experiment, LOWER)
    assert "a is the best of 2; 5 of 10 worlds, b lacks 5, 95% confidence" in said


@pytest.mark.unit
def test_where_nothing_can_be_selected(build: Build, runs_of: Rows) -> None:
    """One rival with responses, the other mute: there is an order, and no verdict."""
    experiment = build(("a", "mute"), replications=WORLDS)
    runs = runs_of(experiment, lambda at, world: None if at["policy"] == "mute" else float(world))
    table = ranking(runs, experiment, LOWER).set_index("policy")
    assert table["rank"].fillna(0).to_dict() == {"a": 1, "mute": 0}
    assert not table["best"].any()
    assert table["n"].to_dict() == {"a": WORLDS, "mute": 0}
    assert statements(runs, experiment, LOWER) == [
        "s, y (lower is better): no selection, a alone can be ranked"
    ]
    none = runs_of(experiment, lambda *_: None)
    assert statements(none, experiment, LOWER) == [
        "s, y (lower is better): no selection, no policy can be ranked"
    ]


@pytest.mark.unit
def test_what_is_said_of_several_places(build: Build, runs_of: Rows) -> None:
    """In one place a wins, in the other all are alike: only a may be the best in both."""
    experiment = build(("a", "b"), scenarios=("calm", "wild"), replications=WORLDS)
    runs = runs_of(experiment, lambda at, _: float(at["scenario"] == "calm" and at["policy"] == "b"))
    ending = f"; {WORLDS} worlds, 95% confidence (2 of 2 had one value in all of these worlds)"
    assert statements(runs, experiment, LOWER) == [
        f"calm, y (lower is better): a is the best of 2{ending}",
        f"wild, y (lower is better): all 2 policies are alike in every world{ending}",
        "may be the best on y in each of 2 places, 95% a place: a",
    ]


@pytest.mark.unit
def test_each_place_is_ranked_by_itself(build: Build, runs_of: Rows) -> None:
    experiment = build(("a", "b"), scenarios=("calm", "wild"), replications=WORLDS)
    runs = runs_of(experiment, lambda at, _: float((at["policy"] == "a") == (at["scenario"] == "calm")))
    table = ranking(runs, experiment, LOWER)
    assert table[["place", "policy", "rank"]].to_numpy().tolist() == [
        ["calm", "b", 1],
        ["calm", "a", 2],
        ["wild", "a", 1],
        ["wild", "b", 2],
    ]


@pytest.mark.theory
def test_the_true_best_is_nearly_always_in_the_subset(build: Build, runs_of: Rows) -> None:
    """Four policies, the best by a little: in one place of twenty it may fall out, by a binomial law."""
    places = 300
    experiment = build(("a", "b", "c", "d"), scenarios=tuple(f"s{n}" for n in range(places)), replications=5)
    random = np.random.default_rng(20261115)
    noise = random.normal(0, 1, (places, 4, 5)) + random.normal(0, 5, (places, 1, 5))
    true = {"a": 0.0, "b": 0.3, "c": 0.3, "d": 0.3}

    def value(at: dict[str, object], world: int) -> float:
        place, policy = int(str(at["scenario"])[1:]), str(at["policy"])
        return float(true[policy] + noise[place, "abcd".index(policy), world])

    table = ranking(runs_of(experiment, value), experiment, LOWER)
    missed = int((~table.loc[table["policy"] == "a", "best"].astype(bool)).sum())
    assert missed <= stats.binom.ppf(1 - 1e-4, places, 0.05)
    assert table.groupby("place")["best"].sum().lt(4).any()  # and the subset is no mere list of all


# ------------------------------------------------------------------------------------ whose lack it is


@pytest.mark.unit
def test_who_lacks_the_response_is_named(build: Build, runs_of: Rows) -> None:
    """Two policies have all worlds, a third but one: it takes the verdict from all, and is told."""
    experiment = build(("a", "b", "rare"), replications=WORLDS)
    made = means({"a": 9, "b": 4, "rare": 6}, 0.5)
    runs = runs_of(experiment, lambda at, n: None if at["policy"] == "rare" and n else made(at, n))
    (said,) = statements(runs, experiment, LOWER)
    assert said.endswith(
        "no selection, too few worlds in common: of 10 worlds rare has 1, a has 10, b has 10"
    )
    table = ranking(runs, experiment, LOWER).set_index("policy")
    assert table["missing"].to_dict() == {"a": 0, "b": 0, "rare": WORLDS - 1}
    assert set(table["n"]) == {1}  # ranked in the one world that all have


@pytest.mark.unit
def test_without_a_world_in_common_each_has_its_own(build: Build, runs_of: Rows) -> None:
    experiment = build(("a", "b"), replications=WORLDS)
    runs = runs_of(experiment, lambda at, n: float(n) if (at["policy"] == "a") == (n < 4) else None)
    table = ranking(runs, experiment, LOWER).set_index("policy")
    assert table["n"].to_dict() == {"a": 4, "b": WORLDS - 4}
    assert table["mean"].to_dict() == {"a": 1.5, "b": 6.5}
    assert table["rank"].to_dict() == {"a": 1, "b": 2}
    assert not table["best"].any()


# ------------------------------------------------------------------------------------ after a race

RACE = {"rule": "best", "response": "y", "indifference": 1.0, "first": 5, "cap": WORLDS}


def raced(build: Build, runs_of: Rows, **rule: object) -> tuple[Experiment, pd.DataFrame]:
    """A race that a wins over b after ten worlds; c is out after five. On z the order is c, b, a."""
    experiment = build(("a", "b", "c"), responses=["y", "z"], replications={**RACE, **rule})
    shift = {"a": 0.0, "b": 2.0, "c": 90.0}
    noise = np.random.default_rng(12).normal(0, 0.3, (3, WORLDS))

    def y(at: dict[str, object], world: int) -> float:
        return shift[str(at["policy"])] + float(noise["abc".index(str(at["policy"])), world])

    runs = runs_of(experiment, y, z=lambda at, world: 5.0 * y(at, world) - 12 * shift[str(at["policy"])])
    return experiment, runs[(runs["policy"] != "c") | (runs["replication"] < 5)]


@pytest.mark.unit
def test_after_a_race_its_own_verdict_stands(build: Build, runs_of: Rows) -> None:
    """The winner of the race is the best, if anyone is; no leads stand beside it; who fell out is behind."""
    experiment, runs = raced(build, runs_of)
    table = ranking(runs, experiment, LOWER).set_index("policy")
    assert table["best"].to_dict() == {"a": True, "b": False, "c": False}
    assert table["rank"].to_dict() == {"a": 1, "b": 2, "c": 3}
    assert table["n"].to_dict() == {"a": WORLDS, "b": WORLDS, "c": 5}
    assert table["lead"].isna().all()
    (said,) = statements(runs, experiment, LOWER)
    assert "a is the best, with 95% confidence if the best leads by 1 or more, after " in said
    assert "within" not in said  # which Kim and Nelson do not show


@pytest.mark.unit
def test_another_response_is_ranked_among_those_that_ran_to_the_end(build: Build, runs_of: Rows) -> None:
    experiment, runs = raced(build, runs_of)
    other = PlotTable(kind="ranking", response="z")
    table = ranking(runs, experiment, other).set_index("policy")
    assert table["best"].to_dict() == {"a": False, "b": True, "c": None}
    assert table["rank"].to_dict() == {"a": 2, "b": 1, "c": 3}  # c is lowest, in five worlds
    assert table["mean"].idxmin() == "c"
    assert table["worlds"].unique().tolist() == [WORLDS]
    (said,) = statements(runs, experiment, other)
    assert "b is the best of 2; 10 worlds" in said
    assert said.endswith("; the race on y stopped c after 5")


@pytest.mark.unit
def test_a_ranking_does_not_turn_its_race_round(build: Build, runs_of: Rows) -> None:
    """The race kept the lowest: the best of a ranking by the highest would be the worst but for the first."""
    experiment, runs = raced(build, runs_of)
    for show in (ranking, statements):
        with pytest.raises(InputError, match="the race on y took lower for better, and this ranking higher"):
            show(runs, experiment, HIGHER)
    ranking(runs, experiment, PlotTable(kind="ranking", response="z", better="higher"))


@pytest.mark.unit
def test_a_race_bars_nobody(build: Build, runs_of: Rows) -> None:
    """Whom it has stopped it stopped against all others, also those that would be barred."""
    experiment, runs = raced(build, runs_of)
    plot = LOWER.model_copy(update={"barred_by": "stopped"})
    for show in (ranking, statements):
        with pytest.raises(InputError, match="a race cannot bar by stopped"):
            show(runs.assign(stopped=0.0), experiment, plot)


@pytest.mark.unit
def test_a_race_that_has_not_begun_has_stopped_nobody(build: Build, runs_of: Rows) -> None:
    """Interrupted in its first stage, one policy has fewer runs than another, and is compared with it."""
    experiment = build(("a", "b"), replications=RACE)
    runs = runs_of(experiment, lambda at, world: float(at["policy"] == "b") + world % 3)
    runs = runs[runs["replication"] < np.where(runs["policy"] == "a", 4, 3)]
    (said,) = statements(runs, experiment, LOWER)
    assert "stopped" not in said
    assert ranking(runs, experiment, LOWER)["best"].notna().all()


@pytest.mark.unit
def test_a_race_between_equals_has_no_winner(build: Build, runs_of: Rows) -> None:
    """Its rule draws one of those that are alike in all worlds; the ranking does not call that the best."""
    experiment = build(("a", "b"), replications=RACE)
    runs = runs_of(experiment, lambda _, world: float(world % 3))
    runs = runs[runs["replication"] < 5]
    table = ranking(runs, experiment, LOWER)
    assert table["best"].all()
    assert table["rank"].tolist() == [1, 1]
    (said,) = statements(runs, experiment, LOWER)
    assert "all 2 policies are alike in every world; 5 worlds" in said
