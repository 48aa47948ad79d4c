"""The words of a report's figures: what each shows, what to look for in it, and where its numbers are.

A picture that an experiment asks for goes in, with the results behind it; sentences come out.
"""

from __future__ import annotations

from experiments.analyses.histories import MOST_WORLDS, first_point, whole_runs
from experiments.experiment import PlotTable
from experiments.requirements import NEEDS
from experiments.results import Results, has_failed
from experiments.titles import OF_HISTORIES

LOOK_FOR: dict[str, str] = {
    "response": "Look which way the mean goes over the factor, and whether the 95% intervals leave room "
    "for the other way.",
    "heat": "Look where the colour changes: a cell is the mean of its point, whose interval stands "
    "in the table.",
    "phase": "Look whether the simulated regimes change where the line runs: a regime is that of the "
    "means of its point.",
    "table": "Look along a row for what one setting does, down a column for what changes a response. Cells "
    "are means with their 95% intervals.",
    "differences": "Look for the triangles: there the paired difference is told from 0, above it or below. "
    "Intervals are 95%, cell by cell.",
    "effects": "Look which intervals leave out 0, where the marks are filled; 95% intervals, one by "
    "one, of the change in the mean response from the first level to the second.",
    "interactions": "Look for lines that are not parallel: there one factor changes what the other does. "
    "Intervals are 95%, over worlds.",
    "comparison": "Look on which side of 0 an interval lies: it is the 95% interval of the mean paired "
    "difference to the baseline, and the thin one that of all rows at once. Many policies are "
    "tested: told apart is what the adjusted p of the table says.",
    "ranking": "Look for the filled marks: these may be the best of their place, with 95% confidence a "
    "place. Bars are 95% intervals of each mean alone; policies met the same worlds, so "
    "bars that overlap may still be told apart: the leads in the table do that.",
    "pareto": "Look at the staircase: what lies above and to the right of it is beaten on both. Bars "
    "are 95% intervals; one that crosses the staircase may owe its side to chance.",
    "survival": "Look where a curve falls and how many runs are still at risk there; bands are 95%, and "
    "a tick is a run that was still going when it was last seen.",
    "sensitivity": "Look which factors lie far from 0; bars are 95% intervals.",
    "tornado": "Look for the widest bars: they go from the mean at the low end of a factor to that at its "
    "high end, over all levels of the others; whiskers are 95% intervals.",
    "rejection": "Look for a high share of refusals beside a low net: those refusals bought nothing. "
    "Bars are 95% intervals.",
    "occupancy": "Look whether the line climbs to the limit or swings below it: it is the median over "
    "worlds, and the band holds the middle 90% of them.",
    "believed": "Look where a line leaves 0: there the agent believes what is not so. A line is the mean "
    "over worlds, its band the 95% interval.",
    "ledger": "Look whether the last bar is lower than the first by what was freed: what a rewrite "
    "costs is part of what it leaves.",
    "welch": "Look where the smoothed line stops to drift: what lies left of the cut is start-up.",
}
"""What a reader should look for in each kind of picture, and what its intervals are."""


def heading_of(plot: PlotTable) -> str:
    """Return what a picture shows."""
    shown = plot.response or (f"{plot.y} against {plot.x}" if plot.x else "")
    return NEEDS[plot.kind].shows + (f": {shown}" if shown else "")


def caption_of(results: Results, plot: PlotTable) -> str:
    """Return what to look for in a picture, and how many worlds stand behind it."""
    return f"{LOOK_FOR[plot.kind]} {_worlds(results, plot)}"


def where_numbers_are(plot: PlotTable, *, has_table: bool) -> str:
    """Return where on the page the numbers of a picture stand, if anywhere."""
    if has_table:
        return "Its numbers stand in the table of the same title."
    if plot.kind in OF_HISTORIES:
        return "Its numbers are those of runs made again for it; no table of this page has them."
    return "Its numbers come from the tables of means."


def _worlds(results: Results, plot: PlotTable) -> str:
    """Return how many worlds stand behind a mark."""
    if plot.kind in OF_HISTORIES:
        most = 1 if plot.kind == "ledger" else MOST_WORLDS
        counts = whole_runs(results, most, first_point(results)).groupby("policy").size()
        told = _counted(counts.min(), counts.max())
        return f"Of the first scenario and its first point with a finished run, {told} a policy."
    finished = results.ran[~has_failed(results.ran)]
    if finished.empty:
        return "No run has finished."
    counts = finished.groupby(["scenario", "point", "policy"]).size()
    at = "a policy at each point" if results.experiment.factors else "a policy in each scenario"
    return f"{_counted(counts.min(), counts.max())} {at}."


def _counted(least: int, most: int) -> str:
    """Return a range of counts in words.

    >>> _counted(20, 20), _counted(5, 20), _counted(1, 1)
    ('20 worlds', '5 to 20 worlds', '1 world')
    """
    words = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{words} {'world' if most == 1 else 'worlds'}"
