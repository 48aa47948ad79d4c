"""`Setting`: the frozen input of `simulate`. Everything about a run but the policy and the seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from simulator.bounds import require_at_least
from simulator.contracts import Workload
from simulator.instructions import InstructionSpec
from simulator.laws import Laws
from simulator.provider import ProviderSpec
from simulator.supervisor import SupervisorSpec
from simulator.tagging import TagSpec
from simulator.world import WorldSpec


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """How many agents share one supervisor, and whether an agent that calls it waits for it."""

    agents: int = 1
    blocks: bool = False

    def __post_init__(self) -> None:
        require_at_least(1, self, ("agents",), "fleet")


@dataclass(frozen=True, slots=True)
class RuntimeSpec:
    """What the runtime makes of rewrites, whoever asks for them.

    Attributes
    ----------
    append_only : nothing that stands may be rewritten.
    restores : a process outside the agent checks each commit and puts back the constraints that it
        has robbed of their force.
    requires_pairs : the provider refuses a request with a call without its result, a result without
        its call, or a signed block that was changed in the running tool loop.
    """

    append_only: bool = False
    restores: bool = False
    requires_pairs: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """One scenario, ready to run.

    Attributes
    ----------
    name : what the tables call it.
    draws : a coordinate of the run's randomness: settings that share it meet the same world.
    window, output_reserve, head : tokens; the head is the fixed prefix (system prompt, tools).
    horizon : most turns.
    workload : what happens to the agent.
    laws, provider, supervisor, world, instructions, tags, fleet, runtime : the mechanism's parameters.
    charged_to : where rewriting is paid: from the window, or from a separate quota.
    """

    name: str
    window: int
    workload: Workload
    draws: str = ""
    horizon: int = 200
    output_reserve: int = 0
    head: int = 0
    laws: Laws = field(default_factory=Laws)
    provider: ProviderSpec = field(default_factory=ProviderSpec)
    supervisor: SupervisorSpec = field(default_factory=SupervisorSpec)
    world: WorldSpec = field(default_factory=WorldSpec)
    instructions: InstructionSpec = field(default_factory=InstructionSpec)
    tags: TagSpec = field(default_factory=TagSpec)
    fleet: FleetSpec = field(default_factory=FleetSpec)
    runtime: RuntimeSpec = field(default_factory=RuntimeSpec)
    charged_to: Literal["window", "separate"] = "window"

    def __post_init__(self) -> None:
        require_at_least(1, self, ("window", "horizon"), self.name)
        require_at_least(0, self, ("output_reserve", "head"), self.name)
