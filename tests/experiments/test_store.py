"""A sweep's folder: the same bytes whatever order, workers and kills, and nothing of others is touched."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import parquet as parquet_module
from experiments import store as store_module
from experiments.files import DiskFault, write_atomically, write_tables
from experiments.journal import Journal, journals_in
from experiments.manifest import FAILURES, RUNS, read_manifest
from experiments.parquet import TableWriter
from experiments.reading import read_runs, read_table
from experiments.store import SweepStore
from simulator.errors import InputError

FilesOf = Callable[[Path], dict[str, bytes]]

TABLES: dict[str, dict[str, type]] = {
    "runs": {"policy": str, "net": int, "share": float, "held": bool, "failed_stage": str},
    "failures": {"policy": str, "message": str},
    "turns": {"turn": int, "tokens": int},
}
SIZE = 10


def open_store(folder: Path, **changes: object) -> SweepStore:
    asked: dict[str, object] = {
        "identity": {"file": {"seed": 1}, "version": "1"},
        "size": SIZE,
        "tables": TABLES,
        "session": {"command": "sweep x"},
        **changes,
    }
    return SweepStore(folder, **asked)  # type: ignore[arg-type]


def rows_of(run: int, failed: bool = False) -> dict[str, list[list[str | int | float | bool | None]]]:
    policy = f"p{run % 3}"
    if failed:
        return {
            "runs": [[policy, None, None, None, "propose"]],
            "failures": [[policy, f"run {run} has failed"]],
            "turns": [],
        }
    share = run / 7 if run % 2 else None
    turns: list[list[str | int | float | bool | None]] = [[turn, 10 * run + turn] for turn in range(run % 4)]
    return {"runs": [[policy, run - 5, share, run > 3, None]], "failures": [], "turns": turns}


def fill(store: SweepStore, runs: Sequence[int], failed: Sequence[int] = ()) -> None:
    for run in runs:
        store.journal.append(run, rows_of(run, run in failed))
    store.journal.sync()


def tables_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def straight(folder: Path, failed: Mapping[int, bool], size: int = SIZE) -> dict[str, bytes]:
    """Return the tables of a sweep in one session, in order, which ended so."""
    with open_store(folder, size=size) as store:
        fill(store, sorted(failed), [run for run in failed if failed[run]])
        store.compact()
    return tables_in(folder)


# --------------------------------------------------------------------------- rows


@pytest.mark.unit
def test_rows_come_back_as_they_went_in(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, [7, 2, 9, 0, 5, 1, 8, 3, 6, 4])
        before = {name: read_table(tmp_path, name) for name in TABLES}
        store.compact()
    frame = read_runs(tmp_path)
    assert list(frame.columns) == ["run", *TABLES["runs"]]
    assert [str(frame[name].dtype) for name in ("run", "net", "share", "held")] == [
        "int64",
        "int64",
        "float64",
        "bool",
    ]
    values = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    assert values == [[run, *rows_of(run)["runs"][0]] for run in range(SIZE)]
    for name, unfinished in before.items():  # what a reader sees on the way is what is there at the end
        pd.testing.assert_frame_equal(read_table(tmp_path, name), unfinished)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), unfinished)
    turns = read_table(tmp_path, "turns")
    assert turns["run"].tolist() == [run for run in range(SIZE) for _ in range(run % 4)]
    assert turns["tokens"].tolist() == [10 * run + turn for run in range(SIZE) for turn in range(run % 4)]
    assert read_table(tmp_path, FAILURES).empty
    assert not journals_in(tmp_path / "journal")


@pytest.mark.unit
def test_row_groups_hold_what_is_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.parquet.ROWS_A_GROUP", 4)
    with open_store(tmp_path) as store:
        fill(store, range(SIZE))
        store.compact()
    groups = {}
    for name in TABLES:
        held = pq.ParquetFile(tmp_path / f"{name}.parquet").metadata
        groups[name] = [held.row_group(place).num_rows for place in range(held.num_row_groups)]
    assert groups == {"runs": [4, 4, 2], "failures": [], "turns": [4, 4, 4, 1]}


@pytest.mark.unit
def test_the_first_line_that_did_not_fail_counts(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(6), failed=[1, 2, 3])
        assert store.finished().tolist() == [True] * 6 + [False] * 4
        assert store.finished(failed_too=False).tolist() == [True] + [False] * 3 + [True] * 2 + [False] * 4
        store.compact()
        assert store.finished(failed_too=False).sum() == 3
    with open_store(tmp_path) as store:
        fill(store, [2, 3, 4], failed=[3, 4])  # the second retry fails again; a late duplicate of a good run
        store.compact()
        values = store.values("net")
    assert read_table(tmp_path, FAILURES)["run"].tolist() == [1, 3]
    runs = read_runs(tmp_path)
    assert runs["failed_stage"].notna().tolist() == [False, True, False, True, False, False]
    assert pd.Series(values).fillna(-99).tolist() == [-5, -99, -3, -99, -1, 0, *[-99] * 4]


# --------------------------------------------------------------------------- order, duplicates, kills


class Killed(BaseException):
    """The process has ended: from here on none of its file operations does anything."""


class Countdown:
    """Lets so many file operations through, and then none."""

    def __init__(self, patch: pytest.MonkeyPatch, left: int) -> None:
        self.left, self.done = left, 0
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, self.counted(getattr(Path, name)))
        for module in (store_module, parquet_module):
            patch.setattr(module, "flush", self.counted(module.flush))
        patch.setattr(TableWriter, "_write", self.counted(TableWriter._write))

    def counted(self, operation: Callable[..., object]) -> Callable[..., object]:
        def call(*words: object, **more: object) -> object:
            if self.done >= self.left:
                raise Killed
            self.done += 1
            return operation(*words, **more)

        return call


def compact_until(store: SweepStore, operations: int) -> bool:
    """Compact and die after so many file operations; return whether it came to its end before."""
    with pytest.MonkeyPatch.context() as patch:
        Countdown(patch, operations)
        try:
            store.compact()
        except Killed:
            return False
    return True


@pytest.mark.property
def test_a_kill_between_any_two_file_operations_of_a_compaction_leaves_no_trace(tmp_path: Path) -> None:
    """On top of earlier tables: retries that came good, one that did not, new runs, a duplicate."""
    failed = dict.fromkeys(range(SIZE), False) | {3: True, 7: True}
    expected = straight(tmp_path / "straight", failed)
    killed = operations = 0
    while True:
        folder = tmp_path / f"killed-{operations}"
        with open_store(folder) as store:
            fill(store, range(6), failed=[1, 3])
            store.compact()
        with open_store(folder) as store:
            fill(store, [9, 8, 7, 6, 1, 3, 4], failed=[3, 7])
            if compact_until(store, operations):
                break
            killed += 1
        assert read_runs(folder)["run"].tolist() == list(range(SIZE))  # whole for a reader, too
        assert read_table(folder, FAILURES)["run"].tolist() == [3, 7]
        with open_store(folder) as store:
            assert store.finished().all()
            store.compact()
        assert tables_in(folder) == expected, operations
        assert not list(folder.glob(".tmp-*"))
        operations += 1
    assert tables_in(folder) == expected
    assert killed >= 3 * 3  # each table is written, flushed and renamed, and then the journals go


LINES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.booleans()), max_size=12)
SESSION = st.tuples(st.lists(LINES, max_size=3), st.none() | st.integers(0, 14))


@pytest.mark.property
@settings(max_examples=40)
@given(st.lists(SESSION, min_size=1, max_size=4))
def test_the_tables_follow_from_the_rows_alone(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[tuple[list[list[tuple[int, bool]]], int | None]]
) -> None:
    """Whatever the order, the journals, duplicates, retries, sessions, and wherever a kill fell."""
    folder = tmp_path_factory.mktemp("mixed")
    ended: dict[int, bool] = {}
    for journals, kill_after in sessions:
        with open_store(folder) as store:
            for lines in journals:
                journal = Journal(store.journal.folder, store.digest)
                for run, failed in lines:
                    journal.append(run, rows_of(run, failed))
                    ended[run] = ended.get(run, True) and failed
                journal.sync()
            if kill_after is not None:
                compact_until(store, kill_after)
    with open_store(folder) as store:
        assert store.finished().nonzero()[0].tolist() == sorted(ended)
        store.compact()
    assert tables_in(folder) == straight(tmp_path_factory.mktemp("straight"), ended)
    assert read_runs(folder)["run"].tolist() == sorted(ended)


@pytest.mark.unit
def test_compacting_twice_does_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(4))
        store.compact()
        at = (tmp_path / "runs.parquet").stat().st_mtime_ns
        store.compact()
    assert (tmp_path / "runs.parquet").stat().st_mtime_ns == at


@pytest.mark.unit
def test_a_compaction_holds_a_row_group_and_not_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight times as many runs, at most one and a half times the memory, for new rows and for old ones."""
    monkeypatch.setattr("experiments.parquet.ROWS_A_GROUP", 250)
    peaks = []
    for size in (1_000, 8_000):
        folder = tmp_path / str(size)
        for half in (range(0, size, 2), range(1, size, 2)):
            with open_store(folder, size=size) as store:
                fill(store, half)
                tracemalloc.start()
                try:
                    store.compact()
                    peaks.append(tracemalloc.get_traced_memory()[1])
                finally:
                    tracemalloc.stop()
        assert len(read_runs(folder)) == size
    arrays = 8_000 * 40  # bytes of what is noted of each run: where it stands, whether it failed
    assert max(peaks[2:]) < 1.5 * max(peaks[:2]) + arrays


