"""Files that are whole or not there: written beside their place, flushed, and renamed into it.

Bytes or tables and a path come in; a disk that refuses is told as one `InputError`, and what was there
is then as it was. A folder can be held, by one process at a time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from simulator.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

TEMPORARY = ".tmp-"
"""Readers of a folder of Parquet skip names that begin with a dot."""


def ready_folder(folder: Path) -> None:
    """Make a folder for results and prove that it can be written, before anything runs.

    Raises
    ------
    InputError
        It cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f"{TEMPORARY}probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be written", where=str(folder), expected="a folder that can be written"
        ) from error


def write_atomically(path: Path, content: bytes | Callable[[Path], object]) -> None:
    """Make `path` hold `content` in one step: before it the old file, after it the new, never a part.

    Parameters
    ----------
    path : Path
        Its folder is made if it is not there. Where it is a link, what it leads to is written.
    content : bytes or callable
        The bytes, or a function that writes them to the path that it is given (same suffix as `path`).

    Raises
    ------
    InputError
        If the path cannot be written, or is a folder, a device or a pipe; nothing is left behind.
    """
    path = Path(path)
    with writing(path):
        if path.exists() and not path.is_file():
            raise InputError(
                "cannot be written (it is there, and is no file)",
                where=str(path),
                expected="the path of a file",
            )
        path = Path(os.path.realpath(path))
        temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            if isinstance(content, bytes):
                temporary.write_bytes(content)
            else:
                content(temporary)
            flush(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        flush(path.parent)


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write each table to `<folder>/<name>.parquet`: all of them, or none.

    A folder that holds nothing but Parquet files is replaced whole; anything else in it is not ours.

    Raises
    ------
    InputError
        If the folder holds other files, or cannot be written; what was there is then as it was.
    """
    folder = Path(folder)
    with writing(folder):
        strangers = [p.name for p in folder.iterdir() if p.suffix != ".parquet"] if folder.exists() else []
        if strangers:
            raise InputError(
                f"holds {min(strangers)!r}, which is not a table",
                where=str(folder),
                expected="a new folder, or one that holds only tables",
            )
        staged = folder.with_name(f"{TEMPORARY}{os.getpid()}-{folder.name}")
        old = folder.with_name(f"{TEMPORARY}{os.getpid()}-old-{folder.name}")
        try:
            staged.mkdir(parents=True)
            for name, table in tables.items():
                path = staged / f"{name}.parquet"
                try:
                    table.to_parquet(path, engine="pyarrow", compression="zstd", index=False)
                except OverflowError as error:
                    raise InputError(f"a number does not fit ({error})", where=str(path)) from error
                flush(path)
            flush(staged)
            if folder.exists():
                folder.rename(old)
            staged.rename(folder)
            flush(folder.parent)
        finally:
            if old.exists() and not folder.exists():
                old.rename(folder)
            shutil.rmtree(staged, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def hold_folder(folder: Path) -> IO[bytes]:
    """Lock the folder until the file that is returned is closed; the kernel does so for a killed driver."""
    import fcntl

    with contextlib.ExitStack() as refused, writing(folder):
        lock = refused.enter_context((folder / ".lock").open("ab"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                "another sweep is writing here",
                where=str(folder),
                expected="another folder, or its end",
            ) from error
        refused.pop_all()
    return lock


class DiskFault(InputError):
    """A disk that refuses what is written: a job stops, and can go on from there."""


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a disk says that has no more room for us."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell a disk that refuses as one line. Raises DiskFault."""
    try:
        yield
    except OSError as error:
        full = error.errno in FULL
        raise DiskFault(
            f"cannot be written ({error.strerror or error})",
            where=str(path),
            expected="room on the disk; what is done is kept" if full else "a folder to write in",
        ) from error


def flush(path: Path) -> None:
    """Have the disk keep what a file, or a folder, holds."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
