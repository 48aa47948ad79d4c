"""The closed forms behind field records 002, 003 and 004, held by the scenarios that stand for them.

What a world holds is read from its own workload, so that each run is held to the exact count of its
world; where only a mean is known, its interval has a false-alarm rate of one in a thousand.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import pytest

import policies
import simulator
from experiments.statistics import mean_interval
from policies import load_policy
from scenarios import load_scenario
from scenarios.measures import MEASURES
from scenarios.scenario import CATALOGUE as SCENARIOS
from simulator.ledger import COMMITTED
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams, coordinates_of

pytestmark = pytest.mark.theory

ONE_IN_A_THOUSAND = 0.999
SEED = 5

Said = Mapping[str, object]


def streams_of(setting: Setting, replication: int) -> Streams:
    """The streams of a run, for whoever wants to know its world."""
    return Streams(*coordinates_of((SEED, replication)), setting.draws or setting.name)


def run_of(setting: Setting, policy: str, replication: int, said: Said | None = None) -> Run:
    return simulate(setting, load_policy(policy, said), (SEED, replication))


# --------------------------------------------------------------------------- the crossing (003)


class Ground(NamedTuple):
    """One world of `reference-ground`: the items in order, and which are leant on, and touched later."""

    items: list[Span]
    leant_on: frozenset[int]
    touched: frozenset[int]


def ground_of(setting: Setting, replication: int) -> Ground:
    streams = streams_of(setting, replication)
    *items, plan = setting.workload.initial(streams)
    steps = [turn.step for turn in setting.workload.turns(streams) if turn.step is not None]
    touched = frozenset(antecedent for step in steps for antecedent in step.touches)
    return Ground(items, frozenset(plan.cites), touched)


def reference_ground(density: float, case: Case) -> Setting:
    said = {
        "workload.tokens": case.tokens,
        "workload.rederive": case.rederive,
        "workload.touched_share": case.touched,
        "workload.density": density,
        "laws.summary.ratio": case.ratio,
        # as wide as the documented ground is, for its tokens
        "window.tokens": 40_000 * case.tokens // 300,
    }
    return load_scenario("reference-ground", said).setting()


class Case(NamedTuple):
    """Figures of the formula, and the share of the references that is touched later."""

    tokens: int
    ratio: float
    rederive: int
    touched: float = 1.0

    @property
    def crossing(self) -> float:
        """References an item at which what is saved is spent again, where all are touched (003)."""
        return self.tokens * (1 - self.ratio) / self.rederive


CASES = [
    Case(300, 0.0, 950),
    Case(300, 0.3, 950),
    Case(300, 0.0, 600),
    Case(300, 0.0, 950, touched=0.5),
    Case(300, 0.3, 950, touched=0.5),
    Case(150, 0.0, 600, touched=0.5),
]


def net_of(run: Run) -> float:
    net = MEASURES["net_after_rederivation_tokens"].take(run)
    assert net is not None
    return net


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_rewrite_is_worth_is_a_count_of_its_world(case: Case) -> None:
    for replication in range(10):
        for density in (0.1, case.crossing, 0.9):
            setting = reference_ground(density, case)
            ground = ground_of(setting, replication)
            run = run_of(setting, "oldest-naive", replication)
            (entry,) = run.rewrite_rows
            removed = {item.id for item in ground.items[: entry.selected]}
            assert entry.selected == 41  # of 60, so that 6,000 of 18,001 tokens stay, or fewer
            saved = case.tokens - round(case.ratio * case.tokens)
            spent = case.rederive * len(removed & ground.touched)
            assert net_of(run) == len(removed) * saved - spent
            assert entry.dangled == len(removed & ground.leant_on)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_crossing_agrees_with_its_formula(case: Case) -> None:
    """Where only a share is touched, saving is worth it until so many more lean on an item."""
    expected = case.crossing / case.touched
    low, high = 0.8 * expected, 1.2 * expected
    assert high <= 1
    nets = [
        [net_of(run_of(reference_ground(density, case), "oldest-naive", world)) for world in range(40)]
        for density in (low, high)
    ]
    assert mean(nets[0]) > 0 > mean(nets[1])
    slope = (mean(nets[1]) - mean(nets[0])) / (high - low)
    found = low - mean(nets[0]) / slope
    share = (found - low) / (high - low)
    between = [(1 - share) * one + share * other for one, other in zip(*nets, strict=True)]
    half_width = mean_interval(between, ONE_IN_A_THOUSAND).half_width / -slope
    assert abs(found - expected) < half_width
    assert half_width < 0.2 * expected  # it could have missed


@pytest.mark.parametrize("touched", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_the_gate_weighs_what_leans_and_not_what_is_touched(case: Case, touched: float) -> None:
    """Refused where what leans on the removed costs as much as the plan frees: the gate's own crossing."""
    told = {"replacement.ratio": case.ratio}
    outcomes: dict[float, set[str]] = {}
    for times in (0.4, 0.8, 1.0, 1.2, 1.9):
        density = times * case.crossing
        setting = reference_ground(density, case._replace(touched=touched))
        for replication in range(8):
            ground = ground_of(setting, replication)
            (entry,) = run_of(setting, "oldest-gated", replication, told).rewrite_rows
            removed = {item.id for item in ground.items[: entry.selected]}
            saved = len(removed) * (case.tokens - round(case.ratio * case.tokens))
            penalty = case.rederive * len(removed & ground.leant_on)
            assert (entry.outcome == "refused") is (saved <= penalty)
            outcomes.setdefault(times, set()).add(entry.outcome)
    # far from the crossing chance has no say: below one world in ten thousand
    assert outcomes[0.4] == {"committed"}
    assert outcomes[1.9] == {"refused"}


