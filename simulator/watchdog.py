"""The watchdog: a policy that does not answer, or a run that does not end, is given up.

It looks once a second of wall-clock time, by an alarm in a main thread and by a thread of its own
elsewhere, and raises in the run what names the fault. It changes nothing of a run that ends in time,
and nothing once the run has ended: what is on its way at that moment may come anywhere, so that each look
sees for itself whether the run is still there.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from simulator.errors import RunFailed
from simulator.workspace import Workspace

PATIENCE_SECONDS = 20
"""Wall-clock seconds that one call of a policy may take before the run is given up."""

LOOKS_EVERY = 1.0
"""Seconds between two looks."""

SOON = 10_000
"""Steps within which a thread hears what was sent to it."""

SOONEST_ALARM_SECONDS = 1e-3
"""When an alarm of the host that fell due during a run goes off after it; 0 would disarm it."""


def watched(fleet: Sequence[Workspace], time_limit: float | None) -> AbstractContextManager[None]:
    """Return a context, for the function that asks, in which a call of a policy has `PATIENCE_SECONDS`.

    All of it has `time_limit`. Raises TimeoutError in a call that does not return, RunFailed where the
    time is up.
    """
    look = _Look(fleet, time_limit, sys._getframe(1))
    main = threading.current_thread() is threading.main_thread()
    return _by_alarm(look) if main and hasattr(signal, "setitimer") else _by_thread(look)


class _Look:
    """What is seen of a run from second to second; called, it returns what is to be raised, or None."""

    def __init__(self, fleet: Sequence[Workspace], time_limit: float | None, run: FrameType) -> None:
        self.fleet, self.time_limit, self.run = fleet, time_limit, run
        self.started = time.monotonic()
        self.seen: tuple[object, ...] = ()
        self.ticks = 0

    def has_left(self, frame: FrameType | None) -> bool:
        """Return whether this thread, which is now at a frame, has left the run.

        Not for another thread: its generators come and go while one walks over their frames.
        """
        while frame is not None and frame is not self.run:
            frame = frame.f_back
        return frame is None

    def __call__(self) -> type[BaseException] | None:
        if self.time_limit is not None and time.monotonic() - self.started > self.time_limit:
            limit = self.time_limit

            class OverTime(Interruption, RunFailed):
                def __init__(self) -> None:
                    super().__init__("time limit", f"no end within {limit:g} seconds")

            OverTime.__name__ = TimeoutError.__name__  # what it is to a user
            return OverTime
        now = tuple((work.asking, work.turn, work.attempts) for work in self.fleet)
        self.ticks = self.ticks + 1 if any(work.asking for work in self.fleet) and now == self.seen else 0
        self.seen = now
        if self.ticks < PATIENCE_SECONDS:
            return None
        self.ticks = 0
        return NoAnswer


class Interruption:
    """What comes to a run wherever it happens to be: where that was says nothing."""


class NoAnswer(Interruption, TimeoutError):
    """A call of a policy that has not returned."""

    def __str__(self) -> str:
        """Return what a user is told."""
        return f"no answer within {PATIENCE_SECONDS} seconds"


NoAnswer.__name__ = TimeoutError.__name__


@contextmanager
def _by_alarm(look: _Look) -> Iterator[None]:
    ended = False

    def tick(_number: int, frame: FrameType | None) -> None:
        if ended or look.has_left(frame):
            give_back()
            return
        fault = look()
        signal.setitimer(signal.ITIMER_REAL, LOOKS_EVERY)  # one look at a time, however long it takes
        if fault is not None:
            raise fault

    def give_back() -> None:
        nonlocal ended
        ended = True  # from here on a look that was on its way sets no further alarm
        if signal.getsignal(signal.SIGALRM) is not tick:  # given back before
            return
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if left:  # the host has an alarm of its own: give it back, due when it was due
            due = max(left - (time.monotonic() - started), SOONEST_ALARM_SECONDS)
            signal.setitimer(signal.ITIMER_REAL, due, interval)

    before, started = signal.getsignal(signal.SIGALRM), time.monotonic()
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    try:
        signal.signal(signal.SIGALRM, tick)
        signal.setitimer(signal.ITIMER_REAL, LOOKS_EVERY)
        yield
    finally:
        give_back()


@contextmanager
def _by_thread(look: _Look) -> Iterator[None]:
    """Look from another thread: workers of a cluster run their tasks beside their main thread."""
    thread = threading.get_ident()
    ended = threading.Event()
    one_at_a_time = threading.Lock()
    sent: list[type[BaseException]] = []

    def keep_looking() -> None:
        while not ended.wait(LOOKS_EVERY):
            with one_at_a_time:
                if not ended.is_set() and (fault := look()) is not None:
                    sent.append(fault)
                    send(ctypes.c_ulong(thread), ctypes.py_object(fault))

    send = ctypes.pythonapi.PyThreadState_SetAsyncExc
    looker = threading.Thread(target=keep_looking, name="watchdog", daemon=True)
    try:
        looker.start()  # in here: a word may be heard before this returns
        yield
    finally:
        while True:
            try:
                with one_at_a_time:
                    ended.set()
                break
            except (RunFailed, NoAnswer):  # heard just here; a call outside of the try could hear it, too
                pass
        if sent:
            _hear_out(tuple(sent))


def _hear_out(sent: tuple[type[BaseException], ...]) -> None:
    """Take what is still on its way and comes too late.

    Not by taking it back: the interpreter would go on looking for it at every call (Python 3.11).
    """
    try:
        for _ in range(SOON):
            pass
    except sent:
        pass
