"""`simulate`: the only door. A setting, a policy and a seed go in; a `Run` comes out.

The run ends by recounting itself: context against ledger, entries against accounts. A policy that
raises, returns nonsense or never returns ends the run with `RunFailed`, which names the stage.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

import simpy

from simulator.agent import Agent
from simulator.calling import ask
from simulator.contracts import Brief, Policy, Terms
from simulator.errors import RunFailed, told
from simulator.foresight import require_needs
from simulator.ledger import RewriteEntry
from simulator.recorder import EventRow, ObedienceRow, Recorder, TurnRow, table
from simulator.setting import Setting
from simulator.streams import Streams, coordinates_of
from simulator.summary import outcome_of, summary_of
from simulator.supervisor import Supervisor
from simulator.terms import terms_fault
from simulator.watchdog import watched
from simulator.watching import Watch
from simulator.workspace import Workspace
from simulator.world import World

if TYPE_CHECKING:
    import pandas as pd

POLICY_FAULTS = (Exception, SystemExit, GeneratorExit)
"""What a policy may raise to its own run's end and nobody else's; Ctrl-C is the user's and passes."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came out of one run.

    Attributes
    ----------
    outcome : how it ended.
    summary : responses by name; what the scenario does not exercise is None.
    manifest : how to make it again.
    turn_rows, rewrite_rows, event_rows, obedience_rows : the records behind the tables; of a fleet,
        one agent after the other.
    """

    outcome: str
    summary: dict[str, object]
    manifest: dict[str, object]
    turn_rows: list[TurnRow]
    rewrite_rows: list[RewriteEntry]
    event_rows: list[EventRow]
    obedience_rows: list[ObedienceRow] = field(default_factory=list)

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

    @property
    def obedience(self) -> pd.DataFrame:
        """One row for each instruction that a step came under."""
        return table(self.obedience_rows, ObedienceRow)


def simulate(
    setting: Setting,
    policy: Policy,
    seed: int | Sequence[int] = 0,
    *,
    watch: Watch | None = None,
    time_limit: float | None = None,
) -> Run:
    """Run one agent, or a fleet of them, under one policy.

    Parameters
    ----------
    setting : Setting
        The scenario.
    policy : Policy
        Begun anew; nothing of an earlier run stays. In a fleet, each agent but the first has a copy.
    seed : int or sequence of int
        Root seed, or (root seed, replication). The policy is no coordinate: all meet one world.
    watch : Watch, optional
        Who looks on, at all agents of a fleet; it changes nothing.
    time_limit : float, optional
        Wall-clock seconds that the run may take.

    Raises
    ------
    RunSkipped
        The scenario lacks what the policy needs.
    RunFailed
        The policy declares terms without sense, raised, returned nonsense or did not return, an
        identity is broken, or the time is up.
    """
    _require_terms(policy)
    if policy.terms.needs:
        require_needs(
            policy.terms.needs, setting, Streams(*coordinates_of(seed), setting.draws or setting.name)
        )
    env = simpy.Environment()
    supervisor = Supervisor(env, setting.supervisor)
    agents = []
    for number in range(setting.fleet.agents):
        whose: tuple[int, ...] = (number,) if number else ()  # the first one's world is that of no fleet
        streams = Streams(*coordinates_of(seed), setting.draws or setting.name, *whose)
        work = Workspace(env, setting, policy if not number else _copied(policy), streams, number)
        work.watch = watch
        agents.append(Agent(work, World(setting.world, streams), supervisor, Recorder()))
    fleet = [agent.work for agent in agents]
    try:
        with watched(fleet, time_limit):
            for work in fleet:
                ask(work, "begin", work.policy.begin, _brief(work))
            lives = [env.process(agent.live()) for agent in agents]
            env.run(until=lives[0] if len(lives) == 1 else env.all_of(lives))
    except RunFailed:
        raise
    except POLICY_FAULTS as fault:
        asked = next((work.asking for work in fleet if work.asking), "")
        if not asked:
            raise
        raise RunFailed(asked, f"policy raised {told(fault)}") from fault
    for work in fleet:
        _audit(work)
    return Run(
        outcome_of(agents).value,
        summary_of(agents, supervisor),
        _manifest(setting, policy, seed),
        [row for agent in agents for row in agent.recorder.turns],
        [entry for work in fleet for entry in work.ledger.entries],
        [row for agent in agents for row in agent.recorder.events],
        [row for work in fleet for row in work.bindings.rows],
    )


def _copied(policy: Policy) -> Policy:
    """Return a policy for one more agent of a fleet. Raises RunFailed where it cannot be copied."""
    try:
        copy = deepcopy(policy)
        terms = copy.terms
    except POLICY_FAULTS as fault:
        raise RunFailed("copy", f"policy raised {told(fault)}") from fault
    if copy is policy or not isinstance(terms, Terms):
        raise RunFailed("copy", "a copy of the policy is no policy of its own")
    return copy


def _audit(work: Workspace) -> None:
    """Recount the context from its spans and the ledger from its entries."""
    try:
        recounted = work.context.recount()
    except ValueError as fault:
        raise RunFailed("audit", str(fault)) from fault
    work.ledger.audit(recounted)


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
        prices=setting.provider.prices,
        horizon=setting.horizon,
    )
    if setting.charged_to == "separate":  # nothing of a rewrite comes into the window
        return facts
    return facts._replace(
        rationale_estimate=round(laws.rationale.base),
        full_measurement_share=laws.measurement.share,
        full_measurement_tokens=laws.measurement.full_tokens,
        delta_measurement_tokens=laws.measurement.delta_tokens,
    )


def _brief(work: Workspace) -> Brief:
    """Return what this policy is told at the start: of the window, what it believes."""
    return brief_of(work.setting)._replace(window=work.believed_window)


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