# --------------------------------------------------------------------------- the turning point (003)

WATERMARKS = [0.4 - 0.025 * step for step in range(15)]
"""Targets from 16,000 down to 2,000 of 40,000 tokens, 1,000 apart."""


def web(replication: int, watermark: float) -> tuple[list[bool], int, float]:
    """Which items are leant on by the plan, how many stand after the rewrite, and the coherence cost."""
    setting = load_scenario("reference-web").setting()
    *items, plan = setting.workload.initial(streams_of(setting, replication))
    run = run_of(setting, "salience-evict", replication, {"trigger.low_watermark": watermark})
    (entry,) = run.rewrite_rows
    leant_on = [item.id in plan.cites for item in items]
    return leant_on, len(items) - entry.selected, entry.coherence_cost


def test_the_coherence_cost_is_a_count_of_its_world() -> None:
    """What leans goes first, each with its check; then what the plan leans on, which stays broken."""
    weight = load_scenario("reference-web").setting().laws.coherence.broken_weight
    for replication in range(6):
        for watermark in WATERMARKS[::3]:
            leant_on, standing, cost = web(replication, watermark)
            number = sum(leant_on)
            # an item leans on the nearest one before it that the plan leans on: the first few have none
            leaning = [any(leant_on[:place]) for place, leant in enumerate(leant_on) if not leant]
            if standing >= number:
                kept = leaning[len(leaning) - (standing - number) :]
                assert cost == number + sum(kept)
            else:
                assert cost == standing + weight * (number - standing)


def test_the_coherence_cost_falls_then_rises_and_turns_at_density_times_tokens() -> None:
    setting = load_scenario("reference-web").setting()
    turns = []
    for replication in range(10):
        curve = [web(replication, watermark) for watermark in WATERMARKS]
        costs = [cost for _, _, cost in curve]
        lowest = costs.index(min(costs))
        steps = [after - before for before, after in pairwise(costs)]
        assert 0 < lowest < len(costs) - 1
        assert all(step < 0 for step in steps[:lowest])
        assert all(step > 0 for step in steps[lowest + 1 :])
        target = setting.window * WATERMARKS[lowest]
        assert abs(target - 300 * sum(curve[0][0])) <= 1_000 + 300  # one step of the target and one item
        turns.append(target)
    found = mean_interval(turns, ONE_IN_A_THOUSAND)
    assert found.low < 0.5 * 60 * 300 < found.high
    assert found.half_width < 2_500


# --------------------------------------------------------------------------- gridlock (002 and 003)

RESULTS, REPLY = 2 * 60, 20
"""Tokens that a turn of `gridlock` brings beside its constraint."""


