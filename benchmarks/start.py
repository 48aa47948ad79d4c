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
    """Measure both commands."""
    names = [command.name or "" for command in app.registered_commands]
    with bare_app(names) as bare:
        reference = [sys.executable, str(bare), "--help"]
        ours = [sys.executable, str(LAUNCHER)]
        shown = {
            "commands": (_mentioned(names, output_of([*ours, "--help"])), len(names)),
            "commands of the bare app": (_mentioned(names, output_of(reference)), len(names)),
        }
        rows = len(output_of([*ours, "list", "--json"]).splitlines())
        return [
            _finding("--help", [*ours, "--help"], reference, 1.3, require(shown), rounds),
            _finding(
                "list", [*ours, "list"], reference, 2.0, require({"rows": (rows, len(listing()))}), rounds
            ),
        ]


def _finding(
    name: str, command: list[str], reference: list[str], target: float, work: str, rounds: int
) -> Finding:
    ratio = paired(wall(lambda: output_of(reference)), wall(lambda: output_of(command)), rounds)
    return Finding(
        f"`rewritelab {name}`",
        "`--help` of a bare Typer app",
        **of_ratio(ratio),
        target=target,
        times=f"{in_time(ratio.best_case)}, {in_time(ratio.best_reference)}",
        work=work,
    )


def output_of(command: list[str]) -> str:
    """Return what a command prints. Raises CalledProcessError where it fails."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _mentioned(names: list[str], text: str) -> int:
    words = set(text.split())
    return sum(name in words for name in names)


@contextmanager
def bare_app(names: list[str]) -> Iterator[Path]:
    """Write the smallest Typer app with these commands, as plain as ours: no rich markup, no completion."""
    lines = ["import typer", "app = typer.Typer(rich_markup_mode=None, add_completion=False)"]
    for number, name in enumerate(names):
        lines += [f"@app.command({name!r})", f"def command_{number}() -> None:", '    """Do nothing."""']
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bare.py")
        path.write_text("\n".join([*lines, "app()", ""]))
        yield path
