"""The four gates together: switches that leave no trace, one world for all policies, and odd parameters."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from policies import load_policy
from policies.small_worlds import FLOOD, STRESS, VIEWS
from scenarios import load_scenario, scenario_names
from simulator.contracts import Policy, Turn, Verdict, Workload
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Span
from simulator.streams import Streams
from simulator.tagging import Tagger

Said = Mapping[str, object]

GATES = ("evidence", "coherence", "binding", "conservation")
EMERGENT = ("all-four", "lossy-boundary", "coherence-inversion", "instruction-decay")


def rows_of(run: Run) -> tuple[list[Any], ...]:
    return run.turn_rows, run.rewrite_rows, run.event_rows, run.obedience_rows


def rows_under(
    setting: Setting, policy: str, said: Said | None = None, seed: int = 7
) -> tuple[list[Any], ...]:
    return rows_of(simulate(setting, load_policy(policy, said), seed))


def off(*gates: str) -> dict[str, object]:
    return {f"gates.{gate}.enabled": False for gate in gates}


# --------------------------------------------------------------------------- bit for bit


@pytest.mark.theory
@pytest.mark.parametrize("seed", range(5))
def test_three_gates_with_nothing_to_look_after_leave_no_trace_in_the_spiral(seed: int) -> None:
    """References of the spiral are sparse, fewer than 0.3 an item, and nothing else is there."""
    setting = load_scenario("rewrite-budget-spiral").setting()
    assert rows_under(setting, "guarded", seed=seed) == rows_under(setting, "conservation-only", seed=seed)


@pytest.mark.theory
@pytest.mark.parametrize("setting", [*STRESS, *VIEWS, FLOOD], ids=lambda setting: setting.name)
def test_three_gates_with_nothing_to_look_after_leave_no_trace_in_small_worlds(setting: Setting) -> None:
    assert rows_under(setting, "guarded") == rows_under(setting, "conservation-only")


@pytest.mark.theory
@pytest.mark.parametrize("name", EMERGENT)
def test_they_leave_one_where_there_is_something(name: str) -> None:
    setting = load_scenario(name).setting()
    assert rows_under(setting, "guarded") != rows_under(setting, "conservation-only")


@pytest.mark.theory
@pytest.mark.parametrize("name", ["rewrite-budget-spiral", "rewrite-budget-exact", "all-four"])
def test_naive_with_all_gates_off_is_naive(name: str) -> None:
    setting = load_scenario(name).setting()
    naive = rows_under(setting, "naive")
    assert rows_under(setting, "naive", {"gates.order": list(GATES), **off(*GATES)}) == naive
    gates = {"gates.order": list(GATES), "gates.binding.rederive": False}
    gated = {**gates, "tombstones.placement": "outside"}
    assert rows_under(setting, "naive", gated) != naive


@pytest.mark.theory
@pytest.mark.parametrize(
    ("variant", "gates"),
    [
        ("guarded-without-gate", ("conservation",)),
        ("guarded-without-evidence", ("evidence",)),
        ("guarded-without-coherence", ("coherence",)),
        ("guarded-without-binding", ("binding",)),
        ("conservation-only", ("evidence", "coherence", "binding")),
        ("evidence-only", ("coherence", "binding", "conservation")),
        ("coherence-only", ("evidence", "binding", "conservation")),
        ("binding-only", ("evidence", "coherence", "conservation")),
        ("ungated", GATES),
    ],
)
def test_a_switch_is_the_variant_of_the_catalogue(variant: str, gates: tuple[str, ...]) -> None:
    for name in ("all-four", "coherence-inversion"):
        setting = load_scenario(name).setting()
        switched = rows_under(setting, "guarded", off(*gates))
        assert switched == rows_under(setting, variant)
        if name == "all-four":  # where each gate has something to do
            assert switched != rows_under(setting, "guarded")


# --------------------------------------------------------------------------- one world for all


@dataclass
class Overheard:
    """A workload that keeps what it has handed out, as bytes."""

    inner: Workload
    heard: list[bytes] = field(default_factory=list)

    def initial(self, streams: Streams) -> Iterator[Span]:
        for span in self.inner.initial(streams):
            self.heard.append(pickle.dumps(span))
            yield span

    def turns(self, streams: Streams) -> Iterator[Turn]:
        for turn in self.inner.turns(streams):
            self.heard.append(pickle.dumps(turn))
            yield turn


class Asked(Policy):
    """Stands before a policy and keeps each question's turn and method with the answer, in order."""

    def __init__(self, policy: Policy) -> None:
        self.name, self.terms, self.policy = policy.name, policy.terms, policy
        self.answers: list[tuple[int, str, str]] = []
        self.turn = 0

    def begin(self, brief: Any) -> None:
        self.policy.begin(brief)
        for method in ("admit", "propose", "judge", "learn", "resume", "amend", "rely"):
            setattr(self, method, partial(self._answer, method))

    def check(self, gauge: Any) -> bool:
        self.turn = gauge.turn
        return self._answer("check", gauge)

    def propose(self, view: Any) -> Any:
        raise AssertionError("begun first")

    def _answer(self, method: str, question: Any) -> Any:
        answer = getattr(self.policy, method)(question)
        said = answer.accepted if isinstance(answer, Verdict) else answer  # nothing follows from the reason
        if method not in UNASKED or not said:
            self.answers.append((self.turn, method, repr(said)))
        return answer


