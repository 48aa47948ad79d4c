"""Figures: what is drawn equals what was given, in grey too, and the same data give the same bytes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
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
from experiments.plots.regimes import REGIMES
from experiments.plots.style import NAMED_STYLES, SPARE_STYLES
from experiments.plots.tables import axis_label, mean_by, number_words
from simulator.errors import InputError

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
    rationale = (
        int(random.normal(700 + 40 * number, 60)) if policy == "naive" else int(random.normal(160, 10))
    )
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
        "tokens_before": 21_840,
        "tokens_after": 22_540,
        "freed": 1_100,
        "rewrite_cost": 700,
        "measurement_cost": 1_100,
        "net": -700,
        "believed_net": 1_100,
        "outcome": "committed_without_effect",
    }
    guarded = {
        "tokens_before": 21_840,
        "tokens_after": 21_066,
        "freed": 946,
        "rewrite_cost": 160,
        "measurement_cost": 12,
        "net": 774,
        "believed_net": 774,
        "outcome": "committed",
    }
    return {"naive": pd.Series({**naive, **rest}), "guarded": pd.Series({**guarded, **rest})}


def full_row() -> pd.Series:
    """Return a rewrite in which every term of the identity is at work."""
    row = exact_rows()["guarded"]
    row["tombstones"], row["reinjected"], row["arrivals_during"], row["out_of_band_during"] = (
        36,
        210,
        480,
        1200,
    )
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
        "commits with net\u00a0\u2264\u00a00 (%)": "0",
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
            verdict = None if pd.isna(value) else bool(value == wanted)
            rows.append(
                {
                    "setting": name,
                    "signature": signature,
                    "value": value,
                    "passed": verdict,
                    "documented": documented,
                }
            )
    return pd.DataFrame(rows)


def gates_off(
    responses: tuple[str, ...] = ("commits_without_gain", "usd", "max_occupancy_pct"),
) -> pd.DataFrame:
    """Differences with every kind of cell: above, below, holding 0, fewer pairs, unbounded, no value."""
    cells = [
        (12.5, 9.3, 15.7, 60),
        (-0.00123, -0.00201, -0.00045, 60),
        (0.4, -1.2, 2.0, 58),
        (1250.0, 1100.0, 1400.0, 60),
        (3.0, -np.inf, np.inf, 1),
        (np.nan, np.nan, np.nan, 0),
    ]
    rows = []
    for place, (level, response) in enumerate(itertools.product(("conservation", "binding"), responses)):
        mean, low, high, pairs = cells[place % len(cells)]
        rows.append(
            {
                "level": level,
                "response": response,
                "mean": mean,
                "low": low,
                "high": high,
                "n": pairs,
                "failed": 1 if level == "binding" else 0,
                "missing": 59 - pairs if level == "binding" and pairs < 60 else 0,
            }
        )
    return pd.DataFrame(rows)


def gate_effects(worlds: int = 40) -> pd.DataFrame:
    names = ("conservation", "evidence", "coherence", "binding")
    chosen = [group for order in (1, 2, 3) for group in itertools.combinations(names, order)]
    rows = []
    for place, group in enumerate(reversed(chosen)):  # the figure sorts them by order
        mean = 0.1 * (place - 5)
        rows.append(
            {
                "response": "overflowed",
                "effect": " x ".join(group),
                "order": len(group),
                "mean": mean,
                "low": mean - 0.15,
                "high": mean + 0.15,
                "n": worlds,
            }
        )
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
    "occupancy-many": lambda: plots.occupancy_by_turn(
        MANY_TURNS, window=WINDOW, horizon=HORIZON, floor_pct=35
    ),
    "nets": lambda: plots.believed_and_true_net(REWRITES),
    "nets-single": lambda: plots.believed_and_true_net(SINGLE_REWRITES, width=plots.ONE_COLUMN),
    "nets-many": lambda: plots.believed_and_true_net(MANY_REWRITES),
    "ledger": lambda: plots.ledger_of_one_rewrite(exact_rows()["naive"], WINDOW, name="naive"),
    "ledger-full": lambda: plots.ledger_of_one_rewrite(full_row(), WINDOW),
    "ledgers": lambda: plots.ledgers_side_by_side(exact_rows(), WINDOW),
    "ledgers-full": lambda: plots.ledgers_side_by_side(
        {"naive": exact_rows()["naive"], "guarded": full_row()}, WINDOW
    ),
    "ledgers-three": lambda: plots.ledgers_side_by_side({**exact_rows(), "gate-only": full_row()}, WINDOW),
    "heat-large": lambda: plots.heat_table(
        pd.DataFrame([{"x": x, "y": y, "net": x * y} for x in range(30) for y in range(26)]), "x", "y", "net"
    ),
    "cost": lambda: plots.cost_against_occupancy(REWRITES, window=WINDOW),
    "cost-single": lambda: plots.cost_against_occupancy(
        SINGLE_REWRITES, window=WINDOW, width=plots.TWO_COLUMNS
    ),
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
            {
                "rationale_base_tokens": {
                    0: "turn start",
                    200: "before request",
                    400: "after result",
                    600: "turn end",
                }
            }
        ),
        "rationale_base_tokens",
        "net",
        labels={"rationale_base_tokens": "Check point"},
    ),
    "heat": lambda: plots.heat_table(two_factors(), "cap_tokens", "knee_pct", "net"),
    "heat-positive": lambda: plots.heat_table(
        two_factors().assign(net=lambda t: t["net"].abs() / 1000),
        "cap_tokens",
        "knee_pct",
        "net",
        width=plots.TWO_COLUMNS,
    ),
    "signatures": lambda: plots.signature_table(switches()),
    "differences": lambda: plots.difference_table(
        gates_off(), baseline="none", replications=60, corner="gate off"
    ),
    "differences-many": lambda: plots.difference_table(
        gates_off(tuple(f"response_number_{number}" for number in range(12))),
        baseline="none",
        replications=60,
    ),
    "effects": lambda: plots.effect_forest(gate_effects(), "overflowed", replications=40),
    "effects-fewer": lambda: plots.effect_forest(
        gate_effects(31), "overflowed", replications=40, width=plots.ONE_COLUMN
    ),
}


@pytest.fixture(scope="module", params=list(FIGURES))
def figure(request: pytest.FixtureRequest) -> Figure:
    return FIGURES[request.param]()


# ------------------------------------------------------------------------------ every figure


def shown_texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Lay the figure out and return the words that are in sight, with the pixels they take."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    outside = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-6 * (high - low)
            drawn = axis.get_major_ticks()  # ticks of an earlier draw may still be among the children
            for tick in axis.majorTicks:
                if tick not in drawn or not low - slack <= tick.get_loc() <= high + slack or not axes.axison:
                    outside |= {tick.label1, tick.label2}
    return [
        (text.get_text(), text.get_window_extent(canvas.get_renderer()))
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_text().strip() and text.get_visible() and text not in outside
    ]


def test_no_words_overlap_or_leave_the_page(figure: Figure) -> None:
    words = shown_texts(figure)

    page = figure.bbox.padded(-2.0)
    assert [
        text
        for text, box in words
        if not (page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1)
    ] == []
    assert [
        (one, other)
        for (one, box), (other, other_box) in itertools.combinations(words, 2)
        if box.padded(-1.5).overlaps(other_box.padded(-1.5))
    ] == []


def test_every_plotting_area_has_words_on_its_axes(figure: Figure) -> None:
    for axes in figure.axes:
        if axes.axison and axes.get_label() != "<colorbar>":
            outermost = axes.get_subplotspec()
            assert outermost is not None
            assert axes.get_xlabel() or not outermost.is_last_row()
            assert axes.get_ylabel() or axes.get_yticklabels() or not outermost.is_first_col()


def test_legends_are_outside_of_the_data(figure: Figure) -> None:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()

    assert all(axes.get_legend() is None for axes in figure.axes)
    for legend in figure.legends:
        box = legend.get_window_extent(canvas.get_renderer())
        assert not any(box.overlaps(axes.bbox) for axes in figure.axes)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "svg") for name in FIGURES]
    + list(itertools.product(("occupancy", "cost", "heat"), ("png", "pdf"))),
)
def test_same_data_same_bytes(tmp_path: Path, name: str, kind: str) -> None:
    one = FIGURES[name]()
    first = plots.save_figure(one, tmp_path / f"first.{kind}").read_bytes()
    again = plots.save_figure(one, tmp_path / f"again.{kind}").read_bytes()
    with matplotlib.rc_context({"lines.linewidth": 9.0, "font.size": 20.0}):
        other = plots.save_figure(FIGURES[name](), tmp_path / f"other.{kind}").read_bytes()

    assert first == again == other
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{stem}.{kind}" for stem in ("first", "again", "other")
    )


def test_same_bytes_in_another_process(tmp_path: Path) -> None:
    script = f"""
