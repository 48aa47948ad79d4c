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
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from experiments.files import TEMPORARY, flush, hold_folder, write_atomically, writing
from experiments.identity import Identity, digest_of
from experiments.journal import Journal, is_of_another, journals_in
from experiments.manifest import FORMAT, MANIFEST, RUNS, manifest_of, require_identity
from experiments.parquet import Columns, TableWriter, require_whole
from experiments.reading import JOURNAL, NOWHERE, Found, records, require_tables
from simulator.errors import InputError


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
        self.check()  # before anything is made, and again once nobody else can change it
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = hold_folder(self.folder)
        try:
            found = self.check()
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

    def check(self) -> dict[str, Any] | None:
        """See that the folder is free, or ours with this sweep; return its manifest, None where free."""
        found = manifest_of(self.folder, damaged_too=self.fresh)
        if found is None and (strangers := _strangers(self.folder)):
            raise InputError(
                f"holds {strangers[0]!r}, but no manifest.json says of what sweep",
                where=str(self.folder),
                expected="an empty or new folder",
            )
        if found is not None and not self.fresh:
            require_identity(found, self.identity, self.folder)
            require_tables(self.folder, self.tables, self.digest)
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
        found = Found(self.folder, self.tables[RUNS], self.digest, self.size, notes=notes)
        done: NDArray[np.bool_] = found.source != NOWHERE
        return done if failed_too else done & ~found.failed

    def values(self, response: str) -> NDArray[np.float64]:
        """Return a response of all runs so far by their number; NaN where there is none."""
        at = list(self.tables[RUNS]).index(response) + 1
        values = np.full(self.size, np.nan)
        for run, tables in records(self.folder, self.tables, self.digest, self.size, [RUNS]):
            (row,) = tables[RUNS]
            if row[at] is not None:
                values[run] = row[at]
        return values

    def compact(self) -> None:
        """Make the tables of what the journal and earlier tables hold, then remove the journal.

        Where there is nothing to add, they are read through: a finished sweep is told whole, or damaged.

        Raises
        ------
        InputError
            A value does not fit its column, or the disk refuses; the journal is then as it was.
        """
        self.journal.sync()
        if not journals_in(self.folder / JOURNAL) and (self.folder / f"{RUNS}.parquet").exists():
            for name, columns in self.tables.items():
                require_whole(self.folder / f"{name}.parquet", columns, self.digest)
            return
        with contextlib.ExitStack() as open_files, writing(self.folder):
            writers = {
                name: open_files.enter_context(TableWriter(self.folder, name, columns, self.digest))
                for name, columns in self.tables.items()
            }
            for _, tables in records(self.folder, self.tables, self.digest, self.size, [*self.tables]):
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
