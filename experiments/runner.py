"""Many tasks over the usable cores, with the same results whatever the workers.

In come a module-level function and its tasks; out comes, task by task, the result or the `Failure` that
stands in its place. Tasks travel in chunks of about a second of work, pickled one by one, so that one bad
task or result spoils no other; in this process the same code runs. A worker process that dies costs a new
pool and a second look at what was in flight, never the sweep. Nothing here knows what a task is.
"""

from __future__ import annotations

import math
import os
import queue
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing, nullcontext
from typing import TypeVar

from experiments.files import DiskFault
from experiments.workers import (
    CannotEnd,
    Chunk,
    Failure,
    Landed,
    WorkersLost,
    close,
    end_late,
    end_workers,
    may_start,
    open_pool,
    pack,
    pack_function,
    processes_of,
    run_chunk,
    signals_held,
    unpack,
)
from simulator.errors import InputError, RunFailed, one_line

T = TypeVar("T")
R = TypeVar("R")

CHUNK_SECONDS = 0.75
"""Work a chunk should hold: long against the 0.2 ms that a submission costs, short for a progress bar."""
LARGEST_CHUNK = 250
BREAKS_ALLOWED = 3
"""A task that breaks the pool so many times while it runs alone is at fault."""
CHUNKS_PATIENCE = 3
"""Time limits that may pass while chunks of so many tasks bring nothing: several may be slow."""
LOST = "its worker was lost each time, though nothing else was at work"
"""What a row says of a task that kills its worker."""
NO_WORKER = (BrokenExecutor, EOFError, OSError)
"""What submitting raises where no worker can be had: a dead fork server's pipe is at its end."""
STARTING_SECONDS = 10.0
"""How long an executor may take to bring its first result, beside the time limit of tasks."""
TRIES_TO_OPEN = 3
"""How often an executor that has broken is opened again before it is given up."""
SECONDS_BETWEEN_TRIES = 0.2
DIE_AT_ONCE = "worker processes die as they start; use workers=0, or guard the script by __main__"
STALL_SECONDS = 5.0
"""After so long without a result we look ourselves whether all workers live."""


