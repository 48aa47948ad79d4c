"""Tables of a sweep: means and shares by point, intervals that are possible, regimes by definition."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from experiments.experiment import Experiment, ExperimentFile
from experiments.factors import Factor
from experiments.results import interval_in, interval_of, means_of, quantiles_of, regimes

# ------------------------------------------------------------------------------------ means


def made(scenarios: tuple[str, ...], policies: tuple[str, ...]) -> Experiment:
    file = ExperimentFile(
        scenarios=scenarios,
        policies=list(policies),
        responses=["usd", "overflowed"],
        factor=(Factor(name="x", path="x", values=(1, 2)),),
    )
    return Experiment("made", Path("made.toml"), file, scenarios, policies)


def rows(experiment: Experiment, worlds: int) -> pd.DataFrame:
    """Costs are 10 x level + world, twice for the second policy; the first world of level 2 fails."""
    found = []
    for scenario in experiment.scenarios:
        for point, x in enumerate((1, 2)):
            for place, policy in enumerate(experiment.policies):
                for world in range(worlds):
                    fails = x == 2 and world == 0
                    usd = None if fails else (10.0 * x + world) * (1 + place)
                    overflowed = None if fails else float(world % 2)
                    failure = "why" if fails else None
                    found.append((scenario, point, x, policy, world, failure, usd, overflowed))
    names = ["scenario", "point", "x", "policy", "replication", "failure", "usd", "overflowed"]
    made_up = pd.DataFrame(found, columns=names)
    return made_up.assign(failed_stage=made_up["failure"].map({"why": "run"}))


@pytest.mark.theory
def test_means_by_place_policy_and_response() -> None:
    experiment = made(("calm", "wild"), ("a", "b"))
    table = means_of(rows(experiment, 5), experiment)
    names = ["scenario", "x", "policy", "response", "mean", "low", "high", "n", "failed"]
    assert list(table.columns) == names
    assert len(table) == 2 * 2 * 2 * 2
    found = table.set_index(["scenario", "x", "policy", "response"]).sort_index()
    cost = found.loc["wild", 2, "b", "usd"]
    values = [2 * (20 + world) for world in range(1, 5)]
    low, high = stats.t.interval(0.95, 3, loc=45, scale=stats.sem(values))
    assert (cost["mean"], cost["n"], cost["failed"]) == (45, 4, 1)
    assert (cost["low"], cost["high"]) == pytest.approx((low, high))
    share = found.loc["calm", 1, "a", "overflowed"]
    wilson = stats.binomtest(2, 5).proportion_ci(method="wilson")
    assert (share["mean"], share["n"], share["failed"]) == (0.4, 5, 0)
    assert (share["low"], share["high"]) == pytest.approx((wilson.low, wilson.high))


@pytest.mark.unit
def test_a_place_that_wholly_failed_has_a_row_without_a_mean() -> None:
    experiment = made(("calm",), ("a",))
    table = means_of(rows(experiment, 1), experiment).set_index(["x", "response"])
    assert "scenario" not in table.columns
    assert table.loc[(2, "usd"), ["n", "failed"]].tolist() == [0, 1]
    assert table.loc[(2, "usd"), ["mean", "low", "high"]].isna().all()
    assert means_of(rows(experiment, 1).head(0), experiment).empty


@pytest.mark.unit
@pytest.mark.parametrize(
    ("response", "values", "low", "high"),
    [
        ("usd", [0.0, 10.0], 0.0, None),
        ("net_tokens", [0.0, 10.0], None, None),
        ("confidence", [0.9, 1.0], None, 1.0),
        ("decision_quality", [0.2, 1.0], 0.0, 1.0),
        ("share_refused", [0.0, 1.0], 0.0, 1.0),
        ("net_per_attempt_tokens", [-10.0, 10.0], None, None),
        ("turns", [0.0, 10.0], 0.0, None),
        ("sound_turns", [0.0, 10.0], 0.0, None),
    ],
)
def test_an_interval_ends_where_the_possible_ends(
    response: str, values: list[float], low: float | None, high: float | None
) -> None:
    """Student's interval of two values is their mean and 12.7 times half their distance on each side."""
    middle, half = sum(values) / 2, stats.t.ppf(0.975, 1) * abs(values[1] - values[0]) / 2
    found = interval_of(response, values)
    assert found is not None
    assert found.estimate == pytest.approx(middle)
    assert found.low == pytest.approx(middle - half if low is None else low)
    assert found.high == pytest.approx(middle + half if high is None else high)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("given", "factor", "high"),
    [
        ({"run.horizon": 20}, ("window.head", (500, 600)), 20),
        ({}, ("window.head", (500, 600)), 200),  # the scenario's own
        ({}, ("run.horizon", (20, 30)), None),  # more than one
        ({"run.horizon": 20, "fleet.agents": 2}, ("window.head", (500, 600)), None),  # whose turns add up
    ],
)
def test_turns_end_at_the_horizon(
    given: dict[str, object], factor: tuple[str, tuple[int, ...]], high: float | None
) -> None:
    path, values = factor
    file = ExperimentFile(
        scenario="rewrite-budget-spiral",
        policies=["guarded"],
        responses=["turns"],
        set=given,
        factor=(Factor(name="x", path=path, values=values),),
    )
    experiment = Experiment("made", Path("made.toml"), file, ("rewrite-budget-spiral",), ("guarded",))
    whole = interval_of("turns", [18.0, 20.0, 20.0])
    for response in ("turns", "sound_turns"):
        found = interval_in(experiment, response, [18.0, 20.0, 20.0])
        assert found is not None
        assert whole is not None
        assert whole.high > 20
        assert found == (whole if high is None else whole._replace(high=min(high, whole.high)))


