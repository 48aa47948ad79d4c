"""`render`: a report as one HTML file that needs no network, from plain dataclasses.

Texts, tables, figures as SVG and frames of runs come in, all of them escaped; out goes a page with its
style and script inside it. Its content security policy (W3C, CSP Level 3) lets nothing load from
anywhere and nothing run but that one script, named by its hash. Knows nothing of sweeps.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

SCRIPTS = ("draw.js", "tell.js", "viewer.js")
"""Parts of the page's one script, in the order in which they build on each other."""

LONGEST_OPEN = 60
"""Rows of a table that is not folded."""

LONGEST_WORDS = 40
"""Characters of a cell that is no prose."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its unit or nothing, and what it means."""

    name: str
    unit: str = ""
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class TablePart:
    """A table: each row has a cell, already worded, for each column; the first one names the row.

    Raises ValueError where a row has another number of cells.
    """

    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title!r} has {len(self.columns)} columns, a row of it {len(row)}")

    @property
    def is_long(self) -> bool:
        """Whether the table is folded until somebody asks for it."""
        return len(self.rows) > LONGEST_OPEN

    def is_numeric(self, place: int) -> bool:
        """Whether all cells of a column that hold anything begin as a number does.

        >>> table = TablePart("t", "", (Column("a"), Column("b")), (("naive", "-1.5"), ("guarded", "")))
        >>> table.is_numeric(0), table.is_numeric(1)
        (False, True)
        """
        cells = [row[place] for row in self.rows if row[place]]
        return bool(cells) and all(cell.lstrip("+-\N{MINUS SIGN}.$")[:1].isdigit() for cell in cells)

    def is_prose(self, place: int) -> bool:
        """Whether a column holds sentences, which take more room than their longest word."""
        return any(len(row[place]) > LONGEST_WORDS for row in self.rows)


@dataclass(frozen=True, slots=True)
class FigurePart:
    """A figure: `svg` is a whole SVG document, `alt` says what it shows to who cannot see it."""

    title: str
    caption: str
    alt: str
    svg: bytes

    @property
    def address(self) -> str:
        """The figure itself as an address; as an image, it can neither run nor load anything."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


@dataclass(frozen=True, slots=True)
class ViewedRun:
    """A run for the viewer: what to call it, and its frames as `view_run` returns them."""

    label: str
    frames: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ReportPage:
    """All that a report says.

    Attributes
    ----------
    title : its name.
    question : what was asked, in a sentence or two.
    source : where the question comes from.
    shows : what the figures show, the law behind them.
    answers : the answer in short, a sentence each.
    gaps : who has no value, or fewer than the others, and why, a sentence each.
    design : name and text: factors, levels, replications, policies, seed.
    tables, figures : the results.
    failures : runs that could not be finished, or None where none that was made failed.
    manifest : versions, digests, seed; may be nested.
    commands : how to make it again, a line each.
    file : the text of the file that they read, or empty.
    glossary : term and meaning; the columns of all tables are added to it.
    runs : what the viewer steps through; `unseen` says why there is nothing to step through, if so.
    """

    title: str
    question: str
    source: str = ""
    shows: str = ""
    answers: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    design: tuple[tuple[str, str], ...] = ()
    tables: tuple[TablePart, ...] = ()
    figures: tuple[FigurePart, ...] = ()
    failures: TablePart | None = None
    manifest: Mapping[str, object] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    file: str = ""
    glossary: tuple[tuple[str, str], ...] = ()
    runs: tuple[ViewedRun, ...] = ()
    unseen: str = ""


def render(page: ReportPage) -> str:
    """Return the HTML of a report; equal pages give equal texts.

    Parameters
    ----------
    page : ReportPage
        Its texts are plain text: what looks like markup is shown, not obeyed.

    Returns
    -------
    str
        A whole document, to be written as UTF-8.

    Raises
    ------
    ValueError
        The frames of a run hold a number that is not finite, which JSON has no word for.

    >>> html = render(ReportPage("Spiral?", "Does <it> spiral?"))
    >>> "Does &lt;it&gt; spiral?" in html, "http-equiv" in html
    (True, True)
    """
    script = f'(() => {{\n"use strict";\n{"".join(map(_asset, SCRIPTS))}}})();\n'
    style = _asset("page.css")
    return _template().render(
        page=page,
        manifest=list(_flat(page.manifest)),
        glossary=_glossary(page),
        style=style,
        script=script,
        policy=(
            f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}; "
            "base-uri 'none'; form-action 'none'"
        ),
    )


def _glossary(page: ReportPage) -> list[tuple[str, str]]:
    """Return the terms of the page and the columns of its tables, each once, by name."""
    terms = dict(page.glossary)
    for table in (*page.tables, *((page.failures,) if page.failures else ())):
        for column in table.columns:
            if column.meaning:
                terms.setdefault(column.name, column.meaning + (f" ({column.unit})" if column.unit else ""))
    return sorted(terms.items(), key=lambda term: term[0].casefold())


def _flat(mapping: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield names, dotted where nested, and values as text."""
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", "" if value is None else str(value)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("experiments.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment.from_string(_asset("page.html"))
