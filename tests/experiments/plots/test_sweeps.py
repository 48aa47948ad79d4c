"""Pictures of a sweep of many policies: each is drawn, can be read, and warns of nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments.analyses.survival import MOST_CURVES
from experiments.experiment import load_experiment
from experiments.pictures import draw, plot_of
from experiments.requirements import NEEDS
from experiments.results import Results
from experiments.sweeping import sweep

pytestmark = pytest.mark.unit

POLICIES = (
    *("naive", "guarded", "gate-only", "hysteresis-only", "static-instructions", "amortised-naive"),
    *("never-rewrite", "truncate-oldest"),
)
EXPERIMENT = f"""\
scenario = "rewrite-budget-spiral"
policies = {list(POLICIES)}
replications = 2
responses = ["net_per_attempt_tokens", "turns", "share_refused", "usd"]
set = {{ "run.horizon" = 100 }}
[plot]
kind = "pareto"
x = "usd"
y = "turns"
"""
FACTOR = '[[factor]]\nname = "base"\npath = "laws.rationale.base"\nvalues = [100, 600]\n'
OF_RUNS = ("occupancy", "believed", "ledger", "welch")
FOR_MANY = [
    kind for kind, needs in NEEDS.items() if needs.policies[1] >= len(POLICIES) and not needs.factors[0]
]


def swept(folder: Path, text: str) -> Results:
    path = folder / "many.toml"
    path.write_text(text)
    experiment = load_experiment(str(path))
    assert sweep(experiment, folder / "out", workers=1, show="none") == 0
    return Results(folder / "out", experiment)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return swept(tmp_path_factory.mktemp("many"), EXPERIMENT)


@pytest.fixture(scope="module")
def at_points(tmp_path_factory: pytest.TempPathFactory) -> Results:
    text = EXPERIMENT.replace(str(list(POLICIES)), str(["naive", "guarded"]))
    return swept(tmp_path_factory.mktemp("points"), text + FACTOR)


@pytest.mark.parametrize("kind", FOR_MANY)
def test_each_kind_of_many_policies_can_be_read(
    kind: str, many: Results, readable: Callable[[Figure], None]
) -> None:
    assert len(POLICIES) == MOST_CURVES
    readable(draw(many, plot_of(many, kind)))


def test_a_policy_without_a_rewrite_has_no_ledger_and_is_named(
    many: Results, said: Callable[[Figure], list[str]]
) -> None:
    figure = draw(many, plot_of(many, "ledger"))
    assert any("Without a rewrite: " in words and "never-rewrite" in words for words in said(figure))
    assert not any(axes.get_title(loc="left").startswith("never-rewrite") for axes in figure.axes)


@pytest.mark.parametrize("kind", OF_RUNS)
def test_pictures_of_runs_say_which_point_and_how_many_worlds(
    kind: str, at_points: Results, said: Callable[[Figure], list[str]]
) -> None:
    words = " ".join(said(draw(at_points, plot_of(at_points, kind))))
    worlds = 1 if kind == "ledger" else 2
    assert f"point 1 of 2 (base 100), {worlds} of 2 worlds a policy" in words
    assert "naive" in words and "guarded" in words
