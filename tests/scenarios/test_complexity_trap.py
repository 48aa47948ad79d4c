"""The Complexity Trap: the world, and two policies re-stated here, against closed forms and the study.

The policies of the catalogue are held to real libraries elsewhere; these two are as plain as the paper
tells them, so that what is tested here is the world: growth, pairs, prefix cache and tiers of price.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

from policies import load_policy
from scenarios import load_scenario
from scenarios.scenario import CATALOGUE
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator import simulate
from simulator.contracts import MeasurementPlan, Policy, Terms
from simulator.declarations import Brief
from simulator.plan import Fold, Mask, RewritePlan
from simulator.spans import Kind
from simulator.view import Gauge, View

FIRST, GROWTH, OBSERVATION = 2_110, 719, 604
REST = GROWTH - OBSERVATION
KEPT, FOLDED, PLACEHOLDER, CHECKPOINT = 10, 21, 20, 1_120
"""The world of complexity-trap-raw, M and N of the study, and sizes: tokens and turns."""

QUIET = Terms(deliberates=False, measurement=MeasurementPlan.NONE)


class MaskOld(Policy):
    """A placeholder in the place of each tool result but the last ten."""

    name, terms = "mask", QUIET

    def check(self, gauge: Gauge) -> bool:
        return gauge.turn > KEPT + 1

    def propose(self, view: View) -> RewritePlan:
        old = [item.id for item in view.items if item.kind is Kind.TOOL_RESULT][:-KEPT]
        return RewritePlan(tuple(Mask(identity, PLACEHOLDER) for identity in old))


class FoldOld(Policy):
    """One checkpoint, written anew with the 21 oldest turns where 31 stand beside it."""

    name, terms = "summary", QUIET

    def begin(self, brief: Brief) -> None:
        self.folded = 0

    def check(self, gauge: Gauge) -> bool:
        return gauge.turn - 1 - self.folded >= FOLDED + KEPT

    def propose(self, view: View) -> RewritePlan:
        self.folded += FOLDED
        own = (Kind.ASSISTANT, Kind.TOOL_CALL)
        old = [
            item.id
            for item in view.items
            if item.kind is Kind.SUMMARY
            or (item.kind in own and item.born <= self.folded)
            or (item.kind is Kind.TOOL_RESULT and item.pair is not None and item.pair <= self.folded)
        ]
        return RewritePlan((Fold(tuple(old)),))


class Bill(NamedTuple):
    """Of one run: input tokens of the agent, those read from the cache, dollars, input dollars."""

    tokens: float
    cached: float
    usd: float
    input_usd: float


POLICIES: dict[str, Callable[[], Policy]] = {
    "raw": lambda: load_policy("never-rewrite"),
    "mask": MaskOld,
    "summary": FoldOld,
}


@cache
def bill(name: str, turns: int) -> Bill:
    """One task of so many turns under one policy."""
    setting = load_scenario("complexity-trap-raw", {"fleet.agents": 1}).setting()
    assert isinstance(setting.workload, SyntheticWorkload)
    setting = replace(setting, workload=replace(setting.workload, lengths=(turns,)))
    run = simulate(setting, POLICIES[name](), seed=(1, 0))
    assert (run.outcome, len(run.turn_rows)) == ("complete", turns)
    assert not run.summary["broken_pairs"]
    keys = ("agent_input_tokens", "cache_read_tokens", "usd", "agent_input_usd")
    return Bill(*(float(str(run.summary[key])) for key in keys))


def prompts(name: str, turns: int) -> list[int]:
    """The closed form: the prompt of each request, with k turns complete before it."""
    if name == "raw":
        return [FIRST + GROWTH * k for k in range(turns)]
    if name == "mask":
        return [
            FIRST + REST * k + OBSERVATION * min(k, KEPT) + PLACEHOLDER * max(k - KEPT, 0)
            for k in range(turns)
        ]
    folds = [max(0, (k - KEPT) // FOLDED) for k in range(turns)]
    return [FIRST + CHECKPOINT * (m > 0) + GROWTH * (k - FOLDED * m) for k, m in enumerate(folds)]


def kept_prefixes(name: str, turns: int) -> list[int]:
    """The closed form: what of each prompt stood unchanged in the one before it."""
    before = [0, *prompts(name, turns)][:turns]
    if name == "mask":  # up to the result that is masked now, and past the reply that called for it
        return [
            before[k] if k <= KEPT else FIRST + (REST + PLACEHOLDER) * (k - KEPT - 1) + REST
            for k in range(turns)
        ]
    if name == "summary":
        return [FIRST if k and k % FOLDED == KEPT and k > FOLDED else before[k] for k in range(turns)]
    return before


@cache
def lengths(name: str) -> tuple[int, ...]:
    with (CATALOGUE / "complexity-trap.csv").open() as file:
        return tuple(int(row[name]) for row in csv.DictReader(file))


def bills(name: str, tasks: Sequence[int] | None = None) -> list[Bill]:
    """The bills of all tasks, or of some, each as long as it was under that policy."""
    own = lengths(name)
    return [bill(name, own[task]) for task in (range(len(own)) if tasks is None else tasks)]


# ------------------------------------------------------------------------------------ the world


@pytest.mark.theory
@pytest.mark.parametrize("name", ["raw", "mask", "summary"])
@pytest.mark.parametrize("turns", [1, 11, 12, 31, 32, 53, 120])
def test_input_and_cache_to_the_token(name: str, turns: int) -> None:
    found = bill(name, turns)
    assert found.tokens == sum(prompts(name, turns))
    assert found.cached == sum(kept_prefixes(name, turns))


@pytest.mark.theory
@pytest.mark.parametrize("turns", [10, 45, 60, 200])
def test_dollars_of_the_raw_agent_by_tier(turns: int) -> None:
    """Dollars a million: 1.00 and 0.40 to 32k, 1.80 and 0.72 to 128k, 3.00 and 1.20 above (the study)."""
    usd = 0.0
    for prompt, kept in zip(prompts("raw", turns), kept_prefixes("raw", turns), strict=True):
        fresh, read = (1.0, 0.4) if prompt < 32_000 else (1.8, 0.72) if prompt < 128_000 else (3.0, 1.2)
        usd += (fresh * (prompt - kept) + read * kept) / 1e6
    assert bill("raw", turns).input_usd == pytest.approx(usd, rel=1e-9)


@pytest.mark.unit
def test_a_scenario_elsewhere_has_its_lengths_from_its_base(written: Callable[..., Path]) -> None:
    path = written('base = "complexity-trap-raw"\n[workload]\nlengths_column = "mask"\n')
    workload = load_scenario(str(path)).setting().workload
    assert isinstance(workload, SyntheticWorkload)
    assert workload.lengths == lengths("mask")


# ------------------------------------------------------------------------------------ the study


@pytest.mark.documented
@pytest.mark.parametrize(
    ("name", "published"), [("raw", 1_793_000), ("mask", 754_000), ("summary", 1_138_000)]
)
def test_input_tokens_a_task_within_a_tenth(name: str, published: int) -> None:
    assert mean(one.tokens for one in bills(name)) == pytest.approx(published, rel=0.1)


@pytest.mark.documented
def test_a_token_is_dearest_masked_and_cheapest_summarised() -> None:
    published = {"raw": 0.692, "mask": 0.750, "summary": 0.473}
    price = {
        name: 1e6 * sum(one.input_usd for one in bills(name)) / sum(one.tokens for one in bills(name))
        for name in published
    }
    assert price["mask"] > price["raw"] > price["summary"]
    assert price == {name: pytest.approx(usd, rel=0.1) for name, usd in published.items()}


@pytest.mark.documented
def test_a_task_is_dearest_raw() -> None:
    """Published means: 1.288, 0.610 and 0.637 dollars with summaries; intervals for the first two."""
    cost = {name: mean(one.usd for one in bills(name)) for name in POLICIES}
    assert 1.051 <= cost["raw"] <= 1.564
    assert 0.556 <= cost["mask"] <= 0.668
    assert max(cost["mask"], cost["summary"]) < 0.6 * cost["raw"]


@pytest.mark.documented
@pytest.mark.parametrize(
    ("low", "high", "tasks", "raw", "mask"),
    [
        (1, 31, 65, 0.13, 0.27),
        (31, 50, 192, 0.37, 0.44),
        (50, 80, 158, 0.96, 0.67),
        (80, 120, 53, 2.31, 1.02),
        (120, 999, 29, 9.90, 1.41),
    ],
)
def test_dollars_by_the_length_of_the_raw_run(
    low: int, high: int, tasks: int, raw: float, mask: float
) -> None:
    """Paired by task: raw is the cheaper below some 50 turns and the dearer above, each within a fifth."""
    chosen = [task for task, turns in enumerate(lengths("raw")) if low <= turns < high]
    assert len(chosen) == tasks
    usd = {name: mean(one.usd for one in bills(name, chosen)) for name in ("raw", "mask")}
    assert (usd["raw"] < usd["mask"]) is (high <= 50) is (raw < mask)
    assert usd == {"raw": pytest.approx(raw, rel=0.2), "mask": pytest.approx(mask, rel=0.2)}


@pytest.mark.documented
def test_at_one_length_the_crossing_lies_between_30_and_50_turns() -> None:
    """Published, by own length: 0.0051 against 0.0070 dollars a turn at 10-30, 0.0156 and 0.0093 at 50-80."""
    assert bill("raw", 30).usd < bill("mask", 30).usd
    assert bill("raw", 50).usd > bill("mask", 50).usd


@pytest.mark.theory
def test_a_dollar_grows_with_the_square_of_a_raw_run_and_with_the_length_of_a_masked_one() -> None:
    """Log-log slopes over tasks: 2.20 published for raw, 1.34 for masked ones and 1.32 for summaries."""
    slopes = {name: math.log(bill(name, 200).usd / bill(name, 50).usd) / math.log(4) for name in POLICIES}
    assert slopes["raw"] > 2
    assert max(slopes["mask"], slopes["summary"]) < 1.5
