"""A sweep's folder: the same bytes whatever the order, and whole after any kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.files import write_atomically, write_tables
from experiments.store import SweepStore, read_manifest, read_runs
from simulator.errors import InputError

COLUMNS: dict[str, type] = {"policy": str, "net": int, "share": float, "held": bool}


def open_store(folder: Path, **changes: object) -> SweepStore:
    asked: dict[str, object] = {
        "plan_digest": "abc",
        "plan_size": 10,
        "chunk_rows": 4,
        "columns": COLUMNS,
        "manifest": {"command": "sweep x"},
        **changes,
    }
    return SweepStore(folder, **asked)  # type: ignore[arg-type]


def row_of(run: int) -> dict[str, str | int | float | bool | None]:
    return {"policy": f"p{run % 3}", "net": run - 5, "share": run / 7 if run % 2 else None, "held": run > 3}


def parts_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "runs").iterdir()}


def files_of(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


# --------------------------------------------------------------------------- rows


@pytest.mark.unit
def test_rows_come_back_as_they_went_in(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for run in range(10):
            store.add(run, row_of(run))
    frame = read_runs(tmp_path)
    assert list(frame.columns) == ["run", *COLUMNS]
    assert [str(frame[name].dtype) for name in ("run", "net", "share", "held")] == [
        "int64",
        "int64",
        "float64",
        "bool",
    ]
    expected = pd.DataFrame([{"run": run, **row_of(run)} for run in range(10)])
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
        "part-00002.parquet",
    ]
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "runs"), frame)  # a user's own way in


@pytest.mark.property
@settings(max_examples=25, deadline=None)
@given(st.permutations(range(10)))
def test_the_order_of_completion_leaves_no_trace(
    tmp_path_factory: pytest.TempPathFactory, order: list[int]
) -> None:
    folder, straight = tmp_path_factory.mktemp("mixed"), tmp_path_factory.mktemp("straight")
    for target, runs in ((folder, order), (straight, list(range(10)))):
        with open_store(target) as store:
            for run in runs:
                store.add(run, row_of(run))
    assert parts_of(folder) == parts_of(straight)


@pytest.mark.unit
def test_a_part_that_knows_less_does_not_bind_the_others(tmp_path: Path) -> None:
    """The first part holds only failed runs; whole numbers, then fractions, then nothing."""
    with open_store(tmp_path, plan_size=4, chunk_rows=1) as store:
        store.write(0, [{"policy": "p", "stage": "worker"}])
        store.write(1, [{"policy": "p", "metric": 1}])
        store.write(2, [{"policy": "p", "metric": 2.5, "stage": None}])
        store.write(3, [{"policy": "p", "metric": None}])
    frame = read_runs(tmp_path)
    assert list(frame.columns) == ["run", *COLUMNS, "stage", "metric"]
    assert frame["metric"].fillna(-1).tolist() == [-1, 1, 2.5, -1]
    assert frame["net"].isna().all()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"net": 2.5}, "column 'net': a float.*expected int"),
        ({"net": "many"}, "column 'net'.*expected int"),
        ({"policy": 3}, "column 'policy'.*expected str"),
        ({"net": 2**70}, "column 'net'"),
        ({"other": [1, "a"]}, "column 'other'.*one kind"),
    ],
)
def test_a_value_that_does_not_fit_is_told_and_leaves_no_file(
    tmp_path: Path, row: dict[str, int], complaint: str
) -> None:
    with open_store(tmp_path, plan_size=1) as store, pytest.raises(InputError, match=complaint):
        store.add(0, row)
    assert parts_of(tmp_path) == {}


@pytest.mark.unit
def test_parts_that_contradict_each_other_are_told(tmp_path: Path) -> None:
    with open_store(tmp_path, plan_size=2, chunk_rows=1) as store:
        store.write(0, [{"metric": 1}])
        store.write(1, [{"metric": "one"}])
    with pytest.raises(InputError, match="contradict"):
        read_runs(tmp_path)


@pytest.mark.unit
def test_what_is_not_of_the_plan_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for refused in (
            lambda: store.add(10, row_of(0)),
            lambda: store.write(0, [row_of(0)]),
            lambda: store.write(2, [{"run": 8}, {"run": 9}]),
        ):
            with pytest.raises(ValueError):
                refused()


@pytest.mark.unit
def test_the_size_of_parts_follows_from_the_plan_alone(tmp_path: Path) -> None:
    for size, rows in ((1, 25), (3_000, 30), (10**6, 250)):
        assert open_store(tmp_path, plan_size=size, chunk_rows=None).chunk_rows == rows


# --------------------------------------------------------------------------- resuming


@pytest.mark.unit
def test_resuming_is_the_plan_minus_what_is_there(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        assert store.missing() == list(range(10))
        for run in (4, 5, 6, 7, 0, 1):
            store.add(run, row_of(run))
    with open_store(tmp_path, manifest={"command": "again"}) as store:
        assert store.missing() == [0, 1, 2, 3, 8, 9]
    assert read_runs(tmp_path)["run"].tolist() == [4, 5, 6, 7]
    sessions = read_manifest(tmp_path)["sessions"]
    assert [session["command"] for session in sessions] == ["sweep x", "again"]
    assert all(session["started"] <= session["ended"] for session in sessions)


@pytest.mark.unit
def test_a_part_that_others_hurt_is_missing(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for run in range(10):
            store.add(run, row_of(run))
        part = tmp_path / "runs" / "part-00001.parquet"
        part.write_bytes(part.read_bytes()[:-20])
        assert store.missing() == [4, 5, 6, 7]
    with pytest.raises(InputError, match=r"part-00001.parquet: cannot be read"):
        read_runs(tmp_path)


@pytest.mark.unit
@pytest.mark.parametrize(
    "change", [{"plan_digest": "xyz"}, {"plan_size": 11}, {"chunk_rows": 5}, {"columns": {}}]
)
def test_another_plan_is_refused_and_nothing_changes(tmp_path: Path, change: dict[str, object]) -> None:
    with open_store(tmp_path) as store:
        store.write(0, [row_of(run) for run in range(4)])
    before = files_of(tmp_path)
    with pytest.raises(InputError, match=r"another plan.*--fresh"), open_store(tmp_path, **change):
        pass
    assert files_of(tmp_path) == before
    with open_store(tmp_path, **change, fresh=True) as store:
        assert len(store.missing()) == store.size


@pytest.mark.unit
def test_fresh_removes_only_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with open_store(tmp_path) as store:
        store.write(0, [row_of(run) for run in range(4)])
    (tmp_path / "runs" / "thesis.parquet").write_text("mine")
    with open_store(tmp_path, fresh=True):
        assert parts_of(tmp_path) == {"thesis.parquet": b"mine"}
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.unit
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("path", "content", "complaint"),
    [
        ("manifest.json", '{"name": "a web page"}', "not the manifest of a sweep"),
        ("manifest.json", "{", "cannot be read"),
        ("runs/part-00000.parquet", "of another", "no manifest.json"),
    ],
)
def test_a_folder_of_others_is_left_as_it_is(
    tmp_path: Path, path: str, content: str, complaint: str, fresh: bool
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(content)
    with pytest.raises(InputError, match=complaint), open_store(tmp_path, fresh=fresh):
        pass
    assert files_of(tmp_path) == {path: content.encode()}


@pytest.mark.unit
def test_a_folder_that_cannot_be_written_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        with pytest.raises(InputError, match="cannot be"), open_store(folder):
            pass


@pytest.mark.unit
def test_one_driver_a_folder(tmp_path: Path) -> None:
    complaint = pytest.raises(InputError, match="another sweep is writing here")
    with open_store(tmp_path), complaint, open_store(tmp_path):
        pass
    with open_store(tmp_path):
        pass


@pytest.mark.unit
def test_reading_what_is_not_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest.json.*expected the folder of a sweep"):
        read_runs(tmp_path)
    with open_store(tmp_path):
        pass
    assert read_runs(tmp_path).empty
    assert list(read_runs(tmp_path).columns) == ["run", *COLUMNS]


# --------------------------------------------------------------------------- kills

DRIVER = """
    import sys
    from contextlib import closing
    from pathlib import Path
    from experiments.runner import stream_tasks
    from experiments.store import SweepStore
    import store_jobs

    if __name__ == "__main__":
        folder, workers = Path(sys.argv[1]), int(sys.argv[2])
        with SweepStore(folder, plan_digest="d", plan_size=240, chunk_rows=8, manifest={}) as store:
            runs = store.missing()
            with closing(stream_tasks(store_jobs.simulate, runs, workers=workers, chunk=8)) as stream:
                for position, row in stream:
                    store.add(runs[position], row)
                    print(position, flush=True)
