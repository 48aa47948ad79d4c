"""The commands of a sweep: what they write and say, their exit codes, and names that nobody should trust."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from experiments.console import ending_in_order
from experiments.reading import read_runs
from policies.loader import CATALOGUE as POLICIES

Command = Callable[..., Any]


@pytest.fixture
def quick(small_experiment: Path) -> Path:
    """Four points of two runs."""
    text = small_experiment.read_text().replace("= 15", "= 2")
    small_experiment.write_text(text.replace("[40, 110]", "[3, 4]"))
    return small_experiment


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.cli
def test_a_dry_run_writes_nothing(command: Command, quick: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    said = command("sweep", quick, "--output", tmp_path / "out", "--dry-run", "--workers", "2")
    assert said.code == 0
    assert said.out.startswith("two-by-two: 8 runs, 0 of them done\n")
    assert "with 2 workers about " in said.out
    said = command("sweep", quick, "--output", tmp_path / "out", "--dry-run", "--workers", "1")
    assert "with 1 worker about " in said.out
    said = command("sweep", quick, "--output", tmp_path / "out", "--dry-run", "--json", "--only", "horizon=3")
    (found,) = objects(said.out)
    assert (found["runs"], found["done"], found["pilot"]) == (4, 0, 4)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.cli
def test_a_dry_run_refuses_the_folders_that_a_sweep_refuses(
    command: Command, quick: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "letters.txt").write_text("of others")
    said = [command("sweep", quick, "--output", out, *words) for words in ([], ["--dry-run"])]
    assert [(one.code, one.out) for one in said] == [(2, "")] * 2
    assert said[0].err == said[1].err
    assert "letters.txt" in said[0].err


@pytest.mark.crash
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_sweep_that_is_told_to_end_keeps_what_is_done(
    begin: Callable[..., subprocess.Popen[str]],
    command: Command,
    small_experiment: Path,
    tmp_path: Path,
    name: str,
    code: int,
) -> None:
    """By whoever ends jobs, or by a terminal that is closed: to a whole group of processes."""
    text = small_experiment.read_text()
    small_experiment.write_text(text.replace("= 15", "= 200").replace("[40, 110]", "[109, 110]"))
    process = begin("sweep", small_experiment, "--output", tmp_path / "out", "--workers", "2")
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size > 1000 for path in (tmp_path / "out" / "journal").glob("*")):
        assert time.monotonic() < deadline, process.poll()
        time.sleep(0.01)
    os.killpg(process.pid, getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    lines = [line for line in err.splitlines() if not line.startswith("runs: ")]
    assert lines == [
        "what is done is kept; the same command goes on from there",
        f"ended by {name}",
    ]
    assert 0 < len(read_runs(tmp_path / "out")) < 800


@pytest.mark.unit
def test_a_terminal_may_go_where_that_is_meant() -> None:
    """As under nohup; and handlers are those of before when all is done."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        with ending_in_order():
            assert [signal.getsignal(number) for number in numbers] == [signal.SIG_IGN] * 2
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with pytest.raises(typer.Exit) as left, ending_in_order():
            signal.raise_signal(signal.SIGTERM)
        assert left.value.exit_code == 143
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@pytest.mark.cli
def test_consent_to_a_large_sweep(command: Command, quick: Path, tmp_path: Path) -> None:
    words = ("sweep", quick, "--output", tmp_path / "out", "--set", "experiment.replications=50_000")
    said = command(*words)
    assert (said.code, said.out) == (2, "")
    assert "a sweep of 200,000 runs; expected at most 100,000, or --yes" in said.err
    assert not (tmp_path / "out").exists()
    consented = command(*words, "--yes", "--only", "replication=0", "--workers", "0", "--json")
    assert consented.code == 0
    assert len(read_runs(tmp_path / "out")) == 4


@pytest.mark.cli
def test_rows_as_json(command: Command, quick: Path, tmp_path: Path) -> None:
    said = command("sweep", quick, "--output", tmp_path / "out", "--workers", "0", "--json")
    rows = objects(said.out)
    assert said.code == 0
    assert len(rows) == 4 * 3
    keys = {"rationale", "horizon", "policy", "response", "mean", "low", "high", "n", "failed"}
    assert all(set(row) == keys for row in rows)
    overflowed = [row for row in rows if row["response"] == "overflowed"]
    assert {(row["mean"], row["n"], row["failed"]) for row in overflowed} == {(0, 2, 0)}
    unused = [row for row in rows if row["response"] == "net_per_attempt_tokens"]
    assert {(row["mean"], row["low"], row["n"]) for row in unused} == {(None, None, 0)}  # null, never NaN


