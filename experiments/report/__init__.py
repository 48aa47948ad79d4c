"""What is sent around: one HTML file with a run viewer in it, and a run as a trace for Perfetto.

`render(page)` makes the file from plain dataclasses, `view_run` what its viewer steps through,
`chrome_trace` a timeline of a run. Importing this package imports none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.report.frames import view_run as view_run
    from experiments.report.page import Column as Column
    from experiments.report.page import FigurePart as FigurePart
    from experiments.report.page import ReportPage as ReportPage
    from experiments.report.page import TablePart as TablePart
    from experiments.report.page import ViewedRun as ViewedRun
    from experiments.report.page import render as render
    from experiments.report.trace_events import chrome_trace as chrome_trace
    from experiments.report.trace_events import write_chrome_trace as write_chrome_trace

_HOME = {
    "Column": "page",
    "FigurePart": "page",
    "ReportPage": "page",
    "TablePart": "page",
    "ViewedRun": "page",
    "chrome_trace": "trace_events",
    "render": "page",
    "view_run": "frames",
    "write_chrome_trace": "trace_events",
}

__all__ = [
    "Column",
    "FigurePart",
    "ReportPage",
    "TablePart",
    "ViewedRun",
    "chrome_trace",
    "render",
    "view_run",
    "write_chrome_trace",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
