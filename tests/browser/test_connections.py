"""Connections: who is there, on every protocol."""

import re

from playwright.sync_api import expect

from browser_support import OpenPage
from filler_support import Filler, kafka_member
from running_node import RunningNode, WaitFor


def test_clients_are_listed_with_their_groups_and_filtered_by_protocol(
    open_page: OpenPage, filler: Filler, node: RunningNode, wait_for: WaitFor
) -> None:
    filler.topic("wired", messages=2)
    with kafka_member(node, "wires", "wired", wait_for):
        page = open_page("/console/connections")
        expect(page.locator("#connections-list")).to_contain_text("HTTP")
        page.get_by_label("Protocol").select_option("kafka")
        expect(page).to_have_url(re.compile("protocol=kafka"))
        expect(page.locator("#connections-list .protocol-http")).to_have_count(0)
        row = page.locator("tr", has_text="wires-client").first
        expect(row).to_contain_text("wires")
        expect(row.get_by_role("link", name="wired")).to_be_visible()
        page.get_by_placeholder("Find by client, address or version").fill("no such client")
        page.keyboard.press("Enter")
        expect(page.get_by_text("No connection matches")).to_be_visible()
        expect(page).to_have_url(re.compile("protocol=kafka"))


def test_in_another_instance_only_those_who_may_work_there_are_listed(
    open_page: OpenPage, filler: Filler, node: RunningNode, wait_for: WaitFor
) -> None:
    filler.post("/instances", {"name": "retail"})
    filler.topic("elsewhere", messages=2)
    with kafka_member(node, "away", "elsewhere", wait_for):
        page = open_page("/console/connections?instance=retail")
        expect(page.locator("#connections-list .protocol-http").first).to_be_visible()
        expect(page.locator("#connections-list .protocol-kafka")).to_have_count(0)
        expect(page.get_by_text("work in the instance default")).to_be_visible()


def test_connections_are_read_in_chinese_and_on_a_narrow_screen(open_page: OpenPage) -> None:
    page = open_page("/console/connections", language="zh", theme="dark", narrow=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("连接")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
