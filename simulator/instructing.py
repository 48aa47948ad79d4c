"""The agent under instructions: it quotes them, obeys or not, and writes the next one after a failure.

In come the topics that a step falls under; out come the seconds that this took beside the request. A
policy is asked whether an instruction may be relied on, which can stop the step until it is derived
anew, and whether one may be written; a supervisor's barrier takes the writing out of its hands.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.binding import Instruction
from simulator.calling import ask_verdict
from simulator.instructions import Topic
from simulator.ledger import Account
from simulator.provider import Purpose
from simulator.questions import Amendment, Reliance
from simulator.spans import Kind, Provenance
from simulator.workspace import Note, Workspace


class Failure(NamedTuple):
    """A step that obeyed nothing: what it was about, and its turn."""

    topic: Topic
    turn: int


class Instructor:
    """Follows, writes, derives anew and retires the instructions of one agent."""

    __slots__ = ("_due", "_note", "_repeats", "_topics", "_work")

    def __init__(self, work: Workspace, note: Note) -> None:
        self._work = work
        self._note = note
        self._topics = {topic.name: topic for topic in work.setting.instructions.topics}
        self._due: list[Failure] = []
        self._repeats = work.terms.instructions.repeats_every is not None

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to write that no step of this turn asks for."""
        return self._repeats or bool(self._due)

    def move_in(self) -> None:
        """Receive or have written what stands before the first turn; the caller posts its tokens."""
        work, spec = self._work, self._work.setting.instructions
        for topic in spec.topics:
            for place in range(topic.given + spec.accreted):
                outside = topic.given and place == 0
                span = work.made(
                    Kind.INSTRUCTION,
                    work.setting.laws.binding.tokens,
                    Provenance.USER if outside else Provenance.SELF,
                )
                work.context.append(span)
                if outside:
                    work.bindings.receive(span.id, topic, 0)
                else:
                    work.bindings.write(span.id, topic, 0, work.versions)

    def take(self, topics: tuple[str, ...]) -> float:
        """Take one step under these topics and return its seconds."""
        seconds = self._catch_up() if self._repeats or self._due else 0.0
        for name in topics:
            seconds += self._follow(self._topics[name])
        return seconds

    def changed(self, premises: list[str]) -> None:
        """Let the validator derive anew what leans on premises that have changed, outside the window."""
        work = self._work
        if not work.setting.instructions.validator:
            return
        for one in work.bindings.held(work.context):
            if not one.outside and any(name in premises for name in one.topic.premises):
                one.derivations += 1
                one.derive(work.turn, work.versions, tagged=one.tag is not None)
                self._note("validated", one.topic.name, 0)

    def _catch_up(self) -> float:
        """Write what was left over for diagnosis, and say again what is to be repeated."""
        work = self._work
        seconds = 0.0
        for failure in self._due:
            seconds += self._amend(failure)
        self._due.clear()
        every = work.terms.instructions.repeats_every
        if every is not None and work.turn % every == 0:
            said = sum(not one.outside for one in work.bindings.held(work.context))
            if said:
                tokens = said * work.setting.laws.binding.tokens
                work.write(Kind.ASSISTANT, tokens, Account.INSTRUCTIONS)
                work.bindings.said_again = work.turn
                self._note("repeated", f"{said} instructions", tokens)
        return seconds

    def _follow(self, topic: Topic) -> float:
        """Come under a topic: stop at what is stale, obey or not, and fail where nothing was obeyed."""
        work = self._work
        bindings = work.bindings
        kept = False
        seconds = 0.0
        for one in list(bindings.held(work.context)):
            if one.topic is not topic:
                continue
            stopped = not one.outside and not self._binds(one)
            if stopped:
                seconds += self._derive_again(one)
            row = bindings.obey(one, work.turn, work.versions, stopped=stopped)
            kept = kept or row.obeyed
            if not row.obeyed:
                self._note("broken", f"{topic.name}, {'quoted' if row.quoted else 'not quoted'}", 0)
        return seconds if kept else seconds + self._fail(topic)

    def _fail(self, topic: Topic) -> float:
        """Fail at a step that obeyed nothing, if it comes to that, and want an instruction against it."""
        work = self._work
        fails = work.streams.uniform(f"failure on {topic.name}")[work.turn]
        if fails >= work.setting.laws.binding.failure_share:
            return 0.0
        self._note("failure", topic.name, 0)
        terms = work.terms.instructions
        failure = Failure(topic, work.turn)
        if not terms.edits:
            return 0.0
        if terms.diagnoses:
            self._due.append(failure)
            return 0.0
        return self._amend(failure)

    def _binds(self, one: Instruction) -> bool:
        """Ask the policy whether an instruction may be relied on."""
        work = self._work
        live = {name: work.versions[name] for name in one.topic.premises}
        tag = None if one.tag is None else dict(one.tag)  # a copy: who is asked shall not forge it
        return ask_verdict(work, "rely", work.policy.rely, Reliance(one.topic.name, tag, live)).accepted

    def _derive_again(self, one: Instruction) -> float:
        """Put a new, stronger instruction in the place of a stale one: the old is retired with a reason."""
        work = self._work
        law = work.setting.laws.binding
        work.bindings.stopped += 1
        self._retire(one, "stale")
        seconds = self._put(one.topic, law.rederive_tokens + law.tokens, "stopped")
        one.span = work.newest
        one.derivations += 1
        one.derive(work.turn, work.versions, tagged=work.bindings.tagged)
        return seconds

    def _amend(self, failure: Failure) -> float:
        """Write an instruction after a failure: if the policy lets it be written, or the supervisor does."""
        work, topic = self._work, failure.topic
        law = work.setting.laws.binding
        if work.setting.instructions.barrier:
            seconds = self._put(topic, law.tokens, "instruction", Provenance.USER)
            work.bindings.receive(work.newest, topic, work.turn)
            return seconds
        wanted = self._wanted(failure)
        if wanted is None:
            return 0.0
        if wanted.replaces:
            self._consolidate(topic)
        seconds = self._put(topic, law.tokens, "instruction")
        one = work.bindings.write(work.newest, topic, work.turn, work.versions)
        one.urgent = work.streams.uniform(f"urgency on {topic.name}")[failure.turn] < law.urgent_share
        one.narrative, one.same_turn = wanted.narrative, failure.turn == work.turn
        return seconds

    def _wanted(self, failure: Failure) -> Amendment | None:
        """Return what the policy lets be written: as it came, as a command, or in the place of others."""
        work, topic = self._work, failure.topic
        phase = work.setting.instructions.phase
        narrative = work.streams.uniform(f"wording on {topic.name}")[failure.turn]
        wanted = Amendment(
            topic.name,
            topic.premises,
            0 if phase is None else work.versions[phase],
            narrative < work.setting.laws.binding.narrative_share,
        )
        forms = [wanted, wanted._replace(narrative=False)] if wanted.narrative else [wanted]
        older = self._older(topic) if work.terms.instructions.consolidates else []
        if older:
            forms.append(wanted._replace(narrative=False, replaces=len(older)))
        for form in forms:
            verdict = ask_verdict(work, "amend", work.policy.amend, form)
            if verdict.accepted:
                return form
        work.bindings.unwritten += 1
        self._note("unwritten", f"{topic.name}: {verdict.reason}", 0)
        return None

    def _older(self, topic: Topic) -> list[Instruction]:
        """Return the self-written instructions of a topic that are held."""
        held = self._work.bindings.held(self._work.context)
        return [one for one in held if one.topic is topic and not one.outside]

    def _consolidate(self, topic: Topic) -> None:
        """Retire the self-written instructions of a topic, as one new one takes their place."""
        bindings = self._work.bindings
        older = self._older(topic)
        for one in older:
            self._retire(one, "consolidated")
        bindings.active = [one for one in bindings.active if one not in older]

    def _retire(self, one: Instruction, reason: str) -> None:
        work = self._work
        if one.span in work.context:
            work.provider.keep_prefix(work.context.prefix_before((one.span,)))
            removed = work.context.remove((one.span,))
            work.ledger.post(Account.RETIRED, removed)
            self._note("retired", f"instruction on {one.topic.name}: {reason}", removed)

    def _put(self, topic: Topic, tokens: int, event: str, provenance: Provenance = Provenance.SELF) -> float:
        """Put the text of an instruction into the window; return the seconds of writing it."""
        work = self._work
        work.write(Kind.INSTRUCTION, tokens, Account.INSTRUCTIONS, provenance=provenance)
        self._note(event, topic.name, tokens)
        return work.provider.continue_prompt(work.env.now, work.context.tokens, tokens, Purpose.AGENT)
