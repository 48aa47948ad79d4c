"""Replay: what a session becomes, what it takes, and that any policy can be run on it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import load_policy
from scenarios.logs import read_sessions
from scenarios.logs.session import Citation, Kind, Message, Rewrite, Session, Usage
from scenarios.logs.sizes import billed_sizes
from scenarios.replay import ReplayScenario, _replay, replay_scenarios
from scenarios.scenario import load_scenario
from scenarios.workloads.replay import MOST_WAITING_SECONDS, ReplayWorkload
from simulator import simulate
from simulator.context import Context
from simulator.contracts import CheckPoint
from simulator.errors import InputError
from simulator.plan import Fold
from simulator.simulation import brief_of
from simulator.spans import Kind as SpanKind
from simulator.spans import Provenance, Span
from simulator.streams import Streams
from simulator.view import Gauge, look

POLICIES = ("naive", "guarded", "truncate-oldest")
ENDLESS = 10**9


def user(tokens: int = 10, **keys: object) -> dict[str, object]:
    return {"kind": "user", "tokens": tokens, **keys}


def text(request: str, tokens: int = 10, **keys: object) -> dict[str, object]:
    return {"kind": "assistant", "tokens": tokens, "request": request, **keys}


def call(request: str, call: str, tokens: int = 10, **keys: object) -> dict[str, object]:
    return {"kind": "tool_call", "tokens": tokens, "request": request, "call": call, **keys}


def result(call: str, tokens: int = 10, **keys: object) -> dict[str, object]:
    return {"kind": "tool_result", "tokens": tokens, "call": call, **keys}


def other(kind: Kind, tokens: int = 10) -> dict[str, object]:
    return {"kind": kind, "tokens": tokens}


def session(
    *messages: dict[str, object],
    usages: Sequence[tuple[int, int]] = (),
    rewrites: Sequence[Rewrite] = (),
    citations: Sequence[Citation] = (),
    name: str = "hand made",
    prefix: int | None = None,
) -> Session:
    """A session; usages are (index of the first message of the answer, billed input)."""
    made = tuple(
        Message(index=index, text_bytes=4 * int(str(keys["tokens"])), **keys)
        for index, keys in enumerate(messages)
    )
    billed = tuple(Usage(f"call {at}", at, total, 0, 0, at) for at, total in usages)
    return Session(
        format="claude_code",
        name=name,
        source=Path("hand-made.jsonl"),
        messages=made,
        rewrites=tuple(rewrites),
        usages=billed,
        citations=tuple(citations),
        prefix_tokens=prefix,
        bytes_per_token=4.0,
        bytes_per_token_source="made by hand",
        notes=("A note of the reader.",),
    )


def replay(made: Session, window: int = 10_000, prefix: int | None = None) -> ReplayScenario:
    return _replay(made, "replay-hand-made", load_scenario("replay-model"), window, prefix, billed=True)


def spans(workload: ReplayWorkload) -> list[Span]:
    return [span for turn in workload.recorded for span in (*turn.arrivals, *turn.reply)]


def by_id(workload: ReplayWorkload) -> dict[int, Span]:
    return {span.id: span for span in spans(workload)}


def inputs(scenario: ReplayScenario) -> Iterator[int]:
    """The tokens of each request when nothing is ever rewritten."""
    tokens = scenario.head
    for turn in scenario.workload.recorded:
        tokens += sum(span.tokens for span in turn.arrivals)
        yield tokens
        tokens += sum(span.tokens for span in turn.reply)


# ------------------------------------------------------------------ turns


@pytest.mark.unit
class TestTurns:
    def test_a_turn_is_a_model_call_with_what_came_before_it(self):
        made = session(user(), text("a"), call("a", "x"), result("x"), text("b"), user(), text("c"))
        turns = ReplayWorkload.of(made).recorded
        assert [[span.id for span in turn.arrivals] for turn in turns] == [[0], [3], [5]]
        assert [[span.id for span in turn.reply] for turn in turns] == [[1, 2], [4], [6]]
        assert [turn.user_turn for turn in turns] == [True, False, True]
        assert [span.born for span in spans(ReplayWorkload(turns))] == [1, 1, 1, 2, 2, 3, 3]

    def test_a_result_logged_inside_its_request_is_read_by_the_next_one(self):
        made = session(user(), call("a", "x"), result("x"), call("a", "y"), result("y"), text("b"))
        first, second = ReplayWorkload.of(made).recorded
        assert [span.id for span in first.reply] == [1, 3]
        assert [span.id for span in second.arrivals] == [2, 4]

    def test_kinds_provenances_and_classes(self):
        made = session(
            other("injected"), user(), text("a"), call("a", "x"), result("x"), other("system"), text("b")
        )
        found = [(s.kind, s.provenance, s.content_class) for s in spans(ReplayWorkload.of(made))]
        assert found == [
            (SpanKind.USER, Provenance.RUNTIME, "prose"),
            (SpanKind.USER, Provenance.USER, "prose"),
            (SpanKind.ASSISTANT, Provenance.SELF, "prose"),
            (SpanKind.TOOL_CALL, Provenance.SELF, "code"),
            (SpanKind.TOOL_RESULT, Provenance.TOOL, "code"),
            (SpanKind.USER, Provenance.RUNTIME, "prose"),
            (SpanKind.ASSISTANT, Provenance.SELF, "prose"),
        ]

    def test_a_pair_is_a_request_so_that_only_parallel_results_fold(self):
        made = session(
            user(),
            call("a", "x"),
            call("a", "y"),
            result("x"),
            result("y"),
            call("b", "z"),
            result("z"),
            result("before the log"),
            text("c"),
        )
        found = by_id(ReplayWorkload.of(made))
        assert [found[index].pair for index in (1, 2, 3, 4)] == [1, 1, 1, 1]
        assert [found[index].pair for index in (5, 6)] == [2, 2]
        assert found[7].pair is None
        assert found[0].pair is found[8].pair is None

    def test_subgoals_are_user_turns_and_close_with_the_next_user_message(self):
        made = session(
            user(), call("a", "x"), result("x"), user(), user(), text("b"), other("injected"), text("c")
        )
        turns = ReplayWorkload.of(made).recorded
        assert [turn.closes for turn in turns] == [(), (1,), ()]
        assert {span.subgoal for span in turns[0].arrivals + turns[0].reply} == {1}
        # The result arrives with the user's message: it may not be dead before a model has read it.
        assert {span.subgoal for turn in turns[1:] for span in turn.arrivals + turn.reply} == {2}

    def test_a_log_that_starts_without_a_user_message_has_a_subgoal_of_its_own(self):
        turns = ReplayWorkload.of(session(text("a"), user(), text("b"))).recorded
        assert [turn.closes for turn in turns] == [(), (0,)]
        assert [span.subgoal for turn in turns for span in turn.reply] == [0, 1]

    def test_needed_is_what_is_last_cited_after_its_user_turn(self):
        made = session(
            user(), call("a", "x"), result("x"), call("b", "y"), result("y"), text("c"), user(), text("d"),
            citations=[Citation(2, 3, 7, 4), Citation(4, 5, 5, 1)],
        )  # fmt: skip
        found = by_id(ReplayWorkload.of(made))
        assert [index for index, span in found.items() if span.needed] == [2]
        assert {index: span.cites for index, span in found.items() if span.cites} == {
            3: (2,),
            5: (4,),
            7: (2,),
        }

    def test_what_was_written_before_a_result_was_read_does_not_cite_it(self):
        # The second half of request "b" is logged late, after the result that only "c" reads.
        made = session(
            user(), call("a", "x"), text("b"), result("x"), text("b"), text("c"),
            citations=[Citation(3, 4, 5, 2)],
        )  # fmt: skip
        found = by_id(ReplayWorkload.of(made))
        assert found[4].cites == ()
        assert found[5].cites == (3,)

    def test_recorded_rewrites_are_events_of_the_turn_that_follows(self):
        made = session(
            user(), call("a", "x"), result("x"), text("b"), user(), text("c"),
            rewrites=[
                Rewrite("microcompact", "auto", 500, 9, 1, tokens_saved=300),
                Rewrite("compact", "manual", 1_000, 20, 3, tokens_after=90),
                Rewrite("compact", "auto", None, 30, 5),
            ],
        )  # fmt: skip
        assert [turn.events for turn in ReplayWorkload.of(made).recorded] == [
            (),
            (("recorded_microcompaction", "auto of 500 clearable tokens, 300 saved"),),
            (
                ("recorded_compaction", "manual at 1000 tokens, 90 after"),
                ("recorded_compaction", "auto"),
            ),
        ]

    def test_waiting_is_recorded_waiting_up_to_a_bound(self):
        made = session(
            user(), text("a", seconds=4.0), call("a", "x"), result("x", seconds=2.0), other("injected"),
            text("b", seconds=9.0), user(seconds=90_000.0), text("c"),
        )  # fmt: skip
        assert [turn.seconds for turn in ReplayWorkload.of(made).recorded] == [0, 2.0, MOST_WAITING_SECONDS]

    def test_system_messages_that_open_the_log_are_in_the_head(self):
        scenario = replay(session(other("system", 70), other("system", 5), user(), text("a")))
        assert scenario.head == 75
        assert [span.id for span in spans(scenario.workload)] == [2, 3]
        assert any("open the log (75 tokens)" in note for note in scenario.notes)

    def test_what_no_call_has_read_is_left_out_and_said(self):
        scenario = replay(session(user(), text("a"), user(), user()))
        assert [span.id for span in spans(scenario.workload)] == [0, 1]
        assert any("last 2 messages" in note for note in scenario.notes)

    def test_a_log_without_a_model_call_is_refused(self):
        with pytest.raises(InputError, match=r"hand-made\.jsonl: session 'hand made' holds no model call"):
            ReplayWorkload.of(session(user(), other("injected")))

    def test_a_setting_can_be_sent_to_a_worker(self):
        scenario = replay(session(user(), text("a")))
        assert pickle.loads(pickle.dumps(scenario)).setting() == scenario.setting()


# ------------------------------------------------------------------ sizes


@pytest.mark.unit
class TestSizes:
    MESSAGES = (
        user(10),
        text("a", 20),
        call("a", "x", 20),
        result("x", 60),
        text("b", 30),
        user(10),
        text("c"),
    )

    def test_growths_of_the_input_are_spread_over_the_messages_behind_them(self):
        sizes = billed_sizes(session(*self.MESSAGES, usages=[(1, 1_000), (4, 1_200), (6, 1_300)]))
        # 300 tokens were billed for 140 estimated ones; what nobody billed is scaled by that.
        assert sizes.tokens == (21, 40, 40, 120, 75, 25, 21)
        assert sizes.prefix == 979
        assert (sizes.followed, sizes.growths, sizes.falls) == (2, 2, ())

    def test_the_replayed_inputs_are_the_billed_ones(self):
        made = session(*self.MESSAGES, usages=[(1, 1_000), (4, 1_207), (6, 1_291)])
        assert list(inputs(replay(made))) == [1_000, 1_207, 1_291]

    def test_a_fall_is_not_replayed_but_said(self):
        scenario = replay(session(*self.MESSAGES, usages=[(1, 1_000), (4, 1_200), (6, 700)]))
        assert list(inputs(scenario)) == [1_000, 1_200, 1_280]
        assert any("fell from 1200 to 700 tokens at line 6" in note for note in scenario.notes)

    def test_a_recorded_rewrite_is_no_fall(self):
        rewrite = Rewrite("compact", "auto", 1_200, 5, 4)
        made = session(*self.MESSAGES, usages=[(1, 1_000), (4, 1_200), (6, 700)], rewrites=[rewrite])
        sizes = billed_sizes(made)
        assert (sizes.followed, sizes.growths, sizes.falls) == (1, 2, ())

    def test_without_a_growth_the_estimates_stay(self):
        made = session(*self.MESSAGES, usages=[(1, 1_000)], prefix=990)
        assert billed_sizes(made).tokens == tuple(message.tokens for message in made.messages)
        assert replay(made).head == 990

    def test_calls_before_the_same_message_count_once(self):
        made = session(*self.MESSAGES, usages=[(1, 1_000), (1, 4_000), (4, 1_200)])
        assert billed_sizes(made).tokens[1:4] == (40, 40, 120)

    def test_an_empty_message_may_have_been_billed(self):
        made = session(user(), call("a", "x", 0), result("x", 0), text("b"), usages=[(1, 100), (3, 130)])
        # No estimate to scale: what was billed for nothing says nothing of the other messages.
        assert billed_sizes(made).tokens == (10, 0, 0, 10)

    @pytest.mark.property
    @given(
        steps=st.lists(
            st.tuples(st.integers(0, 5_000), st.lists(st.integers(0, 900), min_size=1, max_size=4)),
            min_size=1,
            max_size=12,
        )
    )
    def test_any_billed_growth_is_met_exactly(self, steps):
        messages, usages = [user(5)], []
        total = 100
        for number, (growth, results) in enumerate(steps):
            usages.append((len(messages), total))
            messages.append(call(f"r{number}", f"c{number}", 3))
            messages += [result(f"c{number}", tokens) for tokens in results]
            total += growth
        usages.append((len(messages), total))
        messages.append(text("last"))
        made = session(*messages, usages=usages)
        sizes = billed_sizes(made)
        assert len(sizes.tokens) == len(messages)
        assert min(sizes.tokens) >= 0
        for (at, before), (then, after) in pairwise(usages):
            fell = after - before < 0.25 * sum(message.tokens for message in made.messages[at:then])
            if sizes.followed and not fell:
                assert sum(sizes.tokens[at:then]) == after - before


# ------------------------------------------------------------------ the door


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A tau-bench file with a session of three calls and one without any, named to make trouble."""
    chat = (
        '{"role": "system", "content": "' + "s" * 38 + '"}, {"role": "user", "content": "hello"},'
        ' {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function":'
        ' {"name": "look", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "found"},'
        ' {"role": "assistant", "content": "done"}, {"role": "user", "content": "###STOP###"}'
    )
    silent = '{"role": "user", "content": "anybody?"}'
    path = tmp_path / "log.json"
    elements = [f'{{"task_id": "../e\\u001b[2J {n}", "trial": 0, "traj": [{chat}]}}' for n in ("/", "?")]
    path.write_text(f"[{elements[0]}, {elements[1]}, " + f'{{"task_id": 1, "trial": 0, "traj": [{silent}]}}]')
    return path


