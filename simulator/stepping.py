"""The step of a turn: what the agent does with what it holds, and what it cannot see that it lacks.

In come the workspace, the turn's `Step` and what its reply cites; out come the seconds that the step
took beside its request. A constraint without force is broken unseen; a missing antecedent is
recovered, at its price in tokens, or dropped in silence; an instruction is quoted and obeyed, or
only quoted, and a failure writes the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simulator.binding import Instruction
from simulator.contracts import Step, Verdict
from simulator.errors import RunFailed
from simulator.instructions import Topic
from simulator.ledger import Account
from simulator.provider import Purpose
from simulator.questions import Amendment, Reliance
from simulator.rewrite import ask
from simulator.spans import Kind, Provenance, Span
from simulator.workspace import Workspace

Question = TypeVar("Question")

Note = Callable[[str, str, int], None]
"""Writes a row of the event table: kind, detail, tokens."""


class Stepper:
    """Takes the steps of one agent.

    Attributes
    ----------
    work : what it stands on.
    """

    __slots__ = ("_due", "_note", "_repeats", "_topics", "work")

    def __init__(self, work: Workspace, note: Note) -> None:
        self.work = work
        self._note = note
        self._topics = {topic.name: topic for topic in work.setting.instructions.topics}
        self._due: list[Topic] = []
        self._repeats = work.terms.instructions.repeats_every is not None

    def take(self, step: Step, cited: tuple[int, ...], subgoal: int | None) -> float:
        """Take one step and return its seconds."""
        work = self.work
        for constraint in step.governed:
            if not work.context.binds(constraint):
                work.cognition.violations += 1
                self._note("violation", f"constraint {constraint}", 0)
        for claim, correction in step.claims:
            if work.context.holds(claim) and not work.context.binds(correction):
                work.cognition.false_claims += 1
                self._note("false claim", f"span {claim}", 0)
        seconds = self._catch_up() if self.is_waiting else 0.0
        for antecedent in (*step.touches, *cited):
            if not work.context.holds(antecedent):
                seconds += self._miss(antecedent, subgoal)
        for name in step.topics:
            seconds += self._follow(self._topics[name])
        return seconds

    # ------------------------------------------------------------------ references

    def _miss(self, antecedent: int, subgoal: int | None) -> float:
        """Recover what is missing, or drop the reference in silence."""
        work = self.work
        law = work.setting.laws.coherence
        if work.streams.uniform("silent drop")[abs(antecedent)] < law.drop_share:
            work.cognition.dropped += 1
            self._note("dropped reference", f"span {antecedent}", 0)
            return 0.0
        cost = work.cognition.recoverable.get(antecedent, 0)
        if not cost:  # nothing says what it would take: the reference stays broken
            return 0.0
        retry, rest = law.recovery(cost)
        seconds = 0.0
        if retry:
            self._write(Kind.TOOL_RESULT, retry, Account.REDERIVED, subgoal=subgoal)
            seconds = work.provider.continue_prompt(work.env.now, work.context.tokens, retry, Purpose.AGENT)
        recovered = self._write(
            Kind.TOOL_RESULT, rest, Account.REDERIVED, subgoal=subgoal, carries=(antecedent,), rederive=cost
        )
        work.cognition.recoverable[recovered.id] = cost
        self._note("rederived", f"span {antecedent}", retry + rest)
        return seconds

    # ------------------------------------------------------------------ instructions

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to write that no step of this turn asks for."""
        return self._repeats or bool(self._due)

    def _catch_up(self) -> float:
        """Write what was left over for diagnosis, and say again what is to be repeated."""
        work = self.work
        terms = work.terms.instructions
        seconds = 0.0
        for topic in self._due:
            seconds += self._amend(topic, same_turn=False)
        self._due.clear()
        if terms.repeats_every is not None and work.turn % terms.repeats_every == 0:
            said = sum(not one.outside for one in work.bindings.held(work.context))
            if said:
                tokens = said * work.setting.laws.binding.tokens
                self._write(Kind.ASSISTANT, tokens, Account.INSTRUCTIONS)
                self._note("repeated", f"{said} instructions", tokens)
        return seconds

    def changed(self, premises: list[str]) -> None:
        """Let the validator derive anew what leans on premises that have changed, outside the window."""
        work = self.work
        if not work.setting.instructions.validator:
            return
        for one in work.bindings.held(work.context):
            if not one.outside and any(name in premises for name in one.topic.premises):
                one.derivations += 1
                one.derive(work.turn, work.versions, tagged=one.tag is not None)
                self._note("validated", one.topic.name, 0)

    def _follow(self, topic: Topic) -> float:
        """Come under a topic: stop at what is stale, obey or not, and fail where nothing was obeyed."""
        work = self.work
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
        work = self.work
        fails = work.streams.uniform(f"failure on {topic.name}")[work.turn]
        if fails >= work.setting.laws.binding.failure_share:
            return 0.0
        self._note("failure", topic.name, 0)
        terms = work.terms.instructions
        if not terms.edits:
            return 0.0
        if terms.diagnoses:
            self._due.append(topic)
            return 0.0
        return self._amend(topic, same_turn=True)

    def _binds(self, one: Instruction) -> bool:
        """Ask the policy whether an instruction may be relied on."""
        work = self.work
        tag = work.bindings.read_tag(one, work.context, work.versions)
        live = {name: work.versions[name] for name in one.topic.premises}
        return self._verdict("rely", work.policy.rely, Reliance(one.topic.name, tag, live)).accepted

    def _derive_again(self, one: Instruction) -> float:
        """Put a new, stronger instruction in the place of a stale one: the old is retired with a reason."""
        work = self.work
        law = work.setting.laws.binding
        work.bindings.stopped += 1
        self._retire(one, "stale")
        span = self._write(Kind.INSTRUCTION, law.rederive_tokens + law.tokens, Account.INSTRUCTIONS)
        one.span = span.id
        one.derivations += 1
        one.derive(work.turn, work.versions, tagged=work.bindings.tagged)
        self._note("stopped", f"{one.topic.name}: derived anew", span.tokens)
        return work.provider.continue_prompt(work.env.now, work.context.tokens, span.tokens, Purpose.AGENT)

    def _amend(self, topic: Topic, *, same_turn: bool) -> float:
        """Write an instruction after a failure, if the policy lets it be written."""
        work = self.work
        law, turn = work.setting.laws.binding, work.turn
        narrative = work.streams.uniform("narrative wording")[turn] < law.narrative_share
        phase = work.setting.instructions.phase
        wanted = Amendment(
            topic.name, topic.premises, 0 if phase is None else work.versions[phase], narrative
        )
        verdict = self._verdict("amend", work.policy.amend, wanted)
        if not verdict.accepted and narrative:
            narrative = False
            verdict = self._verdict("amend", work.policy.amend, wanted._replace(narrative=False))
        if not verdict.accepted:
            if not work.terms.instructions.consolidates:
                work.bindings.unwritten += 1
                self._note("unwritten", f"{topic.name}: {verdict.reason}", 0)
                return 0.0
            self._consolidate(topic)
        span = self._write(Kind.INSTRUCTION, law.tokens, Account.INSTRUCTIONS)
        one = work.bindings.write(span.id, topic, turn, work.versions)
        one.urgent = work.streams.uniform("urgency")[turn] < law.urgent_share
        one.narrative, one.same_turn = narrative, same_turn
        self._note("instruction", topic.name, span.tokens)
        return work.provider.continue_prompt(work.env.now, work.context.tokens, span.tokens, Purpose.AGENT)

    def _consolidate(self, topic: Topic) -> None:
        """Retire the self-written instructions of a topic, as one new one takes their place."""
        bindings = self.work.bindings
        old = [one for one in bindings.held(self.work.context) if one.topic is topic and not one.outside]
        for one in old:
            self._retire(one, "consolidated")
        bindings.active = [one for one in bindings.active if one not in old]

    def _retire(self, one: Instruction, reason: str) -> None:
        work = self.work
        if one.span in work.context:
            work.provider.keep_prefix(work.context.prefix_before((one.span,)))
            removed = work.context.remove((one.span,))
            work.ledger.post(Account.RETIRED, removed)
            self._note("retired", f"instruction on {one.topic.name}: {reason}", removed)

    def _verdict(self, method: str, call: Callable[[Question], Verdict], question: Question) -> Verdict:
        verdict = ask(self.work, method, call, question)
        if not isinstance(verdict, Verdict):
            raise RunFailed(method, f"policy returned {type(verdict).__name__}, expected a Verdict")
        return verdict

    def _write(
        self,
        kind: Kind,
        tokens: int,
        account: Account,
        *,
        subgoal: int | None = None,
        carries: tuple[int, ...] = (),
        rederive: int = 0,
    ) -> Span:
        """Append what the agent itself brings into the window between rewrites."""
        work = self.work
        provenance = Provenance.TOOL if kind is Kind.TOOL_RESULT else Provenance.SELF
        span = Span(
            work.new_id(),
            kind,
            tokens,
            work.turn,
            provenance,
            subgoal,
            carries=carries,
            rederive=rederive,
        )
        work.context.append(span)
        work.ledger.post(account, tokens)
        return span
