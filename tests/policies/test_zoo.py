"""The policies that people ship: each file's figures are those of its system, and each lives.

The figures are typed here from the comparison table of the policy zoo. What has no default in the real
system is our choice and is not held to anything.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from policies import ComposedPolicy, load_policy, policy_names
from policies.checker import check_policy
from policies.loader import read_policy
from policies.openhands import OpenHandsCondenser, legal_cuts
from policies.staged import Escalating, Layered
from scenarios import load_scenario
from simulator.context import Context
from simulator.contracts import Brief, CheckPoint
from simulator.counting import Sizes
from simulator.plan import Fold
from simulator.simulation import simulate
from simulator.spans import Kind, Span
from simulator.view import Gauge, look

ZOO = [name for name in policy_names() if read_policy(name).data.get("group") in ("zoo", "stages")]

AT_LEAST = {
    "anthropic-clear-tool-uses", "anthropic-server-compaction", "claude-code-auto", "codex-local",
    "gemini-cli-compress", "gemini-cli-mask", "adk-token-threshold", "openhands-condenser", "openhands-mask",
    "swe-agent-last-n", "swe-agent-last-n-polling", "summarize-every-n", "hybrid-mask-summary",
    "langchain-summarize", "langchain-clear-tool-uses", "langchain-trim", "letta-sliding-window",
    "cline-agentic", "cline-basic", "roo-condense", "roo-condense-size-check", "goose", "opencode-prune",
    "opencode-compact", "aider", "pi", "strands-summarizing", "strands-sliding-window", "deepagents",
}  # fmt: skip

FIGURES: dict[str, dict[str, object]] = {
    "anthropic-clear-tool-uses": {
        "trigger.tokens": 100_001, "keeping.results": 3, "replacement.kind": "mask",
        "counter.kind": "estimate",
    },
    "anthropic-server-compaction": {
        "trigger.tokens": 150_000, "keeping.last": 0, "replacement.group_by": "all",
        "request.shares_prefix": True,
    },
    "claude-code-auto": {
        "trigger.reserve": 13_000, "trigger.output_most": 20_000, "reinjection.results": 5,
        "reinjection.result_tokens": 5_000, "reinjection.standing_tokens": 25_000,
        "reinjection.standing_item_tokens": 5_000, "guard.thrash_turns": 3, "guard.halt_after": 3,
        "request.shares_prefix": True,
    },
    "codex-local": {
        "trigger.fraction": 0.9, "keeping.user_tokens": 20_000, "replacement.position": "last",
        "counter.kind": "usage", "counter.tail": True, "request.on_failure": "raise",
    },
    "gemini-cli-truncate": {
        "trigger.fraction": 0.5, "keeping.result_tokens": 50_000, "replacement.clip_tokens": 40_000 // 4,
    },
    "gemini-cli-snapshot": {
        "trigger.fraction": 0.5, "keeping.share": 0.3, "keeping.cut": "user", "request.calls": 2,
        "request.overhead_tokens": 980, "request.window": 1_048_576, "guard.latch_after": 1,
        "request.shares_prefix": False,
    },
    "gemini-cli-mask": {
        "keeping.result_tokens": 50_000, "keeping.requests": 1, "gates.reclaim": 30_000,
        "selector.only_savings": True,
    },
    "adk-token-threshold": {
        "request.overhead_tokens": 200, "request.item_tokens": 2_000 // 4, "request.on_failure": "leave",
        "gates.prediction": True,
    },
    "openhands-mask": {"keeping.last": 100, "replacement.kind": "mask"},
    "swe-agent-last-n": {"keeping.results": 5, "keeping.polling": 1},
    "swe-agent-last-n-polling": {"keeping.results": 5},
    "trap-mask": {"keeping.results": 10, "keeping.polling": 1},
    "summarize-every-n": {"trigger.turns": 21, "trigger.first_turns": 21 + 10, "keeping.requests": 10},
    "hybrid-summary-stage": {"trigger.turns": 43, "trigger.first_turns": 43 + 10, "keeping.requests": 10},
    "langchain-summarize": {
        "keeping.last": 20, "keeping.cut": "not_result", "keeping.cut_moves": "back",
        "request.coverage_tokens": 4_000, "request.overhead_tokens": 680, "request.ladder": (),
        "request.on_failure": "raise", "retries": 3 - 1,
    },
    "langchain-clear-tool-uses": {"trigger.tokens": 100_001, "keeping.results": 3, "trigger.latches": True},
    "langchain-trim": {"replacement.kind": "evict", "keeping.pairs": "ignore"},
    "letta-sliding": {
        "trigger.fraction": 0.9, "keeping.oldest_share": 0.4, "keeping.oldest_step": 0.1,
        "keeping.share": 0.7, "keeping.share_of": "window", "keeping.cut": "assistant",
        "replacement.cap": 50_000 // 4, "gates.result_target": 0.9,
    },
    "cline-summary": {
        "trigger.fraction": 0.9 * 0.9, "keeping.tokens": 20_000, "keeping.users": 1, "replacement.cap": 4_096,
        "request.item_tokens": 2_000 // 4,
    },
    "cline-basic": {"trigger.low_watermark": 0.7 * 0.81, "keeping.pairs": "whole"},
    "roo-summary": {
        "trigger.fraction": 0.9, "trigger.output_most": 8_192, "request.overhead_tokens": 1_580,
        "reinjection.standing_tokens": 50_000 // 4, "keeping.last": 0,
    },
    "roo-truncate": {"keeping.first": 1, "keeping.oldest_share": 0.5, "replacement.kind": "evict"},
    "goose": {"trigger.fraction": 0.8, "keeping.users": 1, "request.ladder": (0.9, 0.8, 0.5)},
    "opencode-prune": {
        "keeping.result_tokens": 40_000, "keeping.turns": 2, "gates.reclaim": 20_001,
    },
    "opencode-compact": {
        "trigger.fraction": 1.0, "keeping.tokens": 8_000, "keeping.share": 0.25, "keeping.share_of": "usable",
        "request.item_tokens": 2_000 // 4,
        "request.shares_prefix": False, "request.on_failure": "raise",
    },
    "aider": {
        "trigger.fraction": 1 / 16, "trigger.tokens": 8_193, "keeping.tokens": 8_192 // 2,
        "keeping.share": 1 / 32, "request.overhead_tokens": 215, "background": True,
    },
    "pi": {
        "trigger.reserve": 16_384, "keeping.tokens": 20_000, "keeping.rounds": "up",
        "replacement.cap": int(0.8 * 16_384), "request.overhead_tokens": 220, "request.on_failure": "raise",
    },
    "strands-summarizing": {
        "keeping.oldest_share": 0.3, "keeping.last": 10, "keeping.cut_moves": "forward",
        "request.overhead_tokens": 230, "request.on_failure": "raise",
    },
    "strands-sliding-window": {"trigger.messages": 41, "keeping.last": 40, "replacement.kind": "evict"},
    "deepagents-clip": {"replacement.clip_over": 2_000 // 4, "keeping.share": 0.10},
    "deepagents-summary": {"trigger.fraction": 0.85, "keeping.share": 0.10, "keeping.share_of": "window"},
}  # fmt: skip
"""What the table says, by the part that says it here. Characters are of four to a token."""


def figures(policy: ComposedPolicy) -> Mapping[str, object]:
    """Return every figure of a policy's parts and terms by the names used above."""
    parts, terms = policy.parts, policy.terms
    told: dict[str, object] = {"retries": terms.retries, "background": terms.background is not None}
    for name, part in (
        ("trigger", parts.trigger), ("selector", parts.selector), ("keeping", parts.selector.keeping),
        ("replacement", parts.replacement), ("guard", parts.guard), ("counter", terms.counter),
        ("request", terms.request), ("reinjection", terms.reinjection),
    ):  # fmt: skip
        told |= {f"{name}.{key}": getattr(part, key) for key in type(part).__dataclass_fields__}
    for gate in parts.gates:
        least = vars(gate).get("_tokens") or vars(gate).get("_share") or True
        told[f"gates.{gate.name}"] = least
    return told