@pytest.mark.unit
class TestDoor:
    def test_a_session_becomes_a_setting(self, log):
        [scenario] = replay_scenarios(log, window=500)
        setting = scenario.setting()
        assert (setting.window, setting.head, setting.horizon) == (500, 10, 2)
        assert setting.laws == load_scenario("replay-model").setting().laws
        assert setting.name == setting.draws == scenario.name

    def test_names_are_safe_and_no_two_alike(self, log):
        names = [scenario.name for scenario in replay_scenarios(log, window=500, session="all")]
        assert names == ["replay-task-..-e-2J-trial-0", "replay-task-..-e-2J-trial-0-2"]

    def test_of_all_sessions_those_without_a_call_are_passed_over(self, log):
        assert len(read_sessions(log, session="all")) == 3
        assert len(replay_scenarios(log, window=500, session="all")) == 2
        with pytest.raises(InputError, match="holds no model call"):
            replay_scenarios(log, window=500, session=2)

    def test_notes_say_what_was_assumed(self, log):
        [scenario] = replay_scenarios(log, window=500)
        said = " ".join(scenario.notes)
        for words in (
            "open loop",
            "number of turns (2) is an input",
            "lower bound",
            "left out and what they replaced stays",
            "open the log (10 tokens)",
            "3.8 bytes a token",
            "no clock",
            "'replay-model'",
            "No usage is reported",
        ):
            assert words in said

    def test_the_prefix_can_be_given(self, log):
        [scenario] = replay_scenarios(log, window=500, prefix=123)
        assert scenario.head == 123
        assert "The fixed prefix of 123 tokens is given by the user." in scenario.notes
        assert {span.id for span in spans(scenario.workload)} == {1, 2, 3, 4}

    def test_bytes_per_token_that_are_given_hold_everywhere(self, shared):
        path = shared / "traces" / "claude_code" / "entire-488c5296.jsonl"
        [scenario] = replay_scenarios(path, window=200_000, bytes_per_token=4.0)
        assert sum(span.tokens for span in spans(scenario.workload)) == scenario.session.tokens
        assert any("4 bytes a token (given by the user)" in note for note in scenario.notes)

    def test_overrides_reach_the_model(self, log):
        [scenario] = replay_scenarios(
            log, window=500, overrides={"laws.rationale.base": 7, "window.output_reserve": 40}
        )
        setting = scenario.setting()
        assert (setting.laws.rationale.base, setting.output_reserve, setting.window) == (7, 40, 500)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"window": 0}, "--window: cannot be 0; expected tokens from 1"),
            ({"window": -5}, "--window: cannot be -5"),
            ({"window": 500, "prefix": -1}, "--prefix: cannot be -1; expected tokens from 0"),
            ({"window": 9}, "--window: 9 is smaller than the fixed prefix of 10 tokens of replay-task"),
            ({"window": 500, "prefix": 501}, "expected 501 or more, or a smaller --prefix"),
            ({"window": 500, "session": 7}, "has no session 7"),
            ({"window": 500, "bytes_per_token": 0.0}, "bytes_per_token: cannot be 0.0"),
            ({"window": 500, "format": "claude-code"}, "did you mean 'claude_code'"),
            ({"window": 500, "model": "replay-modle"}, "did you mean 'replay-model'"),
            ({"window": 500, "overrides": {"run.horizon": 3}}, "--set run.horizon: a replay takes run from"),
            ({"window": 500, "overrides": {"window": {}}}, "--set window: a replay takes window.tokens from"),
        ],
    )
    def test_what_cannot_be_used_is_said(self, log, values, words):
        with pytest.raises(InputError) as raised:
            replay_scenarios(log, **values)
        assert words in str(raised.value)


