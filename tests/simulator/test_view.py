"""Belief: what a policy sees does not move when only the hidden truth does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import load_policy
from scenarios import load_scenario
from simulator.context import Context
from simulator.contracts import CheckPoint, CounterTerms, Policy, Terms, Turn
from simulator.counting import Sizes
from simulator.provider import ProviderSpec
from simulator.setting import Setting
from simulator.simulation import Run, simulate
from simulator.spans import Kind, Span
from simulator.view import Gauge, Item, believed, look

GAUGE = Gauge(CheckPoint.TURN_END, 3, 1000, 2000, 0, 1, 0, 0)
HIDDEN = {"compressible", "origin", "doubt", "carries", "binds"}


@pytest.mark.contract
def test_what_is_hidden_is_no_field_of_what_is_seen() -> None:
    assert not HIDDEN & set(Item._fields)
    assert set(Span._fields) <= set(Item._fields) | HIDDEN | {"restates"}  # seen in what it states


spans = st.lists(
    st.builds(
        Span,
        st.just(0),
        st.sampled_from(list(Kind)),
        st.integers(1, 2_000),
        st.integers(0, 9),
        subgoal=st.none() | st.integers(0, 3),
        needed=st.booleans(),
        passes=st.integers(0, 3),
    ),
    max_size=12,
)


def context_of(listed: list[Span]) -> Context:
    context = Context()
    for identity, span in enumerate(listed):
        context.append(span._replace(id=identity))
    context.close(1)
    context.protected.add(0)
    return context


ids = st.lists(st.integers(0, 20), max_size=3).map(tuple)
truths = st.tuples(st.booleans(), st.none() | st.integers(0, 99), st.integers(0, 50), ids, ids)


@pytest.mark.property
@given(
    spans,
    st.lists(st.tuples(st.sampled_from([False, None, True]), st.none() | st.integers(0, 20)), min_size=12),
    st.lists(truths, min_size=12, max_size=12),
)
def test_other_hidden_truth_gives_the_same_view(
    listed: list[Span], tags: list[tuple[bool | None, int | None]], other_truths: list[tuple]
) -> None:
    listed = [
        span._replace(constraint=tag, restates=restates)
        for span, (tag, restates) in zip(listed, tags, strict=False)
    ]
    other = [
        span._replace(compressible=dense, origin=origin, doubt=doubt, carries=carries, binds=binds)
        for span, (dense, origin, doubt, carries, binds) in zip(listed, other_truths, strict=False)
    ]
    assert look(context_of(other), GAUGE) == look(context_of(listed), GAUGE)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("tag", "restates", "states"),
    [
        (True, None, (0,)),  # a constraint of its own, or a false tag, which looks like one
        (True, 7, (7,)),  # one that is stated again
        (None, 7, (0,)),  # where nobody has said, nobody knows that it was stated before
        (None, None, (0,)),
        (False, None, ()),  # a tag that was missed
        (False, 7, ()),
    ],
)
@pytest.mark.parametrize("binds", [(), (0,), (7,), (3, 4)])
def test_a_span_states_what_its_tag_lets_be_known_and_not_what_binds(
    tag: bool | None, restates: int | None, states: tuple[int, ...], binds: tuple[int, ...]
) -> None:
    span = Span(0, Kind.USER, 9, constraint=tag, restates=restates, binds=binds)
    (item,) = look(context_of([span]), GAUGE).items
    assert (item.constraint, item.states) == (tag, states)


@pytest.mark.property
@given(spans, st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_sizes_that_a_coarse_counter_cannot_tell_apart_give_the_same_view(
    listed: list[Span], more: list[int]
) -> None:
    even = [span._replace(tokens=4 * span.tokens) for span in listed]
    other = [span._replace(tokens=span.tokens + one) for span, one in zip(even, more, strict=False)]
    coarse = Sizes(CounterTerms(ratio=0.25))
    assert look(context_of(other), GAUGE, coarse) == look(context_of(even), GAUGE, coarse)


@pytest.mark.unit
def test_a_view_holds_the_policys_count_in_context_order_and_leaves_out_what_is_unseen() -> None:
    context = context_of([Span(0, Kind.USER, 1000), Span(1, Kind.TOOL_RESULT, 30, subgoal=1)])
    context.append(Span(-1, Kind.RATIONALE, 9))
    sizes = Sizes(CounterTerms(ratio=0.72))
    view = look(context, GAUGE, sizes, unseen=[-1], judgement=[1.0, 2.0, 3.0])
    assert [(item.id, item.tokens, item.judgement) for item in view.items] == [(0, 720, 1.0), (1, 22, 2.0)]
    assert [(item.marked, item.closed, item.dead) for item in view.items] == [
        (True, False, False),
        (False, True, True),
    ]
    assert view.gauge is GAUGE


@pytest.mark.property
@given(st.integers(0, 10**9))
def test_an_exact_counter_believes_the_truth(tokens: int) -> None:
    assert believed(tokens, 1.0) == tokens


# --------------------------------------------------------------------------- whole runs


class Watched(Policy):
    """Another policy, with everything that it saw and said kept."""

    def __init__(self, inner: Policy) -> None:
        self.inner, self.name, self.terms = inner, inner.name, inner.terms

    def begin(self, brief: object) -> None:
        self.log: list[tuple[str, object, object]] = []
        self.inner.begin(brief)  # type: ignore[arg-type]

    def _kept(self, method: str, question: object) -> object:
        answer = getattr(self.inner, method)(question)
        self.log.append((method, question, answer))
        return answer

    def check(self, gauge: Gauge) -> bool:
        return self._kept("check", gauge)  # type: ignore[return-value]

    def admit(self, gauge: Gauge) -> object:  # type: ignore[override]
        return self._kept("admit", gauge)

    def propose(self, view: object) -> object:  # type: ignore[override]
        return self._kept("propose", view)

    def judge(self, proposal: object) -> object:  # type: ignore[override]
        return self._kept("judge", proposal)

    def learn(self, lesson: object) -> bool:
        return self._kept("learn", lesson)  # type: ignore[return-value]

    def resume(self, vitals: object) -> object:  # type: ignore[override]
        return self._kept("resume", vitals)

    def amend(self, amendment: object) -> object:  # type: ignore[override]
        return self._kept("amend", amendment)

    def rely(self, reliance: object) -> object:  # type: ignore[override]
        return self._kept("rely", reliance)


def up_to_first_plan(log: list[tuple[str, object, object]]) -> list[tuple[str, object, object]]:
    methods = [method for method, _, _ in log]
    return log[: methods.index("propose") + 1]


@pytest.mark.property
@pytest.mark.parametrize("name", ["naive", "guarded"])
def test_decisions_do_not_move_until_the_truth_has_shown_itself(name: str) -> None:
    logs = []
    for dense in (0.0, 1.0):
        scenario = load_scenario("rewrite-budget-spiral", {"workload.incompressible_share": dense})
        policy = Watched(load_policy(name))
        simulate(scenario.setting(), policy, 5)
        logs.append(policy.log)
    assert up_to_first_plan(logs[0]) == up_to_first_plan(logs[1])
    assert logs[0] != logs[1]  # the truth was really another: it shows in what was staged


def watched(scenario: str, name: str, said: dict[str, object]) -> tuple[list[tuple], Run]:
    policy = Watched(load_policy(name))
    run = simulate(load_scenario(scenario, said).setting(), policy, 5)
    return policy.log, run


@pytest.mark.contract
@pytest.mark.parametrize("name", ["naive", "salience-naive", "ungated", "evidence-only", "guarded"])
def test_decisions_do_not_move_with_what_summaries_have_lost(name: str) -> None:
    said: dict[str, object] = {"run.horizon": 150, "supervisor.act": "oldest"}  # who spares, knows the truth
    logs, held = [], set()
    for retention, force, shock in ((1, 1, 0.0), (0, 1, 0.0), (1, 0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.5, 1.0)):
        law = {"retention": retention, "force": force, "shock": shock}
        log, run = watched(
            "lossy-boundary", name, said | {f"laws.evidence.{key}": value for key, value in law.items()}
        )
        logs.append(log)
        held.add(run.summary["constraints_held"])
    assert all(log == logs[0] for log in logs)
    assert (len(held) > 1) is (name == "salience-naive")  # who summarises constraints loses them, or not
    assert sum(method == "propose" for method, _, _ in logs[0]) > 3


@pytest.mark.contract
@pytest.mark.parametrize("name", ["naive", "salience-naive"])
def test_no_summary_and_no_placeholder_has_the_tag_of_a_constraint(name: str) -> None:
    log, _ = watched("lossy-boundary", name, {"laws.evidence.retention": 1, "laws.evidence.force": 1})
    made = [
        item
        for method, view, _ in log
        if method == "propose"
        for item in view.items
        if item.kind in {Kind.SUMMARY, Kind.PLACEHOLDER}
    ]
    assert made
    assert {(item.constraint, item.states) for item in made} == {(False, ())}


@pytest.mark.contract
@pytest.mark.parametrize("name", ["naive", "guarded", "static-instructions"])
def test_decisions_do_not_move_with_what_binds(name: str) -> None:
    # whoever fails is told so: without failures nothing of obedience is to be seen
    said: dict[str, object] = {"laws.binding.failure_share": 0, "instructions.accreted": 3}
    logs, rates = [], []
    for law in (
        {"obey": 1, "kept_at_change": 1, "decay": 0, "midpoint": 100},
        {"obey": 0.3, "kept_at_change": 1, "decay": 0, "midpoint": 100},
        {"obey": 1, "kept_at_change": 0, "decay": 0.1, "midpoint": 2, "urgency": 3},
        {"obey": 1, "kept_at_change": 1, "decay": 0, "midpoint": 100, "power": 0.5, "quote": 0.1},
    ):
        log, run = watched(
            "instruction-decay", name, said | {f"laws.binding.{key}": value for key, value in law.items()}
        )
        logs.append(log)
        rates.append(run.summary["actual_compliance"])
    assert logs[0] == logs[1] == logs[2] == logs[3]
    assert any(method == "rely" for method, _, _ in logs[0])
    assert len(set(rates)) == 4


@pytest.mark.unit
def test_the_gauge_of_a_check_is_what_stands_in_the_window(
    listed: type, scripted: Callable[..., Policy], constant: Callable[..., tuple]
) -> None:
    points = frozenset({CheckPoint.TURN_START, CheckPoint.AFTER_RESULT, CheckPoint.TURN_END})
    policy = scripted(terms=Terms(check_points=points, counter=CounterTerms(ratio=0.5)), check_by=False)
    workload = listed(constant(2, 100, reply=40, dies=True))
    simulate(Setting("gauge", 5_000, workload, head=60, output_reserve=7), policy)
    seen = [
        (gauge.point, gauge.turn, gauge.tokens, gauge.requests_since_rewrite, gauge.dead_tokens)
        for gauge in policy.gauges
    ]
    assert seen == [
        (CheckPoint.TURN_START, 1, 30, 0, 0),
        (CheckPoint.AFTER_RESULT, 1, 80, 0, 0),
        (CheckPoint.TURN_END, 1, 100, 1, 0),
        (CheckPoint.TURN_START, 2, 100, 1, 50),
        (CheckPoint.AFTER_RESULT, 2, 150, 1, 50),
        (CheckPoint.TURN_END, 2, 170, 2, 50),
    ]
    assert {(gauge.window, gauge.output_reserve) for gauge in policy.gauges} == {(5_000, 7)}
    assert [gauge.by_kind[Kind.TOOL_RESULT] for gauge in policy.gauges] == [0, 50, 50, 50, 100, 100]


@pytest.mark.unit
@pytest.mark.parametrize("head", [0, 60])
def test_a_gauge_counts_messages_without_the_head_and_the_time_since_the_last_request(
    listed: type, scripted: Callable[..., Policy], constant: Callable[..., tuple], head: int
) -> None:
    points = frozenset({CheckPoint.TURN_START, CheckPoint.BEFORE_REQUEST})
    policy = scripted(terms=Terms(check_points=points), check_by=False)
    second = ProviderSpec(overhead_seconds=1.0, prefill_tokens_per_second=1e12, decode_tokens_per_second=1e12)
    workload = listed(constant(2, 100, reply=40, seconds=7.0))
    simulate(Setting("gauge", 5_000, workload, head=head, provider=second), policy)
    seen = [(gauge.messages, round(gauge.time_s, 3), round(gauge.idle_seconds, 3)) for gauge in policy.gauges]
    assert seen == [(0, 0, 0), (1, 7, 7), (2, 8, 0), (3, 15, 7)]


@pytest.mark.unit
def test_a_gauge_by_class_is_the_share_of_what_the_whole_is_estimated_at(
    listed: type, scripted: Callable[..., Policy]
) -> None:
    """Totals by kind are scaled alike: their sum is that of the estimate of all spans."""
    spans = (
        Span(0, Kind.USER, 1_000, content_class="cjk"),
        Span(1, Kind.TOOL_RESULT, 3_000, content_class="code"),
    )
    terms = Terms(counter=CounterTerms(ratios=(("cjk", 0.3), ("code", 0.9))))
    policy = scripted(terms=terms, check_by=False)
    simulate(Setting("gauge", 9_000, listed((Turn(),), spans)), policy)
    (gauge,) = policy.gauges
    assert gauge.tokens == sum(gauge.by_kind.values()) == 300 + 2_700
