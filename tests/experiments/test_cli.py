"""The command line: every command, its JSON, its exit codes, and one line for whatever is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd
import pytest

pytestmark = pytest.mark.cli

EXACT = "rewrite-budget-exact"

FINDING_KEYS = {
    "scenario",
    "policy",
    "response",
    "documented",
    "simulated",
    "low",
    "high",
    "passed",
    "kind",
    "source",
}


def words(text: str) -> list[str]:
    return text.split()


RUN_KEYS = {"scenario", "policy", "seed", "outcome", "summary", "manifest"}
SUMMARY_KEYS = words("""
turns max_occupancy_pct final_occupancy_pct occupancy_q05_pct occupancy_q95_pct rewrites_committed
rewrites_refused rewrites_infeasible tokens_freed rewrite_cost_tokens measurement_cost_tokens net_tokens
believed_net_tokens retired_tokens out_of_band_tokens escalations constraints_held constraints_total
constraint_violations dangled_at_commit dangling_references rederivation_tokens reported_compliance
actual_compliance confidence decision_quality usd seconds
""")
TURN_COLUMNS = words("""
turn user_turn time_s tokens occupancy_pct believed_tokens arrived_tokens retired out_of_band
""")
REWRITE_COLUMNS = words("""
turn time_s trigger tokens_before tokens_after occupancy_after_pct estimated_saving freed rewrite_cost
measurement_cost arrivals_during tombstones reinjected out_of_band_during net believed_net rewrite_seconds
outcome stage reason
""")


class Said(Protocol):
    code: int
    out: str
    err: str


Command = Callable[..., Said]


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text that holds one a line and nothing else."""
    found = [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(one, dict) for one in found)
    return found


def assert_refused(said: Said, *words: str, code: int = 2) -> None:
    """One line on stderr that says all of these words; nothing on stdout."""
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("rewritelab: ")
    assert said.err.count("\n") == 1
    assert len(said.err) < 700
    for word in words:
        assert word in said.err


# ------------------------------------------------------------------------------------ every command


def test_help_names_every_command(spawn: Command) -> None:
    said = spawn("--help")
    assert (said.code, said.err) == (0, "")
    for name in words("reproduce run replay explain sweep plot list show check-policy"):
        assert f"\n  {name} " in said.out
        assert spawn(name, "--help").code == 0


def test_without_a_command_the_help_is_shown_as_a_fault(command: Command) -> None:
    said = command()
    assert (said.code, said.out) == (2, "")
    assert "Commands:\n" in said.err


def test_reproduce(command: Command, tmp_path: Path) -> None:
    said = command("reproduce", "size-cap-is-not-enough", "--output", tmp_path / "out", "--workers", "0")
    assert said.code == 0
    assert "5 of 5 expectations hold" in said.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "findings.jsonl",
        "size-cap-is-not-enough.ledgers.png",
    ]


def test_reproduce_json(command: Command, tmp_path: Path) -> None:
    said = command("reproduce", EXACT, "--output", tmp_path, "--workers", "0", "--json")
    findings = objects(said.out)
    assert said.code == 0
    assert all(set(finding) >= FINDING_KEYS for finding in findings)
    assert {finding["kind"] for finding in findings} <= {"fitted", "implied", "external"}
    assert all(finding["passed"] is True for finding in findings)
    assert (tmp_path / "findings.jsonl").read_text() == said.out


def test_reproduce_tells_a_miss(command: Command, small_scenario: Path, tmp_path: Path) -> None:
    small_scenario.write_text(small_scenario.read_text().replace("at_least = 1\n", "at_least = 1e6\n"))
    words = ("reproduce", small_scenario, "--output", tmp_path / "out", "--workers", "0")
    said = command(*words)
    assert said.code == 1
    assert "MISS" in said.out
    assert "1 of 2 expectations hold: 1 fitted, 1 implied, 0 external." in said.out
    assert [finding["passed"] for finding in objects(command(*words, "--json").out)] == [True, False]


@pytest.mark.parametrize(
    ("kind", "at_least", "says"),
    [
        ("external", "1e6", "2 of 2 expectations hold: 0 fitted, 1 implied, 1 external; 1 of them says that"),
        ("implied", "1e6", "2 of 2 expectations hold: 0 fitted, 2 implied, 0 external.\n"),  # a switch's
        ("external", "1", "1 of 2 expectations hold: 0 fitted, 1 implied, 1 external.\n"),  # it is met
    ],
)
def test_reproduce_counts_figures_that_are_missed_as_their_scenario_says(
    command: Command, small_scenario: Path, tmp_path: Path, kind: str, at_least: str, says: str
) -> None:
    before, after = (
        'at_least = 1\nkind = "fitted"',
        f'at_least = {at_least}\nmust_fail = true\nkind = "{kind}"',
    )
    small_scenario.write_text(small_scenario.read_text().replace(before, after))
    said = command("reproduce", small_scenario, "--output", tmp_path / "out", "--workers", "0")
    assert says in said.out


