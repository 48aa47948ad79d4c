"""Figures: what is drawn equals what was given, in grey too, and the same data give the same bytes."""

from __future__ import annotations

import doctest
import itertools
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection, PolyCollection, QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from experiments import plots
from experiments.plots.style import NAMED_STYLES, SPARE_STYLES
from experiments.plots.sweeps import REGIMES
from experiments.plots.tables import axis_label, mean_by, number_words
from simulator.contracts import InputError

pytestmark = pytest.mark.unit

WINDOW = 24_000
HORIZON = 200

# ------------------------------------------------------------------------------ plausible tables


def worlds(replications: int, policies: tuple[str, ...] = ("naive", "guarded")) -> tuple[pd.DataFrame, ...]:
    """Turns and rewrites of a toy with the documented shapes: a spiral and an oscillation."""
    turns: list[dict[str, object]] = []
    rewrites: list[dict[str, object]] = []
    for policy, replication in itertools.product(policies, range(replications)):
        random = np.random.default_rng(1000 + replication)
        tokens, number = 9_000, 0
        for turn in range(1, HORIZON + 1):
            tokens += int(random.lognormal(np.log(150), 0.6)) + int(random.integers(20, 60))
            if tokens > 0.908 * WINDOW:
                number += 1
                row = attempt(policy, number, tokens, random)
                rewrites.append({"policy": policy, "replication": replication, "turn": turn, **row})
                tokens = int(row["tokens_after"])  # type: ignore[call-overload]
            if tokens > WINDOW:
                break
            turns.append(
                {
                    "policy": policy,
                    "replication": replication,
                    "turn": turn,
                    "occupancy_pct": 100 * tokens / WINDOW,
                }
            )
    return pd.DataFrame(turns), pd.DataFrame(rewrites)


def attempt(policy: str, number: int, tokens: int, random: np.random.Generator) -> dict[str, object]:
    refused = policy != "naive" and random.random() < 0.1
    rationale = int(random.normal(700 + 40 * number, 60)) if policy == "naive" else int(random.normal(160, 10))
    measurement = int(0.05 * tokens) if policy == "naive" else (0 if refused else 12)
    freed = 0 if refused else int(random.normal(1100 if policy == "naive" else 850, 90))
    net = freed - rationale - measurement
    return {
        "tokens_before": tokens,
        "tokens_after": tokens - net,
        "freed": freed,
        "rewrite_cost": rationale,
        "measurement_cost": measurement,
        "tombstones": 0,
        "reinjected": 0,
        "arrivals_during": 0,
        "out_of_band_during": 0,
        "net": net,
        "believed_net": int(random.normal(1150, 60)) if policy == "naive" else freed - 172,
        "outcome": "refused" if refused else ("committed" if net > 0 else "committed_without_effect"),
    }


def exact_rows() -> dict[str, pd.Series]:
    """Return the two rewrites of the record, to the token."""
    rest = {"tombstones": 0, "reinjected": 0, "arrivals_during": 0, "out_of_band_during": 0}
    naive = {
        "tokens_before": 21_840, "tokens_after": 22_540, "freed": 1_100, "rewrite_cost": 700,
        "measurement_cost": 1_100, "net": -700, "believed_net": 1_100, "outcome": "committed_without_effect",
    }  # fmt: skip
    guarded = {
        "tokens_before": 21_840, "tokens_after": 21_066, "freed": 946, "rewrite_cost": 160,
        "measurement_cost": 12, "net": 774, "believed_net": 774, "outcome": "committed",
    }  # fmt: skip
    return {"naive": pd.Series({**naive, **rest}), "guarded": pd.Series({**guarded, **rest})}


def full_row() -> pd.Series:
    """Return a rewrite in which every term of the identity is at work."""
    row = exact_rows()["guarded"]
    row["tombstones"], row["reinjected"], row["arrivals_during"], row["out_of_band_during"] = 36, 210, 480, 1200
    row["tokens_after"] = 21_840 - 946 + 160 + 12 + 36 + 210 + 480 - 1200
    return row


def regimes(side: int = 13) -> pd.DataFrame:
    rows = []
    for base, share in itertools.product(np.linspace(100, 1300, side), np.linspace(0.0, 0.06, side)):
        net = 1500 - base - share * 22_000
        regime = "spiral" if net < 0 else "insufficient" if net < 280 else "stable"
        rows.append({"policy.rationale_base_tokens": base, "measurement_share": share, "regime": regime})
    return pd.DataFrame(rows)


def boundary(base: np.ndarray) -> np.ndarray:
    return (1500 - base) / 22_000


def sweep() -> pd.DataFrame:
    rows = []
    for policy, base in itertools.product(("naive", "guarded", "gate-only", "mine"), range(0, 1300, 200)):
        slope = {"naive": -1.6, "guarded": -0.2, "gate-only": -0.5, "mine": -0.9}[policy]
        net = 700 + slope * base
        rows.append(
            {"policy": policy, "rationale_base_tokens": base, "net": net, "low": net - 90, "high": net + 110}
        )
    return pd.DataFrame(rows)


