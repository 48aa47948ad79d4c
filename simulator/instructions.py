"""`InstructionSpec`: what there is to be instructed about, and who looks after it from outside."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import InputError


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that instructions are about.

    Attributes
    ----------
    name : of the topic.
    premises : names of the premises that an instruction about it depends on.
    given : one instruction about it is received from outside before the first turn.
    """

    name: str
    premises: tuple[str, ...] = ()
    given: bool = False


@dataclass(frozen=True, slots=True)
class InstructionSpec:
    """All topics of a scenario.

    Attributes
    ----------
    topics : each name once.
    phase : the premise whose changes start a new phase of the task; None has one phase.
    barrier : only a supervisor writes instructions, behind a hard barrier: what the agent wants is
        received from outside.
    validator : a process outside the agent's authority derives instructions anew at each transition.
    accreted : instructions on each topic that the agent has written to itself before the first turn,
        each narrower than the one before.
    """

    topics: tuple[Topic, ...] = ()
    phase: str | None = None
    validator: bool = False
    barrier: bool = False
    accreted: int = 0

    def __post_init__(self) -> None:
        given = [topic.name for topic in self.topics]
        twice = next((name for name in given if given.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"topic {twice!r} stands twice", where="topic", expected="each once")
