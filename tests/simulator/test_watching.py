"""Somebody looks on: at every turn and attempt, at what the engine itself works on, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policies import load_policy
from scenarios import load_scenario
from simulator import Evict, Kind, RewritePlan, RunFailed, Setting, Span, Terms, Turn, Verdict, simulate
from simulator.laws import Laws, RationaleLaw
from simulator.ledger import RewriteEntry
from simulator.setting import FleetSpec, RuntimeSpec
from simulator.workspace import Attempt, Workspace

pytestmark = pytest.mark.unit


class Noting:
    """A watch that writes down what it is shown."""

    def __init__(self) -> None:
        self.turns: list[tuple[int, int, int, tuple[int, ...], frozenset[int]]] = []
        self.attempts: list[tuple[Attempt, RewriteEntry]] = []
        self.made: list[tuple[int, ...]] = []

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        ids = tuple(span.id for span in work.context)
        self.turns.append((work.agent, work.turn, user_turn, ids, frozenset(work.context.immutable)))

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
        self.attempts.append((attempt, entry))
        self.made.append(tuple(span.id for span in work.context if span.id < attempt.newest_before))


@pytest.mark.parametrize("policy", ["naive", "guarded"])
@pytest.mark.parametrize("scenario", ["rewrite-budget-spiral", "all-four", "gridlock"])
def test_a_watched_run_has_the_tables_of_one_that_nobody_watches(scenario: str, policy: str) -> None:
    setting = load_scenario(scenario).setting()
    watch = Noting()
    bare = simulate(setting, load_policy(policy), 11)
    watched = simulate(setting, load_policy(policy), 11, watch=watch)
    assert watched == bare
    assert [(agent, turn, user) for agent, turn, user, _, _ in sorted(watch.turns)] == [
        (row.agent, row.turn, row.user_turn) for row in bare.turn_rows
    ]
    entries = sorted((entry for _, entry in watch.attempts), key=lambda entry: entry.agent)
    assert entries == bare.rewrite_rows


def one_setting(listed: Any, **more: object) -> Setting:
    arrivals = tuple(Span(number, Kind.TOOL_RESULT, 50, 1) for number in range(4))
    return Setting("one", window=1_000, workload=listed((Turn(arrivals),)), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("accepted", [True, False])
def test_an_attempt_keeps_the_verdicts_as_they_were_given(listed: Any, scripted: Any, accepted: bool) -> None:
    may = Verdict(True, "may gain", {"freeable": 40})
    says = Verdict(accepted, "so it is", {"net": -7, "density": 0.25})
    policy = scripted(admit_by=may, judge_by=says, propose_by=RewritePlan((Evict(2),), 50))
    watch = Noting()
    simulate(one_setting(listed), policy, watch=watch)
    ((attempt, entry),) = watch.attempts
    assert attempt.admitted is may
    assert attempt.judged is says
    assert entry.reason == "so it is"
    assert [span.id for span in attempt.sources] == [2]
    assert [one.sources for one in attempt.staged] == [(2,)]
    assert (2 in watch.turns[-1][3]) is not accepted


def test_a_policy_that_was_not_asked_has_no_verdict(listed: Any, scripted: Any) -> None:
    watch = Noting()
    simulate(one_setting(listed, runtime=RuntimeSpec(append_only=True)), scripted(), watch=watch)
    ((attempt, entry),) = watch.attempts
    assert attempt.admitted is attempt.judged is None
    assert entry.stage == "admit"
    refuses = scripted(admit_by=Verdict(False, "no"))
    simulate(one_setting(listed), refuses, watch=watch)
    attempt, _ = watch.attempts[-1]
    assert attempt.admitted == Verdict(False, "no")
    assert attempt.judged is None


def test_marks_of_the_turn_still_stand_and_what_the_attempt_made_is_known(listed: Any, scripted: Any) -> None:
    policy = scripted(terms=Terms(immutable_this_turn=True), propose_by=RewritePlan((Evict(0),), 50))
    watch = Noting()
    setting = one_setting(listed, laws=Laws(rationale=RationaleLaw(base=60)))
    simulate(setting, policy, watch=watch)
    ((attempt, _),) = watch.attempts
    assert attempt.own_ids
    assert set(attempt.own_ids) == watch.turns[-1][4] == set(watch.made[0])


def test_all_agents_of_a_fleet_are_watched(listed: Any, scripted: Any) -> None:
    watch = Noting()
    policy = scripted(check_by=False)
    simulate(one_setting(listed, fleet=FleetSpec(agents=3)), policy, watch=watch)
    assert sorted(agent for agent, *_ in watch.turns) == [0, 1, 2]


def test_what_a_watch_raises_is_no_fault_of_the_policy(listed: Any, scripted: Any) -> None:
    class Broken(Noting):
        def turn_ended(self, work: Workspace, user_turn: int) -> None:
            raise LookupError("mine")

        rewrite_settled: Callable[..., None] = turn_ended

    with pytest.raises(LookupError, match="mine") as raised:
        simulate(one_setting(listed), scripted(check_by=False), watch=Broken())
    assert not isinstance(raised.value, RunFailed)
