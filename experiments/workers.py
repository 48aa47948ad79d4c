"""Workers: the pool that they live in, what travels to them and back, and what they do with it.

In a worker go a pickled function and pickled tasks; out come pickled results, a `Failure` in the place
of each that could not be had. The function is read once for many tasks, and where it has a method
`end_chunk`, that is called after those that have travelled together. A worker leaves Ctrl-C to its parent
and ends when the parent does. Nothing here knows what a task is, or when it is sent.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from typing import NamedTuple, TypeVar

from experiments.files import DiskFault
from experiments.tracebacks import has_overflowed, stack_of, without_depth
from simulator.errors import SKIPPED, RunFailed, one_line

T = TypeVar("T")
R = TypeVar("R")
Landed = tuple[list[bytes], float]
"""The pickled results of a chunk, and the seconds that they took."""

LEAVING_SECONDS = 5.0
"""How long the processes of a pool may take to leave once all is done."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ALIKE = {**ONE_THREAD, "PYTHONHASHSEED": "0"}
"""What the workers' environment says where that of the user does not: a message may print a set."""

STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that a terminal, or who ends a job, sends to a whole group of processes."""

LOOKS_EVERY = 1.0
"""Seconds after which a worker looks again whether those that it belongs to are there."""


class WorkersLost(BrokenExecutor):
    """More than one worker was lost in turn over the same chunk; the executor itself goes on."""


class CannotEnd(RunFailed):
    """An executor whose workers hang, and that knows no way to end them."""

    def __init__(self) -> None:
        super().__init__(
            "worker",
            "a run has no end and heeds nothing, and this executor has no way to end its worker; "
            "what is done is kept",
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """What stands in a result's place when a task could not be finished.

    Parameters
    ----------
    stage : str
        Where: `task` (did not reach the worker), `run` (raised), `result` (could not be sent back),
        `worker` (killed its process, or had to be killed with it), or the stage that a `RunFailed` names:
        `skipped` of a run that was never begun.
    kind : str
        Name of the exception's class: of a `RunFailed` that something has caused, the class of that.
    reason : str
        Why, in one line.
    traceback : str
        The stack below the executed function, or empty.
    """

    stage: str
    kind: str
    reason: str
    traceback: str = ""

    @property
    def is_skipped(self) -> bool:
        """Whether the run was never begun, for its scenario lacks what its policy needs."""
        return self.stage == SKIPPED

    def __str__(self) -> str:
        """Return what a user is told.

        >>> str(Failure("gate", "RunFailed", "judge raised"))
        'failed at gate: judge raised'
        >>> str(Failure("skipped", "RunSkipped", "needs pairs"))
        'skipped: needs pairs'
        """
        return f"{self.stage}: {self.reason}" if self.is_skipped else f"failed at {self.stage}: {self.reason}"


# --------------------------------------------------------------------------- what travels


class Chunk(NamedTuple):
    """Pickled tasks that travel together, with their places in the whole."""

    indices: list[int]
    payload: list[bytes]
    breaks: int = 0
    """How often it broke the executor while nothing else ran."""

    def halves(self) -> tuple[Chunk, Chunk]:
        """Return the first half and the rest."""
        middle = len(self.indices) // 2
        return (
            Chunk(self.indices[:middle], self.payload[:middle]),
            Chunk(self.indices[middle:], self.payload[middle:]),
        )

    def singles(self) -> list[Chunk]:
        """Return a chunk a task."""
        return [Chunk([index], [packed]) for index, packed in zip(self.indices, self.payload, strict=True)]


def pack_function(execute: Callable[[T], R]) -> bytes:
    """Pickle a function, by its name, for one job: workers that outlive it read what they are given anew.

    Raises TypeError where it is not at the top of a module.
    """
    try:
        return pickle.dumps(execute) + os.urandom(8)  # what comes after a pickle is not read
    except Exception as error:
        raise TypeError(f"{execute!r} must be a function at the top of a module, to be pickled") from error


def pack(tasks: Sequence[T], start: int, stop: int) -> tuple[Chunk, list[tuple[int, Failure]]]:
    """Pickle tasks one by one; one that cannot be pickled is a failure, and the others travel."""
    chunk, failures = Chunk([], []), []
    for index in range(start, stop):
        try:
            packed = pickle.dumps(tasks[index])
        except Exception as error:
            failures.append((index, _failure(error, "task")))
        else:
            chunk.indices.append(index)
            chunk.payload.append(packed)
    return chunk, failures


def unpack(chunk: Chunk, results: list[bytes]) -> Iterator[tuple[int, R | Failure]]:
    """Yield `(index, result)` of a chunk; what cannot be read back is a failure."""
    for index, packed in zip(chunk.indices, results, strict=True):
        try:
            result: R | Failure = pickle.loads(packed)
        except Exception as error:
            result = _failure(error, "result")
        yield index, result


def _failure(error: BaseException, stage: str) -> Failure:
    kind, words = type(error).__name__, ""
    if isinstance(error, RunFailed):
        stage, words = error.stage, error.reason
        kind = type(error.__cause__ or error).__name__
    else:
        with contextlib.suppress(Exception):  # an exception of a user's may not even be printable
            words = one_line(str(error))
    if has_overflowed(error):
        words = without_depth(words)
    return Failure(stage, kind, words or kind, stack_of(error))


# --------------------------------------------------------------------------- in the worker


def run_chunk(function: bytes, payload: list[bytes]) -> Landed:
    """Run the tasks of a chunk and return their pickled results, and the seconds that they took.

    Raises DiskFault where the function's own files cannot be written.
    """
    started = time.perf_counter()
    home = _open_here()
    try:
        results = [_run_one(function, packed, home) for packed in payload]
    finally:  # after a Ctrl-C too
        if home is not None:
            with contextlib.suppress(OSError):  # a task may have closed it
                os.close(home)
        end_chunk = None
        with contextlib.suppress(Exception):  # one that cannot be read has failed in each of its tasks
            end_chunk = getattr(_read_function(function), "end_chunk", None)
        if end_chunk is not None:
            end_chunk()
    return results, time.perf_counter() - started


@lru_cache(1)
def _read_function(function: bytes) -> Callable[[object], object]:
    read: Callable[[object], object] = pickle.loads(function)
    return read


def _open_here() -> int | None:
    """Open the working directory, to come back to it; None where it is gone, or cannot be opened."""
    try:
        return os.open(os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, AttributeError):  # some systems open no folders
        return None


def _run_one(function: bytes, packed: bytes, home: int | None) -> bytes:
    stage = "task"
    try:
        execute, task = _read_function(function), pickle.loads(packed)
        stage = "run"
        result = execute(task)
        stage = "result"
        return pickle.dumps(result)
    except DiskFault:
        raise
    except BaseException as error:  # SystemExit too: a policy must not end the sweep
        if isinstance(error, KeyboardInterrupt) and _hears_the_user():
            raise
        return pickle.dumps(_failure(error, stage))
    finally:
        if home is not None:
            try:  # noqa: SIM105 - it costs more than all the rest
                os.fchdir(home)  # the next task may name a file by a relative path
            except OSError:
                pass


def _hears_the_user() -> bool:
    """Return whether a Ctrl-C comes here: to a main thread that does not leave it to another process."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _start_worker() -> None:
    """Leave the terminal's signals to the parent, use one thread, and end when the parent does."""
    for number in STOPPING:
        if number != signal.SIGTERM:  # with which a broken pool ends its workers
            signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()


