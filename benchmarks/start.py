"""Start: `--help` and `list` against a bare Typer app with as many commands, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from findings import Finding, in_time, of_ratio, require
from pairing import paired, wall

from experiments.catalogues import listing
from experiments.cli import app

LAUNCHER = Path(__file__).resolve().parent.parent / "rewritelab.py"


def commands(rounds: int) -> list[Finding]:
    """Measure `--help` and `list`."""
    names = [command.name or "" for command in app.registered_commands]
    with bare_app(names) as bare:
        reference = [sys.executable, str(bare), "--help"]
        ours = [sys.executable, str(LAUNCHER)]
        shown = {
            "commands": (_mentioned(names, output_of([*ours, "--help"])), len(names)),
            "commands of the bare app": (_mentioned(names, output_of(reference)), len(names)),
        }
        rows = {"rows": (len(output_of([*ours, "list", "--json"]).splitlines()), len(listing()))}
        empty_command = [sys.executable, str(bare), names[0]]
        return [
            _finding("--help", [*ours, "--help"], reference, 1.3, require(shown), rounds),
            _finding("list", [*ours, "list"], reference, 2.0, require(rows), rounds),
            _finding("list", [*ours, "list"], empty_command, None, require(rows), rounds),
        ]


def _finding(
    name: str, command: list[str], reference: list[str], target: float | None, work: str, rounds: int
) -> Finding:
    ratio = paired(wall(lambda: output_of(reference)), wall(lambda: output_of(command)), rounds)
    what = "`--help`" if reference[-1] == "--help" else "an empty command"
    return Finding(
        f"`rewritelab {name}`",
        f"{what} of a bare Typer app",
        **of_ratio(ratio),
        target=target,
        times=f"{in_time(ratio.best_case)}, {in_time(ratio.best_reference)}",
        work=work,
    )


def output_of(command: list[str]) -> str:
    """Return what a command prints. Raises CalledProcessError where it fails."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _mentioned(names: list[str], text: str) -> int:
    words = set(text.split())
    return sum(name in words for name in names)


@contextmanager
def bare_app(names: list[str]) -> Iterator[Path]:
    """Write the smallest Typer app with these commands, as plain as ours: no rich markup, no completion.

    Each command takes one text argument: with the first such argument Typer loads pydantic, ours or not.
    """
    lines = ["import typer", "app = typer.Typer(rich_markup_mode=None, add_completion=False)"]
    for number, name in enumerate(names):
        lines += [
            f"@app.command({name!r})",
            f"def command_{number}(kind: str | None = typer.Argument(None)) -> None:",
            '    """Do nothing."""',
        ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bare.py")
        path.write_text("\n".join([*lines, "app()", ""]))
        yield path