# ------------------------------------------------------------------ runs


def run_all(scenario: ReplayScenario) -> None:
    """Run three policies: all of the log arrives, or all up to the request that no longer fits."""
    turns = scenario.workload.recorded
    whole = [sum(span.tokens for span in (*turn.arrivals, *turn.reply)) for turn in turns]
    for policy in POLICIES:
        run = simulate(scenario.setting(), load_policy(policy), seed=0)
        arrived = [row.arrived_tokens for row in run.turn_rows]
        if run.outcome == "overflow":
            last = len(arrived) - 1
            assert arrived[:last] == whole[:last]
            assert arrived[last] == sum(span.tokens for span in turns[last].arrivals)
        else:
            assert run.outcome == "complete"
            assert arrived == whole


@pytest.mark.unit
def test_all_policies_meet_one_world():
    made = session(
        *(message for n in range(40) for message in (call(f"r{n}", f"c{n}", 15), result(f"c{n}", 120 + n))),
        text("end"),
    )
    scenario = replay(made, window=3_000)
    runs = {policy: simulate(scenario.setting(), load_policy(policy), seed=3) for policy in POLICIES}
    arrived = {policy: [row.arrived_tokens for row in run.turn_rows] for policy, run in runs.items()}
    assert all(run.rewrite_rows for run in runs.values())
    longest = max(arrived.values(), key=len)
    for policy, run in runs.items():
        whole = len(arrived[policy]) - (run.outcome == "overflow")
        assert arrived[policy][:whole] == longest[:whole]
    streams = Streams(0, 0, "any"), Streams(5, 1, "other")
    assert len({tuple(scenario.workload.turns(each)) for each in streams}) == 1


