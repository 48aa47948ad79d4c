"""`Bindings`: the instructions of one run, and whether a step that falls under them obeys them.

An instruction is a span that is quoted as long as it is held, and obeyed as long as it binds: two
things. Written by the agent itself it binds within the epoch of its premises and is lore after that;
received from outside it keeps its force. Truth: the agent sees what it quotes, not what it obeys, and
never logs that it has revoked a rule of its own (field record 004).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from simulator.context import Context
from simulator.contracts import Fingerprint, InstructionTerms
from simulator.instructions import Topic
from simulator.laws import BindingLaw
from simulator.recorder import ObedienceRow
from simulator.streams import Streams


class Instruction:
    """One instruction in force or thought to be.

    Attributes
    ----------
    number : order in which the instructions of the run were written.
    span : id of the span that holds its text.
    topic : what it is about.
    outside : received, not written by the agent.
    turn : when it was last derived.
    versions : of its premises at that time.
    urgent, narrative, same_turn : how it was written.
    derivations : how often it was derived anew.
    revoked : the agent has stopped obeying it, and does not know.
    tag : the versions that it shows, or None where it shows none.
    obeys, quotes : its draws, by turn.
    """

    __slots__ = (
        "derivations",
        "narrative",
        "number",
        "obeys",
        "outside",
        "quotes",
        "revoked",
        "same_turn",
        "span",
        "tag",
        "topic",
        "turn",
        "urgent",
        "versions",
    )

    def __init__(
        self,
        number: int,
        span: int,
        topic: Topic,
        turn: int,
        streams: Streams,
        *,
        received: int | None = None,
    ) -> None:
        whose = f"instruction {number} on {topic.name}"
        if received:  # one of several from outside has draws of its own
            whose = f"{whose}, received after {received}"
        self.obeys, self.quotes = streams.uniform(f"obeys {whose}"), streams.uniform(f"quotes {whose}")
        self.number = number
        self.span = span
        self.topic = topic
        self.outside = received is not None
        self.turn = turn
        self.versions: dict[str, int] = {}
        self.urgent = self.narrative = self.same_turn = False
        self.derivations = 0
        self.revoked = False
        self.tag: dict[str, int] | None = None

    def derive(self, turn: int, live: Mapping[str, int], *, tagged: bool) -> None:
        """Bind it to the premises as they are now."""
        self.turn = turn
        self.versions = {name: live[name] for name in self.topic.premises}
        self.tag = dict(self.versions) if tagged else None
        self.revoked = False

    def changes(self, live: Mapping[str, int]) -> int:
        """Return the versions of its premises that came since it was last derived."""
        return sum(live[name] - version for name, version in self.versions.items())


class Bindings:
    """All instructions of one run.

    Attributes
    ----------
    active : in the order in which they were written.
    rows : one for each instruction that a step came under.
    written, unwritten, stopped : instructions written, refused, and derived anew at a stop.
    said_again : the turn in which all were last repeated, or None.
    """

    def __init__(self, law: BindingLaw, terms: InstructionTerms, streams: Streams, agent: int = 0) -> None:
        self._agent = agent
        self._law = law
        self._terms = terms
        self._streams = streams
        self._quoted = law.quoted(raised=terms.emphatic)
        self._raised = law.quoted(raised=True)
        self._shadows = law.midpoint < math.inf and not terms.monotonic
        self._numbered = 0
        self._received: dict[str, int] = {}
        self.active: list[Instruction] = []
        self.rows: list[ObedienceRow] = []
        self.written = self.unwritten = self.stopped = 0
        self.said_again: int | None = None

    def write(self, span: int, topic: Topic, turn: int, live: Mapping[str, int]) -> Instruction:
        """Add a self-written instruction, bound to the premises as they are."""
        one = Instruction(self._numbered, span, topic, turn, self._streams)
        one.derive(turn, live, tagged=self.tagged)
        self._numbered += 1
        self.written += turn > 0  # what stood before the first turn was not written in this run
        self.active.append(one)
        return one

    def receive(self, span: int, topic: Topic, turn: int) -> None:
        """Add an instruction received from outside."""
        before = self._received.get(topic.name, 0)
        self._received[topic.name] = before + 1
        self.active.append(Instruction(-1, span, topic, turn, self._streams, received=before))

    @property
    def tagged(self) -> bool:
        """Whether instructions keep the versions of their premises at all."""
        return self._terms.fingerprint is not Fingerprint.NONE

    def held(self, context: Context) -> list[Instruction]:
        """Return the instructions whose text still stands in the context; the rest is forgotten."""
        holds = context.holds
        for one in self.active:
            if not holds(one.span):
                self.active = [each for each in self.active if holds(each.span)]
                break
        return self.active

    def rewrite(self, spans: Collection[int], live: Mapping[str, int], attempt: int) -> None:
        """Forge or lose the fingerprints that stood in rewritten spans; outside the window none can be."""
        if self._terms.fingerprint is not Fingerprint.INSIDE:
            return
        for one in self.active:
            if one.span in spans and one.tag is not None:
                draw = self._streams.uniform(f"forged fingerprint of instruction {one.number}")[attempt]
                forged = draw < self._law.forge_share
                one.tag = {name: live[name] for name in one.versions} if forged else None

    def obey(self, one: Instruction, turn: int, live: Mapping[str, int], *, stopped: bool) -> ObedienceRow:
        """Live through one step under one instruction; draws are keyed by instruction and turn."""
        law = self._law
        active = len(self.active)
        changes = 0 if one.outside else one.changes(live)
        if not one.outside and not one.revoked:
            pace = law.pace(
                urgent=one.urgent,
                narrative=one.narrative,
                same_turn=one.same_turn,
                derivations=one.derivations,
            )
            kept = law.authority(pace, changes, turn - one.turn)
            patience = self._streams.uniform(f"patience at derivation {one.derivations}")[one.number]
            one.revoked = patience >= kept
        obeys = law.obey * law.power**active
        if self._shadows and self._has_newer(one):
            obeys *= 1 - law.shadowed(active)
        row = ObedienceRow(
            turn,
            one.topic.name,
            one.number,
            one.outside,
            changes,
            turn - one.turn,
            one.derivations,
            active,
            one.quotes[turn]
            < (self._raised if self.said_again and self._is_repeated(turn) else self._quoted),
            not one.revoked and one.obeys[turn] < obeys,
            one.revoked,
            stopped,
            one.outside or one.tag is not None,
            self._agent,
        )
        self.rows.append(row)
        return row

    def _is_repeated(self, turn: int) -> bool:
        """Whether a repetition is so fresh that it moves what is quoted."""
        every = self._terms.repeats_every
        return every is not None and self.said_again is not None and turn - self.said_again < every

    def _has_newer(self, one: Instruction) -> bool:
        """Whether a newer, and so narrower, instruction of its topic is in force."""
        return any(other.number > one.number and other.topic is one.topic for other in self.active)