@pytest.mark.parametrize("constraint", [10, 20, 40, 80, 160, 640])
@pytest.mark.parametrize("window", [16_000, 24_000])
def test_gridlock_comes_at_the_turn_of_its_closed_form(constraint: int, window: int) -> None:
    """Nothing that comes in may be touched: the first attempt is the first of those that come to nothing."""
    said = {"workload.constraint_mean": constraint, "window.tokens": window}
    setting = load_scenario("gridlock", said).setting()

    def at_check(turn: int) -> int:
        return setting.head + (constraint + RESULTS + REPLY) * (turn - 1) + constraint + RESULTS

    def first(limit: float) -> int:
        return next(turn for turn in range(1, 1_000) if at_check(turn) >= limit)

    run = run_of(setting, "guarded", 0)
    assert MEASURES["gridlock_turn"].take(run) == first(0.91 * window)
    # each attempt pays its rationale, which is gone at the next turn
    rationale = setting.laws.rationale.base
    assert (run.outcome, run.summary["turns"]) == ("overflow", first(window + 1 - rationale))
    assert {entry.outcome for entry in run.rewrite_rows} <= {"refused", "infeasible"}
    assert MEASURES["wrong"].take(run) == 0
    assert run.summary["constraints_held"] == run.summary["turns"]


def test_gridlock_needs_something_that_may_not_be_touched() -> None:
    said = {"workload.constraint_share": 0.0, "workload.lean_share": 0.0}
    run = run_of(load_scenario("gridlock", said).setting(), "guarded", 0)
    assert run.summary["rewrites_committed"]
    assert run.summary["turns"] > 125  # the end with all of it kept


# --------------------------------------------------------------------------- tombstones (002 against 000)

PLACEMENTS = ("inside-charged", "inside-free")


def tombstoned(placement: str, tokens: int, replication: int, horizon: int = 1_200) -> tuple[Setting, Run]:
    setting = load_scenario("tombstones", {"run.horizon": horizon}).setting()
    said = {"tombstones.placement": placement, "tombstones.tokens": tokens}
    return setting, run_of(setting, "guarded", replication, said)


def leak_bounds(setting: Setting, replication: int, tokens: int, placement: str) -> tuple[int, int]:
    """The turns between which the ledger leaves no room for the subgoal that is open.

    A dead item leaves its tombstone, or itself where that is shorter and charged. The end can come
    only when that, the open subgoal and the costs of an attempt fill the window; it must where they
    do with every open result summarised.
    """
    laws = setting.laws
    # one attempt's rationale stands in the window, and what gains no more than an attempt costs stays
    slack = 2 * laws.rationale.base + laws.measurement.delta_tokens + 1
    ratio = {Kind.TOOL_RESULT: laws.summary.ratio}

    def left_by(size: float) -> float:
        return min(tokens, size) if placement == "inside-charged" else tokens

    most = least = 0.0
    first = 0
    live: list[Span] = []
    for number, turn in enumerate(setting.workload.turns(streams_of(setting, replication)), 1):
        if turn.closes:
            most += sum(left_by(span.tokens) for span in live)
            least += sum(left_by(ratio.get(span.kind, 1.0) * span.tokens) for span in live)
            live = []
        live += turn.arrivals
        whole = sum(span.tokens for span in live)
        summarised = sum(ratio.get(span.kind, 1.0) * span.tokens for span in live)
        if not first and setting.head + most + whole + slack > setting.window:
            first = number
        if setting.head + least + summarised > setting.window:
            return first, number
        live += turn.reply
    raise AssertionError("the world has an end")


# a tombstone well below the mean item of 108 tokens: a plan aims at what it evicts, not at what that leaves
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("tokens", [12, 24, 48])
def test_the_ledger_itself_is_the_leak(placement: str, tokens: int) -> None:
    for replication in range(4):
        setting, run = tombstoned(placement, tokens, replication)
        low, high = leak_bounds(setting, replication, tokens, placement)
        assert run.outcome == "overflow"
        assert low <= run.summary["turns"] <= high


@pytest.mark.parametrize("tokens", [12, 24, 48])
def test_the_leak_fills_the_room_beside_the_longest_subgoal(tokens: int) -> None:
    """Two items a turn leave a tombstone each: room / leak, less at most what one subgoal takes of it."""
    for replication in range(4):
        setting, run = tombstoned("inside-free", tokens, replication)
        room, leak = setting.window - setting.head, 2 * tokens
        subgoal = 15 * (175 + 40)
        assert (room - subgoal) / leak <= run.summary["turns"] <= room / leak


