"""A distributed engine that somebody has started: its scheduler's address in, an executor out.

Dask is the engine; it is an extra. Workers must have what we have: other versions would give other numbers,
so they are refused before the first run. Rows travel back to the driver; no disk need be shared.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from experiments.identity import versions
from simulator.errors import InputError, one_line

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_ANSWER = 10
"""Wall-clock seconds within which a scheduler, and then its first worker, has to be there."""


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
        yield Cluster(lambda: client.get_executor(pure=False), sum(client.nthreads().values()))


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