# --------------------------------------------------------------------------- values that do not fit


@pytest.mark.unit
@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("net", 2.5, r"runs.parquet: column 'net': a float.*expected int"),
        ("net", "many", "column 'net'.*expected int"),
        ("policy", 3, "column 'policy'.*expected str"),
        ("net", 2**70, "column 'net'"),
        ("held", "yes", "column 'held'.*expected bool"),
    ],
)
def test_a_value_that_does_not_fit_is_told_and_leaves_no_table(
    tmp_path: Path, column: str, value: object, complaint: str
) -> None:
    rows = rows_of(1)
    rows["runs"][0][list(TABLES["runs"]).index(column)] = value  # type: ignore[call-overload]
    with open_store(tmp_path) as store:
        fill(store, [0])
        store.journal.append(1, rows)
        with pytest.raises(InputError, match=complaint):
            store.compact()
        assert store.finished().tolist() == [True, True] + [False] * 8
    assert tables_in(tmp_path) == {}
    assert not list(tmp_path.glob(".tmp-*"))


# --------------------------------------------------------------------------- resuming


@pytest.mark.unit
def test_a_folder_tells_its_sessions_and_what_is_done(tmp_path: Path) -> None:
    identity = {"file": {"seed": 1}, "version": "1"}
    with open_store(tmp_path) as store:
        assert not store.finished().any()
        fill(store, [4, 5, 0])
    with open_store(tmp_path, session={"command": "again"}) as store:
        assert store.finished().nonzero()[0].tolist() == [0, 4, 5]
    manifest = read_manifest(tmp_path)
    assert [session["command"] for session in manifest["sessions"]] == ["sweep x", "again"]
    assert all(session["started"] <= session["ended"] for session in manifest["sessions"])
    assert manifest["identity"] == identity
    assert manifest["size"] == SIZE
    assert manifest["tables"]["turns"] == {"turn": "int", "tokens": "int"}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("identity", "complaint"),
    [
        ({"file": {"seed": 2}, "version": "1"}, "another sweep: file.seed is 1 there and 2 here"),
        ({"file": {"seed": 1}, "version": "2"}, 'version is "1" there and "2" here'),
        (
            {"file": {"seed": 1}, "version": "1", "policies": {"naive": "ab12"}},
            'policies.naive is nothing there and "ab12" here',
        ),
    ],
)
def test_another_sweep_is_refused_with_the_difference_and_nothing_changes(
    tmp_path: Path, files_of: FilesOf, identity: dict[str, object], complaint: str
) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(4))
    before = files_of(tmp_path)
    with pytest.raises(InputError, match=rf"{complaint}.*--fresh"), open_store(tmp_path, identity=identity):
        pass
    assert files_of(tmp_path) == before
    with open_store(tmp_path, identity=identity, fresh=True) as store:
        assert not store.finished().any()


