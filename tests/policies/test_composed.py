"""`ComposedPolicy`: how the parts are asked, and that switching parts off gives the policy without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from policies import ComposedPolicy, load_policy
from policies.loader import read_policy, resolved
from policies.small_worlds import FULL, STRESS
from scenarios import load_scenario
from simulator.contracts import ACCEPTED, Brief, Gate, Lesson, Policy, Proposal, Terms, Verdict
from simulator.errors import RunFailed
from simulator.plan import Evict, Fold, RewritePlan, Summarise
from simulator.questions import Amendment, Reliance, Vitals
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind
from simulator.view import Gauge, Item, View

BRIEF = Brief(
    1_000, rationale_estimate=70, full_measurement_share=0.05, delta_measurement_tokens=12, summary_floor=10
)


def composed(
    name: str, overrides: Mapping[str, object] | None = None, brief: Brief = BRIEF
) -> ComposedPolicy:
    policy = load_policy(name, overrides)
    assert isinstance(policy, ComposedPolicy)
    policy.begin(brief)
    return policy


def lesson(outcome: str, tokens: int, stage: str = "settle") -> Lesson:
    return Lesson(outcome=outcome, stage=stage, items=0, summarised=0, summaries=0, tokens=tokens)


# --------------------------------------------------------------------------- parts in their order


@pytest.mark.unit
def test_the_limit_counts_spans_and_not_units(item: Callable[..., Item], view: Callable[..., View]) -> None:
    pairs = [item(place, 200 - place, pair=place // 2) for place in range(6)]
    single = item(6, 5)
    plan = composed("naive", {"selector.limit": 3}).propose(view([*pairs, single]))
    assert plan.operations == (Fold((0, 1)), Summarise(6))
    assert len(list(plan.sources())) == 3


@pytest.mark.unit
def test_without_a_limit_all_that_may_go_does(item: Callable[..., Item], view: Callable[..., View]) -> None:
    plan = composed("naive", {"selector.limit": 9}).propose(view(item(place) for place in range(9)))
    assert sorted(plan.sources()) == list(range(9))


@pytest.mark.unit
def test_dead_spans_go_first_and_summaries_make_up_the_rest(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [
            item(0, 50, Kind.HEAD),
            item(1, 40, dead=True, subgoal=1),
            item(2, 40, dead=True, subgoal=1),
            item(3, 400),
            item(4, 300),
        ],
        tokens=1_000,
    )
    # to 880 with 70 and 12 to pay: 202; 80 are dead, a summary of 400 is believed to save 280
    plan = composed("guarded").propose(shown)
    assert [type(operation) for operation in plan.operations] == [Evict, Evict, Summarise]
    assert list(plan.sources()) == [1, 2, 3]
    assert plan.believed_saving == 80 + 280
    # to 1,000 with 82 to pay: 40 dead are short by 42, two are short by 2
    relaxed = composed("guarded", {"trigger.low_watermark": 1.0}).propose(shown)
    assert list(relaxed.sources()) == [1, 2, 3]
    rich = composed("guarded", {"trigger.low_watermark": 1.0}, BRIEF._replace(rationale_estimate=28))
    assert list(rich.propose(shown).sources()) == [1]


@pytest.mark.unit
def test_charged_costs_are_part_of_the_need_and_uncharged_ones_are_not(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(place, 100) for place in range(10)])
    charged = composed("hysteresis-only", {"charging.rationale": True, "charging.measurement": True})
    # 120 to the watermark, 70 for the rationale, 50 for the count: four summaries that save 70 each, not two
    assert len(list(composed("hysteresis-only").propose(shown).sources())) == 2
    assert len(list(charged.propose(shown).sources())) == 4


@pytest.mark.unit
def test_the_bound_holds_what_the_policy_will_charge_itself(gauge: Callable[..., Gauge]) -> None:
    guarded = composed("guarded")
    shown = gauge(950, dead_tokens=82, results=0)
    refused = guarded.admit(shown)
    assert not refused.accepted
    assert refused.figures == {"freeable": 82, "rewrite_cost": 70, "measurement_cost": 12, "net": 0}
    assert guarded.admit(shown._replace(dead_tokens=83)).accepted
    assert composed("guarded", {"deliberation.cap": 30}).admit(shown).figures["rewrite_cost"] == 30
    full = composed("guarded-full-measurement").admit(shown)
    assert full.figures["measurement_cost"] == round(0.05 * 950)


@pytest.mark.unit
@pytest.mark.parametrize(("kind", "freeable"), [("summary", 700), ("mask", 1_000), ("evict", 1_000)])
def test_what_is_not_summarised_leaves_no_share_of_itself(
    kind: str, freeable: int, gauge: Callable[..., Gauge]
) -> None:
    policy = composed(
        "guarded", {"replacement.kind": kind, "replacement.ratio": 0.3, "trigger.low_watermark": 0.0}
    )
    verdict = policy.admit(gauge(5_000, results=1_000))
    assert verdict.figures["freeable"] == freeable


@pytest.mark.unit
def test_an_eviction_is_admitted_where_a_summary_would_not_pay(gauge: Callable[..., Gauge]) -> None:
    # 82 to pay: of 100 tokens a summary is believed to free 70, an eviction all of them
    policy = composed("guarded", {"replacement.kind": "evict", "trigger.low_watermark": 0.8})
    assert policy.admit(gauge(950, results=100)).accepted
    assert not composed("guarded").admit(gauge(950, results=100)).accepted


@pytest.mark.unit
def test_without_gates_whatever_comes_is_accepted(gauge: Callable[..., Gauge]) -> None:
    naive = composed("naive")
    assert naive.admit(gauge(999)).accepted
    assert naive.judge(Proposal(-400, 380, 90, unattributed=9, touched_own_substrate=True)).accepted


@pytest.mark.unit
def test_the_first_gate_that_refuses_has_the_word() -> None:
    both = composed("gate-only", {"gates.order": ["size_cap", "conservation"]})
    assert both.judge(Proposal(400, 380, 90, believed_freed=0)).reason.startswith("not smaller")
    assert both.judge(Proposal(400, 380, 90, believed_freed=400)).reason.startswith("budget not conserved")
    assert both.judge(Proposal(471, 380, 90, believed_freed=471)).accepted


@pytest.mark.unit
def test_regrowth_is_counted_from_the_last_attempt_even_if_it_was_refused(
    gauge: Callable[..., Gauge],
) -> None:
    policy = composed("hysteresis-only")  # trigger 0.905, regrow 0.03
    assert policy.check(gauge(905))
    policy.learn(lesson("refused", 905))
    assert not policy.check(gauge(934))
    assert policy.check(gauge(935))


@pytest.mark.unit
def test_recovery_is_judged_by_the_window_that_holds_now(gauge: Callable[..., Gauge]) -> None:
    policy = composed("guarded")  # trigger 0.91, two strikes, reset by recovery
    policy.check(gauge(950, window=500))  # a model switch
    assert not policy.learn(lesson("refused", 950, "gate"))
    assert not policy.learn(lesson("committed", 600))  # below 910, far above 455
    assert policy.learn(lesson("refused", 600, "gate"))
    policy.check(gauge(600, window=500))
    assert not policy.learn(lesson("refused", 600, "gate"))
    assert not policy.learn(lesson("committed", 454))
    assert not policy.learn(lesson("refused", 454, "gate"))


@pytest.mark.unit
def test_begin_forgets_level_strikes_and_hopes(gauge: Callable[..., Gauge]) -> None:
    policy = composed("guarded", {"trigger.regrow": 0.05})
    shown = gauge(950, results=500)
    hope = policy.admit(shown)
    policy.learn(lesson("refused", 950)._replace(items=9, summarised=500, summaries=500))
    assert policy.admit(shown) != hope
    assert not policy.check(shown)
    policy.begin(BRIEF)
    assert policy.admit(shown) == hope
    assert policy.check(shown)
    assert not policy.learn(lesson("refused", 950))


@pytest.mark.unit
def test_a_policy_without_a_trigger_never_fires(gauge: Callable[..., Gauge]) -> None:
    assert not composed("never-rewrite").check(gauge(10**9))


# --------------------------------------------------------------------------- gates among each other


class Scripted(Gate):
    """A gate that says what it is told to, and keeps what it was shown."""

    def __init__(self, *verdicts: Verdict, spared: tuple[int, ...] = ()) -> None:
        self.verdicts, self.spared = verdicts, spared
        self.weighed: list[tuple[View, RewritePlan, int]] = []
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1

    def spares(self, view: View) -> tuple[int, ...]:
        return self.spared

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        self.weighed.append((view, plan, target))
        return ACCEPTED

    def judge(self, proposal: Proposal) -> Verdict:
        return self.verdicts[0]


def gated(
    *gates: Gate, name: str = "guarded", overrides: Mapping[str, object] | None = None
) -> ComposedPolicy:
    below = composed(name, overrides)
    policy = ComposedPolicy(name, below.terms, replace(below.parts, gates=gates))
    policy.begin(BRIEF)
    return policy


YES, NO = Verdict(True, "yes", {"one": 1}), Verdict(False, "no", {"two": 2})


@pytest.mark.unit
def test_gates_are_begun_with_the_run() -> None:
    gate = Scripted(YES)
    policy = gated(gate)
    before = gate.begun
    policy.begin(BRIEF)
    assert gate.begun == before + 1


@pytest.mark.unit
def test_what_any_gate_spares_stays_and_the_next_best_goes(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [item(1, 80, dead=True, subgoal=1), item(2, 80, dead=True, subgoal=1), item(3, 400), item(4, 300)],
        tokens=900,
    )
    # to 880 with 82 to pay: 102
    assert list(gated(Scripted(YES)).propose(shown).sources()) == [1, 2]
    assert list(gated(Scripted(YES, spared=(1,)), Scripted(YES, spared=(3,))).propose(shown).sources()) == [
        2,
        4,
    ]


@pytest.mark.unit
def test_gates_weigh_the_plan_against_the_low_watermark_or_what_fits(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 950)], output_reserve=40)
    for name, target in (("guarded", 880), ("naive", 960)):
        gate = Scripted(YES)
        plan = gated(gate, name=name).propose(shown)
        assert gate.weighed == [(shown, plan, target)]


@pytest.mark.unit
@pytest.mark.parametrize(("name", "recorded"), [("guarded", (1, 2)), ("conservation-only", ())])
def test_a_policy_with_tombstones_leaves_one_of_each_span_that_it_evicts(
    name: str, recorded: tuple[int, ...], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [item(1, 50, dead=True, subgoal=1), item(2, 50, dead=True, subgoal=1), item(3, 400)], tokens=950
    )
    plan = composed(name).propose(shown)
    assert [type(operation) for operation in plan.operations] == [Evict, Evict, Summarise]
    assert plan.tombstones == recorded


@pytest.mark.unit
@pytest.mark.parametrize(
    ("placement", "saving", "going"),
    [("outside", 150, [1, 2, 3]), ("inside-free", 150, [1, 2, 3]), ("inside-charged", 152, [1, 2, 3, 4])],
)
def test_a_charged_tombstone_lowers_the_believed_saving(
    placement: str, saving: int, going: list[int], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view((item(n, 50, dead=True, subgoal=n) for n in range(1, 9)), tokens=948)
    # to 880 with 82 to pay: 150, of which each eviction brings 50, or 38
    plan = composed("guarded", {"tombstones.placement": placement}).propose(shown)
    assert list(plan.sources()) == going
    assert plan.believed_saving == saving


@pytest.mark.unit
def test_a_replacement_by_eviction_pays_for_its_tombstones_too(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    said = {"replacement.kind": "evict", "tombstones.placement": "inside-charged"}
    plan = composed("guarded", said).propose(view([item(1, 100), item(2, 12), item(3, 30)], tokens=1_000))
    assert list(plan.sources()) == [1, 3]
    assert plan.believed_saving == 88 + 18
    assert plan.tombstones == (1, 3)


@pytest.mark.unit
@pytest.mark.parametrize(("placeholder", "recorded", "saving"), [(0, (1, 3), 88 + 18), (5, (), 95 + 25 + 7)])
def test_a_placeholder_of_nothing_leaves_a_tombstone_and_pays_for_it(
    placeholder: int,
    recorded: tuple[int, ...],
    saving: int,
    item: Callable[..., Item],
    view: Callable[..., View],
) -> None:
    said = {
        "replacement.kind": "mask",
        "replacement.placeholder": placeholder,
        "tombstones.placement": "inside-charged",
    }
    plan = composed("guarded", said).propose(view([item(1, 100), item(2, 12), item(3, 30)], tokens=1_000))
    assert plan.tombstones == recorded
    assert plan.believed_saving == saving


@pytest.mark.unit
@pytest.mark.parametrize("accepted", [True, False])
def test_a_call_for_the_supervisor_is_made_once_when_the_attempt_has_settled(accepted: bool) -> None:
    policy = gated(Scripted(Verdict(accepted, "short", escalate=True)))
    assert policy.judge(Proposal(1, 0, 0)).accepted is accepted
    assert policy.learn(lesson("committed" if accepted else "refused", 900))
    assert not policy.learn(lesson("refused", 900))


@pytest.mark.unit
def test_a_call_clears_the_strikes() -> None:
    policy = gated(Scripted(NO._replace(escalate=True)))  # two strikes call
    assert not policy.learn(lesson("refused", 950))
    policy.judge(Proposal(1, 0, 0))
    assert policy.learn(lesson("refused", 950))
    assert not policy.learn(lesson("refused", 950))
    assert policy.learn(lesson("refused", 950))


@pytest.mark.unit
@pytest.mark.parametrize(("last", "escalate"), [(YES, True), (NO, True)])
def test_an_earlier_call_outlives_the_word_of_a_later_gate(last: Verdict, escalate: bool) -> None:
    call = Verdict(True, "short", {"best": 5}, escalate=True)
    verdict = gated(Scripted(call), Scripted(last)).judge(Proposal(1, 0, 0))
    assert verdict.accepted is last.accepted
    assert verdict.escalate is escalate
    assert verdict.reason == f"short; {last.reason}"
    assert verdict.figures == {"best": 5, **last.figures}
    assert verdict.refusal is last.refusal


@pytest.mark.unit
def test_the_first_call_and_the_first_refusal_are_told_and_nothing_after_it() -> None:
    calls = [Verdict(True, reason, {reason: 1}, escalate=True) for reason in ("short", "long", "late")]
    refusal = NO._replace(reason="no room", figures={"room": 0})
    verdict = gated(*map(Scripted, [YES, *calls[:2], refusal, calls[2]])).judge(Proposal(1, 0, 0))
    assert (verdict.accepted, verdict.escalate) == (False, True)
    assert verdict.reason == "short; no room"
    assert verdict.figures == {"short": 1, "room": 0}
    # without a call there is nothing to add to a refusal
    assert gated(Scripted(YES), Scripted(refusal)).judge(Proposal(1, 0, 0)) == refusal


@pytest.mark.unit
def test_without_gates_all_that_is_asked_between_rewrites_is_accepted() -> None:
    naive = composed("naive")
    assert naive.resume(Vitals(900, 1_000, 0.9, 0.8, None)).accepted
    assert naive.amend(Amendment("payload", narrative=True)).accepted
    assert naive.rely(Reliance("payload", None, {"schema": 1})).accepted


@pytest.mark.unit
def test_pinned_constraints_and_instructions_stay_though_their_kinds_may_go(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [
            item(1, 300, Kind.USER, constraint=True, states=(1,)),
            item(2, 300, Kind.INSTRUCTION),
            item(3, 90, Kind.USER),
            item(4, 300, Kind.USER, constraint=None, states=(4,)),
        ],
        tokens=1_200,
    )
    assert list(composed("guarded").propose(shown).sources()) == [3]
    assert set(composed("ungated").propose(shown).sources()) == {1, 2}


# --------------------------------------------------------------------------- degenerate equalities

WORLDS = {setting.name: setting for setting in (*STRESS, FULL)} | {
    name: load_scenario(name).setting() for name in ("rewrite-budget-spiral", "rewrite-budget-exact")
}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Setting:
    """One small world, or one of the catalogue."""
    return WORLDS[request.param]


def rows(world: Setting, policy: Policy) -> tuple[object, ...]:
    run: Run = simulate(world, policy, 7)
    return run.outcome, run.turn_rows, run.rewrite_rows, run.event_rows, run.summary


def flat(data: Mapping[str, object], path: str = "") -> dict[str, object]:
    """Return the values of a file by dotted path."""
    values: dict[str, object] = {}
    for key, value in data.items():
        values |= flat(value, f"{path}{key}.") if isinstance(value, Mapping) else {path + key: value}
    return values


@pytest.mark.unit
def test_all_gates_off_with_naives_parts_is_naive_bit_for_bit(world: Setting, tmp_path: Path) -> None:
    file = tmp_path / "gateless.toml"
    file.write_text('base = "naive"\n[gates]\norder = []\n')
    assert rows(world, load_policy(str(file))) == rows(world, load_policy("naive"))


@pytest.mark.unit
def test_gate_only_with_its_gate_off_and_naives_charges_is_naive(world: Setting) -> None:
    off = {
        "gates.order": [],
        "charging.rationale": False,
        "charging.measurement": False,
        "marks.immutable_this_turn": False,
        "marks.never_summarised": False,
    }
    assert rows(world, load_policy("gate-only", off)) == rows(world, load_policy("naive"))


@pytest.mark.unit
def test_guarded_with_all_that_it_says_switched_to_naives_values_is_naive(world: Setting) -> None:
    naive = flat(resolved("naive"))
    said = flat(read_policy("guarded").data).keys() | flat(read_policy("naive").data).keys()
    switched = {path: naive[path] for path in said - {"summary", "source"}}
    policy = load_policy("guarded", switched)
    assert policy.terms == load_policy("naive").terms
    assert rows(world, policy) == rows(world, load_policy("naive"))


FOUR = ("evidence", "coherence", "binding", "conservation")
"""The gates of the four field records."""


@pytest.mark.unit
def test_where_nothing_is_stated_cited_dearly_or_instructed_four_gates_do_what_one_does(
    world: Setting,
) -> None:
    """Tombstones outside are counted, and touch nothing else."""
    four, one = (simulate(world, load_policy(name), 7) for name in ("guarded", "conservation-only"))
    assert four.outcome == one.outcome
    assert four.turn_rows == one.turn_rows
    assert four.rewrite_rows == one.rewrite_rows
    assert four.event_rows == one.event_rows
    differing = {key for key in four.summary if four.summary[key] != one.summary[key]}
    assert differing <= {"tombstones", "tombstone_tokens"}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("off", "same"),
    [
        (FOUR, "ungated"),
        (FOUR[:1], "guarded-without-evidence"),
        (FOUR[1:2], "guarded-without-coherence"),
        (FOUR[2:3], "guarded-without-binding"),
        (FOUR[:3], "conservation-only"),
        (FOUR[1:], "evidence-only"),
        ((FOUR[0], *FOUR[2:]), "coherence-only"),
        ((*FOUR[:2], FOUR[3]), "binding-only"),
        (FOUR[3:], "guarded-without-gate"),
    ],
)
def test_a_gate_switched_off_is_a_gate_left_out(off: tuple[str, ...], same: str) -> None:
    switched = load_policy("guarded", {f"gates.{gate}.enabled": False for gate in off})
    left_out = load_policy(same)
    consolidates = left_out.terms.instructions.consolidates
    writing = replace(switched.terms.instructions, consolidates=consolidates)  # idle without the binding gate
    assert replace(switched.terms, instructions=writing) == left_out.terms
    for world in (STRESS[1], FULL):
        assert rows(world, switched) == rows(world, left_out)


@pytest.mark.unit
def test_the_catalogue_policies_do_differ_where_they_are_meant_to(world: Setting) -> None:
    assert rows(world, load_policy("guarded")) != rows(world, load_policy("naive"))


@pytest.mark.unit
def test_the_same_inputs_give_the_same_rows(world: Setting) -> None:
    policy = load_policy("guarded")
    assert rows(world, policy) == rows(world, policy) == rows(world, load_policy("guarded"))


# --------------------------------------------------------------------------- refused before it is paid for

NO = Verdict(False, "too little")


class Weighing(Scripted):
    """A gate that judges the plan, and keeps what it was told of the run."""

    def __init__(self, weighs: Verdict) -> None:
        super().__init__(YES)
        self.weighs = weighs
        self.told: list[object] = []

    def brief(self, brief: Brief, terms: Terms) -> None:
        self.told.append((brief, terms))

    def learn(self, lesson: Lesson) -> None:
        self.told.append(lesson)

    def weigh(self, view: View, plan: RewritePlan, target: int) -> Verdict:
        super().weigh(view, plan, target)
        return self.weighs


@pytest.mark.unit
def test_the_first_gate_that_refuses_a_plan_says_why_and_no_later_one_is_asked(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    before, refuses, after = Weighing(YES), Weighing(NO), Weighing(YES)
    plan = gated(before, refuses, after, name="naive").propose(view([item(1, 950)]))
    assert plan.refusal == "too little"
    assert plan.operations
    assert (len(before.weighed), len(refuses.weighed), len(after.weighed)) == (1, 1, 0)


@pytest.mark.unit
def test_what_a_gate_refuses_before_it_is_paid_for_costs_no_request() -> None:
    gate = Weighing(NO)
    policy = gated(gate, name="truncate-oldest", overrides={"replacement.kind": "summary"})
    run = simulate(STRESS[0], policy, seed=3)
    refused = [entry for entry in run.rewrite_rows if entry.outcome == "refused"]
    assert refused
    assert {(entry.stage, entry.reason, entry.requests) for entry in refused} == {
        ("propose", "too little", 0)
    }
    assert {entry.outcome for entry in run.rewrite_rows} == {"refused"}


@pytest.mark.unit
def test_gates_hear_of_the_run_and_of_how_each_attempt_ended() -> None:
    gate = Weighing(YES)
    policy = gated(gate, name="naive")
    told = lesson("committed", 900)
    policy.learn(told)
    assert gate.told[-2:] == [(BRIEF, policy.terms), told]


@pytest.mark.unit
@pytest.mark.parametrize(("name", "refusal"), [("truncate-oldest", "nothing to rewrite"), ("naive", "")])
def test_a_plan_of_nothing_is_refused_unless_a_planner_has_written_for_it(
    name: str, refusal: str, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    plan = composed(name).propose(view([item(1, 950, Kind.HEAD)]))
    assert plan.operations == ()
    assert plan.refusal == refusal


@pytest.mark.unit
def test_all_that_was_selected_becomes_one_summary_in_context_order(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    sizes = (10, 500, 300, 40)
    shown = view([item(place, tokens) for place, tokens in enumerate(sizes)])
    policy = composed("naive", {"replacement.group": "all", "replacement.ratio_per_pass": 0.0})
    plan = policy.propose(shown)
    assert plan.operations == (Fold((0, 1, 2, 3)),)
    assert plan.believed_saving == 850 - round(0.3 * 850)
    aims = composed("naive", {"replacement.group": "all", "trigger.low_watermark": 0.4})
    # 450 to free: the longest saves 350, the next one 210
    assert aims.propose(shown).operations == (Fold((1, 2)),)


@pytest.mark.unit
def test_an_attempt_stops_once_it_has_enough(item: Callable[..., Item], view: Callable[..., View]) -> None:
    said = {"replacement.kind": "mask", "replacement.placeholder": 0, "selector.order": "oldest"}
    shown = view([item(place, 100) for place in range(6)])
    for enough, masks in ((1, 1), (100, 1), (101, 2), (250, 3)):
        plan = composed("naive", {**said, "selector.enough_tokens": enough}).propose(shown)
        assert len(plan.operations) == masks


@pytest.mark.unit
def test_a_trigger_that_latches_fires_for_good_once_it_has_fired(gauge: Callable[..., Gauge]) -> None:
    sizes = (800, 950, 100, 10)
    for latches, fired in ((False, [False, True, False, False]), (True, [False, True, True, True])):
        policy = composed("naive", {"trigger.latches": latches})
        assert [policy.check(gauge(tokens)) for tokens in sizes] == fired
        policy.begin(BRIEF)
        assert not policy.check(gauge(800))


@pytest.mark.unit
def test_the_first_rewrite_waits_longer_than_the_next(gauge: Callable[..., Gauge]) -> None:
    policy = composed("summarize-every-n")
    assert [policy.check(gauge(requests_since_rewrite=turns)) for turns in (21, 30, 31)] == [
        False,
        False,
        True,
    ]
    policy.learn(lesson("refused", 1))
    assert not policy.check(gauge(requests_since_rewrite=30))
    policy.learn(lesson("committed", 1))
    assert [policy.check(gauge(requests_since_rewrite=turns)) for turns in (20, 21)] == [False, True]


@pytest.mark.unit
def test_a_guard_that_halts_is_asked_at_turn_start_and_refuses_to_go_on(gauge: Callable[..., Gauge]) -> None:
    policy = composed("naive", {"guard.halt_after": 2})
    assert policy.terms.red_flag
    calm = Vitals(900, 900, 0.5, 0.5, None)
    for _ in range(2):
        assert policy.resume(calm).accepted
        assert policy.check(gauge(950))
        policy.learn(lesson("failed", 950))
    assert "2 strikes" in policy.resume(calm).reason
    policy.begin(BRIEF)
    assert policy.resume(calm).accepted


@pytest.mark.unit
def test_requests_go_whole_where_that_is_asked_for(
    item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view(
        [
            item(1, 50, Kind.TOOL_CALL, pair=1),
            item(2, 400, pair=1),
            item(3, 50, Kind.TOOL_CALL, pair=3),
            item(4, 400, pair=3),
        ],
        tokens=900,
    )
    torn = composed("truncate-oldest", {"trigger.low_watermark": 0.4})
    assert list(torn.propose(shown).sources()) == [1, 2, 3]
    whole = composed("truncate-oldest", {"trigger.low_watermark": 0.4, "selector.pairs": "whole"})
    assert list(whole.propose(shown).sources()) == [1, 2, 3, 4]
    enough = composed("truncate-oldest", {"trigger.low_watermark": 0.5, "selector.pairs": "whole"})
    assert list(enough.propose(shown).sources()) == [1, 2]


@pytest.mark.unit
def test_a_gate_that_says_no_verdict_is_named() -> None:
    """As one of the older kind, whose `weigh` returned nothing."""

    class Old(Gate):
        name = "old"

        def weigh(self, view: View, plan: RewritePlan, target: int) -> None:  # type: ignore[override]
            return None

    made = load_policy("naive")
    assert isinstance(made, ComposedPolicy)
    policy = ComposedPolicy("with old", made.terms, replace(made.parts, gates=(Old(),)))
    with pytest.raises(RunFailed, match="gate 'old' returned NoneType from weigh, expected a Verdict"):
        simulate(load_scenario("rewrite-budget-exact").setting(), policy)
