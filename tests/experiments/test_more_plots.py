"""Figures of a study, from survival to ranking: what is drawn equals what was given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from experiments import plots
from experiments.plots.marks import fitted
from experiments.plots.point_names import name_points
from experiments.plots.style import new_figure, text_inches
from experiments.statistics import on_front
from simulator.errors import InputError

pytestmark = pytest.mark.unit

HOSTILE = 'a_b$c<d>&"$e'
LONG = "the-policy-with-a-rather-long-name-and-then-some-more-words-so-that-no-row-can-hold-it"
MANY = (
    *("naive", "guarded", "amortised-naive", "gate-only", "hysteresis-only", "static-instructions"),
    *("never-rewrite", "truncate-oldest", "mine", "_private", HOSTILE, "x" * 90),
)
NAMES = ("naive", HOSTILE, "guarded", LONG)
FACTORS = ("rationale_base_tokens", "policy.low_watermark", "measurement", "gate", "policy")
LEVELS: tuple[list[object], ...] = (
    [100, 400, 700],
    [0.8, 0.88],
    ["full", "delta"],
    [True, False],
    ["naive", HOSTILE],
)

# ------------------------------------------------------------------------------ plausible tables


def lives(name: str, runs: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Turns of each run, and whether it ended there; the others were lost from sight."""
    random = np.random.default_rng(sum(name.encode()))
    turns, horizon = random.geometric(0.02, runs), random.choice([90, 150], runs)
    return np.minimum(turns, horizon), turns <= horizon


