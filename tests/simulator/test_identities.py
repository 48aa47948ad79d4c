"""The conservation identities under random policies in random worlds, in exact integers.

The rows are audited here a second time, by arithmetic that shares nothing with the ledger: each
turn's tokens follow from the turn before, and the last turn's from the first. Where rewrites run beside
the turns, no turn owns what they do: the end alone follows from the start.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import rewrite, simulation
from simulator.agent import Agent
from simulator.contracts import (
    BackgroundTerms,
    Brief,
    CheckPoint,
    Component,
    CounterKind,
    CounterTerms,
    Fingerprint,
    InstructionTerms,
    KeepWarmTerms,
    Lesson,
    MeasurementPlan,
    Placement,
    Policy,
    Proposal,
    ReinjectionTerms,
    RequestTerms,
    Step,
    Terms,
    TombstoneTerms,
    Turn,
    Verdict,
    WindowTerms,
)
from simulator.errors import RunFailed
from simulator.instructions import InstructionSpec, Topic
from simulator.laws import (
    AnswerLaw,
    BindingLaw,
    CoherenceLaw,
    EvidenceLaw,
    Laws,
    MeasurementLaw,
    QualityLaw,
    RationaleLaw,
    SummaryLaw,
)
from simulator.ledger import COMMITTED, Account, RewriteEntry
from simulator.plan import Evict, Fold, Mask, Operation, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.questions import Amendment, Reliance, Vitals
from simulator.recorder import EventRow
from simulator.setting import FleetSpec, RuntimeSpec, Setting
from simulator.simulation import Run, simulate
from simulator.spans import CONTENT_CLASSES, FIXED, Kind, Span
from simulator.supervisor import SupervisorSpec
from simulator.tagging import TagQuality, TagSpec
from simulator.view import Gauge, View
from simulator.workspace import Attempt, Workspace
from simulator.world import PremiseSpec, WorldSpec

TOPICS = ("payload", "style")


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
        ids = [item.id for item in view.items if item.kind not in FIXED]
        self.dice.shuffle(ids)
        operations: list[Operation] = []
        while ids and self.dice.random() < 0.7:
            kind = self.dice.choice([Evict, Mask, Summarise, Fold])
            if kind is Fold:
                size = self.dice.randint(1, min(4, len(ids)))
                operations.append(Fold(tuple(ids[:size]), self.dice.random() < 0.5))
                del ids[:size]
            else:
                one = ids.pop()
                operations.append(Mask(one, self.dice.randint(0, 30)) if kind is Mask else kind(one))
        dropped = [operation.id for operation in operations if isinstance(operation, Evict | Mask)]
        recorded = tuple(one for one in dropped if self.dice.random() < 0.7)
        refusal = "dice" if self.dice.random() < 0.05 else ""
        return RewritePlan(tuple(operations), self.dice.randint(-50, 500), recorded, refusal)

    def judge(self, proposal: Proposal) -> Verdict:
        return Verdict(self.dice.random() < 0.8, "dice")

    def learn(self, lesson: Lesson) -> bool:
        return self.dice.random() < 0.3

    def resume(self, vitals: Vitals) -> Verdict:
        return Verdict(self.dice.random() < 0.95, "dice")

    def amend(self, amendment: Amendment) -> Verdict:
        return Verdict(self.dice.random() < 0.6, "dice")

    def rely(self, reliance: Reliance) -> Verdict:
        return Verdict(self.dice.random() < 0.7, "dice")


def some_terms(dice: random.Random) -> Terms:
    return Terms(
        check_points=frozenset(dice.sample(list(CheckPoint), dice.randint(1, 3))),
        deliberates=dice.random() < 0.7,
        rationale_cap=dice.choice([None, 1, 40]),
        summary_cap=dice.choice([None, 1, 40]),
        measurement=dice.choice(list(MeasurementPlan)),
        checkpoint_every=dice.randint(1, 4),
        ambiguity_limit=dice.randint(0, 4),
        counter=CounterTerms(
            dice.choice(list(CounterKind)),
            ratio=dice.choice([1.0, 0.72, 1.3]),
            ratios=dice.choice([(), (("cjk", 0.3), ("code", 1.2))]),
            head=dice.random() < 0.5,
            tail=dice.random() < 0.5,
            follows_rewrites=dice.random() < 0.5,
            tokens=300,
        ),
        window=WindowTerms(dice.choice([None, 400]), dice.random() < 0.5),
        charges=frozenset(dice.sample(list(Component), dice.randint(0, 2))),
        immutable_this_turn=dice.random() < 0.5,
        never_summarised=dice.random() < 0.5,
        retires=dice.random() < 0.7,
        retries=dice.randint(0, 2),
        endless_window=dice.random() < 0.2,
        tombstones=dice.choice([None, *(TombstoneTerms(placement, 11) for placement in Placement)]),
        red_flag=dice.random() < 0.5,
        instructions=InstructionTerms(
            edits=dice.random() < 0.8,
            fingerprint=dice.choice(list(Fingerprint)),
            diagnoses=dice.random() < 0.5,
            monotonic=dice.random() < 0.5,
            consolidates=dice.random() < 0.5,
            emphatic=dice.random() < 0.5,
            repeats_every=dice.choice([None, 1, 3]),
        ),
        request=some_request(dice),
        background=dice.choice([None, None, BackgroundTerms(), BackgroundTerms(overwrites=True)]),
        reinjection=ReinjectionTerms(
            fixed_tokens=dice.choice([0, 17]),
            results=dice.choice([0, 2]),
            result_tokens=60,
            standing_tokens=dice.choice([0, 90, None]),
            standing_item_tokens=dice.choice([None, 40]),
        ),
        keep_warm=dice.choice([None, KeepWarmTerms(5.0, 60.0)]),
        clairvoyant=dice.random() < 0.3,
    )


def some_request(dice: random.Random) -> RequestTerms:
    return RequestTerms(
        overhead_tokens=dice.choice([0, 30]),
        calls=dice.randint(1, 2),
        shares_prefix=dice.random() < 0.3,
        reads_all=dice.random() < 0.3,
        coverage_tokens=dice.choice([None, 80]),
        item_tokens=dice.choice([None, 50]),
        window=dice.choice([None, None, 150]),
        price=dice.choice([1.0, 0.2]),
        ladder=dice.choice([(), (0.5, 0.1)]),
        on_failure=dice.choice(["leave", "leave", "drop", "raise"]),
        refuses_empty=dice.random() < 0.5,
    )


def some_laws(dice: random.Random) -> Laws:
    return Laws(
        RationaleLaw(dice.choice([0, 60, 120]), 0.5, 0.5, dice.choice([0.5, 1.0])),
        QualityLaw(0.8, 0.2, dice.choice([0, 0.5])),
        SummaryLaw(
            ratio=dice.choice([0.0, 0.3, 1.0]),
            ratio_spread=dice.choice([0, 0.2]),
            ratio_per_pass=0.3,
            floor=dice.choice([0, 25]),
            cap=dice.choice([None, 50]),
            incompressible_ratio=1.4,
        ),
        MeasurementLaw(dice.choice([0, 0.05]), dice.choice([None, 70]), 9, 1e-3),
        EvidenceLaw(dice.choice([0, 0.5, 1]), dice.choice([0, 0.5, 1]), dice.choice([0, 0.5, 1]), 0.5),
        CoherenceLaw(dice.choice([0, 20]), dice.choice([0, 0.3])),
        BindingLaw(
            tokens=dice.choice([0, 7]),
            obey=0.7,
            kept_at_change=0.3,
            midpoint=3,
            urgent_share=0.5,
            narrative_share=0.5,
            failure_share=0.8,
            rederive_tokens=5,
            forge_share=0.5,
        ),
        AnswerLaw(dice.choice([0, 0.2]), dice.choice([0, 0.3]), 0.5, dice.choice([0, 0.3]), 1.6),
    )


def some_workload(dice: random.Random, listed: type) -> object:
    """Return turns with arrivals, replies and subgoals that close, and a few spans before them."""
    numbers = iter(range(10_000))
    last = dice.randint(1, 14)
    results = [dice.randint(0, 3) for _ in range(last + 2)]
    called = dice.random() < 0.5  # whether results were called for by the turn before

    def spans(kind: Kind, turn: int, count: int, pair: int | None = None) -> tuple[Span, ...]:
        return tuple(
            Span(
                next(numbers),
                kind,
                dice.choice([0, dice.randint(1, 120)]),
                turn,
                subgoal=dice.choice([None, 0, 1, 2]),
                pair=pair,
                cites=tuple(dice.sample(range(20), dice.randint(0, 2))),
                needed=dice.random() < 0.2,
                compressible=dice.random() < 0.8,
                rederive=dice.choice([0, 15, 60]),
                doubt=dice.choice([0, 5]),
                carries=tuple(dice.sample(range(20), dice.randint(0, 1))),
                binds=tuple(dice.sample(range(20), dice.randint(0, 1))),
                content_class=dice.choice(CONTENT_CLASSES),
                standing=dice.random() < 0.2,
            )
            for _ in range(count)
        )

    def reply(turn: int) -> tuple[Span, ...]:
        text = spans(Kind.ASSISTANT, turn, dice.randint(0, 1))
        if not called:
            return text
        thinking = spans(Kind.THINKING, turn, dice.randint(0, 1), turn)
        return thinking + text + spans(Kind.TOOL_CALL, turn, results[turn + 1], turn)

    def step() -> Step | None:
        if dice.random() < 0.3:
            return None
        return Step(
            governed=tuple(dice.sample(range(20), dice.randint(0, 2))),
            touches=tuple(dice.sample(range(20), dice.randint(0, 2))),
            claims=((dice.randrange(20), dice.randrange(20)),),
            topics=tuple(dice.sample(TOPICS, dice.randint(0, 2))),
        )

    turns = tuple(
        Turn(
            spans(Kind.TOOL_RESULT, turn, results[turn], turn - 1 if called and turn > 1 else None),
            reply(turn),
            dice.choice([0.0, 3.0]),
            dice.random() < 0.3,
            tuple(dice.sample(range(3), dice.randint(0, 1))),
            step=step(),
            together=dice.random() < 0.5,
        )
        for turn in range(1, last + 1)
    )
    return listed(turns, spans(Kind.USER, 0, dice.randint(0, 3)))


def some_setting(dice: random.Random, listed: type) -> Setting:
    return Setting(
        name="dice",
        window=dice.choice([250, 600, 1_500, 10**6]),
        workload=some_workload(dice, listed),  # type: ignore[arg-type]
        horizon=dice.randint(1, 14),
        output_reserve=dice.choice([0, 50]),
        head=dice.choice([0, 100]),
        laws=some_laws(dice),
        provider=ProviderSpec(failure_share=dice.choice([0.0, 0.4])),
        supervisor=SupervisorSpec(
            capacity=dice.randint(0, 2),
            service_seconds=dice.choice([0.0, 4.0]),
            constant=dice.random() < 0.5,
            evict_tokens=dice.choice([0, 100]),
        ),
        world=WorldSpec(
            (PremiseSpec("schema", mean_interval=dice.choice([1.5, 4.0])),),
            windows=dice.choice([(), ((3, 900),), ((2, 2_000), (5, 400)), ((4, 90),)]),
        ),
        instructions=InstructionSpec(
            (Topic("payload", ("schema",), given=dice.random() < 0.5), Topic("style")),
            dice.choice([None, "schema"]),
            validator=dice.random() < 0.3,
            barrier=dice.random() < 0.2,
            accreted=dice.choice([0, 2]),
        ),
        tags=TagSpec(needed=TagQuality(dice.choice([0.5, 1.0]), 0.8)),
        runtime=RuntimeSpec(
            append_only=dice.random() < 0.1,
            restores=dice.random() < 0.4,
            requires_pairs=dice.random() < 0.3,
        ),
    )


class Ends:
    """Keeps the workspace of each agent, to be read when the run is over."""

    def __init__(self) -> None:
        self.works: dict[int, Workspace] = {}

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        self.works[work.agent] = work

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
        self.works[work.agent] = work

    @property
    def tokens(self) -> int:
        """Tokens that stand in the windows of all agents."""
        return sum(work.context.recount() for work in self.works.values())

    @property
    def beside(self) -> bool:
        """Whether rewrites ran beside the turns."""
        return any(work.terms.background is not None for work in self.works.values())


def thrown(seed: int, listed: type, **changes: object) -> tuple[Setting, Run, Ends]:
    """Return a random world, the run of a random policy in it, and how it ended; the seed says it all."""
    dice = random.Random(seed)
    setting = replace(some_setting(dice, listed), **changes)  # type: ignore[arg-type]
    ends = Ends()
    policy = Dice(some_terms(dice), seed, dice.choice([0.3, 1.0]))
    return setting, simulate(setting, policy, seed, watch=ends), ends


def initial_of(setting: Setting) -> int:
    """Return the tokens before the first turn: head, instructions that stand, and what was there."""
    spec = setting.instructions
    standing = sum(topic.given + spec.accreted for topic in spec.topics)
    tokens = setting.head + standing * setting.laws.binding.tokens
    return tokens + sum(span.tokens for span in setting.workload.initial(None))  # type: ignore[arg-type]


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
        - entry.retired_during
        - entry.lost
    )
    if entry.outcome in COMMITTED:
        assert (entry.net <= 0) == (entry.outcome == "committed_without_effect")
        assert entry.stage == "settle"
    else:
        assert (entry.freed, entry.measurement_cost, entry.reinjected, entry.lost) == (0, 0, 0, 0)
        assert entry.reason
    assert {type(value) for value in (entry.net, entry.freed, entry.tokens_before, entry.tokens_after)} == {
        int
    }


def must_follow_turn_by_turn(run: Run, initial: int) -> None:
    tokens = initial
    for row in run.turn_rows:
        entries = [entry for entry in run.rewrite_rows if entry.turn == row.turn]
        tokens += row.arrived_tokens - row.retired - row.out_of_band
        tokens += sum(entry.tombstones + entry.reinjected - entry.net for entry in entries)
        tokens += sum(event.tokens for event in run.event_rows if event.turn == row.turn and own(event))
        assert row.tokens == tokens


def own(event: EventRow) -> bool:
    """Whether an event is the agent bringing tokens into its window itself, between rewrites."""
    return event.kind in {"rederived", "instruction", "stopped", "repeated"}


def must_add_up(run: Run, initial: int, ends: Ends) -> None:
    total, entries = run.summary, run.rewrite_rows
    arrived = sum(row.arrived_tokens for row in run.turn_rows)
    final = initial + arrived + total["rewrite_cost_tokens"] + total["measurement_cost_tokens"]
    final += (total["rederivation_tokens"] or 0) + (total["instruction_tokens"] or 0)
    final += sum(entry.tombstones + entry.reinjected for entry in entries)
    final -= total["tokens_freed"] + total["retired_tokens"] + total["out_of_band_tokens"]
    final -= sum(entry.lost for entry in entries)
    assert final == ends.tokens
    if not ends.beside:
        assert final == sum({row.agent: row.tokens for row in run.turn_rows}.values())
    assert total["tokens_freed"] == sum(entry.freed for entry in entries)
    assert total["rewrite_cost_tokens"] == sum(entry.rewrite_cost for entry in entries)
    assert total["measurement_cost_tokens"] == sum(entry.measurement_cost for entry in entries)
    assert total["net_tokens"] == sum(entry.net for entry in entries)
    assert total["retired_tokens"] == sum(row.retired for row in run.turn_rows)
    assert total["out_of_band_tokens"] == sum(row.out_of_band for row in run.turn_rows)
    assert (total["lost_tokens"] or 0) == sum(entry.lost for entry in entries)
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


seeds = st.integers(0, 2**32)


@pytest.mark.property
@given(seeds)
@settings(max_examples=400)
def test_every_token_is_accounted_for(listed: type, seed: int) -> None:
    setting, run, ends = thrown(seed, listed)
    initial = initial_of(setting)
    for entry in run.rewrite_rows:
        must_hold(entry)
    if not ends.beside:
        must_follow_turn_by_turn(run, initial)
    must_add_up(run, initial, ends)
    must_move_forward(run)


@pytest.mark.property
@given(seeds)
def test_each_agent_of_a_fleet_accounts_for_its_own(listed: type, seed: int) -> None:
    agents = 3
    setting, run, ends = thrown(seed, listed, fleet=FleetSpec(agents, blocks=bool(seed % 2)))
    initial = initial_of(setting)
    for entry in run.rewrite_rows:
        must_hold(entry)
    for one in range(agents):
        part = replace(
            run,
            turn_rows=[row for row in run.turn_rows if row.agent == one],
            rewrite_rows=[row for row in run.rewrite_rows if row.agent == one],
            event_rows=[row for row in run.event_rows if row.agent == one],
        )
        if not ends.beside:
            must_follow_turn_by_turn(part, initial)
        must_move_forward(part)
    must_add_up(run, agents * initial, ends)


@pytest.mark.property
@given(seeds)
def test_a_separate_quota_never_enters_the_window(listed: type, seed: int) -> None:
    _, run, _ = thrown(seed, listed, charged_to="separate")
    assert run.summary["rewrite_cost_tokens"] == run.summary["measurement_cost_tokens"] == 0
    retired = [event.tokens for event in run.event_rows if event.kind == "retired"]  # of instructions
    assert run.summary["retired_tokens"] == sum(retired)
    assert all(entry.net == entry.freed for entry in run.rewrite_rows)


@pytest.mark.unit
def test_the_dice_reach_every_corner(listed: type) -> None:
    runs = [run for _, run, _ in (thrown(seed, listed) for seed in range(600))]
    entries = [entry for run in runs for entry in run.rewrite_rows]
    assert {run.outcome for run in runs} == {"horizon", "complete", "overflow", "dead", "halted"}
    assert {(entry.outcome, entry.stage) for entry in entries} == {
        ("committed", "settle"),
        ("committed_without_effect", "settle"),
        ("refused", "admit"),
        ("refused", "propose"),
        ("refused", "gate"),
        ("infeasible", "admit"),
        ("infeasible", "replace"),
        ("failed", "replace"),
        ("conflicted", "gate"),
    }
    assert any(run.summary["retired_tokens"] for run in runs)
    assert any(entry.out_of_band_during for entry in entries)
    assert any("marks" in entry.reason for entry in entries)
    assert any("append-only" in entry.reason for entry in entries)
    assert any(entry.reinjected for entry in entries)
    assert any(entry.tombstones for entry in entries)
    assert any(entry.dangled for entry in entries)
    assert any(entry.lost for entry in entries)
    assert any(entry.arrivals_during for entry in entries)
    assert any(entry.retired_during for entry in entries)
    assert any(entry.unread_tokens for entry in entries)
    assert any(entry.broken_pairs for entry in entries)
    assert any(entry.rebuild_tokens for entry in entries)
    assert any(entry.requests > 3 for entry in entries)
    assert {entry.trigger for entry in entries} == set(CheckPoint)
    assert {event.kind for run in runs for event in run.event_rows} >= {
        *("violation", "false claim", "dropped reference", "rederived", "halted"),
        *("instruction", "unwritten", "repeated", "stopped", "validated", "retired", "broken", "failure"),
        "rejected",
    }


# --------------------------------------------------------------------------- planted errors


@pytest.fixture
def setting(listed: type, constant: object) -> Setting:
    return Setting("planted", 10_000, listed(constant(5, 100)), head=50)  # type: ignore[operator]


@pytest.fixture
def quiet(scripted: type) -> Policy:
    return scripted(check_by=False)  # type: ignore[no-any-return]


@pytest.mark.unit
def test_the_run_fails_when_tokens_come_in_past_the_ledger(
    monkeypatch: pytest.MonkeyPatch, setting: Setting, quiet: Policy
) -> None:
    def unposted(agent: Agent, spans: tuple[Span, ...]) -> int:
        for span in spans:
            agent.work.context.append(span)
        return 0

    monkeypatch.setattr(Agent, "_arrive", unposted)
    with pytest.raises(RunFailed, match=r"550.* 50") as failure:
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
    intact = rewrite._measurement
    monkeypatch.setattr(
        rewrite,
        "_measurement",
        lambda work, count: intact(work, count) + bool(work.ledger.accounts[Account.FREED]),
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
    monkeypatch.setattr(simulation, "summary_of", None)
    with pytest.raises(TypeError):
        simulate(setting, quiet)