@pytest.mark.cli
def test_exit_codes(command: Command, zoo: str, quick: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    failing = quick.with_name("failing.toml")
    failing.write_text(quick.read_text().replace("naive-never-summarised", f"{zoo}:RaisesInCheck"))
    said = command("sweep", failing, "--output", out, "--workers", "0")
    assert said.code == 1
    assert "8 runs failed, most often at check: policy raised LookupError: no check" in said.err
    assert "Traceback" not in said.err
    wrong = [
        (("sweep", quick, "--output", out), "another sweep"),
        (("sweep", quick, "--output", tmp_path / "new", "--only", "horizn=3"), "did you mean 'horizon'"),
        (("sweep", quick, "--output", tmp_path / "new", "--set", "run.horizn=3"), "did you mean 'horizon'"),
        (("sweep", quick, "--output", quick), str(quick)),
        (("sweep", "spiral-boundry"), "did you mean 'spiral-boundary'"),
        (("plot", tmp_path / "new", "heat"), "no manifest.json"),
        (("plot", out, "het"), "did you mean 'heat'"),
        (("plot", out, "heat", "--response", "usdd"), "is not among the responses"),
        (("plot", out, "table", "--output", tmp_path / "x.gif"), ".png, .svg or .pdf"),
    ]
    for words, told in wrong:
        said = command(*words)
        assert (said.code, said.out) == (2, ""), words
        assert told in said.err
        assert len(said.err.splitlines()) == 1, said.err
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------------------------ hostile names

NAMES = {
    "paths and tex": ("a/b\\c = 1", 'it\'s "so" $\\frac{', "<b>bold</b> [red]x[/red] $"),
    "markup": ("<script>alert(1)</script> $x$", "[red]x[/red] =1+1", "it's & $\\frac{ 100%"),
}
"""Of the factor and its unit, a level, and a policy's file."""


def quoted(name: object) -> str:
    """Return a name as TOML writes it."""
    return json.dumps(str(name))


@pytest.fixture(params=NAMES)
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An experiment with such names."""
    factor, level, policy = NAMES[request.param]
    (tmp_path / "naive.toml").write_text((POLICIES / "naive.toml").read_text())
    own = tmp_path / f"{policy.replace('/', '_')}.toml"
    own.write_text((POLICIES / "naive-never-summarised.toml").read_text())
    path = tmp_path / "hostile.toml"
    path.write_text(
        f'scenario = "constant-arrivals"\npolicies = [{quoted(own)}, "guarded"]\nreplications = 2\n'
        f'responses = ["overflowed", "turns"]\n[[factor]]\nname = {quoted(factor)}\nunit = {quoted(factor)}\n'
        f'levels = [{{ label = {quoted(level)}, set = {{ "run.horizon" = 3 }} }}, '
        f'{{ label = "other", set = {{ "run.horizon" = 4 }} }}]\n'
        f'[plot]\nkind = "response"\nresponse = "turns"\n'
    )
    return path


@pytest.mark.cli
def test_hostile_names_are_shown_and_not_obeyed(
    command: Command, hostile: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    factor, level, _ = NAMES[request.node.callspec.params["hostile"]]
    out = tmp_path / "out"
    said = command("sweep", hostile, "--output", out, "--workers", "0")
    assert said.code == 0, said.err
    assert said.out.replace("\n", "").isprintable()
    assert (out / "hostile.png").exists()
    word = f"{factor}={level}"
    rows = objects(command("sweep", hostile, "--output", out, "--workers", "0", "--only", word, "--json").out)
    assert {row[factor] for row in rows} == {level, "other"}
    for kind in ("table", "comparison", "ranking", "occupancy"):
        said = command("plot", out, kind)
        assert said.code == 0, said.err
    said = command("report", out, "--runs", "0")
    assert said.code == 0, said.err
    page = (out / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "<b>bold" not in page


@pytest.mark.unit
@pytest.mark.parametrize("before", ['"rationale"', '"constant-arrivals"', '"naive-never-summarised"'])
@pytest.mark.parametrize("letter", ["\n", "\x1b", "\u202e", "\0"])
def test_a_name_that_cannot_be_printed_is_refused(
    command: Command, quick: Path, before: str, letter: str
) -> None:
    quick.write_text(quick.read_text().replace(before, quoted(f"a{letter}b")))
    said = command("sweep", quick)
    assert (said.code, said.out) == (2, "")
    assert "holds what cannot be printed" in said.err
    assert said.err.rstrip("\n").isprintable()
