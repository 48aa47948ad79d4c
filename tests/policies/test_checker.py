"""The conformance suite: every policy of the catalogue passes, every bad one is caught by name."""

from __future__ import annotations

import importlib
import itertools
import random
import time
from collections import Counter

import numpy as np
import pytest

from policies import checker, load_policy, policy_names, witness
from policies.checker import CHECKS, Check, check_policy
from policies.small_worlds import (
    EMPTY,
    FLOOD,
    FULL,
    INSTRUCTED,
    SEED,
    STATED,
    STRESS,
    VIEWS,
    with_other_truth,
)
from policies.witness import Subject, insisted, under_lens
from simulator.errors import InputError
from simulator.simulation import brief_of, simulate
from simulator.spans import Kind
from simulator.streams import Streams
from simulator.view import Gauge, View

pytestmark = pytest.mark.contract


def failed(reference: str) -> dict[str, str]:
    return {check.name: check.detail for check in check_policy(reference) if not check.passed}


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_of_the_catalogue_passes_all_checks(name: str) -> None:
    assert failed(name) == {}


@pytest.mark.parametrize("sound", ["Sound", "SoundAtUserTurns", "Keeping"])
def test_a_sound_class_of_ones_own_passes_all_checks(zoo: str, sound: str) -> None:
    assert failed(f"{zoo}:{sound}") == {}


CAUGHT = {
    "RaisesInBegin": ("begin", "begin", "LookupError: no begin"),
    "RaisesInCheck": ("check", "check", "LookupError: no check"),
    "RaisesWhenOverfull": ("check", "check", "OverflowError: cannot be"),
    "RaisesInAdmit": ("admit", "admit", "LookupError: no admit"),
    "RaisesInPropose": ("propose", "propose", "LookupError: no propose"),
    "RaisesOnAnEmptyView": ("propose", "propose", "empty view"),
    "RaisesInJudge": ("judge", "judge", "LookupError: no judge"),
    "RaisesOnUnattributed": ("judge", "judge", "AssertionError: who wrote this?"),
    "RaisesInLearn": ("learn", "learn", "LookupError: no learn"),
    "RaisesInResume": ("resume", "resume", "LookupError: no resume"),
    "RaisesWithoutALedger": ("resume", "resume", "KeyError"),
    "RaisesInAmend": ("amend", "amend", "LookupError: no amend"),
    "RaisesOnAStory": ("amend", "amend", "AssertionError: no stories"),
    "RaisesInRely": ("rely", "rely", "LookupError: no rely"),
    "RaisesWithoutATag": ("rely", "rely", "TypeError"),
    "RaisesOnConflict": ("learn", "learn", "IndexError"),
    "Exits": ("learn", "learn", "SystemExit: 3"),
    "ExitsAsAGenerator": ("admit", "admit", "GeneratorExit"),
    "RaisesTheUnprintable": ("check", "check", "Unprintable, which cannot be printed"),
    "ChecksWithNone": ("check", "check", "expected True or False, saw None"),
    "ChecksWithText": ("check", "check", "expected True or False, saw 'yes'"),
    "ChecksWithOne": ("check", "check", "expected True or False, saw 1"),
    "AdmitsWithTrue": ("admit", "admit", "expected a Verdict, saw True"),
    "RefusesWithoutReason": ("admit", "admit", "expected a refusal to say why"),
    "ResumesWithTrue": ("resume", "resume", "expected a Verdict, saw True"),
    "HaltsWithoutReason": ("resume", "resume", "expected a refusal to say why"),
    "AmendsWithoutReason": ("amend", "amend", "expected a refusal to say why"),
    "ReliesWithNone": ("rely", "rely", "expected a Verdict, saw None"),
    "AmendsByTurns": ("amend", "", "expected equal decisions on equal questions"),
    "AmendsLessEachRun": ("begins anew", "", "expected equal decisions before and after another run"),
    "ForgesItsTag": ("inputs unchanged", "", "rely has changed its Reliance"),
    "JudgesWithNone": ("judge", "judge", "expected a Verdict, saw None"),
    "JudgesWithNan": ("judge", "judge", "saw 'net': nan"),
    "JudgesWithAForeignRefusal": ("judge", "judge", "KeyError"),
    "LearnsWithNone": ("learn", "learn", "expected True or False, saw None"),
    "ProposesNone": ("propose", "propose", "expected a RewritePlan, saw None"),
    "ProposesAList": ("propose", "propose", "expected a tuple of operations"),
    "ProposesIds": ("propose", "propose", "expected operations"),
    "BelievesInHalves": ("propose", "propose", "saw 0.5"),
    "SelectsTheHead": ("propose", "propose", "expected the fixed head untouched"),
    "SelectsTwice": ("propose", "propose", "twice"),
    "SelectsTwiceInAFold": ("propose", "propose", "twice"),
    "SelectsAStranger": ("propose", "propose", "saw 999999"),
    "FoldsNothing": ("propose", "propose", "expected ids to fold"),
    "MasksWithLessThanNothing": ("propose", "propose", "saw -50"),
    "UsesRandom": ("global randomness", "", "expected the global random states unmoved"),
    "UsesNumpyRandom": ("global randomness", "", "expected the global random states unmoved"),
    "SeedsRandom": ("global randomness", "", "expected the global random states unmoved"),
    "AsksTheSystem": ("deterministic", "", "expected equal decisions on equal inputs"),
    "ReadsTheClock": ("wall clock", "", "expected equal decisions under two wall clocks"),
    "KeepsState": ("begins anew", "", "expected equal decisions before and after another run"),
    "ReadsTheTruth": ("hidden truth", "", "expected equal decisions whatever compresses"),
    "MutatesItsView": ("propose", "propose", "AttributeError"),
    "MutatesItsTerms": ("inputs unchanged", "", "expected its terms to stay"),
    "CooksTheBooks": ("survives", "audit", "the ledger"),
    "Nameless": ("name", "", "saw ' '"),
    "NamedByANumber": ("name", "", "saw 7"),
    "AnotherEachTime": ("loads again", "", "when loaded again"),
    "NeverLooks": ("terms", "", "expected check_points to be a frozenset of CheckPoint"),
    "CapsAtNothing": ("terms", "", "expected rationale_cap to be None, or 1 token or more, saw 0"),
    "CountsWithNan": (
        "terms",
        "",
        "expected counter to be CounterTerms with ratios that are finite and above 0, saw CounterTerms(",
    ),
    "RetriesLessThanNever": ("terms", "", "expected retries to be 0 to 100, saw -1"),
    "ChargesInText": ("terms", "", "expected charges to be a frozenset of Component"),
}
"""Class of the zoo: the check that must catch it, the method it must name, what the detail must say."""


