"""`simulate`: the only door. A setting, a policy and a seed go in; a `Run` comes out.

The run ends by recounting itself: context against ledger, entries against accounts. A policy that
raises, returns nonsense or never returns ends the run with `RunFailed`, which names the stage.
"""

from __future__ import annotations

import platform
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

import simpy

from simulator.agent import OBSERVABLE, Agent, End
from simulator.contracts import Brief, Policy
from simulator.errors import RunFailed, told
from simulator.ledger import COMMITTED, Account, Outcome, RewriteEntry
from simulator.provider import Purpose, TokenClass
from simulator.recorder import EventRow, Recorder, TurnRow, table
from simulator.rewrite import ask
from simulator.setting import Setting
from simulator.streams import Streams, coordinates_of
from simulator.supervisor import Supervisor
from simulator.terms import terms_fault
from simulator.workspace import Workspace
from simulator.world import World

if TYPE_CHECKING:
    import pandas as pd

PATIENCE_SECONDS = 20
"""Wall-clock seconds that one call of a policy may take before the run is given up."""

POLICY_FAULTS = (Exception, SystemExit, GeneratorExit)
"""What a policy may raise to its own run's end and nobody else's; Ctrl-C is the user's and passes."""

SOONEST_ALARM_SECONDS = 1e-3
"""When an alarm of the host that fell due during a run goes off after it; 0 would disarm it."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came out of one run.

    Attributes
    ----------
    outcome : how it ended.
    summary : responses by name; what the scenario does not exercise is None.
    manifest : how to make it again.
    turn_rows, rewrite_rows, event_rows : the records behind the three tables.
    """

    outcome: str
    summary: dict[str, object]
    manifest: dict[str, object]
    turn_rows: list[TurnRow]
    rewrite_rows: list[RewriteEntry]
    event_rows: list[EventRow]

    @property
    def turns(self) -> pd.DataFrame:
        """One row a turn, at its end."""
        return table(self.turn_rows, TurnRow)

    @property
    def rewrites(self) -> pd.DataFrame:
        """One row an attempt."""
        return table(self.rewrite_rows, RewriteEntry)

    @property
    def events(self) -> pd.DataFrame:
        """One row an event: premises, windows, escalations, removals out of band."""
        return table(self.event_rows, EventRow)


def simulate(setting: Setting, policy: Policy, seed: int | Sequence[int] = 0) -> Run:
    """Run one agent under one policy.

    Parameters
    ----------
    setting : Setting
        The scenario.
    policy : Policy
        Begun anew; nothing of an earlier run stays.
    seed : int or sequence of int
        Root seed, or (root seed, replication). The policy is no coordinate: all meet one world.

    Raises
    ------
    RunFailed
        The policy declares terms without sense, raised, returned nonsense or did not return, or an
        identity is broken.
    """
    _require_terms(policy)
    streams = Streams(*coordinates_of(seed), setting.draws or setting.name)
    env = simpy.Environment()
    work = Workspace(env, setting, policy, streams)
    recorder = Recorder()
    supervisor = Supervisor(env, setting.supervisor)
    agent = Agent(work, World(setting.world, streams), supervisor, recorder)
    try:
        with _watched(work):
            ask(work, "begin", policy.begin, brief_of(setting))
            env.run(until=env.process(agent.live()))
    except RunFailed:
        raise
    except POLICY_FAULTS as fault:
        if not work.asking:
            raise
        raise RunFailed(work.asking, f"policy raised {told(fault)}") from fault
    try:
        recounted = work.context.recount()
    except ValueError as fault:
        raise RunFailed("audit", str(fault)) from fault
    work.ledger.audit(recounted)
    assert agent.outcome is not None
    return Run(
        agent.outcome.value,
        _summary(agent, supervisor),
        _manifest(setting, policy, seed),
        recorder.turns,
        work.ledger.entries,
        recorder.events,
    )


def _require_terms(policy: Policy) -> None:
    """Raise RunFailed where the engine could not keep a policy to what it declares."""
    try:
        fault = terms_fault(policy.terms)
        name: object = getattr(policy, "name", None)
        if not isinstance(name, str):
            fault = f"its name is {name!r}, expected text"
    except POLICY_FAULTS as raised:
        raise RunFailed("terms", f"policy raised {told(raised)}") from raised
    if fault:
        raise RunFailed("terms", fault)


