"""Sweeps of many policies on many grounds: who is asked for, who may win, and pictures that can be read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments import plots
from experiments.analyses.ranking import ranking, statements
from experiments.analyses.tradeoffs import tradeoff
from experiments.experiment import Experiment, PlotTable, load_experiment
from experiments.pictures import draw
from experiments.plots.rankings import MOST_RANKED
from experiments.plots.style import MUTED
from experiments.report.assembly import page_of
from experiments.results import Results, results_of
from experiments.sweeping import sweep
from policies.loader import read_policy
from simulator import InputError

pytestmark = pytest.mark.unit

EXPERIMENT = """\
summary = "three policies on two grounds"
source = "made for a test"
scenarios = ["constant-arrivals", "rewrite-budget-spiral"]
policies = ["naive", "guarded", "never-rewrite"]
bounds = ["never-rewrite"]
replications = 2
responses = ["usd_a_turn", "wrong", "stopped", "turns"]
set = { "run.horizon" = 12 }

[plot]
kind = "pareto"
x = "usd_a_turn"
y = "turns"
barred_by = "stopped"
"""


def written(tmp_path: Path, *edits: tuple[str, str]) -> Experiment:
    text = EXPERIMENT
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / "many.toml"
    path.write_text(text)
    return load_experiment(str(path))


# ------------------------------------------------------------------------------------ who is asked for


def test_a_group_stands_for_the_policies_whose_files_say_so(tmp_path: Path) -> None:
    experiment = written(
        tmp_path, ('["naive", "guarded", "never-rewrite"]', '["never-rewrite", "group:conserving"]')
    )
    assert experiment.policies[0] == "never-rewrite"
    assert set(experiment.policies[1:]) >= {"conserving", "conserving-mask"}
    assert all(read_policy(name).data["group"] == "conserving" for name in experiment.policies[1:])


def test_a_group_that_nobody_is_of_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'group:zo' fits nothing"):
        written(tmp_path, ('"naive", "guarded"', '"naive", "group:zo"'))


def test_without_takes_patterns_and_tells_those_that_fit_nobody(tmp_path: Path) -> None:
    some = ('policies = ["naive", "guarded", "never-rewrite"]', 'policies = ["naive*", "never-rewrite"]')
    experiment = written(tmp_path, some, ("bounds", 'without = ["naive-*"]\nbounds'))
    assert experiment.policies == ("naive", "never-rewrite")
    with pytest.raises(InputError, match=r"'guarded-\*' is not among them"):
        written(tmp_path, some, ("bounds", 'without = ["guarded-*"]\nbounds'))


def test_what_bars_must_be_a_response(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'stoped' is not among the responses.*'stopped'"):
        written(tmp_path, ('barred_by = "stopped"', 'barred_by = "stoped"'))


# ------------------------------------------------------------------------------------ who may win


def runs_of(*rows: tuple[str, str, float, float, float]) -> pd.DataFrame:
    """Runs by scenario, policy, dollars a turn, wrongs and stops; the second world is a little dearer."""
    made = [
        {
            "scenario": scenario,
            "point": 0,
            "policy": policy,
            "replication": world,
            "usd_a_turn": usd + 0.01 * world,
            "wrong": wrong,
            "stopped": stops,
            "turns": 12.0,
        }
        for scenario, policy, usd, wrong, stops in rows
        for world in (0, 1)
    ]
    return pd.DataFrame(made)


RUNS = runs_of(
    ("constant-arrivals", "naive", 1.0, 0.0, 1.0),  # cheap and sound, because it stops early
    ("constant-arrivals", "guarded", 3.0, 2.0, 0.0),
    ("constant-arrivals", "never-rewrite", 2.0, 0.0, 0.0),  # a bound
    ("rewrite-budget-spiral", "naive", 5.0, 5.0, 0.0),
    ("rewrite-budget-spiral", "guarded", 6.0, 1.0, 0.0),
    ("rewrite-budget-spiral", "never-rewrite", 4.0, 0.0, 0.0),
)


def test_neither_bounds_nor_who_stops_early_are_on_the_front_and_each_ground_has_its_own(
    tmp_path: Path,
) -> None:
    plot = PlotTable(kind="pareto", x="usd_a_turn", y="wrong", barred_by="stopped")
    table = tradeoff(RUNS, written(tmp_path), plot)
    front = table[table["front"]][["place", "policy"]].values.tolist()
    assert front == [
        ["constant-arrivals", "guarded"],
        ["rewrite-budget-spiral", "naive"],
        ["rewrite-budget-spiral", "guarded"],
    ]
    free = tradeoff(RUNS, written(tmp_path), plot.model_copy(update={"barred_by": None}))
    assert free[free["front"]]["policy"].tolist() == ["naive", "naive", "guarded"]


def test_who_stops_early_has_no_rank_by_dollars(tmp_path: Path) -> None:
    plot = PlotTable(kind="ranking", response="usd_a_turn", barred_by="stopped")
    table = ranking(RUNS, written(tmp_path), plot)
    first = table[table["place"] == "constant-arrivals"].set_index("policy")
    assert first["rank"].dropna().to_dict() == {"guarded": 1}
    assert first["barred"].to_dict() == {"guarded": False, "naive": True, "never-rewrite": False}
    assert first.loc["naive", "mean"] == pytest.approx(1.005)  # it is told all the same
    assert "1 barred by stopped" in statements(RUNS, written(tmp_path), plot)[0]
    second = table[table["place"] == "rewrite-budget-spiral"].set_index("policy")
    assert second["rank"].dropna().to_dict() == {"naive": 1, "guarded": 2}


# ------------------------------------------------------------------------------------ what can be read


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("many")
    sweep(written(folder), folder / "out", workers=0, show="none")
    return results_of(folder / "out")


def test_each_ground_has_a_panel(swept: Results) -> None:
    figure = draw(swept, swept.experiment.file.plot)
    assert [axes.get_title("left") for axes in figure.axes] == ["constant-arrivals", "rewrite-budget-spiral"]


def test_each_ground_has_a_table_of_means_with_a_row_a_policy(swept: Results) -> None:
    page = page_of(swept, worlds=0)
    tables = {table.title: table for table in page.tables if table.title.startswith("means")}
    assert list(tables) == ["means in constant-arrivals", "means in rewrite-budget-spiral"]
    table = tables["means in constant-arrivals"]
    assert [column.name for column in table.columns] == ["policy", "usd_a_turn", "wrong", "stopped", "turns"]
    assert [row[0] for row in table.rows] == ["naive", "guarded", "never-rewrite"]
    means = swept.means.set_index(["scenario", "policy", "response"])["mean"]
    for row in table.rows:
        assert row[4].startswith(f"{means['constant-arrivals', row[0], 'turns']:g}")


def points(count: int) -> pd.DataFrame:
    """So many policies, each dearer and sounder than the one before."""
    return pd.DataFrame(
        {
            "policy": [f"policy-{place}" for place in range(count)],
            "usd": range(count),
            "wrong": range(count, 0, -1),
            "scenario": "ground",
            "mean": [float(place) for place in range(count)],
            "best": False,
            "bound": False,
        }
    ).assign(
        **{f"{name}_{end}": 0.0 for name in ("usd", "wrong") for end in ("low", "high")}, low=0.0, high=1.0
    )


def test_a_ranking_shows_the_best_and_says_how_many_more_there_are() -> None:
    figure = plots.ranking_chart(points(MOST_RANKED + 7), "usd")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [f"policy-{place}" for place in range(MOST_RANKED)]
    assert "7 more in the table" in figure.axes[0].get_xlabel()
    few = plots.ranking_chart(points(MOST_RANKED), "usd")
    assert "more" not in few.axes[0].get_xlabel()


def test_equal_points_of_a_front_share_a_name() -> None:
    table = points(3).assign(usd=[1, 1, 2], wrong=[4, 4, 3])
    words = [text.get_text() for text in plots.pareto_front(table, "usd", "wrong").axes[0].texts]
    assert sorted(words) == ["1\N{EN DASH}2", "3"]


def test_a_front_of_nobody_is_drawn_all_the_same() -> None:
    figure = plots.pareto_front(points(3).assign(front=False), "usd", "wrong")
    assert {text.get_color() for text in figure.axes[0].texts} == {MUTED}  # numbers of points off the front


def test_very_many_comparisons_are_a_table_of_policies_by_grounds(
    swept: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot = PlotTable(kind="comparison", response="usd_a_turn", baseline="guarded")
    assert len(draw(swept, plot).axes[0].lines) > 2  # a forest of intervals
    monkeypatch.setattr("experiments.drawings.MOST_COMPARED", 2)
    words = [text.get_text().replace("\n", "") for text in draw(swept, plot).axes[0].texts]
    assert {"naive", "never-rewrite", "constant-arrivals", "rewrite-budget-spiral"} <= set(words)
