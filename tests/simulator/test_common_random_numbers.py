"""All policies meet one world, and equal inputs give equal records, bit for bit."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from policies import load_policy, policy_names
from scenarios import load_scenario
from simulator import rewrite
from simulator.contracts import Policy, Turn, Workload
from simulator.plan import Summarise
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Span
from simulator.streams import Streams
from simulator.workspace import Reading, Workspace
from simulator.world import PremiseSpec, WorldSpec

SPIRAL = "rewrite-budget-spiral"


@dataclass
class Overheard:
    """A workload that keeps every turn it has handed out the last time, as bytes."""

    inner: Workload
    heard: list[bytes] = field(default_factory=list)

    def initial(self, streams: Streams) -> Iterator[Span]:
        return iter(self.inner.initial(streams))

    def turns(self, streams: Streams) -> Iterator[Turn]:
        self.heard.clear()  # who knows what comes has read it all before the run
        for turn in self.inner.turns(streams):
            self.heard.append(pickle.dumps(turn))
            yield turn


def spiral(**overrides: object) -> Setting:
    return load_scenario(SPIRAL, overrides).setting()


def world_of(policy: Policy, setting: Setting, seed: int = 7) -> tuple[list[bytes], Run]:
    workload = Overheard(setting.workload)
    run = simulate(replace(setting, workload=workload), policy, seed)
    return workload.heard, run


# --------------------------------------------------------------------------- one world


@pytest.mark.property
@pytest.mark.parametrize("name", policy_names())
def test_the_world_is_the_same_before_and_after_the_first_differing_decision(
    by_share: Callable[[Policy], bool], name: str
) -> None:
    setting, policy = spiral(), load_policy(name)
    reference, untouched = world_of(load_policy("never-rewrite"), setting)
    heard, run = world_of(policy, setting)
    assert heard == reference[: len(heard)]
    assert len(reference) == setting.horizon + 1  # one more is asked for: is the workload complete?
    assert [row.arrived_tokens for row in run.turn_rows[: len(heard) - 1]] == [
        row.arrived_tokens for row in untouched.turn_rows[: len(heard) - 1]
    ]
    first = first_decision(run)
    if first is None:  # it lives as the bound does, up to the window that the bound has not
        assert run.rewrite_rows or not by_share(policy)  # it looked, and found nothing to take
        first = setting.horizon + 1
        if not policy.terms.endless_window:
            requests = requests_of(untouched, reference)
            first = 1 + next(turn for turn, tokens in enumerate(requests) if tokens > setting.window)
            assert (run.outcome, len(run.turn_rows)) == ("overflow", first)
    else:  # and the world went on after it as it would have gone anyway
        assert first < len(heard)
    assert truth_of(run)[: first - 1] == truth_of(untouched)[: first - 1]


def first_decision(run: Run) -> int | None:
    """Return the turn of the first attempt that was not refused for nothing, or of a call for help."""
    turns = [
        row.turn
        for row in run.rewrite_rows
        if row.outcome != "refused" or row.rewrite_cost or row.rewrite_seconds
    ]
    turns += [row.turn for row in run.event_rows if row.kind == "escalation"]
    return min(turns, default=None)


def requests_of(run: Run, heard: list[bytes]) -> list[int]:
    """Return the size of each request: what stood at the end of its turn, but for the reply."""
    replies = [sum(span.tokens for span in pickle.loads(turn).reply) for turn in heard]
    return [row.tokens - reply for row, reply in zip(run.turn_rows, replies, strict=False)]


def truth_of(run: Run) -> list[object]:
    """Return the rows of the turns without what the policy believed."""
    return [row._replace(believed_tokens=0) for row in run.turn_rows]


@pytest.mark.property
def test_another_seed_scenario_or_replication_is_another_world() -> None:
    setting, policy = spiral(**{"run.horizon": 20}), load_policy("never-rewrite")
    worlds = [
        world_of(policy, setting, 7),
        world_of(policy, setting, 8),
        world_of(policy, setting, (7, 1)),  # type: ignore[arg-type]
        world_of(policy, replace(setting, draws="elsewhere"), 7),
    ]
    assert len({tuple(heard) for heard, _ in worlds}) == len(worlds)


@pytest.mark.property
def test_settings_that_share_their_draws_meet_one_world() -> None:
    one = spiral(**{"run.horizon": 20})
    other = replace(one, name="another name", window=2 * one.window, draws=SPIRAL)
    policy = load_policy("never-rewrite")
    assert world_of(policy, one)[0] == world_of(policy, other)[0]


def summaries_of(
    monkeypatch: pytest.MonkeyPatch, policy: Policy, setting: Setting
) -> dict[tuple[int | None, int], tuple[int, int]]:
    """Return source and summary sizes by item and pass, of all that one run has summarised one by one."""
    intact, found = rewrite.stage, {}

    def staged(work: Workspace, operation: object, reading: Reading) -> object:
        made = intact(work, operation, reading)  # type: ignore[arg-type]
        if isinstance(operation, Summarise) and operation.id >= 0:
            source = work.context[operation.id]
            found[source.id, source.passes] = (source.tokens, made.span.tokens)  # type: ignore[union-attr]
        return made

    with monkeypatch.context() as patch:
        patch.setattr(rewrite, "stage", staged)
        simulate(setting, policy, 7)
    return found


@pytest.mark.property
def test_an_item_is_summarised_alike_by_whoever_and_whenever(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = spiral()
    found = [
        summaries_of(monkeypatch, load_policy(name), setting)
        for name in ("naive", "guarded", "guarded-without-gate", "amortised-naive")
    ]
    met_by_two = 0
    for one in found:
        for other in found:
            common = one.keys() & other.keys()
            assert {item: one[item] for item in common} == {item: other[item] for item in common}
            met_by_two += one is not other and bool(common)
    assert met_by_two >= 4


@pytest.mark.property
def test_a_retry_consumes_no_item_of_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    steady, shaky = spiral(), spiral(**{"provider.failure_share": 0.6})
    policy = load_policy("guarded", {"guard.retries": 3})
    steady_world, steady_run = world_of(policy, steady)
    shaky_world, shaky_run = world_of(policy, shaky)
    assert shaky_run.summary["rewrites_failed"]
    assert steady_run.rewrite_rows != shaky_run.rewrite_rows
    assert steady_world == shaky_world
    one, other = (summaries_of(monkeypatch, policy, setting) for setting in (steady, shaky))
    common = one.keys() & other.keys()
    assert common
    assert {item: one[item] for item in common} == {item: other[item] for item in common}


@pytest.mark.property
def test_premises_and_supervisor_move_nobody_elses_numbers() -> None:
    plain = spiral()
    richer = replace(
        plain,
        world=WorldSpec((PremiseSpec("schema", mean_interval=9.0), PremiseSpec("phase", at=(40,)))),
        supervisor=replace(plain.supervisor, constant=False, service_seconds=0.0),
    )
    policy = load_policy("guarded")
    (heard, run), (other, richer_run) = world_of(policy, plain), world_of(policy, richer)
    assert heard == other
    assert run.rewrite_rows == richer_run.rewrite_rows
    assert richer_run.turn_rows[-1].epoch > 1
    assert [row._replace(epoch=0) for row in richer_run.turn_rows] == run.turn_rows


# --------------------------------------------------------------------------- bit for bit


def records(run: Run) -> tuple[object, ...]:
    return run.outcome, run.summary, run.turn_rows, run.rewrite_rows, run.event_rows, run.manifest


def digest(run: Run) -> str:
    return hashlib.sha256(repr(records(run)).encode()).hexdigest()


@pytest.mark.property
@pytest.mark.parametrize("name", policy_names())
def test_equal_inputs_give_equal_records_whatever_ran_before(name: str) -> None:
    setting = spiral(**{"run.horizon": 120})
    policy = load_policy(name)
    first = simulate(setting, policy, (7, 0))
    elsewhere = simulate(spiral(**{"window.tokens": 9_000}), policy, 3)  # and leaves its memory behind
    assert records(elsewhere) != records(first)
    assert digest(simulate(setting, policy, (7, 0))) == digest(first)
    assert digest(simulate(setting, load_policy(name), (7, 0))) == digest(first)
    assert records(simulate(setting, policy, (7, 0))) == records(first)


PROGRAM = """
import hashlib
from policies import load_policy
from scenarios import load_scenario
from simulator import simulate