@pytest.mark.unit
def test_a_journal_of_another_sweep_is_passed_over_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(4))
        strange = Journal(tmp_path / "journal", "another")
        strange.append(8, rows_of(8))
        strange.sync()
        assert store.finished(notes=True).sum() == 4
        assert capsys.readouterr().err.count("belongs to another sweep and is passed over") == 1
        store.compact()
    assert journals_in(tmp_path / "journal") == [strange._path]
    assert read_runs(tmp_path)["run"].tolist() == [0, 1, 2, 3]


@pytest.mark.unit
def test_a_run_that_is_not_of_the_plan_is_left_out(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for run in (3, SIZE, -1):
            store.journal.append(run, rows_of(run))
        store.compact()
    assert read_runs(tmp_path)["run"].tolist() == [3]


@pytest.mark.unit
def test_fresh_removes_only_what_is_ours(tmp_path: Path, files_of: FilesOf) -> None:
    """Also a table that the earlier sweep had kept and this one does not."""
    with open_store(tmp_path) as store:
        fill(store, range(4))
        store.compact()
    (tmp_path / "notes.txt").write_text("mine")
    with open_store(tmp_path) as store:
        fill(store, range(4, 6))
    (tmp_path / "thesis.parquet").write_text("mine")
    (tmp_path / "journal" / "diary.jsonl").write_text("mine")
    without_turns = {name: TABLES[name] for name in (RUNS, FAILURES)}
    with open_store(tmp_path, fresh=True, tables=without_turns) as store:
        assert not store.finished().any()
    left = files_of(tmp_path)
    assert set(left) == {".lock", "manifest.json", "notes.txt", "thesis.parquet", "journal/diary.jsonl"}
    assert [left[name] for name in ("notes.txt", "thesis.parquet", "journal/diary.jsonl")] == [b"mine"] * 3


@pytest.mark.unit
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("path", "content", "complaint"),
    [
        ("manifest.json", '{"name": "a web page"}', "not the manifest of a sweep"),
        ("manifest.json", "{", "cannot be read"),
        ("manifest.json", "[" * 100_000, "cannot be read"),
        ("runs.parquet", "of another", "'runs.parquet', but no manifest.json"),
        ("journal/by-hand.jsonl", "of another", "'journal', but no manifest.json"),
        ("notes.txt", "of another", "'notes.txt', but no manifest.json says of what sweep"),
    ],
)
def test_a_folder_of_others_is_left_as_it_is(
    tmp_path: Path, files_of: FilesOf, path: str, content: str, complaint: str, fresh: bool
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(content)
    with pytest.raises(InputError, match=complaint), open_store(tmp_path, fresh=fresh):
        pass
    assert files_of(tmp_path) == {path: content.encode()}


@pytest.mark.unit
def test_a_folder_of_an_older_form_says_which_and_can_be_discarded(tmp_path: Path) -> None:
    older = '{"format": "rewritelab sweep 1", "plan": {}}'
    (tmp_path / "manifest.json").write_text(older)
    told = (
        "is of format 'rewritelab sweep 1'; expected format 'rewritelab sweep 3': another folder, or --fresh"
    )
    with pytest.raises(InputError, match=told), open_store(tmp_path):
        pass
    assert (tmp_path / "manifest.json").read_text() == older
    with open_store(tmp_path, fresh=True) as store:
        fill(store, range(SIZE))
        store.compact()
    assert len(read_runs(tmp_path)) == SIZE


@pytest.mark.unit
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tables", 5),
        ("tables", {}),
        ("tables", {"runs": ["policy"], "failures": {}}),
        ("tables", {"runs": {"policy": "word", "failed_stage": "str"}, "failures": {}}),
        ("tables", {"runs": {"policy": ["str"], "failed_stage": "str"}, "failures": {}}),
        ("digest", None),
        ("size", "10"),
        ("size", True),
        ("size", -1),
        ("size", 10**13),
        ("identity", {"file": [], "version": "1"}),
        ("sessions", []),
        ("sessions", ["x"]),
        ("sessions", [{}]),
        *(
            ("sessions", [{"started": "", "ended": None, "command": [], "file": {}} | odd])
            for odd in ({"command": 3}, {"command": ["a", 3]}, {"started": {}}, {"ended": [1]}, {"file": [1]})
        ),
    ],
)
def test_a_damaged_manifest_is_told_and_fresh_begins_again(tmp_path: Path, key: str, value: object) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(4))
        store.compact()
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError, match=r"manifest.json: is damaged.*--fresh"), open_store(tmp_path):
        pass
    with pytest.raises(InputError, match="is damaged"):
        read_runs(tmp_path)
    with open_store(tmp_path, fresh=True) as store:
        assert not store.finished().any()
        fill(store, range(2))
        store.compact()
    assert read_runs(tmp_path)["run"].tolist() == [0, 1]


