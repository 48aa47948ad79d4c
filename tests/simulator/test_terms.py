"""Terms without sense end the run before anything has run, with the key and what was expected."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from simulator.contracts import (
    BackgroundTerms,
    CounterTerms,
    InstructionTerms,
    KeepWarmTerms,
    Policy,
    ReinjectionTerms,
    RequestTerms,
    Terms,
    TombstoneTerms,
    WindowTerms,
)
from simulator.errors import RunFailed
from simulator.setting import Setting
from simulator.simulation import simulate
from simulator.terms import SENSIBLE_TERMS, terms_fault

pytestmark = pytest.mark.unit

SENSELESS = {
    "check_points": [frozenset(), {"before_request"}, frozenset({"noon"})],
    "deliberates": [1, None],
    "rationale_cap": [0, -1, 1.5, True],
    "summary_cap": [0, -1, 1.5, True],
    "measurement": ["full", None],
    "checkpoint_every": [0, -3, 2.0, True, None],
    "ambiguity_limit": [-1, math.inf, None],
    "counter": [
        0.72,
        None,
        *(CounterTerms(ratio=ratio) for ratio in (math.nan, math.inf, 0, -0.7, True, "0.72")),  # type: ignore[arg-type]
        *(CounterTerms(ratios=(("cjk", ratio),)) for ratio in (math.nan, 0, "0.3")),  # type: ignore[arg-type]
        CounterTerms(ratios=(("klingon", 0.5),)),
        *(CounterTerms(ratios=ratios) for ratios in (None, {"cjk": 0.3}, ("cjk",), (("cjk",),))),  # type: ignore[arg-type]
        CounterTerms("usage"),  # type: ignore[arg-type]
        CounterTerms(head=1),  # type: ignore[arg-type]
        CounterTerms(tail=None),  # type: ignore[arg-type]
        CounterTerms(follows_rewrites=0),  # type: ignore[arg-type]
        CounterTerms(tokens=-1),
        CounterTerms(tokens=1.5),  # type: ignore[arg-type]
    ],
    "window": [
        200_000,
        WindowTerms(0),
        WindowTerms(True),
        WindowTerms(2e5),  # type: ignore[arg-type]
        WindowTerms(follows_switches=None),  # type: ignore[arg-type]
    ],
    "charges": [frozenset({"rent"}), {"rationale"}, None],
    "immutable_this_turn": [1, None],
    "never_summarised": [1, None],
    "retires": [1, None],
    "retries": [-1, 0.5, True, None],
    "endless_window": [1, None],
    "tombstones": [12, "outside", TombstoneTerms("outside"), TombstoneTerms(tokens=0)],  # type: ignore[arg-type]
    "red_flag": [1, None],
    "instructions": [
        None,
        InstructionTerms(edits=1),  # type: ignore[arg-type]
        InstructionTerms(fingerprint="outside"),  # type: ignore[arg-type]
        InstructionTerms(repeats_every=0),
    ],
    "request": [
        None,
        *(RequestTerms(overhead_tokens=tokens) for tokens in (-1, 1.5, None)),  # type: ignore[arg-type]
        *(RequestTerms(calls=calls) for calls in (0, True, 1.5)),  # type: ignore[arg-type]
        RequestTerms(shares_prefix=1),  # type: ignore[arg-type]
        RequestTerms(reads_all=None),  # type: ignore[arg-type]
        RequestTerms(coverage_tokens=0),
        RequestTerms(item_tokens=-5),
        RequestTerms(window=0),
        *(RequestTerms(price=price) for price in (0, -1, math.nan, math.inf, "0.1")),  # type: ignore[arg-type]
        *(RequestTerms(ladder=ladder) for ladder in ((0.0,), (0.5, 1.5), (math.nan,), ("0.5",))),  # type: ignore[arg-type]
        *(RequestTerms(ladder=ladder) for ladder in (None, 0.5, [0.5])),  # type: ignore[arg-type]
        RequestTerms(on_failure="retry"),  # type: ignore[arg-type]
        RequestTerms(refuses_empty="yes"),  # type: ignore[arg-type]
    ],
    "background": [True, BackgroundTerms(overwrites=1)],  # type: ignore[arg-type]
    "reinjection": [
        None,
        ReinjectionTerms(fixed_tokens=-1),
        ReinjectionTerms(results=0.5),  # type: ignore[arg-type]
        ReinjectionTerms(result_tokens=True),
        ReinjectionTerms(standing_tokens=-1),
        ReinjectionTerms(standing_item_tokens=0),
    ],
    "keep_warm": [
        True,
        240,
        *(KeepWarmTerms(seconds, 600.0) for seconds in (0, -1.0, math.nan, math.inf)),
        *(KeepWarmTerms(60.0, seconds) for seconds in (0, math.inf, "an hour")),  # type: ignore[arg-type]
    ],
    "needs": [{"pairs"}, frozenset({"pairs"}), None],
    "clairvoyant": [1, None],
}


def test_every_term_has_its_sense() -> None:
    keys = [field.name for field in dataclasses.fields(Terms)]
    assert [key for key, _, _ in SENSIBLE_TERMS] == keys
    assert list(SENSELESS) == keys


def test_the_default_terms_make_sense() -> None:
    assert terms_fault(Terms()) == ""


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in SENSELESS.items() for value in values]
)
def test_a_run_under_senseless_terms_never_begins(
    scripted: Callable[..., Policy], listed: type, key: str, value: object
) -> None:
    policy = scripted(terms=Terms(**{key: value}))  # type: ignore[arg-type]
    begun: list[object] = []
    policy.begin = begun.append  # type: ignore[method-assign]
    with pytest.raises(RunFailed, match=f"expected {key} to be .*, saw ") as failure:
        simulate(Setting("senseless", 1_000, listed()), policy)
    assert failure.value.stage == "terms"
    assert begun == []


@pytest.mark.parametrize("terms", [None, {}, Terms])
def test_what_is_no_terms_at_all_is_told(
    scripted: Callable[..., Policy], listed: type, terms: object
) -> None:
    with pytest.raises(RunFailed, match=f"expected Terms, saw {type(terms).__name__}") as failure:
        simulate(Setting("senseless", 1_000, listed()), scripted(terms=terms))
    assert failure.value.stage == "terms"


def test_a_policy_without_terms_is_told(listed: type) -> None:
    with pytest.raises(RunFailed, match=r"AttributeError: .*no attribute 'terms'") as failure:
        simulate(Setting("termless", 1_000, listed()), SimpleNamespace(name="termless"))  # type: ignore[arg-type]
    assert failure.value.stage == "terms"


def test_terms_that_raise_when_asked_for_are_told(listed: type) -> None:
    class Asked(Policy):
        @property
        def terms(self) -> Terms:  # type: ignore[override]
            sys.exit(3)

    with pytest.raises(RunFailed, match="SystemExit: 3") as failure:
        simulate(Setting("raising", 1_000, listed()), Asked())  # type: ignore[abstract]
    assert failure.value.stage == "terms"
