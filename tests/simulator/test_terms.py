"""Terms without sense end the run before anything has run, with the key and what was expected."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from simulator.contracts import InstructionTerms, Policy, Terms, TombstoneTerms
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
    "counter_ratio": [math.nan, math.inf, 0, -0.7, True, "0.72"],
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
