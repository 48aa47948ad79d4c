"""Measures by hand: runs of a few rows, and values worked out beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from scenarios.measures import MEASURES
from simulator import Run
from simulator.ledger import RewriteEntry
from simulator.recorder import EventRow, ObedienceRow, TurnRow

pytestmark = pytest.mark.unit

WINDOW = 1_000


def attempt(turn: int, **said: Any) -> RewriteEntry:
    """A committed attempt at 900 of 1,000 tokens that frees 100 and costs 40, unless said otherwise."""
    plain: dict[str, Any] = {
        **dict.fromkeys(RewriteEntry._fields, 0),
        "turn": turn,
        "trigger": "before_request",
        "tokens_before": 900,
        "estimated_saving": 100,
        "freed": 100,
        "rewrite_cost": 30,
        "measurement_cost": 10,
        "outcome": "committed",
        "stage": "settle",
        "reason": "",
        "window": WINDOW,
        "selected": 2,
        "selected_tokens": 200,
        "summaries_tokens": 100,
        "decision_quality": 1.0,
        "rewrite_seconds": 2.0,
    }
    row = {**plain, **said}
    row.setdefault("net", 0)
    row["net"] = row["freed"] - row["rewrite_cost"] - row["measurement_cost"]
    row["tokens_after"] = row["tokens_before"] - row["net"]
    row["occupancy_before_pct"] = 100 * row["tokens_before"] / WINDOW
    row["occupancy_after_pct"] = 100 * row["tokens_after"] / WINDOW
    return RewriteEntry(**row)


def refused(turn: int, **said: Any) -> RewriteEntry:
    return attempt(turn, outcome="refused", stage="gate", freed=0, measurement_cost=0, **said)


NOTHING = dict.fromkeys(
    (
        *("constraints_total", "constraints_held", "constraint_violations", "dangling_references"),
        *("rederivation_tokens", "reported_compliance", "actual_compliance", "stale_obedience"),
        *("dangled_at_commit", "agents_overflowed"),
    )
)
"""The summary of a run that exercises nothing, as far as measures read it."""


def run_of(
    attempts: Sequence[RewriteEntry] = (),
    occupancies: Sequence[float] = (),
    outcome: str = "horizon",
    arrived: Sequence[int] | None = None,
    *,
    steps: Sequence[ObedienceRow] = (),
    **summary: object,
) -> Run:
    turns = [
        turn_of(turn, occupancy_pct=occupancy, arrived_tokens=0 if arrived is None else arrived[turn - 1])
        for turn, occupancy in enumerate(occupancies, 1)
    ]
    return Run(outcome, {**NOTHING, **summary}, {}, turns, list(attempts), [], list(steps))


def turn_of(turn: int, **said: Any) -> TurnRow:
    return TurnRow(**{**dict.fromkeys(TurnRow._fields, 0), "turn": turn, **said})


def repaying(attempts: Sequence[RewriteEntry]) -> Run:
    """A run of 10 turns at 0.1 dollars for a token read from the cache, 0.3 for one read at all."""
    cached = {"cache_read_tokens": 750, "cache_read_usd": 75.0}
    return run_of(attempts, [50.0] * 10, agent_input_tokens=1_000, agent_input_usd=300.0, **cached)


UNCACHED = {
    "cache_read_tokens": 0,
    "cache_read_usd": 0.0,
    "agent_input_tokens": 1_000,
    "agent_input_usd": 500.0,
}
"""The summary of a run that reads a token at 0.5 dollars, and none from a cache."""


def fleet_of(agents: int, **summary: object) -> Run:
    rows = [turn_of(turn, agent=agent) for agent in range(agents) for turn in (1, 2)]
    return Run("overflow", {**NOTHING, **summary}, {}, rows, [], [])


def step(**said: Any) -> ObedienceRow:
    """An instruction of the agent's own, quoted and obeyed within its epoch, unless said otherwise."""
    plain = {**dict.fromkeys(ObedienceRow._fields, 0), "topic": "topic", "outside": False, "quoted": True}
    return ObedienceRow(**{**plain, "obeyed": True, **said})


def surer(turn: int, before: float, after: float, **said: Any) -> RewriteEntry:
    return attempt(turn, confidence_before=before, confidence_after=after, **said)


