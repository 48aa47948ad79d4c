"""The conformance suite behind `rewritelab check-policy NAME`: one function a check, one table of checks.

A reference comes in, one `Check` a promise of the protocol goes out. The policy is driven through
`simulate`, in small worlds made here from the simulator alone, with a `Witness` between it and the
engine, so that a policy that raises, answers nonsense or hangs is a failed check and nothing more.
What no run inside one process can show is not checked: the order of sets under another hash seed,
or a clock read past the `time` module.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar, cast

import numpy as np

from policies.library import load_policy
from simulator.contracts import (
    ACCEPTED,
    Brief,
    CheckPoint,
    Component,
    Lesson,
    MeasurementPlan,
    Policy,
    Proposal,
    RewriteRefused,
    RunFailed,
    Terms,
    Turn,
    Verdict,
    one_line,
)
from simulator.laws import Laws, MeasurementLaw, RationaleLaw, SummaryLaw
from simulator.ledger import Outcome
from simulator.plan import Evict, Fold, Mask, RewritePlan, Summarise
from simulator.setting import Setting
from simulator.simulation import simulate
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Draws, Streams
from simulator.supervisor import SupervisorSpec
from simulator.view import Gauge, View

Question = TypeVar("Question", bound=tuple[object, ...])
Answer = TypeVar("Answer")


class Check(NamedTuple):
    """One promise of the protocol: kept or not, what was expected and what was seen."""

    name: str
    passed: bool
    detail: str


def check_policy(reference: str) -> list[Check]:
    """Hold a policy to every promise of the protocol.

    Parameters
    ----------
    reference : str
        Name, path of a TOML file, or `package.module:Class`.

    Returns
    -------
    list of Check
        In the order of `CHECKS`; whatever the policy does, there is one for each. A policy that hangs
        is given up after `simulation.PATIENCE_SECONDS`, once a method, where this is the main thread.

    Raises
    ------
    InputError
        The policy cannot be loaded.

    >>> all(check.passed for check in check_policy("guarded"))
    True
    """
    subject = Subject(reference)
    return [_outcome(name, look_into, subject) for name, look_into in CHECKS.items()]


class Shortfall(Exception):
    """A promise that was not kept; its text says what was expected and what was seen."""


class Subject:
    """The policy under check.

    Attributes
    ----------
    declared : its terms when it was first loaded, and those that policies share by default.
    silent : methods that were found to hang, with what to say of them.
    """

    def __init__(self, reference: str) -> None:
        self.reference = reference
        self.declared = _terms_of(self.fresh())
        self.silent: dict[str, str] = {}
        self._decisions: list[Decision] = []

    def fresh(self) -> Policy:
        """Return the policy, loaded anew."""
        return load_policy(self.reference)

    def decisions(self) -> list[Decision]:
        """Return the decisions that others are held against, made once."""
        self._decisions = self._decisions or _decisions(self, self.fresh())
        return self._decisions


def _terms_of(policy: Policy) -> tuple[Terms, Terms]:
    """Return copies of a policy's terms and of those that policies share by default."""
    return replace(policy.terms), replace(Policy.terms)


def _outcome(name: str, look_into: Callable[[Subject], str], subject: Subject) -> Check:
    try:
        return Check(name, True, look_into(subject))
    except (Shortfall, RunFailed) as fault:
        return Check(name, False, one_line(str(fault)))
    except (Exception, SystemExit) as fault:
        return Check(name, False, one_line(f"expected an answer, saw {_told(fault)}"))


def _told(fault: BaseException) -> str:
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:
        return f"{type(fault).__name__}, which cannot be printed"


