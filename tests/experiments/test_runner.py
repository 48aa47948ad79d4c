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
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import runner
from experiments import workers as workers_module
from experiments.experiment import load_experiment
from experiments.files import DiskFault
from experiments.job import TIMES
from experiments.reading import read_runs
from experiments.runner import TRIES_TO_OPEN, run_tasks, stream_tasks, usable_cores
from experiments.sweeping import sweep
from experiments.workers import CannotEnd, Chunk, Failure, open_pool, unpack
from simulator.errors import InputError, RunFailed

# What workers import must be a module that they can find by its name; a test file may not be one.
JOBS = """
    import errno, os, signal, sys, threading, time
    from pathlib import Path
    from experiments.files import writing
    from simulator.errors import RunFailed

    def run_without_end(time_limit):
        from scenarios import load_scenario
        from simulator import Policy, simulate

        class Endless(Policy):
            name = "endless"

            def check(self, gauge):
                steps = 0
                while True:
                    steps += 1
                    steps -= 1

        return simulate(load_scenario("constant-arrivals").setting(), Endless(), time_limit=time_limit)

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
        if kind == "interrupts":
            raise KeyboardInterrupt
        if kind == "wraps":
            try:
                {}["nothing"]
            except KeyError as fault:
                raise RunFailed("check", "policy raised KeyError") from fault
        if kind == "overflows":
            descend_by_one(kind)
        if kind == "cannot be printed":
            raise Unprintable()
        return kind

    def descend_by_one(kind):
        descend_by_two(kind)

    def descend_by_two(kind):
        descend_by_one(kind) if kind else repr(kind)

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

    def hang_at(task):
        number, hangs = task
        while hangs:
            try:
                time.sleep(60)
            except BaseException:
                pass
        return number

    def sit_out(task):
        # Swallows what it is told, and ends long after its time.
        number, seconds = task
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                time.sleep(0.02)
            except BaseException:
                pass
        return number

    def move_away(_):
        there = os.getcwd()
        os.chdir("/")
        return there

    def leave_a_thread(number):
        threading.Thread(target=time.sleep, args=(60,)).start()
        return number

    class Noting:
        # Writes down when it is read, what it is asked, and when a chunk ends: a file a process.

        def __init__(self, folder):
            self.folder = folder

        def __setstate__(self, state):
            self.__dict__ = state
            self.note("read")

        def note(self, word):
            with (self.folder / f"{os.getpid()}.txt").open("a") as file:
                file.write(f"{word} ")

        def __call__(self, task):
            if task == "interrupt":
                raise KeyboardInterrupt
            self.note(task)
            return task

        def end_chunk(self):
            self.note("end")

    class FullDisk:
        # Leaves a mark of each task; the disk is full for the fourth, or at the end of its chunk.

        def __init__(self, marks, when):
            self.marks, self.when = marks, when

        def __call__(self, number):
            (self.marks / str(number)).touch()
            if number >= 3 and self.when == "task":
                self.refuse()
            return number

        def end_chunk(self):
            if (self.marks / "3").exists() and self.when == "end":
                self.refuse()

        def refuse(self):
            with writing(Path("out")):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
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
@pytest.mark.parametrize("workers", [0, 1, 3, None])
@pytest.mark.parametrize("chunk", [None, 1, 7, 1000])
def test_results_come_in_the_order_of_the_tasks(
    jobs: ModuleType, workers: int | None, chunk: int | None
) -> None:
    assert run_tasks(jobs.square, range(40), workers=workers, chunk=chunk) == [n * n for n in range(40)]


@pytest.mark.unit
@pytest.mark.parametrize("workers", [0, 2])
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
@pytest.mark.parametrize("workers", [0, 2])
def test_each_end_is_told_once(jobs: ModuleType, workers: int) -> None:
    told: dict[int, object] = {}
    results = run_tasks(
        jobs.square, range(20), workers=workers, on_done=lambda index, result: told.update({index: result})
    )
    assert [told[index] for index in range(20)] == results


@pytest.mark.unit
def test_what_cannot_work_is_refused_before_anything_runs(jobs: ModuleType) -> None:
    with pytest.raises(InputError, match="0 or more"):
        run_tasks(jobs.square, [1], workers=-1)
    with pytest.raises(InputError, match="1 or more"):
        stream_tasks(jobs.square, [1], workers=0, open_executor=lambda: ThreadPoolExecutor(1))
    with pytest.raises(InputError, match="1 or more"):
        run_tasks(jobs.square, [1], chunk=0)
    for workers in (0, 2):
        with pytest.raises(TypeError, match="top of a module"):
            run_tasks(lambda task: task, [1], workers=workers)


@pytest.mark.unit
def test_one_worker_is_a_process_and_none_is_this_one(jobs: ModuleType) -> None:
    here, there = (run_tasks(jobs.slow, [0.0, 0.0], workers=workers) for workers in (0, 1))
    assert set(here) == {os.getpid()}
    assert len(set(there)) == 1
    assert not {*here} & {*there}


@pytest.mark.unit
@pytest.mark.parametrize("workers", [0, 1])
def test_a_task_that_leaves_its_folder_moves_no_other(
    jobs: ModuleType, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_tasks(jobs.move_away, range(3), workers=workers, chunk=3) == [str(tmp_path)] * 3
    assert Path.cwd() == tmp_path


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
    pace = runner._Pace(chunk=None, width=2)
    assert pace.size(10_000) == 1  # nothing measured yet
    pace.learn(10, 0.1)
    assert pace.size(10_000) == 75
    assert pace.size(40) == 10
    assert pace.size(1) == 1
    pace.seconds = 1e-9
    assert pace.size(10_000) == runner.LARGEST_CHUNK


@pytest.mark.unit
def test_the_serial_way_has_chunks_too() -> None:
    """They shrink toward no end there: there is nobody to share with."""
    pace = runner._Pace(chunk=None, width=1)
    pace.learn(1, 0.01)
    assert pace.size(40) == 40
    assert pace.size(10_000) == 75


@pytest.mark.unit
@pytest.mark.parametrize("workers", [0, 2])
def test_a_function_is_read_once_a_worker_and_told_of_each_end(
    jobs: ModuleType, tmp_path: Path, workers: int
) -> None:
    tasks = list(range(20))
    assert run_tasks(jobs.Noting(tmp_path), tasks, workers=workers, chunk=4) == tasks
    told = [path.read_text().split() for path in tmp_path.iterdir()]
    assert 1 <= len(told) <= max(1, workers)
    assert all(words[0] == "read" and words.count("read") == 1 for words in told)
    assert sorted(int(word) for words in told for word in words if word.isdigit()) == tasks
    chunks = " ".join(" ".join(words[1:]) for words in told).split("end")
    assert [len(chunk.split()) for chunk in chunks] == [4] * 5 + [0]  # the last word is an end


@pytest.mark.unit
def test_a_function_is_read_anew_for_each_job(jobs: ModuleType, tmp_path: Path) -> None:
    """It may keep what it has read from files, and a worker may outlive a job."""
    with ThreadPoolExecutor(1) as lasting:
        for _ in range(2):
            run_tasks(jobs.Noting(tmp_path), [0], workers=0)
            with closing(
                stream_tasks(jobs.Noting(tmp_path), [0], workers=1, open_executor=lambda: Lasting(lasting))
            ) as stream:
                assert list(stream) == [(0, 0)]
    (path,) = tmp_path.iterdir()
    assert path.read_text().split().count("read") == 4


class Lasting(Executor):
    """An executor that others use too, and that knows no way to cancel, as Dask's."""

    def __init__(self, pool: Executor) -> None:
        self.submit = pool.submit  # type: ignore[method-assign]

    def shutdown(self, wait: bool = True) -> None:  # type: ignore[override]
        pass