@pytest.mark.parametrize("animal", CAUGHT)
def test_a_bad_policy_is_caught_by_its_check(zoo: str, animal: str) -> None:
    name, method, told = CAUGHT[animal]
    check = checker._outcome(name, CHECKS[name], Subject(f"{zoo}:{animal}"))
    assert not check.passed
    assert told in check.detail
    assert f"run failed at {method}" in check.detail or not method


def test_every_bad_policy_of_the_zoo_is_tried(zoo: str) -> None:
    module = importlib.import_module(zoo)
    animals = {name for name, made in vars(module).items() if getattr(made, "__module__", "") == zoo}
    others = {
        "free_items",
        "Unprintable",
        "Sound",
        "SoundAtUserTurns",
        "Keeping",
        "HangsInCheck",
        "HangsInPropose",
    }
    assert animals - others == set(CAUGHT)
    assert {name for name, _, _ in CAUGHT.values()} == set(CHECKS)


@pytest.mark.parametrize(
    ("animal", "also"),
    [
        ("Nameless", []),
        ("NeverLooks", []),
        ("CountsWithNan", []),
        ("RetriesLessThanNever", []),
        ("MutatesItsTerms", []),
        ("RaisesInCheck", ["survives"]),
        ("RaisesOnUnattributed", []),
        ("SelectsTwice", ["survives"]),
        ("ReadsTheTruth", []),
        ("KeepsState", []),
        ("RaisesWithoutALedger", []),
        ("RaisesOnAStory", []),
        ("RaisesInRely", ["survives"]),
        ("AmendsLessEachRun", []),
        ("ForgesItsTag", []),
        ("SeedsRandom", []),
    ],
)
def test_what_a_policy_does_well_is_not_held_against_it(zoo: str, animal: str, also: list[str]) -> None:
    assert sorted(failed(f"{zoo}:{animal}")) == sorted([CAUGHT[animal][0], *also])