# --------------------------------------------------------------------------- small worlds

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
    """

    opening: int = 0
    tokens: int = 25
    spread: float = 0.0
    compressible: bool = True

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
            yield Turn((*message, *call[:3]), call[3:], 1.0, user, tuple(closes))

    def _call(self, first: int, turn: int, goal: int, sizes: Draws) -> Iterator[Span]:
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
)
SEED = 20_261_113


# --------------------------------------------------------------------------- the witness


ALL = "all"
INPUTS = "inputs"
NOTHING_AT_ALL = ""
"""What a witness may look at, beside one method."""

FAULTY = "a faulty answer"


class Decision(NamedTuple):
    """One answer of a policy, as text, and whether it asks for a replacement that must be paid for."""

    world: str
    method: str
    answer: str
    pays: bool


class Witness(Policy):
    """Stands between the engine and a policy: passes questions on, keeps the answers, finds the faults.

    Parameters
    ----------
    subject, policy : the reference under check, and one policy loaded from it.
    world : name of the world, for messages.
    terms : what the engine is told; the policy's own where None and sensible.
    insists : lets the engine try a rewrite at each check point whatever the policy says.
    lens : whose faults count: of `ALL` methods, of one (which is asked variants too), or of none; a
        change of `INPUTS` counts under its own lens only.

    Attributes
    ----------
    decisions : answers in order; one whose fault does not count stands there as faulty.
    questions : what the method under the lens was asked.
    outcome : how the run ended.
    """

    name = "witness"

    def __init__(
        self,
        subject: Subject,
        policy: Policy,
        world: str,
        *,
        terms: Terms | None = None,
        insists: bool = False,
        lens: str = NOTHING_AT_ALL,
    ) -> None:
        self.terms = _engine_terms(policy) if terms is None else terms
        self.decisions: list[Decision] = []
        self.questions: list[tuple[object, ...]] = []
        self.outcome = ""
        self._subject, self._policy, self._world = subject, policy, world
        self._insists, self._lens = insists, lens

    def begin(self, brief: Brief) -> None:
        """Begin the policy."""
        self._ask("begin", self._policy.begin, brief, None)

    def check(self, gauge: Gauge) -> bool:
        """Ask whether to start; under its own lens nothing is started, so that the context only grows."""
        answer = self._ask("check", self._policy.check, gauge, False)
        return self._lens != "check" if self._insists else answer

    def admit(self, gauge: Gauge) -> Verdict:
        """Ask for the cheapest bound."""
        answer = self._ask("admit", self._policy.admit, gauge, ACCEPTED)
        return ACCEPTED if self._insists else answer

    def propose(self, view: View) -> RewritePlan:
        """Ask for the plan."""
        return self._ask("propose", self._policy.propose, view, RewritePlan())

    def judge(self, proposal: Proposal) -> Verdict:
        """Ask for the judgement of the exact figures."""
        answer = self._ask("judge", self._policy.judge, proposal, ACCEPTED)
        if self._lens == "judge":
            for bad in _bad_figures(proposal):
                self._ask("judge", self._policy.judge, bad, ACCEPTED)
        return ACCEPTED if self._insists else answer

    def learn(self, lesson: Lesson) -> bool:
        """Hand on what was learned."""
        answer = self._ask("learn", self._policy.learn, lesson, False)
        if self._lens == "learn":
            for outcome in Outcome:
                self._ask("learn", self._policy.learn, lesson._replace(outcome=outcome.value), False)
        return not self._insists and answer

    def _ask(
        self, method: str, call: Callable[[Question], Answer], question: Question, neutral: Answer
    ) -> Answer:
        """Return the answer; the neutral one where it is faulty and the lens is on another method."""
        if method == self._lens:
            self.questions.append(question)
        try:
            answer = self._call(method, call, question)
            fault = FAULTS[method](answer, question)
            if fault:
                raise RunFailed(method, f"{fault} (world {self._world!r})")
        except RunFailed as fault:
            if self._lens in (ALL, method) or fault.stage == INPUTS:
                raise
            self.decisions.append(Decision(self._world, method, FAULTY, False))
            return neutral
        operations = answer.operations if isinstance(answer, RewritePlan) else ()
        pays = any(isinstance(operation, Summarise | Fold) for operation in operations)
        self.decisions.append(Decision(self._world, method, repr(answer), pays))
        return answer

    def _call(self, method: str, call: Callable[[Question], Answer], question: Question) -> Answer:
        if method in self._subject.silent:
            raise RunFailed(method, self._subject.silent[method])
        before = repr(question) if self._lens == INPUTS else ""
        try:
            answer = call(question)
        except (Exception, SystemExit) as fault:
            reason = f"expected an answer, saw {_told(fault)} (world {self._world!r})"
            if isinstance(fault, TimeoutError):
                self._subject.silent[method] = reason  # or every check would wait for it again
            raise RunFailed(method, reason) from fault
        if before and repr(question) != before:
            raise RunFailed(INPUTS, f"{method} has changed its {type(question).__name__}")
        return answer


def _bad_figures(proposal: Proposal) -> tuple[Proposal, ...]:
    """Return what a gate may be shown beside honest figures."""
    return (
        proposal._replace(freed=0),
        proposal._replace(freed=-50),
        proposal._replace(unattributed=7),
        proposal._replace(touched_own_substrate=True),
        proposal._replace(freed=400, rewrite_cost=380, measurement_cost=90),
    )


def _live(
    subject: Subject,
    policy: Policy,
    setting: Setting,
    *,
    terms: Terms | None = None,
    insists: bool = False,
    lens: str = NOTHING_AT_ALL,
) -> Witness:
    """Return the witness of one run. Raises RunFailed with the method at fault, if it is under the lens."""
    witness = Witness(subject, policy, setting.name, terms=terms, insists=insists, lens=lens)
    witness.outcome = simulate(setting, witness, SEED).outcome
    return witness


def _decisions(
    subject: Subject,
    policy: Policy,
    settings: tuple[Setting, ...] = STRESS,
    lens: str = NOTHING_AT_ALL,
) -> list[Decision]:
    """Return all decisions in these worlds, then those that are insisted on where the window is full."""
    lives = [_live(subject, policy, setting, lens=lens) for setting in settings]
    lives.append(_insisted(subject, policy, FULL, lens))
    return [decision for witness in lives for decision in witness.decisions]


def _insisted(subject: Subject, policy: Policy, setting: Setting, lens: str = NOTHING_AT_ALL) -> Witness:
    """Return the witness of one run in which a rewrite is tried at every check point."""
    terms = replace(_engine_terms(policy), endless_window=True)
    if setting is MARKED:
        terms = replace(
            terms, deliberates=True, immutable_this_turn=True, never_summarised=True, retires=False
        )
    return _live(subject, policy, setting, terms=terms, insists=True, lens=lens)


def _under_lens(subject: Subject, method: str, settings: tuple[Setting, ...]) -> list[tuple[object, ...]]:
    """Return what one method was asked in these worlds. Raises RunFailed at its first faulty answer."""
    questions = []
    for setting in settings:
        witness = _insisted(subject, subject.fresh(), setting, method)
        if not witness.questions:
            raise Shortfall(f"expected {method} to be asked in world {setting.name!r}, saw no check point")
        questions += witness.questions
    return questions


def _require_same(first: list[Decision], second: list[Decision], between: str) -> str:
    for number, (one, other) in enumerate(zip(first, second, strict=False), start=1):
        if one != other:
            raise Shortfall(
                f"expected equal decisions {between}, saw {one.method} answer {one.answer} against "
                f"{other.method} {other.answer} at decision {number} (world {one.world!r})"
            )
    if len(first) != len(second):
        raise Shortfall(f"expected equal decisions {between}, saw {len(first)} against {len(second)} of them")
    return f"expected equal decisions {between}, saw {len(first)} of them equal"


# --------------------------------------------------------------------------- faults of one answer


def _no_fault(_answer: object, _question: object) -> str:
    return ""


def _flag_fault(answer: object, _question: object) -> str:
    return "" if isinstance(answer, bool) else f"expected True or False, saw {answer!r}"


def _verdict_fault(answer: object, _question: object) -> str:
    if not isinstance(answer, Verdict):
        return f"expected a Verdict, saw {answer!r}"
    accepted, reason, figures, refusal = cast("tuple[object, ...]", answer)
    if not isinstance(accepted, bool) or not isinstance(reason, str):
        return f"expected a Verdict of True or False and a reason, saw {answer!r}"
    if not isinstance(figures, Mapping):
        return f"expected figures by name, saw {figures!r}"
    for name, figure in figures.items():
        if not isinstance(name, str) or not isinstance(figure, int | float) or not math.isfinite(figure):
            return f"expected finite figures by name, saw {name!r}: {figure!r}"
    if not accepted and not reason:
        return "expected a refusal to say why, saw no reason"
    if not (isinstance(refusal, type) and issubclass(refusal, RewriteRefused)):
        return f"expected a refusal of the RewriteRefused family, saw {refusal!r}"
    return ""


def _plan_fault(answer: object, view: object) -> str:
    assert isinstance(view, View)
    if not isinstance(answer, RewritePlan):
        return f"expected a RewritePlan, saw {answer!r}"
    operations, believed_saving = cast("tuple[object, ...]", answer)
    if not _is_whole(believed_saving):
        return f"expected a believed saving in whole tokens, saw {believed_saving!r}"
    if not isinstance(operations, tuple):
        return f"expected a tuple of operations, saw {operations!r}"
    kinds = {item.id: item.kind for item in view.items}
    seen: set[int] = set()
    for operation in operations:
        if not isinstance(operation, Evict | Mask | Summarise | Fold):
            return f"expected operations, saw {operation!r}"
        if isinstance(operation, Fold) and not _is_filled_tuple(operation.ids):
            return f"expected ids to fold, saw {operation.ids!r}"
        if isinstance(operation, Mask) and not _is_count(0)(operation.tokens):
            return f"expected a placeholder of 0 tokens or more, saw {operation.tokens!r}"
        for identity in operation.sources:
            if not _is_whole(identity) or identity not in kinds:
                return f"expected ids of the view, saw {identity!r}"
            if identity in seen:
                return f"expected each span in one operation, saw {identity} twice"
            if kinds[identity] is Kind.HEAD:
                return f"expected the fixed head untouched, saw {operation!r}"
            seen.add(identity)
    return ""


FAULTS: dict[str, Callable[[object, object], str]] = {
    "begin": _no_fault,
    "check": _flag_fault,
    "admit": _verdict_fault,
    "propose": _plan_fault,
    "judge": _verdict_fault,
    "learn": _flag_fault,
}
"""What is wrong with an answer, empty where nothing is, by method."""


# --------------------------------------------------------------------------- the checks


def _has_a_name(subject: Subject) -> str:
    """Require a name that is a text on one line, and not empty."""
    name = getattr(subject.fresh(), "name", None)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise Shortfall(f"expected a name on one line, saw {name!r}")
    return f"expected a name, saw {name!r}"


def _declares_terms(subject: Subject) -> str:
    """Require terms of the types and in the ranges that the engine understands."""
    terms = subject.fresh().terms
    fault = _terms_fault(terms)
    if fault:
        raise Shortfall(fault)
    return f"expected sensible terms, saw {terms!r}"


def _terms_fault(terms: Terms) -> str:
    for key, sensible, expected in SENSIBLE_TERMS:
        value = getattr(terms, key)
        if not sensible(value):
            return f"expected {key} to be {expected}, saw {value!r}"
    return ""


def _engine_terms(policy: Policy) -> Terms:
    """Return terms that the engine can live with, so that bad ones fail their own check and no other."""
    return Terms() if _terms_fault(policy.terms) else policy.terms


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_filled_tuple(value: object) -> bool:
    return isinstance(value, tuple) and bool(value)


def _is_set_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, frozenset) and all(isinstance(one, kind) for one in value)


def _is_count(least: int, *, optional: bool = False) -> Callable[[object], bool]:
    return lambda value: (
        (optional and value is None)
        or (isinstance(value, int) and not isinstance(value, bool) and value >= least)
    )


def _is_ratio(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _is_check_points(value: object) -> bool:
    return bool(value) and _is_set_of(CheckPoint)(value)


SENSIBLE_TERMS: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("check_points", _is_check_points, "a frozenset of CheckPoint, not empty"),
    ("deliberates", _is_flag, "True or False"),
    ("rationale_cap", _is_count(1, optional=True), "None, or 1 token or more"),
    ("summary_cap", _is_count(1, optional=True), "None, or 1 token or more"),
    ("measurement", lambda value: isinstance(value, MeasurementPlan), "a MeasurementPlan"),
    ("checkpoint_every", _is_count(1), "1 or more"),
    ("ambiguity_limit", _is_count(0), "0 or more"),
    ("counter_ratio", _is_ratio, "finite and above 0"),
    ("charges", _is_set_of(Component), "a frozenset of Component"),
    ("immutable_this_turn", _is_flag, "True or False"),
    ("never_summarised", _is_flag, "True or False"),
    ("retires", _is_flag, "True or False"),
    ("retries", _is_count(0), "0 or more"),
    ("endless_window", _is_flag, "True or False"),
)
"""Key, whether a value makes sense, and what would, for each of the terms."""


def _loads_again(subject: Subject) -> str:
    """Require the same policy from its reference each time: a sweep sends the reference to its workers."""
    one, other = subject.fresh(), subject.fresh()
    for what in ("name", "terms"):
        first, second = getattr(one, what, None), getattr(other, what, None)
        if first != second:
            raise Shortfall(f"expected {what} {first!r} when loaded again, saw {second!r}")
    if type(one).__qualname__ != type(other).__qualname__:
        raise Shortfall(f"expected a {type(one).__name__} when loaded again, saw a {type(other).__name__}")
    return f"expected the same policy when loaded again, saw {type(other).__name__} with equal terms"


def _begins(subject: Subject) -> str:
    """Require that it can be begun, and again for another world."""
    return f"expected it to begin, saw it do so {len(_under_lens(subject, 'begin', VIEWS))} times"


def _checks(subject: Subject) -> str:
    """Require True or False at gauges from an empty window to one several times overfull."""
    gauges = _under_lens(subject, "check", (EMPTY, FLOOD))
    shares = [gauge.tokens / gauge.window for gauge in gauges if isinstance(gauge, Gauge)]
    return (
        f"expected True or False, saw it at {len(gauges)} gauges from {min(shares):.0%} to "
        f"{max(shares):.0%} of the window"
    )


def _admits(subject: Subject) -> str:
    """Require a verdict at gauges of all sizes, and of a refusal that it says why."""
    return f"expected verdicts, saw {len(_under_lens(subject, 'admit', (*VIEWS, FLOOD)))} of them"


def _proposes(subject: Subject) -> str:
    """Require plans with ids of the view, each once and the head never, for every kind of view."""
    seen = len(_under_lens(subject, "propose", VIEWS))
    return f"expected valid plans, saw {seen} of them in {', '.join(setting.name for setting in VIEWS)}"


def _judges(subject: Subject) -> str:
    """Require a verdict on honest and on bad figures, and of a refusal that it says why."""
    return f"expected verdicts, saw {len(_under_lens(subject, 'judge', VIEWS))} of them"


def _learns(subject: Subject) -> str:
    """Require True or False whatever the outcome that it learns of."""
    return f"expected True or False, saw it after {len(_under_lens(subject, 'learn', VIEWS))} outcomes"


def _leaves_inputs_alone(subject: Subject) -> str:
    """Require that it changes nothing of what it is handed, nor its terms once declared."""
    policy = subject.fresh()
    seen = len(_decisions(subject, policy, lens=INPUTS))
    for declared, now, whose in zip(subject.declared, _terms_of(policy), WHOSE_TERMS, strict=True):
        if now != declared:
            raise Shortfall(f"expected {whose} to stay {declared}, saw {now}")
    return f"expected inputs and terms unchanged, saw them so after {seen} decisions"


WHOSE_TERMS = ("its terms", "the default terms")


def _is_deterministic(subject: Subject) -> str:
    """Require equal decisions of two fresh policies on equal inputs."""
    return _require_same(subject.decisions(), _decisions(subject, subject.fresh()), "on equal inputs")


def _begins_anew(subject: Subject) -> str:
    """Require that nothing of an earlier run stays: one world, another, and the first again."""
    policy = subject.fresh()
    first_world, others = STRESS[:1], (STRESS[2],)
    first = _decisions(subject, policy, first_world)
    _decisions(subject, policy, others)
    return _require_same(first, _decisions(subject, policy, first_world), "before and after another run")


def _leaves_global_randomness_alone(subject: Subject) -> str:
    """Require that it neither uses nor moves the global random numbers of Python and numpy."""
    first = subject.decisions()
    kept = _random_states()
    try:
        random.seed(SEED)
        np.random.seed(SEED)  # noqa: NPY002 - the global state is what is under check
        before = repr(_random_states())
        second = _decisions(subject, subject.fresh())
        moved = repr(_random_states()) != before
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002 - the global state is what is under check
    if moved:
        raise Shortfall("expected the global random states unmoved, saw them moved")
    return _require_same(first, second, "under two global seeds")


def _random_states() -> tuple[tuple[object, ...], dict[str, object]]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - the global state is what is under check
    return random.getstate(), dict(legacy)


def _ignores_the_clock(subject: Subject) -> str:
    """Require the same decisions when the wall clock races, from another year."""
    first = subject.decisions()
    with _wall_clock(1_000_000_000.0, 1.37):
        racing = _decisions(subject, subject.fresh())
    return _require_same(first, racing, "under two wall clocks")


@contextmanager
def _wall_clock(start: float, step: float) -> Iterator[None]:
    """Let the `time` module tell a time of our own, some seconds later at each call."""
    now = start

    def seconds() -> float:
        nonlocal now
        now += step
        return now

    def nanoseconds() -> int:
        return int(seconds() * 1e9)

    ours: dict[str, Callable[[], float]] = dict.fromkeys(("time", "monotonic", "perf_counter"), seconds)
    ours |= {f"{name}_ns": nanoseconds for name in tuple(ours)}
    kept = {name: getattr(time, name) for name in ours}
    try:
        for name, clock in ours.items():
            setattr(time, name, clock)
        yield
    finally:
        for name, clock in kept.items():
            setattr(time, name, clock)


def _cannot_see_the_truth(subject: Subject) -> str:
    """Require decisions that hidden truth does not move before a replacement that shows it is paid for."""
    seen = 0
    for setting in (*STRESS, FULL):
        other = _with_other_truth(setting)
        runs = []
        for world in (setting, other):
            free = _live(subject, subject.fresh(), world)
            insisted = _insisted(subject, subject.fresh(), world)
            runs.append((_until_paid(free.decisions), _until_paid(insisted.decisions)))
        for one, two in zip(*runs, strict=True):
            _require_same(one, two, "whatever compresses, before a replacement was paid for")
            seen += len(one)
    return f"expected equal decisions whatever compresses, saw {seen} of them equal before any was paid for"


def _with_other_truth(setting: Setting) -> Setting:
    """Return the same visible world in which the opposite compresses, and summaries come out longer."""
    workload = setting.workload
    assert isinstance(workload, SmallWorkload)
    return replace(
        setting,
        workload=replace(workload, compressible=not workload.compressible),
        laws=replace(setting.laws, summary=replace(setting.laws.summary, ratio=0.6)),
    )


def _until_paid(decisions: list[Decision]) -> list[Decision]:
    """Return the decisions up to the first plan whose staged sizes would show what compresses."""
    for number, decision in enumerate(decisions, start=1):
        if decision.pays:
            return decisions[:number]
    return decisions


def _survives(subject: Subject) -> str:
    """Require that it lives through small worlds with the identities of the ledger unbroken."""
    lives = [_live(subject, subject.fresh(), setting, lens=ALL) for setting in STRESS]
    ends = ", ".join(f"{life.outcome} ({setting.name})" for life, setting in zip(lives, STRESS, strict=True))
    return f"expected runs that end with their books in order, saw {ends}"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "name": _has_a_name,
    "terms": _declares_terms,
    "loads again": _loads_again,
    "begin": _begins,
    "check": _checks,
    "admit": _admits,
    "propose": _proposes,
    "judge": _judges,
    "learn": _learns,
    "inputs unchanged": _leaves_inputs_alone,
    "deterministic": _is_deterministic,
    "begins anew": _begins_anew,
    "global randomness": _leaves_global_randomness_alone,
    "wall clock": _ignores_the_clock,
    "hidden truth": _cannot_see_the_truth,
    "survives": _survives,
}
"""Every check by name, each a sentence in its function's docstring; the functions return what they saw."""
