"""The small worlds in which the conformance suite drives a policy, made from the simulator alone.

Each shows a policy something of its own: views that are empty, full or marked all over, windows that
overflow, content that does not compress. Nothing comes in; out come `Setting`s, and for each a twin
whose hidden truth is another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from simulator.contracts import Step, Turn
from simulator.instructions import InstructionSpec, Topic
from simulator.laws import BindingLaw, Laws, MeasurementLaw, RationaleLaw, SummaryLaw
from simulator.setting import Setting
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Draws, Streams
from simulator.supervisor import SupervisorSpec
from simulator.world import PremiseSpec, WorldSpec

FIRST_ARRIVAL = 10_000
"""Ids below it belong to the opening."""

SUBGOAL_TURNS = 4
"""Turns of one piece of work."""

USER_EVERY = 3
"""A user message starts the first turn and every third after it."""

NEEDED_EVERY = 7
"""Every seventh tool result will be cited after its piece of work has closed."""


@dataclass(frozen=True, slots=True)
class SmallWorkload:
    """Calls with two results each, answers that lean on them, user messages, pieces of work that close.

    Attributes
    ----------
    opening : calls with all that belongs to them, summaries and placeholders too, before turn 1.
    tokens : of a tool result, at the median; 0 brings nothing.
    spread : of the logarithm of sizes; 0 is a script to the token.
    compressible : hidden truth of every span.
    stated : user messages are tagged as constraints, and results are dear to recover.
    binds : hidden truth of what is so tagged: it has force.
    paired : each request opens with a signed block and has a call for each of its results.
    topics : topics of instructions that the step of every turn comes under.
    """

    opening: int = 0
    tokens: int = 25
    spread: float = 0.0
    compressible: bool = True
    topics: tuple[str, ...] = ()
    stated: bool = False
    binds: bool = True
    paired: bool = False

    def initial(self, streams: Streams) -> Iterator[Span]:
        """Yield what stands in the window at the start; its pieces of work are numbered below 0."""
        sizes = streams.normal("size")
        for group in range(self.opening):
            first, goal = 10 * group, -1 - group
            yield from self._call(first, 0, goal, sizes)
            yield self._span(first + 4, Kind.SUMMARY, 0, goal, sizes, passes=1)
            yield self._span(first + 5, Kind.PLACEHOLDER, 0, goal, sizes)

    def turns(self, streams: Streams) -> Iterator[Turn]:
        """Yield turns without end; each of the first closes one piece of work of the opening."""
        sizes = streams.normal("size")
        step = Step(topics=self.topics) if self.topics else None
        turn = 0
        while True:
            turn += 1
            first, goal = FIRST_ARRIVAL + 10 * turn, turn // SUBGOAL_TURNS
            closes = [-turn] if turn <= self.opening else []
            if goal and turn % SUBGOAL_TURNS == 0:
                closes.append(goal - 1)
            call = tuple(self._call(first, turn, goal, sizes)) if self.tokens else ()
            user = turn % USER_EVERY == 1
            message = (self._span(first + 4, Kind.USER, turn, None, sizes),) if user and call else ()
            yield Turn((*message, *call[:-1]), call[-1:], 1.0, user, tuple(closes), step=step)

    def _call(self, first: int, turn: int, goal: int, sizes: Draws) -> Iterator[Span]:
        if self.paired:
            yield self._span(first + 7, Kind.THINKING, turn, goal, sizes, pair=first)
            yield self._span(first + 6, Kind.TOOL_CALL, turn, goal, sizes, pair=first)
        yield self._span(first, Kind.TOOL_CALL, turn, goal, sizes, pair=first)
        for place in (1, 2):
            needed = (first + place) % NEEDED_EVERY == 0
            yield self._span(first + place, Kind.TOOL_RESULT, turn, goal, sizes, pair=first, needed=needed)
        answer = self._span(first + 3, Kind.ASSISTANT, turn, goal, sizes)
        yield answer._replace(cites=(first + 1, first + 2))

    def _span(
        self,
        identity: int,
        kind: Kind,
        turn: int,
        goal: int | None,
        sizes: Draws,
        *,
        pair: int | None = None,
        needed: bool = False,
        passes: int = 0,
    ) -> Span:
        tokens = max(1, round(self.tokens * math.exp(self.spread * sizes[identity])))
        return Span(
            identity,
            kind,
            tokens,
            turn,
            PROVENANCE.get(kind, Provenance.SELF),
            goal,
            pair,
            needed=needed,
            passes=passes,
            compressible=self.compressible,
            constraint=self.stated and kind is Kind.USER,
            rederive=2 * tokens if self.stated and kind is Kind.TOOL_RESULT else 0,
            binds=(identity,) if self.stated and self.binds and kind is Kind.USER else (),
        )


PROVENANCE = {
    Kind.USER: Provenance.USER,
    Kind.TOOL_RESULT: Provenance.TOOL,
    Kind.SUMMARY: Provenance.DERIVED,
    Kind.PLACEHOLDER: Provenance.DERIVED,
}

LAWS = Laws(
    rationale=RationaleLaw(base=60),
    summary=SummaryLaw(ratio=0.3, ratio_spread=0.05, ratio_per_pass=0.45),
    measurement=MeasurementLaw(share=0.02, delta_tokens=5),
)


def _world(name: str, workload: SmallWorkload, *, head: int = 300, horizon: int = 40) -> Setting:
    return Setting(
        name,
        window=4_000,
        workload=workload,
        draws="check-policy",
        horizon=horizon,
        output_reserve=100,
        head=head,
        laws=LAWS,
        supervisor=SupervisorSpec(evict_tokens=300),
    )


NOTHING = SmallWorkload(tokens=0)
STRESS = (
    _world("synthetic", SmallWorkload(spread=0.6)),
    _world("scripted", SmallWorkload(opening=10)),
    _world("nothing compresses", SmallWorkload(opening=10, spread=0.6, compressible=False)),
)
FLOOD = _world("flood", SmallWorkload(tokens=200), head=0)
FULL = _world("full view", SmallWorkload(opening=22), horizon=8)
MARKED = _world("view where all is marked", NOTHING, head=0, horizon=8)
EMPTY = _world("empty view", NOTHING, head=0, horizon=2)
VIEWS = (
    EMPTY,
    _world("view with only the head", NOTHING, horizon=2),
    FULL,
    MARKED,
    _world("view with folds", SmallWorkload(opening=4), horizon=20),
    _world("view with pairs", SmallWorkload(opening=4, paired=True), horizon=8),
)
STATED = _world("stated and cited", SmallWorkload(opening=10, spread=0.6, stated=True))
INSTRUCTED = replace(
    _world("instructions", SmallWorkload(opening=10, spread=0.6, topics=("payload", "order")), horizon=20),
    laws=replace(LAWS, binding=BindingLaw(tokens=10, obey=0.5, kept_at_change=0.0, failure_share=1.0)),
    world=WorldSpec((PremiseSpec("schema", at=(3, 9, 15)), PremiseSpec("phase", at=(6, 12)))),
    instructions=InstructionSpec(
        (Topic("payload", ("schema",)), Topic("order", ("phase",))), phase="phase", accreted=1
    ),
)
"""The agent has written instructions to itself, obeys every other time, and fails wherever it does not."""
SEED = 20_261_113


def with_other_truth(setting: Setting) -> Setting:
    """Return the same visible world in which the opposite compresses and binds, and summaries are longer."""
    workload = setting.workload
    assert isinstance(workload, SmallWorkload)
    return replace(
        setting,
        workload=replace(workload, compressible=not workload.compressible, binds=not workload.binds),
        laws=replace(setting.laws, summary=replace(setting.laws.summary, ratio=0.6)),
    )