@pytest.mark.documented
def test_the_zoo_has_them_all() -> None:
    assert set(ZOO) >= AT_LEAST


@pytest.mark.documented
@pytest.mark.parametrize("name", FIGURES)
def test_a_file_has_the_figures_of_its_system(name: str) -> None:
    policy = load_policy(name)
    assert isinstance(policy, ComposedPolicy)
    told = figures(policy)
    for key, figure in FIGURES[name].items():
        assert told[key] == (pytest.approx(figure) if isinstance(figure, float) else figure), key


@pytest.mark.documented
@pytest.mark.parametrize("name", ZOO)
def test_a_file_says_where_it_is_from_and_what_its_system_asks(name: str) -> None:
    data = read_policy(name).data
    assert str(data["source"]).startswith("policy zoo ")
    assert data["version"]
    assert data["prefix"] in ("shared", "fresh", "none")
    assert data["gate_class"] or name == "claude-code-auto"  # whose gate is not published
    policy = load_policy(name)
    assert not policy.terms.deliberates
    assert policy.terms.measurement.value == "none"


@pytest.mark.documented
@pytest.mark.parametrize("name", ZOO)
def test_what_a_file_says_of_its_prefix_is_what_its_request_does(name: str) -> None:
    policy = load_policy(name)
    leads = policy.lead if isinstance(policy, Escalating | Layered) else policy
    asks = not isinstance(leads, ComposedPolicy) or leads.parts.replacement.kind == "summary"
    said = read_policy(name).data["prefix"]
    assert (said != "none") == asks
    assert (said == "shared") == (asks and policy.terms.request.shares_prefix)


