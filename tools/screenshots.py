"""Pictures of the console for the documents: a node of its own, `braid demo`, and Chromium.

Started by hand when pages have changed: `.venv/bin/python tools/screenshots.py [NAME...]`. Look at each picture before
it is kept. Chromium writes PNG; where `pngquant` is installed the files are made smaller with it.
"""

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE_BYTES_MAX = 200 * 1024
START_LIMIT_S = 120.0
LIVE_MINUTES = 3.0
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 390, "height": 844}

Step = Callable[[Page], None]


def _nothing(page: Page) -> None:
    """The page as it opens."""


def _open_message(page: Page) -> None:
    page.locator("#results tbody button").first.click()
    page.locator("#drawer h2").wait_for()
    page.wait_for_load_state("networkidle")


def _open_life(page: Page) -> None:
    _open_message(page)
    life = page.locator("#drawer").get_by_role("heading", name="Life of the message")
    page.locator("#drawer").get_by_text("Stored").first.wait_for()
    life.evaluate("heading => heading.scrollIntoView({block: 'start'})")


class Picture(NamedTuple):
    """What is to be seen on one; `{dead}` in its path is the id of a payment that was given up."""

    name: str
    path: str
    step: Step = _nothing
    theme: Literal["light", "dark"] = "light"
    language: str = "en"
    viewport: ViewportSize = WIDE


PICTURES = (
    Picture("overview", "/console"),
    Picture("overview-dark", "/console", theme="dark"),
    Picture("overview-chinese", "/console", language="zh-CN"),
    Picture("overview-narrow", "/console", viewport=NARROW),
    Picture("topics", "/console/topics"),
    Picture("topic", "/console/topics/demo-payments"),
    Picture("groups", "/console/groups?sort=-lag"),
    Picture("group", "/console/groups/demo-fraud-check"),
    Picture("reset", "/console/groups/demo-fraud-check/reset?step=preview&to=latest"),
    Picture("messages", "/console/messages?by=latest&topic=demo-payments", _open_message),
    Picture("trace", "/console/messages?by=id&topic=demo-payments&id={dead}", _open_life),
    Picture("dead-letters", "/console/dead-letters"),
    Picture("transactions", "/console/transactions"),
    Picture("alarms", "/console/alarms"),
    Picture("inspection", "/console/inspection"),
)


class Node:
    """A `braid up` of its own, and what it printed."""

    def __init__(self, folder: Path) -> None:
        listen = [f"--{name}=127.0.0.1:0" for name in ("http", "kafka", "rocketmq", "grpc")]
        ready = folder / "ready.json"
        self._out = folder / "out"
        command = [*_braid(), "up", "--data", str(folder / "data"), "--ready-file", str(ready), *listen]
        with self._out.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out)
        _wait_for(ready.exists)
        host, port = json.loads(ready.read_text())["listeners"]["http"][0]
        self.url = f"http://{host}:{port}"
        _wait_for(lambda: "/console/login?token=" in self._out.read_text())

    @property
    def token(self) -> str:
        return self._out.read_text().partition("/console/login?token=")[2].split()[0]

    def has_dead_letters(self) -> bool:
        return bool(self._dead_letters())

    def dead(self) -> str:
        """The id of a payment by HTTP that was given up; those of Kafka clients have none."""
        return next(str(each["origin_id"]) for each in self._dead_letters() if each["origin_id"])

    def _dead_letters(self) -> list[Any]:
        answer = httpx.get(f"{self.url}/api/v1/dead-letters?group=demo-settlement", timeout=10)
        items: list[Any] = answer.json()["items"] if answer.is_success else []
        return items

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(START_LIMIT_S)


def _braid() -> list[str]:
    return [sys.executable, "-m", "braidmq"]


def _wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + START_LIMIT_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("the node did not come up")
        time.sleep(0.05)


@contextmanager
def _demo(node: Node) -> Iterator[None]:
    """A node on which payments come for a while, with a few minutes behind it for its charts to show."""
    command = [*_braid(), "demo", "--minutes", "10", "--rate", "40", "--messages", "120"]
    process = subprocess.Popen(command, env=os.environ | {"BRAID_URL": node.url}, stdout=subprocess.DEVNULL)
    try:
        _wait_for(node.has_dead_letters)
        _live_for(LIVE_MINUTES, node)
        httpx.post(f"{node.url}/api/v1/inspections", json={}, timeout=30).raise_for_status()
        yield
    finally:
        process.terminate()
        process.wait(START_LIMIT_S)


def _live_for(minutes: float, node: Node) -> None:
    """Until the charts have something to show: more payments by HTTP, at a pace that changes."""
    end = time.monotonic() + minutes * 60
    for turn in itertools.count():
        if time.monotonic() > end:
            return
        count = 30 + int(20 * math.sin(turn / 9)) + turn % 7
        payments = [{"json": {"amount": nth, "currency": "EUR"}, "tag": "paid"} for nth in range(count)]
        path = f"{node.url}/api/v1/topics/demo-payments/messages"
        httpx.post(path, json={"messages": payments}, timeout=10).raise_for_status()
        time.sleep(1)


def _take(browser: Browser, node: Node, picture: Picture) -> Path:
    context: Any = browser.new_context(
        base_url=node.url, viewport=picture.viewport, color_scheme=picture.theme, locale=picture.language
    )
    with context:
        page = context.new_page()
        page.goto(f"/console/login?token={node.token}")
        page.goto(picture.path.format(dead=node.dead()))
        page.wait_for_timeout(2500)  # live charts draw themselves; the page never rests on its own
        picture.step(page)
        page.wait_for_timeout(700)
        target = IMAGES / f"{picture.name}.png"
        page.screenshot(path=target, animations="disabled")
    return target


def _make_smaller(path: Path) -> None:
    if tool := shutil.which("pngquant"):
        subprocess.run([tool, "--force", "--ext", ".png", "--skip-if-larger", str(path)], check=False)
    if path.stat().st_size > SIZE_BYTES_MAX:
        print(f"{path.name} has {path.stat().st_size} bytes, more than {SIZE_BYTES_MAX}")


def main(names: list[str]) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium; install it first")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        node = Node(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            with _demo(node):
                for picture in PICTURES:
                    if not names or picture.name in names:
                        _make_smaller(_take(browser, node, picture))
                        print(picture.name, flush=True)
        finally:
            browser.close()
            node.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