def two_factors() -> pd.DataFrame:
    rows = [
        {"knee_pct": knee, "cap_tokens": cap, "net": 900 - 1.1 * cap - 30 * (95 - knee)}
        for knee, cap in itertools.product((85, 87.5, 90, 91, 92.5), (80, 160, 320, 480, 640, 900))
    ]
    return pd.DataFrame(rows[:-1])


def switches() -> pd.DataFrame:
    signatures = {
        "share of runs that overflow": "0",
        "right after a commit (%)": "88.9\u201389.1",
        "turn-end maxima (%)": "90.5\u201390.7",
        "refused attempts (%)": "5\u20136",
        "commits with net \u2264 0 (%)": "0",
    }
    settings: dict[str, list[object]] = {
        "guarded": [0, 89.0, 90.6, 5.5, 0],
        "\u2212 gate off": [0, 89.1, 90.6, 0, 10],
        "\u2212 charging off": [0, 90.2, 93.8, 0, 56],
        "\u2212 mark off": [0.32, 89.6, 91.4, 4.1, 0],
        "\u2212 full measurement": [0, 89.4, 92.0, 69, 0],
        "naive": [1.0, 94.2, "98.1", np.nan, 100],
    }
    rows = []
    for name, values in settings.items():
        for (signature, documented), value, wanted in zip(
            signatures.items(), values, settings["guarded"], strict=True
        ):
            verdict = None if value is np.nan else bool(value == wanted)
            rows.append({"setting": name, "signature": signature, "value": value, "passed": verdict,
                         "documented": documented})  # fmt: skip
    return pd.DataFrame(rows)


TURNS, REWRITES = worlds(40)
POLICIES = ("naive", "guarded", "gate-only", "hysteresis-only", "mine")
SINGLE_TURNS, SINGLE_REWRITES = (table.drop(columns="replication") for table in worlds(1))
MANY_TURNS, MANY_REWRITES = worlds(6, POLICIES)

FIGURES: dict[str, Callable[[], Figure]] = {
    "occupancy": lambda: plots.occupancy_by_turn(TURNS, window=WINDOW, documented=(88, 91), horizon=HORIZON),
    "occupancy-single": lambda: plots.occupancy_by_turn(
        SINGLE_TURNS, window=WINDOW, documented=(88, 91), horizon=HORIZON, width=plots.ONE_COLUMN
    ),
    "occupancy-many": lambda: plots.occupancy_by_turn(MANY_TURNS, window=WINDOW, horizon=HORIZON, floor_pct=35),
    "nets": lambda: plots.believed_and_true_net(REWRITES),
    "nets-single": lambda: plots.believed_and_true_net(SINGLE_REWRITES, width=plots.ONE_COLUMN),
    "nets-many": lambda: plots.believed_and_true_net(MANY_REWRITES),
    "ledger": lambda: plots.ledger_of_one_rewrite(exact_rows()["naive"], WINDOW, name="naive"),
    "ledger-full": lambda: plots.ledger_of_one_rewrite(full_row(), WINDOW),
    "ledgers": lambda: plots.ledgers_side_by_side(exact_rows(), WINDOW),
    "ledgers-full": lambda: plots.ledgers_side_by_side({"naive": exact_rows()["naive"], "guarded": full_row()}, WINDOW),
    "cost": lambda: plots.cost_against_occupancy(REWRITES, window=WINDOW),
    "cost-single": lambda: plots.cost_against_occupancy(SINGLE_REWRITES, window=WINDOW, width=plots.TWO_COLUMNS),
    "phase": lambda: plots.phase_diagram(
        regimes(), "policy.rationale_base_tokens", "measurement_share", "regime", boundary
    ),
    "phase-points": lambda: plots.phase_diagram(
        regimes(25).sample(90, random_state=3),
        "policy.rationale_base_tokens",
        "measurement_share",
        analytic=([100, 1300], boundary(np.array([100, 1300]))),
    ),
    "response": lambda: plots.response_with_intervals(sweep(), "rationale_base_tokens", "net"),
    "response-words": lambda: plots.response_with_intervals(
        sweep()[lambda t: t["rationale_base_tokens"] <= 600].replace(
            {"rationale_base_tokens": {0: "turn start", 200: "before request", 400: "after result", 600: "turn end"}}
        ),
        "rationale_base_tokens",
        "net",
        labels={"rationale_base_tokens": "Check point"},
    ),
    "heat": lambda: plots.heat_table(two_factors(), "cap_tokens", "knee_pct", "net"),
    "heat-positive": lambda: plots.heat_table(
        two_factors().assign(net=lambda t: t["net"].abs() / 1000), "cap_tokens", "knee_pct", "net", width=plots.TWO_COLUMNS
    ),
    "signatures": lambda: plots.signature_table(switches()),
}  # fmt: skip
