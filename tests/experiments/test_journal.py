"""A journal gives back every whole line, tells what is torn, and never writes behind a torn line."""

from __future__ import annotations

import errno
import os
import pickle
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.experiment import load_experiment
from experiments.files import DiskFault
from experiments.job import SweepJob
from experiments.journal import Journal, Line, Tables, is_of_another, journals_in, lines_of, read_at
from experiments.plan import Plan

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)


def tables_of(run: int) -> dict[str, list[list[object]]]:
    failed = run % 3 == 2
    return {"runs": [[run, None, 0.1 * run, "ä\n\x85\u2028"]], "failures": [["stage"]] * failed, "turns": []}


def written(folder: Path, runs: range, digest: str = "d") -> Path:
    journal = Journal(folder, digest)
    for run in runs:
        journal.append(run, tables_of(run))  # type: ignore[arg-type]
    journal.sync()
    assert journal._path is not None
    return journal._path


def read(path: Path, line: Line) -> tuple[int, Tables]:
    with path.open("rb") as file:
        return read_at(file, line.offset)


@pytest.mark.unit
def test_lines_come_back_as_they_went_in(tmp_path: Path) -> None:
    path = written(tmp_path, range(7))
    lines = list(lines_of(path, "d"))
    assert [line.run for line in lines] == list(range(7))
    assert [line.failed for line in lines] == [False, False, True, False, False, True, False]
    assert [read(path, line) for line in lines] == [(run, tables_of(run)) for run in range(7)]


@pytest.mark.property
@settings(max_examples=60)
@given(st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_values_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[bool | int | float | str | None]]
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal"), "d")
    tables = {"runs": rows[:1], "failures": rows[1:], "turns": rows}
    journal.append(5, tables)
    journal.sync()
    (path,) = journals_in(journal.folder)
    (line,) = lines_of(path, "d")
    assert read(path, line) == (5, tables)


@pytest.mark.unit
def test_text_that_no_table_can_hold_is_made_to_fit(tmp_path: Path) -> None:
    """A policy may raise with half a surrogate pair; Parquet would refuse the whole table for it."""
    journal = Journal(tmp_path, "d")
    journal.append(0, {"runs": [["a\ud800b", "\U0001f600"]], "failures": []})
    journal.sync()
    (path,) = journals_in(tmp_path)
    (line,) = lines_of(path, "d")
    assert read(path, line)[1]["runs"] == [["a?b", "\U0001f600"]]


# --------------------------------------------------------------------------- what is torn


@pytest.mark.unit
def test_wherever_a_kill_cuts_a_file_the_whole_lines_before_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, range(3))
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    assert len(ends) == 1 + 3
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        found = [line.run for line in lines_of(path, "d", notes=True)]
        assert found == list(range(sum(end <= cut for end in ends) - 1))
        note = capsys.readouterr().err
        if cut in (0, *ends):
            assert note == ""
        else:
            torn = 1 + sum(end <= cut for end in ends)
            said = (
                f"note: {tmp_path.name}/{path.name} line {torn} is torn and is left out; its run is run again"
            )
            assert note.splitlines() == [said]


@pytest.mark.unit
@pytest.mark.parametrize("hurt", [b'[1,{"runs":[[1,2', b"\xff\xfe", b"[1,[]]", b"[true,{}]", b""])
def test_a_torn_line_in_the_midst_costs_its_own_run(
    tmp_path: Path, hurt: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, range(3))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], hurt, *lines[3:]]))
    found = list(lines_of(path, "d", notes=True))
    assert [line.run for line in found] == [0, 2]
    assert read(path, found[1]) == (2, tables_of(2))
    assert capsys.readouterr().err.count("line 3 is torn") == 1


def summed(text: bytes) -> bytes:
    return b"[%d,%b]" % (zlib.crc32(text), text)


@pytest.mark.unit
@pytest.mark.parametrize(
    "hurt",
    [
        summed(b"[" * 100_000),
        summed(b'[1,{"failures":[]}]'),
        summed(b'[1,{"runs":[],"failures":[]}]'),
        summed(b'[1,{"runs":[[1],[1]],"failures":[]}]'),
        summed(b'[1,{"runs":3,"failures":[]}]'),
        summed(b'[1,{"runs":[3],"failures":[]}]'),
        summed(b'[1,{"runs":[[1]],"failures":null}]'),
        summed(b'[true,{"runs":[[1]],"failures":[]}]'),
        summed(b"3"),
        b'[1,{"runs":[[1,null,0.1,"a"]],"failures":[],"turns":[]}]',
    ],
)
def test_a_line_of_another_shape_is_torn(
    tmp_path: Path, hurt: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, range(3))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], hurt, *lines[3:]]))
    assert [line.run for line in lines_of(path, "d", notes=True)] == [0, 2]
    assert capsys.readouterr().err.count("line 3 is torn") == 1


