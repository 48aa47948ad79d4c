"""Reproduction: the documented failures beside what the simulator makes of them.

Scenarios in; findings, and one picture or more a scenario, out. All policies of a scenario meet the
same worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from experiments.judge import Finding, judge
from experiments.progress import Mode, progress
from experiments.runner import run_tasks
from experiments.runs import RunTask, execute
from experiments.workers import Failure
from policies import load_policy
from scenarios import Scenario, load_scenario, scenario_names
from simulator import InputError, Run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Outcomes = dict[str, list[Run | Failure]]


def documented_scenarios(references: Sequence[str]) -> list[Scenario]:
    """Return the named scenarios, or all of the catalogue that document something.

    Raises
    ------
    InputError
        A scenario is unknown, stands twice, has nothing to expect, or expects it of a policy that does
        not load.
    """
    if not references:
        loaded = [load_scenario(name) for name in scenario_names()]
        return [scenario for scenario in loaded if scenario.file.expect]
    loaded = [load_scenario(reference) for reference in references]
    if len({scenario.name for scenario in loaded}) != len(loaded):  # names are those of findings and pictures
        raise InputError("a scenario stands twice", where="reproduce", expected="distinct scenarios")
    for scenario in loaded:
        if not scenario.file.expect:
            raise InputError("has nothing to expect", where=str(scenario.path), expected="[[expect]] rows")
        scenario.setting()  # the references of a script are looked into here: before anything is written
        for policy in policies_of(scenario):
            try:
                load_policy(policy)
            except InputError as fault:
                where = f"{scenario.path}: policy {policy}"
                raise InputError(
                    fault.what, where=where, expected=fault.expected, nearest=fault.nearest
                ) from fault
    return loaded


def policies_of(scenario: Scenario) -> list[str]:
    """Return the policies that a scenario is run with, those shown first in front."""
    file = scenario.file
    named = [name for row in file.expect for name in (row.policy, row.minus) if name is not None]
    return list(dict.fromkeys([*file.run.policies, *named]))


def tasks_of(
    scenario: Scenario, policies: Sequence[str], *, seed: int | None, replications: int
) -> list[RunTask]:
    """Return one task a policy and replication."""
    setting = scenario.setting()
    root = scenario.file.run.seed if seed is None else seed
    return [
        RunTask(setting, policy, root, replication)
        for policy in policies
        for replication in range(replications)
    ]


def reproduce(
    scenarios: Sequence[Scenario],
    *,
    workers: int | None = None,
    seed: int | None = None,
    output: Path | None = None,
    show: Mode = "auto",
) -> list[Finding]:
    """Run scenarios with all of their policies and judge all of their expectations.

    Parameters
    ----------
    scenarios : sequence of Scenario
    workers : worker processes; None takes the usable cores, 0 stays in this process.
    seed : another root seed than the scenario's own.
    output : folder for the pictures; None draws none.
    show : how progress is shown, as for `progress`.
    """
    plan: list[tuple[Scenario, list[str], int]] = []
    tasks: list[RunTask] = []
    for scenario in scenarios:
        policies, replications = policies_of(scenario), scenario.file.run.replications
        plan.append((scenario, policies, replications))
        tasks += tasks_of(scenario, policies, seed=seed, replications=replications)
    with progress(len(tasks), "runs", show) as bar:
        results = run_tasks(
            execute,
            tasks,
            workers=workers,
            on_done=lambda _index, result: bar.advance(
                failures=int(isinstance(result, Failure) and not result.is_skipped)
            ),
        )
    findings: list[Finding] = []
    place = 0
    for scenario, policies, replications in plan:
        outcomes: Outcomes = {}
        for policy in policies:
            outcomes[policy] = results[place : place + replications]
            place += replications
        # named runs are runs of the scenario's own seed
        expected = [row for row in scenario.file.expect if seed is None or row.replications is None]
        own = [judge(scenario.name, expectation, outcomes) for expectation in expected]
        findings += own
        if output is not None:
            draw(scenario, outcomes, output)
    return findings


def draw(scenario: Scenario, outcomes: Outcomes, folder: Path) -> list[Path]:
    """Draw the pictures of one scenario into a folder, and return their paths."""
    from experiments.plots import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in scenario.file.figures:
        figure = PICTURES[kind](scenario, outcomes)
        if figure is not None:
            paths.append(save_figure(figure, folder / f"{scenario.name}.{kind}.png"))
    return paths


def long_table(outcomes: Outcomes, table: str, policies: Sequence[str]) -> pd.DataFrame:
    """Return the turns or rewrites of many runs in one table, with policy, replication and outcome."""
    import pandas as pd

    frames = []
    for policy in policies:
        for replication, run in enumerate(outcomes[policy]):
            if not isinstance(run, Failure):
                frame: pd.DataFrame = getattr(run, table)
                ended = {"run_outcome": run.outcome} if table == "rewrites" else {"outcome": run.outcome}
                frames.append(frame.assign(policy=policy, replication=replication, **ended))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _shown(scenario: Scenario) -> list[str]:
    return list(scenario.file.run.policies) or policies_of(scenario)


def _occupancy(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    from experiments import plots

    turns = long_table(outcomes, "turns", _shown(scenario))
    if turns.empty:
        return None
    file = scenario.file
    band = file.documented_band
    return plots.occupancy_by_turn(
        turns, window=file.window.tokens, horizon=file.run.horizon, documented=band
    )


def _nets(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    from experiments import plots

    rewrites = long_table(outcomes, "rewrites", _shown(scenario))
    return None if rewrites.empty else plots.believed_and_true_net(rewrites)


def _ledgers(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    from experiments import plots

    rows = {}
    for policy in _shown(scenario)[:2]:
        run = outcomes[policy][0]
        if not isinstance(run, Failure) and run.rewrite_rows:
            rows[policy] = run.rewrites.iloc[0]
    return plots.ledgers_side_by_side(rows, scenario.file.window.tokens) if rows else None


def _cost(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    from experiments import plots

    rewrites = long_table(outcomes, "rewrites", _shown(scenario))
    if rewrites.empty:
        return None
    # an attempt that was refused at admit, or could not be sent, has cost nothing
    spent = rewrites[rewrites["rewrite_cost"] + rewrites["measurement_cost"] > 0]
    return plots.cost_against_occupancy(spent, window=scenario.file.window.tokens)


def _switches(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    """Each variant's runs held against the expectations of the policy that it is a variant of."""
    import pandas as pd

    from experiments import plots

    whole = scenario.file.switched
    if whole is None:
        return None
    signatures = [row for row in scenario.file.expect if row.policy == whole and row.minus is None]
    variants = [name for name in outcomes if name == whole or name.startswith(f"{whole}-")]
    rows = []
    for signature in signatures:
        for variant in variants:
            finding = judge(scenario.name, signature.model_copy(update={"policy": variant}), outcomes)
            rows.append(
                {
                    "signature": f"{signature.response.removeprefix('summary.')}: {finding.documented}",
                    "variant": variant.removeprefix(f"{whole}-").replace("-", " "),
                    "value": finding.simulated,
                    "passed": finding.passed,
                }
            )
    return plots.signature_table(
        pd.DataFrame(rows), setting="signature", signature="variant", value="value", passed="passed", width=10
    )


