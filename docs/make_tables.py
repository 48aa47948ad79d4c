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
from policies import load_policy
from policies.checker import CHECKS
from scenarios import load_scenario
from scenarios.logs import FORMATS, load_format
from scenarios.measures import MEASURES
from simulator import Setting, simulate
from simulator.contracts import Parameter
from simulator.laws import Laws
from simulator.ledger import RewriteEntry
from simulator.provider import ProviderSpec
from simulator.recorder import EventRow, ObedienceRow, TurnRow

FOLDER = Path(__file__).resolve().parent
PACKAGES = ("simulator", "policies", "policies.gates", "scenarios", "scenarios.logs", "experiments")
KINDS = ("fitted", "implied", "external")
MARKED = re.compile(
    r"(?P<open><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<close><!-- /table -->)", re.DOTALL
)

# --------------------------------------------------------------------------- what the code does not say

TURN_COLUMNS = {
    "turn": ("1", "number of the turn, from 1"),
    "user_turn": ("1", "user messages so far"),
    "time_s": ("s", "simulated time at the end of the turn"),
    "tokens": ("tokens", "true count"),
    "occupancy_pct": ("% of window", "true count"),
    "believed_tokens": ("tokens", "the policy's count"),
    "arrived_tokens": ("tokens", "brought by the world in this turn, the reply included"),
    "retired": ("tokens", "own records removed whole at the start of this turn"),
    "out_of_band": ("tokens", "removed by the supervisor since the last turn ended"),
    "decision_quality": ("1", "1 is sound"),
    "epoch": ("1", "sum of the versions of all premises"),
    "confidence": ("share", "1 minus the share of tokens in doubt: what the agent believes"),
    "constraints_held": ("1", "constraints that have force through some span"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
REWRITE_COLUMNS = {
    "turn": ("1", "turn in which the attempt started"),
    "time_s": ("s", "simulated time at *check*"),
    "trigger": ("word", "check point that fired"),
    "tokens_before": ("tokens", "true count at *check*"),
    "tokens_after": ("tokens", "true count at *settle*"),
    "occupancy_before_pct": ("% of window", "`tokens_before`"),
    "occupancy_after_pct": ("% of window", "`tokens_after`"),
    "estimated_saving": ("tokens", "what the policy believed it would free"),
    "freed": ("tokens", "removed minus what replaces it; 0 unless committed"),
    "rewrite_cost": (
        "tokens",
        "written into the window by the policy, charged tombstones too; no measurement",
    ),
    "measurement_cost": ("tokens", "trace of the confirmed count"),
    "arrivals_during": ("tokens", "brought by the world between *check* and *settle*"),
    "tombstones": ("tokens", "records of dropped spans that live in the window and are charged to nobody"),
    "reinjected": ("tokens", "put back by the runtime after a rewrite; no law of this version does"),
    "out_of_band_during": ("tokens", "removed by the supervisor between *check* and *settle*"),
    "net": ("tokens", "`freed - rewrite_cost - measurement_cost`"),
    "believed_net": ("tokens", "`estimated_saving` if committed, minus what the policy charges itself"),
    "rewrite_seconds": ("s", "from *check* to *settle*"),
    "outcome": ("word", "how the attempt ended"),
    "stage": ("word", "where it ended"),
    "reason": ("text", "why it was refused or ended early"),
    "window": ("tokens", "window in force"),
    "selected": ("1", "spans in the plan"),
    "selected_tokens": ("tokens", "true size of these spans"),
    "own_selected": ("1", "own records among them"),
    "own_selected_tokens": ("tokens", "true size of these records"),
    "summaries_tokens": ("tokens", "summaries that were staged"),
    "measured_error": ("tokens", "believed minus true count after the attempt"),
    "decision_quality": ("1", "of this decision, a capped rationale included"),
    "deliberate_seconds": ("s", "writing the rationale"),
    "replace_seconds": ("s", "asking for the replacements"),
    "measure_seconds": ("s", "counting"),
    "dangled": ("1", "live references that the commit broke"),
    "coherence_cost": ("checks", "at *settle*: live references that hold, broken ones at their weight"),
    "constraints_held": ("1", "at *settle*: constraints that have force through some span"),
    "confidence_before": ("share", "at *check*: 1 minus the share of tokens in doubt"),
    "confidence_after": ("share", "at *settle*"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
OBEDIENCE_COLUMNS = {
    "turn": ("1", "number of the turn"),
    "topic": ("word", "what the step and the instruction are about"),
    "instruction": ("1", "number in the order of writing; -1 was received from outside"),
    "outside": ("true or false", "received from outside"),
    "changes": ("1", "versions of its premises since it was last derived; above 0 it is stale"),
    "age": ("turns", "since it was last derived"),
    "derivations": ("1", "how often it was derived anew"),
    "active": ("1", "instructions in force at the step"),
    "quoted": ("true or false", "the agent reports it as kept"),
    "obeyed": ("true or false", "it was kept"),
    "revoked": ("true or false", "the agent no longer holds itself to it, unlogged"),
    "stopped": ("true or false", "the step was stopped until it was derived anew"),
    "auditable": ("true or false", "its binding can be checked from outside the agent"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
EVENT_COLUMNS = {
    "turn": ("1", "number of the turn"),
    "time_s": ("s", "simulated time"),
    "kind": (
        "word",
        "`premise`, `window`, `escalation`, `out_of_band`, `halted`, `violation`, `false claim`, "
        "`dropped reference`, `rederived`, `broken`, `failure`, `instruction`, `unwritten`, `stopped`, "
        "`retired`, `validated`, `repeated`, `recorded_compaction`, `recorded_microcompaction`",
    ),
    "detail": ("text", "name of the premise or topic, span, who acted, or what the log says"),
    "tokens": ("tokens", "new window, tokens removed or written; else 0"),
    "agent": ("1", "number of the agent in its fleet, from 0"),
}
SUMMARY_KEYS = {
    "turns": ("1", "turns lived through"),
    "max_occupancy_pct": ("% of window", "highest at any instant"),
    "final_occupancy_pct": ("% of window", "at the end"),
    "occupancy_q05_pct": ("% of window", "5% quantile of turn ends from the first attempt on"),
    "occupancy_q95_pct": ("% of window", "95% quantile of turn ends from the first attempt on"),
    "rewrites_committed": ("1", "attempts committed, with or without effect"),
    "rewrites_without_effect": ("1", "those with net <= 0"),
    "rewrites_refused": ("1", "attempts refused at *admit* or *gate*"),
    "rewrites_infeasible": ("1", "attempts whose request could not fit"),
    "rewrites_failed": ("1", "attempts whose replacement never came"),
    "rewrites_conflicted": ("1", "attempts whose spans had left meanwhile"),
    "first_trigger_turn": ("1", "turn of the first attempt; null without one"),
    "tokens_freed": ("tokens", "account `freed`"),
    "rewrite_cost_tokens": ("tokens", "account `rewrite`"),
    "measurement_cost_tokens": ("tokens", "account `measurement`"),
    "net_tokens": ("tokens", "sum of `net` over attempts"),
    "believed_net_tokens": ("tokens", "sum of `believed_net` over attempts"),
    "waste_tokens": ("tokens", "sum of `-net` over attempts with net <= 0"),
    "quota_tokens": ("tokens", "paid from a separate quota, never in the window"),
    "retired_tokens": ("tokens", "account `retired`"),
    "out_of_band_tokens": ("tokens", "account `out_of_band`"),
    "escalations": ("1", "calls of the supervisor"),
    "tombstones": ("1", "records of dropped spans; null for a policy that leaves none"),
    "tombstone_tokens": ("tokens", "of them in the window"),
    "constraints_held": ("1", "that have force at the end; null where none was stated"),
    "constraints_total": ("1", "stated in the run"),
    "constraint_violations": ("1", "steps that broke a constraint which had lost its force"),
    "false_claims": ("1", "steps that used a claim whose correction had lost its force"),
    "dangled_at_commit": ("1", "live references that committed plans broke; null without references"),
    "dangling_references": ("1", "live references still broken at the end"),
    "dropped_references": ("1", "references that a step dropped in silence"),
    "rederivation_tokens": ("tokens", "account `rederived`: retries and reconstructions"),
    "instruction_tokens": ("tokens", "account `instructions`; null where no step came under one"),
    "instructions_written": ("1", "by the agent to itself"),
    "instructions_unwritten": ("1", "that the policy refused to write"),
    "instructions_stopped": ("1", "steps stopped until an instruction was derived anew"),
    "reported_compliance": ("share", "of steps under an instruction at which it was quoted as kept"),
    "actual_compliance": ("share", "of steps under an instruction at which it was kept"),
    "auditable_compliance": ("share", "of them at which it was kept and can be checked from outside"),
    "stale_obedience": ("1", "steps that relied on (quoted as kept) an own instruction past its epoch"),
    "confidence": ("share", "at the end; null where nothing was in doubt"),
    "decision_quality": ("1", "at the end; 1 is sound"),
    "usd": ("$", "all requests"),
    "seconds": ("s", "simulated length of the run"),
    "rewrite_seconds": ("s", "sum over attempts"),
    "usd_rewriting": ("$", "of it for rationales and replacements"),
    "input_tokens": ("tokens", "billed input that shares no prefix with the live prompt"),
    "cache_read_tokens": ("tokens", "billed input read from the prompt cache"),
    "cache_write_tokens": ("tokens", "billed input put into the prompt cache"),
    "output_tokens": ("tokens", "billed output"),
    "supervisor_wait_seconds": ("s", "mean from escalation to service, over the served; null without"),
    "supervisor_busy_seconds": ("s", "served, summed over the desks; null where nobody called"),
    "agents_overflowed": ("1", "agents whose request no longer fitted"),
    "observable": (
        "true or false",
        "the agent saw its end from inside, or nothing went wrong in silence",
    ),
}
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
            default = "none" if field.default is None else f"{field.default:,}"
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
    home = importlib.import_module(f"{package.__name__}.{package._HOME[name]}")
    body = ast.parse(inspect.getsource(home)).body
    for statement, after in pairwise(body):
        targets = (
            [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
        )
        if name in [getattr(target, "id", None) for target in targets]:
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), name
            return first_sentence(str(after.value.value))
    raise KeyError(f"{home.__name__} assigns no {name}")


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