@pytest.mark.unit
def test_what_is_done_is_kept_when_the_user_interrupts(jobs: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_tasks(jobs.Noting(tmp_path), [0, 1, "interrupt", 3], workers=0, chunk=4)
    (path,) = tmp_path.iterdir()
    assert path.read_text().split() == ["read", "0", "1", "end"]


@pytest.mark.unit
def test_a_sweep_gives_the_same_bytes_on_any_executor_and_again(
    small_experiment: Path, tmp_path: Path
) -> None:
    """Also where this process has swept the same experiment before, and so has read the same function."""
    experiment = load_experiment(str(small_experiment))

    def swept(**how: object) -> dict[str, bytes]:
        assert sweep(experiment, tmp_path / "out", fresh=True, show="none", **how) == 0  # type: ignore[arg-type]
        paths = (tmp_path / "out").glob("*.parquet")
        return {path.stem: path.read_bytes() for path in paths if path.stem != TIMES}

    serial = swept(workers=0)
    assert len(read_runs(tmp_path / "out")) == 60
    assert swept(workers=0) == serial
    assert swept(workers=2) == serial
    assert swept(workers=3, open_executor=lambda: ThreadPoolExecutor(3)) == serial


# --------------------------------------------------------------------------- failures


@pytest.mark.unit
def test_a_failure_is_a_row_with_stage_and_reason(jobs: ModuleType) -> None:
    kinds = ["fine", "raises", "is refused", "leaves", "returns a lambda", "cannot be printed", "wraps"]
    tasks = [*kinds, jobs.Unpicklable(), "fine"]
    serial = run_tasks(jobs.misbehave, tasks, workers=0)
    found = [(row.stage, row.kind) if isinstance(row, Failure) else row for row in serial]
    assert found == [
        "fine",
        ("run", "ValueError"),
        ("commit", "RunFailed"),
        ("run", "SystemExit"),
        ("result", "AttributeError"),
        ("run", "Unprintable"),
        ("check", "KeyError"),
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
def test_a_stack_that_overflows_is_told_alike_however_deep_it_began(jobs: ModuleType) -> None:
    """The row keeps each call once, and not how often it came, nor what the last of them was about to do."""

    def from_below(calls: int) -> Failure | str:
        if calls:
            return from_below(calls - 1)
        (row,) = run_tasks(jobs.misbehave, ["overflows"], workers=0)
        return row

    rows = [from_below(calls) for calls in (0, 1, 200)] + run_tasks(jobs.misbehave, ["overflows"], workers=1)
    assert rows == [rows[0]] * 4
    assert isinstance(rows[0], Failure)
    assert (rows[0].kind, rows[0].reason) == ("RecursionError", "maximum recursion depth exceeded")
    assert rows[0].traceback.count("in descend_by_one") == rows[0].traceback.count("in descend_by_two") == 1
    assert "more times" not in rows[0].traceback


@pytest.mark.unit
@pytest.mark.parametrize("workers", [0, 1])
def test_where_the_time_limit_met_a_run_is_not_told(jobs: ModuleType, workers: int) -> None:
    (row,) = run_tasks(jobs.run_without_end, [0.01], workers=workers)
    assert row == Failure("time limit", "TimeoutError", "no end within 0.01 seconds", "")


@pytest.mark.unit
@pytest.mark.parametrize("how", [{}, {"open_executor": lambda: ThreadPoolExecutor(2)}])
def test_an_interrupt_that_is_not_the_users_is_a_row(jobs: ModuleType, how: dict[str, object]) -> None:
    """Ctrl-C goes to a main thread, and a worker process of ours ignores it."""
    with closing(stream_tasks(jobs.misbehave, ["fine", "interrupts", "fine"], workers=2, **how)) as stream:  # type: ignore[arg-type]
        rows = dict(stream)
    failure = rows.pop(1)
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.kind) == ("run", "KeyboardInterrupt")
    assert rows == {0: "fine", 2: "fine"}


@pytest.mark.crash
def test_a_thread_that_a_task_leaves_does_not_hold_the_end(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "LEAVING_SECONDS", 0.3)
    began = time.monotonic()
    assert run_tasks(jobs.leave_a_thread, range(6), workers=2) == list(range(6))
    assert time.monotonic() - began < 20


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
            assert (result.stage, result.kind, result.reason) == ("worker", "BrokenExecutor", runner.LOST)
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


@pytest.mark.crash
def test_a_worker_that_heeds_nothing_is_killed_and_the_others_are_done(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit of a task is kept by what it runs; here is one that swallows even that."""
    monkeypatch.setattr(runner, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(runner, "STARTING_SECONDS", 0.0)
    tasks = [(number, number == 13) for number in range(40)]
    began = time.monotonic()
    with closing(stream_tasks(jobs.hang_at, tasks, workers=2, chunk=4, time_limit=0.3)) as stream:
        rows = dict(stream)
    assert time.monotonic() - began < 20
    failure = rows.pop(13)
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.kind) == ("worker", "TimeoutError")
    assert failure.reason == "no end within 0.3 seconds, and it heeded nothing"
    assert rows == {number: number for number in range(40) if number != 13}


@pytest.mark.crash
def test_many_slow_tasks_are_not_taken_to_hang(jobs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "STALL_SECONDS", 0.05)
    tasks = [0.4] * 8  # four in a chunk take longer than one may, and all are within their limit
    with closing(stream_tasks(jobs.slow, tasks, workers=2, chunk=4, time_limit=1.0)) as stream:
        rows = dict(stream)
    assert len(rows) == 8
    assert not any(isinstance(row, Failure) for row in rows.values())


@pytest.mark.crash
@pytest.mark.parametrize("chunk", [1, 2])
def test_an_executor_that_cannot_end_its_workers_is_told_and_never_waited_for(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """What has ended is there, and so is the one that has not, where it was alone in its chunk."""
    monkeypatch.setattr(runner, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(runner, "STARTING_SECONDS", 0.0)
    tasks = [(number, 5.0 * (number == 4)) for number in range(12)]
    rows = {}
    began = time.monotonic()
    with (
        pytest.raises(CannotEnd, match="no way to end its worker"),
        closing(
            stream_tasks(
                jobs.sit_out,
                tasks,
                workers=2,
                chunk=chunk,
                time_limit=0.2,
                open_executor=lambda: ThreadPoolExecutor(2),
            )
        ) as stream,
    ):
        rows.update(stream)
    assert time.monotonic() - began < 4.5
    lost = rows.pop(4, None)
    assert (lost is not None) == (chunk == 1)
    assert lost in (
        None,
        Failure("worker", "TimeoutError", "no end within 0.2 seconds, and it heeded nothing"),
    )
    assert rows == {number: number for number in range(12) if number != 4 and (chunk == 1 or number != 5)}


@pytest.mark.unit
@pytest.mark.parametrize("lost", [1, TRIES_TO_OPEN, TRIES_TO_OPEN + 1])
def test_a_fork_server_that_is_gone_is_no_interrupt(jobs: ModuleType, lost: int) -> None:
    """What is left of it is a pipe at its end: EOFError, which the command line takes for a Ctrl-C."""
    opened: list[Executor] = []

    class Gone(Executor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            raise EOFError

    def open_executor() -> Executor:
        opened.append(Gone() if len(opened) < lost else ThreadPoolExecutor(1))
        return opened[-1]

    with closing(stream_tasks(jobs.square, range(9), workers=1, open_executor=open_executor)) as stream:
        if lost <= TRIES_TO_OPEN:
            assert dict(stream) == {number: number * number for number in range(9)}
        else:
            with pytest.raises(RunFailed, match="worker processes die as they start"):
                list(stream)


@pytest.mark.unit
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("when", ["task", "end"])
def test_a_full_disk_stops_everything_at_once(
    jobs: ModuleType, tmp_path: Path, workers: int, when: str
) -> None:
    job, ended = jobs.FullDisk(tmp_path, when), []
    with pytest.raises(DiskFault, match=r"out: cannot be written \(No space left on device\)"):
        run_tasks(job, range(2_000), workers=workers, chunk=2, on_done=lambda index, _: ended.append(index))
    begun = len(list(tmp_path.iterdir()))
    landed, flying = 2, 2 * workers + 2  # chunks, before the fourth task meets it and beside it
    assert len(ended) <= begun <= 2 * (landed + (flying if workers else 0))


@pytest.mark.unit
def test_an_engine_that_is_gone_is_told(jobs: ModuleType) -> None:
    class Gone(Executor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            future: Future[object] = Future()
            future.cancel()
            return future

    with (
        pytest.raises(RunFailed, match="has its scheduler ended"),
        closing(stream_tasks(jobs.square, range(9), workers=2, open_executor=Gone)) as stream,
    ):
        list(stream)


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


def children_of(pid: int) -> list[tuple[int, str]]:
    """The processes that a process has started, and what each was started as."""
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    found = []
    for child in tasks.read_text().split() if tasks.exists() else []:
        with suppress(OSError):
            found.append((int(child), Path(f"/proc/{child}/cmdline").read_text()))
    return found


def fork_server_of(pid: int) -> list[int]:
    return [child for child, words in children_of(pid) if "forkserver" in words]


@pytest.mark.crash
def test_ctrl_c_while_the_fork_server_starts_is_told_once(jobs: ModuleType, tmp_path: Path) -> None:
    """It loads modules for a while, and would say where it was."""
    driver = start(ENDLESS, tmp_path, jobs)
    assert wait_until(lambda: bool(fork_server_of(driver.pid)))
    os.killpg(driver.pid, signal.SIGINT)
    _, errors = driver.communicate(timeout=30)
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.crash
def test_a_killed_fork_server_is_replaced_and_leaves_no_worker(jobs: ModuleType, tmp_path: Path) -> None:
    driver = start(ENDLESS, tmp_path, jobs)
    assert driver.stdout is not None
    pids = {int(driver.stdout.readline()) for _ in range(2)}
    (server,) = fork_server_of(driver.pid)
    os.kill(server, signal.SIGKILL)
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))
    assert wait_until(lambda: fork_server_of(driver.pid) not in ([], [server]))
    assert driver.poll() is None
    driver.kill()
    driver.communicate(timeout=20)


@pytest.mark.crash
def test_a_script_without_its_guard_is_told_so(jobs: ModuleType, tmp_path: Path) -> None:
    unguarded = """
        import runner_jobs
        from experiments.runner import run_tasks
        run_tasks(runner_jobs.square, range(4), workers=2)
    """
    driver = start(unguarded, tmp_path, jobs)
    _, errors = driver.communicate(timeout=60)
    assert "use workers=0, or guard the script by __main__" in errors


@pytest.mark.crash
def test_an_error_of_the_callers_stops_the_workers(jobs: ModuleType) -> None:
    def refuse(index: int, result: object) -> None:
        raise OSError("disk full")

    began = time.monotonic()
    with pytest.raises(OSError, match="disk full"):
        run_tasks(jobs.slow, [0.0] + [60.0] * 5, workers=2, on_done=refuse)
    assert time.monotonic() - began < 30
