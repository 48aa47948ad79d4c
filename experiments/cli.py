"""The command line. Each command reads its words, calls one function, and prints what came back.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 an expectation missed, a
policy does not conform or a run failed, 2 bad usage or input, 130 interrupted. Heavy libraries are
imported where they are used, never on the way to `--help`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from experiments.console import (
    Json,
    Plot,
    Policies,
    Progress,
    Save,
    Seed,
    Sets,
    Trace,
    Workers,
    results_alone_on_stdout,
    say,
)
from experiments.sweep_commands import plot_command, report_command, sweep_command
from simulator.errors import InputError, RewriteLabError, one_line

if TYPE_CHECKING:
    from scenarios.replay import ReplayScenario
    from simulator import Setting

app = typer.Typer(
    name="rewritelab",
    help="Simulate the rewrite policies of agents that edit their own context.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a fault of ours is for us to read, whole
)


@app.command("reproduce")
def reproduce_command(
    scenarios: Annotated[
        list[str] | None, typer.Argument(help="Scenarios; all of the catalogue by default.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", help="Folder for the table and the pictures.")] = Path(
        "results/reproduce"
    ),
    workers: Workers = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Another root seed: fresh worlds.", min=0)
    ] = None,
    box: Annotated[
        int | None,
        typer.Option("--box", help="Measure at N points the share of a parameter box that holds.", min=1),
    ] = None,
    progress: Progress = "auto",
    json: Json = False,
) -> None:
    """Run the documented failures; print documented beside simulated, pass or miss."""
    from experiments import reports
    from experiments.files import ready_folder, write_atomically
    from experiments.reproduction import box_shares, documented_scenarios, reproduce

    chosen = documented_scenarios(scenarios or [])
    if box is not None:
        for scenario in chosen:
            root = 1 if seed is None else seed
            with results_alone_on_stdout():
                shares = box_shares(
                    scenario, points=box, replications=20, seed=root, workers=workers, show=progress
                )
            say(reports.box_json(shares) if json else reports.box_table(scenario, shares))
        return
    ready_folder(output)
    with results_alone_on_stdout():
        findings = reproduce(chosen, workers=workers, seed=seed, output=output, show=progress)
    lines = reports.findings_json(findings)
    write_atomically(output / "findings.jsonl", lines.encode())
    say(lines if json else reports.findings_table(findings, output))
    if not all(finding.passed for finding in findings):
        raise typer.Exit(1)


@app.command("run")
def run_command(
    scenario: Annotated[str, typer.Argument(help="A scenario by name or path.")],
    policy: Policies,
    seed: Seed = 0,
    sets: Sets = None,
    save: Save = None,
    plot: Plot = None,
    trace: Trace = None,
    json: Json = False,
) -> None:
    """Run one scenario under each policy, all in the same world."""
    from experiments.words import split_overrides
    from scenarios import load_scenario

    of_scenario, of_policies = split_overrides(sets or [], policy)
    setting = load_scenario(scenario, of_scenario).setting()
    if trace is not None and len(policy) > 1:
        raise InputError(
            f"a trace is that of one run, not of {len(policy)}", where="--trace", expected="one --policy"
        )
    _compare([(setting, [])], policy, of_policies, seed, save, plot, json, trace)


@app.command("replay")
def replay_command(  # noqa: PLR0913, PLR0917 - one parameter an option of the command
    log: Annotated[Path, typer.Argument(help="A session log of a real agent.")],
    policy: Policies,
    window: Annotated[int | None, typer.Option("--window", help="Tokens of the model's window.")] = None,
    log_format: Annotated[
        str | None, typer.Option("--format", help="Format; found by looking by default.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Number from 0, or all; longest by default.")
    ] = None,
    prefix: Annotated[int | None, typer.Option("--prefix", help="Tokens of the fixed prefix.")] = None,
    seed: Seed = 0,
    sets: Sets = None,
    save: Save = None,
    save_shape: Annotated[
        Path | None, typer.Option("--save-shape", help="CSV of what the session brought, without its text.")
    ] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Replay a real session log as the workload under each policy, open loop."""
    from experiments.comparison import require_policies
    from experiments.words import session_of, split_overrides
    from scenarios.replay import replay_scenarios

    of_scenario, of_policies = split_overrides(sets or [], policy)
    replays = replay_scenarios(
        log,
        window=200_000 if window is None else window,
        format=log_format,
        session=session_of(session),
        prefix=prefix,
        overrides=of_scenario,
    )
    notes = [list(replay.notes) for replay in replays]
    if save_shape is not None:
        if len(replays) > 1:
            raise InputError(
                f"a shape is that of one session, not of {len(replays)}",
                where="--save-shape",
                expected="one --session",
            )
        with results_alone_on_stdout():
            require_policies(policy, of_policies)  # nothing is written for words that are wrong
        notes[0].append(_save_shape(replays[0], save_shape))
    worlds = [(replay.setting(), told) for replay, told in zip(replays, notes, strict=True)]
    _compare(worlds, policy, of_policies, seed, save, plot, json)


def _save_shape(replay: ReplayScenario, path: Path) -> str:
    """Write what a session brought as a CSV, and return what a scenario that takes it must say."""
    from experiments.files import write_atomically
    from scenarios.recorded_tables import shape_text

    if path.suffix != ".csv":
        raise InputError(
            f"{path.name!r} is no CSV", where="--save-shape", expected="a path that ends in .csv"
        )
    write_atomically(path, shape_text(replay.workload.recorded).encode())
    return (
        f"The shape is in {path}; beside it a scenario takes it by [workload] kind = 'recorded', "
        f"file = '{path.name}', with [window] tokens = {replay.window}, head = {replay.head} and "
        f"[run] horizon = {len(replay.workload.recorded)}."
    )


