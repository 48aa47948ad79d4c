"""The summary: what a world does not exercise is None, and each thing it does brings its own keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from simulator.contracts import (
    BackgroundTerms,
    Fingerprint,
    InstructionTerms,
    Placement,
    Policy,
    Step,
    Terms,
    TombstoneTerms,
    Turn,
    Verdict,
)
from simulator.instructions import InstructionSpec, Topic
from simulator.laws import BindingLaw, CoherenceLaw, Laws, QualityLaw
from simulator.plan import Evict, Mask, RewritePlan, Summarise
from simulator.provider import ProviderSpec
from simulator.setting import RuntimeSpec, Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.supervisor import SupervisorSpec
from simulator.world import PremiseSpec, WorldSpec

Make = Callable[..., Policy]
PLAIN = Span(1, Kind.TOOL_RESULT, 100)
CONSTRAINTS = {"constraints_held", "constraints_total", "constraint_violations", "false_claims"}
REFERENCES = {"dangled_at_commit", "dangling_references", "dropped_references", "rederivation_tokens"}
WRITING = {"instruction_tokens", "instructions_written", "instructions_unwritten", "instructions_stopped"}
FOLLOWING = {"reported_compliance", "actual_compliance", "auditable_compliance", "stale_obedience"}
REWRITING = {"first_trigger_turn", "occupancy_q05_pct", "occupancy_q95_pct"}
SUPERVISING = {"supervisor_wait_seconds", "supervisor_busy_seconds"}
TOMBSTONES = {"tombstones", "tombstone_tokens"}
JUDGING = {"false_accepts", "false_rejects"}
OPTIONAL = {
    *(CONSTRAINTS | REFERENCES | WRITING | FOLLOWING | REWRITING | SUPERVISING | TOMBSTONES | JUDGING),
    *("confidence", "decision_quality", "quota_tokens", "broken_pairs", "lost_tokens"),
    *("unread_tokens", "rebuild_tokens"),
}
TOPICS = InstructionSpec((Topic("payload"),))
UNCACHED = ProviderSpec(cache_seconds=0)
BINDING = Laws(binding=BindingLaw(tokens=7))


@pytest.fixture
def lived(listed: type, scripted: Make) -> Callable[..., Run]:
    def made(
        *turns: Turn, before: tuple[Span, ...] = (PLAIN,), terms: Terms | None = None, **said: object
    ) -> Run:
        answers = {name: said.pop(name) for name in list(said) if name.endswith("_by")}
        policy = scripted(terms=terms or Terms(deliberates=False), **{"check_by": False, **answers})
        setting = Setting("summary", 10**6, listed(turns or (Turn(),), before), provider=UNCACHED)
        return simulate(replace(setting, **said), policy)  # type: ignore[arg-type]

    return made


def exercised(run: Run) -> set[str]:
    """Return the keys that are told, of those that need not be; all others always are."""
    assert set(run.summary) >= OPTIONAL
    assert all(run.summary[name] is not None for name in set(run.summary) - OPTIONAL)
    return {name for name in OPTIONAL if run.summary[name] is not None}


@pytest.mark.contract
def test_a_plain_world_exercises_nothing(lived: Callable) -> None:
    assert exercised(lived()) == set()
    busy = lived(
        Turn((Span(2, Kind.USER, 10, needed=True, subgoal=1, rederive=9),), (Span(3, Kind.ASSISTANT, 9),)),
        Turn(step=Step(), closes=(1,)),
    )
    assert exercised(busy) == set()


@pytest.mark.contract
@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ({"before": (Span(1, Kind.USER, 9, constraint=True, binds=(1,)),)}, CONSTRAINTS),
        ({"before": (Span(1, Kind.USER, 9, constraint=True),)}, set()),  # a tag is no truth
        ({"before": (PLAIN, Span(2, Kind.ASSISTANT, 9, cites=(1,)))}, REFERENCES),
        ({"before": (PLAIN._replace(doubt=1),)}, {"confidence"}),
        ({"laws": Laws(quality=QualityLaw(record_factor=0.5))}, {"decision_quality"}),
        ({"charged_to": "separate"}, {"quota_tokens"}),
        ({"terms": Terms(tombstones=TombstoneTerms(Placement.OUTSIDE))}, TOMBSTONES),
        ({"runtime": RuntimeSpec(requires_pairs=True)}, {"broken_pairs"}),
        ({"terms": Terms(deliberates=False, background=BackgroundTerms())}, {"lost_tokens"}),
        ({"provider": ProviderSpec()}, {"rebuild_tokens"}),
        ({"check_by": True}, REWRITING),
        ({"check_by": True, "propose_by": RewritePlan((Mask(1, 9),))}, REWRITING),  # no model is asked
        ({"check_by": True, "propose_by": RewritePlan((Summarise(1),))}, REWRITING | {"unread_tokens"}),
        ({"check_by": True, "judge_by": Verdict(True, "enough")}, REWRITING | JUDGING),
        ({"check_by": True, "judge_by": Verdict(False, "too little")}, REWRITING | JUDGING),
        ({"check_by": True, "admit_by": Verdict(False, "not now")}, REWRITING),  # no gate was reached
        ({"check_by": True, "learn_by": True}, REWRITING | SUPERVISING),
        (
            {"check_by": True, "learn_by": True, "supervisor": SupervisorSpec(0)},
            REWRITING | {"supervisor_busy_seconds"},
        ),
        # topics that no step comes under, and instructions that nobody follows
        ({"instructions": replace(TOPICS, accreted=3), "laws": BINDING}, set()),
    ],
)
def test_each_thing_brings_its_own_keys(lived: Callable, said: dict, keys: set[str]) -> None:
    assert exercised(lived(**said)) == keys


@pytest.mark.contract
@pytest.mark.parametrize(("plan", "frees"), [(RewritePlan(), False), (RewritePlan((Evict(1),), 9), True)])
@pytest.mark.parametrize("accepts", [True, False])
def test_a_verdict_is_false_where_it_lets_nothing_pass_or_keeps_something_out(
    lived: Callable, plan: RewritePlan, frees: bool, accepts: bool
) -> None:
    run = lived(check_by=True, propose_by=plan, judge_by=Verdict(accepts, "so it is"))
    assert run.summary["false_accepts"] == (accepts and not frees)
    assert run.summary["false_rejects"] == (frees and not accepts)


@pytest.mark.contract
def test_a_constraint_that_was_lost_is_told_with_a_nought(lived: Callable) -> None:
    run = lived(
        before=(Span(1, Kind.USER, 9, constraint=True, binds=(1,)),),
        check_by=True,
        propose_by=RewritePlan((Evict(1),), 9),
    )
    assert {name: run.summary[name] for name in CONSTRAINTS} == {
        "constraints_held": 0,
        "constraints_total": 1,
        "constraint_violations": 0,
        "false_claims": 0,
    }


@pytest.mark.contract
def test_a_step_that_recovers_something_nobody_cites_exercises_references(lived: Callable) -> None:
    for drop_share, found in ((0, (40, 0)), (1, (0, 1))):
        run = lived(
            Turn(step=Step(touches=(1,))),
            before=(PLAIN._replace(rederive=40),),
            laws=Laws(coherence=CoherenceLaw(drop_share=drop_share)),
            check_by=True,
            propose_by=RewritePlan((Evict(1),), 9),
        )
        assert exercised(run) == REFERENCES | REWRITING
        assert (run.summary["rederivation_tokens"], run.summary["dropped_references"]) == found


@pytest.mark.contract
def test_an_instruction_that_was_written_last_is_not_yet_followed(lived: Callable) -> None:
    follows = Turn(step=Step(topics=("payload",)))
    laws = Laws(binding=BindingLaw(tokens=7, failure_share=1))
    run = lived(follows, instructions=TOPICS, laws=laws)
    assert exercised(run) == WRITING
    assert (run.summary["instruction_tokens"], run.summary["instructions_written"]) == (7, 1)
    assert exercised(lived(follows, follows, instructions=TOPICS, laws=laws)) == WRITING | FOLLOWING
    # of none that could be written, there is nothing to tell
    nothing = lived(follows, instructions=TOPICS, laws=laws, amend_by=Verdict(False, "no"))
    assert exercised(nothing) == set()


@pytest.mark.unit
def test_compliance_is_reported_acted_and_audited(lived: Callable) -> None:
    # one instruction from outside and one of the agent's own; its premise changes in turn 3 of 4
    follows = Turn(step=Step(topics=("payload",)))

    def summary_of(fingerprint: Fingerprint) -> dict[str, object]:
        run = lived(
            *(follows,) * 4,
            terms=Terms(deliberates=False, instructions=InstructionTerms(fingerprint=fingerprint)),
            laws=Laws(binding=BindingLaw(kept_at_change=0)),
            world=WorldSpec((PremiseSpec("schema", (3,)),)),
            instructions=InstructionSpec((Topic("payload", ("schema",), given=True),), accreted=1),
        )
        return run.summary

    untagged, tagged = summary_of(Fingerprint.NONE), summary_of(Fingerprint.OUTSIDE)
    assert untagged["reported_compliance"] == tagged["reported_compliance"] == 1.0
    assert untagged["actual_compliance"] == tagged["actual_compliance"] == 6 / 8
    assert untagged["auditable_compliance"] == 4 / 8  # the agent's own cannot be checked from outside
    assert tagged["auditable_compliance"] == 6 / 8
    assert untagged["stale_obedience"] == tagged["stale_obedience"] == 2


@pytest.mark.unit
def test_stale_is_what_is_quoted_past_its_epoch_obeyed_or_not(lived: Callable) -> None:
    follows = Turn(step=Step(topics=("payload",)))
    for law, stale in ((BindingLaw(), 2), (BindingLaw(kept_at_change=0), 2), (BindingLaw(quote=0), 0)):
        run = lived(
            *(follows,) * 4,
            laws=Laws(binding=law),
            world=WorldSpec((PremiseSpec("schema", (3,)),)),
            instructions=InstructionSpec((Topic("payload", ("schema",)),), accreted=1),
        )
        assert run.summary["stale_obedience"] == stale


# --------------------------------------------------------------------------- what can be seen from inside

GOVERNED = Turn(step=Step(governed=(1,)))
BOUND = (Span(1, Kind.USER, 90, constraint=True, binds=(1,)),)
LOSES_1 = {"check_by": lambda gauge: gauge.turn == 1, "propose_by": RewritePlan((Evict(1),), 9)}
FOLLOWS = Turn(step=Step(topics=("payload",)))
STALE_AT_2 = {
    "world": WorldSpec((PremiseSpec("schema", (2,)),)),
    "instructions": InstructionSpec((Topic("payload", ("schema",)),), accreted=1),
}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("turns", "said", "observable"),
    [
        ((), {}, True),
        ((GOVERNED,), {"before": BOUND}, True),
        ((GOVERNED,), {"before": BOUND, **LOSES_1}, False),  # a constraint broken unseen
        ((Turn(step=Step(claims=((1, 2),))),), {}, False),  # a claim whose correction is gone
        ((Turn(), Turn((), (Span(3, Kind.ASSISTANT, 9, cites=(1,)),))), LOSES_1, False),  # a broken reference
        ((FOLLOWS, FOLLOWS), STALE_AT_2, False),  # relied on past its epoch
        ((FOLLOWS,), STALE_AT_2, True),
        # the end is seen, whatever went wrong before it
        ((GOVERNED, Turn((Span(9, Kind.TOOL_RESULT, 2 * 10**6),))), {"before": BOUND, **LOSES_1}, True),
        ((GOVERNED, Turn()), {"before": BOUND, **LOSES_1, "head": 600_000, "window": 500_000}, True),
        (
            (GOVERNED, Turn()),
            {
                "before": BOUND,
                **LOSES_1,
                "terms": Terms(deliberates=False, red_flag=True),
                "resume_by": Verdict(False, "no"),
            },
            True,
        ),
    ],
)
def test_a_run_is_observable_where_its_end_was_seen_or_nothing_went_wrong_in_silence(
    lived: Callable, turns: tuple[Turn, ...], said: dict[str, object], observable: bool
) -> None:
    assert lived(*turns, **said).summary["observable"] is observable


@pytest.mark.unit
@pytest.mark.parametrize("drop_share", [0, 1])
def test_a_reference_that_is_dropped_in_silence_is_not_observable(lived: Callable, drop_share: float) -> None:
    run = lived(
        Turn(step=Step(touches=(1,))),
        before=(PLAIN._replace(rederive=40),),
        laws=Laws(coherence=CoherenceLaw(drop_share=drop_share)),
        **LOSES_1,
    )
    assert run.summary["dangling_references"] == 0
    assert run.summary["observable"] is not bool(drop_share)
