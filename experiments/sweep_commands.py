"""The commands of a sweep: run an experiment file, draw one picture of its results, report all of them."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from experiments.console import Json, Progress, Sets, Workers, ending_in_order, results_alone_on_stdout, say
from simulator.errors import InputError, one_line

if TYPE_CHECKING:
    from experiments.experiment import Experiment

Folder = Annotated[Path, typer.Argument(help="The folder of a sweep.")]


def sweep_command(  # noqa: PLR0913, PLR0917 - one parameter an option of the command
    experiment: Annotated[str, typer.Argument(help="An experiment by name or path.")],
    output: Annotated[
        Path | None, typer.Option("--output", help="Folder; results/EXPERIMENT by default.")
    ] = None,
    workers: Workers = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler that makes the runs.")
    ] = None,
    sets: Sets = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="name=value: runs of a scenario, policy, point, replication or level; repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many runs and, by a pilot, how long; write nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Consent to a very large sweep.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what has failed.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the results of an earlier sweep.")] = False,
    progress: Progress = "auto",
    json: Json = False,
) -> None:
    """Run an experiment file, or what is missing of it; write Parquet and a picture."""
    from experiments.clusters import cluster
    from experiments.experiment import load_experiment
    from experiments.sweeping import require_size, sweep
    from experiments.words import experiment_overrides

    loaded = load_experiment(experiment, experiment_overrides(sets or []))
    folder = (Path("results") / loaded.name if output is None else output).absolute()
    if dry_run:
        with ending_in_order():
            _forecast(loaded, folder, workers, only or [], json, fresh=fresh)
        return
    require_size(loaded, consent=yes)
    with ending_in_order():
        try:
            with ExitStack() as connected, results_alone_on_stdout():
                engine = None if scheduler is None else connected.enter_context(cluster(scheduler))
                failures = sweep(
                    loaded,
                    folder,
                    workers=workers if engine is None else engine.width,
                    open_executor=None if engine is None else engine.open_executor,
                    only=only or [],
                    fresh=fresh,
                    retry_failed=retry_failed,
                    show=progress,
                    command=["rewritelab", *sys.argv[1:]],
                )
        except KeyboardInterrupt:
            print("what is done is kept; the same command goes on from there", file=sys.stderr)
            raise
    _show(loaded, folder, json)
    if failures:
        from experiments import reports

        print(f"{reports.counted(failures, 'run')} failed, most often {_commonest(folder)}", file=sys.stderr)
        raise typer.Exit(1)


def _commonest(folder: Path) -> str:
    """Return where and why most runs of a sweep have failed."""
    from experiments.manifest import FAILURES
    from experiments.reading import read_table

    stage, message = read_table(folder, FAILURES)[["stage", "message"]].value_counts().index[0]
    return one_line(f"at {stage}: {message}; the table failures, and the report, have all")


def _forecast(
    experiment: Experiment, folder: Path, workers: int | None, only: list[str], json: bool, *, fresh: bool
) -> None:
    from experiments import reports
    from experiments.pilot import forecast

    with results_alone_on_stdout():
        found = forecast(experiment, folder, workers=workers, only=only, fresh=fresh)
    say(reports.forecast_json(found) if json else reports.forecast_text(experiment.name, found))


def _show(experiment: Experiment, folder: Path, json: bool) -> None:
    """Print what a sweep has found, and draw its main picture."""
    from experiments import reports
    from experiments.answers import answers
    from experiments.pictures import analysis_of, draw
    from experiments.plots import save_figure
    from experiments.results import Results

    results, plot = Results(folder, experiment), experiment.file.plot
    try:
        path = save_figure(draw(results, plot), folder / f"{experiment.name}.png")
    except InputError as fault:  # a response that no run has exercised is a result, and no bad input
        path = None
        print(f"no picture: {fault}", file=sys.stderr)
    if json:
        say(reports.table_json(results.means))
        return
    try:
        analysis = analysis_of(results, plot)
    except InputError as fault:
        analysis = None
        print(f"no {plot.kind}: {fault}", file=sys.stderr)
    say(reports.sweep_table(results.means, path, analysis, plot.kind))
    say("".join(f"{one_line(answer)}\n" for answer in answers(results)))


def plot_command(
    folder: Folder,
    kind: Annotated[str, typer.Argument(help="phase, ranking, survival, pareto, ...: see the reference.")],
    response: Annotated[
        str | None, typer.Option("--response", help="Another response than the experiment asks for.")
    ] = None,
    better: Annotated[
        Literal["lower", "higher"] | None, typer.Option("--better", help="Which way the response is good.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="File, png, svg or pdf; DIR/KIND.png by default.")
    ] = None,
) -> None:
    """Draw one picture of a sweep's results."""
    from experiments.pictures import draw, plot_of
    from experiments.plots import save_figure
    from experiments.results import results_of

    results = results_of(folder)
    plot = plot_of(results, kind, response, better)
    with results_alone_on_stdout():
        figure = draw(results, plot)
    path = save_figure(figure, folder / f"{kind}.png" if output is None else output)
    say(f"{one_line(str(path))}\n")


def report_command(
    folder: Folder,
    output: Annotated[Path | None, typer.Option("--output", help="File; DIR/report.html by default.")] = None,
    runs: Annotated[
        int, typer.Option("--runs", help="Worlds whose runs can be stepped through, a run a policy.", min=0)
    ] = 1,
) -> None:
    """Put a sweep's question, tables, pictures and runs into one HTML file that needs no network."""
    from experiments.files import write_atomically
    from experiments.report import render
    from experiments.report.assembly import page_of
    from experiments.results import results_of

    results = results_of(folder)
    path = folder / "report.html" if output is None else output
    with results_alone_on_stdout():
        page = render(page_of(results, worlds=runs))
    write_atomically(path, page.encode())
    say(f"{one_line(str(path))}\n")
