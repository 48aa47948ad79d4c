"""What the commands share: options, and a standard output that holds results and nothing else."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal

import typer

from simulator.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="JSON lines on stdout, nothing else there.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Worker processes; all usable cores by default. 0: this process, which a policy can then end.",
        min=0,
    ),
]
Progress = Annotated[
    Literal["auto", "bar", "plain", "none"],
    typer.Option("--progress", help="On stderr; auto is a bar on a terminal and nothing elsewhere."),
]
Policies = Annotated[
    list[str], typer.Option("--policy", help="Name, TOML file or package.module:Class; repeatable.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="path=value of the scenario, policy.path=value, or NAME.path=value; repeatable."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Root seed.", min=0)]
Save = Annotated[Path | None, typer.Option("--save", help="Folder for the tables, one folder a policy.")]
Trace = Annotated[
    Path | None, typer.Option("--trace", help="The run as Chrome trace JSON, which Perfetto opens.")
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Picture of occupancy by turn: png, svg or pdf.")]


@contextmanager
def results_alone_on_stdout() -> Iterator[None]:
    """Send to stderr what policies and workers print while they run: it is no result."""
    try:
        kept = os.dup(1)
    except OSError:  # nobody listens there
        yield
        return
    own = sys.stdout
    elsewhere = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else os.dup(2)
    with os.fdopen(elsewhere, "w", errors="replace") as aside:
        os.dup2(aside.fileno(), 1)
        sys.stdout = aside
        try:
            yield
        finally:
            if sys.__stdout__ is not None and not sys.__stdout__.closed:
                sys.__stdout__.flush()
            sys.stdout = own
            os.dup2(kept, 1)
            os.close(kept)


class ToldToEnd(KeyboardInterrupt):
    """A signal of who ends jobs or closes terminals: to all that is under way it is a Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def ending_in_order() -> Iterator[None]:
    """End what is under way as after a Ctrl-C when the process is told to end, and leave with 128 + signal.

    Only where the signal would kill: under `nohup` a terminal may go.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for other in ours:
            signal.signal(other, signal.SIG_IGN)  # once is enough, and the end must not be disturbed
        raise ToldToEnd(number)

    try:
        for number in ours:
            signal.signal(number, end)
        yield
    except ToldToEnd as told:
        print(f"ended by {signal.Signals(told.number).name}", file=sys.stderr)
        raise typer.Exit(128 + told.number) from None
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def say(text: str) -> None:
    """Write results to stdout. A reader that has gone is none of our faults; a full disk is told."""
    try:
        if sys.stdout is None or sys.stdout.closed:
            raise InputError("is closed", where="stdout", expected="somewhere to write to")
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()
    except OSError as fault:
        _hush()
        raise InputError(f"cannot be written ({fault.strerror})", where="stdout") from None


def _hush() -> None:
    """Leave stdout nothing more to flush into."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
