"""The documentation agrees with the code: made tables, public names, words, commands, links, pictures."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from experiments.cli import app
from experiments.judge import Finding
from simulator import CheckPoint, MeasurementPlan
from simulator.agent import End
from simulator.ledger import Account, Outcome

pytestmark = pytest.mark.contract

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CHANGELOG.md",
    REPOSITORY / "CONTRIBUTING.md",
    *DOCS.glob("*.md"),
]
MOST_PICTURE_BYTES = 150_000
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


def load_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tables", DOCS / "make_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = load_tables()
COMMITTED = {name: body for page in TABLES.pages() for name, body in TABLES.tables_in(page).items()}


def named(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.slow) if name in TABLES.SLOW else name


def read(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [named(name) for name in TABLES.TABLES])
def test_the_committed_table_is_the_one_that_the_code_makes(name: str) -> None:
    assert COMMITTED[name] == TABLES.TABLES[name](), "run `make tables`"


def test_every_table_stands_in_exactly_one_page() -> None:
    standing = [name for page in TABLES.pages() for name in TABLES.tables_in(page)]

    assert sorted(standing) == sorted(TABLES.TABLES)


@pytest.mark.parametrize("package", TABLES.PACKAGES)
def test_the_reference_the_list_and_the_package_name_the_same(package: str) -> None:
    module = importlib.import_module(package)
    documented = re.findall(r"^\| `(\w+)` \|", COMMITTED[f"names-{package.replace('.', '-')}"], re.MULTILINE)

    assert documented == list(module.__all__)
    assert all(getattr(module, name) is not None for name in documented)
    if hasattr(module, "_HOME"):
        assert set(module._HOME) == set(module.__all__)


@pytest.mark.parametrize("name", sorted(COMMITTED))
def test_no_cell_that_says_what_something_is_stands_empty(name: str) -> None:
    for row in COMMITTED[name].splitlines():
        if row.startswith("| `") and not name.startswith("kinds"):
            assert row.split(" | ")[1].strip(" |"), row


@pytest.mark.parametrize(
    "words", [Outcome, End, CheckPoint, MeasurementPlan, Account], ids=lambda words: words.__name__
)
def test_the_model_description_knows_every_word(words: type[Outcome]) -> None:
    page = read("docs/model.md")

    assert [word.value for word in words if not re.search(rf"\b{word.value}\b", page)] == []


def test_the_json_keys_of_a_finding_are_in_the_reference() -> None:
    contracts = read("docs/reference.md").partition("## JSON lines")[2]
    row = next(line for line in contracts.splitlines() if line.startswith("| `reproduce`"))

    assert re.findall(r"`(\w+)`", row.split(" | ")[2]) == json_order(Finding)


def json_order(record: type[Finding]) -> list[str]:
    """Contract keys first, as the reference has them, then what was added."""
    contract = ["scenario", "policy", "response", "documented", "simulated", "low", "high", "passed"]
    contract += ["kind", "source"]
    return contract + [field.name for field in dataclasses.fields(record) if field.name not in contract]


def test_the_readme_lists_every_command_once() -> None:
    listed = re.findall(r"^\| `rewritelab ([\w-]+)", read("README.md"), re.MULTILINE)

    assert listed == [command.name for command in app.registered_commands]


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        target, _, place = link["target"].partition("#")
        if "://" in target:
            continue
        file = (page.parent / target) if target else page
        assert file.exists(), link["target"]
        if place:
            headings = HEADING.finditer(file.read_text(encoding="utf-8"))
            assert place in {anchor(heading["text"]) for heading in headings}, link["target"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_a_place_of_one_machine(page: Path) -> None:
    assert not re.search(r"/(work|home|tmp|Users)/", page.read_text(encoding="utf-8"))


def test_pictures_are_small_and_each_is_shown() -> None:
    shown = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((DOCS / "images").iterdir())

    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < MOST_PICTURE_BYTES, picture.name
        assert picture.name in shown


def test_a_table_of_another_name_or_twice_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table: a -->\n<!-- /table -->\n" * 2, encoding="utf-8")

    with pytest.raises(ValueError, match="twice"):
        TABLES.tables_in(page)


def test_first_sentences_and_pipes() -> None:
    assert TABLES.first_sentence("One thing,\nand more. Another.") == "One thing,\nand more".replace(
        "\n", " "
    )
    assert TABLES.rows_of(["a"], [["x|y"]]) == "| a |\n|---|\n| x\\|y |\n"