@pytest.mark.unit
def test_whatever_byte_of_a_line_has_flipped_it_is_torn(tmp_path: Path) -> None:
    """CRC-32 tells each error of one bit; a line that a new end divides is torn twice."""
    path = written(tmp_path, range(3))
    whole = path.read_bytes()
    lines = whole.split(b"\n")
    start = len(lines[0]) + len(lines[1]) + 2
    for place in range(start, start + len(lines[2])):
        for bit in (1, 2, 8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            assert [line.run for line in lines_of(path, "d")] == [0, 2]


@pytest.mark.unit
def test_a_folder_with_the_name_of_a_journal_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "by-x.jsonl").mkdir()
    path = written(tmp_path, range(1))
    assert journals_in(tmp_path) == [path]


@pytest.mark.unit
def test_the_file_of_another_sweep_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, range(3), digest="other")
    assert list(lines_of(path, "d", notes=True)) == []
    assert capsys.readouterr().err == (
        f"note: {tmp_path.name}/{path.name} belongs to another sweep and is passed over\n"
    )
    assert is_of_another(path, "d")
    assert not is_of_another(path, "other")
    path.write_bytes(b"")  # killed before its first line
    assert not is_of_another(path, "d")


# --------------------------------------------------------------------------- who writes where


@pytest.mark.unit
def test_each_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    """What stands for a process here is what it gets: a pickled copy."""
    journal = Journal(tmp_path, "d")
    journal.append(0, tables_of(0))  # type: ignore[arg-type]
    copies = [journal, *(pickle.loads(pickle.dumps(journal)) for _ in range(2))]
    for run, copy in enumerate(copies, start=1):
        copy.append(run, tables_of(run))
    for copy in copies:
        copy.sync()
    found = [[line.run for line in lines_of(path, "d")] for path in journals_in(tmp_path)]
    assert sorted(found) == [[0, 1], [2], [3]]


@pytest.mark.unit
def test_a_file_is_gone_on_with_and_not_made_before_there_is_something(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "d")
    journal.sync()
    assert journals_in(tmp_path) == []
    for run in range(4):
        journal.append(run, tables_of(run))  # type: ignore[arg-type]
        journal.sync()
    (path,) = journals_in(tmp_path)
    assert [line.run for line in lines_of(path, "d")] == [0, 1, 2, 3]
    path.unlink()  # compaction has taken it in
    journal.append(4, tables_of(4))  # type: ignore[arg-type]
    journal.sync()
    (path,) = journals_in(tmp_path)
    assert [line.run for line in lines_of(path, "d")] == [4]


@pytest.mark.unit
def test_only_its_own_names_are_a_journals(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("mine")
    path = written(tmp_path, range(1))
    assert journals_in(tmp_path) == [path]


@pytest.mark.unit
def test_the_disk_keeps_what_a_chunk_has_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the fsync of the file all its lines have left this process."""
    kept: list[int] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        kept.extend(path.read_bytes().count(b"\n") for path in journals_in(tmp_path))

    monkeypatch.setattr(os, "fsync", noted)
    written(tmp_path, range(5))
    assert kept == [0, 1 + 5]  # its folder, once it is there, and the file


@pytest.mark.unit
def test_a_job_of_a_sweep_has_its_rows_kept_at_the_end_of_a_chunk(
    tmp_path: Path, small_experiment: Path
) -> None:
    job = SweepJob(Plan(load_experiment(str(small_experiment))), Journal(tmp_path, "d"))
    for run in (3, 1):
        job(run)
    job.end_chunk()
    (path,) = journals_in(tmp_path)
    lines = list(lines_of(path, "d"))
    assert [line.run for line in lines] == [3, 1]
    assert set(read(path, lines[0])[1]) == {"runs", "failures", "times"}


# --------------------------------------------------------------------------- a disk that refuses


@pytest.mark.unit
@pytest.mark.parametrize("when", ["fsync", "write"])
def test_after_a_full_disk_nothing_is_written_behind_a_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    journal = Journal(tmp_path, "d")
    journal.append(0, tables_of(0))  # type: ignore[arg-type]
    journal.sync()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journal.append(1, tables_of(1))  # type: ignore[arg-type]
    with monkeypatch.context() as full:
        if when == "fsync":
            full.setattr(os, "fsync", refuse)
        else:
            assert journal._file is not None
            with Path("/dev/full").open("wb") as nowhere:
                os.dup2(nowhere.fileno(), journal._file.fileno())
        with pytest.raises(DiskFault, match=r"cannot be written \(No space left on device\)"):
            journal.sync()
    for path in journals_in(tmp_path):
        path.write_bytes(path.read_bytes()[:-5])  # as a disk may leave it
    journal.append(2, tables_of(2))  # type: ignore[arg-type]
    journal.sync()
    found = [[line.run for line in lines_of(path, "d")] for path in journals_in(tmp_path)]
    assert sorted(found) == ([[0], [2]] if when == "fsync" else [[], [2]])


@pytest.mark.unit
def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nowhere", "d")
    with pytest.raises(DiskFault, match=r"nowhere: cannot be written"):
        journal.append(0, tables_of(0))  # type: ignore[arg-type]


@pytest.mark.unit
def test_what_is_no_value_writes_no_part_of_a_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "d")
    with pytest.raises(TypeError):
        journal.append(0, {"runs": [[object()]], "failures": []})  # type: ignore[list-item]
    journal.append(1, tables_of(1))  # type: ignore[arg-type]
    journal.sync()
    (path,) = journals_in(tmp_path)
    assert [line.run for line in lines_of(path, "d")] == [1]
