"""What the measurements of whole sweeps stand on: the clock that is left out, the peak that is its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

pytestmark = pytest.mark.unit
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
on_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")


def test_the_overhead_of_a_task_is_what_the_runner_takes_once_it_is_warm(
    rooms: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)

    def stream(function: object, tasks: range, **_: object) -> Iterator[tuple[int, int]]:
        for task in tasks:
            clock.now += 1.0 if task < len(tasks) // 10 else 50e-6  # a pool that opens, then 50 us a task
            yield task, task

    monkeypatch.setattr(rooms.scale, "stream_tasks", stream)
    monkeypatch.setattr(rooms.scale, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    for finding in rooms.scale.runner_overhead(rounds=3, tasks=100):
        assert finding.measured == pytest.approx(50, rel=1e-6)


def test_a_task_that_the_runner_lost_is_told_with_both_numbers(
    rooms: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def losing(function: object, tasks: range, **_: object) -> Iterator[tuple[int, int]]:
        yield from ((task, task) for task in tasks[:-1])

    monkeypatch.setattr(rooms.scale, "stream_tasks", losing)

    with pytest.raises(rooms.findings.DidLess, match=r"tasks: counted 99, expected 100"):
        rooms.scale.runner_overhead(rounds=1, tasks=100)


@on_linux
def test_the_peak_is_that_of_the_process_itself_and_stays_when_memory_is_freed() -> None:
    held = 64 << 10  # KiB
    code = "import sweeps; before = sweeps.peak_kib(); {}; print(before, sweeps.peak_kib())"
    takes = code.format(f"block = bytearray(b'x') * ({held} << 10); del block")
    parent = bytearray(b"x") * (256 << 20)  # of a process that starts another, and is not to be counted

    def peaks(script: str) -> list[int]:
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=True)
        return list(map(int, done.stdout.split()))

    before, after = peaks(takes)
    quiet, still = peaks(code.format("pass"))

    assert len(parent) >> 10 > quiet
    assert after - before == pytest.approx(held, rel=0.05)
    assert still - quiet < held / 20


@on_linux
@pytest.mark.parametrize("way", ["journals", "travels"])
def test_a_swept_experiment_has_all_its_rows_and_what_they_took(rooms: SimpleNamespace, way: str) -> None:
    sweeps: ModuleType = rooms.sweeps
    text = sweeps.SHORT.replace("responses", 'keep = ["turns"]\nresponses').format(runs=12)

    found = sweeps.swept(text, 2, way)

    assert (found.runs, found.turns) == (12, 12 * 3)  # the horizon of the short runs
    assert 0 < found.compaction <= found.driver
    assert found.journal > 12 * len('[0,{"runs":[["constant-arrivals",0,"naive",0,"horizon"]]}]')


def test_own_time_is_where_it_is_spent(rooms: SimpleNamespace) -> None:
    def spends() -> int:
        total = 0
        for number in range(300_000):
            total += number
        return total

    def idles() -> int:
        return spends()

    shares = rooms.profiles.own_times(idles)

    assert shares[0] == ("test_sweeps.spends", pytest.approx(1, abs=0.05))
    assert sum(share for _, share in shares) <= 1 + 1e-9


def test_the_page_says_which_targets_were_missed(rooms: SimpleNamespace) -> None:
    finding = rooms.findings.Finding("a case", "others", 3.0, 2.9, 3.1, target=2.0)
    kept = finding.__class__("a kept case", "others", 1.0, 0.9, 1.1, target=2.0)

    page = rooms.page.page([finding, kept], [("turn.live", 0.25)], {"naive": [("view.look", 0.1)]})

    assert "- a case: 3.00 x others, wanted at most 2.\n" in page
    assert "- a kept case" not in page
    assert "| `turn.live` | 25% |" in page
    assert "naive:\n\n| function | own time |\n| --- | --- |\n| `view.look` | 10% |" in page