UNASKED = {"resume", "rely"}
"""What not every policy is asked: not to be asked and to accept is the same."""


@dataclass
class World:
    """What one run has met, whatever it did: turns, premises and tags."""

    turns: list[bytes]
    premises: list[tuple[int, str]]
    tags: list[bytes]
    answers: list[tuple[int, str, str]]
    run: Run


@pytest.fixture
def meet(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], World]:
    """Let a policy live through a scenario with tags that err, and keep what it has met."""
    tags: list[bytes] = []
    for method in ("arriving", "closing"):
        intact = getattr(Tagger, method)

        def tagged(self: Tagger, given: Any, intact: Any = intact) -> Any:
            made = intact(self, given)
            tags.append(pickle.dumps(made))
            return made

        monkeypatch.setattr(Tagger, method, tagged)

    def live(scenario: str, policy: str) -> World:
        tags.clear()
        quality = {"recall": 0.8, "precision": 0.8}
        said = {f"tags.{tag}": quality for tag in ("constraint", "closed", "needed")}
        setting = load_scenario(scenario, said).setting()
        workload = Overheard(setting.workload)
        asked = Asked(load_policy(policy))
        run = simulate(replace(setting, workload=workload), asked, 7)
        premises = [(row.turn, row.detail) for row in run.event_rows if row.kind == "premise"]
        return World(workload.heard, premises, list(tags), asked.answers, run)

    return live


def first_difference(one: World, other: World) -> int:
    """The turn of the first decision that differs."""
    for answer, another in zip(one.answers, other.answers, strict=False):
        if answer != another:
            return min(answer[0], another[0])
    return min(len(one.run.turn_rows), len(other.run.turn_rows))


PAIRS = [
    ("guarded", "naive"),
    ("guarded", "ungated"),
    ("guarded", "guarded-without-coherence"),
    ("guarded", "guarded-without-binding"),
    ("guarded", "guarded-tombstones-charged"),
]


@pytest.mark.property
@pytest.mark.parametrize("scenario", EMERGENT)
@pytest.mark.parametrize(("policy", "other"), PAIRS)
def test_two_policies_meet_one_world(
    meet: Callable[[str, str], World], scenario: str, policy: str, other: str
) -> None:
    one, two = meet(scenario, policy), meet(scenario, other)
    shorter = min(len(one.run.turn_rows), len(two.run.turn_rows))
    lived = min(len(one.turns), len(two.turns))
    assert one.turns[:lived] == two.turns[:lived]
    assert [premise for premise in one.premises if premise[0] <= shorter] == [
        premise for premise in two.premises if premise[0] <= shorter
    ]
    tagged = min(len(one.tags), len(two.tags))
    assert tagged >= shorter
    assert one.tags[:tagged] == two.tags[:tagged]
    # and what they do is the same until they decide otherwise
    first = first_difference(one, two)
    assert one.run.turn_rows[: first - 1] == two.run.turn_rows[: first - 1]
    assert first > 1


@pytest.mark.property
def test_the_tags_of_these_worlds_err(meet: Callable[[str, str], World]) -> None:
    world = meet("all-four", "guarded")
    true = [pickle.loads(turn) for turn in world.turns]
    arrived = {span.id: span for turn in true for span in (*turn.arrivals, *turn.reply)}
    seen = [span for tag in map(pickle.loads, world.tags) for span in tag if isinstance(span, Span)]
    missed = [span for span in seen if arrived[span.id].constraint and not span.constraint]
    false = [span for span in seen if span.constraint and not arrived[span.id].constraint]
    assert missed
    assert false


# --------------------------------------------------------------------------- odd parameters

