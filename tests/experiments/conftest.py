"""What the tests of experiments share: the command line in this process and in its own, and small files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
ZOO = Path(__file__).resolve().parent.parent / "policies"

SMALL_SCENARIO = """\
summary = "a small world"
source = "made for a test"
figures = ["occupancy"]

[window]
tokens = 3_000
head = 500

[run]
horizon = 20
replications = 6
policies = ["naive"]

[workload]
kind = "synthetic"
result_mean = 150
result_sigma = 0.4
reply_low = 20
reply_high = 40

[laws.rationale]
base = 60

[laws.summary]
ratio = 0.3

[laws.measurement]
law = "share"
share = 0.02
delta_tokens = 3

[[expect]]
policy = "naive"
measure = "net_per_attempt_tokens"
over = "mean"
at_least = 0
kind = "implied"
source = "made for a test"

[[expect]]
policy = "guarded"
summary = "rewrites_committed"
at_least = 1
kind = "fitted"
source = "made for a test"
"""

SMALL_EXPERIMENT = """\
summary = "two by two"
source = "made for a test"
scenario = "constant-arrivals"
policies = ["naive-never-summarised"]
replications = 15
responses = ["net_per_attempt_tokens", "arrivals_per_turn_tokens", "overflowed"]

[[factor]]
name = "rationale"
path = "laws.rationale.base"
values = [100, 600]

[[factor]]
name = "horizon"
path = "run.horizon"
values = [40, 110]

[plot]
kind = "phase"
"""


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run one command line in this process."""
    from experiments import cli

    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["rewritelab", *map(str, words)])
        capsys.readouterr()
        code = cli._code()
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Command:
    """Run one command line in a process of its own, from an empty folder."""

    def run(*words: object, **more: object) -> Said:
        ended = subprocess.run(
            [sys.executable, "-m", "rewritelab", *map(str, words)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **more,  # type: ignore[call-overload]
        )
        return Said(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start one command line in a process group of its own, which does not outlive the test."""
    begun: list[subprocess.Popen[str]] = []

    def start(*words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "rewritelab", *map(str, words)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        process.communicate()
        process.communicate()


@pytest.fixture
def small_scenario(tmp_path: Path) -> Path:
    """A scenario of a few turns, with a mean that holds and a figure that every run must show."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL_SCENARIO)
    return path


@pytest.fixture
def small_experiment(tmp_path: Path) -> Path:
    """An experiment of four points and sixty short runs, in three parts."""
    path = tmp_path / "two-by-two.toml"
    path.write_text(SMALL_EXPERIMENT)
    return path


@pytest.fixture(scope="session")
def zoo() -> Iterator[str]:
    """Let `policy_zoo:Class` be loaded, as a user's own module would be, here and in processes begun here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ZOO)
        patch.setenv("PYTHONPATH", str(ZOO), prepend=os.pathsep)
        yield "policy_zoo"


def files_under(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path there."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="session")
def files_of() -> Callable[[Path], dict[str, bytes]]:
    return files_under
