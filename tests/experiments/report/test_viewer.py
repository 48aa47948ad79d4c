"""The page in a browser: quiet, alone, stepped by keyboard, and wide enough for nobody's scroll bar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.report import Column, FigurePart, ReportPage, TablePart, ViewedRun, render
from experiments.report.page import LONGEST_OPEN

pytestmark = pytest.mark.contract

Open = Callable[..., Any]

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="200"><rect width="700" height="200"/></svg>'
)
RUNS = [("rewrite-budget-spiral", "guarded"), ("rewrite-budget-spiral", "naive")]
THIN, NARROW, WIDE = 240, 360, 1600
DRAWN = 700  # pixels, as wide as the figure is by itself
LIGHT = 230  # of 255, the least of red, green and blue
READABLE = 4.5  # W3C, Web Content Accessibility Guidelines 2.2, success criterion 1.4.3

CONTRAST = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const channel = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (color) => {
    const [red, green, blue] = numbers(color).map((value) => channel(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((numbers(color)[3] ?? 1) > 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const isRead = (node) => !node.closest("svg, script, noscript") && node.checkVisibility();
  return [...document.body.querySelectorAll("*")]
    .filter((node) => isRead(node) && hasText(node))
    .map((node) => {
      const [one, other] = [light(getComputedStyle(node).color), light(ground(node))].sort((a, b) => b - a);
      return [(one + 0.05) / (other + 0.05), node.tagName, node.textContent.trim().slice(0, 40)];
    });
}"""
"""Contrast of each visible text with what lies behind it, by the definition of the same guidelines."""

WHOLE_BLOCK = """all => all.findIndex(
  (block, place) => place > 4 && block.querySelector(".body").getAttribute("d").match(/M/g).length === 1)"""

UNNAMED = """() =>
  [...document.querySelectorAll("button, select, input, [role=region], [role=group], [role=img]")]
    .filter((node) => !node.ariaLabel && !node.labels?.length && !node.getAttribute("aria-labelledby"))
    .filter((node) => !node.textContent.trim())
    .map((node) => node.outerHTML)"""


@pytest.fixture(scope="module")
def address(
    tmp_path_factory: pytest.TempPathFactory, frames: Callable[..., Any], hostile: tuple[str, ...]
) -> str:
    """A report on two runs, with a wide table and with hostile texts wherever there is text."""
    columns = tuple(Column(f"{hostile[0]}-{number}", "tokens", hostile[2]) for number in range(12))
    table = TablePart(
        hostile[0], hostile[1], columns, tuple((hostile[0], *(["1,234"] * 11)) for _ in range(3))
    )
    told = [frames(*run) for run in RUNS]
    told[0] = {**told[0], "policy": hostile[0]}
    told[0]["turns"] = [
        {**turn, "events": [["premise", text, 0] for text in hostile]} if not place else turn
        for place, turn in enumerate(told[0]["turns"])
    ]
    page = ReportPage(
        title=f"Report {hostile[0]} {hostile[2]}",
        question="What does a rewrite cost?",
        answers=hostile,
        design=tuple((text, text) for text in hostile),
        tables=(table, TablePart("Long", "", (Column("a"), Column("b")), (("1", "2"),) * (LONGEST_OPEN + 1))),
        figures=(FigurePart("A figure", hostile[0], "a bar", SVG),),
        failures=table,
        manifest={"digest": "f" * 400, "policy": dict.fromkeys(hostile, "x")},
        commands=(f"rewritelab report {'results/' * 40}", *hostile),
        runs=tuple(
            ViewedRun(f"{policy} {hostile[0]}", one) for (_, policy), one in zip(RUNS, told, strict=True)
        ),
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(page), encoding="utf-8")
    return path.as_uri()


