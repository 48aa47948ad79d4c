"""What a policy is asked between rewrites: may I go on, may I write this, does this still bind.

Standard library only. The engine asks, the policy answers with a `Verdict`; all that stands here is
what an agent can know of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Vitals(NamedTuple):
    """What an agent can see of itself at the start of a turn, beside what it saw a turn before.

    Attributes
    ----------
    tokens, tokens_before : believed count now and at the last turn's start.
    confidence, confidence_before : 1 minus the share of what it holds that is in doubt.
    ledger : tombstones that it can consult; None where it keeps none.
    """

    tokens: int
    tokens_before: int
    confidence: float
    confidence_before: float
    ledger: int | None


class Amendment(NamedTuple):
    """An instruction that the agent wants to write to itself.

    Attributes
    ----------
    topic : what it is about.
    premises : names of the premises that it depends on.
    phase : version of the premise that tells the phases of the task apart.
    narrative : it tells a story ("I should remember to") and commands nothing.
    replaces : instructions on the topic that it takes the place of; 0 where it only adds.
    """

    topic: str
    premises: tuple[str, ...] = ()
    phase: int = 0
    narrative: bool = False
    replaces: int = 0


class Reliance(NamedTuple):
    """A self-written instruction that the step to come falls under.

    Attributes
    ----------
    topic : what it is about.
    written : versions of its premises when it was last derived, or None where the tag is missing.
    live : versions of the same premises now.
    """

    topic: str
    written: Mapping[str, int] | None
    live: Mapping[str, int]
