"""Scenario files: every catalogue file is sound, and each fault is told with file, key and nearest name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios import load_scenario, scenario_names
from scenarios.expectation import SUMMARY
from scenarios.scenario import CATALOGUE, ScenarioFile
from scenarios.workloads.scripted import Row, ScriptedWorkload
from scenarios.workloads.synthetic import SyntheticWorkload
from simulator import InputError, Setting
from simulator.spans import Kind

pytestmark = pytest.mark.unit

SCRIPTED = """\
[window]
tokens = 1_000

[workload]
kind = "scripted"
rows = [{ at = 0, kind = "tool_result", tokens = 300 }]
"""
SYNTHETIC = """\
[window]
tokens = 1_000

[workload]
kind = "synthetic"
reply_low = 5
reply_high = 6
"""

Writer = Callable[..., Path]


def fault_of(path: Path) -> str:
    """The line that a file is refused with; it names the file."""
    with pytest.raises(InputError) as caught:
        load_scenario(str(path)).setting()
    line = str(caught.value)
    assert line.startswith(str(path.parent))
    assert "\n" not in line
    return line


# ------------------------------------------------------------------------------------ the catalogue


@pytest.mark.parametrize("name", scenario_names())
def test_catalogue(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.file.summary
    assert scenario.file.source
    assert all(row.source and row.policy for row in scenario.file.expect)
    assert isinstance(scenario.setting(), Setting)
    assert hash(scenario.setting()) == hash(load_scenario(name).setting())


@pytest.mark.parametrize("name", scenario_names())
def test_resolved_is_the_same_scenario(name: str, tmp_path: Path) -> None:
    file = load_scenario(name).file
    assert ScenarioFile.model_validate_json(file.model_dump_json(exclude_none=True)) == file


def test_each_figure_has_its_source_beside_it() -> None:
    for name in scenario_names():
        data = tomllib.loads((CATALOGUE / f"{name}.toml").read_text())
        assert all(row["source"].strip() for row in data.get("expect", []))


# ------------------------------------------------------------------------------------ faults, one by one


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("tokens = 1_000", "token = 1_000", "window.token: unknown key"),
        ("tokens = 1_000", "token = 1_000", "did you mean 'tokens'?"),
        ("[window]", "[widow]", "widow: unknown key"),
        ("tokens = 1_000", "tokens = 0", "window.tokens: Input should be greater than or equal to 1 (got 0)"),
        ("tokens = 1_000", "tokens = 10_000_000_000", "window.tokens"),
        ("tokens = 1_000", "tokens = true", "window.tokens: Input should be a valid integer (got True)"),
        ("tokens = 1_000", 'tokens = "9"', "window.tokens: Input should be a valid integer (got '9')"),
        ("tokens = 1_000", "tokens = [9]", "window.tokens"),
        ("tokens = 1_000", "tokens = 1_000\nswitches = [[5]]", "window.switches.0"),
        ("[workload]", "[run]\nhorizon = 0\n[workload]", "run.horizon"),
        ("[workload]", "[run]\nreplications = 1.0\n[workload]", "run.replications"),
        ("[workload]", "[run]\nseed = -1\n[workload]", "run.seed"),
        ("[workload]", "[laws.summary]\nratio = 1.01\n[workload]", "laws.summary.ratio"),
        ("[workload]", "[laws.summary]\nratio = inf\n[workload]", "laws.summary.ratio"),
        ("[workload]", "[laws.rationale]\nbase = nan\n[workload]", "laws.rationale.base"),
        ("[workload]", '[laws.measurement]\nlaw = "square"\n[workload]', "laws.measurement"),
        ("[workload]", '[laws.measurement]\nlaw = "constant"\n[workload]', "laws.measurement"),
        ("[workload]", "[supervisor]\ncapacity = -1\n[workload]", "supervisor.capacity"),
        ("[workload]", 'charged_to = "nobody"\n[workload]', "charged_to"),
        ("[workload]", '[[premise]]\nname = ""\n[workload]', "premise.0.name"),
        (
            "[workload]",
            '[[premise]]\nname = "schema"\nat = [3]\nmean_interval = 5\n[workload]',
            "premise.0: needs one of at and mean_interval, not both",
        ),
        ("at = 0", "at = -1", "workload.rows.0.at"),
        ("at = 0", "at = 0, until = 3", "until 3 needs at between 1 and it"),
        ("at = 0", "at = 4, until = 3", "until 3 needs at between 1 and it"),
        ("tokens = 300", "tokens = 0", "workload.rows.0.tokens"),
        ("tool_result", "tool_reslt", "workload.rows.0.kind"),
        ('"tool_result"', '"head"', "workload.rows.0.kind"),
        ("rows = [", "closes = [[1]]\nrows = [", "workload.closes.0"),
    ],
)
def test_faults(written: Writer, before: str, after: str, told: str) -> None:
    assert before in SCRIPTED
    text = SCRIPTED.replace(before, after, 1)
    if after.startswith("charged_to"):
        text = f"{after.splitlines()[0]}\n{SCRIPTED}"
    assert told in fault_of(written(text))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("reply_low = 7", "low 7 is above high 6"),
        ("reply_low = 5\nsubgoal_low = 3", "low 3 is above high 0"),
        ("reply_low = 5\nresult_mean = 0", "result_mean"),
        ("reply_low = 5\nresult_sigma = -0.1", "result_sigma"),
        ("reply_low = 5\ncited_share = 1.1", "cited_share"),
        ("reply_low = 5\nresult_cut = 0", "result_cut"),
        ("reply_low = 5\nturns = 0", "turns"),
        ("reply_low = 5\nresult_men = 5", "unknown key"),
    ],
)
def test_faults_of_random_workloads(written: Writer, line: str, told: str) -> None:
    assert told in fault_of(written(SYNTHETIC.replace("reply_low = 5", line)))


def test_more_than_one_fault_is_counted(written: Writer) -> None:
    path = written(SCRIPTED.replace("tokens = 1_000", "tokens = -1\nhead = -1"))
    assert fault_of(path).endswith("(got -1) (and 1 more)")


def test_fifty_rows_stand_in_the_file_and_more_beside(written: Writer) -> None:
    row = '{ at = 1, kind = "user", tokens = 1 }'
    fifty = f'[window]\ntokens = 9\n[workload]\nkind = "scripted"\nrows = [{", ".join([row] * 50)}]\n'
    assert load_scenario(str(written(fifty))).setting().window == 9
    assert "workload.rows" in fault_of(written(fifty.replace("rows = [", f"rows = [{row}, ")))


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (
            "rewrite-budget-spirl",
            "unknown scenario 'rewrite-budget-spirl'; .*did you mean 'rewrite-budget-spiral'",
        ),
        ("", "'' is not a name; expected the name or path of a scenario"),
        ("nul\0byte", "is not a name"),
        ("a" * 5000, "unknown scenario"),
        ("../catalogue", "catalogue: "),
    ],
)
def test_references(reference: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        load_scenario(reference)


@pytest.mark.parametrize("path", ["window..tokens", "", ".", "window.tokens."])
def test_overrides_need_a_path(path: str) -> None:
    with pytest.raises(InputError, match=r"is not a path; expected table\.key"):
        load_scenario("rewrite-budget-exact", {path: 1})


def test_overrides_do_not_go_through_values() -> None:
    with pytest.raises(InputError, match=r"the path window\.tokens\.size: tokens is a value, not a table"):
        load_scenario("rewrite-budget-exact", {"window.tokens.size": 1})
    overridden = load_scenario("rewrite-budget-exact", {"window.tokens": 7, "laws.rationale": {"base": 3}})
    assert overridden.file.window.tokens == 7
    assert overridden.file.window.head == 17_101
    assert overridden.file.laws.rationale.base == 3


def test_overrides_reach_into_the_rows_of_a_list_by_number_and_by_name() -> None:
    untouched = load_scenario("instruction-decay").file.premise
    by_number = load_scenario("instruction-decay", {"premise.0.mean_interval": 3}).file.premise
    by_name = load_scenario("instruction-decay", {"premise.schema version.mean_interval": 3}).file.premise
    assert by_number == by_name
    assert by_number[0].mean_interval == 3 != untouched[0].mean_interval
    assert by_number[1:] == untouched[1:]
    shrunk = load_scenario(
        "rewrite-budget-exact", {"window.switches": [[4, 23_000], [9, 22_000]], "window.switches.1.1": 21_000}
    )
    assert shrunk.file.window.switches == ((4, 23_000), (9, 21_000))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "premise.9.mean_interval",
            "the path premise.9.mean_interval: premise has no row '9'; expected a number below",
        ),
        ("premise.schema versin.mean_interval", "no row 'schema versin'; .*did you mean 'schema version'"),
        ("premise.-1.mean_interval", "premise has no row '-1'"),
        ("premise.\N{SUPERSCRIPT TWO}.mean_interval", "premise has no row"),
        ("premise.0.mean_intervl", "did you mean 'mean_interval'"),
    ],
)
def test_rows_that_are_not_there(path: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        load_scenario("instruction-decay", {path: 3})


# ------------------------------------------------------------------------------------ the CSV beside

BESIDE = '[window]\ntokens = 1_000\n[workload]\nkind = "scripted"\ncsv = "script.csv"\n'


def test_rows_of_a_csv(written: Writer) -> None:
    written(
        "\ufeffat,kind,tokens,until,needed,subgoal\n0,tool_result,30,,,\n1,user,5,3,,\n2,tool_result,7,,true,4\n",
        "script.csv",
    )
    workload = load_scenario(str(written(BESIDE))).setting().workload
    assert isinstance(workload, ScriptedWorkload)
    assert workload.rows == (
        Row(0, Kind.TOOL_RESULT, 30, 0),
        Row(1, Kind.USER, 5, 3),
        Row(2, Kind.TOOL_RESULT, 7, 2, subgoal=4, needed=True),
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("0,user,5\n1,user,\n", "script.csv: row 2: tokens: Field required"),
        ("0,user,5\n1,user,few\n", "script.csv: row 2: tokens: Input should be a valid integer (got 'few')"),
        ("0,user,5\n1,usr,5\n", "script.csv: row 2: kind"),
        ("0,user,5.5\n", "script.csv: row 1: tokens"),
        ("0,user,-5\n", "script.csv: row 1: tokens"),
        ("0,user,NaN\n", "script.csv: row 1: tokens"),
        ("0,user,5,6\n", "script.csv: row 1: has more cells than the header"),
        ('0,user,5\n0,"user,5\n', "script.csv: row 2: not CSV"),
        (f"0,user,{'[' * 9000}\n", "script.csv: row 1: tokens"),
    ],
)
def test_faults_of_a_csv(written: Writer, rows: str, told: str) -> None:
    written(f"at,kind,tokens\n{rows}", "script.csv")
    assert told in fault_of(written(BESIDE))


def test_unknown_columns_of_a_csv(written: Writer) -> None:
    written("at,kind,token\n0,user,5\n", "script.csv")
    line = fault_of(written(BESIDE))
    assert "header: unknown column 'token'" in line
    assert line.endswith("did you mean 'tokens'?")


def test_a_csv_that_cannot_be_read(written: Writer, tmp_path: Path) -> None:
    path = written(BESIDE)
    assert "script.csv: no such file; expected a CSV script" in fault_of(path)
    written("", "scrpt.csv")
    assert "did you mean 'scrpt.csv'?" in fault_of(path)
    (tmp_path / "script.csv").write_bytes(b"at,kind\n\xff\n")
    assert "script.csv: not UTF-8 text at byte 8" in fault_of(path)
    (tmp_path / "script.csv").unlink()
    (tmp_path / "script.csv").mkdir()
    assert "script.csv: is a directory" in fault_of(path)


# ------------------------------------------------------------------------------------ bases


def test_a_base_hands_down_its_tables_and_its_worlds(written: Writer) -> None:
    written('summary = "below"\nsource = "s"\n' + SYNTHETIC, "below.toml")
    child = load_scenario(str(written('base = "below"\n[window]\nhead = 7\n')))
    assert (child.file.window.tokens, child.file.window.head) == (1_000, 7)
    assert child.file.summary == ""  # what a file says of itself is not handed down
    assert child.setting().draws == "below"
    assert isinstance(child.setting().workload, SyntheticWorkload)
    catalogued = load_scenario(str(written('base = "rewrite-budget-spiral"\n')))
    assert catalogued.file.expect == ()
    assert catalogued.setting().draws == "rewrite-budget-spiral"


def test_faults_of_a_base(written: Writer) -> None:
    written('base = "rewrite-budget-spiral"\n', "middle.toml")
    assert "base: base 'middle' has a base itself" in fault_of(written('base = "middle"\n'))
    assert "did you mean 'rewrite-budget-spiral'?" in fault_of(written('base = "rewrite-budget-spirl"\n'))
    assert "base: base is not a name; expected the name of a scenario" in fault_of(written("base = 5\n"))
    assert "has a base itself" in fault_of(written('base = "mine"\n'))


def test_the_summary_that_expectations_may_name_is_that_of_a_run() -> None:
    from policies import load_policy
    from simulator import simulate

    run = simulate(load_scenario("rewrite-budget-exact").setting(), load_policy("naive"))
    assert {"outcome", *run.summary} == set(SUMMARY)
