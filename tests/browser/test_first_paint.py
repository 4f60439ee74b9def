"""Pages are seen at once: what the browser itself says of its first paint.

Slow, because it means something only on a machine that has nothing else to do.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser_support import OpenPage
from filler_support import Filler
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.slow

FIRST_PAINT_MS = 200.0
LOADS = 8
"""The quickest of them counts: the others tell how busy the machine is."""

LIVES = 3
"""Of so many nodes, one after the other, the quickest counts: the first may have to compile what the others find."""

PAINTED = """() => new Promise((done) => new PerformanceObserver((seen) => {
    const painted = seen.getEntriesByName('first-contentful-paint')[0];
    if (painted) done(painted.startTime);
}).observe({ type: 'paint', buffered: true }))"""
"""When the page was first painted. It is waited for inside the page: a wait that asks again and again needs eval, which
the console's policy forbids."""


@pytest.fixture(scope="module", autouse=True)
def messages(filler: Filler) -> None:
    filler.topic("painted", messages=3)


@pytest.mark.parametrize("path", ["/console", "/console/topics", "/console/groups", "/console/messages"])
def test_a_page_is_painted_within_200_ms(path: str, open_page: OpenPage) -> None:
    page = open_page(path)
    times: list[float] = []
    for _ in range(LOADS):
        page.goto(path)
        times.append(page.evaluate(PAINTED))
    assert min(times) < FIRST_PAINT_MS, times


def test_a_browser_that_never_saw_the_console_paints_it_within_200_ms(browser: Browser, node: RunningNode) -> None:
    """By the address that `braid up` prints: the way in, the page, and all its styles and scripts."""
    times: list[float] = []
    for _ in range(LOADS):
        context = browser.new_context(base_url=node.url)
        page = context.new_page()
        page.goto(f"/console/login?token={node.console_token}")
        times.append(page.evaluate(PAINTED))
        context.close()
    assert min(times) < FIRST_PAINT_MS, times


def test_the_first_page_of_a_nodes_life_is_painted_within_200_ms(browser: Browser, wait_for: WaitFor) -> None:
    """In a browser that knows the console's styles and scripts: the node is started anew at the same address."""
    with tempfile.TemporaryDirectory() as folder:
        times: list[float] = []
        with living(folder, "127.0.0.1:0", wait_for) as node:
            address = node.url.removeprefix("http://")
            page = browser.new_page(base_url=node.url)
            page.goto(f"/console/login?token={node.console_token}")
            page.evaluate(PAINTED)
        for _ in range(LIVES):
            with living(folder, address, wait_for):
                page.goto("/console")
                times.append(page.evaluate(PAINTED))
        page.close()
    assert min(times) < FIRST_PAINT_MS, times


@contextlib.contextmanager
def living(folder: str, address: str, wait_for: WaitFor) -> Iterator[RunningNode]:
    listen = [f"--http={address}", *(f"--{name}=127.0.0.1:0" for name in ("kafka", "rocketmq", "grpc"))]
    keep_compiled = {"PYTHONDONTWRITEBYTECODE": ""}
    node = RunningNode(Path(folder), ["--data", f"{folder}/data", *listen], keep_compiled, wait_for)
    try:
        yield node.wait_ready()
    finally:
        node.clean_up()
