"""A real browser before a real node, which a file's tests share; each test has a browser session of its own."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from browser_support import OpenPage
from console_support import Api
from filler_support import Filler
from running_node import RunningNode, WaitFor

WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser(require_tool: Callable[[str, str], Path]) -> Iterator[Browser]:
    """Gone with its file: while it is there, a loop runs in this thread, and tests with loops of their own cannot."""
    path = require_tool("chromium", "the console is looked at in a real browser")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def node(wait_for: WaitFor) -> Iterator[RunningNode]:
    """A node with every protocol, as `braid up` starts it."""
    with tempfile.TemporaryDirectory() as folder:
        listen = [f"--{name}=127.0.0.1:0" for name in ("http", "kafka", "rocketmq", "grpc")]
        started = RunningNode(Path(folder), ["--data", f"{folder}/data", *listen], {}, wait_for)
        yield started.wait_ready()
        started.clean_up()


@pytest.fixture(scope="module")
def api(node: RunningNode) -> Iterator[Api]:
    """The node's API, to fill it and to look behind its pages."""
    asking = Api(node)
    yield asking
    asking.close()


@pytest.fixture
def open_page(browser: Browser, node: RunningNode) -> Iterator[OpenPage]:
    """Opens a page of the console, logged in. Fails the test where the page's own scripts fail."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_at(
        path: str = "/console",
        *,
        theme: Literal["light", "dark"] = "light",
        language: str = "en",
        narrow: bool = False,
        log_in: bool = True,
    ) -> Page:
        context = browser.new_context(
            base_url=node.url, viewport=NARROW if narrow else WIDE, color_scheme=theme, locale=language
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None)
        if log_in:
            page.goto(f"/console/login?token={node.console_token}")
        page.goto(path)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture(scope="module")
def filler(node: RunningNode) -> Iterator[Filler]:
    """Fills the node that the file's tests share."""
    made = Filler(node)
    yield made
    made.close()
