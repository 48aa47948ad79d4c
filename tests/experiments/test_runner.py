"""Same results whatever the workers, failures as rows, and a sweep that outlives its workers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import runner
from experiments.runner import run_tasks, stream_tasks, usable_cores
from experiments.workers import Chunk, Failure, open_pool, unpack
from simulator.errors import InputError

# What workers import must be a module that they can find by its name; a test file may not be one.
JOBS = """
    import os, signal, sys, threading, time
    from pathlib import Path
    from simulator.errors import RunFailed

    def square(number):
        return number * number

    def slow(seconds):
        time.sleep(seconds)
        return os.getpid()

    def misbehave(kind):
        if kind == "raises":
            raise ValueError("one\\nreason")
        if kind == "is refused":
            raise RunFailed("commit", "tokens do not add up")
        if kind == "leaves":
            sys.exit(3)
        if kind == "returns a lambda":
            return lambda: None
        if kind == "cannot be printed":
            raise Unprintable()
        return kind

    class Unprintable(Exception):
        def __str__(self):
            raise TypeError("no words")

    class Unpicklable:
        def __reduce__(self):
            raise TypeError("stays at home")

    def die_of(task):
        number, poison = task
        if number in poison:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def die_once(task):
        number, mark = task
        if number == 5 and not Path(mark).exists():
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def die_while_sending(number):
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return bytes(60_000_000)

    def threads(_):
        return os.environ["OPENBLAS_NUM_THREADS"]
"""


@pytest.fixture(scope="session")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "runner_jobs.py").write_text(textwrap.dedent(JOBS))
    sys.path.insert(0, str(folder))
    try:
        import runner_jobs  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
    return runner_jobs


@pytest.fixture(autouse=True)
def workers_find_jobs(jobs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(str(jobs.__file__)).parent))


# --------------------------------------------------------------------------- results


@pytest.mark.unit
@pytest.mark.parametrize("workers", [1, 2, 3, None])
@pytest.mark.parametrize("chunk", [None, 1, 7, 1000])
def test_results_come_in_the_order_of_the_tasks(
    jobs: ModuleType, workers: int | None, chunk: int | None
) -> None:
    assert run_tasks(jobs.square, range(40), workers=workers, chunk=chunk) == [n * n for n in range(40)]


@pytest.mark.unit
@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_to_do_is_done(jobs: ModuleType, workers: int) -> None:
    assert run_tasks(jobs.square, [], workers=workers) == []


@pytest.mark.property
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 60), st.integers(1, 4), st.one_of(st.none(), st.integers(1, 20)))
def test_every_task_ends_exactly_once(count: int, workers: int, chunk: int | None) -> None:
    with closing(
        stream_tasks(
            abs, range(count), workers=workers, chunk=chunk, open_executor=lambda: ThreadPoolExecutor(workers)
        )
    ) as stream:
        assert sorted(stream) == [(index, index) for index in range(count)]


@pytest.mark.unit
@pytest.mark.parametrize("workers", [1, 2])
def test_each_end_is_told_once(jobs: ModuleType, workers: int) -> None:
    told: dict[int, object] = {}
    results = run_tasks(
        jobs.square, range(20), workers=workers, on_done=lambda index, result: told.update({index: result})
    )
    assert [told[index] for index in range(20)] == results


@pytest.mark.unit
def test_what_cannot_work_is_refused_before_anything_runs(jobs: ModuleType) -> None:
    with pytest.raises(InputError, match="1 or more"):
        run_tasks(jobs.square, [1], workers=0)
    with pytest.raises(InputError, match="1 or more"):
        run_tasks(jobs.square, [1], chunk=0)
    for workers in (1, 2):
        with pytest.raises(TypeError, match="top of a module"):
            run_tasks(lambda task: task, [1], workers=workers)


@pytest.mark.unit
def test_workers_default_to_the_cores_that_we_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert usable_cores() == 3


@pytest.mark.unit
def test_workers_use_one_thread_and_we_keep_our_environment(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert run_tasks(jobs.threads, [0], workers=2) == ["1"]
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.unit
def test_chunks_hold_about_a_second_and_shrink_toward_the_end() -> None:
    crew = runner._Crew(b"", range(10_000), 2, None, ThreadPoolExecutor)
    assert crew._size(10_000) == 1  # nothing measured yet
    crew.pace = 0.01
    assert crew._size(10_000) == 75
    assert crew._size(40) == 10
    assert crew._size(1) == 1
    crew.pace = 1e-9
    assert crew._size(10_000) == runner.LARGEST_CHUNK


# --------------------------------------------------------------------------- failures


@pytest.mark.unit
def test_a_failure_is_a_row_with_stage_and_reason(jobs: ModuleType) -> None:
    kinds = ["fine", "raises", "is refused", "leaves", "returns a lambda", "cannot be printed"]
    tasks = [*kinds, jobs.Unpicklable(), "fine"]
    serial = run_tasks(jobs.misbehave, tasks, workers=1)
    found = [(row.stage, row.kind) if isinstance(row, Failure) else row for row in serial]
    assert found == [
        "fine",
        ("run", "ValueError"),
        ("commit", "RunFailed"),
        ("run", "SystemExit"),
        ("result", "AttributeError"),
        ("run", "Unprintable"),
        ("task", "TypeError"),
        "fine",
    ]
    reasons = [row.reason for row in serial if isinstance(row, Failure)]
    assert reasons[:2] == ["one reason", "tokens do not add up"]
    assert isinstance(serial[1], Failure)
    assert "misbehave" in serial[1].traceback
    assert "_run_one" not in serial[1].traceback
    for chunk in (None, 1, len(tasks)):
        assert run_tasks(jobs.misbehave, tasks, workers=2, chunk=chunk) == serial


@pytest.mark.unit
def test_a_result_that_cannot_be_read_back_is_a_failure() -> None:
    chunk = Chunk([4, 5], [b"", b""])
    rows = list(unpack(chunk, [b"no pickle", pickle.dumps(1)]))
    assert isinstance(rows[0][1], Failure)
    assert (rows[0][0], rows[0][1].stage, rows[1]) == (4, "result", (5, 1))


@pytest.mark.crash
def test_only_the_runs_that_kill_their_worker_are_lost(jobs: ModuleType) -> None:
    poison = frozenset({3, 37, 119})
    results = run_tasks(jobs.die_of, [(number, poison) for number in range(120)], workers=2)
    for number, result in enumerate(results):
        if number in poison:
            assert isinstance(result, Failure)
            assert (result.stage, result.kind) == ("worker", "BrokenProcessPool")
        else:
            assert result == number


@pytest.mark.crash
def test_a_worker_killed_from_outside_costs_no_run(jobs: ModuleType, tmp_path: Path) -> None:
    ends: list[int] = []
    results = run_tasks(
        jobs.die_once,
        [(number, str(tmp_path / "mark")) for number in range(60)],
        workers=2,
        chunk=4,
        on_done=lambda index, _: ends.append(index),
    )
    assert results == list(range(60))
    assert sorted(ends) == list(range(60))


@pytest.mark.crash
def test_a_worker_that_dies_in_the_middle_of_a_result_stalls_nothing(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "STALL_SECONDS", 0.2)
    results = run_tasks(jobs.die_while_sending, range(3), workers=2)
    assert all(isinstance(row, Failure) or len(row) == 60_000_000 for row in results)


@pytest.mark.crash
def test_an_executor_of_the_callers_is_reopened_when_it_breaks(jobs: ModuleType) -> None:
    opened: list[Executor] = []

    def open_executor() -> Executor:
        opened.append(open_pool(2, []))
        return opened[-1]

    tasks = [(number, frozenset({2})) for number in range(6)]
    with closing(stream_tasks(jobs.die_of, tasks, workers=2, open_executor=open_executor)) as stream:
        rows = dict(stream)
    assert [number for number, row in rows.items() if isinstance(row, Failure)] == [2]
    assert len(opened) >= 1 + runner.BREAKS_ALLOWED


# --------------------------------------------------------------------------- stopping


def start(code: str, folder: Path, jobs: ModuleType) -> subprocess.Popen[str]:
    script = folder / "driver.py"
    script.write_text(textwrap.dedent(code))
    paths = [str(Path(__file__).parents[2]), str(Path(str(jobs.__file__)).parent)]
    return subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


ENDLESS = """
    import runner_jobs
    from experiments.runner import run_tasks

    if __name__ == "__main__":
        run_tasks(runner_jobs.slow, [0.01, 0.01] + [60.0] * 20, workers=2, chunk=1,
                  on_done=lambda index, pid: print(pid, flush=True))
