"""What a folder holds of a sweep so far: runs in tables, and runs in the journal, each once.

In come a folder and what its manifest says of its tables; out come rows, sorted by run. Who reads results
sees what the driver sees that goes on with the sweep.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.journal import Tables, journals_in, lines_of, read_at
from experiments.manifest import FAILED, RUNS, columns_in, read_manifest
from experiments.parquet import (
    RUN,
    Columns,
    SortedRows,
    open_table,
    reading,
    rows_of,
    table_of,
    whole_table,
)
from simulator.errors import SKIPPED, InputError

if TYPE_CHECKING:
    import pandas as pd

JOURNAL = "journal"
"""The folder, in that of a sweep, in which its workers write."""

NOWHERE, IN_TABLE = -2, -1


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


def read_runs(folder: Path) -> pd.DataFrame:
    """Return the rows of the runs that a sweep has so far; errors as `read_table`."""
    return read_table(folder, RUNS)


def require_tables(folder: Path, tables: Mapping[str, Columns], digest: str) -> None:
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


class Found:
    """Which runs a folder holds, and where: in the tables, or in a file of the journal at an offset.

    Of several lines of a run, the first that did not fail counts, else the first.
    """

    def __init__(
        self, folder: Path, columns: Columns, digest: str, size: int, *, notes: bool = False
    ) -> None:
        self.source = np.full(size, NOWHERE, dtype=np.int32)
        self.offset = np.zeros(size, dtype=np.int64)
        self.failed = np.zeros(size, dtype=bool)
        runs, failed = _in_table(folder / f"{RUNS}.parquet", columns, digest, size)
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


def records(
    folder: Path, tables: Mapping[str, Columns], digest: str, size: int, names: Sequence[str]
) -> Iterator[tuple[int, Tables]]:
    """Yield run after run with its rows of the named tables, each once, wherever it stands."""
    found = Found(folder, tables[RUNS], digest, size)
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


def _read(folder: Path, manifest: Mapping[str, Any], name: str) -> pd.DataFrame:
    path, tables, digest = folder / f"{name}.parquet", columns_in(manifest), manifest["digest"]
    require_tables(folder, {name: tables[name]}, digest)
    if not journals_in(folder / JOURNAL) and path.exists():
        return whole_table(path, tables[name], digest)
    found = records(folder, tables, digest, manifest["size"], [name])
    rows = [row for _, written in found for row in written[name]]
    frame: pd.DataFrame = table_of(rows, tables[name], where=f"{folder}/{name}").to_pandas()
    return frame


def _in_table(
    path: Path, columns: Columns, digest: str, size: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the runs that stand in their table, none where it is not there, and whether each failed."""
    try:
        with reading(path):
            table = open_table(path, columns, digest).read(columns=[RUN, FAILED])
            runs, stages = table[RUN].to_numpy(), table[FAILED].to_pylist()
    except FileNotFoundError:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    failed = np.array([stage not in (None, SKIPPED) for stage in stages], dtype=bool)
    if runs.size and (runs.min() < 0 or runs.max() >= size or (np.diff(runs) <= 0).any()):
        raise InputError("holds runs that are not its own", where=str(path), expected="sweep with --fresh")
    return np.asarray(runs, dtype=np.int64), np.asarray(failed, dtype=bool)