def test_reproduce_box(command: Command, small_scenario: Path, tmp_path: Path) -> None:
    text = small_scenario.read_text()
    small_scenario.write_text('box = ["laws.rationale.base"]\n' + text)
    said = command("reproduce", small_scenario, "--box", "2", "--workers", "0", "--json")
    assert said.code == 0
    shares = [finding["holds_in_box"] for finding in objects(said.out)]
    assert len(shares) == 3
    assert all(0 <= share <= 1 for share in shares)
    assert "holds in" in command("reproduce", small_scenario, "--box", "1", "--workers", "0").out
    assert not (tmp_path / "results").exists()


def test_run(command: Command) -> None:
    said = command("run", EXACT, "--policy", "naive", "--policy", "guarded")
    assert (said.code, said.err) == (0, "")
    assert "overflow" in said.out  # an agent that overflows is a result


def test_run_json_and_tables(command: Command, tmp_path: Path) -> None:
    said = command(
        "run", EXACT, "--policy", "naive", "--policy", "guarded", "--seed", "7", "--json", "--save", tmp_path
    )
    rows = objects(said.out)
    assert said.code == 0
    assert [row["policy"] for row in rows] == ["naive", "guarded"]
    for row in rows:
        assert set(row) >= RUN_KEYS
        assert set(row["summary"]) >= set(SUMMARY_KEYS)
        assert (row["scenario"], row["seed"]) == (EXACT, 7)
        assert row["summary"]["constraints_held"] is None  # not exercised: null and never 0
        turns, rewrites, events = (
            pd.read_parquet(tmp_path / row["policy"] / f"{name}.parquet")
            for name in ("turns", "rewrites", "events")
        )
        assert set(turns.columns) >= set(TURN_COLUMNS)
        assert set(rewrites.columns) >= set(REWRITE_COLUMNS)
        assert set(events.columns) >= {"turn", "time_s", "kind"}
        assert len(turns) == row["summary"]["turns"]
        assert rewrites["net"].sum() == row["summary"]["net_tokens"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["guarded", "naive"]


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plot_of_a_run(command: Command, tmp_path: Path, suffix: str, magic: bytes) -> None:
    path = tmp_path / f"turns.{suffix}"
    assert command("run", EXACT, "--policy", "naive", "--plot", path).code == 0
    assert path.read_bytes().startswith(magic)


def test_set_reaches_scenario_and_policies(command: Command) -> None:
    sets = ("--set", "window.tokens=30000", "--set", "policy.trigger.fraction=0.5")
    said = command(
        "run",
        EXACT,
        "--policy",
        "naive",
        "--policy",
        "guarded",
        *sets,
        "--set",
        "naive.trigger.fraction=1",
        "--json",
    )
    naive, guarded = objects(said.out)
    assert naive["summary"]["max_occupancy_pct"] < 100 * 24_500 / 30_000
    assert naive["summary"]["rewrites_committed"] == 0
    assert guarded["summary"]["rewrites_refused"] > 0


def test_explain_tells_what_a_rewrite_did_to_references_and_to_the_mind(command: Command) -> None:
    said = command("explain", "coherence-inversion-exact", "--policy", "inversion-naive").out
    assert "broke      2 live references" in said
    assert "mind" not in said  # nothing of it is in doubt
    said = command("explain", "lossy-boundary-exact", "--policy", "salience-naive").out
    assert "1 constraints have force" in said
    assert "broke" not in said


def test_explain(command: Command) -> None:
    said = command("explain", EXACT, "--policy", "naive")
    assert said.code == 0
    for words in ("21,840 tokens", "true       net -700 tokens", "believed   net +1,100 tokens"):
        assert words in said.out
    (row,) = objects(command("explain", EXACT, "--policy", "naive", "--rewrite", "2", "--json").out)
    assert set(row) >= {"scenario", "policy", "seed", "rewrite", *REWRITE_COLUMNS}
    assert row["rewrite"] == 2


def test_sweep_and_plot(command: Command, small_experiment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    said = command("sweep", small_experiment, "--output", folder, "--workers", "0", "--json")
    rows = objects(said.out)
    assert said.code == 0
    assert len(rows) == 4 * 3
    assert set(rows[0]) == {
        "rationale", "horizon", "policy", "response", "mean", "low", "high", "n", "failed",
    }  # fmt: skip
    assert (folder / "two-by-two.png").read_bytes().startswith(b"\x89PNG")
    small_experiment.unlink()  # the folder knows its experiment
    for kind in ("phase", "heat", "table"):
        said = command("plot", folder, kind)
        assert (said.code, said.out) == (0, f"{folder / kind}.png\n")
        assert (folder / f"{kind}.png").exists()
    said = command("plot", folder, "heat", "--output", tmp_path / "heat.svg")
    assert (said.code, said.out) == (0, f"{tmp_path / 'heat.svg'}\n")


def test_sweep_prints_its_effects(command: Command, small_experiment: Path, tmp_path: Path) -> None:
    text = small_experiment.read_text()
    small_experiment.write_text(text.replace('"phase"', '"effects"\nresponse = "overflowed"'))
    folder = tmp_path / "out"
    said = command("sweep", small_experiment, "--output", folder, "--workers", "0")
    assert said.code == 0
    assert "rationale x horizon" in said.out
    rows = objects(command("sweep", small_experiment, "--output", folder, "--json").out)
    assert len(rows) == 4 * 3  # the points alone
    assert command("plot", folder, "effects").code == 0
    assert_refused(command("plot", folder, "differences"), "shows 1 factor, not 2")


def test_list(command: Command) -> None:
    said = command("list", "--json")
    rows = objects(said.out)
    assert said.code == 0
    every = {"kind", "name", "summary", "source"}
    of_policies = every | {"group", "gate_class", "prefix"}
    assert all(every <= set(row) <= (of_policies if row["kind"] == "policy" else every) for row in rows)
    assert {row["kind"] for row in rows} == {"scenario", "policy", "experiment", "price list"}
    assert all(row["summary"] and row["source"] for row in rows)
    assert {row["kind"] for row in objects(command("list", "policies", "--json").out)} == {"policy"}
    assert "  naive " in command("list").out


def test_list_groups_the_policies_and_says_what_a_real_system_asks_and_where_it_is_from(
    command: Command,
) -> None:
    told = command("list", "policies").out
    headers = [line for line in told.splitlines() if not line.startswith(" ")]
    assert headers[:4] == ["policy, records", "policy, comparators", "policy, bounds", "policy, zoo"]
    lines = told.splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("  adk-token-threshold "))
    assert "  G4  fresh   " in lines[place]
    assert "google/adk-python" in lines[place + 1]


def test_show(command: Command, tmp_path: Path) -> None:
    catalogue = Path(sys.modules["experiments"].__file__ or "").parent.parent / "policies" / "catalogue"
    assert command("show", "naive").out == (catalogue / "naive.toml").read_text()
    for name in ("false-floor", "guarded-without-gate", "preconditions", "qwen-3-coder-480b-2025-08"):
        said = command("show", name, "--resolved")
        assert said.code == 0
        resolved = tmp_path / f"{name}.toml"
        resolved.write_text(said.out)
        assert command("show", resolved, "--resolved").out == said.out  # a fixed point, and valid TOML


def test_check_policy(command: Command, zoo: str) -> None:
    assert "guarded conforms" in command("check-policy", "guarded").out
    said = command("check-policy", f"{zoo}:ProposesNone", "--json")
    assert said.code == 1
    checks = objects(said.out)
    assert all(set(check) == {"policy", "check", "passed", "detail"} for check in checks)
    assert not all(check["passed"] for check in checks)


# ------------------------------------------------------------------------------------ streams and codes


def test_a_process_of_its_own(spawn: Command) -> None:
    done = spawn("run", EXACT, "--policy", "naive", "--json")
    assert (done.code, done.err, len(objects(done.out))) == (0, "", 1)
    assert_refused(spawn("run", EXACT, "--policy", "naiv"), "'naiv'", "did you mean 'naive'?")


def test_progress_goes_to_stderr(spawn: Command, small_scenario: Path) -> None:
    asked = ("reproduce", small_scenario, "--output", "out", "--workers", "0", "--json")
    quiet, told = spawn(*asked), spawn(*asked, "--progress", "plain")
    assert len(objects(quiet.out)) == len(objects(told.out)) == 2
    assert quiet.err == ""
    assert "runs: 12/12 (100%)" in told.err


@pytest.mark.parametrize("words", [("list",), ("run", EXACT, "--policy", "naive"), ("--help",)])
def test_a_reader_that_leaves_is_no_fault(tmp_path: Path, words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "rewritelab", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "rewritelab", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 2
    assert ended.stderr == "rewritelab: stdout: cannot be written (No space left on device)\n"


def test_a_terminal_that_lacks_letters(spawn: Command) -> None:
    said = spawn("run", EXACT, "--policy", "naive", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (said.code, said.err) == (0, "")


class Way(NamedTuple):
    """What must not be loaded on the way to a command's output."""

    words: tuple[str, ...]
    absent: tuple[str, ...]


HEAVY = ("pandas", "matplotlib", "scipy", "pyarrow", "simpy", "numpy", "rich")


@pytest.mark.parametrize(
    "way",
    [
        Way(
            ("--help",),
            (
                *HEAVY,
                "scenarios.scenario",
                "policies.schema",
                "experiments.experiment",
                "simulator.simulation",
            ),
        ),
        Way(("run", "--help"), (*HEAVY, "scenarios.scenario", "policies.schema", "simulator.simulation")),
        Way(("list",), (*HEAVY, "scenarios.scenario", "policies.schema", "simulator.simulation")),
        Way(("list", "--json"), HEAVY),
        Way(("show", "naive"), HEAVY),
        Way(("run", "nope", "--policy", "naive"), ("pandas", "matplotlib", "scipy", "pyarrow")),
    ],
    ids=lambda way: " ".join(way.words),
)
def test_heavy_modules_are_left_alone(tmp_path: Path, way: Way) -> None:
    script = (
        "import sys, contextlib, io\n"
        "from experiments.cli import _code\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    _code()\n"
        "print(*sorted(sys.modules))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *way.words], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert set(way.absent) & set(ended.stdout.split()) == set()


# ------------------------------------------------------------------------------------ words that are wrong


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("swep x", ("No such command 'swep'", "sweep")),
        ("run", ("Missing argument",)),
        (f"run {EXACT}", ("--policy",)),
        (f"run {EXACT} --polcy naive", ("--polcy", "--policy")),
        (f"run {EXACT} --policy naive --seed -1", ("--seed", "greater than or equal to 0")),
        (f"run {EXACT} --policy naive --seed seven", ("--seed",)),
        (f"reproduce {EXACT} --workers -1", ("--workers",)),
        ("run rewrite-budget-exac --policy naive", ("unknown scenario", f"did you mean '{EXACT}'?")),
        (f"run {EXACT} --policy gaurded", ("unknown policy 'gaurded'", "did you mean 'guarded'?")),
        ("sweep spiral-bounary", ("an experiment of `rewritelab list`", "did you mean 'spiral-boundary'?")),
        ("reproduce rewrite-budget-spirl", ("did you mean 'rewrite-budget-spiral'?",)),
        (f"reproduce {EXACT} {EXACT}", ("stands twice",)),
        ("reproduce constant-arrivals", ("constant-arrivals.toml", "nothing to expect")),
        ("reproduce size-cap-is-not-enough --box 2", ("size-cap-is-not-enough.toml: box", "no parameters")),
        (f"explain {EXACT} --policy naive --rewrite 99", ("--rewrite", "no attempt 99", "expected 1 to 4")),
        (f"explain {EXACT} --policy never-rewrite", ("--rewrite", "this one has no attempt")),
        (f"explain {EXACT} --policy naiv", ("did you mean 'naive'?",)),
        ("list policy", ("unknown kind 'policy'", "did you mean 'policies'?")),
        ("show guardd", ("unknown name 'guardd'", "did you mean 'guarded'?")),
        ("check-policy guardd", ("did you mean 'guarded'?",)),
        ("plot nowhere phase", ("nowhere", "no manifest.json")),
        (f"run {EXACT} --policy naive --policy naive", ("--policy", "stands twice")),
        (f"run {EXACT} --policy naive --policy {{zoo}}:Nope", ("policy_zoo has no class 'Nope'",)),
        (f"run {EXACT} --policy nowhere:Nope", ("'nowhere' does not import", "ModuleNotFoundError")),
        (f"run {EXACT} --policy ./naive.toml", ("naive.toml", "no such file")),
        ("run / --policy naive", ("/", "is a directory")),
        ("run /dev/zero --policy naive", ("/dev/zero", "is not a regular file")),
        ("run {long} --policy naive", ("unknown scenario",)),
    ],
)
def test_wrong_words(command: Command, zoo: str, words: str, told: tuple[str, ...]) -> None:
    assert_refused(command(*words.format(zoo=zoo, long="a" * 300).split()), *told)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("window.tokens", ("--set", "sets nothing", "path=value")),
        ("=5", ("--set", "sets nothing")),
        ("window..tokens=5", ("'window..tokens' is not a path",)),
        ("window.tokens=abc", ("--set window.tokens", "'abc' is not a TOML value")),
        ("window.tokens=5\nhead=3", ("--set window.tokens", "is not a TOML value")),
        ("window.tokens=-5", ("window.tokens", "greater than or equal to 1", "got -5")),
        ('window.tokens="many"', ("window.tokens", "valid integer", "got 'many'")),
        ("window.tokens=1.5", ("window.tokens", "got 1.5")),
        ("window.tokens=inf", ("window.tokens",)),
        ("laws.rationale.base=nan", ("laws.rationale.base", "finite", "got nan")),
        ("window.token=5", ("window.token", "unknown key", "did you mean 'tokens'?")),
        ("window.tokens.size=5", ("the path window.tokens.size", "tokens is a value, not a table")),
        ("widow.tokens=5", ("widow", "unknown key", "did you mean 'window'?")),
        ('workload.kind="random"', ("workload", "synthetic", "scripted")),
        ("policy.trigger.fracton=0.9", ("naive.toml", "trigger.fracton", "did you mean 'fraction'?")),
        ("naive.trigger.fraction=-1", ("naive.toml", "trigger.fraction", "greater than 0")),
        (f"{'a.' * 2000}a=1", ("the path a.a.", "2001 keys")),
        (f"window.tokens={'[' * 50}{']' * 50}", ("the path window.tokens", "nested too deeply")),
        (f"window.tokens={'[' * 5000}{']' * 5000}", ("--set window.tokens", "not a TOML value")),
        ("policy.trigger=5", ("trigger",)),
    ],
)
def test_wrong_sets(command: Command, word: str, told: tuple[str, ...]) -> None:
    assert_refused(command("run", EXACT, "--policy", "naive", "--set", word), *told)


