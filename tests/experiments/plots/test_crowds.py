"""Pictures of few and of many policies can be read; a warning of the layout is an error here, as all are."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments import plots
from experiments.analyses.survival import EVENT, MOST_CURVES
from experiments.plots.marks import noted

pytestmark = pytest.mark.unit

WINDOW, TURNS, WORLDS = 24_000, 60, 3


def turns(names: tuple[str, ...]) -> pd.DataFrame:
    """Runs that fill up, fall by a rewrite, and fill up again; the first policy's end early."""
    rows = []
    for (place, name), world in itertools.product(enumerate(names), range(WORLDS)):
        for turn in range(1, TURNS + 1 if place else 40):
            occupancy = 40 + (turn * (1 + 0.05 * place) + 3 * world) % 55
            beliefs = {"confidence": 0.5 + turn / 200, "constraints_held": 5 - turn // 20}
            rows.append(
                {"policy": name, "replication": world, "turn": turn, "occupancy_pct": occupancy, **beliefs}
            )
    return pd.DataFrame(rows)


def attempts(names: tuple[str, ...]) -> pd.DataFrame:
    rows = [
        {
            "policy": name,
            "replication": world,
            "tokens_before": before,
            "rewrite_cost": 0.01 * before,
            "place": place,
        }
        for (place, name), world, before in itertools.product(
            enumerate(names), range(WORLDS), range(20_000, 23_000, 300)
        )
    ]
    table = pd.DataFrame(rows)
    return table.assign(measurement_cost=50 * table["place"])


def obedience(names: tuple[str, ...]) -> pd.DataFrame:
    rows = [
        {"policy": name, "replication": world, "changes": changes, "quoted": True, "obeyed": world > 0}
        for name, world, changes in itertools.product(names, range(WORLDS), range(5))
    ]
    return pd.DataFrame(rows).assign(outside=False)


def ledgers(names: tuple[str, ...]) -> dict[str, pd.Series]:
    rows = {}
    for place, name in enumerate(names):
        parts = {
            "freed": 1_100 + place,
            "rewrite_cost": 700,
            "measurement_cost": 1_100,
            "reinjected": 40 * place,
        }
        net = parts["freed"] - parts["rewrite_cost"] - parts["measurement_cost"]
        after = 21_840 - net + parts["reinjected"]
        rest = {
            "tombstones": 0,
            "arrivals_during": 0,
            "out_of_band_during": 0,
            "net": net,
            "believed_net": 1_100,
        }
        row = {"tokens_before": 21_840, "tokens_after": after, "outcome": "committed_without_effect"}
        rows[name] = pd.Series({**row, **parts, **rest})
    return rows


def warm_ups(names: tuple[str, ...]) -> pd.DataFrame:
    turn = np.arange(1, 201)
    mean = 90 - 12 * np.exp(-turn / 20)
    table = pd.DataFrame({"turn": turn, "mean": mean, "smoothed": mean})
    return pd.concat([table.assign(policy=name) for name in names])


def lives(names: tuple[str, ...]) -> pd.DataFrame:
    time = np.arange(10.0, 160.0, 10.0)
    share = np.linspace(0.95, 0.1, len(time))
    frames = [
        {
            "time": time,
            "survival": share ** (1 + place / 5),
            "low": 0.5 * share,
            "high": share,
            "policy": name,
        }
        for place, name in enumerate(names)
    ]
    table = pd.concat([pd.DataFrame(frame) for frame in frames])
    return table.assign(at_risk=1_200, censored=(table["time"] > 90).astype(int))


def points(names: tuple[str, ...], grounds: int = 1) -> pd.DataFrame:
    """Half of the policies on a front, two of them alike, the others behind it."""
    rows = []
    for ground, (place, name) in itertools.product(range(grounds), enumerate(names)):
        level = max(place, 1)
        usd, wrong = 1.0 + level, 20.0 / level + (5.0 if place % 2 and place > 1 else 0.0)
        row = {"policy": name, "ground": f"ground {ground}", "usd": usd, "wrong": wrong * (ground % 2)}
        rows.append(
            {**row, "usd_low": usd - 0.2, "usd_high": usd + 0.2, "wrong_low": np.nan, "wrong_high": np.nan}
        )
    return pd.DataFrame(rows)


def ranks(names: tuple[str, ...], grounds: int) -> pd.DataFrame:
    rows = [
        {
            "policy": name,
            "scenario": f"a ground of some name {ground}",
            "mean": 1.0 + (place + ground) % len(names),
        }
        for ground, (place, name) in itertools.product(range(grounds), enumerate(names))
    ]
    table = pd.DataFrame(rows)
    best = {"best": table["mean"] < 3, "bound": table["policy"] == "never-rewrite"}
    return table.assign(low=table["mean"] - 0.4, high=table["mean"] + 0.4, **best)


def responses(names: tuple[str, ...]) -> pd.DataFrame:
    rows = [
        {"policy": name, "length": length, "compliance": place + length / 4}
        for (place, name), length in itertools.product(enumerate(names), (1, 2, 4))
    ]
    table = pd.DataFrame(rows)
    return table.assign(low=table["compliance"] - 0.2, high=table["compliance"] + 0.2)


DRAWN: dict[str, Callable[[tuple[str, ...]], Figure]] = {
    "occupancy": lambda names: plots.occupancy_by_turn(turns(names), window=WINDOW, horizon=TURNS),
    "occupancy with a note": lambda names: noted(
        plots.occupancy_by_turn(turns(names), window=WINDOW),
        "Runs made again: point 1 of 4 (" + "head 3, " * 20,
    ),
    "response": lambda names: plots.response_with_intervals(
        responses(names),
        "length",
        "compliance",
        labels={"compliance": "Actual compliance with all that was said (share of steps)"},
        width=plots.TWO_COLUMNS,
    ),
    "confidence": lambda names: plots.confidence_and_constraints(turns(names)),
    "compliance": lambda names: plots.compliance_by_epoch(obedience(names)),
    "cost": lambda names: plots.cost_against_occupancy(attempts(names), window=WINDOW),
    "ledgers": lambda names: plots.ledgers_side_by_side(ledgers(names), WINDOW),
    "welch": lambda names: plots.welch_picture(
        warm_ups(names), dict.fromkeys(names, 41), response="occupancy_pct"
    ),
    "survival": lambda names: plots.survival_curves(lives(names[:MOST_CURVES]), event=EVENT),
    "front": lambda names: plots.pareto_front(points(names).assign(front=True), "usd", "wrong"),
    "fronts": lambda names: plots.pareto_front(points(names, 7), "usd", "wrong", panel="ground"),
    "fronts with a key": lambda names: plots.pareto_front(
        points((*names, *(f"one-more-policy-{place}" for place in range(20))), 5),
        "usd",
        "wrong",
        panel="ground",
    ),
    "ranking": lambda names: plots.ranking_chart(ranks(names, 2), "usd"),
    "ranking of many grounds": lambda names: plots.ranking_chart(ranks(names, 13), "usd", better="higher"),
}


@functools.cache
def drawn(kind: str, names: tuple[str, ...]) -> Figure:
    """Draw a picture once."""
    return DRAWN[kind](names)


@pytest.mark.parametrize("count", [2, 12])
@pytest.mark.parametrize("kind", DRAWN)
def test_few_and_many_policies_can_be_read(
    kind: str, count: int, names: tuple[str, ...], readable: Callable[[Figure], None]
) -> None:
    readable(drawn(kind, names[:count]))


@pytest.mark.parametrize("kind", [kind for kind in DRAWN if kind not in ("compliance", "cost")])
def test_pictures_of_twelve_policies_fit_a_page(kind: str, names: tuple[str, ...]) -> None:
    figure = drawn(kind, names)
    assert figure.get_figwidth() == plots.TWO_COLUMNS
    assert figure.get_figheight() <= 10.5


@pytest.mark.parametrize("kind", DRAWN)
def test_the_data_have_as_much_room_in_a_crowd(kind: str, names: tuple[str, ...]) -> None:
    few, many = drawn(kind, names[:2]).axes[0], drawn(kind, names).axes[0]
    assert many.get_window_extent().height > 0.5 * few.get_window_extent().height