for name in ("naive", "guarded", "truncate-oldest"):
    run = simulate(load_scenario("rewrite-budget-spiral").setting(), load_policy(name), 7)
    records = run.outcome, run.summary, run.turn_rows, run.rewrite_rows, run.event_rows, run.manifest
    print(hashlib.sha256(repr(records).encode()).hexdigest())
"""


@pytest.mark.property
def test_another_process_with_other_hashes_gives_the_same_records() -> None:
    def printed(hash_seed: str) -> list[str]:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout.split()

    here = [
        digest(simulate(spiral(), load_policy(name), 7)) for name in ("naive", "guarded", "truncate-oldest")
    ]
    assert printed("1") == printed("2") == here


@pytest.mark.contract
def test_the_tables_hold_the_rows() -> None:
    setting = replace(spiral(), world=WorldSpec((PremiseSpec("schema", at=(3,)),)))
    run = simulate(setting, load_policy("guarded"), 7)
    for table, rows in (
        (run.turns, run.turn_rows),
        (run.rewrites, run.rewrite_rows),
        (run.events, run.event_rows),
    ):
        assert rows
        assert list(table.columns) == list(rows[0]._fields)
        told = table.astype(object).where(table.notna(), None)
        assert [tuple(row) for row in told.itertuples(index=False)] == [tuple(row) for row in rows]
    empty = simulate(spiral(**{"run.horizon": 1}), load_policy("never-rewrite"), 7)
    assert empty.rewrites.empty
    assert list(empty.rewrites.columns) == list(run.rewrites.columns)
