"""What a terminal is told: of long tables where the rest is, of a forecast what its interval is of."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.pilot import Forecast
from experiments.reports import MOST_ROWS, forecast_text, sweep_table

pytestmark = pytest.mark.unit


def means(rows: int) -> pd.DataFrame:
    own = {"policy": "a", "response": "usd", "mean": 1.0, "low": 0.5, "high": 1.5, "n": 3, "failed": 0}
    return pd.DataFrame([{"x": x, **own} for x in range(rows)])


@pytest.mark.parametrize(("more", "rows"), [(0, ""), (1, "and 1 row more"), (110, "and 110 rows more")])
def test_what_a_terminal_leaves_out_is_where_it_says(more: int, rows: str) -> None:
    """The report has all tables, --json that of the means alone."""
    analysis = pd.DataFrame({"place": range(MOST_ROWS + more)})
    said = sweep_table(means(MOST_ROWS + more), None, analysis, "ranking")
    left = [line for line in said.splitlines() if "more; " in line]
    of_means = f"{rows}; `rewritelab report` and --json give all of them"
    of_analysis = f"{rows}; `rewritelab report` gives all of them"
    assert left == ([of_means, of_analysis] if more else [])


def made(*, runs: int, pilot: int, spread: float) -> Forecast:
    low, high = 0.004 - spread, 0.004 + spread
    return Forecast(
        runs=runs,
        least=runs,
        done=0,
        pilot=pilot,
        seconds_a_run=0.004,
        low=low,
        high=high,
        workers=1,
        seconds=2 + runs * 0.004,
        soonest=2 + runs * low,
        latest=2 + runs * high,
        at_most=2 + runs * 0.004,
    )


def test_a_forecast_says_what_its_interval_is_of() -> None:
    said = forecast_text("few", made(runs=1_000, pilot=100, spread=0.001)).splitlines()
    assert said[0] == "few: 1,000 runs, 0 of them done"
    assert said[1].startswith("a run takes 4 ms [3, 5], by 100 runs spread over the plan; ")
    assert said[1].endswith("the interval is over runs, and the machine's load comes on top")
    assert said[2].startswith("with 1 worker about 6 s [5 s, 7 s]; ")


def test_where_all_runs_were_timed_there_is_no_interval() -> None:
    said = forecast_text("one", made(runs=1, pilot=1, spread=0.0))
    assert "one: 1 run, 0 of them done" in said
    assert "a run takes 4 ms, by 1 run spread over the plan; the machine's load comes on top" in said
    assert "about 2 s; " in said
    assert "[" not in said
    assert "interval" not in said