def _follow_parent(server: int) -> None:
    """Without this, workers of a killed parent wait for ever (cpython issue 111873).

    So would those of a killed fork server, of which the parent can no longer know whether they live.
    """
    parent = multiprocessing.parent_process()
    while parent is not None:
        parent.join(LOOKS_EVERY)
        if not parent.is_alive() or os.getppid() != server:
            os._exit(1)


# --------------------------------------------------------------------------- the pool


def open_pool(width: int, modules: list[str]) -> ProcessPoolExecutor:
    """Return a pool of so many processes, which load these modules once for all of them."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(width, context, _start_worker)
    forkserver.set_forkserver_preload(modules)  # loaded once for all workers, and for those of a new pool
    with signals_held():  # it is deaf to some by itself, which are then heard here again
        resource_tracker.ensure_running()
    with _alike(), signals_held():
        forkserver.ensure_running()
    return ProcessPoolExecutor(width, multiprocessing.get_context("forkserver"), _start_worker)


@contextlib.contextmanager
def _alike() -> Iterator[None]:
    """Ask for one BLAS thread a process, and one order of sets, while the fork server starts.

    It loads numpy before any worker, and its order of sets is that of all of them.
    """
    added = [name for name in ALIKE if name not in os.environ]
    os.environ.update({name: ALIKE[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hear a terminal's signals afterwards, while processes are started.

    A worker whose parent leaves in the midst of starting it dies aloud. The fork server that is started here
    is deaf to them for good: as it loads modules it would die of them, aloud as well.
    """
    came: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():  # another thread may take what this one blocks
        handlers = {number: signal.getsignal(number) for number in STOPPING}
        handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    blocks = getattr(signal, "pthread_sigmask", None)
    before = blocks(signal.SIG_BLOCK, STOPPING) if blocks else None
    for number in handlers:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        if blocks:
            blocks(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def close(executor: Executor, *, at_once: bool) -> None:
    """Shut an executor down: after what is under way, or at once.

    Processes of ours that do not leave when all is done, for a task has left a thread in them, are killed.
    """
    if not at_once and isinstance(executor, ProcessPoolExecutor):
        ending = threading.Thread(target=executor.shutdown, daemon=True)
        ending.start()
        ending.join(LEAVING_SECONDS)
        if ending.is_alive():
            end_workers(executor)
            ending.join(LEAVING_SECONDS)
    elif not at_once:
        executor.shutdown()
    elif isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor):
        end_workers(executor)
        executor.shutdown(wait=False, cancel_futures=True)
    else:  # Dask's knows no such word, and cancels what it does not wait for
        executor.shutdown(wait=False)


