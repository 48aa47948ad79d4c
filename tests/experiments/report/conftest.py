"""What the tests of the report share: a browser where there is one, frames of runs, and hostile texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest

from experiments.report.frames import Frames, view_run
from policies import load_policy
from scenarios import load_scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIETLY = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""A browser that asks nothing of the network by itself, nor of the kernel what a container lacks."""

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "</style></title><script>alert(2)</script>",
    "\"' onmouseover=alert(3) x='",
    "{{ 7 * 7 }} {% raw %} &lt;b&gt; \u2028 <!--",
    "javascript:alert(4)",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One headless browser for a module's tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on PATH: none of {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=found, args=list(QUIETLY), headless=True)
        yield launched
        launched.close()


@cache
def frames_of(scenario: str, policy: str, seed: int = 7) -> Frames:
    return view_run(load_scenario(scenario).setting(), load_policy(policy), seed)


@pytest.fixture(scope="session")
def frames() -> Callable[..., Frames]:
    """Frames by scenario, policy and seed; made once, so nobody may change them."""
    return frames_of


@pytest.fixture(scope="session")
def hostile() -> tuple[str, ...]:
    return HOSTILE
