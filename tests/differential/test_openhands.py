"""Held to OpenHands' summarising condenser, by its rule as `condenser` states it.

The SDK needs a newer Python than ours, and half a gigabyte; `test_openhands_sdk.py` holds the statement
to it where it is installed.
"""

from __future__ import annotations

import pytest

from policies import openhands
from simulator.context import Context
from simulator.contracts import CheckPoint
from simulator.spans import Kind
from simulator.view import Gauge, look

from .condenser import CONDENSERS, Condenser, legal_cuts, talk
from .messages import Conversation, Message, made, requests, spans
from .sides import SUMMARY_TOKENS, WINDOW, Persistent, assert_same, of_policy, standing

pytestmark = pytest.mark.contract

POLICY = "openhands-condenser"

# --------------------------------------------------------------------------- the statement holds


def test_its_own_published_examples() -> None:
    """Of its tests: plain messages, a view of one more than the limit, and one of 25 for a limit of 20."""
    plain = tuple(Message(place, "user", 10) for place in range(25))
    assert not Condenser(25, 2).condense(plain).triggered
    assert Condenser(24, 2).condense(plain).triggered
    assert Condenser(20, 2).condense(plain).summarised == tuple(range(2, 18))


def test_a_loop_over_the_whole_view_leaves_nothing_to_forget() -> None:
    """Softly it goes on uncondensed; under token pressure it gives up the first events too."""
    loop = tuple(
        Message(2 * turn + answer, *said, batch=turn, thinks=not turn and not answer)
        for turn in range(20)
        for answer, said in enumerate(
            (("assistant", 10, turn, (f"{turn}",), ()), ("result", 10, turn, (), (f"{turn}",)))
        )
    )
    assert legal_cuts(loop) == [0, 40]
    assert not Condenser(30, 2).condense(loop).summarised
    assert len(Condenser(30, 2, 100).condense(loop).summarised) == 40


# --------------------------------------------------------------------------- ours


@pytest.mark.parametrize("condenser", CONDENSERS, ids=str)
def test_condenser_takes_the_same_events(conversations: list[Conversation], condenser: Condenser) -> None:
    for conversation in map(talk, conversations):
        _same(conversation, condenser)


def test_condenser_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in map(talk, recordings):
        for condenser in (Condenser(80, 4), Condenser(240, 2, 20_000)):
            _same(conversation, condenser)


def parameters(condenser: Condenser) -> dict[str, object]:
    return {f"parameters.{name}": value for name, value in condenser._asdict().items()}


def _same(conversation: Conversation, condenser: Condenser) -> None:
    for requested in (False, True):
        library = condenser.condense(conversation, requested=requested)
        point = CheckPoint.OVERFLOW if requested else CheckPoint.BEFORE_REQUEST
        ours = of_policy(POLICY, conversation, parameters(condenser), point=point)
        assert_same(conversation, library, ours, (condenser, requested))


def test_it_may_cut_at_the_same_places_with_signed_blocks_too() -> None:
    """On our side a signed block is a span of its own, in front of the first call."""
    for seed in range(200):
        conversation = talk(made(seed, thinking=True))
        places: list[int] = []
        context = Context()
        for event, span in zip(conversation, spans(conversation), strict=True):
            places.append(len(context))
            if event.thinks:
                context.append(span._replace(id=-1 - event.id, kind=Kind.THINKING))
            context.append(span)
        places.append(len(context))
        gauge = Gauge(CheckPoint.BEFORE_REQUEST, 1, context.tokens, WINDOW, 0, 1, 0, context.by_kind)
        ours = openhands.legal_cuts(look(context, gauge).items)
        assert ours == [places[cut] for cut in legal_cuts(conversation)]


def test_condenser_over_a_whole_session() -> None:
    """Each summary is an event of the next view, and is condensed with the rest."""
    condenser = Condenser(16, 2)
    for seed in range(0, 60, 2):
        conversation = talk(made(seed, unanswered=False))
        ours = Persistent(POLICY, parameters(condenser))
        view: list[Message] = []
        seen = 0
        for length in requests(conversation):
            said = conversation[:length]
            ours.see(said)
            view += said[seen:]
            seen = length
            gone = condenser.condense(tuple(view)).summarised
            if gone:
                summary = Message(-length, "user", SUMMARY_TOKENS)
                start = next(place for place, event in enumerate(view) if event.id in gone)
                view = [event for event in view if event.id not in gone]
                view.insert(start, summary)
            assert_same(said, standing(said, {one.id for one in view}), ours.outcome(said), (seed, length))
