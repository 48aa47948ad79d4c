"""Results on disk: a sweep that survives its own death, and tables that are whole or not there.

A sweep is a folder: `manifest.json` says which plan it holds, `runs/part-<chunk>.parquet` holds the rows
of a fixed stretch of that plan. A part's name and bytes follow from the plan and its rows alone, never
from workers, order or clock; it appears by one rename, so what is there is whole, and resuming is the plan
minus what is there. Parquet is written by pyarrow, which is imported when the first part is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from experiments.files import TEMPORARY, hold_folder, write_atomically, writing
from simulator.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Scalar = str | int | float | bool | None
Row = Mapping[str, Scalar]

FORMAT = "rewritelab sweep 1"
"""First line of every manifest of ours; a new number when older folders can no longer be resumed."""
RUN = "run"
"""The column that a store adds: the run's place in the plan, the key that rows are sorted by."""
FEWEST_ROWS, MOST_ROWS, MOST_PARTS = 25, 250, 100


class SweepStore:
    """A sweep's folder, held by one driver; a context manager.

    States: closed; open (locked, checked, manifest written); closed again. Rows go in by `add`, one by
    one in any order, or by `write`, a chunk at a time.

    Parameters
    ----------
    folder : Path
        Made if it is not there. Files of others in it are left alone.
    plan_digest : str
        Names the plan; a folder is resumed only by the plan that began it.
    plan_size : int
        Runs in the plan.
    manifest : mapping
        What a reader should know (versions, command, seed): one entry a session, as JSON.
    columns : mapping of str to type, optional
        Types (str, int, float, bool) of columns that every part has, even where all are None. Other
        columns are typed by the part's own rows, and agree when they are read.
    chunk_rows : int, optional
        Runs a part; by default a function of `plan_size`.
    fresh : bool
        Remove the runs of an earlier plan first.

    Raises
    ------
    InputError
        On entering: the folder cannot be written, is held by another driver, holds another plan or
        something that is not a sweep. Nothing has been changed then.
    """

    def __init__(
        self,
        folder: Path,
        *,
        plan_digest: str,
        plan_size: int,
        manifest: Mapping[str, object],
        columns: Mapping[str, type] | None = None,
        chunk_rows: int | None = None,
        fresh: bool = False,
    ) -> None:
        self.folder, self.runs = Path(folder), Path(folder) / "runs"
        self.size = plan_size
        self.chunk_rows = chunk_rows or _chunk_rows(plan_size)
        self.columns = {RUN: int, **(columns or {})}
        self.plan: dict[str, object] = {
            "digest": plan_digest,
            "size": self.size,
            "chunk_rows": self.chunk_rows,
            "columns": {name: kind.__name__ for name, kind in self.columns.items()},
        }
        self.fresh = fresh
        self.session: dict[str, object] = {"started": _now(), "ended": None, **manifest}
        self.earlier: list[object] = []
        """Sessions that came before this one."""
        self._waiting: dict[int, dict[int, Row]] = {}
        """Rows of parts that are not complete yet, by chunk and run."""
        self._lock: IO[bytes] | None = None

    # ----------------------------------------------------------------------- opening and closing

    def __enter__(self) -> Self:
        self._check()  # before anything is made, and again once nobody else can change it
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = hold_folder(self.folder)
        try:
            self.earlier = self._check()
            self._prepare()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.session["ended"] = _now()
            self._write_manifest()
        finally:
            if self._lock is not None:
                self._lock.close()

    def _check(self) -> list[object]:
        """See that the folder is free, or ours with this plan; return the sessions that it has seen."""
        found = _manifest_of(self.folder)
        if found is None and self.runs.is_dir() and any(self.runs.iterdir()):
            raise InputError(
                "holds files, but no manifest.json says of what sweep",
                where=str(self.runs),
                expected="an empty or new folder",
            )
        if found is None or self.fresh:
            return []
        differing = [key for key, value in self.plan.items() if found["plan"].get(key) != value]
        if differing:
            raise InputError(
                f"the folder holds the runs of another plan (its {', '.join(differing)} differs)",
                where=str(self.folder),
                expected="the experiment that began it, another folder, or --fresh to discard its runs",
            )
        return list(found["sessions"])

    def _prepare(self) -> None:
        """Clear away what a killed driver, or an earlier plan, left; we hold the lock."""
        with writing(self.runs):
            self.runs.mkdir(exist_ok=True)
            if not os.access(self.runs, os.W_OK):
                raise PermissionError("no permission to write")
            leavings = [*self.folder.glob(f"{TEMPORARY}*-manifest.json"), *self.runs.glob(f"{TEMPORARY}*")]
            for path in leavings + (sorted(self.runs.glob("part-*.parquet")) if self.fresh else []):
                path.unlink()
        self._write_manifest()

    def _write_manifest(self) -> None:
        manifest = {"format": FORMAT, "plan": self.plan, "sessions": [*self.earlier, self.session]}
        write_atomically(self.folder / "manifest.json", json.dumps(manifest, indent=2).encode() + b"\n")

    # ----------------------------------------------------------------------- plan and rows

    def missing(self) -> list[int]:
        """Return the runs of the plan that no whole part holds, in order."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        lacking: list[int] = []
        for chunk in range(-(-self.size // self.chunk_rows)):
            runs = self._runs_of(chunk)
            try:
                whole = _runs_in(pq.ParquetFile(self._path(chunk)).read()) == list(runs)
            except (OSError, pa.ArrowException):  # not there, or hurt by others: to be written again
                whole = False
            if not whole:
                lacking.extend(runs)
        return lacking

    def add(self, run: int, row: Row) -> None:
        """Take in the row of one run; its part is written when the last of its rows has come.

        Raises
        ------
        InputError
            As `write`.
        ValueError
            If `run` is not of the plan.
        """
        if not 0 <= run < self.size:
            raise ValueError(f"run {run} is not of a plan of {self.size}")
        chunk = run // self.chunk_rows
        rows = self._waiting.setdefault(chunk, {})
        rows[run] = row
        runs = self._runs_of(chunk)
        if len(rows) == len(runs):
            self.write(chunk, [rows[run] for run in runs])
            del self._waiting[chunk]

    def write(self, chunk: int, rows: Sequence[Row]) -> None:
        """Write the part `chunk`: all of its rows, in the order of the plan.

        Raises
        ------
        InputError
            If a value does not fit its column, or the disk refuses.
        ValueError
            If the rows are not as many as the plan says, or hold a column of the store's own.
        """
        import pyarrow.parquet as pq

        runs = self._runs_of(chunk)
        if len(rows) != len(runs):
            raise ValueError(f"part {chunk} has {len(runs)} runs, got {len(rows)} rows")
        if any(RUN in row for row in rows):
            raise ValueError(f"the column {RUN!r} is the store's")
        keyed = [{RUN: run, **row} for run, row in zip(runs, rows, strict=True)]
        table = _table(keyed, self.columns, where=self._path(chunk).name)
        write_atomically(self._path(chunk), lambda path: pq.write_table(table, path, compression="zstd"))

    def _runs_of(self, chunk: int) -> range:
        start = chunk * self.chunk_rows
        return range(start, min(start + self.chunk_rows, self.size))

    def _path(self, chunk: int) -> Path:
        return self.runs / f"part-{chunk:05d}.parquet"


# --------------------------------------------------------------------------- reading


def read_runs(folder: Path) -> pd.DataFrame:
    """Return the rows that a sweep has so far, sorted by `run`, one column a name that any part has.

    Raises
    ------
    InputError
        If the folder is not a sweep's, or a part cannot be read or contradicts another.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = read_manifest(folder)
    kinds = {"int": int, "float": float, "str": str, "bool": bool}
    columns = {name: kinds[kind] for name, kind in manifest["plan"]["columns"].items()}
    tables = [_table([], columns)]
    size, rows = manifest["plan"]["size"], manifest["plan"]["chunk_rows"]
    for path in sorted((Path(folder) / "runs").glob("part-*.parquet")):
        start = int(path.stem.partition("-")[2]) * rows if path.stem[5:].isdigit() else size
        try:
            tables.append(pq.ParquetFile(path).read())
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"cannot be read ({error})", where=str(path), expected="a whole part; resume the sweep"
            ) from error
        if start >= size or _runs_in(tables[-1]) != list(range(start, min(start + rows, size))):
            raise InputError("holds runs that are not its own", where=str(path), expected="resume the sweep")
    try:
        joined = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(f"parts contradict each other ({error})", where=str(folder)) from error
    frame: pd.DataFrame = joined.sort_by(RUN).to_pandas()
    return frame