import sys
import pandas as pd
from experiments import plots
table = pd.DataFrame({{"turn": [1, 2, 3], "occupancy_pct": [86.0, 91.0, 88.0], "policy": "guarded"}})
plots.save_figure(plots.occupancy_by_turn(table, window={WINDOW}), sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules and "seaborn" not in sys.modules
"""
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / f"{seed}.svg")],
            check=True,
            env={
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(Path(plots.__file__).parents[2]),
                "HOME": str(tmp_path),
            },
            cwd=tmp_path,
        )

    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


def test_drawing_leaves_the_settings_of_the_process() -> None:
    before = dict(matplotlib.rcParams)

    FIGURES["ledger"]()

    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("width", [plots.ONE_COLUMN, plots.TWO_COLUMNS])
def test_figures_have_the_width_asked_for(width: float) -> None:
    figure = plots.occupancy_by_turn(TURNS, window=WINDOW, width=width)

    assert figure.get_figwidth() == width


# ------------------------------------------------------------------------------ files


def test_pdf_embeds_truetype_and_no_date(tmp_path: Path) -> None:
    content = plots.save_figure(FIGURES["response"](), tmp_path / "figure.pdf").read_bytes()

    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content
    assert b"CreationDate" not in content


def test_svg_has_no_date(tmp_path: Path) -> None:
    assert "<dc:date>" not in plots.save_figure(FIGURES["response"](), tmp_path / "figure.svg").read_text()


@pytest.mark.parametrize(("name", "nearest"), [("figure.pgn", "'.png'"), ("figure", "has no suffix")])
def test_unknown_suffix_is_refused(tmp_path: Path, name: str, nearest: str) -> None:
    with pytest.raises(InputError, match=r"expected \.png, \.svg or \.pdf") as caught:
        plots.save_figure(FIGURES["ledger"](), tmp_path / name)

    assert nearest in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_suffix_in_capitals_is_known(tmp_path: Path) -> None:
    assert plots.save_figure(FIGURES["ledger"](), tmp_path / "figure.PNG").read_bytes()[1:4] == b"PNG"


def test_a_missing_folder_is_made_and_a_file_in_its_place_is_told(tmp_path: Path) -> None:
    assert plots.save_figure(FIGURES["ledger"](), tmp_path / "new" / "figure.png").exists()
    with pytest.raises(InputError, match="cannot be written"):
        plots.save_figure(FIGURES["ledger"](), tmp_path / "new" / "figure.png" / "figure.png")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = plots.save_figure(FIGURES["ledger"](), tmp_path / "figure.svg")
    before = target.read_bytes()

    def half(self: Path, content: bytes) -> None:
        with self.open("wb") as file:
            file.write(content[:4])
        raise RuntimeError("the machine stopped here")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(RuntimeError):
        plots.save_figure(FIGURES["cost"](), target)

    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_style_file_is_package_data() -> None:
    assert files("experiments.plots").joinpath("rewritelab.mplstyle").is_file()


# ------------------------------------------------------------------------------ styles


def luminance(colour: str) -> float:
    return float(np.dot(np.power(to_rgb(colour), 2.2), (0.2126, 0.7152, 0.0722)))


def test_policies_can_be_told_apart_in_grey() -> None:
    for family in (list(NAMED_STYLES.values()), list(SPARE_STYLES)):
        assert len({str(style.dashes) for style in family}) == len(family)
        assert len({style.marker for style in family}) == len(family)
    everyone = [*NAMED_STYLES.values(), *SPARE_STYLES]
    assert len({(str(style.dashes), style.marker) for style in everyone}) == len(everyone)
    assert len({style.colour for style in everyone}) == len(everyone)


def test_regimes_can_be_told_apart_in_grey() -> None:
    lightness = [luminance(style.colour) for style in REGIMES.values()]

    assert np.diff(lightness).min() > 0.05
    assert len({style.hatch for style in REGIMES.values()}) == len(REGIMES)
    assert len({style.marker for style in REGIMES.values()}) == len(REGIMES)


def test_a_policy_keeps_its_style_in_other_company() -> None:
    alone = plots.policy_styles(["naive"])["naive"], plots.policy_styles(["mine"])["mine"]
    crowd = plots.policy_styles(["guarded", "mine", "yours", "naive"])

    assert (crowd["naive"], crowd["mine"]) == alone


def test_unknown_policies_of_one_figure_differ() -> None:
    styles = plots.policy_styles([f"policy-{number}" for number in range(len(SPARE_STYLES))])

    assert len(set(styles.values())) == len(SPARE_STYLES)
    assert not set(styles.values()) & set(NAMED_STYLES.values())


# ------------------------------------------------------------------------------ occupancy


def test_a_single_run_is_drawn_as_it_was() -> None:
    axes = FIGURES["occupancy-single"]().axes[0]

    for line, policy in zip((axes.lines[0], axes.lines[2]), ("naive", "guarded"), strict=True):
        run = SINGLE_TURNS[SINGLE_TURNS["policy"] == policy]
        np.testing.assert_array_equal(line.get_xydata(), run[["turn", "occupancy_pct"]])
    naive = SINGLE_TURNS[SINGLE_TURNS["policy"] == "naive"]
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), naive[["turn", "occupancy_pct"]].tail(1))
    assert axes.lines[1].get_marker() == "x"
    assert not axes.findobj(PolyCollection)  # no band around one run
    assert len(FIGURES["occupancy-single"]().axes) == 1  # and no count of runs


def test_median_and_band_are_those_of_all_runs_not_of_survivors() -> None:
    axes = FIGURES["occupancy"]().axes[0]
    wide = TURNS[TURNS["policy"] == "naive"].pivot_table(
        index="turn", columns="replication", values="occupancy_pct"
    )
    assert wide.isna().any(axis=None)
    low, median, high = wide.fillna(100.0).quantile([0.05, 0.5, 0.95], axis=1).to_numpy()

    np.testing.assert_allclose(axes.lines[0].get_ydata(), median)
    assert axes.lines[0].get_ydata()[-1] == 100.0
    band = next(band for band in axes.collections if isinstance(band, PolyCollection))
    outline = band.get_paths()[0].vertices
    turns = wide.index.to_numpy()
    for bound in (low, high):
        assert {(x, round(y, 9)) for x, y in zip(turns, bound, strict=True)} <= {
            (x, round(y, 9)) for x, y in np.asarray(outline).tolist()
        }


def test_ends_are_crossed_and_counted() -> None:
    axes, count_axes = FIGURES["occupancy"]().axes
    naive = (
        TURNS[TURNS["policy"] == "naive"].groupby("replication").tail(1).sort_values(["turn", "replication"])
    )

    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == 1
    assert sorted(map(tuple, crosses[0].get_xydata().tolist())) == sorted(
        naive[["turn", "occupancy_pct"]].itertuples(index=False, name=None)
    )
    spiral, steady = count_axes.lines
    turn, left = spiral.get_xydata().T
    for at, share in zip(turn[1:], left[1:], strict=True):
        assert share <= 100 * (naive["turn"] >= at).mean() + 1e-9
    assert left[0] == 100 and left[-1] == 0
    assert set(steady.get_ydata()) == {100}


def test_known_ends_decide_what_is_marked() -> None:
    rows = [
        {
            "turn": turn,
            "occupancy_pct": 80.0 + turn,
            "replication": replication,
            "outcome": outcome,
            "policy": "mine",
        }
        for replication, (last, outcome) in enumerate(
            [(4, "complete"), (5, "halted"), (6, "overflow"), (9, "horizon")]
        )
        for turn in range(1, last + 1)
    ]
    axes = plots.occupancy_by_turn(pd.DataFrame(rows), window=WINDOW).axes[0]

    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert crosses[0].get_xdata().tolist() == [5, 6]
    assert axes.lines[0].get_ydata()[-1] == np.median([100.0, 89.0])  # one run overflowed, one is left


def test_every_policy_is_in_sight() -> None:
    quiet = pd.DataFrame(
        {"turn": range(50), "occupancy_pct": np.linspace(5, 40, 50), "policy": "quiet", "replication": 0}
    )
    low, high = plots.occupancy_by_turn(pd.concat([TURNS, quiet]), window=WINDOW).axes[0].get_ylim()

    assert low == 0
    assert high > 100


def test_documented_band_and_limit() -> None:
    axes = FIGURES["occupancy"]().axes[0]

    (band,) = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert (band.get_y(), band.get_y() + band.get_height()) == (88, 91)
    low, high = axes.get_ylim()
    assert low == 70 and 100 < high < 105
    assert any(np.array_equal(line.get_ydata(), [100, 100]) for line in axes.lines)
    (label,) = (words for words in axes.texts if words.get_text() == "limit 100%")
    figure = axes.get_figure()
    assert figure is not None
    FigureCanvasAgg(figure).draw()  # type: ignore[arg-type]
    assert label.get_window_extent().y0 >= axes.transData.transform((0, 100))[1]


# ------------------------------------------------------------------------------ nets


def numbered(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(attempt=table.groupby(["policy", "replication"]).cumcount() + 1)


@pytest.mark.parametrize(("panel", "policy"), [(0, "naive"), (1, "guarded")])
def test_nets_are_the_means_of_committed_attempts(panel: int, policy: str) -> None:
    axes = FIGURES["nets"]().axes[panel]
    own = numbered(REWRITES)[lambda t: t["policy"] == policy]
    committed = own[own["outcome"] != "refused"].groupby("attempt")
    enough = committed.size() >= 5

    zero, true, believed, refused = axes.lines
    assert set(zero.get_ydata()) == {0}
    np.testing.assert_allclose(true.get_ydata(), committed["net"].mean()[enough])
    np.testing.assert_allclose(believed.get_ydata(), committed["believed_net"].mean()[enough])
    np.testing.assert_allclose(
        refused.get_ydata(), own[own["outcome"] == "refused"].groupby("attempt")["net"].mean()
    )
    assert len({str(line.get_markerfacecolor()) for line in (true, believed)}) == 2
    assert refused.get_marker() == "x"
    assert axes.get_title(loc="left") == policy


def test_small_multiples_share_the_tokens() -> None:
    panels = FIGURES["nets-many"]().axes

    assert [axes.get_title(loc="left") for axes in panels] == list(POLICIES)
    assert len({axes.get_ylim() for axes in panels}) == 1


def test_interval_of_a_mean_is_students() -> None:
    means = mean_by(pd.DataFrame({"k": [1, 1, 1, 2], "v": [1.0, 2.0, 3.0, 7.0]}), "k", "v")

    half_width = 4.302652729911275 / np.sqrt(3)
    assert means.loc[1].tolist() == pytest.approx([2.0, 2.0 - half_width, 2.0 + half_width, 3])
    assert means.loc[2, ["low", "high"]].isna().all()


# ------------------------------------------------------------------------------ ledgers


def bars(figure: Figure, panel: int = 0) -> list[tuple[float, float]]:
    return [
        (bar.get_x(), bar.get_width()) for bar in figure.axes[panel].patches if isinstance(bar, Rectangle)
    ]


def test_ledger_walks_from_before_to_after() -> None:
    figure = FIGURES["ledger"]()

    assert bars(figure) == [(21_840, -1_100), (20_740, 700), (21_440, 1_100)]
    words = [text for text, _ in shown_texts(figure)]
    for entry in (
        "21,840",
        "91.0%",
        "\u22121,100",
        "\u22124.6%",
        "+700",
        "+2.9%",
        "+1,100",
        "22,540",
        "93.9%",
    ):
        assert entry in words
    assert figure.axes[0].get_title(loc="left") == (
        "naive: committed without effect\nnet \u2212700, believed +1,100"
    )
    assert "24,000" in figure.axes[0].get_xlabel()


def test_an_attempt_that_changed_nothing_is_a_straight_line() -> None:
    row = pd.Series(
        {**exact_rows()["guarded"], "freed": 0, "rewrite_cost": 0, "measurement_cost": 0, "net": 0}
    )
    row["tokens_after"], row["outcome"] = row["tokens_before"], "infeasible"
    axes = plots.ledger_of_one_rewrite(row, WINDOW).axes[0]

    assert [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)] == [0, 0, 0]
    low, high = axes.get_xlim()
    assert low < 21_840 < high
    assert high - low >= 0.01 * WINDOW


def test_ledger_shows_the_other_terms_where_they_are_not_zero() -> None:
    figure = FIGURES["ledger-full"]()

    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "Before",
        "Freed",
        "Rewrite cost",
        "Measurement",
        "Tombstones",
        "Reinjected",
        "Arrived during",
        "Out of band",
        "After",
    ]
    assert [width for _, width in bars(figure)] == [-946, 160, 12, 36, 210, 480, -1200]
    start, change = bars(figure)[-1]
    assert start + change == full_row()["tokens_after"]
    assert figure.axes[0].get_xlabel() == "Tokens"  # the window is out of sight


def test_gains_and_costs_differ_in_grey() -> None:
    freed, cost, measured = FIGURES["ledger"]().axes[0].patches

    assert len({bar.get_hatch() for bar in (freed, cost, measured)}) == 3


def test_ledgers_share_their_axes() -> None:
    figure = FIGURES["ledgers"]()

    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert bars(figure, 0)[0] == (21_840, -1_100)
    assert bars(figure, 1)[0] == (21_840, -946)


def test_a_ledger_that_does_not_close_is_refused() -> None:
    row = exact_rows()["naive"]
    row["tokens_after"] += 1

    with pytest.raises(InputError, match=r"22,540.*expected tokens_after, 22,541"):
        plots.ledger_of_one_rewrite(row, WINDOW, name="naive")


# ------------------------------------------------------------------------------ costs


def test_costs_are_binned_means_over_all_attempts() -> None:
    axes = FIGURES["cost"]().axes[0]
    naive = REWRITES[REWRITES["policy"] == "naive"]
    points = axes.lines[0]

    assert points.get_rasterized()
    np.testing.assert_allclose(points.get_xdata(), 100 * naive["tokens_before"] / WINDOW)
    np.testing.assert_array_equal(points.get_ydata(), naive["rewrite_cost"] + naive["measurement_cost"])
    means = axes.containers[0].lines[0]
    assert means.get_xdata().min() >= points.get_xdata().min()
    assert means.get_xdata().max() <= points.get_xdata().max()
    assert len(axes.containers) == 2
    assert axes.get_ylim()[0] == 0


def test_one_bin_gives_the_mean_of_the_runs() -> None:
    rows = pd.DataFrame(
        {
            "replication": [0, 0, 1],
            "rewrite_cost": [100, 300, 500],
            "measurement_cost": 0,
            "occupancy_before_pct": [91.0, 91.01, 91.02],
        }
    )
    axes = plots.cost_against_occupancy(rows, bins=1).axes[0]

    assert axes.containers[0].lines[0].get_ydata().tolist() == [350.0]


def test_occupancy_before_must_be_known() -> None:
    with pytest.raises(InputError, match="occupancy_before_pct"):
        plots.cost_against_occupancy(REWRITES)


# ------------------------------------------------------------------------------ sweeps


def test_every_cell_lies_in_its_regime() -> None:
    axes = FIGURES["phase"]().axes[0]
    points = regimes()

    drawn = [cells for cells in axes.collections if isinstance(cells, PatchCollection)]
    assert [len(cells.get_paths()) for cells in drawn] == [
        (points["regime"] == name).sum() for name in REGIMES
    ]
    assert [cells.get_hatch() or "" for cells in drawn] == [style.hatch for style in REGIMES.values()]
    for name, cells in zip(REGIMES, drawn, strict=True):
        own = points[points["regime"] == name]
        centres = [path.get_extents() for path in cells.get_paths()]
        np.testing.assert_allclose(
            sorted(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in centres),
            sorted(
                own[["policy.rationale_base_tokens", "measurement_share"]].itertuples(index=False, name=None)
            ),
            atol=1e-9,
        )


@pytest.mark.parametrize("name", ["phase", "phase-points"])
def test_analytic_line_lies_where_it_was_said(name: str) -> None:
    figure = FIGURES[name]()
    line = next(line for line in figure.axes[0].lines if line.get_color() == "black")

    np.testing.assert_allclose(line.get_ydata(), boundary(np.asarray(line.get_xdata())))
    assert "freed = rewrite + measurement" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_scattered_designs_are_points() -> None:
    axes = FIGURES["phase-points"]().axes[0]

    assert not axes.collections
    assert sum(len(line.get_xdata()) for line in axes.lines if line.get_color() != "black") == 90


def test_a_tie_goes_to_the_worse_regime() -> None:
    points = pd.DataFrame({"x": [1, 1, 2], "y": [1, 1, 1], "regime": ["stable", "spiral", "stable"]})
    handles = [text.get_text() for text in plots.phase_diagram(points, "x", "y").legends[0].get_texts()]

    assert handles == ["spiral", "stable"]


def test_an_unknown_regime_is_refused() -> None:
    points = pd.DataFrame({"x": [1], "y": [1], "regime": ["stabel"]})

    with pytest.raises(InputError, match="did you mean 'stable'"):
        plots.phase_diagram(points, "x", "y")


def test_response_lines_and_bands_are_the_table() -> None:
    axes = FIGURES["response"]().axes[0]

    bands = [band for band in axes.collections if isinstance(band, PolyCollection)]
    order = ["naive", "guarded", "gate-only", "mine"]
    assert len(axes.lines) == len(bands) == len(order)
    for line, band, policy in zip(axes.lines, bands, order, strict=True):
        own = sweep()[lambda t, policy=policy: t["policy"] == policy]
        np.testing.assert_allclose(line.get_xydata(), own[["rationale_base_tokens", "net"]])
        corners = {tuple(corner) for corner in np.asarray(band.get_paths()[0].vertices).tolist()}
        for bound in ("low", "high"):
            assert (
                set(own[["rationale_base_tokens", bound]].astype(float).itertuples(index=False, name=None))
                <= corners
            )
    assert len({line.get_linestyle() + str(line._dash_pattern) for line in axes.lines}) == len(order)  # type: ignore[attr-defined]
    assert len({line.get_marker() for line in axes.lines}) == len(order)


def test_a_factor_in_words_gets_bars_side_by_side() -> None:
    axes = FIGURES["response-words"]().axes[0]

    at = np.concatenate([container.lines[0].get_xdata() for container in axes.containers])
    assert len(axes.containers) == 4
    assert len(set(np.round(at, 6))) == len(at) == 16
    assert axes.get_xlabel() == "Check point"


def test_heat_cells_are_the_table() -> None:
    axes = FIGURES["heat"]().axes[0]
    grid = two_factors().pivot_table(index="knee_pct", columns="cap_tokens", values="net")

    (mesh,) = (found for found in axes.collections if isinstance(found, QuadMesh))
    drawn = np.ma.filled(mesh.get_array().astype(float), np.nan)
    np.testing.assert_allclose(drawn.reshape(grid.shape), grid.to_numpy())
    assert len(axes.texts) == grid.notna().sum(axis=None)
    assert mesh.norm.vmin == -mesh.norm.vmax  # type: ignore[operator]
    assert axes.texts[0].get_text() == number_words(grid.iloc[0, 0])


def test_a_heat_table_without_values_is_refused() -> None:
    with pytest.raises(InputError, match="every 'net' is missing"):
        plots.heat_table(two_factors().assign(net=np.nan), "cap_tokens", "knee_pct", "net")


def test_words_of_cells_stand_out() -> None:
    for name in ("heat", "heat-positive"):
        axes = FIGURES[name]().axes[0]
        (mesh,) = (found for found in axes.collections if isinstance(found, QuadMesh))
        values = mesh.get_array().compressed()
        for text, value in zip(axes.texts, values, strict=True):
            under = luminance(mesh.cmap(mesh.norm(value))[:3]) + 0.05
            over = luminance(text.get_color()) + 0.05
            assert max(under, over) / min(under, over) > 3.0


def wide_signatures() -> pd.DataFrame:
    """Eight long headings over cells of very different size."""
    values = {
        "overflowed": (0, 1),
        "share_refused": (0.0763, 0.5),
        "commits_without_gain": (3, 12),
        "share_own_selected_later": (0.0, 0.66),
        "maxima_between_commits_pct": (91.17, 100.0),
        "occupancy_q95_pct": (91.2, 93.84),
        "decision_quality": (1.0, 0.000503),
        "net_once_learned_tokens": (-12_345.6, 7.0),
    }
    return pd.DataFrame(
        [
            {
                "setting": f"complete, amortised, {mark}",
                "signature": name,
                "value": cells[place],
                "passed": None,
            }
            for name, cells in values.items()
            for place, mark in enumerate(("marked", "unmarked"))
        ]
    )


def test_long_headings_are_wrapped_and_touch_nothing() -> None:
    figure = plots.signature_table(wide_signatures(), corner="charging, measurement, mark")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    for (one, box), (other, beside) in itertools.combinations(zip(texts, boxes, strict=True), 2):
        assert not box.overlaps(beside), (one.get_text(), other.get_text())
    whole = figure.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and box.y1 <= whole.y1 for box in boxes)
    assert "commits_\nwithout_\ngain" in {text.get_text() for text in texts}


def test_cells_have_three_digits_and_counts_none_too_many() -> None:
    axes = plots.signature_table(wide_signatures()).axes[0]
    words = [text.get_text() for text in axes.texts]
    for shown in ("0.0763", "0.500", "91.2", "93.8", "0.000503", "1.00", "\N{MINUS SIGN}12,346", "3", "12"):
        assert shown in words


def test_signatures_say_value_and_verdict() -> None:
    axes = FIGURES["signatures"]().axes[0]
    table = switches()
    words = [text.get_text() for text in axes.texts]

    assert words.count("\u2713") == (table["passed"].eq(True)).sum()
    assert words.count("\u2717") == (table["passed"].eq(False)).sum()
    assert len(axes.patches) == table["passed"].notna().sum()
    assert {"guarded", "88.9\u201389.1", "0.32", "69.0", "98.1"} <= set(words)


def test_a_cell_given_twice_is_refused() -> None:
    table = switches()

    with pytest.raises(InputError, match="given twice"):
        plots.signature_table(pd.concat([table, table.head(1)]))


# ------------------------------------------------------------------------------ contrasts

MINUS, UP, DOWN = "\N{MINUS SIGN}", "\u25b2", "\u25bc"


def test_differences_say_mean_interval_and_direction() -> None:
    axes = FIGURES["differences"]().axes[0]
    words = [text.get_text() for text in axes.texts]

    assert words[0] == "60 replications; differences to 'none' in the same world: mean, and its 95% interval"
    assert {
        f"+12.5 {UP}",
        "9.3 to 15.7",
        f"{MINUS}0.00123 {DOWN}",
        f"{MINUS}0.00201 to {MINUS}0.00045",
    } <= set(words)
    assert {"+0.4", f"{MINUS}1.2 to 2.0", "58 pairs", f"+1,250 {UP}", "1,100 to 1,400"} <= set(words)
    assert {"+3", "1 pair", "\u2013", "0 pairs"} <= set(words)
    assert "Left out: 1 pair because a run failed and pairs of which a run has no value" in words
    assert len(axes.patches) == 3
    marked = {text.get_text() for text in axes.texts if text.get_fontweight() == "bold"}
    assert {f"+12.5 {UP}", f"{MINUS}0.00123 {DOWN}", f"+1,250 {UP}"} <= marked
    assert "+0.4" not in marked


def test_whole_differences_leave_nothing_out() -> None:
    table = gates_off().head(3).assign(n=60)
    words = [
        text.get_text()
        for text in plots.difference_table(table, baseline="none", replications=60).axes[0].texts
    ]

    assert not any("Left out" in line or "pair" in line for line in words)


def test_a_forest_is_the_table() -> None:
    axes = FIGURES["effects"]().axes[0]
    table = gate_effects()
    shown = table[table["order"] <= 2].sort_values("order", kind="stable")

    assert [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()] == list(shown["effect"])
    top, bottom = axes.get_ylim()[1], axes.get_ylim()[0]
    assert top < 0 < bottom  # the first one stands highest
    points = [line for line in axes.get_lines() if line.get_marker() in ("o", "s")]
    assert [line.get_xdata()[0] for line in points] == list(shown["mean"])  # type: ignore[index]
    assert [line.get_marker() for line in points] == ["o"] * 4 + ["s"] * 6
    hollow = [line.get_markerfacecolor() == "white" for line in points]
    assert hollow == [low <= 0 <= high for low, high in zip(shown["low"], shown["high"], strict=True)]
    assert 0 < sum(hollow) < len(hollow)
    ends = [bar.get_segments()[0][:, 0].tolist() for bar in axes.collections]
    np.testing.assert_allclose(ends, shown[["low", "high"]].to_numpy())
    assert any(list(line.get_xdata()) == [0, 0] for line in axes.get_lines())  # the line of no effect
    assert axes.get_title(loc="left") == "40 replications"


def test_a_forest_counts_the_worlds_that_are_left() -> None:
    axes = FIGURES["effects-fewer"]().axes[0]

    assert axes.get_title(loc="left").replace("\n", " ").startswith("31 of 40 replications:")


def test_contrasts_without_values_or_given_twice_are_refused() -> None:
    table = gate_effects()

    with pytest.raises(InputError, match="every 'mean' is missing"):
        plots.effect_forest(table.assign(mean=np.nan), "overflowed", replications=40)
    with pytest.raises(InputError, match="given twice"):
        plots.effect_forest(pd.concat([table, table]), "overflowed", replications=40)
    with pytest.raises(InputError, match="'usd' of 'conservation' is given twice"):
        plots.difference_table(pd.concat([gates_off(), gates_off()[1:2]]), baseline="none", replications=60)


# ------------------------------------------------------------------------------ bad tables

CALLS: dict[str, tuple[pd.DataFrame, str, Callable[[pd.DataFrame], Figure]]] = {
    "occupancy": (SINGLE_TURNS, "occupancy_pct", lambda table: plots.occupancy_by_turn(table, window=WINDOW)),
    "nets": (SINGLE_REWRITES, "believed_net", plots.believed_and_true_net),
    "cost": (
        SINGLE_REWRITES,
        "rewrite_cost",
        lambda table: plots.cost_against_occupancy(table, window=WINDOW),
    ),
    "phase": (
        regimes(),
        "regime",
        lambda table: plots.phase_diagram(table, "policy.rationale_base_tokens", "measurement_share"),
    ),
    "response": (
        sweep(),
        "low",
        lambda table: plots.response_with_intervals(table, "rationale_base_tokens", "net"),
    ),
    "heat": (two_factors(), "net", lambda table: plots.heat_table(table, "cap_tokens", "knee_pct", "net")),
    "signatures": (switches(), "passed", plots.signature_table),
    "differences": (
        gates_off(),
        "low",
        lambda table: plots.difference_table(table, baseline="none", replications=60),
    ),
    "effects": (
        gate_effects(),
        "order",
        lambda table: plots.effect_forest(table, "overflowed", replications=40),
    ),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_missing_column_is_named(name: str) -> None:
    table, column, draw = CALLS[name]

    with pytest.raises(InputError, match=f"no column '{column}'"):
        draw(table.rename(columns={column: f"{column}s"}))


@pytest.mark.parametrize("name", list(CALLS))
def test_an_empty_table_is_refused(name: str) -> None:
    table, _, draw = CALLS[name]

    with pytest.raises(InputError, match="no rows"):
        draw(table.head(0))


@pytest.mark.parametrize("name", list(CALLS))
def test_tables_are_not_changed(name: str) -> None:
    table, _, draw = CALLS[name]
    before = table.copy(deep=True)

    draw(table)

    pd.testing.assert_frame_equal(table, before)


def test_a_row_without_a_column_is_named() -> None:
    with pytest.raises(InputError, match="no column 'freed'"):
        plots.ledger_of_one_rewrite(exact_rows()["naive"].drop("freed"), WINDOW)
    with pytest.raises(InputError, match="no rewrite"):
        plots.ledgers_side_by_side({}, WINDOW)


def test_axis_labels_carry_units() -> None:
    assert axis_label("scenario.window_tokens") == "Window (tokens)"
    assert axis_label("usd") == "Usd"
    assert axis_label("usd", {"usd": "Price (US$)"}) == "Price (US$)"