@pytest.mark.unit
def test_the_same_seed_replays_bit_for_bit():
    made = session(
        *(message for n in range(30) for message in (call(f"r{n}", f"c{n}", 15), result(f"c{n}", 150))),
        text("end"),
    )
    scenario = replay(made, window=3_000)
    first, second = (simulate(scenario.setting(), load_policy("naive"), seed=1) for _ in range(2))
    assert first.rewrite_rows
    assert (first.turn_rows, first.rewrite_rows) == (second.turn_rows, second.rewrite_rows)


@pytest.mark.unit
def test_parallel_results_fold_into_one_summary_and_serial_ones_do_not():
    def folded(made: Session) -> list[tuple[int, ...]]:
        scenario = replay(made, window=2_000)
        context = Context()
        for span in spans(scenario.workload):
            context.append(span)
        policy = load_policy("naive")
        policy.begin(brief_of(scenario.setting()))
        gauge = Gauge(CheckPoint.BEFORE_REQUEST, 1, context.tokens, 2_000, 0, 0, 0, context.tokens)
        plan = policy.propose(look(context, gauge))
        return [operation.sources for operation in plan.operations if isinstance(operation, Fold)]

    parallel = [call("a", "x"), call("a", "y"), result("x", 400), result("y", 400)]
    serial = [call("a", "x"), result("x", 400), call("b", "y"), result("y", 400)]
    assert folded(session(user(), *parallel, text("end"))) == [(3, 4)]
    assert folded(session(user(), *serial, text("end"))) == []


