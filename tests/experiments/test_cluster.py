"""A cluster gives the bytes that this process gives, and what is wrong with one is told in one line."""

from __future__ import annotations

import builtins
import logging
import pickle
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from experiments import clusters as cluster_module
from experiments import runner
from experiments.clusters import cluster, versions
from experiments.experiment import load_experiment
from experiments.job import TIMES, SweepJob
from experiments.plan import Plan
from experiments.reading import read_runs
from experiments.sweeping import sweep
from experiments.workers import CannotEnd
from simulator.errors import InputError, RunFailed

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

WORKERS = 2


def tables_in(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in folder.glob("*.parquet") if path.stem != TIMES}


@pytest.fixture(scope="module")
def address(zoo: str) -> Iterator[str]:
    """A scheduler on this machine, with workers in processes of their own."""
    with distributed.LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as local:
        yield local.scheduler_address


@pytest.fixture(scope="module")
def threaded() -> Iterator[str]:
    """A scheduler whose one worker makes two runs at once, in threads of this process."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as local:
        yield local.scheduler_address


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "SECONDS_TO_ANSWER", 0.5)


@pytest.fixture
def with_failures(small_experiment: Path, zoo: str) -> Path:
    text = small_experiment.read_text().replace('kind = "phase"', 'kind = "table"')
    text = text.replace("replications = 15", 'replications = 5\nkeep = ["turns", "rewrites"]')
    text = text.replace("[40, 110]", "[10, 20]")
    small_experiment.write_text(
        text.replace('["naive-never-summarised"]', f'["naive-never-summarised", "{zoo}:RaisesInCheck"]')
    )
    return small_experiment


@pytest.fixture
def here(with_failures: Path, tmp_path: Path) -> dict[str, bytes]:
    """The tables of a sweep in this process."""
    assert sweep(load_experiment(str(with_failures)), tmp_path / "here", workers=0, show="none") == 20
    return tables_in(tmp_path / "here")


# --------------------------------------------------------------------------- the same bytes


@pytest.mark.unit
@pytest.mark.parametrize("kind", ["address", "threaded"])
def test_a_cluster_gives_the_same_bytes(
    request: pytest.FixtureRequest, with_failures: Path, here: dict[str, bytes], tmp_path: Path, kind: str
) -> None:
    experiment, folder = load_experiment(str(with_failures)), tmp_path / "there"
    with cluster(request.getfixturevalue(kind)) as engine:
        assert engine.width == 2
        for only in (["replication=0", "replication=3"], []):  # begun there, and gone on with
            sweep(
                experiment,
                folder,
                workers=engine.width,
                open_executor=engine.open_executor,
                only=only,
                show="none",
            )
    assert tables_in(folder) == here


@pytest.mark.cli
def test_the_command_line_sweeps_on_a_cluster(
    spawn: Callable[..., object], address: str, with_failures: Path, here: dict[str, bytes], tmp_path: Path
) -> None:
    said = spawn("sweep", with_failures, "--scheduler", address, "--output", tmp_path / "there")
    assert said.code == 1, said.err  # type: ignore[attr-defined]
    assert "20 runs failed" in said.err  # type: ignore[attr-defined]
    assert "Traceback" not in said.err  # type: ignore[attr-defined]
    assert tables_in(tmp_path / "there") == here


HOLDS = """
import time
from simulator import Policy, RewritePlan


class Holds(Policy):
    name = "holds"
    seconds = 3_600

    def check(self, gauge):
        ends = time.monotonic() + self.seconds
        while time.monotonic() < ends:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
        return False

    def propose(self, view):
        return RewritePlan()


class HoldsAWhile(Holds):
    seconds = 6


class Ends(Holds):
    def check(self, gauge):
        import os

        os._exit(3)