@pytest.mark.unit
@pytest.mark.parametrize(
    "hurt", [lambda whole: whole[:-20], lambda _: b"", lambda whole: whole[:40] + bytes(40) + whole[80:]]
)
def test_a_table_that_others_hurt_is_told_and_fresh_begins_again(
    tmp_path: Path, hurt: Callable[[bytes], bytes]
) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(4))
        store.compact()
    path = tmp_path / "runs.parquet"
    path.write_bytes(hurt(path.read_bytes()))
    with pytest.raises(InputError, match=r"runs.parquet: cannot be read.*--fresh"):
        read_runs(tmp_path)
    with pytest.raises(InputError, match=r"runs.parquet: cannot be read"), open_store(tmp_path) as store:
        fill(store, [5])
        store.compact()
    with open_store(tmp_path, fresh=True) as store:
        assert not store.finished().any()


def flipped(whole: bytes, place: int) -> bytes:
    return whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]


@pytest.mark.unit
@pytest.mark.parametrize("name", TABLES)
def test_a_finished_sweep_is_read_through_when_it_is_taken_up_again(tmp_path: Path, name: str) -> None:
    """In any table a flipped byte is told, wherever it lies, and nothing but an InputError is raised."""
    straight(tmp_path, dict.fromkeys(range(SIZE), False) | {4: True})
    path = tmp_path / f"{name}.parquet"
    whole = path.read_bytes()
    told = 0
    for place in range(4, len(whole), 7):
        path.write_bytes(flipped(whole, place))
        try:
            with open_store(tmp_path) as store:
                store.compact()
        except InputError as fault:
            assert str(path) in str(fault)
            told += 1
    assert told > len(whole) / 7 / 4  # the rest lies where nothing is said
    path.write_bytes(whole)
    with open_store(tmp_path) as store:
        store.compact()