@pytest.mark.parametrize("tokens", [12, 48])
def test_outside_nothing_leaks(tokens: int) -> None:
    _, run = tombstoned("outside", tokens, 0, horizon=2_000)
    assert (run.outcome, run.summary["tombstone_tokens"]) == ("horizon", 0)
    assert run.summary["tombstones"] > 3_000
    assert run.summary["rewrites_refused"] < 0.05 * len(run.rewrite_rows)


def test_what_is_free_is_not_in_net_and_what_is_charged_is() -> None:
    for placement in ("outside", *PLACEMENTS):
        setting, run = tombstoned(placement, 12, 0)
        committed = [entry for entry in run.rewrite_rows if entry.outcome in COMMITTED]
        rationale = setting.laws.rationale.base
        for entry in committed:
            assert entry.net == entry.freed - entry.rewrite_cost - entry.measurement_cost
            assert entry.tokens_after == entry.tokens_before - entry.net + entry.tombstones
            assert (entry.tombstones > 0) <= (placement == "inside-free")
            assert (entry.rewrite_cost > rationale) <= (placement == "inside-charged")
        inside = {
            "outside": 0,
            "inside-free": sum(entry.tombstones for entry in committed),
            "inside-charged": sum(entry.rewrite_cost - rationale for entry in committed),
        }
        assert run.summary["tombstone_tokens"] == inside[placement]
        if placement != "outside":
            assert inside[placement] == 12 * run.summary["tombstones"]


# --------------------------------------------------------------------------- scaling

TOKENS_OF_SCENARIOS = {
    *("tokens", "head", "output_reserve", "retry_tokens", "rederive_tokens", "rederive"),
    *("full_tokens", "delta_tokens", "evict_tokens", "floor", "base"),
}
SPEEDS = ("provider.prefill_tokens_per_second", "provider.decode_tokens_per_second")
TOKENS_OF_ROWS = {
    *(
        "tokens",
        "believed_tokens",
        "arrived_tokens",
        "retired",
        "out_of_band",
        "tokens_before",
        "tokens_after",
    ),
    *("estimated_saving", "freed", "rewrite_cost", "measurement_cost", "arrivals_during", "tombstones"),
    *("out_of_band_during", "net", "believed_net", "selected_tokens", "own_selected_tokens"),
    *("summaries_tokens", "measured_error", "window", "reinjected"),
    *("rebuild_tokens", "unread_tokens", "prospective_net", "lost", "retired_during"),
    "usd",  # so many tokens at a price
}
SAYS_TOKENS = {"reason"}  # a sentence with figures in it
ROUNDED = {"confidence", "confidence_before", "confidence_after"}
"""A summary's doubt is whole tokens: each is off by half a token at most, of thousands."""


class Scale(NamedTuple):
    """How many times as long a scenario is before it is doubled, with ratios that nothing is rounded by."""

    factor: int
    of_scenario: Said
    of_policy: Said


SCALES = {
    "lossy-boundary-exact": Scale(
        2**12,
        {"laws.summary.ratio": 0.25},
        {"replacement.ratio": 0.25, "replacement.ratio_per_pass": 0.5},
    ),
    "coherence-inversion-exact": Scale(1, {}, {}),
    "instruction-decay-exact": Scale(1, {}, {}),
}


def longer(value: object, factor: int, key: str = "") -> object:
    """A table of a scenario with every figure in tokens that many times as large."""
    if isinstance(value, dict):
        return {name: longer(one, factor, name) for name, one in value.items()}
    if isinstance(value, list):
        return [longer(one, factor) for one in value]
    return factor * value if key in TOKENS_OF_SCENARIOS and isinstance(value, int) else value


def stretched(name: str, policy: str, times: int) -> Run:
    """A run of a scenario with all tokens that many times its scale, under a policy with caps as long."""
    scale = SCALES[name]
    factor = times * scale.factor
    data = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
    tables = {table: longer(data[table], factor) for table in ("window", "laws", "workload")}
    provider = load_scenario(name).file.provider
    speeds = {path: factor * getattr(provider, path.split(".")[1]) for path in SPEEDS}
    setting = load_scenario(name, {**tables, **speeds, **scale.of_scenario}).setting()
    caps = {"deliberation.cap": 160 * factor, "tombstones.tokens": 12 * factor}
    return run_of(setting, policy, 0, {**scale.of_policy, **(caps if policy == "guarded" else {})})