def test_a_class_takes_no_overrides(command: Command, zoo: str) -> None:
    said = command("run", EXACT, "--policy", f"{zoo}:Sound", "--set", "policy.trigger.fraction=0.5")
    assert_refused(said, "takes no overrides")


def test_policies_that_would_share_a_folder(command: Command, tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mine.toml").write_text("")
    words = ("--policy", tmp_path / "a/mine.toml", "--policy", tmp_path / "b/mine.toml")
    assert_refused(command("run", EXACT, *words, "--save", tmp_path / "out"), "both named 'mine'")
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------ files that are wrong


def contents(kind: str) -> bytes:
    return {
        "binary": bytes(range(256)) * 4,
        "not UTF-8": 'summary = "ä"'.encode("latin-1"),
        "empty": b"",
        "huge": b"#" * (5 << 20),
        "deep list": b"a = " + b"[" * 30_000 + b"]" * 30_000,
        "deep table": b"[" + b".".join([b"a"] * 3000) + b"]\nb = 1\n",
        "not TOML": b"[window\ntokens = 5\n",
        "twice": b"[window]\ntokens = 5\ntokens = 6\n",
    }[kind]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("binary", "not UTF-8 text at byte 128"),
        ("not UTF-8", "not UTF-8 text at byte 11"),
        ("empty", "Field required"),
        ("huge", "is too large; expected at most 4 MiB"),
        ("deep list", "nested too deeply"),
        ("deep table", "nested too deeply"),
        ("not TOML", "(at line 1, column 8)"),
        ("twice", "(at line 3, column 11)"),
    ],
)
def test_files_that_cannot_be_read(command: Command, tmp_path: Path, kind: str, told: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(contents(kind))
    asked = [("run", path, "--policy", "naive"), ("reproduce", path), ("sweep", path)]
    if kind != "empty":  # an empty policy file is a policy of defaults
        asked += [("run", EXACT, "--policy", path), ("check-policy", path), ("show", path)]
    for asking in asked:
        assert_refused(command(*asking), str(path), told)


def test_a_folder_is_no_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "folder.toml"
    path.mkdir()
    for words in (("run", path, "--policy", "naive"), ("sweep", path), ("show", path)):
        assert_refused(command(*words), str(path), "is a directory")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("tokens = 3_000", "tokens = true", ("window.tokens", "valid integer")),
        ("tokens = 3_000", 'tokens = "3000"', ("window.tokens", "valid integer", "'3000'")),
        ("tokens = 3_000", "token = 3_000", ("window.token", "did you mean 'tokens'?")),
        ("[laws.rationale]", "[laws.rational]", ("laws.rational", "did you mean 'rationale'?")),
        ('kind = "synthetic"', 'kind = "syntetic"', ("workload", "synthetic")),
        ('policy = "guarded"', 'policy = "gaurded"', ("policy gaurded", "did you mean 'guarded'?")),
        ('summary = "rewrites_committed"', 'summary = "rewrites_comitted"', ("'rewrites_committed'?",)),
        ('measure = "net_per_attempt_tokens"', 'measure = "net_per_attempt"', ("'net_per_attempt_tokens'?",)),
    ],
)
def test_scenarios_with_a_fault(
    command: Command, small_scenario: Path, tmp_path: Path, before: str, after: str, told: tuple[str, ...]
) -> None:
    text = small_scenario.read_text()
    assert before in text
    small_scenario.write_text(text.replace(before, after))
    assert_refused(command("reproduce", small_scenario, "--output", tmp_path / "out"), "small.toml", *told)
    assert not (tmp_path / "out").exists()


