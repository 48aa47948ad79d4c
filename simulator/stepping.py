"""The step of a turn: what the agent does with what it holds, and what it cannot see that it lacks.

In come the workspace, the turn's `Step` and what its reply cites; out come the seconds that the step
took beside its request. A constraint without force is broken unseen; a missing antecedent is
recovered, at its price in tokens, or dropped in silence. What comes under instructions is the
business of `instructing`.
"""

from __future__ import annotations

from simulator.contracts import Step
from simulator.instructing import Instructor
from simulator.ledger import Account
from simulator.provider import Purpose
from simulator.spans import Kind
from simulator.workspace import Note, Workspace


class Stepper:
    """Takes the steps of one agent.

    Attributes
    ----------
    instructor : what it does under instructions.
    """

    __slots__ = ("_note", "_work", "instructor")

    def __init__(self, work: Workspace, note: Note) -> None:
        self._work = work
        self._note = note
        self.instructor = Instructor(work, note)

    def take(self, step: Step, cited: tuple[int, ...], subgoal: int | None) -> float:
        """Take one step and return its seconds."""
        work = self._work
        for constraint in step.governed:
            if not work.context.binds(constraint):
                work.cognition.violations += 1
                self._note("violation", f"constraint {constraint}", 0)
        for claim, correction in step.claims:
            if work.context.holds(claim) and not work.context.binds(correction):
                work.cognition.false_claims += 1
                self._note("false claim", f"span {claim}", 0)
        seconds = 0.0
        holds = work.context.holds
        for antecedent in step.touches + cited:
            if not holds(antecedent):
                seconds += self._miss(antecedent, subgoal)
        if step.topics or self.instructor.is_waiting:
            seconds += self.instructor.take(step.topics)
        return seconds

    def _miss(self, antecedent: int, subgoal: int | None) -> float:
        """Recover what is missing, or drop the reference in silence."""
        work = self._work
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
            work.write(Kind.TOOL_RESULT, retry, Account.REDERIVED, subgoal=subgoal)
            seconds = work.provider.continue_prompt(work.env.now, work.context.tokens, retry, Purpose.AGENT)
        work.write(Kind.TOOL_RESULT, rest, Account.REDERIVED, subgoal=subgoal, recovers=(antecedent, cost))
        self._note("rederived", f"span {antecedent}", retry + rest)
        return seconds
