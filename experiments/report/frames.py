"""`view_run`: one run as the data that the run viewer steps through, small enough to lie in a page.

A setting, a policy and a seed go in; out comes a mapping of plain values, ready for JSON. Spans stand
in one table and are named by their row in it; each turn tells only what its context lost and gained.
Of a fleet it is the first agent, and the frames say so. Verdicts are those of each gate where the
policy is composed of gates, else the policy's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from experiments.explain import told_lines
from experiments.job import time_limit_of
from experiments.plan import Plan
from experiments.report.hearing import Heard, listened_to
from simulator import Policy, Run, Setting, Verdict, simulate
from simulator.ledger import COMMITTED, RewriteEntry
from simulator.recorder import EventRow
from simulator.spans import FIXED, Span
from simulator.workspace import Attempt, Workspace

Frames = dict[str, object]
"""What `view_run` returns; plain values all the way down."""

SPAN_COLUMNS = ("id", "kind", "tokens", "born", "provenance", "marks", "constraint", "doubt", "replaces")
"""`tokens` are true; `marks` holds `fixed` and `protected`; `replaces` the ids that it stands for."""

SEEN_AGENT = 0
"""Of a fleet, the agent that is seen."""

TOLD_APART = frozenset({"turn", "outcome", "stage", "reason", "agent"})
"""Of a ledger entry, what stands beside its figures."""

FIGURE_DIGITS = 6
"""Significant digits of what is no whole number."""


def view_run(
    setting: Setting, policy: Policy, seed: int | Sequence[int] = 0, *, time_limit: float | None = None
) -> Frames:
    """Run once and return what the viewer shows.

    Parameters
    ----------
    setting : Setting
    policy : Policy
        Begun anew, as in `simulate`.
    seed : int or sequence of int
        Root seed, or (root seed, replication).
    time_limit : float or None
        As in `simulate`.

    Returns
    -------
    dict
        `scenario`, `policy`, `seed`, `outcome`, `agents` and `agent` (how many there are; which one is
        seen, from 0), `output_reserve` (tokens) and

        - `spans`: `columns` (`SPAN_COLUMNS`) and `rows`, by first appearance. All that follows names a
          span by its place here;
        - `turns`: for each turn its end: `turn`, `user_turn`, `time_s`, `tokens` (true),
          `believed_tokens`, `window`, `occupancy_pct`, `epoch`, `confidence`, `constraints_held` (None
          where none was stated), `gone`, `came` (lists that begin with the place in the context, then
          the spans; to be put in from the first on, after what is gone has left), `immutable` (spans
          that nothing might touch this turn), `events` (kind, detail, tokens), `rewrites` (places in
          the next list);
        - `rewrites`: for each attempt `number`, `turn`, `outcome`, `stage`, `reason`, `committed`,
          `words` (label and text), `entry` (the figures of its ledger entry), `verdicts` (`phase`,
          `gate`, `accepted`, `reason`, `refusal`, `figures`), `staged` (sources, and what takes their
          place or None) and `put_in`.

    Raises
    ------
    RunFailed
        As `simulate`.

    >>> from policies import load_policy; from scenarios import load_scenario
    >>> frames = view_run(load_scenario("rewrite-budget-exact").setting(), load_policy("naive"))
    >>> frames["outcome"], len(frames["turns"]) > 1
    ('overflow', True)
    """
    heard: Heard = []
    recorder = _FrameRecorder(heard)
    run = simulate(setting, listened_to(policy, heard), seed, watch=recorder, time_limit=time_limit)
    return {
        "scenario": setting.name,
        "policy": policy.name,
        "seed": run.manifest["seed"],
        "outcome": run.outcome,
        "agents": setting.fleet.agents,
        "agent": SEEN_AGENT,
        "output_reserve": setting.output_reserve,
        "spans": {"columns": list(SPAN_COLUMNS), "rows": recorder.span_rows()},
        "turns": _with_rows(recorder.turns, run),
        "rewrites": recorder.rewrites,
    }


def frames_of(plan: Plan, run: int) -> Frames:
    """Make one run of a sweep again, as `view_run` does. Raises RunFailed."""
    at = plan.coordinates(run)
    limit = time_limit_of(plan.experiment)
    return view_run(plan.setting(at), plan.policy(at), plan.seed(at), time_limit=limit)


class _FrameRecorder:
    """The watch: notes at each turn what the context lost and gained, and at each attempt all about it."""

    def __init__(self, heard: Heard) -> None:
        self.turns: list[Frames] = []
        self.rewrites: list[Frames] = []
        self._heard = heard
        self._spans: dict[int, Span] = {}
        self._place: dict[int, int] = {}
        self._protected: set[int] = set()
        self._order: list[int] = []
        self._seen_rewrites = 0

    def turn_ended(self, work: Workspace, user_turn: int) -> None:
        """Note the turn, by what has changed since the last one."""
        if work.agent != SEEN_AGENT:
            return
        context = work.context
        order = self._rows(context)
        self._protected |= context.protected
        gone, came = changes(self._order, order)
        self._order = order
        self.turns.append(
            {
                "turn": work.turn,
                "user_turn": user_turn,
                "window": work.window,
                "constraints_held": work.constraints_held,
                "gone": gone,
                "came": came,
                "immutable": sorted(self._place[one] for one in context.immutable if one in context),
                "rewrites": list(range(self._seen_rewrites, len(self.rewrites))),
            }
        )
        self._seen_rewrites = len(self.rewrites)

    def rewrite_settled(self, work: Workspace, attempt: Attempt, entry: RewriteEntry) -> None:
        """Note the attempt."""
        if work.agent != SEEN_AGENT:
            return
        verdicts = list(self._heard) or [
            (phase, "policy", verdict)
            for phase, verdict in (("admit", attempt.admitted), ("gate", attempt.judged))
            if verdict is not None
        ]
        self._heard.clear()
        self._protected |= work.context.protected
        self._rows(attempt.sources)
        self._rows(one.span for one in attempt.staged if one.span is not None)
        committed = entry.outcome in COMMITTED
        self.rewrites.append(
            {
                "number": attempt.number,
                "turn": entry.turn,
                "outcome": entry.outcome,
                "stage": entry.stage,
                "reason": entry.reason,
                "committed": committed,
                "words": [line.split(maxsplit=1) for line in told_lines(entry, entry.window)],
                "entry": _figures(
                    {name: value for name, value in entry._asdict().items() if name not in TOLD_APART}
                ),
                "verdicts": [_verdict(*one) for one in verdicts],
                "staged": [
                    [
                        [self._place[source] for source in one.sources],
                        None if one.span is None else self._place[one.span.id],
                    ]
                    for one in attempt.staged
                ],
                "put_in": self._rows(span for span in work.context if span.id < attempt.newest_before),
            }
        )

    def span_rows(self) -> list[list[object]]:
        """Return the table of spans, in the order of `SPAN_COLUMNS`."""
        return [
            [
                span.id,
                span.kind.value,
                span.tokens,
                span.born,
                span.provenance.value,
                [
                    mark
                    for mark, has in (
                        ("fixed", span.kind in FIXED),
                        ("protected", span.id in self._protected),
                    )
                    if has
                ],
                span.constraint,
                span.doubt,
                list(span.replaces),
            ]
            for span in self._spans.values()
        ]

    def _rows(self, spans: Iterable[Span]) -> list[int]:
        """Return the places of spans in the table, which takes in those that are new."""
        rows = []
        for span in spans:
            if span.id not in self._place:
                self._place[span.id] = len(self._place)
                self._spans[span.id] = span
            rows.append(self._place[span.id])
        return rows


def changes(before: Sequence[int], after: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Return what leads from one order to another: what goes, and what is then put in where.

    Parameters
    ----------
    before, after : sequence of int
        Names without repetition.

    Returns
    -------
    gone : list of int
        What leaves. What stands in another order than before leaves and comes again.
    came : list of list of int
        Runs to put in, from the first on: the place of a run in the order so far, then the run.

    >>> changes([1, 2, 3, 4], [1, 9, 8, 4, 5])
    ([2, 3], [[1, 9, 8], [4, 5]])
    """
    stands = {name: place for place, name in enumerate(before)}
    staying: set[int] = set()
    furthest = -1
    for name in after:
        if stands.get(name, -1) > furthest:
            furthest = stands[name]
            staying.add(name)
    came = [
        [run[0][0], *(name for _, name in run)]
        for stays, group in groupby(enumerate(after), key=lambda one: one[1] in staying)
        if not stays and (run := list(group))
    ]
    return [name for name in before if name not in staying], came