def _confidence(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    from experiments import plots

    turns = long_table(outcomes, "turns", _shown(scenario))
    return None if turns.empty else plots.confidence_and_constraints(turns)


def _compliance(scenario: Scenario, outcomes: Outcomes) -> Figure | None:
    from experiments import plots

    steps = long_table(outcomes, "obedience", _shown(scenario))
    return None if steps.empty or steps["outside"].all() else plots.compliance_by_epoch(steps)


PICTURES: dict[str, Callable[[Scenario, Outcomes], Figure | None]] = {
    "occupancy": _occupancy,
    "nets": _nets,
    "ledgers": _ledgers,
    "cost": _cost,
    "switches": _switches,
    "confidence": _confidence,
    "compliance": _compliance,
}
"""Pictures by the name that a scenario file uses."""


class BoxShare(NamedTuple):
    """In what share of a parameter box one signature holds; named runs are none of it."""

    scenario: str
    policy: str
    response: str
    documented: str
    holds_in_box: float
    points: int
    replications: int


def box_shares(
    scenario: Scenario,
    *,
    points: int,
    replications: int,
    seed: int,
    workers: int | None = None,
    show: Mode = "auto",
) -> list[BoxShare]:
    """Return the share of a parameter box in which each signature of a scenario holds.

    The box takes each parameter that the file names in `box` times a factor, uniform between 1 minus
    and 1 plus `box_half_width`; points are a Latin hypercube. Worlds are those of `seed`, which is
    not the one that the parameters were fitted with. A signature holds at a point when its estimate
    lies in the band: the intervals of a few replications are too wide to ask for more.

    Raises
    ------
    InputError
        The file names no parameters, or something that is no number.
    """
    from scipy.stats import qmc

    paths = scenario.file.box
    if not paths:
        raise InputError(
            "names no parameters to move", where=f"{scenario.path}: box", expected="paths of numbers"
        )
    half = scenario.file.box_half_width
    sample = qmc.LatinHypercube(len(paths), rng=seed).random(points)
    policies = policies_of(scenario)
    tasks: list[RunTask] = []
    for point in sample:
        factors = [1 - half + 2 * half * float(share) for share in point]
        setting = perturbed(scenario, dict(zip(paths, factors, strict=True))).setting()
        tasks += [
            RunTask(setting, policy, seed, replication)
            for policy in policies
            for replication in range(replications)
        ]
    with progress(len(tasks), "runs", show) as bar:
        results = run_tasks(execute, tasks, workers=workers, on_done=lambda _i, _r: bar.advance())
    rows = [row for row in scenario.file.expect if row.replications is None]
    held = [0] * len(rows)
    all_held = 0
    per_point = len(policies) * replications
    for number in range(points):
        block = results[number * per_point : (number + 1) * per_point]
        outcomes = {
            policy: block[place * replications : (place + 1) * replications]
            for place, policy in enumerate(policies)
        }
        judged = [judge(scenario.name, row, outcomes, by_estimate=True).passed for row in rows]
        held = [count + passed for count, passed in zip(held, judged, strict=True)]
        all_held += all(judged)
    size = (points, replications)
    size = (points, replications)
    shares = [
        BoxShare(scenario.name, row.policy, row.response, row.documented, count / points, *size)
        for row, count in zip(rows, held, strict=True)
    ]
    together = "all signatures together"
    whole = BoxShare(scenario.name, "all", together, "", all_held / points, *size)
    return [*shares, whole]


def perturbed(scenario: Scenario, factors: Mapping[str, float]) -> Scenario:
    """Return the scenario with numbers at dotted paths multiplied, whole numbers staying whole."""
    data = scenario.file.model_dump()
    overrides: dict[str, object] = {}
    for path, factor in factors.items():
        value: object = data
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InputError("is not a number of the scenario", where=f"{scenario.path}: box: {path}")
        overrides[path] = round(value * factor) if isinstance(value, int) else value * factor
    return load_scenario(str(scenario.path), overrides)
