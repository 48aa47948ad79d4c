"""Scripts whose rows lean on one another: spans and steps to the token, and each fault in one line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path

import pytest

from scenarios import load_scenario
from scenarios.workloads.scripted import Row, ScriptedWorkload, ScriptStep
from simulator import InputError
from simulator.contracts import Step, Turn, Workload
from simulator.spans import Kind, Span
from simulator.streams import Streams

pytestmark = pytest.mark.unit

OPENING = '[window]\ntokens = 4_000\n\n[workload]\nkind = "scripted"\n'
TOPICS = '\n[[topic]]\nname = "schema"\n\n[[topic]]\nname = "tools"\n'

SCRIPT = """\
rows = [
  { at = 0, kind = "user", tokens = 30, name = "budget", constraint = true, rederive = 60 },
  { at = 1, kind = "tool_result", tokens = 200, name = "claim", doubt = 0.15, rederive = 950 },
  { at = 1, kind = "assistant", tokens = 50, cites = [1, "budget"] },
  { at = 3, kind = "user", tokens = 25, name = "correction", corrects = "claim" },
  { at = 4, kind = "assistant", tokens = 20, restates = 0 },
  { at = 4, kind = "user", tokens = 15, unclassified = true },
  { at = 5, kind = "user", tokens = 15, constraint = true, unclassified = true },
]
steps = [
  { at = 2, governed = [0], touches = [1] },
  { at = 7, governed = ["budget", "correction"], touches = ["claim"], topics = ["schema"] },
  { at = 8 },
]
"""

Writer = Callable[..., Path]


def world_of(workload: Workload, turns: int) -> tuple[dict[int, Span], list[Turn]]:
    lived = list(islice(workload.turns(Streams(1)), turns))
    spans = [
        *workload.initial(Streams(1)),
        *(span for turn in lived for span in (*turn.arrivals, *turn.reply)),
    ]
    return {span.id: span for span in spans}, lived


def fault_of(path: Path) -> str:
    """The line that a script is refused with; it names the file."""
    with pytest.raises(InputError) as caught:
        load_scenario(str(path)).setting()
    line = str(caught.value)
    assert line.startswith(str(path.parent))
    assert "\n" not in line
    return line


# ------------------------------------------------------------------------------------ what comes out


def test_rows_that_lean_on_one_another(written: Writer) -> None:
    workload = load_scenario(str(written(OPENING + SCRIPT + TOPICS))).setting().workload
    spans, turns = world_of(workload, 9)
    assert sorted(spans) == list(range(7))
    assert [spans[row].constraint for row in range(7)] == [True, False, False, True, True, None, None]
    assert [spans[row].binds for row in range(7)] == [(0,), (), (), (3,), (0,), (), (6,)]
    assert [spans[row].carries for row in range(7)] == [(), (), (), (), (0,), (), ()]
    assert [spans[row].cites for row in range(7)] == [(), (), (1, 0), (), (), (), ()]
    assert [spans[row].rederive for row in range(7)] == [60, 950, 0, 0, 0, 0, 0]
    assert [spans[row].doubt for row in range(7)] == [0, 30, 0, 0, 0, 0, 0]
    steps = {number: turn.step for number, turn in enumerate(turns, 1) if turn.step is not None}
    assert steps == {
        2: Step(governed=(0,), touches=(1,)),  # the claim is not yet corrected
        7: Step(governed=(0, 3), touches=(1,), claims=((1, 3),), topics=("schema",)),
    }


def test_a_constraint_that_comes_again_is_the_same_one() -> None:
    spans, _ = world_of(ScriptedWorkload((Row(1, Kind.USER, 30, 3, constraint=True),)), 4)
    assert {span.binds for span in spans.values()} == {(0,)}
    assert {span.constraint for span in spans.values()} == {True}
    assert sorted(span.carries for span in spans.values()) == [(), (0,), (0,)]


def test_a_claim_is_in_use_from_its_correction_on() -> None:
    rows = (
        Row(1, Kind.TOOL_RESULT, 10, 1),
        Row(4, Kind.USER, 10, 4, corrects=0),
        Row(6, Kind.ASSISTANT, 10, 6, corrects=0),
    )
    steps = tuple(ScriptStep(at, touches=(0,)) for at in (3, 4, 6, 7))
    _, turns = world_of(ScriptedWorkload(rows, steps=steps), 7)
    used = {number: turn.step.claims for number, turn in enumerate(turns, 1) if turn.step is not None}
    # what a reply corrects is corrected after the work of its turn
    assert used == {3: (), 4: ((0, 1),), 6: ((0, 1),), 7: ((0, 1), (0, 2))}


def test_a_script_without_references_has_plain_spans() -> None:
    rows = (Row(0, Kind.USER, 5, 0), Row(1, Kind.TOOL_RESULT, 6, 2, subgoal=1, pair=9, needed=True))
    spans, turns = world_of(ScriptedWorkload(rows), 3)
    assert [turn.step for turn in turns] == [None, None, None]
    for span in spans.values():
        told = (span.cites, span.constraint, span.rederive, span.doubt, span.carries, span.binds)
        assert told == ((), False, 0, 0, (), ())


def test_replies_may_cite_what_came_in_their_turn() -> None:
    rows = (Row(1, Kind.ASSISTANT, 5, 1, cites=(1,)), Row(1, Kind.TOOL_RESULT, 5, 1))
    spans, _ = world_of(ScriptedWorkload(rows), 1)
    assert spans[0].cites == (1,)


# ------------------------------------------------------------------------------------ faults, one by one

ROWS = """\
rows = [
  { at = 0, kind = "user", tokens = 30, name = "budget", constraint = true },
  { at = 1, kind = "tool_result", tokens = 200, name = "claim" },
  { at = 2, kind = "assistant", tokens = 50, name = "plan" },
  { at = 5, kind = "user", tokens = 25, name = "late", constraint = true },
]
steps = [{ at = 4, governed = [0], touches = [1] }]
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("50,", "50, cites = [4],", "row 2: cites row 4, which there is not; expected a row from 0 to 3"),
        ("50,", "50, cites = [-1],", "row 2: cites row -1, which there is not"),
        ("50,", "50, cites = [3],", "row 2: cites row 3, which comes later; expected an earlier row"),
        ("50,", "50, cites = [2],", "row 2: cites itself"),
        ("50,", "50, cites = [1, 'claim'],", "row 2: cites a row twice"),
        ("50,", "50, cites = ['clam'],", "row 2: no row is named 'clam'; expected one of budget, claim"),
        ("50,", "50, cites = ['clam'],", "did you mean 'claim'?"),
        ("50,", "50, cites = [1.5],", "workload.rows.2.cites.0"),
        ("50,", "50, restates = 1,", "row 2: restates row 1, which states no constraint of its own"),
        ("50,", "50, restates = 1,", "expected one of the rows 0, 3"),
        ("50,", "50, restates = 9,", "row 2: restates row 9, which there is not"),
        ("50,", "50, restates = 'late',", "row 2: restates row 3, which comes later"),
        ("50,", "50, corrects = 7,", "row 2: corrects row 7, which there is not"),
        ("50,", "50, corrects = 'plan',", "row 2: corrects itself"),
        ("50,", "50, corrects = 'late',", "row 2: corrects row 3, which comes later"),
        ("50,", "50, constraint = true, restates = 0,", "row 2: has both constraint and restates"),
        ("50,", "50, corrects = 1, restates = 0,", "row 2: has both corrects and restates"),
        ("50,", "50, doubt = 1.5,", "workload.rows.2.doubt"),
        ("50,", "50, rederive = -1,", "workload.rows.2.rederive"),
        ("50,", "50, constraint = 1,", "workload.rows.2.constraint"),
        ("50,", "-50,", "workload.rows.2.tokens"),
        ("tokens = 50,", "", "workload.rows.2.tokens: Field required"),
        ('"late"', '"budget"', "row 3: is named 'budget' as row 0 is; expected one row a name"),
        ('"late"', '"7"', "workload.rows.3.name"),
        ("[0]", "[1]", "step 0: is governed by row 1, which states no constraint of its own"),
        ("[0]", "[8]", "step 0: is governed by row 8, which there is not"),
        ("[0]", "['late']", "step 0: of turn 4 is governed by row 3, which comes later"),
        ("[0]", "['budgt']", "step 0: no row is named 'budgt'"),
        ("[0]", "[0, 'budget']", "step 0: is governed by a row twice"),
        ("[1]", "[5]", "step 0: touches row 5, which there is not"),
        ("[1]", "[3]", "step 0: of turn 4 touches row 3, which comes later"),
        ("[1] }", "[1] }, { at = 4 }", "turn 4: has two steps; expected one step a turn"),
        ("at = 4,", "at = 0,", "workload.steps.0.at"),
        ("governed", "govern", "workload.steps.0.govern: unknown key"),
        ("[1] }", "[1], topics = ['tols'] }", "workload.steps.0.topics: unknown topic 'tols'"),
        ("[1] }", "[1], topics = ['tols'] }", "expected one of schema, tools; did you mean 'tools'?"),
    ],
)
def test_faults(written: Writer, before: str, after: str, told: str) -> None:
    assert before in ROWS
    assert told in fault_of(written(OPENING + ROWS.replace(before, after, 1) + TOPICS))


