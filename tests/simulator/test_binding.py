"""Instructions against closed forms: authority, shadowing, the p^n law, and what moves quotes only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from scipy import stats

from policies import load_policy
from policies.gates import BindingGate
from scenarios import load_scenario
from simulator.contracts import Fingerprint, InstructionTerms, Policy, Step, Terms, Turn, Verdict
from simulator.instructions import InstructionSpec, Topic
from simulator.laws import BindingLaw, EvidenceLaw, Laws
from simulator.plan import Evict, Fold, RewritePlan, Summarise
from simulator.questions import Amendment, Reliance
from simulator.recorder import ObedienceRow
from simulator.setting import Setting
from simulator.simulation import Run, brief_of, simulate
from simulator.spans import Kind, Span
from simulator.view import View
from simulator.world import PremiseSpec, WorldSpec

Make = Callable[..., Policy]
Lived = Callable[..., Run]
FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right
MANY = 300
SEEDS = range(7)
FEW = SEEDS[:4]
PAYLOAD = Topic("payload", ("schema",))
STALE = Verdict(False, "stale")
OUTSIDE = InstructionTerms(fingerprint=Fingerprint.OUTSIDE)


def accepts_fresh(reliance: Reliance) -> Verdict:
    return Verdict(reliance.written == reliance.live, "versions differ")


@pytest.fixture(scope="session")
def lived(listed: type, scripted: Make) -> Lived:
    """Live through turns that come under all topics; premise `schema` changes at the given turns."""

    def made(
        turns: int,
        law: BindingLaw,
        *topics: Topic,
        accreted: int = 0,
        at: Sequence[float] = (),
        seed: int = 1,
        validator: bool = False,
        barrier: bool = False,
        phase: str | None = None,
        evidence: EvidenceLaw | None = None,
        terms: InstructionTerms | None = None,
        **answers: object,
    ) -> Run:
        topics = topics or (PAYLOAD,)
        policy = scripted(
            terms=Terms(deliberates=False, instructions=terms or InstructionTerms()),
            **{"check_by": False, **answers},
        )
        step = Step(topics=tuple(topic.name for topic in topics))
        setting = Setting(
            "binding",
            10**9,
            listed((Turn(step=step),) * turns),
            horizon=turns,
            laws=Laws(binding=law, evidence=evidence or EvidenceLaw()),
            world=WorldSpec((PremiseSpec("schema", tuple(at)), PremiseSpec("tools"))),
            instructions=InstructionSpec(topics, phase, validator, barrier, accreted),
        )
        run = simulate(setting, policy, seed)
        run.summary["policy"] = policy
        return run

    return made


def rows_of(runs: Sequence[Run], turn: int, **said: object) -> list[ObedienceRow]:
    return [
        row
        for run in runs
        for row in run.obedience_rows
        if row.turn == turn and all(getattr(row, name) == value for name, value in said.items())
    ]


def must_be_share(rows: Sequence[ObedienceRow], expected: float, name: str = "obeyed") -> None:
    """Hold the share of rows of which something is true against its probability."""
    assert len(rows) >= 1_000
    low, high = stats.binom.interval(1 - FALSE_ALARM, len(rows), expected)
    assert low <= sum(getattr(row, name) for row in rows) <= high


# --------------------------------------------------------------------------- authority


@pytest.mark.theory
def test_authority_falls_by_a_factor_at_each_change(lived: Lived) -> None:
    law = BindingLaw(kept_at_change=0.6)
    runs = [lived(6, law, accreted=MANY, at=(2, 4, 5), seed=seed) for seed in FEW]
    for turn, changes in ((1, 0), (2, 1), (3, 1), (4, 2), (5, 3), (6, 3)):
        rows = rows_of(runs, turn)
        assert {row.changes for row in rows} == {changes}
        must_be_share(rows, 0.6**changes)
        must_be_share(rows, 1.0, "quoted")  # quoted verbatim all the same


@pytest.mark.theory
def test_authority_decays_with_age_too(lived: Lived) -> None:
    runs = [lived(5, BindingLaw(decay=0.2), accreted=MANY, seed=seed) for seed in FEW]
    for age in (1, 3, 5):
        must_be_share(rows_of(runs, age, age=age), math.exp(-0.2 * age))


AMPLIFIERS: list[tuple[str, dict[str, float], InstructionTerms, float]] = [
    ("none", {}, InstructionTerms(diagnoses=True), 1.0),
    ("urgency", {"urgency": 2.0, "urgent_share": 1.0}, InstructionTerms(diagnoses=True), 2.0),
    ("never urgent", {"urgency": 2.0, "urgent_share": 0.0}, InstructionTerms(diagnoses=True), 1.0),
    ("narrative", {"narrative": 1.5, "narrative_share": 1.0}, InstructionTerms(diagnoses=True), 1.5),
    ("same turn", {"same_turn": 3.0}, InstructionTerms(), 3.0),
    ("a diagnosis first", {"same_turn": 3.0}, InstructionTerms(diagnoses=True), 1.0),
    (
        "all of them",
        {"urgency": 2.0, "urgent_share": 1.0, "narrative": 1.5, "narrative_share": 1.0, "same_turn": 1.2},
        InstructionTerms(),
        3.6,
    ),
]


@pytest.mark.theory
@pytest.mark.parametrize(
    ("name", "said", "terms", "pace"), AMPLIFIERS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_each_amplifier_speeds_the_decay_by_its_factor(
    lived: Lived, name: str, said: dict[str, float], terms: InstructionTerms, pace: float
) -> None:
    law = BindingLaw(kept_at_change=0.7, failure_share=1, **said)
    topics = tuple(Topic(f"topic {one}", ("schema",)) for one in range(150))
    # written in turn 1 or, after a diagnosis, in turn 2; the premise changes after that, twice
    runs = [lived(4, law, *topics, at=(3, 4), terms=terms, seed=seed) for seed in SEEDS]
    for turn, changes in ((3, 1), (4, 2)):
        first = [row for row in rows_of(runs, turn) if row.instruction < len(topics)]
        must_be_share(first, 0.7 ** (pace * changes))


@pytest.mark.theory
def test_an_amplifier_speeds_the_decay_with_age_too(lived: Lived) -> None:
    law = BindingLaw(decay=0.1, same_turn=3, failure_share=1)
    topics = tuple(Topic(f"topic {one}") for one in range(150))
    runs = [lived(4, law, *topics, seed=seed) for seed in SEEDS]
    first = [row for row in rows_of(runs, 4, age=3) if row.instruction < len(topics)]
    must_be_share(first, math.exp(-0.1 * 3 * 3))


@pytest.mark.theory
def test_each_derivation_makes_the_next_change_weigh_less(lived: Lived) -> None:
    gain, shares = 1.0, []
    for derived in range(4):
        # stops at the first changes, of which each is derived anew, then inherits
        runs = [
            lived(
                5,
                BindingLaw(kept_at_change=0.3, rederived_gain=gain),
                accreted=MANY,
                at=(2, 3, 4, 5)[: derived + 1],
                seed=seed,
                terms=InstructionTerms(fingerprint=Fingerprint.OUTSIDE),
                rely_by=lambda one, derived=derived: (
                    accepts_fresh(one) if one.live["schema"] <= derived else Verdict(True, "")
                ),
            )
            for seed in FEW
        ]
        rows = rows_of(runs, 2 + derived)
        assert {(row.derivations, row.changes) for row in rows} == {(derived, 1)}
        must_be_share(rows, 0.3 ** (1 / (1 + gain * derived)))
        shares.append(sum(row.obeyed for row in rows))
    assert all(low < high for low, high in pairwise(shares))


@pytest.mark.unit
def test_what_is_revoked_stays_so_until_it_is_derived_anew(lived: Lived) -> None:
    # 30 instructions inherited over two changes; in turn 7 all are stopped
    def stops_late(reliance: Reliance) -> Verdict:
        return (
            STALE if reliance.live["schema"] == 3 and reliance.written != reliance.live else Verdict(True, "")
        )

    run = lived(
        8,
        BindingLaw(kept_at_change=0.5),
        accreted=30,
        at=(2, 4, 7),
        terms=InstructionTerms(fingerprint=Fingerprint.OUTSIDE),
        rely_by=stops_late,
    )
    by_number: dict[int, list[ObedienceRow]] = {}
    for row in run.obedience_rows:
        by_number.setdefault(row.instruction, []).append(row)
    assert len(by_number) == 30
    for rows in by_number.values():
        revoked = [row.revoked for row in rows]
        assert revoked[:6] == sorted(revoked[:6])  # never back by itself
        assert revoked[6:] == [False, False]
        assert [row.obeyed for row in rows] == [not one for one in revoked]
        assert [row.stopped for row in rows] == [False] * 6 + [True, False]
        assert [row.derivations for row in rows] == [0] * 6 + [1, 1]
    assert 0 < sum(rows[5].revoked for rows in by_number.values()) < 30


@pytest.mark.unit
def test_a_value_that_comes_back_does_not_bring_the_epoch_back(lived: Lived) -> None:
    run = lived(
        6,
        BindingLaw(kept_at_change=0),
        accreted=1,
        at=(3, 5),
        terms=InstructionTerms(fingerprint=Fingerprint.OUTSIDE),
    )
    assert [row.obeyed for row in run.obedience_rows] == [True, True, False, False, False, False]
    assert [row.changes for row in run.obedience_rows] == [0, 0, 1, 1, 2, 2]
    asked = run.summary["policy"].reliances  # type: ignore[attr-defined]
    assert [(one.written, one.live) for one in asked[-2:]] == [({"schema": 0}, {"schema": 2})] * 2
    assert not BindingGate().rely(asked[-1]).accepted


@pytest.mark.unit
def test_what_comes_from_outside_never_decays(lived: Lived) -> None:
    law = BindingLaw(kept_at_change=0, decay=5.0)
    given = Topic("payload", ("schema",), given=True)
    run = lived(9, law, given, at=range(2, 9), terms=InstructionTerms(edits=False), rely_by=STALE)
    assert [row.obeyed for row in run.obedience_rows] == [True] * 9
    assert {(row.outside, row.changes, row.stopped) for row in run.obedience_rows} == {(True, 0, False)}
    assert run.summary["policy"].reliances == []  # type: ignore[attr-defined]


@pytest.mark.unit
def test_only_the_premises_that_it_names_end_its_epoch(lived: Lived) -> None:
    other, none = Topic("other", ("tools",)), Topic("none")
    run = lived(4, BindingLaw(kept_at_change=0), PAYLOAD, other, none, accreted=1, at=(2,))
    last = {row.topic: row.obeyed for row in run.obedience_rows if row.turn == 4}
    assert last == {"payload": False, "other": True, "none": True}


# --------------------------------------------------------------------------- how many at once


@pytest.mark.theory
@pytest.mark.parametrize("monotonic", [False, True])
def test_a_newer_instruction_shadows_the_older_of_its_topic_and_no_other(
    lived: Lived, monotonic: bool
) -> None:
    law, terms = BindingLaw(midpoint=4.5, steepness=1.0), InstructionTerms(monotonic=monotonic)
    runs = [lived(250, law, PAYLOAD, Topic("style"), accreted=2, terms=terms, seed=seed) for seed in range(3)]
    rows = [row for run in runs for row in run.obedience_rows]
    older = [row for row in rows if row.instruction in (0, 2)]
    newest = [row for row in rows if row.instruction in (1, 3)]
    assert {row.active for row in rows} == {4}
    must_be_share(newest, 1.0)
    must_be_share(older, 1.0 if monotonic else 1 - law.shadowed(4))
    # the same four, each alone with its topic: nothing newer, nothing shadowed
    apart = tuple(Topic(f"topic {one}") for one in range(4))
    must_be_share(lived(300, law, *apart, accreted=1).obedience_rows, 1.0)


@pytest.mark.theory
def test_a_newer_one_of_the_agents_own_shadows_what_came_from_outside(lived: Lived) -> None:
    law = BindingLaw(midpoint=2.0)
    run = lived(3_000, law, Topic("payload", given=True), accreted=1)
    outside = [row for row in run.obedience_rows if row.outside]
    must_be_share(outside, 0.5)
    must_be_share([row for row in run.obedience_rows if not row.outside], 1.0)


@pytest.mark.theory
@pytest.mark.parametrize(("obey", "power"), [(0.8, 1.0), (0.9, 0.9)])
def test_obedience_is_what_it_is_times_what_the_others_leave(lived: Lived, obey: float, power: float) -> None:
    run = lived(600, BindingLaw(obey=obey, power=power), accreted=2)
    must_be_share(run.obedience_rows, obey * power**2)


# --------------------------------------------------------------------------- placebos


@pytest.mark.theory
@pytest.mark.parametrize(
    "placebo",
    [InstructionTerms(emphatic=True), InstructionTerms(repeats_every=2)],
    ids=["emphasis", "repeats"],
)
def test_placebos_move_quotes_and_not_obedience(lived: Lived, placebo: InstructionTerms) -> None:
    law = BindingLaw(tokens=7, kept_at_change=0.5, obey=0.9, quote=0.6, salience_gain=0.5)
    plain, raised = (
        [lived(6, law, accreted=MANY, at=(3, 5), terms=terms, seed=seed) for seed in FEW]
        for terms in (InstructionTerms(), placebo)
    )
    for one, other in zip(plain, raised, strict=True):
        assert [row._replace(quoted=False) for row in one.obedience_rows] == [
            row._replace(quoted=False) for row in other.obedience_rows
        ]
    for turn in (1, 2, 4, 6):
        must_be_share(rows_of(plain, turn), 0.6, "quoted")
        # nothing is salient before it has been said again
        must_be_share(rows_of(raised, turn), 0.8 if turn > 1 or placebo.emphatic else 0.6, "quoted")
    said = [(row.turn, row.tokens) for row in raised[0].event_rows if row.kind == "repeated"]
    assert said == ([(turn, 7 * MANY) for turn in (2, 4, 6)] if placebo.repeats_every else [])
    assert raised[0].summary["instruction_tokens"] == sum(tokens for _, tokens in said)


@pytest.mark.unit
def test_a_repetition_moves_what_is_quoted_only_while_it_is_fresh(lived: Lived) -> None:
    # quoted exactly where raised; all is lost in turn 8, when it was to be said again, and written anew
    run = lived(
        13,
        BindingLaw(tokens=7, obey=0, quote=0, salience_gain=1, failure_share=1),
        terms=InstructionTerms(repeats_every=4),
        check_by=lambda gauge: gauge.turn == 8,
        propose_by=lambda view: RewritePlan(tuple(map(Evict, instructions_in(view))), 1),
    )
    said = [row.turn for row in run.event_rows if row.kind == "repeated"]
    assert said == [4, 12]
    quoted = {turn: {row.quoted for row in run.obedience_rows if row.turn == turn} for turn in range(2, 14)}
    early, fresh, none, old = [{False}] * 2, [{True}] * 4, [set()], [{False}] * 3
    assert [*quoted.values()] == [*early, *fresh, *none, *old, {True}, {True}]


# --------------------------------------------------------------------------- where the fingerprint lives


def instructions_in(view: View) -> list[int]:
    return [item.id for item in view.items if item.kind is Kind.INSTRUCTION]


def rewrites_instructions(view: View) -> RewritePlan:
    return RewritePlan(tuple(map(Summarise, instructions_in(view))), 1)


@pytest.mark.theory
@pytest.mark.parametrize("forge_share", [0.0, 0.3, 1.0])
def test_a_rewrite_forges_a_tag_inside_at_its_rate_and_loses_the_rest(
    lived: Lived, forge_share: float
) -> None:
    number = 2_000
    run = lived(
        5,
        BindingLaw(tokens=5, forge_share=forge_share),
        accreted=number,
        at=(2, 4, 5),
        terms=InstructionTerms(fingerprint=Fingerprint.INSIDE),
        check_by=lambda gauge: gauge.turn == 3,
        propose_by=rewrites_instructions,
    )
    asked = run.summary["policy"].reliances  # type: ignore[attr-defined]
    by_turn = [asked[turn * number : (turn + 1) * number] for turn in range(5)]
    for before in by_turn[:2]:
        assert all(one.written == {"schema": 0} for one in before)
    # which of them, and what they show, is settled at the rewrite: the versions of its turn
    low, high = stats.binom.interval(1 - FALSE_ALARM, number, forge_share)
    assert low <= sum(one.written == {"schema": 1} for one in by_turn[2]) <= high
    assert {str(one.written) for one in by_turn[2]} <= {str({"schema": 1}), "None"}
    shown = [[one.written for one in rest] for rest in by_turn[2:]]
    assert shown[0] == shown[1] == shown[2]
    # so a forged one passes for fresh in that epoch, and is stale again in the next
    passing = [sum(BindingGate().rely(one).accepted for one in rest) for rest in by_turn]
    assert passing == [number, 0, sum(one is not None for one in shown[0]), 0, 0]


@pytest.mark.unit
def test_a_second_rewrite_settles_a_forgery_no_other_way(lived: Lived) -> None:
    # the text stands in a summary by then, which is what the second rewrite rewrites
    run = lived(
        5,
        BindingLaw(tokens=5, forge_share=1),
        accreted=3,
        at=(2, 4),
        terms=InstructionTerms(fingerprint=Fingerprint.INSIDE),
        check_by=lambda gauge: gauge.turn in {3, 5},
        propose_by=lambda view: RewritePlan(tuple(Summarise(item.id) for item in view.items), 1),
    )
    asked = run.summary["policy"].reliances  # type: ignore[attr-defined]
    versions = [one.written["schema"] for one in asked]
    assert versions == [0] * 6 + [1] * 9


@pytest.mark.unit
def test_whoever_is_asked_cannot_forge_the_tag_that_it_is_shown(lived: Lived) -> None:
    def forges(reliance: Reliance) -> Verdict:
        shown.append(dict(reliance.written or {}))
        reliance.written["schema"] = reliance.live["schema"]  # type: ignore[index]
        return Verdict(True, "")

    shown: list[dict[str, int]] = []
    lived(4, BindingLaw(), accreted=1, at=(3,), terms=OUTSIDE, rely_by=forges)
    assert shown == [{"schema": 0}] * 4


@pytest.mark.unit
def test_a_tag_inside_holds_as_long_as_its_text_stands(lived: Lived) -> None:
    terms = InstructionTerms(fingerprint=Fingerprint.INSIDE)
    run = lived(3, BindingLaw(tokens=5, forge_share=1), accreted=20, at=(2,), terms=terms)
    assert all(one.written == {"schema": 0} for one in run.summary["policy"].reliances)  # type: ignore[attr-defined]


@pytest.mark.unit
def test_a_tag_outside_cannot_be_forged(lived: Lived) -> None:
    run = lived(
        4,
        BindingLaw(tokens=5, forge_share=1),
        accreted=20,
        at=(3,),
        terms=InstructionTerms(fingerprint=Fingerprint.OUTSIDE),
        check_by=lambda gauge: gauge.turn == 2,
        propose_by=rewrites_instructions,
    )
    asked = run.summary["policy"].reliances  # type: ignore[attr-defined]
    assert len(asked) == 4 * 20
    assert all(one.written == {"schema": 0} for one in asked)


@pytest.mark.unit
def test_without_a_fingerprint_nothing_is_shown_and_nothing_can_be_audited(lived: Lived) -> None:
    run = lived(2, BindingLaw(), accreted=3)
    assert {one.written for one in run.summary["policy"].reliances} == {None}  # type: ignore[attr-defined]
    assert {row.auditable for row in run.obedience_rows} == {False}
    tagged = lived(2, BindingLaw(), accreted=3, terms=InstructionTerms(fingerprint=Fingerprint.OUTSIDE))
    assert {row.auditable for row in tagged.obedience_rows} == {True}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("plan", "retention", "left"),
    [
        (lambda view: RewritePlan(tuple(map(Evict, instructions_in(view))), 1), 1.0, 0),
        (rewrites_instructions, 1.0, 5),
        (lambda view: RewritePlan((Fold(tuple(instructions_in(view))),), 1), 1.0, 5),
        (rewrites_instructions, 0.0, 0),
    ],
    ids=["evicted", "summarised", "folded", "lost"],
)
def test_what_is_no_longer_held_is_no_longer_followed(
    lived: Lived, plan: object, retention: float, left: int
) -> None:
    run = lived(
        3,
        BindingLaw(tokens=5),
        accreted=5,
        terms=InstructionTerms(edits=False),
        evidence=EvidenceLaw(retention),
        check_by=lambda gauge: gauge.turn == 2,
        propose_by=plan,
    )
    assert Counter(row.turn for row in run.obedience_rows) == Counter({1: 5, 2: left, 3: left})


# --------------------------------------------------------------------------- failures write, gates cap


@pytest.mark.theory
def test_a_stale_instruction_is_stopped_derived_anew_and_binds_again(lived: Lived) -> None:
    # field record 004: written at 3, obeyed to 11, the premise changes at 12; tagged, it stops loudly
    law = BindingLaw(tokens=40, rederive_tokens=25, kept_at_change=0, failure_share=1)
    terms = InstructionTerms(fingerprint=Fingerprint.OUTSIDE)
    run = lived(14, law, at=(12,), terms=terms, rely_by=accepts_fresh)
    rows = run.obedience_rows
    assert [(row.turn, row.obeyed) for row in rows] == [(turn, True) for turn in range(2, 15)]
    assert [row.turn for row in rows if row.stopped] == [12]
    assert (rows[-1].derivations, rows[-1].age, run.summary["instructions_stopped"]) == (1, 2, 1)
    assert run.summary["instruction_tokens"] == 40 + (25 + 40)
    assert run.summary["retired_tokens"] == 40  # the old one, with its reason
    assert run.turn_rows[-1].tokens == 65
    assert ("retired", "instruction on payload: stale") in {(row.kind, row.detail) for row in run.event_rows}
    # untagged it is quoted, reported as kept, and broken; and the failure writes another one
    naive = lived(14, law, at=(12,))
    first = [row for row in naive.obedience_rows if row.instruction == 0]
    assert [row.obeyed for row in first] == [True] * 10 + [False] * 3
    assert all(row.quoted for row in first)
    assert naive.summary["instructions_written"] == 2


@pytest.mark.unit
@pytest.mark.parametrize(
    ("consolidates", "tokens", "retired"), [(False, [7, 14, 14, 14, 14], 0), (True, [7, 14, 7, 7, 7], 28)]
)
def test_a_cap_blocks_or_consolidates(
    lived: Lived, consolidates: bool, tokens: list[int], retired: int
) -> None:
    run = lived(
        5,
        BindingLaw(tokens=7, obey=0, failure_share=1),
        terms=InstructionTerms(consolidates=consolidates),
        amend_by=BindingGate(cap=2).amend,
    )
    assert [row.tokens for row in run.turn_rows] == tokens
    assert run.summary["retired_tokens"] == retired
    assert run.summary["instruction_tokens"] == tokens[-1] + retired
    unwritten = [row.turn for row in run.event_rows if row.kind == "unwritten"]
    assert unwritten == ([] if consolidates else [3, 4, 5])
    active = {row.turn: row.active for row in run.obedience_rows}
    assert active == ({2: 1, 3: 2, 4: 1, 5: 1} if consolidates else {2: 1, 3: 2, 4: 2, 5: 2})


@pytest.mark.unit
def test_consolidation_leaves_other_topics_and_what_came_from_outside(lived: Lived) -> None:
    def once_or_in_the_place_of_others(one: Amendment) -> Verdict:
        first = one.topic == "payload" and not written
        written.append(one)
        return Verdict(first or one.topic == "style" or one.replaces > 0, "no")

    written: list[Amendment] = []
    run = lived(
        5,
        BindingLaw(tokens=7, obey=0, failure_share=1),
        Topic("payload", given=True),
        Topic("style"),
        terms=InstructionTerms(consolidates=True),
        amend_by=once_or_in_the_place_of_others,
    )
    at_the_end = Counter((row.topic, row.outside) for row in run.obedience_rows if row.turn == 5)
    assert at_the_end == {("payload", True): 1, ("payload", False): 1, ("style", False): 4}
    assert {one.replaces for one in written if one.topic == "style"} == {0}
    assert [one.replaces for one in written if one.topic == "payload"] == [0, *[0, 1] * 4]


@pytest.mark.unit
@pytest.mark.parametrize("consolidates", [False, True])
@pytest.mark.parametrize("narrative", [0, 1])
@pytest.mark.parametrize("accreted", [0, 3])
def test_what_is_refused_in_every_form_is_not_written(
    lived: Lived, consolidates: bool, narrative: int, accreted: int
) -> None:
    turns = 4
    law = BindingLaw(tokens=7, obey=0, failure_share=1, narrative_share=narrative)
    terms = InstructionTerms(consolidates=consolidates)
    run = lived(turns, law, accreted=accreted, terms=terms, amend_by=Verdict(False, "no"))
    assert {row.tokens for row in run.turn_rows} == {7 * accreted}  # and nothing has gone in its place
    total = run.summary
    assert (total["instruction_tokens"], total["retired_tokens"]) == ((0 if accreted else None), 0)
    assert (total["instructions_written"] or 0, total["instructions_unwritten"] or 0) == (
        0,
        turns if accreted else 0,
    )
    assert Counter(row.kind for row in run.event_rows if row.kind in {"unwritten", "retired"}) == {
        "unwritten": turns
    }
    # asked in order: as worded, as a command, in the place of what stands
    plain = Amendment("payload", ("schema",))
    forms = [plain._replace(narrative=True)] * narrative + [plain]
    if consolidates and accreted:
        forms.append(plain._replace(replaces=accreted))
    assert total["policy"].amendments == forms * turns  # type: ignore[attr-defined]


@pytest.mark.unit
@pytest.mark.parametrize("form", range(3))
def test_the_first_form_that_is_accepted_is_the_one_that_is_written(lived: Lived, form: int) -> None:
    asked: list[Amendment] = []

    def accepts_the_nth(one: Amendment) -> Verdict:
        asked.append(one)
        return Verdict(len(asked) > form, "no")

    law = BindingLaw(tokens=7, obey=0, failure_share=1, narrative_share=1)
    terms = InstructionTerms(consolidates=True)
    run = lived(1, law, accreted=2, terms=terms, amend_by=accepts_the_nth)
    assert len(asked) == form + 1
    replaced = 2 if form == 2 else 0
    assert run.turn_rows[-1].tokens == 7 * (3 - replaced)
    assert run.summary["instructions_written"] == 1
    retired = [row.detail for row in run.event_rows if row.kind == "retired"]
    assert retired == ["instruction on payload: consolidated"] * replaced


@pytest.mark.contract
@pytest.mark.parametrize("seed", range(6))
def test_under_guarded_a_phase_adds_no_more_than_the_cap(seed: int, scripted: Make) -> None:
    gate = load_policy("guarded")
    net: Counter[int] = Counter()
    replaced: list[int] = []
    most: list[int] = []

    def counted(amendment: Amendment) -> Verdict:
        verdict = gate.amend(amendment)
        if verdict.accepted:
            net[amendment.phase] += 1 - amendment.replaces
            replaced.append(amendment.replaces)
            most.append(net[amendment.phase])
        return verdict

    setting = load_scenario("instruction-decay").setting()
    setting = replace(setting, laws=replace(setting.laws, binding=replace(setting.laws.binding, obey=0.3)))
    policy = scripted(terms=gate.terms, check_by=False, amend_by=counted, rely_by=gate.rely)
    gate.begin(brief_of(setting))
    run = simulate(setting, policy, seed)
    given = sum(topic.given for topic in setting.instructions.topics)
    assert max(most) <= 4
    assert any(replaced)
    assert max(row.active for row in run.obedience_rows) <= given + 4 * len(net)
    assert run.summary["instructions_written"] == len(replaced)


@pytest.mark.unit
def test_what_stood_before_the_first_turn_was_not_written_in_this_run(lived: Lived) -> None:
    quiet = lived(3, BindingLaw(tokens=7), accreted=3)
    assert (quiet.summary["instructions_written"], quiet.summary["instruction_tokens"]) == (0, 0)
    failing = lived(3, BindingLaw(tokens=7, obey=0, failure_share=1), accreted=3)
    assert failing.summary["instructions_written"] == 3
    assert failing.turn_rows[-1].tokens == 7 * (3 + 3)


# --------------------------------------------------------------------------- draws of the wording


def worded(lived: Lived, turns: int, *, diagnoses: bool, seed: int = 1) -> dict[str, list[bool]]:
    """Return how each failure on each of two topics would first be worded; nothing is ever written."""
    run = lived(
        turns,
        BindingLaw(narrative_share=0.5, failure_share=1),
        Topic("payload"),
        Topic("style"),
        terms=InstructionTerms(diagnoses=diagnoses),
        amend_by=Verdict(False, "no"),
        seed=seed,
    )
    told: dict[str, list[bool]] = {"payload": [], "style": []}
    asked = iter(run.summary["policy"].amendments)  # type: ignore[attr-defined]
    for amendment in asked:
        told[amendment.topic].append(amendment.narrative)
        if amendment.narrative:
            assert not next(asked).narrative  # asked again as a command
    return told


@pytest.mark.theory
def test_two_topics_that_fail_in_one_turn_are_worded_independently(lived: Lived) -> None:
    told = worded(lived, 2_000, diagnoses=False)
    low, high = stats.binom.interval(1 - FALSE_ALARM, 2_000, 0.5)
    both = list(zip(told["payload"], told["style"], strict=True))
    assert len(both) == 2_000
    for share in (told["payload"], told["style"], [one == other for one, other in both]):
        assert low <= sum(share) <= high


@pytest.mark.property
@pytest.mark.parametrize("seed", range(3))
def test_a_diagnosis_changes_when_it_is_written_and_not_how_it_is_worded(lived: Lived, seed: int) -> None:
    naive, diagnosing = (worded(lived, 60, diagnoses=one, seed=seed) for one in (False, True))
    for topic, told in naive.items():
        assert diagnosing[topic] == told[:-1]  # the last failure is diagnosed when the run is over


@pytest.mark.property
def test_a_diagnosis_does_not_change_what_is_urgent_either(lived: Lived) -> None:
    # who is urgent is revoked at once, and nobody else ever is
    law = BindingLaw(decay=1e-9, urgency=1e12, urgent_share=0.5, failure_share=1)
    topics = tuple(Topic(f"topic {one}") for one in range(40))
    revoked = []
    for diagnoses in (False, True):
        run = lived(4, law, *topics, terms=InstructionTerms(diagnoses=diagnoses))
        rows = [row for row in run.obedience_rows if row.turn == 4 and row.instruction < len(topics)]
        assert len(rows) == len(topics)
        revoked.append({row.topic: row.revoked for row in rows})
    assert revoked[0] == revoked[1]
    assert 5 < sum(revoked[0].values()) < 35


@pytest.mark.unit
def test_a_phase_of_the_task_begins_with_a_new_cap(lived: Lived) -> None:
    run = lived(
        5,
        BindingLaw(tokens=7, obey=0, failure_share=1),
        at=(4,),
        phase="schema",
        amend_by=BindingGate(cap=2).amend,
    )
    assert [row.tokens for row in run.turn_rows] == [7, 14, 14, 21, 28]
    asked = run.summary["policy"].amendments  # type: ignore[attr-defined]
    assert asked == [Amendment("payload", ("schema",), phase) for phase in (0, 0, 0, 1, 1)]


@pytest.mark.unit
def test_a_story_that_is_refused_is_worded_as_a_command(lived: Lived) -> None:
    law = BindingLaw(kept_at_change=0.5, narrative=8, narrative_share=1, failure_share=1)
    run = lived(2, law, amend_by=BindingGate().amend)
    asked = run.summary["policy"].amendments  # type: ignore[attr-defined]
    assert [one.narrative for one in asked] == [True, False]
    assert run.summary["instructions_written"] == 1


@pytest.mark.unit
@pytest.mark.parametrize(("diagnoses", "written"), [(False, [1]), (True, [2])])
def test_a_diagnosis_takes_a_turn(lived: Lived, diagnoses: bool, written: list[int]) -> None:
    run = lived(3, BindingLaw(tokens=7, failure_share=1), terms=InstructionTerms(diagnoses=diagnoses))
    assert [row.turn for row in run.event_rows if row.kind == "instruction"] == written


@pytest.mark.unit
def test_who_does_not_edit_itself_writes_nothing(lived: Lived) -> None:
    law = BindingLaw(tokens=7, failure_share=1)
    run = lived(5, law, terms=InstructionTerms(edits=False))
    assert (run.turn_rows[-1].tokens, run.obedience_rows) == (0, [])
    assert [row.turn for row in run.event_rows if row.kind == "failure"] == [1, 2, 3, 4, 5]


@pytest.mark.theory
def test_an_uninstructed_step_fails_at_its_rate(lived: Lived) -> None:
    turns = 3_000
    run = lived(turns, BindingLaw(failure_share=0.2), terms=InstructionTerms(edits=False))
    failures = sum(row.kind == "failure" for row in run.event_rows)
    low, high = stats.binom.interval(1 - FALSE_ALARM, turns, 0.2)
    assert low <= failures <= high


# --------------------------------------------------------------------------- the validator outside


@pytest.mark.unit
def test_a_validator_derives_anew_without_a_token_of_the_window(lived: Lived) -> None:
    law = BindingLaw(tokens=7, rederive_tokens=50, kept_at_change=0)
    other = Topic("other", ("tools",))
    run = lived(6, law, PAYLOAD, other, accreted=1, at=(2, 4, 5), validator=True)
    assert {row.obeyed for row in run.obedience_rows} == {True}
    assert [row.derivations for row in run.obedience_rows if row.topic == "payload"] == [0, 1, 1, 2, 3, 3]
    assert [row.derivations for row in run.obedience_rows if row.topic == "other"] == [0] * 6
    assert {row.tokens for row in run.turn_rows} == {14}
    assert run.summary["instruction_tokens"] == run.summary["instructions_stopped"] == 0
    validated = [(row.turn, row.detail) for row in run.event_rows if row.kind == "validated"]
    assert validated == [(turn, "payload") for turn in (2, 4, 5)]


@pytest.mark.unit
def test_an_instruction_given_from_outside_needs_no_validator(lived: Lived) -> None:
    run = lived(3, BindingLaw(), Topic("payload", ("schema",), given=True), at=(2,), validator=True)
    assert not [row for row in run.event_rows if row.kind == "validated"]


# --------------------------------------------------------------------------- the barrier


@pytest.mark.unit
def test_behind_a_barrier_what_the_agent_wants_to_write_comes_from_outside(lived: Lived) -> None:
    law = BindingLaw(tokens=7, obey=0, kept_at_change=0, failure_share=1, rederive_tokens=50)
    for diagnoses in (False, True):
        run = lived(
            5,
            law,
            at=(3,),
            barrier=True,
            terms=InstructionTerms(fingerprint=Fingerprint.NONE, diagnoses=diagnoses),
            amend_by=Verdict(False, "nobody asks"),
            rely_by=STALE,
        )
        policy, written = run.summary["policy"], 4 if diagnoses else 5
        assert policy.amendments == policy.reliances == []  # type: ignore[attr-defined]
        assert {(row.outside, row.changes, row.stopped, row.auditable) for row in run.obedience_rows} == {
            (True, 0, False, True)
        }
        assert [row.tokens for row in run.event_rows if row.kind == "instruction"] == [7] * written
        assert run.summary["instruction_tokens"] == run.turn_rows[-1].tokens == 7 * written
        # what the agent has not written is not counted as written
        assert run.summary["instructions_written"] == run.summary["stale_obedience"] == 0
    assert not any(row.kind in {"stopped", "unwritten", "retired"} for row in run.event_rows)


@pytest.mark.unit
def test_what_is_received_behind_a_barrier_is_somebody_elses_and_as_old_as_it_is(
    lived: Lived,
) -> None:
    run = lived(
        4,
        BindingLaw(tokens=7, obey=0, failure_share=1),
        barrier=True,
        check_by=lambda gauge: gauge.turn == 4,
    )
    (view,) = run.summary["policy"].views  # type: ignore[attr-defined]
    assert {(item.kind, str(item.provenance)) for item in view.items} == {(Kind.INSTRUCTION, "user")}
    assert [row.age for row in run.obedience_rows if row.turn == 4] == [3, 2, 1]


@pytest.mark.theory
def test_two_that_are_received_on_one_topic_are_obeyed_independently(lived: Lived) -> None:
    # written after the first turn in which nothing binds, and in every turn in which none is obeyed
    turns, both = 1_500, []
    run = lived(turns, BindingLaw(obey=0.5, quote=0.5, failure_share=1), barrier=True, seed=5)
    for turn in range(turns):
        rows = [row for row in run.obedience_rows if row.turn == turn]
        both += [(rows[0].obeyed == rows[1].obeyed, rows[0].quoted == rows[1].quoted)] if rows[1:] else []
    low, high = stats.binom.interval(1 - FALSE_ALARM, len(both), 0.5)
    assert len(both) > 1_000
    for share in zip(*both, strict=True):
        assert low <= sum(share) <= high


# --------------------------------------------------------------------------- one span a rule


@pytest.mark.unit
def test_instructions_stand_before_what_was_there_and_weigh_their_tokens(
    listed: type, scripted: Make
) -> None:
    policy = scripted(check_by=True)
    setting = Setting(
        "standing",
        10**6,
        listed((Turn(),), (Span(1, Kind.USER, 100),)),
        head=50,
        laws=Laws(binding=BindingLaw(tokens=7)),
        instructions=InstructionSpec((Topic("payload", given=True), Topic("style")), accreted=2),
    )
    simulate(setting, policy)
    shown = [(item.kind, item.tokens, item.provenance) for item in policy.views[0].items]
    own = (Kind.INSTRUCTION, 7, "self")
    assert shown == [
        (Kind.HEAD, 50, "runtime"),
        (Kind.INSTRUCTION, 7, "user"),
        *[own] * 4,
        (Kind.USER, 100, "tool"),
    ]
