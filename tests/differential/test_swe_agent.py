"""Held to SWE-agent's history processor that elides all but the last n observations.

SWE-agent is on no index, so its rule is stated here anew, from what its documentation and its own test
say of it: a history's observations are counted with the task in front (its instance template counts as
the first, and stays); of c observations those from the second up to floor(c / polling) x polling - n
give way to one line each; tags keep or remove. Where SWE-agent itself is on the path, the statement
is held to it too. Source: SWE-agent/SWE-agent, sweagent/agent/history_processors.py.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from simulator.contracts import CheckPoint

from .messages import Conversation, Message, made, requests
from .sides import Outcome, Persistent, assert_same, of_policy

pytestmark = pytest.mark.contract

POLICY = "swe-agent-last-n"

# --------------------------------------------------------------------------- the rule, stated anew


def observations(conversation: Conversation) -> list[int]:
    """Return the ids of what SWE-agent calls observations: the task, and every result."""
    task = next(message.id for message in conversation if message.role == "user")
    return [message.id for message in conversation if message.id == task or message.role == "result"]


def elided(
    conversation: Conversation, n: int, polling: int, tags: dict[int, str] | None = None
) -> tuple[int, ...]:
    """Return the ids whose content gives way to one line."""
    seen = observations(conversation)
    rounded = len(seen) - len(seen) % polling
    old = {identity for place, identity in enumerate(seen) if 1 <= place < rounded - n}
    for identity, tag in (tags or {}).items():
        old = old - {identity} if tag == "keep_output" else old | {identity}
    return tuple(sorted(old))


def theirs(conversation: Conversation, n: int, polling: int) -> Outcome:
    masked = elided(conversation, n, polling)
    kept = tuple(message.id for message in conversation if message.id not in masked)
    return Outcome(bool(masked), kept, masked)


def history(conversation: Conversation, tags: dict[int, str] | None = None) -> list[dict[str, Any]]:
    """Return the conversation as SWE-agent's history."""
    role = {"system": "system", "user": "user", "assistant": "assistant", "result": "tool"}
    task, *results = observations(conversation)
    entries = []
    for message in conversation:
        type_ = "observation" if message.id == task or message.id in results else "action"
        entry = {"role": role[message.role], "content": "one\ntwo", "message_type": type_}
        if tags and message.id in tags:
            entry["tags"] = [tags[message.id]]
        entries.append(entry)
    return entries


# --------------------------------------------------------------------------- the statement holds


def test_its_own_published_example(shared: Path) -> None:
    """Its test: of a recorded history all observations but the task and the last three are elided."""
    path = shared / "traces" / "swe_agent" / "test-repo-1c2844.traj"
    if not path.is_file():
        pytest.skip(f"no recorded session at {path}")
    entries = json.loads(path.read_text())["history"]
    roles = {"system_prompt": "system", "action": "assistant"}
    conversation = tuple(
        Message(place, roles.get(entry["message_type"], "result" if place > 1 else "user"), 10)
        for place, entry in enumerate(entries)
    )
    total = len(observations(conversation))
    assert total == 5
    assert len(elided(conversation, 3, 1)) == total - 3 - 1


@pytest.mark.parametrize(("n", "polling"), [(5, 1), (5, 5), (3, 10), (1, 2)])
def test_it_keeps_between_n_and_n_and_polling(n: int, polling: int) -> None:
    """What its documentation promises of polling, and that history changes once in `polling` steps only."""
    results = tuple(Message(place, "result", 10) for place in range(1, 60))
    conversation = (Message(0, "user", 10), *results)
    cuts = [elided(conversation[:length], n, polling) for length in range(1, 61)]
    for length, cut in enumerate(cuts, 1):
        assert min(n, length - 1) <= length - 1 - len(cut) < n + polling or not cut
    changes = sum(one != other for one, other in pairwise(cuts))
    assert changes <= 60 // polling


def test_the_statement_is_what_swe_agent_does(conversations: list[Conversation]) -> None:
    processors = pytest.importorskip(
        "sweagent.agent.history_processors", reason="SWE-agent is on no index: put its checkout on PYTHONPATH"
    )
    for seed, conversation in enumerate(conversations):
        if len(observations(conversation)) < 2:
            continue
        task, *results = observations(conversation)
        tags = {
            identity: ("keep_output", "remove_output")[identity % 2] for identity in results[seed % 3 :: 4]
        }
        for n, polling in ((1, 1), (5, 1), (5, 5), (3, 10)):
            done = processors.LastNObservations(n=n, polling=polling)(history(conversation, tags))
            masked = tuple(place for place, entry in enumerate(done) if entry["content"].startswith("Old"))
            assert masked == elided(conversation, n, polling, tags)
            assert task not in masked


# --------------------------------------------------------------------------- ours


@pytest.mark.parametrize("n", [1, 5, 10])
def test_last_n_masks_the_same_observations(conversations: list[Conversation], n: int) -> None:
    for conversation in conversations:
        _same(conversation, n)


def test_last_n_of_recorded_sessions(recordings: list[Conversation]) -> None:
    for conversation in recordings:
        _same(conversation, 5)


def _same(conversation: Conversation, n: int) -> None:
    library = theirs(conversation, n, 1)
    ours = of_policy(POLICY, conversation, {"selector.keep_results": n})
    assert_same(conversation, library, ours._replace(triggered=library.triggered), n)


@pytest.mark.parametrize(("n", "polling"), [(5, 1), (5, 5), (3, 10), (10, 4)])
def test_step_by_step_the_same_observations_are_masked(n: int, polling: int) -> None:
    """Masked once, an observation stays so on our side; SWE-agent begins anew from the whole history."""
    for seed in range(0, 60, 2):
        conversation = made(seed, unanswered=False)
        ours = Persistent(
            POLICY,
            {"selector.keep_results": n, "selector.polling": polling},
            point=CheckPoint.BEFORE_REQUEST,
        )
        for length in requests(conversation):
            shown = conversation[:length]
            ours.see(shown)
            assert_same(shown, theirs(shown, n, polling), ours.outcome(shown), (n, polling, length))
