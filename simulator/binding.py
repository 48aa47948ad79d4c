"""`Bindings`: the instructions of one run, and whether a step that falls under them obeys them.

An instruction is a span that is quoted as long as it is held, and obeyed as long as it binds: two
things. Written by the agent itself it binds within the epoch of its premises and is lore after that;
received from outside it keeps its force. Truth: the agent sees what it quotes, not what it obeys, and
never logs that it has revoked a rule of its own (field record 004).
"""

from __future__ import annotations

from collections.abc import Mapping

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
    """

    __slots__ = (
        "derivations",
        "narrative",
        "number",
        "outside",
        "revoked",
        "same_turn",
        "span",
        "tag",
        "topic",
        "turn",
        "urgent",
        "versions",
    )

    def __init__(self, number: int, span: int, topic: Topic, turn: int, *, outside: bool = False) -> None:
        self.number = number
        self.span = span
        self.topic = topic
        self.outside = outside
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
    """

    def __init__(self, law: BindingLaw, terms: InstructionTerms, streams: Streams) -> None:
        self._law = law
        self._terms = terms
        self._streams = streams
        self.active: list[Instruction] = []
        self.rows: list[ObedienceRow] = []
        self.written = self.unwritten = self.stopped = 0

    def write(self, span: int, topic: Topic, turn: int, live: Mapping[str, int]) -> Instruction:
        """Add a self-written instruction, bound to the premises as they are."""
        one = Instruction(self.written, span, topic, turn)
        one.derive(turn, live, tagged=self.tagged)
        self.written += 1
        self.active.append(one)
        return one

    def receive(self, span: int, topic: Topic) -> None:
        """Add an instruction received from outside."""
        self.active.append(Instruction(-1, span, topic, 0, outside=True))

    @property
    def tagged(self) -> bool:
        """Whether instructions keep the versions of their premises at all."""
        return self._terms.fingerprint is not Fingerprint.NONE

    def held(self, context: Context) -> list[Instruction]:
        """Return the instructions whose text still stands in the context; the rest is forgotten."""
        self.active = [one for one in self.active if context.holds(one.span)]
        return self.active

    def read_tag(self, one: Instruction, context: Context, live: Mapping[str, int]) -> dict[str, int] | None:
        """Return the versions that an instruction shows; inside the window a rewrite may have forged them."""
        inside = self._terms.fingerprint is Fingerprint.INSIDE
        if inside and one.tag is not None and one.span not in context:
            forged = self._streams.uniform("forged fingerprint")[abs(one.span)] < self._law.forge_share
            one.tag = {name: live[name] for name in one.versions} if forged else None
        return one.tag

    def obey(self, one: Instruction, turn: int, live: Mapping[str, int], *, stopped: bool) -> ObedienceRow:
        """Live through one step under one instruction; draws are keyed by instruction and turn."""
        law, draws = self._law, self._streams
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
            patience = draws.uniform(f"patience at derivation {one.derivations}")[one.number]
            one.revoked = patience >= kept
        whose = f"instruction {one.number} on {one.topic.name}"
        shadow = 0.0 if self._terms.monotonic or not self._has_newer(one) else law.shadowed(active)
        obeys = law.obey * law.power**active * (1 - shadow)
        obeyed = not one.revoked and draws.uniform(f"obeys {whose}")[turn] < obeys
        raised = self._terms.emphatic or self._terms.repeats_every is not None
        quoted = draws.uniform(f"quotes {whose}")[turn] < law.quoted(raised=raised)
        row = ObedienceRow(
            turn=turn,
            topic=one.topic.name,
            instruction=one.number,
            outside=one.outside,
            changes=changes,
            age=turn - one.turn,
            derivations=one.derivations,
            active=active,
            quoted=quoted,
            obeyed=obeyed,
            revoked=one.revoked,
            stopped=stopped,
            auditable=one.outside or one.tag is not None,
        )
        self.rows.append(row)
        return row

    def _has_newer(self, one: Instruction) -> bool:
        """Whether a newer, and so narrower, instruction of its topic is in force."""
        return any(other.topic is one.topic and other.number > one.number for other in self.active)
