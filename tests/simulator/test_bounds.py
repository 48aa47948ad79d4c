"""A specification that was built in Python is held to the bounds that files are held to."""

from __future__ import annotations

import math

import pytest

from simulator.errors import InputError
from simulator.provider import ProviderSpec
from simulator.supervisor import SupervisorSpec
from simulator.world import PremiseSpec, WorldSpec

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("wrong", [-1, math.nan])
@pytest.mark.parametrize("name", ["capacity", "service_seconds", "evict_tokens"])
def test_a_supervisor_says_what_is_wrong_with_it(name: str, wrong: float) -> None:
    with pytest.raises(InputError, match=rf"supervisor: {name} is {wrong}; expected 0 or more"):
        SupervisorSpec(**{name: wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -63.0, math.nan])
@pytest.mark.parametrize("name", ["prefill_tokens_per_second", "decode_tokens_per_second"])
def test_a_model_without_speed_is_refused(name: str, wrong: float) -> None:
    with pytest.raises(InputError, match=rf"provider: {name} is {wrong}; expected more than 0"):
        ProviderSpec(**{name: wrong})


@pytest.mark.parametrize("name", ["overhead_seconds", "input_usd", "output_usd", "cache_seconds"])
def test_neither_time_nor_money_comes_back(name: str) -> None:
    with pytest.raises(InputError, match=rf"provider: {name} is -1; expected 0 or more"):
        ProviderSpec(**{name: -1})


@pytest.mark.parametrize(("wrong", "expected"), [(-0.1, "0 or more"), (1.1, "between 0 and 1")])
def test_a_share_of_failures_is_a_share(wrong: float, expected: str) -> None:
    with pytest.raises(InputError, match=rf"provider: failure_share is {wrong}; expected {expected}"):
        ProviderSpec(failure_share=wrong)


@pytest.mark.parametrize("wrong", [0, -2.0, math.nan])
def test_a_premise_that_would_change_for_ever_is_refused(wrong: float) -> None:
    with pytest.raises(InputError, match=rf"premise schema: mean_interval is {wrong}; expected more than 0"):
        PremiseSpec("schema", mean_interval=wrong)


@pytest.mark.parametrize("wrong", [-1.0, math.nan])
def test_a_premise_changes_at_times_that_come(wrong: float) -> None:
    with pytest.raises(InputError, match=rf"premise schema: a change at {wrong}; expected a time of 0 or"):
        PremiseSpec("schema", at=(3.0, wrong))


def test_a_window_holds_something() -> None:
    with pytest.raises(InputError, match="world: a window of 0 tokens from turn 7; expected 1 or more"):
        WorldSpec(windows=((3, 100), (7, 0)))


def test_endless_speed_and_a_cache_that_never_expires_are_allowed() -> None:
    spec = ProviderSpec(prefill_tokens_per_second=math.inf, cache_seconds=math.inf)
    assert spec.cache_seconds == math.inf
