"""Makes the tables of docs/validation.md: published measurements beside what the simulator makes of them.

In come the scenarios that stand on what others have measured, the runs that judge them, the docstrings of
tests/differential and the lock; out go tables between `<!-- measured: NAME -->` and `<!-- /measured -->`.
`python docs/make_validation.py` writes them; `tests/experiments/test_validation.py` holds the page to the
catalogue, and to new runs of what is short.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from experiments.judge import Finding
from experiments.reports import number
from experiments.reproduction import reproduce
from scenarios import Scenario, load_scenario, scenario_names
from scenarios.expectation import Expectation

Kinded = TypeVar("Kinded", Expectation, Finding)

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "validation.md"
DIFFERENTIAL = FOLDER.parent / "tests" / "differential"
LOCK = FOLDER.parent / "requirements-dev.lock"
MARKED = re.compile(
    r"(?P<open><!-- measured: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<close><!-- /measured -->)", re.DOTALL
)

PUBLISHED = ("complexity-trap-", "log-", "report-")
"""Beginnings of the names of scenarios whose figures others have measured."""

KINDS = ("external", "implied")
"""Kinds that the page has, in its order: of the first nothing was fitted, of the second the inputs were."""

LIBRARIES = {
    "test_adk": "google-adk",
    "test_langchain": "langchain",
    "test_strands": "strands-agents",
    "test_openhands": "openhands-sdk",
    "test_openhands_sdk": "openhands-sdk",
    "test_swe_agent": "SWE-agent",
}
"""The library that each module of tests/differential holds our policies to."""

RESTATED = ("test_openhands", "test_openhands_sdk", "test_swe_agent")
"""Modules that hold our policies to a rule as we state it, or that statement to the library."""

APART = {"openhands-sdk": "1.58.2", "SWE-agent": "3ea751c087"}
"""Versions of libraries that the lock cannot hold: one needs a newer Python, one is on no index."""


def documenting() -> list[Scenario]:
    """Return the scenarios that have figures which others have measured."""
    loaded = [load_scenario(name) for name in scenario_names() if name.startswith(PUBLISHED)]
    return [scenario for scenario in loaded if scenario.file.expect]


def measured(scenarios: Sequence[Scenario]) -> list[Finding]:
    """Run scenarios and return what their runs say of figures that nothing was fitted to, by kind."""
    return by_kind(reproduce(scenarios, show="none"))


def by_kind(rows: Iterable[Kinded]) -> list[Kinded]:
    """Return the expectations, or findings, of the kinds that the page has, in its order."""
    all_rows = list(rows)
    return [row for kind in KINDS for row in all_rows if row.kind == kind]


def row_of(finding: Finding) -> list[str]:
    """Return a row of the table: kind, documented, simulated, verdict, source."""
    return [
        finding.kind,
        f"`{finding.scenario}`",
        f"`{finding.policy}`",
        finding.response.removeprefix("summary."),
        finding.documented.removeprefix(MISSED),
        _simulated(finding),
        "holds" if holds(finding) else "**misses**",
        finding.source,
    ]


MISSED = "not "
"""How an expectation begins that says of a published figure that we miss it."""


def holds(finding: Finding) -> bool:
    """Whether the published figure is met: an expectation that it is missed passes where it is."""
    return finding.passed and not finding.must_fail


def _simulated(finding: Finding) -> str:
    """Return the estimate, with its interval or range where it has one."""
    told = finding.simulated
    if isinstance(told, str) or told is None:
        return str(told)
    if finding.low is None or finding.high is None or finding.low == finding.high:
        return number(told)
    return f"{number(told)} [{number(finding.low)}, {number(finding.high)}]"


def measurements(findings: Iterable[Finding]) -> str:
    """Return the table of published measurements."""
    head = ["kind", "scenario", "policy", "response", "documented", "simulated", "verdict", "source"]
    return _table(head, map(row_of, findings))


def misses(findings: Iterable[Finding]) -> str:
    """Return what is missed, with the reason that its scenario gives."""
    missed = [finding for finding in findings if not holds(finding)]
    if not missed:
        return "None.\n"
    return "".join(
        f"- `{one.scenario}`, `{one.policy}`, {one.response}: documented "
        f"{one.documented.removeprefix(MISSED)}, simulated {_simulated(one)}. {one.note}\n"
        for one in missed
    )


def differential(*, restated: bool) -> str:
    """Return the tests beside the real libraries, or those by a restated rule, with the locked version."""
    rows = []
    for path in sorted(DIFFERENTIAL.glob("test_*.py")):
        library = LIBRARIES[path.stem]
        if (path.stem in RESTATED) != restated:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        says = (ast.get_docstring(tree) or "").split("\n\n")[0]
        tests = sum(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in tree.body)
        rows.append(
            [f"`{path.name}`", library, version_of(library), " ".join(says.split()).rstrip("."), str(tests)]
        )
    return _table(["module", "library", "version", "says", "tests"], rows)


def version_of(library: str) -> str:
    """Return the version of a library: the locked one, or the one that it was last run with.

    >>> version_of("SWE-agent")
    '3ea751c087'
    """
    found = re.search(rf"^{re.escape(library)}==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else APART[library]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[cell.replace("|", r"\|") for cell in line] for line in (head, *rows)]
    made = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([made[0], "|" + "---|" * len(head), *made[1:]]) + "\n"


def committed() -> dict[str, str]:
    """Return the tables that stand in the page."""
    return {mark["name"]: mark["body"] for mark in MARKED.finditer(PAGE.read_text(encoding="utf-8"))}


def main() -> None:
    """Run all, and write the page."""
    findings = measured(documenting())
    tables: dict[str, Callable[[], str]] = {
        "measurements": lambda: measurements(findings),
        "misses": lambda: misses(findings),
        "differential": lambda: differential(restated=False),
        "restated": lambda: differential(restated=True),
    }
    text = PAGE.read_text(encoding="utf-8")
    made = MARKED.sub(lambda mark: mark["open"] + tables[mark["name"]]() + mark["close"], text)
    PAGE.write_text(made, encoding="utf-8")
    for kind in KINDS:
        own = [finding for finding in findings if finding.kind == kind]
        print(f"{kind}: {sum(map(holds, own))} of {len(own)} hold", file=sys.stderr)


if __name__ == "__main__":
    main()