@pytest.mark.unit
def test_a_byte_that_has_flipped_among_the_rows_is_told(tmp_path: Path) -> None:
    """Rows of chance are not compressed, so that without its checksum a page would be read as it is."""
    with open_store(tmp_path) as store:
        for run in range(SIZE):
            rows = rows_of(run)
            rows["runs"][0][0] = hashlib.sha256(bytes([run])).hexdigest()
            store.journal.append(run, rows)
        store.compact()
    path = tmp_path / "runs.parquet"
    whole, held = path.read_bytes(), pq.ParquetFile(path).metadata.row_group(0)
    told = 0
    for number in range(held.num_columns):
        column = held.column(number)
        start = column.dictionary_page_offset or column.data_page_offset
        last = start + column.total_compressed_size - 1
        path.write_bytes(flipped(whole, last))
        with pytest.raises(InputError, match=r"runs.parquet: cannot be read.*(CRC|checksum)"):
            read_runs(tmp_path)
        told += 1
    assert told == 1 + len(TABLES["runs"])


@pytest.mark.unit
@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_sweep_of_the_same_shape_is_told(tmp_path: Path, name: str) -> None:
    for seed in (1, 2):
        with open_store(tmp_path / str(seed), identity={"file": {"seed": seed}, "version": "1"}) as store:
            fill(store, range(SIZE))
            store.compact()
    (tmp_path / "2" / f"{name}.parquet").replace(tmp_path / "1" / f"{name}.parquet")
    complaint = rf"{name}.parquet: belongs to another sweep.*--fresh"
    with pytest.raises(InputError, match=complaint), open_store(tmp_path / "1"):
        pass
    with pytest.raises(InputError, match=complaint):
        read_table(tmp_path / "1", name)


