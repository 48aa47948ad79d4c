"""The red flag of field record 002: smaller, surer, and no ledger that says what went."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.gates import EvidenceGate
from simulator.contracts import CheckPoint, Placement, Policy, Terms, TombstoneTerms, Turn, Verdict
from simulator.errors import RunFailed
from simulator.plan import Evict, Operation, RewritePlan
from simulator.questions import Vitals
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.supervisor import SupervisorSpec

Make = Callable[..., Policy]
DOUBTFUL, CLEAN, HALF = (
    Span(1, Kind.TOOL_RESULT, 100, doubt=60),
    Span(2, Kind.TOOL_RESULT, 100),
    Span(3, Kind.TOOL_RESULT, 100, doubt=30),
)
MORE = Span(4, Kind.TOOL_RESULT, 150)


@pytest.fixture
def lived(listed: type, scripted: Make) -> Callable[..., Run]:
    """Live through four turns; in the second, spans are evicted and others come."""

    def made(
        evicted: tuple[int, ...], arrivals: tuple[Span, ...] = (), *, ledger: bool = False, flag: bool = True
    ) -> Run:
        operations: tuple[Operation, ...] = tuple(map(Evict, evicted))
        record = TombstoneTerms(Placement.OUTSIDE) if ledger else None
        policy = scripted(
            terms=Terms(deliberates=False, red_flag=flag, tombstones=record),
            check_by=lambda gauge: gauge.turn == 2,
            propose_by=RewritePlan(operations, 1, evicted if ledger else ()),
            resume_by=EvidenceGate().resume,
        )
        turns = (Turn(), Turn(arrivals), Turn((Span(9, Kind.USER, 10),)), Turn())
        run = simulate(Setting("flag", 10**6, listed(turns, (DOUBTFUL, CLEAN, HALF))), policy)
        run.summary["vitals"] = policy.vitals
        return run

    return made


@pytest.mark.theory
@pytest.mark.parametrize(
    ("evicted", "arrivals", "ledger", "halts"),
    [
        ((1,), (), False, True),  # 0.7 sure of 300 tokens, then 0.85 of 200
        ((1,), (), True, False),  # the same, and the ledger can be consulted
        ((2,), (), False, False),  # smaller, and less sure
        ((3,), (), False, False),  # smaller, and as sure as before
        ((1,), (MORE,), False, False),  # surer, and larger
        ((1,), (MORE._replace(tokens=100),), False, False),  # surer, and as large as before
        ((), (), False, False),
    ],
)
def test_an_agent_halts_iff_it_is_smaller_and_surer_without_a_ledger(
    lived: Callable, evicted: tuple[int, ...], arrivals: tuple[Span, ...], ledger: bool, halts: bool
) -> None:
    run = lived(evicted, arrivals, ledger=ledger)
    assert run.outcome == ("halted" if halts else "complete")
    halted = [(row.turn, row.tokens) for row in run.event_rows if row.kind == "halted"]
    assert halted == ([(3, 0)] if halts else [])
    assert run.summary["turns"] == (3 if halts else 4)
    assert run.summary["observable"] is True


@pytest.mark.unit
def test_the_event_tells_the_reason_and_nothing_of_the_turn_comes(lived: Callable) -> None:
    run = lived((1,))
    (halted,) = (row for row in run.event_rows if row.kind == "halted")
    assert halted.detail.startswith("tokens fell from 300 to 200, confidence rose from 0.700 to 0.850")
    assert (run.turn_rows[-1].arrived_tokens, run.turn_rows[-1].tokens) == (0, 200)
    assert run.turn_rows[-1].time_s == run.turn_rows[-2].time_s


@pytest.mark.unit
def test_each_turn_is_held_beside_the_one_before(lived: Callable) -> None:
    vitals = lived((1,), ledger=True).summary["vitals"]
    assert vitals == [
        Vitals(300, 300, 0.7, 0.7, 0),
        Vitals(200, 300, 0.85, 0.7, 1),
        Vitals(210, 200, pytest.approx(180 / 210), 0.85, 1),
    ]  # nothing is asked at the start of the first turn


@pytest.mark.unit
def test_who_does_not_declare_it_is_never_asked(lived: Callable) -> None:
    run = lived((1,), flag=False)
    assert (run.outcome, run.summary["vitals"]) == ("complete", [])


@pytest.mark.unit
def test_a_supervisor_that_evicts_can_raise_it_too(listed: type, scripted: Make) -> None:
    policy = scripted(
        terms=Terms(frozenset({CheckPoint.TURN_END}), deliberates=False, red_flag=True),
        admit_by=Verdict(False, "no"),
        learn_by=True,
        resume_by=EvidenceGate().resume,
    )
    workload = listed((Turn(),) * 3, (DOUBTFUL, CLEAN))
    run = simulate(Setting("taken", 10**6, workload, supervisor=SupervisorSpec(evict_tokens=1)), policy)
    assert run.outcome == "halted"
    assert run.summary["out_of_band_tokens"] == 100


@pytest.mark.unit
def test_an_answer_that_is_no_verdict_is_the_policys_fault(listed: type, scripted: Make) -> None:
    policy = scripted(terms=Terms(red_flag=True), check_by=False, resume_by=False)
    with pytest.raises(RunFailed, match="returned bool") as failure:
        simulate(Setting("no verdict", 10**6, listed((Turn(),) * 2)), policy)
    assert failure.value.stage == "resume"
