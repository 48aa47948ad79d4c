"""Results on disk: a sweep that survives its own death, and tables that are whole or not there.

A sweep is a folder. `manifest.json` says which sweep it is and what sessions it has seen; workers append to
`journal/`; when all is run, the parent compacts the journal into one Parquet file a table, sorted by run.
The bytes of those files follow from the rows alone, never from workers, order or clock. A table appears by
one rename, that of the runs last; only then the journal goes. So a kill at any moment loses what was in
flight, and nothing is there twice: where a run has several lines, the first that did not fail counts.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from experiments.files import TEMPORARY, flush, hold_folder, write_atomically, writing
from experiments.identity import Identity, differences_between, digest_of
from experiments.journal import Journal, Tables, is_of_another, journals_in, lines_of, read_at
from experiments.parquet import (
    RUN,
    Columns,
    SortedRows,
    TableWriter,
    open_table,
    rows_of,
    table_of,
    unreadable,
    whole_table,
)
from simulator.errors import SKIPPED, InputError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "rewritelab sweep 3"
"""First line of every manifest of ours; a new number when older folders can no longer be resumed."""

RUNS, FAILURES = "runs", "failures"
"""The table with one row a run, and that of the runs that failed."""

LARGEST_SWEEP = 10**9
"""Runs of a sweep at most; a manifest that says more is damaged."""

FAILED = "failed_stage"
"""The column of the runs that is None where a run did not fail, and `skipped` where it was never begun."""


class SweepStore:
    """A sweep's folder, held by one driver; a context manager.

    States: closed; open (locked, checked, manifest written); closed again. Workers write through
    `journal`, the driver ends with `compact`.

    Parameters
    ----------
    folder : Path
        Made if it is not there. Files of others in it are left alone.
    identity : mapping
        Names the sweep; a folder is resumed only by the sweep that began it.
    size : int
        Runs in the plan.
    tables : mapping of str to Columns
        The tables, with `runs`, which has a column `failed_stage`, and `failures` among them.
    session : mapping
        What a reader should know (command, file): one entry a session, as JSON.
    fresh : bool
        Remove the results of an earlier sweep first.

    Raises
    ------
    InputError
        On entering: the folder cannot be written, is held by another driver, holds another sweep or
        something that is none, or tables that are not all there and its own. Nothing has been changed then.
    """

    def __init__(
        self,
        folder: Path,
        *,
        identity: Identity,
        size: int,
        tables: Mapping[str, Columns],
        session: Mapping[str, object],
        fresh: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self.identity, self.size, self.tables, self.fresh = identity, size, tables, fresh
        self.digest = digest_of(identity)
        self.session: dict[str, object] = {"started": _now(), "ended": None, **session}
        self.earlier: list[object] = []
        """Sessions that came before this one."""
        self.journal = Journal(self.folder / JOURNAL, self.digest)
        self._lock: IO[bytes] | None = None

    # ----------------------------------------------------------------------- opening and closing

    def __enter__(self) -> Self:
        self._check()  # before anything is made, and again once nobody else can change it
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = hold_folder(self.folder)
        try:
            found = self._check()
            if found is not None and not self.fresh:
                self.earlier = list(found["sessions"])
            self._prepare(found or {})
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.session["ended"] = _now()
            with contextlib.ExitStack() as ending:
                ending.callback(self._write_manifest)
                ending.callback(self.journal.sync)
        finally:
            if self._lock is not None:
                self._lock.close()

    def _check(self) -> dict[str, Any] | None:
        """See that the folder is free, or ours with this sweep; return its manifest, None where free."""
        found = _manifest_of(self.folder, damaged_too=self.fresh)
        if found is None and (strangers := _strangers(self.folder)):
            raise InputError(
                f"holds {strangers[0]!r}, but no manifest.json says of what sweep",
                where=str(self.folder),
                expected="an empty or new folder",
            )
        if found is not None and not self.fresh:
            _require_identity(found, self.identity, self.folder)
            _require_tables(self.folder, self.tables, self.digest)
        return found

    def _prepare(self, found: Mapping[str, Any]) -> None:
        """Clear away what a killed driver, or an earlier sweep, left; we hold the lock."""
        journal = self.folder / JOURNAL
        with writing(self.folder):
            journal.mkdir(exist_ok=True)
            for folder in (self.folder, journal):
                if not os.access(folder, os.W_OK):
                    raise PermissionError("no permission to write")
            leavings = [*self.folder.glob(f"{TEMPORARY}*.parquet"), *self.folder.glob(f"{TEMPORARY}*.json")]
            if self.fresh:
                listed = found.get("tables")  # of an earlier sweep, which may have kept more
                ours = {*self.tables, *(listed if isinstance(listed, dict) else ())}
                tables = [path for path in self.folder.glob("*.parquet") if path.stem in ours]
                leavings += [*journals_in(journal), *tables]
            for path in leavings:
                path.unlink()
        self._write_manifest()

    def _write_manifest(self) -> None:
        columns = {
            table: {name: kind.__name__ for name, kind in columns.items()}
            for table, columns in self.tables.items()
        }
        manifest = {
            "format": FORMAT,
            "digest": self.digest,
            "size": self.size,
            "tables": columns,
            "identity": self.identity,
            "sessions": [*self.earlier, self.session],
        }
        write_atomically(self.folder / MANIFEST, json.dumps(manifest, indent=2).encode() + b"\n")

    # ----------------------------------------------------------------------- rows

    def finished(self, *, failed_too: bool = True, notes: bool = False) -> NDArray[np.bool_]:
        """Return, run by run, whether it is done; `notes` says on stderr which torn lines are left out."""
        found = _Found(self.folder, self.tables[RUNS], self.digest, self.size, notes=notes)
        done: NDArray[np.bool_] = found.source != NOWHERE
        return done if failed_too else done & ~found.failed

    def values(self, response: str) -> NDArray[np.float64]:
        """Return a response of all runs so far by their number; NaN where there is none."""
        at = list(self.tables[RUNS]).index(response) + 1
        values = np.full(self.size, np.nan)
        for run, tables in _records(self.folder, self.tables, self.digest, self.size, [RUNS]):
            (row,) = tables[RUNS]
            if row[at] is not None:
                values[run] = row[at]
        return values

    def compact(self) -> None:
        """Make the tables of what the journal and earlier tables hold, then remove the journal.

        Raises
        ------
        InputError
            A value does not fit its column, or the disk refuses; the journal is then as it was.
        """
        self.journal.sync()
        if not journals_in(self.folder / JOURNAL) and (self.folder / f"{RUNS}.parquet").exists():
            return
        with contextlib.ExitStack() as open_files, writing(self.folder):
            writers = {
                name: open_files.enter_context(TableWriter(self.folder, name, columns, self.digest))
                for name, columns in self.tables.items()
            }
            for _, tables in _records(self.folder, self.tables, self.digest, self.size, [*self.tables]):
                for name, writer in writers.items():
                    writer.add(tables.get(name, ()))
            for writer in writers.values():
                writer.finish()
            for name in sorted(writers, key=lambda name: name == RUNS):
                writers[name].put_in_place()
            flush(self.folder)
            for path in journals_in(self.folder / JOURNAL):
                if not is_of_another(path, self.digest):
                    path.unlink()


def finished_in(folder: Path, identity: Identity, size: int) -> NDArray[np.bool_]:
    """Return, run by run, what a folder already holds of a sweep; errors as on entering a store."""
    found = _manifest_of(folder)
    if found is None:
        return np.zeros(size, dtype=bool)
    _require_identity(found, identity, folder)
    tables = _tables_of(found)
    _require_tables(folder, tables, found["digest"])
    done: NDArray[np.bool_] = _Found(folder, tables[RUNS], found["digest"], size).source != NOWHERE
    return done


def _require_identity(found: Mapping[str, Any], identity: Identity, folder: Path) -> None:
    """Raise InputError, which shows the difference, where a folder is that of another sweep."""
    there = found["identity"]
    if there != json.loads(json.dumps(identity)):
        raise InputError(
            f"the folder holds the runs of another sweep: {differences_between(there, identity)}",
            where=str(folder),
            expected="the experiment that began it, another folder, or --fresh to discard its runs",
        )


def _require_tables(folder: Path, tables: Mapping[str, Columns], digest: str) -> None:
    """Raise InputError where there is a table of the runs and not each other one, whole and of this sweep."""
    if not (folder / f"{RUNS}.parquet").exists():
        return
    for name, columns in tables.items():
        path = folder / f"{name}.parquet"
        try:
            open_table(path, columns, digest)
        except FileNotFoundError as error:
            raise InputError(
                "is missing", where=str(path), expected=f"a table beside {RUNS}.parquet; sweep with --fresh"
            ) from error


# --------------------------------------------------------------------------- what is there


NOWHERE, IN_TABLE = -2, -1


class _Found:
    """Which runs a folder holds, and where: in the tables, or in a file of the journal at an offset.

    Of several lines of a run, the first that did not fail counts, else the first.
    """

    def __init__(
        self, folder: Path, columns: Columns, digest: str, size: int, *, notes: bool = False
    ) -> None:
        self.source = np.full(size, NOWHERE, dtype=np.int32)
        self.offset = np.zeros(size, dtype=np.int64)
        self.failed = np.zeros(size, dtype=bool)
        runs, failed = _finished(folder / f"{RUNS}.parquet", columns, digest, size)
        self.source[runs] = IN_TABLE  # that of the failures may be newer
        self.failed[runs] = failed
        self.files = journals_in(folder / JOURNAL)
        for number, path in enumerate(self.files):
            for line in lines_of(path, digest, notes=notes):
                run = line.run
                if not 0 <= run < size:
                    continue
                if self.source[run] == NOWHERE or (self.failed[run] and not line.failed):
                    self.source[run], self.offset[run] = number, line.offset
                    self.failed[run] = line.failed


def _records(
    folder: Path, tables: Mapping[str, Columns], digest: str, size: int, names: Sequence[str]
) -> Iterator[tuple[int, Tables]]:
    """Yield run after run with its rows of the named tables, each once, wherever it stands."""
    found = _Found(folder, tables[RUNS], digest, size)
    with contextlib.ExitStack() as open_files:
        old = {name: SortedRows(rows_of(folder / f"{name}.parquet", tables[name], digest)) for name in names}
        files = {
            number: open_files.enter_context(found.files[number].open("rb"))
            for number in np.unique(found.source[found.source >= 0]).tolist()
        }
        for run in np.flatnonzero(found.source != NOWHERE).tolist():
            stored = {name: rows.take(run) for name, rows in old.items()}
            source = int(found.source[run])
            if source == IN_TABLE:
                yield run, stored
            else:
                _, written = read_at(files[source], int(found.offset[run]))
                yield run, {name: [[run, *row] for row in written.get(name, ())] for name in names}


# --------------------------------------------------------------------------- reading


def read_table(folder: Path, name: str = RUNS) -> pd.DataFrame:
    """Return the rows that a sweep has so far of one table, sorted by `run`.

    Raises
    ------
    InputError
        The folder is not a sweep's, has no such table, or the table cannot be read.
    """
    manifest = read_manifest(folder)
    if name not in manifest["tables"]:
        raise InputError(
            f"has no table {name!r}", where=str(folder), expected=f"one of {', '.join(manifest['tables'])}"
        )
    try:
        return _read(Path(folder), manifest, name)
    except FileNotFoundError:  # a sweep that goes on has just put its journal into tables
        return _read(Path(folder), manifest, name)


def _read(folder: Path, manifest: Mapping[str, Any], name: str) -> pd.DataFrame:
    path, tables, digest = folder / f"{name}.parquet", _tables_of(manifest), manifest["digest"]
    _require_tables(folder, {name: tables[name]}, digest)
    if not journals_in(folder / JOURNAL) and path.exists():
        return whole_table(path, tables[name], digest)
    found = _records(folder, tables, digest, manifest["size"], [name])
    rows = [row for _, written in found for row in written[name]]
    frame: pd.DataFrame = table_of(rows, tables[name], where=f"{folder}/{name}").to_pandas()
    return frame


def read_runs(folder: Path) -> pd.DataFrame:
    """Return the rows of the runs that a sweep has so far; errors as `read_table`."""
    return read_table(folder, RUNS)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a sweep's manifest: what it is, and `sessions` with their wall-clock times.

    Raises
    ------
    InputError
        If the folder is not a sweep's.
    """
    found = _manifest_of(Path(folder))
    if found is None:
        raise InputError("there is no manifest.json", where=str(folder), expected="the folder of a sweep")
    return found


