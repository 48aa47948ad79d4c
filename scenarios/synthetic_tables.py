"""The table of a scenario file that says what random turns bring.

It is checked as it is read, keys that say nothing without another one among what is checked, and builds
one workload. A CSV of run lengths stands beside the scenario, or beside the base that it has from the
catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from scenarios.lengths import read_lengths
from scenarios.surroundings import Name
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.contracts import Workload
from simulator.errors import InputError, nearest_name
from simulator.schema import Amount, Positive, Share, Table, Tokens, Turns
from simulator.spans import CONTENT_CLASSES

CATALOGUE = Path(__file__).parent / "catalogue"
"""Where a CSV of run lengths is looked for when none stands beside the scenario."""


class SyntheticTable(Table):
    """A workload of random turns; see `SyntheticWorkload` for each key."""

    kind: Literal["synthetic"]
    results_per_turn: Annotated[int, Field(ge=0, le=1000)] = 1
    result_mean: Positive = 175.0
    result_sigma: Annotated[float, Field(ge=0, le=5)] = 0.8
    result_cut: Annotated[int, Field(ge=1)] | None = None
    reply_low: Tokens = 0
    reply_high: Tokens = 0
    subgoal_low: Turns = 0
    subgoal_high: Turns = 0
    cited_share: Share = 0.0
    citation_lag: Amount = 15.0
    incompressible_share: Share = 0.0
    turn_seconds: Amount = 0.0
    turns: Annotated[int, Field(ge=1)] | None = None
    constraint_share: Share = 0.0
    constraint_turns: Annotated[int, Field(ge=1)] | None = None
    constraint_mean: Positive = 40.0
    constraint_sigma: Annotated[float, Field(ge=0, le=5)] = 0.0
    constraint_doubt: Share = 0.0
    governed_share: Share = 0.0
    doubt_share: Share = 0.0
    doubt_part: Share = 0.0
    lean_share: Share = 0.0
    touched_share: Share = 0.0
    touch_lag: Amount = 3.0
    rederive: Tokens = 0
    topics: tuple[Name, ...] = ()
    topic_share: Share = 0.0
    call_tokens: Tokens = 0
    thinking_tokens: Tokens = 0
    user_every: Turns = 0
    user_tokens: Tokens = 0
    result_tail: Annotated[float, Field(ge=0, le=100)] = 0.0
    burst_share: Share = 0.0
    burst_results: Annotated[int, Field(ge=0, le=1000)] = 0
    results_together: bool = True
    content: dict[str, Share] = Field(default_factory=dict)
    standing_share: Share = 0.0
    idle_every: Turns = 0
    idle_seconds: Amount = 0.0
    lengths: str | None = None
    lengths_column: str | None = None

    @model_validator(mode="after")
    def _ordered(self) -> SyntheticTable:
        for low, high in ((self.reply_low, self.reply_high), (self.subgoal_low, self.subgoal_high)):
            if low > high:
                raise ValueError(f"low {low} is above high {high}")
        return self

    @model_validator(mode="after")
    def _topics_to_draw_from(self) -> SyntheticTable:
        twice = next((topic for topic in self.topics if self.topics.count(topic) > 1), None)
        if twice is not None:
            raise ValueError(f"topic {twice!r} stands twice")
        if self.topic_share and not self.topics:
            raise ValueError(f"topic_share {self.topic_share} needs topics")
        return self

    @field_validator("content")
    @classmethod
    def _of_known_classes(cls, content: dict[str, float]) -> dict[str, float]:
        for name in content:
            if name not in CONTENT_CLASSES:
                expected = f"one of {', '.join(CONTENT_CLASSES)}"
                near = nearest_name(name, CONTENT_CLASSES)
                raise ValueError(
                    str(InputError(f"unknown content class {name!r}", expected=expected, nearest=near))
                )
        whole = sum(content.values())
        if whole > 1 + ROUNDING:
            raise ValueError(f"shares of {whole:g} in all, above 1")
        return content

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> SyntheticTable:
        if 0 < self.result_tail <= 1:
            raise ValueError(f"result_tail {self.result_tail:g} has no mean; expected above 1, or 0 for none")
        for key, needed in NEEDED.items():
            if getattr(self, key) and not getattr(self, needed):
                raise ValueError(f"{key} {getattr(self, key)!r} needs {needed}")
        return self

    def named_topics(self) -> Iterator[tuple[str, str]]:
        """Yield each topic that a step may come under, with its place in the table."""
        yield from (("topics", topic) for topic in self.topics)

    def workload(self, path: Path) -> Workload:
        """Return the workload of the scenario at `path`, with the run lengths of a CSV where one is named."""
        lengths: tuple[int, ...] = ()
        if self.lengths is not None and self.lengths_column is not None:
            beside, ours = path.parent / self.lengths, CATALOGUE / self.lengths
            inherited = not beside.exists() and ours.exists()  # from a base in the catalogue
            lengths = read_lengths(ours if inherited else beside, self.lengths_column)
        values = self.model_dump(exclude={"kind", "turns", "content", "lengths", "lengths_column"})
        return SyntheticWorkload(
            **values, turns_limit=self.turns, content=tuple(self.content.items()), lengths=lengths
        )


ROUNDING = 1e-9
"""What shares that are meant to add up to 1 may be above it."""

NEEDED = {
    "call_tokens": "user_tokens",
    "user_every": "user_tokens",
    "burst_share": "burst_results",
    "idle_every": "idle_seconds",
    "lengths": "lengths_column",
    "lengths_column": "lengths",
}
"""Keys of a synthetic workload that say nothing without another one."""
