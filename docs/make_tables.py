"""Makes the tables of the documentation from the code, and writes them between their marks.

In a page, `<!-- table: NAME -->` and `<!-- /table -->` enclose a table of `TABLES`; what stands between
them is made here, from metadata, docstrings and catalogues, and never by hand. `python
docs/make_tables.py` (`make tables`) writes all of them; `tests/test_reference.py` holds the committed
ones against new ones.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import re
import sys
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from experiments.catalogues import listing
from experiments.experiment import SUMMARY_RESPONSES
from experiments.reproduction import documented_scenarios
from experiments.requirements import MANY, NEEDS, Needs
from policies import load_policy
from policies.checker import CHECKS
from scenarios import load_scenario
from scenarios.definitions import (
    EVENT_COLUMNS,
    OBEDIENCE_COLUMNS,
    REWRITE_COLUMNS,
    SUMMARY_KEYS,
    TURN_COLUMNS,
)
from scenarios.logs import FORMATS, load_format
from scenarios.measures import MEASURES
from simulator import Setting, simulate
from simulator.contracts import Parameter
from simulator.laws import Laws
from simulator.ledger import RewriteEntry
from simulator.provider import ProviderSpec
from simulator.recorder import EventRow, ObedienceRow, TurnRow

FOLDER = Path(__file__).resolve().parent
PACKAGES = (
    "simulator",
    "policies",
    "policies.gates",
    "scenarios",
    "scenarios.logs",
    "experiments",
    "experiments.designs",
    "experiments.statistics",
    "experiments.report",
)
KINDS = ("fitted", "implied", "external")
MARKED = re.compile(
    r"(?P<open><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<close><!-- /table -->)", re.DOTALL
)

TIMES = ("deliberate_seconds", "replace_seconds", "measure_seconds", "rewrite_seconds")

# --------------------------------------------------------------------------- Markdown


def rows_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a Markdown table; a pipe in a cell is escaped.

    >>> print(rows_of(["a", "b"], [[1, "x|y"]]), end="")
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    lines = [header, *rows]
    cells = [[str(cell).replace("|", r"\|") for cell in line] for line in lines]
    made = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([made[0], "|" + "---|" * len(header), *made[1:]]) + "\n"


def code(text: object) -> str:
    """Return a text as code."""
    return f"`{text}`"


def first_line(thing: object) -> str:
    """Return the first sentence of a docstring, on one line, without the full stop."""
    return first_sentence(inspect.getdoc(thing) or "")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line, without the full stop."""
    sentence = re.split(r"\.(?:\s|$)", text.partition("\n\n")[0], maxsplit=1)[0]
    return " ".join(sentence.split())


# --------------------------------------------------------------------------- docs/model.md


def parameters() -> str:
    """Return every parameter of laws and provider: path, symbol, unit, neutral default, source."""
    hints = typing.get_type_hints(Laws)
    homes = [(f"laws.{name}", law) for name, law in hints.items()] + [("provider", ProviderSpec)]
    rows: list[list[object]] = []
    for path, home in homes:
        assert isinstance(home, type)
        for field in dataclasses.fields(home):
            told = field.metadata.get("parameter")
            assert isinstance(told, Parameter), f"{home.__name__}.{field.name} tells nothing of itself"
            default = "none" if field.default in (None, ()) else f"{field.default:,}"
            rows.append(
                [
                    code(f"{path}.{field.name}"),
                    told.symbol,
                    told.unit,
                    default,
                    told.source,
                ]
            )
    return rows_of(["parameter", "symbol", "unit", "default", "source"], rows)


def laws() -> str:
    """Return the first sentence of each law's docstring."""
    return rows_of(
        ["law", "says"],
        [[code(f"laws.{name}"), first_line(law)] for name, law in typing.get_type_hints(Laws).items()],
    )


# --------------------------------------------------------------------------- docs/figures.md


def figures() -> str:
    """Return every expectation of the catalogue, one table a scenario."""
    parts = []
    for scenario in documented_scenarios([]):
        rows = [
            [
                row.policy,
                row.response.removeprefix("summary."),
                row.documented,
                row.kind,
                row.source,
                "" if row.holds_in_box is None else f"{row.holds_in_box:.0%}",
            ]
            for row in scenario.file.expect
        ]
        table = rows_of(["policy", "response", "documented", "kind", "source", "box"], rows)
        parts.append(f"### {scenario.name}\n\n{scenario.file.summary}.\n\n{table}")
    return "\n" + "\n".join(parts) + "\n"


def kinds() -> str:
    """Return the count of each kind of expectation, a row a scenario."""
    total: Counter[str] = Counter()
    rows: list[list[object]] = []
    for scenario in documented_scenarios([]):
        count = Counter(row.kind for row in scenario.file.expect)
        boxed = sum(row.holds_in_box is not None for row in scenario.file.expect)
        total.update(count)
        total["boxed"] += boxed
        rows.append([code(scenario.name), *(count[kind] for kind in KINDS), count.total(), boxed])
    every = sum(total[kind] for kind in KINDS)
    rows.append(["all", *(total[kind] for kind in KINDS), every, total["boxed"]])
    return rows_of(["scenario", *KINDS, "all", "box measured"], rows)


