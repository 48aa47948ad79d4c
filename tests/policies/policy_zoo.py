"""Policies that break one promise each; `Sound` breaks none. Loaded by reference, as `policy_zoo:Class`."""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from typing import ClassVar

import numpy as np

from simulator.contracts import (
    ACCEPTED,
    Brief,
    CheckPoint,
    CounterTerms,
    Lesson,
    Policy,
    Proposal,
    Terms,
    Verdict,
)
from simulator.ledger import Account
from simulator.plan import Evict, Fold, Mask, RewritePlan, Summarise
from simulator.questions import Amendment, Reliance, Vitals
from simulator.spans import Kind
from simulator.view import Gauge, Item, View


def free_items(view: View) -> list[Item]:
    return [item for item in view.items if item.kind is not Kind.HEAD and not item.marked]


class Sound(Policy):
    name = "sound"

    def check(self, gauge: Gauge) -> bool:
        return gauge.tokens > 0.6 * gauge.window

    def propose(self, view: View) -> RewritePlan:
        longest = sorted(free_items(view), key=lambda item: -item.tokens)[:3]
        return RewritePlan(tuple(Summarise(item.id) for item in longest), sum(i.tokens for i in longest) // 2)


class SoundAtUserTurns(Sound):
    terms = Terms(check_points=frozenset({CheckPoint.USER_TURN}), counter=CounterTerms(ratio=0.72))


class Keeping(Sound):
    """Keeps state within a run and forgets it at begin: sound."""

    def begin(self, brief: Brief) -> None:
        self.seen = 0

    def check(self, gauge: Gauge) -> bool:
        self.seen += 1
        return self.seen % 3 == 0


# --------------------------------------------------------------------------- raise


class RaisesInBegin(Sound):
    def begin(self, brief: Brief) -> None:
        raise LookupError("no begin")


class RaisesInCheck(Sound):
    def check(self, gauge: Gauge) -> bool:
        raise LookupError("no check")


class RaisesWhenOverfull(Sound):
    def check(self, gauge: Gauge) -> bool:
        if gauge.tokens > gauge.window:
            raise OverflowError("cannot be")
        return gauge.tokens > 0.6 * gauge.window


class RaisesInAdmit(Sound):
    def admit(self, gauge: Gauge) -> Verdict:
        raise LookupError("no admit")


class RaisesInPropose(Sound):
    def propose(self, view: View) -> RewritePlan:
        raise LookupError("no propose")


class RaisesOnAnEmptyView(Sound):
    def propose(self, view: View) -> RewritePlan:
        longest = max(free_items(view), key=lambda item: item.tokens)
        return RewritePlan((Evict(longest.id),), longest.tokens)


class RaisesInJudge(Sound):
    def judge(self, proposal: Proposal) -> Verdict:
        raise LookupError("no judge")


class RaisesOnUnattributed(Sound):
    def judge(self, proposal: Proposal) -> Verdict:
        if proposal.unattributed:
            raise AssertionError("who wrote this?")
        return ACCEPTED


class RaisesInLearn(Sound):
    def learn(self, lesson: Lesson) -> bool:
        raise LookupError("no learn")


class RaisesInResume(Sound):
    def resume(self, vitals: Vitals) -> Verdict:
        raise LookupError("no resume")


class RaisesWithoutALedger(Sound):
    def resume(self, vitals: Vitals) -> Verdict:
        return ACCEPTED if vitals.ledger is not None and vitals.ledger >= 0 else {}["ledger"]


class RaisesInAmend(Sound):
    def amend(self, amendment: Amendment) -> Verdict:
        raise LookupError("no amend")


class RaisesOnAStory(Sound):
    def amend(self, amendment: Amendment) -> Verdict:
        assert not amendment.narrative, "no stories"
        return ACCEPTED


class RaisesInRely(Sound):
    def rely(self, reliance: Reliance) -> Verdict:
        raise LookupError("no rely")


class RaisesWithoutATag(Sound):
    def rely(self, reliance: Reliance) -> Verdict:
        return Verdict(len(reliance.written) > 0, "tagged with nothing")  # type: ignore[arg-type]


class RaisesOnConflict(Sound):
    def learn(self, lesson: Lesson) -> bool:
        return {"committed": False, "refused": True}.get(lesson.outcome, False) or lesson.outcome[40] == "x"


class Exits(Sound):
    def learn(self, lesson: Lesson) -> bool:
        sys.exit(3)


class ExitsAsAGenerator(Sound):
    def admit(self, gauge: Gauge) -> Verdict:
        raise GeneratorExit


class RaisesTheUnprintable(Sound):
    def check(self, gauge: Gauge) -> bool:
        raise Unprintable


class Unprintable(Exception):
    def __str__(self) -> str:
        raise TypeError("no words")


# --------------------------------------------------------------------------- answer nonsense


class ChecksWithNone(Sound):
    def check(self, gauge: Gauge) -> bool:
        return None  # type: ignore[return-value]


class ChecksWithText(Sound):
    def check(self, gauge: Gauge) -> bool:
        return "yes"  # type: ignore[return-value]


class ChecksWithOne(Sound):
    def check(self, gauge: Gauge) -> bool:
        return 1  # type: ignore[return-value]


class AdmitsWithTrue(Sound):
    def admit(self, gauge: Gauge) -> Verdict:
        return True  # type: ignore[return-value]


class RefusesWithoutReason(Sound):
    def admit(self, gauge: Gauge) -> Verdict:
        return Verdict(False, "")


class ResumesWithTrue(Sound):
    def resume(self, vitals: Vitals) -> Verdict:
        return True  # type: ignore[return-value]


class HaltsWithoutReason(Sound):
    def resume(self, vitals: Vitals) -> Verdict:
        return Verdict(vitals.tokens >= vitals.tokens_before, "")


class AmendsWithoutReason(Sound):
    def amend(self, amendment: Amendment) -> Verdict:
        return Verdict(not amendment.narrative, "")


class ReliesWithNone(Sound):
    def rely(self, reliance: Reliance) -> Verdict:
        return None  # type: ignore[return-value]


class AmendsByTurns(Sound):
    """One of two policies says no: what the class knows outlives each of them."""

    made = itertools.count()

    def __init__(self) -> None:
        self.says = next(self.made) % 2 == 0

    def amend(self, amendment: Amendment) -> Verdict:
        return Verdict(self.says, "it is the other one's turn")


class AmendsLessEachRun(Sound):
    """Sound but for what it has written in earlier runs, which it does not forget."""

    def __init__(self) -> None:
        self.written = 0

    def amend(self, amendment: Amendment) -> Verdict:
        self.written += 1
        return Verdict(self.written < 8, "enough is written")


class ForgesItsTag(Sound):
    def rely(self, reliance: Reliance) -> Verdict:
        reliance.live.clear()  # type: ignore[attr-defined]
        return ACCEPTED


class JudgesWithNone(Sound):
    def judge(self, proposal: Proposal) -> Verdict:
        return None  # type: ignore[return-value]


class JudgesWithNan(Sound):
    def judge(self, proposal: Proposal) -> Verdict:
        return Verdict(True, "fine", {"net": float("nan")})


class JudgesWithAForeignRefusal(Sound):
    def judge(self, proposal: Proposal) -> Verdict:
        return Verdict(False, "no", {}, KeyError)  # type: ignore[arg-type]


class LearnsWithNone(Sound):
    def learn(self, lesson: Lesson) -> bool:
        return None  # type: ignore[return-value]


class ProposesNone(Sound):
    def propose(self, view: View) -> RewritePlan:
        return None  # type: ignore[return-value]


class ProposesAList(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan([Evict(item.id) for item in free_items(view)[:1]])  # type: ignore[arg-type]


class ProposesIds(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan(tuple(item.id for item in free_items(view)[:1]))  # type: ignore[arg-type]


class BelievesInHalves(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan((), 0.5)  # type: ignore[arg-type]


class SelectsTheHead(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan(tuple(Evict(item.id) for item in view.items[:1]))


class SelectsTwice(Sound):
    def propose(self, view: View) -> RewritePlan:
        first = free_items(view)[:1]
        return RewritePlan(tuple(Evict(item.id) for item in first + first))


class SelectsTwiceInAFold(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan(tuple(Fold((item.id, item.id)) for item in free_items(view)[:1]))


class SelectsAStranger(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan((Evict(999_999),))


class FoldsNothing(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan((Fold(()),))


class MasksWithLessThanNothing(Sound):
    def propose(self, view: View) -> RewritePlan:
        return RewritePlan(tuple(Mask(item.id, -50) for item in free_items(view)[:1]))


# --------------------------------------------------------------------------- hang


class HangsInCheck(Sound):
    def check(self, gauge: Gauge) -> bool:
        while True:
            pass


class HangsInPropose(Sound):
    def propose(self, view: View) -> RewritePlan:
        while True:
            pass


# --------------------------------------------------------------------------- listen to what they must not


class UsesRandom(Sound):
    def check(self, gauge: Gauge) -> bool:
        return random.random() < 0.2


class UsesNumpyRandom(Sound):
    def check(self, gauge: Gauge) -> bool:
        return bool(np.random.random() < 0.2)  # noqa: NPY002 - its fault


class SeedsRandom(Sound):
    def begin(self, brief: Brief) -> None:
        random.seed(0)


class AsksTheSystem(Sound):
    def check(self, gauge: Gauge) -> bool:
        return os.urandom(1)[0] < 50


class ReadsTheClock(Sound):
    def check(self, gauge: Gauge) -> bool:
        return int(time.time()) % 2 == 0


class KeepsState(Sound):
    def __init__(self) -> None:
        self.seen = 0

    def check(self, gauge: Gauge) -> bool:
        self.seen += 1
        return self.seen % 7 == 0


class ReadsTheTruth(Sound):
    def propose(self, view: View) -> RewritePlan:
        frame = sys._getframe()
        while frame is not None and "work" not in frame.f_locals:
            frame = frame.f_back
        context = frame.f_locals["work"].context
        good = [item for item in free_items(view) if context[item.id].compressible]
        return RewritePlan(tuple(Evict(item.id) for item in good[:3]), 10)


# --------------------------------------------------------------------------- move what is not theirs


class MutatesItsView(Sound):
    def propose(self, view: View) -> RewritePlan:
        object.__setattr__(view, "items", ())
        return RewritePlan()


class MutatesItsTerms(Sound):
    terms = Terms(retries=0)

    def begin(self, brief: Brief) -> None:
        object.__setattr__(self.terms, "retries", self.terms.retries + 1)


class CooksTheBooks(Sound):
    def learn(self, lesson: Lesson) -> bool:
        frame = sys._getframe()
        while frame is not None and "work" not in frame.f_locals:
            frame = frame.f_back
        frame.f_locals["work"].ledger.accounts[Account.FREED] += 100
        return False


# --------------------------------------------------------------------------- declare nonsense


class Nameless(Sound):
    name = " "


class NamedByANumber(Sound):
    name = 7  # type: ignore[assignment]


class AnotherEachTime(Sound):
    made: ClassVar[itertools.count[int]] = itertools.count()

    def __init__(self) -> None:
        self.name = f"policy {next(self.made)}"


class NeverLooks(Sound):
    terms = Terms(check_points=frozenset())


class CapsAtNothing(Sound):
    terms = Terms(rationale_cap=0)


class CountsWithNan(Sound):
    terms = Terms(counter=CounterTerms(ratio=float("nan")))


class RetriesLessThanNever(Sound):
    terms = Terms(retries=-1)


class ChargesInText(Sound):
    terms = Terms(charges=frozenset({"rent"}))  # type: ignore[arg-type]