@pytest.mark.unit
def test_turns_of_several_scenarios_end_at_the_longest_horizon(small_scenario: Path, tmp_path: Path) -> None:
    """Of 20 and 30 turns; a fleet among them, whose turns add up, leaves no end."""
    text = small_scenario.read_text()
    longer, fleet = tmp_path / "longer.toml", tmp_path / "fleet.toml"
    longer.write_text(text.replace("horizon = 20", "horizon = 30"))
    fleet.write_text(f"{text}\n[fleet]\nagents = 2\n")
    places = [str(path) for path in (small_scenario, longer, fleet)]

    def high(*scenarios: str) -> float:
        file = ExperimentFile(scenarios=scenarios, policies=["guarded"], responses=["turns"])
        experiment = Experiment("made", Path("made.toml"), file, scenarios, ("guarded",))
        found = interval_in(experiment, "turns", [18.0, 18.0, 30.0])
        assert found is not None
        return found.high

    whole = interval_of("turns", [18.0, 18.0, 30.0])
    assert whole is not None
    assert whole.high > 30
    assert high(*places[:2]) == 30
    assert high(*places) == whole.high


@pytest.mark.unit
def test_of_nothing_there_is_no_interval() -> None:
    assert interval_of("usd", []) is None


@pytest.mark.theory
def test_quantiles_lie_between_order_statistics() -> None:
    """Of the costs 10 to 49 the binomial (40, 1/2) leaves the 14th and the 27th around the median."""
    experiment = made(("calm",), ("a",))
    asked = experiment.file.model_copy(update={"quantiles": (0.5, 0.9)})
    wanted = Experiment("made", experiment.path, asked, experiment.scenarios, experiment.policies)
    assert quantiles_of(rows(experiment, 40), experiment).empty
    table = quantiles_of(rows(wanted, 40), wanted).set_index(["x", "response", "quantile"])
    median = table.loc[1, "usd", 0.5]
    assert median["n"] == 40
    assert median["value"] == 29.5
    below, above = stats.binom.ppf([0.025, 0.975], 40, 0.5)  # values below the true median
    assert (median["low"], median["high"]) == (10 + below - 1, 10 + above)
    assert table.loc[1, "usd", 0.9]["value"] == pytest.approx(10 + 0.9 * 39)


@pytest.mark.unit
def test_the_bootstrap_where_it_is_asked_for() -> None:
    values = [1.0, 1.0, 1.0, 2.0, 30.0]
    plain, again = interval_of("usd", values), interval_of("usd", values, bootstrap=True)
    assert plain is not None
    assert again is not None
    assert again.estimate == plain.estimate == 7
    assert plain.low == 0  # Student's is even on both sides, and cut
    assert 1 <= again.low < 7 < again.high <= 30  # of resampled means none lies outside of the values
    assert again == interval_of("usd", values, bootstrap=True)


# ------------------------------------------------------------------------------------ regimes


@pytest.mark.unit
@pytest.mark.parametrize(
    ("net", "arrivals", "regime"),
    [
        (-0.1, 100.0, "spiral"),
        (0.0, 100.0, "insufficient"),
        (99.9, 100.0, "insufficient"),
        (100.0, 100.0, "stable"),
        (None, None, "stable"),
        (5.0, 0.0, "stable"),
    ],
)
def test_regimes_by_definition(net: float | None, arrivals: float | None, regime: str) -> None:
    rows = [
        {"x": 1, "policy": "p", "response": name, "mean": value, "n": int(value is not None), "failed": 0}
        for name, value in (("net_per_attempt_tokens", net), ("arrivals_per_turn_tokens", arrivals))
    ]
    found = regimes(pd.DataFrame(rows), ["x"])
    assert found[["x", "policy", "regime"]].to_numpy().tolist() == [[1, "p", regime]]


@pytest.mark.unit
def test_a_point_of_which_every_run_failed_has_no_regime() -> None:
    rows = [
        {"x": 1, "policy": "p", "response": name, "mean": None, "n": 0, "failed": 3}
        for name in ("net_per_attempt_tokens", "arrivals_per_turn_tokens")
    ]
    assert regimes(pd.DataFrame(rows), ["x"]).empty


@pytest.mark.unit
def test_points_with_the_same_levels_have_a_regime_each() -> None:
    """As a design has them that fills a space with few levels."""
    rows_found = [
        {"x": 1, "policy": "p", "response": name, "mean": value, "n": 1, "failed": 0}
        for net in (-5.0, 5.0, 500.0)
        for name, value in (("net_per_attempt_tokens", net), ("arrivals_per_turn_tokens", 100.0))
    ]
    found = regimes(pd.DataFrame(rows_found), ["x"])
    assert found["regime"].tolist() == ["spiral", "insufficient", "stable"]
    assert found["net_per_attempt_tokens"].tolist() == [-5, 5, 500]
