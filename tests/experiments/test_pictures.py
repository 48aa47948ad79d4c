"""Pictures of sweeps: each kind draws where it has a place, and is refused in one line where it has none."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex

from experiments import drawings
from experiments.drawings import DRAWINGS
from experiments.experiment import Experiment, load_experiment
from experiments.pictures import ANALYSES, KINDS, analysis_of, draw, plot_of
from experiments.plots.contrasts import BAD_COLOUR, GOOD_COLOUR
from experiments.plots.style import figure_bytes
from experiments.requirements import NEEDS
from experiments.results import Results
from experiments.sweeping import sweep
from experiments.titles import HEADLINES, WHAT_IS_DRAWN, title_of
from simulator import InputError

HEAD = """\
scenario = "constant-arrivals"
policies = ["naive-never-summarised"]
replications = 3
responses = [
  "net_per_attempt_tokens", "arrivals_per_turn_tokens", "overflowed", "turns", "share_refused", "usd",
]

[set]
"run.horizon" = 110
"""
BASE = '[[factor]]\nname = "base"\npath = "laws.rationale.base"\nvalues = [100, 600]\n'
RATIO = '[[factor]]\nname = "ratio"\npath = "laws.summary.ratio"\nvalues = [0.3, 0.5]\n'
SIZE = '[[factor]]\nname = "head"\npath = "window.head"\nvalues = [3_000, 4_000]\n'
LEVELS = '{ label = "a", set = {} }, { label = "b", set = { "window.head" = 4_000 } }'
WORDS = f'[[factor]]\nname = "word"\nlevels = [{LEVELS}]\n'
RANGES = (BASE + RATIO).replace("values = [100, 600]", "low = 100\nhigh = 600")
RANGES = RANGES.replace("values = [0.3, 0.5]", "low = 0.3\nhigh = 0.5")
FRACTION = '[design]\nkind = "fractional"\ngenerators = { head = ["base", "ratio"] }\n'
RIVALS = HEAD.replace('"naive-never', '"guarded", "naive-never')

CASES = {
    "bare": HEAD,
    "asked": HEAD + '[[plots]]\nkind = "pareto"\nx = "usd"\ny = "turns"\n',
    "one": HEAD + WORDS,
    "two": HEAD + BASE + RATIO,
    "words": HEAD + WORDS + BASE,
    "three": HEAD + BASE + RATIO + SIZE,
    "fraction": HEAD + FRACTION + BASE + RATIO + SIZE,
    "three levels": HEAD + BASE.replace("600", "300, 600") + RATIO,
    "hypercube": f'{HEAD}[design]\nkind = "latin-hypercube"\npoints = 4\n{RANGES}',
    "saltelli": f'{HEAD}[design]\nkind = "saltelli"\npoints = 2\n{RANGES}',
    "morris": f'{HEAD}[design]\nkind = "morris"\ntrajectories = 2\n{RANGES}',
    "rivals": RIVALS,
    "rivals at two": RIVALS + WORDS,
    "worlds": RIVALS.replace('scenario = "constant-', 'scenarios = ["tombstones", "constant-').replace(
        'arrivals"\n', 'arrivals"]\n', 1
    ),
}
ALONE = [name for name in CASES if name not in ("asked", "rivals", "rivals at two", "worlds")]
OF_ONE_SCENARIO = [name for name in CASES if name != "worlds"]
OF_TWO_FACTORS = ["two", "words", "three levels", "hypercube", "saltelli", "morris"]
PLACES = {
    "response": ["one", "rivals at two"],
    "heat": OF_TWO_FACTORS,
    "phase": [name for name in OF_TWO_FACTORS if name != "words"],
    "table": list(CASES),
    "differences": ["one"],
    "effects": ["two", "words", "three", "fraction"],
    "interactions": ["two", "words", "three", "three levels"],
    "comparison": ["rivals", "rivals at two", "worlds"],
    "ranking": ["rivals", "rivals at two", "worlds"],
    "pareto": ["asked"],
    "survival": list(CASES),
    "sensitivity": ["saltelli", "morris"],
    "tornado": [name for name in ALONE if name != "bare"],
    "rejection": list(CASES),
    "occupancy": OF_ONE_SCENARIO,
    "believed": OF_ONE_SCENARIO,
    "ledger": OF_ONE_SCENARIO,
    "welch": OF_ONE_SCENARIO,
}
"""Where each kind has its place."""


def loaded(name: str, folder: Path) -> Experiment:
    path = folder / f"{name}.toml"
    path.write_text(CASES[name])
    return load_experiment(str(path))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """The results of the cases that are drawn, each swept once."""
    folder = tmp_path_factory.mktemp("pictures")
    found = {}
    for name in {places[-1] for places in DRAWN.values()} | {"saltelli", "morris", "rivals"}:
        experiment = loaded(name, folder)
        assert sweep(experiment, folder / name, workers=0, show="none") == 0
        found[name] = Results(folder / name, experiment)
    return found


DRAWN = {kind: ["two" if "two" in places else places[0]] for kind, places in PLACES.items()}


@pytest.mark.contract
def test_every_kind_is_drawn_needed_and_placed() -> None:
    assert set(KINDS) == set(DRAWINGS) == set(NEEDS) == set(HEADLINES) == set(WHAT_IS_DRAWN) == set(PLACES)
    assert set(ANALYSES) < set(KINDS)


@pytest.mark.unit
@pytest.mark.parametrize("case", CASES)
def test_each_kind_has_its_place_or_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    results = Results(tmp_path, loaded(case, tmp_path))
    for kind in KINDS:
        if case in PLACES[kind]:
            assert plot_of(results, kind).kind == kind
        else:
            with pytest.raises(InputError, match=f"^plot {kind}: .*; expected ") as caught:
                plot_of(results, kind)
            assert "\n" not in str(caught.value)


@pytest.mark.unit
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_draws(kind: str, swept: dict[str, Results]) -> None:
    results = swept[DRAWN[kind][0]]
    plot = plot_of(results, kind)
    table = analysis_of(results, plot)
    assert table is None or len(table) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw(results, plot)
        assert figure.axes
        assert figure_bytes(figure, "svg").startswith(b"<?xml")
    said = [" ".join(words.get_text().split("\n")) for words in figure.texts]
    assert list(title_of(results, plot)) == said[-2:]
    assert ("2 scenarios" if DRAWN[kind][0] == "worlds" else "constant-arrivals, at most 110 turns") in said[
        -1
    ]


@pytest.mark.unit
def test_titles_say_the_response_its_unit_how_many_runs_and_which_way_is_better(
    swept: dict[str, Results],
) -> None:
    results = swept["saltelli"]
    title = title_of(results, plot_of(results, "sensitivity", "usd"))
    assert title.headline == "What cost ($) hangs on"
    assert "24 runs in 3 worlds" in title.detail  # 2 x (2 factors + 2) points

    ranked = swept["rivals"]
    for better in ("lower", "higher"):
        for kind in ("ranking", "comparison"):
            found = title_of(ranked, plot_of(ranked, kind, "overflowed", better))
            assert f"{better} is taken for better" in found.detail
            assert "verflowed (share of runs)" in found.headline
    assert "(Wilson's)" in title_of(ranked, plot_of(ranked, "ranking", "overflowed")).detail
    assert "(Student's)" in title_of(ranked, plot_of(ranked, "ranking", "usd")).detail


@pytest.mark.unit
def test_many_differences_are_marked_by_what_all_of_them_allow_and_coloured_by_what_is_better(
    monkeypatch: pytest.MonkeyPatch, swept: dict[str, Results]
) -> None:
    """Of usd, guarded is cheaper in each world; three worlds are too few to tell that of two rows."""
    results = swept["rivals"]
    monkeypatch.setattr(drawings, "MOST_COMPARED", 0)
    plot = plot_of(results, "comparison", "usd")
    table = analysis_of(results, plot)
    assert table is not None
    marks = {True: "\N{BLACK UP-POINTING TRIANGLE}", False: "\N{BLACK DOWN-POINTING TRIANGLE}"}
    for p, better in ((0.04, "lower"), (0.04, "higher"), (0.06, "lower")):
        asked = plot.model_copy(update={"better": better})
        results.analyses[asked.model_dump_json()] = table.assign(adjusted_p=p)
        axes = draw(results, asked).axes[0]
        words = {text.get_text() for text in axes.texts}
        above = table["mean"].iloc[0] > 0
        assert any(word.endswith(marks[above]) for word in words) == (p < 0.05)
        grounds = [to_hex(patch.get_facecolor()) for patch in axes.patches]
        good = GOOD_COLOUR if above == (better == "higher") else BAD_COLOUR
        assert grounds == ([good] if p < 0.05 else [])
        assert any(f"{better} is better" in word for word in words)


@pytest.mark.unit
def test_a_table_has_the_means_with_their_intervals_and_units(swept: dict[str, Results]) -> None:
    results = swept["two"]
    axes = draw(results, plot_of(results, "table")).axes[0]
    words = [text.get_text().replace("\n", " ") for text in axes.texts]

    assert {"Net per attempt", "tokens", "share of runs", "$"} <= set(words)
    shares = results.means[results.means["response"] == "overflowed"]
    for row in shares.to_dict("records"):
        assert f"{row['low']:.2f} to {row['high']:.2f}" in words  # Wilson's


@pytest.mark.unit
@pytest.mark.parametrize("name", ["saltelli", "morris"])
def test_pictures_of_designs_whose_points_are_no_grid(name: str, swept: dict[str, Results]) -> None:
    for kind in ("sensitivity", "table", "heat", "phase"):
        assert draw(swept[name], plot_of(swept[name], kind)).axes


@pytest.mark.unit
def test_points_with_the_same_levels_are_rows_of_their_own(tmp_path: Path) -> None:
    """Whole numbers from 1 to 2 over eight points: each level is there four times."""
    path = tmp_path / "again.toml"
    factor = '[[factor]]\nname = "x"\npath = "laws.rationale.base"\nlow = 1\nhigh = 2\nwhole = true\n'
    design = '[design]\nkind = "latin-hypercube"\npoints = 8\n'
    path.write_text(HEAD.replace("110", "3").replace("= 3\n", "= 2\n", 1) + design + factor)
    experiment = load_experiment(str(path))
    sweep(experiment, tmp_path / "out", workers=0, show="none")
    results = Results(tmp_path / "out", experiment)
    figure = draw(results, plot_of(results, "table"))
    words = {text.get_text() for axes in figure.axes for text in (*axes.texts, *axes.get_yticklabels())}
    assert {"1", "1 (2)", "1 (3)", "1 (4)", "2", "2 (4)"} <= words


# ------------------------------------------------------------------------------------ what is asked for


@pytest.mark.unit
def test_another_response(swept: dict[str, Results]) -> None:
    results = swept["two"]
    assert plot_of(results, "heat").response == "net_per_attempt_tokens"
    chosen = plot_of(results, "heat", "usd")
    assert chosen.response == "usd"
    words = [axes.get_ylabel() for axes in draw(results, chosen).axes]
    assert "Cost ($)" in words
    with pytest.raises(InputError, match=r"plot heat: 'usdd' is not among the responses; did you mean 'usd'"):
        plot_of(results, "heat", "usdd")
    with pytest.raises(InputError, match="a picture of kind pareto shows no response of choice"):
        plot_of(results, "pareto", "usd")


@pytest.mark.unit
def test_kinds_by_name(swept: dict[str, Results]) -> None:
    results = swept["two"]
    assert plot_of(results, None) == results.experiment.file.plot
    with pytest.raises(InputError, match=r"unknown picture 'het'; expected .* did you mean 'heat'"):
        plot_of(results, "het")


@pytest.mark.unit
def test_what_the_file_asks_for_comes_first(tmp_path: Path) -> None:
    asked = '[plot]\nkind = "heat"\nresponse = "turns"\n[[plots]]\nkind = "pareto"\nx = "usd"\ny = "turns"\n'
    path = tmp_path / "asked.toml"
    path.write_text(HEAD + BASE + RATIO + asked)
    results = Results(tmp_path, load_experiment(str(path)))
    assert plot_of(results, None).kind == "heat"
    pareto = plot_of(results, "pareto")
    assert (pareto.x, pareto.y) == ("usd", "turns")
    assert plot_of(results, "tornado").response == "turns"  # of what the main picture shows


@pytest.mark.unit
def test_nobody_guesses_which_two_responses_are_to_be_small(tmp_path: Path) -> None:
    results = Results(tmp_path, loaded("two", tmp_path))
    with pytest.raises(
        InputError, match=r"which two responses are to be small; expected \[\[plots\]\] with kind"
    ):
        plot_of(results, "pareto")


@pytest.mark.unit
def test_a_baseline_that_nobody_named_is_the_first(tmp_path: Path) -> None:
    assert plot_of(Results(tmp_path, loaded("one", tmp_path)), "differences").baseline == "a"
    assert plot_of(Results(tmp_path, loaded("rivals at two", tmp_path)), "comparison").baseline == "guarded"


@pytest.mark.unit
def test_a_sweep_that_has_not_run_has_nothing_to_draw(tmp_path: Path) -> None:
    experiment = loaded("two", tmp_path)
    with pytest.raises(InputError, match=r"there is no manifest\.json"):
        draw(Results(tmp_path, experiment), plot_of(Results(tmp_path, experiment), "heat"))
    sweep(experiment, tmp_path / "out", workers=0, only=["point=0", "replication=0"], show="none")
    (tmp_path / "out" / "runs.parquet").unlink()
    results = Results(tmp_path / "out", experiment)
    with pytest.raises(InputError, match="holds no results yet"):
        draw(results, plot_of(results, "heat"))


@pytest.mark.unit
def test_a_part_of_a_sweep_is_drawn(tmp_path: Path) -> None:
    experiment = loaded("two", tmp_path)
    sweep(experiment, tmp_path / "out", workers=0, only=["point=1", "replication=0"], show="none")
    results = Results(tmp_path / "out", experiment)
    assert draw(results, plot_of(results, "table")).axes
    effects = analysis_of(results, plot_of(results, "effects"))
    assert effects is not None
    assert set(effects["n"]) == {0}
    assert np.isnan(effects["mean"].astype(float)).all()
