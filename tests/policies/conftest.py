"""What the tests of policies share: items, gauges, views and proposals with everything said by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from simulator.contracts import CheckPoint
from simulator.spans import Kind, Provenance
from simulator.view import Gauge, Item, View


@pytest.fixture(scope="session")
def item() -> Callable[..., Item]:
    """Make an item: a tool result of 100 tokens unless said otherwise."""

    def make(identity: int, tokens: int = 100, kind: Kind = Kind.TOOL_RESULT, **said: object) -> Item:
        plain = {
            "born": 1,
            "provenance": Provenance.TOOL,
            "subgoal": None,
            "pair": None,
            "cites": (),
            "needed": False,
            "closed": False,
            "dead": False,
            "content_class": "text",
            "passes": 0,
            "marked": False,
        }
        return Item(identity, kind, tokens, **{**plain, **said})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def gauge() -> Callable[..., Gauge]:
    """Make a gauge: a window of 1,000 tokens, before a request, unless said otherwise."""

    def make(tokens: int = 0, window: int = 1_000, results: int = 0, **said: int) -> Gauge:
        plain = {"turn": 1, "output_reserve": 0, "requests_since_rewrite": 1, "dead_tokens": 0}
        by_kind = {**dict.fromkeys(Kind, 0), Kind.TOOL_RESULT: results}
        return Gauge(
            CheckPoint.BEFORE_REQUEST, tokens=tokens, window=window, by_kind=by_kind, **{**plain, **said}
        )

    return make


@pytest.fixture(scope="session")
def view(gauge: Callable[..., Gauge]) -> Callable[..., View]:
    """Make a view of these items, with the gauge that counts them."""

    def make(items: Iterable[Item], **said: int) -> View:
        shown = tuple(items)
        return View(shown, gauge(**{"tokens": sum(one.tokens for one in shown), **said}))

    return make


@pytest.fixture(scope="session")
def zoo() -> Iterator[str]:
    """Let `policy_zoo:Class` be loaded, as a user's own module would be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        yield "policy_zoo"
