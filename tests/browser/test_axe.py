"""axe finds nothing serious on any page: full and empty, light and dark, wide and narrow.

Pages of a group of tests are looked at one after the other in one session of the browser; the node is empty until the
first test that wants it full.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from console_support import Api
from filler_support import Filler, kafka_member
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(300)

HERE = Path(__file__).parent / "axe"
QUIET = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts")

PLACES = (
    "/console",
    "/console/topics",
    "/console/groups",
    "/console/messages",
    "/console/traces",
    "/console/connections",
    "/console/dead-letters",
    "/console/timers",
    "/console/transactions",
    "/console/alarms",
    "/console/alarms?view=rules",
    "/console/inspection",
    "/console/reports",
    "/console/archive",
    "/console/settings",
    "/console/audit",
)
TOPIC = ("", "?tab=partitions", "?tab=groups", "?tab=producers", "?tab=settings", "?tab=live")
GROUP = ("", "?tab=members", "?tab=subscriptions", "?tab=settings", "/reset", "/reset?step=preview&to=latest")
LITE = ("?tab=lite", "?tab=subscribers")
FOUND = ("/console/messages?topic=full", "/console/dead-letters?group=readers")
DRAWERS = (
    "/console/new-topic",
    "/console/new-group",
    "/console/topics/full/send",
    "/console/topics/full/delete",
    "/console/topics/full/setting?setting=retention.ms",
    "/console/topics/devices/lite/meter-1",
    "/console/groups/readers/settings",
    "/console/groups/readers/delete",
    "/console/messages/full/0/0/detail",
    "/console/dead-letters/readers/0/0/detail",
    "/console/alarms/rules/new",
    "/console/alarms/silences/new",
    "/console/settings/http.body_bytes_max",
)
COLOURS = ("color-contrast", "link-in-text-block")
"""What a theme can change; the rest is the same in both."""
THEMES = (("light", ()), ("dark", COLOURS))
SERIOUS = """async (only) => (await axe.run(document, {
        resultTypes: ['violations'], ...(only.length ? { runOnly: only } : {})
    })).violations.filter((each) => ['serious', 'critical'].includes(each.impact))
    .flatMap((each) => each.nodes.map((node) => `${each.id} ${node.target.join(' ')}: ${node.failureSummary}`))"""
STILL = """() => Promise.all(document.getAnimations()
    .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
    .map((each) => each.finished.catch(() => null)))"""


@pytest.fixture(scope="module")
def axe(require_tool: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's own script, as locked."""
    npm, folder = require_tool("npm", "brings axe, which judges pages"), tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    subprocess.run([npm, "ci", "--prefix", folder, *QUIET], check=True, timeout=120)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def full(api: Api, filler: Filler) -> None:
    """Something for every page."""
    filler.topic("full", messages=9)
    filler.group("lagging", "full")
    filler.fill("full", delay_ms=1_800_000)
    filler.fill("full", transaction={"group": "payers", "immunity_s": 3600})
    filler.post("/groups", {"name": "readers"})
    api.bury("readers", "full", 3)
    filler.topic("devices", partitions=1, kind="lite")
    filler.topic("%LITE%devices|meter-1", partitions=1)


def serious(page: Page, axe: str, paths: Iterable[str], *, only: Sequence[str] = ()) -> str:
    """What is wrong, a line for each fault."""
    found = []
    for path in paths:
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        found += faults(page, axe, path, only)
    return "\n".join(found)


def faults(page: Page, axe: str, path: str, only: Sequence[str]) -> list[str]:
    """Of the page as it stands, once everything that fades in is there."""
    page.evaluate(STILL)
    page.evaluate(axe)
    return [f"{path} {each}" for each in page.evaluate(SERIOUS, list(only))]


def test_empty_pages(open_page: OpenPage, axe: str) -> None:
    assert serious(open_page(), axe, PLACES) == ""


def test_the_way_in(open_page: OpenPage, axe: str) -> None:
    for theme in ("light", "dark"):
        assert serious(open_page(log_in=False, theme=theme), axe, ["/console/login"]) == ""


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(("theme", "only"), THEMES)
def test_full_pages(open_page: OpenPage, axe: str, theme: str, only: Sequence[str]) -> None:
    assert serious(open_page(theme=theme), axe, (*PLACES, *FOUND), only=only) == ""


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(("theme", "only"), THEMES)
def test_pages_of_a_topic_and_of_a_group(
    open_page: OpenPage, axe: str, node: RunningNode, wait_for: WaitFor, theme: str, only: Sequence[str]
) -> None:
    paths = [*(f"/console/topics/full{tab}" for tab in TOPIC), *(f"/console/topics/devices{tab}" for tab in LITE)]
    paths += [*(f"/console/groups/lagging{tab}" for tab in GROUP)]
    with kafka_member(node, "lagging", "full", wait_for):
        assert serious(open_page(theme=theme), axe, paths, only=only) == ""


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(("theme", "only"), THEMES)
def test_drawers(open_page: OpenPage, axe: str, theme: str, only: Sequence[str]) -> None:
    page = open_page("/console/connections", theme=theme)
    found = []
    for path in DRAWERS:
        page.evaluate("(path) => htmx.ajax('GET', path, { target: '#drawer-body' })", path)
        expect(page.locator("#drawer[open] h2")).to_be_visible()
        found += faults(page, axe, path, only)
        page.keyboard.press("Escape")
        expect(page.locator("#drawer[open]")).to_have_count(0)
    assert "\n".join(found) == ""


@pytest.mark.usefixtures("full")
def test_narrow_pages_in_chinese(open_page: OpenPage, axe: str) -> None:
    paths = ("/console", "/console/topics", "/console/groups/lagging", "/console/messages?topic=full")
    assert serious(open_page(narrow=True, language="zh"), axe, paths) == ""