"""


@pytest.mark.crash
@pytest.mark.parametrize("whom", ["driver", "group"])
def test_ctrl_c_ends_all_at_once_and_is_raised(jobs: ModuleType, tmp_path: Path, whom: str) -> None:
    driver = start(ENDLESS, tmp_path, jobs)
    assert driver.stdout is not None
    pids = {int(driver.stdout.readline()) for _ in range(2)}
    time.sleep(0.2)
    (os.kill if whom == "driver" else os.killpg)(driver.pid, signal.SIGINT)
    _, errors = driver.communicate(timeout=20)
    assert driver.returncode in (-signal.SIGINT, 130, 1)
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))


@pytest.mark.crash
def test_workers_do_not_outlive_a_driver_that_was_killed(jobs: ModuleType, tmp_path: Path) -> None:
    driver = start(ENDLESS, tmp_path, jobs)
    assert driver.stdout is not None
    pids = {int(driver.stdout.readline()) for _ in range(2)}
    driver.kill()
    driver.communicate(timeout=20)  # ends when the last holder of the pipes does
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))


@pytest.mark.crash
def test_a_script_without_its_guard_is_told_so(jobs: ModuleType, tmp_path: Path) -> None:
    unguarded = """
        import runner_jobs
        from experiments.runner import run_tasks
        run_tasks(runner_jobs.square, range(4), workers=2)
    """
    driver = start(unguarded, tmp_path, jobs)
    _, errors = driver.communicate(timeout=60)
    assert "guard the script by __main__" in errors


@pytest.mark.crash
def test_an_error_of_the_callers_stops_the_workers(jobs: ModuleType) -> None:
    def refuse(index: int, result: object) -> None:
        raise OSError("disk full")

    began = time.monotonic()
    with pytest.raises(OSError, match="disk full"):
        run_tasks(jobs.slow, [0.0] + [60.0] * 5, workers=2, on_done=refuse)
    assert time.monotonic() - began < 30