def survival(names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    rows = []
    for name in names:
        turns, ended = lives(name)
        left = 1.0
        for time in np.unique(turns):
            at_risk = int((turns >= time).sum())
            left *= 1 - (ended & (turns == time)).sum() / at_risk
            rows.append(
                {
                    "policy": name,
                    "time": float(time),
                    "survival": left,
                    "low": max(left - 0.1, 0.0),
                    "high": min(left + 0.15, 1.0),
                    "at_risk": at_risk,
                    "censored": int((~ended & (turns == time)).sum()),
                }
            )
    return pd.DataFrame(rows)


def points(names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    random = np.random.default_rng(5)
    usd, share = random.uniform(0.2, 3.0, len(names)), random.uniform(0.0, 0.3, len(names))
    share += 0.5 / usd
    return pd.DataFrame(
        {
            "policy": names,
            "usd": usd,
            "usd_low": usd - 0.1,
            "usd_high": usd + 0.2,
            "failed_share": share,
            "failed_share_low": share - 0.04,
            "failed_share_high": share + 0.05,
        }
    )


def pairs_of_levels(factors: int = 5) -> pd.DataFrame:
    """Means that are additive but for the product of the first two factors."""
    rows: list[dict[str, object]] = []
    for a, b in itertools.combinations(range(factors), 2):
        for one, other in itertools.product(range(len(LEVELS[a])), range(len(LEVELS[b]))):
            mean = 900.0 + 100 * (one + other) - (250 * one * other if (a, b) == (0, 1) else 0)
            levels = {"level": LEVELS[a][one], "other_level": LEVELS[b][other]}
            ends = {"mean": mean, "low": mean - 30, "high": mean + 40}
            rows.append({"factor": FACTORS[a], "other": FACTORS[b], **levels, **ends})
    return pd.DataFrame(rows)


def contrasts(names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    mean = np.linspace(3.0, -3.5, len(names))[np.random.default_rng(1).permutation(len(names))]
    return pd.DataFrame(
        {
            "policy": names,
            "mean": mean,
            "low": mean - 1.2,
            "high": mean + 1.2,
            "n": 1_200,
            "variance_reduction": [np.inf, np.nan, 4.25, *[1.5] * (len(names) - 3)],
            "adjusted_p": [1e-9, 0.0421, np.nan, *[1.0] * (len(names) - 3)],
        }
    )


def swings(names: tuple[str, ...] = ("cap_tokens", LONG, "knee_pct", "one_sided")) -> pd.DataFrame:
    low = np.resize([90.0, 93.0, 86.0, 92.0], len(names))
    high = np.resize([93.0, 91.5, 95.0, 94.5], len(names))
    words = {"low_label": "80 tokens", "high_label": "a level with a very long name of its own"}
    return pd.DataFrame({"factor": names, "low_value": low, "high_value": high, "base": 91.2, **words})


def indices(names: tuple[str, ...] = ("cap_tokens", HOSTILE, LONG)) -> pd.DataFrame:
    first = np.linspace(0.02, 0.4, len(names))
    ends = {"first_low": first - 0.05, "first_high": first + 0.05}
    return pd.DataFrame(
        {
            "factor": names,
            "first": first,
            **ends,
            "total": first + 0.1,
            "total_low": first + 0.05,
            "total_high": first + 0.2,
        }
    )


def elementary(names: tuple[str, ...] = ("cap_tokens", HOSTILE, LONG, "knee_pct")) -> pd.DataFrame:
    place = np.arange(len(names))
    return pd.DataFrame(
        {
            "factor": names,
            "mu_star": 40.0 + 90 * place,
            "sigma": 150.0 * (place % 3),
            "mu_star_low": 30.0 + 90 * place,
            "mu_star_high": 70.0 + 90 * place,
        }
    )


def refusals(names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    share, net = np.linspace(0.0, 0.9, len(names)), np.linspace(800.0, -200.0, len(names))
    return pd.DataFrame(
        {
            "policy": names,
            "share_refused": share,
            "low": np.maximum(share - 0.05, 0),
            "high": share + 0.05,
            "net": net,
            "net_low": net - 90,
            "net_high": net + 70,
        }
    )


def warm_up() -> pd.DataFrame:
    turn = np.arange(1, 201)
    mean = 90 - 12 * np.exp(-turn / 20) + np.random.default_rng(2).normal(0, 1, 200)
    return pd.DataFrame(
        {"turn": turn, "mean": mean, "smoothed": pd.Series(mean).rolling(11, center=True).mean()}
    )


def ranks(
    names: tuple[str, ...] = NAMES, scenarios: tuple[str, ...] = ("spiral", "de$ca$y", LONG)
) -> pd.DataFrame:
    rows = []
    for (shift, scenario), (place, name) in itertools.product(
        enumerate(scenarios), enumerate((*names, "oracle"))
    ):
        mean = 1.0 + (place + 2 * shift) % len(names) if name != "oracle" else 0.5
        ends = {"mean": mean, "low": mean - 0.4, "high": mean + 0.5}
        best = {"best": mean < 2.5, "bound": name == "oracle"}
        rows.append({"policy": name, "scenario": scenario, **ends, **best})
    return pd.DataFrame(rows)


def counts() -> pd.DataFrame:
    rows = [
        {
            "policy": name,
            "replication": run,
            "turn": turn,
            "tokens": 200 * turn,
            "believed_tokens": 200 * turn * share,
        }
        for (name, shares) in (("naive", (0.8, 0.9)), (HOSTILE, (1.1, 1.3)))
        for run, share in enumerate(shares)
        for turn in range(1, 30)
    ]
    return pd.DataFrame(rows)


FIGURES: dict[str, Callable[[], Figure]] = {
    "survival": lambda: plots.survival_curves(survival()),
    "survival-many": lambda: plots.survival_curves(survival(MANY)),
    "survival-few": lambda: plots.survival_curves(survival(("guarded",)), width=plots.ONE_COLUMN),
    "front": lambda: plots.pareto_front(points(), "usd", "failed_share"),
    "front-many": lambda: plots.pareto_front(points(MANY), "usd", "failed_share"),
    "interaction": lambda: plots.interaction_grid(pairs_of_levels(2), "net"),
    "grid": lambda: plots.interaction_grid(pairs_of_levels(), "net"),
    "forest": lambda: plots.difference_forest(contrasts(), "never-rewrite", "max_occupancy_pct"),
    "forest-many": lambda: plots.difference_forest(contrasts(MANY), LONG, "usd", better="higher"),
    "tornado": lambda: plots.tornado(swings(), "max_occupancy_pct"),
    "tornado-many": lambda: plots.tornado(swings(MANY), "max_occupancy_pct"),
    "indices": lambda: plots.sensitivity_bars(indices()),
    "morris": lambda: plots.morris_plane(elementary(), response="net"),
    "refusals": lambda: plots.rejection_against_net(refusals()),
    "refusals-many": lambda: plots.rejection_against_net(refusals(MANY)),
    "welch": lambda: plots.welch_picture(warm_up(), 41, response="occupancy_pct"),
    "welch-no-cut": lambda: plots.welch_picture(warm_up(), response="usd", width=plots.ONE_COLUMN),
    "ranks": lambda: plots.ranking_chart(ranks(), "usd"),
    "ranks-many": lambda: plots.ranking_chart(ranks(MANY, ("spiral", "decay")), "usd"),
    "counts": lambda: plots.believed_against_true(counts()),
}
DRAWN: dict[str, Figure] = {}


def drawn(name: str) -> Figure:
    """Draw a figure and lay it out, once."""
    if name not in DRAWN:
        DRAWN[name] = FIGURES[name]()
        FigureCanvasAgg(DRAWN[name]).draw()
    return DRAWN[name]


def texts(figure: Figure) -> list[Text]:
    """Return the words of a figure that are in sight."""
    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        shown = [
            tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high and axis.axes.axison
        ]
        hidden |= {
            label for tick in axis.majorTicks if tick not in shown for label in (tick.label1, tick.label2)
        }
    found = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    return [
        text for text in found if isinstance(text, Text) and text not in hidden and text.get_text().strip()
    ]


def said(figure: Figure) -> str:
    """Return all words of a figure, without the ends of their lines."""
    return " ".join(text.get_text() for text in texts(figure)).replace("\n", " ")


def corners(axes: matplotlib.axes.Axes) -> set[tuple[float, float]]:
    """Return the corners of all bands of the axes."""
    bands = [band for band in axes.collections if isinstance(band, PolyCollection)]
    return {
        (round(x, 9), round(y, 9))
        for band in bands
        for x, y in np.asarray(band.get_paths()[0].vertices).tolist()
    }


def marks(axes: matplotlib.axes.Axes) -> list[Line2D]:
    """Return the lines that are one mark each."""
    return [line for line in axes.lines if len(np.atleast_1d(line.get_xdata())) == 1]


def spans(axes: matplotlib.axes.Axes, cap: str) -> list[list[float]]:
    """Return the ends of the intervals whose caps look so."""
    along = {"|": "get_xdata", "_": "get_ydata"}[cap]
    return [[float(end) for end in getattr(line, along)()] for line in axes.lines if line.get_marker() == cap]


# ------------------------------------------------------------------------------ every figure


@pytest.mark.parametrize("name", list(FIGURES))
def test_no_words_overlap_or_leave_the_page_or_are_read_as_mathematics(name: str) -> None:
    figure = drawn(name)
    words = texts(figure)
    boxes = [(text.get_text(), text.get_window_extent()) for text in words]

    assert not any(text.get_parse_math() for text in words)
    page = figure.bbox.padded(-2.0)
    assert [
        text for text, box in boxes if Bbox.intersection(page, box) is None or not _within(box, page)
    ] == []
    assert [
        (one, other)
        for (one, box), (other, other_box) in itertools.combinations(boxes, 2)
        if box.padded(-1.5).overlaps(other_box.padded(-1.5))
    ] == []


def _within(box: Bbox, page: Bbox) -> bool:
    return page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1


@pytest.mark.parametrize("name", list(FIGURES))
def test_legends_are_outside_of_the_data(name: str) -> None:
    figure = drawn(name)

    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    assert legends
    for legend in legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.bbox) for axes in figure.axes if axes.axison)


@pytest.mark.parametrize(
    "name",
    [
        "survival",
        "front",
        "grid",
        "forest",
        "refusals",
        "ranks",
        "counts",
        "indices",
        "morris",
    ],
)
def test_hostile_names_stand_as_they_are(name: str) -> None:
    # A factor's name is made into words: its underscores are spaces then.
    assert HOSTILE in said(drawn(name)) or HOSTILE.replace("_", " ").capitalize() in said(drawn(name))


@pytest.mark.parametrize("name", ["survival", "front", "tornado"])
def test_same_data_same_bytes(tmp_path: Path, name: str) -> None:
    first = plots.save_figure(drawn(name), tmp_path / "first.svg").read_bytes()
    with matplotlib.rc_context({"lines.linewidth": 9.0, "font.size": 20.0}):
        before = dict(matplotlib.rcParams)
        other = plots.save_figure(FIGURES[name](), tmp_path / "other.svg").read_bytes()
        assert dict(matplotlib.rcParams) == before

    assert first == other


CALLS: dict[str, tuple[pd.DataFrame, tuple[str, ...], Callable[[pd.DataFrame], Figure]]] = {
    "survival": (survival(), ("survival",), plots.survival_curves),
    "front": (points(), ("usd",), lambda table: plots.pareto_front(table, "usd", "failed_share")),
    "grid": (pairs_of_levels(3), ("mean",), lambda table: plots.interaction_grid(table, "net")),
    "forest": (contrasts(), ("mean",), lambda table: plots.difference_forest(table, "none")),
    "tornado": (swings(), ("low_value",), lambda table: plots.tornado(table, "usd")),
    "indices": (indices(), ("total",), plots.sensitivity_bars),
    "morris": (elementary(), ("sigma",), plots.morris_plane),
    "refusals": (refusals(), ("net",), plots.rejection_against_net),
    "welch": (warm_up(), ("mean",), plots.welch_picture),
    "ranks": (ranks(scenarios=("spiral",)), ("mean",), plots.ranking_chart),
    "counts": (counts(), ("believed_tokens",), plots.believed_against_true),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_tables_that_cannot_be_drawn_are_refused_and_none_is_changed(name: str) -> None:
    table, (column,), draw = CALLS[name]
    before = table.copy(deep=True)

    with pytest.raises(InputError, match=f"no column '{column}'"):
        draw(table.rename(columns={column: f"{column}s"}))
    with pytest.raises(InputError, match="no rows"):
        draw(table.head(0))
    with pytest.raises(InputError, match="nothing to draw: "):
        draw(table.assign(**{column: np.nan}))
    draw(table)
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize("name", ["front", "forest", "tornado", "indices", "morris", "refusals", "ranks"])
def test_rows_without_a_value_are_named_and_the_others_drawn(name: str) -> None:
    table, (column,), draw = CALLS[name]
    table = table.sample(frac=1.0, random_state=1).reset_index(drop=True)  # ties then do not hide an order
    figure = draw(table.assign(**{column: [np.nan, *table[column][1:]]}))

    gone = str(table[table.columns[0]][0])
    note = figure._supxlabel.get_text().replace("\n", "")  # type: ignore[union-attr]
    assert note.replace(" ", "").split(":")[1].startswith(gone.replace(" ", ""))
    assert figure.axes[0].lines


# ------------------------------------------------------------------------------ names


@pytest.mark.parametrize("inches", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("name", [*MANY, LONG, "two\nlines of a\tname"])
def test_a_fitted_name_fits_and_keeps_its_ends(name: str, inches: float) -> None:
    lines = fitted(name, inches, 7.5).split("\n")

    assert len(lines) <= 2
    assert all(text_inches(line, 7.5) <= inches for line in lines)
    whole = "".join(lines)
    if "…" not in whole:
        assert whole.replace(" ", "") == "".join(name.split())
    else:
        head, tail = whole.replace(" ", "").split("…")
        assert "".join(name.split()).startswith(head) and "".join(name.split()).endswith(tail)


def test_names_of_points_cover_neither_one_another_nor_points() -> None:
    places = [(float(x), float(y)) for x, y in itertools.product(range(4), range(4))]
    with matplotlib.rc_context():
        figure = new_figure(7.0, 4.0)
        axes = figure.add_subplot()
        axes.set_xlim(-1, 4)
        axes.set_ylim(-1, 4)
        name_points(axes, places, [f"point number {number}" for number in range(12)])
    FigureCanvasAgg(figure).draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    pixels = axes.transData.transform(places)

    assert len(boxes) == 12
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert not any(box.contains(x, y) for box in boxes for x, y in pixels)
    for box, own in zip(boxes, pixels, strict=False):  # a name stands nearest to its own point
        middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
        assert np.hypot(*(pixels - middle).T).argmin() == np.flatnonzero((pixels == own).all(axis=1))[0]


def test_a_legend_of_many_names_takes_no_room_from_the_data() -> None:
    few, many = drawn("survival-few").axes[0], drawn("survival-many").axes[0]

    heights = [axes.bbox.height / axes.figure.dpi for axes in (few, many)]
    assert heights[1] > 0.9 * heights[0]


# ------------------------------------------------------------------------------ survival


def test_curves_are_steps_from_one_with_ticks_where_runs_were_censored() -> None:
    axes = drawn("survival").axes[0]
    table = survival()
    curves = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    ticks = [line for line in axes.lines if line.get_marker() == "|"]

    order = ["naive", "guarded", HOSTILE, LONG]
    assert len(curves) == len(ticks) == len(order)
    for curve, tick, name in zip(curves, ticks, order, strict=True):
        own = table[table["policy"] == name]
        np.testing.assert_allclose(
            curve.get_xydata(), [[0, 1], *own[["time", "survival"]].to_numpy().tolist()]
        )
        np.testing.assert_allclose(tick.get_xydata(), own.loc[own["censored"] > 0, ["time", "survival"]])
        for bound in ("low", "high"):
            assert {(time, round(end, 9)) for time, end in own[["time", bound]].to_numpy()} <= corners(axes)
    assert axes.get_xlim() == (0, table["time"].max())


def test_runs_at_risk_are_those_not_over_before_each_tick() -> None:
    axes, beneath = drawn("survival").axes
    names = ["naive", "guarded", HOSTILE, LONG]

    assert {text.get_position()[0] for text in beneath.texts} == set(axes.get_xticks())
    for text in beneath.texts:
        tick, place = text.get_position()
        turns, _ = lives(names[int(place)])
        assert int(text.get_text()) == (turns >= tick).sum()


# ------------------------------------------------------------------------------ fronts


def beaten(xs: np.ndarray, ys: np.ndarray) -> list[bool]:
    return [
        any(
            x <= xs[one] and y <= ys[one] and (x < xs[one] or y < ys[one])
            for x, y in zip(xs, ys, strict=True)
        )
        for one in range(len(xs))
    ]


@pytest.mark.parametrize("seed", range(30))
def test_the_front_is_what_nothing_beats(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(0, 40))
    xs, ys = random.integers(0, 9, size).astype(float), random.integers(0, 9, size).astype(float)  # with ties

    assert on_front(xs, ys).tolist() == [not lost for lost in beaten(xs, ys)]


def test_points_without_a_coordinate_neither_stand_on_the_front_nor_beat() -> None:
    assert on_front([np.nan, 1, 2, 0], [0, np.nan, 2, np.inf]).tolist() == [False, False, True, False]
    with pytest.raises(ValueError, match=r"shapes \(1,\) and \(2,\)"):
        on_front([1], [1, 2])


def test_points_on_the_front_are_filled_and_named() -> None:
    axes = drawn("front-many").axes[0]
    table = points(MANY)
    lost = dict(
        zip(table["usd"], beaten(table["usd"].to_numpy(), table["failed_share"].to_numpy()), strict=True)
    )

    shown = marks(axes)
    assert sorted((*line.get_xdata(), *line.get_ydata()) for line in shown) == sorted(
        table[["usd", "failed_share"]].itertuples(index=False, name=None)
    )
    assert [line.get_markerfacecolor() == "white" for line in shown] == [
        lost[line.get_xdata()[0]] for line in shown
    ]  # type: ignore[index]
    front = table[[not lost[usd] for usd in table["usd"]]].sort_values("usd")
    assert 1 < len(front) < len(table)
    key = [label.get_text().split(maxsplit=1) for label in drawn("front-many").legends[0].get_texts()]
    names = {words[0]: words[1] for words in key}
    at = {text.xy: names[text.get_text()].split("…")[0] for text in axes.texts}  # type: ignore[attr-defined]
    for row in front.to_dict("records"):
        assert row["policy"].startswith(at[row["usd"], row["failed_share"]])
    assert sorted(spans(axes, "|")) == sorted(table[["usd_low", "usd_high"]].to_numpy().tolist())
    assert sorted(spans(axes, "_")) == sorted(
        table[["failed_share_low", "failed_share_high"]].to_numpy().tolist()
    )


def test_the_staircase_is_the_least_failure_at_each_cost() -> None:
    axes = drawn("front-many").axes[0]
    table = points(MANY)
    (stairs,) = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    at, height = np.asarray(stairs.get_xdata()), np.asarray(stairs.get_ydata())

    for cost in np.linspace(table["usd"].min() + 1e-6, axes.get_xlim()[1], 50):
        assert height[np.searchsorted(at, cost) - 1] == table.loc[table["usd"] <= cost, "failed_share"].min()
    assert at[0] == table["usd"].min() and height[0] == axes.get_ylim()[1]


def test_more_points_than_styles_are_drawn_alike() -> None:
    table = points(tuple(f"point {number}" for number in range(17)))
    figure = plots.pareto_front(table, "usd", "failed_share")

    assert len({line.get_color() for line in marks(figure.axes[0])}) == 2  # on the front, and not
    assert len(figure.legends[0].get_texts()) == 2


# ------------------------------------------------------------------------------ interactions


def test_a_line_is_the_rows_of_a_level() -> None:
    axes = drawn("interaction").axes[0]
    table = pairs_of_levels(2)

    assert len(axes.lines) == 2
    for level, line in zip(LEVELS[1], axes.lines, strict=True):
        assert list(line.get_ydata()) == table.loc[table["other_level"] == level, "mean"].tolist()
    bars = [bar for bar in axes.collections if isinstance(bar, LineCollection)]
    ends = sorted(segment[:, 1].tolist() for bar in bars for segment in bar.get_segments())
    np.testing.assert_allclose(ends, sorted(table[["low", "high"]].to_numpy().tolist()))


def test_levels_that_are_numbers_stand_by_size_and_one_without_a_mean_is_left_out() -> None:
    table = pairs_of_levels(2).iloc[::-1]
    axes = plots.interaction_grid(table, "net").axes[0]

    assert [label.get_text() for label in axes.get_xticklabels()] == ["100", "400", "700"]
    gone = table.assign(mean=table["mean"].where(table["level"] != 400))
    assert all(len(line.get_ydata()) == 2 for line in plots.interaction_grid(gone, "net").axes[0].lines)


def test_a_grid_has_a_panel_for_each_pair_and_shows_who_interacts() -> None:
    panels = {
        (row, column): axes
        for (row, column), axes in zip(itertools.product(range(4), range(5)), drawn("grid").axes, strict=True)
    }

    assert {place for place, axes in panels.items() if axes.axison} == {
        (row, column) for row in range(4) for column in range(row + 1)
    }
    for (row, column), axes in panels.items():
        if not axes.axison:
            continue
        curves = np.array([line.get_ydata() for line in axes.lines], dtype=float)
        assert curves.shape == (len(LEVELS[row + 1]), len(LEVELS[column]))
        parallel = np.allclose(np.diff(curves, axis=0).std(axis=1), 0, atol=1e-9)
        assert parallel == ((row, column) != (0, 0))  # only the first two factors interact
    titles = [panels[row, row + 1].get_legend().get_title().get_text() for row in range(4)]
    assert [title.replace("\n", " ") for title in titles] == [
        "Low watermark",
        "Measurement",
        "Gate",
        "Policy",
    ]
    assert len({axes.get_ylim() for axes in panels.values() if axes.axison}) == 1


def test_a_grid_of_too_many_factors_is_refused() -> None:
    table = pairs_of_levels(2)
    six = pd.concat([table.assign(other=f"factor {number}") for number in range(5)])
    with pytest.raises(InputError, match="at most 5 factors"):
        plots.interaction_grid(six, "net")


# ------------------------------------------------------------------------------ forests


@pytest.mark.parametrize(
    ("name", "better", "names"), [("forest", "lower", NAMES), ("forest-many", "higher", MANY)]
)
def test_differences_stand_from_the_best_down_with_what_is_behind_them(
    name: str, better: str, names: tuple[str, ...]
) -> None:
    axes = drawn(name).axes[0]
    table = contrasts(names).sort_values("mean", ascending=better == "lower")

    shown = marks(axes)
    assert [line.get_xdata()[0] for line in shown] == table["mean"].tolist()  # type: ignore[index]
    assert [line.get_ydata()[0] for line in shown] == list(range(len(table)))  # type: ignore[index]
    assert axes.get_ylim()[1] < 0 < axes.get_ylim()[0]
    assert [line.get_markerfacecolor() == "white" for line in shown] == [
        not p <= 0.05 for p in table["adjusted_p"]
    ]
    np.testing.assert_allclose(spans(axes, "|"), table[["low", "high"]])
    assert any(list(line.get_xdata()) == [0, 0] for line in axes.lines)
    words = {
        "lower": ("left", "\N{LEFTWARDS ARROW} better"),
        "higher": ("right", "better \N{RIGHTWARDS ARROW}"),
    }
    side, arrow = words[better]
    assert axes.get_title(loc=side) == arrow  # type: ignore[arg-type]
    cells = [text.get_text() for text in axes.texts]
    assert cells.count("1,200") == len(table)
    assert {"∞", "4.25", "\N{EN DASH}", "<0.001", "0.042"} <= set(cells)


def test_intervals_that_hold_together_are_drawn_thin_beneath_the_single_ones() -> None:
    table = contrasts().assign(joint_low=contrasts()["mean"] - 2, joint_high=contrasts()["mean"] + 2)
    figure = plots.difference_forest(table, "none")
    plain = plots.difference_forest(contrasts(), "none")

    whole = [list(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() == "None"]
    for row in table.to_dict("records"):
        assert [row["joint_low"], row["joint_high"]] in whole
    assert spans(figure.axes[0], "|") == spans(plain.axes[0], "|")
    assert "of all rows together" in said(figure) and "of all rows together" not in said(plain)


def test_without_correction_there_is_no_column_for_it() -> None:
    axes = plots.difference_forest(contrasts().drop(columns="adjusted_p"), "none").axes[0]

    assert "adjusted\np" not in [text.get_text() for text in axes.texts]
    table = contrasts().sort_values("mean")
    assert [line.get_markerfacecolor() == "white" for line in marks(axes)] == [
        low <= 0 <= high for low, high in zip(table["low"], table["high"], strict=True)
    ]


@pytest.mark.parametrize(
    ("factors", "note"),
    [
        (2, None),
        (3, "1 interaction of three factors and more stands in the table."),
        (4, "5 interactions of three factors and more stand in the table."),  # 4 of three, 1 of all
    ],
)
def test_effects_that_are_not_drawn_are_counted_beneath(factors: int, note: str | None) -> None:
    orders = range(1, factors + 1)
    groups = [group for order in orders for group in itertools.combinations("abcd"[:factors], order)]
    rows = [{"effect": " x ".join(group), "order": len(group)} for group in groups]
    ends = {"response": "usd", "mean": 1.0, "low": 0.5, "high": 1.5, "n": 8}
    table = pd.DataFrame(rows).assign(**ends)
    other = table.assign(response="turns")  # not asked for, and not counted
    figure = plots.effect_forest(pd.concat([table, other]), "usd", replications=8)

    assert (figure.get_supxlabel() or None) == note
    assert len(figure.axes[0].get_yticklabels()) == factors + math.comb(factors, 2)


# ------------------------------------------------------------------------------ sensitivity


def test_the_widest_swing_stands_highest_and_no_bar_hides_another() -> None:
    axes = drawn("tornado").axes[0]
    table = swings()
    order = (table["high_value"] - table["low_value"]).abs().sort_values(ascending=False).index
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]

    np.testing.assert_allclose([bar.get_x() for bar in bars], 91.2)
    ends = np.array([bar.get_x() + bar.get_width() for bar in bars]).reshape(-1, 2)
    np.testing.assert_allclose(ends, table.loc[order, ["low_value", "high_value"]])
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels[0] == "Knee (%)"
    assert not any(
        shared is not None and abs(shared.width * shared.height) > 1e-9
        for one, other in itertools.combinations(bars, 2)
        for shared in [Bbox.intersection(one.get_bbox(), other.get_bbox())]
    )
    assert {bar.get_hatch() for bar in bars[::2]} != {bar.get_hatch() for bar in bars[1::2]}  # in grey too


@pytest.mark.parametrize("ends", [(0.0, np.inf), (np.nan, 95.0), (np.nan, np.nan)])
def test_an_interval_without_two_ends_is_not_drawn_and_moves_no_word(ends: tuple[float, float]) -> None:
    bare = plots.tornado(swings(), "usd").axes[0]
    both = list(zip(("low", "high"), ends, strict=True))
    half = {f"{level}_value_{end}": one for level in ("low", "high") for end, one in both}
    axes = plots.tornado(swings().assign(**half), "usd").axes[0]

    assert len(axes.lines) == len(bare.lines) == 1  # the base
    assert axes.get_xlim() == bare.get_xlim()
    assert [text.xy for text in axes.texts] == [text.xy for text in bare.texts]  # type: ignore[attr-defined]


def test_swings_around_several_bases_are_refused() -> None:
    with pytest.raises(InputError, match="one base for all"):
        plots.tornado(swings().assign(base=[1.0, 2.0, 1.0, 1.0]), "usd")


def test_indices_stand_by_their_total() -> None:
    axes = drawn("indices").axes[0]
    table = indices().sort_values("total", ascending=False)

    shown = np.array([line.get_xdata()[0] for line in marks(axes)]).reshape(-1, 2)  # type: ignore[index]
    np.testing.assert_allclose(shown, table[["first", "total"]])
    columns = ["first_low", "first_high", "total_low", "total_high"]
    np.testing.assert_allclose(np.reshape(spans(axes, "|"), (-1, 4)), table[columns])
    assert {line.get_marker() for line in marks(axes)} == {"o", "s"}


def test_indices_say_of_which_response_they_are() -> None:
    axes = plots.sensitivity_bars(indices(), "waste_tokens").axes[0]

    assert "Waste (tokens)" in axes.get_xlabel().replace("\n", " ")


def test_the_plane_of_morris_names_each_factor_beside_its_point() -> None:
    axes = drawn("morris").axes[0]
    table = elementary().sort_values("mu_star", ascending=False)
    (line,) = [line for line in axes.lines if line.get_marker() == "None"]

    shown = [line.get_xydata()[0] for line in marks(axes)]
    np.testing.assert_allclose(shown, table[["mu_star", "sigma"]])
    np.testing.assert_allclose(spans(axes, "|"), table[["mu_star_low", "mu_star_high"]])
    np.testing.assert_array_equal(line.get_xdata(), line.get_ydata())  # the spread is the mean
    assert [tuple(text.xy) for text in axes.texts] == list(  # type: ignore[attr-defined]
        table[["mu_star", "sigma"]].itertuples(index=False, name=None)
    )
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0
    bare = plots.morris_plane(table[["factor", "mu_star", "sigma"]]).axes[0]
    assert len(marks(bare)) == len(table)


# ------------------------------------------------------------------------------ other figures


def test_refusals_and_nets_are_the_table_and_each_quadrant_says_what_it_is() -> None:
    axes = drawn("refusals").axes[0]
    table = refusals()

    shown = [(*line.get_xdata(), *line.get_ydata()) for line in marks(axes)]
    assert shown == list(table[["share_refused", "net"]].itertuples(index=False, name=None))
    np.testing.assert_allclose(spans(axes, "|"), table[["low", "high"]])
    np.testing.assert_allclose(spans(axes, "_"), table[["net_low", "net_high"]])
    assert axes.get_ylim()[0] < 0 < axes.get_ylim()[1]
    for text in axes.texts:
        box = text.get_window_extent().transformed(axes.transData.inverted())
        assert box.x0 > 0.5 if "refuses most" in text.get_text() else box.x1 < 0.5
        assert box.y0 > 0 if "gains" in text.get_text() else box.y1 < 0


def test_more_policies_than_styles_are_alike_and_the_extremes_have_their_names() -> None:
    names = tuple(f"policy {number}, a place" for number in range(50))
    figure = plots.rejection_against_net(refusals(names))
    axes = figure.axes[0]

    assert len(marks(axes)) == 50
    assert len({line.get_color() for line in marks(axes)}) == 1
    assert np.isnan(spans(axes, "|")).all()
    assert "50 policies and places" in figure.legends[0].get_texts()[0].get_text()
    named = {text.get_text().replace("\n", " ") for text in axes.texts} & set(names)
    assert named == {names[0], names[-1]}  # the first has the highest net and no refusal, the last neither


def test_names_in_a_legend_keep_what_tells_them_apart() -> None:
    names = [f"guarded, {'a factor whose name is long ' * 3}{level}, b/c 1" for level in (100, 300, 600)]
    figure = plots.rejection_against_net(refusals(tuple(names)))

    assert len({text.get_text() for text in figure.legends[0].get_texts()}) == len(names)


@pytest.mark.parametrize("sign", [1, -1])
def test_both_sides_of_zero_are_in_sight_whatever_the_nets(sign: int) -> None:
    table = refusals().assign(net=500.0 * sign, net_low=500.0 * sign - 10, net_high=500.0 * sign + 10)
    low, high = plots.rejection_against_net(table).axes[0].get_ylim()

    assert low < 0 < high


def test_the_picture_of_welch_has_mean_average_and_cut() -> None:
    axes = drawn("welch").axes[0]
    table = warm_up()
    mean, smoothed, cut = axes.lines

    np.testing.assert_allclose(mean.get_xydata(), table[["turn", "mean"]])
    np.testing.assert_allclose(smoothed.get_xydata(), table[["turn", "smoothed"]])
    assert list(cut.get_xdata()) == [41, 41]
    (left_out,) = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert (left_out.get_x(), left_out.get_x() + left_out.get_width()) == (1, 41)
    assert len(drawn("welch-no-cut").axes[0].lines) == 2


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_each_panel_ranks_its_policies_and_fills_those_that_may_be_best(better: str) -> None:
    table = ranks()
    figure = plots.ranking_chart(table, "usd", better=better)  # type: ignore[arg-type]

    scenarios = list(table["scenario"].unique())
    assert len(figure.axes) == len(scenarios)
    for axes, scenario in zip(figure.axes, scenarios, strict=True):
        own = table[(table["scenario"] == scenario) & ~table["bound"]]
        own = own.sort_values("mean", ascending=better == "lower")
        assert [line.get_xdata()[0] for line in marks(axes)] == own["mean"].tolist()  # type: ignore[index]
        filled = [line.get_markerfacecolor() != "white" for line in marks(axes)]
        assert filled == own["best"].tolist() and 0 < sum(filled) < len(filled)
        np.testing.assert_allclose(spans(axes, "|"), own[["low", "high"]])
        heads = [label.get_text().replace("\n", "").split("…")[0] for label in axes.get_yticklabels()]
        assert all(name.startswith(head) for name, head in zip(own["policy"], heads, strict=True))
        assert any(list(line.get_xdata()) == [0.5, 0.5] for line in axes.lines)  # the bound, not ranked
        (band,) = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        np.testing.assert_allclose([band.get_x(), band.get_x() + band.get_width()], [0.1, 1.0])
    assert "bound: oracle" in said(figure)


def test_a_policy_given_twice_in_a_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="'naive' is given twice in 'spiral'"):
        plots.ranking_chart(pd.concat([ranks(), ranks().head(1)]))


def test_no_interval_of_a_count_reaches_below_nothing() -> None:
    table = counts().assign(believed_tokens=lambda rows: rows["believed_tokens"] * (rows["replication"] > 0))
    axes = plots.believed_against_true(table).axes[0]

    assert min(y for _, y in corners(axes)) == -100


def test_errors_of_the_count_are_shares_of_the_true_one() -> None:
    axes = drawn("counts").axes[0]
    zero, naive, other = axes.lines

    assert list(zero.get_ydata()) == [0, 0]
    np.testing.assert_allclose(naive.get_xydata(), [(turn, -15) for turn in range(1, 30)])
    np.testing.assert_allclose(other.get_ydata(), 20)
