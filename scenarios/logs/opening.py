"""Opens a log, or says in one line why the path cannot be one.

Comes in: a path. Goes out: the open file, known to be regular, not empty and not binary.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import BinaryIO, NoReturn

from simulator.errors import InputError, nearest_name, one_line

_HEAD_BYTES = 8_192
"""Bytes that are searched for NUL, as text holds none."""


def open_log(path: Path) -> BinaryIO:
    """Open a log for reading in bytes.

    Raises
    ------
    InputError
        If there is no such file, or it is no regular file, not readable, empty, or binary.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        _missing(path)
    except (OSError, ValueError) as error:
        raise InputError(_reason(error), where=str(path), expected="a readable log file") from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError("is a folder", where=str(path), expected="a log file")
    if not stat.S_ISREG(status.st_mode):
        raise InputError("is not a regular file", where=str(path), expected="a log file")
    if not status.st_size:
        raise InputError("is empty", where=str(path), expected="a log with at least one record")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(_reason(error), where=str(path), expected="a readable log file") from None
    if b"\0" in file.read(_HEAD_BYTES):
        file.close()
        raise InputError("is not a text file (it holds NUL bytes)", where=str(path), expected="UTF-8 JSON")
    file.seek(0)
    return file


def _missing(path: Path) -> NoReturn:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        raise InputError(
            "no such file, and its folder cannot be read", where=str(path), expected="a log file"
        ) from None
    nearest = one_line(nearest_name(path.name, names))
    raise InputError("no such file", where=str(path), expected="a log file", nearest=nearest) from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