def test_a_sound_script_is_not_refused(written: Writer) -> None:
    load_scenario(str(written(OPENING + ROWS + TOPICS))).setting()


def test_a_cycle_is_told_as_one() -> None:
    rows = [Row(turn, Kind.ASSISTANT, 5, turn, cites=(cited,)) for turn, cited in ((1, 1), (2, 2), (3, 1))]
    with pytest.raises(InputError, match=r"^row \d: leans on itself by way of rows") as caught:
        ScriptedWorkload(tuple(rows))
    walk = [int(word) for word in str(caught.value).split("rows ")[1].split(";")[0].split(" -> ")]
    assert walk[0] == walk[-1]
    assert all(after in rows[before].cites for before, after in pairwise(walk))


def test_a_long_chain_is_no_cycle() -> None:
    rows = tuple(
        Row(turn, Kind.ASSISTANT, 5, turn, cites=(turn - 2,) if turn > 1 else ()) for turn in range(1, 3_000)
    )
    assert len(ScriptedWorkload(rows).rows) == 2_999


# ------------------------------------------------------------------------------------ the CSV beside

BESIDE = OPENING + 'csv = "script.csv"\nsteps = [{ at = 4, governed = ["budget"], touches = [1] }]\n'


def test_references_in_a_csv(written: Writer) -> None:
    written(
        "at,kind,tokens,name,constraint,cites,restates,doubt\n"
        "0,user,30,budget,true,,,\n"
        "1,tool_result,200,true,,,,0.5\n"
        "2,assistant,50,b2,,true budget,,\n"
        "3,assistant,20,,,1,budget,\n",
        "script.csv",
    )
    workload = load_scenario(str(written(BESIDE))).setting().workload
    assert isinstance(workload, ScriptedWorkload)
    assert [row.cites for row in workload.rows] == [(), (), (1, 0), (1,)]
    assert [row.restates for row in workload.rows] == [None, None, None, 0]
    assert workload.rows[1].doubt == 0.5
    assert workload.steps == (ScriptStep(4, (0,), (1,)),)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("1,user,5,,9", "mine.toml: workload: row 1: cites row 9, which there is not"),
        ("1,user,5,,budgt", "row 1: no row is named 'budgt'; expected one of budget; did you mean 'budget'?"),
        ("1,user,5,budget,", "row 1: is named 'budget' as row 0 is"),
        ("1,user,5,,1.5", "row 1: no row is named '1.5'"),
        ("1,user,5,7,", "script.csv: row 2: name"),
    ],
)
def test_faults_of_references_in_a_csv(written: Writer, row: str, told: str) -> None:
    written(f"at,kind,tokens,name,cites\n0,user,30,budget,\n{row}\n", "script.csv")
    assert told in fault_of(written(BESIDE))
