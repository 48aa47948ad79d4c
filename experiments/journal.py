"""The journal of a sweep: what each process has finished, one line a run, in a file of its own.

A process appends whole lines and flushes them to the disk at the end of a chunk; nobody else writes to its
file. What a killed process, or a full disk, has torn is the last line of a file: it is left out, with a
note, and its run is run again, as is what anything else has changed: a line is JSON, the checksum of what
it says and what it says, the run's number and its rows by table.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from experiments.files import flush, writing

Scalar = str | int | float | bool | None
Tables = Mapping[str, Sequence[Sequence[Scalar]]]
"""Rows by the name of their table, values in the order of its columns."""


class Line(NamedTuple):
    """The line of a run: where it begins in its file, in bytes, and whether the run failed."""

    run: int
    offset: int
    failed: bool


class Journal:
    """The file of one process, which is open while there is something to write.

    Parameters
    ----------
    folder : Path
        Where the journals of the sweep lie; it must be there.
    digest : str
        Of the sweep, so that a file of another is known.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder, self.digest = folder, digest
        self._path: Path | None = None
        self._file: IO[bytes] | None = None

    def __reduce__(self) -> tuple[type[Journal], tuple[Path, str]]:
        return Journal, (self.folder, self.digest)  # each process has a file of its own

    def append(self, run: int, tables: Tables) -> None:
        """Write the line of one run. Raises DiskFault where the disk refuses."""
        line = _line([run, tables])
        with writing(self.folder):
            if self._file is None:
                self._file = self._open()
            self._file.write(line)

    def sync(self) -> None:
        """Flush what was written to the disk, and close the file. Raises DiskFault where it refuses."""
        if self._file is None:
            return
        file, path = self._file, self._path
        self._file = self._path = None  # after a refusal a new file: this one may end within a line
        with writing(self.folder), file:
            file.flush()
            os.fsync(file.fileno())
        self._path = path

    def _open(self) -> IO[bytes]:
        if self._path is not None and self._path.exists():  # compaction removes it
            return self._path.open("ab")
        descriptor, path = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX, dir=self.folder)
        self._path = Path(path)
        file = os.fdopen(descriptor, "wb")
        file.write(_line(_header(self.digest)))
        flush(self.folder)
        return file


PREFIX, SUFFIX = "by-", ".jsonl"
"""Of the names of a journal's files."""


def journals_in(folder: Path) -> list[Path]:
    """Return the files of a journal, sorted."""
    return sorted(path for path in folder.glob(f"{PREFIX}*{SUFFIX}") if path.is_file())


def is_of_another(path: Path, digest: str) -> bool:
    """Return whether a file is that of another sweep; one whose first line is torn is of none."""
    with path.open("rb") as file:
        return _read(file.readline()) not in (None, _header(digest))


def lines_of(path: Path, digest: str, *, notes: bool = False) -> Iterator[Line]:
    """Yield the lines of one file; none of a file of another sweep.

    What is torn is passed over, which `notes` says on stderr.
    """
    if is_of_another(path, digest):
        if notes:
            _note(path, "belongs to another sweep and is passed over")
        return
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file):
            read = _read(line)
            if isinstance(read, list):
                run, tables = read
                yield Line(run, offset, bool(tables["failures"]))
            elif read is None and notes:
                _note(path, f"line {number + 1} is torn and is left out; its run is run again")
            offset += len(line)


def read_at(file: IO[bytes], offset: int) -> tuple[int, Tables]:
    """Return the run and the rows of the line at an offset."""
    file.seek(offset)
    _, (run, tables) = json.loads(file.readline())
    return run, tables


def _header(digest: str) -> dict[str, str]:
    return {"sweep": digest}


def _line(value: object) -> bytes:
    words = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = words.encode(errors="replace")  # a half of a surrogate pair, which no table can hold
    return b"[%d,%b]\n" % (zlib.crc32(text), text)


def _read(line: bytes) -> object:
    """Return what a line says, or None where it is torn."""
    checksum, _, rest = line.partition(b",")
    text = rest.removesuffix(b"]\n")
    if text == rest or checksum != b"[%d" % zlib.crc32(text):
        return None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) or _is_of_a_run(read) else None


def _is_of_a_run(read: object) -> bool:
    """Return whether it is a number and tables, one row of the runs and a list of failures among them."""
    match read:
        case [int(), {"runs": [[*_]], "failures": [*_]}]:
            return not isinstance(read[0], bool)
    return False


def _note(path: Path, what: str) -> None:
    print(f"note: {path.parent.name}/{path.name} {what}", file=sys.stderr)