@pytest.mark.unit
def test_a_table_with_other_columns_is_told(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(SIZE))
        store.compact()
    (tmp_path / "turns.parquet").replace(tmp_path / "failures.parquet")
    with pytest.raises(InputError, match=r"failures.parquet: has the columns run, turn.*run, policy"):
        read_table(tmp_path, FAILURES)


@pytest.mark.unit
@pytest.mark.parametrize("name", ["failures", "turns"])
@pytest.mark.parametrize("left", [None, b"", b"PAR1"])
def test_tables_are_all_there_and_whole_or_the_sweep_is_not_finished(
    tmp_path: Path, files_of: FilesOf, name: str, left: bytes | None
) -> None:
    with open_store(tmp_path) as store:
        fill(store, range(SIZE))
        store.compact()
    path = tmp_path / f"{name}.parquet"
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    before = files_of(tmp_path)
    complaint = rf"{name}.parquet: {'is missing' if left is None else 'cannot be read'}.*--fresh"
    with pytest.raises(InputError, match=complaint), open_store(tmp_path):
        pass
    assert files_of(tmp_path) == before
    with pytest.raises(InputError, match=complaint):
        read_table(tmp_path, name)
    with open_store(tmp_path, fresh=True) as store:
        assert not store.finished().any()


@pytest.mark.unit
def test_a_table_of_a_larger_plan_is_told(tmp_path: Path) -> None:
    for name, size in (("small", SIZE), ("large", 100)):
        with open_store(tmp_path / name, size=size) as store:
            fill(store, [1, size - 1])
            store.compact()
    (tmp_path / "large" / "runs.parquet").replace(tmp_path / "small" / "runs.parquet")
    with (
        pytest.raises(InputError, match=r"runs.parquet: holds runs that are not its own"),
        open_store(tmp_path / "small") as store,
    ):
        store.finished()


# --------------------------------------------------------------------------- who may write


@pytest.mark.unit
def test_a_folder_that_cannot_be_made_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        with pytest.raises(InputError, match="cannot be"), open_store(folder):
            pass


