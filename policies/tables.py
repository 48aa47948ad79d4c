"""Tables of a policy file that say when it acts, what it sees, what stays and how it asks.

Each knows the part or the terms that it stands for. Every key has a default that leaves its mechanism
out.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from policies.guards import Clock, GuardTerms
from policies.keeping import Cut, CutElse, Keeping, ShareOf
from policies.selectors import Order, Selector
from policies.triggers import Trigger
from simulator.contracts import (
    BackgroundTerms,
    CheckPoint,
    CounterKind,
    CounterTerms,
    KeepWarmTerms,
    ReinjectionTerms,
    RequestTerms,
    WindowTerms,
)
from simulator.schema import Amount, Positive, Share, Table, Tokens, Turns
from simulator.spans import Kind

AtLeastOne = Annotated[int, Field(ge=1, le=10**9)]
OpenShare = Annotated[float, Field(gt=0, le=1)]
Ratio = Annotated[float, Field(gt=0, le=10)]


LEAST_STEP = 0.001
"""Share by which a plan that is to reach its target may grow."""


class TriggerTable(Table):
    """When an attempt starts. Without any limit the policy acts at the check point `overflow` alone."""

    fraction: OpenShare | None = None
    tokens: Tokens | None = None
    reserve: Tokens | None = None
    messages: AtLeastOne | None = None
    turns: Turns | None = None
    first_turns: Turns | None = None
    output_most: Tokens = 0
    all: bool = False
    latches: bool = False
    low_watermark: Share | None = None
    target_tokens: Tokens | None = None
    regrow: Share = 0.0
    check_points: Annotated[tuple[CheckPoint, ...], Field(min_length=1)] = (CheckPoint.BEFORE_REQUEST,)

    @model_validator(mode="after")
    def _one_target(self) -> TriggerTable:
        if self.low_watermark is not None and self.target_tokens is not None:
            raise ValueError("low_watermark and target_tokens are both set; expected one of them")
        return self

    def trigger(self) -> Trigger | None:
        """Return the trigger, or None where nothing can fire it."""
        limits = (self.fraction, self.tokens, self.reserve, self.messages, self.turns, self.first_turns)
        points = frozenset(self.check_points)
        if all(limit is None for limit in limits) and CheckPoint.OVERFLOW not in points:
            return None
        return Trigger(
            fraction=self.fraction,
            low_watermark=self.low_watermark,
            regrow=self.regrow,
            check_points=points,
            tokens=self.tokens,
            reserve=self.reserve,
            messages=self.messages,
            turns=self.turns,
            first_turns=self.first_turns,
            together=self.all,
            target_tokens=self.target_tokens,
            latches=self.latches,
            output_most=self.output_most,
        )


class RatiosTable(Table):
    """Believed over true tokens by content class, where it differs from the rest."""

    text: Ratio | None = None
    prose: Ratio | None = None
    code: Ratio | None = None
    json_: Ratio | None = Field(default=None, alias="json")
    cjk: Ratio | None = None
    image: Ratio | None = None


class CounterTable(Table):
    """How the policy counts: on what, and believed over true tokens."""

    kind: CounterKind = CounterKind.RUNNING
    ratio: Ratio = 1.0
    ratios: RatiosTable = RatiosTable()
    head: bool = True
    tail: bool = False
    follows_rewrites: bool = True
    tokens: Tokens = 0

    def terms(self) -> CounterTerms:
        """Return the counter that the table stands for."""
        ratios = self.ratios.model_dump(by_alias=True, exclude_none=True)
        return CounterTerms(
            kind=self.kind,
            ratio=self.ratio,
            ratios=tuple(ratios.items()),
            head=self.head,
            tail=self.tail,
            follows_rewrites=self.follows_rewrites,
            tokens=self.tokens,
        )


class WindowTable(Table):
    """The window that the policy believes in."""

    tokens: AtLeastOne | None = None
    follows_switches: bool = True

    def terms(self) -> WindowTerms:
        """Return what the table stands for."""
        return WindowTerms(self.tokens, self.follows_switches)


class SelectorTable(Table):
    """Which spans are replaced, and which stay."""

    order: Order = "verbosity"
    limit: Annotated[int, Field(ge=1)] | None = None
    kinds: tuple[Kind, ...] | None = None
    exempt: tuple[Kind, ...] = (Kind.TRACE,)
    dead_first: bool = False
    evict_unit: Literal["item", "subgoal"] = "item"
    only_savings: bool = False
    recency_weight: Amount = 1.0
    salience_weight: Amount = 1.0
    salience_turns: Annotated[int, Field(ge=1)] = 10
    enough_tokens: AtLeastOne | None = None
    keep_first: Tokens = 0
    keep_last: Tokens = 0
    keep_tokens: Tokens | None = None
    keep_share: Share | None = None
    keep_of: ShareOf = "content"
    keep_rounds: Literal["down", "up"] = "down"
    keep_counts_head: bool = False
    keep_turns: Turns = 0
    keep_requests: Turns = 0
    keep_results: Tokens | None = None
    keep_result_tokens: Tokens | None = None
    keep_users: Tokens = 0
    keep_user_tokens: Tokens = 0
    oldest_share: Share | None = None
    oldest_step: Share = 0.0
    oldest_least: Tokens = 0
    cut: Cut = "any"
    cut_moves: Literal["back", "forward"] = "back"
    cut_else: CutElse | None = None
    pairs: Literal["ignore", "whole"] = "ignore"
    polling: AtLeastOne = 1

    @field_validator("oldest_step")
    @classmethod
    def _a_step_that_is_seen(cls, step: float) -> float:
        if 0 < step < LEAST_STEP:
            raise ValueError(f"expected 0, or {LEAST_STEP:g} or more: a smaller step would take for ever")
        return step

    def selector(self) -> Selector:
        """Return the selector that the table stands for."""
        return Selector(
            order=self.order,
            limit=self.limit,
            kinds=frozenset(Kind if self.kinds is None else self.kinds),
            exempt=frozenset(self.exempt),
            dead_first=self.dead_first,
            evict_unit=self.evict_unit,
            only_savings=self.only_savings,
            recency_weight=self.recency_weight,
            salience_weight=self.salience_weight,
            salience_turns=self.salience_turns,
            enough_tokens=self.enough_tokens,
            keeping=Keeping(
                first=self.keep_first,
                last=self.keep_last,
                tokens=self.keep_tokens,
                share=self.keep_share,
                share_of=self.keep_of,
                rounds=self.keep_rounds,
                counts_head=self.keep_counts_head,
                turns=self.keep_turns,
                requests=self.keep_requests,
                oldest_share=self.oldest_share,
                oldest_step=self.oldest_step,
                oldest_least=self.oldest_least,
                cut=self.cut,
                cut_moves=self.cut_moves,
                cut_else=self.cut_else,
                results=self.keep_results,
                polling=self.polling,
                result_tokens=self.keep_result_tokens,
                users=self.keep_users,
                user_tokens=self.keep_user_tokens,
                pairs=self.pairs,
            ),
        )


class RequestTable(Table):
    """How the policy asks for a replacement, which is a model request itself."""

    overhead_tokens: Tokens = 0
    calls: Annotated[int, Field(ge=1, le=20)] = 1
    shares_prefix: bool = False
    reads_all: bool = False
    coverage_tokens: AtLeastOne | None = None
    item_tokens: AtLeastOne | None = None
    window: AtLeastOne | None = None
    price: Positive = 1.0
    ladder: tuple[OpenShare, ...] = ()
    on_failure: Literal["leave", "drop", "raise"] = "leave"
    refuses_empty: bool = True
    from_user: bool = False
    stub_tokens: Tokens = 0

    def terms(self) -> RequestTerms:
        """Return what the table stands for."""
        return RequestTerms(**self.model_dump())


class BackgroundTable(Table):
    """Whether rewrites run beside the turns, and what they do to what came in meanwhile."""

    enabled: bool = False
    overwrites: bool = False

    def terms(self) -> BackgroundTerms | None:
        """Return what the table stands for."""
        return BackgroundTerms(self.overwrites) if self.enabled else None


class ReinjectionTable(Table):
    """What the client puts back into the window after a rewrite."""

    fixed_tokens: Tokens = 0
    results: Tokens = 0
    result_tokens: Tokens | None = None
    standing_tokens: Tokens | Literal["all"] = 0
    standing_item_tokens: AtLeastOne | None = None

    def terms(self) -> ReinjectionTerms:
        """Return what the table stands for."""
        standing = None if self.standing_tokens == "all" else self.standing_tokens
        return ReinjectionTerms(
            self.fixed_tokens, self.results, self.result_tokens, standing, self.standing_item_tokens
        )


class KeepWarmTable(Table):
    """Whether idle time is filled with requests that keep the prompt cache alive."""

    enabled: bool = False
    ping_seconds: Annotated[float, Field(ge=1, le=10**9)] = 240.0
    longest_seconds: Positive = 3_600.0

    def terms(self) -> KeepWarmTerms | None:
        """Return what the table stands for."""
        return KeepWarmTerms(self.ping_seconds, self.longest_seconds) if self.enabled else None


Strike = Literal["refused", "failed", "infeasible", "futile"]


class GuardTable(Table):
    """What happens after refusals, failures and rewrites that came to nothing."""

    escalate_after: AtLeastOne | None = None
    latch_after: AtLeastOne | None = None
    halt_after: AtLeastOne | None = None
    reset: Literal["commit", "recovery", "never"] = "commit"
    strike_on: tuple[Strike, ...] = ("refused", "failed", "infeasible")
    futile_share: Share = 0.0
    thrash_turns: Turns = 0
    cooldown: Amount = 0.0
    cooldown_unit: Clock = "turns"
    most: AtLeastOne | None = None
    per: AtLeastOne = 1
    retries: Annotated[int, Field(ge=0, le=20)] = 0
    endless_window: bool = False

    @model_validator(mode="after")
    def _futile_is_looked_for(self) -> GuardTable:
        if "futile" in self.strike_on and not (self.futile_share or self.thrash_turns):
            raise ValueError(
                "strike_on has 'futile' and nothing says what is; expected futile_share or thrash_turns"
            )
        return self

    def terms(self) -> GuardTerms:
        """Return the guard that the table stands for."""
        said = self.model_dump(exclude={"retries", "endless_window"})
        return GuardTerms(**{**said, "strike_on": frozenset(self.strike_on)})
