"""Catalogue files as text: their heads."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.catalogues import FOLDERS
from simulator.catalogue import read_head, read_toml
from simulator.errors import InputError


@pytest.mark.unit
@pytest.mark.parametrize(
    "text",
    [
        'summary = "a"\n[table]\nx = 1\n',
        'summary = """\n[no table]\n"""\n[table]\n',
        "rows = [\n[1, 2],\n[3]]\nsummary = 'a'\n[[row]]\n",
        'summary = "a"\n  [indented]\nx = 1\n',
        "",
    ],
)
def test_a_head_holds_all_that_stands_before_the_first_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    whole, head = read_toml(path), read_head(path)
    assert whole.items() >= head.items()
    assert {"table", "row"} | set(head) >= set(whole) - {"indented"}


@pytest.mark.unit
def test_the_head_of_a_file_that_is_no_toml_tells_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("summary = \n[table]\n")
    with pytest.raises(InputError, match="not TOML: Invalid value \\(at line 1"):
        read_head(path)


@pytest.mark.unit
def test_every_file_of_a_catalogue_says_what_it_is_in_its_head() -> None:
    for folder in FOLDERS.values():
        for path in folder.glob("*.toml"):
            head, whole = read_head(path), read_toml(path)
            said = ("summary", "source", "group", "gate_class", "prefix")
            assert [head.get(key) for key in said] == [whole.get(key) for key in said], path