@pytest.fixture
def nobody() -> Iterator[None]:
    """Lay down the rights of root, which may write everywhere."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


@pytest.mark.unit
@pytest.mark.parametrize("begun", [False, True])
def test_a_read_only_folder_is_told_and_can_be_read(
    tmp_path: Path, begun: bool, request: pytest.FixtureRequest, files_of: FilesOf
) -> None:
    if begun:
        with open_store(tmp_path) as store:
            fill(store, range(3))
            store.compact()
    for above in tmp_path.parents[:4]:  # pytest lets only its own user in
        if above.name.startswith(("pytest-", "popen-")):
            above.chmod(0o755)
    tmp_path.chmod(0o555)
    request.getfixturevalue("nobody")
    before = files_of(tmp_path)
    with pytest.raises(DiskFault, match=r"cannot be written \(.*ermission"), open_store(tmp_path):
        pass
    assert files_of(tmp_path) == before
    if begun:
        assert len(read_runs(tmp_path)) == 3


@pytest.mark.unit
def test_one_driver_a_folder(tmp_path: Path) -> None:
    complaint = pytest.raises(InputError, match="another sweep is writing here")
    with open_store(tmp_path) as store:
        fill(store, range(3))
        with complaint, open_store(tmp_path, fresh=True):
            pass
        assert store.finished().sum() == 3
        assert len(read_runs(tmp_path)) == 3  # a reader is no driver
    with open_store(tmp_path):
        pass


@pytest.mark.unit
def test_reading_what_is_not_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest.json.*expected the folder of a sweep"):
        read_runs(tmp_path)
    with open_store(tmp_path):
        pass
    assert read_runs(tmp_path).empty
    assert list(read_runs(tmp_path).columns) == ["run", *TABLES["runs"]]
    with pytest.raises(InputError, match=r"has no table 'turn'.*one of runs, failures, turns"):
        read_table(tmp_path, "turn")


# --------------------------------------------------------------------------- files and tables


@pytest.mark.unit
def test_a_file_is_the_old_or_the_new_one(tmp_path: Path, files_of: FilesOf) -> None:
    path = tmp_path / "new" / "figure.svg"
    write_atomically(path, b"old")

    def fail(temporary: Path) -> None:
        assert temporary.suffix == ".svg"
        temporary.write_bytes(b"ha")
        raise RuntimeError("no ink")

    with pytest.raises(RuntimeError, match="no ink"):
        write_atomically(path, fail)
    assert files_of(tmp_path) == {"new/figure.svg": b"old"}
    write_atomically(path, lambda temporary: temporary.write_bytes(b"new"))
    assert files_of(tmp_path) == {"new/figure.svg": b"new"}


@pytest.mark.unit
@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.parent.joinpath("f").touch()])
def test_a_path_that_cannot_be_written_is_told(
    tmp_path: Path, files_of: FilesOf, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "taken")
    path = tmp_path / "taken" if (tmp_path / "taken").is_dir() else tmp_path / "f" / "below"
    before = files_of(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically(path, b"x")
    assert files_of(tmp_path) == before


@pytest.mark.unit
@pytest.mark.parametrize("path", [Path(), Path("/"), Path(".."), Path("pipe")])
def test_a_path_to_no_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(InputError, match=r"cannot be written.*expected the path of a file"):
        write_atomically(path, b"x")
    assert [left.name for left in tmp_path.iterdir()] == ["pipe"]
    assert Path("pipe").is_fifo()


@pytest.mark.unit
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_and_not_replaced(tmp_path: Path, there: bool) -> None:
    target, link = tmp_path / "elsewhere" / "figure.svg", tmp_path / "figure.svg"
    if there:
        target.parent.mkdir()
        target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.unit
def test_tables_are_written_and_replaced_whole(tmp_path: Path, files_of: FilesOf) -> None:
    first = {"turns": pd.DataFrame({"turn": [1, 2]}), "events": pd.DataFrame({"what": ["a"]})}
    write_tables(tmp_path / "run" / "naive", first)
    write_tables(tmp_path / "run" / "naive", {"turns": pd.DataFrame({"turn": [3]})})
    assert list(files_of(tmp_path)) == ["run/naive/turns.parquet"]
    assert pd.read_parquet(tmp_path / "run" / "naive" / "turns.parquet")["turn"].tolist() == [3]


@pytest.mark.unit
def test_tables_are_all_there_or_none(tmp_path: Path, files_of: FilesOf) -> None:
    write_tables(tmp_path / "naive", {"turns": pd.DataFrame({"turn": [1]})})
    before = files_of(tmp_path)
    unwritable = pd.DataFrame({"mixed": [1, "a", object()]})
    with pytest.raises(Exception, match="mixed"):
        write_tables(tmp_path / "naive", {"turns": pd.DataFrame({"turn": [2]}), "events": unwritable})
    assert files_of(tmp_path) == before
    (tmp_path / "naive" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes.txt"):
        write_tables(tmp_path / "naive", {"turns": pd.DataFrame({"turn": [2]})})
    assert files_of(tmp_path) == {**before, "naive/notes.txt": b"mine"}
