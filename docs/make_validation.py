"""Makes the tables of docs/validation.md: published measurements beside what the simulator makes of them.

In come the expectations of kind `external` in the catalogue, the runs that judge them, the docstrings of
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

from experiments.judge import Finding
from experiments.reports import number
from experiments.reproduction import reproduce
from scenarios import Scenario, load_scenario, scenario_names

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "validation.md"
DIFFERENTIAL = FOLDER.parent / "tests" / "differential"
LOCK = FOLDER.parent / "requirements-dev.lock"
MARKED = re.compile(
    r"(?P<open><!-- measured: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<close><!-- /measured -->)", re.DOTALL
)

LIBRARIES = {
    "test_adk": "google-adk",
    "test_langchain": "langchain",
    "test_strands": "strands-agents",
    "test_openhands": "openhands-sdk",
    "test_openhands_sdk": "openhands-sdk",
    "test_swe_agent": "SWE-agent",
}
"""The library that each module of tests/differential holds our policies to."""

APART = {"openhands-sdk": "1.58.2", "SWE-agent": "3ea751c087"}
"""Versions of libraries that the lock cannot hold: one needs a newer Python, one is on no index."""


def documenting() -> list[Scenario]:
    """Return the scenarios that have figures which others have measured."""
    loaded = (load_scenario(name) for name in scenario_names())
    return [scenario for scenario in loaded if any(row.kind == "external" for row in scenario.file.expect)]


def measured(scenarios: Sequence[Scenario]) -> list[Finding]:
    """Run scenarios and return what their runs say of the published figures."""
    return [finding for finding in reproduce(scenarios, show="none") if finding.kind == "external"]


def row_of(finding: Finding) -> list[str]:
    """Return a row of the table: documented, simulated, verdict, source."""
    return [
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
    return finding.passed and not finding.documented.startswith(MISSED)


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
    head = ["scenario", "policy", "response", "documented", "simulated", "verdict", "source"]
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


def differential() -> str:
    """Return the tests that run the real libraries, with the version that is locked."""
    rows = []
    for path in sorted(DIFFERENTIAL.glob("test_*.py")):
        library = LIBRARIES[path.stem]
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
        "differential": differential,
    }
    text = PAGE.read_text(encoding="utf-8")
    made = MARKED.sub(lambda mark: mark["open"] + tables[mark["name"]]() + mark["close"], text)
    PAGE.write_text(made, encoding="utf-8")
    print(f"{sum(map(holds, findings))} of {len(findings)} hold", file=sys.stderr)


if __name__ == "__main__":
    main()
