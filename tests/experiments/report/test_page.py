"""A page is whole, loads nothing, and shows texts as texts: read without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from experiments import report
from experiments.report import Column, FigurePart, ReportPage, TablePart, ViewedRun, render

pytestmark = pytest.mark.unit

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20"/></svg>'
EMPTY = ReportPage("An empty page", "Is there anything?")
VOID = {"meta", "link", "img", "input", "br"}


class Read(HTMLParser):
    """A document as its tags and the text within each kind of tag; closed as it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(html.replace("<wbr>", ""))  # where a word may break is no text
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def text_in(self, tag: str) -> list[str]:
        return [text for within, text in self.texts if within == tag]


def full_page(hostile: tuple[str, ...], frames: object) -> ReportPage:
    """A page on which every place that takes text holds a hostile one."""
    table = TablePart(
        hostile[0],
        hostile[1],
        tuple(Column(text, text, text) for text in hostile[:3]),
        (hostile[:3], hostile[2:]),
    )
    return ReportPage(
        title=hostile[0],
        question=hostile[1],
        source=hostile[2],
        shows=hostile[3],
        answers=hostile,
        gaps=hostile,
        design=tuple((text, text) for text in hostile),
        tables=(table,),
        figures=(FigurePart(hostile[0], hostile[1], hostile[2], SVG),),
        failures=table,
        manifest={text: {text: text, "count": 3, "none": None} for text in hostile},
        commands=hostile,
        glossary=tuple((text, text) for text in hostile),
        runs=tuple(ViewedRun(text, {**frames, "policy": text, "scenario": text}) for text in hostile[:2]),  # type: ignore[dict-item]
    )


@pytest.fixture
def page(hostile: tuple[str, ...], frames: Callable[..., object]) -> ReportPage:
    return full_page(hostile, frames("rewrite-budget-exact", "guarded"))


def test_hostile_texts_make_no_tags(page: ReportPage, hostile: tuple[str, ...]) -> None:
    read = Read(render(page))
    tags = [tag for tag, _ in read.tags]
    assert tags.count("script") == 1 + len(page.runs)
    assert tags.count("style") == tags.count("title") == 1
    assert tags.count("img") == len(page.figures)
    attributes = {name for _, given in read.tags for name in given}
    assert not {name for name in attributes if name.startswith("on")} | attributes & {"style", "x"}
    assert read.text_in("title") == [hostile[0]]
    assert set(hostile) <= set(read.text_in("li")) & set(read.text_in("dd"))


def test_frames_come_back_as_they_were(page: ReportPage) -> None:
    read = Read(render(page))
    told = [text for tag, text in read.texts if tag == "script"][: len(page.runs)]
    assert [json.loads(text) for text in told] == [run.frames for run in page.runs]


def test_nothing_is_loaded_and_only_the_one_script_may_run(page: ReportPage) -> None:
    read = Read(render(page))
    (policy,) = [given["content"] for _, given in read.tags if given.get("http-equiv")]
    parts: dict[str, list[str]] = {part.split()[0]: part.split()[1:] for part in str(policy).split(";")}
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == ["'none'"]
    assert parts["img-src"] == ["data:"]
    for tag, allowed in (("script", parts["script-src"]), ("style", parts["style-src"])):
        text = read.text_in(tag)[-1]
        assert allowed == [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"]
    for _, given in read.tags:
        for name in ("src", "href", "srcset", "action", "data"):
            assert (given.get(name) or "#").startswith(("#", "data:"))
    assert not re.search(r"url\(\s*['\"]?(?!#)|@import", read.text_in("style")[0])


def test_a_figure_is_an_image_with_its_words(page: ReportPage, hostile: tuple[str, ...]) -> None:
    read = Read(render(page))
    (image,) = [given for tag, given in read.tags if tag == "img"]
    kind, _, content = str(image["src"]).partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(content) == SVG
    assert image["alt"] == hostile[2]
    assert hostile[1] in read.text_in("figcaption")


def test_every_link_has_its_place_and_every_id_is_one(page: ReportPage) -> None:
    for one in (page, EMPTY):
        tags = Read(render(one)).tags
        ids = [given["id"] for _, given in tags if "id" in given]
        assert len(set(ids)) == len(ids)
        named = [str(given["href"])[1:] for tag, given in tags if tag == "a"]
        named += [
            str(given[key])
            for _, given in tags
            for key in ("aria-labelledby", "aria-describedby")
            if key in given
        ]
        assert set(named) <= set(ids)


def test_what_there_is_not_has_no_section_but_failures_say_that_there_are_none() -> None:
    html = render(EMPTY)
    read = Read(html)
    assert read.text_in("h2") == ["Question", "Failed runs"]
    assert "None of the runs that were made failed." in html
    assert render(replace(EMPTY, failures=None)) == html


def test_columns_explain_themselves_where_they_stand_and_in_the_glossary() -> None:
    columns = (Column("policy"), Column("net_tokens", "tokens", "freed minus what it cost"))
    table = TablePart("Responses", "", columns, (("naive", "-512"), ("guarded", "1,056 to 2,000")))
    read = Read(render(replace(EMPTY, tables=(table,), glossary=(("spiral", "net below 0"),))))
    assert ("abbr", {"title": "freed minus what it cost"}) in read.tags
    assert read.text_in("dt") == ["net_tokens", "spiral"]
    assert read.text_in("dd") == ["freed minus what it cost (tokens)", "net below 0"]
    assert [given.get("class") for tag, given in read.tags if tag == "td"] == ["number", "number"]
    assert [given.get("scope") for tag, given in read.tags if tag == "th"] == ["col", "col", "row", "row"]


def test_equal_pages_are_equal_texts(page: ReportPage) -> None:
    assert render(page) == render(replace(page))


def test_a_row_with_another_number_of_cells_is_refused() -> None:
    with pytest.raises(ValueError, match="'t' has 2 columns, a row of it 1"):
        TablePart("t", "", (Column("a"), Column("b")), (("1", "2"), ("3",)))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_without_a_word_in_json_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        render(replace(EMPTY, runs=(ViewedRun("a", {"x": number}),)))


@pytest.mark.contract
def test_every_public_name_is_there_and_told() -> None:
    assert len(set(report.__all__)) == len(report.__all__)
    for name in report.__all__:
        made: Any = getattr(report, name)
        assert made.__doc__, name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = report.no_such_name