@pytest.mark.property
@given(
    st.lists(st.sampled_from(["user", "injected", "system", "text", "call", "result", "again"]), max_size=30)
)
def test_every_message_that_a_call_has_read_arrives_once(kinds):
    messages: list[dict[str, object]] = []
    for index, kind in enumerate(kinds):
        if kind in ("text", "call"):
            made = text(f"r{index}") if kind == "text" else call(f"r{index}", f"c{index}")
        elif kind == "again":
            written = [message["request"] for message in messages if message.get("request")]
            made = text(str(written[-1])) if written else user()
        else:
            made = result(f"c{index - 1}") if kind == "result" else other(kind)
        messages.append(made)
    log = session(*messages, text("last"), user())
    workload = ReplayWorkload.of(log)
    leading = next(index for index, message in enumerate(log.messages) if message.kind != "system")
    assert sorted(span.id for span in spans(workload)) == list(range(leading, len(messages) + 1))
    assert len(workload.recorded) == log.requests
    assert all(turn.reply for turn in workload.recorded)


# ------------------------------------------------------------------ real logs


@pytest.mark.unit
def test_every_published_session_of_claude_code_replays(shared):
    for path in sorted((shared / "traces" / "claude_code").rglob("*.jsonl")):
        [scenario] = replay_scenarios(path, window=200_000)
        assert len(scenario.workload.recorded) == scenario.session.requests
        run_all(scenario)
        [roomy] = replay_scenarios(path, window=ENDLESS)
        run_all(roomy)