def brief_of(setting: Setting) -> Brief:
    """Return what a policy is told at the start: the documented facts of its runtime."""
    laws = setting.laws
    facts = Brief(
        window=setting.window,
        output_reserve=setting.output_reserve,
        summary_floor=laws.summary.floor,
        summary_cap=laws.summary.cap,
    )
    if setting.charged_to == "separate":  # nothing of a rewrite comes into the window
        return facts
    return facts._replace(
        rationale_estimate=round(laws.rationale.base),
        full_measurement_share=laws.measurement.share,
        full_measurement_tokens=laws.measurement.full_tokens,
        delta_measurement_tokens=laws.measurement.delta_tokens,
    )


@contextmanager
def _watched(work: Workspace) -> Iterator[None]:
    """Give up on a policy whose call does not return. Works in a main thread; elsewhere, no watch."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seen: tuple[object, ...] = ()
    ticks = 0

    def tick(_number: int, _frame: object) -> None:
        nonlocal seen, ticks
        now = (work.asking, work.turn, work.attempts)
        ticks = ticks + 1 if work.asking and now == seen else 0
        seen = now
        if ticks >= PATIENCE_SECONDS:
            ticks = 0
            raise TimeoutError(f"no answer within {PATIENCE_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, tick)
    started = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if left:  # the host has an alarm of its own: give it back, due when it was due
            due = max(left - (time.monotonic() - started), SOONEST_ALARM_SECONDS)
            signal.setitimer(signal.ITIMER_REAL, due, interval)


def _summary(agent: Agent, supervisor: Supervisor) -> dict[str, object]:
    work = agent.work
    rows = agent.recorder.turns
    accounts, entries, provider = work.ledger.accounts, work.ledger.entries, work.provider
    usd = provider.usd
    first = next((entry.turn for entry in entries), None)
    triggered = [row.occupancy_pct for row in rows if first is not None and row.turn >= first]
    counts = dict.fromkeys(Outcome, 0)
    for entry in entries:
        counts[Outcome(entry.outcome)] += 1
    assert agent.outcome is not None
    return {
        "turns": len(rows),
        "max_occupancy_pct": agent.max_occupancy_pct,
        "final_occupancy_pct": rows[-1].occupancy_pct if rows else 100 * work.context.tokens / work.window,
        "occupancy_q05_pct": _quantile(triggered, 0.05),
        "occupancy_q95_pct": _quantile(triggered, 0.95),
        "rewrites_committed": sum(counts[outcome] for outcome in COMMITTED),
        "rewrites_without_effect": counts[Outcome.WITHOUT_EFFECT],
        "rewrites_refused": counts[Outcome.REFUSED],
        "rewrites_infeasible": counts[Outcome.INFEASIBLE],
        "rewrites_failed": counts[Outcome.FAILED],
        "rewrites_conflicted": counts[Outcome.CONFLICTED],
        "first_trigger_turn": first,
        "tokens_freed": accounts[Account.FREED],
        "rewrite_cost_tokens": accounts[Account.REWRITE],
        "measurement_cost_tokens": accounts[Account.MEASUREMENT],
        "net_tokens": sum(entry.net for entry in entries),
        "believed_net_tokens": sum(entry.believed_net for entry in entries),
        "waste_tokens": -sum(entry.net for entry in entries if entry.net <= 0),
        "quota_tokens": work.quota_tokens if work.setting.charged_to == "separate" else None,
        "retired_tokens": accounts[Account.RETIRED],
        "out_of_band_tokens": accounts[Account.OUT_OF_BAND],
        "escalations": supervisor.escalations,
        "constraints_held": None,
        "constraints_total": None,
        "constraint_violations": None,
        "dangled_at_commit": None,
        "dangling_references": None,
        "rederivation_tokens": None,
        "reported_compliance": None,
        "actual_compliance": None,
        "confidence": None,
        "decision_quality": work.cognition.decision_quality if work.cognition.can_fall else None,
        "usd": sum(usd.values()),
        "usd_rewriting": sum(spent for (purpose, _), spent in usd.items() if purpose is not Purpose.AGENT),
        "seconds": work.env.now,
        "rewrite_seconds": sum(entry.rewrite_seconds for entry in entries),
        **{f"{kind.value}_tokens": provider.billed(kind) for kind in TokenClass},
        "observable": OBSERVABLE[End(agent.outcome)],
    }


def _quantile(values: list[float], share: float) -> float | None:
    """Return the quantile with linear interpolation, None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _manifest(setting: Setting, policy: Policy, seed: int | Sequence[int]) -> dict[str, object]:
    return {
        "scenario": setting.name,
        "policy": policy.name,
        "seed": list(coordinates_of(seed)),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("rewritelab", "simpy", "numpy")},
        },
    }


@cache
def version(name: str = "rewritelab") -> str | None:
    """Return the version of an installed distribution, None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
