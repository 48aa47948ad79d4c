"""Recorded shapes: the same turns back, bit for bit; each fault in one line; the sessions that ship."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import load_policy
from scenarios import load_scenario
from scenarios.recorded_tables import RECORDED, RecordedRow, read_shape, shape_text
from scenarios.replay import ReplayScenario, replay_scenarios
from scenarios.workloads.recorded import rows_of, turns_of
from scenarios.workloads.replay import ReplayWorkload
from simulator import InputError, simulate
from simulator.contracts import Step, Turn
from simulator.spans import CONTENT_CLASSES, Kind, Provenance, Span

pytestmark = pytest.mark.unit

Writer = Callable[..., Path]

ENDLESS = 10**9
SHIPPED = {
    "log-claude-code": ("claude_code/entire-deeac353.jsonl", None),
    "log-openhands": ("openhands/multi_swe_bench-output-0.jsonl", None),
    "log-pi": ("pi/before-compaction.jsonl", None),
    "log-tau-airline": ("tau_bench/gpt-4o-airline-trial0-tasks0-24.json", 3),
}


def spans(turns: tuple[Turn, ...]) -> Iterator[Span]:
    for turn in turns:
        yield from (*turn.arrivals, *turn.reply)


# ------------------------------------------------------------------------------------ there and back

WORDS = st.text(max_size=20).filter(str.isprintable)
NUMBERS = st.integers(0, 10**6)


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    known: list[int] = []
    fresh = iter(draw(st.lists(NUMBERS, min_size=24, max_size=24, unique=True)))
    for number in range(1, draw(st.integers(1, 4)) + 1):
        parts: list[list[Span]] = [[], []]
        for part in parts:
            for _ in range(draw(st.integers(0, 3))):
                cites = draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
                part.append(
                    Span(
                        id=next(fresh),
                        kind=draw(st.sampled_from(get_args(_optional("kind")))),
                        tokens=draw(NUMBERS),
                        born=number,
                        provenance=draw(st.sampled_from(get_args(_optional("provenance")))),
                        subgoal=draw(st.none() | NUMBERS),
                        pair=draw(st.none() | NUMBERS),
                        cites=tuple(cites),
                        needed=draw(st.booleans()),
                        content_class=draw(st.sampled_from(CONTENT_CLASSES)),
                    )
                )
                known.append(part[-1].id)
        turns.append(
            Turn(
                arrivals=tuple(parts[0]),
                reply=tuple(parts[1]),
                seconds=draw(st.floats(0, 10**6)),
                user_turn=draw(st.booleans()),
                closes=tuple(draw(st.lists(NUMBERS, max_size=2))),
                events=tuple(draw(st.lists(st.tuples(WORDS.filter(bool), WORDS), max_size=2))),
            )
        )
    return tuple(turns)


def _optional(key: str) -> object:
    """The values that a key may have beside none."""
    return next(part for part in get_args(RecordedRow.model_fields[key].annotation) if part is not type(None))


@given(sessions())
def test_the_same_turns_come_back(tmp_path_factory: pytest.TempPathFactory, turns: tuple[Turn, ...]) -> None:
    path = tmp_path_factory.getbasetemp() / "made.csv"
    path.write_text(shape_text(turns), encoding="utf-8", newline="")
    assert read_shape(path) == turns


def test_every_published_session_comes_back(shared: Path, tmp_path: Path) -> None:
    folders = ("claude_code", "openhands", "pi", "tau_bench")
    paths = [path for folder in folders for path in sorted((shared / "traces" / folder).rglob("*.json*"))]
    back = 0
    for path in paths:
        if path.name in ("resolver-output-0.jsonl", "trajs-basic_gui_mode.json"):
            continue  # events without the answers that they came from: no format that is read
        for replay in replay_scenarios(path, window=ENDLESS, session="all"):
            shape = tmp_path / "shape.csv"
            shape.write_text(shape_text(replay.workload.recorded))
            assert read_shape(shape) == replay.workload.recorded
            back += 1
    assert back == 24 + 2 + 1 + 25


def test_what_has_no_column_is_refused_and_not_dropped() -> None:
    span = Span(1, Kind.USER, 5, 1, Provenance.USER)
    assert turns_of(rows_of([Turn((span,))])) == (Turn((span,)),)
    strangers = [
        Turn((span._replace(born=2),)),
        Turn((span._replace(rederive=9),)),
        Turn((span._replace(constraint=True),)),
        Turn((span,), step=Step(touches=(1,))),
        Turn((span,), events=(("noted", "two\nlines"),)),
        Turn((span,), events=(("", "of no kind"),)),
    ]
    for stranger in strangers:
        with pytest.raises(InputError, match="no column for"):
            rows_of([stranger])


def test_the_classes_of_the_format_are_those_of_the_simulator() -> None:
    assert get_args(_optional("content_class")) == CONTENT_CLASSES


# ------------------------------------------------------------------------------------ faults, one by one

SCENARIO = '[window]\ntokens = 4_000\n\n[workload]\nkind = "recorded"\nfile = "shape.csv"\n'
HEADER = "turn,part,id,kind,tokens,pair,cites,needed,content_class,provenance,seconds,closes,event\n"
ROWS = [
    "1,arrival,0,user,5,,,,prose,user,2.5,,",
    "1,reply,1,tool_call,5,1,0,,code,self,,,",
    "2,arrival,2,tool_result,5,1,,true,json,tool,,1,",
    "2,event,,,,,,,,,,,recorded_compaction",
    "3,nothing,,,,,,,,,,,",
]


def told_of(written: Writer, text: str) -> str:
    written(text, "shape.csv")
    with pytest.raises(InputError) as caught:
        load_scenario(str(written(SCENARIO))).setting()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_sound_shape(written: Writer) -> None:
    written(HEADER + "\n".join(ROWS), "shape.csv")
    first, second, third = load_scenario(str(written(SCENARIO))).setting().workload.turns(None)
    assert (first.seconds, second.seconds, second.closes) == (2.5, 0.0, (1,))
    assert [span.cites for span in spans((first, second, third))] == [(), (0,), ()]
    assert second.events == (("recorded_compaction", ""),)
    assert third == Turn()


@pytest.mark.parametrize(
    ("row", "text", "told"),
    [
        (1, "1,replly,1,tool_call,5,1,0,,code,self,,,", "row 2: part: unknown value 'replly'"),
        (1, "1,replly,1,tool_call,5,1,0,,code,self,,,", "did you mean 'reply'?"),
        (1, "1,reply,1,tool_cal,5,1,0,,code,self,,,", "did you mean 'tool_call'?"),
        (1, "1,reply,1,summary,5,1,0,,code,self,,,", "row 2: kind: unknown value 'summary'"),
        (1, "1,reply,1,tool_call,5,1,0,,cod,self,,,", "row 2: content_class: unknown value 'cod'"),
        (1, "1,reply,1,tool_call,5,1,0,,cod,self,,,", "did you mean 'code'?"),
        (1, "1,reply,1,tool_call,5,1,0,,code,slf,,,", "expected one of runtime, user, tool, self"),
        (1, "1,reply,1,tool_call,-5,1,0,,code,self,,,", "row 2: tokens: Input should be greater"),
        (1, "1,reply,1,tool_call,many,1,0,,code,self,,,", "row 2: tokens: Input should be a valid integer"),
        (1, "1,reply,1,tool_call,,1,0,,code,self,,,", "row 2: a row of part reply needs tokens"),
        (1, "1,reply,1,tool_call,5,1,0,,code,self,,,late", "row 2: a row of part reply has no event"),
        (1, "1,reply,1,tool_call,5,1,9,,code,self,,,", "row 2: cites 9, which there is not"),
        (1, "1,reply,1,tool_call,5,1,1,,code,self,,,", "row 2: cites 1, which there is not"),
        (1, "1,reply,1,tool_call,5,1,0;2,,code,self,,,", "row 2: cites 2, which comes later"),
        (1, "1,reply,1,tool_call,5,1,0 2,,code,self,,,", "row 2: cites.0: Input should be a valid integer"),
        (1, "1,reply,0,tool_call,5,1,,,code,self,,,", "row 2: has the id 0 of row 1"),
        (1, "1,reply,1,tool_call,5,1,0,yes,code,self,,,", "row 2: needed: Input should be a valid boolean"),
        (1, "1,reply,1,tool_call,5,1,0,,code,self,7,,", "row 2: says user_turn, seconds or closes"),
        (0, "1,arrival,0,user,5,,,,prose,user,NaN,,", "row 1: seconds: Input should be a"),
        (0, "2,arrival,0,user,5,,,,prose,user,,,", "row 1: is of turn 2; expected turn 1"),
        (0, "0,arrival,0,user,5,,,,prose,user,,,", "row 1: turn: Input should be greater"),
        (4, "4,nothing,,,,,,,,,,,", "row 5: is of turn 4; expected turn 2 or 3"),
        (4, "1,nothing,,,,,,,,,,,", "row 5: is of turn 1; expected turn 2 or 3"),
        (4, "3,nothing,7,,,,,,,,,,", "row 5: a row of part nothing has no id"),
        (4, "3,event,,,,,,,,,,,", "row 5: a row of part event needs event"),
        (4, "3,nothing,,,,,,,,,,,,,", "row 5: has more cells than the header"),
        (4, '3,"not', "row 5"),
    ],
)
def test_faults_of_a_row(written: Writer, row: int, text: str, told: str) -> None:
    rows = [*ROWS[:row], text, *ROWS[row + 1 :]]
    line = told_of(written, HEADER + "\n".join(rows))
    assert "shape.csv: row" in line
    assert told in line


def test_faults_of_a_file(written: Writer) -> None:
    assert "header: unknown column 'tokns'" in (
        line := told_of(written, HEADER.replace("tokens", "tokns") + ROWS[0])
    )
    assert "did you mean 'tokens'?" in line
    assert "shape.csv: holds no turn; expected a header and a row a span" in told_of(written, HEADER)
    assert "holds no turn" in told_of(written, "")
    assert "not UTF-8 text" in told_of_bytes(written, b"\xff\xfe")


def told_of_bytes(written: Writer, content: bytes) -> str:
    written("", "shape.csv").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_scenario(str(written(SCENARIO))).setting()
    return str(caught.value)


def test_a_shape_that_is_nowhere(written: Writer) -> None:
    near = SCENARIO.replace("shape.csv", "claude-cod.csv")
    with pytest.raises(InputError, match=r"mine.toml: workload.file.*did you mean 'claude-code.csv'\?"):
        load_scenario(str(written(near))).setting()
    with pytest.raises(InputError, match=r"workload\.file"):
        load_scenario(str(written(SCENARIO.replace(".csv", ".txt"))))


# ------------------------------------------------------------------------------------ a base of another kind


def test_a_base_hands_its_workload_down_to_the_same_kind_alone(written: Writer) -> None:
    written(HEADER + "\n".join(ROWS), "shape.csv")
    written('[window]\ntokens = 9\n[workload]\nkind = "scripted"\nturn_seconds = 3.0\n', "below.toml")
    other = load_scenario(str(written('base = "below"\n[workload]\nkind = "recorded"\nfile = "shape.csv"\n')))
    assert isinstance(other.setting().workload, ReplayWorkload)
    for own in ("", 'kind = "scripted"', "rows = []"):
        same = load_scenario(str(written(f'base = "below"\n[workload]\n{own}\n')))
        assert same.file.workload.model_dump()["turn_seconds"] == 3.0


# ------------------------------------------------------------------------------------ the sessions that ship


def replay_of(shared: Path, name: str) -> ReplayScenario:
    """The log of a shipped scenario, replayed in its window, under its laws and its provider."""
    log, session = SHIPPED[name]
    window = load_scenario(name).file.window.tokens
    [replay] = replay_scenarios(shared / "traces" / log, window=window, session=session, model=name)
    return replay


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_session_is_the_replay_of_its_log(shared: Path, name: str) -> None:
    setting = load_scenario(name).setting()
    replayed = replace(replay_of(shared, name).setting(), name=setting.name, draws=setting.draws)
    assert replayed == setting
    for policy in ("truncate-oldest", "guarded"):
        runs = [simulate(one, load_policy(policy), seed=3) for one in (setting, replayed)]
        assert len(runs[0].turns) > 5
        assert runs[0].turns.equals(runs[1].turns)
        assert runs[0].rewrites.equals(runs[1].rewrites)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_session_needs_rewrites(name: str) -> None:
    setting = load_scenario(name).setting()
    assert isinstance(setting.workload, ReplayWorkload)
    standing, requests = setting.head, []
    for turn in setting.workload.recorded:
        requests.append(standing + sum(span.tokens for span in turn.arrivals))
        standing = requests[-1] + sum(span.tokens for span in turn.reply)
    assert max(requests) > setting.window - setting.output_reserve
    # and the bound without a window carries all of it
    run = simulate(setting, load_policy("never-rewrite"), seed=0)
    assert list(run.turns["tokens"])[-1] == standing


@pytest.mark.parametrize("name", SHIPPED)
def test_no_provider_refuses_a_shipped_session_as_it_came(name: str) -> None:
    """Each call has its result in the next request, but for what the session ends on."""
    workload = load_scenario(name).setting().workload
    assert isinstance(workload, ReplayWorkload)
    turns = workload.recorded
    for turn, following in pairwise(turns):
        calls = [span.pair for span in turn.reply if span.kind is Kind.TOOL_CALL]
        results = [span.pair for span in following.arrivals if span.kind is Kind.TOOL_RESULT]
        assert calls == results


def test_recorded_rewrites_are_events_of_the_shape() -> None:
    found = {
        name: [
            (number, detail)
            for number, turn in enumerate(read_shape(RECORDED / f"{name}.csv"), 1)
            for kind, detail in turn.events
            if kind == "recorded_compaction"
        ]
        for name in ("claude-code", "pi")
    }
    assert found["claude-code"] == [(109, "auto at 158105 tokens")]
    assert [detail for _, detail in found["pi"]] == ["auto at 175004 tokens", "auto at 185014 tokens"]


def test_the_shapes_are_small() -> None:
    assert sum(path.stat().st_size for path in RECORDED.iterdir()) < 400_000
    assert {path.stem for path in RECORDED.glob("*.csv")} == {name.removeprefix("log-") for name in SHIPPED}


@pytest.mark.unit
def test_a_column_that_stands_twice_is_refused(written: Writer) -> None:
    header = HEADER.strip() + ",tokens\n"
    assert "header: column 'tokens' stands twice" in told_of(written, header + "\n".join(ROWS))