"""
JOBS = """
    import random, time

    def simulate(run):
        time.sleep(0.003)
        drawn = random.Random(run)
        share = drawn.random() if run % 5 else None
        return {"policy": "ab"[run % 2], "net": drawn.randrange(1000), "share": share}
"""


def drive(folder: Path, scripts: Path, workers: int) -> subprocess.Popen[str]:
    for name, code in (("driver", DRIVER), ("store_jobs", JOBS)):
        (scripts / f"{name}.py").write_text(textwrap.dedent(code))
    return subprocess.Popen(
        [sys.executable, str(scripts / "driver.py"), str(folder), str(workers)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(scripts)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the resource tracker mourns the semaphores of a driver that was killed
        text=True,
    )


@pytest.mark.crash
def test_bytes_are_the_same_for_any_workers_and_after_kills(tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        with drive(tmp_path / name, tmp_path, workers) as driver:
            driver.communicate(timeout=60)
            assert driver.returncode == 0
    moments = random.Random(11)
    kills = 0
    for _ in range(60):
        with drive(tmp_path / "killed", tmp_path, 2) as driver:
            assert driver.stdout is not None
            for _ in range(moments.randrange(70)):  # rows, so that a slow machine gets as far as a fast one
                driver.stdout.readline()
            time.sleep(moments.uniform(0.0, 0.02))
            driver.send_signal(signal.SIGKILL)
            driver.communicate(timeout=60)
        if driver.returncode == 0:
            break
        kills += 1
        if (tmp_path / "killed" / "manifest.json").exists():
            assert read_runs(tmp_path / "killed")["run"].is_unique
    else:
        pytest.fail("the sweep did not end in 60 sessions")
    assert kills >= 2
    assert parts_of(tmp_path / "one") == parts_of(tmp_path / "two") == parts_of(tmp_path / "killed")
    assert read_runs(tmp_path / "killed")["run"].tolist() == list(range(240))
    assert 2 < len(read_manifest(tmp_path / "killed")["sessions"]) <= kills + 1


# --------------------------------------------------------------------------- files and tables


@pytest.mark.unit
def test_a_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
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
def test_a_path_that_cannot_be_written_is_told(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "taken")
    path = tmp_path / "taken" if (tmp_path / "taken").is_dir() else tmp_path / "f" / "below"
    before = files_of(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically(path, b"x")
    assert files_of(tmp_path) == before


@pytest.mark.unit
def test_tables_are_written_and_replaced_whole(tmp_path: Path) -> None:
    first = {"turns": pd.DataFrame({"turn": [1, 2]}), "events": pd.DataFrame({"what": ["a"]})}
    write_tables(tmp_path / "run" / "naive", first)
    write_tables(tmp_path / "run" / "naive", {"turns": pd.DataFrame({"turn": [3]})})
    assert list(files_of(tmp_path)) == ["run/naive/turns.parquet"]
    assert pd.read_parquet(tmp_path / "run" / "naive" / "turns.parquet")["turn"].tolist() == [3]


@pytest.mark.unit
def test_tables_are_all_there_or_none(tmp_path: Path) -> None:
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


@pytest.mark.unit
def test_the_manifest_is_json_with_the_plan(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    plan = json.loads((tmp_path / "manifest.json").read_text())["plan"]
    assert plan == {
        "digest": "abc",
        "size": 10,
        "chunk_rows": 4,
        "columns": {"run": "int", "policy": "str", "net": "int", "share": "float", "held": "bool"},
    }


def test_a_part_that_holds_the_runs_of_another_is_run_again(tmp_path: Path) -> None:
    rows = [{"x": float(run)} for run in range(60)]

    def written() -> list[int]:
        with SweepStore(tmp_path, plan_digest="d", plan_size=60, manifest={}, chunk_rows=20) as store:
            missing = store.missing()
            for run in missing:
                store.add(run, rows[run])
        return missing

    assert written() == list(range(60))
    whole = read_runs(tmp_path)
    first, second = tmp_path / "runs" / "part-00000.parquet", tmp_path / "runs" / "part-00001.parquet"
    second.write_bytes(first.read_bytes())
    with pytest.raises(InputError, match="runs that are not its own"):
        read_runs(tmp_path)
    assert written() == list(range(20, 40))
    assert read_runs(tmp_path).equals(whole)
    (tmp_path / "runs" / "part-00009.parquet").write_bytes(first.read_bytes())
    with pytest.raises(InputError, match=r"part-00009.*not its own"):
        read_runs(tmp_path)