def test_the_viewer_is_stepped_by_keyboard(opened: Open, frames: Callable[..., Any]) -> None:
    one = opened()
    told = frames(*RUNS[0])
    rewritten = [turn["turn"] for turn in told["turns"] if turn["rewrites"]]
    last = told["turns"][-1]["turn"]
    one.page.locator("#viewer").focus()
    assert one.state.startswith(f"Turn 1 of {last}: ")
    assert one.press("ArrowRight", "ArrowRight").startswith("Turn 3 of ")
    assert one.press("ArrowLeft").startswith("Turn 2 of ")
    assert one.press("n").startswith(f"Turn {rewritten[0]} of ")
    assert one.press("n").startswith(f"Turn {rewritten[1]} of ")
    assert "Rewrite 2 " in one.state
    assert one.press("p").startswith(f"Turn {rewritten[0]} of ")
    assert one.press("End").startswith(f"Turn {last} of ")
    assert one.press("ArrowRight") == one.state
    assert "outcome: horizon" in one.state
    assert one.press("Home", "ArrowLeft").startswith("Turn 1 of ")


def name_of(kind: str, number: int) -> str:
    words = kind.replace("_", " ")
    return "head" if kind == "head" else f"own {words} {-number}" if number < 0 else f"{words} {number}"


def test_what_is_drawn_and_told_is_what_the_frames_say(opened: Open, frames: Callable[..., Any]) -> None:
    one = opened()
    told = frames(*RUNS[0])
    place = next(place for place, turn in enumerate(told["turns"]) if turn["rewrites"])
    turn = told["turns"][place]
    rewrite = told["rewrites"][turn["rewrites"][0]]
    one.page.locator("#viewer").focus()
    one.press("n")
    order: list[int] = []
    for step in told["turns"][: place + 1]:
        order = [span for span in order if span not in set(step["gone"])]
        for where, *run in step["came"]:
            order[where:where] = run
    labels = one.page.locator("#viewer-blocks .block").evaluate_all(
        "all => all.map(block => block.getAttribute('aria-label'))"
    )
    spans = [told["spans"]["rows"][span] for span in order]
    assert [label.split(" (")[0] for label in labels] == [name_of(kind, number) for number, kind, *_ in spans]
    assert f"{turn['tokens']:,} tokens" in one.state
    ledger = one.page.locator("#viewer-rewrites table").first.inner_text()
    assert f"{rewrite['entry']['freed']:,}" in ledger
    assert f"{rewrite['entry']['net']:+,}".replace("-", "\N{MINUS SIGN}") in ledger
    verdicts = one.page.locator(".verdicts").inner_text()
    for verdict in rewrite["verdicts"]:
        assert verdict["gate"] in verdicts
        assert verdict["reason"] in verdicts
    proof = rewrite["verdicts"][-1]["figures"]
    assert f"net {proof['net']:,}" in verdicts


def test_buttons_slider_strip_and_choice_move_it_too(opened: Open) -> None:
    one = opened()
    page = one.page
    page.get_by_role("button", name="Next turn").click()
    assert one.state.startswith("Turn 2 of ")
    assert one.press("n") != "Turn 2 of "
    page.locator("#viewer-turn").focus()
    at_slider = one.press("Home")
    assert at_slider.startswith("Turn 1 of ")
    assert one.press("n") == at_slider
    assert one.press("ArrowRight").startswith("Turn 2 of ")
    page.locator("#viewer-strip").click(position={"x": 600, "y": 60})
    assert 50 < int(one.state.split()[1]) < 170
    before = one.state
    page.locator("#viewer-run").focus()
    assert one.press("n").split(":")[0] != before.split(":")[0]  # the list's own key: the run called naive
    assert one.state.startswith("Turn 1 of ")
    page.locator("#viewer-run").select_option("0")
    assert page.get_by_role("button", name="Previous turn").get_attribute("aria-disabled") == "true"


def test_keys_are_the_page_s_own_outside_of_the_viewer(opened: Open) -> None:
    one = opened()
    one.page.locator(".skip").focus()
    before = one.state
    assert one.press("ArrowRight", "n") == before
    one.page.locator("#viewer").focus()
    assert one.press("Control+ArrowRight") == before
    one.press("End")
    assert one.page.evaluate("scrollY + innerHeight < document.documentElement.scrollHeight")


