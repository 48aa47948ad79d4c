"""What pictures say of intervals where one world gives none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.drawings import drawing
from experiments.experiment import load_experiment
from experiments.pictures import plot_of, shown
from experiments.results import Results
from experiments.sweeping import sweep
from experiments.titles import title_of

pytestmark = pytest.mark.unit

EXPERIMENT = """\
scenario = "constant-arrivals"
policies = ["naive-never-summarised"]
responses = ["usd", "overflowed"]

[set]
"run.horizon" = 110

[[factor]]
name = "base"
path = "laws.rationale.base"
values = [100, 600]
"""


def swept(folder: Path, worlds: int) -> Results:
    path = folder / "worlds.toml"
    path.write_text(f"replications = {worlds}\n{EXPERIMENT}")
    experiment = load_experiment(str(path))
    assert sweep(experiment, folder / "results", workers=0, show="none") == 0
    return Results(folder / "results", experiment)


@pytest.mark.parametrize(("worlds", "known"), [(1, False), (3, True)])
def test_a_title_speaks_of_intervals_where_there_are_some(worlds: int, known: bool, tmp_path: Path) -> None:
    results = swept(tmp_path, worlds)
    for kind in ("tornado", "response"):
        plot = plot_of(results, kind, "usd")
        detail = title_of(results, plot).detail
        assert ("95%" in detail, "too few worlds" in detail) == (known, not known)
    plot = plot_of(results, "tornado", "usd")
    ends = shown(results, plot).filter(regex="_value_(low|high)$").to_numpy(dtype=float)
    assert np.isfinite(ends).all() if known else np.isnan(ends).all()
    lines = drawing(results, plot).axes[0].lines
    assert len(lines) == (3 if known else 1)  # the base, and an interval a level

    of_shares = title_of(results, plot_of(results, "response", "overflowed")).detail
    assert "(Wilson's)" in of_shares  # a share of one run has an interval
