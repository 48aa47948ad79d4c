"""What each picture needs of an experiment, as a table, and the one line that says what is lacking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from experiments.factors import SWITCH_LEVELS, kind_of
from simulator.errors import InputError, nearest_name

if TYPE_CHECKING:
    from experiments.experiment import Experiment, PlotTable

REGIME_RESPONSES = ("net_per_attempt_tokens", "arrivals_per_turn_tokens")
"""What a phase plot tells the regimes by."""

REFUSAL_RESPONSES = ("share_refused", "net_per_attempt_tokens")
"""What stands against each other in a picture of rejections."""

MANY = 10**6


class Needs(NamedTuple):
    """What a picture needs.

    Attributes
    ----------
    shows : what it shows, in words.
    factors : fewest and most factors.
    policies : fewest and most policies.
    one_scenario : it shows one scenario.
    shown : keys of the plot that must name responses.
    responses : responses that the experiment must have.
    baseline : what the plot's baseline must be.
    designs : designs that it can show, if not all.
    numbers : the levels of its factors must be numbers.
    """

    shows: str
    factors: tuple[int, int] = (0, MANY)
    policies: tuple[int, int] = (1, MANY)
    one_scenario: bool = True
    shown: tuple[str, ...] = ("response",)
    responses: tuple[str, ...] = ()
    baseline: Literal["", "level", "policy"] = ""
    designs: tuple[str, ...] = ()
    numbers: bool = False


NEEDS: dict[str, Needs] = {
    "response": Needs("Mean response by factor, with 95% intervals", factors=(1, 1)),
    "heat": Needs("Mean response over two factors", factors=(2, 2), policies=(1, 1)),
    "phase": Needs(
        "Regimes over two factors, the simulated ones beside the analytic boundary",
        factors=(2, 2),
        policies=(1, 1),
        shown=(),
        responses=REGIME_RESPONSES,
        numbers=True,
    ),
    "table": Needs("All responses, point by point, with 95% intervals", one_scenario=False, shown=()),
    "differences": Needs(
        "Paired differences to the baseline in the same worlds, with 95% intervals",
        factors=(1, 1),
        policies=(1, 1),
        shown=(),
        baseline="level",
        designs=("grid", "two-level"),
    ),
    "effects": Needs(
        "Main effects and interactions of two factors, world by world, with 95% intervals; the table has all",
        factors=(2, MANY),
        policies=(1, 1),
        designs=("grid", "two-level", "fractional"),
    ),
    "interactions": Needs(
        "Mean response by the levels of two factors at a time, with 95% intervals",
        factors=(2, 5),
        policies=(1, 1),
        designs=("grid", "two-level"),
    ),
    "comparison": Needs(
        "Policies against the baseline, paired in the same worlds, with 95% intervals; thin: of all together",
        policies=(2, MANY),
        one_scenario=False,
        baseline="policy",
    ),
    "ranking": Needs(
        "Policies by mean response, with 95% intervals; filled ones may be the best, crosses are uncompared",
        policies=(2, MANY),
        one_scenario=False,
    ),
    "pareto": Needs(
        "Two responses against each other, both to be small; filled marks are on the front",
        one_scenario=False,
        shown=("x", "y"),
    ),
    "survival": Needs(
        "Share of runs that have not overflowed, died or halted, by turn (Kaplan-Meier, 95% bands)",
        one_scenario=False,
        shown=(),
        responses=("turns",),
    ),
    "sensitivity": Needs(
        "What the response hangs on", factors=(1, MANY), policies=(1, 1), designs=("saltelli", "morris")
    ),
    "tornado": Needs("How far each factor swings the mean response", factors=(1, MANY), policies=(1, 1)),
    "rejection": Needs(
        "Share of attempts refused against the net of an attempt, means over runs with 95% intervals",
        one_scenario=False,
        shown=(),
        responses=REFUSAL_RESPONSES,
    ),
    "occupancy": Needs("Occupancy by turn, with bands over worlds", shown=()),
    "believed": Needs("Believed tokens against true tokens, by turn", shown=()),
    "ledger": Needs("The ledger of the first rewrite of the first world", shown=()),
    "welch": Needs("Mean occupancy by turn, smoothed, and the warm-up that MSER-5 cuts", shown=()),
}
"""The pictures of a sweep, with what each shows."""


def require_picture(experiment: Experiment, plot: PlotTable, where: str) -> None:
    """Raise InputError where a picture has no place for the experiment, or is not told what to show."""
    needs, kind, file = NEEDS[plot.kind], plot.kind, experiment.file
    _require_factors(experiment, plot, needs, where)
    least, most = needs.policies
    if not least <= len(experiment.policies) <= most:
        shown = _counted(least, most, "policy", "policies").replace("1 policy", "one policy")
        raise InputError(
            f"{_a_plot(kind)} shows {shown}, not {len(experiment.policies)}",
            where=where,
            expected="kind table",
        )
    if needs.one_scenario and len(experiment.scenarios) > 1:
        raise InputError(
            f"{_a_plot(kind)} shows one scenario, not {len(experiment.scenarios)}",
            where=where,
            expected="kind table, comparison or ranking",
        )
    if needs.designs and file.design.kind not in needs.designs:
        raise InputError(
            f"{_a_plot(kind)} has no place for a {file.design.kind} design",
            where=where,
            expected=f"one of {', '.join(needs.designs)}",
        )
    if lacking := [name for name in needs.responses if name not in file.responses]:
        raise InputError(
            f"{_a_plot(kind)} needs the responses {' and '.join(needs.responses)}",
            where=where,
            expected=f"{' and '.join(lacking)} among responses",
        )
    for key in needs.shown:
        chosen = getattr(plot, key)
        if chosen not in file.responses:
            raise InputError(
                f"{chosen!r} is not among the responses",
                where=where.replace("kind", key),
                nearest=nearest_name(str(chosen), file.responses),
            )
    if plot.barred_by is not None and plot.barred_by not in file.responses:
        raise InputError(
            f"{plot.barred_by!r} is not among the responses",
            where=where.replace("kind", "barred_by"),
            nearest=nearest_name(plot.barred_by, file.responses),
        )
    if needs.baseline == "level":
        _require_level(experiment, plot, where)
    elif needs.baseline == "policy" and plot.baseline not in experiment.policies:
        raise InputError(
            f"the baseline {plot.baseline!r} is none of the policies",
            where=where,
            expected=f"plot.baseline, one of {', '.join(experiment.policies)}",
            nearest=nearest_name(str(plot.baseline), experiment.policies),
        )
    if kind == "effects":
        _require_two_levels(experiment, where)


def _require_factors(experiment: Experiment, plot: PlotTable, needs: Needs, where: str) -> None:
    """Raise InputError unless there are as many factors as the picture shows, and of its kind."""
    least, most = needs.factors
    if plot.kind == "response" and plot.by is not None:
        if plot.by not in experiment.factors:
            near = nearest_name(plot.by, experiment.factors)
            raise InputError(f"{plot.by!r} is no factor", where=where, nearest=near)
        least = most = 2
    count = len(experiment.file.factor)
    if not least <= count <= most:
        raise InputError(
            f"{_a_plot(plot.kind)} shows {_counted(least, most, 'factor')}, not {count}",
            where=where,
            expected="kind table",
        )
    for factor in experiment.file.factor:
        if needs.numbers and (found := kind_of(factor.labels[0])) != "number":
            raise InputError(
                f"{_a_plot(plot.kind)} has axes of numbers, and a level of {factor.name!r} is a {found}",
                where=where,
                expected="kind heat or table",
            )


def _require_level(experiment: Experiment, plot: PlotTable, where: str) -> None:
    """Raise InputError unless the baseline is one of several levels of the only factor."""
    (factor,) = experiment.file.factor
    baseline, labels = plot.baseline, factor.labels
    words = [str(label) for label in labels]
    if len(labels) == 1:
        raise InputError(
            f"differences need a level beside the baseline, and {factor.name!r} has one",
            where=where,
            expected="2 levels or more",
        )
    if baseline is None:
        raise InputError(
            "differences need a baseline", where=where, expected=f"plot.baseline, one of {', '.join(words)}"
        )
    if baseline not in labels or kind_of(baseline) != kind_of(labels[0]):  # true is no 1
        raise InputError(
            f"the baseline {baseline!r} is no level of {factor.name!r}",
            where=where,
            expected=f"one of {', '.join(words)}",
            nearest=nearest_name(str(baseline), words),
        )


def _require_two_levels(experiment: Experiment, where: str) -> None:
    """Raise InputError unless each factor has two levels."""
    for factor in experiment.file.factor:
        if (count := len(factor.labels)) != SWITCH_LEVELS:
            levels = "1 level" if count == 1 else f"{count} levels"
            raise InputError(
                f"effects are those of factors with 2 levels, and {factor.name!r} has {levels}",
                where=where,
                expected="2 levels a factor, or kind table",
            )


def _a_plot(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} plot"


def _counted(least: int, most: int, one: str, several: str = "") -> str:
    """Return how many are meant, in words: `2 factors`, `1 factor or more`, `2 to 5 factors`."""
    several = several or f"{one}s"
    if least == most:
        return f"{least} {one if least == 1 else several}"
    noun = one if least == 1 else several
    return f"{least} {noun} or more" if most == MANY else f"{least} to {most} {several}"
