"""The binding gate (field record 004): a self-written instruction binds only in the epoch it was written in.

`permit` judges whether one may be written, `bind` whether one binds now. An epoch ends when a
premise that the instruction names changes; the versions of premises never repeat, so that a value
that comes back does not bring the epoch back. What cannot prove that it is fresh counts as stale.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from simulator.contracts import ACCEPTED, Gate, InstructionDecayError, Proposal, Verdict
from simulator.spans import Kind

if TYPE_CHECKING:
    from simulator.plan import RewritePlan
    from simulator.questions import Amendment, Reliance
    from simulator.view import View


def permit(amendment: Amendment, written: int, cap: int | None = 4, *, imperative: bool = True) -> Verdict:
    """Judge whether one more instruction may be written: its wording first, then the cap of its phase.

    Parameters
    ----------
    amendment : Amendment
    written : int
        Instructions that were written in this phase of the task.
    cap : int or None
        Most of them a phase; None has no cap.
    imperative : bool
        Refuse what is worded as a story.

    >>> from simulator.questions import Amendment
    >>> permit(Amendment("payload", ("schema",)), written=3).accepted
    True
    >>> permit(Amendment("payload", ("schema",)), written=4).reason
    'cap of 4 instructions in phase 0 is used up: consolidate what stands'
    >>> permit(Amendment("payload", ("schema",), replaces=3), written=4).reason
    "takes the place of 3 on 'payload'"
    >>> permit(Amendment("payload", narrative=True), written=0).require()
    Traceback (most recent call last):
        ...
    simulator.contracts.InstructionDecayError: the instruction on 'payload' tells a story: word it as a \
command
    """
    if imperative and amendment.narrative:
        reason = f"the instruction on {amendment.topic!r} tells a story: word it as a command"
        return Verdict(False, reason, {"narrative": 1}, InstructionDecayError)
    if cap is None:
        return Verdict(True, f"instruction {written + 1} of phase {amendment.phase}", {"written": written})
    figures = {"written": written, "cap": cap}
    if amendment.replaces:
        return Verdict(True, f"takes the place of {amendment.replaces} on {amendment.topic!r}", figures)
    if written >= cap:
        reason = f"cap of {cap} instructions in phase {amendment.phase} is used up: consolidate what stands"
        return Verdict(False, reason, figures, InstructionDecayError)
    return Verdict(True, f"instruction {written + 1} of {cap} in phase {amendment.phase}", figures)


def bind(reliance: Reliance) -> Verdict:
    """Judge whether a self-written instruction binds: each premise has the version it was written under.

    Parameters
    ----------
    reliance : Reliance

    >>> from simulator.questions import Reliance
    >>> bind(Reliance("payload", written={"schema": 1, "tools": 1}, live={"schema": 1, "tools": 1})).accepted
    True
    >>> bind(Reliance("payload", {"schema": 1, "tools": 1}, {"schema": 2, "tools": 1})).reason
    "'payload' was written under schema 1, now 2 (epoch 2, now 3): derive it anew"
    >>> bind(Reliance("payload", None, {"schema": 1})).reason
    "'payload' has no tag of its premises: stale until derived anew"
    """
    live, written = reliance.live, reliance.written
    figures = {"epoch": sum(live.values())}
    if written is None:
        reason = f"{reliance.topic!r} has no tag of its premises: stale until derived anew"
        return Verdict(False, reason, figures, InstructionDecayError)
    figures["epoch_written"] = sum(written.values())
    for premise in sorted({*live, *written}):
        before, now = written.get(premise), live.get(premise)
        if before != now:
            reason = (
                f"{reliance.topic!r} was written under {premise} {_version(before)}, now {_version(now)} "
                f"(epoch {figures['epoch_written']}, now {figures['epoch']}): derive it anew"
            )
            return Verdict(False, reason, figures, InstructionDecayError)
    return Verdict(True, f"{reliance.topic!r} is of this epoch, {figures['epoch']}", figures)


class BindingGate(Gate):
    """Holds self-written instructions to wording, cap and epoch, and rewrites to leaving them alone.

    Parameters
    ----------
    cap : int or None
        Most instructions a phase of the task; None has no cap.
    imperative : bool
        Refuse what is worded as a story.
    rederive : bool
        What is stale blocks until it is derived anew.
    retain : bool
        Plans leave instructions alone.
    """

    name = "binding"

    def __init__(
        self, cap: int | None = 4, imperative: bool = True, rederive: bool = True, retain: bool = True
    ) -> None:
        self._cap, self._imperative, self._rederive, self._retain = cap, imperative, rederive, retain
        self.begin()

    def begin(self) -> None:
        """Forget the phase of the last run and what was written in it."""
        self._phase: int | None = None
        self._written = 0
        self._touched: tuple[int, ...] = ()

    def spares(self, view: View) -> Collection[int]:
        """Return the ids of instructions: they are retired with a reason, never rewritten."""
        return {item.id for item in view.items if self._retain and item.kind is Kind.INSTRUCTION}

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        """Take note of the instructions that the plan touches."""
        self._touched = tuple(sorted(set(plan.sources()).intersection(self.spares(view))))
        return ACCEPTED

    def judge(self, proposal: Proposal) -> Verdict:
        """Refuse a plan that touches an instruction."""
        if not self._touched:
            return ACCEPTED
        shown = ", ".join(str(identity) for identity in self._touched)
        reason = f"the plan rewrites instructions {shown}: retire them with a reason"
        return Verdict(False, reason, {"touched": len(self._touched)}, InstructionDecayError)

    def amend(self, amendment: Amendment) -> Verdict:
        """Judge whether an instruction may be written; count it where it may."""
        if amendment.phase != self._phase:
            self._phase, self._written = amendment.phase, 0
        verdict = permit(amendment, self._written, self._cap, imperative=self._imperative)
        self._written += verdict.accepted and not amendment.replaces
        return verdict

    def rely(self, reliance: Reliance) -> Verdict:
        """Judge whether an instruction binds now."""
        return bind(reliance) if self._rederive else ACCEPTED


def _version(version: int | None) -> str:
    return "unknown" if version is None else str(version)
