"""`Supervisor`: who acts on escalations, out of band, while the agent goes on.

A `simpy.Resource` of some capacity with a service time. When served, an escalation evicts the
oldest evictable content of the agent's context up to a number of tokens; what it removes is in the
ledger as out of band, not as freed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal

import simpy

from simulator.bounds import require_at_least


@dataclass(frozen=True, slots=True)
class SupervisorSpec:
    """How many escalations are served at once, how long one takes, what it removes.

    `capacity` 0 is a supervisor who never comes. `service_seconds` is the mean of an exponential
    service time, or its value where `constant` is true. `act` says what is removed: the `oldest`
    content, or the oldest that nothing leans on (`spare` leaves constraints, live antecedents and
    instructions, which it knows from the external log).
    """

    capacity: int = 1
    service_seconds: float = 0.0
    constant: bool = True
    evict_tokens: int = 0
    act: Literal["oldest", "spare"] = "oldest"

    def __post_init__(self) -> None:
        require_at_least(0, self, ("capacity", "service_seconds", "evict_tokens"), "supervisor")


class Supervisor:
    """The queue in front of the supervisor.

    Attributes
    ----------
    escalations, served : counts.
    waited_seconds : summed over the served, from escalation to the start of service.
    busy_seconds : summed over the served, from the start of service to its end.
    """

    __slots__ = ("_desk", "_env", "_spec", "busy_seconds", "escalations", "served", "waited_seconds")

    def __init__(self, env: simpy.Environment, spec: SupervisorSpec) -> None:
        self._env = env
        self._spec = spec
        self._desk = simpy.Resource(env, spec.capacity) if spec.capacity else None
        self.escalations = 0
        self.served = 0
        self.waited_seconds = self.busy_seconds = 0.0

    def escalate(self, act: Callable[[int], object], exponential: float = 1.0) -> simpy.Process | None:
        """Queue an escalation; `act` is called with the tokens to remove once it has been served.

        Parameters
        ----------
        act : callable
            Given the tokens to evict.
        exponential : float
            A draw of mean 1 for the service time.

        Returns
        -------
        simpy.Process or None
            Ends when the escalation is served, for an agent that waits for it; None when nobody
            ever comes.
        """
        self.escalations += 1
        if self._desk is None:
            return None
        return self._env.process(self._serve(self._desk, act, exponential))

    def _serve(
        self, desk: simpy.Resource, act: Callable[[int], object], exponential: float
    ) -> Generator[simpy.Event, object, None]:
        arrived = self._env.now
        with desk.request() as place:
            yield place
            waited = self._env.now - arrived
            factor = 1.0 if self._spec.constant else exponential
            yield self._env.timeout(self._spec.service_seconds * factor)
            self.busy_seconds += self._spec.service_seconds * factor
        self.served += 1
        self.waited_seconds += waited
        act(self._spec.evict_tokens)