def _with_rows(turns: list[Frames], run: Run) -> list[Frames]:
    """Return the turns with what the run's tables hold of them."""
    rows = [row for row in run.turn_rows if row.agent == SEEN_AGENT]
    events: dict[int, list[EventRow]] = {}
    for event in run.event_rows:
        if event.agent == SEEN_AGENT:
            events.setdefault(event.turn, []).append(event)
    return [
        {
            **turn,
            "time_s": _figure(row.time_s),
            "tokens": row.tokens,
            "believed_tokens": row.believed_tokens,
            "occupancy_pct": _figure(row.occupancy_pct),
            "epoch": row.epoch,
            "confidence": _figure(row.confidence),
            "events": [[event.kind, event.detail, event.tokens] for event in events.get(row.turn, ())],
        }
        for turn, row in zip(turns, rows, strict=True)
    ]


def _verdict(phase: str, gate: str, verdict: Verdict) -> Frames:
    return {
        "phase": phase,
        "gate": gate,
        "accepted": verdict.accepted,
        "reason": verdict.reason,
        "refusal": None if verdict.accepted else verdict.refusal.__name__,
        "figures": _figures(verdict.figures),
    }


def _figures(figures: Mapping[str, object]) -> Frames:
    return {str(name): _figure(value) for name, value in figures.items()}


def _figure(value: object) -> object:
    """Return what JSON can hold: whole numbers whole, the rest rounded, what is no number as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(value)
    if not math.isfinite(number):
        return str(number)
    return int(number) if number == int(number) else float(f"{number:.{FIGURE_DIGITS}g}")