def _runs_in(part: pa.Table) -> list[object]:
    """Return the runs that a part says it holds."""
    return list(part[RUN].to_pylist()) if RUN in part.column_names else []


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a sweep's manifest: `format`, `plan`, and `sessions` with their wall-clock times.

    Raises
    ------
    InputError
        If the folder is not a sweep's.
    """
    found = _manifest_of(Path(folder))
    if found is None:
        raise InputError("there is no manifest.json", where=str(folder), expected="the folder of a sweep")
    return found


def _manifest_of(folder: Path) -> dict[str, Any] | None:
    path = folder / "manifest.json"
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
    sessions = found.get("sessions")
    whole = isinstance(found.get("plan"), dict) and isinstance(sessions, list)
    if not whole or not sessions or not all(isinstance(session, dict) for session in sessions):
        raise InputError(
            "is damaged", where=str(path), expected="a plan and its sessions; sweep with --fresh"
        )
    return found


def _table(rows: Sequence[Row], columns: Mapping[str, type], where: str = "") -> pa.Table:
    """Return rows as a table: declared columns first and of their type, then others as they first appear."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    arrays = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kind = columns.get(name)
        try:
            if kind is int and any(isinstance(value, float) for value in values):
                raise TypeError("a float in a column of whole numbers")  # pyarrow would cut it silently
            arrays[name] = pa.array(values, type=types[kind] if kind else None)
        except (TypeError, ValueError, OverflowError) as error:
            expected = f"{kind.__name__} or None" if kind else "values of one kind"
            raise InputError(f"column {name!r}: {error}", where=where, expected=expected) from error
    return pa.table(arrays)


def _chunk_rows(plan_size: int) -> int:
    return min(MOST_ROWS, max(FEWEST_ROWS, -(-plan_size // MOST_PARTS)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
