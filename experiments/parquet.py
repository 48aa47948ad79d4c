"""Tables in Parquet: written group by group, read row by row, their bytes a function of their rows alone.

Rows are sequences that begin with the number of their run, and are sorted by it; columns are declared with
their types. A file holds the digest of its sweep and a checksum a page, and is read with both. pyarrow is
imported where the first file is touched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from experiments.files import TEMPORARY, flush
from experiments.journal import Scalar
from simulator.errors import InputError, one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

RUN = "run"
"""The first column of every table, and the key that rows are sorted by."""

ROWS_A_GROUP = 10_000
"""Rows that a Parquet file holds together: all that compaction keeps in memory of a table."""

Columns = Mapping[str, type]
"""Types (str, int, float, bool) by the name of a column; the run's number comes first by itself."""


class SortedRows:
    """Rows in the order of their runs, taken run by run."""

    def __init__(self, rows: Iterator[Sequence[Scalar]]) -> None:
        self.rows = rows
        self.next = next(rows, None)

    def take(self, run: int) -> list[Sequence[Scalar]]:
        """Return the rows of a run, which must be above all runs that were taken before."""
        taken = []
        while self.next is not None and self.next[0] <= run:  # type: ignore[operator]
            if self.next[0] == run:
                taken.append(self.next)
            self.next = next(self.rows, None)
        return taken


class TableWriter:
    """One table on its way into its Parquet file; a context manager that leaves nothing half-written."""

    def __init__(self, folder: Path, name: str, columns: Columns, digest: str) -> None:
        self.path, self.digest = folder / f"{name}.parquet", digest
        self.temporary = folder / f"{TEMPORARY}{os.getpid()}-{name}.parquet"
        self.columns = columns
        self.rows: list[Sequence[Scalar]] = []
        self.writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        schema = _schema(self.columns).with_metadata({SWEEP: self.digest})
        self.writer = pq.ParquetWriter(self.temporary, schema, compression="zstd", write_page_checksum=True)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.writer is not None:
            with contextlib.suppress(OSError):
                self.writer.close()
        self.temporary.unlink(missing_ok=True)

    def add(self, rows: Sequence[Sequence[Scalar]]) -> None:
        """Take rows in; whole groups are written."""
        self.rows.extend(rows)
        while len(self.rows) >= ROWS_A_GROUP:
            self._write(self.rows[:ROWS_A_GROUP])
            del self.rows[:ROWS_A_GROUP]

    def finish(self) -> None:
        """Write the rest, and have the disk keep it."""
        assert self.writer is not None
        if self.rows:
            self._write(self.rows)
            self.rows = []
        self.writer.close()
        self.writer = None
        flush(self.temporary)

    def put_in_place(self) -> None:
        """Let the table appear under its name."""
        self.temporary.replace(self.path)

    def _write(self, rows: Sequence[Sequence[Scalar]]) -> None:
        assert self.writer is not None
        self.writer.write_table(table_of(rows, self.columns, where=self.path.name))


SWEEP = "sweep"
"""Under this word a file keeps the digest of its sweep."""


def open_table(path: Path, columns: Columns, digest: str) -> pq.ParquetFile:
    """Return a table's file, whose pages are checked as they are read.

    Raises FileNotFoundError, and InputError where it is of another sweep, has other columns or is no table.
    """
    import pyarrow.parquet as pq

    with reading(path):
        file = pq.ParquetFile(path, page_checksum_verification=True)
        schema = file.schema_arrow
    if (schema.metadata or {}).get(SWEEP.encode()) != digest.encode():
        raise InputError(
            "belongs to another sweep", where=str(path), expected="its own table; sweep with --fresh"
        )
    if not schema.equals(_schema(columns)):
        raise InputError(
            f"has the columns {', '.join(schema.names)}",
            where=str(path),
            expected=f"{', '.join([RUN, *columns])}; sweep with --fresh",
        )
    return file


def rows_of(path: Path, columns: Columns, digest: str) -> Iterator[Sequence[Scalar]]:
    """Yield the rows of a table's file, none where it is not there."""
    try:
        batches = open_table(path, columns, digest).iter_batches(ROWS_A_GROUP)
    except FileNotFoundError:
        return
    while True:
        with reading(path):
            batch = next(batches, None)
            rows = [] if batch is None else [column.to_pylist() for column in batch.columns]
        if batch is None:
            return
        yield from zip(*rows, strict=True)


def whole_table(path: Path, columns: Columns, digest: str) -> pd.DataFrame:
    """Return a whole table."""
    with reading(path):
        frame: pd.DataFrame = open_table(path, columns, digest).read().to_pandas()
    return frame


def require_whole(path: Path, columns: Columns, digest: str) -> None:
    """Read a table through, so that each page is held to its checksum. Raises as `open_table`."""
    with reading(path):
        for _ in open_table(path, columns, digest).iter_batches(ROWS_A_GROUP):
            pass


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Tell a table that is damaged, or none, as one line. Raises FileNotFoundError where it is not there."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"cannot be read ({one_line(str(error))})",
            where=str(path),
            expected="a whole table; sweep with --fresh",
        ) from error


def _schema(columns: Columns) -> pa.Schema:
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(RUN, pa.int64()), *((name, types[kind]) for name, kind in columns.items())])


def table_of(rows: Sequence[Sequence[Scalar]], columns: Columns, where: str) -> pa.Table:
    """Return rows as a table with columns of their declared types."""
    import pyarrow as pa

    schema = _schema(columns)
    arrays = []
    for field, values in zip(schema, zip(*rows, strict=True) if rows else [()] * len(schema), strict=True):
        kind = columns.get(field.name, int)
        try:
            if kind is int and any(isinstance(value, float) for value in values):
                raise TypeError("a float in a column of whole numbers")  # pyarrow would cut it silently
            arrays.append(pa.array(values, type=field.type))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"column {field.name!r}: {error}", where=where, expected=f"{kind.__name__} or None"
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)