def end_workers(executor: Executor) -> None:
    """Kill the workers of a pool of ours; they own no files. Nothing public does so before Python 3.14."""
    processes = processes_of(executor)
    for process in processes:
        process.kill()
    for process in processes:
        process.join(timeout=5)
    # One that was killed while it sent a result leaves the pool waiting for the rest, and with it the exit
    # of the interpreter: now that no worker holds the pipe, closing our end ends it.
    if processes and (results := getattr(executor, "_result_queue", None)):
        results._writer.close()


def may_start(executor: Executor, width: int) -> bool:
    """Return whether a pool of ours has fewer processes than it may have, so that it may start one."""
    return isinstance(executor, ProcessPoolExecutor) and len(processes_of(executor)) < width


def end_late(executor: Executor) -> bool:
    """End the workers of an executor that has brought nothing for too long.

    Returns False where no worker is at a task of ours, so that there is only to wait. Else every future that
    has not ended ends as one of a broken executor. An executor may have a method of this name that does so.

    Raises
    ------
    CannotEnd
        The executor has no way to end its workers.
    """
    own: Callable[[], bool] | None = getattr(executor, "end_late", None)
    if own is not None:
        return own()
    if not isinstance(executor, ProcessPoolExecutor):
        raise CannotEnd
    end_workers(executor)
    return True


def processes_of(executor: Executor) -> list[BaseProcess]:
    """Return the processes of a pool of ours, dead or alive; of another executor, none."""
    if not isinstance(executor, ProcessPoolExecutor):
        return []
    return list((getattr(executor, "_processes", None) or {}).values())  # None once it has been shut down