LIMITS = [
    ("claude-code-auto", 200_000, 20_000, 167_000 + 1),
    ("claude-code-auto", 200_000, 64_000, 167_000 + 1),
    ("claude-code-auto", 1_000_000, 32_000, 967_000 + 1),
    ("claude-code-auto", 32_768, 2_048, 17_720 + 1),
    ("opencode-compact", 200_000, 32_000, 168_000),
    ("opencode-compact", 65_536, 32_000, 33_536),  # field report S02
    ("opencode-compact", 32_768, 2_048, 30_720),
    ("roo-summary", 200_000, 8_192, 171_808),
    ("roo-summary", 128_000, 4_000, 111_200),
    ("pi", 200_000, 20_000, 200_000 - 16_384 + 1),
    ("cline-summary", 200_000, 8_192, 162_000),
    ("goose", 49_152, 2_048, 39_322),
]
"""Policy, window, output reserve, and the smallest count at which the real system acts."""


@pytest.mark.documented
@pytest.mark.parametrize(("name", "window", "reserve", "fires_at"), LIMITS)
def test_it_fires_where_its_system_does_in_any_window(
    name: str, window: int, reserve: int, fires_at: int
) -> None:
    policy = load_policy(name)
    policy.begin(Brief(window, reserve))
    counts = [fires_at - 1, fires_at]
    gauges = [Gauge(CheckPoint.BEFORE_REQUEST, 1, count, window, reserve, 0, 0, {}) for count in counts]
    assert [policy.check(gauge) for gauge in gauges] == [False, True]


TRUE_OF_FOUR = {"text": 1.0, "json": 0.7, "cjk": 0.3}
"""Characters / 4 over true tokens by class: field report S31."""

COUNTS = {  # what a character counts, over a quarter: a plain one, and a CJK one
    "cline-summary": (4 / 3, 4 / 3),  # characters / 3
    "cline-basic": (4 / 3, 4 / 3),
    "codex-local": (1, 3),  # bytes / 4, three bytes a CJK character
    "letta-sliding": (1.3, 1.3 * 3),
    "letta-all": (1.3, 1.3 * 3),
    "gemini-cli-mask": (1, 1.5 / 0.25),
    "gemini-cli-snapshot": (1, 1.5 / 0.25),
    "gemini-cli-truncate": (1, 1.5 / 0.25),
    "adk-token-threshold": (1, 1),
    "langchain-summarize": (1, 1),
    "langchain-clear-tool-uses": (1, 1),
    "langchain-trim": (1, 1),
    "deepagents-clip": (1, 1),
    "deepagents-summary": (1, 1),
    "opencode-prune": (1, 1),
    "opencode-compact": (1, 1),
    "pi": (1, 1),
}


@pytest.mark.documented
@pytest.mark.parametrize("name", COUNTS)
def test_a_counter_of_characters_errs_by_class_as_its_system_does(name: str) -> None:
    plain, cjk = COUNTS[name]
    sizes = Sizes(load_policy(name).terms.counter)
    for content, ratio in TRUE_OF_FOUR.items():
        span = Span(0, Kind.TOOL_RESULT, 10_000, content_class=content)
        expected = 10_000 * ratio * (cjk if content == "cjk" else plain)
        assert sizes.of(span) == pytest.approx(expected, rel=0.005), content


@pytest.mark.documented
def test_one_that_fails_is_asked_as_often_as_its_system_is() -> None:
    scenario = load_scenario("zoo-coding-agent", {"provider.failure_share": 1.0})
    (first, *_) = simulate(scenario.setting(), load_policy("langchain-summarize"), seed=11).rewrite_rows
    assert first.outcome == "failed"
    assert first.requests == 3