def test_a_block_tells_its_facts_by_pointer_and_by_key(opened: Open) -> None:
    one = opened()
    one.page.locator("#viewer").focus()
    one.press("End")
    blocks = one.page.locator("#viewer-blocks .block")
    facts = one.page.locator("#viewer-facts")
    assert facts.inner_text().startswith("head\n")
    assert "nothing may touch it" in facts.inner_text()
    # A block that begins in one row and ends in the next has nothing in its middle to point at.
    place = blocks.evaluate_all(WHOLE_BLOCK)
    blocks.nth(place).hover()
    name = str(blocks.nth(place).get_attribute("aria-label")).split(" (")[0]
    assert name in facts.inner_text()
    one.press("j")
    name = str(blocks.nth(place + 1).get_attribute("aria-label")).split(" (")[0]
    assert name in facts.inner_text()
    assert blocks.nth(place + 1).evaluate("block => block === document.activeElement")
    one.press("ArrowLeft", "k")
    assert blocks.nth(place).evaluate("block => block === document.activeElement")
    assert blocks.evaluate_all("all => all.filter(block => block.tabIndex === 0).length") == 1


def test_hostile_texts_stand_there_as_texts(opened: Open, hostile: tuple[str, ...]) -> None:
    one = opened()
    assert one.page.title() == f"Report {hostile[0]} {hostile[2]}"
    text = one.page.locator("body").inner_text()
    for wanted in hostile:
        assert " ".join(wanted.split()) in " ".join(text.split())
    assert hostile[0] in one.page.locator("#viewer-note").inner_text()
    assert hostile[1] in one.page.locator("#viewer-turn-facts").inner_text()
    assert one.page.locator("img").count() == 1
    assert one.page.evaluate("fetch('https://example.org').then(() => 'went', () => 'stayed')") == "stayed"
    assert all("example.org" in words for words in one.said)
    one.said.clear()
    one.asked[1:] = []


def test_the_page_never_scrolls_sideways(opened: Open) -> None:
    one = opened(WIDE)
    one.page.locator("#viewer").focus()
    for width in (WIDE, 800, NARROW):
        one.page.set_viewport_size({"width": width, "height": 800})
        one.until(f"document.getElementById('viewer-blocks').viewBox.baseVal.width < {width}")
        for key in ("Home", "n", "End"):
            one.press(key)
            assert one.page.evaluate("document.documentElement.scrollWidth") == width
        table = one.page.locator("#tables .scroll").first
        assert table.evaluate("box => box.scrollWidth > box.clientWidth")
    figure = one.page.locator("figure .scroll")
    assert figure.evaluate("box => box.firstElementChild.clientWidth") >= DRAWN
    assert figure.evaluate("box => box.scrollWidth > box.clientWidth && box.tabIndex === 0")


def test_both_schemes_can_be_read(opened: Open) -> None:
    one = opened()
    one.page.locator("#viewer").focus()
    one.press("n")
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        ground = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") is (scheme == "light")
        figure = one.page.locator("figure img").evaluate("image => getComputedStyle(image).backgroundColor")
        assert figure == "rgb(255, 255, 255)"
        ratios = one.page.evaluate(CONTRAST)
        assert len(ratios) > 100
        assert [poor for poor in ratios if poor[0] < READABLE] == []


def test_without_scripts_there_is_all_but_the_viewer(opened: Open) -> None:
    one = opened(java_script_enabled=False)
    assert one.page.locator("#tables table").first.is_visible()
    assert one.page.locator("figure img").is_visible()
    assert "scripts are off" in one.page.locator("#viewer").inner_text()
    assert not one.page.locator("#viewer-body").is_visible()


def test_who_hears_the_page_is_told_what_moves(opened: Open) -> None:
    one = opened()
    page = one.page
    state = page.get_by_role("status")
    assert state.get_attribute("aria-live") == "polite"
    assert page.evaluate(UNNAMED) == []
    page.locator("#viewer-turn").focus()
    one.press("ArrowRight")
    assert page.locator("#viewer-turn").get_attribute("aria-valuetext") == "turn 2"
    page.get_by_role("button", name="Next turn").focus()
    page.keyboard.press("Tab")
    width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert width == "3px"