SMALL_SET = (
    "naive",
    "guarded",
    "guarded-tombstones-charged",
    "guarded-fingerprint-inside",
    "oldest-gated",
    "red-flag-only",
    "naive-repeating",
)

NO_TAGS = {f"tags.{tag}.recall": 0.0 for tag in ("constraint", "closed", "needed")}
FALSE_TAGS = {f"tags.{tag}.precision": 0.5 for tag in ("constraint", "closed", "needed")}
LOSSY = {"laws.evidence.retention": 0.0, "laws.evidence.force": 0.0, "laws.evidence.caveats": 0.0}
WHOLE = {"laws.evidence.retention": 1.0, "laws.evidence.force": 1.0, "laws.evidence.shock": 1.0}
ALL_DROPPED = {"laws.coherence.drop_share": 1.0, "laws.coherence.retry_tokens": 10**6}
UNBOUND = {"laws.binding.obey": 0.0, "laws.binding.quote": 0.0, "laws.binding.failure_share": 1.0}
FEW_AGENTS = 16
"""Of a larger fleet; its other agents live in no other way."""

ODD: dict[str, Said] = {
    "as it is": {"run.horizon": 40},
    "one turn": {"run.horizon": 1},
    "no room": {"run.horizon": 40},
    "no tags, all lost": {"run.horizon": 40, **NO_TAGS, **LOSSY},
    "false tags, nothing lost": {"run.horizon": 40, **FALSE_TAGS, **WHOLE},
    "all dropped, nothing obeyed": {"run.horizon": 40, **ALL_DROPPED, **UNBOUND},
}


@pytest.mark.property
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("scenario", scenario_names())
def test_no_run_fails_whatever_the_parameters(scenario: str, odd: str) -> None:
    said, file = dict(ODD[odd]), load_scenario(scenario).file
    if file.fleet.agents > FEW_AGENTS:
        said["fleet.agents"] = FEW_AGENTS
    if odd != "one turn":
        said["run.horizon"] = min(40, file.run.horizon)
        soon_full = max(file.window.head, file.window.tokens * 2 // 3)
        said["window.head"] = file.window.tokens if odd == "no room" else soon_full
    setting = load_scenario(scenario, said).setting()
    for policy in SMALL_SET:
        run = simulate(setting, load_policy(policy), 7)  # raises where an identity is broken
        assert run.outcome in {"horizon", "complete", "overflow", "halted", "dead"}


EDGES: dict[str, Said] = {
    "a head that fills the window": {"window.head": 24_000},
    "all leans and is touched": {"workload.lean_share": 1.0, "workload.touched_share": 1.0},
    "nothing leans": {"workload.lean_share": 0.0, "workload.touched_share": 0.0},
    "all is constraint": {"workload.constraint_share": 1.0, "workload.governed_share": 1.0},
    "nothing is constraint": {"workload.constraint_share": 0.0, "workload.governed_share": 0.0},
    "all is in doubt": {"workload.doubt_share": 1.0, "workload.doubt_part": 1.0},
    "all is cited late": {"workload.cited_share": 1.0},
    "each turn is a subgoal": {"workload.subgoal_low": 1, "workload.subgoal_high": 1},
    "no subgoals": {"workload.subgoal_low": 0, "workload.subgoal_high": 0},
    "no replies": {"workload.reply_low": 0, "workload.reply_high": 0},
    "dear evidence": {"workload.rederive": 30_000},
    "a fleet without a supervisor": {"fleet.agents": 3, "supervisor.capacity": 0, "fleet.blocks": True},
    "a fleet that waits": {"fleet.agents": 3, "supervisor.service_seconds": 500.0, "fleet.blocks": True},
    "paid from elsewhere": {"charged_to": "separate"},
    "a validator": {"instructions.validator": True, "instructions.accreted": 3},
    "requests that fail": {"provider.failure_share": 1.0},
}


@pytest.mark.property
@pytest.mark.parametrize("edge", EDGES)
def test_all_four_lives_at_its_edges(edge: str) -> None:
    setting = load_scenario("all-four", {"run.horizon": 120, **EDGES[edge]}).setting()
    for policy in SMALL_SET:
        run = simulate(setting, load_policy(policy), 7)
        assert run.outcome in {"horizon", "overflow", "halted", "dead"}
        if policy == "guarded":
            assert run.summary["constraint_violations"] in (0, None)
            # where references are sparse the gate abstains, as the record has it
            assert run.summary["dangled_at_commit"] in (0, None) or edge == "nothing leans"