def latency() -> str:
    """Return the parts of a rewrite's time in the spiral, means over all attempts of all replications."""
    naive, guarded = _attempts("naive"), _attempts("guarded")
    less = [naive[part] - guarded[part] for part in TIMES]
    rows = [
        ["naive", *(f"{naive[part]:.2f}" for part in TIMES)],
        ["guarded", *(f"{guarded[part]:.2f}" for part in TIMES)],
        ["difference", *(f"{part:.2f}" for part in less)],
        ["share of the difference", *(f"{part / less[-1]:.1%}" for part in less)],
    ]
    return rows_of(["seconds an attempt", "deliberate", "replace", "measure", "all"], rows)


def latency_cause() -> str:
    """Return what the spiral's rewrites write and count, and how slow counting had to be to matter."""
    setting = load_scenario("rewrite-budget-spiral").setting()
    law, provider = setting.laws.measurement, setting.provider
    naive, guarded = _attempts("naive"), _attempts("guarded")
    less = {part: naive[part] - guarded[part] for part in TIMES}
    counted = less["measure_seconds"] / law.seconds_per_token
    others = less["deliberate_seconds"] + less["replace_seconds"]
    rows = [
        ["rationale, tokens an attempt", *(f"{of['rewrite_cost']:,.0f}" for of in (naive, guarded))],
        ["summaries, tokens an attempt", *(f"{of['summaries_tokens']:,.0f}" for of in (naive, guarded))],
        ["counted, tokens an attempt", f"{counted:,.0f}", "0"],
        ["counting, s a token: assumed", f"{law.seconds_per_token:.0e}", ""],
        [
            "at which it saves as much as the shorter rationale",
            f"{less['deliberate_seconds'] / counted:.1e}",
            "",
        ],
        ["at which it saves as much as all else together", f"{others / counted:.1e}", ""],
        [
            "if the model writes the trace itself",
            f"{law.share / provider.decode_tokens_per_second:.1e}",
            "",
        ],
    ]
    return rows_of(["", "naive", "guarded"], rows)


@functools.cache
def _attempts(policy: str) -> dict[str, float]:
    """Return the means over all attempts of a policy in all replications of the spiral."""
    scenario = load_scenario("rewrite-budget-spiral")
    setting, run = scenario.setting(), scenario.file.run
    attempts = [
        entry
        for replication in range(run.replications)
        for entry in simulate(setting, load_policy(policy), (run.seed, replication)).rewrite_rows
    ]
    return {
        name: sum(getattr(entry, name) for entry in attempts) / len(attempts)
        for name in (*TIMES, "rewrite_cost", "summaries_tokens")
    }


# --------------------------------------------------------------------------- docs/reference.md


def names_of(package: str) -> str:
    """Return the public names of a package with the first sentence of their docstrings."""
    module = importlib.import_module(package)
    rows = []
    for name in module.__all__:
        thing = getattr(module, name)
        told = inspect.isclass(thing) or inspect.isfunction(thing)
        rows.append([code(name), first_line(thing) if told else _beside(module, name)])
    return rows_of(["name", "is"], rows)


def _beside(package: ModuleType, name: str) -> str:
    """Return the first sentence of the docstring that stands under the assignment of a constant."""
    home = _home(package, name)
    body = ast.parse(inspect.getsource(home)).body
    for statement, after in pairwise(body):
        targets = (
            [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
        )
        if name in [getattr(target, "id", None) for target in targets]:
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), name
            return first_sentence(str(after.value.value))
    raise KeyError(f"{home.__name__} assigns no {name}")


def _home(package: ModuleType, name: str) -> ModuleType:
    """Return the module of a package that a name comes from."""
    if hasattr(package, "_HOME"):
        return importlib.import_module(f"{package.__name__}.{package._HOME[name]}")
    imports = (
        node for node in ast.parse(inspect.getsource(package)).body if isinstance(node, ast.ImportFrom)
    )
    home = next(node.module for node in imports if name in [alias.name for alias in node.names])
    return importlib.import_module(str(home))


def columns_of(row_type: type[tuple[object, ...]], told: dict[str, tuple[str, str]]) -> str:
    """Return the columns of a table in the order of the code. Raises KeyError for one without words."""
    fields: tuple[str, ...] = row_type._fields  # type: ignore[attr-defined]
    _require_same(fields, told)
    return rows_of(["column", "unit", "is"], [[code(name), *told[name]] for name in fields])