@pytest.mark.documented
@pytest.mark.parametrize(
    ("window", "reserve", "kept"),
    [(32_768, 2_048, 30_720 // 4), (32_768, 12_768, 20_000 // 4), (200_000, 32_000, 8_000)],
)
def test_the_tail_of_opencode_is_a_quarter_of_what_is_usable(window: int, reserve: int, kept: int) -> None:
    context = events("u" * 1_000)
    policy = load_policy("opencode-compact")
    policy.begin(Brief(window, reserve))
    gauge = gauge_of(context, CheckPoint.OVERFLOW)._replace(window=window, output_reserve=reserve)
    assert policy.check(gauge)
    gone = tuple(policy.propose(look(context, gauge)).sources())
    assert context.tokens - sum(context[identity].tokens for identity in gone) == kept


GATE_OF = {"G1": "reclaim", "G2": "size_cap", "G3": "result_target", "G4": "prediction"}


@pytest.mark.documented
@pytest.mark.parametrize("name", [name for name in ZOO if name != "openhands-condenser"])  # a gate of its own
def test_a_file_of_a_gate_class_has_its_gate_and_no_other_has_it(name: str) -> None:
    policy = load_policy(name)
    stages = policy.stages if isinstance(policy, Escalating | Layered) else (policy,)
    orders = [read_policy(stage.name).data.get("gates", {}) for stage in stages]
    asked = {gate for gates in orders for gate in dict(gates).get("order", [])}
    expected = GATE_OF.get(str(read_policy(name).data["gate_class"]))
    assert asked & set(GATE_OF.values()) == ({expected} if expected else set())


@pytest.mark.contract
@pytest.mark.parametrize("scenario", ["rewrite-budget-spiral", "constant-arrivals"])
@pytest.mark.parametrize("name", ZOO)
def test_it_lives_where_the_records_live(name: str, scenario: str) -> None:
    run = simulate(load_scenario(scenario).setting(), load_policy(name), seed=11)
    assert run.outcome in ("horizon", "complete", "overflow", "halted")
    assert run.summary["turns"] > 0


@pytest.mark.contract
@pytest.mark.parametrize("name", ZOO)
def test_a_provider_that_requires_pairs_refuses_none_of_them(name: str) -> None:
    run = simulate(load_scenario("zoo-coding-agent").setting(), load_policy(name), seed=11)
    assert run.outcome != "dead"


@pytest.mark.contract
@pytest.mark.parametrize("name", ["strands-summarizing", "letta-sliding-window", "gemini-cli-compress"])
def test_the_odd_ones_conform(name: str) -> None:
    assert [check for check in check_policy(name) if not check.passed] == []


# --------------------------------------------------------------------------- the condenser's own rules


def events(said: str) -> Context:
    """Return a context of one span a letter: user, answer, thinking, call, result."""
    kinds = {
        "u": Kind.USER,
        "a": Kind.ASSISTANT,
        "t": Kind.THINKING,
        "c": Kind.TOOL_CALL,
        "r": Kind.TOOL_RESULT,
    }
    context = Context()
    turn = pair = 1
    for place, letter in enumerate(said):
        turn += letter in "ur" and place > 0
        pair = turn if letter == "c" else pair
        context.append(Span(place, kinds[letter], 10, turn, pair=pair if letter in "tcr" else None))
    return context


def gauge_of(context: Context, point: CheckPoint = CheckPoint.BEFORE_REQUEST) -> Gauge:
    return Gauge(point, 9, context.tokens, 10**6, 0, 1, 0, context.by_kind, len(context))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "cuts"),
    [
        ("uau", [0, 1, 2, 3]),
        ("ucrcr", [0, 1, 3, 5]),  # not between a call and its result
        ("uaccrr", [0, 1, 6]),  # nor within an answer
        ("utcrcra", [0, 1, 6, 7]),  # nor within a loop that a signed block has opened
    ],
)
def test_events_are_cut_where_nothing_is_torn(said: str, cuts: list[int]) -> None:
    context = events(said)
    assert legal_cuts(look(context, gauge_of(context)).items) == cuts


@pytest.mark.unit
def test_above_its_size_it_folds_to_half_and_keeps_the_first_events() -> None:
    condenser = load_policy("openhands-condenser")
    assert isinstance(condenser, OpenHandsCondenser)
    condenser.begin(Brief(10**6))
    assert not condenser.check(gauge_of(events("u" * 80)))
    context = events("u" * 81)
    assert condenser.check(gauge_of(context))
    plan = condenser.propose(look(context, gauge_of(context)))
    assert plan.operations == (Fold(tuple(range(4, 81 - (80 // 2 - 4 - 1)))),)


@pytest.mark.unit
def test_softly_it_goes_on_where_nothing_is_to_be_taken_and_pressed_it_takes_all() -> None:
    condenser = OpenHandsCondenser(max_size=20, keep_first=2)
    context = events("ut" + "cr" * 12)  # one signed loop: no legal cut but its ends
    assert condenser.check(gauge_of(context))
    assert condenser.propose(look(context, gauge_of(context))).refusal
    pressed = gauge_of(context, CheckPoint.OVERFLOW)
    assert condenser.check(pressed)
    assert condenser.propose(look(context, pressed)).operations == (Fold(tuple(range(26))),)