@pytest.mark.unit
def test_every_published_session_of_tau_bench_replays(shared):
    for path in sorted((shared / "traces" / "tau_bench").glob("*.json")):
        scenarios = replay_scenarios(path, window=4_000, session="all")
        assert len(scenarios) == 25
        assert len({scenario.name for scenario in scenarios}) == 25
        for scenario in scenarios:
            assert scenario.head == 1_620  # 6,155 bytes of system prompt
            final = scenario.session.messages[-1]
            unread = final.tokens if final.request is None else 0
            arriving = sum(span.tokens for span in spans(scenario.workload))
            assert arriving == scenario.session.tokens - 1_620 - unread
            run_all(scenario)


@pytest.mark.unit
def test_replayed_inputs_are_billed_up_to_the_first_rewrite_of_the_log(shared):
    compared = 0
    for path in sorted((shared / "traces" / "claude_code").rglob("*.jsonl")):
        [scenario] = replay_scenarios(path, window=ENDLESS)
        log = scenario.session
        written = {message.index: message.request for message in log.messages}
        turns = scenario.workload.recorded
        replayed = {
            written[turn.reply[0].id]: tokens for turn, tokens in zip(turns, inputs(scenario), strict=True)
        }
        before = 0
        first = min((rewrite.after for rewrite in log.rewrites), default=ENDLESS)
        for usage in log.usages:
            if usage.total < before or usage.before > first:
                break
            assert replayed[usage.request] == usage.total
            before, compared = usage.total, compared + 1
    # Of 512 calls; the rest come after a rewrite of the log, recorded or seen as a fall of the input.
    assert compared == 434


@pytest.mark.unit
def test_the_longest_session_without_its_own_rewrites(shared):
    [scenario] = replay_scenarios(shared / "traces" / "claude_code" / "entire-deeac353.jsonl", window=200_000)
    *_, last = inputs(scenario)
    assert scenario.session.largest_input == 155_015
    # Its runtime masked 24,664 tokens at line 314 and said so nowhere, then compacted at 158,105.
    assert any("fell from 151584 to 126920 tokens at line 314" in note for note in scenario.notes)
    assert last == 192_524
    run = simulate(scenario.setting(), load_policy("naive"), seed=0)
    [compaction] = [row for row in run.event_rows if row.kind == "recorded_compaction"]
    assert (compaction.turn, compaction.detail) == (109, "auto at 158105 tokens")
    assert run.summary["first_trigger_turn"] == 108
    assert run.rewrite_rows[0].tokens_before == 182_993


@pytest.mark.unit
def test_the_model_of_replays_is_a_scenario_like_any_other():
    model = load_scenario("replay-model")
    assert not model.file.expect
    assert simulate(model.setting(), load_policy("naive"), seed=0).outcome == "horizon"
