"""What a rewrite works on: the `Workspace` of one agent, and the `Attempt` under way.

Both are mutable and have no logic of their own but sums: the phases in `simulator.rewrite`, with what they
ask of `asking` and `traces`, are the only ones that change an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import simpy

from simulator.binding import Bindings
from simulator.cognition import Cognition
from simulator.context import Context, Replacement
from simulator.contracts import Component, Policy, Terms, Verdict
from simulator.counting import Counter
from simulator.laws import Answer
from simulator.ledger import Account, Ledger
from simulator.plan import Fold, RewritePlan, Summarise
from simulator.prices import REWRITING
from simulator.provider import Provider
from simulator.setting import Setting
from simulator.spans import Kind, Provenance, Span
from simulator.streams import Streams
from simulator.view import Gauge
from simulator.watching import Watch

Note = Callable[[str, str, int], None]
"""Writes a row of the event table: kind, detail, tokens."""


class Reading(NamedTuple):
    """What a model was shown for a summary, and what it gave back.

    Attributes
    ----------
    shown : tokens of each span that it was shown, by id; None showed it all of them in full.
    answer : the kind of its answer.
    """

    shown: Mapping[int, int] | None = None
    answer: Answer = Answer.WHOLE

    @property
    def is_empty(self) -> bool:
        """Whether it was shown nothing at all, so that there was nothing to ask."""
        return self.shown is not None and not self.shown

    def tokens(self, sources: Iterable[Span]) -> int:
        """Return the tokens that it was shown of these sources."""
        return sum(span.tokens if self.shown is None else self.shown.get(span.id, 0) for span in sources)


WHOLE = Reading()
"""All was shown and answered for."""


class Workspace:
    """All that belongs to one agent and that a rewrite works on.

    Attributes
    ----------
    agent : number of the agent in its fleet, from 0.
    window : tokens, at this moment.
    turn : number of the current turn.
    asking : the policy's method that is being called, or empty: whose fault an error is.
    versions : of the premises, as the world has them.
    counter : the policy's own count.
    believed_window : the window that the policy goes by, tokens.
    last_request_s : when the last request ended, seconds.
    last_uses : the turn in which each span is used for the last time; None but for a clairvoyant.
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
        self.counter = Counter(policy.terms.counter, self.context)
        self.ledger = Ledger()
        self.provider = Provider(setting.provider)
        self.cognition = Cognition(setting.laws)
        self.bindings = Bindings(setting.laws.binding, policy.terms.instructions, streams, agent)
        self.window = setting.window
        self.believed_window = policy.terms.window.tokens or setting.window
        self.last_request_s = 0.0
        self.last_uses: dict[int, int] | None = None
        self.versions: Mapping[str, int] = {}
        self.turn = 0
        self.asking = ""
        self.artifacts: list[int] = []
        self.attempts = 0
        self.calls_supervisor = False
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
        """Return the policy's count."""
        return self.counter.count()


class Attempt:
    """One rewrite under way: what was seen, emitted, staged and spent so far.

    Attributes
    ----------
    admitted, judged : the policy's verdicts at *admit* and at *gate*; None where it was not asked.
    newest_before : id of the span that was made last before it; what it makes has lower ids.
    accounts : of the ledger, at its check.
    seen : beside the turns, the ids in the context that the plan was made for.
    reading : what the model was shown of the sources, and what it gave back.
    requests : model requests for the replacement, refused and failed ones among them.
    rebuild_tokens : that were cached, still stand, and have to be written anew.
    prospective_net : the net that a commit would have, as *gate* knew it.
    """

    def __init__(self, work: Workspace, gauge: Gauge) -> None:
        self.gauge = gauge
        self.number = work.attempts
        self.started = work.env.now
        self.before = work.context.tokens
        self.newest_before = work.newest
        self.accounts = work.ledger.accounts.copy()
        self.spent_before = work.provider.spent(REWRITING)
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
        self.seen: set[int] = set()
        self.reading = WHOLE
        self.requests = 0
        self.unread_tokens = 0
        self.rebuild_tokens = 0
        self.broken_pairs = 0
        self.lost = 0
        self.prospective_net: int | None = None
        self.admitted: Verdict | None = None
        self.judged: Verdict | None = None
        self.seconds: dict[str, float] = {}

    def spend(self, phase: str, seconds: float) -> None:
        """Note the seconds that a phase takes, which are waited for at its end."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

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
