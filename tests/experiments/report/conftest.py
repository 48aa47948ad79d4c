"""What the tests of the report share: a browser where there is one, frames of runs, and hostile texts."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from experiments.report.frames import Frames, view_run
from policies import load_policy
from scenarios import load_scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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

PATIENCE = 20
"""Seconds that a busy machine may take."""

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


class Opened:
    """A page with all that it said and asked for."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(address)

    @property
    def state(self) -> str:
        return self.page.locator("#viewer-state").inner_text()

    def press(self, *keys: str) -> str:
        for key in keys:
            self.page.keyboard.press(key)
        return self.state

    def until(self, condition: str) -> None:
        """Wait until an expression is true; the page's policy forbids Playwright to ask from inside."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Opened]]:
    """Open the module's report; at the end it has said nothing and asked for nothing but itself."""
    contexts = []
    pages: list[Opened] = []

    def open_it(width: int = 1280, **more: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 800}, **more)
        contexts.append(context)
        pages.append(Opened(context.new_page(), address))
        return pages[-1]

    yield open_it
    for one in pages:
        assert one.said == []
        assert [url for url in one.asked if not url.startswith("data:")] == [address]
    for context in contexts:
        context.close()


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
