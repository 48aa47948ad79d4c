"""A sweep whose workers and parent are killed at random times ends as one that nobody has disturbed."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.experiment import load_experiment
from experiments.job import TIMES
from experiments.journal import journals_in
from experiments.manifest import FAILURES, RUNS, read_manifest
from experiments.reading import read_runs, read_table
from experiments.sweeping import sweep

EXPERIMENT = """\
summary = "three hundred short runs, a half of which fail"
source = "made for a test"
scenario = "constant-arrivals"
policies = ["naive-never-summarised", "policy_zoo:RaisesInPropose"]
replications = 75
responses = ["net_per_attempt_tokens", "overflowed"]
keep = ["turns", "rewrites"]

[[factor]]
name = "horizon"
path = "run.horizon"
values = [100, 110]

[plot]
kind = "table"
"""
RUN_COUNT, FAILED_COUNT = 2 * 2 * 75, 2 * 75
KILLS = 20
LONGEST_DELAY = 0.3
"""Seconds: a session then sees some of its chunks end, and dies in the midst of others."""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory, zoo: str) -> Path:
    path = tmp_path_factory.mktemp("crash") / "crash.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture(scope="module")
def undisturbed(experiment: Path) -> dict[str, bytes]:
    """The tables of a sweep in this process."""
    folder = experiment.parent / "undisturbed"
    assert sweep(load_experiment(str(experiment)), folder, workers=0, show="none") == FAILED_COUNT
    assert len(read_runs(folder)) == RUN_COUNT
    return tables_in(folder)


def tables_in(folder: Path) -> dict[str, bytes]:
    """Return the tables that have to be the same, byte by byte: all but that of wall-clock times."""
    tables = {path.stem: path.read_bytes() for path in folder.glob("*.parquet") if path.stem != TIMES}
    assert set(tables) == {RUNS, FAILURES, "turns", "rewrites"}
    return tables


class Sessions:
    """One session of the same command line after the other, on one folder."""

    def __init__(self, experiment: Path, folder: Path, limit_bytes: int | None = None) -> None:
        self.words = [sys.executable, "-m", "rewritelab", "sweep", str(experiment), "--workers", "2"]
        self.words += ["--output", str(folder)]
        self.folder = folder
        self.limit_bytes = limit_bytes

    def begin(self) -> None:
        self.errors = self.folder.with_suffix(".err").open("w+")
        self.driver = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=self.errors, text=True)
        if self.limit_bytes is not None:
            resource.prlimit(self.driver.pid, resource.RLIMIT_FSIZE, (self.limit_bytes, self.limit_bytes))
        self.lines_before = self.lines()

    def lines(self) -> int:
        """Return how many lines the journals hold."""
        try:
            return sum(path.read_bytes().count(b"\n") for path in journals_in(self.folder / "journal"))
        except FileNotFoundError:  # compaction has just taken it in
            return 0

    def wait_for_rows(self) -> bool:
        """Wait until there are more rows than when we last looked; return whether the session still runs."""
        while self.driver.poll() is None:
            if self.lines() > self.lines_before:
                self.lines_before = self.lines()
                return True
            time.sleep(0.005)
        return False

    def workers(self) -> list[int]:
        """Return the processes that make the runs: children of the fork server, which is the driver's."""
        return [worker for server in children_of(self.driver.pid) for worker in children_of(server)]

    def end(self) -> str:
        """Wait for the end; return what was said on stderr."""
        self.driver.wait(timeout=60)
        self.errors.seek(0)
        with self.errors:
            return self.errors.read()


def children_of(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(ppid) == parent and state != "Z":
            yield int(path.parent.name)


@pytest.mark.crash
@pytest.mark.slow
def test_workers_and_parent_are_killed_twenty_times(
    experiment: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    chance = random.Random(20)
    killed = {"parent": 0, "worker": 0}
    folders = 0
    while sum(killed.values()) < KILLS:  # a fast machine comes to the end before, and does it again
        folders += 1
        sessions = Sessions(experiment, tmp_path / f"killed-{folders}")
        sessions.begin()
        lost = 0
        while sessions.wait_for_rows() and sum(killed.values()) < KILLS:
            time.sleep(chance.uniform(0, LONGEST_DELAY))
            whom = chance.choice(["parent", "worker"])
            if whom == "worker":
                killed[whom] += kill(sessions, whom, chance)
            elif kill(sessions, whom, chance) and sessions.driver.wait(timeout=60) == -signal.SIGKILL:
                killed[whom] += 1
                lost += 1
                sessions.end()
                assert read_runs(sessions.folder)["run"].is_unique
                sessions.begin()
        said = sessions.end()
        assert sessions.driver.returncode == 1, said  # of the runs that fail by themselves
        assert f"{FAILED_COUNT} runs failed" in said
        assert tables_in(sessions.folder) == undisturbed
        assert len(read_manifest(sessions.folder)["sessions"]) <= lost + 1
    assert min(killed.values()) >= 5, killed


def kill(sessions: Sessions, whom: str, chance: random.Random) -> bool:
    """Kill -9; return whether somebody was at work."""
    workers = sessions.workers()
    if sessions.driver.poll() is not None or not workers:
        return False
    try:
        os.kill(sessions.driver.pid if whom == "parent" else chance.choice(workers), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.crash
def test_a_full_disk_stops_cleanly_and_the_sweep_goes_on_later(
    experiment: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """The disk is a limit on the size of a file, which the kernel keeps as it would keep that of a disk."""
    folder = tmp_path / "full"
    full = Sessions(experiment, folder, limit_bytes=60_000)
    full.begin()
    said = full.end()
    assert full.driver.returncode == 2, said
    lines = [line for line in said.splitlines() if not line.startswith("runs: ")]
    assert len(lines) == 1, said
    assert "cannot be written (File too large)" in lines[0]
    kept = len(read_runs(folder))
    assert 0 < kept < RUN_COUNT
    again = Sessions(experiment, folder)
    again.begin()
    said = again.end()
    assert again.driver.returncode == 1, said
    assert tables_in(folder) == undisturbed


@pytest.mark.crash
def test_a_disk_that_fills_up_at_the_very_end_leaves_every_run(
    experiment: Path, undisturbed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables do not fit any more; the journal does."""
    from experiments import parquet
    from experiments.files import DiskFault, flush

    def refuse(path: Path) -> None:
        if path.suffix == ".parquet":
            raise OSError(28, "No space left on device")
        flush(path)

    folder = tmp_path / "full"
    loaded = load_experiment(str(experiment))
    with monkeypatch.context() as full:
        full.setattr(parquet, "flush", refuse)
        with pytest.raises(DiskFault, match="No space left on device"):
            sweep(loaded, folder, workers=0, show="none")
    assert not list(folder.glob("*.parquet"))
    assert not list(folder.glob(".tmp-*"))
    assert len(read_table(folder, FAILURES)) == FAILED_COUNT
    began = time.perf_counter()
    assert sweep(loaded, folder, workers=0, show="none") == FAILED_COUNT
    assert time.perf_counter() - began < sum(read_table(folder, TIMES)["seconds"])  # nothing is run again
    assert tables_in(folder) == undisturbed
