"""`sweep policy-variants` and `report` as a user types them, and the file that comes out in a browser."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import cli
from experiments.experiment import Experiment, ExperimentFile, load_experiment
from experiments.pictures import KINDS
from experiments.report import assembly
from experiments.report.assembly import page_of
from experiments.report.captions import LOOK_FOR
from experiments.results import Results, results_of
from experiments.sweeping import sweep

pytestmark = pytest.mark.contract

Open = Callable[..., Any]

FEW_VARIANTS = """\
base = "policy-variants"
summary = "few of the policies in two of the worlds, one that always fails and one that sometimes does"
source = "made for a test"
scenarios = ["rewrite-budget-spiral", "all-four"]
policies = ["naive", "guarded", "never-rewrite", "{zoo}:RaisesInPropose", "{zoo}:RaisesWhenOverfull"]
bounds = ["never-rewrite"]
without = []

[[plots]]
kind = "comparison"
response = "turns"
baseline = "naive"

[[plots]]
kind = "pareto"
x = "usd"
y = "share_refused"
"""

MADE_AGAIN = """\
summary = "what happened inside of runs"
source = "made for a test"
scenario = "constant-arrivals"
policies = ["naive", "truncate-oldest"]
replications = 2
responses = ["turns"]
set = { "run.horizon" = 110 }

[plot]
kind = "occupancy"

[[plots]]
kind = "ledger"

