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
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from typing import NamedTuple, TypeVar

from experiments.files import DiskFault
from simulator.errors import SKIPPED, RunFailed, one_line

T = TypeVar("T")
R = TypeVar("R")
Landed = tuple[list[bytes], float]
"""The pickled results of a chunk, and the seconds that they took."""

LEAVING_SECONDS = 5.0
"""How long the processes of a pool may take to leave once all is done."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


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
        Name of the exception's class.
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
    kind = type(error).__name__
    below = error.__traceback__.tb_next if error.__traceback__ else None  # our own frame tells nothing
    stack = "".join(traceback.format_exception(type(error), error, below))
    if isinstance(error, RunFailed):
        return Failure(error.stage, kind, error.reason, stack)
    words = ""
    with contextlib.suppress(Exception):  # an exception of a user's may not even be printable
        words = one_line(str(error))
    return Failure(stage, kind, words or kind, stack)


# --------------------------------------------------------------------------- in the worker


def run_chunk(function: bytes, payload: list[bytes]) -> Landed:
    """Run the tasks of a chunk and return their pickled results, and the seconds that they took.

    Raises DiskFault where the function's own files cannot be written.
    """
    started = time.perf_counter()
    try:
        results = [_run_one(function, packed) for packed in payload]
    finally:  # after a Ctrl-C too
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


def _run_one(function: bytes, packed: bytes) -> bytes:
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


def _hears_the_user() -> bool:
    """Return whether a Ctrl-C comes here: to a main thread that does not leave it to another process."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, use one thread, and end when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """Without this, workers of a killed parent wait for ever (cpython issue 111873)."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# --------------------------------------------------------------------------- the pool


def open_pool(width: int, modules: list[str]) -> ProcessPoolExecutor:
    """Return a pool of so many processes, which load these modules once for all of them."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(width, context, _start_worker)
    forkserver.set_forkserver_preload(modules)  # loaded once for all workers, and for those of a new pool
    with _one_thread():
        forkserver.ensure_running()
    return ProcessPoolExecutor(width, multiprocessing.get_context("forkserver"), _start_worker)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Ask for one BLAS thread a process while the fork server starts: it loads numpy before any worker."""
    added = [name for name in ONE_THREAD if name not in os.environ]
    os.environ.update({name: ONE_THREAD[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


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


def processes_of(executor: Executor) -> list[BaseProcess]:
    """Return the processes of a pool of ours, dead or alive; of another executor, none."""
    if not isinstance(executor, ProcessPoolExecutor):
        return []
    return list((getattr(executor, "_processes", None) or {}).values())  # None once it has been shut down