"""


@pytest.fixture
def nannies(hostile: Callable[[str], Path]) -> Iterator[str]:
    """A scheduler whose workers know the hostile policies, also when they are started anew."""
    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as local:
        yield local.scheduler_address


@pytest.fixture
def hostile(small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A run of a hostile policy and one of a sound one, with little time for each that holds."""
    (tmp_path / "holds.py").write_text(HOLDS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(runner, "STALL_SECONDS", 2.0)  # the watchdog looks once a second
    monkeypatch.setattr(runner, "STARTING_SECONDS", 2.0)

    def written(kind: str) -> Path:
        text = small_experiment.read_text().replace('kind = "phase"', 'kind = "table"')
        limit = 300 if kind == "Ends" else 1  # the nannies take a while, on a busy machine
        text = text.replace("replications = 15", f"replications = 1\ntime_limit_seconds = {limit}")
        text = text.replace("[40, 110]", "[3]").replace("[100, 600]", "[100]")
        policies = f'["holds:{kind}", "never-rewrite"]'
        small_experiment.write_text(text.replace('["naive-never-summarised"]', policies))
        return small_experiment

    return written


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Holds", "Ends"])
def test_a_run_that_holds_or_ends_its_worker_is_a_row_as_here(
    nannies: str, hostile: Callable[[str], Path], tmp_path: Path, kind: str
) -> None:
    """The nanny of that worker starts it anew, and the cluster goes on."""
    experiment = load_experiment(str(hostile(kind)))
    with cluster(nannies) as engine:
        failed = sweep(
            experiment,
            tmp_path / "there",
            workers=engine.width,
            open_executor=engine.open_executor,
            show="none",
        )
    assert failed == 1
    assert sweep(experiment, tmp_path / "here", workers=2, show="none") == 1
    assert tables_in(tmp_path / "there") == tables_in(tmp_path / "here")
    with cluster(nannies) as engine:
        assert engine.open_executor().submit(abs, -1).result(timeout=60) == 1


@pytest.mark.crash
def test_where_no_nanny_can_end_it_a_sweep_ends_in_one_line(
    threaded: str, hostile: Callable[[str], Path], tmp_path: Path
) -> None:
    experiment = load_experiment(str(hostile("HoldsAWhile")))
    with cluster(threaded) as engine, pytest.raises(CannotEnd, match="has no way to end its worker"):
        sweep(
            experiment,
            tmp_path / "there",
            workers=engine.width,
            open_executor=engine.open_executor,
            show="none",
        )
    kept = read_runs(tmp_path / "there")
    assert set(kept.loc[kept["policy"] == "holds:HoldsAWhile", "outcome"]) == {"failed"}


@pytest.mark.unit
def test_an_error_of_the_drivers_leaves_the_cluster_usable(
    address: str, with_failures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from experiments.files import DiskFault
    from experiments.journal import Journal

    def refuse(*_: object) -> None:
        raise DiskFault("cannot be written")

    experiment = load_experiment(str(with_failures))
    with cluster(address) as engine:
        with monkeypatch.context() as full:
            full.setattr(Journal, "append", refuse)
            with pytest.raises(DiskFault):
                sweep(experiment, tmp_path / "a", workers=2, open_executor=engine.open_executor, show="none")
        assert engine.open_executor().submit(abs, -1).result() == 1


@pytest.mark.unit
def test_no_worker_of_other_versions_makes_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that joins a cluster when all have been asked is asked by the job itself."""
    job = SweepJob(Plan(load_experiment("trigger-and-watermark")), None)
    travelled = pickle.dumps(job)
    assert isinstance(pickle.loads(travelled), SweepJob)
    monkeypatch.setattr("experiments.job.versions", lambda: {**versions(), "numpy": "0.9"})
    with pytest.raises(RunFailed, match=f'numpy is "{np.__version__}" there and "0.9" here'):
        pickle.loads(travelled)


# --------------------------------------------------------------------------- what is told


def refused(address: str, complaint: str) -> str:
    with pytest.raises(InputError, match=complaint) as caught, cluster(address):
        pass
    assert str(caught.value).startswith("--scheduler: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.unit
@pytest.mark.parametrize(
    "address",
    [
        "nonsense",
        "",
        "tcp://",
        "tcp://127.0.0.1:word",
        "http://127.0.0.1",
        "tcp://no such host:1",
        "\x1b[2J",
    ],
)
def test_an_address_of_nothing_is_told(impatient: None, address: str) -> None:
    refused(address, r"no scheduler answers at .*expected the address of a Dask scheduler")


@pytest.mark.unit
def test_a_scheduler_that_is_not_there_is_told(impatient: None) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    refused(f"tcp://127.0.0.1:{port}", rf"no scheduler answers at 'tcp://127\.0\.0\.1:{port}'")


@pytest.mark.unit
@pytest.mark.timeout(30)
def test_somebody_else_who_listens_is_told(impatient: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        refused(f"tcp://127.0.0.1:{other.getsockname()[1]}", "no scheduler answers")


@pytest.mark.unit
def test_a_scheduler_without_workers_is_told(impatient: None) -> None:
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as local:
        refused(local.scheduler_address, r"has no worker; expected 1 or more")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "found", "complaint"),
    [
        ("simpy", "0.1", r"the worker .* has simpy 0\.1, and this process \d"),
        ("numpy", None, r"has numpy None, and this process \d"),
        ("python", "2.7", r"has python 2\.7, and this process 3\."),
    ],
)
def test_a_worker_with_other_versions_is_told(
    threaded: str, monkeypatch: pytest.MonkeyPatch, name: str, found: str | None, complaint: str
) -> None:
    there = {**versions(), name: found}
    monkeypatch.setattr(distributed.Client, "run", lambda *_: {"tcp://worker:1": there})
    refused(threaded, complaint)


@pytest.mark.unit
def test_a_worker_that_lacks_rewritelab_is_told(threaded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'experiments'")

    monkeypatch.setattr(distributed.Client, "run", lacks)
    refused(threaded, r"cannot run rewritelab \(No module named 'experiments'\)")


@pytest.mark.unit
def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = builtins.__import__

    def lacking(name: str, *words: object, **more: object) -> object:
        if name.partition(".")[0] == "distributed":
            raise ModuleNotFoundError("No module named 'distributed'")
        return known(name, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", lacking)
    refused("tcp://127.0.0.1:8786", r"needs the extra dask; expected pip install 'rewritelab\[dask\]'")


@pytest.mark.unit
def test_versions_name_what_numbers_follow_from() -> None:
    found = versions()
    assert set(found) == {"python", "rewritelab", "source", "simpy", "numpy", "scipy"}
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
