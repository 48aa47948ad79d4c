"""Policies in stages, for what flat tables cannot say: another way after a failure, two ways in one plan.

Each stage is a policy of the catalogue, or a file, in tables. The stage that a real system starts with
says when to act and what the engine is told; the others only propose and judge. Sources: policy zoo 7,
12, 21, 22, 30, 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from policies.composed import NOTHING, ComposedPolicy
from policies.loader import load_policy
from simulator.contracts import ACCEPTED, Brief, CheckPoint, Lesson, Policy, Proposal, Verdict
from simulator.errors import InputError
from simulator.ledger import COMMITTED
from simulator.plan import Operation, RewritePlan
from simulator.questions import Amendment, Reliance, Vitals
from simulator.view import Gauge, View


class Staged(Policy):
    """What both kinds share: the stages, and the one that is asked for all but a plan.

    Parameters
    ----------
    stages : sequence of str
        Names or paths of policies in tables, two at least.
    lead : int
        The place of the stage that says when to act.
    """

    def __init__(self, stages: Sequence[str], lead: int) -> None:
        self.stages = tuple(_in_tables(name) for name in stages)
        if len(self.stages) < 2:  # noqa: PLR2004 - one stage is a policy by itself
            raise InputError(f"{len(self.stages)} stages", where=type(self).__name__, expected="2 or more")
        self.lead = self.stages[lead]
        points = frozenset(point for stage in self.stages for point in stage.terms.check_points)
        records = (stage.terms.tombstones for stage in (self.lead, *self.stages))
        tombstones = next((record for record in records if record is not None), None)
        self.terms = replace(self.lead.terms, check_points=points, tombstones=tombstones)

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        for stage in self.stages:
            stage.begin(brief)

    def resume(self, vitals: Vitals) -> Verdict:
        """Ask the leading stage whether to go on."""
        return self.lead.resume(vitals)

    def amend(self, amendment: Amendment) -> Verdict:
        """Ask the leading stage whether an instruction may be written."""
        return self.lead.amend(amendment)

    def rely(self, reliance: Reliance) -> Verdict:
        """Ask the leading stage whether an instruction binds now."""
        return self.lead.rely(reliance)


class Escalating(Staged):
    """The first stage acts; after an attempt that came to nothing the next one does, until a commit.

    Parameters
    ----------
    stages : sequence of str
        In the order in which they are tried; the last one is tried again.
    at_overflow : int
        The stage, counted from 0, to begin with where the next request would not fit.

    >>> Escalating(["truncate-oldest", "naive"]).stages[1].name
    'naive'
    """

    name = "escalating"

    def __init__(self, stages: Sequence[str], at_overflow: int = 0) -> None:
        super().__init__(stages, 0)
        if not 0 <= at_overflow < len(self.stages):
            raise InputError(
                f"at_overflow is {at_overflow}",
                where=self.name,
                expected=f"0 to {len(self.stages) - 1}",
            )
        self._at_overflow = at_overflow
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        super().begin(brief)
        self._reached = 0
        self._acting = 0

    @property
    def acting(self) -> ComposedPolicy:
        """The stage whose turn it is."""
        return self.stages[self._acting]

    def check(self, gauge: Gauge) -> bool:
        """Ask the first stage, and find whose turn it is."""
        pressed = gauge.tokens + gauge.output_reserve > gauge.window or gauge.point is CheckPoint.OVERFLOW
        self._acting = max(self._reached, self._at_overflow) if pressed else self._reached
        return self.lead.check(gauge)

    def admit(self, gauge: Gauge) -> Verdict:
        """Ask the acting stage for its cheapest bound."""
        return self.acting.admit(gauge)

    def propose(self, view: View) -> RewritePlan:
        """Let the acting stage choose."""
        return self.acting.propose(view)

    def judge(self, proposal: Proposal) -> Verdict:
        """Ask the acting stage."""
        return self.acting.judge(proposal)

    def learn(self, lesson: Lesson) -> bool:
        """Go on to the next stage after a strike, and back to the first after a commit."""
        calls = self.lead.learn(lesson)
        if self.acting is not self.lead:
            calls = self.acting.learn(lesson) or calls
        if lesson.outcome in COMMITTED:
            self._reached = 0
        else:
            self._reached = min(self._acting + 1, len(self.stages) - 1)
        return calls


class Layered(Staged):
    """One plan of all stages: the last one chooses first, the others what it has left alone.

    Each stage takes part where its own trigger fires, its own guard lets it and its own gates refuse
    nothing before anything is paid for; afterwards the gates of all that take part judge the whole.

    Parameters
    ----------
    stages : sequence of str
        The last one leads: what the engine is told is its own.
    recounts : bool
        The last one stays out where the others alone bring the count back under its trigger.

    >>> Layered(["truncate-oldest", "naive"]).lead.name
    'naive'
    """

    name = "layered"

    def __init__(self, stages: Sequence[str], *, recounts: bool = False) -> None:
        super().__init__(stages, -1)
        self._recounts = recounts
        self.begin(Brief(window=1))

    def begin(self, brief: Brief) -> None:
        """Forget the last run."""
        super().begin(brief)
        self._taking_part: list[ComposedPolicy] = []
        self._acting: list[ComposedPolicy] = []
        self._acted_in: dict[str, int] = {}
        self._turn = 0

    def check(self, gauge: Gauge) -> bool:
        """Ask each stage whether it takes part; each counts the requests since a rewrite of its own."""
        self._turn = gauge.turn
        self._taking_part = [stage for stage in self.stages if stage.check(self._as_seen(stage, gauge))]
        self._acting = self._taking_part
        return bool(self._taking_part)

    def _as_seen(self, stage: ComposedPolicy, gauge: Gauge) -> Gauge:
        acted_in = self._acted_in.get(stage.name)
        if acted_in is None:
            return gauge._replace(requests_since_rewrite=gauge.turn - 1)
        return gauge._replace(requests_since_rewrite=gauge.turn - acted_in)

    def admit(self, gauge: Gauge) -> Verdict:
        """Ask each stage for its cheapest bound; those that refuse stay out, and all of them refuse."""
        verdicts = [stage.admit(gauge) for stage in self._taking_part]
        paired = zip(self._taking_part, verdicts, strict=True)
        admitted = [stage for stage, verdict in paired if verdict.accepted]
        if admitted:
            self._taking_part = self._acting = admitted
            return ACCEPTED
        return verdicts[-1] if verdicts else ACCEPTED

    def propose(self, view: View) -> RewritePlan:
        """Put the plans together, the last stage's first; what a stage's own gates refuse is left out."""
        plans = {stage: stage.propose(view) for stage in self._taking_part if stage is not self.lead}
        if self.lead in self._taking_part and not self._is_enough(view.gauge, plans.values()):
            plans = {self.lead: self.lead.propose(view), **plans}
        accepted = {stage: plan for stage, plan in plans.items() if not plan.refusal}
        self._acting = list(accepted or plans)
        plan = _together(view, accepted.values())
        if plan.operations:
            return plan
        return plan._replace(refusal="; ".join(dict.fromkeys(_refusals(plans.values()))) or NOTHING)

    def _is_enough(self, gauge: Gauge, plans: Iterable[RewritePlan]) -> bool:
        """Whether the other stages alone bring the count back under the trigger of the last one."""
        trigger = self.lead.parts.trigger
        saving = sum(plan.believed_saving for plan in plans if not plan.refusal)
        if not self._recounts or trigger is None or not saving:
            return False
        return not trigger.is_over(gauge.tokens - saving, gauge.window, gauge.output_reserve)

    def judge(self, proposal: Proposal) -> Verdict:
        """Ask the stages whose plans were taken, the last stage first."""
        verdict = ACCEPTED
        for stage in self._acting:
            verdict = stage.judge(proposal)
            if not verdict.accepted:
                break
        return verdict

    def learn(self, lesson: Lesson) -> bool:
        """Let every stage learn whose plan was taken; where all of them refused, all of them."""
        calls = False
        for stage in self._acting:
            calls = stage.learn(lesson) or calls
            if lesson.outcome in COMMITTED:
                self._acted_in[stage.name] = self._turn
        self._acting = []
        return calls


def _together(view: View, plans: Iterable[RewritePlan]) -> RewritePlan:
    """Return one plan of all operations and their tombstones, a span in the first of them that takes it."""
    sizes = {item.id: item.tokens for item in view.items}
    taken: set[int] = set()
    operations: list[Operation] = []
    tombstones: list[int] = []
    saving = 0
    for plan in plans:
        left = [one for one in plan.operations if taken.isdisjoint(one.sources)]
        share = sum(sizes[identity] for one in left for identity in one.sources)
        whole = sum(sizes[identity] for identity in plan.sources())
        saving += round(plan.believed_saving * share / whole) if whole else 0
        operations += left
        mine = {identity for one in left for identity in one.sources}
        tombstones += [identity for identity in plan.tombstones if identity in mine]
        taken |= mine
    return RewritePlan(tuple(operations), saving, tuple(tombstones))


def _refusals(plans: Iterable[RewritePlan]) -> Iterator[str]:
    return (plan.refusal for plan in plans if plan.refusal)


def _in_tables(name: str) -> ComposedPolicy:
    policy = load_policy(name)
    if type(policy) is not ComposedPolicy:
        raise InputError(
            f"the stage {name!r} is a class", where="parameters.stages", expected="a policy in tables"
        )
    return policy