MANIFEST, JOURNAL = "manifest.json", "journal"

WHOLE = {"digest": str, "size": int, "tables": dict, "identity": dict, "sessions": list}
"""Keys of a manifest, and what they hold."""

KINDS = {kind.__name__: kind for kind in (str, int, float, bool)}
"""Types of columns, by their names in a manifest."""


def _tables_of(manifest: Mapping[str, Any]) -> dict[str, Columns]:
    """Return the tables that a manifest declares, with their columns. Raises where they are none."""
    return {
        table: {name: KINDS[kind] for name, kind in columns.items()}
        for table, columns in manifest["tables"].items()
    }


def _is_whole(found: Mapping[str, Any]) -> bool:
    """Return whether a manifest holds all that is read of it; its digest is that of its identity."""
    try:
        columns = _tables_of(found)
        sessions = [*found["sessions"]]
        return (
            all(type(found[key]) is kind for key, kind in WHOLE.items())
            and 0 <= found["size"] <= LARGEST_SWEEP
            and found["digest"] == digest_of(found["identity"])
            and FAILED in columns[RUNS]
            and FAILURES in columns
            and bool(sessions)
            and all(map(_is_session, sessions))
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _is_session(session: Mapping[str, Any]) -> bool:
    command, ended = session.get("command", []), session["ended"]
    words = [session["started"], ended or "", *([command] if isinstance(command, str) else command)]
    kinds = isinstance(command, str | list) and isinstance(session.get("file", {}), dict)
    return kinds and all(isinstance(word, str) for word in words)


def _manifest_of(folder: Path, *, damaged_too: bool = False) -> dict[str, Any] | None:
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot be read ({reason})", where=str(path), expected="the manifest of a sweep"
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError("is not the manifest of a sweep", where=str(path), expected=f"format {FORMAT!r}")
    if damaged_too:
        return found
    if not _is_whole(found):
        raise InputError(
            "is damaged", where=str(path), expected="a sweep and its sessions; sweep with --fresh"
        )
    return found


def _strangers(folder: Path) -> list[str]:
    """Return what in a folder without a manifest is of somebody else; hidden files are nobody's results."""
    if not folder.is_dir():
        return []
    journal = folder / JOURNAL  # empty, where a driver was killed before its manifest stood
    with writing(folder):
        return sorted(
            path.name
            for path in folder.iterdir()
            if not path.name.startswith(".") and (path != journal or not path.is_dir() or any(path.iterdir()))
        )


def _finished(
    path: Path, columns: Columns, digest: str, size: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the runs that stand in their table, none where it is not there, and whether each failed."""
    import pyarrow as pa

    try:
        table = open_table(path, columns, digest).read(columns=[RUN, FAILED])
        runs, stages = table[RUN].to_numpy(), table[FAILED].to_pylist()
        failed = np.array([stage not in (None, SKIPPED) for stage in stages], dtype=bool)
    except FileNotFoundError:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    if runs.size and (runs.min() < 0 or runs.max() >= size or (np.diff(runs) <= 0).any()):
        raise InputError("holds runs that are not its own", where=str(path), expected="sweep with --fresh")
    return np.asarray(runs, dtype=np.int64), np.asarray(failed, dtype=bool)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
