"""The overview: figures that move while messages come, and what needs somebody."""

import re
import time

import httpx
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from filler_support import Filler
from running_node import RunningNode

FIRST_PAINT_S = 0.2


def tile(page: Page, label: str) -> str:
    return page.locator(".tile", has_text=label).locator(".tile-value").inner_text()


def test_an_empty_node_says_that_all_is_well(open_page: OpenPage) -> None:
    page = open_page("/console")
    expect(page.get_by_text("No group is behind")).to_be_visible()
    expect(page.get_by_text("Nothing fires")).to_be_visible()
    expect(page.get_by_role("cell", name=re.compile("127.0.0.1")).first).to_be_visible()


def test_figures_and_charts_move_while_a_producer_runs(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("moving")
    page = open_page("/console")
    chart = page.locator("[data-chart='/console/charts/messages_in']")
    with filler.sending("moving"):
        expect(chart).to_have_attribute("data-points", re.compile(r"[1-9]\d*"), timeout=20_000)
        begun = int(chart.get_attribute("data-points") or 0)
        page.wait_for_function(
            "([place, begun]) => Number(document.querySelector(place).dataset.points) >= begun + 3",
            arg=["[data-chart='/console/charts/messages_in']", begun],
        )
        rate = page.locator(".tile-value[data-live='messages_in']")
        expect(rate).not_to_have_text("0", timeout=20_000)


def test_the_switch_stops_what_moves(open_page: OpenPage, filler: Filler) -> None:
    page = open_page("/console")
    page.locator("[data-auto-refresh]").uncheck()
    page.reload()
    expect(page.locator("[data-auto-refresh]")).not_to_be_checked()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    assert not any("/console/events" in url for url in asked)


def test_groups_that_are_behind_are_listed_by_their_lag(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("small", messages=3)
    filler.topic("large", messages=40)
    filler.group("little-behind", "small")
    filler.group("far-behind", "large")
    page = open_page("/console")
    rows = page.locator("#overview-lists section").first.locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("far-behind", timeout=20_000)
    expect(rows.nth(1)).to_contain_text("little-behind")
    rows.nth(0).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("far-behind")


def test_the_page_is_there_within_a_fifth_of_a_second(node: RunningNode, filler: Filler) -> None:
    with httpx.Client(base_url=node.url, follow_redirects=True) as client:
        assert client.get(f"/console/login?token={node.console_token}").is_success
        took = []
        for _ in range(5):
            begun = time.perf_counter()
            assert client.get("/console").is_success
            took.append(time.perf_counter() - begun)
    assert min(took) < FIRST_PAINT_S, took


def test_it_is_read_in_chinese_on_a_dark_narrow_screen(open_page: OpenPage) -> None:
    page = open_page("/console", language="zh", theme="dark", narrow=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("总览")
    expect(page.get_by_text("堆积最多的消费组")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