def summary() -> str:
    """Return the keys of a run's summary; those that an experiment may take are marked."""
    keys = list(simulate(Setting("empty", 1000, _Nothing(), horizon=1), load_policy("never-rewrite")).summary)
    _require_same(keys, SUMMARY_KEYS)
    return rows_of(
        ["key", "unit", "is", "in sweeps"],
        [[code(key), *SUMMARY_KEYS[key], "yes" if key in SUMMARY_RESPONSES else ""] for key in keys],
    )


class _Nothing:
    """A workload of no turns."""

    def initial(self, streams: object) -> Iterator[typing.Never]:
        """Yield nothing."""
        return iter(())

    def turns(self, streams: object) -> Iterator[typing.Never]:
        """Yield nothing."""
        return iter(())


def measures() -> str:
    """Return every registered measure."""
    return rows_of(
        ["measure", "unit", "is"], [[code(name), one.unit, one.definition] for name, one in MEASURES.items()]
    )


def catalogue_of(kind: str) -> str:
    """Return the entries of one catalogue."""
    return rows_of(
        ["name", "is", "source"], [[code(row.name), row.summary, row.source] for row in listing(kind)]
    )


def pictures() -> str:
    """Return the pictures of a sweep, with what each needs."""
    return rows_of(
        ["`kind`", "shows", "needs"], [[code(kind), one.shows, _needs(one)] for kind, one in NEEDS.items()]
    )


def _needs(one: Needs) -> str:
    """Return what a picture needs of an experiment and of its own keys, in words."""
    least, most = one.factors
    several = {(0, MANY): "", (1, MANY): "a factor or more", (1, 1): "one factor", (2, 2): "two factors"}
    words = [
        several.get(
            (least, most), f"{least} factors or more" if most == MANY else f"{least} to {most} factors"
        )
    ]
    words += {(1, 1): ["one policy"], (2, MANY): ["two policies or more"]}.get(one.policies, [])
    words += [f"`{key}`" for key in one.shown]
    words += [f"`baseline`, a {one.baseline}"] if one.baseline else []
    words += [f"responses {', '.join(map(code, one.responses))}"] if one.responses else []
    words += [f"design {', '.join(map(code, one.designs))}"] if one.designs else []
    words += ["one scenario"] if one.one_scenario else []
    return ", ".join(word for word in words if word)


def formats() -> str:
    """Return the log formats that can be read."""
    rows = [[code(name), load_format(name).bytes_per_token_source] for name in FORMATS]
    return rows_of(["format", "bytes a token"], rows)


def checks() -> str:
    """Return the conformance checks."""
    return rows_of(["check", "is"], [[code(name), first_line(check)] for name, check in CHECKS.items()])


def _require_same(named: Sequence[str], told: dict[str, tuple[str, str]]) -> None:
    if set(named) != set(told):
        raise KeyError(f"docs/make_tables.py and the code differ in {sorted(set(named) ^ set(told))}")


TABLES: dict[str, Callable[[], str]] = {
    "parameters": parameters,
    "laws": laws,
    "figures": figures,
    "kinds": kinds,
    "latency": latency,
    "latency-cause": latency_cause,
    **{
        f"names-{package.replace('.', '-')}": lambda package=package: names_of(package)
        for package in PACKAGES
    },
    "turns": lambda: columns_of(TurnRow, TURN_COLUMNS),
    "rewrites": lambda: columns_of(RewriteEntry, REWRITE_COLUMNS),
    "events": lambda: columns_of(EventRow, EVENT_COLUMNS),
    "obedience": lambda: columns_of(ObedienceRow, OBEDIENCE_COLUMNS),
    "summary": summary,
    "measures": measures,
    **{
        f"catalogue-{kind}": lambda kind=kind: catalogue_of(kind)
        for kind in ("scenarios", "policies", "experiments")
    },
    "formats": formats,
    "pictures": pictures,
    "checks": checks,
}
"""Tables by the name that a page's marks use."""

SLOW = frozenset({"latency", "latency-cause"})
"""Tables that need many runs."""

# --------------------------------------------------------------------------- pages


def pages() -> list[Path]:
    """Return the pages that may hold tables."""
    return sorted(FOLDER.glob("*.md"))


def tables_in(page: Path) -> dict[str, str]:
    """Return the committed tables of a page, by name. Raises ValueError where marks do not pair."""
    text = page.read_text(encoding="utf-8")
    found = {mark["name"]: mark["body"] for mark in MARKED.finditer(text)}
    if not len(found) == text.count("<!-- table: ") == text.count("<!-- /table -->"):
        raise ValueError(f"{page}: marks of tables do not pair, or one stands twice")
    return found


def main() -> None:
    """Write all tables of all pages."""
    for page in pages():
        tables_in(page)
        text = page.read_text(encoding="utf-8")
        made = MARKED.sub(lambda mark: mark["open"] + TABLES[mark["name"]]() + mark["close"], text)
        if made != text:
            page.write_text(made, encoding="utf-8")
            print(f"wrote {page.relative_to(FOLDER.parent)}", file=sys.stderr)


if __name__ == "__main__":
    main()