def usable_cores() -> int:
    """Return how many cores this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def run_tasks(
    execute: Callable[[T], R],
    tasks: Sequence[T],
    *,
    workers: int | None = None,
    on_done: Callable[[int, R | Failure], None] | None = None,
    chunk: int | None = None,
) -> list[R | Failure]:
    """Run every task and return the results in the order of the tasks.

    Parameters
    ----------
    execute : callable
        A function at the top of a module: it is pickled by its name, also for one worker.
    tasks : sequence of T
        Picklable inputs. They must not depend on each other.
    workers : int or None
        Worker processes; None takes the usable cores. 0 stays in this process, to look into a task or save
        the start of a worker: there a task can hang or kill us, and sets are printed in our order.
    on_done : callable or None
        Called here, as each task ends, with its index and result: in order of completion.
    chunk : int or None
        Tasks a submission; None measures and aims at `CHUNK_SECONDS` of work.

    Raises
    ------
    InputError
        If `workers` is below 0, or `chunk` below 1.
    TypeError
        If `execute` cannot be pickled.
    RunFailed
        If worker processes die before they can do anything.

    Examples
    --------
    >>> import math
    >>> run_tasks(math.sqrt, [4.0, 9.0], workers=0)
    [2.0, 3.0]
    """
    found: dict[int, R | Failure] = {}
    with closing(stream_tasks(execute, tasks, workers=workers, chunk=chunk)) as stream:
        for index, result in stream:
            found[index] = result
            if on_done is not None:
                on_done(index, result)
    return [found[index] for index in range(len(tasks))]


def stream_tasks(
    execute: Callable[[T], R],
    tasks: Sequence[T],
    *,
    workers: int | None = None,
    chunk: int | None = None,
    open_executor: Callable[[], Executor] | None = None,
    time_limit: float | None = None,
) -> Generator[tuple[int, R | Failure], None, None]:
    """Yield `(index, result)` in order of completion, keeping no result: memory does not grow.

    Close the iterator (`contextlib.closing`) to stop: what is pending is cancelled and our workers end at
    once, as they do when Ctrl-C or any other exception passes through. The tasks may grow meanwhile: what is
    appended before the next result is asked for is run too. Parameters and errors are those of `run_tasks`.

    Parameters
    ----------
    open_executor : callable or None
        Makes the executor, and a new one if it breaks: a cluster's, for instance. `workers` then says how
        many tasks it can run at once, 1 or more. None makes a process pool of our own.
    time_limit : float or None
        Seconds that a task should take at most. An executor that brings nothing for longer is taken to hang:
        its workers are ended, as `end_late` can, and what was in flight is run again, one by one. Where they
        cannot be ended, CannotEnd is raised after what can be told.
    """
    width = usable_cores() if workers is None else workers
    least = 0 if open_executor is None else 1
    if width < least:
        raise InputError(f"{width} workers cannot run anything", where="workers", expected=f"{least} or more")
    if chunk is not None and chunk < 1:
        raise InputError(f"a chunk of {chunk} tasks never ends", where="chunk", expected="1 or more")
    function = pack_function(execute)
    pace = _Pace(chunk, width)
    if not tasks or width == 0:
        return _serial(function, tasks, pace)
    modules = ["__main__", getattr(execute, "__module__", "__main__")]
    opener = open_executor or (lambda: open_pool(width, modules))
    return _Crew(function, tasks, pace, opener, time_limit).stream()


class _Pace:
    """How many tasks to send at once: about `CHUNK_SECONDS` of work, and fewer toward the end."""

    def __init__(self, chunk: int | None, width: int) -> None:
        self.chunk, self.width = chunk, width
        self.seconds = 0.0
        """Seconds a task, smoothed over the last chunks; 0 before the first has ended."""

    def learn(self, tasks: int, seconds: float) -> None:
        """Take in how long a chunk took."""
        latest = seconds / tasks
        self.seconds = (self.seconds + latest) / 2 if self.seconds else latest

    def size(self, remaining: int) -> int:
        """Return how many of the remaining tasks to send."""
        if self.chunk is not None:
            return min(self.chunk, remaining)
        if not self.seconds:
            return 1
        fair = remaining // (2 * self.width) if self.width > 1 else remaining
        return max(1, min(int(CHUNK_SECONDS / self.seconds), fair, LARGEST_CHUNK))


def _serial(
    function: bytes, tasks: Sequence[T], pace: _Pace
) -> Generator[tuple[int, R | Failure], None, None]:
    start = 0
    while start < len(tasks):
        stop = start + pace.size(len(tasks) - start)
        chunk, failures = pack(tasks, start, stop)
        start = stop
        yield from failures
        if chunk.indices:
            results, seconds = run_chunk(function, chunk.payload)
            pace.learn(len(results), seconds)
            yield from unpack(chunk, results)


class _Crew:
    """Workers, the chunks in flight, and what to do when a worker dies."""

    def __init__(
        self,
        function: bytes,
        tasks: Sequence[T],
        pace: _Pace,
        open_executor: Callable[[], Executor],
        time_limit: float | None,
    ) -> None:
        self.function, self.tasks, self.pace = function, tasks, pace
        self.open_executor, self.time_limit = open_executor, time_limit
        self.ended: queue.SimpleQueue[Future[Landed]] = queue.SimpleQueue()
        """Not `concurrent.futures.wait`: a Ctrl-C in its midst can leave a future locked for ever."""
        self.hung = False
        """Whether the workers had to be killed, since we last looked."""
        self.starts = True
        """Whether no worker has been heard yet."""

    def stream(self) -> Generator[tuple[int, R | Failure], None, None]:
        self.executor = self.open_executor()
        at_once = True
        try:
            yield from self._fly()
            at_once = False
        finally:
            close(self.executor, at_once=at_once)

    def _fly(self) -> Iterator[tuple[int, R | Failure]]:
        """Keep a window of chunks in flight; when the executor breaks, sort out who did it."""
        flying: dict[Future[Landed], Chunk] = {}
        start = 0
        while True:
            while start < len(self.tasks) and len(flying) < 2 * self.pace.width + 2:
                stop = start + self.pace.size(len(self.tasks) - start)
                chunk, failures = pack(self.tasks, start, stop)
                start = stop
                yield from failures
                if chunk.indices:
                    flying[self._submit(chunk)] = chunk
            if not flying:
                return
            suspects: deque[Chunk] = deque()
            try:
                done = [self._next(flying.values())]
                if _fault(done[0]) is not None:  # see all of them end: lost too, or finished just before
                    done += [self._next(flying.values()) for _ in range(len(flying) - 1)]
            except CannotEnd:
                for future, chunk in flying.items():
                    if future.running() and len(chunk.indices) == 1:
                        yield chunk.indices[0], self._endless()
                raise
            if any(isinstance(_fault(future), BrokenExecutor) for future in done):
                self._reopen()
            hung = self._has_hung()
            for future in done:
                chunk = flying.pop(future)
                if _fault(future) is None:
                    yield from self._land(chunk, future)
                else:
                    suspects.extend(chunk.singles() if hung else [chunk])
            yield from self._question(suspects)

    def _question(self, suspects: deque[Chunk]) -> Iterator[tuple[int, R | Failure]]:
        """Run suspects one at a time and halve those that break the executor, down to the task at fault."""
        while suspects:
            chunk = suspects.popleft()
            future = self._submit(chunk)
            try:
                error = _fault(self._next([chunk]))
            except CannotEnd:
                if len(chunk.indices) == 1:
                    yield chunk.indices[0], self._endless()
                raise
            hung = self._has_hung()
            if error is None:
                yield from self._land(chunk, future)
                continue
            if isinstance(error, BrokenExecutor):
                self._reopen()
            if len(chunk.indices) > 1:
                suspects.extendleft(reversed(chunk.singles() if hung else chunk.halves()))
            elif hung:
                yield chunk.indices[0], self._endless()
            elif chunk.breaks + 1 < BREAKS_ALLOWED and not isinstance(error, WorkersLost):
                suspects.appendleft(chunk._replace(breaks=chunk.breaks + 1))
            elif isinstance(error, BrokenExecutor):  # in words that are the same wherever it ran
                yield chunk.indices[0], Failure("worker", BrokenExecutor.__name__, LOST)
            else:
                kind = type(error).__name__
                yield chunk.indices[0], Failure("worker", kind, one_line(str(error)) or kind)

    def _endless(self) -> Failure:
        reason = f"no end within {self.time_limit:g} seconds, and it heeded nothing"
        return Failure("worker", TimeoutError.__name__, reason)

    def _submit(self, chunk: Chunk) -> Future[Landed]:
        try:
            with signals_held() if may_start(self.executor, self.pace.width) else nullcontext():
                future = self.executor.submit(run_chunk, self.function, chunk.payload)
        except NO_WORKER as error:  # it broke since we last looked
            future = Future()
            future.set_exception(BrokenExecutor(str(error)))
        future.add_done_callback(self.ended.put)
        return future

    def _next(self, chunks: Collection[Chunk]) -> Future[Landed]:
        """Wait for a future of these chunks to end, be it because the executor broke, or hangs."""
        started = time.monotonic()
        patience = math.inf
        if self.time_limit is not None:
            longest = max(len(chunk.indices) for chunk in chunks)
            patience = min(CHUNKS_PATIENCE, longest) * self.time_limit + STALL_SECONDS
            patience += STARTING_SECONDS if self.starts else 0.0
        while True:
            left = started + patience - time.monotonic()
            try:
                ended = self.ended.get(timeout=max(0.0, min(STALL_SECONDS, left)))
                self.starts = False
                return ended
            except queue.Empty:
                if any(process.exitcode is not None for process in processes_of(self.executor)):
                    end_workers(self.executor)
                elif time.monotonic() - started >= patience:
                    self.hung |= end_late(self.executor)
                    started = time.monotonic()

    def _has_hung(self) -> bool:
        hung, self.hung = self.hung, False
        return hung

    def _land(self, chunk: Chunk, future: Future[Landed]) -> Iterator[tuple[int, R | Failure]]:
        results, seconds = future.result()
        self.pace.learn(len(results), seconds)
        yield from unpack(chunk, results)

    def _reopen(self) -> None:
        """Open the executor anew. A fork server that is dying may still take the first tries along."""
        for left in reversed(range(TRIES_TO_OPEN)):
            close(self.executor, at_once=True)
            self.executor = self.open_executor()
            try:
                self.executor.submit(os.getpid).result()
            except NO_WORKER as error:
                if not left:
                    raise RunFailed("worker", DIE_AT_ONCE) from error
                time.sleep(SECONDS_BETWEEN_TRIES)
            else:
                return


def _fault(future: Future[Landed]) -> BaseException | None:
    """Return what a future ended with. Raises what ends the whole: a full disk, an engine that is gone."""
    if future.cancelled():
        raise RunFailed("worker", "the executor has dropped what it was given; has its scheduler ended?")
    fault = future.exception()
    if isinstance(fault, DiskFault):
        raise fault
    return fault
