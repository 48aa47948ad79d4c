"""How far a long job is, on stderr: a bar on a terminal, plain lines where they are asked for, or nothing.

In come steps (`advance`); out come done of total, rate, time left, and failures. Standard output is never
touched, so that `--json` stays clean. Rich is imported for a bar only.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

Mode = Literal["auto", "bar", "plain", "none"]

SECONDS_BETWEEN_LINES = 10.0
SHARE_BETWEEN_LINES = 0.05


class Progress(Protocol):
    """What a job tells while it runs."""

    def advance(self, steps: int = 1, *, failures: int = 0, more: int = 0) -> None:
        """Say that `steps` are done, of which `failures` failed, and that `more` have come to be done."""


@contextlib.contextmanager
def progress(total: int, label: str, mode: Mode = "auto", *, done: int = 0) -> Iterator[Progress]:
    """Show how far a job of `total` steps is, for as long as the block lasts.

    Parameters
    ----------
    total : int
        Steps in the whole job.
    label : str
        What is done, in a word or two.
    mode : {"auto", "bar", "plain", "none"}
        `auto` is a bar on a terminal, plain lines on a dumb one, and nothing elsewhere.
    done : int
        Steps that an earlier session did; they count as done, but not for rate and time left.

    Examples
    --------
    >>> with progress(2, "runs", "none") as shown:
    ...     shown.advance()
    """
    if mode == "auto":
        mode = _mode_for(sys.stderr)
    tally = Tally(total, label, done=done)
    if mode == "none" or sys.stderr is None:
        yield _Silent()
    elif mode == "bar":
        with _rich_bar() as bar:
            yield _Bar(tally, bar)
    else:
        lines = PlainLines(tally, sys.stderr)
        try:
            yield lines
        finally:
            lines.close()


class Tally:
    """Counts steps and tells the state in one line.

    Parameters
    ----------
    total, label, done
        As in `progress`.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self, total: int, label: str, *, done: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total, self.label, self.done, self.failures, self.clock = total, label, done, 0, clock
        self.began_with, self.began_at = done, clock()

    def count(self, steps: int, failures: int, more: int = 0) -> None:
        """Take in what has been done, and has come to be done, since the last call."""
        self.done += steps
        self.total += more
        self.failures += failures

    def line(self) -> str:
        """Return done of total, and as far as they are known rate, time left and failures.

        >>> Tally(8, "runs", done=2).line()
        'runs: 2/8 (25%)'
        """
        share = self.done / self.total if self.total else 1.0
        seconds = self.clock() - self.began_at
        rate = (self.done - self.began_with) / seconds if seconds > 0 else 0.0
        words = [f"{self.label}: {self.done}/{self.total} ({share:.0%})"]
        if rate > 0:
            words.append(f"{rate:.3g}/s")
            if self.done < self.total:
                words.append(f"{timedelta(seconds=round((self.total - self.done) / rate))} left")
        if self.failures:
            words.append(f"{self.failures} failed")
        return ", ".join(words)


class PlainLines:
    """One line after 10 seconds or 5 % of the job, whichever comes first, and one at the end."""

    def __init__(self, tally: Tally, stream: TextIO) -> None:
        self.tally, self.stream = tally, stream
        self.said_done, self.said_at = tally.done, tally.began_at

    def advance(self, steps: int = 1, *, failures: int = 0, more: int = 0) -> None:
        """Count the steps, and say so if it is time to."""
        self.tally.count(steps, failures, more)
        late = self.tally.clock() - self.said_at >= SECONDS_BETWEEN_LINES
        if late or self.tally.done - self.said_done >= SHARE_BETWEEN_LINES * self.tally.total:
            self._say()

    def close(self) -> None:
        """Say how it ended, unless the last line has said it."""
        if self.tally.done != self.said_done:
            self._say()

    def _say(self) -> None:
        self.said_done, self.said_at = self.tally.done, self.tally.clock()
        with contextlib.suppress(OSError, ValueError):  # nobody reads stderr any more: the job matters more
            print(self.tally.line(), file=self.stream, flush=True)


class _Bar:
    def __init__(self, tally: Tally, bar: RichProgress) -> None:
        self.tally, self.bar = tally, bar
        self.task = bar.add_task(tally.line(), total=tally.total, completed=tally.done)

    def advance(self, steps: int = 1, *, failures: int = 0, more: int = 0) -> None:
        self.tally.count(steps, failures, more)
        line = self.tally.line()
        self.bar.update(self.task, completed=self.tally.done, total=self.tally.total, description=line)


class _Silent:
    def advance(self, steps: int = 1, *, failures: int = 0, more: int = 0) -> None:
        pass


def _rich_bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        redirect_stdout=False,  # rich would send what is printed to stdout to its own console: stderr
    )


def _mode_for(stream: TextIO | None) -> Mode:
    """Return what suits those who read a stream; in CI a terminal is none."""
    if stream is None or not stream.isatty() or os.environ.get("CI"):
        return "none"
    return "plain" if os.environ.get("TERM") == "dumb" else "bar"