def _compare(
    worlds: list[tuple[Setting, list[str]]],
    policies: list[str],
    of_policies: dict[str, dict[str, object]],
    seed: int,
    save: Path | None,
    plot: Path | None,
    json: bool,
    trace: Path | None = None,
) -> None:
    """Run every policy in every world, each with its notes, and show, save, draw and trace what came out."""
    from experiments import reports
    from experiments.comparison import compare, require_policies, save_comparison
    from experiments.files import ready_folder

    with results_alone_on_stdout():
        require_policies(policies, of_policies)
    if plot is not None:
        from experiments.plots.style import figure_format

        figure_format(plot)
        ready_folder(plot.parent)
    if save is not None:
        ready_folder(save)
    if trace is not None:
        ready_folder(trace.parent)
    with results_alone_on_stdout():
        rows = compare([setting for setting, _ in worlds], policies, of_policies, seed)
    for row in rows:
        if row.run is not None:
            row.run.manifest["command"] = ["rewritelab", *sys.argv[1:]]
    for _, lines in worlds:
        for line in lines:
            print(f"note: {one_line(line)}", file=sys.stderr)
    save_comparison(rows, save, plot)
    if trace is not None and rows[0].run is not None:  # else there is nothing to trace
        from experiments.report import chrome_trace, write_chrome_trace
        from policies import load_policy

        with results_alone_on_stdout():
            made_of = load_policy(policies[0], of_policies[policies[0]])
        write_chrome_trace(trace, chrome_trace(rows[0].run, worlds[0][0], made_of))
    say(reports.comparison_json(rows) if json else reports.comparison_table(rows))
    if any(row.failure is not None and not row.failure.is_skipped for row in rows):
        raise typer.Exit(1)


@app.command("explain")
def explain_command(
    scenario: Annotated[str, typer.Argument(help="A scenario by name or path.")],
    policy: Annotated[str, typer.Option("--policy", help="Name, TOML file or package.module:Class.")],
    seed: Seed = 0,
    rewrite: Annotated[int, typer.Option("--rewrite", help="Number of the attempt, from 1.", min=1)] = 1,
    sets: Sets = None,
    json: Json = False,
) -> None:
    """Tell one attempt in words: seen, estimated, spent, judged, and what was true."""
    from experiments.explain import explain
    from experiments.words import split_overrides
    from scenarios import load_scenario

    of_scenario, of_policies = split_overrides(sets or [], [policy])
    loaded = load_scenario(scenario, of_scenario)
    with results_alone_on_stdout():
        said = explain(loaded, policy, of_policies[policy], seed=seed, number=rewrite, as_json=json)
    say(said)


app.command("sweep")(sweep_command)
app.command("plot")(plot_command)
app.command("report")(report_command)


@app.command("list")
def list_command(
    kind: Annotated[
        str | None, typer.Argument(help="scenarios, policies, experiments or prices; all by default.")
    ] = None,
    json: Json = False,
) -> None:
    """List what there is, and where it comes from."""
    from experiments.catalogues import listing
    from experiments.reports import listing_json, listing_text

    rows = listing(kind)
    say(listing_json(rows) if json else listing_text(rows))


@app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(help="Of a scenario, policy, experiment or price list; or a path.")],
    resolved: Annotated[bool, typer.Option("--resolved", help="With its base and every default.")] = False,
) -> None:
    """Print one catalogue file."""
    from experiments.catalogues import shown

    say(shown(name, resolved=resolved))


@app.command("check-policy")
def check_policy_command(
    policy: Annotated[str, typer.Argument(help="Name, TOML file or package.module:Class.")],
    json: Json = False,
) -> None:
    """Run the conformance suite on a policy."""
    from experiments.reports import checks_json, checks_text
    from policies.checker import check_policy

    with results_alone_on_stdout():
        checks = check_policy(policy)
    say(checks_json(policy, checks) if json else checks_text(policy, checks))
    if not all(check.passed for check in checks):
        raise typer.Exit(1)


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where it is closed
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no fault
    sys.exit(_code())


def _code() -> int:
    os.environ["MPLBACKEND"] = "agg"  # no window is ever opened, whatever the user's own choice
    try:
        code = app(standalone_mode=False, prog_name="rewritelab")
    except typer.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # Typer leaves so when nobody reads its help
            return 0
        return _told(InputError(f"what was loaded ended the process with {ended.code!r}"), 2)
    except InputError as fault:
        return _told(fault, 2)
    except RewriteLabError as fault:
        return _told(fault, 1)
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno == errno.ENOSPC and fault.filename is None:
            return _told(InputError("cannot be written (no space left)", where="stdout"), 2)
        message = getattr(fault, "format_message", None)
        if message is None:
            raise
        if type(fault).__name__ == "NoArgsIsHelpError":  # a class of Typer's own, whose message is the help
            print(message(), file=sys.stderr)
            return 2
        return _told(InputError(message(), expected="see rewritelab --help"), 2)
    if code == INTERRUPTED:  # Typer turns Ctrl-C into its code
        print("interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


INTERRUPTED = 130


def _told(fault: Exception, code: int) -> int:
    print(f"rewritelab: {one_line(str(fault))}", file=sys.stderr)
    return code
