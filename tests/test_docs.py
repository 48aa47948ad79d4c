"""The documentation runs: code blocks of README.md, CONTRIBUTING.md and docs/, examples in docstrings.

Of each page, in one empty folder: files are written, shell lines that begin with `rewritelab ` run in
their order, then all Python blocks run in one namespace; TOML and JSON must parse. A comment right
before a block changes this: `<!-- not run: reason -->` skips it, `<!-- file: NAME -->` writes it to a
file instead.
"""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
SHELLS = {"bash", "sh", "shell", "console"}
PARSERS = {"toml": tomllib.loads, "json": json.loads}
SHOWN_ONLY = {"text", "csv", "jsonl", "bibtex", "mermaid", "math"}
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})[ ]*(?P<language>[\w+-]*)[^`]*$")
COMMENT = re.compile(r"^\s*<!--\s*(?P<text>.*?)\s*-->\s*$")
COMMAND = "rewritelab "


class Block(NamedTuple):
    """A fenced block: its language, its code, the line it starts at, and the comments right before it."""

    language: str
    code: str
    line: int
    comments: tuple[str, ...]

    def note(self, name: str) -> str | None:
        """What the comment `name: ...` before the block says, or None without such a comment."""
        for comment in self.comments:
            key, _, value = comment.partition(":")
            if key.strip() == name:
                return value.strip()
        return None

    @property
    def runs(self) -> bool:
        return self.note("not run") is None and self.note("file") is None


def read_blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    comments: list[str] = []
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        if found := COMMENT.match(line):
            comments.append(found["text"])
        elif opened := FENCE.match(line):
            code = []
            for _, inner in lines:
                closing = inner.strip()
                if closing.startswith(opened["ticks"]) and not closing.strip(opened["ticks"][0]):
                    break
                code.append(inner.removeprefix(opened["indent"]))
            else:
                raise ValueError(f"line {number}: a code block that never ends")
            blocks.append(Block(opened["language"], "\n".join(code) + "\n", number, tuple(comments)))
            comments = []
        elif line.strip():
            comments = []
    return blocks


def read_commands(block: Block) -> list[str]:
    """The command lines of a shell block; in a `console` block they follow a `$`, the rest is output."""
    joined = block.code.replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines()]
    if block.language == "console":
        lines = [line.removeprefix("$").strip() for line in lines if line.startswith("$")]
    return [line for line in lines if line and not line.startswith("#")]


def run_in(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = sysconfig.get_path("scripts") + os.pathsep + environment.get("PATH", "")
    environment["MPLBACKEND"] = "Agg"
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def blocks_by_page() -> dict[Path, list[Block]]:
    return {page: read_blocks(page.read_text(encoding="utf-8")) for page in PAGES}


def name_of(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


@pytest.mark.cli
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    blocks = read_blocks(page.read_text(encoding="utf-8"))
    for block in blocks:
        if name := block.note("file"):
            (tmp_path / Path(name).name).write_text(block.code, encoding="utf-8")
    for block in blocks:
        if block.language not in SHELLS or not block.runs:
            continue
        for line in read_commands(block):
            where = f"{name_of(page)}:{block.line}: {line}"
            assert line.startswith(COMMAND), f"{where}: only rewritelab runs here; mark the block as not run"
            done = run_in(tmp_path, ["bash", "-o", "pipefail", "-c", line])
            assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    python = [block for block in blocks if block.language == "python" and block.runs]
    if python:
        # Blank lines in front make a traceback name the line of the page.
        steps = "".join(
            f"exec(compile({chr(10) * block.line + block.code!r}, {name_of(page)!r}, 'exec'), page)\n"
            for block in python
        )
        done = run_in(tmp_path, [sys.executable, "-c", "page = {'__name__': 'page'}\n" + steps])
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.contract
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_has_a_language_and_data_parse(page: Path) -> None:
    for block in blocks_by_page()[page]:
        assert block.language in {"python", *SHELLS, *PARSERS, *SHOWN_ONLY}, f"{name_of(page)}:{block.line}"
        if block.language in PARSERS and block.note("not run") is None:
            PARSERS[block.language](block.code)


@pytest.mark.contract
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_that_is_not_run_says_why(page: Path) -> None:
    skipped = [block for block in blocks_by_page()[page] if block.note("not run") is not None]

    assert [block.line for block in skipped if not block.note("not run")] == []


def modules() -> list[str]:
    """Every module of ours, found by its file, so that nothing is imported while tests are collected."""
    names = ["rewritelab"]
    for package in ("simulator", "policies", "scenarios", "experiments"):
        names.append(package)
        folder = str(REPOSITORY / package)
        names += [found.name for found in walk_files(folder, package)]
    return names


def walk_files(folder: str, package: str) -> list[pkgutil.ModuleInfo]:
    found: list[pkgutil.ModuleInfo] = []
    for module in pkgutil.iter_modules([folder], prefix=f"{package}."):
        found.append(module)
        if module.ispkg:
            found += walk_files(str(Path(folder, module.name.rpartition(".")[2])), module.name)
    return [module for module in found if not module.name.endswith("__main__")]


@pytest.mark.unit
@pytest.mark.parametrize("name", modules())
def test_the_examples_in_docstrings_hold(name: str) -> None:
    failed, _ = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )

    assert failed == 0


PAGE = """
<!-- not run: needs a cluster -->
```bash
rewritelab sweep big
```

<!-- note -->
Some prose.
```console
$ rewritelab run a \\
    --policy b
| turns | 3 |
$ rewritelab list
```

- a list
  <!-- main-job -->
  <!-- file: mine.toml -->
  ```toml
  seed = 1
  ```

````text
```python
raise RuntimeError("inside another block")
```
````
"""


@pytest.mark.unit
def test_blocks_are_read_with_the_comments_right_before_them() -> None:
    skipped, console, written, text = read_blocks(PAGE)

    assert (skipped.note("not run"), skipped.runs) == ("needs a cluster", False)
    assert (console.comments, console.runs, console.line) == ((), True, 9)
    assert read_commands(console) == ["rewritelab run a      --policy b", "rewritelab list"]
    assert (written.note("file"), written.code, written.runs) == ("mine.toml", "seed = 1\n", False)
    assert (text.language, text.code.count("```")) == ("text", 2)


@pytest.mark.unit
def test_a_block_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2: a code block that never ends"):
        read_blocks("\n```python\nx = 1\n")
