"""Pages are usable without eyes and without a mouse: everything that can be operated has a name."""

import pytest
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from filler_support import Filler

OPERATED = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton", "switch", "image"}
PATHS = (
    "/console",
    "/console/topics",
    "/console/topics/named",
    "/console/topics/named?tab=partitions",
    "/console/topics/named?tab=groups",
    "/console/topics/named?tab=producers",
    "/console/topics/named?tab=settings",
    "/console/topics/named?tab=live",
    "/console/groups",
    "/console/groups/namers",
    "/console/groups/namers?tab=members",
    "/console/groups/namers?tab=subscriptions",
    "/console/groups/namers?tab=settings",
    "/console/groups/namers/reset",
    "/console/groups/namers/reset?step=to",
    "/console/groups/namers/reset?step=preview&to=latest",
    "/console/connections",
)
DRAWERS = (
    "/console/new-topic",
    "/console/new-group",
    "/console/topics/named/send",
    "/console/topics/named/shape",
    "/console/topics/named/empty",
    "/console/topics/named/delete",
    "/console/topics/named/setting?setting=retention.ms",
    "/console/groups/namers/settings",
    "/console/groups/namers/delete",
)


@pytest.fixture(scope="module", autouse=True)
def filled(filler: Filler) -> None:
    filler.topic("named", messages=3)
    filler.group("namers", "named")


def nameless(page: Page) -> list[str]:
    """What the browser's own tree for helping programs knows without a name."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        str(node["role"]["value"])
        for node in nodes
        if not node["ignored"]
        and node["role"]["value"] in OPERATED
        and not str(node.get("name", {}).get("value", "")).strip()
    ]


@pytest.mark.parametrize("path", PATHS)
def test_everything_on_a_page_has_a_name(open_page: OpenPage, path: str) -> None:
    page = open_page(path)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert nameless(page) == []
    assert page.locator("thead th:not([scope])").count() == 0
    assert page.evaluate(TWICE) == []


@pytest.mark.parametrize("path", DRAWERS)
def test_everything_in_a_drawer_has_a_name(open_page: OpenPage, path: str) -> None:
    page = open_page("/console/connections")
    page.evaluate("(path) => htmx.ajax('GET', path, { target: '#drawer-body' })", path)
    expect(page.locator("#drawer[open] h2")).to_be_visible()
    assert nameless(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#drawer[open]")).to_have_count(0)


TWICE = (
    "[...document.querySelectorAll('[id]')].map((each) => each.id).filter((id, nth, all) => all.indexOf(id) !== nth)"
)