def test_a_policy_file_whose_class_does_not_import(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('class = "nowhere.at.all:Mine"\n')
    said = command("run", EXACT, "--policy", path, "--save", tmp_path / "out")
    assert_refused(said, "mine.toml: class", "'nowhere.at.all' does not import", "No module named 'nowhere'")
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------------------------------ places that refuse


def test_places_that_cannot_be_written(command: Command, tmp_path: Path, small_experiment: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    run = ("run", EXACT, "--policy", "naive")
    for place in (file, file / "below"):
        assert_refused(command(*run, "--save", place), str(place))
        assert_refused(command("reproduce", EXACT, "--output", place), str(place))
        assert_refused(command("sweep", small_experiment, "--output", place), str(place))
        assert_refused(command("plot", place, "heat"), str(place))
    assert_refused(command(*run, "--plot", file / "turns.png"), str(file))
    assert file.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "two-by-two.toml"]


@pytest.mark.parametrize(
    ("name", "told"), [("turns.gif", "'.gif'"), ("turns", "no suffix"), ("a.pgn", "'.png'?")]
)
def test_a_plot_of_another_format(command: Command, tmp_path: Path, name: str, told: str) -> None:
    words = ("--save", tmp_path / "out", "--plot", tmp_path / name)
    assert_refused(command("run", EXACT, "--policy", "naive", *words), name, told)
    assert list(tmp_path.iterdir()) == []  # asked before anything ran


def test_a_folder_of_others_is_left_alone(command: Command, tmp_path: Path, small_experiment: Path) -> None:
    (tmp_path / "out" / "naive").mkdir(parents=True)
    (tmp_path / "out" / "naive" / "thesis.tex").write_text("mine")
    said = command("run", EXACT, "--policy", "naive", "--save", tmp_path / "out")
    assert_refused(said, "naive", "'thesis.tex'")
    assert [path.name for path in (tmp_path / "out").rglob("*.*")] == ["thesis.tex"]
    assert_refused(command("plot", tmp_path / "out", "heat"), "no manifest.json")


def test_a_sweep_of_another_plan(command: Command, tmp_path: Path, small_experiment: Path) -> None:
    folder = tmp_path / "out"
    assert command("sweep", small_experiment, "--output", folder, "--workers", "0").code == 0
    small_experiment.write_text(small_experiment.read_text().replace("[40, 110]", "[40, 111]"))
    assert_refused(
        command("sweep", small_experiment, "--output", folder),
        str(folder),
        "another sweep: file.factor.1.values is [40, 110] there and [40, 111] here",
        "--fresh",
    )
    for kind, told in (("response", "shows 1 factor, not 2"), ("het", "did you mean 'heat'?")):
        assert_refused(command("plot", folder, kind), told)
    said = command("sweep", small_experiment, "--output", folder, "--workers", "0", "--fresh")
    assert said.code == 0


# ------------------------------------------------------------------------------------ policies that fail


@pytest.mark.parametrize(
    ("name", "stage", "reason"),
    [
        ("RaisesInBegin", "begin", "LookupError: no begin"),
        ("RaisesInCheck", "check", "LookupError: no check"),
        ("RaisesInPropose", "propose", "LookupError: no propose"),
        ("RaisesInJudge", "judge", "LookupError: no judge"),
        ("ChecksWithText", "check", "policy returned"),
        ("ProposesNone", "propose", "policy returned"),
        ("SelectsTheHead", "propose", "head"),
        ("Exits", "learn", "SystemExit: 3"),
    ],
)
def test_a_policy_that_fails_stops_no_other(
    command: Command, zoo: str, tmp_path: Path, name: str, stage: str, reason: str
) -> None:
    words = ("run", EXACT, "--policy", f"{zoo}:{name}", "--policy", "naive", "--save", tmp_path)
    said = command(*words, "--json")
    failed, done = objects(said.out)
    assert (said.code, said.err) == (1, "")
    assert (failed["outcome"], failed["stage"], failed["summary"]) == ("failed", stage, None)
    assert reason in failed["reason"]
    assert done["outcome"] == "overflow"
    assert [path.name for path in tmp_path.iterdir()] == ["naive"]
    assert f"failed at {stage}" in command(*words).out


def test_a_policy_that_never_returns(command: Command, zoo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.watchdog.PATIENCE_SECONDS", 1)
    said = command("run", EXACT, "--policy", f"{zoo}:HangsInPropose", "--policy", "naive", "--json")
    failed, done = objects(said.out)
    assert said.code == 1
    assert (failed["stage"], done["outcome"]) == ("propose", "overflow")
    assert "no answer within 1 seconds" in failed["reason"]


def test_explain_of_a_run_that_fails(command: Command, zoo: str) -> None:
    for name in ("RaisesInCheck", "Exits"):
        assert_refused(command("explain", EXACT, "--policy", f"{zoo}:{name}"), "run failed at", code=1)


def test_a_plot_of_nothing(command: Command, zoo: str, tmp_path: Path) -> None:
    words = ("--policy", f"{zoo}:RaisesInCheck", "--plot", tmp_path / "turns.png")
    assert_refused(command("run", EXACT, *words), "--plot", "no run has finished")


def test_a_sweep_with_failed_runs(command: Command, zoo: str, small_experiment: Path, tmp_path: Path) -> None:
    text = small_experiment.read_text().replace('kind = "phase"', 'kind = "table"')
    small_experiment.write_text(
        text.replace('policies = ["', f'policies = ["{zoo}:RaisesInCheck", "').replace("= 15", "= 2")
    )
    words = ("sweep", small_experiment, "--output", tmp_path / "out", "--workers", "0")
    said = command(*words)
    assert said.code == 1
    assert "8 runs failed" in said.err
    runs = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    failed = runs[runs["outcome"] == "failed"]
    assert len(failed) == 8
    assert set(failed["failed_stage"]) == {"check"}
    assert set(failed["failure"]) == {"policy raised LookupError: no check"}
    assert runs.loc[runs["outcome"] != "failed", "net_per_attempt_tokens"].count() > 0
    said = command(*words)  # nothing is run again, and what failed is still told
    assert said.code == 1
    assert "8 runs failed" in said.err


def test_reproduce_with_a_policy_that_fails(
    command: Command, zoo: str, small_scenario: Path, tmp_path: Path
) -> None:
    text = small_scenario.read_text()
    small_scenario.write_text(text.replace('policy = "guarded"', f'policy = "{zoo}:RaisesInCheck"'))
    said = command("reproduce", small_scenario, "--output", tmp_path / "out", "--workers", "0", "--json")
    held, missed = objects(said.out)
    assert said.code == 1
    assert (held["passed"], missed["passed"], missed["simulated"]) == (True, False, None)
    assert missed["note"] == "run 0 failed at check: policy raised LookupError: no check"


# ------------------------------------------------------------------------------------ logs


class Turn(NamedTuple):
    role: str
    content: object
    request: str = ""


def log_of(path: Path, *turns: Turn) -> Path:
    """Write a log of Claude Code."""
    lines = []
    for turn in turns:
        message = {"role": turn.role, "content": turn.content}
        if turn.request:
            message |= {"id": turn.request, "model": "m", "usage": {}}
        lines.append(json.dumps({"type": turn.role, "sessionId": "s", "message": message}))
    path.write_text("\n".join(lines) + "\n")
    return path


def talk(path: Path) -> Path:
    turns = []
    for number in range(6):
        turns.append(Turn("user", f"question {number} " * 100))
        turns.append(Turn("assistant", [{"type": "text", "text": f"answer {number} " * 40}], f"msg_{number}"))
    return log_of(path, *turns)


def test_replay_without_tool_results(command: Command, tmp_path: Path) -> None:
    log = talk(tmp_path / "log.jsonl")
    said = command("replay", log, "--policy", "naive", "--policy", "guarded", "--window", "2000", "--json")
    rows = objects(said.out)
    assert said.code == 0
    assert [row["policy"] for row in rows] == ["naive", "guarded"]
    assert all(set(row) >= RUN_KEYS and set(row["summary"]) >= set(SUMMARY_KEYS) for row in rows)
    assert all(line.startswith("note: ") for line in said.err.splitlines())
    assert "open loop" in said.err


def test_replay_of_a_truncated_log(command: Command, tmp_path: Path) -> None:
    log = talk(tmp_path / "log.jsonl")
    log.write_text(log.read_text()[:-30])
    said = command("replay", log, "--policy", "naive", "--json")
    assert said.code == 0
    assert "last line" in said.err or "line 12" in said.err


def test_replay_of_a_real_log(command: Command, shared: Path) -> None:
    log = next(iter(sorted((shared / "traces" / "claude_code").glob("*.jsonl"))))
    said = command("replay", log, "--policy", "naive", "--json")
    assert said.code == 0
    assert len(objects(said.out)) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"\0\0\0", "NUL bytes"),
        (bytes(range(1, 256)) * 3, "log"),
        (b"hello\n", "log"),
        (b"{}\n", "log"),
    ],
)
def test_logs_that_cannot_be_read(command: Command, tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    assert_refused(command("replay", path, "--policy", "naive"), str(path), told)


def test_wrong_words_of_replay(command: Command, tmp_path: Path) -> None:
    log = talk(tmp_path / "log.jsonl")
    assert_refused(command("replay", tmp_path, "--policy", "naive"), str(tmp_path), "folder")
    assert_refused(command("replay", tmp_path / "lg.jsonl", "--policy", "naive"), "did you mean 'log.jsonl'?")
    for words, told in (
        (("--window", "0"), ("--window", "cannot be 0")),
        (("--window", "5", "--prefix", "6"), ("--window", "smaller than the fixed prefix of 6 tokens")),
        (("--prefix", "-1"), ("--prefix", "cannot be -1")),
        (("--session", "3"), ("has no session 3",)),
        (("--session", "al"), ("--session", "'al' is no session")),
        (("--format", "clude_code"), ("did you mean 'claude_code'?",)),
        (("--set", "window.tokens=4"), ("--set window.tokens", "from the log")),
        (("--set", "laws.rationale.bas=4"), ("did you mean 'base'?",)),
    ):
        assert_refused(command("replay", log, "--policy", "naive", *words), *told)


# ------------------------------------------------------------------------------------ hostile names

HOSTILE = "x\x1b[2J\x9b\u202ey"
"""An escape sequence, its one-letter form, and a turn of the writing direction."""


def test_names_never_reach_the_terminal_raw(command: Command, small_scenario: Path, tmp_path: Path) -> None:
    evil = tmp_path / f"{HOSTILE}.toml"
    text = small_scenario.read_text()
    evil.write_text(text.replace('["occupancy"]', "[]"))
    policy = tmp_path / f"p{HOSTILE}.toml"
    policy.write_text("[trigger]\nfraction = 0.5\n")
    log = talk(tmp_path / f"{HOSTILE}.jsonl")
    asked = [
        ("run", evil, "--policy", policy),
        ("run", evil, "--policy", policy, "--json"),
        ("explain", evil, "--policy", policy),
        ("explain", evil, "--policy", policy, "--json"),
        ("reproduce", evil, "--output", tmp_path / HOSTILE, "--workers", "0"),
        ("reproduce", evil, "--output", tmp_path / HOSTILE, "--workers", "0", "--json"),
        ("show", evil, "--resolved"),
        ("check-policy", policy),
        ("replay", log, "--policy", policy),
        ("run", HOSTILE, "--policy", "naive"),
        ("run", EXACT, "--policy", HOSTILE),
        ("run", EXACT, "--policy", "naive", "--set", f"{HOSTILE}=1"),
        ("run", EXACT, "--policy", "naive", f"--{HOSTILE}"),
        ("show", HOSTILE),
        (HOSTILE,),
    ]
    for asking in asked:
        said = command(*asking)
        assert said.code in (0, 1, 2)
        for text in (said.out, said.err):
            raw = {letter for letter in text if not letter.isprintable()} - {"\n"}
            assert not raw, (asking, raw)


def test_contents_never_reach_the_terminal_raw(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('summary = "a\x9bb\u202ec"\n')
    assert command("show", path).out == 'summary = "a?b?c"\n'
    assert "\\u009b" in command("show", path, "--resolved").out


# ------------------------------------------------------------------------------------ Ctrl-C


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C: the terminal tells the whole process group."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    pytest.fail(f"{path} has not come")


@pytest.mark.crash
@pytest.mark.slow
def test_interrupted_sweep_resumes_to_the_same_bytes(
    begin: Callable[..., subprocess.Popen[str]],
    command: Command,
    small_experiment: Path,
    tmp_path: Path,
    files_of: Callable[[Path], dict[str, bytes]],
) -> None:
    text = small_experiment.read_text()
    small_experiment.write_text(text.replace("= 15", "= 50").replace("[40, 110]", "[109, 110]"))
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    process = begin("sweep", small_experiment, "--output", cut, "--workers", "2")
    wait_for(cut / "journal", process)
    while not any(path.stat().st_size > 1000 for path in (cut / "journal").iterdir()):
        time.sleep(0.01)
    code, out, err = interrupt(process)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert err.endswith("interrupted\n")
    lines = sum(len(text.splitlines()) - 1 for text in files_of(cut / "journal").values())
    assert 0 < lines < 200
    assert not list(cut.glob("*.p*"))  # neither tables nor a picture
    for folder in (cut, whole):
        assert command("sweep", small_experiment, "--output", folder, "--workers", "2").code == 0
    for table in ("runs", "failures"):
        assert (cut / f"{table}.parquet").read_bytes() == (whole / f"{table}.parquet").read_bytes()
    assert not list((cut / "journal").iterdir())


@pytest.mark.crash
@pytest.mark.parametrize("workers", ["0", "2"])
def test_interrupted_reproduce_leaves_nothing(
    begin: Callable[..., subprocess.Popen[str]], tmp_path: Path, workers: str
) -> None:
    words = ("reproduce", "rewrite-budget-spiral", "--workers", workers, "--progress", "plain")
    process = begin(*words, "--output", tmp_path / "out")
    assert process.stderr is not None
    assert process.stderr.readline().startswith("runs: ")
    code, out, err = interrupt(process)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert err.endswith("interrupted\n")
    assert list((tmp_path / "out").iterdir()) == []


# ------------------------------------------------------------------------------------ what policies print


LOUD = """
import os
from simulator import Policy, RewritePlan

print("at import")


class Loud(Policy):
    name = "loud"

    def check(self, gauge):
        print("printed")
        os.write(1, b"written\\n")
        return False

    def propose(self, view):
        return RewritePlan()
"""


@pytest.mark.parametrize("command", ["run", "check-policy"])
def test_what_a_policy_prints_is_no_result(spawn: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    words = [EXACT, "--policy", "loud:Loud"] if command == "run" else ["loud:Loud"]
    said = spawn(command, *words, "--json")
    assert objects(said.out)
    assert "written" in said.err
    assert "printed" in said.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a." * 50_000 + "b = 1", "nested too deeply"),
        ("[window]\ntokens = " + "9" * 5_000, "a number is too long"),
        ('[workload]\nkind = "scripted"\ncsv = "a\\u0000b"\n[window]\ntokens = 9', "is no name of a file"),
    ],
)
def test_toml_that_takes_its_parser_for_ever(command: Command, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "hostile.toml"
    path.write_text(text)
    said = command("run", path, "--policy", "naive")
    assert said.code == 2
    assert told in said.err


def test_a_pipe_is_no_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    said = command("run", path, "--policy", "naive")
    assert (said.code, "is not a regular file" in said.err) == (2, True)


def test_numbers_without_end(command: Command) -> None:
    said = command("run", EXACT, "--policy", "naive", "--set", f"window.tokens={'9' * 5_000}")
    assert (said.code, "is not a TOML value" in said.err) == (2, True)


def test_a_number_that_no_table_holds(command: Command, tmp_path: Path) -> None:
    huge = "laws.rationale.base=1e308"
    said = command("run", EXACT, "--policy", "naive", "--set", huge, "--save", tmp_path / "out")
    assert (said.code, "laws.rationale.base" in said.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_the_manifest_holds_the_command(spawn: Command) -> None:
    words = ["run", EXACT, "--policy", "naive", "--set", "window.tokens=30000", "--json"]
    (line,) = objects(spawn(*words).out)
    assert line["manifest"]["command"] == ["rewritelab", *words]
