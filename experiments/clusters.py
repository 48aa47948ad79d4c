"""A distributed engine that somebody has started: its scheduler's address in, an executor out.

Dask is the engine; it is an extra. Workers must have what we have: other versions would give other numbers,
so they are refused before the first run. Rows travel back to the driver; no disk need be shared.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from experiments.identity import versions
from experiments.workers import CannotEnd, WorkersLost
from simulator.errors import InputError, one_line

if TYPE_CHECKING:
    from distributed import Client

P = ParamSpec("P")
R = TypeVar("R")

SECONDS_TO_ANSWER = 10
"""Wall-clock seconds within which a scheduler, and then its first worker, has to be there."""


SECONDS_TO_SHOW = 3
"""Wall-clock seconds within which a worker tells what it is at; one that does not is held up by a task."""

SECONDS_TO_RESTART = 60
"""Wall-clock seconds within which workers that hang have to be there again."""


class Cluster(NamedTuple):
    """An executor that can be opened, and how many runs it makes at once."""

    open_executor: Callable[[], Executor]
    width: int


@contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Connect to a Dask scheduler for as long as the block lasts.

    Raises
    ------
    InputError
        Dask is not installed, nobody answers at the address, there is no worker, or a worker has other
        versions than this process.
    """
    try:
        from distributed.utils import silence_logging_cmgr
    except ImportError as fault:
        raise InputError(
            "a scheduler needs the extra dask", where="--scheduler", expected="pip install 'rewritelab[dask]'"
        ) from fault
    with silence_logging_cmgr(logging.CRITICAL), _connected(address) as client:  # we say what matters
        _require_workers(client, address)
        yield Cluster(lambda: DaskExecutor(client), sum(client.nthreads().values()))


class DaskExecutor(Executor):
    """Dask's executor, whose lost workers are those of any executor, and which can end those that hang."""

    def __init__(self, client: Client) -> None:
        assert client.scheduler is not None, "it is connected"
        self.client, self._scheduler = client, client.scheduler
        self._own = client.get_executor(pure=False)
        self._waiting: dict[str, tuple[Future[object], Future[object]]] = {}
        """Of each task that has not ended, by its key there: Dask's future, and what we have given out."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Send a task."""
        key = f"rewritelab-{uuid.uuid4().hex}"
        there, here = self._own.submit(fn, *args, key=key, **kwargs), Future[R]()
        self._waiting[key] = there, here  # type: ignore[assignment]
        there.add_done_callback(partial(self._pass_on, key))
        return here

    def _pass_on(self, key: str, there: Future[object]) -> None:
        from distributed import KilledWorker

        _, here = self._waiting.pop(key)
        with suppress(InvalidStateError):  # it was given up just now
            if there.cancelled():
                here.cancel()
            elif isinstance(fault := there.exception(), KilledWorker):
                here.set_exception(WorkersLost())
            elif fault is not None:
                here.set_exception(fault)
            else:
                here.set_result(there.result())

    def end_late(self) -> bool:
        """Start the workers that are at our tasks anew, as `workers.end_late`. Others of them are left alone.

        Raises
        ------
        CannotEnd
            One of them has no nanny, which could end it.
        """
        waiting = dict(self._waiting)
        there = {
            worker: [key for key in keys if key in waiting]
            for worker, keys in self.client.processing().items()
        }
        at_work = {worker: self._at_work(keys) for worker, keys in there.items() if keys}
        late = [worker for worker, keys in at_work.items() if keys]
        if not late:
            return False
        for keys in at_work.values():
            for key in keys:
                with suppress(InvalidStateError, RuntimeError):  # it has just ended
                    waiting[key][1].set_running_or_notify_cancel()
        known = self.client.sync(self._scheduler.identity, n_workers=-1)["workers"]
        if any(worker in known and known[worker]["nanny"] is None for worker in late):
            raise CannotEnd
        for dasks, here in waiting.values():
            with suppress(InvalidStateError):
                here.set_exception(BrokenExecutor())
            dasks.cancel()
        with suppress(TimeoutError):  # those that are there again go on
            self.client.restart_workers(late, timeout=SECONDS_TO_RESTART, raise_for_error=False)
        return True

    def _at_work(self, keys: list[str]) -> list[str]:
        """Return which of the tasks that lie at one worker it is at; all, where it says nothing any more."""
        try:
            found = self.client.sync(self._scheduler.call_stack, keys=keys, callback_timeout=SECONDS_TO_SHOW)
        except TimeoutError:
            return keys
        except Exception:  # one of them has just ended
            return []
        return [key for stacks in found.values() for key in stacks]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what is under way, or cancel it."""
        self._own.shutdown(wait=wait and not cancel_futures)


def _connected(address: str) -> Client:
    from distributed import Client

    try:
        _require_answer(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions: we look at those that count ourselves
            return Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except Exception as fault:  # of several kinds, by what is wrong with the address
        raise InputError(
            f"no scheduler answers at {address!r} ({one_line(str(fault)) or type(fault).__name__})",
            where="--scheduler",
            expected="the address of a Dask scheduler, tcp://host:8786 for instance",
        ) from fault


def _require_answer(address: str) -> None:
    """Raise TimeoutError where somebody listens who says nothing: `Client` would wait for ever."""
    from distributed import Security
    from distributed.comm.core import connect

    async def greet() -> None:
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            words = Security().get_connection_args("client")
            (await connect(address, timeout=SECONDS_TO_ANSWER, **words)).abort()

    with ThreadPoolExecutor(1) as beside:  # this thread may have a loop of its own, as in a notebook
        beside.submit(lambda: asyncio.run(greet())).result()


def _require_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
    except Exception as fault:
        raise InputError(
            f"the scheduler at {address!r} has no worker", where="--scheduler", expected="1 or more"
        ) from fault
    try:
        there = client.run(versions)
    except Exception as fault:
        raise InputError(
            f"the workers at {address!r} cannot run rewritelab ({one_line(str(fault))})",
            where="--scheduler",
            expected="workers in an environment like this one",
        ) from fault
    here = versions()
    for worker, found in there.items():
        for name, own in here.items():
            if found.get(name) != own:
                raise InputError(
                    f"the worker {worker} has {name} {found.get(name)}, and this process {own}",
                    where="--scheduler",
                    expected="the same versions everywhere",
                )