@pytest.mark.parametrize(("animal", "method"), [("HangsInCheck", "check"), ("HangsInPropose", "propose")])
def test_a_policy_that_hangs_is_waited_for_once(
    zoo: str, animal: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulator.watchdog.PATIENCE_SECONDS", 1)
    waits: list[str] = []
    monkeypatch.setattr(
        witness, "told", lambda fault: waits.append(type(fault).__name__) or f"{type(fault).__name__}"
    )
    faults = failed(f"{zoo}:{animal}")
    assert sorted(faults) == sorted([method, "survives"])
    assert all(f"run failed at {method}" in told and "TimeoutError" in told for told in faults.values())
    assert waits == ["TimeoutError"]


def test_a_check_is_made_for_every_promise_in_the_order_of_the_table() -> None:
    checks = check_policy("never-rewrite")
    assert [check.name for check in checks] == list(CHECKS)
    assert all(isinstance(check, Check) and check.detail.startswith("expected") for check in checks)
    assert all("saw" in check.detail for check in checks)


def test_every_check_is_one_sentence() -> None:
    for name, look_into in CHECKS.items():
        sentence = (look_into.__doc__ or "").strip()
        assert sentence.endswith("."), name
        assert "\n" not in sentence, name


@pytest.mark.parametrize(
    "reference", ["gaurded", "no/such.toml", "no_such_module:Policy", "simulator:Verdict"]
)
def test_what_cannot_be_loaded_is_told_as_an_input_error(reference: str) -> None:
    with pytest.raises(InputError):
        check_policy(reference)


def test_the_propose_check_shows_every_kind_of_view(zoo: str) -> None:
    seen: dict[str, list[View]] = {}
    for setting in VIEWS:
        subject = Subject(f"{zoo}:Sound")
        seen[setting.name] = [
            view for view in under_lens(subject, "propose", (setting,)) if isinstance(view, View)
        ]
    assert seen["empty view"][0].items == ()
    assert [item.kind for item in seen["view with only the head"][0].items] == [Kind.HEAD]
    full = seen["full view"][0]
    assert 0.9 < full.gauge.tokens / full.gauge.window < 1.1
    assert all(item.marked for view in seen["view where all is marked"] for item in view.items)
    assert seen["view where all is marked"][-1].items
    folds = seen["view with folds"][0].items
    assert any(item.passes for item in folds)
    assert len({item.pair for item in folds if item.pair is not None}) < sum(
        item.pair is not None and item.kind is Kind.TOOL_RESULT for item in folds
    )
    assert any(item.dead for item in folds)
    assert any(item.needed for item in full.items)


def test_the_check_check_goes_from_an_empty_window_to_an_overfull_one(zoo: str) -> None:
    gauges = under_lens(Subject(f"{zoo}:Sound"), "check", (EMPTY, FLOOD))
    shares = [gauge.tokens / gauge.window for gauge in gauges if isinstance(gauge, Gauge)]
    assert min(shares) == 0
    assert max(shares) > 3
    assert sum(0 < share < 1 for share in shares) >= 4


def test_the_world_with_instructions_asks_for_everything_that_is_not_asked_elsewhere() -> None:
    guarded = simulate(INSTRUCTED, load_policy("guarded"), SEED)
    naive = simulate(INSTRUCTED, load_policy("naive"), SEED)
    assert guarded.summary["instructions_stopped"]
    assert guarded.summary["instructions_written"] > len(INSTRUCTED.instructions.topics)  # type: ignore[operator]
    assert naive.summary["instructions_written"] > 4 * len(INSTRUCTED.instructions.topics)  # type: ignore[operator]
    assert naive.summary["stale_obedience"]


@pytest.mark.parametrize(
    ("method", "policy"), [("resume", "red-flag-only"), ("amend", "guarded"), ("rely", "guarded")]
)
def test_what_is_asked_between_rewrites_holds_what_a_gate_must_refuse(method: str, policy: str) -> None:
    subject = Subject(policy)
    witness = insisted(subject, subject.fresh(), INSTRUCTED, method)
    answers = [decision.answer for decision in witness.decisions if decision.method == method]
    assert {answer.startswith("Verdict(accepted=True") for answer in answers} == {True, False}


def test_the_small_worlds_exercise_what_they_are_for() -> None:
    for setting in STRESS:
        run = simulate(setting, load_policy("naive"), SEED)
        assert run.summary["rewrites_committed"], setting.name
        guarded = simulate(setting, load_policy("guarded"), SEED)
        assert guarded.rewrite_rows, setting.name


def test_the_other_truth_is_the_same_to_the_eye() -> None:
    for setting in (*STRESS, FULL, STATED):
        other = with_other_truth(setting)
        streams = [Streams(SEED, world.draws) for world in (setting, other)]
        worlds = [
            [*world.workload.initial(stream)]
            + [
                span
                for turn in itertools.islice(world.workload.turns(stream), 12)
                for span in turn.arrivals + turn.reply
            ]
            for world, stream in zip((setting, other), streams, strict=True)
        ]
        assert worlds[0] != worlds[1]
        seen, other_seen = (
            [span._replace(compressible=True, binds=()) for span in world] for world in worlds
        )
        assert seen == other_seen
        binding = [{span.id for span in world if span.binds} for world in worlds]
        assert bool(binding[0]) is (setting is STATED)
        assert not binding[1]
        assert brief_of(setting) == brief_of(other)


def test_the_stated_world_has_what_the_gates_look_after() -> None:
    guarded = simulate(STATED, load_policy("guarded"), SEED)
    assert guarded.summary["constraints_total"]
    assert guarded.summary["dangling_references"] is not None
    views = under_lens(Subject("guarded"), "propose", (STATED,))
    items = [item for view in views if isinstance(view, View) for item in view.items]
    assert any(item.constraint and item.states == (item.id,) for item in items)
    assert any(item.rederive for item in items)
    assert guarded.rewrite_rows != simulate(STATED, load_policy("conservation-only"), SEED).rewrite_rows


def test_who_is_watched_until_it_pays_decides_as_without_an_end(zoo: str) -> None:
    for name in ("naive", "guarded"):
        subject = Subject(name)
        whole = insisted(subject, subject.fresh(), FULL).decisions
        until = insisted(subject, subject.fresh(), FULL, until_paid=True).decisions
        paid = next((place for place, one in enumerate(whole) if one.pays), len(whole))
        assert until == whole[: paid + 1]


def test_a_check_leaves_the_clock_and_the_random_states_as_they_were(zoo: str) -> None:
    random.seed(5)
    before = random.getstate(), repr(np.random.get_state()), time.time, time.monotonic_ns  # noqa: NPY002
    check_policy(f"{zoo}:Keeping")
    after = random.getstate(), repr(np.random.get_state()), time.time, time.monotonic_ns  # noqa: NPY002
    assert after == before


def test_a_check_can_be_made_twice_with_the_same_result() -> None:
    assert check_policy("guarded") == check_policy("guarded")


def test_one_small_world_has_requests_that_a_provider_would_take() -> None:
    setting = next(one for one in VIEWS if one.name == "view with pairs")
    workload = setting.workload
    streams = Streams(1, 0, "a world")
    turns = itertools.islice(workload.turns(streams), 5)
    spans = [*workload.initial(streams), *(span for turn in turns for span in (*turn.arrivals, *turn.reply))]
    kinds: dict[int | None, Counter[Kind]] = {}
    for span in spans:
        kinds.setdefault(span.pair, Counter())[span.kind] += 1
    del kinds[None]
    assert set(map(str, kinds.values())) == {
        str(Counter({Kind.TOOL_CALL: 2, Kind.TOOL_RESULT: 2, Kind.THINKING: 1}))
    }
    assert len({span.id for span in spans}) == len(spans)
