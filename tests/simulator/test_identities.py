"""The conservation identities under random policies in random worlds, in exact integers.

The rows are audited here a second time, by arithmetic that shares nothing with the ledger: each
turn's tokens follow from the turn before, and the last turn's from the first.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import simulation
from simulator.agent import Agent
from simulator.contracts import (
    Brief,
    CheckPoint,
    Component,
    Lesson,
    MeasurementPlan,
    Policy,
    Proposal,
    RunFailed,
    Terms,
    Turn,
    Verdict,
)
from simulator.laws import Laws, MeasurementLaw, QualityLaw, RationaleLaw, SummaryLaw
from simulator.ledger import COMMITTED, RewriteEntry
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.supervisor import SupervisorSpec
from simulator.view import Gauge, View
from simulator.world import WorldSpec


class Dice(Policy):
    """Decides by dice: whether, what, and what to refuse; every plan is one that the engine must take."""

    name = "dice"

    def __init__(self, terms: Terms, seed: int, eagerness: float) -> None:
        self.terms = terms
        self.seed, self.eagerness = seed, eagerness

    def begin(self, brief: Brief) -> None:
        self.dice = random.Random(self.seed)

    def check(self, gauge: Gauge) -> bool:
        return self.dice.random() < self.eagerness

    def admit(self, gauge: Gauge) -> Verdict:
        return Verdict(self.dice.random() < 0.9, "dice")

    def propose(self, view: View) -> RewritePlan:
        ids = [item.id for item in view.items if item.kind is not Kind.HEAD]
        self.dice.shuffle(ids)
        operations: list[Operation] = []
        while ids and self.dice.random() < 0.7:
            kind = self.dice.choice([Evict, Mask, Summarise, Fold])
            if kind is Fold:
                size = self.dice.randint(1, min(4, len(ids)))
                operations.append(Fold(tuple(ids[:size])))
                del ids[:size]
            else:
                one = ids.pop()
                operations.append(Mask(one, self.dice.randint(0, 30)) if kind is Mask else kind(one))
        return RewritePlan(tuple(operations), self.dice.randint(-50, 500))

    def judge(self, proposal: Proposal) -> Verdict:
        return Verdict(self.dice.random() < 0.8, "dice")

    def learn(self, lesson: Lesson) -> bool:
        return self.dice.random() < 0.3


terms = st.builds(
    Terms,
    check_points=st.sets(st.sampled_from(list(CheckPoint)), min_size=1).map(frozenset),
    deliberates=st.booleans(),
    rationale_cap=st.none() | st.integers(0, 40),
    summary_cap=st.none() | st.integers(0, 40),
    measurement=st.sampled_from(list(MeasurementPlan)),
    checkpoint_every=st.integers(1, 4),
    ambiguity_limit=st.integers(0, 4),
    counter_ratio=st.sampled_from([1.0, 0.72, 1.3]),
    charges=st.sets(st.sampled_from(list(Component))).map(frozenset),
    immutable_this_turn=st.booleans(),
    never_summarised=st.booleans(),
    retires=st.booleans(),
    retries=st.integers(0, 2),
    endless_window=st.booleans(),
)
laws = st.builds(
    Laws,
    st.builds(
        RationaleLaw, st.sampled_from([0, 60]), st.just(0.5), st.just(0.5), st.sampled_from([0.5, 1.0])
    ),
    st.builds(QualityLaw, st.just(0.8), st.just(0.2), st.sampled_from([0, 0.5])),
    st.builds(
        SummaryLaw,
        st.sampled_from([0.0, 0.3, 1.0]),
        st.sampled_from([0, 0.2]),
        st.just(0.3),
        st.sampled_from([0, 25]),
        st.none() | st.just(50),
        st.just(1.4),
    ),
    st.builds(MeasurementLaw, st.sampled_from([0, 0.05]), st.none() | st.just(70), st.just(9), st.just(1e-3)),
)


@st.composite
def workloads(draw: st.DrawFn) -> tuple[tuple[Turn, ...], tuple[Span, ...]]:
    """Return turns with arrivals, replies, subgoals that close and citations, and a few spans before them."""
    numbers = iter(range(10_000))

    def spans(kind: Kind, turn: int, most: int) -> tuple[Span, ...]:
        return tuple(
            Span(
                next(numbers),
                kind,
                draw(st.integers(0, 120)),
                turn,
                subgoal=draw(st.none() | st.integers(0, 3)),
                needed=draw(st.booleans()),
                compressible=draw(st.booleans()),
            )
            for _ in range(draw(st.integers(0, most)))
        )

    before = spans(Kind.USER, 0, 3)
    turns = tuple(
        Turn(
            spans(Kind.TOOL_RESULT, turn, 2),
            spans(Kind.ASSISTANT, turn, 1),
            draw(st.sampled_from([0.0, 3.0])),
            draw(st.booleans()),
            tuple(draw(st.sets(st.integers(0, 3), max_size=1))),
        )
        for turn in range(1, draw(st.integers(1, 14)) + 1)
    )
    return turns, before


@st.composite
def settings(draw: st.DrawFn, listed: type) -> Setting:
    brought, before = draw(workloads())
    return Setting(
        name="dice",
        window=draw(st.sampled_from([600, 1_500, 10**6])),
        workload=listed(brought, before),
        horizon=draw(st.integers(1, 14)),
        output_reserve=draw(st.sampled_from([0, 50])),
        head=draw(st.sampled_from([0, 100])),
        laws=draw(laws),
        provider=ProviderSpec(failure_share=draw(st.sampled_from([0.0, 0.4]))),
        supervisor=SupervisorSpec(
            capacity=draw(st.integers(0, 2)),
            service_seconds=draw(st.sampled_from([0.0, 4.0])),
            constant=draw(st.booleans()),
            evict_tokens=draw(st.sampled_from([0, 200])),
        ),
        world=WorldSpec(windows=draw(st.sampled_from([(), ((3, 900),), ((2, 2_000), (5, 400))]))),
        charged_to=draw(st.sampled_from(["window", "separate"])),
    )


def must_hold(entry: RewriteEntry) -> None:
    assert entry.net == entry.freed - entry.rewrite_cost - entry.measurement_cost
    assert entry.tokens_after == (
        entry.tokens_before
        - entry.freed
        + entry.rewrite_cost
        + entry.measurement_cost
        + entry.tombstones
        + entry.reinjected
        + entry.arrivals_during
        - entry.out_of_band_during
    )
    if entry.outcome in COMMITTED:
        assert (entry.net <= 0) == (entry.outcome == "committed_without_effect")
        assert entry.stage == "settle"
    else:
        assert (entry.freed, entry.measurement_cost) == (0, 0)
        assert entry.reason
    assert {type(value) for value in (entry.net, entry.freed, entry.tokens_before, entry.tokens_after)} == {
        int
    }


def must_follow_turn_by_turn(run: Run, initial: int) -> None:
    tokens, out_of_band = initial, 0
    for row in run.turn_rows:
        entries = [entry for entry in run.rewrite_rows if entry.turn == row.turn]
        tokens += row.arrived_tokens - row.retired - (row.out_of_band - out_of_band)
        tokens -= sum(entry.net for entry in entries)
        assert row.tokens == tokens
        out_of_band = row.out_of_band


def must_add_up(run: Run, initial: int) -> None:
    total, entries = run.summary, run.rewrite_rows
    arrived = sum(row.arrived_tokens for row in run.turn_rows)
    final = initial + arrived + total["rewrite_cost_tokens"] + total["measurement_cost_tokens"]
    final -= total["tokens_freed"] + total["retired_tokens"] + total["out_of_band_tokens"]
    assert final == run.turn_rows[-1].tokens
    assert total["tokens_freed"] == sum(entry.freed for entry in entries)
    assert total["rewrite_cost_tokens"] == sum(entry.rewrite_cost for entry in entries)
    assert total["measurement_cost_tokens"] == sum(entry.measurement_cost for entry in entries)
    assert total["net_tokens"] == sum(entry.net for entry in entries)
    assert total["retired_tokens"] == sum(row.retired for row in run.turn_rows)
    assert total["out_of_band_tokens"] == run.turn_rows[-1].out_of_band
    assert total["waste_tokens"] == sum(-entry.net for entry in entries if entry.net <= 0)
    counted = ("committed", "refused", "infeasible", "failed", "conflicted")
    assert sum(total[f"rewrites_{outcome}"] for outcome in counted) == len(entries)


def must_move_forward(run: Run) -> None:
    times = [row.time_s for row in run.turn_rows]
    assert times == sorted(times)
    assert [row.turn for row in run.turn_rows] == list(range(1, len(times) + 1))
    assert run.summary["max_occupancy_pct"] >= max(row.occupancy_pct for row in run.turn_rows)
    assert all(
        entry.rewrite_seconds
        == pytest.approx(entry.deliberate_seconds + entry.replace_seconds + entry.measure_seconds)
        for entry in run.rewrite_rows
    )


@pytest.mark.property
@given(data=st.data(), terms=terms, seed=st.integers(0, 2**32), eagerness=st.sampled_from([0.2, 1.0]))
def test_every_token_is_accounted_for(
    listed: type, data: st.DataObject, terms: Terms, seed: int, eagerness: float
) -> None:
    setting = data.draw(settings(listed))
    run = simulate(setting, Dice(terms, seed, eagerness), seed)
    initial = setting.head + sum(span.tokens for span in setting.workload.initial(None))
    for entry in run.rewrite_rows:
        must_hold(entry)
    must_follow_turn_by_turn(run, initial)
    must_add_up(run, initial)
    must_move_forward(run)


@pytest.mark.property
@given(data=st.data(), terms=terms, seed=st.integers(0, 2**32))
def test_a_separate_quota_never_enters_the_window(
    listed: type, data: st.DataObject, terms: Terms, seed: int
) -> None:
    setting = replace(data.draw(settings(listed)), charged_to="separate")
    run = simulate(setting, Dice(terms, seed, 1.0), seed)
    assert run.summary["rewrite_cost_tokens"] == run.summary["measurement_cost_tokens"] == 0
    assert run.summary["retired_tokens"] == 0
    assert all(entry.net == entry.freed for entry in run.rewrite_rows)


# --------------------------------------------------------------------------- planted errors


@pytest.fixture
def setting(listed: type, constant: object) -> Setting:
    return Setting("planted", 10_000, listed(constant(5, 100)), head=50)  # type: ignore[operator]


@pytest.fixture
def quiet(scripted: type) -> Policy:
    return scripted(check_by=lambda gauge: False)  # type: ignore[no-any-return]


@pytest.mark.unit
def test_the_run_fails_when_tokens_come_in_past_the_ledger(
    monkeypatch: pytest.MonkeyPatch, setting: Setting, quiet: Policy
) -> None:
    def unposted(agent: Agent, spans: tuple[Span, ...]) -> int:
        for span in spans:
            agent.work.context.append(span)
        return 0

    monkeypatch.setattr(Agent, "_arrive", unposted)
    with pytest.raises(RunFailed, match="550.* 50") as failure:
        simulate(setting, quiet)
    assert failure.value.stage == "audit"


@pytest.mark.unit
def test_the_run_fails_when_the_context_has_lost_count(
    monkeypatch: pytest.MonkeyPatch, setting: Setting, quiet: Policy
) -> None:
    def miscounted(agent: Agent, spans: tuple[Span, ...]) -> int:
        arrived = intact(agent, spans)
        agent.work.context.tokens += 1
        return arrived

    intact = Agent._arrive
    monkeypatch.setattr(Agent, "_arrive", miscounted)
    with pytest.raises(RunFailed) as failure:
        simulate(setting, quiet)
    assert failure.value.stage == "audit"


@pytest.mark.unit
def test_the_run_fails_when_the_measurement_exceeds_what_the_gate_was_told(
    monkeypatch: pytest.MonkeyPatch, listed: type, constant: object, scripted: type
) -> None:
    from simulator import rewrite

    intact = rewrite._measurement
    monkeypatch.setattr(
        rewrite,
        "_measurement",
        lambda work, attempt, count: intact(work, attempt, count) + bool(attempt.freed),
    )
    policy = scripted(propose_by=lambda view: RewritePlan((Evict(view.items[0].id),)))
    setting = Setting("planted", 10_000, listed(constant(1, 100)))  # type: ignore[operator]
    with pytest.raises(RunFailed, match="gate was told") as failure:
        simulate(setting, policy)
    assert failure.value.stage == "measure"


@pytest.mark.unit
def test_a_fault_of_the_simulator_is_not_blamed_on_the_policy(
    monkeypatch: pytest.MonkeyPatch, setting: Setting, quiet: Policy
) -> None:
    monkeypatch.setattr(simulation, "_summary", None)
    with pytest.raises(TypeError):
        simulate(setting, quiet)
