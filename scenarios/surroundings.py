"""The tables of a scenario file that say what surrounds the agent.

Who looks after it, beside which others; the premises that it works under and what can be instructed
about them; how good the tags are that it goes by. Each table mirrors one parameter class of the
simulator, adds the bounds that a file is held to, and builds it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from simulator.instructions import InstructionSpec, Topic
from simulator.schema import Amount, Positive, Share, Table, Tokens
from simulator.setting import FleetSpec, RuntimeSpec
from simulator.supervisor import SupervisorSpec
from simulator.tagging import TagQuality, TagSpec
from simulator.world import PremiseSpec

Name = Annotated[str, Field(min_length=1)]
"""What a premise or a topic is called."""


class SupervisorTable(Table):
    """Parameters of `SupervisorSpec`."""

    capacity: Annotated[int, Field(ge=0, le=10**4)] = 1
    service_seconds: Amount = 0.0
    constant: bool = True
    evict_tokens: Tokens = 0
    act: Literal["oldest", "spare"] = "oldest"

    def built(self) -> SupervisorSpec:
        """Return the specification."""
        return SupervisorSpec(**self.model_dump())


class FleetTable(Table):
    """Parameters of `FleetSpec`."""

    agents: Annotated[int, Field(ge=1, le=10**4)] = 1
    blocks: bool = False

    def built(self) -> FleetSpec:
        """Return the specification."""
        return FleetSpec(**self.model_dump())


class PremiseTable(Table):
    """One premise: scripted times, or renewals."""

    name: Name
    at: tuple[Amount, ...] = ()
    mean_interval: Positive | None = None
    constant: bool = False

    @model_validator(mode="after")
    def _one_clockwork(self) -> PremiseTable:
        if self.at and self.mean_interval is not None:
            raise ValueError("needs one of at and mean_interval, not both")
        return self

    def built(self) -> PremiseSpec:
        """Return the specification."""
        return PremiseSpec(self.name, self.at, self.mean_interval, self.constant)


class TopicTable(Table):
    """One thing that instructions are about, with the premises that it depends on."""

    name: Name
    premises: tuple[Name, ...] = ()
    given: bool = False

    @field_validator("premises")
    @classmethod
    def _each_once(cls, premises: tuple[str, ...]) -> tuple[str, ...]:
        twice = next((name for name in premises if premises.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"premise {twice!r} stands twice; expected each once")
        return premises

    def built(self) -> Topic:
        """Return the topic."""
        return Topic(self.name, self.premises, self.given)


class InstructionsTable(Table):
    """The premise whose changes start a phase, and whether somebody outside looks after instructions."""

    phase: Name | None = None
    validator: bool = False
    barrier: bool = False
    accreted: Annotated[int, Field(ge=0, le=1000)] = 0

    def built(self, topics: tuple[TopicTable, ...]) -> InstructionSpec:
        """Return the specification of all topics."""
        return InstructionSpec(
            tuple(topic.built() for topic in topics), self.phase, self.validator, self.barrier, self.accreted
        )


class RuntimeTable(Table):
    """Parameters of `RuntimeSpec`."""

    append_only: bool = False
    restores: bool = False
    requires_pairs: bool = False

    def built(self) -> RuntimeSpec:
        """Return the specification."""
        return RuntimeSpec(**self.model_dump())


class TagTable(Table):
    """How good one tag is. Below a precision of one half a tag would say less than a coin."""

    recall: Share = 1.0
    precision: Annotated[float, Field(ge=0.5, le=1)] = 1.0

    def built(self) -> TagQuality:
        """Return the quality."""
        return TagQuality(self.recall, self.precision)


class TagsTable(Table):
    """The tags that a policy goes by: states a constraint, subgoal complete, will be cited."""

    constraint: TagTable = TagTable()
    closed: TagTable = TagTable()
    needed: TagTable = TagTable()

    def built(self) -> TagSpec:
        """Return the specification."""
        return TagSpec(self.constraint.built(), self.closed.built(), self.needed.built())