def test_it_prints_light_and_unfolded_and_without_controls(opened: Open) -> None:
    one = opened(color_scheme="dark")
    one.page.locator("#viewer").focus()
    one.press("n")
    folded = one.page.locator("details.long td").first
    assert not folded.is_visible()
    one.page.emulate_media(media="print", color_scheme="dark")
    assert folded.is_visible()
    assert not one.page.locator("nav").is_visible()
    assert not one.page.locator(".controls").is_visible()
    for name in ("body", ".card"):
        ground = one.page.locator(name).first.evaluate("node => getComputedStyle(node).backgroundColor")
        assert min(map(int, re.findall(r"\d+", ground))) > LIGHT
    assert [poor for poor in one.page.evaluate(CONTRAST) if poor[0] < READABLE] == []


FOCUSED = """() => {
  const at = document.activeElement;
  if (!document.getElementById("viewer").contains(at)) return null;
  const name = at.id || at.getAttribute("aria-label") || at.textContent;
  return at.closest(".block") ? "a block" : name.replace(/\\d+ /, "");
}"""
"""What in the viewer has the focus, in a word that outlives a step, or null."""

FOLDED = "of them"
OWN_KEYS = {"viewer-run", "viewer-turn"}
BUTTONS = {"Previous rewrite", "Previous turn", "Next turn", "Next rewrite"}
STOPS = BUTTONS | OWN_KEYS | {"a block", "Ledger entry", "In words", FOLDED}


def test_a_step_leaves_the_focus_where_it_was_from_every_stop_of_the_tab_key(opened: Open) -> None:
    one = opened()
    one.page.locator("#viewer").focus()
    before = one.press("n")
    seen = []
    while True:
        one.press("Tab")
        name = one.page.evaluate(FOCUSED)
        if name is None:
            break
        seen.append(name)
        if name not in OWN_KEYS:
            assert one.press("n") != before, name
            assert one.press("p") == before, name
        if one.page.evaluate(FOCUSED) != name:
            assert (one.page.evaluate(FOCUSED), name) == ("viewer", FOLDED)  # the other turn has no such list
            one.press(*["Tab"] * len(seen))
    assert set(seen) == STOPS


def test_what_stood_open_stays_open_and_what_is_gone_leaves_the_keys_to_the_viewer(opened: Open) -> None:
    one = opened()
    one.page.locator("#viewer").focus()
    one.press("n")
    one.page.locator("#viewer-rewrites summary").last.focus()
    one.press("Enter", "n")
    assert one.page.locator("#viewer-rewrites details").last.evaluate("details => details.open")
    before = one.press("ArrowLeft")
    assert one.page.locator("#viewer-rewrites").inner_text() == "None."
    assert one.page.evaluate(FOCUSED) == "viewer"
    assert one.press("n") != before


def test_a_button_at_its_end_keeps_the_focus_and_says_so(opened: Open) -> None:
    one = opened()
    one.page.locator("#viewer").focus()
    one.press("End", "ArrowLeft")
    button = one.page.get_by_role("button", name="Next turn")
    button.focus()
    last = one.press("Enter")
    assert "The run ends here" in last
    assert one.page.evaluate(FOCUSED) == "Next turn"
    assert button.get_attribute("aria-disabled") == "true"
    assert one.press("Enter") == last
    assert one.press("ArrowLeft") != last
    assert button.get_attribute("aria-disabled") == "false"


def test_arrows_belong_to_a_table_that_scrolls(opened: Open) -> None:
    one = opened(THIN)
    one.page.locator("#viewer").focus()
    before = one.press("n")
    one.page.get_by_role("region", name="Ledger entry").focus()
    assert one.press("ArrowRight") == before
    one.until("document.activeElement.scrollLeft > 0")
    assert one.press("n") != before


def test_the_page_is_small(address: str, frames: Callable[..., Any]) -> None:
    size = len(Path(address.removeprefix("file://")).read_bytes())
    told = sum(len(json.dumps(frames(*run))) for run in RUNS)
    assert size < told + 100_000
