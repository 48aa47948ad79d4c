"""What the steps of a random world stand on: every share at its rate, every draw in its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import islice, pairwise
from typing import Any

import pytest

from scenarios.workloads.synthetic import SyntheticWorkload
from simulator.contracts import Step, Turn
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams

SLACK = 4.0
"""Standard errors between a share or a mean and its closed form: a false alarm in some 16,000 tests."""

DRAWN = 10_000

RICH: dict[str, Any] = {
    "results_per_turn": 2,
    "reply_low": 5,
    "reply_high": 50,
    "subgoal_low": 4,
    "subgoal_high": 9,
    "cited_share": 0.2,
    "constraint_share": 0.3,
    "constraint_sigma": 0.5,
    "constraint_doubt": 0.1,
    "governed_share": 0.4,
    "doubt_share": 0.3,
    "doubt_part": 0.5,
    "lean_share": 0.4,
    "touched_share": 0.6,
    "rederive": 950,
    "topics": ("schema", "tools"),
    "topic_share": 0.3,
}


def turns_of(number: int, seed: int = 1, **said: Any) -> list[Turn]:
    return list(islice(SyntheticWorkload(**said).turns(Streams(seed, "test")), number))


def steps_of(turns: list[Turn]) -> list[Step]:
    return [turn.step or Step() for turn in turns]


def results_of(turns: list[Turn]) -> list[Span]:
    return [span for turn in turns for span in turn.arrivals if span.kind is Kind.TOOL_RESULT]


def constraints_of(turns: list[Turn]) -> list[Span]:
    return [span for turn in turns for span in turn.arrivals if span.kind is Kind.USER]


def assert_share(flags: Iterable[bool], share: float) -> None:
    """The count lies in the binomial interval of the share; at 0 and 1 that is one number."""
    seen = [*flags]
    assert abs(sum(seen) - share * len(seen)) <= SLACK * math.sqrt(len(seen) * share * (1 - share))


def assert_mean(values: list[float], expected: float, bias: float = 0.0) -> None:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    assert abs(mean - expected) <= SLACK * spread / math.sqrt(len(values)) + bias


# ------------------------------------------------------------------------------------ constraints


@pytest.mark.theory
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_constraints_open_their_share_of_turns(share: float) -> None:
    turns = turns_of(DRAWN, constraint_share=share, constraint_mean=60, constraint_sigma=0.4, rederive=950)
    assert_share((turn.user_turn for turn in turns), share)
    stated = constraints_of(turns)
    assert_mean([float(span.tokens) for span in stated], 60, 0.05)
    for number, turn in enumerate(turns, 1):
        assert turn.user_turn == (turn.arrivals[0].kind is Kind.USER)
        assert sum(span.kind is Kind.USER for span in turn.arrivals) == turn.user_turn
        assert {span.born for span in turn.arrivals} == {number}
    assert all(span.constraint is True and span.binds == (span.id,) for span in stated)
    assert {(span.provenance, span.subgoal, span.rederive) for span in stated} == {
        (Provenance.USER, None, 950)
    }


@pytest.mark.unit
def test_constraints_end_with_their_last_turn() -> None:
    turns = turns_of(30, constraint_share=1.0, constraint_turns=7)
    assert [turn.user_turn for turn in turns] == [True] * 7 + [False] * 23


@pytest.mark.unit
def test_the_doubtful_part_of_a_constraint() -> None:
    turns = turns_of(20, constraint_share=1.0, constraint_mean=50, constraint_doubt=0.1)
    assert {(span.tokens, span.doubt) for span in constraints_of(turns)} == {(50, 5)}


@pytest.mark.theory
def test_steps_are_governed_at_their_share_by_what_was_stated_before() -> None:
    turns = turns_of(DRAWN, constraint_share=0.05, governed_share=0.3)
    first = next(number for number, turn in enumerate(turns) if turn.user_turn)
    governed = [step.governed for step in steps_of(turns)]
    assert not any(governed[: first + 1])
    assert_share((bool(ids) for ids in governed[first + 1 :]), 0.3)
    born = {span.id: span.born for span in constraints_of(turns)}
    assert all(born[ids[0]] < number for number, ids in enumerate(governed, 1) if ids)
    assert all(len(ids) <= 1 for ids in governed)


@pytest.mark.theory
def test_what_governs_is_drawn_evenly() -> None:
    turns = turns_of(DRAWN, constraint_share=1.0, constraint_turns=4, governed_share=0.5)
    stated = [span.id for span in constraints_of(turns)]
    picked = [step.governed[0] for step in steps_of(turns)[4:] if step.governed]
    assert set(picked) == set(stated)
    for identity in stated:
        assert_share((one == identity for one in picked), 0.25)


# ------------------------------------------------------------------------------------ caveats, references


@pytest.mark.theory
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_caveats_stand_in_their_share_of_results(share: float) -> None:
    turns = turns_of(DRAWN, result_mean=200, result_sigma=0.0, doubt_share=share, doubt_part=0.15)
    doubts = [span.doubt for span in results_of(turns)]
    assert set(doubts) <= {0, 30}
    assert_share((doubt == 30 for doubt in doubts), share)


@pytest.mark.theory
@pytest.mark.parametrize("share", [0.25, 1.0])
def test_replies_lean_on_their_share_of_results(share: float) -> None:
    turns = turns_of(DRAWN // 2, results_per_turn=2, reply_low=5, reply_high=5, lean_share=share)
    for turn in turns:
        assert set(turn.reply[0].cites) <= {span.id for span in turn.arrivals}
    assert_share((span.id in turn.reply[0].cites for turn in turns for span in turn.arrivals), share)
    assert all(span.cites == () for span in results_of(turns))


@pytest.mark.theory
def test_without_replies_the_next_result_leans() -> None:
    turns = turns_of(DRAWN // 2, results_per_turn=2, lean_share=0.25)
    leant = []
    for turn, after in pairwise(turns):
        first, second = after.arrivals
        assert second.cites == ()
        assert set(first.cites) <= {span.id for span in turn.arrivals}
        leant += [span.id in first.cites for span in turn.arrivals]
    assert_share(leant, 0.25)


@pytest.mark.theory
def test_touches_come_at_their_share_and_lag() -> None:
    turns = turns_of(DRAWN, reply_low=5, reply_high=5, lean_share=0.5, touched_share=0.4, touch_lag=6.0)
    leant = {identity for turn in turns[:-200] for span in turn.reply for identity in span.cites}
    born = {span.id: span.born for span in results_of(turns)}
    lags = {
        identity: number - born[identity]
        for number, step in enumerate(steps_of(turns), 1)
        for identity in step.touches
        if identity in leant
    }
    assert_share((identity in lags for identity in leant), 0.4)
    # one turn, and the whole part of an exponential of mean m: geometric, of mean 1 / (e^(1/m) - 1)
    assert min(lags.values()) == 1
    assert_mean([float(lag) for lag in lags.values()], 1 + 1 / (math.exp(1 / 6.0) - 1), 0.05)
    assert sum(len(step.touches) for step in steps_of(turns)) == len(
        {identity for step in steps_of(turns) for identity in step.touches}
    )


@pytest.mark.theory
def test_no_touch_comes_after_the_subgoal() -> None:
    """At lag 0 the touch is one turn on: lost for the last of the five turns of each subgoal, one in five."""
    turns = turns_of(
        DRAWN,
        reply_low=5,
        reply_high=5,
        subgoal_low=5,
        subgoal_high=5,
        lean_share=1.0,
        touched_share=0.5,
        touch_lag=0.0,
    )
    subgoal = {span.id: span.subgoal for span in results_of(turns)}
    for turn in turns:
        for identity in turn.step.touches if turn.step else ():
            assert subgoal[identity] == turn.arrivals[0].subgoal
    touched = {identity for step in steps_of(turns) for identity in step.touches}
    last = [span.id for span in results_of(turns) if span.born % 5 == 0]
    others = [span.id for span in results_of(turns) if span.born % 5]
    assert touched.isdisjoint(last)
    assert_share((identity in touched for identity in others), 0.5)


@pytest.mark.theory
def test_topics_come_at_their_share_and_evenly() -> None:
    turns = turns_of(DRAWN, topics=("schema", "tools"), topic_share=0.3)
    topics = [step.topics for step in steps_of(turns)]
    assert_share((bool(names) for names in topics), 0.3)
    assert_share((names == ("schema",) for names in topics if names), 0.5)


@pytest.mark.theory
def test_caveats_and_references_fall_where_they_may() -> None:
    """Draws of two purposes are independent: both at once come at the product of their shares."""
    said = {"doubt_share": 0.3, "doubt_part": 1.0, "lean_share": 0.4, "cited_share": 0.5}
    turns = turns_of(DRAWN, reply_low=5, reply_high=5, subgoal_low=99, subgoal_high=99, **said)
    seen = [
        (span.doubt > 0, span.id in turn.reply[0].cites, span) for turn in turns for span in turn.arrivals
    ]
    assert_share((doubt and leant for doubt, leant, _ in seen), 0.3 * 0.4)
    assert_share((doubt and span.needed for doubt, _, span in seen), 0.3 * 0.5)
    assert_share((leant and span.needed for _, leant, span in seen), 0.4 * 0.5)


# ------------------------------------------------------------------------------------ what moves what


@pytest.mark.unit
def test_with_all_shares_at_zero_the_world_is_as_without_them() -> None:
    plain = {key: RICH[key] for key in ("results_per_turn", "reply_low", "reply_high", "cited_share")}
    idle = {
        "constraint_mean": 900,
        "constraint_sigma": 2,
        "constraint_doubt": 1,
        "constraint_turns": 3,
        "governed_share": 1,
        "doubt_part": 1,
        "touched_share": 1,
        "touch_lag": 0,
        "topics": ("schema",),
    }
    turns = turns_of(300, **plain)
    assert turns == turns_of(300, **plain, **idle)
    assert all(turn.step is None and not turn.user_turn for turn in turns)
    spans = [span for turn in turns for span in (*turn.arrivals, *turn.reply)]
    assert [span.id for span in spans] == list(range(len(spans)))
    assert {(span.constraint, span.rederive, span.doubt, span.carries, span.binds) for span in spans} == {
        (False, 0, 0, (), ())
    }


@pytest.mark.unit
def test_the_old_parts_of_a_world_do_not_move() -> None:
    """All that the grounds add to a span taken away, and its identity aside, it is the one it was."""
    old = ("results_per_turn", "reply_low", "reply_high", "subgoal_low", "subgoal_high", "cited_share")

    def bare(turns: list[Turn]) -> list[object]:
        return [
            [
                turn.seconds,
                turn.closes,
                *(span._replace(id=0, rederive=0, doubt=0, cites=()) for span in spans),
            ]
            for turn in turns
            for spans in [[span for span in (*turn.arrivals, *turn.reply) if span.kind is not Kind.USER]]
        ]

    plain = turns_of(300, **{key: RICH[key] for key in old})
    assert bare(plain) == bare(turns_of(300, **RICH))
    assert any(turn.closes for turn in plain)


@pytest.mark.unit
def test_no_two_spans_share_an_identity() -> None:
    spans = [span for turn in turns_of(300, **RICH) for span in (*turn.arrivals, *turn.reply)]
    assert len({span.id for span in spans}) == len(spans)


Trait = Callable[[list[Turn]], object]


TRAITS: dict[str, Trait] = {
    "sizes": lambda turns: [span.tokens for span in results_of(turns)],
    "needed": lambda turns: [span.needed for span in results_of(turns)],
    "replies": lambda turns: [turn.reply[0].tokens for turn in turns],
    "constraints": lambda turns: [span.id for span in constraints_of(turns)],
    "constraint sizes": lambda turns: [span.tokens for span in constraints_of(turns)],
    "governed": lambda turns: [step.governed for step in steps_of(turns)],
    "doubts": lambda turns: [span.doubt > 0 for span in results_of(turns)],
    "leans": lambda turns: [turn.reply[0].cites for turn in turns],
    "touches": lambda turns: [step.touches for step in steps_of(turns)],
    "topics": lambda turns: [step.topics for step in steps_of(turns)],
}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("change", "moved"),
    [
        ({"constraint_share": 0.5}, {"constraints", "constraint sizes", "governed"}),
        ({"constraint_turns": 20}, {"constraints", "constraint sizes", "governed"}),
        ({"constraint_mean": 90}, {"constraint sizes"}),
        ({"governed_share": 0.6}, {"governed"}),
        ({"doubt_share": 0.5}, {"doubts"}),
        ({"lean_share": 0.6}, {"leans", "touches"}),
        ({"touched_share": 0.9}, {"touches"}),
        ({"touch_lag": 1.0}, {"touches"}),
        ({"topic_share": 0.6}, {"topics"}),
        ({"rederive": 10}, set()),
    ],
    ids=lambda value: "-".join(sorted(value)),
)
def test_a_parameter_moves_its_own_draws_alone(change: dict[str, Any], moved: set[str]) -> None:
    before, after = turns_of(200, **RICH), turns_of(200, **(RICH | change))
    assert {name for name, trait in TRAITS.items() if trait(before) != trait(after)} == moved


@pytest.mark.unit
def test_a_higher_share_keeps_what_a_lower_one_had() -> None:
    few, many = (turns_of(400, **(RICH | {"constraint_share": share})) for share in (0.1, 0.4))
    assert set(constraints_of(few)) < set(constraints_of(many))