[[plots]]
kind = "survival"
"""

LONGEST_WORD = 24
"""Characters of a word that may be broken nowhere."""

BROKEN = """limit => {
  const broken = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); ) {
    const isRead = !text.parentElement.closest("script, style, noscript, svg, pre");
    if (!isRead || !text.parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of text.data.matchAll(/[^\\s/?_-]+/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const boxes = [...range.getClientRects()].filter((box) => box.width);
      const lines = new Set(boxes.map((box) => Math.round(box.top)));
      if (lines.size > 1 && word.length <= limit) broken.push(word);
    }
  }
  return broken;
}"""
"""Words that begin in one line and end in another, but for hyphens and the like."""

FIGURES = "document.querySelectorAll('figure img')"
PAPER = 718
"""Pixels of a page of A4 between margins of a centimetre."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, zoo: str) -> str:
    """The report of a small sweep, both made by their commands, in a folder that was not there."""
    folder = tmp_path_factory.mktemp("few-variants")
    (folder / "few.toml").write_text(FEW_VARIANTS.format(zoo=zoo))
    few = (
        "--set",
        "experiment.replications=2",
        "--workers",
        "1",
        "--progress",
        "none",
        "--output",
        "results",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for code, *words in (
            (1, "sweep", "few.toml", *few),  # some of its runs fail
            (0, "report", "results", "--output", "sent/around/report.html"),
        ):
            patch.setattr(sys, "argv", ["rewritelab", *words])
            assert cli._code() == code
    return (folder / "sent" / "around" / "report.html").as_uri()


def test_the_report_of_the_command_opens_alone_and_its_viewer_is_stepped_by_keyboard(opened: Open) -> None:
    one = opened()  # at its end it has said nothing, and asked for nothing but itself
    assert one.page.evaluate(f"{FIGURES}.length") == 3
    assert one.page.evaluate(f"[...{FIGURES}].every(one => one.complete && one.naturalWidth > 300)")
    # of both scenarios what did not fail: the three that never do, and once the one that sometimes does
    assert one.page.locator("#viewer-run option").count() == 7
    one.page.locator("#viewer").focus()
    first = one.state
    assert first.startswith("Turn 1 of ")
    assert one.press("ArrowRight").startswith("Turn 2 of ")
    assert "Rewrite 1 " in one.press("n")
    assert "The run ends here" in one.press("End")
    assert one.press("Home") == first


def test_no_word_is_broken_at_any_width_nor_on_paper(opened: Open) -> None:
    one = opened(360)
    one.page.locator("#viewer").focus()
    one.press("n")
    for width in (360, 800, 1000, 1600):
        one.page.set_viewport_size({"width": width, "height": 900})
        assert one.page.evaluate(BROKEN, LONGEST_WORD) == [], width
        assert one.page.evaluate("document.documentElement.scrollWidth") == width
    one.page.emulate_media(media="print")
    one.page.set_viewport_size({"width": PAPER, "height": 1000})
    assert one.page.evaluate(BROKEN, LONGEST_WORD) == []
    wide = "[...document.querySelectorAll('table, img')].map(one => one.getBoundingClientRect().right)"
    assert max(one.page.evaluate(wide)) <= PAPER


def test_who_has_no_value_is_told_beside_the_answer_with_the_reason(opened: Open, zoo: str) -> None:
    one = opened()
    answer = one.page.locator("#answer")
    always, sometimes, unexercised = answer.locator(".answers").last.locator("li").all_inner_texts()
    assert always == (
        f"{zoo}:RaisesInPropose: 4 of 4 runs failed; it has no value anywhere; "
        "most often at propose: policy raised LookupError: no propose"
    )
    assert sometimes.startswith(f"{zoo}:RaisesWhenOverfull: 2 of 4 runs failed; it has no value in all-four;")
    assert unexercised.startswith("no share_refused anywhere")
    assert unexercised.endswith(": never-rewrite")
    answer.get_by_role("link").focus()
    one.page.keyboard.press("Enter")
    assert one.page.evaluate("location.hash") == "#failed"
    assert one.page.locator("#failed tbody tr").count() == 6


def test_a_figure_says_what_to_look_for_and_where_its_numbers_are(opened: Open) -> None:
    page = opened().page
    titles = page.locator("#tables caption").all_inner_texts()
    for figure in page.locator("figure").all():
        title = figure.locator("h3").inner_text()
        caption = figure.locator("figcaption").inner_text()
        alt = figure.locator("img").get_attribute("alt")
        assert alt == f"{title}. Its numbers stand in the table of the same title."
        assert title in titles
        assert title not in caption
        assert "2 worlds a policy in each scenario" in caption
        assert "95%" in caption


def test_a_column_shows_its_unit_and_none_where_it_has_none(opened: Open) -> None:
    heads = opened().page.locator("thead th").all_inner_texts()
    units = {head.split()[0]: head.split()[1:] for head in heads}
    assert (units["usd_low"], units["sound_turns"], units["turns"]) == (["$"], ["turns"], [])
    assert ["1"] not in units.values()


def test_what_is_drawn_from_runs_made_again_claims_no_table(tmp_path: Path) -> None:
    (tmp_path / "inside.toml").write_text(MADE_AGAIN)
    experiment = load_experiment(str(tmp_path / "inside.toml"))
    assert sweep(experiment, tmp_path / "out", workers=1, show="none") == 0
    page = page_of(results_of(tmp_path / "out"), worlds=0)
    occupancy, ledger, survival = page.figures
    for figure, worlds in ((occupancy, "2 worlds"), (ledger, "1 world")):
        assert "no table of this page" in figure.alt
        assert f"{worlds} a policy" in figure.caption
        assert figure.title not in [table.title for table in page.tables]
    assert survival.title in [table.title for table in page.tables]
    assert "table of the same title" in survival.alt


def test_every_kind_of_picture_says_what_to_look_for() -> None:
    assert set(LOOK_FOR) == set(KINDS)


@pytest.mark.parametrize(
    ("sessions", "first"),
    [
        (["sweep x --only point=0", "sweep x"], ["sweep x"]),
        (["sweep x --workers 2", "sweep x"], ["sweep x --workers 2"]),
        (
            ["sweep x --only=point=0", "sweep x --only point=1", "sweep x --only point=1"],
            ["sweep x --only=point=0", "sweep x --only point=1"],
        ),
        ([""], ["rewritelab sweep few"]),
    ],
)
def test_a_page_is_made_again_by_the_whole_sweep_or_by_all_its_parts(
    monkeypatch: pytest.MonkeyPatch, sessions: list[str], first: list[str]
) -> None:
    manifest = {"sessions": [{"command": words.split()} for words in sessions]}
    monkeypatch.setattr(assembly, "read_manifest", lambda _: manifest)
    file = ExperimentFile(scenarios=["s"], policies=["a"], responses=["usd"])
    results = Results(Path("out"), Experiment("few", Path("few.toml"), file, ("s",), ("a",)))
    assert list(assembly._commands(results)) == [*first, "rewritelab report out"]
