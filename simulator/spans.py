"""`Span`: one item of the working set, made many times a turn and never changed.

Ids of what the world brings are 0 and above; ids of what is made during a run are below 0, so that
a policy cannot shift the identity of anything that arrives.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a span is."""

    HEAD = "head"
    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"
    PLACEHOLDER = "placeholder"
    RATIONALE = "rationale"
    TRACE = "trace"
    INSTRUCTION = "instruction"
    TOMBSTONE = "tombstone"


FIXED = frozenset({Kind.HEAD, Kind.TOMBSTONE})
"""Kinds that no operation may touch."""


CONTENT_CLASSES = ("text", "prose", "code", "json", "cjk", "image")
"""What a span is made of: counters by characters err in a way of their own on each."""


class Provenance(StrEnum):
    """Who wrote a span."""

    RUNTIME = "runtime"
    USER = "user"
    TOOL = "tool"
    SELF = "self"
    DERIVED = "derived"
    POLICY = "policy"


class Span(NamedTuple):
    """One item of the working set.

    Visible to a policy: identity, kind, provenance, birth, subgoal, pair, citations, class, what it
    would cost to recover, the believed tags. Hidden: the true `tokens` (a policy sees its
    counter's), `compressible`, `doubt`, `carries` and `binds`. A tag is what a classifier said when
    the span came in; the truth behind it is what later steps do.

    Attributes
    ----------
    id : identity within the run; below 0 for what was made during the run.
    tokens : true size.
    born : turn of birth.
    subgoal : the piece of work it belongs to, or None.
    pair : the call that it belongs to, shared by a call and its results, or None.
    cites : ids of spans that it leans on.
    needed : tag: it will be cited after its subgoal closed.
    content_class : what kind of text, for counters.
    passes : how often it has been summarised.
    origin : id of the first span that it descends from; None is itself.
    compressible : False for an item that shows only in the summary that it does not compress.
    constraint : tag: it states a constraint; None where nobody has said, which counts as one.
    restates : id of the constraint that it states again, or None.
    rederive : tokens that it takes to recover what it holds, once it is gone; of a summary, the
        dearest thing that it was put in the place of.
    doubt : tokens of it that are caveats and contradictions.
    replaces : ids of what a summary was put in the place of.
    carries : ids of other spans whose evidence stands in this one too.
    binds : ids of the constraints that have force through this span.
    standing : a client puts it back from disk after a rewrite (rules, skills, files).
    """

    id: int
    kind: Kind
    tokens: int
    born: int = 0
    provenance: Provenance = Provenance.TOOL
    subgoal: int | None = None
    pair: int | None = None
    cites: tuple[int, ...] = ()
    needed: bool = False
    content_class: str = "text"
    passes: int = 0
    origin: int | None = None
    compressible: bool = True
    constraint: bool | None = False
    rederive: int = 0
    doubt: int = 0
    replaces: tuple[int, ...] = ()
    carries: tuple[int, ...] = ()
    binds: tuple[int, ...] = ()
    restates: int | None = None
    standing: bool = False
