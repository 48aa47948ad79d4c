"""What a rewrite works on: the `Workspace` of one agent, and the `Attempt` under way.

Both are mutable and have no logic of their own but sums: the phases in `simulator.rewrite` are the
only ones that change an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import simpy

from simulator.binding import Bindings
from simulator.cognition import Cognition
from simulator.context import Context, Replacement
from simulator.contracts import Component, Policy, Terms, Verdict
from simulator.ledger import Account, Ledger
from simulator.plan import Fold, RewritePlan, Summarise
from simulator.provider import Provider
from simulator.setting import Setting
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams
from simulator.view import Gauge, believed
from simulator.watching import Watch

Note = Callable[[str, str, int], None]
"""Writes a row of the event table: kind, detail, tokens."""


class Workspace:
    """All that belongs to one agent and that a rewrite works on.

    Attributes
    ----------
    agent : number of the agent in its fleet, from 0.
    window : tokens, at this moment.
    turn : number of the current turn.
    asking : the policy's method that is being called, or empty: whose fault an error is.
    versions : of the premises, as the world has them.
    counted : the true count at the last full measurement, which the policy's counter starts from.
    calls_supervisor : the policy has asked for the supervisor when it learned of its last attempt.
    watch : who looks on, or None.
    """

    def __init__(
        self,
        env: simpy.Environment,
        setting: Setting,
        policy: Policy,
        streams: Streams,
        agent: int = 0,
    ) -> None:
        self.env = env
        self.agent = agent
        self.setting = setting
        self.policy = policy
        self.terms: Terms = policy.terms
        self.streams = streams
        self.context = Context()
        self.ledger = Ledger()
        self.provider = Provider(setting.provider)
        self.cognition = Cognition(setting.laws)
        self.bindings = Bindings(setting.laws.binding, policy.terms.instructions, streams, agent)
        self.window = setting.window
        self.versions: Mapping[str, int] = {}
        self.turn = 0
        self.asking = ""
        self.artifacts: list[int] = []
        self.attempts = 0
        self.calls_supervisor = False
        self.counted = 0
        self.commits_since_full = 0
        self.ambiguous_spans = 0
        self.requests_since_rewrite = 0
        self.quota_tokens = 0
        self.watch: Watch | None = None
        self._made = 0

    def new_id(self) -> int:
        """Return an id for a span that is made during the run."""
        self._made -= 1
        return self._made

    @property
    def newest(self) -> int:
        """Id of the span that was made last."""
        return self._made

    def made(self, kind: Kind, tokens: int, provenance: Provenance, subgoal: int | None = None) -> Span:
        """Return a span that the agent or somebody for it makes in this turn."""
        return Span(self.new_id(), kind, tokens, self.turn, provenance, subgoal)

    def write(
        self,
        kind: Kind,
        tokens: int,
        account: Account,
        *,
        provenance: Provenance | None = None,
        subgoal: int | None = None,
        recovers: tuple[int, int] | None = None,
    ) -> None:
        """Append what the agent itself brings into the window between rewrites.

        Parameters
        ----------
        kind, tokens, account, subgoal
            What it is, how long, and from which account.
        provenance : Provenance, optional
            A tool's for a result, else the agent's own, if not given.
        recovers : (int, int), optional
            Id of the span whose evidence it brings back, and what that takes, tokens.
        """
        if provenance is None:
            provenance = Provenance.TOOL if kind is Kind.TOOL_RESULT else Provenance.SELF
        span = self.made(kind, tokens, provenance, subgoal)
        if recovers is not None:
            identity, cost = recovers
            span = span._replace(rederive=cost, replaces=(identity,), carries=(identity,))
            self.cognition.recoverable[span.id] = cost
        self.context.append(span)
        self.ledger.post(account, tokens)

    @property
    def confidence(self) -> float:
        """How sure the agent is of what it remembers, the head apart: 1 minus the share in doubt."""
        context = self.context
        if not context.doubt:
            return 1.0
        remembered = context.tokens - context.by_kind[Kind.HEAD]
        return 1 - context.doubt / remembered if remembered else 1.0

    @property
    def constraints_held(self) -> int | None:
        """Constraints that have force, or None where none was ever stated."""
        return self.context.bound if self.cognition.stated else None

    def believed_tokens(self) -> int:
        """Return the policy's count: what was measured last, and its counter's word on all since."""
        return self.counted + believed(self.context.tokens - self.counted, self.terms.counter_ratio)


class Attempt:
    """One rewrite under way: what was seen, emitted, staged and spent so far.

    Attributes
    ----------
    admitted, judged : the policy's verdicts at *admit* and at *gate*; None where it was not asked.
    newest_before : id of the span that was made last before it; what it makes has lower ids.
    """

    def __init__(self, work: Workspace, gauge: Gauge) -> None:
        self.gauge = gauge
        self.number = work.attempts
        self.started = work.env.now
        self.before = work.context.tokens
        self.newest_before = work.newest
        self.arrived_before = work.ledger.accounts[Account.ARRIVED]
        self.out_of_band_before = work.ledger.accounts[Account.OUT_OF_BAND]
        self.emitted = dict.fromkeys(Component, 0)
        self.claimed = dict.fromkeys(Component, 0)
        self.own_ids: list[int] = []
        self.quality = work.cognition.decision_quality
        self.plan = RewritePlan()
        self.sources: list[Span] = []
        self.staged: list[Replacement] = []
        self.confidence_before = work.confidence
        self.freed = 0
        self.tombstones_charged = 0
        self.tombstones_free = 0
        self.reinjected = 0
        self.dangled = 0
        self.measurement_bound = 0
        self.measured_error = 0
        self.admitted: Verdict | None = None
        self.judged: Verdict | None = None
        self.seconds: dict[str, float] = {}

    def staged_saving(self) -> int:
        """Return the tokens that the staged operations remove minus what replaces them."""
        inserted = sum(replacement.span.tokens for replacement in self.staged if replacement.span)
        return sum(span.tokens for span in self.sources) - inserted

    def summaries_tokens(self) -> int:
        """Return the tokens of the staged summaries."""
        spans = (replacement.span for replacement in self.staged)
        return sum(span.tokens for span in spans if span and span.kind is Kind.SUMMARY)

    def summarised(self) -> list[Span]:
        """Return the sources that a model has read to write something in their place."""
        by_id = {span.id: span for span in self.sources}
        return [
            by_id[identity]
            for operation in self.plan.operations
            if isinstance(operation, Summarise | Fold)
            for identity in operation.sources
        ]