def remembering(held: Sequence[int], violated: int | None = None) -> Run:
    """A run that ends its turns with so many constraints in force, with a violation at one turn."""
    events = [] if violated is None else [EventRow(violated, 0.0, "violation", "constraint 1", 0)]
    rows = [turn_of(turn, constraints_held=number) for turn, number in enumerate(held, 1)]
    return Run("horizon", NOTHING, {}, rows, [], events)


def surer_as_it_shrinks(tokens: Sequence[int], confidences: Sequence[float], first: int = 1) -> Run:
    rows = [
        turn_of(turn, tokens=size, confidence=sure)
        for turn, (size, sure) in enumerate(zip(tokens, confidences, strict=True), 1)
    ]
    return Run("horizon", NOTHING, {}, rows, [attempt(first)], [])


GAIN = attempt(1)  # net +60
LOSS = attempt(2, freed=20)  # net -20, 2 points of the window
HEAVY = attempt(3, freed=0, rewrite_cost=50)  # net -60, 6 points

CASES: list[tuple[str, Run, float | None]] = [
    ("overflowed", run_of(outcome="overflow"), 1.0),
    ("overflowed", run_of(outcome="dead"), 0.0),
    ("mean_rise_pct", run_of([GAIN, LOSS, HEAVY]), 4.0),  # of 2 and 6; the first does not count
    ("mean_rise_pct", run_of([GAIN]), None),
    ("acceleration_pct", run_of([GAIN, LOSS, HEAVY]), 4.0),  # 6 - 2
    ("acceleration_pct", run_of([GAIN, LOSS]), None),
    ("after_commit_pct", run_of([GAIN, refused(2), LOSS]), (84.0 + 92.0) / 2),
    ("after_commit_pct", run_of([refused(1)]), None),
    # gaps are turns 2-3 and 4; the last turn belongs to no gap
    ("maxima_between_commits_pct", run_of([attempt(2), attempt(4), attempt(5)], [99, 80, 91, 90, 99]), 90.5),
    ("maxima_between_commits_pct", run_of([attempt(2)], [99, 80]), None),
    ("share_refused", run_of([GAIN, refused(2), refused(3), LOSS]), 0.5),
    ("share_refused", run_of(), None),
    ("commits_without_gain", run_of([GAIN, LOSS, attempt(4, freed=40), refused(5)]), 2.0),  # 0 is churn
    ("commits_without_gain", run_of(), 0.0),
    ("share_without_gain", run_of([GAIN, LOSS, refused(3)]), 0.5),
    ("share_without_gain", run_of([refused(3)]), None),
    ("share_own_selected", run_of([GAIN, attempt(2, own_selected=3), refused(3, own_selected=1), LOSS]), 0.5),
    ("share_own_selected_later", run_of([attempt(1, own_selected=1), GAIN, attempt(2, own_selected=3)]), 0.5),
    ("share_own_selected_later", run_of([attempt(1, own_selected=1)]), None),
    (
        "smallest_own_share_step",
        run_of([attempt(turn, own_selected_tokens=own) for turn, own in enumerate((0, 50, 70, 150))]),
        0.1,  # shares 0, 0.25, 0.35, 0.75
    ),
    (
        "smallest_own_share_step",
        run_of([attempt(1, selected_tokens=0), attempt(2, own_selected_tokens=20)]),
        0.1,
    ),
    ("smallest_own_share_step", run_of([GAIN]), None),
    ("quality_change", run_of([attempt(1, decision_quality=0.9), attempt(2, decision_quality=0.5)]), -0.4),
    ("quality_change", run_of([GAIN]), None),
    (
        "largest_quality_step",  # from the second on: -0.2 and -0.1
        run_of(
            [attempt(turn, decision_quality=quality) for turn, quality in enumerate((1.0, 1.0, 0.8, 0.7))]
        ),
        -0.1,
    ),
    ("largest_quality_step", run_of([GAIN, LOSS]), None),
    (
        "rationale_growth_tokens",  # what was refused at admit has no rationale
        run_of([attempt(1, rewrite_cost=30), refused(2, rewrite_cost=0), attempt(3, rewrite_cost=75)]),
        45.0,
    ),
    ("rationale_growth_tokens", run_of([GAIN, refused(2, rewrite_cost=0)]), None),
    (
        "smallest_rationale_step_tokens",
        run_of([attempt(turn, rewrite_cost=cost) for turn, cost in enumerate((90, 30, 35, 50))]),
        5.0,
    ),
    ("smallest_rationale_step_tokens", run_of([GAIN, LOSS]), None),
    ("rewrite_seconds", run_of([attempt(1, rewrite_seconds=2.0), refused(2, rewrite_seconds=5.0)]), 3.5),
    ("rewrite_seconds", run_of(), None),
    ("estimate_error_tokens", run_of([attempt(1, freed=90), attempt(2, freed=130), refused(3)]), 30.0),
    ("estimate_error_tokens", run_of([refused(3)]), None),
    (
        "summary_share",
        run_of([attempt(1, summaries_tokens=60), attempt(2, summaries_tokens=80), refused(3)]),
        0.4,
    ),
    ("summary_share", run_of([attempt(1, selected_tokens=0)]), None),
    ("measured_error_tokens", run_of([attempt(1, measured_error=4), attempt(2, measured_error=-9)]), 9.0),
    ("measured_error_tokens", run_of(), None),
    ("net_per_attempt_tokens", run_of([GAIN, LOSS, refused(3)]), (60 - 20 - 30) / 3),
    ("net_per_attempt_tokens", run_of(), None),
    ("net_once_learned_tokens", run_of([GAIN, GAIN, GAIN, LOSS, HEAVY]), -80.0),
    ("net_once_learned_tokens", run_of([GAIN]), 0.0),
    ("net_once_learned_tokens", run_of(), None),
    ("turns_to_overflow", run_of([attempt(3)], [0.0] * 8, "overflow"), 5.0),
    ("turns_to_overflow", run_of([attempt(3)], [0.0] * 8), None),
    ("turns_to_overflow", run_of([], [0.0] * 8, "overflow"), None),
    # turns 2, 4 and 5 of 2 to 5; two attempts in one turn count once
    ("share_of_turns_triggered", run_of([attempt(2), attempt(2), attempt(4), refused(5)], [0.0] * 5), 0.75),
    ("share_of_turns_triggered", run_of([], [0.0] * 5), None),
    ("arrivals_per_turn_tokens", run_of([attempt(3)], [0.0] * 4, arrived=[900, 900, 10, 30]), 20.0),
    ("arrivals_per_turn_tokens", run_of([], [0.0] * 4), None),
    # costs 40, 60 and 50 at 90, 92 and 94 points: slope (-2 x -10 + 0 x 10 + 2 x 0) / 8
    (
        "cost_slope",
        run_of(
            [
                attempt(turn, tokens_before=before, rewrite_cost=cost)
                for turn, before, cost in ((1, 900, 30), (2, 920, 50), (3, 940, 40))
            ]
        ),
        2.5,
    ),
    ("cost_slope", run_of([GAIN, LOSS]), None),  # both at the same occupancy
    ("cost_slope", run_of(), None),
    # a refusal changes nothing, whatever it says of confidence
    ("confidence_rises", run_of([surer(1, 0.5, 0.6), surer(2, 0.6, 0.6), refused(3)]), 0.5),
    ("confidence_rises", run_of([refused(1)]), None),
    ("confidence_change", run_of([surer(1, 0.5, 0.8), surer(2, 0.8, 0.7)]), 0.1),
    ("confidence_change", run_of(), None),
    ("confidence_and_size", surer_as_it_shrinks([900, 30, 20, 10], [0.0, 0.1, 0.2, 0.3], first=2), -1.0),
    ("confidence_and_size", surer_as_it_shrinks([10, 20, 30], [0.25, 0.25, 0.25]), None),  # never moves
    ("confidence_and_size", run_of([], [0.0] * 3), None),
    ("constraints_lost", run_of(constraints_total=5, constraints_held=2), 3.0),
    ("constraints_lost", run_of(), None),
    ("constraints_kept", run_of(constraints_total=5, constraints_held=2), 0.4),
    ("constraints_kept", run_of(), None),
    ("delay_to_violation", remembering([1, 2, 2, 1, 1, 0, 0], violated=7), 3.0),
    ("delay_to_violation", remembering([1, 1, 0]), None),
    ("delay_to_violation", remembering([0, 1, 2], violated=2), None),  # broken, but never lost
    ("scope", run_of([attempt(1, selected_tokens=90), attempt(2, selected_tokens=450), refused(3)]), 0.3),
    ("scope", run_of(), None),
    # 60 gained, 20 and 30 lost, 950 derived again: field record 003's retry and reconstruction
    ("net_after_rederivation_tokens", run_of([GAIN, LOSS, refused(3)], rederivation_tokens=950), -940.0),
    ("net_after_rederivation_tokens", run_of([GAIN]), 60.0),
    ("compression", run_of([attempt(1, tokens_before=3000, freed=1900), refused(2)]), 19 / 30),
    ("compression", run_of(), None),
    ("coherence_cost", run_of([attempt(1, coherence_cost=9.0), refused(2, coherence_cost=7.0)]), 7.0),
    ("coherence_cost", run_of(), None),
    ("fresh_compliance", run_of(steps=[step(), step(obeyed=False), step(changes=1, obeyed=False)]), 0.5),
    ("fresh_compliance", run_of(steps=[step(outside=True), step(changes=1)]), None),
    ("inherited_compliance", run_of(steps=[step(), step(changes=2), step(changes=1, obeyed=False)]), 0.5),
    ("inherited_compliance", run_of(steps=[step()]), None),
    ("inherited_quotes", run_of(steps=[step(quoted=False), step(changes=1, obeyed=False)]), 1.0),
    ("inherited_quotes", run_of(steps=[step()]), None),
    ("derived_compliance", run_of(steps=[step(obeyed=False), step(derivations=1)]), 1.0),
    ("derived_compliance", run_of(steps=[step(derivations=1, changes=1)]), None),
    ("compliance_gap", run_of(reported_compliance=1.0, actual_compliance=0.25), 0.75),
    ("compliance_gap", run_of(), None),
    ("active_instructions", run_of(steps=[step(active=2), step(active=5, outside=True)]), 3.5),
    ("active_instructions", run_of(), None),
    ("sound_turns", remembering([1] * 7, violated=4), 3.0),
    ("sound_turns", run_of([attempt(2), attempt(3, dangled=1)], [50.0] * 5), 2.0),
    ("sound_turns", run_of([], [50.0] * 5, steps=[step(turn=2), step(turn=4, changes=1)]), 3.0),
    ("sound_turns", run_of([], [50.0] * 5, steps=[step(turn=4, changes=1, outside=True)]), 5.0),
    ("sound_turns", run_of(), None),
    ("wrong", run_of(constraint_violations=2, dangling_references=1, stale_obedience=4), 7.0),
    ("wrong", run_of(dangling_references=1), 1.0),
    ("wrong", run_of(), None),
    ("violations_per_100_turns", run_of([], [0.0] * 8, constraint_violations=2), 25.0),
    ("violations_per_100_turns", run_of([], [0.0] * 8), None),
    ("dangled_per_100_turns", run_of([], [0.0] * 4, dangled_at_commit=1), 25.0),
    ("dangled_per_100_turns", run_of(dangled_at_commit=1), None),  # without a turn
    ("stale_per_100_turns", run_of([], [0.0] * 5, stale_obedience=0), 0.0),
    ("stale_per_100_turns", run_of([], [0.0] * 5), None),
    ("gridlock_turn", run_of([attempt(1), refused(2), attempt(4), refused(6), refused(9)]), 6.0),
    ("gridlock_turn", run_of([refused(2), refused(3)]), 2.0),  # never got through at all
    ("gridlock_turn", run_of([refused(2), attempt(3)]), None),
    ("gridlock_turn", run_of(), None),
    ("share_overflowed", fleet_of(4, agents_overflowed=1), 0.25),
    ("share_overflowed", run_of(), None),
    # pooled over a fleet before it is divided: 4 agents of 2 turns, 8 dollars, 0.6 for 0.8 M tokens of input
    ("own_input_tokens", fleet_of(4, agent_input_tokens=800_000), 200_000.0),
    ("own_input_tokens", run_of(), None),
    ("usd_an_agent", fleet_of(4, usd=8.0), 2.0),
    ("usd_an_agent", run_of([], [50.0] * 5, usd=8.0), 8.0),
    ("usd_an_agent", run_of(usd=0.0), None),  # without a turn
    ("usd_a_turn", fleet_of(4, usd=8.0), 1.0),
    ("usd_a_turn", run_of(usd=0.0), None),
    ("usd_per_million_input", fleet_of(4, agent_input_tokens=800_000, agent_input_usd=0.6), 0.75),
    ("usd_per_million_input", fleet_of(4, agent_input_tokens=0, agent_input_usd=0.0), None),
    ("passes_in_requests", run_of([attempt(1), refused(2), attempt(3)], [50.0] * 6), 0.25),
    ("passes_in_requests", run_of(), None),
    ("dead", run_of(outcome="dead"), 1.0),
    ("dead", run_of(outcome="overflow"), 0.0),
    ("stopped", run_of(outcome="overflow"), 1.0),
    ("stopped", run_of(outcome="halted"), 1.0),
    ("stopped", run_of(outcome="complete"), 0.0),
    ("billed_tokens", run_of(input_tokens=1, cache_read_tokens=20, output_tokens=300), 321.0),
    ("billed_tokens", run_of(), None),
    # a refused summary of 4 dollars, one of 2 that frees less than it costs, and a good one of 2
    ("waste_usd", run_of([refused(1, usd=4.0), attempt(2, freed=40, usd=2.0), attempt(3, usd=2.0)]), 6.0),
    ("waste_usd", run_of(), 0.0),
    ("waste_share", run_of([refused(1, usd=4.0), attempt(2, freed=40, usd=2.0), attempt(3, usd=2.0)]), 0.75),
    ("waste_share", run_of([attempt(1)]), None),  # nothing was spent
    # a cache read costs 0.1 dollars, so 60 of net earn 6 a call: the first has 2 calls for its 12.1 dollars,
    # the second 4 for its 24, and the third, which frees nothing on net, earns nothing
    (
        "repaid_share",
        repaying([attempt(1, usd=12.1), attempt(3, usd=24.0), attempt(7, freed=40, usd=1.0)]),
        1 / 3,
    ),
    ("repaid_share", repaying([attempt(9, usd=12.0)]), 1.0),  # turns 9 and 10 are left
    # 60 of net, of which 15 are put back and 5 stand as tombstones: 4 a call, and 2 calls are left
    ("repaid_share", repaying([attempt(9, usd=8.0, reinjected=15, tombstones=5)]), 1.0),
    ("repaid_share", repaying([attempt(9, usd=8.1, reinjected=15, tombstones=5)]), 0.0),
    # nothing was read from a cache: 0.5 dollars a token, 30 a call
    ("repaid_share", run_of([attempt(1, usd=60.0)], [50.0] * 2, **UNCACHED), 1.0),
    ("repaid_share", run_of([attempt(1, usd=60.1)], [50.0] * 2, **UNCACHED), 0.0),
    ("repaid_share", run_of([attempt(1, usd=1.0)], agent_input_tokens=0, agent_input_usd=0.0), None),
    ("repaid_share", run_of([attempt(1, usd=1.0)], cache_read_tokens=9, cache_read_usd=0.0), None),  # free
    ("repaid_share", repaying([]), None),
    (
        "payback_calls",
        repaying([attempt(1, usd=12.0), attempt(3, usd=24.0), attempt(7, freed=40, usd=1.0)]),
        3.0,
    ),
    ("payback_calls", repaying([attempt(1, freed=40, usd=1.0)]), None),
    ("payback_calls", repaying([attempt(1, usd=8.0, reinjected=15, tombstones=5)]), 2.0),
    ("payback_calls", repaying([attempt(1, usd=8.0, reinjected=60)]), None),  # all is put back
    ("payback_calls", run_of([attempt(1, usd=60.0)], **UNCACHED), 2.0),
]


@pytest.mark.parametrize(
    ("name", "run", "value"), CASES, ids=lambda case: case if isinstance(case, str) else ""
)
def test_by_hand(name: str, run: Run, value: float | None) -> None:
    found = MEASURES[name].take(run)
    assert found == (None if value is None else pytest.approx(value))


def test_every_measure_is_worked_out_here_and_explained() -> None:
    assert {name for name, _, _ in CASES} == set(MEASURES)
    assert all(measure.unit and measure.definition for measure in MEASURES.values())


def test_nothing_raises_on_an_empty_run() -> None:
    for measure in MEASURES.values():
        measure.take(run_of())