def tables_of(run: Run) -> tuple[list[Any], ...]:
    return run.turn_rows, run.rewrite_rows, run.event_rows, run.obedience_rows


@pytest.mark.parametrize("name", SCALES)
def test_all_tokens_doubled_change_no_outcome_and_no_turn(name: str) -> None:
    seen = 0
    for policy in load_scenario(name).file.run.policies:
        one, two = stretched(name, policy, 1), stretched(name, policy, 2)
        assert two.outcome == one.outcome
        for rows, others in zip(tables_of(one), tables_of(two), strict=True):
            assert len(rows) == len(others)
            for row, other in zip(rows, others, strict=True):
                for field in set(row._fields) - SAYS_TOKENS - ROUNDED:
                    factor = 2 if field in TOKENS_OF_ROWS else 1
                    value = getattr(row, field)
                    assert getattr(other, field) == (value if value is None else factor * value), field
                for field in ROUNDED.intersection(row._fields):
                    assert getattr(other, field) == pytest.approx(getattr(row, field), abs=1e-3), field
        seen += len(one.rewrite_rows) + len(one.obedience_rows)
    assert seen > 2


@pytest.mark.parametrize("name", SCALES)
def test_prices_doubled_change_the_bill_and_nothing_else(name: str) -> None:
    cheap = load_scenario(name)
    prices = [price for price in type(cheap.file.provider).model_fields if price.endswith("_usd")]
    dear = load_scenario(name, {f"provider.{one}": 2 * getattr(cheap.file.provider, one) for one in prices})
    for policy in cheap.file.run.policies:
        one, two = (run_of(scenario.setting(), policy, 0) for scenario in (cheap, dear))
        dollars = {key for key in one.summary if "usd" in key}
        assert two.summary == {
            key: 2 * value if key in dollars else value for key, value in one.summary.items()
        }
        billed = [row._replace(usd=2 * row.usd) for row in one.rewrite_rows]
        assert tables_of(two) == (one.turn_rows, billed, one.event_rows, one.obedience_rows)
        assert one.summary["usd"] > 0


# --------------------------------------------------------------------------- figures stay out of mechanisms

DOCUMENTED = {
    "000": {91, 94, 700, 1_100, 480, 400, 380, 90, 88, 0.91, 0.94, 0.88, 946, 1_580, 21_840, 24_000},
    "002": {4_000, 4_096, 0.905, 3_940},
    "003": {512, 1_200, 1_900, 340, 610, 950, 0.63, 63, 0.11, 900, 0.3, 1_770, 330, 3_000, 2_100, 1_230},
    "004": {6.5, 3.5},
}
"""Figures of the field records and of their exact scenarios; small whole numbers are left out."""

EXCEPTIONS = {
    ("policies/conserving.py", 400): "the default of a prompt's length, which a policy file sets",
    ("policies/gate_tables.py", 0.3): "the threshold of the coherence gate, in the table of the file",
    ("policies/gates/coherence.py", 0.3): "the default of a threshold that a policy file sets: about 0.3",
    ("policies/replacements.py", 0.3): "the default of a believed ratio that a policy file sets",
    ("policies/schema.py", 0.3): "the same two defaults, in the tables of the file",
    ("policies/small_worlds.py", 0.3): "a ratio of worlds for the conformance suite, which hold no mechanism",
    ("policies/small_worlds.py", 4_000): "a window of such worlds",
    ("policies/witness.py", 400): "figures that the conformance suite shows to gates, beside honest ones",
    ("policies/witness.py", 380): "the same",
    ("policies/witness.py", 90): "the same",
    ("simulator/provider.py", 0.3): "a default price, dollars a million tokens",
    ("simulator/provider.py", 63): "a default speed, tokens a second",
}
"""Where a documented figure stands, and why it may."""


def figures_in(folder: Path) -> Iterator[tuple[str, float]]:
    """Every number in the code below a folder, with its file; what docstrings say is not code."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                yield str(path.relative_to(folder.parent)), node.value


def test_no_documented_figure_stands_in_a_mechanism() -> None:
    documented = {figure for figures in DOCUMENTED.values() for figure in figures}
    found = {
        (name, figure)
        for package in (simulator, policies)
        for name, figure in figures_in(Path(package.__path__[0]))
        if figure in documented
    }
    assert found == set(EXCEPTIONS)
