"""`Context`: the ordered working set, with its true count at hand.

Spans come in by `append`, leave by `apply` (a committed rewrite) or `remove` (retirement, out of
band). The count, the totals and the index of references are kept up to date at each change, so
that a turn's cost does not grow with the context; a rewrite may be linear in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simulator.pairing import Pairs
from simulator.spans import Kind, Span


class Replacement(NamedTuple):
    """One staged operation: these spans go, and this one (or nothing) takes their place.

    It stands where the first of them stood; with `last`, where the last did.
    """

    sources: tuple[int, ...]
    span: Span | None
    last: bool = False


class Snapshot(NamedTuple):
    """Everything that a refused rewrite must leave as it was."""

    spans: tuple[Span, ...]
    immutable: frozenset[int]
    protected: frozenset[int]
    closed: frozenset[int]
    finished: frozenset[int]
    cited_by: tuple[tuple[int, tuple[int, ...]], ...]
    copies: tuple[tuple[int, int], ...]
    binding: tuple[tuple[int, int], ...]
    totals: tuple[tuple[str, int], ...]


class Context:
    """The working set of one agent.

    Attributes
    ----------
    tokens : true size of all spans.
    count : how many they are.
    doubt : tokens in doubt among them.
    bound : constraints that have force through at least one span.
    peak : highest true count at any instant since it was last set.
    by_kind : tokens by kind.
    by_class : tokens by content class, where somebody counts by it; None where nobody does.
    pairs : calls and their results, as a provider checks them.
    dead_tokens : tokens of subgoals that are closed and hold nothing tagged needed.
    immutable : ids that no operation may touch before the turn ends.
    protected : ids that no operation may touch as long as they live.
    closed : subgoals tagged complete.
    finished : subgoals that are complete, whatever their tag says.
    version : grows by one with each committed change of what already stood.
    """

    __slots__ = (
        "_binding",
        "_cited_by",
        "_copies",
        "_kinds",
        "_needed",
        "_spans",
        "_subgoal_tokens",
        "bound",
        "by_class",
        "by_kind",
        "closed",
        "count",
        "dead_tokens",
        "doubt",
        "finished",
        "immutable",
        "pairs",
        "peak",
        "protected",
        "tokens",
        "version",
    )

    def __init__(self) -> None:
        self._spans: dict[int, Span] = {}
        self._subgoal_tokens: dict[int, int] = {}
        self._needed: dict[int, int] = {}
        self._cited_by: dict[int, list[int]] = {}
        self._copies: dict[int, int] = {}
        self._binding: dict[int, int] = {}
        self.tokens = 0
        self.count = 0
        self.doubt = 0
        self.bound = 0
        self.peak = 0
        self.by_kind: dict[Kind, int] = dict.fromkeys(Kind, 0)
        self._kinds: dict[Kind, int] | None = None
        self.by_class: dict[str, int] | None = None
        self.pairs = Pairs()
        self.dead_tokens = 0
        self.closed: set[int] = set()
        self.finished: set[int] = set()
        self.immutable: set[int] = set()
        self.protected: set[int] = set()
        self.version = 0

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans.values())

    def __reversed__(self) -> Iterator[Span]:
        return reversed(self._spans.values())

    def __contains__(self, identity: int) -> bool:
        return identity in self._spans

    def __getitem__(self, identity: int) -> Span:
        return self._spans[identity]

    def append(self, span: Span) -> None:
        """Put a span at the end. Raises ValueError on a repeated id."""
        if span.id in self._spans:
            raise ValueError(f"span {span.id} is already in the context")
        self._spans[span.id] = span
        self._count(span)
        if span.pair is not None:
            self.pairs.arrive(span)

    def kinds(self) -> dict[Kind, int]:
        """Return the tokens by kind as they are now, in a mapping that never changes; made once a change."""
        if self._kinds is None:
            self._kinds = self.by_kind.copy()
        return self._kinds

    def holds(self, identity: int) -> bool:
        """Whether the evidence of a span stands in the context: the span itself, or what carries it."""
        return identity in self._spans or self._copies.get(identity, 0) > 0

    def binds(self, constraint: int) -> bool:
        """Whether a constraint has force through some span."""
        return self._binding.get(constraint, 0) > 0

    def leaning(self, antecedent: int) -> int:
        """Return how many live references lean on a span: from spans whose subgoal is not finished."""
        spans, finished = self._spans, self.finished
        return sum(spans[citing].subgoal not in finished for citing in self._cited_by.get(antecedent, ()))

    @property
    def tombstone_tokens(self) -> int:
        """Tokens of the tombstones that live inside."""
        return self.by_kind[Kind.TOMBSTONE]

    @property
    def cites_anything(self) -> bool:
        """Whether a reference was ever seen."""
        return bool(self._cited_by)

    def references(self) -> tuple[int, int]:
        """Return the live references that hold and those that are broken; linear in the spans."""
        holding = broken = 0
        for span in self._spans.values():
            if span.cites and span.subgoal not in self.finished:
                for antecedent in span.cites:
                    if self.holds(antecedent):
                        holding += 1
                    else:
                        broken += 1
        return holding, broken

    def dead_subgoals(self) -> set[int]:
        """Return the subgoals that are closed and have nothing tagged needed in them."""
        return {subgoal for subgoal in self.closed if not self._needed.get(subgoal, 0)}

    def close(self, subgoal: int) -> None:
        """Note that a subgoal is complete."""
        if subgoal in self.closed:
            return
        self.closed.add(subgoal)
        if not self._needed.get(subgoal, 0):
            self.dead_tokens += self._subgoal_tokens.get(subgoal, 0)

    def end_turn(self) -> None:
        """Lift the marks that hold for one turn."""
        self.immutable.clear()

    def prefix_before(self, identities: Iterable[int]) -> int:
        """Return the tokens before the first of these spans: what a prompt cache may keep.

        Walks from the end, so that what is near the end costs little.
        """
        wanted = set(identities)
        behind = 0
        for span in reversed(self._spans.values()):
            if not wanted:
                break
            behind += span.tokens
            wanted.discard(span.id)
        return self.tokens - behind

    def remove(self, identities: Iterable[int]) -> int:
        """Remove spans whole and return their tokens."""
        gone = 0
        for identity in identities:
            gone += self._discard(identity).tokens
        self.pairs.settle()
        self.version += 1
        return gone

    def apply(self, replacements: Iterable[Replacement]) -> int:
        """Swap all staged operations in at once; return removed minus inserted tokens.

        A replacement stands where the first of its sources stood, or after the last thing that it
        leans on, where that is later: causal order is kept. Raises KeyError, with the context
        unchanged, when a source is gone.
        """
        staged = list(replacements)
        at: dict[int, list[Span]] = {}
        going: set[int] = set()
        for replacement in staged:
            going.update(replacement.sources)
        missing = going - self._spans.keys()
        if missing:
            raise KeyError(f"spans {sorted(missing)} are no longer in the context")
        for stand, span in _stood(staged, self._spans):
            at.setdefault(stand, []).append(span)
        before = self.tokens
        kept = self._spans
        order: dict[int, Span] = {}
        for identity, span in kept.items():
            if identity not in going:
                order[identity] = span
            if identity in at:
                order |= {new.id: new for new in at[identity]}
        parts = [(one.span, self.pairs.part_of(one.sources)) for one in staged if one.span]
        for identity in going:
            self._discard(identity)
        for made, part in parts:
            self.pairs.stand_in(made, part)
        self.pairs.settle()
        for spans in at.values():
            for span in spans:
                self._count(span)
        self._spans = order
        self.version += 1
        return before - self.tokens

    def snapshot(self) -> Snapshot:
        """Return content, order, marks, index and totals, for comparison."""
        totals = {str(kind): tokens for kind, tokens in self.by_kind.items() if tokens}
        totals |= {"tokens": self.tokens, "dead": self.dead_tokens, "doubt": self.doubt, "bound": self.bound}
        totals |= {f"subgoal {goal}": tokens for goal, tokens in self._subgoal_tokens.items() if tokens}
        index = {identity: tuple(sorted(citing)) for identity, citing in self._cited_by.items() if citing}
        return Snapshot(
            tuple(self._spans.values()),
            frozenset(self.immutable),
            frozenset(self.protected),
            frozenset(self.closed),
            frozenset(self.finished),
            tuple(sorted(index.items())),
            tuple(sorted((one, number) for one, number in self._copies.items() if number)),
            tuple(sorted((one, number) for one, number in self._binding.items() if number)),
            tuple(sorted(totals.items())),
        )

    def recount(self) -> int:
        """Count all again from the spans; raise ValueError with both numbers where a total is off.

        Nothing that is kept is used to check what is kept: dead tokens are found from the tags.
        """
        tokens = sum(span.tokens for span in self)
        by_kind = Counter[Kind]()
        for span in self:
            by_kind[span.kind] += span.tokens
        alive = {span.subgoal for span in self if span.needed}
        dying = self.closed - alive
        dead = sum(span.tokens for span in self if span.subgoal in dying)
        references = Counter((cited, span.id) for span in self for cited in span.cites)
        indexed = Counter(
            (antecedent, one) for antecedent, citing in self._cited_by.items() for one in citing
        )
        for name, kept, counted in (
            ("tokens", self.tokens, tokens),
            ("spans", self.count, len(self)),
            ("dead tokens", self.dead_tokens, dead),
            ("tokens in doubt", self.doubt, sum(span.doubt for span in self)),
            ("constraints with force", self.bound, len({one for span in self for one in span.binds})),
            *((f"{kind} tokens", self.by_kind[kind], by_kind[kind]) for kind in Kind),
            ("references cited", indexed.total(), references.total()),
        ):
            if kept != counted:
                raise ValueError(f"the context says {kept} {name}, its spans say {counted}")
        if indexed != references:
            raise ValueError(f"the index has spans cited that are not: {sorted(indexed - references)[:5]}")
        if self.by_class is not None:
            of_classes = Counter[str]()
            for span in self:
                of_classes[span.content_class] += span.tokens
            if +of_classes != +Counter(self.by_class):
                raise ValueError(f"the context says {self.by_class} tokens by class, its spans {of_classes}")
        if self.pairs.kept() != self.pairs.recount(self):
            raise ValueError("the pairs of the context are not those of its spans")
        for name, index, found in (
            ("copies", self._copies, Counter(one for span in self for one in span.carries)),
            ("spans with force", self._binding, Counter(one for span in self for one in span.binds)),
        ):
            off = sorted(one for one in {*index, *found} if index.get(one, 0) != found[one])
            if off:
                one = off[0]
                raise ValueError(
                    f"the context says {index.get(one, 0)} {name} of {one}, its spans {found[one]}"
                )
        return tokens

    def _count(self, span: Span) -> None:
        tokens = span.tokens
        self.tokens += tokens
        self.count += 1
        if self.tokens > self.peak:  # noqa: PLR1730 - a call for each span that comes
            self.peak = self.tokens
        self.by_kind[span.kind] += tokens
        self._kinds = None
        if self.by_class is not None:
            self.by_class[span.content_class] = self.by_class.get(span.content_class, 0) + tokens
        goal = span.subgoal
        if goal is not None:
            totals = self._subgoal_tokens
            totals[goal] = totals.get(goal, 0) + tokens
            if goal in self.closed:
                self._count_late(goal, span)
            elif span.needed:
                self._needed[goal] = self._needed.get(goal, 0) + 1
        for antecedent in span.cites:
            self._cited_by.setdefault(antecedent, []).append(span.id)
        if span.doubt or span.carries or span.binds:
            self._count_evidence(span)

    def _count_evidence(self, span: Span) -> None:
        self.doubt += span.doubt
        for identity in span.carries:
            self._copies[identity] = self._copies.get(identity, 0) + 1
        for constraint in span.binds:
            copies = self._binding.get(constraint, 0)
            self._binding[constraint] = copies + 1
            self.bound += not copies

    def _count_late(self, goal: int, span: Span) -> None:
        """Count a span that joins a closed subgoal; one that is needed brings the rest back to life."""
        needed = self._needed.get(goal, 0)
        if span.needed:
            if not needed:
                self.dead_tokens -= self._subgoal_tokens[goal] - span.tokens
            self._needed[goal] = needed + 1
        elif not needed:
            self.dead_tokens += span.tokens

    def _discard(self, identity: int) -> Span:
        span = self._spans.pop(identity)
        self.tokens -= span.tokens
        self.count -= 1
        self.by_kind[span.kind] -= span.tokens
        self._kinds = None
        if self.by_class is not None:
            self.by_class[span.content_class] -= span.tokens
        self.pairs.leave(identity)
        goal = span.subgoal
        if goal is not None:
            self._subgoal_tokens[goal] -= span.tokens
            if goal in self.closed and not self._needed.get(goal, 0):
                self.dead_tokens -= span.tokens
            if span.needed:
                self._needed[goal] -= 1
                if not self._needed[goal] and goal in self.closed:
                    self.dead_tokens += self._subgoal_tokens[goal]
        for antecedent in span.cites:
            self._cited_by[antecedent].remove(identity)
        self.doubt -= span.doubt
        for carried in span.carries:
            self._copies[carried] -= 1
        for constraint in span.binds:
            self._binding[constraint] -= 1
            self.bound -= not self._binding[constraint]
        self.immutable.discard(identity)
        self.protected.discard(identity)
        return span


def _stood(staged: list[Replacement], spans: dict[int, Span]) -> Iterator[tuple[int, Span]]:
    """Yield what is put in with the id after whose place it stands; what folds lean on comes first."""
    made = {one.span.id: one for one in staged if one.span is not None}
    if all(len(one.sources) == 1 for one in made.values()):
        for replacement in staged:
            if replacement.span is not None:
                yield replacement.sources[0], replacement.span
        return
    places = {identity: place for place, identity in enumerate(spans)}
    homes = _homes(staged, spans, places)
    stands = {
        new: (max if one.last else min)(one.sources, key=places.__getitem__) for new, one in made.items()
    }
    begun: set[int] = set()
    done: set[int] = set()
    ahead = [*reversed(made)]
    while ahead:
        new = ahead[-1]
        leant_on = _leant_on(made[new], homes)
        first = [home for home in leant_on if home in made and home not in begun and home != new]
        begun.add(new)
        if first:  # in a ring of folds somebody has to come before what it leans on
            ahead += reversed(first)
            continue
        ahead.pop()
        if new in done:
            continue
        done.add(new)
        after = [stands.get(home, home) for home in leant_on]
        stands[new] = max([stands[new], *after], key=places.__getitem__)
        span = made[new].span
        if span is not None:
            yield stands[new], span


def _leant_on(replacement: Replacement, homes: dict[int, int]) -> list[int]:
    """Return the homes of what a fold leans on, beside itself; a single span stands where it stood."""
    span, own = replacement.span, replacement.sources
    if span is None or len(own) == 1:
        return []
    return [homes[one] for one in span.cites if one not in own and homes.get(one, span.id) != span.id]


def _homes(staged: list[Replacement], spans: dict[int, Span], places: dict[int, int]) -> dict[int, int]:
    """Return where each antecedent stands: the span itself, what takes its place, or what carries it."""
    going = {source for one in staged for source in one.sources}
    homes = {identity: identity for identity in spans if identity not in going}
    copies = [(places[span.id], span) for span in spans.values() if span.carries and span.id not in going]
    for replacement in staged:
        if replacement.span is not None:
            homes |= dict.fromkeys((*replacement.sources, replacement.span.id), replacement.span.id)
            copies.append((min(map(places.__getitem__, replacement.sources)), replacement.span))
    for _, span in sorted(copies, key=lambda copy: copy[0]):
        for carried in span.carries:
            homes.setdefault(carried, span.id)
    return homes
